// SPDX-License-Identifier: Apache-2.0
// Typed arguments: one call makes a managed tensor a view whose C++ type states its dtype, shape
// and device.
#ifndef DLBRIDGE_HPP_ARG_HPP_
#define DLBRIDGE_HPP_ARG_HPP_

#include "dlbridge/hpp/describe.hpp"

DLBRIDGE_HPP_BEGIN

/// The extents of an arg: a number of elements for each axis, or -1 for any. None: a scalar.
template <std::int64_t... Extents>
struct shape {
  static_assert((... && (Extents >= -1)),
                "dlbridge: an extent is a number of elements, or -1 for any");
  static_assert(sizeof...(Extents) <= DLBRIDGE_MAX_NDIM, "dlbridge: a tensor has at most 64 axes");
  static constexpr std::size_t rank = sizeof...(Extents);
  static constexpr std::array<std::int64_t, rank> extents = {Extents...};
};

namespace detail {

template <class Shape>
inline constexpr bool is_shape = false;
template <std::int64_t... Extents>
inline constexpr bool is_shape<shape<Extents...>> = true;

template <class T>
constexpr bool is_element() noexcept {
  require_element<T>();
  return true;
}

constexpr bool has_addresses(std::int32_t type) noexcept {
  return type != kDLOpenCL && type != kDLVulkan && type != kDLMetal && type != kDLWebGPU &&
         type != kDLVPI;
}

// Gives the elements of a tensor that was validated by the policy of an arg.
struct opener {
  template <class T, std::size_t Rank>
  static strided_view<T, Rank> open(const checked_ref& checked) noexcept {
    return checked.open<T, Rank>();
  }
};

// A copy of a struct, so that another thread that changes the struct cannot change what was
// validated.
template <std::size_t Rank>
class snapshot {
 public:
  explicit snapshot(const DLTensor& of) noexcept : tensor_(of) {
    if (static_cast<std::size_t>(tensor_.ndim) == Rank) {  // otherwise the library rejects its ndim
      tensor_.shape = copy(tensor_.shape, shape_);
      tensor_.strides = copy(tensor_.strides, strides_);
    }
  }
  snapshot(const snapshot&) = delete;
  snapshot& operator=(const snapshot&) = delete;
  ~snapshot() = default;

  template <class T>
  result<strided_view<T, Rank>> open(std::uint64_t flags, const policy& demands) const noexcept {
    error why{error::unfilled()};
    const DLBridgeStatus status = abi::validate(&tensor_, flags, demands.raw(), why.sink());
    if (status != DLBRIDGE_OK) {
      return failed<strided_view<T, Rank>>(why, status);
    }
    return opener::open<T, Rank>(trust::assume_validated(&tensor_, flags));
  }

 private:
  static std::int64_t* copy(const std::int64_t* from, std::int64_t* to) noexcept {
    if (from == nullptr) {
      return nullptr;
    }
    std::memcpy(to, from, Rank * sizeof *to);
    return to;
  }
  std::int64_t shape_[Rank != 0 ? Rank : 1] = {};
  std::int64_t strides_[Rank != 0 ? Rank : 1] = {};
  DLTensor tensor_;
};

}  // namespace detail

/// A tensor as an argument of type T: its dtype, ndim, extents, device and alignment are checked by
/// the library, so an error names the rule, what was expected and what was found. A `const T` is
/// only read; any other T also needs a tensor that may be written to and whose elements do not
/// overlap. `Order` demands a contiguous tensor, `Device` another device type than the CPU; whether
/// the CPU can read its elements depends on the type.
///
///   using points = dlbridge::arg<const float, dlbridge::shape<-1, 3>>;
///   const auto given = points::import(managed);   // owns: result<points>
///   const auto seen = points::check(tensor);      // borrows: result<points::view_type>
///
/// An arg is an owner: movable, released once, empty after a move from it.
template <class T, class Shape, contiguity Order = contiguity::any, std::int32_t Device = kDLCPU>
class arg {
  static_assert(detail::is_shape<Shape>,
                "dlbridge: the second parameter of an arg is a dlbridge::shape");
  static_assert(detail::is_element<T>());
  static_assert(!detail::is_padded<T>,
                "dlbridge: an arg has elements of whole bytes: use tensor.elements() for others");
  static_assert(detail::has_addresses(Device),
                "dlbridge: memory of this device type is a handle: it has no elements to address");

