// Generated from facts/statuses.toml and facts/rules.toml by tools/facts.py; do not edit.
// SPDX-License-Identifier: Apache-2.0
// The table of statuses and the table of rules.
#ifndef DLBRIDGE_SRC_DESCRIBE_STATUS_TABLE_H_
#define DLBRIDGE_SRC_DESCRIBE_STATUS_TABLE_H_

// clang-format off

// X(name, text), in the order of their numbers.
#define DLBRIDGE_STATUSES(X) \
  X(OK, "Success.") \
  X(ERROR_INVALID_ARGUMENT, "An argument of the call is invalid.") \
  X(ERROR_TOO_NEW, "The caller uses an option, value or field that this library is too old to know.") \
  X(ERROR_OUT_OF_MEMORY, "The allocator is out of memory.") \
  X(ERROR_INVALID_TENSOR, "The tensor breaks a rule of DLPack.") \
  X(ERROR_VERSION, "The DLPack versions are not compatible.") \
  X(ERROR_POLICY, "The tensor is legal, but the policy rejects it.") \
  X(ERROR_UNREPRESENTABLE, "The target cannot represent what the source records.") \
  X(ERROR_UNKNOWN_CODE, "A dtype code, device type or flag bit is unknown.") \
  X(ERROR_FOREIGN_TENSOR, "The tensor is not dlbridge-owned: import it first.") \
  X(ERROR_UNSUPPORTED, "The request is legal, but this build does not support it.") \
  X(ERROR_BUFFER_TOO_SMALL, "The buffer or storage is too small.") \
  X(ERROR_PARSE, "The text is not the name of a dtype or device.") \
  X(ERROR_NOT_FOUND, "Nothing suitable was found.") \
  X(ERROR_BOUNDS, "The view would exceed the elements of its parent.") \
  X(ERROR_FORKED, "The backend was started before this process was forked.") \
  X(ERROR_UNAVAILABLE, "The driver or the device is not available.") \
  X(ERROR_DRIVER, "A driver call failed.") \
  X(ERROR_EXISTS, "The context table already has an entry for the device or context.") \
  X(ERROR_CAPTURE, "A stream is capturing a graph.") \
  X(ERROR_DESCRIPTOR, "The bytes or file descriptors from another process are not an export of a tensor.") \
  X(ERROR_AMBIGUOUS, "The kind of the tensor was not given and cannot be determined.")

