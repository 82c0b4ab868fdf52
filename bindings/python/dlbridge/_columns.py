# SPDX-License-Identifier: Apache-2.0
"""Columns of pandas, polars and PyArrow.

A column is accepted if its memory is one array of numbers. For others the error names an expression
that makes such a column and keeps every value, or says that there are no numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_NUMBERS = "biufc"  # kinds of NumPy's dtypes
_TIMES = "mM"


def reader_of(x: Any) -> Callable[[Any], Any] | None:
    """The function that makes an array of a column of this library, or raises the error; it returns
    None for other objects. None if `x` is of another library."""
    for kind in type(x).__mro__:
        package = str(kind.__module__).partition(".")[0]
        if package in _READERS:
            return _READERS[package]
    return None


# ---------------------------------------------------------------------------------------- errors


def _named(x: Any) -> str:
    return f"a {type(x).__module__.partition('.')[0]} {type(x).__name__}"


def _not_an_array(x: Any, found: str, remedy: str) -> TypeError:
    return TypeError(f"expected an array of numbers, found {_named(x)} {found}; pass {remedy}")


def _no_numbers(x: Any, found: str, reason: str) -> TypeError:
    return TypeError(f"expected an array of numbers, found {_named(x)} {found}: {reason}")


def _with_nulls(x: Any, count: int, remedy: str, error: type[Exception] = BufferError) -> Exception:
    return error(
        f"expected values without nulls, which DLPack cannot represent, found {_named(x)} with "
        f"{count} of them; pass {remedy}"
    )


def _of_chunks(x: Any, count: int, remedy: str) -> BufferError:
    return BufferError(
        f"expected one block of memory, found {_named(x)} of {count} chunks; pass {remedy}"
    )


def _of_columns(x: Any, column: str, whole: bool) -> TypeError:
    # The whole has one dtype for all columns: with several, it would round some.
    remedy = f"one column, {column}" + (", or x.to_numpy()" if whole else "")
    return _not_an_array(x, "of several columns", remedy)


# ---------------------------------------------------------------------------------------- pandas


def _pandas(x: Any) -> Any:
    """The NumPy array of a Series or Index over one array of numbers."""
    numpy = sys.modules["numpy"]
    if type(x).__name__ == "MultiIndex":
        raise _of_columns(x, "x.get_level_values(number)", whole=False)
    if type(x).__name__ == "DataFrame":
        kinds = set(x.dtypes)
        one = len(kinds) == 1 and isinstance(kind := kinds.pop(), numpy.dtype)
        raise _of_columns(x, "x[name]", whole=one and kind.kind in _NUMBERS)
    if not hasattr(x, "dtype"):
        return None
    dtype = x.dtype
    if isinstance(dtype, numpy.dtype) and dtype.kind in _NUMBERS:
        return x.to_numpy()
    raise _pandas_error(x, dtype)


def _pandas_error(x: Any, dtype: Any) -> Exception:
    found, kind = f"of {dtype}", type(dtype).__name__
    if hasattr(dtype, "categories"):
        codes = "x.cat.codes" if hasattr(x, "cat") else "x.codes"
        return _not_an_array(x, "of categories", f"their numbers, {codes}")
    if kind == "SparseDtype":
        return _sparse_error(x, found, dtype.subtype)
    if kind == "IntervalDtype":
        array = "x" if hasattr(x, "left") else "x.array"
        return _not_an_array(x, found, f"its bounds, {array}.left and {array}.right")
    if kind == "ArrowDtype" and dtype.numpy_dtype.kind not in _NUMBERS:
        return _arrow_error(x, dtype.pyarrow_dtype, "pyarrow.array(x)")
    if kind in ("DatetimeTZDtype", "PeriodDtype") or getattr(dtype, "kind", "O") in _TIMES:
        least = ", with the least int64 for NaT" if x.isna().any() else ""
        return _not_an_array(x, found, f'its integers, x.astype("int64"){least}')
    if str(dtype) == "object":
        return _objects_error(x, found)
    plain: Any = getattr(dtype, "numpy_dtype", None)
    if getattr(plain, "kind", "O") not in _NUMBERS:
        return _no_numbers(x, found, "it holds no numbers")
    nulls = int(x.isna().sum())
    if nulls:
        value = 'float("nan")' if plain.kind == "f" else "value"
        filled = f'x.to_numpy(dtype="{plain}", na_value={value})'
        return _with_nulls(x, nulls, f'{filled} or x.dropna().to_numpy("{plain}")')
    return _not_an_array(x, f"of the extension dtype {dtype}", f'a copy, x.to_numpy("{plain}")')


def _sparse_error(x: Any, found: str, dtype: Any) -> Exception:
    if dtype.kind in _NUMBERS:
        return _not_an_array(x, found, f'a copy, x.to_numpy("{dtype}")')
    return _no_numbers(x, found, "it holds no numbers")


def _objects_error(x: Any, found: str) -> Exception:
    # pandas would round integers beside floats.
    alike = sys.modules["pandas"].api.types.infer_dtype(x, skipna=False)
    known = alike in ("integer", "floating", "boolean", "complex") and hasattr(x, "infer_objects")
    if known and getattr(x.infer_objects().dtype, "kind", "O") in _NUMBERS:
        return _not_an_array(x, found, "a copy of numbers, x.infer_objects()")
    return _no_numbers(x, found, "its Python objects are no numbers of one dtype")


# ---------------------------------------------------------------------------------------- polars


def _polars(x: Any) -> Any:
    """The read-only NumPy array of a Series of one chunk of numbers."""
    if type(x).__name__ == "LazyFrame":
        raise _of_columns(x, "x.collect()[name]", whole=False)
    if type(x).__name__ == "DataFrame":
        one = len(set(x.dtypes)) == 1 and _is_plain(x.dtypes[0])
        raise _of_columns(x, "x[name]", whole=one and not any(x.null_count().row(0)))
    if type(x).__name__ != "Series":
        return None
    if not _is_plain(x.dtype):
        raise _polars_error(x, x.dtype)
    if x.null_count():
        raise _with_nulls(x, x.null_count(), "x.fill_null(value) or x.drop_nulls()")
    if x.n_chunks() > 1:
        raise _of_chunks(x, x.n_chunks(), "x.rechunk()")
    return x.to_numpy(allow_copy=False)


def _is_plain(dtype: Any) -> bool:
    """Whether the dtype is one of numbers that NumPy has too."""
    return dtype.is_numeric() and not dtype.is_decimal() and not str(dtype).endswith("Int128")


def _polars_error(x: Any, dtype: Any) -> Exception:
    found, name = f"of {dtype}", str(dtype).partition("(")[0]
    if name == "Boolean":
        return _not_an_array(x, found, "its bits as bytes, x.cast(polars.UInt8)")
    if dtype.is_temporal() or name in ("Categorical", "Enum"):
        return _not_an_array(x, found, "its numbers, x.to_physical()")
    if dtype.is_decimal():
        return _not_an_array(x, found, "x.cast(polars.Float64), which rounds its values")
    if name in ("Int128", "UInt128"):
        return _wide_error(x, found)
    if name == "Struct":
        return _not_an_array(x, found, "one field, x.struct.field(name)")
    inner = dtype
    while hasattr(inner, "inner"):
        inner = inner.inner
    if inner is dtype or str(inner) in ("String", "Binary", "Object", "Null"):
        return _no_numbers(x, found, "it holds no numbers")
    values = x.explode() if name == "Array" and _is_plain(dtype.inner) else None
    if values is not None and not x.null_count() and not values.null_count():
        return _not_an_array(x, found, "a copy, x.to_numpy()")
    return _not_an_array(x, found, "the values of all its rows, x.explode()")


def _wide_error(x: Any, found: str) -> Exception:
    polars = sys.modules["polars"]
    for name in ("Int64", "UInt64"):
        if x.cast(getattr(polars, name), strict=False).null_count() == x.null_count():
            return _not_an_array(x, found, f"its values in 64 bits, x.cast(polars.{name})")
    return _no_numbers(x, found, "its values do not fit into 64 bits")


# --------------------------------------------------------------------------------------- PyArrow


def _pyarrow(x: Any) -> Any:
    """The only chunk of a ChunkedArray; arrays and tensors speak DLPack, and reject some dtypes."""
    if type(x).__name__ in ("Table", "RecordBatch"):
        raise _of_columns(x, "x.column(name)", whole=False)
    chunks = getattr(x, "num_chunks", None)
    if chunks not in (None, 1):
        raise _of_chunks(x, chunks, "x.combine_chunks()")
    array = x if chunks is None else x.chunk(0)
    if hasattr(array, "null_count"):
        if not _is_primitive(array.type):
            raise _arrow_error(x, array.type, "x" if chunks is None else "x.chunk(0)")
        if array.null_count:
            remedy = "x.fill_null(value) or x.drop_null()"
            raise _with_nulls(x, array.null_count, remedy, TypeError)
    elif chunks is None:
        raise _not_an_array(x, "without DLPack", "an Array or a Tensor")
    return None if chunks is None else array


def _is_primitive(kind: Any) -> bool:
    types = sys.modules["pyarrow"].types
    return bool(types.is_integer(kind) or types.is_floating(kind))


def _arrow_error(x: Any, kind: Any, array: str) -> Exception:
    """The error for a column of this type, of which `array` is the Arrow array."""
    types = sys.modules["pyarrow"].types
    found = f"of {kind}"
    if types.is_boolean(kind):
        return _not_an_array(x, found, f'its bits as bytes, {array}.cast("uint8")')
    if types.is_dictionary(kind):
        return _not_an_array(x, found, f"its numbers, {array}.indices")
    if types.is_decimal(kind):
        return _not_an_array(x, found, f'{array}.cast("float64"), which rounds its values')
    if types.is_temporal(kind) and not types.is_interval(kind):
        return _not_an_array(x, found, f'its integers, {array}.view("int{kind.bit_width}")')
    if types.is_struct(kind):
        return _not_an_array(x, found, f"one field, {array}.field(name)")
    storage = getattr(kind, "storage_type", None)
    if storage is not None and _has_numbers(storage):
        return _not_an_array(x, found, f"what it is stored as, {array}.storage")
    if _is_list(kind) and _has_numbers(kind):
        return _not_an_array(x, found, f"the values of all its rows, {array}.flatten()")
    return _no_numbers(x, found, "it holds no numbers")


def _is_list(kind: Any) -> bool:
    types = sys.modules["pyarrow"].types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _has_numbers(kind: Any) -> bool:
    """Whether the innermost values of lists are numbers, or something that has a remedy."""
    types = sys.modules["pyarrow"].types
    while _is_list(kind):
        kind = kind.value_type
    known = (types.is_boolean, types.is_dictionary, types.is_decimal, types.is_struct)
    timed = types.is_temporal(kind) and not types.is_interval(kind)
    return _is_primitive(kind) or timed or any(is_it(kind) for is_it in known)


_READERS = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow}
