# SPDX-License-Identifier: Apache-2.0
"""The C exchange API: __dlpack_c_exchange_api__ of the array's type."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from dlbridge._structs import (
    DLDataType,
    DLDevice,
    DLManagedTensorVersioned,
    DLPackExchangeAPI,
    DLPackExchangeAPIHeader,
    DLTensor,
)

from . import answers, capsules, programs_struct, programs_table, tensors, values
from .kit import Kit, check, expected, message, shown
from .outcomes import Failure, Skip

ATTRIBUTE, NAME = "__dlpack_c_exchange_api__", b"dlpack_exchange_api"
# Chains that are longer do not end.
LONGEST = 64
_SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
_FROM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_TO = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
_occurred = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyErr_Occurred", ctypes.pythonapi))
_clear = ctypes.PYFUNCTYPE(None)(("PyErr_Clear", ctypes.pythonapi))
_MEMBERS = [field[0] for field in DLPackExchangeAPI._fields_[1:]]
_OPTIONAL = "dltensor_from_py_object_no_sync"


def _attribute(array: Any) -> Any:
    found = getattr(type(array), ATTRIBUTE, None)
    if found is None:
        raise Skip(f"the type has no {ATTRIBUTE}")
    return found


def _table(kit: Kit) -> Any:
    return table_of(kit.array())


def table_of(array: Any) -> Any:
    """The first table; an address as an integer is a check of its own."""
    found = _attribute(array)
    address = found if isinstance(found, int) else None
    if capsules.is_capsule(found):
        address = capsules.pointer(found, capsules.name(found))
    if not address:
        raise Skip("the attribute holds no table")
    table = DLPackExchangeAPI.from_address(address)
    if table.header.version.major != 1:
        raise Skip("the table has another major version")
    return table


def _function(kit: Kit, name: str, prototype: Any) -> Any:
    address = getattr(_table(kit), name)
    if not address:
        raise Skip(f"{name} is NULL")
    return prototype(address)


def _error() -> bool:
    """Whether the last call has set an error of Python, which is cleared."""
    occurred = _occurred() is not None
    _clear()
    return occurred


def _called(function: Any, *arguments: Any) -> tuple[int, bool]:
    """The result of a call, and whether it set an error. ctypes raises what PYFUNCTYPE finds."""
    try:
        return int(function(*arguments)), _error()
    except Exception:
        return -1, True


def _showing(program: answers.Program) -> Any:
    """Gives a check its program, which makes an array of its own."""

    def around(function: Callable[[Kit], None]) -> Callable[[Kit], None]:
        def run(kit: Kit) -> None:
            kit.array()
            with kit.showing(program):
                function(kit)

        return run

    return around


@check("table-capsule")
@_showing(programs_table.capsule)
def table_capsule(kit: Kit) -> None:
    found = _attribute(kit.array())
    if not capsules.is_capsule(found):
        raise Failure("a PyCapsule", f"{type(found).__name__}")
    if capsules.name(found) != NAME:
        raise Failure(f"a capsule named {NAME.decode()}", capsules.label(found))


@check("table-header")
@_showing(programs_table.header)
def table_header(kit: Kit) -> None:
    found = _attribute(kit.array())
    pointer = found if isinstance(found, int) else capsules.pointer(found, capsules.name(found))
    header, seen = DLPackExchangeAPIHeader.from_address(pointer), 0
    if header.version.major != 1:
        found = f"version {header.version.major}.{header.version.minor}"
        raise Failure("version 1.x", found)
    last = (header.version.major, header.version.minor)
    while header.prev_api:
        header, seen = header.prev_api.contents, seen + 1
        version = (header.version.major, header.version.minor)
        if version >= last:
            raise Failure(f"an older table than {last}", f"version {version}", "deviation")
        last = version
        if seen > LONGEST:
            raise Failure("a chain of tables that ends", f"more than {LONGEST} tables", "crash")


@check("table-members")
@_showing(programs_table.members)
def table_members(kit: Kit) -> None:
    table = _table(kit)
    absent = [name for name in _MEMBERS if name != _OPTIONAL and not getattr(table, name)]
    if absent:
        raise Failure(f"functions, but for {_OPTIONAL}", f"NULL in {', '.join(absent)}")


def _same(kit: Kit, found: capsules.Description, array: Any) -> None:
    wanted = capsules.describe(capsules.look(kit.best(array)))
    for name in ("address", "dtype", "device", "shape"):
        one, other = getattr(wanted, name), getattr(found, name)
        if one != other:
            raise Failure(f"{name} {one}, as __dlpack__ exports it", f"{name} {other}")
    if found.shape and found.strides is None:
        raise Failure("strides, which 1.2 demands", "NULL", "deviation")
    if found.elements() != expected("plain"):
        raise Failure("the values of the array", "other values")


def _exported(kit: Kit, array: Any) -> Any:
    out = ctypes.c_void_p()
    function = _function(kit, "managed_tensor_from_py_object_no_sync", _FROM)
    result, error = _called(function, array, ctypes.addressof(out))
    if result or error or not out.value:
        found = f"{result}, {'an' if error else 'no'} error, out {out.value}"
        raise Failure("0 and a tensor", found)
    return DLManagedTensorVersioned.from_address(out.value)


@check("table-export")
@_showing(programs_table.export)
def table_export(kit: Kit) -> None:
    array = kit.array()
    struct = _exported(kit, array)
    if struct.version.major != 1:
        raise Failure("version 1.x", f"version {struct.version.major}", "crash")
    _same(kit, capsules.describe(struct), array)
    capsules.delete(struct)


@check("table-read-only")
def table_read_only(kit: Kit) -> None:
    array = kit.array(read_only=True)
    if kit.adapter.writable(array) is not False:
        raise Skip("the library's arrays are not known to be immutable")
    out = ctypes.c_void_p()
    function = _function(kit, "managed_tensor_from_py_object_no_sync", _FROM)
    result, error = _called(function, array, ctypes.addressof(out))
    if result or error or not out.value:
        return
    struct = DLManagedTensorVersioned.from_address(out.value)
    flags = struct.flags
    capsules.delete(struct)
    if not flags & (capsules.READ_ONLY | capsules.IS_COPIED):
        raise Failure("flag READ_ONLY", capsules.flags_text(flags))


@check("table-borrow")
@_showing(programs_table.borrow)
def table_borrow(kit: Kit) -> None:
    array, tensor = kit.array(), DLTensor()
    function = _function(kit, _OPTIONAL, _FROM)
    result, error = _called(function, array, ctypes.addressof(tensor))
    if result or error:
        raise Failure("0 and no error", f"{result}, {'an' if error else 'no'} error")
    _same(kit, capsules.describe_tensor(tensor), array)


@check("table-import")
def table_import(kit: Kit) -> None:
    function = _function(kit, "managed_tensor_to_py_object_no_sync", _TO)
    tensor = tensors.of_form("plain", kind="versioned")
    kit.shows(lambda code, request, _: programs_table.imports(code, request, tensor))
    out = ctypes.py_object()
    result, error = _called(function, tensor.address, ctypes.addressof(out))
    if result or error:
        raise Failure("0 and an array", f"{result}, {'an' if error else 'no'} error")
    array = out.value
    # The reference that the call returned is now owned twice: by `out` and by `array`.
    _release(array)
    kit.compare(array, expected("plain"), (3, 4))
    del array
    out = ctypes.py_object()
    kit.settle(lambda: tensor.deleted == 1)
    if tensor.deleted != 1:
        severity = "leak" if not tensor.deleted else "corruption"
        raise Failure("the deleter ran once", f"it ran {tensor.deleted} times", severity)


def _release(thing: Any) -> None:
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_DecRef", ctypes.pythonapi))(thing)


@check("table-errors")
@_showing(programs_table.errors)
def table_errors(kit: Kit) -> None:
    function = _function(kit, "managed_tensor_from_py_object_no_sync", _FROM)
    for wrong in (None, 7, object(), "text"):
        out = ctypes.c_void_p()
        result, error = _called(function, wrong, ctypes.addressof(out))
        if result == 0 or not error:
            found = f"{result}, {'an' if error else 'no'} error"
            raise Failure(f"-1 and an error for {wrong!r}", found, "wrong answer")


@check("table-rejects")
def table_rejects(kit: Kit) -> None:
    function = _function(kit, "managed_tensor_to_py_object_no_sync", _TO)
    tensor = tensors.of_form("plain", kind="versioned", dtype="float32", device=(5, 0))
    kit.shows(lambda code, request, _: programs_table.rejects(code, request, tensor))
    out = ctypes.c_void_p()
    result, error = _called(function, tensor.address, ctypes.addressof(out))
    if result == 0:
        raise Skip("a tensor of an unknown device is not rejected")
    if not error:
        raise Failure("an error of Python", "none", "wrong answer")
    if tensor.deleted:
        raise Failure("the tensor stays the caller's", "its deleter ran", "corruption")


def _prototype(**changes: Any) -> tuple[Any, Any]:
    shape = (ctypes.c_int64 * 2)(3, 4)
    tensor = DLTensor(ndim=2, device=DLDevice(1, 0), dtype=DLDataType(2, 32, 1))
    tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    for name, value in changes.items():
        setattr(tensor, name, value)
    return tensor, shape


def _allocate(kit: Kit, **changes: Any) -> tuple[int, int | None, list[bytes]]:
    function = _function(kit, "managed_tensor_allocator", _ALLOCATE)
    prototype, shape = _prototype(**changes)
    out, errors = ctypes.c_void_p(), []
    report = _SET_ERROR(
        lambda context, kind, text: errors.append((kind or b"") + b": " + (text or b""))
    )
    pointer = ctypes.cast(report, ctypes.c_void_p)
    result = function(ctypes.addressof(prototype), ctypes.addressof(out), None, pointer)
    del shape
    return result, out.value, errors


@check("table-allocates")
@_showing(programs_table.allocates)
def table_allocates(kit: Kit) -> None:
    result, address, errors = _allocate(kit)
    if result or not address:
        raise Failure("0 and a tensor", f"{result}, {errors}")
    struct = DLManagedTensorVersioned.from_address(address)
    found = capsules.describe(struct)
    wanted = ((2, 32, 1), (3, 4), (1, 0))
    if (found.dtype, found.shape, found.device) != wanted:
        raise Failure(f"{wanted}", f"{(found.dtype, found.shape, found.device)}", "wrong answer")
    ctypes.memmove(found.address, values.bits("float32"), 48)
    if found.elements() != expected("plain"):
        raise Failure("memory for twelve elements", shown(found.elements()))
    capsules.delete(struct)


@check("table-allocates-error")
@_showing(programs_table.allocates_error)
def table_allocates_error(kit: Kit) -> None:
    result, address, errors = _allocate(kit, device=DLDevice(5, 0))
    if result == 0:
        found = capsules.describe(DLManagedTensorVersioned.from_address(address or 0)).device
        raise Failure("-1 for device type 5", f"a tensor of device {found}", "wrong answer")
    if not errors:
        raise Failure("a call of SetError", "none", "deviation")


@check("table-stream")
@_showing(programs_table.stream)
def table_stream(kit: Kit) -> None:
    function = _function(kit, "current_work_stream", _STREAM)
    out = ctypes.c_void_p(1)
    result, error = _called(function, 1, 0, ctypes.addressof(out))
    if result or error:
        raise Failure("0 and no error for the host", f"{result}, {'an' if error else 'no'} error")
    if out.value:
        raise Failure("NULL for the host, which has no stream", f"{out.value:#x}")


def current_stream(array: Any, device: tuple[int, int]) -> int:
    """The current stream of a device, from the table of the array's type."""
    address = table_of(array).current_work_stream
    if not address:
        raise Skip("current_work_stream is NULL, which is a check itself")
    out = ctypes.c_void_p()
    result, error = _called(_STREAM(address), *device, ctypes.addressof(out))
    if result or error:
        raise Failure(f"0 and no error for device {device}", f"{result}")
    return out.value or 0


@check("dtype-protocol")
@_showing(programs_struct.dtype_protocol)
def dtype_protocol(kit: Kit) -> None:
    array = kit.array()
    dtype: Any = getattr(array, "dtype", None)
    if not hasattr(type(dtype), "__dlpack_data_type__"):
        raise Skip("the dtype has no __dlpack_data_type__")
    wanted = capsules.describe(capsules.look(kit.best(array))).dtype
    try:
        found = tuple(dtype.__dlpack_data_type__())
    except Exception as error:
        raise Failure(f"{wanted}", message(error)) from None
    if found != wanted:
        raise Failure(f"{wanted}", f"{found}")
