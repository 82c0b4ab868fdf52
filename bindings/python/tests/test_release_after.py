# SPDX-License-Identifier: Apache-2.0
"""Tensor.release_after, collect, and their functions in dlbridge.abi: streams of the host, and what
is rejected without a driver."""

from __future__ import annotations

import array
import ctypes
import gc
import os
import pickle
import sysconfig
import threading
import weakref

import dlbridge
import pytest
from dlbridge import _core, abi, from_dlpack
from producers import CUDA, legacy, versioned

HOST = abi.Stream(abi.Backend.CPU, abi.StreamKind.HOST)
NO_SYNC = abi.Stream(abi.Backend.CUDA, abi.StreamKind.NO_SYNC, (CUDA, 0))
UNSET = abi.Stream(abi.Backend.NONE, 0)
# A queue of a driver, which no call of these tests reaches.
QUEUE = abi.Stream(abi.Backend.CUDA, abi.StreamKind.QUEUE, (CUDA, 0), 4096)
FLOAT32 = (2, 32, 1)

USES = {
    "shape": lambda tensor: tensor.shape,
    "strides": lambda tensor: tensor.strides,
    "ndim": lambda tensor: tensor.ndim,
    "size": lambda tensor: tensor.size,
    "nbytes": lambda tensor: tensor.nbytes,
    "dtype": lambda tensor: tensor.dtype,
    "dtype_triple": lambda tensor: tensor.dtype_triple,
    "device": lambda tensor: tensor.device,
    "data_ptr": lambda tensor: tensor.data_ptr,
    "byte_offset": lambda tensor: tensor.byte_offset,
    "flags": lambda tensor: tensor.flags,
    "version": lambda tensor: tensor.version,
    "readonly": lambda tensor: tensor.readonly,
    "copied": lambda tensor: tensor.copied,
    "managed_ptr": lambda tensor: tensor.managed_ptr,
    "__dlpack__": lambda tensor: tensor.__dlpack__(max_version=(1, 0)),
    "__dlpack_device__": lambda tensor: tensor.__dlpack_device__(),
    "copy": lambda tensor: tensor.copy(),
    "view": lambda tensor: tensor.view((6,)),
    "release_after": lambda tensor: tensor.release_after(None),
    "memoryview": memoryview,
    "pickle": pickle.dumps,
    "from_dlpack": from_dlpack,
    "export": _core.export,
    "wrap": lambda tensor: _core.wrap(tensor, 4096, (1,), "int8"),
    "to_buffer": dlbridge.to_buffer,
    "to": lambda tensor: dlbridge.to(tensor, _core.Tensor),
    "adapt": lambda tensor: dlbridge.adapt(tensor).shape,
}


def rejected(kind, call, *arguments, **keywords):
    with pytest.raises(kind) as caught:
        call(*arguments, **keywords)
    return caught.value


def test_the_host_releases_at_once(balanced):
    for made in (versioned(), legacy()):
        tensor = from_dlpack(made.capsule())
        assert tensor.release_after(None) is None
        assert made.deleted == 1
        assert repr(tensor) == "dlbridge.Tensor(released)"
    made = versioned()
    from_dlpack(made.capsule()).release_after(HOST, None, tuple(HOST))
    assert made.deleted == 1
    assert dlbridge.collect() == 0
    assert dlbridge.collect(wait=True) == 0


@pytest.mark.parametrize("use", USES)
def test_a_released_tensor_rejects_every_use(balanced, use):
    tensor = from_dlpack(versioned().capsule())
    tensor.release_after(None)
    error = rejected(ValueError, USES[use], tensor)
    assert "release_after" in str(error) and error.status == "INVALID_ARGUMENT"


def test_the_table_of_the_type_rejects_a_released_tensor(balanced):
    tensor = from_dlpack(versioned().capsule())
    _, address = abi.capsule(type(tensor).__dlpack_c_exchange_api__)
    table = abi.DLPackExchangeAPI.from_address(address)
    function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
    room = ctypes.create_string_buffer(256)
    lend = function(table.dltensor_from_py_object_no_sync)
    assert lend(tensor, ctypes.addressof(room)) == 0
    tensor.release_after(None)
    for entry in ("dltensor_from_py_object_no_sync", "managed_tensor_from_py_object_no_sync"):
        call = function(getattr(table, entry))
        error = rejected(ValueError, call, tensor, ctypes.addressof(room))
        assert "release_after" in str(error)


