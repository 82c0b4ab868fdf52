# SPDX-License-Identifier: Apache-2.0
"""Pickles of tensors: equal, uncopied out of band, with their flags; damaged ones are rejected."""

import copy
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import weakref

import dlbridge
import numpy as np
import pytest
from dlbridge import _core, _pickle

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
PLAIN = ["int8", "uint16", "int32", "uint64", "float16", "float32", "complex64", "complex128"]
LAYOUTS = {
    "C": lambda a: a,
    "F": lambda a: np.asfortranarray(a),
    "permuted": lambda a: a.transpose(1, 2, 0),
    "reversed": lambda a: a[::-1, :, ::-1],
    "permuted and reversed": lambda a: a.transpose(2, 0, 1)[::-1],
    "stepped": lambda a: a[:, ::2, 1::2],
    "empty": lambda a: a[:0],
    "scalar": lambda a: np.array(a[1, 2, 3]),
    "broadcast": lambda a: np.broadcast_to(a[0, 0], (5, 4)),
    "windows": lambda a: np.lib.stride_tricks.sliding_window_view(a[0, 0], 2),
}
# Dtypes that NumPy lacks, and the shape of 24 bytes of them.
OTHERS = {
    "bfloat16": (3, 4),
    "float8_e4m3fn": (4, 6),
    "float8_e8m0fnu": (24,),
    "float4_e2m1fn": (6, 8),
    "float6_e2m3fn": (4, 8),
    "int4": (48,),
    "uint1": (2, 96),
    "float32x2": (3,),
    "bfloat16x4": (3, 1),
}


def grid(dtype="float32"):
    return np.arange(24).reshape(2, 3, 4).astype(dtype)


def sent(tensor):
    """The pickle and its buffers."""
    buffers = []
    return pickle.dumps(tensor, 5, buffer_callback=buffers.append), buffers


def through(tensor, protocol=5):
    return pickle.loads(pickle.dumps(tensor, protocol))


def facts(tensor):
    return tensor.shape, tensor.dtype, tensor.flags, tensor.device


# -------------------------------------------------------------------------------------- round trips


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_in_band(layout, protocol):
    source = LAYOUTS[layout](grid())
    tensor = dlbridge.from_dlpack(source)
    arrived = through(tensor, protocol)
    assert np.array_equal(np.from_dlpack(arrived), source)
    assert arrived.readonly == tensor.readonly == (not source.flags.writeable)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_out_of_band(layout, name):
    source = LAYOUTS[layout](grid(name))
    tensor = dlbridge.from_dlpack(source)
    text, buffers = sent(tensor)
    arrived = pickle.loads(text, buffers=buffers)
    assert np.array_equal(np.from_dlpack(arrived), source)
    assert len(buffers) == 1
    assert arrived.readonly == tensor.readonly


@pytest.mark.parametrize("layout", ["C", "F", "permuted", "reversed", "broadcast", "scalar"])
def test_memory_without_holes_is_not_copied(layout):
    source = LAYOUTS[layout](grid())
    tensor = dlbridge.from_dlpack(source)
    text, buffers = sent(tensor)
    arrived = pickle.loads(text, buffers=buffers)
    assert arrived.data_ptr == tensor.data_ptr == source.ctypes.data
    assert arrived.strides == tensor.strides
    assert facts(arrived) == facts(tensor)
    assert len(text) < 400


def test_a_broadcast_axis_is_sent_once():
    source = np.broadcast_to(np.arange(4.0), (1000000, 4))
    text, buffers = sent(dlbridge.from_dlpack(source))
    assert buffers[0].raw().nbytes == 32
    assert np.array_equal(np.from_dlpack(pickle.loads(text, buffers=buffers)), source)


@pytest.mark.parametrize("layout", ["stepped", "windows"])
def test_holes_and_overlap_are_sent_as_a_copy(layout):
    source = LAYOUTS[layout](grid())
    tensor = dlbridge.from_dlpack(source)
    text, buffers = sent(tensor)
    assert buffers[0].raw().nbytes == source.nbytes
    arrived = pickle.loads(text, buffers=buffers)
    assert arrived.copied and not tensor.copied
    assert arrived.readonly == tensor.readonly


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", OTHERS)
def test_dtypes_that_the_buffer_protocol_lacks(dtype, protocol):
    source = bytearray(range(24))
    tensor = dlbridge.from_buffer(source, dtype=dtype, shape=OTHERS[dtype])
    arrived = through(tensor, protocol)
    assert facts(arrived) == facts(tensor)
    assert dlbridge.to_buffer(arrived).tobytes() == bytes(source)
    text, buffers = sent(tensor)
    assert pickle.loads(text, buffers=buffers).data_ptr == tensor.data_ptr


