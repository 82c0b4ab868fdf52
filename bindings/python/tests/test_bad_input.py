# SPDX-License-Identifier: Apache-2.0
"""Wrong exports of producers: each raises the right exception with the library's message, or works;
deleters run exactly once and nothing is printed."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import re
import sys
import threading
import tracemalloc
import weakref

import dlbridge
import numpy as np
import producers
import pytest
from dlbridge import _core, from_dlpack
from dlbridge._foreign import NoDLPackError
from producers import VERSIONED, LegacyProducer, Producer, legacy, rejected, versioned

pytestmark = pytest.mark.usefixtures("balanced")


class Answers:
    """A producer whose __dlpack__ returns a given object."""

    def __init__(self, answer):
        self.answer = answer

    def __dlpack__(self, **keywords):
        return self.answer


class Raises:
    """A producer whose __dlpack__ raises a given exception."""

    def __init__(self, error):
        self.error = error
        self.asked = []

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        raise self.error


# --- Capsules ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [versioned, legacy])
def test_a_capsule_passes_its_tensor_once(make):
    made = make()
    capsule = made.capsule()
    tensor = from_dlpack(capsule)
    assert producers.get_name(capsule) == b"used_" + made.name
    with rejected(BufferError, "was not taken yet.*used_dltensor", status="INVALID_TENSOR"):
        from_dlpack(capsule)
    del capsule
    assert (made.deleted, made.destroyed) == (0, 0)
    del tensor
    assert made.deleted == 1


@pytest.mark.parametrize("make", [versioned, legacy])
def test_an_unconsumed_capsule_releases_its_tensor(make):
    made = make()
    capsule = made.capsule()
    del capsule
    assert (made.deleted, made.destroyed) == (1, 1)


@pytest.mark.parametrize("make", [versioned, legacy])
def test_a_capsule_without_destructor_leaves_its_tensor_to_the_consumer(make):
    made = make()
    capsule = made.capsule(destructor=False)
    tensor = from_dlpack(capsule)
    del capsule
    assert made.deleted == 0
    del tensor
    assert (made.deleted, made.destroyed) == (1, 0)


@pytest.mark.parametrize(
    "name",
    [b"", b"dltensor ", b"DLTENSOR", b"dltensor_version", b"dltensor_versioned_2", b"\xff\xfe"],
)
def test_a_capsule_of_another_name_is_rejected(name):
    made = versioned(deleter=None)
    name_is = producers.name_address(name)
    capsule = producers.new_capsule(made.address, name_is, None)
    with rejected(TypeError, "expected a capsule named", status="INVALID_ARGUMENT"):
        from_dlpack(capsule)
    with rejected(TypeError, "expected a capsule named", status="INVALID_ARGUMENT"):
        from_dlpack(Answers(capsule))
    assert producers.get_name(capsule) == name
    assert _core.capsule_kind(capsule) == "unknown"


def test_a_capsule_without_a_name_is_rejected():
    made = versioned(deleter=None)
    capsule = made.capsule(name=None, destructor=False)
    with rejected(TypeError, "found one without a name", status="INVALID_ARGUMENT"):
        from_dlpack(capsule)
    assert producers.get_name(capsule) is None
    assert _core.capsule_kind(capsule) == "unknown"


def test_a_capsule_of_something_else_is_rejected():
    import datetime

    with rejected(TypeError, "datetime", status="INVALID_ARGUMENT"):
        from_dlpack(datetime.datetime_CAPI)


def test_a_capsule_cannot_hold_a_null_pointer():
    """CPython refuses to create such a capsule, so none can arrive."""
    with pytest.raises(ValueError, match="null pointer"):
        producers.new_capsule(None, producers.name_address(VERSIONED), None)


def test_a_capsule_is_read_as_the_kind_of_its_name():
    """A legacy struct in a versioned capsule has a pointer in place of the major."""
    made = legacy(deleter=None)
    capsule = made.capsule(name=VERSIONED, destructor=False)
    with rejected(BufferError, "version", status="VERSION", rule="VERSION_MAJOR"):
        from_dlpack(capsule)
    assert producers.get_name(capsule) == VERSIONED


# --- Broken structs ---------------------------------------------------------------------

BOTH = pytest.mark.parametrize("make", [versioned, legacy])
I64 = ctypes.c_int64

BROKEN = [
    ({"ndim": -1}, "INVALID_TENSOR", "NDIM_NEGATIVE", None),
    ({"ndim": -(2**31)}, "INVALID_TENSOR", "NDIM_NEGATIVE", None),
    ({"ndim": 65}, "POLICY", "NDIM_LIMIT", None),
    ({"ndim": 2**31 - 1}, "POLICY", "NDIM_LIMIT", None),
    ({"shape": None, "ndim": 2}, "INVALID_TENSOR", "SHAPE_NULL", None),
    ({"dtype": (2, 0, 1)}, "INVALID_TENSOR", "DTYPE_BITS_ZERO", None),
    ({"dtype": (2, 32, 0)}, "INVALID_TENSOR", "DTYPE_LANES_ZERO", None),
    ({"dtype": (2, 32, 0xFFFF)}, "INVALID_TENSOR", "DTYPE_LANES_SCALABLE", None),
    ({"dtype": (6, 1, 1)}, "INVALID_TENSOR", "DTYPE_BITS_FIXED", None),
    ({"dtype": (99, 32, 1)}, "UNKNOWN_CODE", "DTYPE_UNKNOWN", None),
    ({"device": (99, 0)}, "UNKNOWN_CODE", "DEVICE_UNKNOWN", None),
    ({"device": (1, -1)}, "INVALID_TENSOR", "DEVICE_ID_NEGATIVE", None),
    ({"shape": (2, -3), "strides": (3, 1)}, "INVALID_TENSOR", "EXTENT_NEGATIVE", 1),
    ({"shape": (2**62, 4), "strides": (1, 1)}, "INVALID_TENSOR", "COUNT_OVERFLOW", None),
    ({"shape": (2**62,), "strides": (0,)}, "INVALID_TENSOR", "SIZE_OVERFLOW", None),
    ({"strides": (2**62, 1), "shape": (4, 1)}, "INVALID_TENSOR", "OFFSET_OVERFLOW", None),
    ({"data": None}, "INVALID_TENSOR", "DATA_NULL", None),
    ({"byte_offset": 2**64 - 1}, "INVALID_TENSOR", "ADDRESS_RANGE", None),
]


@BOTH
@pytest.mark.parametrize(("fields", "status", "rule", "axis"), BROKEN, ids=lambda value: str(value))
def test_a_rejected_struct_stays_in_its_capsule(make, fields, status, rule, axis):
    made = make(**fields)
    capsule = made.capsule()
    with pytest.raises(BufferError) as caught:
        from_dlpack(capsule)
    found = caught.value
    assert (found.rule, found.status) == (rule, status)
    assert axis is None or found.axis == axis
    assert re.search(r"expected .*found ", str(found)), str(found)
    assert producers.get_name(capsule) == made.name
    assert made.deleted == 0
    del capsule
    assert made.deleted == 1


@pytest.mark.parametrize("version", [(0, 0), (0, 8), (2, 0), (2**32 - 1, 3)])
def test_a_versioned_struct_of_another_major_is_rejected(version):
    """Nothing past `flags` is read."""
    made = versioned(version=version, shape=None, ndim=-7)
    capsule = made.capsule()
    with rejected(BufferError, "major", status="VERSION", rule="VERSION_MAJOR"):
        from_dlpack(capsule)


def test_a_newer_minor_is_accepted_if_its_content_is_known():
    tensor = from_dlpack(versioned(version=(1, 99)).capsule())
    assert tensor.version == (1, 3)
    assert tensor.shape == (2, 3)


@pytest.mark.parametrize("make", [legacy, versioned])
def test_the_validated_struct_is_used(make):
    """Changes of the producer's struct after the import have no effect."""
    made = make()
    tensor = from_dlpack(made.capsule(), writable=True)
    struct = made.struct
    shape = struct.dl_tensor.shape
    shape[0] = shape[1] = 2**40
    struct.dl_tensor.ndim = 1000
    struct.dl_tensor.byte_offset = 2**40
    struct.dl_tensor.dtype.bits = 0
    assert (tensor.shape, tensor.strides, tensor.byte_offset) == ((2, 3), (3, 1), 0)
    assert memoryview(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]
    again = from_dlpack(tensor.__dlpack__(max_version=(1, 3)))
    assert (again.shape, again.dtype, again.readonly) == ((2, 3), "float32", False)
    del tensor, again
    assert made.deleted == 1


