# SPDX-License-Identifier: Apache-2.0
"""Tensors of buffers and of array interfaces, and buffers of tensors: exact or rejected."""

import array
import ctypes
import gc
import mmap
import os
import subprocess
import sys
import threading
import weakref

import checkout
import dlbridge
import numpy as np
import pytest
from dlbridge import _core

FOREIGN = ">" if sys.byteorder == "little" else "<"
NAMES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NAMES += ["float16", "float32", "float64", "complex64", "complex128", "bool"]


def grid(dtype="float32"):
    return np.arange(24).reshape(2, 3, 4).astype(dtype)


LAYOUTS = {
    "C": lambda a: a,
    "F": lambda a: np.asfortranarray(a),
    "transposed": lambda a: a.transpose(1, 2, 0),
    "reversed": lambda a: a[::-1, :, ::-1],
    "stepped": lambda a: a[:, ::2, 1::2],
    "empty": lambda a: a[:0],
    "scalar": lambda a: np.array(a[1, 2, 3]),
    "broadcast": lambda a: np.broadcast_to(a[0, 0], (5, 4)),
}


class Speaks:
    """An object with an array interface only."""

    def __init__(self, name, fields):
        self.__dict__[name] = fields


def host(array, **changes):
    return Speaks("__array_interface__", {**array.__array_interface__, **changes})


def cuda(**changes):
    fields = {"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3}
    return Speaks("__cuda_array_interface__", {**fields, **changes})


def same_memory(tensor, array):
    assert np.array_equal(np.from_dlpack(tensor), array)
    assert tensor.shape == array.shape
    assert tensor.dtype == array.dtype.name
    if array.size:
        assert tensor.data_ptr + tensor.byte_offset == array.ctypes.data
    return True


# -------------------------------------------------------------------------------------- from_buffer


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_from_buffer_shares_memory(name, layout):
    source = LAYOUTS[layout](grid(name))
    tensor = dlbridge.from_buffer(source)
    assert same_memory(tensor, source)
    assert tensor.readonly == (not source.flags.writeable)


def test_from_buffer_of_the_standard_library():
    assert dlbridge.from_buffer(b"abc").readonly
    assert not dlbridge.from_buffer(bytearray(b"abc")).readonly
    assert dlbridge.from_buffer(array.array("d", [1, 2])).dtype == "float64"
    assert dlbridge.from_buffer((ctypes.c_long * 3)(1, 2, 3)).dtype == "int64"
    assert dlbridge.from_buffer(((ctypes.c_int16 * 3) * 2)()).shape == (2, 3)
    assert dlbridge.from_buffer(b"").shape == (0,)
    assert dlbridge.from_buffer(array.array("i")).shape == (0,)
    with mmap.mmap(-1, 16) as mapped:
        tensor = dlbridge.from_buffer(mapped)
        assert tensor.shape == (16,)
        with pytest.raises(BufferError):
            mapped.close()
        del tensor


@pytest.mark.parametrize("source", [b"abcd", bytearray(b"abcd")])
def test_from_buffer_writable(source):
    assert dlbridge.from_buffer(source, writable=False).readonly
    assert dlbridge.from_buffer(source).readonly == isinstance(source, bytes)
    if isinstance(source, bytes):
        with pytest.raises(BufferError, match="expected a buffer that may be written to, found"):
            dlbridge.from_buffer(source, writable=True)
    else:
        assert not dlbridge.from_buffer(source, writable=True).readonly
    with pytest.raises(TypeError, match="writable to be None, True or False"):
        dlbridge.from_buffer(source, writable="yes")


def test_from_buffer_keeps_and_releases_its_source():
    source = bytearray(8)
    tensor = dlbridge.from_buffer(source)
    with pytest.raises(BufferError):
        source.extend(b"more")
    view = np.from_dlpack(tensor)
    view[0] = 7
    assert source[0] == 7
    del tensor
    with pytest.raises(BufferError):
        source.extend(b"more")
    del view
    source.extend(b"more")
    numbers = grid()
    dead = weakref.ref(numbers)
    tensor = dlbridge.from_buffer(numbers)
    del numbers
    gc.collect()
    assert dead() is not None
    del tensor
    gc.collect()
    assert dead() is None


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.zeros(3, FOREIGN + "i4"), "byte order of this machine"),
        (np.zeros(3, FOREIGN + "c16"), "byte order of this machine"),
        (np.zeros(3, [("a", "i4"), ("b", "f4")]), "one to an element"),
        (np.zeros(3, "(2,)i4,i4"), "one to an element"),
        (np.zeros(3, "S4"), "one to an element"),
        (np.zeros(3, "O"), "one to an element"),
        (np.zeros(3, "longdouble"), "one to an element"),
        (ctypes.create_string_buffer(4), r"from_buffer\(x, dtype=...\)"),
        (np.zeros(3, "i2,i1")["f0"], "strides of whole elements, multiples of 2 bytes, found 3"),
    ],
)
def test_from_buffer_rejects(source, message):
    with pytest.raises(BufferError, match=message):
        dlbridge.from_buffer(source)


