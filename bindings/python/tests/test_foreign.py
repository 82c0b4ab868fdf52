# SPDX-License-Identifier: Apache-2.0
"""Buffers and columns of data frames in from_dlpack, adapt, to and inspect; numpy.asarray."""

import array
import ctypes
import datetime
import decimal
import mmap
import re
import sys
import types

import dlbridge
import numpy as np
import pytest
from dlbridge import _core

BUFFERS = {
    "array.array": (lambda: array.array("d", [1.0, 2.0, 3.0]), "float64", (3,), False),
    "memoryview": (lambda: memoryview(array.array("i", [1, 2])), "int32", (2,), False),
    "bytes": (lambda: b"abcd", "uint8", (4,), True),
    "bytearray": (lambda: bytearray(b"abcd"), "uint8", (4,), False),
    "mmap": (lambda: mmap.mmap(-1, 64), "uint8", (64,), False),
    "ctypes": (lambda: (ctypes.c_float * 3)(), "float32", (3,), False),
    "2-D": (lambda: memoryview(bytearray(6)).cast("B", (2, 3)), "uint8", (2, 3), False),
    "scalar": (lambda: np.float32(2.5), "float32", (), True),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_buffers(name):
    make, dtype, shape, readonly = BUFFERS[name]
    source = make()
    tensor = dlbridge.from_dlpack(source)
    assert (tensor.dtype, tensor.shape, tensor.readonly) == (dtype, shape, readonly)
    assert bytes(memoryview(tensor)) == bytes(source)
    assert dlbridge.to(source, np).dtype == dtype
    assert dlbridge.to(source, dlbridge.Tensor).shape == shape
    assert np.from_dlpack(dlbridge.adapt(source)).flags.writeable != readonly
    report = dlbridge.inspect(source)
    assert report.bridged["numpy"] is None
    assert "to() gives numpy" in str(report)


TIMES = {
    "datetime64": np.datetime64("2020-01-01", "ns"),
    "timedelta64": np.timedelta64(3, "s"),
    "generic timedelta64": np.timedelta64(3),
    "array of datetime64": np.array(["2020-01-01"], "M8[s]"),
    "array of timedelta64": np.zeros((2, 3), "m8[ms]"),
}


@pytest.mark.parametrize("name", TIMES)
def test_times_of_numpy_are_rejected(name):
    """The buffer of a scalar is plain bytes."""
    calls = [dlbridge.from_dlpack, dlbridge.adapt, dlbridge.portable, dlbridge.to_buffer]
    calls += [lambda x: dlbridge.to(x, "numpy"), lambda x: dlbridge.from_dlpack(x, copy=True)]
    calls += [lambda x: _core.to_type(x, dlbridge.Tensor)]  # as an extension in C imports
    calls += [dlbridge.from_interface, dlbridge.from_buffer] if "array" not in name else []
    for call in calls:
        with pytest.raises(BufferError, match="found datetime64 or timedelta64.*astype"):
            call(TIMES[name])
    values = TIMES[name].astype("int64")
    assert dlbridge.to(values, "numpy").tolist() == values.tolist()
    report = dlbridge.inspect(TIMES[name])
    assert "astype" in report.bridged["numpy"]


def test_memory_is_shared():
    samples = array.array("f", [1.0, 2.0])
    tensor = dlbridge.from_dlpack(samples)
    samples[0] = 7.0
    assert memoryview(tensor)[0] == 7.0
    with pytest.raises(BufferError):
        samples.append(1.0)


def test_options_apply_to_buffers():
    source = array.array("f", [1.0, 2.0])
    assert dlbridge.from_dlpack(source, writable=False).readonly
    copied = dlbridge.from_dlpack(source, copy=True)
    assert copied.data_ptr != source.buffer_info()[0]
    assert dlbridge.from_dlpack(source, shape=(2,)).size == 2
    with pytest.raises(BufferError):
        dlbridge.from_dlpack(source, ndim=2)
    with pytest.raises(BufferError, match="writ"):
        dlbridge.from_dlpack(b"abcd", writable=True)
    assert not dlbridge.from_dlpack(b"abcd", writable=True, copy=True).readonly


def test_read_only_buffers_stay_read_only():
    with pytest.raises(dlbridge.Rejection, match="readonly='copy'"):
        dlbridge.adapt(b"abcd", consumer="torch").__dlpack__(max_version=(1, 0))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (memoryview(b"abcd").cast("c"), "'c'"),
        ((ctypes.c_uint16.__ctype_be__ * 2)(), "byte order"),
    ],
)
def test_other_formats_name_from_buffer(source, found):
    with pytest.raises(BufferError, match=found) as caught:
        dlbridge.from_dlpack(source)
    if found == "'c'":
        assert "from_buffer(x, dtype=...)" in str(caught.value)


