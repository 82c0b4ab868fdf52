# SPDX-License-Identifier: Apache-2.0
"""Handmade producers, with ctypes: both DLPack structs with counted deleters and arbitrary fields,
capsules with or without a destructor, and exchange tables."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import math
import os
import subprocess
import sys
from ctypes import c_char_p, c_int32, c_int64, c_uint64, c_void_p

import pytest
from dlbridge._structs import (
    DLDataType,
    DLDevice,
    DLPackExchangeAPI,
    DLPackVersion,
    DLTensor,
)
from dlbridge._structs import DLManagedTensor as Legacy
from dlbridge._structs import DLManagedTensorVersioned as Versioned

LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"
READ_ONLY, IS_COPIED, PADDED = 1, 2, 4
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL, FLOAT8 = 0, 1, 2, 4, 5, 6, 10
CPU, CUDA, CUDA_HOST = 1, 2, 3


def _python(name: str, result: object, *arguments: object) -> object:
    """A function of CPython, called with the GIL. A capsule that is being destroyed is passed as
    an address, so that it gets no new reference."""
    function = getattr(ctypes.PyDLL(None), name)
    function.restype, function.argtypes = result, arguments
    return function


new_capsule = _python("PyCapsule_New", ctypes.py_object, c_void_p, c_void_p, c_void_p)
set_name = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, c_void_p)
get_name = _python("PyCapsule_GetName", c_char_p, ctypes.py_object)
get_pointer = _python("PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p)
_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, c_void_p, c_char_p)
_raw_pointer = _python("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)


def address_of(function: str) -> int:
    """Address of a C function of CPython or the C library."""
    return ctypes.cast(getattr(ctypes.PyDLL(None), function), c_void_p).value


# A capsule does not copy its name, so the names are kept.
_names: dict[bytes, ctypes.Array] = {}


def name_address(name: bytes | None) -> int | None:
    if name is None:
        return None
    if name not in _names:
        _names[name] = ctypes.create_string_buffer(name)
    return ctypes.addressof(_names[name])


class Made:
    """A struct, its arrays, and the number of runs of its deleter. It stays alive, so that a second
    call of the deleter is counted instead of undefined."""

    live: dict[int, Made] = {}

    def __init__(self, kind: type, fields: dict[str, object]) -> None:
        self.struct = kind()
        self.deleted = 0
        self.destroyed = 0  # capsules whose destructor ran
        self.parts: list[object] = []
        self.address = ctypes.addressof(self.struct)
        self.name = VERSIONED if kind is Versioned else LEGACY
        tensor = self.struct.dl_tensor
        for name, value in fields.items():
            target = self.struct if hasattr(self.struct, name) else tensor
            setattr(target, name, self._field(name, value))
        Made.live[self.address] = self

    def _field(self, name: str, value: object) -> object:
        """The value as its field takes it; arrays and addresses become pointers."""
        if isinstance(value, ctypes.Array):
            self.parts.append(value)
            value = ctypes.addressof(value)
        if name in ("shape", "strides"):
            return ctypes.cast(value, ctypes.POINTER(c_int64))
        return Versioned.Deleter(value or 0) if name == "deleter" else value

    @property
    def deleter(self) -> int | None:
        """The address of the deleter."""
        return ctypes.cast(self.struct.deleter, c_void_p).value

    def capsule(self, *, name: bytes | None = b"", destructor: bool = True) -> object:
        """A capsule with its proper name or another one (None: NULL)."""
        name = self.name if name == b"" else name
        end = ctypes.cast(_capsule_end, c_void_p) if destructor else None
        return new_capsule(self.address, name_address(name), end)

    def forget(self) -> None:
        Made.live.pop(self.address, None)


def _delete(address: int) -> None:
    Made.live[address].deleted += 1


def _destroy(capsule: int) -> None:
    for name in (LEGACY, VERSIONED):
        if _is_valid(capsule, name):
            made = Made.live[_raw_pointer(capsule, name)]
            made.destroyed += 1
            if made.deleter:
                ctypes.PYFUNCTYPE(None, c_void_p)(made.deleter)(made.address)
            return


_deleter = ctypes.CFUNCTYPE(None, c_void_p)(_delete)
_capsule_end = ctypes.PYFUNCTYPE(None, c_void_p)(_destroy)
DELETER = ctypes.cast(_deleter, c_void_p).value


def int64s(values: tuple[int, ...] | None) -> ctypes.Array | None:
    return None if values is None else (c_int64 * max(len(values), 1))(*values)


def compact(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(
        math.prod(max(extent, 1) for extent in shape[axis + 1 :]) for axis in range(len(shape))
    )


def _tensor_fields(fields: dict[str, object]) -> dict[str, object]:
    """The defaults are six float32 values in two rows."""
    shape = fields.pop("shape", (2, 3))
    strides = fields.pop("strides", compact(shape) if shape is not None else None)
    values = fields.pop("values", (0.0, 1.0, 2.0, 3.0, 4.0, 5.0))
    return {
        "data": (ctypes.c_float * max(len(values), 1))(*values),
        "device": DLDevice(*fields.pop("device", (CPU, 0))),
        "ndim": len(shape) if shape is not None else 0,
        "dtype": DLDataType(*fields.pop("dtype", (FLOAT, 32, 1))),
        "shape": int64s(shape),
        "strides": int64s(strides),
        "deleter": DELETER,
        **fields,
    }


def versioned(**fields: object) -> Made:
    """A versioned struct; any field can be given."""
    version = DLPackVersion(*fields.pop("version", (1, 3)))
    return Made(Versioned, {"version": version, **_tensor_fields(fields)})


def legacy(**fields: object) -> Made:
    """A legacy struct."""
    return Made(Legacy, _tensor_fields(fields))


class Producer:
    """Exports a new struct for each request: versioned if max_version is 1.0 or newer."""

    def __init__(self, **fields: object) -> None:
        self.fields = fields
        self.made: list[Made] = []
        self.asked: list[dict[str, object]] = []

    def __dlpack__(self, **keywords: object) -> object:
        self.asked.append(keywords)
        version = keywords.get("max_version")
        kind = versioned if version is not None and version >= (1, 0) else legacy
        return self.hand_out(kind(**self.own(kind)))

    def own(self, kind: object) -> dict[str, object]:
        left_out = ("flags", "version") if kind is legacy else ()
        return {name: value for name, value in self.fields.items() if name not in left_out}

    def hand_out(self, made: Made) -> object:
        self.made.append(made)
        return made.capsule()

    def __dlpack_device__(self) -> tuple[int, int]:
        return tuple(self.fields.get("device", (CPU, 0)))

    @property
    def deleted(self) -> int:
        return sum(made.deleted for made in self.made)


class LegacyProducer(Producer):
    """Accepts no keywords, like producers of 2021."""

    def __dlpack__(self) -> object:
        self.asked.append({})
        return self.hand_out(legacy(**self.own(legacy)))


_FROM = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, ctypes.POINTER(c_void_p))
_TO = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, ctypes.POINTER(c_void_p))
_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, c_int32, c_int32, ctypes.POINTER(c_void_p))
_ANY = ctypes.PYFUNCTYPE(ctypes.c_int)


def _object_at(address: int) -> object:
    return ctypes.cast(address, ctypes.py_object).value


def _from_object(address: int, out: object) -> int:
    made = _object_at(address).by_table()
    out[0] = None if made is None else made.address
    return 0


def _to_object(tensor: int, out: object) -> int:
    received.append(tensor)
    made = Received(tensor)
    _incref(made)
    out[0] = id(made)
    return 0


def _stream(device_type: int, device_id: int, out: object) -> int:
    out[0] = None
    return 0


def _never() -> int:
    raise AssertionError("this function of the table must not be called")


class Received:
    """The result of the table's to_object. The test releases its tensor."""

    def __init__(self, tensor: int) -> None:
        self.tensor = tensor


