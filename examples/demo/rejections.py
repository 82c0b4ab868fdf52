# SPDX-License-Identifier: Apache-2.0
"""Scene 3: tensors that dlbridge rejects. The caller still owns each of them, unchanged."""

import ctypes

import tvm_ffi
from bridge import Rejected, describe
from capsules import (
    READ_ONLY,
    DLDataType,
    DLDevice,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLPackVersion,
    DLTensor,
    look,
    release,
    wrap,
)
from frameworks import JAX, TVM_FFI, address

HUGE = 1 << 62


def crafted(show, kind, shape):
    """An invalid tensor over 64 real bytes, with its deleter counted."""
    memory = ctypes.create_string_buffer(64)
    extents = (ctypes.c_int64 * len(shape))(*shape)
    struct = kind()
    struct.dl_tensor = DLTensor(
        data=ctypes.addressof(memory),
        device=DLDevice(1, 0),
        ndim=len(shape),
        dtype=DLDataType(2, 32, 1),  # float32
        shape=extents,
    )
    deleter = show.deleters.count("the crafted tensor", struct, keep=(memory, extents, struct))
    return struct, deleter


def metadata(struct):
    """The bytes of the struct and of its shape."""
    ndim = struct.dl_tensor.ndim
    shape = struct.dl_tensor.shape[:ndim] if ndim else []
    return ctypes.string_at(ctypes.addressof(struct), ctypes.sizeof(struct)), shape


def reject(show, name, convert, struct, deleter, rule):
    """Prints the library's message; checks that the tensor is unchanged and still alive."""
    before = metadata(struct)
    try:
        convert(struct)
    except Rejected as error:
        show.check(f"{name}: rule", error.rule, rule)
        show.line(name, f"{error.status}, {error.rule}: {error}")
        show.shown["rejections"] += 1
    else:
        show.check(f"{name}: rejected", False)
        return
    show.check(f"{name}: bytes untouched", metadata(struct) == before)
    show.check(f"{name}: deleter calls after the rejection", deleter.calls, 0)
    release(struct)
    show.check(f"{name}: deleter calls after the caller's release", deleter.calls, 1)


def overflow(show):
    struct, _ = crafted(show, DLManagedTensor, (HUGE, 4))
    accepted = tvm_ffi.from_dlpack(wrap(struct))
    show.check("tvm-ffi takes the overflowing shape", tuple(accepted.shape), (HUGE, 4))
    show.line("without", f"tvm-ffi takes it: shape {tuple(accepted.shape)} over 64 bytes")
    struct, deleter = crafted(show, DLManagedTensor, (HUGE, 4))
    reject(show, "dlbridge", show.library.upgrade, struct, deleter, "COUNT_OVERFLOW")


def wrong_major(show):
    struct, _ = crafted(show, DLManagedTensorVersioned, ())
    struct.version = DLPackVersion(2, 0)
    accepted = tvm_ffi.from_dlpack(wrap(struct))
    capsule = accepted.__dlpack__(max_version=(1, 3))
    said = describe(look(capsule))
    show.check("tvm-ffi takes major 2 and passes it on", said, "1.3 no flags")
    show.line("without", f"tvm-ffi takes it and passes it on as {said}")
    struct, deleter = crafted(show, DLManagedTensorVersioned, ())
    struct.version = DLPackVersion(2, 0)
    reject(show, "dlbridge", show.library.import_tensor, struct, deleter, "VERSION_MAJOR")


def read_only(show):
    struct, _ = crafted(show, DLManagedTensorVersioned, ())
    struct.version, struct.flags = DLPackVersion(1, 3), READ_ONLY
    there = show.address_in(TVM_FFI, tvm_ffi.from_dlpack(wrap(struct)))
    show.check("tvm-ffi passes a read-only tensor on as legacy", there, address(struct))
    show.line(
        "without", "tvm-ffi passes it on as a legacy tensor, which every consumer may write to"
    )
    tensor = show.library.take(show.handed_out(JAX, JAX.make()))
    deleter = show.deleters.all[-1]
    reject(show, "dlbridge", show.library.downgrade, tensor, deleter, "LEGACY_READ_ONLY")


def scene(show):
    show.title("3. What dlbridge rejects; the tensor stays its caller's, as it was")
    print(f"  a crafted shape, {HUGE} x 4")
    overflow(show)
    print("  version.major 2")
    wrong_major(show)
    print("  a JAX array's READ_ONLY tensor for a consumer of legacy tensors")
    read_only(show)
