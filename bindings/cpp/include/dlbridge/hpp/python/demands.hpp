// SPDX-License-Identifier: Apache-2.0
// The demands that an argument's type states: device, order, several dtypes.
#ifndef DLBRIDGE_HPP_PYTHON_DEMANDS_HPP_
#define DLBRIDGE_HPP_PYTHON_DEMANDS_HPP_

#include "dlbridge/hpp/arg.hpp"

DLBRIDGE_HPP_BEGIN
namespace py {

using dlbridge::shape;

/// The tensor is on a device of this type. Whether the CPU can read the elements depends on the
/// type: it can for the CPU, cuda_host, cuda_managed and rocm_host. \since 0.4.0
template <std::int32_t DeviceType>
struct on {};
using cpu = on<kDLCPU>;                   ///< The default. \since 0.4.0
using cuda = on<kDLCUDA>;                 ///< \since 0.4.0
using cuda_host = on<kDLCUDAHost>;        ///< \since 0.4.0
using cuda_managed = on<kDLCUDAManaged>;  ///< \since 0.4.0
using rocm = on<kDLROCM>;                 ///< \since 0.4.0
using rocm_host = on<kDLROCMHost>;        ///< \since 0.4.0
using one_api = on<kDLOneAPI>;            ///< \since 0.4.0

/// The tensor is compact, in this order. \since 0.4.0
template <contiguity Order>
struct ordered {};
using c_contiguous = ordered<contiguity::c>;     ///< The last axis is fastest. \since 0.4.0
using f_contiguous = ordered<contiguity::f>;     ///< The first axis is fastest. \since 0.4.0
using contiguous = ordered<contiguity::c_or_f>;  ///< Either. \since 0.4.0

/// You know that every legacy tensor, which does not record writability, may be written to. A
/// tensor that is marked READ_ONLY is still rejected. \since 0.4.0
struct vouch_writable {};

/// One of several element types, for arg. \since 0.4.0
template <class... Elements>
struct one_of {
  static_assert(sizeof...(Elements) > 0, "dlbridge: expected at least one element type");
  static_assert((... && std::is_const_v<Elements>) || !(... || std::is_const_v<Elements>),
                "dlbridge: either all element types of an argument are const, or none");
};

namespace detail {

template <class T>
inline constexpr bool is_device = false;
template <std::int32_t DeviceType>
inline constexpr bool is_device<on<DeviceType>> = true;
template <class T>
inline constexpr bool is_order = false;
template <contiguity Order>
inline constexpr bool is_order<ordered<Order>> = true;

template <std::int32_t DeviceType>
constexpr std::int32_t device_of(on<DeviceType> /*tag*/) noexcept {
  return DeviceType;
}
template <contiguity Order>
constexpr contiguity order_of(ordered<Order> /*tag*/) noexcept {
  return Order;
}

template <class T>
struct one_type {
  using type = T;
};

// The demands of an argument, which are types in any order.
template <class... Demands>
class demand_list {
  static constexpr std::size_t shapes =
      (std::size_t{0} + ... + dlbridge::detail::is_shape<Demands>);
  static constexpr std::size_t devices = (std::size_t{0} + ... + is_device<Demands>);
  static constexpr std::size_t orders = (std::size_t{0} + ... + is_order<Demands>);
  static constexpr std::size_t vouches =
      (std::size_t{0} + ... + std::is_same_v<Demands, vouch_writable>);
  static_assert(shapes == 1,
                "dlbridge: an argument has one dlbridge::shape, with -1 for any extent");
  static_assert(devices <= 1, "dlbridge: an argument has at most one device type");
  static_assert(orders <= 1, "dlbridge: an argument has at most one order of its elements");
  static_assert(
      shapes + devices + orders + vouches == sizeof...(Demands),
      "dlbridge: the demands of an argument are a shape, a device type (cpu, cuda, ...), an "
      "order (c_contiguous, f_contiguous, contiguous) and vouch_writable");

  template <class First, class... Rest>
  static constexpr auto find_shape() noexcept {
    if constexpr (dlbridge::detail::is_shape<First>) {
      return one_type<First>();
    } else if constexpr (sizeof...(Rest) > 0) {
      return find_shape<Rest...>();
    } else {
      return one_type<shape<>>();
    }
  }
  template <class First, class... Rest>
  static constexpr std::int32_t find_device() noexcept {
    if constexpr (is_device<First>) {
      return device_of(First());
    } else if constexpr (sizeof...(Rest) > 0) {
      return find_device<Rest...>();
    } else {
      return kDLCPU;
    }
  }
  template <class First, class... Rest>
  static constexpr contiguity find_order() noexcept {
    if constexpr (is_order<First>) {
      return order_of(First());
    } else if constexpr (sizeof...(Rest) > 0) {
      return find_order<Rest...>();
    } else {
      return contiguity::any;
    }
  }

 public:
  using extents = typename decltype(find_shape<Demands..., void>())::type;
  static constexpr std::int32_t device_type = find_device<Demands..., void>();
  static constexpr contiguity order = find_order<Demands..., void>();
  static constexpr access how = vouches != 0 ? access::vouch_writable : access::on_host;
  template <class T>
  using arg_of = dlbridge::arg<T, extents, order, device_type>;
};

}  // namespace detail
}  // namespace py
DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_PYTHON_DEMANDS_HPP_
