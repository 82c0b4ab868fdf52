# SPDX-License-Identifier: Apache-2.0
"""The Python array API standard (2024.12 and 2025.12) on `__dlpack__`, `__dlpack_device__` and
`from_dlpack`: each test checks one requirement of the standard, which its docstring states."""

from __future__ import annotations

import enum
import inspect
import weakref

import dlbridge
import numpy as np
import producers
import pytest
from dlbridge import _core, from_dlpack
from producers import IS_COPIED, LEGACY, READ_ONLY, VERSIONED, LegacyProducer, Producer

HERE = (1, 0)  # kDLCPU
ASKS = [{}, {"max_version": None}, {"max_version": (0, 8)}, {"max_version": (1, 0)},
        {"max_version": (1, 3)}, {"max_version": (1, 99)}, {"max_version": (2, 0)}]  # fmt: skip


@pytest.fixture
def tensor():
    return from_dlpack(np.arange(6, dtype=np.float32).reshape(2, 3))


@pytest.fixture
def elsewhere():
    """A tensor on a CUDA device. No test calls the driver."""
    return _core.wrap(object(), 4096, (4,), "float32", device=(2, 1))


def address(tensor):
    """The address of its first element."""
    return tensor.data_ptr + tensor.byte_offset


def exported(capsule):
    """The struct, and the address of the first element."""
    struct = producers.struct_of(capsule)
    return struct, (struct.dl_tensor.data or 0) + struct.dl_tensor.byte_offset


def flags(capsule):
    return producers.struct_of(capsule).flags


# --- __dlpack__: signature ------------------------------------------------------------------------


def test_self_is_positional_and_all_else_is_by_keyword():
    """The object is positional-only; stream, max_version, dl_device and copy are keyword-only and
    None by default."""
    parameters = inspect.signature(dlbridge.Tensor.__dlpack__).parameters
    own, *others = parameters.values()
    assert own.kind is not own.KEYWORD_ONLY
    assert {one.name for one in others} == {"stream", "max_version", "dl_device", "copy"}
    assert all(one.kind is one.KEYWORD_ONLY and one.default is None for one in others)


@pytest.mark.parametrize("arguments", [(None,), ((1, 0),), (None, None)])
def test_positions_are_rejected(tensor, arguments):
    """No argument is positional."""
    with pytest.raises(TypeError, match="positional"):
        tensor.__dlpack__(*arguments)


