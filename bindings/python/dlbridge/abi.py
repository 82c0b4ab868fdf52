# SPDX-License-Identifier: Apache-2.0
"""The C ABI of dlbridge for Python programs: every function of the library, on addresses.

For authors of bindings, tests and tools. Programs that exchange arrays use `dlbridge.from_dlpack`,
`dlbridge.adapt` and `dlbridge.to`.

Start with `import_tensor`, which makes a validated, dlbridge-owned tensor of any managed tensor.

Structs are addresses (int). A wrong address is undefined behaviour, as in C; NULL (0) is rejected.
Shapes and strides are lists (None is NULL), versions (major, minor), devices (type, id), dtypes
(code, bits, lanes). Ownership is as in dlbridge.h: a resulting tensor is an address that must be
released once, by `release`, `release_versioned` or `release_legacy`.

A failed call raises BufferError (the tensor is broken or rejected), ValueError (an argument),
MemoryError, or RuntimeError (a driver). The exception has `status`, `rule`, `axis` and a driver's
`native_code`. An argument of the wrong type is a TypeError. The GIL is released for calls that may
reach a driver or a foreign deleter.

The ctypes structs mirror dlpack.h; `tensor_at` reads the fields that are safe to read."""

# In CPython 3.15, defining a NamedTuple imports annotationlib under the import lock. This deadlocks
# with a thread that is importing it, as dataclasses does. So dataclasses is imported first.
import ctypes
import dataclasses  # noqa: F401
from typing import NamedTuple

from ._constants import (
    AllocateOption,
    Answer,
    Backend,
    BufferKind,
    CollectOption,
    ContextProperty,
    Contiguity,
    ConvertOption,
    CopyOption,
    DeviceType,
    DtypeCode,
    HandoffOption,
    IpcOption,
    Kind,
    LayoutProperty,
    Level,
    Memory,
    PointerOption,
    PointerProperty,
    PolicyOption,
    Rule,
    Severity,
    State,
    Status,
    StreamKind,
    TensorFlag,
    WrapOption,
    name_of,
    names_of,
)

try:
    from . import _describe  # noqa: F401 - the names follow
except ImportError as error:
    if "subinterpreter" not in str(error):
        raise
    raise ImportError(
        "dlbridge.abi and dlbridge.inspect work in the main interpreter and in sub-interpreters "
        "that share its GIL, found another sub-interpreter: call them in the main interpreter; "
        "from_dlpack, adapt and to work in every interpreter"
    ) from error

from ._describe import (
    ABI,
    Allocator,
    ConvertOptions,
    Policy,
    # [facts/functions.toml describe]
    allocate,
    backend_info,
    capsule,
    collect,
    context_find,
    context_next,
    context_register,
    context_release,
    context_retain,
    context_table_v1,
    context_unregister,
    copy,
    copy_async,
    device_format,
    device_parse,
    diagnose,
    dlpack_version,
    downgrade,
    dtype_format,
    dtype_parse,
    exchange_api_find,
    export_tensor,
    get_api,
    host_accessible,
    host_accessible_answer,
    identify,
    import_tensor,
    ipc_export,
    ipc_import,
    layout,
    library_file,
    module_pin,
    negotiate,
    pointer_info,
    release,
    release_after,
    release_legacy,
    release_versioned,
    required_version,
    rule_name,
    rule_text,
    share,
    status_name,
    status_text,
    stream_from_array_api,
    stream_handoff,
    stream_synchronize,
    tensor_format,
    upgrade,
    upgrade_into,
    upgrade_many,
    upgrade_storage_size,
    validate,
    validate_legacy,
    validate_versioned,
    version,
    version_string,
    view,
    wrap,
    wrap_legacy,
    # [/facts]
)
from ._structs import (
    DLDataType,
    DLDevice,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLPackExchangeAPI,
    DLPackExchangeAPIHeader,
    DLPackVersion,
    DLTensor,
)