// X(name, status, text, expected, found, remedy), in the order of their numbers. facts/rules.toml
// explains the placeholders in `expected` and `found`.
#define DLBRIDGE_RULES(X) \
  X(NONE, OK, \
    "no rule is broken", \
    "", \
    "", \
    "") \
  X(VERSION_MAJOR, ERROR_VERSION, \
    "the major version is not supported", \
    "DLPack major 1", \
    "major %u", \
    "call its deleter and read nothing else") \
  X(NDIM_NEGATIVE, ERROR_INVALID_TENSOR, \
    "ndim is negative", \
    "at least 0", \
    "%i", \
    "correct it in the producer, or in the call's spec") \
  X(NDIM_LIMIT, ERROR_POLICY, \
    "ndim is outside the limits", \
    "%r", \
    "%i", \
    "reshape it, or change the limits of the policy; dlbridge itself supports 0 to 64 axes") \
  X(SHAPE_NULL, ERROR_INVALID_TENSOR, \
    "shape is NULL", \
    "%i extents", \
    "NULL", \
    "correct it in the producer, or in the call's spec") \
  X(STRIDES_NULL, ERROR_INVALID_TENSOR, \
    "strides are NULL in a tensor of DLPack 1.2 or later", \
    "%i strides", \
    "NULL", \
    "set them in the producer, or set DLBRIDGE_POLICY_ALLOW_NULL_STRIDES in the policy") \
  X(DTYPE_BITS_ZERO, ERROR_INVALID_TENSOR, \
    "the dtype has no bits", \
    "at least 1", \
    "%u", \
    "correct it in the producer, or in the call's spec") \
  X(DTYPE_LANES_ZERO, ERROR_INVALID_TENSOR, \
    "the dtype has no lanes", \
    "at least 1", \
    "%u", \
    "correct it in the producer, or in the call's spec") \
  X(DTYPE_LANES_SCALABLE, ERROR_INVALID_TENSOR, \
    "the dtype is a scalable vector, whose size is unknown", \
    "at most 32767 lanes", \
    "%u", \
    "convert it to a dtype of known size; policies can set DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES") \
  X(DTYPE_BITS_FIXED, ERROR_INVALID_TENSOR, \
    "the dtype has a fixed width", \
    "%u bits", \
    "%t", \
    "correct it in the producer, or in the call's spec") \
  X(DTYPE_UNKNOWN, ERROR_UNKNOWN_CODE, \
    "the dtype code is unknown", \
    "a code of DLPack %v", \
    "code %u", \
    "convert it to a known dtype; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN, policies clear DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE") \
  X(DEVICE_UNKNOWN, ERROR_UNKNOWN_CODE, \
    "the device type is unknown", \
    "a type of DLPack %v", \
    "type %i", \
    "move it to a known device; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN, policies clear DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE") \
  X(FLAGS_UNKNOWN, ERROR_UNKNOWN_CODE, \
    "a flag bit is unknown", \
    "flags within %x", \
    "%x", \
    "clear the bit; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN, policies clear DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS") \
  X(DEVICE_ID_NEGATIVE, ERROR_INVALID_TENSOR, \
    "the device id is negative", \
    "at least 0", \
    "%i", \
    "correct it in the producer, or in the call's spec") \
  X(DEVICE_ID_HOST, OK, \
    "the device id of host-like memory is not 0", \
    "0", \
    "%i", \
    "") \
  X(EXTENT_NEGATIVE, ERROR_INVALID_TENSOR, \
    "an extent is negative", \
    "at least 0", \
    "%i", \
    "correct it in the producer, or in the call's spec") \
  X(COUNT_OVERFLOW, ERROR_INVALID_TENSOR, \
    "the number of elements overflows", \
    "at most 9223372036854775807 elements", \
    "a larger product", \
    "correct it in the producer, or in the call's spec") \
  X(SIZE_OVERFLOW, ERROR_INVALID_TENSOR, \
    "the size in bytes overflows", \
    "at most 9223372036854775807 bytes", \
    "%i elements", \
    "correct it in the producer, or in the call's spec") \
  X(OFFSET_OVERFLOW, ERROR_INVALID_TENSOR, \
    "an element's offset overflows", \
    "offsets that fit 63 bits and a sign", \
    "larger offsets", \
    "correct it in the producer, or in the call's spec") \
  X(DATA_NULL, ERROR_INVALID_TENSOR, \
    "data is NULL", \
    "memory of %i elements", \
    "NULL", \
    "correct it in the producer, or in the call's spec") \
  X(ADDRESS_RANGE, ERROR_INVALID_TENSOR, \
    "the tensor exceeds the address space", \
    "addresses that fit 64 bits", \
    "byte_offset %u with this data, shape and strides", \
    "correct it in the producer, or in the call's spec") \
  X(HANDLE_RANGE, ERROR_INVALID_TENSOR, \
    "the tensor begins before its handle", \
    "bytes from 0 on", \
    "byte %i", \
    "correct it in the producer, or in the call's spec") \
  X(BUFFER_BOUNDS, ERROR_POLICY, \
    "the tensor exceeds its buffer", \
    "bytes in [0, %u)", \
    "byte %i", \
    "correct the shape, the strides, the offset or buffer_size") \
  X(CONTIGUITY, ERROR_POLICY, \
    "the tensor is not contiguous as the policy requires", \
    "%c", \
    "another layout", \
    "copy it to that layout; dlbridge_copy makes C order") \
  X(ALIGNMENT, ERROR_POLICY, \
    "the data is not aligned as the policy requires", \
    "a multiple of %u bytes", \
    "a multiple of %u", \
    "copy it to aligned memory; dlbridge_copy aligns to 256 bytes") \
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
    "writing to the tensor is not permitted", \
    "a writable tensor", \
    "%w", \
    "make a copy with dlbridge_copy; if writability is not recorded but you know it, set DLBRIDGE_POLICY_VOUCH_WRITABLE") \
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
    "elements that do not overlap", \
    "%o", \
    "make a compact copy with dlbridge_copy, or set DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP") \
  X(DATA_UNALIGNED, OK, \
    "the data is not aligned to its element", \
    "a multiple of %u bytes", \
    "a multiple of %u", \
    "") \
  X(VERSION_LABEL, OK, \
    "the tensor uses features that are newer than its version", \
    "DLPack %v", \
    "%v", \
    "") \
  X(REQUIRED_VERSION, ERROR_VERSION, \
    "the consumer is too old for the tensor", \
    "at most DLPack %v", \
    "a tensor that needs %v", \
    "request a newer version; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN") \
  X(LEGACY_READ_ONLY, ERROR_UNREPRESENTABLE, \
    "a legacy tensor cannot record READ_ONLY", \
    "a tensor without READ_ONLY", \
    "READ_ONLY", \
    "keep it versioned, or downgrade it with DLBRIDGE_CONVERT_COPY or DLBRIDGE_CONVERT_DROP_READ_ONLY") \
  X(LEGACY_PADDED, ERROR_UNREPRESENTABLE, \
    "a legacy tensor cannot record padding", \
    "packed elements", \
    "padded %t", \
    "keep it versioned, or downgrade it with DLBRIDGE_CONVERT_COPY or DLBRIDGE_CONVERT_DROP_PADDED") \
  X(LEGACY_DTYPE, ERROR_UNREPRESENTABLE, \
    "the legacy version does not know the dtype code", \
    "a code of DLPack %v", \
    "%t", \
    "keep it versioned, or downgrade it with DLBRIDGE_CONVERT_ALLOW_NEWER_CODES") \
  X(LEGACY_DEVICE, ERROR_UNREPRESENTABLE, \
    "the legacy version does not know the device type", \
    "a type of DLPack %v", \
    "%d", \
    "keep it versioned, or downgrade it with DLBRIDGE_CONVERT_ALLOW_NEWER_CODES") \
  X(OFFSET_FOLD, ERROR_UNSUPPORTED, \
    "byte_offset cannot be added to data", \
    "a device whose data is an address", \
    "%d", \
    "clear DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET") \
  X(VIEW_BOUNDS, ERROR_BOUNDS, \
    "the view exceeds its parent", \
    "no element beyond %i", \
    "element %i", \
    "correct the shape, the strides or the offset of the spec") \
  X(VIEW_OFFSET, ERROR_BOUNDS, \
    "the view does not start at a whole byte", \
    "a multiple of 8 bits", \
    "bit %i", \
    "correct the offset of the spec") \
  X(IN_STORAGE, ERROR_UNSUPPORTED, \
    "the tensor is in storage of the caller", \
    "a tensor on the heap", \
    "a tensor in storage", \
    "call dlbridge_import first") \
  X(COPY_DEVICE, ERROR_UNSUPPORTED, \
    "the CPU cannot read the memory to copy", \
    "memory that the host can read", \
    "%d", \
    "copy it with dlbridge_copy") \
  X(DEVICE_LABEL, ERROR_INVALID_TENSOR, \
    "the memory is not on the device of the tensor", \
    "%m", \
    "%m", \
    "set the device that the driver reports, in the producer or in the call's spec") \
  X(ALLOCATION_BOUNDS, ERROR_INVALID_TENSOR, \
    "the tensor exceeds its allocation", \
    "bytes in [0, %u)", \
    "byte %i", \
    "correct the shape, the strides or the pointer") \
  X(SHAPE_MISMATCH, ERROR_POLICY, \
    "an extent differs from the policy's shape", \
    "%i", \
    "%i", \
    "reshape it, or correct the shape of the policy")

// clang-format on

#endif  // DLBRIDGE_SRC_DESCRIBE_STATUS_TABLE_H_