def test_unknown_keywords_are_rejected(tensor):
    """An unknown keyword is a TypeError, after which a consumer calls again without it."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'future'"):
        tensor.__dlpack__(future=None)


def test_none_is_every_default(tensor):
    """Passing None for all keywords is the same as passing none of them."""
    capsule = tensor.__dlpack__(stream=None, max_version=None, dl_device=None, copy=None)
    plain = tensor.__dlpack__()
    assert producers.get_name(capsule) == producers.get_name(plain) == LEGACY
    assert exported(capsule)[1] == exported(plain)[1] == address(tensor)


@pytest.mark.parametrize("asked", ASKS)
def test_it_returns_a_capsule(tensor, asked):
    """The result is a PyCapsule of a DLPack struct."""
    capsule = tensor.__dlpack__(**asked)
    assert type(capsule).__name__ == "PyCapsule"
    assert producers.get_name(capsule) in (LEGACY, VERSIONED)


# --- __dlpack__: stream ---------------------------------------------------------------------------


def test_on_the_cpu_only_none_is_a_stream(tensor):
    """A device without streams accepts only None."""
    assert tensor.__dlpack__(stream=None) is not None
    for stream in (-1, 0, 1, 2, 3, 2**40):
        with pytest.raises(ValueError, match="stream"):
            tensor.__dlpack__(stream=stream)


@pytest.mark.parametrize("stream", [1.0, "1", object(), True])
def test_a_stream_is_an_integer(elsewhere, stream):
    """For CUDA and ROCm a stream is a Python integer."""
    with pytest.raises(TypeError, match="stream"):
        elsewhere.__dlpack__(stream=stream)


@pytest.mark.parametrize("device", [(2, 0), (10, 0)])
def test_a_stream_is_at_least_minus_one(device):
    """The integer is -1 or larger."""
    there = _core.wrap(None, 4096, (4,), "float32", device=device)
    for stream in (-2, -(2**62)):
        with pytest.raises(ValueError, match="stream"):
            there.__dlpack__(stream=stream)


@pytest.mark.parametrize("device", [(2, 0), (10, 0), (4, 0), (8, 0)])
def test_minus_one_requests_no_synchronisation(device):
    """With -1 the producer must not synchronise, so no driver is called."""
    there = from_dlpack(Producer(device=device), stream=-1)
    capsule = there.__dlpack__(stream=-1, max_version=(1, 0))
    assert exported(capsule)[0].dl_tensor.device.device_type == device[0]


def test_zero_is_no_stream_of_cuda(elsewhere):
    """0 is rejected for CUDA, since it is ambiguous."""
    with pytest.raises(ValueError, match="stream"):
        elsewhere.__dlpack__(stream=0)


def test_none_is_the_legacy_default_stream_of_cuda(elsewhere):
    """For CUDA, None and 1 are the same stream, so neither waits for the other."""
    for stream in (None, 1):
        capsule = elsewhere.__dlpack__(stream=stream, max_version=(1, 0))
        assert exported(capsule)[1] == 4096


def test_rocm_has_no_streams_1_and_2():
    """For ROCm 0 and None are the default stream; 1 and 2 are not supported."""
    there = _core.wrap(None, 4096, (4,), "float32", device=(10, 0))
    for stream in (1, 2):
        with pytest.raises(ValueError, match="stream"):
            there.__dlpack__(stream=stream)
    for stream in (None, 0):
        assert exported(there.__dlpack__(stream=stream, max_version=(1, 0)))[1] == 4096


def test_the_stream_belongs_to_the_requested_device(elsewhere):
    """The stream must belong to dl_device; for the CPU it must be None."""
    for stream in (1, 2, 77, 0):
        with pytest.raises(ValueError, match="stream"):
            elsewhere.__dlpack__(stream=stream, dl_device=HERE)


# --- __dlpack__: max_version ----------------------------------------------------------------------


def test_without_max_version_the_capsule_is_legacy(tensor):
    """None requests the protocol before 1.0."""
    assert producers.get_name(tensor.__dlpack__()) == LEGACY
    assert producers.get_name(tensor.__dlpack__(max_version=None)) == LEGACY


@pytest.mark.parametrize("version", [(0, 0), (0, 5), (0, 8), (0, 99)])
def test_a_consumer_before_1_0_gets_legacy(tensor, version):
    """A producer of 1.x exports the struct of 0.x to a consumer that supports no other."""
    capsule = tensor.__dlpack__(max_version=version)
    assert producers.get_name(capsule) == LEGACY
    assert exported(capsule)[1] == address(tensor)


@pytest.mark.parametrize(
    ("asked", "version"),
    [((1, 0), (1, 0)), ((1, 1), (1, 1)), ((1, 2), (1, 2)), ((1, 3), (1, 3)), ((1, 4), (1, 3)),
     ((1, 2**32 - 1), (1, 3)), ((2, 0), (1, 3)), ((7, 7), (1, 3))],
)  # fmt: skip
def test_the_version_is_the_consumers_or_the_own_if_that_is_older(tensor, asked, version):
    """The version is max_version if the producer supports it, else the producer's newest."""
    capsule = tensor.__dlpack__(max_version=asked)
    assert producers.get_name(capsule) == VERSIONED
    struct = exported(capsule)[0]
    assert (struct.version.major, struct.version.minor) == version


def test_a_tensor_that_the_consumers_version_cannot_describe_is_rejected():
    """A max_version that cannot represent the data is a BufferError that names the version."""
    tensor = from_dlpack(Producer(dtype=(producers.FLOAT8, 8, 1)))
    assert exported(tensor.__dlpack__(max_version=(1, 1)))[0].version.minor == 1
    with pytest.raises(BufferError, match=r"DLPack 1\.0, found a tensor that needs 1\.1") as caught:
        tensor.__dlpack__(max_version=(1, 0))
    assert (caught.value.status, caught.value.rule) == ("VERSION", "REQUIRED_VERSION")
    with pytest.raises(BufferError, match="legacy") as caught:
        tensor.__dlpack__()
    assert caught.value.rule == "LEGACY_DTYPE"


@pytest.mark.parametrize("version", [1, "1.0", (1,), (1, 0, 0), [1, 0], (1.0, 0), ("1", "0")])
def test_max_version_is_a_pair_of_integers(tensor, version):
    """The version is a tuple (major, minor)."""
    with pytest.raises(TypeError):
        tensor.__dlpack__(max_version=version)


@pytest.mark.parametrize("version", [(-1, 0), (1, -1), (2**32, 0), (2**80, 0), (1, 2**80)])
def test_max_version_is_a_version(tensor, version):
    """Numbers out of range are a wrong argument."""
    with pytest.raises(ValueError, match="max_version"):
        tensor.__dlpack__(max_version=version)


