# SPDX-License-Identifier: Apache-2.0
"""to: targets by type, module and name, and rejections."""

import sys
import types

import dlbridge
import numpy as np
import pytest
from dlbridge import _core

BASE = np.arange(12, dtype=np.float32).reshape(3, 4)


def frozen():
    copy = BASE.copy()
    copy.flags.writeable = False
    return copy


@pytest.fixture
def onnxruntime(monkeypatch):
    """A module named onnxruntime whose OrtValue keeps its tensor."""
    module = types.ModuleType("onnxruntime")

    class OrtValue:
        @classmethod
        def from_dlpack(cls, data):
            value = cls()
            value.name, value.tensor = data.dtype, _core.from_dlpack(data.__dlpack__())
            return value

    OrtValue.__module__ = "onnxruntime.capi"
    module.OrtValue = OrtValue
    monkeypatch.setitem(sys.modules, "onnxruntime", module)
    return module


@pytest.fixture
def tensorflow(monkeypatch):
    """A module named tensorflow that accepts capsules, two levels down."""
    module = types.ModuleType("tensorflow")
    module.experimental = types.SimpleNamespace(
        dlpack=types.SimpleNamespace(from_dlpack=lambda capsule: _core.from_dlpack(capsule))
    )
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    return module


@pytest.mark.parametrize("target", [np, "numpy", np.ndarray])
def test_numpy(target):
    taken = dlbridge.to(BASE[::-1], target)
    assert type(taken) is np.ndarray
    assert np.shares_memory(taken, BASE)
    assert not dlbridge.to(frozen(), target).flags.writeable


def test_a_type_with_a_table_is_used_through_it():
    taken = dlbridge.to(BASE, dlbridge.Tensor)
    assert isinstance(taken, dlbridge.Tensor)
    assert taken.data_ptr == BASE.__array_interface__["data"][0]
    assert dlbridge.to(frozen(), dlbridge.Tensor).readonly


@pytest.mark.parametrize("module", ["jax.interop", "numpy.interop"])
def test_the_owner_of_the_table_decides_who_the_consumer_is(module):
    """A subclass in the package of another framework inherits none of its promises."""
    table = dlbridge.Tensor.__dlpack_c_exchange_api__
    forgets = type("Forgets", (), {"__dlpack_c_exchange_api__": table})
    target = type("Inherits", (forgets,), {"__module__": module})
    with pytest.raises(dlbridge.Rejection, match="may be written to"):
        dlbridge.to(frozen(), target)


def test_a_subclass_that_its_table_does_not_make():
    table = dlbridge.Tensor.__dlpack_c_exchange_api__
    target = type("Other", (), {"__dlpack_c_exchange_api__": table})
    for options in ({}, {"readonly": "copy"}):
        with pytest.raises(TypeError, match="expected the type that .* makes .*dlbridge.Tensor"):
            dlbridge.to(BASE, target, **options)


def test_a_framework_that_takes_capsules(tensorflow):
    array = np.from_dlpack(dlbridge.from_dlpack(frozen()).copy())  # aligned
    array.flags.writeable = False
    taken = dlbridge.to(array, tensorflow)
    assert taken.data_ptr == array.__array_interface__["data"][0]
    assert dlbridge.to(array[1:], tensorflow).data_ptr != array[1:].__array_interface__["data"][0]
    with pytest.raises(BufferError, match="strides='compact'"):
        dlbridge.to(BASE.T, "tensorflow")
    assert dlbridge.to(BASE.T, "tensorflow", strides="compact").strides == (3, 1)


def test_options_are_those_of_adapt(onnxruntime):
    with pytest.raises(BufferError, match="readonly='copy' or readonly='drop'"):
        dlbridge.to(frozen(), onnxruntime)
    assert dlbridge.to(frozen(), onnxruntime, readonly="copy").tensor.size == 12
    with pytest.raises(TypeError):
        dlbridge.to(BASE, onnxruntime, unknown=True)
    assert dlbridge.to(BASE > 3, onnxruntime).name == "bool"


def test_another_consumer_than_the_target_is_rejected(tensorflow):
    """It would apply the rules of one framework to an import by the other."""
    with pytest.raises(ValueError, match="'tensorflow', or none, found consumer='jax'"):
        dlbridge.to(BASE, tensorflow, consumer="jax")
    assert dlbridge.to(BASE, tensorflow, consumer="tensorflow").shape == (3, 4)


def test_messages_name_the_argument():
    with pytest.raises(TypeError, match=r"to\(\) got an unexpected keyword argument 'strid'; exp"):
        dlbridge.to(BASE, np, strid="compact")


