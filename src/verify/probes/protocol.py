"""The Python side of the protocol of `verify/protocol.rs`, which stands before each probe's own text.

Runs in any Python from 3.8 on and imports the standard library alone. It knows how to speak, not what to ask.
"""

import contextlib
import json
import math
import os
import platform
import re
import sys
import time
import traceback
import warnings
import zlib

PROTOCOL = 1
PREFIX = "macml-probe: "
AT = "macml-probe at: "
BEGUN = time.monotonic()
REQUEST = json.loads(sys.argv[-1])
# The types asked for that a real number can have.
REAL = [one for one in REQUEST["types"] if one in ("float32", "float16", "bfloat16")]

# Frameworks print what they like on standard output: from here on that goes to standard error.
sys.stdout.flush()
SPEAKER = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def say(event, **fields):
    SPEAKER.write(PREFIX + json.dumps(dict(event=event, **fields), allow_nan=False) + "\n")
    SPEAKER.flush()


def number(value):
    """JSON has neither NaN nor infinities."""
    value = float(value)
    return value if math.isfinite(value) else None


def text_of(error):
    """What an exception says, less the long lists that some add."""
    lines = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()
    return "\n".join(lines[:4])[:2000]


def elapsed():
    return time.monotonic() - BEGUN


class Now:
    """What is being done, for whoever hears a warning in between."""

    id = "import"
    # The operators that fell back in it.
    fallen = []


def at(id, element=None, round=0):
    """Says what begins; on standard error too, where frameworks print past Python what happened in it."""
    Now.id, Now.fallen = id, []
    sys.stderr.write(AT + id + "\n")
    sys.stderr.flush()
    said = dict(id=id, round=round)
    if element:
        said["type"] = element
    say("at", **said)


@contextlib.contextmanager
def loading():
    """Loads a framework; where that fails, says why and ends. A library that cannot be loaded comes as anything."""
    at("import")
    try:
        yield
    except BaseException as error:
        say("cannot-load", error=text_of(error))
        done()


def begin(id, element=None, round=0):
    """Says what begins; False, and says so, when the time for that is over."""
    if elapsed() > REQUEST["limits"]["begin"]:
        skip(id, "time", element)
        return False
    at(id, element, round)
    return True


def skip(id, why, element=None, error=None):
    said = dict(id=id, why=why)
    if element:
        said["type"] = element
    if error:
        said["error"] = error
    say("skipped", **said)


def too_large(id, element, bytes):
    if bytes > REQUEST["sizes"]["most"]:
        skip(id, "memory", element)
        return True
    return False


def asked(question):
    return question in REQUEST["questions"]


def seed_of(id):
    """Each check has its own numbers, whatever was asked before it."""
    return (REQUEST["seed"] + zlib.crc32(id.encode())) % (1 << 31)


FELL_BACK = re.compile(r"operator '([^']+)'.*(?:fall back|falling back|fallback)", re.S | re.I)
HEARD = []
FALLEN = set()


def fell_back(operator, message):
    Now.fallen.append(operator)
    if operator not in FALLEN:
        FALLEN.add(operator)
        say("fallback", operator=operator, during=Now.id, message=message[:500])


def hear(message, category, filename, lineno, file=None, line=None):
    text = str(message)
    HEARD.append(text)
    del HEARD[:-20]
    found = FELL_BACK.search(text)
    if found:
        fell_back(found.group(1), text)
    sys.stderr.write("%s: %s\n" % (category.__name__, text))


warnings.simplefilter("always")
warnings.showwarning = hear


def processor():
    """The processor's name, which on a Mac is that of the GPU too."""
    try:
        if sys.platform == "darwin":
            return sysctl("machdep.cpu.brand_string") or platform.machine()
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def sysctl(name):
    """A text or a small number of the kernel's; None where it has none."""
    import ctypes

    system = ctypes.CDLL(None)
    size = ctypes.c_size_t(256)
    room = ctypes.create_string_buffer(256)
    if system.sysctlbyname(name.encode(), room, ctypes.byref(size), None, ctypes.c_size_t(0)) != 0:
        return None
    if size.value == 4:
        return int.from_bytes(room.raw[:4], "little")
    return room.raw[: size.value].rstrip(b"\0").decode("utf-8", "replace")


def metal_devices():
    """How many GPUs Metal lists for this process; None where that cannot be asked."""
    if sys.platform != "darwin":
        return None
    try:
        import ctypes

        metal = ctypes.CDLL("/System/Library/Frameworks/Metal.framework/Metal")
        objc = ctypes.CDLL("/usr/lib/libobjc.A.dylib")
        metal.MTLCopyAllDevices.restype = ctypes.c_void_p
        objc.sel_registerName.restype = ctypes.c_void_p
        objc.sel_registerName.argtypes = [ctypes.c_char_p]
        count = ctypes.CFUNCTYPE(ctypes.c_ulong, ctypes.c_void_p, ctypes.c_void_p)(("objc_msgSend", objc))
        devices = metal.MTLCopyAllDevices()
        return int(count(devices, objc.sel_registerName(b"count"))) if devices else 0
    except (OSError, AttributeError):
        return None