# --- __dlpack__: dl_device ------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ASKS)
def test_without_dl_device_the_device_stays(elsewhere, asked):
    """None: the capsule is on the device of the tensor."""
    device = exported(elsewhere.__dlpack__(dl_device=None, **asked))[0].dl_tensor.device
    assert (device.device_type, device.device_id) == (2, 1) == elsewhere.__dlpack_device__()


def test_dl_device_takes_what_dlpack_device_returns(tensor, elsewhere):
    """It has the format of __dlpack_device__; the tensor's own device needs no copy."""
    for one in (tensor, elsewhere):
        capsule = one.__dlpack__(dl_device=one.__dlpack_device__(), max_version=(1, 0))
        assert exported(capsule)[1] == address(one)
        assert not flags(capsule) & IS_COPIED


def test_dl_device_may_be_an_enumeration(tensor):
    """Its first member is an enum of device types."""

    class DeviceType(enum.IntEnum):
        CPU = 1

    capsule = tensor.__dlpack__(dl_device=(DeviceType.CPU, 0))
    assert exported(capsule)[1] == address(tensor)


@pytest.mark.parametrize("device", [1, (1,), (1, 0, 0), ("cpu", 0), (1.0, 0), [1, 0]])
def test_dl_device_is_a_pair(tensor, device):
    """It must be a 2-tuple."""
    with pytest.raises(TypeError):
        tensor.__dlpack__(dl_device=device)


@pytest.mark.parametrize("device", [(2, 0), (10, 3), (4, 0), (99, 0)])
@pytest.mark.parametrize("copy", [None, True, False])
def test_an_unsupported_device_is_a_buffer_error(tensor, device, copy):
    """A device that the producer cannot handle must be rejected with BufferError."""
    with pytest.raises(BufferError, match="device"):
        tensor.__dlpack__(dl_device=device, max_version=(1, 0), copy=copy)


def test_the_cpu_is_supported_unless_a_copy_is_forbidden(elsewhere):
    """kDLCPU must be supported; if that needs a copy, copy=False is a BufferError."""
    with pytest.raises(BufferError, match="copy=False"):
        elsewhere.__dlpack__(dl_device=HERE, copy=False)


# --- __dlpack__: copy -----------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ASKS)
def test_true_always_copies(tensor, asked):
    """True: the producer copies, for every version."""
    capsule = tensor.__dlpack__(copy=True, **asked)
    assert exported(capsule)[1] != address(tensor)
    with_values = np.asarray(from_dlpack(capsule))
    assert with_values.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_copy_has_its_flag(tensor):
    """A copy has IS_COPIED; a tensor that is not copied does not."""
    assert flags(tensor.__dlpack__(copy=True, max_version=(1, 0))) & IS_COPIED
    assert flags(tensor.__dlpack__(copy=True, dl_device=HERE, max_version=(1, 3))) & IS_COPIED
    for copy in (None, False):
        assert not flags(tensor.__dlpack__(copy=copy, max_version=(1, 0))) & IS_COPIED


def test_a_copy_shares_no_memory(tensor):
    """Writes to the copy do not change the source, and vice versa."""
    copy = np.from_dlpack(from_dlpack(tensor.__dlpack__(copy=True, max_version=(1, 0))))
    source = np.from_dlpack(tensor)
    copy[0, 0] = 7
    source[1, 1] = 9
    assert source[0, 0] == 0
    assert copy[1, 1] == 4


@pytest.mark.parametrize("asked", ASKS)
@pytest.mark.parametrize("copy", [False, None])
def test_without_need_nothing_is_copied(tensor, asked, copy):
    """False: never a copy. None: the memory is shared if possible."""
    assert exported(tensor.__dlpack__(copy=copy, **asked))[1] == address(tensor)


@pytest.mark.parametrize("copy", [0, 1, "no", (), 1.0])
def test_copy_is_a_boolean_or_none(tensor, copy):
    """Other values are a wrong argument, not a guess."""
    with pytest.raises(TypeError, match="copy"):
        tensor.__dlpack__(copy=copy)


# --- __dlpack__: read-only and other rejections ---------------------------------------------------


def test_read_only_is_exported_from_1_0_on():
    """READ_ONLY is exported in the struct that has flags."""
    array = np.arange(3.0)
    array.flags.writeable = False
    assert not np.from_dlpack(from_dlpack(array)).flags.writeable
    with pytest.raises(BufferError, match="known to keep READ_ONLY") as caught:
        from_dlpack(array).__dlpack__(max_version=(1, 0))
    assert caught.value.status == "POLICY"
    copy = from_dlpack(array).__dlpack__(max_version=(1, 0), copy=True)
    assert flags(copy) & IS_COPIED
    assert not flags(copy) & READ_ONLY
    assert not flags(from_dlpack(np.arange(3.0)).__dlpack__(max_version=(1, 0))) & READ_ONLY


