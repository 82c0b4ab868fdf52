# SPDX-License-Identifier: Apache-2.0
"""Wheels for other systems, built here by the same compiler, for CPython 3.12 and later there."""

import shutil

from maven import python_of
from sessions import HERE
from systems import SYSTEMS
from wheels import backend, compilers, need_zig


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
    if system.python_library:
        found["cmake.define.DLBRIDGE_PYTHON_LIBRARY"] = foreign / system.python_library
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
