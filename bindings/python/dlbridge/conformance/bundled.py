# SPDX-License-Identifier: Apache-2.0
"""The adapters of the kit: `--framework NAME`."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from dlbridge._structs import DLManagedTensorVersioned

from . import bases, capsules, frameworks, handmade
from .adapters import Adapter, Request, Unsupported
from .forms import FORMS

# Form of the kit -> method of a Framework.
_METHODS = {
    "negative": "reversed",
    "transposed": "transposed",
    "broadcast": "broadcast",
    "sliced": "sliced",
    "empty": "empty",
    "scalar": "scalar",
}
# Forms that slices of the framework itself make.
_SLICES = ("gaps", "row", "column")
# Elements of a matrix whose product takes some 0.1 s on a CPU.
_LARGE = 1200


class _Case:
    """The attributes of a case of the matrix that `Framework.make` reads."""

    def __init__(self, dtype: str, form: str) -> None:
        self.dtype, self.form, self.name = dtype, form, form


class Bundled(Adapter):
    """A framework of the matrix. Subclasses add what only the kit needs."""

    kind: type[frameworks.Framework]
    # Lines that make `array` and define `consume`, for reproducers.
    code = ""

    def __init__(self) -> None:
        self.framework = frameworks.load({self.kind.name})[self.kind.name]
        self.title = self.kind.title
        self.library = self.framework.library

    def make(self, request: Request) -> Any:
        if request.read_only and request.form.name != "plain":
            raise Unsupported("read-only arrays are plain")
        if request.form.name in _SLICES:
            return request.form.view(self._plain(request.dtype))
        form = "read_only" if request.read_only else _METHODS.get(request.form.name, "plain")
        with _unsupported():
            made = self.framework.make(_Case(request.dtype, form))
        if not request.read_only and request.form.name == "plain":
            self._check(made, request.dtype)
        return made

    def _rolled(self, request: Request) -> Any:
        """The values of a request as a NumPy array."""
        bits = bases.base(request.dtype)
        places = range(request.turn, request.turn + bits.size)
        return bits.reshape(-1).take(places, mode="wrap").reshape(bits.shape)

    def _plain(self, dtype: str) -> Any:
        with _unsupported():
            return self.framework.make(_Case(dtype, "plain"))

    def _check(self, array: Any, dtype: str) -> None:
        """Raises Unsupported if the framework made another array than requested."""
        with contextlib.suppress(Exception):
            if self.framework.shape(array) != FORMS["plain"].shape:
                raise Unsupported(f"{self.title} makes no array of {dtype}")

    def consume(self, source: Any, **keywords: Any) -> Any:
        if keywords:
            return self.consume_with(source, **keywords)
        return self.framework.take(source)

    def consume_with(self, source: Any, **keywords: Any) -> Any:
        raise Unsupported(f"the adapter of {self.title} passes no keywords")

    def read(self, array: Any) -> bytes:
        return bytes(self.framework.bits(array, self.dtype(array)))

    def shape(self, array: Any) -> tuple[int, ...]:
        return tuple(self.framework.shape(array))

    def dtype(self, array: Any) -> str:
        return str(self.framework.dtype(array))

    def address(self, array: Any) -> int | None:
        return int(self.framework.address(array))

    def writable(self, array: Any) -> bool | None:
        return bool(self.framework.writable(array))

    def write(self, array: Any, place: tuple[int, ...], number: float) -> None:
        if self.framework.immutable:
            raise Unsupported(f"arrays of {self.title} are immutable")
        array[place] = number

    def settle(self) -> None:
        self.framework.settle()

    def version(self) -> str:
        return str(self.framework.version())


@contextlib.contextmanager
def _unsupported() -> Any:
    try:
        yield
    except frameworks.Lacks as error:
        raise Unsupported(str(error)) from None


# Adds the dtypes of its package to NumPy.
_ML_DTYPES = "import ml_dtypes\n"


class NumPy(Bundled):
    kind = frameworks.NumPy
    code = (
        "import numpy\n"
        "base = numpy.arange(12).astype('float32').reshape(3, 4)\narray = base\n"
        "consume = numpy.from_dlpack\n"
    )

    def code_of(self, request: Request) -> str:
        frozen = "array.flags.writeable = False\n" if request.read_only else ""
        return (_ML_DTYPES if request.dtype in bases.BITS else "") + self.code + frozen

    def consume_with(self, source: Any, **keywords: Any) -> Any:
        return self.library.from_dlpack(source, **keywords)


class PyTorch(Bundled):
    kind = frameworks.PyTorch
    code = (
        "import torch\nbase = torch.arange(12).to(torch.float32).reshape(3, 4)\narray = base\n"
        "consume = torch.from_dlpack\n"
    )

    def consume_with(self, source: Any, **keywords: Any) -> Any:
        return self.library.from_dlpack(source, **keywords)


class Jax(Bundled):
    kind = frameworks.Jax
    forks = False
    code = (
        "import jax\nbase = jax.numpy.arange(12).astype('float32').reshape(3, 4)\n"
        "array = base\n"
        "consume = jax.numpy.from_dlpack\n"
        "def settle(): jax.numpy.zeros(1).block_until_ready()\n"
    )

    def __init__(self) -> None:
        super().__init__()
        # Else dtypes of 64 bits are narrowed, which is documented and a choice of the user.
        self.library.config.update("jax_enable_x64", True)
        self._slow = self.library.jit(_slow_copy(self.library), static_argnums=1)

    def consume_with(self, source: Any, **keywords: Any) -> Any:
        return self.framework.numpy.from_dlpack(source, **keywords)

    def delayed(self, request: Request) -> Any:
        """Calls return before their results are computed."""
        array = self.framework.of(self._rolled(request), request.dtype)
        self._slow(array, 1).block_until_ready()
        return self._slow(array, 0)


def _slow_copy(jax: Any) -> Any:
    def slow(array: Any, _: int) -> Any:
        large = jax.numpy.ones((_LARGE, _LARGE), dtype=jax.numpy.float32) / _LARGE
        for _ in range(4):
            large = large @ large
        # The result depends on the products and has the values of the array.
        zero = (large[0, 0] * 0).astype(array.dtype)
        return jax.numpy.where(zero == 0, array, zero)

    return slow


class TensorFlow(Bundled):
    kind = frameworks.TensorFlow
    forks = False
    code = (
        "import tensorflow as tf\nbase = tf.reshape(tf.cast(tf.range(12), 'float32'), (3, 4))\n"
        "array = base\n"
        "def consume(x): return tf.experimental.dlpack.from_dlpack(x.__dlpack__())\n"
    )


class Paddle(Bundled):
    kind = frameworks.Paddle
    code = (
        "import paddle\nbase = paddle.arange(12).astype('float32').reshape([3, 4])\n"
        "array = base\n"
        "consume = paddle.utils.dlpack.from_dlpack\n"
        "def read(x): return x.numpy().tobytes()\n"
    )


class TvmFfi(Bundled):
    kind = frameworks.TvmFfi
    # Its tensors import tensors that are made with ctypes here, whose deleters need Python.
    unsupported = ("deleter-after-exit",)
    code = (
        "import numpy, tvm_ffi\n"
        "base = numpy.arange(12).astype('float32').reshape(3, 4)\n"
        "array = tvm_ffi.from_dlpack(base)\n"
        "consume = tvm_ffi.from_dlpack\n"
    )

    def make(self, request: Request) -> Any:
        if request.form.name in _SLICES or request.read_only:
            raise Unsupported("tvm-ffi holds imported tensors only")
        return super().make(request)


class OnnxRuntime(Bundled):
    kind = frameworks.OnnxRuntime
    code = (
        "import numpy, onnxruntime\n"
        "base = numpy.arange(12).astype('float32').reshape(3, 4)\n"
        "array = onnxruntime.OrtValue.ortvalue_from_numpy(base)\n"
        "consume = onnxruntime.OrtValue.from_dlpack\n"
        "def read(x): return x.numpy().tobytes()\n"
    )

    def code_of(self, request: Request) -> str:
        number = frameworks.OnnxRuntime.elements.get(request.dtype)
        if number is None:
            return self.code
        # NumPy has no such dtype: ONNX's number of it says what the bytes are.
        bits = bases.BITS[request.dtype]
        make = f"_with_onnx_type(\n    base, {number})  # {request.dtype}"
        return self.code.replace("float32", bits).replace("_from_numpy(base)", f"_from_numpy{make}")

    def make(self, request: Request) -> Any:
        if request.form.name in _SLICES:
            raise Unsupported("an OrtValue has no views")
        return super().make(request)

    def write(self, array: Any, place: tuple[int, ...], number: float) -> None:
        raise Unsupported("an OrtValue has no items")


class PyArrow(Bundled):
    kind = frameworks.PyArrow
    code = (
        "import numpy, pyarrow\n"
        "base = numpy.arange(12).astype('float32').reshape(3, 4)\n"
        "array = pyarrow.Tensor.from_numpy(base)\n"
        "consume = pyarrow.Tensor.from_dlpack\n"
    )

    def code_of(self, request: Request) -> str:
        if request.dtype == "bool":
            return self.code.replace("Tensor.from_numpy(base)", "array(base.ravel())")
        if request.read_only:
            frozen = "base.flags.writeable = False\narray = "
            return self.code.replace("array = ", frozen)
        return (_ML_DTYPES if request.dtype in bases.BITS else "") + self.code

    def make(self, request: Request) -> Any:
        if request.form.name in _SLICES and not request.read_only:
            return self.library.Tensor.from_numpy(request.form.view(bases.base(request.dtype)))
        return super().make(request)

    def write(self, array: Any, place: tuple[int, ...], number: float) -> None:
        raise Unsupported("a Tensor of Arrow has no items")


class Dpnp(Bundled):
    kind = frameworks.Dpnp
    forks = False
    code = (
        "import dpnp\nbase = dpnp.arange(12).astype('float32').reshape(3, 4)\n"
        "array = base\n"
        "queue = dpnp.zeros(1).sycl_queue\n"
        "def consume(x): return dpnp.from_dlpack(x, device=queue)\n"
        "def read(x): return dpnp.asnumpy(x).tobytes()\n"
    )

    def code_of(self, request: Request) -> str:
        return self.code + ("array.flags.writable = False\n" if request.read_only else "")

    def __init__(self) -> None:
        super().__init__()
        self._queues: Any = None

    def streams(self) -> Any:
        from . import sycl

        self._queues = self._queues or sycl.Device()
        return self._queues

    def make_on(self, request: Request, stream: Any) -> Any:
        values = self._rolled(request)
        source = self.library.array(values, sycl_queue=stream.handle)
        array = self.library.zeros(values.shape, dtype=request.dtype, sycl_queue=stream.handle)
        stream.handle.wait()
        stream.close()
        self.library.copyto(array, source)
        return array

    def delayed(self, request: Request) -> Any:
        stream = self.streams().stream()
        array = self.make_on(request, stream)
        threading.Timer(0.1, stream.open).start()
        return array


class _DlbridgeFramework(frameworks.Framework):
    name, title, module, distribution = "dlbridge", "dlbridge", "dlbridge", "dlbridge"

    def of(self, bits: Any, dtype: str) -> Any:
        if dtype in bases.BITS:
            # The buffer protocol has no such dtypes; a tensor made with ctypes does.
            fields = {"data": bits.ctypes.data, "byte_offset": 0, "device": capsules.CPU}
            shaped = {"shape": bits.shape, "strides": capsules.compact(bits.shape)}
            tensor = {**fields, **shaped, "dtype": bases.TRIPLES[dtype]}
            flags = capsules.IS_PADDED if dtype in bases.SMALL else 0
            export = handmade.Export(bits, tensor, versioned=True, flags=flags)
            return self.library.from_dlpack(export)
        return self.library.from_dlpack(bits)

    def broadcast(self, array: Any) -> Any:
        return array.view((3, 4), strides=(0, 1))

    def transposed(self, array: Any) -> Any:
        return array.view((4, 3), strides=(1, 4))

    def reversed(self, array: Any) -> Any:
        return array.view((3, 4), strides=(-4, -1), offset=11)

    def empty(self, array: Any) -> Any:
        return array.view((0, 4))

    def scalar(self, array: Any) -> Any:
        return array.view((), offset=5)

    def sliced(self, array: Any) -> Any:
        return array.view((2, 4), offset=4)

    def read_only(self, array: Any) -> Any:
        return self.library.from_dlpack(array, writable=False)


class Dlbridge(Bundled):
    kind = _DlbridgeFramework
    code = (
        "import numpy, dlbridge\n"
        "base = numpy.arange(12).astype('float32').reshape(3, 4)\n"
        "array = dlbridge.from_dlpack(base)\n"
        "consume = dlbridge.from_dlpack\n"
    )

    def code_of(self, request: Request) -> str:
        if request.read_only:
            return self.code.replace("(base)", "(base, writable=False)")
        return self.code

    def __init__(self) -> None:
        self.framework = _DlbridgeFramework()
        self.title, self.library = "dlbridge", self.framework.library

    def make(self, request: Request) -> Any:
        if request.form.name in _SLICES and not request.read_only:
            form = request.form
            return self._plain(request.dtype).view(form.shape, form.strides, form.start)
        return super().make(request)

    def consume(self, source: Any, **keywords: Any) -> Any:
        return self.library.from_dlpack(source, **keywords)

    def read(self, array: Any) -> bytes:
        return self.describe(array).elements()

    def dtype(self, array: Any) -> str:
        return Adapter.dtype(self, array)

    def address(self, array: Any) -> int | None:
        return self.describe(array).address

    def describe(self, array: Any) -> capsules.Description:
        """Capsules of read-only memory are only for consumers that are known to keep the flag."""
        struct = DLManagedTensorVersioned.from_address(array.managed_ptr)
        return capsules.describe(struct)

    def version(self) -> str:
        return str(self.library.__version__)

    def writable(self, array: Any) -> bool | None:
        return not array.readonly

    def write(self, array: Any, place: tuple[int, ...], number: float) -> None:
        view: Any = memoryview(array)
        view[place] = number


# Name -> adapter.
KNOWN: dict[str, type[Bundled]] = {
    kind.kind.name: kind
    for kind in (
        *(NumPy, PyTorch, Jax, TensorFlow, Paddle),
        *(TvmFfi, OnnxRuntime, PyArrow, Dpnp, Dlbridge),
    )
}


def load(name: str) -> Adapter:
    return KNOWN[name]()
