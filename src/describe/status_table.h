// Generated from facts/statuses.toml and facts/rules.toml by tools/facts.py; do not edit.
// SPDX-License-Identifier: Apache-2.0
// The table of statuses and the table of rules.
#ifndef DLBRIDGE_SRC_DESCRIBE_STATUS_TABLE_H_
#define DLBRIDGE_SRC_DESCRIBE_STATUS_TABLE_H_

// clang-format off

// X(name, text), in the order of their numbers.
#define DLBRIDGE_STATUSES(X) \
  X(OK, "Success.") \
  X(ERROR_INVALID_ARGUMENT, "An argument of the call is not allowed.") \
  X(ERROR_TOO_NEW, "The caller asks for something that this library is too old to know.") \
  X(ERROR_OUT_OF_MEMORY, "The allocator had no memory.") \
  X(ERROR_INVALID_TENSOR, "The tensor breaks a rule of DLPack.") \
  X(ERROR_VERSION, "The DLPack versions do not fit together.") \
  X(ERROR_POLICY, "The tensor is legal, but the policy rejects it.") \
  X(ERROR_UNREPRESENTABLE, "The target cannot represent what the source records.") \
  X(ERROR_UNKNOWN_CODE, "A dtype code, device type or flag bit is unknown.") \
  X(ERROR_FOREIGN_TENSOR, "The tensor is not dlbridge-owned: import it first.") \
  X(ERROR_UNSUPPORTED, "The request is legal, but this build cannot do it.") \
  X(ERROR_BUFFER_TOO_SMALL, "The buffer or storage is too small.") \
  X(ERROR_PARSE, "The text is not the name of a dtype or device.") \
  X(ERROR_NOT_FOUND, "Nothing suitable was found.") \
  X(ERROR_BOUNDS, "The view would leave the elements of its parent.") \
  X(ERROR_FORKED, "The backend was started before this process was forked.") \
  X(ERROR_UNAVAILABLE, "There is no driver or no device of the kind.") \
  X(ERROR_DRIVER, "A call of the driver failed.") \
  X(ERROR_EXISTS, "The context table has another entry of that device or context.") \
  X(ERROR_CAPTURE, "A stream is capturing a graph.") \
  X(ERROR_DESCRIPTOR, "The bytes that another process sent are not an export of a tensor.") \
  X(ERROR_AMBIGUOUS, "The kind of the tensor was not given and cannot be decided.")