@pytest.mark.parametrize(
    ("streams", "kind", "part"),
    [
        ((), ValueError, "at least 1"),
        ((HOST, NO_SYNC), ValueError, "streams[1]"),
        ((UNSET,), ValueError, "not set"),
        ((7,), ValueError, "None on the CPU"),
        ((None, "a stream"), TypeError, "stream"),
        (((1, 2, 3),), TypeError, "(backend, kind, device, handle, context)"),
        (((2**40, 1, (1, 0), 0, 0),), ValueError, "a stream"),
        (((1, 1, (1, 0), -1, 0),), ValueError, "a stream"),
        (((1, 99, (1, 0), 0, 0),), ValueError, "99"),
    ],
)
def test_a_rejected_release_leaves_the_tensor(balanced, streams, kind, part):
    made = versioned()
    tensor = from_dlpack(made.capsule())
    assert part in str(rejected(kind, tensor.release_after, *streams))
    assert made.deleted == 0
    assert memoryview(tensor)[1, 2] == 5.0
    tensor.release_after(None)
    assert made.deleted == 1


def test_a_tensor_whose_buffers_are_in_use_is_not_released(balanced):
    made = versioned()
    tensor = from_dlpack(made.capsule())
    first, second = memoryview(tensor), memoryview(tensor)
    first.release()
    error = rejected(BufferError, tensor.release_after, None)
    assert "found 1 in use" in str(error) and made.deleted == 0
    assert second[0, 1] == 1.0
    second.release()
    tensor.release_after(None)
    assert made.deleted == 1


def test_other_owners_keep_the_memory(balanced):
    made = versioned()
    tensor = from_dlpack(made.capsule())
    view, capsule = tensor.view((6,)), tensor.__dlpack__(max_version=(1, 3))
    tensor.release_after(None)
    assert memoryview(view)[5] == 5.0
    view.release_after(None)
    assert made.deleted == 0
    again = from_dlpack(capsule)
    assert memoryview(again)[0, 2] == 2.0
    again.release_after(None)
    assert made.deleted == 1


def test_memory_that_a_tensor_keeps_for_another_outlives_its_release():
    """The bytes of a bfloat16 tensor are a tensor of another dtype over the same memory."""
    samples = array.array("H", range(4))
    known = weakref.ref(samples)
    tensor = dlbridge.from_buffer(samples, dtype="bfloat16")
    raw = dlbridge.to_buffer(tensor)
    tensor.release_after(None)
    del samples
    gc.collect()
    assert known() is not None and raw.tolist()[3] == [3, 0]
    del raw
    gc.collect()
    assert known() is None


def test_a_stream_that_releases_the_tensor_while_it_is_read(balanced):
    """Arguments may run Python code."""
    made = versioned()
    tensor = from_dlpack(made.capsule())

    class Sly:
        def __index__(self):
            if made.deleted == 0:
                tensor.release_after(None)
            return 0

    rejected(ValueError, tensor.release_after, (1, 1, (1, 0), Sly(), 0))
    made = versioned()
    tensor = from_dlpack(made.capsule())
    rejected(ValueError, tensor.view, (Sly(),))
    made = versioned()
    tensor = from_dlpack(made.capsule())
    rejected(ValueError, tensor.copy, device=(1, Sly()))
    made = versioned()
    tensor = from_dlpack(made.capsule())
    rejected(ValueError, tensor.__dlpack__, dl_device=(1, Sly()))
    assert made.deleted == 1


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="free-threaded builds may finalize an object on the thread that created it",
)
def test_a_release_runs_the_owners_callback_on_the_calling_thread():
    calls = []

    class Owner:
        def __init__(self):
            self.data = array.array("d", [1.0])

        def __del__(self):
            calls.append(threading.get_ident())

    owner = Owner()
    tensor = _core.wrap(owner, owner.data.buffer_info()[0], (1,), "float64")
    del owner
    thread = threading.Thread(target=tensor.release_after, args=(None,))
    thread.start()
    ident = thread.ident
    thread.join()
    assert calls == [ident]


def test_collect_checks_its_arguments():
    rejected(TypeError, dlbridge.collect, True)
    rejected(TypeError, dlbridge.collect, wat=True)
    error = rejected(ValueError, abi.collect, 1 << 20)
    assert (error.status, error.left) == ("TOO_NEW", 0)
    assert abi.collect() == abi.collect(abi.CollectOption.WAIT) == 0


# ------------------------------------------------------------------------------------- on addresses