 public:
  using element_type = T;
  static constexpr std::size_t rank = Shape::rank;
  using view_type = strided_view<T, rank>;

  /// An arg without a tensor: its extents are 0.
  arg() noexcept = default;
  arg(arg&& other) noexcept
      : owner_(std::move(other.owner_)), view_(std::exchange(other.view_, view_type())) {}
  arg& operator=(arg&& other) noexcept {
    view_ = std::exchange(other.view_, view_type());
    owner_ = std::move(other.owner_);
    return *this;
  }
  arg(const arg&) = delete;
  arg& operator=(const arg&) = delete;
  ~arg() = default;
  /// The caller guarantees that `from` was validated by the demands() of this type. \since 0.4.0
  static arg assume_validated(tensor&& from) noexcept { return arg(std::move(from)); }

  /// Imports `source`, which is any argument of dlbridge::import, by the demands of this type. On
  /// success the arg owns the tensor; on failure the source is untouched. access::vouch_writable:
  /// the caller knows that a legacy tensor may be written to.
  template <class Source>
  static result<arg> import(Source&& source, access how = access::on_host) noexcept {
    detail::require_source<Source>();
    const policy by = demands(how);
    return imported(dlbridge::import(std::forward<Source>(source), options(by, how)));
  }
  /// Imports a `void*` whose kind is known.
  template <class Pointer>
  static result<arg> import(Pointer&& source, kind is, access how = access::on_host) noexcept {
    const policy by = demands(how);
    return imported(dlbridge::import(std::forward<Pointer>(source), is, options(by, how)));
  }

  /// Checks a borrowed tensor, which must outlive the view. Its metadata is copied to
  /// the view.
  template <class Managed>
  static result<view_type> check(const detail::open_handle<Managed>& tensor DLBRIDGE_HPP_BORROWS,
                                 access how = access::on_host) noexcept {
    return check(static_cast<const Managed*>(tensor.get()), how);
  }
  template <class Managed>
  static result<view_type> check(const detail::open_handle<Managed>&& tensor,
                                 access how = access::on_host) = delete;
  template <class Managed>
  static result<view_type> check(const foreign<Managed>& tensor DLBRIDGE_HPP_BORROWS,
                                 access how = access::on_host) noexcept {
    return check(static_cast<const Managed*>(tensor.get()), how);
  }
  template <class Managed>
  static result<view_type> check(const foreign<Managed>&& tensor,
                                 access how = access::on_host) = delete;
  static result<view_type> check(const DLManagedTensor* tensor DLBRIDGE_HPP_BORROWS,
                                 access how = access::on_host) noexcept {
    const policy by = demands(how);
    return check_managed(tensor, by, [&] { return open(tensor->dl_tensor, 0, by); });
  }
  static result<view_type> check(const DLManagedTensorVersioned* tensor DLBRIDGE_HPP_BORROWS,
                                 access how = access::on_host) noexcept {
    const policy by = demands(how);
    // READ_ONLY in the struct still binds.
    return check_managed(
        tensor, by, [&] { return open(tensor->dl_tensor, tensor->flags, by.vouch_writable()); });
  }
  /// Checks a `void*`, whose kind the bytes decide.
  template <class Pointer, class = std::enable_if_t<std::is_same_v<detail::plain<Pointer>, void*>>>
  static result<view_type> check(Pointer&& tensor, access how = access::on_host) noexcept {
    const kind found = identify(tensor);
    return found == kind::legacy ? check(static_cast<const DLManagedTensor*>(tensor), how)
           : found == kind::versioned
               ? check(static_cast<const DLManagedTensorVersioned*>(tensor), how)
               : detail::undecided(tensor, found);
  }
  static result<view_type> check(const checked_ref& tensor, access how = access::on_host) noexcept {
    if (tensor.raw() == nullptr) {
      return check(foreign_ref(), how);
    }
    const policy by = demands(how);
    return open(*tensor.raw(), tensor.flags(), tensor.read_only() ? by : by.vouch_writable());
  }
  static result<view_type> check(const foreign_ref& tensor, access how = access::on_host) noexcept {
    if (tensor.raw() == nullptr) {
      return error(status_code::invalid_argument, rule_code::none, -1,
                   "tensor: expected a DLTensor, found NULL");
    }
    return open(*tensor.raw(), tensor.flags(), demands(how));
  }

