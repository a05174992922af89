"""Reads every Mach-O of wheels with `lief`: the path of a wheel on each line of standard input, a line of JSON for each."""

import json
import sys
import zipfile

import lief

lief.logging.disable()

MAGICS = {bytes.fromhex(magic) for magic in ["cffaedfe", "cefaedfe", "cafebabe", "cafebabf"]}


def dependencies(binary):
    loads = {
        lief.MachO.LoadCommand.TYPE.LOAD_DYLIB,
        lief.MachO.LoadCommand.TYPE.LOAD_WEAK_DYLIB,
        lief.MachO.LoadCommand.TYPE.REEXPORT_DYLIB,
        lief.MachO.LoadCommand.TYPE.LOAD_UPWARD_DYLIB,
        lief.MachO.LoadCommand.TYPE.LAZY_LOAD_DYLIB,
    }
    return [command.name for command in binary.libraries if command.command in loads]


def imports(binary):
    weak_class = lief.MachO.DyldBindingInfo.CLASS.WEAK
    lazy_class = lief.MachO.DyldBindingInfo.CLASS.LAZY
    found = set()
    for binding in binary.bindings:
        lazy = False
        if isinstance(binding, lief.MachO.DyldBindingInfo):
            if binding.binding_class == weak_class:
                continue
            lazy = binding.binding_class == lazy_class
        found.add((binding.library_ordinal, binding.symbol.name, binding.weak_import, lazy))
    return sorted(found)


def exports(binary):
    if binary.has_dyld_exports_trie:
        trie = binary.dyld_exports_trie.exports
    elif binary.has_dyld_info:
        trie = binary.dyld_info.exports
    else:
        return sorted(symbol.name for symbol in binary.exported_symbols)
    return sorted(info.symbol.name for info in trie)


def read(content):
    fat = lief.MachO.parse(content)
    arm64 = lief.MachO.Header.CPU_TYPE.ARM64
    for binary in fat:
        if binary.header.cpu_type == arm64 and binary.header.cpu_subtype & 0xFFFFFF != 2:
            return {
                "dependencies": dependencies(binary),
                "rpaths": [rpath.path for rpath in binary.rpaths],
                "imports": imports(binary),
                "exports": exports(binary),
            }
    return None


for line in sys.stdin:
    images = {}
    with zipfile.ZipFile(line.rstrip("\n")) as wheel:
        for info in wheel.infolist():
            with wheel.open(info) as file:
                if file.read(4) not in MAGICS:
                    continue
            images[info.filename] = read(wheel.read(info))
    print(json.dumps(images), flush=True)
