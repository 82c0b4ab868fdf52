# SPDX-License-Identifier: Apache-2.0
"""Objects without DLPack and without a buffer that from_dlpack accepts: columns of data frames, and
NumPy arrays with dtypes of ml_dtypes.

A column is accepted if its memory is one array of numbers; otherwise the error names the conversion
that the caller must choose.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import _ml_dtypes
from ._core import Tensor, from_dlpack


class NoDLPackError(TypeError, AttributeError):
    """The object does not support DLPack: a TypeError, and the AttributeError that the array API
    standard and NumPy specify for an object without `__dlpack__`."""

    status = "INVALID_ARGUMENT"
    rule = None
    axis = None
    native_code = None


_TABLES = ("DataFrame", "LazyFrame", "Table", "RecordBatch", "MultiIndex")


def imported(x: Any, options: dict[str, Any]) -> Tensor | None:
    """The tensor of `x` with the options of from_dlpack; None if its own error is the answer.

    from_dlpack calls it if `x` does not speak DLPack, or if NumPy does not export it.
    """
    registered = _ml_dtypes.tensor_of(x)
    if registered is not None:
        return from_dlpack(registered, **options)
    if _speaks_dlpack(x):
        return None
    read = None if isinstance(x, type) else _reader_of(x)
    if read is not None:
        return from_dlpack(read(x), **options)
    if _has_buffer(x):
        return None
    raise NoDLPackError(
        "expected an object that supports DLPack (__dlpack__, an exchange table, or a DLPack "
        f"capsule), found an instance of {type(x)!r}"
    )


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


def _reader_of(x: Any) -> Callable[[Any], Any] | None:
    for kind in type(x).__mro__:
        package = str(kind.__module__).partition(".")[0]
        if package in _READERS:
            return _READERS[package]
    return None


def _named(x: Any) -> str:
    return f"a {type(x).__module__.partition('.')[0]} {type(x).__name__}"


def _not_an_array(x: Any, found: str, remedy: str) -> TypeError:
    return TypeError(f"expected an array of numbers, found {_named(x)} {found}; pass {remedy}")


def _with_nulls(x: Any, count: int, remedy: str) -> BufferError:
    return BufferError(
        f"expected values without nulls, which DLPack cannot represent, found {_named(x)} with "
        f"{count} of them; pass {remedy}"
    )


def _pandas(x: Any) -> Any:
    """The NumPy array of a Series or Index over one array of numbers."""
    if type(x).__name__ in _TABLES or not hasattr(x, "dtype"):
        raise _not_an_array(x, "of several columns", "one column, x[name], or x.to_numpy()")
    dtype = x.dtype
    numpy = sys.modules["numpy"]
    if isinstance(dtype, numpy.dtype):
        if dtype.kind in "biufc":
            return x.to_numpy()
        if dtype.kind in "mM":
            raise _not_an_array(x, f"of {dtype}", 'x.astype("int64")')
        raise _not_an_array(x, f"of {dtype}", "numbers, for instance x.astype(float)")
    if hasattr(dtype, "categories"):
        codes = "x.cat.codes" if hasattr(x, "cat") else "x.codes"
        raise _not_an_array(x, "of categories", f"their numbers, {codes}")
    if not sys.modules["pandas"].api.types.is_numeric_dtype(dtype):
        raise _not_an_array(x, f"of {dtype}", "numbers, for instance x.astype(float)")
    nulls = int(x.isna().sum())
    if nulls:
        raise _with_nulls(x, nulls, "x.to_numpy(dtype=float, na_value=float('nan')) or x.dropna()")
    name = getattr(dtype, "numpy_dtype", "float64")
    raise _not_an_array(x, f"of the extension dtype {dtype}", f'a copy, x.to_numpy("{name}")')


def _polars(x: Any) -> Any:
    """The read-only NumPy array of a Series of one chunk of numbers."""
    if type(x).__name__ != "Series":
        raise _not_an_array(x, "of several columns", "one column, x[name], or x.to_numpy()")
    dtype = x.dtype
    if x.null_count():
        raise _with_nulls(x, x.null_count(), "x.fill_null(value) or x.drop_nulls()")
    if not dtype.is_numeric() or dtype.is_decimal():
        raise _not_an_array(x, f"of {dtype}", _polars_remedy(dtype))
    if x.n_chunks() > 1:
        raise BufferError(
            f"expected one block of memory, found {_named(x)} of {x.n_chunks()} chunks; pass "
            "x.rechunk()"
        )
    return x.to_numpy(allow_copy=False)


def _polars_remedy(dtype: Any) -> str:
    if str(dtype) == "Boolean":
        return "its bits as bytes, x.cast(polars.UInt8)"
    if dtype.is_temporal() or str(dtype).startswith(("Categorical", "Enum")):
        return "its numbers, x.to_physical()"
    return "numbers, for instance x.cast(polars.Float64)"


def _pyarrow(x: Any) -> Any:
    """The only chunk of a ChunkedArray; arrays and tensors speak DLPack."""
    if type(x).__name__ in _TABLES:
        raise _not_an_array(x, "of several columns", "one column, x.column(name)")
    if type(x).__name__ != "ChunkedArray":
        raise _not_an_array(x, "without DLPack", "an Array or a Tensor")
    if x.num_chunks != 1:
        raise BufferError(
            f"expected one block of memory, found {_named(x)} of {x.num_chunks} chunks; pass "
            "x.combine_chunks()"
        )
    return x.chunk(0)


_READERS = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow}