def test_elements_that_share_bytes_in_another_order():
    source = bytearray(range(24))
    turned = dlbridge.from_buffer(source, dtype="int4", shape=(8, 6), strides=(1, 8))
    arrived = through(turned)
    assert (arrived.strides, arrived.copied) == ((1, 8), False)
    assert pickle.dumps(arrived) == pickle.dumps(turned)


def test_padded_elements_stay_padded():
    source = bytearray(range(24))
    address = dlbridge.from_buffer(source).data_ptr
    tensor = _core.wrap(source, address, (4, 6), "int4", tensor_flags=4)
    arrived = through(tensor)
    assert (arrived.flags, arrived.nbytes) == (4, 24)
    assert dlbridge.to_buffer(arrived).tobytes() == bytes(source)


@pytest.mark.parametrize("flags", [0, 4])
def test_small_elements_with_holes_between_them(flags):
    source = bytearray(range(24))
    address = dlbridge.from_buffer(source).data_ptr
    tensor = _core.wrap(source, address, (3, 4), "int4", strides=(8, 2), tensor_flags=flags)
    arrived = through(tensor)
    assert arrived.shape == (3, 4) and arrived.copied
    shift = 0 if flags & 4 else 1  # packed, every other element is the low half of the next byte
    wanted = [source[(8 * i + 2 * j) >> shift] & 15 for i in range(3) for j in range(4)]
    raw = dlbridge.to_buffer(arrived).tobytes()
    if arrived.flags & 4:
        found = [byte & 15 for byte in raw]
    else:
        found = [half for byte in raw for half in (byte & 15, byte >> 4)]
    assert found == wanted


def test_flags_are_kept():
    source = bytearray(8)
    address = dlbridge.from_buffer(source).data_ptr
    for flags in range(8):
        tensor = _core.wrap(source, address, (8,), "uint8", tensor_flags=flags)
        for protocol in PROTOCOLS:
            assert through(tensor, protocol).flags == flags


def test_copies_of_the_standard_library():
    tensor = dlbridge.from_dlpack(grid())
    for twin in (copy.copy(tensor), copy.deepcopy(tensor)):
        assert np.array_equal(np.from_dlpack(twin), grid())
        assert twin.data_ptr != tensor.data_ptr


def test_a_byte_offset_is_not_lost():
    source = bytearray(range(16))
    address = dlbridge.from_buffer(source).data_ptr
    tensor = _core.wrap(source, address, (2, 2), "int16", byte_offset=6, nbytes=16)
    assert np.from_dlpack(through(tensor)).tobytes() == source[6:14]


# ------------------------------------------------------------------------------ the received buffer


@pytest.mark.parametrize("kind", [bytes, bytearray, lambda b: memoryview(bytes(b))])
def test_the_tensor_uses_the_received_buffer(kind):
    text, buffers = sent(dlbridge.from_dlpack(grid()))
    arriving = kind(buffers[0].raw())
    arrived = pickle.loads(text, buffers=[arriving])
    assert np.array_equal(np.from_dlpack(arrived), grid())
    assert arrived.data_ptr == dlbridge.from_buffer(arriving).data_ptr
    assert arrived.readonly == memoryview(arriving).readonly


def test_the_received_buffer_is_kept_and_released():
    text, buffers = sent(dlbridge.from_dlpack(grid()))
    arriving = bytearray(buffers[0].raw())
    arrived = pickle.loads(text, buffers=[arriving])
    with pytest.raises(BufferError):
        arriving.clear()
    del arrived
    arriving.clear()


def test_the_buffer_keeps_the_sent_memory():
    source = grid()
    dead = weakref.ref(source)
    text, buffers = sent(dlbridge.from_dlpack(source))
    del source
    gc.collect()
    assert dead() is not None
    assert np.array_equal(np.from_dlpack(pickle.loads(text, buffers=buffers)), grid())
    buffers.clear()
    gc.collect()
    assert dead() is None


def test_another_process():
    """The other interpreter has not imported dlbridge before it loads the pickle."""
    program = (
        "import pickle, sys; t = pickle.load(sys.stdin.buffer);"
        "m = memoryview(t); print(type(t).__name__, t.shape, m.tobytes().hex())"
    )
    source = grid("int16").transpose(2, 0, 1)
    run = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(dlbridge.from_dlpack(source)),
        capture_output=True,
        env=os.environ,
        check=True,
    )
    assert run.stdout.decode().split() == f"Tensor {source.shape} {source.tobytes().hex()}".split()


