# SPDX-License-Identifier: Apache-2.0
"""dlbridge_identify identifies every capsule of installed frameworks correctly."""

import ctypes
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/demo"))

import frameworks  # noqa: E402, F401  (sets what has to be set before any framework is imported)
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import tensorflow as tf  # noqa: E402
import tvm_ffi  # noqa: E402
from capsules import LEGACY, VERSIONED, kind_of, look  # noqa: E402

EXPECTED = {LEGACY: 1, VERSIONED: 2}
SHAPES = [(), (0,), (1,), (7,), (2, 3), (0, 4), (3, 1, 5), (1, 2, 1, 2, 1, 2), (64, 64)]
REAL = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL += ["float16", "float32", "float64"]
DTYPES = [*REAL, "complex64", "complex128"]
JAX_DTYPES = [*DTYPES, "bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"]
TF_DTYPES = [*DTYPES, "bfloat16"]
TVM_FFI_DTYPES = [*REAL, "complex64"]


class Identify:
    def __init__(self, path):
        self._function = ctypes.CDLL(path).dlbridge_identify
        self._function.restype = ctypes.c_int32
        self._function.argtypes = [ctypes.c_void_p]

    def __call__(self, capsule):
        return self._function(ctypes.addressof(look(capsule)))


def numpy_arrays():
    for dtype in DTYPES:
        for shape in SHAPES:
            yield np.zeros(shape, dtype)
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    yield from (base.T, base[::-1], base[1:, ::2], np.broadcast_to(base[0], (5, 6)).copy())


def numpy_capsules():
    for array in numpy_arrays():
        yield array.__dlpack__()
        yield array.__dlpack__(max_version=(1, 0))
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    yield frozen.__dlpack__(max_version=(1, 0))


def accepted(export, *arguments):
    """The capsules for the arguments that a framework accepts: not all support every dtype."""
    for argument in arguments:
        try:
            capsule = export(*argument)
        except (TypeError, ValueError, RuntimeError, BufferError, jax.errors.JaxRuntimeError):
            continue
        except tf.errors.OpError:
            continue
        yield capsule


def pairs(dtypes):
    return [(shape, dtype) for dtype in dtypes for shape in SHAPES]


def jax_capsules():
    return accepted(lambda shape, dtype: jnp.zeros(shape, dtype).__dlpack__(), *pairs(JAX_DTYPES))


def tensorflow_capsules():
    to_dlpack = tf.experimental.dlpack.to_dlpack
    return accepted(
        lambda shape, dtype: to_dlpack(tf.zeros(shape, getattr(tf, dtype))), *pairs(TF_DTYPES)
    )


def onnx_capsules():
    make = onnxruntime.OrtValue.ortvalue_from_numpy
    return accepted(lambda shape, dtype: make(np.zeros(shape, dtype)).__dlpack__(), *pairs(REAL))


def tvm_ffi_capsules():
    for shape, dtype in pairs(TVM_FFI_DTYPES):
        yield from accepted(
            lambda s, d: tvm_ffi.from_dlpack(np.zeros(s, d)).__dlpack__(), (shape, dtype)
        )
        yield from accepted(
            lambda s, d: tvm_ffi.from_dlpack(np.zeros(s, d)).__dlpack__(max_version=(1, 3)),
            (shape, dtype),
        )


class IdentifyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        jax.config.update("jax_enable_x64", True)
        cls.identify = Identify(os.environ["DLBRIDGE_LIBRARY"])

    def check(self, capsules, **least):
        """Every capsule is identified as its name states; `least` has minimum counts per name."""
        seen = {LEGACY: 0, VERSIONED: 0}
        kept = []  # so that addresses differ
        for capsule in capsules:
            kind = kind_of(capsule)
            self.assertEqual(self.identify(capsule), EXPECTED[kind], bytes(look(capsule)).hex(" "))
            seen[kind] += 1
            kept.append(capsule)
        self.assertGreaterEqual(seen[LEGACY], least["legacy"])
        self.assertGreaterEqual(seen[VERSIONED], least["versioned"])

    def test_numpy(self):
        self.check(numpy_capsules(), legacy=120, versioned=120)

    def test_jax(self):
        self.check(jax_capsules(), legacy=120, versioned=0)

    def test_tensorflow(self):
        self.check(tensorflow_capsules(), legacy=100, versioned=0)

    def test_onnx_runtime(self):
        self.check(onnx_capsules(), legacy=90, versioned=0)

    def test_tvm_ffi(self):
        self.check(tvm_ffi_capsules(), legacy=90, versioned=90)


if __name__ == "__main__":
    unittest.main()
