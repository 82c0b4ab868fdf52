# SPDX-License-Identifier: Apache-2.0
"""The structs of dlpack.h and dlbridge.h for tests that use ctypes; they need no installed package.

bindings/python/tests/test_describe.py compares each of them with a C compiler's layout.
"""

import importlib.util
import pathlib
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_int32,
    c_int64,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
    sizeof,
)

_PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "bindings/python/dlbridge"


def module_of_package(name):
    """A module of the package that imports nothing else of it, without the package."""
    spec = importlib.util.spec_from_file_location(f"dlbridge{name}", _PACKAGE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_dlpack = module_of_package("_structs")

DLPackVersion = _dlpack.DLPackVersion
DLDevice = _dlpack.DLDevice
DLDataType = _dlpack.DLDataType
DLTensor = _dlpack.DLTensor
DLManagedTensor = _dlpack.DLManagedTensor
DLManagedTensorVersioned = _dlpack.DLManagedTensorVersioned


class DLBridgeError(Structure):
    _fields_ = [
        ("status", c_int32),
        ("rule", c_int32),
        ("axis", c_int32),
        ("native_code", c_int32),
        ("reserved", c_uint64 * 2),
        ("message", c_char * 224),
    ]


class DLBridgePolicy(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("options", c_uint32),
        ("version", DLPackVersion),
        ("level", c_int32),
        ("contiguity", c_int32),
        ("min_ndim", c_int32),
        ("max_ndim", c_int32),
        ("alignment", c_uint64),
        ("buffer_size", c_uint64),
        ("devices", c_void_p),
        ("device_count", c_uint64),
        ("dtypes", c_void_p),
        ("dtype_count", c_uint64),
        ("shape", POINTER(c_int64)),
    ]


class DLBridgeConvertOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("options", c_uint32),
        ("version", DLPackVersion),
        ("tensor_flags", c_uint64),
        ("policy", c_void_p),
        ("allocator", c_void_p),
    ]


class DLBridgeBuffer(Structure):
    _fields_ = [
        ("backend", c_int32),
        ("kind", c_int32),
        ("handle", c_uint64),
        ("context", c_uint64),
        ("reserved", c_uint64),
    ]


class DLBridgeStream(Structure):
    _fields_ = [
        ("backend", c_int32),
        ("kind", c_int32),
        ("device", DLDevice),
        ("handle", c_uint64),
        ("context", c_uint64),
        ("reserved", c_uint64),
    ]


DLBridgeRelease = CFUNCTYPE(None, c_void_p, POINTER(DLBridgeBuffer), POINTER(DLBridgeStream))


class DLBridgePointerInfo(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("options", c_uint32),
        ("backend", c_int32),
        ("memory", c_int32),
        ("device", DLDevice),
        ("native_device", c_int32),
        ("properties", c_uint32),
        ("base", c_uint64),
        ("size", c_uint64),
        ("context", c_uint64),
        ("peers", c_uint64),
    ]


class DLBridgeBackendInfo(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("options", c_uint32),
        ("backend", c_int32),
        ("state", c_int32),
        ("device_count", c_int32),
        ("driver_code", c_int32),
        ("driver_version", c_char * 64),
        ("runtime_version", c_char * 64),
        ("file", c_char * 256),
        ("reason", c_char * 616),
    ]


class DLBridgeWrapSpec(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("options", c_uint32),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("buffer", DLBridgeBuffer),
        ("byte_offset", c_uint64),
        ("buffer_size", c_uint64),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("tensor_flags", c_uint64),
        ("version", DLPackVersion),
        ("release", DLBridgeRelease),
        ("release_context", c_void_p),
        ("policy", c_void_p),
    ]


class DLBridgeContextEntry(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("backend", c_int32),
        ("device", DLDevice),
        ("id", c_uint64),
        ("platform", c_uint64),
        ("native_device", c_uint64),
        ("context", c_uint64),
        ("queue", c_uint64),
        ("queue_kind", c_int32),
        ("properties", c_uint32),
        ("uuid", c_uint8 * 16),
        ("release", c_void_p),
        ("release_context", c_void_p),
        ("reserved", c_uint64 * 4),
    ]


class DLBridgeCopySpec(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("options", c_uint32),
        ("device", DLDevice),
        ("stream", DLBridgeStream),
        ("target", DLBridgeBuffer),
        ("target_offset", c_uint64),
        ("target_size", c_uint64),
        ("release", DLBridgeRelease),
        ("release_context", c_void_p),
        ("allocator", c_void_p),
        ("tensor_flags", c_uint64),
        ("version", DLPackVersion),
        ("policy", c_void_p),
    ]


class DLBridgeIpcExportSpec(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("options", c_uint32),
        ("buffer", c_void_p),
        ("buffer_size", c_uint64),
        ("fds", c_void_p),
        ("fd_capacity", c_uint64),
        ("stream", c_void_p),
    ]


class DLBridgeIpcSizes(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("options", c_uint32),
        ("buffer_size", c_uint64),
        ("fd_count", c_uint64),
    ]


class DLBridgeIpcImportSpec(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("options", c_uint32),
        ("buffer", c_void_p),
        ("buffer_size", c_uint64),
        ("fds", c_void_p),
        ("fd_count", c_uint64),
        ("policy", c_void_p),
        ("stream", c_void_p),
    ]


class DLBridgeLayout(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("options", c_uint32),
        ("properties", c_uint32),
        ("item_bits", c_uint32),
        ("self_overlap", c_int32),
        ("ndim", c_int32),
        ("element_count", c_int64),
        ("packed_bytes", c_int64),
        ("begin", c_int64),
        ("end", c_int64),
        ("broadcast_axes", c_uint64),
        ("negative_axes", c_uint64),
        ("alignment", c_uint64),
    ]


def sized(kind, **fields):
    """A growable struct whose `struct_size` is set."""
    return kind(struct_size=sizeof(kind), **fields)
