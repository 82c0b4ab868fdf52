// SPDX-License-Identifier: Apache-2.0
// An argument's type as text, for the signatures that pybind11 and nanobind show:
// `typing.Annotated[object, "float32[-1, 3]"]`.
#ifndef DLBRIDGE_HPP_PYTHON_LABEL_HPP_
#define DLBRIDGE_HPP_PYTHON_LABEL_HPP_

#include "dlbridge/hpp/python/arg.hpp"

DLBRIDGE_HPP_BEGIN
namespace py::detail {

// Text that is made by the compiler.
struct text {
  char data[1024] = {};
  std::size_t size = 0;

  constexpr void add(const char* more) noexcept {
    while (*more != '\0' && size + 1 < sizeof data) {
      data[size++] = *more++;
    }
  }
  constexpr void add(std::int64_t number) noexcept {
    char digits[24] = {};
    std::size_t first = sizeof digits - 1;
    std::int64_t rest = number < 0 ? -number : number;
    do {
      digits[--first] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    add(number < 0 ? "-" : "");
    add(&digits[first]);
  }
};

constexpr const char* code_name(std::uint8_t code) noexcept {
  return code == kDLInt       ? "int"
         : code == kDLUInt    ? "uint"
         : code == kDLFloat   ? "float"
         : code == kDLBfloat  ? "bfloat"
         : code == kDLComplex ? "complex"
         : code == kDLBool    ? "bool"
                              : "dtype";
}
constexpr const char* device_name(std::int32_t type) noexcept {
  return type == kDLCUDA          ? ", cuda"
         : type == kDLCUDAHost    ? ", cuda_host"
         : type == kDLCUDAManaged ? ", cuda_managed"
         : type == kDLROCM        ? ", rocm"
         : type == kDLROCMHost    ? ", rocm_host"
         : type == kDLOneAPI      ? ", one_api"
                                  : ", another device";
}

template <class T>
constexpr void add_element(text& out) noexcept {
  constexpr dtype is = dtype_of<std::remove_cv_t<T>>::value;
  out.add(out.data[out.size - 1] == '"' ? "" : " | ");
  out.add(code_name(is.code));
  if (is.code != kDLBool) {
    out.add(std::int64_t{is.bits});
  }
}
template <class... Elements>
constexpr void add_elements(text& out, one_type<one_of<Elements...>> /*tag*/) noexcept {
  (..., add_element<Elements>(out));
}
template <class T>
constexpr void add_elements(text& out, one_type<T> /*tag*/) noexcept {
  add_element<T>(out);
}
template <class T>
inline constexpr bool is_read = std::is_const_v<T>;
template <class First, class... Elements>
inline constexpr bool is_read<one_of<First, Elements...>> = std::is_const_v<First>;

template <class T, class... Demands>
constexpr text describe(one_type<arg<T, Demands...>> /*tag*/) noexcept {
  using list = demand_list<Demands...>;
  text out;
  out.add("typing.Annotated[object, \"");
  add_elements(out, one_type<T>());
  out.add("[");
  for (std::size_t axis = 0; axis < list::extents::rank; ++axis) {
    out.add(axis != 0 ? ", " : "");
    out.add(list::extents::extents[axis]);
  }
  out.add("]");
  out.add(list::order == contiguity::c        ? ", c_contiguous"
          : list::order == contiguity::f      ? ", f_contiguous"
          : list::order == contiguity::c_or_f ? ", contiguous"
                                              : "");
  out.add(list::device_type == kDLCPU ? "" : device_name(list::device_type));
  out.add(is_read<T> ? "" : ", writable");
  out.add("\"]");
  return out;
}

// The text as an array of its length.
template <std::size_t Size>
struct exact_text {
  char data[Size + 1] = {};
};
template <class Arg>
constexpr auto exact_label() noexcept {
  constexpr text all = describe(one_type<Arg>());
  exact_text<all.size> out;
  for (std::size_t i = 0; i < all.size; ++i) {
    out.data[i] = all.data[i];
  }
  return out;
}
template <class Arg>
inline constexpr auto label = exact_label<Arg>();

}  // namespace py::detail
DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_PYTHON_LABEL_HPP_
