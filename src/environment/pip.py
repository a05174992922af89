#!python
"""What stands in an environment of macml where people look for pip: it lists, and says how to change what is there.

What it prints is what pip prints, so that editors can read it. It needs nothing but Python itself.
"""

import json
import os
import re
import sys
import sysconfig
from importlib import metadata

USAGE = """\
pip in an environment that macml made

  pip list [--format columns|freeze|json] [--exclude NAME] [--not-required]
  pip show [--files] NAME...
  pip freeze [--all] [--exclude NAME]

What is installed follows from macml.toml and macml.lock:

  write NAME = "*" under [dependencies] in macml.toml    instead of pip install NAME
  take its line out of macml.toml                        instead of pip uninstall NAME
  macml sync                                             builds what they say
"""

# Options that take a value, and those that do not; pip's own, where they change nothing here.
VALUES = {"--format", "--exclude", "--index-url", "-i", "--extra-index-url", "--log", "--proxy", "--timeout",
          "--retries", "--cert", "--cache-dir", "--trusted-host"}
FLAGS = {"--all", "--files", "-f", "--not-required", "--disable-pip-version-check", "--no-python-version-warning",
         "--no-color", "--no-input", "--no-cache-dir", "--isolated", "--verbose", "-v", "-vv", "-vvv", "--quiet", "-q",
         "-qq", "--local", "-l", "--pre", "--require-virtualenv", "--exclude-editable", "--include-editable", "--verify"}
CHANGES = {"install", "uninstall", "download", "wheel", "lock"}


def fail(text, code=1):
    sys.stderr.write(text + "\n")
    return code


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions():
    paths = list(dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]))
    found = {}
    for distribution in metadata.distributions(path=paths):
        name = distribution.metadata.get("Name")
        if name:
            found.setdefault(normal(name), distribution)
    return [found[name] for name in sorted(found)]


def read(arguments):
    """Tells options from names; None when an option is not known."""
    options, names = {}, []
    arguments = list(arguments)
    while arguments:
        word = arguments.pop(0)
        option, has_value, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            names.append(word)
        elif option in VALUES and (has_value or arguments):
            options.setdefault(option, []).append(value if has_value else arguments.pop(0))
        elif word in FLAGS:
            options[word] = True
        else:
            fail("error: no such option here: " + word, 2)
            return None
    return options, names


def requires(distribution):
    """The names of what it needs here: markers are left to those who have `packaging`."""
    names = set()
    for text in distribution.requires or []:
        requirement, _, marker = text.partition(";")
        if "extra" not in marker:
            names.add(re.match(r"[A-Za-z0-9._-]*", requirement.strip()).group())
    return sorted(names, key=normal)


def wanted(options):
    left_out = {normal(name) for name in options.get("--exclude", [])}
    found = [one for one in distributions() if normal(one.metadata["Name"]) not in left_out]
    if "--not-required" in options:
        needed = {normal(name) for one in found for name in requires(one)}
        found = [one for one in found if normal(one.metadata["Name"]) not in needed]
    return found


def show_list(options, names):
    form = options.get("--format", ["columns"])[-1]
    rows = [(one.metadata["Name"], one.version) for one in wanted(options)]
    if form == "json":
        print(json.dumps([{"name": name, "version": version} for name, version in rows]))
    elif form == "freeze":
        for name, version in rows:
            print("%s==%s" % (name, version))
    elif form == "columns":
        rows = [("Package", "Version")] + rows if rows else []
        widths = [max([len(row[at]) for row in rows] or [0]) for at in (0, 1)]
        if rows:
            rows.insert(1, ("-" * widths[0], "-" * widths[1]))
        for name, version in rows:
            print((name.ljust(widths[0]) + " " + version).rstrip())
    else:
        return fail("error: --format is columns, freeze or json", 2)
    return 0


def freeze(options, names):
    for one in wanted(options):
        name = one.metadata["Name"]
        if normal(name) in ("pip", "setuptools", "wheel", "distribute") and "--all" not in options:
            continue
        url = json.loads(one.read_text("direct_url.json") or "{}").get("url")
        print("%s @ %s" % (name, url) if url else "%s==%s" % (name, one.version))
    return 0


def show(options, names):
    if not names:
        return fail("ERROR: Please provide a package name or names.")
    every = {normal(one.metadata["Name"]): one for one in distributions()}
    absent = [name for name in names if normal(name) not in every]
    if absent:
        fail("WARNING: Package(s) not found: " + ", ".join(absent))
    present = [every[normal(name)] for name in names if normal(name) in every]
    for at, one in enumerate(present):
        if at:
            print("---")
        text = one.metadata
        key = normal(text["Name"])
        users = [other.metadata["Name"] for other in every.values() if key in map(normal, requires(other))]
        print("Name:", text["Name"])
        print("Version:", one.version)
        fields = ("Summary", "Home-page", "Author", "Author-email", "License-Expression", "License")
        for field in fields:
            value = text.get(field, "").partition("\n")[0]
            if value or field != "License-Expression":
                print(field + ": " + value)
        print("Location:", one.locate_file(""))
        print("Requires:", ", ".join(requires(one)))
        print("Required-by:", ", ".join(users))
        if "--files" in options or "-f" in options:
            print("Files:")
            for path in sorted(str(path) for path in one.files or []):
                print("  " + path)
    return 0 if present else 1


def change(command, arguments):
    names = ", ".join("`%s`" % word for word in arguments if not word.startswith("-")) or "a package"
    what = {
        "lock": "run `macml lock`",
        "uninstall": "take %s out of macml.toml, then run `macml sync`" % names,
    }.get(command, "write %s under `[dependencies]` in macml.toml, then run `macml sync`" % names)
    return fail(
        "error: `pip %s` would change an environment that macml builds from macml.lock\nhint: %s" % (command, what)
    )


def main(arguments):
    while arguments and (arguments[0] in FLAGS or arguments[0].partition("=")[0] in VALUES):
        first = arguments[0]
        arguments = arguments[2 if first in VALUES else 1:]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0
    command, rest = arguments[0], arguments[1:]
    if command in ("-V", "--version"):
        # The form that tools look for, and a version that no pip had.
        print("pip 0+macml from %s (python %d.%d)" % ((sys.prefix,) + sys.version_info[:2]))
        return 0
    if command in CHANGES:
        return change(command, rest)
    answers = {"list": show_list, "freeze": freeze, "show": show}
    if command not in answers:
        return fail("error: `pip %s` is not to be had in an environment that macml made\nhint: run `pip help`" % command)
    if "-h" in rest or "--help" in rest:
        print(USAGE, end="")
        return 0
    understood = read(rest)
    return 2 if understood is None else answers[command](*understood)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
