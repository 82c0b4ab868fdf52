# SPDX-License-Identifier: Apache-2.0
"""The machine of a measurement: processor, versions; and whether other work disturbed it."""

import datetime
import importlib.metadata
import os
import pathlib
import platform
import re
import subprocess
import time

# If other work took more than this part of the processors' time, or above this spread of the
# reference beside itself, a time neither meets nor misses its target.
MOST_OTHER_WORK = 0.1
MOST_SPREAD = 0.10
PEERS = ("apache-tvm-ffi", "torch", "numpy")


def _busy():
    """Seconds in which all processors together were busy, or taken by other virtual machines."""
    user, nice, system, _, _, *rest = map(int, _text("/proc/stat").split("\n")[0].split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


class OtherWork:
    """The processor time that neither this process nor its ended children use, from now on."""

    def __init__(self):
        self.start, self.before = time.monotonic(), self._seconds()

    def part(self):
        """Its part of the time that all processors had."""
        passed = time.monotonic() - self.start
        return max(0.0, self._seconds() - self.before) / (passed * (os.cpu_count() or 1))

    @staticmethod
    def _seconds():
        return _busy() - sum(os.times()[:4])


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


def describe(python):
    root = pathlib.Path(__file__).resolve().parent.parent
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _output("git", "-C", str(root), "rev-parse", "--short", "HEAD"),
        "processor": f"{os.cpu_count()} x {processor()}",
        "system": f"Linux {platform.release()}, {' '.join(platform.libc_ver())}",
        "compiler": _output("gcc", "--version"),
        "python": platform.python_version(),
        "matplotlib": importlib.metadata.version("matplotlib") if _has("matplotlib") else "",
        "peers": _peer_versions(python),
    }


def _has(package):
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def reasons(other_work, spread):
    """Why times of this run decide nothing; empty if nothing disturbed them."""
    found = []
    if other_work > MOST_OTHER_WORK:
        found.append(f"other work took {100 * other_work:.0f} % of the processors' time")
    if spread > MOST_SPREAD:
        found.append(
            f"malloc + free varied by {100 * spread:.0f} % between the quartiles of its batches,"
            " each divided by those before and after it"
        )
    return found