def test_from_buffer_of_single_bytes_ignores_the_order():
    assert dlbridge.from_buffer(memoryview(b"ab").cast("b")).dtype == "int8"
    source = (ctypes.c_int8.__ctype_le__ * 3)(1, 2, 3)
    assert dlbridge.from_buffer(source).dtype == "int8"
    assert dlbridge.from_interface(
        host(np.zeros(3, "i1"), typestr=FOREIGN + "i1", descr=None)
    ).shape == (3,)


def test_from_buffer_ignores_strides_of_unused_axes():
    odd = np.lib.stride_tricks.as_strided(grid(), (1, 3), (7, 4))
    assert dlbridge.from_buffer(odd).shape == (1, 3)


def test_from_buffer_needs_a_buffer():
    for source in (3, "text", [1, 2], None):
        with pytest.raises(TypeError):
            dlbridge.from_buffer(source)


@pytest.mark.parametrize(
    "again",
    [
        dlbridge.from_buffer,
        lambda t: dlbridge.from_buffer(memoryview(t), dtype="int8"),
        lambda t: dlbridge.from_interface(np.asarray(t)),
    ],
    ids=["from_buffer", "memoryview", "from_interface"],
)
def test_a_chain_of_tensors_needs_little_stack(again):
    class Block(bytearray):
        pass

    block = Block(8)
    gone = weakref.ref(block)
    tensor = dlbridge.from_buffer(block)
    del block
    for _ in range(20_000):
        tensor = again(tensor)
    released = []

    def release(held):
        held.pop()
        released.append(gone() is None)

    # A small stack: the chain would need some megabytes.
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=release, args=([tensor],))
        del tensor
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert released == [True]


@pytest.mark.parametrize("end", ["del", "release_after"])
@pytest.mark.parametrize("make", [dlbridge.from_buffer, dlbridge.from_interface])
def test_a_cycle_ends_as_the_documentation_states(make, end):
    """The garbage collector does not see what a Tensor owns, but sees what a memoryview owns."""

    class Array(np.ndarray):
        pass

    array = grid().view(Array)
    gone = weakref.ref(array)
    array.cache = memoryview(array)
    del array
    gc.collect()
    assert gone() is None

    array = grid().view(Array)
    gone = weakref.ref(array)
    array.cache = tensor = make(array)
    if end == "del":
        del array.cache, tensor
    else:
        array.cache.release_after(None)
        del tensor
    del array
    gc.collect()
    assert gone() is None


# ---------------------------------------------------------------------- from_buffer of other dtypes


@pytest.mark.parametrize(
    ("dtype", "count"),
    [("bfloat16", 12), ("float8_e4m3fn", 24), ("int4", 48), ("float6_e2m3fn", 32), ("uint1", 192)],
)
def test_bytes_become_any_dtype(dtype, count):
    source = bytearray(range(24))
    tensor = dlbridge.from_buffer(source, dtype=dtype)
    assert (tensor.dtype, tensor.shape, tensor.nbytes) == (dtype, (count,), 24)
    assert dlbridge.to_buffer(tensor).tobytes() == source


