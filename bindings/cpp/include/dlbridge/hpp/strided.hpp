// SPDX-License-Identifier: Apache-2.0
// strided_view<T, Rank>: elements by index, for C++17; a smaller std::mdspan with any strides.
#ifndef DLBRIDGE_HPP_STRIDED_HPP_
#define DLBRIDGE_HPP_STRIDED_HPP_

#include <array>

#include "dlbridge/hpp/element.hpp"
#include "dlbridge/hpp/result.hpp"

DLBRIDGE_HPP_BEGIN

/// The elements of a tensor, borrowed: valid as long as the tensor's owner. A value that is copied
/// freely, also into kernels. `T` is const where the tensor may not be written to. Strides count
/// elements and may be negative or 0. operator() trusts its indices, as std::mdspan does; find()
/// and at() check them.
template <class T, std::size_t Rank>
class strided_view {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  static constexpr std::size_t rank = Rank;

  /// An empty view: its extents are 0.
  constexpr strided_view() noexcept = default;
  /// A view of the caller's memory: both arrays have `Rank` entries and are copied.
  constexpr strided_view(T* data, const std::int64_t* shape, const std::int64_t* strides) noexcept
      : data_(data) {
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      shape_[axis] = shape[axis];
      strides_[axis] = strides[axis];
    }
  }
  /// A view of T converts to one of const T.
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  // NOLINTNEXTLINE(google-explicit-constructor): as T* to const T*
  constexpr strided_view(const strided_view<U, Rank>& other) noexcept
      : strided_view(other.data(), other.shape().data(), other.strides().data()) {}

  /// Element (0,...,0).
  DLBRIDGE_HPP_HD constexpr T* data() const noexcept { return data_; }
  /// Borrowed from this view, so deleted for a temporary.
  constexpr span<const std::int64_t> shape() const& noexcept DLBRIDGE_HPP_BORROWS {
    return {shape_, Rank};
  }
  span<const std::int64_t> shape() const&& = delete;
  constexpr span<const std::int64_t> strides() const& noexcept DLBRIDGE_HPP_BORROWS {
    return {strides_, Rank};
  }
  span<const std::int64_t> strides() const&& = delete;
  DLBRIDGE_HPP_HD constexpr std::int64_t extent(std::size_t axis) const noexcept {
    return shape_[axis];
  }
  DLBRIDGE_HPP_HD constexpr std::int64_t stride(std::size_t axis) const noexcept {
    return strides_[axis];
  }
  /// Number of elements; 1 for a scalar.
  DLBRIDGE_HPP_HD constexpr std::int64_t size() const noexcept {
    return data_ != nullptr ? detail::count_elements(shape_, Rank) : 0;
  }
  constexpr bool empty() const noexcept { return size() == 0; }

  /// True if compact, last axis fastest; always true if empty.
  constexpr bool is_c_contiguous() const noexcept {
    std::uint64_t expected = 1;
    bool compact = true;
    for (std::size_t axis = Rank; axis-- > 0;) {
      compact =
          compact && (shape_[axis] == 1 || static_cast<std::uint64_t>(strides_[axis]) == expected);
      expected *= static_cast<std::uint64_t>(shape_[axis]);
    }
    return compact || size() == 0;
  }
  /// All elements in memory order if the view is compact; otherwise an empty span.
  constexpr span<T> contiguous() const noexcept {
    return is_c_contiguous() ? span<T>(data_, static_cast<std::size_t>(size())) : span<T>();
  }

  /// Element (i, j, ...). Precondition: each index is in its extent.
  template <class... Indices>
  DLBRIDGE_HPP_HD constexpr T& operator()(Indices... indices) const noexcept {
    require_indices<Indices...>();
    std::int64_t offset = 0;
    std::size_t axis = 0;
    (..., (offset += static_cast<std::int64_t>(indices) * strides_[axis++]));
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): an empty view has no index
    return data_[offset];
  }
  /// Element (i, j, ...), or NULL where an index is out of its extent.
  template <class... Indices>
  constexpr T* find(Indices... indices) const noexcept {
    require_indices<Indices...>();
    std::size_t axis = 0;
    bool inside = data_ != nullptr;
    (..., (inside = inside && in_extent(indices, shape_[axis]), ++axis));
    return inside ? &(*this)(indices...) : nullptr;
  }
  /// Element (i, j, ...); throws dlbridge::exception (bounds) where an index is out of its extent.
  template <class... Indices>
  T& at(Indices... indices) const {
    detail::require_exceptions<T>();
    T* const found = find(indices...);
    if (found == nullptr) {
      out_of_bounds(indices...);
    }
    return *found;
  }

 private:
  template <class... Indices>
  static constexpr void require_indices() noexcept {
    static_assert(sizeof...(Indices) == Rank, "dlbridge: as many indices as the view has axes");
    static_assert((... && std::is_integral_v<Indices>), "dlbridge: indices are integers");
  }
  template <class Index>
  static constexpr bool in_extent(Index index, std::int64_t extent) noexcept {
    if constexpr (std::is_signed_v<Index>) {
      return index >= 0 && static_cast<std::int64_t>(index) < extent;
    } else {
      return static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(extent);
    }
  }
  template <class... Indices>
  [[noreturn]] void out_of_bounds(Indices... indices) const {
    error why(status_code::bounds, rule_code::none, -1,
              "the view is empty: expected at least one element");
    std::size_t axis = 0;
    const auto check = [&](auto index) {
      if (why.axis() < 0 && !in_extent(index, shape_[axis])) {
        why = error(status_code::bounds, rule_code::none, static_cast<std::int32_t>(axis),
                    "index out of its extent on axis %d: expected below %lld, found %lld",
                    static_cast<int>(axis), static_cast<long long>(shape_[axis]),
                    static_cast<long long>(index));
      }
      ++axis;
    };
    (..., check(indices));
    detail::raise(why);
  }

  T* data_ = nullptr;
  std::int64_t shape_[Rank != 0 ? Rank : 1] = {};
  std::int64_t strides_[Rank != 0 ? Rank : 1] = {};
};

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_STRIDED_HPP_