def test_read_only_in_legacy_is_a_buffer_error():
    """Data that cannot be exported is a BufferError: legacy has no READ_ONLY. A copy is writable,
    so it is exported."""
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.raises(BufferError, match="read-only|READ_ONLY") as caught:
        from_dlpack(array).__dlpack__()
    assert caught.value.rule == "LEGACY_READ_ONLY"
    assert producers.get_name(from_dlpack(array).__dlpack__(copy=True)) == LEGACY


def test_a_wrong_argument_is_no_buffer_error(tensor):
    """Other errors are raised for other reasons, such as a wrong argument."""
    for asked in ({"max_version": 3}, {"copy": 3}, {"dl_device": 3}, {"stream": 3}):
        with pytest.raises((TypeError, ValueError)):
            tensor.__dlpack__(**asked)


def test_the_capsule_owns_a_share_of_the_data():
    """The capsule keeps the data alive, whether it is consumed or not."""

    class Owner:
        data = np.arange(6.0)

    owner = Owner()
    gone = weakref.ref(owner)
    tensor = _core.wrap(owner, Owner.data.ctypes.data, (6,), "float64")
    del owner
    unused, used = tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 0))
    array = np.asarray(from_dlpack(used))
    del tensor, unused
    assert gone() is not None
    assert array.tolist() == [0, 1, 2, 3, 4, 5]
    del array, used
    assert gone() is None


def test_every_call_returns_a_new_capsule(tensor):
    """A capsule is consumed once; each call returns another."""
    first, second = tensor.__dlpack__(max_version=(1, 0)), tensor.__dlpack__(max_version=(1, 0))
    assert producers.get_pointer(first, VERSIONED) != producers.get_pointer(second, VERSIONED)
    assert from_dlpack(first).data_ptr == from_dlpack(second).data_ptr


# --- __dlpack_device__ ----------------------------------------------------------------------------


def test_dlpack_device_is_a_pair_of_integers(tensor):
    """It takes no argument and returns (device_type, device_id)."""
    device = tensor.__dlpack_device__()
    assert device == HERE
    assert type(device) is tuple
    assert [type(part) for part in device] == [int, int]
    with pytest.raises(TypeError):
        tensor.__dlpack_device__(1)


@pytest.mark.parametrize("device_type", [1, 2, 3, 4, 7, 8, 9, 10, 13, 14])
def test_dlpack_device_uses_the_numbers_of_dlpack(device_type):
    """All device types that the standard lists keep their number and their id."""
    identity = 0 if device_type in (1, 3, 13) else 5
    there = from_dlpack(Producer(device=(device_type, identity)), validate="struct")
    assert there.__dlpack_device__() == (device_type, identity)


# --- from_dlpack ----------------------------------------------------------------------------------


def test_x_is_positional_and_all_else_is_by_keyword():
    """from_dlpack(x, /, *, device=None, copy=None); dlbridge's additions are keywords too."""
    first, *others = inspect.signature(from_dlpack).parameters.values()
    assert first.kind is first.POSITIONAL_ONLY
    assert [one.name for one in others][:2] == ["device", "copy"]
    assert all(one.kind is one.KEYWORD_ONLY for one in others)
    assert all(one.default is None for one in others[:2])


def test_it_returns_the_data_of_any_object_with_dlpack():
    """The result has the data of x, for arrays of every library."""
    array = np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0)
    for x in (array, from_dlpack(array)):
        tensor = from_dlpack(x)
        assert type(tensor) is dlbridge.Tensor
        assert tensor.shape == array.shape
        assert np.array_equal(np.asarray(tensor), array)


def test_without_device_the_device_stays_the_same(elsewhere):
    """None: the result is on the device of x."""
    for copy in (None, False):
        assert from_dlpack(elsewhere, copy=copy).__dlpack_device__() == (2, 1)
    assert from_dlpack(np.arange(3.0), copy=True).__dlpack_device__() == HERE


@pytest.mark.parametrize("device", ["cpu", "cpu:0", (1, 0)])
def test_the_cpu_can_be_requested(device):
    """The CPU must be supported as a device."""
    array = np.arange(3.0)
    tensor = from_dlpack(array, device=device)
    assert tensor.data_ptr == array.ctypes.data
    assert memoryview(tensor).tolist() == [0, 1, 2]


