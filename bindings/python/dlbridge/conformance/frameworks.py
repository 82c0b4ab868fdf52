# SPDX-License-Identifier: Apache-2.0
"""Frameworks: each makes the array of a case, imports arrays and reads them.

Nothing here uses dlbridge: the frameworks themselves describe their arrays.
"""

import contextlib
import functools
import importlib
import os
import sys

from . import bases, handmade

# Set before the imports: TensorFlow logs while loading, and all frameworks look for GPUs.
ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1",
}


class Lacks(Exception):
    """The framework has no such array."""


def _numpy_bits(array):
    """A NumPy array's elements in C order, as bytes."""
    return array.tobytes()


class Framework:
    """The base of all frameworks; `immutable`: its arrays must never be written to."""

    name = title = module = distribution = ""
    immutable = False
    # The consumer that adapt is given; None: adapt identifies it.
    adapted_as: str | None = None
    # The device of its arrays.
    device = handmade.CPU

    def __init__(self):
        self.library = importlib.import_module(self.module)
        self.prepare()

    def prepare(self):
        """Runs once after the import."""

    def make(self, case):
        """The array of a case, in the framework's memory. Raises Lacks or the framework's error."""
        form = getattr(self, case.form, None)
        if form is None:
            raise Lacks(f"{self.title} has no array that is {case.form.replace('_', ' ')}")
        return form(self.of(bases.base(case.dtype), case.dtype))

    def of(self, bits, dtype):
        """An array of the framework with these bits."""
        raise NotImplementedError

    def plain(self, array):
        return array

    def transposed(self, array):
        return array.T

    def reversed(self, array):
        return array[::-1, ::-1]

    def empty(self, array):
        return array[:0]

    def scalar(self, array):
        return array[1, 1]

    def sliced(self, array):
        return array[1:]

    def byte_offset(self, array):
        """The rows from the second one on: `data` of the whole array and byte_offset 16."""
        tensor = self.described(array)
        shape = (tensor["shape"][0] - 1, *tensor["shape"][1:])
        place = {"byte_offset": tensor["byte_offset"] + 16, "shape": shape}
        flags = handmade.READ_ONLY if self.immutable else 0
        return handmade.Export(array, {**tensor, **place}, flags=flags)

    def described(self, array):
        """The fields of the struct that the framework exports."""
        capsule = self.capsule(array)  # owns the struct while it is read
        return handmade.describe(handmade.look(capsule))

    def capsule(self, array):
        return array.__dlpack__()

    def take(self, source):
        """The framework's import of an object that speaks DLPack."""
        raise NotImplementedError

    def bits(self, array, dtype):
        """The elements as bytes in C order, read with the framework's functions."""
        raise NotImplementedError

    def shape(self, array):
        return tuple(array.shape)

    def dtype(self, array):
        """The dtype's name in DLPack."""
        return str(array.dtype)

    def address(self, array):
        """Where element (0,...,0) is."""
        return handmade.address(self.described(array))

    def writable(self, array):
        """Whether the framework would write to the array."""
        return not self.immutable

    def compute(self, array):
        """An operation on the array; nothing for frameworks that only hold it."""
        return array + array if hasattr(array, "__add__") else array

    def widen(self):
        """Makes the framework keep dtypes that it narrows; False if it did not narrow any."""
        return False

    def narrow(self):
        """Undoes `widen`."""

    def settle(self):
        """Makes frameworks that defer the release of foreign memory release it."""

    def version(self):
        from importlib import metadata

        return metadata.version(self.distribution)


