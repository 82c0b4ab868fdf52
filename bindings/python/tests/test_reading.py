# SPDX-License-Identifier: Apache-2.0
"""Regression tests of bugs found by reading the sources."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import producers
import pytest
from dlbridge import _core, from_dlpack
from producers import Producer, versioned


def memory(size: int = 16) -> tuple[object, int]:
    owner = (ctypes.c_char * size)()
    return owner, ctypes.addressof(owner)


def test_read_only_memory_stays_read_only_with_later_flags():
    owner, address = memory()
    for options in ({"readonly": True, "tensor_flags": 0}, {"tensor_flags": 0, "readonly": True}):
        assert _core.wrap(owner, address, (2,), "float64", **options).readonly
    assert not _core.wrap(owner, address, (2,), "float64", readonly=False, tensor_flags=0).readonly


# --- The buffer protocol -------------------------------------------------------------------------


class Buffer(ctypes.Structure):
    """Py_buffer, whose fields a memoryview changes."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


FULL_RO = 0x11C


def test_a_buffer_without_axes_has_no_shape_and_no_strides():
    """CPython requires NULL for both if ndim is 0."""
    python = ctypes.PyDLL(None)
    get, release = python.PyObject_GetBuffer, python.PyBuffer_Release
    tensor = from_dlpack(versioned(shape=()).capsule())
    view = Buffer()
    assert get(ctypes.py_object(tensor), ctypes.byref(view), FULL_RO) == 0
    found = (view.ndim, view.shape, view.strides, view.format, view.len)
    release(ctypes.byref(view))
    assert found == (0, None, None, b"f", 4)
    assert memoryview(tensor)[()] == 0.0


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((1, 3), (2**62, 1)), ((1, 3), (-(2**63), 1)), ((0, 3), (2**62, 2**62))],
)
def test_unused_strides_may_have_any_size(shape, strides):
    """The stride in bytes overflows, which is undefined in C and reported by sanitizers."""
    view = memoryview(from_dlpack(versioned(shape=shape, strides=strides).capsule()))
    assert view.shape == shape
    assert view.tolist() == ([[0.0, 1.0, 2.0]] if shape[0] else [])


def test_null_strides_of_an_empty_tensor_may_overflow():
    made = versioned(version=(1, 1), shape=(0, 2**62, 2**62), strides=None)
    assert memoryview(from_dlpack(made.capsule())).nbytes == 0


# --- Copies --------------------------------------------------------------------------------------


def test_a_copy_of_a_copy_is_a_copy():
    """A shared copy has several owners, so it is exported without IS_COPIED."""
    source = from_dlpack(versioned().capsule()).copy()
    assert source.copied
    shares = [from_dlpack(source), from_dlpack(source.__dlpack__(max_version=(1, 3)))]
    shares += [source.view((6,)), from_dlpack(_core.export(source, (1, 3)))]
    assert [share.copied for share in shares] == [False] * 4
    copies = [from_dlpack(source, copy=True), from_dlpack(source.view((6,)), copy=True)]
    for copy in copies:
        assert copy.copied
        assert copy.data_ptr != source.data_ptr
    assert from_dlpack(source, copy=False).data_ptr == source.data_ptr


def test_copy_false_rejects_a_copy_of_the_producer():
    producer = Producer(flags=producers.IS_COPIED)
    with pytest.raises(BufferError, match="copy=False"):
        from_dlpack(producer, copy=False)
    assert producer.deleted == 1


# --- Exchange tables -----------------------------------------------------------------------------


def test_a_table_that_fails_silently_is_named_by_its_type():
    fail = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: -1)
    address = ctypes.cast(fail, ctypes.c_void_p).value
    capsule = producers.table_capsule(producers.table(to_object=address))
    kind = producers.tabled_type("Silent", __dlpack_c_exchange_api__=capsule)
    with pytest.raises(BufferError, match="table of <class '.*Silent'>"):
        _core.to_type(from_dlpack(versioned().capsule()), kind)


# --- The guard of torch's tensors ----------------------------------------------------------------

TORCH = """
import producers
from dlbridge import from_dlpack

def torch_class(bases, **attributes):
    own = {
        "__module__": "torch",
        "__init__": lambda self: producers.Tabled.__init__(self),
        "__dlpack_c_exchange_api__": producers.table_capsule(producers.table()),
        "requires_grad": property(lambda self: False),
        "is_conj": lambda self: False,
        "is_neg": lambda self: False,
    }
    return type("Tensor", bases, {**own, **attributes})
"""


def run(script: str) -> str:
    """Runs in a new process, since the guard is initialized once."""
    paths = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", TORCH + script],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_overrides_of_a_subclass_do_not_affect_other_tensors():
    said = run("""
Tensor = torch_class((producers.Tabled,))

class Odd(Tensor):
    def is_neg(self):
        return True
    requires_grad = property(lambda self: 1 / 0)

assert from_dlpack(Odd()).shape == from_dlpack(Tensor()).shape == (2, 3)
print("met")
""")
    assert said == "met\n"


def test_c_functions_are_called_with_their_own_objects_only():
    """Two classes named torch.Tensor: functions of one must not read the other's memory."""
    said = run("""
first = torch_class((producers.Tabled, list), is_conj=list.copy, is_neg=list.copy)
from_dlpack(first())
second = torch_class((producers.Tabled,))
try:
    from_dlpack(second())
except TypeError as error:
    assert "'list'" in str(error), error
    print("is_neg: a TypeError")
""")
    assert said == "is_neg: a TypeError\n"


# --- Interpreters --------------------------------------------------------------------------------


@pytest.mark.skipif(sys.version_info < (3, 13), reason="no ctypes where the GIL is another")
def test_a_release_in_another_interpreter_returns_to_the_first():
    """The owner was released with the other interpreter's GIL and allocator."""
    said = run("""
import ctypes, _interpreters
from dlbridge import _core

class Owner:
    def __init__(self):
        self.memory = (ctypes.c_char * 16)()

    def __del__(self):
        print("released in", _interpreters.get_current()[0])

owner = Owner()
tensor = _core.wrap(owner, ctypes.addressof(owner.memory), (2,), "float64")
address = producers.take(tensor.__dlpack__(max_version=(1, 3)))
path = producers.library()._name
del owner, tensor
other = _interpreters.create("isolated")
_interpreters.run_string(other, f'''
import ctypes
release = ctypes.PyDLL({path!r}).dlbridge_release_versioned
release.argtypes, release.restype = [ctypes.c_void_p], None
release({address})
''')
_interpreters.destroy(other)
from_dlpack(producers.versioned().capsule())
""")
    assert said == "released in 0\n"


def test_a_copy_is_writable_whatever_its_source():
    owner, address = memory()
    frozen = _core.wrap(owner, address, (4,), "float32", readonly=True)
    copy = from_dlpack(frozen, copy=True, writable=True)
    assert not copy.readonly and copy.data_ptr != address
    with pytest.raises(BufferError):
        from_dlpack(frozen, writable=True)
