# SPDX-License-Identifier: Apache-2.0
"""No consumer gets a writable alias of immutable memory: every way of handing an array on, for each
consumer that is installed, and each immutable source. Each pair runs in a process of its own.

DLBRIDGE_FRAMEWORKS names further folders with packages, separated like PATH. tests/interop runs
these tests with the frameworks of its environments.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import zlib

import dlbridge
import numpy as np
import pytest
from test_capi import LANGUAGES, build

HERE = pathlib.Path(__file__).resolve().parent
CONSUMERS = {
    "numpy": "keeps",
    "pyarrow": "keeps",
    "jax": "immutable",
    "tensorflow": "immutable",
    "torch": "forgets",
    "paddle": "forgets",
    "tvm_ffi": "forgets",
    "onnxruntime": "forgets",
    "dpnp": "moves",
}
SOURCES = {
    "numpy": "numpy",
    "bytes": "numpy",
    "jax": "jax",
    "tensorflow": "tensorflow",
    "onnxruntime": "onnxruntime",
}
# TensorFlow and Paddle crash when they are imported into one process.
APART = {("tensorflow", "paddle"), ("paddle", "tensorflow")}


def folders():
    """The folders with frameworks, beside this environment's own."""
    return list(filter(None, os.environ.get("DLBRIDGE_FRAMEWORKS", "").split(os.pathsep)))


def is_installed(name):
    return importlib.machinery.PathFinder.find_spec(name, [*sys.path, *folders()]) is not None


def test_plain_bytes_of_read_only_memory(tmp_path):
    """hashlib, zlib and files read them; a consumer that writes requests writable memory first."""
    frozen = dlbridge.from_buffer(b"immutable")
    assert hashlib.sha256(frozen).digest() == hashlib.sha256(b"immutable").digest()
    assert zlib.crc32(frozen) == zlib.crc32(b"immutable")
    with (tmp_path / "file").open("wb") as file:
        file.write(frozen)
    assert (tmp_path / "file").read_bytes() == b"immutable"
    with (tmp_path / "file").open("rb") as file, pytest.raises((TypeError, BufferError)):
        file.readinto(frozen)
    with pytest.raises(BufferError, match="contiguous"):
        zlib.crc32(frozen.view((4,), (2,)))
    if sys.version_info >= (3, 12):
        with pytest.raises(BufferError, match="plain bytes.*memoryview"):
            zlib.crc32(dlbridge.adapt(frozen))
        assert zlib.crc32(memoryview(dlbridge.adapt(frozen))) == zlib.crc32(b"immutable")


TORCH = """
import warnings
import dlbridge, torch
warnings.simplefilter("ignore")
memory = bytes(range(16))
frozen = dlbridge.from_buffer(memory)
for take in (lambda x: torch.frombuffer(x, dtype=torch.uint8), torch.asarray, torch.as_tensor):
    try:
        take(frozen).fill_(7)
    except Exception as error:
        print(type(error).__name__)
assert memory == bytes(range(16)), "torch wrote to bytes"
assert torch.frombuffer(frozen.copy(), dtype=torch.uint8)[3] == 3
"""

# TensorFlow writes to every tensor by this operation, its own constants too: it needs a copy.
TENSORFLOW = """
import dlbridge, tensorflow
memory = bytes(range(64))
copy = dlbridge.to(memory, tensorflow, copy=True)
tensorflow.raw_ops.InplaceUpdate(x=copy, i=[0], v=tensorflow.constant([7], "uint8"))
assert memory == bytes(range(64))
"""


@pytest.mark.parametrize("module", ["jaxlib._jax", "tensorflow.python.framework.ops"])
def test_writable_memory_of_an_immutable_array(module):
    """Their legacy capsules do not record that the arrays are immutable."""

    def export(self, **keywords):
        return self.memory.__dlpack__()

    speaks = {"__dlpack__": export, "__dlpack_device__": lambda self: (1, 0)}
    array = type("Array", (), {"__module__": module, **speaks})()
    array.memory = np.arange(3.0)
    assert dlbridge.from_dlpack(array).readonly
    with pytest.raises(BufferError, match="memory is immutable; use copy=True") as caught:
        dlbridge.from_dlpack(array, writable=True)
    assert caught.value.rule == "NOT_WRITABLE"
    assert not dlbridge.from_dlpack(array, writable=True, copy=True).readonly
    assert not dlbridge.from_dlpack(array.memory.__dlpack__(), writable=True).readonly