// X(name, status, text, expected, found, remedy), in the order of their numbers. facts/rules.toml
// explains the placeholders in `expected` and `found`.
#define DLBRIDGE_RULES(X) \
  X(NONE, OK, \
    "no rule is broken", \
    "", \
    "", \
    "") \
  X(VERSION_MAJOR, ERROR_VERSION, \
    "another major version", \
    "DLPack major 1", \
    "major %u", \
    "call its deleter and read nothing else") \
  X(NDIM_NEGATIVE, ERROR_INVALID_TENSOR, \
    "ndim is negative", \
    "at least 0", \
    "%i", \
    "the producer must fix it") \
  X(NDIM_LIMIT, ERROR_POLICY, \
    "ndim is outside the limits", \
    "%r", \
    "%i", \
    "reshape it; dlbridge supports 0 to 64 axes") \
  X(SHAPE_NULL, ERROR_INVALID_TENSOR, \
    "shape is NULL", \
    "%i extents", \
    "NULL", \
    "the producer must fix it") \
  X(STRIDES_NULL, ERROR_INVALID_TENSOR, \
    "strides are NULL in a tensor of DLPack 1.2 or later", \
    "%i strides", \
    "NULL", \
    "the producer must set them; functions with a policy accept it with DLBRIDGE_POLICY_ALLOW_NULL_STRIDES") \
  X(DTYPE_BITS_ZERO, ERROR_INVALID_TENSOR, \
    "the dtype has no bits", \
    "at least 1", \
    "%u", \
    "the producer must fix it") \
  X(DTYPE_LANES_ZERO, ERROR_INVALID_TENSOR, \
    "the dtype has no lanes", \
    "at least 1", \
    "%u", \
    "the producer must fix it") \
  X(DTYPE_LANES_SCALABLE, ERROR_INVALID_TENSOR, \
    "the dtype is a scalable vector", \
    "at most 32767 lanes", \
    "%u", \
    "its size is unknown; functions with a policy accept it with DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES") \
  X(DTYPE_BITS_FIXED, ERROR_INVALID_TENSOR, \
    "the dtype has a fixed width", \
    "%u bits", \
    "%t", \
    "the producer must fix it") \
  X(DTYPE_UNKNOWN, ERROR_UNKNOWN_CODE, \
    "the dtype code is unknown", \
    "a code of DLPack %v", \
    "code %u", \
    "convert it to a known dtype; conversions accept it with DLBRIDGE_CONVERT_ALLOW_UNKNOWN, a policy without _REJECT_UNKNOWN_DTYPE") \
  X(DEVICE_UNKNOWN, ERROR_UNKNOWN_CODE, \
    "the device type is unknown", \
    "a type of DLPack %v", \
    "type %i", \
    "move it to a known device; conversions accept it with DLBRIDGE_CONVERT_ALLOW_UNKNOWN, a policy without _REJECT_UNKNOWN_DEVICE") \
  X(FLAGS_UNKNOWN, ERROR_UNKNOWN_CODE, \
    "a flag bit is unknown", \
    "flags within %x", \
    "%x", \
    "clear it in the producer; conversions accept it with DLBRIDGE_CONVERT_ALLOW_UNKNOWN, a policy without _REJECT_UNKNOWN_FLAGS") \
  X(DEVICE_ID_NEGATIVE, ERROR_INVALID_TENSOR, \
    "the device id is negative", \
    "at least 0", \
    "%i", \
    "the producer must fix it") \
  X(DEVICE_ID_HOST, OK, \
    "host-like memory has a device id", \
    "0", \
    "%i", \
    "") \
  X(EXTENT_NEGATIVE, ERROR_INVALID_TENSOR, \
    "an extent is negative", \
    "at least 0", \
    "%i", \
    "the producer must fix it") \
  X(COUNT_OVERFLOW, ERROR_INVALID_TENSOR, \
    "the number of elements overflows", \
    "at most 9223372036854775807", \
    "a larger product", \
    "the producer must fix it") \
  X(SIZE_OVERFLOW, ERROR_INVALID_TENSOR, \
    "the size in bytes overflows", \
    "at most 9223372036854775807", \
    "%i elements", \
    "the producer must fix it") \
  X(OFFSET_OVERFLOW, ERROR_INVALID_TENSOR, \
    "an element's offset overflows", \
    "offsets of 63 bits", \
    "larger strides", \
    "the producer must fix it") \
  X(DATA_NULL, ERROR_INVALID_TENSOR, \
    "data is NULL", \
    "memory of %i elements", \
    "NULL", \
    "the producer must fix it") \
  X(ADDRESS_RANGE, ERROR_INVALID_TENSOR, \
    "the tensor leaves the address space", \
    "addresses of 64 bits", \
    "byte_offset %u", \
    "the producer must fix it") \
  X(HANDLE_RANGE, ERROR_INVALID_TENSOR, \
    "the tensor begins before its handle", \
    "bytes from 0", \
    "%i", \
    "the producer must fix it") \
  X(BUFFER_BOUNDS, ERROR_POLICY, \
    "the tensor leaves its buffer", \
    "bytes within 0 to %u", \
    "byte %i", \
    "correct the shape, the strides, the offset or buffer_size") \
  X(CONTIGUITY, ERROR_POLICY, \
    "not contiguous as demanded", \
    "%c", \
    "other strides", \
    "make a compact copy with dlbridge_copy") \
  X(ALIGNMENT, ERROR_POLICY, \
    "not aligned as demanded", \
    "a multiple of %u bytes", \
    "a multiple of %u", \
    "make an aligned copy with dlbridge_copy") \
  X(DEVICE_REJECTED, ERROR_POLICY, \
    "the policy does not list the device", \
    "%D", \
    "%g", \
    "copy it to a listed device with dlbridge_copy") \
  X(DTYPE_REJECTED, ERROR_POLICY, \
    "the policy does not list the dtype", \
    "%T", \
    "%t", \
    "convert it to a listed dtype before the call") \
  X(NOT_WRITABLE, ERROR_POLICY, \
    "the tensor may not be written to", \
    "a writable tensor", \
    "%w", \
    "make a copy with dlbridge_copy; DLBRIDGE_POLICY_VOUCH_WRITABLE is for tensors that do not record writability") \
  X(NEGATIVE_STRIDE, ERROR_POLICY, \
    "a stride is negative", \
    "at least 0", \
    "%i", \
    "make a compact copy with dlbridge_copy") \
  X(ZERO_STRIDE, ERROR_POLICY, \
    "a stride is zero", \
    "not 0 on an axis of extent %i", \
    "%i", \
    "make a compact copy with dlbridge_copy") \
  X(SELF_OVERLAP, ERROR_POLICY, \
    "elements share memory", \
    "distinct elements to write to", \
    "%o", \
    "make a compact copy with dlbridge_copy, or set DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP") \
  X(DATA_UNALIGNED, OK, \
    "the data is not aligned to its element", \
    "a multiple of %u bytes", \
    "a multiple of %u", \
    "") \
  X(VERSION_LABEL, OK, \
    "the tensor uses more than its version knows", \
    "DLPack %v", \
    "%v", \
    "") \
  X(REQUIRED_VERSION, ERROR_VERSION, \
    "the consumer is too old for the tensor", \
    "at most DLPack %v", \
    "a need of %v", \
    "ask for a newer version; conversions accept it with DLBRIDGE_CONVERT_ALLOW_UNKNOWN") \
  X(LEGACY_READ_ONLY, ERROR_UNREPRESENTABLE, \
    "a legacy tensor cannot record READ_ONLY", \
    "a writable tensor", \
    "READ_ONLY", \
    "keep it versioned; dlbridge_downgrade and dlbridge_export accept DLBRIDGE_CONVERT_COPY or _DROP_READ_ONLY") \
  X(LEGACY_PADDED, ERROR_UNREPRESENTABLE, \
    "a legacy tensor cannot record padding", \
    "packed elements", \
    "padded %t", \
    "keep it versioned; dlbridge_downgrade and dlbridge_export accept DLBRIDGE_CONVERT_COPY or _DROP_PADDED") \
  X(LEGACY_DTYPE, ERROR_UNREPRESENTABLE, \
    "the legacy version does not know the dtype code", \
    "a code of DLPack %v", \
    "%t", \
    "keep it versioned; dlbridge_downgrade and dlbridge_export accept DLBRIDGE_CONVERT_ALLOW_NEWER_CODES") \
  X(LEGACY_DEVICE, ERROR_UNREPRESENTABLE, \
    "the legacy version does not know the device type", \
    "a type of DLPack %v", \
    "%d", \
    "keep it versioned; dlbridge_downgrade and dlbridge_export accept DLBRIDGE_CONVERT_ALLOW_NEWER_CODES") \
  X(OFFSET_FOLD, ERROR_UNSUPPORTED, \
    "byte_offset cannot be folded", \
    "data that is an address", \
    "%d", \
    "do not set DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET") \
  X(VIEW_BOUNDS, ERROR_BOUNDS, \
    "the view leaves its parent", \
    "elements bounded by %i", \
    "element %i", \
    "correct shape, strides or offset") \
  X(VIEW_OFFSET, ERROR_BOUNDS, \
    "the view does not start at a whole byte", \
    "a multiple of 8 bits", \
    "bit %i", \
    "correct the offset") \
  X(IN_STORAGE, ERROR_UNSUPPORTED, \
    "the tensor lives in its caller's storage", \
    "a tensor on the heap", \
    "storage", \
    "call dlbridge_import first") \
  X(COPY_DEVICE, ERROR_UNSUPPORTED, \
    "the CPU cannot read the memory to copy", \
    "memory that the host can read", \
    "%d", \
    "copy it with dlbridge_copy") \
  X(DEVICE_LABEL, ERROR_INVALID_TENSOR, \
    "the memory is not where the device label says", \
    "%m", \
    "%m", \
    "the producer must label it as the driver does") \
  X(ALLOCATION_BOUNDS, ERROR_INVALID_TENSOR, \
    "the tensor leaves its allocation", \
    "bytes within 0 to %u", \
    "byte %i", \
    "correct the shape, the strides or the pointer") \
  X(SHAPE_MISMATCH, ERROR_POLICY, \
    "an extent differs from the policy's shape", \
    "%i", \
    "%i", \
    "reshape it, or correct the shape of the policy")

// clang-format on

#endif  // DLBRIDGE_SRC_DESCRIBE_STATUS_TABLE_H_