def test_release_after_of_an_address():
    deleted = []
    struct = abi.DLManagedTensor(deleter=abi.DLManagedTensor.Deleter(deleted.append))
    address = ctypes.addressof(struct)
    for streams in ([], [NO_SYNC], [UNSET]):
        error = rejected(ValueError, abi.release_after, address, abi.Kind.LEGACY, streams)
        assert error.status == "INVALID_ARGUMENT"
    rejected(ValueError, abi.release_after, address, abi.Kind.UNKNOWN, [HOST])
    rejected(ValueError, abi.release_after, 0, abi.Kind.LEGACY, [HOST])
    assert deleted == []
    abi.release_after(address, abi.Kind.LEGACY, [HOST, HOST])
    assert deleted == [address]
    tensor = abi.allocate([4], FLOAT32)
    abi.release_after(tensor, abi.Kind.VERSIONED, [HOST])


def test_copy_async_on_the_host_is_complete():
    calls = []
    source = abi.allocate([4], FLOAT32)
    data = abi.tensor_at(source, abi.Kind.VERSIONED).data
    ctypes.memmove(data, b"sixteen bytes ok", 16)
    target = ctypes.create_string_buffer(20)
    buffer = abi.Buffer(0, abi.BufferKind.ADDRESS, ctypes.addressof(target))
    into = {"target": buffer, "target_size": 20, "target_offset": 4}
    copies = [
        abi.copy_async(source, stream=HOST),
        abi.copy_async(source, stream=HOST, release=lambda *given: calls.append(given), **into),
    ]
    abi.release_versioned(source)
    first = abi.tensor_at(copies[0], abi.Kind.VERSIONED)
    assert ctypes.string_at(first.data, 16) == target[4:20] == b"sixteen bytes ok"
    for copy in copies:
        abi.release_after(copy, abi.Kind.VERSIONED, [HOST])
    assert calls == [(tuple(buffer), None)]


def test_copy_async_rejects_what_no_stream_orders():
    source = abi.allocate([4], FLOAT32)
    for stream in (None, NO_SYNC, UNSET):
        assert rejected(ValueError, abi.copy_async, source, stream=stream).status
    staging = abi.CopyOption.ALLOW_STAGING
    rejected(ValueError, abi.copy_async, source, stream=HOST, options=staging)
    error = rejected(BufferError, abi.copy_async, source, stream=QUEUE)
    assert error.status == "UNSUPPORTED"
    abi.release_versioned(source)
    foreign = versioned()
    error = rejected(BufferError, abi.copy_async, foreign.address, stream=HOST)
    assert error.status == "FOREIGN_TENSOR"
    foreign.forget()


def test_wrapped_memory_may_be_released_on_a_stream():
    calls = []
    memory = ctypes.create_string_buffer(16)
    buffer = abi.Buffer(0, abi.BufferKind.ADDRESS, ctypes.addressof(memory))
    options = abi.WrapOption.RELEASE_ON_STREAM

    def released(_, stream):
        calls.append(stream)

    tensor = abi.wrap(buffer, [4], FLOAT32, options=options, release=released)
    abi.release_after(tensor, abi.Kind.VERSIONED, [HOST])
    assert calls == [None]  # the host has no work
    rejected(ValueError, abi.wrap, buffer, [4], FLOAT32, options=options)


def test_peers_are_unknown_where_no_driver_is_asked():
    memory = ctypes.create_string_buffer(16)
    buffer = abi.Buffer(0, abi.BufferKind.ADDRESS, ctypes.addressof(memory))
    found = abi.pointer_info(buffer, options=abi.PointerOption.PEERS)
    assert found["peers"] == 0
    assert not found["properties"] & abi.PointerProperty.PEERS_KNOWN
    assert rejected(ValueError, abi.pointer_info, buffer, options=1 << 20).status == "TOO_NEW"


def test_streams_of_an_export_and_an_import():
    tensor = abi.allocate([4], FLOAT32, options=abi.AllocateOption.SHAREABLE)
    descriptor, fds = abi.ipc_export(tensor, stream=HOST)
    try:
        abi.release_versioned(abi.ipc_import(descriptor, fds, stream=HOST))
        # The calls read the streams that they are given.
        assert rejected(ValueError, abi.ipc_import, descriptor, fds, stream=UNSET).status
    finally:
        for fd in fds:
            os.close(fd)
    assert rejected(ValueError, abi.ipc_export, tensor, stream=UNSET).status
    abi.release_versioned(tensor)