received: list[int] = []
_incref = _python("Py_IncRef", None, ctypes.py_object)
_functions = {
    "allocator": _ANY(_never),
    "from_object": _FROM(_from_object),
    "to_object": _TO(_to_object),
    "lend": None,
    "stream": _STREAM(_stream),
}
# The fields of a table, in the order of these functions.
_FIELDS = dict(zip(_functions, (name for name, _ in DLPackExchangeAPI._fields_[1:])))
_tables: list[DLPackExchangeAPI] = []  # tables stay until the process ends


def table(
    version: tuple[int, int] = (1, 3),
    *,
    before: DLPackExchangeAPI | None = None,
    **functions: object,
) -> DLPackExchangeAPI:
    """A table of working functions; each can be replaced by an address or None."""
    made = DLPackExchangeAPI()
    made.header.version = DLPackVersion(*version)
    if before is not None:
        link(made, before)
    for name, function in {**_functions, **functions}.items():
        setattr(made, _FIELDS[name], ctypes.cast(function, c_void_p).value)
    _tables.append(made)
    return made


def link(newer: DLPackExchangeAPI, older: DLPackExchangeAPI) -> None:
    """Makes `older` the previous table of `newer`."""
    newer.header.prev_api = ctypes.pointer(older.header)


def table_capsule(made: DLPackExchangeAPI, name: bytes = b"dlpack_exchange_api") -> object:
    return new_capsule(ctypes.addressof(made), name_address(name), None)