def test_null_strides_are_accepted_before_1_2_only():
    old = from_dlpack(versioned(version=(1, 1), strides=None).capsule())
    assert old.strides == (3, 1)
    assert from_dlpack(legacy(strides=None).capsule()).strides == (3, 1)
    capsule = versioned(strides=None).capsule()
    with rejected(BufferError, "strides", status="INVALID_TENSOR", rule="STRIDES_NULL"):
        from_dlpack(capsule)


def test_flags_of_no_release_are_rejected():
    capsule = versioned(flags=1 << 3).capsule()
    with rejected(BufferError, "flag", status="UNKNOWN_CODE", rule="FLAGS_UNKNOWN"):
        from_dlpack(capsule)


def test_without_validation_the_caller_vouches():
    tensor = from_dlpack(versioned(flags=1 << 3).capsule(), validate="none")
    assert tensor.flags == 1 << 3


def test_a_null_deleter_is_accepted():
    for make in (versioned, legacy):
        tensor = from_dlpack(make(deleter=None).capsule(destructor=False))
        assert tensor.shape == (2, 3)
        assert memoryview(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]
        del tensor
        # A capsule of the library around a tensor without a deleter.
        from_dlpack(from_dlpack(make(deleter=None).capsule(destructor=False)))


def test_a_deleter_may_leave_an_exception_behind():
    """With PyErr_BadArgument as the deleter, a TypeError is set, which must not propagate."""
    for make in (versioned, legacy):
        made = make(deleter=producers.address_of("PyErr_BadArgument"))
        tensor = from_dlpack(made.capsule(destructor=False))
        del tensor
        made = make(deleter=producers.address_of("PyErr_BadArgument"))
        tensor = from_dlpack(made.capsule(destructor=False)).view((6,))
        del tensor
        made.forget()
    for made in list(producers.Made.live.values()):
        if made.deleter != producers.DELETER:
            made.forget()