def test_shape_strides_and_offset_stay_inside():
    source = bytearray(range(16))
    tensor = dlbridge.from_buffer(source, shape=(4, 2), strides=(-4, 1), offset=12)
    assert np.from_dlpack(tensor).tolist() == [[12, 13], [8, 9], [4, 5], [0, 1]]
    assert tensor.byte_offset == 0
    for wrong in (
        {"shape": (17,)},
        {"shape": (16,), "offset": 1},
        {"shape": (4, 2), "strides": (-4, 1), "offset": 11},
        {"shape": (4, 2), "strides": (5, 1), "offset": 0},
        {"dtype": "float32", "shape": (4,), "offset": 1},
        {"shape": (2**40, 2**40)},
        {"shape": (-1,)},
    ):
        with pytest.raises(BufferError):
            dlbridge.from_buffer(source, **wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dtype": "float64", "offset": 1}, "bytes of whole elements"),
        ({"dtype": "float6_e2m3fn", "offset": 15}, "bytes of whole elements"),
        ({"dtype": "nonsense"}, "not a dtype"),
        ({"dtype": (0, 8)}, "dtype"),
        ({"offset": -1}, "an offset of 0 to 16 bytes, found -1"),
        ({"offset": 17}, "an offset of 0 to 16 bytes, found 17"),
        ({"strides": (1,)}, "a shape to which the strides belong"),
        ({"shape": (4, 2), "strides": (1,)}, "expected 2 strides"),
    ],
)
def test_reinterpretations_are_checked(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        dlbridge.from_buffer(bytearray(16), **wrong)


def test_only_contiguous_bytes_are_reinterpreted():
    for source in (grid().T, grid()[::-1]):
        with pytest.raises(BufferError, match="expected a C-contiguous buffer"):
            dlbridge.from_buffer(source, dtype="uint32")


# ---------------------------------------------------------------------------------------- to_buffer


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_to_buffer_shares_memory(name, layout):
    source = LAYOUTS[layout](grid(name))
    view = dlbridge.to_buffer(source)
    back = np.asarray(view)
    assert np.array_equal(back, source)
    assert back.dtype == source.dtype
    assert view.readonly == (not source.flags.writeable)
    assert not source.size or back.ctypes.data == source.ctypes.data


def test_to_buffer_of_dtypes_that_the_buffer_protocol_lacks():
    source = bytearray(range(24))
    half = dlbridge.from_buffer(source, dtype="bfloat16", shape=(3, 2), strides=(-4, 2), offset=16)
    view = dlbridge.to_buffer(half)
    assert (view.format, view.shape, view.readonly) == ("B", (3, 2, 2), False)
    assert view.tolist()[0] == [[16, 17], [20, 21]]
    assert view.tolist()[2] == [[0, 1], [4, 5]]
    small = dlbridge.from_buffer(bytes(source), dtype="float8_e5m2", shape=(4, 6))
    assert dlbridge.to_buffer(small).shape == (4, 6)
    assert dlbridge.to_buffer(small).readonly
    lanes = dlbridge.from_buffer(source, dtype="float32x2", shape=(3,))
    assert dlbridge.to_buffer(lanes).shape == (3, 8)


def test_to_buffer_of_elements_that_share_bytes():
    packed = dlbridge.from_buffer(bytearray(6), dtype="int4", shape=(3, 4))
    assert dlbridge.to_buffer(packed).shape == (6,)
    turned = dlbridge.from_buffer(bytearray(6), dtype="int4", shape=(4, 3), strides=(1, 4))
    with pytest.raises(BufferError, match="share bytes, found strides"):
        dlbridge.to_buffer(turned)
    source = bytearray(12)
    address = dlbridge.from_buffer(source).data_ptr
    padded = _core.wrap(source, address, (4, 3), "int4", strides=(1, 4), tensor_flags=4)
    assert dlbridge.to_buffer(padded).shape == (4, 3)


def test_to_buffer_keeps_the_memory():
    source = grid()
    dead = weakref.ref(source)
    view = dlbridge.to_buffer(source)
    del source
    gc.collect()
    assert dead() is not None
    view.release()
    gc.collect()
    assert dead() is None


def test_to_buffer_of_another_device():
    with pytest.raises(BufferError, match="expected memory that the CPU can read"):
        dlbridge.to_buffer(dlbridge.from_interface(cuda(), device=(2, 0)))
    with pytest.raises(TypeError):
        dlbridge.to_buffer("no DLPack")


@pytest.mark.parametrize("name", NAMES)
def test_repr_shows_values(name):
    array = np.array([[1, 0], [0, 1]]).astype(name)[:, ::-1]
    shown = " ".join(repr(dlbridge.from_dlpack(array)).split("\n")[1:])
    if array.dtype.kind == "c":
        assert not shown  # a memoryview cannot read complex numbers
    elif name == "bool":
        assert shown == "  [[False, True],    [True, False]])"
    else:
        assert shown == "  [[0, 1],    [1, 0]])"


@pytest.mark.parametrize("value", [1.5, 65504.0, 6e-08, float("inf"), float("nan"), -0.0])
def test_repr_shows_float16(value):
    text = repr(dlbridge.from_dlpack(np.full((), value, np.float16)))
    assert text.split("\n")[1] == f"  {float(np.float16(value)):.6g})"
    empty = repr(dlbridge.from_dlpack(np.ones((2, 0), np.float16)))
    assert empty.split("\n")[1:] == ["  [[],", "   []])"]


@pytest.mark.parametrize("shape", [(2,) * 22, (2,) * 40, (7,) * 6, (8,) * 20, (2,) * 30 + (0,)])
def test_repr_of_many_axes_is_bounded(shape):
    byte = np.ones((), np.uint8)
    tensor = _core.wrap(byte, byte.ctypes.data, shape, "uint8", strides=(0,) * len(shape))
    text = repr(tensor)
    assert text.count("1,") + text.count("1]") <= 1001
    assert len(text) < 20_000


def test_repr_leaves_out_outer_entries():
    array = np.arange(2**11).reshape((2,) * 11)
    text = repr(dlbridge.from_dlpack(array))
    assert "511]" in text
    assert "512" not in text.partition("\n")[2]
    assert text.endswith("\n    ...],\n   ...])")
    whole = dlbridge.from_dlpack(np.zeros((10, 10, 10), np.int8))
    assert repr(whole).count("0, 0, 0, ..., 0, 0, 0") == 36


# --------------------------------------------------------------------------------------- interfaces


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_array_interface_shares_memory(name, layout):
    source = LAYOUTS[layout](grid(name))
    tensor = dlbridge.from_interface(host(source))
    assert same_memory(tensor, source)
    assert tensor.readonly == (not source.flags.writeable)


def test_array_interface_keeps_the_object():
    source = grid()
    speaker = host(source)
    dead = weakref.ref(speaker)
    tensor = dlbridge.from_interface(speaker)
    del speaker
    gc.collect()
    assert dead() is not None
    del tensor
    gc.collect()
    assert dead() is None


@pytest.mark.parametrize("make", [dlbridge.from_interface, dlbridge.portable])
def test_array_interface_of_a_scalar(make):
    """The interface of a NumPy scalar holds the only reference to the memory that it describes."""
    scalar = np.float64(3.5)
    tensor = make(scalar)
    reused = [np.array(7.0 + i) for i in range(50)]
    assert memoryview(tensor)[()] == 3.5
    assert tensor.data_ptr not in [one.ctypes.data for one in reused]
    assert tensor.readonly
    with pytest.raises(BufferError, match="may be written to"):
        dlbridge.from_interface(scalar, writable=True)


@pytest.mark.parametrize("data", ["address", "buffer"])
def test_array_interface_keeps_what_its_dict_holds(data):
    source = grid()
    dead = weakref.ref(source)
    given = memoryview(source) if data == "buffer" else source.__array_interface__["data"]
    speaker = host(source, data=given, owner=source)
    tensor = dlbridge.from_interface(speaker)
    speaker_dead = weakref.ref(speaker)
    speaker.__array_interface__.clear()
    del source, speaker, given
    gc.collect()
    assert dead() is not None and speaker_dead() is not None
    del tensor
    gc.collect()
    assert dead() is None and speaker_dead() is None


def test_array_interface_of_a_buffer():
    fields = {"shape": (3,), "typestr": "<i2", "version": 3}
    source = bytearray(range(8))
    tensor = dlbridge.from_interface(
        Speaks("__array_interface__", {**fields, "data": source, "offset": 2})
    )
    assert np.from_dlpack(tensor).tobytes() == source[2:]
    down = Speaks("__array_interface__", {**fields, "data": source, "offset": 4, "strides": (-2,)})
    assert np.from_dlpack(dlbridge.from_interface(down)).tobytes() == b"\4\5\2\3\0\1"
    outside = Speaks("__array_interface__", {**fields, "data": source, "offset": 4})
    with pytest.raises(BufferError, match="exceeds its buffer"):
        dlbridge.from_interface(outside)
    for offset in (-1, 9, "1"):
        with pytest.raises(BufferError, match="expected an offset of 0 to 8"):
            dlbridge.from_interface(
                Speaks("__array_interface__", {**fields, "data": source, "offset": offset})
            )


def test_array_interface_whose_object_is_the_buffer():
    class Block(bytearray):
        __array_interface__ = {"shape": (2,), "typestr": "<i4", "version": 3, "data": None}

    assert dlbridge.from_interface(Block(8)).shape == (2,)


@pytest.mark.parametrize("make", [lambda **c: host(grid(), **c), cuda])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 7}, "expected version .*found 7"),
        ({"version": None}, "expected version .*found None"),
        ({"version": True}, "expected version .*found True"),
        ({"mask": object()}, "expected no mask"),
        ({"typestr": FOREIGN + "f4"}, "byte order of this machine"),
        ({"typestr": "|f4"}, "byte order of this machine"),
        ({"typestr": "<V4"}, "numbers or bools"),
        ({"typestr": "<f3"}, "numbers or bools"),
        ({"typestr": "|O8"}, "numbers or bools"),
        ({"typestr": "f"}, "a typestr such as"),
        ({"typestr": None}, "a typestr such as"),
        ({"descr": [("a", "<i2"), ("b", "<i2")]}, "one number to an element"),
        ({"shape": None}, "shape to be a tuple of integers"),
        ({"shape": (2, "3")}, "shape to be a tuple of integers"),
        ({"shape": (2, -3), "strides": None}, "negative|at least 0|extent"),
        ({"shape": (2**62, 2**62), "strides": None}, "overflow|count|bytes"),
        ({"strides": (4,)}, "strides, one for each axis"),
        ({"strides": 4}, "strides to be a tuple of integers"),
        ({"data": (0, False)}, "data is NULL"),
        ({"data": (True, False)}, "data to be"),
        ({"data": (1,)}, "data to be"),
        ({"data": ("1", False)}, "data to be"),
    ],
)
def test_interfaces_reject(make, change, message):
    with pytest.raises(BufferError, match=message):
        dlbridge.from_interface(make(**change))


