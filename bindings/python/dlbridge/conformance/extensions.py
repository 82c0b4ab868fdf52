# SPDX-License-Identifier: Apache-2.0
"""Functions of adapters for the arrays of a small extension.

Its arrays have the attributes `triple` (code, bits and lanes of the dtype), `address` and `read()`.
Elements below a byte are packed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import values
from .adapters import Request


def maker(function: Callable[..., Any]) -> Callable[[Request], Any]:
    """`make` by a function of the extension. Its arguments are the bytes of the base array, shape,
    strides in elements, the byte of element (0, ..., 0), code and bits of the dtype, and whether
    the array is read-only."""

    def make(request: Request) -> Any:
        code, bits, _ = {**values.DTYPES, **values.SMALL}[request.dtype]
        is_small = request.dtype in values.SMALL
        content = values.packed(request.dtype) if is_small else request.bits
        start = request.form.start * values.size(request.dtype)
        place = (list(request.shape), list(request.strides), start)
        return function(content, *place, code, bits, request.read_only)

    return make


def array_by(name: str) -> str:
    """The line of a program that makes an array of float32 by this function."""
    return f"array = {name}(bytes(48), [3, 4], [4, 1], 0, 2, 32, False)\n"


def read(array: Any) -> bytes:
    return bytes(array.read())


def dtype(array: Any) -> str:
    return values.NAMES.get(tuple(array.triple), str(array.triple))


def address(array: Any) -> int:
    return int(array.address)
