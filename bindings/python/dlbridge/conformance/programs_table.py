# SPDX-License-Identifier: Apache-2.0
"""Programs that judge the C exchange API of an array's type, __dlpack_c_exchange_api__."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .reproducers import ELEMENTS, SHOW, arguments, literal, made, offered, with_array

_TABLE = """
import ctypes, gc, sys
from ctypes import *

class Tensor(ctypes.Structure):  # DLTensor
    _fields_ = [("data", c_void_p), ("device", c_int32 * 2),
        ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8),
        ("lanes", c_uint16), ("shape", c_void_p), ("strides", c_void_p),
        ("byte_offset", c_uint64)]

class Managed(ctypes.Structure):  # DLManagedTensorVersioned
    _fields_ = [("version", c_uint32 * 2), ("context", c_void_p),
        ("deleter", c_void_p), ("flags", c_uint64), ("tensor", Tensor)]

class Table(ctypes.Structure):  # DLPackExchangeAPI
    _fields_ = [("version", c_uint32 * 2), ("previous", c_void_p),
        ("managed_tensor_allocator", c_void_p),
        ("managed_tensor_from_py_object_no_sync", c_void_p),
        ("managed_tensor_to_py_object_no_sync", c_void_p),
        ("dltensor_from_py_object_no_sync", c_void_p),
        ("current_work_stream", c_void_p)]

get = pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = c_void_p, [py_object, c_char_p]
name = pythonapi.PyCapsule_GetName
name.restype, name.argtypes = c_char_p, [py_object]

found = getattr(type(array), "__dlpack_c_exchange_api__", None)
is_capsule = type(found).__name__ == "PyCapsule"
"""
_USED = """
place = get(found, name(found)) if is_capsule else found
table = Table.from_address(place)
"""
_CALLED = """
occurred, clear = pythonapi.PyErr_Occurred, pythonapi.PyErr_Clear
occurred.restype = c_void_p

def called(function, *arguments):
    try:
        result, error = function(*arguments), bool(occurred())
        clear()
        return result, error
    except Exception as error:
        return -1, True
"""
_EXPORTS = """
def numbers(tensor, place):
    return (c_int64 * tensor.ndim).from_address(place)[:]

def contents(tensor):
    shape = numbers(tensor, tensor.shape)
    return elements(tensor, shape, numbers(tensor, tensor.strides))

def fields(tensor):
    return {"data": (tensor.data or 0) + tensor.byte_offset,
        "device": tensor.device[:], "shape": numbers(tensor, tensor.shape),
        "dtype": (tensor.code, tensor.bits, tensor.lanes)}

def compare(tensor):
    one, other = fields(tensor_of(held)), fields(tensor)
    print("__dlpack__", one)
    print("the table ", other)
    if one != other:
        sys.exit("FAULT: the table exports other fields than __dlpack__")
    if not tensor.strides and tensor.ndim:
        sys.exit("FAULT: strides are NULL")
    if contents(tensor) != right:
        sys.exit("FAULT: the tensor has other values than the array")

# Held, since the other struct of the array may be of the same memory.
held = array.__dlpack__(KEYWORDS)
right = RIGHT
"""
_CAPSULE = """
print("found", found)
if not is_capsule:
    sys.exit("FAULT: the attribute is no PyCapsule")
if name(found) != b"dlpack_exchange_api":
    sys.exit("FAULT: the capsule is not named dlpack_exchange_api")
print("fine: a capsule named dlpack_exchange_api")
"""
_HEADER = """
version = tuple(table.version)
print("version", version)
if version[0] != 1:
    sys.exit("FAULT: the version is not 1.x")
for _ in range(64):
    if not table.previous:
        break
    table, last = Table.from_address(table.previous), version
    version = tuple(table.version)
    print("the table before it", version)
    if version >= last:
        sys.exit("FAULT: the version of a previous table is not older")
else:
    sys.exit("FAULT: the chain of tables does not end")
print("fine: the tables are in order")
"""
_MEMBERS = """
members = [member for member, _ in Table._fields_[2:]]
absent = [member for member in members if not getattr(table, member)]
print("NULL:", *absent or ["none"])
if set(absent) - {"dltensor_from_py_object_no_sync"}:
    sys.exit("FAULT: a function that is not optional is NULL")
print("fine: no function is NULL, but for the optional one")
"""
_EXPORT = """
out = c_void_p()
function = PYFUNCTYPE(c_int, py_object, c_void_p)(
    table.managed_tensor_from_py_object_no_sync)
result, error = called(function, array, addressof(out))
print("result", result, "error", error, "out", out.value)
if result or error or not out.value:
    sys.exit("FAULT: expected 0, no error, and a tensor")
managed = Managed.from_address(out.value)
if managed.version[0] != 1:
    sys.exit(f"FAULT: the struct has version {managed.version[:]}")
compare(managed.tensor)
CFUNCTYPE(None, c_void_p)(managed.deleter)(out.value)
print("fine: the table exports what __dlpack__ does")
"""
_BORROW = """
tensor = Tensor()
function = PYFUNCTYPE(c_int, py_object, c_void_p)(
    table.dltensor_from_py_object_no_sync)
result, error = called(function, array, addressof(tensor))
print("result", result, "error", error)
if result or error:
    sys.exit("FAULT: expected 0 and no error")
compare(tensor)
print("fine: the table borrows what __dlpack__ exports")
"""
_ERRORS = """
function = PYFUNCTYPE(c_int, py_object, c_void_p)(
    table.managed_tensor_from_py_object_no_sync)