def test_a_pending_exception_survives_deleters():
    """Tensors are released while an exception unwinds the frames that hold them."""

    def fail():
        tensors = [from_dlpack(make().capsule()) for make in (versioned, legacy)]
        assert len(tensors) == 2
        raise LookupError("the one that is on its way")

    with pytest.raises(LookupError, match="on its way"):
        fail()


# --- Answers of __dlpack__ -----------------------------------------------------------------------


@pytest.mark.parametrize("answer", [None, 7, "dltensor", b"", [], object(), Producer()])
def test_a_result_that_is_not_a_capsule_is_rejected(answer):
    with rejected(
        TypeError, "expected a capsule from __dlpack__ of .*Answers", status="INVALID_ARGUMENT"
    ):
        from_dlpack(Answers(answer))


def test_a_versioned_result_of_a_legacy_request_is_accepted():
    class Odd:
        def __dlpack__(self):
            self.made = versioned(flags=producers.READ_ONLY)
            return self.made.capsule()

    odd = Odd()
    tensor = from_dlpack(odd)
    assert tensor.readonly
    assert tensor.version == (1, 3)
    del tensor
    assert odd.made.deleted == 1


def test_a_legacy_result_of_a_versioned_request_is_upgraded():
    made = legacy()
    tensor = from_dlpack(Answers(made.capsule()))
    assert tensor.readonly  # unknown
    assert tensor.version == (1, 3)
    del tensor
    assert made.deleted == 1
    assert not from_dlpack(Answers(legacy().capsule()), writable=True).readonly


def test_a_used_capsule_is_rejected():
    answers = Answers(versioned().capsule())
    from_dlpack(answers)
    with rejected(BufferError, "used_dltensor_versioned", status="INVALID_TENSOR"):
        from_dlpack(answers)


def test_a_rejected_capsule_is_destroyed_and_the_message_is_kept():
    """The capsule's destructor is Python code here, which runs while the exception is set."""
    producer = Producer(ndim=-1)
    with rejected(BufferError, "ndim is negative", status="INVALID_TENSOR", rule="NDIM_NEGATIVE"):
        from_dlpack(producer)
    assert producer.deleted == 1


class Signature:
    """Signatures of __dlpack__ that exist in frameworks."""

    def __init__(self):
        self.asked = []

    def make(self, **keywords):
        self.asked.append(keywords)
        kind = versioned if keywords.get("max_version") else legacy
        return kind().capsule()


class NoKeywords(Signature):
    def __dlpack__(self):
        return self.make()


class StreamOnly(Signature):
    def __dlpack__(self, stream=None):
        return self.make(stream=stream)


class StreamKeyword(Signature):
    def __dlpack__(self, *, stream=None):
        return self.make(stream=stream)


class AnyKeyword(Signature):
    def __dlpack__(self, **keywords):
        return self.make(**keywords)


class MaxVersion(Signature):
    def __dlpack__(self, *, stream=None, max_version=None):
        return self.make(stream=stream, max_version=max_version)


