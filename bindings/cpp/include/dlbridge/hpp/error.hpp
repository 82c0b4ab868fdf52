// SPDX-License-Identifier: Apache-2.0
// The cause of a failed call: as a value (`error`), and as an exception that carries it.
#ifndef DLBRIDGE_HPP_ERROR_HPP_
#define DLBRIDGE_HPP_ERROR_HPP_

#include <cstdarg>
#include <cstdio>
#include <exception>
#include <string_view>

#include "dlbridge/hpp/abi.hpp"

DLBRIDGE_HPP_BEGIN

/// Outcome of a call. Values that are not listed may come from a newer library.
enum class status_code : std::int32_t {
  // [facts/statuses.toml]
  ok = DLBRIDGE_OK,
  invalid_argument = DLBRIDGE_ERROR_INVALID_ARGUMENT,
  too_new = DLBRIDGE_ERROR_TOO_NEW,
  out_of_memory = DLBRIDGE_ERROR_OUT_OF_MEMORY,
  invalid_tensor = DLBRIDGE_ERROR_INVALID_TENSOR,
  version = DLBRIDGE_ERROR_VERSION,
  policy = DLBRIDGE_ERROR_POLICY,
  unrepresentable = DLBRIDGE_ERROR_UNREPRESENTABLE,
  unknown_code = DLBRIDGE_ERROR_UNKNOWN_CODE,
  foreign_tensor = DLBRIDGE_ERROR_FOREIGN_TENSOR,
  unsupported = DLBRIDGE_ERROR_UNSUPPORTED,
  buffer_too_small = DLBRIDGE_ERROR_BUFFER_TOO_SMALL,
  parse = DLBRIDGE_ERROR_PARSE,
  not_found = DLBRIDGE_ERROR_NOT_FOUND,
  bounds = DLBRIDGE_ERROR_BOUNDS,
  forked = DLBRIDGE_ERROR_FORKED,
  unavailable = DLBRIDGE_ERROR_UNAVAILABLE,
  driver = DLBRIDGE_ERROR_DRIVER,
  exists = DLBRIDGE_ERROR_EXISTS,
  capture = DLBRIDGE_ERROR_CAPTURE,
  descriptor = DLBRIDGE_ERROR_DESCRIPTOR,
  ambiguous = DLBRIDGE_ERROR_AMBIGUOUS,
  // [/facts]
};

/// Which rule a tensor broke. Values that are not listed may come from a newer library.
enum class rule_code : std::int32_t {
  // [facts/rules.toml]
  none = DLBRIDGE_RULE_NONE,
  version_major = DLBRIDGE_RULE_VERSION_MAJOR,
  ndim_negative = DLBRIDGE_RULE_NDIM_NEGATIVE,
  ndim_limit = DLBRIDGE_RULE_NDIM_LIMIT,
  shape_null = DLBRIDGE_RULE_SHAPE_NULL,
  strides_null = DLBRIDGE_RULE_STRIDES_NULL,
  dtype_bits_zero = DLBRIDGE_RULE_DTYPE_BITS_ZERO,
  dtype_lanes_zero = DLBRIDGE_RULE_DTYPE_LANES_ZERO,
  dtype_lanes_scalable = DLBRIDGE_RULE_DTYPE_LANES_SCALABLE,
  dtype_bits_fixed = DLBRIDGE_RULE_DTYPE_BITS_FIXED,
  dtype_unknown = DLBRIDGE_RULE_DTYPE_UNKNOWN,
  device_unknown = DLBRIDGE_RULE_DEVICE_UNKNOWN,
  flags_unknown = DLBRIDGE_RULE_FLAGS_UNKNOWN,
  device_id_negative = DLBRIDGE_RULE_DEVICE_ID_NEGATIVE,
  device_id_host = DLBRIDGE_RULE_DEVICE_ID_HOST,
  extent_negative = DLBRIDGE_RULE_EXTENT_NEGATIVE,
  count_overflow = DLBRIDGE_RULE_COUNT_OVERFLOW,
  size_overflow = DLBRIDGE_RULE_SIZE_OVERFLOW,
  offset_overflow = DLBRIDGE_RULE_OFFSET_OVERFLOW,
  data_null = DLBRIDGE_RULE_DATA_NULL,
  address_range = DLBRIDGE_RULE_ADDRESS_RANGE,
  handle_range = DLBRIDGE_RULE_HANDLE_RANGE,
  buffer_bounds = DLBRIDGE_RULE_BUFFER_BOUNDS,
  contiguity = DLBRIDGE_RULE_CONTIGUITY,
  alignment = DLBRIDGE_RULE_ALIGNMENT,
  device_rejected = DLBRIDGE_RULE_DEVICE_REJECTED,
  dtype_rejected = DLBRIDGE_RULE_DTYPE_REJECTED,
  not_writable = DLBRIDGE_RULE_NOT_WRITABLE,
  negative_stride = DLBRIDGE_RULE_NEGATIVE_STRIDE,
  zero_stride = DLBRIDGE_RULE_ZERO_STRIDE,
  self_overlap = DLBRIDGE_RULE_SELF_OVERLAP,
  data_unaligned = DLBRIDGE_RULE_DATA_UNALIGNED,
  version_label = DLBRIDGE_RULE_VERSION_LABEL,
  required_version = DLBRIDGE_RULE_REQUIRED_VERSION,
  legacy_read_only = DLBRIDGE_RULE_LEGACY_READ_ONLY,
  legacy_padded = DLBRIDGE_RULE_LEGACY_PADDED,
  legacy_dtype = DLBRIDGE_RULE_LEGACY_DTYPE,
  legacy_device = DLBRIDGE_RULE_LEGACY_DEVICE,
  offset_fold = DLBRIDGE_RULE_OFFSET_FOLD,
  view_bounds = DLBRIDGE_RULE_VIEW_BOUNDS,
  view_offset = DLBRIDGE_RULE_VIEW_OFFSET,
  in_storage = DLBRIDGE_RULE_IN_STORAGE,
  copy_device = DLBRIDGE_RULE_COPY_DEVICE,
  device_label = DLBRIDGE_RULE_DEVICE_LABEL,
  allocation_bounds = DLBRIDGE_RULE_ALLOCATION_BOUNDS,
  shape_mismatch = DLBRIDGE_RULE_SHAPE_MISMATCH,
  // [/facts]
};

