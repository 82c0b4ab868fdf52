# SPDX-License-Identifier: Apache-2.0
"""What the noxfiles of bindings/python, tests/interop and tests/travel share."""

import os
import pathlib
import shutil
import subprocess
import sys

import nox

HERE = pathlib.Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import stages  # noqa: E402, F401 needs the path above; others take it from here

# This machine's compiler builds the wheels of a commit's tests, in half the time that the compiler
# of a release's wheels takes.
NATIVE = os.environ.get("DLBRIDGE_WHEELS") == "native"
WHEELS = ROOT / ("build/wheels-native" if NATIVE else "build/wheels")
VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "3.13t", "3.14t", "3.15t")


def shim_of(version):
    """3.13.5 -> 3.13, 3.13.5t -> 3.13t."""
    return version.rpartition(".")[0] + ("t" if version.endswith("t") else "")


def configure(name):
    """Sets the options of a noxfile and removes what could replace an installed package."""
    # nox has changed to the folder of the noxfile; this makes the path of --report relative to the
    # repository.
    os.chdir(ROOT)
    (ROOT / "build/reports").mkdir(parents=True, exist_ok=True)
    nox.options.envdir = str(ROOT / "build/nox" / name)
    nox.options.reuse_venv = "yes"
    nox.options.default_venv_backend = "uv|virtualenv"
    nox.options.download_python = "never"
    nox.options.error_on_missing_interpreters = False
    for variable in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONOPTIMIZE"):
        os.environ.pop(variable, None)
    os.environ.update(PYTHONNOUSERSITE="1", PYTHONDONTWRITEBYTECODE="1", LC_ALL="C.UTF-8")
    if shutil.which("pyenv"):
        # The shims of pyenv run only the versions that this variable names.
        command = ("pyenv", "versions", "--bare")
        found = subprocess.run(command, capture_output=True, text=True).stdout.split()
        wanted = [one for one in found if shim_of(one) in VERSIONS]
        os.environ["PYENV_VERSION"] = ":".join([*wanted, "system"])


def build_wheels(session):
    """Builds the wheels that are not current, from another noxfile."""
    noxfile = str(HERE / "noxfile.py")
    session.run(
        sys.executable, "-m", "nox", "-j", "1", "-f", noxfile, "-s", "wheels", external=True
    )


def install_wheel(session, tag="cp311-cp311"):
    """Installs the wheel of a tag, or skips the session; returns the wheel."""
    found = list(WHEELS.glob(f"*-{tag}-*.whl"))
    if not found:
        session.skip(f"there is no wheel for {tag}: its CPython or Python.h is missing")
    session.install("--quiet", "--no-index", "--no-deps", "--force-reinstall", str(found[0]))
    return found[0]


def install_pinned(session, *files):
    """Installs requirements files that name every dependency."""
    for file in files:
        session.install("--quiet", "--no-deps", "-r", str(file))
