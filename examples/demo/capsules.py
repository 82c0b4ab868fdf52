# SPDX-License-Identifier: Apache-2.0
"""DLPack's structs for ctypes, and the capsules that Python code passes them in.

Only as much as the demo needs: this is no binding.
"""

import ctypes

LEGACY = b"dltensor"
VERSIONED = b"dltensor_versioned"
# A capsule borrows its name, so the text has to outlive every capsule.
USED = {LEGACY: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}

READ_ONLY = 1
IS_COPIED = 2


class DLPackVersion(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [
        ("dl_tensor", DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("version", DLPackVersion),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    ]


STRUCTS = {LEGACY: DLManagedTensor, VERSIONED: DLManagedTensorVersioned}


def _python(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


# The destructor sees a capsule whose reference count is 0: as a py_object ctypes would revive it.
DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, DESTRUCTOR)
_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_set_name = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)


def kind_of(capsule):
    """The capsule's name, by which consumers tell the two structs apart."""
    for kind in (LEGACY, VERSIONED):
        if _is_valid(id(capsule), kind):
            return kind
    raise TypeError(f"{capsule!r} is not a fresh DLPack capsule")


def look(capsule):
    """The struct in a capsule that nobody has consumed; it stays the capsule's."""
    kind = kind_of(capsule)
    return STRUCTS[kind].from_address(_pointer(id(capsule), kind))


def consume(capsule):
    """Takes the struct out: from now on the capsule's destructor leaves it alone."""
    struct = look(capsule)
    _set_name(capsule, USED[kind_of(capsule)])
    return struct


def release(struct):
    """Calls the deleter as any consumer would."""
    if struct.deleter:
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(struct.deleter)(ctypes.addressof(struct))


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
