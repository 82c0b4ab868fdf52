// SPDX-License-Identifier: Apache-2.0
// Dtypes, their C++ types, and devices. DLPack's enumerations are integers here.
#ifndef DLBRIDGE_HPP_ELEMENT_HPP_
#define DLBRIDGE_HPP_ELEMENT_HPP_

#include <complex>
#include <limits>
#if __has_include(<stdfloat>) && __cplusplus > 202002L
#include <stdfloat>
#endif

#include "dlbridge/hpp/config.hpp"

DLBRIDGE_HPP_BEGIN

using dtype = DLDataType;
using device = DLDevice;

/// A dtype from integers of any value.
constexpr dtype make_dtype(std::uint8_t code, std::uint8_t bits, std::uint16_t lanes = 1) noexcept {
  return {code, bits, lanes};
}

/// A device from integers of any value, since foreign device types need not be enumerators.
inline device make_device(std::int32_t type, std::int32_t id = 0) noexcept {
  const std::int32_t fields[2] = {type, id};
  device made;
  static_assert(sizeof made == sizeof fields);
  std::memcpy(&made, fields, sizeof made);
  return made;
}

/// The device's type as an integer.
inline std::int32_t device_type(const device& of) noexcept {
  std::int32_t type = 0;
  std::memcpy(&type, &of, sizeof type);
  return type;
}

constexpr bool equal(const dtype& a, const dtype& b) noexcept {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
inline bool equal(const device& a, const device& b) noexcept {
  return device_type(a) == device_type(b) && a.device_id == b.device_id;
}

/// The element of a bool tensor: a byte, true unless it is 0. A foreign byte may be 2, which as a
/// C++ bool is undefined behaviour.
struct boolean {
  std::uint8_t byte = 0;

  constexpr boolean() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): assigned from bool
  constexpr boolean(bool value) noexcept : byte(value ? 1 : 0) {}
  // NOLINTNEXTLINE(google-explicit-constructor): read as bool
  constexpr operator bool() const noexcept { return byte != 0; }
};

/// The dtype of the elements of a C++ type. Specialise it for your own types, such as a
/// half: `static constexpr dlbridge::dtype value = dlbridge::make_dtype(kDLFloat, 16);` The type
/// must be as large as its dtype. A type for a dtype of less than a byte fills a whole byte, so it
/// stands for padded elements only (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED).
template <class T, class = void>
struct dtype_of;

template <class T>
struct dtype_of<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static constexpr dtype value = make_dtype(std::is_signed_v<T> ? kDLInt : kDLUInt,
                                            std::numeric_limits<unsigned char>::digits * sizeof(T));
};
template <class T>
struct dtype_of<T, std::enable_if_t<std::is_same_v<T, float> || std::is_same_v<T, double>>> {
  static constexpr dtype value = make_dtype(kDLFloat, 8 * sizeof(T));
};
template <class T>
struct dtype_of<std::complex<T>,
                std::enable_if_t<std::is_same_v<T, float> || std::is_same_v<T, double>>> {
  static constexpr dtype value = make_dtype(kDLComplex, 16 * sizeof(T));
};
template <>
struct dtype_of<bool> {
  static constexpr dtype value = make_dtype(kDLBool, 8);
};
template <>
struct dtype_of<boolean> {
  static constexpr dtype value = make_dtype(kDLBool, 8);
};
#if defined(__STDCPP_FLOAT16_T__)
template <>
struct dtype_of<std::float16_t> {
  static constexpr dtype value = make_dtype(kDLFloat, 16);
};
#endif
#if defined(__STDCPP_BFLOAT16_T__)
template <>
struct dtype_of<std::bfloat16_t> {
  static constexpr dtype value = make_dtype(kDLBfloat, 16);
};
#endif

namespace detail {

template <class T, class = void>
inline constexpr bool has_dtype = false;
template <class T>
inline constexpr bool has_dtype<T, std::void_t<decltype(dtype_of<std::remove_cv_t<T>>::value)>> =
    true;

// Bits of a packed element.
template <class T>
inline constexpr std::size_t packed_bits = std::size_t{dtype_of<std::remove_cv_t<T>>::value.bits} *
                                           dtype_of<std::remove_cv_t<T>>::value.lanes;

// True if T stands only for elements that are padded to whole bytes.
template <class T>
inline constexpr bool is_padded = packed_bits<T> % 8 != 0;

// True if the distance between two T is that between two elements.
template <class T>
constexpr void require_element_size() noexcept {
  if constexpr (has_dtype<T>) {
    static_assert(sizeof(T) == (packed_bits<T> + 7) / 8,
                  "dlbridge: the size of the type differs from its dlbridge::dtype_of");
  }
}

// Rejects types that cannot stand for elements of a foreign tensor.
template <class T>
constexpr void require_element() noexcept {
  static_assert(
      !std::is_same_v<std::remove_cv_t<T>, bool>,
      "dlbridge: a foreign byte need not be 0 or 1: read bool tensors as dlbridge::boolean");
  static_assert(std::is_same_v<std::remove_cv_t<T>, bool> || has_dtype<T>,
                "dlbridge: no DLPack dtype is known for this type: specialise dlbridge::dtype_of");
  static_assert(std::is_trivially_copyable_v<T>,
                "dlbridge: elements of a tensor are trivially copyable");
  require_element_size<T>();
}

// The product of non-negative extents modulo 2^64; 0 if one of them is 0, however large the others
// are.
DLBRIDGE_HPP_HD constexpr std::int64_t count_elements(const std::int64_t* shape,
                                                      std::size_t rank) noexcept {
  std::uint64_t count = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    count *= static_cast<std::uint64_t>(shape[axis]);
    if (shape[axis] == 0) {
      return 0;
    }
  }
  return static_cast<std::int64_t>(count);
}

}  // namespace detail

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_ELEMENT_HPP_
