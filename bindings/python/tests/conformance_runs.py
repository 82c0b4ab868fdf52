# SPDX-License-Identifier: Apache-2.0
"""What the tests of the conformance kit share."""

import importlib.metadata
import os
import pathlib
import subprocess
import sys

import pytest

SCRATCH = pathlib.Path(__file__).resolve().parent / "scratch"
# These tests start many processes; two of the Pythons that each CI tests are sufficient.
whole_run = pytest.mark.skipif(
    sys.version_info[:2] in ((3, 12), (3, 13)), reason="runs with other versions of Python"
)
one_run = pytest.mark.skipif(
    sys.version_info[:2] in ((3, 10), (3, 12), (3, 13)),
    reason="runs with another version of Python",
)
# NumPy exports the arrays into which faults are put. NumPy 2.2 is the last for CPython 3.10.
newer_numpy = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="NumPy 2.2 does not show these faults"
)
# The kit observes crashes, which AddressSanitizer reports by an exit status of its own.
no_sanitizers = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="the kit runs without sanitizers"
)


def command(*arguments, cwd):
    line = (sys.executable, "-B", "-m", *map(str, arguments))
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, timeout=300)


def shown(program, fault=""):
    """The exit status of a reproducer, and what it prints, for a library with the fault."""
    environment = {**os.environ, "PLANTED": fault}
    line = (sys.executable, "-B", "-c", program)
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout + done.stderr


def plugin_options(options):
    """Without `-p PLUGIN` at the end where the package is installed: its entry point names it."""
    found = importlib.metadata.entry_points(group="pytest11")
    if any(one.value == "dlbridge.conformance.plugin" for one in found):
        return options[:-2]
    return options
