# SPDX-License-Identifier: Apache-2.0
"""The headers and the shared library of this package, for extensions."""

from __future__ import annotations

import pathlib

_HERE = pathlib.Path(__file__).absolute().parent


def get_include() -> str:
    """The folder for the compiler's ``-I``: ``#include "dlbridge/cpython_api.h"``."""
    return str(_package() / "include")


def get_library_dir() -> str:
    """The folder of the shared library, for the linker's ``-L`` and ``-Wl,-rpath,``."""
    return str(_package() / "lib")


def get_library() -> str:
    """The file of the shared library, for the linker. A wheel has no symbolic link that
    ``-ldlbridge`` would find: pass the file, or ``-l:`` and its name."""
    files = sorted((_package() / "lib").glob("libdlbridge.so.*"), key=lambda file: len(file.name))
    if not files:
        raise FileNotFoundError(f"expected libdlbridge.so.* in {get_library_dir()}, found none")
    return str(files[0])


def _package() -> pathlib.Path:
    """The folder of the built files: this one, or that of the extension in an editable install."""
    if (_HERE / "lib").is_dir():
        return _HERE
    from . import _core

    return pathlib.Path(_core.__file__).absolute().parent