class NumPy(Framework):
    name, title, module, distribution = "numpy", "NumPy", "numpy", "numpy"

    def of(self, bits, dtype):
        if dtype in bases.BITS:
            return bits.view(getattr(importlib.import_module("ml_dtypes"), dtype))
        return bits

    def broadcast(self, array):
        return self.library.broadcast_to(array[:1], array.shape)

    def scalar(self, array):
        return array[1, 1, ...]

    def read_only(self, array):
        array.flags.writeable = False
        return array

    def take(self, source):
        return self.library.from_dlpack(source)

    def bits(self, array, dtype):
        return _numpy_bits(array)

    def address(self, array):
        return array.__array_interface__["data"][0]

    def described(self, array):
        kind = handmade.TRIPLE_OF_KIND[array.dtype.kind, array.itemsize]
        strides = tuple(step // array.itemsize for step in array.strides)
        return {
            "data": self.address(array),
            "byte_offset": 0,
            "device": handmade.CPU,
            "dtype": kind,
            "shape": array.shape,
            "strides": strides,
        }

    def writable(self, array):
        return array.flags.writeable


class PyTorch(Framework):
    name, title, module, distribution = "torch", "PyTorch", "torch", "torch"

    def of(self, bits, dtype):
        if dtype not in bases.BITS:
            return self.library.from_numpy(bits).clone()
        carrier = self.library.from_numpy(bits.view(bits.dtype.str.replace("u", "i"))).clone()
        return carrier.view(getattr(self.library, dtype))

    def conjugated(self, array):
        return array.conj()

    def negated(self, array):
        return array.conj().imag

    def requires_grad(self, array):
        return array.requires_grad_()

    def broadcast(self, array):
        return array[:1].expand(array.shape)

    def take(self, source):
        return self.library.from_dlpack(source)

    def bits(self, array, dtype):
        plain = array.detach().resolve_conj().resolve_neg().contiguous()
        if dtype in bases.BITS:
            plain = plain.view(self.library.uint8)
        return _numpy_bits(plain.numpy())

    def dtype(self, array):
        return str(array.dtype).removeprefix("torch.")

    def address(self, array):
        return array.data_ptr()


class Jax(Framework):
    name, title, module, distribution = "jax", "JAX", "jax", "jax"
    immutable = True

    def prepare(self):
        self.numpy = importlib.import_module("jax.numpy")
        importlib.import_module("jax.dlpack")

    def of(self, bits, dtype):
        if dtype in bases.BITS:
            bits = bits.view(getattr(importlib.import_module("ml_dtypes"), dtype))
        with self._x64(dtype):
            return self.numpy.array(bits, copy=True).block_until_ready()

    def _x64(self, dtype):
        """Arrays of dtypes of 64 bits exist only with x64."""
        if dtype not in ("int64", "uint64", "float64", "complex128"):
            return contextlib.nullcontext()
        experimental = importlib.import_module("jax.experimental")
        return (getattr(experimental, "enable_x64", None) or self.library.enable_x64)(True)

    def widen(self):
        if self.library.config.jax_enable_x64:
            return False
        self.library.config.update("jax_enable_x64", True)
        return True

    def narrow(self):
        self.library.config.update("jax_enable_x64", False)

    def broadcast(self, array):
        return self.numpy.broadcast_to(array[:1], array.shape)

    def read_only(self, array):
        return array

    def take(self, source):
        return self.library.dlpack.from_dlpack(source)

    def bits(self, array, dtype):
        return _numpy_bits(importlib.import_module("numpy").asarray(array))

    def address(self, array):
        return array.unsafe_buffer_pointer()

    def settle(self):
        self.numpy.zeros(1).block_until_ready()


class TensorFlow(Framework):
    name, title, module = "tensorflow", "TensorFlow", "tensorflow"
    distribution = "tensorflow-cpu"
    adapted_as = "tensorflow"
    immutable = True

    def of(self, bits, dtype):
        if dtype in bases.BITS:
            bits = bits.view(getattr(importlib.import_module("ml_dtypes"), dtype))
        return self.library.identity(self.library.constant(bits))

    def transposed(self, array):
        return self.library.transpose(array)

    def broadcast(self, array):
        return self.library.broadcast_to(array[:1], array.shape)

    def read_only(self, array):
        return array

    def take(self, source):
        capsule = source.__dlpack__() if hasattr(source, "__dlpack__") else source
        return self.library.experimental.dlpack.from_dlpack(capsule)

    def bits(self, array, dtype):
        return _numpy_bits(array.numpy())

    def dtype(self, array):
        return array.dtype.name


class Paddle(Framework):
    name, title, module, distribution = "paddle", "Paddle", "paddle", "paddlepaddle"

    def of(self, bits, dtype):
        if dtype == "uint16":
            raise Lacks("Paddle has no uint16; it reads such arrays as bfloat16")
        if dtype not in bases.BITS:
            return self.library.to_tensor(bits, place="cpu")
        carrier = self.library.to_tensor(bits.view("uint8"), place="cpu")
        return carrier.view(dtype)

    def requires_grad(self, array):
        array.stop_gradient = False
        return array

    def broadcast(self, array):
        return self.library.as_strided(array, array.shape, [0, 1])

    def empty(self, array):
        return self.library.to_tensor(bases.base("float32")[:0], place="cpu")

    def take(self, source):
        return self.library.utils.dlpack.from_dlpack(source)

    def bits(self, array, dtype):
        if dtype in bases.BITS:
            array = array.contiguous().view("uint8")
        return _numpy_bits(array.detach().numpy())

    def dtype(self, array):
        return str(array.dtype).removeprefix("paddle.")

    def address(self, array):
        return array.data_ptr()


class TvmFfi(Framework):
    name, title, module, distribution = "tvm_ffi", "tvm-ffi", "tvm_ffi", "apache-tvm-ffi"
    adapted_as = "tvm_ffi"

    def make(self, case):
        """tvm-ffi only holds imported arrays, which are handmade here."""
        array = bases.base(case.dtype)
        forms = {
            "plain": lambda: array,
            "transposed": lambda: array.T,
            "reversed": lambda: array[::-1, ::-1],
            "broadcast": lambda: array[:1],
            "empty": lambda: array[:0],
            "scalar": lambda: array[1:2, 1:2],
            "sliced": lambda: array[1:],
            "byte_offset": lambda: array,
        }
        if case.form not in forms:
            raise Lacks(f"a tvm-ffi tensor is never {case.form.replace('_', ' ')}")
        part = forms[case.form]()
        tensor = {
            "data": part.__array_interface__["data"][0],
            "byte_offset": 0,
            "device": handmade.CPU,
            "dtype": bases.TRIPLES[case.dtype],
            "shape": part.shape,
            "strides": tuple(step // part.itemsize for step in part.strides),
        }
        if case.form == "broadcast":
            tensor |= {"shape": array.shape, "strides": (0, 1)}
        if case.form == "scalar":
            tensor |= {"shape": (), "strides": ()}
        if case.dtype in bases.SMALL:
            # It asks for legacy capsules, whose elements are packed.
            part = bases.packed(case.dtype)
            tensor["data"] = part.ctypes.data
        made = self.take(handmade.Export(part, tensor))
        return super().byte_offset(made) if case.form == "byte_offset" else made

    def take(self, source):
        return self.library.from_dlpack(source)

    def bits(self, array, dtype):
        return handmade.elements(self.described(array))

    def dtype(self, array):
        """Read from the struct, since `dtype` of a complex tensor raises."""
        triple = self.described(array)["dtype"]
        return {named: name for name, named in bases.TRIPLES.items()}.get(triple, str(triple))

    def address(self, array):
        return array.data_ptr()


class OnnxRuntime(Framework):
    name, title, module = "onnxruntime", "ONNX Runtime", "onnxruntime"
    distribution = "onnxruntime"
    # ONNX's numbers of dtypes that NumPy lacks.
    elements = {
        "bfloat16": 16,
        "float8_e4m3fn": 17,
        "float8_e4m3fnuz": 18,
        "float8_e5m2": 19,
        "float8_e5m2fnuz": 20,
    }
    _names = {
        **{f"tensor({name})": name for name in bases.TRIPLES},
        **{f"tensor({name.replace('_', '')})": name for name in bases.BITS},
        "tensor(float)": "float32",
        "tensor(double)": "float64",
    }

    def of(self, bits, dtype):
        value = self.library.OrtValue
        if dtype in bases.BITS:
            return value.ortvalue_from_numpy_with_onnx_type(bits, self.elements[dtype])
        return value.ortvalue_from_numpy(bits)

    def make(self, case):
        """An OrtValue has no views; special shapes are made from a NumPy array."""
        parts = {"empty": lambda a: a[:0], "scalar": lambda a: a[1, 1, ...]}
        if case.form in parts:
            # An OrtValue keeps the array's memory; whether a consumer copies depends on its place.
            part = parts[case.form](bases.base(case.dtype))
            return self.of(bases.aligned(part), case.dtype)
        if case.form not in ("plain", "byte_offset"):
            raise Lacks(f"an OrtValue is never {case.form.replace('_', ' ')}")
        return super().make(case)

    def take(self, source):
        return self.library.OrtValue.from_dlpack(source)

    def bits(self, array, dtype):
        import ctypes

        if not array.has_value() or 0 in array.shape():
            return b""
        count = 1
        for extent in array.shape():
            count *= extent
        return ctypes.string_at(array.data_ptr(), count * bases.TRIPLES[dtype][1] // 8)

    def shape(self, array):
        return tuple(array.shape())

    def dtype(self, array):
        return self._names.get(array.data_type(), array.data_type())

    def address(self, array):
        return array.data_ptr()


class PyArrow(Framework):
    name, title, module, distribution = "pyarrow", "PyArrow", "pyarrow", "pyarrow"
    adapted_as = "pyarrow"

    def of(self, bits, dtype):
        if dtype in bases.BITS:
            bits = bits.view(getattr(importlib.import_module("ml_dtypes"), dtype))
        if dtype == "bool":
            return self.library.array(bits.ravel())
        return self.library.Tensor.from_numpy(bits)

    def make(self, case):
        """An Arrow tensor has no views; NumPy's views are imported."""
        numpy = importlib.import_module("numpy")
        views = {
            "transposed": lambda a: a.T,
            "reversed": lambda a: a[::-1, ::-1],
            "broadcast": lambda a: numpy.broadcast_to(a[:1], a.shape),
            "empty": lambda a: a[:0],
            "scalar": lambda a: a[1, 1, ...],
            "sliced": lambda a: a[1:],
        }
        if case.form in views:
            return self.of(views[case.form](bases.base(case.dtype)), case.dtype)
        return super().make(case)

    def read_only(self, array):
        bits = bases.base("float32")
        bits.flags.writeable = False
        return self.library.Tensor.from_numpy(bits)

    def capsule(self, array):
        return array.__dlpack__(max_version=handmade.NEWEST)

    def take(self, source):
        return self.library.Tensor.from_dlpack(source)

    def bits(self, array, dtype):
        return _numpy_bits(array.to_numpy())

    def dtype(self, array):
        names = {"halffloat": "float16", "float": "float32", "double": "float64"}
        return names.get(str(array.type), str(array.type))

    def writable(self, array):
        return array.is_mutable


class Dpnp(Framework):
    name, title, module, distribution = "dpnp", "dpnp", "dpnp", "dpnp"
    device = (14, 0)

    @functools.cached_property
    def queue(self):
        """One for all imports: each `zeros` leaks some 200 bytes, which no import does."""
        return self.library.zeros(1).sycl_queue

    def of(self, bits, dtype):
        if dtype in bases.BITS:
            bits = bits.view(getattr(importlib.import_module("ml_dtypes"), dtype))
        return self.library.array(bits)

    def broadcast(self, array):
        return self.library.broadcast_to(array[:1], array.shape)

    def read_only(self, array):
        array.flags.writable = False
        return array

    def byte_offset(self, array):
        """Uses dpnp's views: a handmade tensor on its device could not be copied to the host."""
        view = array[1:]
        if not self.described(view)["byte_offset"]:
            raise Lacks("dpnp's views have byte_offset 0")
        return view

    def take(self, source):
        """Imports host tensors to dpnp's device; without `device` the result would be NumPy's."""
        where = tuple(int(part) for part in source.__dlpack_device__() if part is not None)
        if where[0] == self.device[0]:
            return self.library.from_dlpack(source)
        return self.library.from_dlpack(source, device=self.queue)

    def bits(self, array, dtype):
        return _numpy_bits(self.library.asnumpy(array))

    def writable(self, array):
        """dpnp exports scalars with READ_ONLY, whatever their `flags` are."""
        capsule = array.__dlpack__(max_version=(1, 0))
        flagged = handmade.look(capsule).flags & handmade.READ_ONLY
        return array.flags.writable and not flagged


KNOWN = {
    kind.name: kind
    for kind in (
        *(NumPy, PyTorch, Jax, TensorFlow, Paddle),
        *(TvmFfi, OnnxRuntime, PyArrow, Dpnp),
    )
}
# A process that imports both crashes.
APART = {frozenset(("tensorflow", "paddle"))}
# dpnp must be loaded before Paddle to find its own libtbb.
_LOADED = sorted(KNOWN, key=lambda name: name != "dpnp")
# Frameworks that others import if they are installed; blocked unless they are wanted.
OPTIONAL = ("torch", "tensorflow", "paddle")


def installed():
    """The names of the installed frameworks; imports none."""
    from importlib import util

    return [name for name, kind in KNOWN.items() if util.find_spec(kind.module)]


def load(names):
    """Imports only these frameworks, in the order of the table."""
    for name in OPTIONAL:
        if name not in names:
            sys.modules[name] = None
    return {name: KNOWN[name]() for name in _LOADED if name in names}


def use_intel_driver(folder):
    """Makes OpenCL's loader find only the driver in this Python's packages."""
    driver = os.path.join(sys.prefix, "lib", "libintelocl.so")
    if os.path.exists(driver):
        with open(os.path.join(folder, "intel.icd"), "w") as file:
            file.write(f"{driver}\n")
        return {"OCL_ICD_VENDORS": f"{folder}/"}
    return {}
