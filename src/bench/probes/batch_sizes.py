"""Trains one batch of the convolutional network, and says what that took and what the system said of its memory. Its text
stands between measure.py and that which knows the works of a framework, and takes the place of what measures them all.

Each size has a process of its own: nothing that an allocator kept of smaller ones is counted, and a process that is killed
takes no other answer along. What the readings mean is judged elsewhere.
"""


def text(path, of=""):
    """The lines of a file that have a word in them; None where there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "".join(line for line in file.read(1 << 16).splitlines(True) if of in line)
    except OSError:
        return None


def control_group():
    """The limits of the group that this process is in, in the words of either version; None where there is none."""
    folders = ["/sys/fs/cgroup"]
    for line in (text("/proc/self/cgroup") or "").splitlines():
        kind, _, path = line.partition(":")[2].partition(":")
        if kind == "":
            folders.insert(0, "/sys/fs/cgroup" + path)
        elif "memory" in kind.split(","):
            folders[:0] = ["/sys/fs/cgroup/memory" + path, "/sys/fs/cgroup/memory"]
    names = [("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")]
    for folder in folders:
        for limit, usage in names:
            found = text(os.path.join(folder, limit))
            if found is not None:
                said = dict(limit=found, usage=text(os.path.join(folder, usage)))
                said["stat"] = text(os.path.join(folder, "memory.stat"), "inactive_file")
                return said
    return None


def reading():
    """What the system says of its memory now, as it says it."""
    if sys.platform == "darwin":
        return {
            "pressure-level": sysctl("kern.memorystatus_vm_pressure_level"),
            "free-percent": sysctl("kern.memorystatus_level"),
        }
    said = {"stall": text("/proc/pressure/memory"), "meminfo": text("/proc/meminfo", "Mem"), "group": control_group()}
    if DEVICE == "cuda" and "torch" in sys.modules:
        said["device-free"], said["device-total"] = sys.modules["torch"].cuda.mem_get_info()
    return {key: value for key, value in said.items() if value is not None}


def measure_all(versions, works, memory):
    """Says who speaks and on what, and trains one batch a few times."""
    reach_device(versions)
    samples = REQUEST["batch"]
    at("batch")
    said = {"samples": samples, "before": reading(), "process-bytes-before": process_bytes(), "during": []}
    seconds = []
    try:
        work = works["convolution"](samples, "float32")
        memory.forget()
        work.send()
        # The first time compiles and fills caches.
        said["warm-up"] = timed(work.once)
        most = memory.most() or 0
        while len(seconds) < 2 or (len(seconds) < 8 and sum(seconds) < REQUEST["budget"]):
            said["during"].append(reading())
            if (said["during"][-1].get("pressure-level") or 0) >= 2:
                break
            seconds.append(timed(work.once))
            most = max(most, memory.most() or 0)
        said["during"].append(reading())
        said["device-bytes"] = most or None
    except BaseException as error:  # Out of memory comes as anything.
        said["error"] = text_of(error)
    said.update({"seconds": seconds, "process-bytes": process_bytes()})
    say("batch", **said)
    done()