# ------------------------------------------------------------------- tensors that cannot be pickled


def on_cuda():
    return _core.wrap(None, 4096, (2,), "float32", device=(2, 0))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_memory_of_another_device_is_rejected(protocol):
    with pytest.raises(
        BufferError, match=r'memory that the CPU can read, found .*copy\(device="cpu'
    ):
        pickle.dumps(on_cuda(), protocol)


def test_handles_are_rejected():
    owner = bytearray(8)
    address = dlbridge.from_buffer(owner).data_ptr
    with pytest.raises(BufferError, match="handles, which mean nothing"):
        pickle.dumps(_core.wrap(owner, address, (1,), (3, 64, 1)))


# ------------------------------------------------------------------------------------------- damage


def state(**changes):
    """Arguments of `rebuild` for six int16 elements, with changes."""
    fields = {
        "version": _pickle.FORMAT,
        "byteorder": sys.byteorder,
        "dtype": (0, 16, 1),
        "shape": (2, 3),
        "strides": (3, 1),
        "offset": 0,
        "flags": 0,
        "nbytes": 12,
        "data": bytearray(12),
    }
    return tuple({**fields, **changes}.values())


def test_the_state_equals_that_of_reduce():
    tensor = dlbridge.from_dlpack(np.zeros((2, 3), "int16"))
    function, arguments = _pickle.reduce(tensor, 5)
    assert function is _pickle.rebuild
    assert arguments[:-1] == state()[:-1]
    assert isinstance(arguments[-1], pickle.PickleBuffer)
    assert facts(_pickle.rebuild(*state())) == facts(tensor)


@pytest.mark.parametrize(
    "change",
    [
        {"byteorder": "big" if sys.byteorder == "little" else "little"},
        {"byteorder": None},
        {"dtype": (0, 32, 1)},
        {"dtype": (0, 0, 1)},
        {"dtype": (0, 16, 0)},
        {"dtype": (99, 16, 1)},
        {"dtype": (3, 16, 1)},
        {"dtype": (0, 16)},
        {"dtype": ()},
        {"dtype": (0, 1 << 40, 1)},
        {"dtype": "no dtype"},
        {"dtype": None},
        {"shape": (2, 4)},
        {"shape": (-2, 3)},
        {"shape": (2**62, 2**62)},
        {"shape": (2**80, 3)},
        {"shape": (2, 3.0)},
        {"shape": "23"},
        {"shape": 6},
        {"shape": (1,) * 70},
        {"shape": (2, 3, 1)},
        {"strides": (3,)},
        {"strides": (4, 1)},
        {"strides": (-3, 1)},
        {"strides": (2**62, 1)},
        {"strides": (2**80, 1)},
        {"strides": ("3", 1)},
        {"offset": -2},
        {"offset": 2},
        {"offset": 14},
        {"offset": 2**70},
        {"offset": "0"},
        {"flags": 8},
        {"flags": -1},
        {"flags": "0"},
        {"nbytes": 11},
        {"nbytes": 2**70},
        {"nbytes": None},
        {"data": bytearray(11)},
        {"data": bytearray(13)},
        {"data": memoryview(bytes(24))[::2]},
        {"data": "text"},
        {"data": None},
        {"data": 4096},
    ],
)
def test_damage_is_rejected(change):
    with pytest.raises(ValueError, match="expected a whole pickled tensor, found a damaged one"):
        _pickle.rebuild(*state(**change))


@pytest.mark.parametrize("version", [0, 2, -1, None, "1"])
def test_other_formats_are_rejected(version):
    with pytest.raises(ValueError, match="a pickled tensor of format 1, found"):
        _pickle.rebuild(*state(version=version))


def test_missing_and_surplus_fields_are_rejected():
    for fields in (state()[:-1], (*state(), 0), (1,)):
        with pytest.raises(ValueError, match="damaged"):
            _pickle.rebuild(*fields)
    with pytest.raises(ValueError, match="format 1"):
        _pickle.rebuild(2, "fields of another format")