def test_another_device_is_requested_from_the_producer():
    """The consumer passes the device as dl_device."""
    producer = Producer(device=(2, 0))
    assert from_dlpack(producer, device=(2, 0)).device == "cuda:0"
    assert producer.asked == [{"max_version": (1, 3), "dl_device": (2, 0)}]


def test_a_move_that_copy_forbids_is_rejected(elsewhere):
    """False: BufferError if the data needs a copy, whether the producer raises it or returns its
    own device."""
    for x in (elsewhere, Producer(device=(2, 0)), LegacyProducer(device=(2, 0))):
        with pytest.raises(BufferError, match="copy=False"):
            from_dlpack(x, device="cpu", copy=False)


def test_a_copy_is_requested_from_the_producer_and_made_if_it_does_not():
    """True: always a copy. A copy of the producer is not copied again; if the producer ignores or
    lacks the keyword, from_dlpack copies."""
    array = np.arange(3.0)
    tensor = from_dlpack(array, copy=True)
    assert tensor.data_ptr != array.ctypes.data
    assert tensor.copied
    done = Producer(flags=IS_COPIED)
    assert from_dlpack(done, copy=True).data_ptr == done.made[0].struct.dl_tensor.data
    assert done.asked == [{"max_version": (1, 3), "copy": True}]
    for ignores in (Producer(), LegacyProducer()):
        tensor = from_dlpack(ignores, copy=True)
        assert tensor.data_ptr != ignores.made[0].struct.dl_tensor.data
        assert tensor.copied
        assert ignores.deleted == 1


@pytest.mark.parametrize("copy", [None, False])
def test_without_need_the_memory_is_shared(copy):
    """None: the memory is shared if possible. False: never a copy."""
    array = np.arange(3.0)
    tensor = from_dlpack(array, copy=copy)
    array[0] = 7
    assert memoryview(tensor).tolist() == [7, 1, 2]


@pytest.mark.parametrize("error", [BufferError("dtype"), MemoryError("full"), OSError("other")])
def test_errors_of_the_producer_are_propagated(error):
    """Exceptions of __dlpack__ reach the caller."""

    class Rejects:
        def __dlpack__(self, **keywords):
            raise error

        def __dlpack_device__(self):
            return HERE

    with pytest.raises(type(error)) as caught:
        from_dlpack(Rejects())
    assert caught.value is error


def test_numpy_rejects_what_it_cannot_export():
    """For example NumPy's BufferError for a dtype that DLPack lacks."""
    with pytest.raises(BufferError, match="(?i)dtype|type|DLPack"):
        from_dlpack(np.array(["text"]))


def test_an_object_without_dlpack_is_rejected():
    """The standard specifies AttributeError for missing methods. It is also a TypeError with the
    type found, since dlbridge accepts capsules and exchange tables, too."""
    for thing in ([1, 2, 3], object(), None, 7):
        for options in ({}, {"copy": True}):
            with pytest.raises(AttributeError, match="supports DLPack") as caught:
                from_dlpack(thing, **options)
            assert isinstance(caught.value, TypeError)
            assert type(thing).__name__ in str(caught.value)
            assert (caught.value.status, caught.value.rule) == ("INVALID_ARGUMENT", None)


def test_the_newest_version_is_requested_first_and_the_result_verified():
    """The consumer calls with max_version, falls back after a TypeError, and verifies the result: a
    struct of another major is rejected."""
    producer = Producer()
    from_dlpack(producer)
    assert producer.asked == [{"max_version": (1, 3)}]
    old = LegacyProducer()
    assert from_dlpack(old).shape == (2, 3)
    assert old.asked == [{}]
    for version in ((2, 0), (0, 8)):
        future = Producer(version=version)
        with pytest.raises(BufferError, match="major") as caught:
            from_dlpack(future)
        assert caught.value.rule == "VERSION_MAJOR"
        assert future.deleted == 1


def test_a_consumed_capsule_is_renamed(tensor):
    """A consumed capsule is renamed."""
    for asked, name in (({}, LEGACY), ({"max_version": (1, 0)}, VERSIONED)):
        capsule = tensor.__dlpack__(**asked)
        from_dlpack(capsule)
        assert producers.get_name(capsule) == b"used_" + name


def test_a_round_trip_through_a_consumer_of_the_standard(tensor):
    """NumPy's from_dlpack imports a tensor with the keywords of its version."""
    assert np.from_dlpack(tensor).ctypes.data == address(tensor)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert np.from_dlpack(tensor, copy=True).ctypes.data != address(tensor)
        assert np.from_dlpack(tensor, device="cpu", copy=False).ctypes.data == address(tensor)
