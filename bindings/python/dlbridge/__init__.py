# SPDX-License-Identifier: Apache-2.0
"""Tensors of every framework, exchanged by DLPack: imported, checked, and handed on."""

from ._core import Tensor, __version__, collect, from_dlpack

# Type checkers take this name for true. The module typing would double the time of this import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._adapt import Adapted, Rejection, adapt
    from ._build import (
        get_cmake_dir,
        get_include,
        get_library,
        get_library_dir,
        get_pkgconfig_dir,
    )
    from ._inspect import inspect
    from ._interfaces import from_buffer, from_interface, to_buffer
    from ._pickle import portable
    from ._registry import register_consumer, register_producer
    from ._to import to
else:
    from ._core import adapt, to

__all__ = [
    "Adapted",
    "Rejection",
    "Tensor",
    "__version__",
    "adapt",
    "collect",
    "from_buffer",
    "from_dlpack",
    "from_interface",
    "get_cmake_dir",
    "get_include",
    "get_library",
    "get_library_dir",
    "get_pkgconfig_dir",
    "inspect",
    "portable",
    "register_consumer",
    "register_producer",
    "to",
    "to_buffer",
]

# Loaded at first use: programs that only import tensors do not need these modules.
_LAZY = {
    "Adapted": "_adapt",
    "Rejection": "_adapt",
    "from_buffer": "_interfaces",
    "from_interface": "_interfaces",
    "get_cmake_dir": "_build",
    "get_include": "_build",
    "get_library": "_build",
    "get_library_dir": "_build",
    "get_pkgconfig_dir": "_build",
    "inspect": "_inspect",
    "portable": "_pickle",
    "register_consumer": "_registry",
    "register_producer": "_registry",
    "to_buffer": "_interfaces",
}


def __getattr__(name: str) -> "Any":
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
