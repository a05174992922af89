"""How anything is measured, whatever computes it. Its text follows that which loads a framework and finds the device; that
which knows the works of the framework follows it.

A work is made of a size and an element type, with its operands in the memory of the host. `send` brings them to the device
and returns when they are there; `once` computes and returns when the result is there, which on a GPU is long after the call
that asked for it has come back; `fetch` brings the result to the host.
"""

import gc
import resource


def timed(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def process_bytes():
    """The most memory that this process ever had; the unit of the number is another on each system."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def units(work, size):
    """What the time grows with."""
    return float(size) ** 3 if work == "product" else float(size)


class TooSlow(Exception):
    """What it says is why something is left out."""


def fitting(case, make):
    """The largest size that may be expected to take no longer than it may, by what small ones take; and how long those
    took. A GPU is given the largest at once: it is what it is made for, and its first time would be none any more."""
    sizes, took = case["sizes"], 0.0
    if DEVICE != "cpu":
        return sizes[0], took
    unit = 0.0
    for small in case["trials"]:
        work = make(small, case["type"])
        work.send()
        took += timed(work.once)
        again = [timed(work.once) for _ in range(2)]
        took += sum(again)
        unit = min(again) / units(case["work"], small)
        # Short times say little about long ones.
        if min(again) > 0.1:
            break
    def expected(size):
        return unit * units(case["work"], size)

    if case["again"] and case["before"] in sizes and expected(case["before"]) <= case["longest"] * 4:
        return case["before"], took
    for size in sizes:
        # What an earlier run had is worth waiting for, and so is the last one there is.
        patience = 4 if size == case["before"] else 2 if size == sizes[-1] else 1
        if expected(size) <= case["longest"] * patience:
            return size, took
    raise TooSlow("even a size of %d would take about %.0f s each time" % (sizes[-1], expected(sizes[-1])))


def is_lacking(error):
    """Whether a framework says that it has no such operation, rather than that one failed."""
    return isinstance(error, NotImplementedError) or "not implemented for" in str(error)


def measure(case, make, memory):
    """Measures one case and says what came of it; `memory` forgets and tells how much the device has in use."""
    id, element = case["work"], case["type"]
    if not begin(id, element):
        return
    said = dict(work=id, size=case["sizes"][0], type=element)
    work = None
    try:
        said["size"], warm_up = fitting(case, make)
        work = make(said["size"], element)
        memory.forget()
        sent = [timed(work.send) for _ in range(1 if DEVICE == "cpu" else 3)]
        warm_up += timed(work.once)
        most, seconds = memory.most(), []
        while len(seconds) < case["most"]:
            if len(seconds) >= case["least"] and sum(seconds) > case["budget"]:
                break
            # One that is far slower than was to be expected leaves the others their time.
            if seconds and elapsed() > REQUEST["limits"]["begin"]:
                break
            seconds.append(timed(work.once))
            most = max(most or 0, memory.most() or 0) or None
        said.update({"warm-up": warm_up, "seconds": seconds, "device-bytes": most})
        if DEVICE != "cpu" and work.moves:
            said["transfer"] = median(sent) + median([timed(work.fetch) for _ in range(3)])
    except TooSlow as reason:
        said["left-out"] = str(reason)
    except Exception as error:
        said["left-out" if is_lacking(error) else "error"] = text_of(error)
    work = None
    gc.collect()
    memory.forget()
    said["process-bytes"] = process_bytes()
    say("measured", **said)


def say_load():
    """How much this machine computes for others, for each of its processors."""
    try:
        say("load", load=os.getloadavg()[0] / (os.cpu_count() or 1))
    except OSError:
        pass


def measure_all(versions, works, memory):
    """Says who speaks and on what, and measures every case asked for."""
    say_load()
    reach_device(versions)
    for case in REQUEST["cases"]:
        measure(case, works[case["work"]], memory)
    done()