def test_other_objects_are_rejected_as_before():
    for thing in ("text", 3, None, [1.0], object(), bytes):
        with pytest.raises(TypeError, match="supports DLPack"):
            dlbridge.from_dlpack(thing)

    class Broken:
        def __dlpack__(self, **keywords):
            raise TypeError("of the producer")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(TypeError, match="of the producer"):
        dlbridge.from_dlpack(Broken())


# ------------------------------------------------------------------------------------------- NumPy


def test_asarray_shares_memory():
    source = np.arange(12, dtype=np.float32).reshape(3, 4)[::-1, ::2]
    for wrap in (dlbridge.adapt, lambda x: dlbridge.adapt(x, consumer="torch")):
        taken = np.asarray(wrap(source))
        assert taken.dtype == np.float32
        np.testing.assert_array_equal(taken, source)
        assert np.shares_memory(taken, source)
        assert not np.shares_memory(np.array(wrap(source)), source)
    assert np.asarray(dlbridge.adapt(source), dtype=np.float64).dtype == np.float64


def test_arguments_of_array_are_those_of_numpy_2():
    source = np.arange(3)
    adapted = dlbridge.adapt(source)
    assert np.shares_memory(adapted.__array__(copy=False), source)
    assert not np.shares_memory(adapted.__array__(copy=True), source)
    assert adapted.__array__(np.int8).dtype == np.int8
    assert adapted.__array__(np.int64, copy=None) is not None
    with pytest.raises(ValueError, match="copy=False"):
        adapted.__array__(np.int8, copy=False)
    with pytest.raises(TypeError, match="copy"):
        adapted.__array__(copy="yes")
    copied = dlbridge.adapt(source, copy=True)
    assert not np.shares_memory(np.asarray(copied), source)
    assert not hasattr(copied, "__array_interface__")


def test_a_copy_from_another_device_has_no_array_interface():
    """Nothing would keep the copy alive: consumers of the interface keep the adapted array only."""

    class There:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, *, max_version=None, dl_device=None, **_):
            if dl_device == (1, 0):
                return dlbridge.from_dlpack(np.arange(3)).__dlpack__(max_version=max_version)
            return _core.export(_core.wrap(None, 4096, (3,), "int64", device="cuda"), max_version)

    adapted = dlbridge.adapt(There(), device="cpu")
    assert not hasattr(adapted, "__array_interface__")
    assert np.asarray(adapted).tolist() == [0, 1, 2]


def test_asarray_keeps_read_only():
    source = np.arange(3)
    source.flags.writeable = False
    assert not np.asarray(dlbridge.adapt(source)).flags.writeable
    assert dlbridge.adapt(source).__array_interface__["data"][1] is True


def test_asarray_of_another_device_names_the_remedy():
    there = _core.wrap(None, 4096, (3,), "float32", device="cuda")
    with pytest.raises(dlbridge.Rejection, match="device='cpu'"):
        np.asarray(dlbridge.adapt(there))
    assert not hasattr(dlbridge.adapt(there), "__array_interface__")


class Registered(np.ndarray):
    """Stands in for an array of ml_dtypes: its interface has the only reference to its memory."""

    dtype = types.SimpleNamespace(isbuiltin=2, name="bfloat16", itemsize=2, isnative=True)

    @property
    def __array_interface__(self):
        copy = np.array(self.view(np.ndarray))
        return {**copy.__array_interface__, "__ref": copy}


