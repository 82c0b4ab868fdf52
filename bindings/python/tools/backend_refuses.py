# SPDX-License-Identifier: Apache-2.0
"""backend_refuses.py BACKEND SOURCE...: Python before 3.10 rejects each source with a message that
names the version that it needs. The exit status is 1 if it does not.

Python 3.8 and 3.9 are asked where they are installed; always, this Python that reports to be 3.9.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

MESSAGE = "dlbridge needs Python 3.10 or later, found Python {}"
PRETEND = "import runpy, sys; sys.version_info = (3, 9, 18); runpy.run_path({!r})"


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def install(python, source):
    """pip gets no index: it must report the version before it looks for a build tool."""
    with tempfile.TemporaryDirectory() as folder:
        options = ("install", "--no-index", "--disable-pip-version-check", "--target", folder)
        return run(python, "-m", "pip", *options, str(source))


def judge(name, version, done):
    message = MESSAGE.format(version)
    good = done.returncode != 0 and message in done.stdout
    print(f"{'passed' if good else 'FAILED'} {name}: '{message}'")
    if not good:
        print(done.stdout)
    return good


def works(python):
    return shutil.which(python) and run(python, "-m", "pip", "--version").returncode == 0


def main():
    backend, *sources = map(pathlib.Path, sys.argv[1:])
    pretended = run(sys.executable, "-B", "-c", PRETEND.format(str(backend)))
    results = [judge("a Python that reports to be 3.9", "3.9", pretended)]
    for version in ("3.8", "3.9"):
        if not works(f"python{version}"):
            print(f"skipped CPython {version}: it is not installed, or has no pip")
            continue
        for source in sources:
            done = install(f"python{version}", source)
            results.append(judge(f"CPython {version}, {source.name}", version, done))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
