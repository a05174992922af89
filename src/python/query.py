"""What macml asks an interpreter. Runs under `-I -S -B`: nothing of the user's, of site-packages or of the working
folder takes part. Written for any Python 3, with as little of the standard library as it can do with: what is asked
may be incomplete. Prints one JSON object a line; a module is named before it is loaded, since loading it may end the
process."""
import sys


def text(value):
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join([text(one) for one in value]) + "]"
    out = '"'
    for character in value:
        number = ord(character)
        if 32 <= number < 127 and character not in '"\\':
            out += character
        elif number < 0x10000:
            out += "\\u%04x" % number
        else:
            number -= 0x10000
            out += "\\u%04x\\u%04x" % (0xD800 + (number >> 10), 0xDC00 + (number & 0x3FF))
    return out + '"'


def tell(**pairs):
    print("{" + ", ".join([text(key) + ": " + text(pairs[key]) for key in sorted(pairs)]) + "}")
    sys.stdout.flush()


def find(name):
    try:
        from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
        for finder in (BuiltinImporter, FrozenImporter, PathFinder):
            spec = finder.find_spec(name)
            if spec is not None:
                return True, spec.origin if spec.has_location else None
        return False, None
    except Exception:
        return None, None


def facts():
    import os
    import sysconfig
    paths = sysconfig.get_paths()
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    except Exception:
        libc = None
    version = sys.version_info
    tell(
        implementation=sys.implementation.name,
        version=[version[0], version[1], version[2]],
        level=version[3],
        serial=version[4],
        free_threaded=sysconfig.get_config_var("Py_GIL_DISABLED") in (1, "1"),
        abi_flags=getattr(sys, "abiflags", ""),
        platform=sysconfig.get_platform(),
        machine=os.uname()[4],
        system=sys.platform,
        libc=libc,
        base_prefix=sys.base_prefix,
        stdlib=paths["stdlib"],
        platstdlib=paths["platstdlib"],
        include=paths["include"],
        platlibdir=getattr(sys, "platlibdir", "lib"),
        soabi=sysconfig.get_config_var("SOABI"),
        venv=find("venv")[0] is True and find("ensurepip")[0] is True,
    )


def load(name):
    there, origin = find(name)
    if there is False:
        tell(missing=name)
        return
    tell(loading=name, file=origin)
    try:
        __import__(name)
    except Exception:
        error = sys.exc_info()[1]
        tell(broken=name, why=type(error).__name__ + ": " + str(error))
    else:
        tell(loaded=name)


facts()
for name in ("_lzma", "_bz2", "_ssl", "_ctypes", "_sqlite3"):
    load(name)
tell(end=True)
