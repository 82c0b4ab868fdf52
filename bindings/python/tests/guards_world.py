# SPDX-License-Identifier: Apache-2.0
"""Tensors of one real framework that must not be exported: what every entry point says of them.

guards_world.py FRAMEWORK PROBE    prints as JSON {case: {entry point: [type, message]}} and {case:
                                   [outcomes of following its remedies]}, in a list. PROBE is the
                                   path of the C extension of the tests.
                                   DLBRIDGE_FRAMEWORKS has folders with packages.
"""

import importlib
import json
import os
import pathlib
import sys
import warnings

sys.path += filter(None, os.environ.get("DLBRIDGE_FRAMEWORKS", "").split(os.pathsep))
warnings.simplefilter("ignore")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import dlbridge  # noqa: E402


def torch_cases(look):
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    def unwrapped(functional):
        torch._sync(functional)
        return torch._from_functional_tensor(functional)

    def with_storage(tensor, size):
        tensor.untyped_storage().resize_(size)
        return tensor

    class Forbids(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            if function is torch.Tensor.__dlpack__:
                raise TypeError("this class forbids export")
            return super().__torch_function__(function, types, args, kwargs)

    class Wraps(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            raise TypeError("no operation")

    ones = torch.ones(3)
    parts = [torch.ones(2), torch.ones(3)]
    conjugated = torch.ones(3, dtype=torch.complex64).conj()
    with FakeTensorMode():
        fake = torch.ones(3)
    dense, square = torch.Tensor.to_dense, torch.eye(4)
    look("sparse", square.to_sparse(), dense)
    look("uncoalesced", torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (3, 3)), dense)
    look("csr", square.to_sparse_csr(), dense)
    look("bsr", square.to_sparse_bsr((2, 2)), dense)
    look("mkldnn", square.to_mkldnn(), dense)
    look("meta", torch.empty(3, device="meta"))
    look("quantized", torch.quantize_per_tensor(ones, 0.1, 0, torch.qint8))
    look("nested", torch.nested.nested_tensor(parts))
    look("jagged", torch.nested.nested_tensor(parts, layout=torch.jagged))
    look("zero", torch._efficientzerotensor((3,)), torch.Tensor.clone)
    look("functional", torch._to_functional_tensor(ones), unwrapped)
    look("freed", with_storage(torch.ones(3), 0), lambda x: with_storage(x, 12).fill_(1.0))
    masked = torch.masked.masked_tensor(ones, torch.tensor([True, False, True]))
    parts_of = [lambda x: x.to_tensor(0.0), lambda x: x.get_data(), lambda x: x.get_mask()]
    look("masked", masked, *parts_of)
    look("fake", fake)
    look("forbids", ones.as_subclass(Forbids))
    look("wraps", Wraps(ones))
    look("requires_grad", torch.ones(3, requires_grad=True))
    look("parameter", torch.nn.Parameter(ones))
    look("uninitialized", torch.nn.UninitializedParameter())
    for name in ("int4", "uint4", "uint1", "int2", "uint7"):
        few = torch.zeros(4, dtype=torch.uint8).view(getattr(torch, name))
        look(name, few, lambda x: x.view(torch.uint8))
    look("conjugated", conjugated)
    look("negated", conjugated.imag)
    # The only way to them from Python; C++ extensions make them by at::_neg_view.
    integers = torch.tensor([1, 2, 3], dtype=torch.int32)
    resolve = [torch.Tensor.resolve_neg, lambda x: dlbridge.adapt(x, lazy="resolve")]
    look("negated integers", torch._neg_view(integers), *resolve)
    look("negated unsigned integers", torch._neg_view(integers.to(torch.uint8)), *resolve)
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        look("plain in forward mode", ones)
        dual = forward.make_dual(ones, torch.full((3,), 5.0))
        look("dual", dual, torch.Tensor.detach, lambda x: dlbridge.adapt(x, grad="detach"))
    torch.vmap(lambda x: look("vmap", x))(torch.ones(3, 2))
    torch.func.grad(lambda x: look("grad", x).sum())(ones)
    torch.func.jvp(lambda x: look("jvp", x), (ones,), (ones,))


def jax_cases(look):
    import jax

    jax.jit(lambda x: look("jit", x))(jax.numpy.ones(3))
    jax.vmap(lambda x: look("vmap", x))(jax.numpy.ones((3, 2)))
    jax.grad(lambda x: look("grad", x).sum())(jax.numpy.ones(3))


def paddle_cases(look):
    import paddle

    look("requires_grad", paddle.to_tensor([1.0, 2.0], stop_gradient=False))
    coo = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [1.0, 2.0], [3, 3])
    for case, sparse in (("coo", coo), ("csr", coo.to_sparse_csr())):
        look(case, sparse, lambda x: x.to_dense())


def tensorflow_cases(look):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow

    variable = tensorflow.Variable([1.0])
    look("strings", tensorflow.constant(["a", "bc"]))
    look("resource", variable.handle, lambda _: variable.read_value())
    look("variant", tensorflow.data.Dataset.range(3)._variant_tensor)
    assert "strings by its numpy()" in str(dlbridge.inspect(tensorflow.constant("a")))


def outcome(function, array):
    try:
        function(array)
    except (BufferError, TypeError) as error:
        kind = "BufferError" if isinstance(error, BufferError) else "TypeError"
        return [kind, str(error)]
    return ["none", "exported"]


def main(framework, path):
    sys.path.insert(0, str(pathlib.Path(path).parent))
    probe = importlib.import_module(pathlib.Path(path).name.partition(".")[0])
    entries = {
        "from_dlpack": dlbridge.from_dlpack,
        "adapt": dlbridge.adapt,
        "to": lambda x: dlbridge.to(x, "numpy"),
        "import": lambda x: probe.import_(x, 0, 0, 0, 0, 0),
        "borrow": lambda x: probe.borrow(x, 0),
    }
    seen, remedies = {}, {}

    def look(case, array, *followed):
        """`followed` are functions that follow the remedies of the message."""
        seen[case] = {name: outcome(function, array) for name, function in entries.items()}
        remedies[case] = [
            outcome(lambda x, f=follow: entries["from_dlpack"](f(x)), array) for follow in followed
        ]
        return array

    globals()[f"{framework}_cases"](look)
    print(json.dumps([seen, remedies]))


if __name__ == "__main__":
    main(*sys.argv[1:])
