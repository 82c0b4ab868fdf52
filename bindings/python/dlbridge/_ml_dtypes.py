# SPDX-License-Identifier: Apache-2.0
"""Tensors of NumPy arrays and scalars of the package ml_dtypes, which NumPy does not export."""

from __future__ import annotations

import sys
from typing import Any

from . import _memory
from ._core import Tensor, check_guards, wrap

_REGISTERED = 2  # isbuiltin of a dtype that a package has added to NumPy
_WHOLE = ("bfloat16", "complex32", "float8_")
# ml_dtypes stores an element of these in the low bits of a byte.
_FLOATS = ("float6_", "float4_")
_INTEGERS = frozenset(("int1", "int2", "int4", "uint1", "uint2", "uint4"))


def tensor_of(array: Any) -> Tensor | None:
    """The tensor of an array or scalar with a dtype of ml_dtypes; None for another object."""
    numpy = sys.modules.get("numpy")
    kinds = getattr(numpy, "ndarray", ()), getattr(numpy, "generic", ())
    if not isinstance(array, kinds):
        return None
    dtype: Any = array.dtype
    # The name of a dtype is slow to read; only registered ones need a look at it.
    name = str(dtype.name) if dtype.isbuiltin == _REGISTERED else ""
    padded = name in _INTEGERS or name.startswith(_FLOATS)
    if not padded and not name.startswith(_WHOLE):
        return None
    check_guards(array)
    _check_byte_order(dtype, name)
    interface = array.__array_interface__
    return wrap(
        (array, interface),  # that of a scalar has the only reference to its memory
        interface["data"][0],
        array.shape,
        name,
        strides=_memory.element_strides(array.strides, array.shape, dtype.itemsize),
        tensor_flags=_memory.PADDED if padded else 0,
        readonly=not array.flags.writeable,
    )


def _check_byte_order(dtype: Any, name: str) -> None:
    if dtype.itemsize > 1 and not dtype.isnative:
        raise BufferError(
            f"expected the byte order of this machine, {sys.byteorder}, found an array of {name} "
            f"in the other one: convert it, as by x.astype(ml_dtypes.{name})"
        )
