# SPDX-License-Identifier: Apache-2.0
"""The headers and the shared library of this package, for extensions."""

from __future__ import annotations

import pathlib
import sys

_HERE = pathlib.Path(__file__).absolute().parent


def get_include() -> str:
    """The folder for the compiler's ``-I``: ``#include <dlbridge/cpython_api.h>``, or
    ``<dlbridge/python.hpp>``, ``<dlbridge/pybind11.hpp>``, ``<dlbridge/nanobind.hpp>`` in C++."""
    return str(_package() / "include")


def get_library_dir() -> str:
    """The folder of the shared library, for the linker's ``-L`` and ``-Wl,-rpath,``."""
    return str(_package() / "lib")


def get_cmake_dir() -> str:
    """The folder for CMake's ``-Ddlbridge_DIR=``: ``find_package(dlbridge REQUIRED)`` gives the
    targets ``dlbridge::dlbridge`` (C) and ``dlbridge::cpp`` (C++)."""
    return str(_package() / "lib/cmake/dlbridge")


def get_pkgconfig_dir() -> str:
    """The folder for ``PKG_CONFIG_PATH``: ``pkg-config --cflags --libs dlbridge``."""
    return str(_package() / "lib/pkgconfig")


def get_library() -> str:
    """The file of the shared library, such as for the linker or ``ctypes``."""
    others = {"win32": "dlbridge.dll", "darwin": "lib/libdlbridge.*.dylib"}
    pattern = others.get(sys.platform, "lib/libdlbridge.so.*")
    files = sorted(_package().glob(pattern), key=lambda file: len(file.name))
    if not files:
        raise FileNotFoundError(f"expected {pattern} in {_package()}, found none")
    return str(files[0])


def _package() -> pathlib.Path:
    """The folder of the built files: this one, or that of the extension in an editable install."""
    if (_HERE / "lib").is_dir():
        return _HERE
    from . import _core

    return pathlib.Path(_core.__file__).absolute().parent