class Tabled(Producer):
    """A producer with an exchange table; derive and set `__dlpack_c_exchange_api__`."""

    tabled = 0

    def by_table(self) -> Made | None:
        self.tabled += 1
        self.made.append(versioned(**self.fields))
        return self.made[-1]


def tabled_type(name: str = "Array", **attributes: object) -> type:
    """A new type with its own table."""
    attributes.setdefault("__dlpack_c_exchange_api__", table_capsule(table()))
    return type(name, (Tabled,), attributes)


@functools.cache
def library() -> ctypes.CDLL:
    """The shared library of the package, called without the GIL."""
    importlib.import_module("dlbridge._core")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        path = next(line.split()[-1] for line in maps if "libdlbridge.so" in line)
    loaded = ctypes.CDLL(path)
    loaded.dlbridge_release_versioned.argtypes = [c_void_p]
    loaded.dlbridge_release_versioned.restype = None
    return loaded


def release(address: int) -> None:
    """Releases a versioned tensor without the GIL."""
    library().dlbridge_release_versioned(address)


def release_on_c_threads(addresses: list[int]) -> None:
    """Releases each tensor on a thread that Python did not create."""
    process = ctypes.CDLL(None)
    process.pthread_create.argtypes = [c_void_p, c_void_p, c_void_p, c_void_p]
    process.pthread_join.argtypes = [c_uint64, c_void_p]
    start = ctypes.cast(library().dlbridge_release_versioned, c_void_p)
    threads = [c_uint64() for _ in addresses]
    for thread, address in zip(threads, addresses):
        assert process.pthread_create(ctypes.byref(thread), None, start, address) == 0
    for thread in threads:
        assert process.pthread_join(thread, None) == 0


def take(capsule: object) -> int:
    """Consumes a capsule: renames it and returns the address of its versioned tensor."""
    address = get_pointer(capsule, VERSIONED)
    assert set_name(capsule, name_address(b"used_" + VERSIONED)) == 0
    return address


def struct_of(capsule: object) -> Versioned | Legacy:
    """The struct in a capsule; it keeps the capsule alive."""
    name = get_name(capsule)
    kind = Versioned if name.endswith(VERSIONED) else Legacy
    found = kind.from_address(get_pointer(capsule, name))
    found.capsule = capsule
    return found


def extents(tensor: DLTensor, which: str) -> tuple[int, ...] | None:
    start = getattr(tensor, which)
    return tuple(start[: tensor.ndim]) if start else None


@contextlib.contextmanager
def rejected(kind, message, *, status=None, rule=None, axis=None):
    """The block raises exactly this type, with the library's message, status, rule and axis."""
    with pytest.raises(kind, match=message) as caught:
        yield
    error = caught.value
    assert type(error) is kind
    assert (error.status, error.rule, error.axis) == (status, rule, axis)
    del error
    caught._excinfo = None


def run(program: str, *arguments: str) -> str:
    """The output of a program in a new process, which must succeed and print nothing to stderr. It
    can import this module and the package."""
    paths = [os.path.dirname(__file__), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert (done.returncode, done.stderr) == (0, ""), (done.returncode, done.stdout, done.stderr)
    return done.stdout