for wrong in None, 7, object(), "text":
    out = c_void_p()
    result, error = called(function, wrong, addressof(out))
    print(repr(wrong), "result", result, "error", error)
    if result == 0 or not error:
        sys.exit("FAULT: expected -1 and an error")
print("fine: what is no array is rejected")
"""
_ALLOCATOR = """
shape = (c_int64 * 2)(3, 4)
asked = Tensor(device=DEVICE, ndim=2, code=2, bits=32, lanes=1,
    shape=addressof(shape))
out, errors = c_void_p(), []
report = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)(
    lambda context, kind, text: errors.append((kind, text)))
function = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p)(
    table.managed_tensor_allocator)
result = function(addressof(asked), addressof(out), None,
    cast(report, c_void_p))
print("result", result, "out", out.value, "errors", errors)
"""
_ALLOCATES = """
if result or not out.value:
    sys.exit("FAULT: expected 0 and a tensor")
managed = Managed.from_address(out.value)
tensor = managed.tensor
extents = (c_int64 * max(tensor.ndim, 0)).from_address(tensor.shape)[:]
print("device", tensor.device[:], "shape", extents,
    "dtype", (tensor.code, tensor.bits, tensor.lanes))
if tensor.device[:] != [1, 0] or extents != [3, 4]:
    sys.exit("FAULT: expected device [1, 0] and shape [3, 4]")
if (tensor.code, tensor.bits, tensor.lanes) != (2, 32, 1):
    sys.exit("FAULT: expected dtype (2, 32, 1)")
memset(tensor.data + tensor.byte_offset, 7, 48)
CFUNCTYPE(None, c_void_p)(managed.deleter)(out.value)
print("fine: a tensor of twelve elements")
"""
_ALLOCATES_ERROR = """
if result == 0:
    sys.exit("FAULT: expected -1 for a device type that is not assigned")
if not errors:
    sys.exit("FAULT: SetError was not called")
print("fine: the error is reported")
"""
_STREAM = """
out = c_void_p(1)
function = PYFUNCTYPE(c_int, c_int32, c_int32, c_void_p)(
    table.current_work_stream)
result, error = called(function, 1, 0, addressof(out))
print("result", result, "error", error, "stream", out.value)
if result or error:
    sys.exit("FAULT: expected 0 and no error for the host")
if out.value:
    sys.exit("FAULT: expected NULL for the host, which has no stream")
print("fine: no stream for the host")
"""
_IMPORT = """
out = py_object()
function = PYFUNCTYPE(c_int, c_void_p, c_void_p)(
    table.managed_tensor_to_py_object_no_sync)
result, error = called(function, place_of_tensor, addressof(out))
print("result", result, "error", error)
"""
_IMPORTS = """
if result or error:
    sys.exit("FAULT: expected 0 and an array")
imported = out.value
release = pythonapi.Py_DecRef
release.restype, release.argtypes = None, [py_object]
release(imported)  # the reference that the call returned
values, right = show(imported), bytes(memory[:48])
print("expected", right)
print("found   ", values)
if isinstance(values, bytes) and values != right:
    sys.exit("FAULT: the array has other values than the tensor")
del imported, out
for _ in range(4):
    gc.collect()
    if "settle" in globals():
        settle()
if len(runs) != 1:
    sys.exit(f"FAULT: the deleter ran {len(runs)} times, expected once")
print("fine: the array has the values of the tensor")
"""
_REJECTS = """
if result == 0:
    sys.exit("no verdict: the tensor is imported")
if not error:
    sys.exit("FAULT: expected an error of Python")
if runs:
    sys.exit("FAULT: the tensor stays the caller's, but its deleter ran")
print("fine: it is rejected, and stays the caller's")
"""

Program = Callable[[str, Any, dict[str, Any]], str]


def _of_array(*parts: str) -> Program:
    def program(code: str, request: Any, keywords: dict[str, Any]) -> str:
        return with_array(code, request) + _TABLE + "".join(parts)

    return program


capsule = _of_array(_CAPSULE)
header = _of_array(_USED, _HEADER)
members = _of_array(_USED, _MEMBERS)
errors = _of_array(_USED, _CALLED, _ERRORS)
stream = _of_array(_USED, _CALLED, _STREAM)
allocates = _of_array(_USED, _ALLOCATOR.replace("DEVICE", "(1, 0)"), _ALLOCATES)
allocates_error = _of_array(_USED, _ALLOCATOR.replace("DEVICE", "(5, 0)"), _ALLOCATES_ERROR)


def _exporting(rest: str) -> Program:
    """Compares the table's export with that of __dlpack__, and with the array's elements."""

    def program(code: str, request: Any, keywords: dict[str, Any]) -> str:
        given = "array =" not in code
        lines = "\n    ".join(literal(request.bits))
        right = f"(\n    {lines})" if given else "contents(tensor_of(held))"
        compared = _EXPORTS.replace("KEYWORDS", arguments(keywords)).replace("RIGHT", right)
        head = made(code, request) + _TABLE + _USED
        return head + _CALLED + ELEMENTS + compared + rest

    return program


export, borrow = _exporting(_EXPORT), _exporting(_BORROW)


def _importing(rest: str) -> Callable[[str, Any, Any], str]:
    """`tensor` is what the table's function gets."""

    def program(code: str, request: Any, tensor: Any) -> str:
        source = offered(with_array(code, request), tensor)
        place = "\nplace_of_tensor = addressof(tensor)\n"
        return source + SHOW + place + _TABLE + _USED + _CALLED + _IMPORT + rest

    return program


imports, rejects = _importing(_IMPORTS), _importing(_REJECTS)
