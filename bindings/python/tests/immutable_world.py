# SPDX-License-Identifier: Apache-2.0
"""One consumer in one process: gives it immutable memory in every way that a program has, writes
through what it got, and looks at the source.

immutable_world.py CONSUMER SOURCE PROBE    prints {way: outcome} as JSON. PROBE is the path of
                                            the C extension of the tests, or "".
                                            DLBRIDGE_FRAMEWORKS has folders with packages.

The outcomes: "refused" with a BufferError of one line; "kept" if the consumer shares the memory and
does not write to it; "copied"; and "WRITTEN" if the source has changed, which must never happen.
"""

import contextlib
import functools
import importlib
import json
import os
import sys
import warnings

sys.path += filter(None, os.environ.get("DLBRIDGE_FRAMEWORKS", "").split(os.pathsep))

import numpy as np  # noqa: E402

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
warnings.simplefilter("ignore")

import dlbridge  # noqa: E402
from dlbridge import _core  # noqa: E402

# JAX and TensorFlow share only memory that is aligned, and copy the rest.
COUNT, ALIGNMENT = 16, 64


# ---- Sources: the array, and a function that reads its memory ------------------------------------


def aligned():
    block = np.zeros(COUNT * 4 + ALIGNMENT, np.uint8)
    start = -block.__array_interface__["data"][0] % ALIGNMENT
    array = block[start : start + COUNT * 4].view(np.float32)
    array[:] = np.arange(COUNT)
    return array


def source_numpy():
    memory = aligned()
    array = memory.view()
    array.flags.writeable = False
    return array, memory.copy


def source_bytes():
    memory = np.arange(COUNT, dtype=np.float32).tobytes()
    tensor = dlbridge.from_buffer(memoryview(memory).cast("f"))
    return tensor, lambda: np.frombuffer(memory, np.float32).copy()


def source_jax():
    import jax.numpy

    array = jax.numpy.arange(float(COUNT), dtype="float32")
    return array, lambda: np.asarray(array).copy()


def source_tensorflow():
    import tensorflow

    array = tensorflow.range(float(COUNT))
    return array, lambda: array.numpy().copy()


def source_onnxruntime():
    import onnxruntime

    array, values = source_numpy()
    return onnxruntime.OrtValue.ortvalue_from_numpy(array), values


SOURCES = {name[7:]: one for name, one in list(globals().items()) if name.startswith("source_")}


# ---- Consumers: the import of an object, of a capsule, and a write -------------------------------


class Consumer:
    def __init__(self, name, importer, write, address, capsules=None, table=None):
        self.name, self.importer, self.write, self.address = name, importer, write, address
        self.capsules, self.table = capsules, table


def consumer_numpy():
    def write(array):
        array[...] = 7

    return Consumer("numpy", np.from_dlpack, write, lambda one: one.ctypes.data)


def consumer_torch():
    import torch

    return Consumer(
        "torch",
        torch.from_dlpack,
        lambda one: one.fill_(7),
        lambda one: one.data_ptr(),
        torch.utils.dlpack.from_dlpack,
        torch.Tensor,
    )


def consumer_jax():
    import jax

    def write(array):
        jax.jit(lambda one: one + 7, donate_argnums=0)(array).block_until_ready()

    return Consumer("jax", jax.dlpack.from_dlpack, write, lambda one: one.unsafe_buffer_pointer())


def consumer_tensorflow():
    import tensorflow

    take = tensorflow.experimental.dlpack.from_dlpack

    def write(array):
        # tf.raw_ops.InplaceUpdate is left out: it writes to every tensor, also to tf.constant.
        variable = tensorflow.Variable(array)
        variable.scatter_nd_update([[0]], [7.0])
        variable.assign_add(array)

    return Consumer("tensorflow", lambda one: take(one.__dlpack__()), write, lambda one: None, take)


def consumer_paddle():
    import paddle

    take = paddle.utils.dlpack.from_dlpack
    return Consumer("paddle", take, lambda one: one.fill_(7), lambda one: one.data_ptr(), take)


def consumer_tvm_ffi():
    import tvm_ffi

    def write(tensor):
        np.from_dlpack(tensor)[...] = 7

    def address(tensor):
        return np.from_dlpack(tensor).ctypes.data

    kind = tvm_ffi.Tensor
    return Consumer("tvm_ffi", tvm_ffi.from_dlpack, write, address, table=kind)


def consumer_onnxruntime():
    import onnxruntime

    def write(value):
        value.update_inplace(np.full(COUNT, 7, np.float32))

    take = onnxruntime.OrtValue.from_dlpack
    return Consumer("onnxruntime", take, write, lambda one: one.data_ptr())