class Full(Signature):
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.make(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


class Static(Signature):
    @staticmethod
    def __dlpack__(*, max_version=None):
        return versioned().capsule()


class ByClass(Signature):
    @classmethod
    def __dlpack__(cls, *, max_version=None):
        return versioned().capsule()


class Callable(Signature):
    class Method:
        def __call__(self, *, max_version=None):
            return versioned().capsule()

    __dlpack__ = Method()


class ByProperty(Signature):
    @property
    def __dlpack__(self):
        return lambda max_version=None: versioned().capsule()


class ByGetattr(Signature):
    def __getattr__(self, name):
        if name == "__dlpack__":
            return lambda max_version=None: versioned().capsule()
        raise AttributeError(name)


SIGNATURES = [
    NoKeywords, StreamOnly, StreamKeyword, AnyKeyword, MaxVersion, Full, Static, ByClass, Callable,
    ByProperty, ByGetattr,
]  # fmt: skip


@pytest.mark.parametrize("kind", SIGNATURES)
@pytest.mark.parametrize(
    "asked",
    [{}, {"copy": False}, {"copy": None}, {"device": "cpu"}, {"device": "cpu", "copy": False}],
)
def test_every_signature_is_supported(kind, asked):
    tensor = from_dlpack(kind(), **asked)
    assert memoryview(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not tensor.copied


@pytest.mark.parametrize("kind", SIGNATURES)
def test_a_copy_is_made_for_every_signature(kind):
    tensor = from_dlpack(kind(), copy=True)
    assert memoryview(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensor.copied
    assert not tensor.readonly


def test_newer_keywords_do_not_cause_a_legacy_request():
    """A legacy tensor would lose the version and the flags."""
    for asked in ({"copy": False}, {"device": "cpu"}):
        producer = MaxVersion()
        tensor = from_dlpack(producer, **asked)
        assert not tensor.readonly
        assert producer.asked == [{"stream": None, "max_version": (1, 3)}]


@pytest.mark.parametrize("value", [None, 3, "text", ()])
def test_a_dlpack_that_is_not_callable_is_rejected(value):
    kind = type("Odd", (), {"__dlpack__": value})
    with pytest.raises(TypeError, match="not callable"):
        from_dlpack(kind())


@pytest.mark.parametrize("thing", [None, 1, "x", [1.0], {}, object(), type, len, Ellipsis])
def test_an_object_without_dlpack_is_rejected(thing):
    with rejected(NoDLPackError, "supports DLPack", status="INVALID_ARGUMENT"):
        from_dlpack(thing)


def test_a_class_is_not_an_instance_of_it():
    with pytest.raises(TypeError):
        from_dlpack(Full)


# --- Exceptions of producers ---------------------------------------------------------------------


class Custom(Exception):
    pass


ERRORS = [
    Custom("x"), BufferError("x"), ValueError("x"), RuntimeError("x"), MemoryError("x"),
    OSError(2, "x"), NotImplementedError("x"), AttributeError("x"), KeyboardInterrupt("x"),
    SystemExit("x"), GeneratorExit("x"), StopIteration("x"), RecursionError("x"),
    AssertionError("x"),
]  # fmt: skip


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("asked", [{}, {"copy": True}, {"device": "cuda:0"}])
def test_an_exception_of_the_producer_passes_unchanged(error, asked):
    producer = Raises(error)
    with pytest.raises(type(error)) as caught:
        from_dlpack(producer, **asked)
    assert caught.value is error
    # These may mean that the producer does not support `copy` or `dl_device`: it is asked without.
    unsupported = (BufferError, ValueError, RuntimeError)
    again = asked and isinstance(error, unsupported) and not isinstance(error, RecursionError)
    assert len(producer.asked) == (2 if again else 1)
    assert error.__context__ is None
    error.__traceback__ = None


def test_a_type_error_of_the_body_passes_unchanged():
    """It has a traceback, unlike the error for an unknown keyword: the producer is called once."""
    for text in ("of the body", "a bad argument", "help() got an unexpected keyword argument 'x'"):
        error = TypeError(text)
        producer = Raises(error)
        with pytest.raises(TypeError) as caught:
            from_dlpack(producer, copy=True)
        assert caught.value is error
        assert producer.asked == [{"max_version": (1, 3), "copy": True}]


class Forwards:
    """Passes all keywords on to a producer that may not know them."""

    def __init__(self, producer):
        self.producer = producer

    def __dlpack__(self, **keywords):
        return self.producer.__dlpack__(**keywords)


@pytest.mark.parametrize("asked", [{}, {"copy": True}, {"device": "cpu:0"}])
def test_an_unknown_keyword_of_a_forwarded_call_is_left_out(asked):
    tensor = from_dlpack(Forwards(producers.LegacyProducer()), **asked)
    assert tensor.copied == ("copy" in asked)


class Unsupported:
    """Raises an error for the keywords that it knows and does not support."""

    def __init__(self, error):
        self.error = error

    def __dlpack__(self, *, max_version=None, dl_device=None, copy=None):
        if dl_device is not None or copy is not None:
            raise self.error("copy and dl_device are not supported yet")
        return np.arange(3.0).__dlpack__(max_version=max_version)


@pytest.mark.parametrize("error", [BufferError, NotImplementedError, RuntimeError, ValueError])
def test_unsupported_keywords_are_done_without(error):
    """dlbridge copies itself, as for a producer that does not know the keywords."""
    tensor = from_dlpack(Unsupported(error), copy=True)
    assert tensor.copied
    assert not tensor.readonly
    assert not from_dlpack(Unsupported(error), device="cpu").copied
    assert from_dlpack(Unsupported(error), copy=True, device="cpu").copied


def test_a_refused_copy_false_stays_refused():
    """The producer may mean that it would have to copy."""
    for error in (BufferError, RuntimeError, ValueError):
        with pytest.raises(error):
            from_dlpack(Unsupported(error), copy=False)
    assert not from_dlpack(Unsupported(NotImplementedError), copy=False).copied


def test_exceptions_of_properties_pass_unchanged():
    class Odd:
        @property
        def __dlpack__(self):
            raise Custom("of the property")

    with pytest.raises(Custom, match="of the property"):
        from_dlpack(Odd())


def test_a_property_that_raises_attribute_error_is_no_dlpack():
    class Odd:
        @property
        def __dlpack__(self):
            raise AttributeError("hidden")

    with rejected(NoDLPackError, "supports DLPack", status="INVALID_ARGUMENT"):
        from_dlpack(Odd())


def test_exceptions_of_metaclasses_pass_unchanged():
    class Meta(type):
        def __getattribute__(cls, name):
            if name == "__dlpack_c_exchange_api__":
                raise Custom("of the metaclass")
            return super().__getattribute__(name)

    class Odd(metaclass=Meta):
        pass

    with pytest.raises(Custom, match="of the metaclass"):
        from_dlpack(Odd())


def test_recursion_ends():
    class Endless:
        def __dlpack__(self, **keywords):
            return from_dlpack(self)

    with pytest.raises(RecursionError):
        from_dlpack(Endless())


# --- Arguments -----------------------------------------------------------------------------------

ARGUMENTS = [
    ({"copy": 1}, TypeError, "copy to be None, True or False"),
    ({"copy": "yes"}, TypeError, "copy to be"),
    ({"writable": 0}, TypeError, "writable to be"),
    ({"validate": "all"}, ValueError, "validate to be"),
    ({"validate": None}, ValueError, "validate to be"),
    ({"validate": "none", "writable": True}, ValueError, "some validation"),
    ({"device": 3}, TypeError, "a device"),
    ({"device": "gpu?"}, ValueError, "expected"),
    ({"device": "gpu\udc80"}, UnicodeEncodeError, "surrogates"),
    ({"device": (1,)}, TypeError, "a device"),
    ({"device": (1, 0, 0)}, TypeError, "a device"),
    ({"device": (1.5, 0)}, TypeError, "float"),
    ({"device": (2**40, 0)}, ValueError, "a device"),
    ({"device": (2**80, 0)}, ValueError, "a device"),
    ({"device": (1, -(2**80))}, ValueError, "a device"),
    ({"stream": 1.0}, TypeError, "stream to be"),
    ({"stream": True}, TypeError, "stream to be"),
    ({"stream": 2**80}, ValueError, "stream"),
    ({"stream": -(2**63)}, ValueError, "stream"),
    ({"unknown": 1}, TypeError, "unexpected keyword argument 'unknown'"),
]


@pytest.mark.parametrize(
    ("keywords", "kind", "message"), ARGUMENTS, ids=lambda value: str(value)[:40]
)
def test_wrong_arguments_are_rejected_before_the_producer_is_called(keywords, kind, message):
    producer = Producer()
    with pytest.raises(kind, match=message) as caught:
        from_dlpack(producer, **keywords)
    assert type(caught.value) is kind
    assert producer.asked == []


def test_positions_are_counted():
    for arguments in ((), (1, 2)):
        with pytest.raises(TypeError, match="positional"):
            from_dlpack(*arguments)
    with pytest.raises(TypeError):
        from_dlpack(x=Producer())


WRAPS = [
    ((b"", 0, (2,), "float32"), {}, BufferError, "data"),
    ((b"", -1, (2,), "float32"), {}, ValueError, "address"),
    ((b"", 2**64, (2,), "float32"), {}, ValueError, "address"),
    ((b"", 64, (2**80,), "float32"), {}, ValueError, "64 bits"),
    ((b"", 64, (-1,), "float32"), {}, BufferError, "negative"),
    ((b"", 64, 3, "float32"), {}, TypeError, "sequence of integers"),
    ((b"", 64, "12", "float32"), {}, TypeError, "sequence of integers"),
    ((b"", 64, (1.5,), "float32"), {}, TypeError, "sequence of integers"),
    ((b"", 64, (1,) * 1025, "float32"), {}, ValueError, "1024"),
    ((b"", 64, (1,) * 65, "float32"), {}, BufferError, "ndim"),
    ((b"", 64, (2,), "float33x"), {}, ValueError, "expected"),
    ((b"", 64, (2,), 3), {}, TypeError, "a dtype"),
    ((b"", 64, (2,), (2, 32)), {}, TypeError, "a dtype"),
    ((b"", 64, (2,), (2, 2**40, 1)), {}, ValueError, "a dtype"),
    ((b"", 64, (2,), (2, 256, 1)), {}, ValueError, "a dtype"),
    ((b"", 64, (2,), "float32"), {"strides": (1, 2)}, ValueError, "1 strides"),
    ((b"", 64, (2,), "float32"), {"strides": (2**80,)}, ValueError, "64 bits"),
    ((b"", 64, (2,), "float32"), {"nbytes": 7}, BufferError, "8|bytes"),
    ((b"", 64, (2,), "float32"), {"nbytes": -1}, ValueError, "nbytes"),
    ((b"", 64, (2,), "float32"), {"tensor_flags": 2**64}, ValueError, "tensor_flags"),
    ((b"", 64, (2,), "float32"), {"byte_offset": -1}, ValueError, "byte_offset"),
    ((b"", 64, (2,), "float32"), {"device": None}, TypeError, "a device"),
    ((b"", 64, (2,), "float32"), {"shape": (2,)}, TypeError, "unexpected keyword"),
    ((b"", 64, (2,)), {}, TypeError, "positional"),
]


@pytest.mark.parametrize(("arguments", "keywords", "kind", "message"), WRAPS)
def test_wrap_rejects(arguments, keywords, kind, message):
    class Owner:
        pass

    owner = Owner()
    gone = weakref.ref(owner)
    with pytest.raises(kind, match=message) as caught:
        _core.wrap(owner, *arguments[1:], **keywords)
    assert type(caught.value) is kind
    del caught, owner
    gc.collect()
    assert gone() is None


def test_view_rejects():
    tensor = from_dlpack(versioned().capsule())
    for arguments, kind, message in [
        (((7,),), ValueError, "the view exceeds its parent"),
        (((6,), (2,)), ValueError, "the view exceeds its parent"),
        (((1,), None, 6), ValueError, "the view exceeds its parent"),
        (((1,), None, -1), ValueError, "the view exceeds its parent"),
        (((1,), None, 2**80), ValueError, "offset"),
        (((1,), None, "1"), TypeError, "integer"),
        (((1,), (1, 1)), ValueError, "strides"),
        (((2**80,),), ValueError, "64 bits"),
        ((), TypeError, "missing required argument 'shape'"),
        (((6,), (1,), 0, 0), TypeError, "positional"),
    ]:
        with pytest.raises(kind, match=message) as caught:
            tensor.view(*arguments)
        assert type(caught.value) is kind, arguments


def test_arguments_are_not_given_twice():
    tensor = from_dlpack(versioned().capsule())
    with pytest.raises(TypeError, match="strides"):
        tensor.view((6,), (1,), strides=(1,))
    with pytest.raises(TypeError, match="offset"):
        tensor.view((6,), (1,), 0, offset=0)
    with pytest.raises(TypeError, match="multiple values for argument 'shape'"):
        tensor.view((6,), shape=(6,))
    with pytest.raises(TypeError, match="max_version"):
        _core.export(tensor, (1, 0), max_version=(1, 3))


def test_to_type_rejects():
    capsule = versioned().capsule()
    with pytest.raises(TypeError, match="expected a type"):
        _core.to_type(capsule, 3)
    kind = producers.tabled_type()
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        _core.to_type(capsule, kind, other=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        _core.to_type(capsule, kind, drop_read_only=True, other=1)


def test_a_tensor_cannot_be_constructed():
    for make in (
        lambda: dlbridge.Tensor(),
        lambda: object.__new__(dlbridge.Tensor),
        lambda: type("Sub", (dlbridge.Tensor,), {}),
        lambda: dlbridge.Tensor.__new__(dlbridge.Tensor),
    ):
        with pytest.raises((TypeError, AttributeError)):
            make()


# --- Lifetimes ---------------------------------------------------------------------------


def test_a_producer_may_die_before_its_tensor():
    producer = Producer()
    gone = weakref.ref(producer)
    made = producer.made
    tensor = from_dlpack(producer)
    del producer
    assert gone() is None
    assert memoryview(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert made[0].deleted == 0
    del tensor
    assert made[0].deleted == 1


def test_an_owner_lives_as_long_as_the_last_tensor():
    class Owner:
        data = (ctypes.c_float * 6)(*range(6))

    owner = Owner()
    gone = weakref.ref(owner)
    tensor = _core.wrap(owner, ctypes.addressof(Owner.data), (2, 3), "float32")
    del owner
    others = [tensor.view((6,)), from_dlpack(tensor), memoryview(tensor), tensor.__dlpack__()]
    del tensor
    while others:
        assert gone() is not None
        others.pop()
    assert gone() is None


def owners(count):
    """Owners that count their instances, with memory that stays."""

    class Owner:
        alive = 0
        data = (ctypes.c_float * 6)(*range(6))

        def __init__(self):
            Owner.alive += 1

        def __del__(self):
            Owner.alive -= 1

    tensors = [
        _core.wrap(Owner(), ctypes.addressof(Owner.data), (6,), "float32") for _ in range(count)
    ]
    addresses = [producers.take(tensor.__dlpack__(max_version=(1, 0))) for tensor in tensors]
    return Owner, addresses


def test_deleters_run_without_the_gil():
    owner, addresses = owners(400)
    assert owner.alive == 400
    threads = [
        threading.Thread(
            target=lambda part: [producers.release(one) for one in part], args=(addresses[i::4],)
        )
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert owner.alive == 0


def test_deleters_run_on_threads_that_python_did_not_create():
    owner, addresses = owners(64)
    producers.release_on_c_threads(addresses)
    assert owner.alive == 0


def test_deleters_of_foreign_tensors_run_without_the_gil():
    made = [versioned() for _ in range(64)]
    tensors = [from_dlpack(one.capsule()).view((6,)) for one in made]
    addresses = [producers.take(tensor.__dlpack__(max_version=(1, 0))) for tensor in tensors]
    del tensors
    assert sum(one.deleted for one in made) == 0
    producers.release_on_c_threads(addresses)
    assert sum(one.deleted for one in made) == 64


def test_an_owner_may_use_the_package_in_its_destructor():
    seen = []

    class Owner:
        data = (ctypes.c_float * 6)(*range(6))

        def __del__(self):
            seen.append(memoryview(from_dlpack(versioned().capsule())).tolist())

    tensor = _core.wrap(Owner(), ctypes.addressof(Owner.data), (6,), "float32")
    del tensor
    assert seen == [[[0, 1, 2], [3, 4, 5]]]


def test_a_second_import_of_the_package_takes_tensors_of_the_first():
    """Like a reload: two states in one interpreter. The first must still work."""
    import importlib

    class Owner:
        data = (ctypes.c_float * 6)(*range(6))

    kept = {
        name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("dlbridge")
    }
    try:
        second = importlib.import_module("dlbridge._core")
        assert second.Tensor is not _core.Tensor
        owner = Owner()
        gone = weakref.ref(owner)
        tensor = _core.wrap(owner, ctypes.addressof(Owner.data), (6,), "float32")
        del owner
        there = second.from_dlpack(tensor)
        assert type(there) is second.Tensor
        back = from_dlpack(there)
        assert type(back) is _core.Tensor
        assert type(_core.to_type(back, second.Tensor, drop_read_only=True)) is second.Tensor
        assert back.data_ptr == tensor.data_ptr
        del tensor, there, back
        assert gone() is None
        # The second module is cleared while a capsule of its tensor lives.
        owner = Owner()
        gone = weakref.ref(owner)
        capsule = second.wrap(owner, ctypes.addressof(Owner.data), (6,), "float32").__dlpack__()
        del owner, second, sys.modules["dlbridge._core"]
        for name in [name for name in sys.modules if name.startswith("dlbridge")]:
            del sys.modules[name]
        gc.collect()
    finally:
        sys.modules.update(kept)
    assert gone() is not None
    del capsule
    gc.collect()
    assert gone() is None


# --- Nothing leaks -------------------------------------------------------------------------------

LOOPS = {
    "versioned": lambda: from_dlpack(Producer()),
    "legacy": lambda: from_dlpack(LegacyProducer()),
    "copy": lambda: from_dlpack(Producer(), copy=True),
    "export": lambda: from_dlpack(Producer()).__dlpack__(max_version=(1, 0)),
    "export_legacy": lambda: from_dlpack(Producer()).__dlpack__(),
    "view": lambda: from_dlpack(Producer()).view((3, 2), (1, 3)),
    "buffer": lambda: memoryview(from_dlpack(Producer())).tolist(),
    "repr": lambda: repr(from_dlpack(Producer())),
    "read_only": lambda: from_dlpack(Producer(), writable=False),
    "to_type": lambda: producers.release(_core.to_type(Producer(), TABLED).tensor),
    "new_type": lambda: from_dlpack(producers.tabled_type()()),
}
TABLED = producers.tabled_type()
FAILS = {
    "broken": lambda: from_dlpack(Producer(ndim=-1)),
    "no_capsule": lambda: from_dlpack(Answers(None)),
    "raises": lambda: from_dlpack(Raises(Custom("x"))),
    "no_dlpack": lambda: from_dlpack(3),
    "used": lambda: from_dlpack(Answers(USED)),
    "argument": lambda: from_dlpack(Producer(), copy=3),
    "bad_shape": lambda: _core.wrap(None, 64, (2, "x"), "float32"),
    "bad_view": lambda: from_dlpack(Producer()).view((7,), (1,)),
    "read_only": lambda: from_dlpack(Producer(flags=1)).__dlpack__(),
    "too_old": lambda: from_dlpack(Producer(dtype=(10, 8, 1))).__dlpack__(max_version=(1, 0)),
    "null_table": lambda: from_dlpack(NULL_TABLED()),
}
NULL_TABLED = producers.tabled_type(by_table=lambda self: None)
USED = producers.new_capsule(64, producers.name_address(b"used_dltensor"), None)


# A sanitizer detects double frees and use after free, and delays frees: fewer repetitions suffice,
# and the size of the process is meaningless.
SANITIZED = "DLBRIDGE_SLOW_MACHINE" in os.environ
ROUNDS = 300 if SANITIZED else 2_000
TRIES = 2 if SANITIZED else 3
# Less than half an object, and less than two tensors, for two steps of 2,000.
MOST_TRACED, MOST_RESIDENT = 20_000, 400_000


def run_loop(step, count, fails):
    for _ in range(count):
        if fails:
            with contextlib.suppress(Exception):
                step()
        else:
            step()
        for made in list(producers.Made.live.values()):
            assert made.deleted == 1
            made.forget()
        producers.received.clear()
        producers._tables[16:] = []


def grown(step, fails):
    """The growth of tracemalloc's count and of the process, in bytes, by so many steps: the minimum
    of as many tries as are needed, since a leak shows in each of them, and caches of the allocator
    do not."""
    before = producers.Made.live
    producers.Made.live = {}
    try:
        run_loop(step, ROUNDS // 10, fails)
        gc.collect()
        tracemalloc.start()
        growth = try_once(step, fails)
        for _ in range(TRIES - 1):
            if is_small(*growth):
                break
            growth = tuple(map(min, growth, try_once(step, fails)))
        return growth
    finally:
        tracemalloc.stop()
        producers.Made.live = before


def try_once(step, fails):
    run_loop(step, ROUNDS // 10, fails)
    gc.collect()
    first, rss = tracemalloc.get_traced_memory()[0], resident()
    run_loop(step, ROUNDS, fails)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - first, resident() - rss


def is_small(traced, rss):
    return traced < MOST_TRACED and (rss < MOST_RESIDENT or SANITIZED)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("name", LOOPS)
def test_success_leaks_nothing(name):
    growth = grown(LOOPS[name], False)
    assert is_small(*growth), growth


@pytest.mark.parametrize("name", FAILS)
def test_failure_leaks_nothing(name):
    growth = grown(FAILS[name], True)
    assert is_small(*growth), growth


def test_references_are_exact():
    """Reference counts of arguments and of the objects that the package keeps."""
    version = (1, 3)
    producer, capsule = Producer(), versioned().capsule()
    keyed = [producer, Producer, capsule, None, True, version, dlbridge.Tensor]
    before = [sys.getrefcount(one) for one in keyed]
    for _ in range(100):
        tensor = from_dlpack(producer, copy=None, device=None, writable=None)
        tensor.__dlpack__(stream=None, max_version=version, dl_device=(1, 0), copy=None)
        with pytest.raises(BufferError):
            from_dlpack(Producer(ndim=-1))
        del tensor
    taken = from_dlpack(capsule)
    del taken
    after = [sys.getrefcount(one) for one in keyed]
    changed = [late - early for early, late in zip(before, after)]
    assert changed[0] == 0 and changed[2] == 0, changed
    assert abs(changed[1]) <= 1, changed  # the cache of types
    assert 0 <= changed[5] <= 1, changed  # the last max_version is kept
    assert max(map(abs, changed)) < 60, changed  # each use keeps the count