  /// The demands of this type, for other calls that take a policy.
  static constexpr policy demands(access how = access::on_host) noexcept {
    policy made = policy()
                      .reject_unknown_flags()
                      .shape(Shape::extents)
                      .dtypes(accepted_dtypes)
                      .devices(accepted_devices)
                      .alignment(alignof(T))
                      .contiguity(Order);
    made = std::is_const_v<T> ? made : made.require_writable();
    return has(how, access::vouch_writable) ? made.vouch_writable() : made;
  }

  /// The elements; valid as long as this arg.
  const view_type& view() const& noexcept DLBRIDGE_HPP_BORROWS { return view_; }
  view_type view() const&& = delete;
  /// The tensor, to share or export it; empty where the arg is.
  const tensor& owner() const& noexcept DLBRIDGE_HPP_BORROWS { return owner_; }
  tensor owner() && noexcept {
    view_ = view_type();
    return std::move(owner_);
  }
  explicit operator bool() const noexcept { return static_cast<bool>(owner_); }

  std::int64_t extent(std::size_t axis) const noexcept { return view_.extent(axis); }
  std::int64_t stride(std::size_t axis) const noexcept { return view_.stride(axis); }
  std::int64_t size() const noexcept { return view_.size(); }
  T* data() const& noexcept DLBRIDGE_HPP_BORROWS { return view_.data(); }
  T* data() const&& = delete;
  /// Element (i, j, ...). Precondition: each index is in its extent.
  template <class... Indices>
  T& operator()(Indices... indices) const& noexcept DLBRIDGE_HPP_BORROWS {
    return view_(indices...);
  }
  template <class... Indices>
  T& operator()(Indices... indices) const&& = delete;
  /// Element (i, j, ...), or NULL where an index is out of its extent.
  template <class... Indices>
  T* find(Indices... indices) const& noexcept DLBRIDGE_HPP_BORROWS {
    return view_.find(indices...);
  }
  template <class... Indices>
  T* find(Indices... indices) const&& = delete;
  /// Element (i, j, ...); throws dlbridge::exception (bounds) where an index is out of its extent.
  template <class... Indices>
  T& at(Indices... indices) const& DLBRIDGE_HPP_BORROWS {
    return view_.at(indices...);
  }
  template <class... Indices>
  T& at(Indices... indices) const&& = delete;

 private:
  static constexpr dtype accepted_dtypes[] = {dtype_of<std::remove_cv_t<T>>::value};
  static constexpr device accepted_devices[] = {{static_cast<DLDeviceType>(Device), -1}};

  explicit arg(tensor&& from) noexcept
      : owner_(std::move(from)),
        view_(detail::opener::open<T, rank>(trust::assume_validated(owner_.get()))) {}

  static convert_options options(const policy& by DLBRIDGE_HPP_BORROWS, access how) noexcept {
    const convert_options made = convert_options().policy(by);
    return has(how, access::vouch_writable) ? made.vouch_writable() : made;
  }
  static result<arg> imported(result<tensor>&& made) noexcept {
    if (!made) {
      return result<arg>(made.error());
    }
    return arg(*std::move(made));
  }
  template <class Managed, class Open>
  static result<view_type> check_managed(const Managed* tensor, const policy& by,
                                         Open&& open) noexcept {
    error why{error::unfilled()};
    const DLBridgeStatus status = detail::validate_managed(tensor, by.raw(), why.sink());
    return status != DLBRIDGE_OK ? detail::failed<view_type>(why, status) : open();
  }
  // For a struct without a version, or with one whose rules it follows: NULL strides mean compact.
  static result<view_type> open(const DLTensor& tensor, std::uint64_t flags,
                                const policy& by) noexcept {
    return detail::snapshot<rank>(tensor).template open<T>(flags, by.allow_null_strides());
  }

  tensor owner_;
  view_type view_;
};

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_ARG_HPP_
