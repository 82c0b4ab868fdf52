# SPDX-License-Identifier: Apache-2.0
"""Objects that from_dlpack accepts although they speak no DLPack, or only for some dtypes."""

from __future__ import annotations

from typing import Any

from . import _ml_dtypes
from ._columns import reader_of
from ._core import Tensor, from_dlpack


class NoDLPackError(TypeError, AttributeError):
    """The object does not support DLPack: a TypeError, and the AttributeError that the array API
    standard and NumPy specify for an object without `__dlpack__`."""

    status = "INVALID_ARGUMENT"
    rule = None
    axis = None
    native_code = None


def imported(x: Any, options: dict[str, Any]) -> Tensor | None:
    """The tensor of `x` with the options of from_dlpack; None if its own error is the answer.

    from_dlpack calls it if the import of `x` was a TypeError, or if NumPy does not export it.
    """
    if isinstance(x, type):
        check_no_class(x)
        return None
    registered = _ml_dtypes.tensor_of(x)
    if registered is not None:
        return from_dlpack(registered, **options)
    read = reader_of(x)
    if _speaks_dlpack(x):
        if read is not None and hasattr(x, "null_count"):
            read(x)  # an array of PyArrow, whose own errors name no remedy
        return None
    column = read(x) if read is not None else None
    if column is not None:
        return from_dlpack(column, **options)
    if _has_buffer(x):
        return None
    raise NoDLPackError(f"{_EXPECTED}, found an instance of {type(x)!r}{_hint(x)}")


_EXPECTED = (
    "expected an object that supports DLPack (__dlpack__, an exchange table, or a DLPack capsule)"
)


def check_no_class(kind: type) -> None:
    """Rejects a class, unless its own class speaks DLPack: its methods need an object."""
    if not hasattr(type(kind), "__dlpack__"):
        raise NoDLPackError(f"{_EXPECTED}, found the class {kind!r}: pass an object of it")


def _hint(x: Any) -> str:
    """What a message adds about an object whose import failed."""
    if hasattr(type(x), "__dlpack__"):
        try:
            x.__dlpack__  # noqa: B018 a property, which hides its own error
        except AttributeError as error:
            return f", whose __dlpack__ raises {type(error).__name__}: {error}"
    if hasattr(x, "__array_interface__") or hasattr(x, "__cuda_array_interface__"):
        return "; pass dlbridge.from_interface(x)"
    return ""


def _has_buffer(x: Any) -> bool:
    try:
        memoryview(x).release()
    except TypeError:
        return False
    except Exception:  # a buffer that its owner does not give now
        return True
    return True


def _speaks_dlpack(x: Any) -> bool:
    names = ("__dlpack__", "__dlpack_c_exchange_api__")
    return type(x).__name__ == "PyCapsule" or any(hasattr(x, name) for name in names)
