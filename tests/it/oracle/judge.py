"""Answers questions about versions, markers and tags with the `packaging` package: JSON lines in, JSON lines out."""

import json
import sys
import sysconfig

from packaging import _manylinux, _musllinux, markers, tags
from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

# Undefined between texts: an error in `packaging`, false in macml.
markers._operators["~="] = markers._operators["==="] = lambda *_: False


def compare(case):
    try:
        one, other = Version(case["a"]), Version(case["b"])
    except InvalidVersion:
        return None
    return [str(one), str(other), (one > other) - (one < other)]


def specifier(case):
    try:
        specifiers = SpecifierSet(case["s"])
    except InvalidSpecifier:
        return None
    return [specifiers.contains(Version(version), prereleases=True) for version in case["v"]]


def marker(case):
    try:
        parsed = Marker(case["m"])
    except InvalidMarker:
        return None
    answers = []
    for environment in case["envs"]:
        extras = environment["extra"]
        environment = {**environment, "extra": frozenset(extras) if len(extras) > 1 else "".join(extras)}
        try:
            answers.append(parsed.evaluate_prepared(environment))
        except Exception:
            answers.append(None)
    return answers


def requirement(case):
    try:
        parsed = Requirement(case["r"])
    except InvalidRequirement:
        return None
    return {
        "name": canonicalize_name(parsed.name),
        "extras": sorted({canonicalize_name(extra) for extra in parsed.extras}),
        "specifier": str(parsed.specifier),
        "url": parsed.url,
        "marker": str(parsed.marker) if parsed.marker else None,
    }


def wheel(case):
    try:
        name, version, build, found = parse_wheel_filename(case["w"])
    except InvalidWheelFilename:
        return None
    return {
        "name": name,
        "version": str(version),
        "build": list(build) or None,
        "tags": sorted(map(str, found)),
    }


def platforms(case):
    if case["os"] == "mac":
        return list(tags.mac_platforms(tuple(case["version"]), "arm64"))
    _manylinux._get_glibc_version = lambda: _manylinux._GLibCVersion(*case["version"])
    _manylinux._have_compatible_abi = lambda *_: True
    _manylinux._get_manylinux_module = lambda: None
    _musllinux._get_musl_version = lambda *_: None
    sysconfig.get_platform = lambda: "linux-" + case["arch"]
    return list(tags._linux_platforms(is_32bit=False))


def tag_list(case):
    minor = tuple(case["python"])
    own = "cp" + "".join(map(str, minor))
    given = case["platforms"]
    ordered = [*tags.cpython_tags(minor, [own], given), *tags.compatible_tags(minor, own, given)]
    return list(map(str, ordered))


def main():
    kinds = [compare, specifier, marker, requirement, wheel, platforms, tag_list]
    by_name = {kind.__name__: kind for kind in kinds}
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps(by_name[case["kind"]](case)))


main()