Registered.__module__ = "numpy"


def test_adapt_keeps_the_interface_of_registered_dtypes():
    adapted = dlbridge.adapt(np.full(3, 7, np.uint16).view(Registered))
    noise = [np.zeros(3, np.uint16) for _ in range(50)]
    assert adapted.dtype == "bfloat16"
    assert memoryview(dlbridge.to_buffer(adapted)).tobytes() == b"\7\0" * 3
    assert adapted.address not in [one.ctypes.data for one in noise]


def test_adapt_rejects_masked_arrays_of_registered_dtypes(monkeypatch):
    kind = type("Masked", (np.ma.MaskedArray,), {"__module__": "numpy"})
    array = np.zeros(3, np.uint16).view(kind)
    monkeypatch.setattr(kind, "dtype", Registered.dtype, raising=False)
    with pytest.raises(BufferError, match="found a masked one"):
        dlbridge.adapt(array)


def test_asarray_of_a_dtype_that_numpy_lacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    bits = np.zeros(3, np.uint16)
    tensor = _core.wrap(bits, bits.ctypes.data, (3,), "bfloat16")
    with pytest.raises(dlbridge.Rejection, match="NumPy has, found bfloat16"):
        np.asarray(dlbridge.adapt(tensor))
    assert not hasattr(dlbridge.adapt(tensor), "__array_interface__")


def test_asarray_of_a_tensor(monkeypatch):
    source = np.arange(3)
    tensor = dlbridge.from_dlpack(source)
    assert np.shares_memory(np.asarray(tensor), source)
    assert tensor.__array__(np.int8, copy=True).dtype == np.int8
    with pytest.raises(TypeError):
        tensor.__array__(unknown=1)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    odd = _core.wrap(source, source.ctypes.data, (3,), "bfloat16")
    with pytest.raises(dlbridge.Rejection, match="NumPy has, found bfloat16"):
        np.asarray(odd)
    there = _core.wrap(None, 4096, (3,), "float32", device="cuda")
    with pytest.raises(dlbridge.Rejection, match="device='cpu'"):
        np.asarray(there)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes export buffers since CPython 3.12")
def test_memoryview():
    assert memoryview(dlbridge.adapt(b"abc")).tobytes() == b"abc"


# ----------------------------------------------------------------------------------------- columns


def refused(x, error, *words):
    for call in (dlbridge.from_dlpack, dlbridge.adapt, lambda x: dlbridge.to(x, "numpy")):
        with pytest.raises(error) as caught:
            call(x)
        for word in words:
            assert word in str(caught.value), caught.value
        assert "\n" not in str(caught.value)
    assert set(map(str, dlbridge.inspect(x).bridged.values())) != {"None"}


def accepted(x, values, dtype):
    for taken in (np.asarray(dlbridge.from_dlpack(x)), dlbridge.to(x, "numpy")):
        assert taken.dtype == dtype
        np.testing.assert_array_equal(taken, values)


def test_pandas():
    pd = pytest.importorskip("pandas")
    series = pd.Series([1.5, 2.5])
    accepted(series, [1.5, 2.5], "float64")
    assert np.shares_memory(dlbridge.to(series, "numpy"), series.to_numpy())
    assert dlbridge.from_dlpack(series).readonly != series.to_numpy().flags.writeable
    accepted(pd.Series([1.0, None]), [1.0, np.nan], "float64")
    accepted(pd.Series([True, False]), [True, False], "bool")
    accepted(pd.Index([3, 4]), [3, 4], "int64")
    accepted(pd.RangeIndex(3), [0, 1, 2], "int64")
    refused(pd.Series([1, None], dtype="Int64"), BufferError, "1 of them", "na_value=value")
    refused(pd.Series([1, 2], dtype="Int64"), TypeError, "Int64", 'x.to_numpy("int64")')
    refused(pd.Series(["a", "b"]), TypeError, "pandas Series", "numbers")
    refused(pd.Series(["a", None], dtype=object), TypeError, "object")
    refused(pd.Series(["a", "b"], dtype="category"), TypeError, "x.cat.codes")
    refused(pd.CategoricalIndex(["a"]), TypeError, "x.codes")
    refused(pd.Series(pd.to_datetime(["2020-01-01"])), TypeError, 'x.astype("int64")')
    refused(pd.DataFrame({"a": [1.0]}), TypeError, "x[name]", "x.to_numpy()")
    refused(pd.MultiIndex.from_tuples([(1, 2)]), TypeError, "several columns")


