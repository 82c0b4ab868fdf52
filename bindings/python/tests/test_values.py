# SPDX-License-Identifier: Apache-2.0
"""Consumers that change dtypes: refused, unless the caller permits it or they keep the values."""

import importlib.util
import subprocess
import sys
import threading
import types

import dlbridge
import numpy as np
import pytest
from dlbridge import _consumers

WIDE = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
VALUES = [2**40 + 3, 3]


@pytest.fixture
def jax(monkeypatch):
    """A module named jax whose import narrows like JAX's, by a setting of the thread."""

    class Config(threading.local):
        jax_enable_x64 = False

    module = types.ModuleType("jax")
    module.config = Config()
    module.dlpack = types.ModuleType("jax.dlpack")
    space = {"__name__": "jax._src.dlpack", "np": np, "jax": module, "WIDE": WIDE}
    exec(
        "def from_dlpack(x):\n"
        "    class Legacy:\n"
        "        def __dlpack__(self, **unused): return capsule\n"
        "        def __dlpack_device__(self): return (1, 0)\n"
        "    capsule = x.__dlpack__()\n"
        "    taken = np.from_dlpack(Legacy())\n"
        "    wide = jax.config.jax_enable_x64\n"
        "    return taken if wide else taken.astype(WIDE.get(str(taken.dtype), taken.dtype))\n",
        space,
    )
    module.dlpack.from_dlpack = space["from_dlpack"]
    monkeypatch.setitem(sys.modules, "jax", module)
    monkeypatch.setitem(sys.modules, "jax.dlpack", module.dlpack)
    return module


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("copy", [None, False, True])
def test_narrowing_is_refused_with_the_remedy(jax, dtype, copy):
    array = np.array(VALUES, dtype)
    with pytest.raises(dlbridge.Rejection) as caught:
        dlbridge.to(array, "jax", copy=copy)
    text = str(caught.value)
    assert f"JAX changes {dtype} to {WIDE[dtype]}" in text
    assert 'jax.config.update("jax_enable_x64", True)' in text
    assert "dtype='narrow'" in text
    assert "\n" not in text
    copying = {"copy": None} if copy is False else {}
    assert caught.value.remedy == {"dtype": "narrow", **copying}
    with pytest.raises(dlbridge.Rejection, match="jax_enable_x64"):
        jax.dlpack.from_dlpack(dlbridge.adapt(array, copy=copy))


def aligned(values, dtype):
    """An array at a multiple of 64 bytes, which JAX does not copy."""
    source = np.array(values, dtype)
    block = np.zeros(source.nbytes + 64, np.uint8)
    start = -block.ctypes.data % 64
    array = block[start : start + source.nbytes].view(dtype)
    array[:] = source
    return array


@pytest.mark.parametrize("dtype", WIDE)
def test_x64_keeps_the_values(jax, dtype):
    jax.config.jax_enable_x64 = True
    array = aligned(VALUES, dtype)
    for copy in (None, False):
        taken = dlbridge.to(array, jax, copy=copy)
        assert taken.dtype == dtype
        np.testing.assert_array_equal(taken, array)


@pytest.mark.parametrize("dtype", WIDE)
def test_the_caller_may_accept_the_loss(jax, dtype):
    array = np.array(VALUES, dtype)
    assert dlbridge.to(array, jax, dtype="narrow").dtype == WIDE[dtype]
    adapted = dlbridge.adapt(array, dtype="narrow")
    jax.dlpack.from_dlpack(adapted)
    assert adapted.copied
    assert adapted.report[-1] == f"copied: JAX changes {dtype} to {WIDE[dtype]}"


def test_the_permission_is_not_one_for_strides(jax):
    with pytest.raises(dlbridge.Rejection) as caught:
        dlbridge.to(np.array(VALUES)[::-1], jax, dtype="narrow")
    assert caught.value.remedy == {"strides": "compact"}


def test_narrowing_is_a_copy(jax):
    with pytest.raises(ValueError, match="no dtype='narrow' beside copy=False"):
        dlbridge.adapt(np.array(VALUES), dtype="narrow", copy=False)
    adapted = dlbridge.adapt(np.array(VALUES), dtype="narrow", consumer="jax")
    with pytest.raises(BufferError, match="copy=False"):
        adapted.__dlpack__(copy=False)


def test_other_dtypes_need_no_permission(jax):
    for dtype in ("int32", "uint32", "float32", "float16", "complex64", "bool", "int8"):
        taken = dlbridge.to(np.array([0, 1], dtype), jax)
        assert taken.dtype == dtype