__all__ = [
    "ABI",
    "AllocateOption",
    "Allocator",
    "Answer",
    "Backend",
    "Buffer",
    "BufferKind",
    "CollectOption",
    "ContextProperty",
    "Contiguity",
    "ConvertOption",
    "ConvertOptions",
    "CopyOption",
    "DLDataType",
    "DLDevice",
    "DLManagedTensor",
    "DLManagedTensorVersioned",
    "DLPackExchangeAPI",
    "DLPackExchangeAPIHeader",
    "DLPackVersion",
    "DLTensor",
    "DeviceType",
    "DtypeCode",
    "ExchangeTable",
    "HandoffOption",
    "IpcOption",
    "Kind",
    "LayoutProperty",
    "Level",
    "Memory",
    "PointerOption",
    "PointerProperty",
    "Policy",
    "PolicyOption",
    "Rule",
    "Severity",
    "State",
    "Status",
    "Stream",
    "StreamKind",
    "TensorFields",
    "TensorFlag",
    "WrapOption",
    # [facts/functions.toml all]
    "allocate",
    "backend_info",
    "capsule",
    "collect",
    "context_find",
    "context_next",
    "context_register",
    "context_release",
    "context_retain",
    "context_table_v1",
    "context_unregister",
    "copy",
    "copy_async",
    "device_format",
    "device_parse",
    "diagnose",
    "dlpack_version",
    "downgrade",
    "dtype_format",
    "dtype_parse",
    "exchange_api_find",
    "exchange_tables",
    "export_tensor",
    "get_api",
    "host_accessible",
    "host_accessible_answer",
    "identify",
    "import_tensor",
    "ipc_export",
    "ipc_import",
    "layout",
    "library_file",
    "module_pin",
    "name_of",
    "names_of",
    "negotiate",
    "pointer_info",
    "release",
    "release_after",
    "release_legacy",
    "release_versioned",
    "required_version",
    "rule_name",
    "rule_text",
    "share",
    "status_name",
    "status_text",
    "stream_from_array_api",
    "stream_handoff",
    "stream_synchronize",
    "tensor_at",
    "tensor_format",
    "upgrade",
    "upgrade_into",
    "upgrade_many",
    "upgrade_storage_size",
    "validate",
    "validate_legacy",
    "validate_versioned",
    "version",
    "version_string",
    "view",
    "wrap",
    "wrap_legacy",
    # [/facts]
]


# ------------------------------------------------------------------------------- values with names


class Buffer(NamedTuple):
    """Memory of a driver (DLBridgeBuffer)."""

    backend: int
    kind: int
    handle: int
    context: int = 0


class Stream(NamedTuple):
    """A stream or queue of a driver (DLBridgeStream)."""

    backend: int
    kind: int
    device: tuple[int, int] = (1, 0)
    handle: int = 0
    context: int = 0


class TensorFields(NamedTuple):
    """The fields of a tensor. Fields that must not be read, or do not exist, are None."""

    kind: int
    version: tuple[int, int] | None
    flags: int | None
    tensor: int  # address of the DLTensor; 0 if nothing past the flags may be read
    data: int | None
    device: tuple[int, int] | None
    ndim: int | None
    dtype: tuple[int, int, int] | None
    shape: list[int] | None
    strides: list[int] | None
    byte_offset: int | None


class ExchangeTable(NamedTuple):
    """One table of an exchange API chain."""

    version: tuple[int, int]
    address: int
    missing: list[str] | None  # functions that are NULL; None if the major is not 1


# ------------------------------------------------------------------------------ reading, carefully

MAX_AXES = 64
MAX_TABLES = 64


def _entries(pointer, ndim):
    return [pointer[i] for i in range(ndim)] if pointer and 0 <= ndim <= MAX_AXES else None


def _fields(kind, version, flags, tensor):
    ndim = tensor.ndim
    return TensorFields(
        kind,
        version,
        flags,
        ctypes.addressof(tensor),
        tensor.data or 0,
        (tensor.device.device_type, tensor.device.device_id),
        ndim,
        (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
        [] if ndim == 0 else _entries(tensor.shape, ndim),
        [] if ndim == 0 and tensor.strides else _entries(tensor.strides, ndim),
        tensor.byte_offset,
    )


def tensor_at(address: int, kind: int) -> TensorFields:
    """The fields of the struct of `kind` at an address. If a versioned struct has another major,
    nothing past its flags is read. Shape and strides are read for 0 to 64 axes only."""
    if not address:
        raise ValueError("expected the address of a tensor, found NULL")
    if kind == Kind.VERSIONED:
        managed = DLManagedTensorVersioned.from_address(address)
        said = (managed.version.major, managed.version.minor)
        if said[0] != 1:
            return TensorFields(kind, said, managed.flags, 0, *[None] * 7)
        return _fields(kind, said, managed.flags, managed.dl_tensor)
    if kind == Kind.LEGACY:
        return _fields(kind, None, None, DLManagedTensor.from_address(address).dl_tensor)
    if kind == Kind.BORROWED:
        return _fields(kind, None, None, DLTensor.from_address(address))
    raise ValueError(f"kind must be LEGACY, VERSIONED or BORROWED, not {kind}")


def _missing(address):
    table = DLPackExchangeAPI.from_address(address)
    return [name for name, _ in DLPackExchangeAPI._fields_[1:] if not getattr(table, name)]


def exchange_tables(chain: int) -> list[ExchangeTable]:
    """The tables of an exchange API chain, newest first; at most 64, in case it is cyclic."""
    tables: list[ExchangeTable] = []
    while chain and len(tables) < MAX_TABLES and chain not in [one.address for one in tables]:
        header = DLPackExchangeAPIHeader.from_address(chain)
        said = (header.version.major, header.version.minor)
        tables.append(ExchangeTable(said, chain, _missing(chain) if said[0] == 1 else None))
        chain = ctypes.cast(header.prev_api, ctypes.c_void_p).value or 0
    return tables