def test_interfaces_reject_strides_of_partial_elements():
    with pytest.raises(BufferError, match="multiples of 4 bytes, found 6 bytes at axis 1"):
        dlbridge.from_interface(cuda(strides=(12, 6)))


def test_objects_without_an_interface_are_rejected():
    class Wrong:
        __array_interface__ = 3

    for source in (3, None, object(), Speaks, np.ndarray):
        with pytest.raises(TypeError, match="expected an object with __array_interface__"):
            dlbridge.from_interface(source)
    with pytest.raises(TypeError, match="to be a dict"):
        dlbridge.from_interface(Wrong())


def test_errors_of_the_producer_pass_through():
    class Raises:
        @property
        def __array_interface__(self):
            raise KeyError("of its own")

    with pytest.raises(KeyError, match="of its own"):
        dlbridge.from_interface(Raises())


def test_interface_writable():
    source = grid()
    assert dlbridge.from_interface(host(source), writable=False).readonly
    source.flags.writeable = False
    assert dlbridge.from_interface(host(source)).readonly
    with pytest.raises(BufferError, match="may be written to, found a read-only one"):
        dlbridge.from_interface(host(source), writable=True)


# --------------------------------------------------------------------------------------------- CUDA


@pytest.mark.parametrize("version", [2, 3])
def test_cuda_interface(version):
    tensor = dlbridge.from_interface(cuda(version=version), device="cuda:1")
    assert (tensor.device, tensor.data_ptr, tensor.strides) == ("cuda:1", 4096, (3, 1))
    assert not tensor.readonly
    turned = cuda(version=version, strides=(4, 8), data=(4096, True), descr=[("", "<f4")])
    tensor = dlbridge.from_interface(turned, device="cuda:0")
    assert (tensor.strides, tensor.readonly) == ((1, 2), True)
    with pytest.raises(BufferError, match="expected version 2 or 3, found 1"):
        dlbridge.from_interface(cuda(version=1))