def consumer_pyarrow():
    import pyarrow

    def write(tensor):
        assert not tensor.is_mutable
        tensor.to_numpy()[...] = 7

    def address(tensor):
        return tensor.to_numpy().ctypes.data

    return Consumer("pyarrow", pyarrow.Tensor.from_dlpack, write, address)


def consumer_dpnp():
    import dpnp

    def write(array):
        array[...] = 7

    return Consumer("dpnp", dpnp.from_dlpack, write, lambda one: None)


CONSUMERS = {name[9:]: one for name, one in list(globals().items()) if name.startswith("consumer_")}


# ---- Ways ----------------------------------------------------------------------------------------


class Forwards:
    def __init__(self, array, options):
        self.array, self.options = array, options

    def __dlpack__(self, **keywords):
        return dlbridge.adapt(self.array, **self.options).__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


class Delegates:
    """Gives the methods of another object, so that the consumer itself calls them."""

    def __init__(self, inner):
        self.inner = inner

    __dlpack__ = property(lambda self: self.inner.__dlpack__)
    __dlpack_device__ = property(lambda self: self.inner.__dlpack_device__)


class Bound:
    """Calls through C code, which passes the keywords on as it got them."""

    def __init__(self, inner):
        self.__dlpack__ = functools.partial(inner.__dlpack__)
        self.__dlpack_device__ = inner.__dlpack_device__


def hand_made(consumer, maker, **request):
    take = consumer.capsules or consumer.importer
    capsule = maker().__dlpack__(**request)
    return take(capsule)


def ways(consumer, array, probe):
    """Pairs: a name, and a function that gives the consumer the array."""
    tensor = functools.partial(_core.from_dlpack, array)
    flagged = functools.partial(_core.from_dlpack, array, writable=False)
    adapted = functools.partial(dlbridge.adapt, array)
    objects = {
        "tensor": tensor,
        "tensor writable=False": flagged,
        "view": lambda: tensor().view((COUNT,)),
        "adapt": adapted,
        "adapt(tensor)": lambda: dlbridge.adapt(tensor()),
        "forwarded": lambda: Forwards(array, {}),
        "forwarded twice": lambda: Forwards(Forwards(array, {}), {}),
        "delegated tensor": lambda: Delegates(tensor()),
        "delegated adapt": lambda: Delegates(adapted()),
        "partial tensor": lambda: Bound(tensor()),
        "partial adapt": lambda: Bound(adapted()),
    }
    if probe is not None:
        objects["extension"] = lambda: probe.make(tensor())
    for name, make in objects.items():
        yield name, lambda make=make: consumer.importer(make())
    for name, make in (("tensor", tensor), ("adapt", adapted)):
        for request in ({}, {"max_version": (1, 3)}, {"max_version": (1, 0), "copy": None}):
            words = f"capsule of {name} {sorted(request)}"
            yield words, functools.partial(hand_made, consumer, make, **request)
    yield "to", lambda: dlbridge.to(array, consumer.name)
    yield "to(tensor)", lambda: dlbridge.to(tensor(), consumer.name)
    yield "to readonly=copy", lambda: dlbridge.to(array, consumer.name, readonly="copy")
    yield "adapt readonly=copy", lambda: consumer.importer(adapted(readonly="copy"))
    if consumer.table is not None:
        yield "to type", lambda: dlbridge.to(array, consumer.table)
        yield "to_type", lambda: _core.to_type(tensor(), consumer.table)
        if probe is not None:
            yield "extension to_type", lambda: probe.to_type(tensor(), consumer.table)
    if consumer.name in ("numpy", "torch"):
        for name, make in objects.items():
            yield f"{name} copy=True", lambda make=make: consumer.importer(make(), copy=True)


def outcome(consumer, way, read, memory):
    before = read()
    try:
        got = way()
    except (BufferError, TypeError, RuntimeError, ValueError) as error:
        # Consumers may turn the BufferError into an error of their own that quotes it.
        text = str(error)
        return "refused" if "\n" not in text or "READ_ONLY" in text else f"refused: {text}"
    if got is None:
        return "refused"  # the type has no exchange table
    shared = consumer.address(got) == memory
    with contextlib.suppress(Exception):  # the consumer's refusal to write
        consumer.write(got)
    if not np.array_equal(read(), before):
        return "WRITTEN"
    return "kept" if shared else "copied"


def main(name, source, path):
    array, read = SOURCES[source]()
    probe = None
    if path:
        folder, _, module = path.rpartition("/")
        sys.path.insert(0, folder)
        probe = importlib.import_module(module.partition(".")[0])
    consumer = CONSUMERS[name]()
    memory = _core.from_dlpack(array).data_ptr
    seen = {
        words: outcome(consumer, way, read, memory) for words, way in ways(consumer, array, probe)
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