def listed_devices(device):
    """How many devices the system lists for this process. Asked only where the framework found none."""
    if device == "mps":
        return metal_devices()
    try:
        return len([name for name in os.listdir("/dev") if re.fullmatch(r"nvidia\d+", name)])
    except OSError:
        return None


def surroundings():
    found = []
    if os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"):
        found.append("ssh")
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1"):
        found.append("hidden")
    if sys.platform == "darwin":
        try:
            import ctypes

            if sysctl("sysctl.proc_translated") == 1:
                found.append("rosetta")
            if sysctl("kern.hv_vmm_present") == 1:
                found.append("virtual-machine")
            check = ctypes.CDLL("/usr/lib/libSystem.B.dylib").sandbox_check
            if os.environ.get("APP_SANDBOX_CONTAINER_ID") or check(os.getpid(), None, 0) == 1:
                found.append("sandbox")
        except (OSError, AttributeError):
            pass
    return found


def say_device(built, available, id=None, name=None, error=None):
    """Says what was found; what keeps this process from a device is asked where none was found."""
    device = REQUEST["device"]
    said = dict(built=built, available=available, id=id, name=name, error=error, surroundings=surroundings())
    said["listed"] = None if available else listed_devices(device)
    say("device", **said)


def release_of(version):
    """A release without its local part: `2.13.0` of `2.13.0+cpu`."""
    return version.split("+", 1)[0]


def system_name():
    release = platform.mac_ver()[0] if sys.platform == "darwin" else platform.release()
    return "%s %s %s" % (sys.platform, release, platform.machine())


def package_versions(names):
    """The versions of packages as their metadata tells them, where they are there."""
    from importlib import metadata

    versions = {"python": platform.python_version()}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return versions


def say_hello(versions):
    """Returns whether this is what was to be asked."""
    framework = REQUEST["framework"]
    say(
        "hello",
        protocol=PROTOCOL,
        probe="python",
        framework=framework,
        versions=versions,
        system=system_name(),
    )
    wanted = REQUEST["release"]
    return REQUEST["protocol"] == PROTOCOL and (
        wanted is None or release_of(wanted) == release_of(versions.get(framework, ""))
    )


def done(device_bytes=None):
    say("done", seconds=elapsed(), **{"device-bytes": device_bytes})
    SPEAKER.close()
    sys.stderr.flush()
    # Frameworks may hang or abort while they are taken down, when all is said.
    os._exit(0)


def reach_device(versions):
    """Says who speaks and on what; the end where this is not what was to be asked, or has no such device."""
    if not say_hello(versions):
        done()
    at("device")
    if not found_device():
        done()


def curve(losses, seconds):
    """The course of a loss."""
    finite = [loss for loss in losses if math.isfinite(loss)]
    return {
        "first": number(losses[0]) if losses else None,
        "last": number(losses[-1]) if losses else None,
        "least": min(finite) if finite else None,
        "steps": len(losses),
        "not-finite": len(losses) - len(finite),
        "seconds": seconds,
    }


def say_training(id, device, cpu, seconds, **more):
    """Says how two trainings went: the losses on the device and on the CPU, and how long each took."""
    first = cpu[0] if cpu and math.isfinite(cpu[0]) and cpu[0] else 1.0
    apart = max((abs(a - b) for a, b in zip(device, cpu)), default=None)
    if apart is not None:
        apart = number(apart / first)
    say(
        "training",
        id=id,
        device=curve(device, seconds[0]),
        cpu=curve(cpu, seconds[1]),
        apart=apart,
        **{key.replace("_", "-"): value for key, value in more.items()},
    )


def train(step, until):
    """Steps until the loss is below a part of the first one, at most `until` steps; the losses, and how long it took.

    The first step, which compiles kernels, counts too: this is no benchmark.
    """
    begun = time.monotonic()
    losses = []
    while len(losses) < until:
        losses.append(step())
        if not math.isfinite(losses[-1]) or losses[-1] < REQUEST["tolerances"]["learned"] * losses[0]:
            break
    return losses, time.monotonic() - begun


def check_all(check, cases, round=0):
    """Checks each case, which is its id, its shapes, its operation and its types, in each of the types asked for."""
    for id, shapes, of, types in cases:
        for element in types or REAL:
            if element in REQUEST["types"]:
                check(id, shapes, of, element, round)