/// Name of a status such as "DLBRIDGE_ERROR_VERSION"; static.
inline const char* name(status_code code) noexcept {
  return abi::status_name(static_cast<DLBridgeStatus>(code));
}
/// One English sentence on a status; static.
inline const char* text(status_code code) noexcept {
  return abi::status_text(static_cast<DLBridgeStatus>(code));
}
/// Name of a rule such as "NDIM_NEGATIVE"; static.
inline const char* name(rule_code code) noexcept {
  return abi::rule_name(static_cast<DLBridgeRule>(code));
}
/// One English phrase on what is wrong when a rule is broken; static.
inline const char* text(rule_code code) noexcept {
  return abi::rule_text(static_cast<DLBridgeRule>(code));
}

/// The cause of a failure, with the library's message. A value of 256 bytes; copying allocates
/// nothing. After success it has status_code::ok and an empty message.
class error {
 public:
  /// No error.
  error() noexcept { clear(); }
  /// Uninitialised, for a call of the C ABI that fills it on failure: read it only after a failure
  /// or
  /// set().
  struct unfilled {};
  explicit error(unfilled /*tag*/) noexcept {}  // NOLINT(cppcoreguidelines-pro-type-member-init)
  /// An error of the binding or of the user; `format` and its arguments are those of printf.
#if defined(__GNUC__)
  __attribute__((format(printf, 5, 6)))
#endif
  error(status_code code, rule_code broken, std::int32_t axis, const char* format, ...) noexcept {
    raw_.status = static_cast<DLBridgeStatus>(code);
    raw_.rule = static_cast<DLBridgeRule>(broken);
    raw_.axis = axis;
    raw_.native_code = 0;
    raw_.reserved[0] = 0;
    raw_.reserved[1] = 0;
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(raw_.message, sizeof raw_.message, format, arguments);
    va_end(arguments);
  }

  status_code status() const noexcept { return static_cast<status_code>(raw_.status); }
  /// The rule that the tensor broke, or rule_code::none.
  rule_code rule() const noexcept { return static_cast<rule_code>(raw_.rule); }
  /// The axis concerned, from 0; -1 if none applies.
  std::int32_t axis() const noexcept { return raw_.axis; }
  /// The error code of the driver's call that failed; 0 if no driver's call failed.
  std::int32_t native_code() const noexcept { return raw_.native_code; }
  /// Expected, found, remedy; lives as long as this object.
  const char* message() const noexcept DLBRIDGE_HPP_BORROWS { return raw_.message; }
  explicit operator bool() const noexcept { return raw_.status != DLBRIDGE_OK; }

  const DLBridgeError& raw() const noexcept DLBRIDGE_HPP_BORROWS { return raw_; }
  /// For a call of the C ABI, which fills it on failure.
  DLBridgeError* sink() noexcept DLBRIDGE_HPP_BORROWS { return &raw_; }
  /// Records the status that the call returned. After success the C struct is unspecified, so it is
  /// cleared.
  void set(DLBridgeStatus code) noexcept {
    if (code == DLBRIDGE_OK) {
      clear();
    }
    raw_.status = code;
  }

 private:
  // The bytes after the end of the message are never read.
  void clear() noexcept {
    raw_.status = DLBRIDGE_OK;
    raw_.rule = DLBRIDGE_RULE_NONE;
    raw_.axis = -1;
    raw_.native_code = 0;
    raw_.reserved[0] = 0;
    raw_.reserved[1] = 0;
    raw_.message[0] = '\0';
  }

  DLBridgeError raw_;
};

/// Thrown by result::value(). Copying it cannot throw.
class exception : public std::exception {
 public:
  explicit exception(const dlbridge::error& error) noexcept : error_(error) {}
  const char* what() const noexcept override { return error_.message(); }
  const dlbridge::error& error() const noexcept DLBRIDGE_HPP_BORROWS { return error_; }
  status_code status() const noexcept { return error_.status(); }
  rule_code rule() const noexcept { return error_.rule(); }
  std::int32_t axis() const noexcept { return error_.axis(); }

 private:
  dlbridge::error error_;
};

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_ERROR_HPP_
