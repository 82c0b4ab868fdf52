# SPDX-License-Identifier: Apache-2.0
"""The capsules in which Python code passes DLPack's structs, over ctypes."""

import ctypes
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))

from structs import (  # noqa: E402, F401
    DLDataType,
    DLDevice,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLPackVersion,
    DLTensor,
)

LEGACY = b"dltensor"
VERSIONED = b"dltensor_versioned"
# A capsule does not copy its name, so the names must outlive every capsule.
USED = {LEGACY: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}

READ_ONLY = 1
IS_COPIED = 2


STRUCTS = {LEGACY: DLManagedTensor, VERSIONED: DLManagedTensorVersioned}


def _python(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


# The destructor gets a capsule with reference count 0, which a py_object argument would revive.
DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, DESTRUCTOR)
_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_set_name = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)


def kind_of(capsule):
    """The capsule's name, which identifies the struct."""
    for kind in (LEGACY, VERSIONED):
        if _is_valid(id(capsule), kind):
            return kind
    raise TypeError(f"{capsule!r} is not a fresh DLPack capsule")


def look(capsule):
    """The struct in an unconsumed capsule, which keeps owning it."""
    kind = kind_of(capsule)
    return STRUCTS[kind].from_address(_pointer(id(capsule), kind))


def consume(capsule):
    """Takes the struct out of the capsule, whose destructor no longer releases it."""
    struct = look(capsule)
    _set_name(capsule, USED[kind_of(capsule)])
    return struct


def address_of(function):
    """The address in a function pointer; None for NULL."""
    return ctypes.cast(function, ctypes.c_void_p).value


def release(struct):
    """Calls the deleter, as a consumer does."""
    if struct.deleter:
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(address_of(struct.deleter))(
            ctypes.addressof(struct)
        )


def _destructor(kind):
    def destroy(capsule):
        if _is_valid(capsule, kind):  # a consumer renames the capsule
            release(STRUCTS[kind].from_address(_pointer(capsule, kind)))

    return DESTRUCTOR(destroy)


_DESTRUCTORS = {kind: _destructor(kind) for kind in STRUCTS}


def wrap(struct):
    """A capsule that owns the struct until a consumer takes it."""
    kind = LEGACY if isinstance(struct, DLManagedTensor) else VERSIONED
    return _new(ctypes.addressof(struct), kind, _DESTRUCTORS[kind])
