"""Installs wheels with the `installer` package: a job in JSON on each line of standard input, an answer for each."""

import json
import sys
import warnings

from installer import install
from installer.destinations import SchemeDictionaryDestination
from installer.sources import WheelFile

# What it says of a wheel that has `__pycache__`; the test sees for itself what is missing.
warnings.simplefilter("ignore", RuntimeWarning)

for line in sys.stdin:
    job = json.loads(line)
    destination = SchemeDictionaryDestination(job["scheme"], interpreter=job["interpreter"], script_kind="posix")
    with WheelFile.open(job["wheel"]) as source:
        install(source, destination, {"INSTALLER": b"macml\n"})
    print("done", flush=True)