def test_a_type_that_the_framework_does_not_import(onnxruntime):
    assert isinstance(dlbridge.to(BASE, onnxruntime.OrtValue), onnxruntime.OrtValue)
    other = type("SparseTensor", (), {"__module__": "onnxruntime"})
    with pytest.raises(TypeError, match="SparseTensor"):
        dlbridge.to(BASE, other)


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("mxnet", ValueError),
        (3, TypeError),
        (None, TypeError),
        (int, ValueError),
        (sys, ValueError),
    ],
)
def test_bad_targets(target, error):
    with pytest.raises(error, match="expected a t"):
        dlbridge.to(BASE, target)


def test_a_framework_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "paddle", None)
    with pytest.raises(ImportError, match="Paddle to be installed.*pip install paddlepaddle"):
        dlbridge.to(BASE, "paddle")


def test_a_target_that_forgets_read_only_gets_a_remedy_of_to():
    """An exchange table that has no place for READ_ONLY, as that of torch.Tensor."""
    table = dlbridge.Tensor.__dlpack_c_exchange_api__
    target = type("Forgets", (), {"__dlpack_c_exchange_api__": table})
    with pytest.raises(dlbridge.Rejection, match="readonly='copy' or readonly='drop'") as caught:
        dlbridge.to(frozen(), target, readonly="keep")
    assert "drop_read_only" not in str(caught.value)
    assert caught.value.remedy == {"readonly": "copy"}
    for option in (caught.value.remedy, {"readonly": "drop"}):
        with pytest.raises(TypeError, match="it makes"):  # the table makes a dlbridge.Tensor
            dlbridge.to(frozen(), target, **option)


@pytest.mark.parametrize("device", ["cpu", "cpu:1", (1, 1), (1, None)])
def test_the_cpu_is_one_device(device):
    if device != (1, None):
        taken = dlbridge.from_dlpack(BASE, device=device)
        assert (taken.device, taken.data_ptr) == ("cpu:0", BASE.ctypes.data)
        assert dlbridge.from_dlpack(BASE).copy(device=device).device == "cpu:0"
    assert np.shares_memory(dlbridge.to(BASE, np, device=device), BASE)


def test_no_copy_to_a_gpu():
    """Only a producer moves its array there."""
    for move in (
        lambda: dlbridge.from_dlpack(BASE, device="cuda"),
        lambda: dlbridge.from_dlpack(BASE).copy(device="cuda"),
        lambda: dlbridge.to(BASE, dlbridge.Tensor, device="cuda"),
    ):
        with pytest.raises(BufferError, match=r"copy on the CPU.*\(2, 0\).*framework") as caught:
            move()
        assert "spec." not in str(caught.value)


def test_cupy_is_a_target(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ModuleNotFoundError, match="CuPy to be installed.*pip install cupy"):
        dlbridge.to(BASE, "cupy", device="cuda")
    module = types.ModuleType("cupy")
    module.from_dlpack = lambda x: _core.from_dlpack(x.__dlpack__(max_version=(1, 0)))
    monkeypatch.setitem(sys.modules, "cupy", module)
    with pytest.raises(dlbridge.Rejection, match="CuPy can use.*device='cuda' allows it"):
        dlbridge.to(BASE, "cupy")
    there = _core.wrap(None, 4096, (3,), "float32", device="cuda")
    assert dlbridge.to(there, module).device == "cuda:0"


def test_an_object_without_dlpack():
    for target in (np, dlbridge.Tensor):
        with pytest.raises(TypeError):
            dlbridge.to(3, target)


def test_dtypes_that_ml_dtypes_adds(monkeypatch):
    tensor = _core.wrap(BASE, BASE.__array_interface__["data"][0], (3, 4), "bfloat16")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(BufferError, match="NumPy has, found bfloat16"):
        dlbridge.to(tensor, np)
    stand_in = types.SimpleNamespace(bfloat16=np.dtype(np.float16))
    monkeypatch.setitem(sys.modules, "ml_dtypes", stand_in)
    taken = dlbridge.to(tensor, np)
    assert taken.dtype == np.float16
    assert np.shares_memory(taken, BASE)
    assert taken.tobytes() == BASE.tobytes()[:24]


def test_arrays_that_export_once_are_asked_once():
    """The rejection names the remedy, not a second export that fails."""
    table = dlbridge.Tensor.__dlpack_c_exchange_api__
    target = type("Forgets", (), {"__dlpack_c_exchange_api__": table})
    capsule = np.from_dlpack(dlbridge.from_dlpack(BASE)).__dlpack__(max_version=(1, 0))
    assert dlbridge.to(capsule, dlbridge.Tensor).shape == (3, 4)
    capsule = frozen().__dlpack__(max_version=(1, 0))
    with pytest.raises(dlbridge.Rejection, match="readonly='copy'"):
        dlbridge.to(capsule, target)

    class Fails:
        asked = 0

        def __dlpack__(self, **keywords):
            self.asked += 1
            raise BufferError("no tensor")

    array = Fails()
    with pytest.raises(BufferError, match="no tensor"):
        dlbridge.to(array, target)
    assert array.asked == 1
