# SPDX-License-Identifier: Apache-2.0
"""The machine of a measurement: processor, load, versions; and whether it was idle enough."""

import datetime
import importlib.metadata
import os
import pathlib
import platform
import re
import subprocess

# Above this part of the processors busy with other work, or this spread of the reference beside
# itself, a time neither meets nor misses its target.
MOST_LOAD = 0.5
MOST_SPREAD = 0.10
PEERS = ("apache-tvm-ffi", "torch", "numpy", "jax", "nanobind")


def load():
    """Runnable threads for each processor, over the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def processor():
    found = re.search(r"^model name\s*: (.*)$", _text("/proc/cpuinfo"), re.MULTILINE)
    return found[1] if found else platform.processor()


def _text(path):
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ""


def _output(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip().split("\n")[0]


def _peer_versions(python):
    """Versions of the peers that a Python has installed."""
    if not python or not pathlib.Path(python).exists():
        return {}
    code = f"import importlib.metadata as m\nfor n in {PEERS!r}:\n try: print(n, m.version(n))\n"
    code += " except m.PackageNotFoundError: pass"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return dict(line.split() for line in done.stdout.splitlines())


def describe(*pythons):
    root = pathlib.Path(__file__).resolve().parent.parent
    peers = {}
    for python in pythons:
        peers.update(_peer_versions(python))
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _output("git", "-C", str(root), "rev-parse", "--short", "HEAD"),
        "processor": f"{os.cpu_count()} x {processor()}",
        "system": f"Linux {platform.release()}, {' '.join(platform.libc_ver())}",
        "compiler": _output("gcc", "--version"),
        "python": platform.python_version(),
        "matplotlib": importlib.metadata.version("matplotlib") if _has("matplotlib") else "",
        "peers": peers,
        "load_before": round(load(), 2),
    }


def _has(package):
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def reasons(loads, spread):
    """Why times of this run decide nothing; empty on an idle machine."""
    found = []
    if max(loads) > MOST_LOAD:
        found.append(f"{max(loads):.1f} threads for each processor were runnable")
    if spread > MOST_SPREAD:
        found.append(
            f"malloc + free varied by {100 * spread:.0f} % between the quartiles of its batches,"
            " each divided by those before and after it"
        )
    return found