def test_polars():
    pl = pytest.importorskip("polars")
    series = pl.Series([1.5, 2.5])
    accepted(series, [1.5, 2.5], "float64")
    assert dlbridge.from_dlpack(series).readonly
    accepted(pl.Series([1, 2], dtype=pl.UInt16), [1, 2], "uint16")
    refused(pl.Series([1, None]), BufferError, "1 of them", "x.fill_null(value)")
    refused(pl.Series(["a"]), TypeError, "String", "numbers")
    refused(pl.Series(["a"], dtype=pl.Categorical), TypeError, "x.to_physical()")
    refused(pl.Series([True]), TypeError, "x.cast(polars.UInt8)")
    refused(pl.concat([series, series], rechunk=False), BufferError, "2 chunks", "x.rechunk()")
    refused(pl.DataFrame({"a": [1.0]}), TypeError, "x[name]")
    refused(pl.DataFrame({"a": [1.0]}).lazy(), TypeError, "x.collect()[name]")
    refused(pl.col("a"), TypeError, "supports DLPack")


def test_pyarrow():
    pa = pytest.importorskip("pyarrow")
    column = pa.array([1.5, 2.5])
    accepted(column, [1.5, 2.5], "float64")
    assert dlbridge.from_dlpack(column).readonly
    accepted(pa.chunked_array([[1, 2]]), [1, 2], "int64")
    accepted(pa.Tensor.from_numpy(np.ones((2, 2))), np.ones((2, 2)), "float64")
    refused(pa.array([1, None]), TypeError, "null")
    refused(pa.chunked_array([[1, None]]), TypeError, "null")
    refused(pa.scalar(1), TypeError, "an Array or a Tensor")
    refused(pa.chunked_array([[1], [2]]), BufferError, "2 chunks", "x.combine_chunks()")
    refused(pa.table({"a": [1]}), TypeError, "x.column(name)")


REMEDY = re.compile(r"(?:pyarrow\.array\(x\)|\bx)(?:\.\w+|\[\w+\]|\((?:[^()]|\([^()]*\))*\))+")


def followed(x, depth=0, **named):
    """The values after each expression that the error names, and after those of its own error."""
    try:
        return [np.asarray(dlbridge.from_dlpack(x)).tolist()]
    except (BufferError, TypeError) as error:
        message = str(error)
    assert depth < 4 and "\n" not in message
    remedies = REMEDY.findall(message.partition("; pass ")[2])
    assert remedies, message
    packages = {name: sys.modules.get(name) for name in ("pandas", "polars", "pyarrow")}
    names = {"name": "a", "number": 0, "value": 7, **packages, **named, "x": x}
    return [values for one in remedies for values in followed(eval(one, names), depth + 1, **named)]


BIG = 2**60 + 1  # rounded by float64