def test_cuda_interface_without_a_driver_is_on_device_0():
    # 4096 is not memory of a driver, if there is one.
    assert dlbridge.from_interface(cuda()).device == "cuda:0"


def test_cuda_interface_of_an_empty_array():
    tensor = dlbridge.from_interface(cuda(shape=(0, 3), data=(0, False)))
    assert (tensor.device, tensor.shape, tensor.data_ptr) == ("cuda:0", (0, 3), 0)


def test_cuda_interface_streams():
    # Work on one stream needs no order, so no driver is called.
    for producer, consumer in [(None, 7), (1, ...), (1, None), (1, 1), (2, 2), (7, 7), (9, -1)]:
        tensor = dlbridge.from_interface(cuda(stream=producer), device=(2, 0), stream=consumer)
        assert tensor.device == "cuda:0"
    for producer in (0, -1, True, "1", 1.0):
        with pytest.raises(ValueError, match="stream to be None, 1, 2 or a CUstream"):
            dlbridge.from_interface(cuda(stream=producer), device=(2, 0))
    for consumer in (0, -2):
        with pytest.raises(ValueError):
            dlbridge.from_interface(cuda(stream=1), device=(2, 0), stream=consumer)


def test_cuda_interface_uses_the_device_of_the_memory():
    both = cuda()
    both.__array_interface__ = grid().__array_interface__
    assert dlbridge.from_interface(both, device=(2, 0)).device == "cuda:0"