def test_the_setting_is_read_at_each_call_and_on_its_thread(jax):
    array = np.array(VALUES)
    adapted = dlbridge.adapt(array)
    with pytest.raises(BufferError):
        jax.dlpack.from_dlpack(adapted)
    jax.config.jax_enable_x64 = True
    np.testing.assert_array_equal(jax.dlpack.from_dlpack(adapted), array)
    seen = []

    def elsewhere():
        try:
            dlbridge.to(array, jax)
        except BufferError as error:
            seen.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(seen) == 1
    jax.config.jax_enable_x64 = False
    with pytest.raises(BufferError):
        dlbridge.to(array, jax)


def test_inspect_says_the_same(jax):
    array = np.array(VALUES)
    report = dlbridge.inspect(array)
    assert "jax_enable_x64" in report.consumers["jax"]
    assert "dtype='narrow'" in report.bridged["jax"]
    assert report.as_dict()["bridged"]["jax"] == report.bridged["jax"]
    jax.config.jax_enable_x64 = True
    report = dlbridge.inspect(array)
    assert report.consumers["jax"] is report.bridged["jax"] is None


@pytest.mark.parametrize("dtype", WIDE)
def test_a_tensor_is_not_narrowed_either(jax, dtype):
    """from_dlpack of JAX, with a Tensor itself, whose request names no consumer."""
    tensor = dlbridge.from_dlpack(np.array(VALUES, dtype))
    with pytest.raises(dlbridge.Rejection, match=f"JAX changes {dtype}.*of dlbridge.to") as caught:
        jax.dlpack.from_dlpack(tensor)
    assert caught.value.remedy == {"dtype": "narrow"}
    assert dlbridge.to(tensor, jax, **caught.value.remedy).dtype == WIDE[dtype]
    assert np.from_dlpack(tensor).dtype == dtype
    tensor.__dlpack__()  # by this program
    jax.config.jax_enable_x64 = True
    assert jax.dlpack.from_dlpack(tensor).dtype == dtype


def test_a_tensor_of_another_dtype_goes_to_jax(jax):
    for dtype in ("int32", "float32", "complex64", "bool"):
        assert jax.dlpack.from_dlpack(dlbridge.from_dlpack(np.ones(3, dtype))).dtype == dtype


REAL = """
import dlbridge, jax, numpy
for dtype in ("int64", "uint64", "float64", "complex128"):
    array = numpy.array([1, 3], dtype)
    tensor = dlbridge.from_dlpack(array)
    for source in (tensor, dlbridge.adapt(array), dlbridge.adapt(tensor)):
        try:
            jax.dlpack.from_dlpack(source)
        except dlbridge.Rejection as rejection:
            assert rejection.remedy == {"dtype": "narrow"}
        else:
            raise AssertionError(f"JAX has changed {dtype}")
    with jax.enable_x64(True):
        assert jax.dlpack.from_dlpack(tensor).dtype == dtype
"""


def test_jax_itself():
    """tests/interop runs this where JAX is installed."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("not installed: jax")
    done = subprocess.run([sys.executable, "-c", REAL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_before_jax_is_imported_the_environment_decides(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    for value, narrows in (("", True), ("0", True), ("1", False), ("True", False), ("on", False)):
        monkeypatch.setenv("JAX_ENABLE_X64", value)
        assert (_consumers.narrowed(_consumers.by_name("jax"), "int64") is not None) == narrows


def test_dtypes_are_named_exactly():
    """A list of prefixes would accept int1 for int16."""
    for dtype in ("int4", "uint1", "int2", "float128", "float32x4", "complex32", "bool1"):
        for name in ("numpy", "jax", "tensorflow", "onnxruntime", "pyarrow", "dpnp", "cupy"):
            consumer = _consumers.by_name(name)
            newer = dtype in consumer.newer_dtypes
            assert newer or not _consumers.takes_dtype(consumer, dtype), (name, dtype)


def test_a_report_agrees_with_to():
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    arrays = [np.ones(3, np.float32), frozen, np.ones((3, 4), np.int64)[::-1], np.ones(3) > 2]
    for array in arrays:
        report = dlbridge.inspect(array)
        for target in ("numpy",):
            assert report.bridged[target] is None
            dlbridge.to(array, target)
        adapted = dlbridge.adapt(array, consumer="torch")
        if report.bridged["torch"] is None:
            adapted.__dlpack__(max_version=(1, 3))
            continue
        with pytest.raises(BufferError) as caught:
            adapted.__dlpack__(max_version=(1, 3))
        assert str(caught.value) == report.bridged["torch"]


def test_inspect_of_an_array_that_is_not_exported():
    class Refuses:
        def __dlpack__(self, **keywords):
            raise BufferError("it requires a gradient")

        def __dlpack_device__(self):
            return (1, 0)

    report = dlbridge.inspect(Refuses())
    assert set(report.bridged.values()) == {"it requires a gradient"}
    assert "to() not   any framework: it requires a gradient" in str(report)