def pandas_columns(pd):
    days = ["2020-01-01", "2020-01-03"]
    period = pd.Series(pd.period_range("2020-01-01", periods=2, freq="D"))
    interval = pd.Series(pd.interval_range(0, 2))
    mixed = pd.DataFrame({"a": [BIG], "b": [0.5]})
    stamps = [1577836800 * 10**6, 1578009600 * 10**6]
    zoned = pd.Series(pd.to_datetime(days, utc=True)).astype("datetime64[us, UTC]")
    plain = pd.Series(pd.to_datetime(days)).astype("datetime64[us]")
    return {
        "sparse": (pd.Series([0, BIG], dtype="Sparse[int]"), [[0, BIG]]),
        "sparse of floats": (pd.Series([0, 0.5], dtype="Sparse[float]"), [[0, 0.5]]),
        "sparse of bools": (pd.Series([True, False], dtype="Sparse[bool]"), [[True, False]]),
        "Int64 with nulls": (pd.Series([BIG, None], dtype="Int64"), [[BIG, 7], [BIG]]),
        "UInt64 with nulls": (pd.Series([2**63, None], dtype="UInt64"), [[2**63, 7], [2**63]]),
        "Float32 with nulls": (pd.Series([0.5, None], dtype="Float32"), [[0.5, np.nan], [0.5]]),
        "boolean with nulls": (pd.Series([False, None], dtype="boolean"), [[False, True], [False]]),
        "Int64": (pd.Series([BIG], dtype="Int64"), [[BIG]]),
        "an index of Int64": (pd.Index([BIG], dtype="Int64"), [[BIG]]),
        "an extension array": (pd.array([BIG], dtype="Int64"), [[BIG]]),
        "datetimes": (plain, [stamps]),
        "datetimes of a zone": (zoned, [stamps]),
        "a DatetimeIndex": (pd.DatetimeIndex(plain), [stamps]),
        "NaT": (plain.where([True, False]), [[stamps[0], -(2**63)]]),
        "timedeltas": (pd.Series(pd.to_timedelta([5], unit="ns")), [[5]]),
        "periods": (period, [[18262, 18263]]),
        "intervals": (interval, [[0, 1], [1, 2]]),
        "an IntervalIndex": (pd.IntervalIndex(interval), [[0, 1], [1, 2]]),
        "categories": (pd.Series(["a", "b"], dtype="category"), [[0, 1]]),
        "objects": (pd.Series([BIG, 1], dtype=object), [[BIG, 1]]),
        "a MultiIndex": (pd.MultiIndex.from_tuples([(BIG, 0.5)]), [[BIG]]),
        "a frame of one dtype": (pd.DataFrame({"a": [BIG]}), [[BIG], [[BIG]]]),
        "a frame of two dtypes": (mixed, [[BIG]]),
    }


def arrow_columns_of_pandas(pd, pa):
    def column(values, kind):
        return pd.Series(pa.array(values, kind), dtype=pd.ArrowDtype(kind))

    day = datetime.date(1970, 1, 3)
    return {
        "int64": (column([BIG], pa.int64()), [[BIG]]),
        "int64 with nulls": (column([BIG, None], pa.int64()), [[BIG, 7], [BIG]]),
        "bool with nulls": (column([False, None], pa.bool_()), [[False, True], [False]]),
        "date32": (column([day, None], pa.date32()), [[2, 7], [2]]),
        "timestamp": (column([BIG], pa.timestamp("us", "UTC")), [[BIG]]),
        "dictionary": (column(["a"], pa.dictionary(pa.int32(), pa.string())), [[0]]),
        "list": (column([[BIG], [1]], pa.list_(pa.int64())), [[BIG, 1]]),
    }


def polars_columns(pl):
    return {
        "nulls": (pl.Series([BIG, None]), [[BIG, 7], [BIG]]),
        "List": (pl.Series([[BIG, 2], [3]]), [[BIG, 2, 3]]),
        "List of Boolean": (pl.Series([[True], [False]]), [[1, 0]]),
        "Array": (pl.Series([[BIG, 2]], dtype=pl.Array(pl.Int64, 2)), [[[BIG, 2]]]),
        "Array of Array": (pl.Series([[[BIG]]], dtype=pl.Array(pl.Int64, (1, 1))), [[[BIG]]]),
        "Array with nulls": (
            pl.Series([[BIG, None]], dtype=pl.Array(pl.Int64, 2)),
            [[BIG, 7], [BIG]],
        ),
        "Struct": (pl.Series([{"a": BIG}]), [[BIG]]),
        "Int128": (pl.Series([BIG, -1], dtype=pl.Int128), [[BIG, -1]]),
        "Int128 beyond Int64": (pl.Series([2**63], dtype=pl.Int128), [[2**63]]),
        "Boolean": (pl.Series([True, None]), [[1, 7], [1]]),
        "Date": (pl.Series([3], dtype=pl.Date), [[3]]),
        "Duration": (pl.Series([BIG], dtype=pl.Duration("us")), [[BIG]]),
        "Datetime": (pl.Series([BIG], dtype=pl.Datetime("us", "UTC")), [[BIG]]),
        "Enum": (pl.Series(["b"], dtype=pl.Enum(["a", "b"])), [[1]]),
        "Decimal": (pl.Series([1], dtype=pl.Decimal(10, 2)), [[1.0]]),
        "LazyFrame": (pl.LazyFrame({"a": [BIG]}), [[BIG]]),
        "a frame of one dtype": (pl.DataFrame({"a": [BIG]}), [[BIG], [[BIG]]]),
        "a frame of two dtypes": (pl.DataFrame({"a": [BIG], "b": [0.5]}), [[BIG]]),
        "a frame with nulls": (pl.DataFrame({"a": [BIG, None]}), [[BIG, 7], [BIG]]),
    }