@pytest.mark.parametrize("kind", ["tensor(float)", "tensor(float8e5m2)"])
def test_an_ortvalue_is_as_writable_as_its_array(kind):
    """OrtValue.ortvalue_from_numpy shares memory, which its legacy capsules do not record."""
    memory = np.zeros(3, np.float32 if kind == "tensor(float)" else np.uint8)

    class OrtValue:
        __module__ = "onnxruntime.capi.onnxruntime_inference_collection"
        _numpy_obj = memory.view()

        def __dlpack__(self, **keywords):
            return memory.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

        data_type = staticmethod(lambda: kind)
        device_name = staticmethod(lambda: "cpu")
        shape = staticmethod(lambda: list(memory.shape))
        data_ptr = staticmethod(lambda: memory.ctypes.data)

    value = OrtValue()
    assert not dlbridge.to(value, dlbridge.Tensor).readonly
    assert not dlbridge.from_dlpack(value, writable=True).readonly
    value._numpy_obj.flags.writeable = False
    assert dlbridge.to(value, dlbridge.Tensor).readonly
    assert dlbridge.from_dlpack(value).readonly
    with pytest.raises(dlbridge.Rejection) as caught:
        dlbridge.adapt(value, consumer="torch").__dlpack__(max_version=(1, 0))
    assert caught.value.remedy == {"readonly": "copy"}
    with pytest.raises(BufferError, match="memory is immutable; use copy=True"):
        dlbridge.from_dlpack(value, writable=True)
    assert not dlbridge.from_dlpack(value, writable=True, copy=True).readonly


JAX = """
import dlbridge, jax.numpy
array = jax.numpy.arange(4.0)
try:
    dlbridge.from_dlpack(array, writable=True)
except BufferError as error:
    assert "use copy=True" in str(error)
else:
    raise AssertionError("the memory of JAX is writable")
copy = dlbridge.from_dlpack(array, writable=True, copy=True)
memoryview(copy)[0] = 7.0
assert array[0] == 0
"""


@pytest.mark.parametrize(
    ("consumer", "program"), [("torch", TORCH), ("tensorflow", TENSORFLOW), ("jax", JAX)]
)
def test_functions_that_write_to_every_memory(consumer, program):
    if not is_installed(consumer):
        pytest.skip(f"not installed: {consumer}")
    path = f"import sys; sys.path += {folders()!r}\n"
    done = subprocess.run([sys.executable, "-c", path + program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


REPLACED = """
import dlbridge, numpy
frozen = dlbridge.from_buffer(b"immutable")
asked = []
original = numpy.from_dlpack

def replacement(x):
    asked.append(x.__dlpack__(max_version=(1, 3)))

numpy.from_dlpack = replacement
for source in (frozen, dlbridge.adapt(frozen)):
    try:
        numpy.from_dlpack(source)
    except BufferError:
        pass
assert not asked, "Python code passed for NumPy"
numpy.from_dlpack = original
for source in (frozen, dlbridge.adapt(frozen)):
    assert not numpy.from_dlpack(source).flags.writeable
"""


def test_a_replaced_from_dlpack_is_not_the_consumer():
    """The tuple of names of Python code is not that of NumPy, and NumPy is recognised later."""
    done = subprocess.run([sys.executable, "-c", REPLACED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    try:
        return build(tmp_path_factory.mktemp("immutable"), "probe_rule", *LANGUAGES["c99"]).__file__
    except pytest.skip.Exception:
        return ""


def driver_of_dpnp(folder):
    """The variable by which OpenCL's loader finds the driver that is installed with dpnp."""
    for place in [sysconfig.get_path("platlib"), *folders()]:
        driver = pathlib.Path(place).parents[1] / "libintelocl.so"
        if driver.exists():
            (folder / "intel.icd").write_text(f"{driver}\n")
            return {"OCL_ICD_VENDORS": f"{folder}/"}
    return {}


def exchange(consumer, source, probe, folder):
    """{way: outcome}"""
    command = [sys.executable, str(HERE / "immutable_world.py"), consumer, source, probe]
    environment = {**os.environ, "DLBRIDGE_FRAMEWORKS": os.pathsep.join(folders())}
    environment.update(driver_of_dpnp(folder))
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_no_consumer_writes_to_immutable_memory(consumer, source, probe, tmp_path):
    missing = [name for name in (consumer, SOURCES[source]) if not is_installed(name)]
    if missing or (consumer, source) in APART:
        pytest.skip(f"not installed: {', '.join(missing)}" if missing else "they crash together")
    seen = exchange(consumer, source, probe, tmp_path)
    wrong = {way: one for way, one in seen.items() if one not in ("refused", "kept", "copied")}
    assert not wrong
    check_what_is_allowed(CONSUMERS[consumer], seen)


def check_what_is_allowed(kind, seen):
    """The protection is no refusal of everything: who keeps the flag gets the memory."""
    direct = {way: seen[way] for way in ("tensor", "adapt", "delegated adapt", "to") if way in seen}
    if kind == "keeps":
        assert set(direct.values()) == {"kept"}
    elif kind == "forgets":
        assert set(direct.values()) == {"refused"}
        assert seen["to readonly=copy"] == seen["adapt readonly=copy"] == "copied"
    copies = {way: one for way, one in seen.items() if way.endswith("copy=True")}
    copies.pop("forwarded twice copy=True", None)  # adapt imports its argument, an unknown class
    assert set(copies.values()) <= {"copied"}