def test_cuda_interface_keeps_the_object_through_a_capsule():
    speaker = cuda()
    dead = weakref.ref(speaker)
    tensor = dlbridge.from_interface(speaker, device=(2, 0), stream=7)
    del speaker
    gc.collect()
    assert dead() is not None
    del tensor
    gc.collect()
    assert dead() is None


# ------------------------------------------------------------------------------- CUDA with a driver

DRIVER = r"""
import ctypes, sys
import dlbridge

driver = ctypes.CDLL("libcuda.so.1")
driver.fake_cuda_log.restype = ctypes.c_char_p
driver.fake_cuda_violation_texts.restype = ctypes.c_char_p


def call(name, *arguments):
    assert getattr(driver, name)(*arguments) == 0, name


def cuda(address, **changes):
    fields = {"shape": (2, 3), "typestr": "<f4", "data": (address, False), "version": 3}
    return type("Speaks", (), {"__cuda_array_interface__": {**fields, **changes}})()


def log_of(work):
    driver.fake_cuda_clear_log()
    result = work()
    return result, driver.fake_cuda_log().decode().split()


call("cuInit", 0)
context, other = ctypes.c_void_p(), ctypes.c_void_p()
memory, managed = ctypes.c_uint64(), ctypes.c_uint64()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 1)
call("cuCtxPushCurrent_v2", context)
call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(256))
call("cuMemAllocManaged", ctypes.byref(managed), ctypes.c_size_t(256), 1)
call("cuStreamCreate", ctypes.byref(other), 0)

# The driver says which device it is of, and holds the label against it.
tensor = dlbridge.from_interface(cuda(memory.value), validate="device")
assert tensor.device == "cuda:1", tensor
assert dlbridge.from_interface(cuda(managed.value)).device == "cuda_managed:0"
try:
    dlbridge.from_interface(cuda(memory.value), device="cuda:0", validate="device")
except BufferError as error:
    assert error.rule == "DEVICE_LABEL", error
else:
    raise AssertionError("a wrong label passed")

# The consumer's stream waits for the producer's, and only where they are two.
for address in (memory.value, managed.value):
    work = lambda: dlbridge.from_interface(cuda(address, stream=other.value))
    assert "cuStreamWaitEvent" in log_of(work)[1], log_of(work)
    work = lambda: dlbridge.from_interface(cuda(address, stream=other.value), stream=other.value)
    assert "cuStreamWaitEvent" not in log_of(work)[1]
    assert "cuStreamWaitEvent" not in log_of(lambda: dlbridge.from_interface(cuda(address)))[1]

# portable() brings it to the host, where it can be pickled.
source = (ctypes.c_float * 6)(*range(6))
driver.fake_cuda_poke(memory, source, ctypes.c_size_t(24))
for given in (cuda(memory.value), dlbridge.from_interface(cuda(memory.value))):
    arrived = dlbridge.portable(given)
    assert (arrived.device, arrived.copied) == ("cpu:0", True), arrived
    assert memoryview(arrived).tobytes() == bytes(source)
assert not driver.fake_cuda_violations() - 1, driver.fake_cuda_violation_texts()
print("done")
"""


def test_cuda_interface_with_a_driver(tmp_path):
    """Runs on the strict fake CUDA driver, which notes that cuInit is called twice."""
    driver = checkout.root() / "build" / "dev" / "tests" / "fakes" / "fake_cuda"
    if not (driver / "libcuda.so.1").exists():
        pytest.skip("the fake CUDA driver is not built (preset dev, target fake_cuda)")
    run = subprocess.run(
        [sys.executable, "-c", DRIVER],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "LD_LIBRARY_PATH": str(driver)},
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "done\n", "")