def test_every_damaged_byte_is_an_error_or_a_tensor_inside_its_buffer():
    """A damaged pickle may raise anything, but its tensor must not reach outside of its buffer."""
    whole = pickle.dumps(dlbridge.from_dlpack(grid("uint8")[0]))
    place = whole.index(b"_pickle") + len("_pickle")
    for at in range(place, len(whole)):
        for value in (0, 1, 0x7F, 0xFF, whole[at] ^ 1, whole[at] ^ 0x80):
            damaged = whole[:at] + bytes([value]) + whole[at + 1 :]
            try:
                arrived = pickle.loads(damaged)
            except Exception:  # noqa: BLE001
                continue
            if isinstance(arrived, dlbridge.Tensor):
                assert arrived.nbytes <= 64
                assert len(bytes(dlbridge.to_buffer(arrived))) <= 64


# ----------------------------------------------------------------------------------------- portable


class Legacy:
    """An object that speaks DLPack only and cannot be pickled."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)

    def __reduce__(self):
        raise TypeError("not to be pickled")


@pytest.mark.parametrize(
    "source",
    [
        grid("int32"),
        Legacy(grid("int32")),
        dlbridge.from_dlpack(grid("int32")),
        memoryview(grid("int32")),
        (ctypes.c_int32 * 24)(*range(24)),
    ],
)
def test_portable_objects_can_be_pickled(source):
    tensor = dlbridge.portable(source)
    text, buffers = sent(tensor)
    assert buffers[0].raw().tobytes() == grid("int32").tobytes()
    assert isinstance(pickle.loads(text, buffers=buffers), dlbridge.Tensor)


def test_portable_takes_what_from_dlpack_takes():
    assert np.array_equal(memoryview(dlbridge.portable(grid().__dlpack__())), grid())

    class Chunked:
        """As a PyArrow ChunkedArray of one chunk."""

        num_chunks = 1

        def chunk(self, index):
            return grid()

    Chunked.__module__, Chunked.__name__ = "pyarrow.lib", "ChunkedArray"
    assert np.array_equal(memoryview(dlbridge.portable(Chunked())), grid())
    Chunked.num_chunks = 2
    with pytest.raises(BufferError, match="found a pyarrow ChunkedArray of 2 chunks"):
        dlbridge.portable(Chunked())
    with pytest.raises(TypeError, match="expected an object that supports DLPack"):
        dlbridge.portable(object())


def test_portable_copies_only_on_request():
    source = grid()
    assert dlbridge.portable(source).data_ptr == source.ctypes.data
    assert dlbridge.portable(source, copy=False).data_ptr == source.ctypes.data
    copied = dlbridge.portable(source, copy=True)
    assert copied.data_ptr != source.ctypes.data and copied.copied
    with pytest.raises(TypeError, match="copy to be None, True or False"):
        dlbridge.portable(source, copy="yes")


def test_portable_of_another_device():
    with pytest.raises(BufferError, match="memory that the CPU can read"):
        dlbridge.portable(on_cuda(), copy=False)


def test_portable_of_an_array_interface():
    class Speaks:
        pass

    speaker = Speaks()
    speaker.kept = grid()
    speaker.__array_interface__ = speaker.kept.__array_interface__
    assert np.array_equal(np.from_dlpack(through(dlbridge.portable(speaker))), grid())


def test_portable_rejects_other_objects():
    for source in (3, None, [1, 2], object()):
        with pytest.raises(TypeError):
            dlbridge.portable(source)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_adapted_arrays_are_pickled_as_tensors(layout):
    source = LAYOUTS[layout](grid())
    adapted = dlbridge.adapt(source, readonly="drop")
    for given in (adapted, dlbridge.portable(adapted)):
        text, buffers = sent(given)
        arrived = pickle.loads(text, buffers=buffers)
        assert isinstance(arrived, dlbridge.Tensor)
        assert np.array_equal(np.from_dlpack(arrived), source)
        # The received memory decides whether the tensor is writable.
        assert arrived.readonly or source.flags.writeable
        if layout in ("C", "F", "permuted", "broadcast"):
            assert arrived.data_ptr == source.ctypes.data


def test_adapted_legacy_arrays_can_be_pickled():
    adapted = dlbridge.adapt(Legacy(grid()), readonly="copy")
    for protocol in PROTOCOLS:
        assert np.array_equal(np.from_dlpack(through(adapted, protocol)), grid())


def test_any_object_can_be_pickled_as_its_tensor():
    """Pickles as the tensor that it exports, as adapted arrays do."""

    class Adapted(Legacy):
        def __reduce_ex__(self, protocol):
            return _pickle.reduce(dlbridge.from_dlpack(self), protocol)

    arrived = through(Adapted(grid()))
    assert isinstance(arrived, dlbridge.Tensor)
    assert np.array_equal(np.from_dlpack(arrived), grid())
