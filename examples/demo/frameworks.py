# SPDX-License-Identifier: Apache-2.0
"""The frameworks of the demo: how each exports and imports tensors."""

import os

# Set before the imports: TensorFlow logs while loading, and all frameworks look for GPUs.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from importlib import metadata  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import tensorflow as tf  # noqa: E402
import tvm_ffi  # noqa: E402
from bridge import COPY, DROP_READ_ONLY, VOUCH_WRITABLE  # noqa: E402
from onnx import TensorProto, checker, helper  # noqa: E402

SHAPE = (3, 4)
COUNT = 12
# The initial values of each tensor.
VALUES = np.arange(COUNT, dtype=np.float32).reshape(SHAPE)


def versions():
    packages = ["numpy", "jax", "tensorflow-cpu", "onnxruntime", "apache-tvm-ffi"]
    return ", ".join(f"{name} {metadata.version(name)}" for name in packages)


def aligned_values():
    """A NumPy array aligned to 64 bytes: JAX and TensorFlow silently copy others."""
    memory = np.empty(COUNT * 4 + 64, dtype=np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start : start + COUNT * 4].view(np.float32).reshape(SHAPE)
    array[:] = VALUES
    return array


def _onnx_output():
    """The output of a real session, in ONNX Runtime's memory."""
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, SHAPE) for n in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "g", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    x = onnxruntime.OrtValue.ortvalue_from_numpy(-VALUES)
    return session.run_with_ort_values(["y"], {"x": x})[0]


class Framework:
    """A framework: `export` returns its legacy capsule, `take` imports an Export."""

    # A fact about the tensor that the capsule does not record.
    writable = VOUCH_WRITABLE
    # The option of a downgrade of a read-only tensor for this consumer.
    loss = 0

    def __init__(self, name, make, export, take, values):
        self.name, self.make, self.export = name, make, export
        self.take, self.values = take, values


NUMPY = Framework("NumPy", aligned_values, lambda a: a.__dlpack__(), np.from_dlpack, lambda a: a)

JAX = Framework(
    "JAX",
    lambda: jnp.arange(COUNT, dtype=jnp.float32).reshape(SHAPE),
    lambda a: a.__dlpack__(),
    jax.dlpack.from_dlpack,
    lambda a: np.array(a),
)
JAX.writable = 0  # its arrays are immutable
JAX.loss = DROP_READ_ONLY  # and it never writes to imported ones

TENSORFLOW = Framework(
    "TensorFlow",
    lambda: tf.reshape(tf.range(COUNT, dtype=tf.float32), SHAPE),
    tf.experimental.dlpack.to_dlpack,
    lambda e: tf.experimental.dlpack.from_dlpack(e.__dlpack__()),
    lambda a: np.array(a.numpy()),
)
TENSORFLOW.writable = 0  # as above
TENSORFLOW.loss = DROP_READ_ONLY

ONNX = Framework(
    "ONNX Runtime",
    _onnx_output,
    lambda a: a.__dlpack__(),
    onnxruntime.OrtValue.from_dlpack,
    lambda a: np.array(a.numpy()),
)
ONNX.loss = COPY  # update_inplace writes, so a read-only tensor is copied

TVM_FFI = Framework(
    "tvm-ffi",
    None,
    lambda a: a.__dlpack__(),
    lambda e: tvm_ffi.from_dlpack(e.capsule),
    lambda a: np.array(np.from_dlpack(a)),
)

PRODUCERS = [JAX, TENSORFLOW, ONNX, NUMPY]
CONSUMERS = [NUMPY, TVM_FFI, JAX, TENSORFLOW, ONNX]


def address(tensor):
    """The address of element (0, ..., 0) of a struct."""
    return tensor.dl_tensor.data + tensor.dl_tensor.byte_offset


def settle():
    """JAX defers the release of foreign tensors to its next call."""
    jnp.zeros(1).block_until_ready()