def arrow_columns(pa):
    extension = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8()))
    encoded = pa.array(["b"]).dictionary_encode()
    return {
        "nulls": (pa.array([BIG, None]), [[BIG, 7], [BIG]]),
        "nulls in a chunk": (pa.chunked_array([[BIG, None]]), [[BIG, 7], [BIG]]),
        "bool": (pa.array([True, None]), [[1, 7], [1]]),
        "dictionary": (encoded, [[0]]),
        "dictionary in a chunk": (pa.chunked_array([encoded]), [[0]]),
        "timestamp": (pa.array([BIG], pa.timestamp("us", "UTC")), [[BIG]]),
        "date32": (pa.array([5], pa.date32()), [[5]]),
        "time64": (pa.array([5], pa.time64("us")), [[5]]),
        "list": (pa.array([[BIG, 1], [2]]), [[BIG, 1, 2]]),
        "fixed size list": (pa.array([[BIG, 1]], pa.list_(pa.int64(), 2)), [[BIG, 1]]),
        "struct": (pa.array([{"a": BIG}]), [[BIG]]),
        "decimal": (pa.array([decimal.Decimal("0.5")]), [[0.5]]),
        "extension": (extension, [[1]]),
        "no chunks": (pa.chunked_array([], pa.float64()), [[]]),
        "two chunks": (pa.chunked_array([[BIG], [1]]), [[BIG, 1]]),
        "table": (pa.table({"a": [BIG]}), [[BIG]]),
    }


@pytest.mark.parametrize(
    ("columns", "packages"),
    [
        (pandas_columns, ["pandas"]),
        (arrow_columns_of_pandas, ["pandas", "pyarrow"]),
        (polars_columns, ["polars"]),
        (arrow_columns, ["pyarrow"]),
    ],
)
def test_remedies_work_and_keep_every_value(columns, packages):
    for title, (x, expected) in columns(*map(pytest.importorskip, packages)).items():
        value = True if title in ("boolean with nulls", "bool with nulls") else 7
        np.testing.assert_equal(followed(x, value=value), expected, title)


def test_columns_without_numbers_have_no_remedy():
    """Conversions that would round are not named either."""
    pd, pl, pa = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    for x in (
        pd.Series(["a", "b"]),
        pd.Series(["a", None], dtype=object),
        pd.Series([BIG, 0.5], dtype=object),
        pd.Series([2**70], dtype=object),
        pd.Series(["a"], dtype="Sparse[object]"),
        pd.Series(["a"], dtype=pd.ArrowDtype(pa.string())),
        pl.Series(["a"]),
        pl.Series([b"a"]),
        pl.Series([object()], dtype=pl.Object),
        pl.Series([None]),
        pl.Series([["a"]]),
        pl.Series([2**100], dtype=pl.Int128),
        pa.array(["a"]),
        pa.array([b"a"]),
        pa.nulls(2),
        pa.array([["a"]]),
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    ):
        refused(x, TypeError, "expected an array of numbers, found a ", ": ")
        with pytest.raises(TypeError) as caught:
            dlbridge.from_dlpack(x)
        assert "; pass" not in str(caught.value)
