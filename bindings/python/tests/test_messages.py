# SPDX-License-Identifier: Apache-2.0
"""Errors name what a program in Python can write, not functions and options of C."""

import re

import dlbridge
import pytest
from dlbridge import _core

np = pytest.importorskip("numpy")


def text_of(function, *arguments, **keywords):
    with pytest.raises(BufferError) as caught:
        function(*arguments, **keywords)
    text = str(caught.value)
    assert not re.search(r"dlbridge_|DLBRIDGE_", text)
    return text, caught.value.rule


def test_a_read_only_array():
    array = np.arange(3.0)
    array.flags.writeable = False
    text, rule = text_of(dlbridge.from_dlpack, array, writable=True)
    assert rule == "NOT_WRITABLE"
    assert text.endswith("; make a writable copy with copy=True")
    assert not dlbridge.from_dlpack(array, copy=True).readonly


def test_elements_that_share_memory():
    array = np.lib.stride_tricks.as_strided(np.arange(4.0), (3, 2), (8, 8))
    text, rule = text_of(dlbridge.from_dlpack, array, writable=True)
    assert rule == "SELF_OVERLAP"
    assert text.endswith("; make a compact copy with copy=True")
    assert dlbridge.from_dlpack(array, copy=True).shape == (3, 2)


def test_a_legacy_export_of_read_only_memory():
    tensor = dlbridge.from_dlpack(np.arange(3.0), writable=False)
    text, rule = text_of(_core.export, tensor, (0, 8))
    assert rule == "LEGACY_READ_ONLY"
    assert text.endswith("or export it with drop_read_only=True")
    assert _core.export(tensor, (0, 8), drop_read_only=True)


def test_other_parts_of_a_message_stay():
    text, rule = text_of(dlbridge.from_dlpack, np.zeros((2, 3)), shape=(2, 4))
    assert rule == "SHAPE_MISMATCH"
    assert "expected 4, found 3" in text


def test_the_number_of_arguments():
    with pytest.raises(TypeError, match=r"takes 1 positional argument, found 0$"):
        dlbridge.from_dlpack()
    with pytest.raises(TypeError, match=r"takes 4 positional arguments, found 1$"):
        _core.wrap(None)
    with pytest.raises(TypeError, match=r"takes 1 to 2 positional arguments, found 3$"):
        _core.export(1, 2, 3)


def test_wrong_arguments_are_named():
    array = np.arange(3.0)
    for call in (
        dlbridge.from_dlpack,
        dlbridge.adapt,
        lambda x, **how: dlbridge.to(x, "numpy", **how),
    ):
        with pytest.raises(TypeError, match="expected copy to be None, True or False, found 'yes'"):
            call(array, copy="yes")
    with pytest.raises(TypeError, match=r"expected shape to be a sequence .*found \('a',\)"):
        dlbridge.from_dlpack(array, shape=("a",))
    with pytest.raises(TypeError, match=r"expected shape to be a sequence .*found \('a',\)"):
        dlbridge.from_dlpack(array).view(("a",))
    with pytest.raises(TypeError, match=r"expected strides to be a sequence .*found \[0.5\]"):
        _core.wrap(None, 0, (3,), "uint8", strides=[0.5])


def test_a_class_instead_of_an_object():
    class Array:
        def __dlpack__(self):
            raise AssertionError

    for kind in (np.ndarray, Array, bytes, dlbridge.Tensor):
        for call in (dlbridge.from_dlpack, dlbridge.adapt, lambda x: dlbridge.to(x, "numpy")):
            with pytest.raises(
                TypeError, match="supports DLPack.*found the class <class .*: pass an"
            ):
                call(kind)


def test_a_class_of_torch_instead_of_a_tensor():
    torch = pytest.importorskip("torch")
    for call in (dlbridge.from_dlpack, dlbridge.adapt):
        with pytest.raises(TypeError, match="found the class <class 'torch.Tensor'>"):
            call(torch.Tensor)


def test_classes_that_speak_dlpack_are_arrays():
    class Meta(type):
        def __dlpack__(cls, **keywords):
            return np.arange(3.0).__dlpack__(**keywords)

        def __dlpack_device__(cls):
            return (1, 0)

    kind = Meta("Array", (), {})
    assert dlbridge.from_dlpack(kind).shape == dlbridge.adapt(kind).shape == (3,)


def test_a_property_names_its_own_error():
    class Broken:
        @property
        def __dlpack__(self):
            return self.missing

    with pytest.raises(TypeError, match="Broken.*whose __dlpack__ raises .*no attribute 'missing'"):
        dlbridge.from_dlpack(Broken())


def test_an_object_with_an_array_interface_only():
    array = np.arange(3.0)
    x = type("Described", (), {"__array_interface__": array.__array_interface__})()
    with pytest.raises(TypeError, match=r"; pass dlbridge.from_interface\(x\)$"):
        dlbridge.from_dlpack(x)
    assert dlbridge.from_interface(x).shape == (3,)


def test_an_uninitialized_parameter_of_torch():
    torch = pytest.importorskip("torch")
    for how in ({}, {"grad": "detach"}):
        with pytest.raises(BufferError, match="found an uninitialized torch parameter: mat"):
            dlbridge.to(torch.nn.UninitializedParameter(), "numpy", **how)
