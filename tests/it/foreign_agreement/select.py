"""Says what `packaging` would install of a pylock.toml on arm64 Macs: one JSON question on stdin, one JSON answer."""

import json
import sys

import tomllib
from packaging import tags
from packaging.pylock import PackageWheel, Pylock

question = json.load(sys.stdin)
with open(question["file"], "rb") as file:
    lock = Pylock.from_dict(tomllib.load(file))
answers = []
for machine in question["machines"]:
    full = machine["python"]
    minor = tuple(int(part) for part in full.split(".")[:2])
    platforms = list(tags.mac_platforms(tuple(machine["macos"]), "arm64"))
    fitting = [
        *tags.cpython_tags(minor, [f"cp{minor[0]}{minor[1]}"], platforms),
        *tags.compatible_tags(minor, f"cp{minor[0]}{minor[1]}", platforms),
    ]
    environment = {
        "implementation_name": "cpython",
        "implementation_version": full,
        "os_name": "posix",
        "platform_machine": "arm64",
        "platform_python_implementation": "CPython",
        "platform_release": machine["darwin"],
        "platform_system": "Darwin",
        "platform_version": "",
        "python_full_version": full,
        "python_version": ".".join(full.split(".")[:2]),
        "sys_platform": "darwin",
    }
    taken = {}
    for package, source in lock.select(environment=environment, tags=fitting):
        wheel = source.filename if isinstance(source, PackageWheel) else "source"
        taken[package.name] = [str(package.version), wheel]
    answers.append(taken)
json.dump(answers, sys.stdout)
