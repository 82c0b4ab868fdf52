# SPDX-License-Identifier: Apache-2.0
"""Wheels for other systems, built here by the same compiler, for CPython 3.12 and later there."""

import shutil
from typing import NamedTuple

from maven import python_of
from sessions import HERE
from wheels import backend, compilers, need_zig


class System(NamedTuple):
    """What a build for another system needs."""

    target: str  # of zig
    package: str  # the classifier of the Maven package with its CPython
    platform: str  # of the wheel
    headers: str  # the folder of Python.h in that package
    suffix: str = ".abi3.so"
    library: str = ""  # the import library of Python's functions, if extensions link one
    programs: tuple[str, ...] = ()  # what runs programs of that system


SYSTEMS = {
    "aarch64": System(
        "aarch64-linux-gnu.2.17",
        "linux-arm64",
        "manylinux-2.17-aarch64",
        "include/python3.14",
        programs=("qemu-aarch64",),
    ),
    "windows": System(
        "x86_64-windows-gnu",
        "windows-x86_64",
        "win-amd64",
        "include",
        ".pyd",
        "libs/python3.lib",
        ("/usr/lib/wine/wine64",),
    ),
    "macos": System(
        "aarch64-macos.11.0", "macosx-arm64", "macosx-11.0-arm64", "include/python3.14"
    ),
}


def settings(system, foreign, zig, work):
    """The backend's settings; the names are those of cmake/python.cmake and of nanobind."""
    found = {
        "build-dir": work / "build",
        "cmake.define.DLBRIDGE_WERROR": "ON",
        "cmake.define.CMAKE_TOOLCHAIN_FILE": HERE / "cmake/zig.cmake",
        "cmake.define.DLBRIDGE_ZIG": zig,
        "cmake.define.DLBRIDGE_ZIG_TARGET": system.target,
        "cmake.define.DLBRIDGE_PYTHON_INCLUDE": foreign / system.headers,
        "cmake.define.NB_SUFFIX": system.suffix,
        "cmake.define.NB_SUFFIX_S": system.suffix,
    }
    if system.library:
        found["cmake.define.DLBRIDGE_PYTHON_LIBRARY"] = foreign / system.library
    return found


def build(session, name, folder, work):
    """Builds the wheel for a system in `folder`; returns it and the system's CPython, or None."""
    system = SYSTEMS[name]
    here, foreign = python_of("linux-x86_64"), python_of(system.package)
    if here is None or foreign is None:
        return None
    zig = need_zig(session)
    shutil.rmtree(work, ignore_errors=True)
    python = backend(session, str(here / "bin/python3.14"), work.with_name(f"{work.name}-tools"))
    environment = {
        **compilers(work.with_name(f"{work.name}-programs"), zig, system.target),
        "_PYTHON_HOST_PLATFORM": system.platform,
    }
    pip = ("python", "-m", "pip", "--python", python, "wheel", "--quiet", "--no-deps")
    given = (f"-C{key}={value}" for key, value in settings(system, foreign, zig, work).items())
    options = ("--no-build-isolation", *given, "--wheel-dir", str(work / "made"), str(HERE))
    session.run(*pip, *options, env=environment)
    [made] = (work / "made").glob("*.whl")
    folder.mkdir(parents=True, exist_ok=True)
    return shutil.copy(made, folder), foreign
