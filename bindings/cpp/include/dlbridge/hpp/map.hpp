// SPDX-License-Identifier: Apache-2.0
// From a strided view to view types of other libraries: mdspan of std and cuda::std, Eigen::Map,
// xtensor's adaptors. Traits recognise them by their interface; no header of theirs is included.
#ifndef DLBRIDGE_HPP_MAP_HPP_
#define DLBRIDGE_HPP_MAP_HPP_

#include "dlbridge/hpp/tensor_ref.hpp"

DLBRIDGE_HPP_BEGIN

/// How to make a Target that views the elements of a tensor. Specialise it for your own types:
///
///   using element_type = ...;                  // const for a Target that only reads
///   static constexpr std::size_t rank = ...;
///   static dlbridge::result<Target> make(const dlbridge::strided_view<element_type, rank>&);
template <class Target, class = void>
struct map_traits {};

namespace detail {

inline error unlike_target(rule_code broken, std::size_t axis, const char* what,
                           std::int64_t expected, std::int64_t found) noexcept {
  return {status_code::policy,
          broken,
          static_cast<std::int32_t>(axis),
          "%s of axis %d is not what the target has: expected %lld, found %lld",
          what,
          static_cast<int>(axis),
          static_cast<long long>(expected),
          static_cast<long long>(found)};
}

// Strides for a type that requires positive ones: an axis of one element, or any axis of an empty
// view, may have any stride.
template <class T, std::size_t Rank>
std::array<std::int64_t, Rank> positive_strides(const strided_view<T, Rank>& view) noexcept {
  std::array<std::int64_t, Rank> strides{};
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t next = 1;
  for (std::size_t axis = Rank; axis-- > 0;) {
    strides[axis] = view.extent(axis) <= 1 || view.empty() ? next : view.stride(axis);
    if (view.extent(axis) > 1) {  // without elements the product may have any value
      next = next > most / view.extent(axis) ? most : next * view.extent(axis);
    }
  }
  return strides;
}

// How far elements of that shape reach with non-negative strides, in elements; `most` + 1 if that
// is more than `most`.
template <std::size_t Rank>
std::uint64_t required_span(const std::int64_t* shape,
                            const std::array<std::int64_t, Rank>& strides,
                            std::uint64_t most) noexcept {
  std::uint64_t reach = 1;
  for (std::size_t axis = 0; axis < Rank; ++axis) {
    if (shape[axis] == 0) {
      return 0;
    }
  }
  for (std::size_t axis = 0; axis < Rank; ++axis) {
    const auto steps = static_cast<std::uint64_t>(shape[axis] - 1);
    const auto stride = static_cast<std::uint64_t>(strides[axis]);
    if (steps != 0 && stride > (most - reach) / steps) {
      return most + 1;
    }
    reach += steps * stride;
  }
  return reach;
}

// With the axes in the order of their strides, all positive: the first axis whose stride lies
// within the previous axis, so that two indices may be one element; Rank if there is none.
template <std::size_t Rank>
std::size_t interleaved_axis(const std::int64_t* shape,
                             const std::array<std::int64_t, Rank>& strides) noexcept {
  std::array<std::size_t, Rank> order{};
  for (std::size_t axis = 0; axis < Rank; ++axis) {
    std::size_t place = axis;
    const auto before = [&](std::size_t other) {
      return strides[axis] != strides[other] ? strides[axis] < strides[other]
                                             : shape[axis] < shape[other];
    };
    for (; place > 0 && before(order[place - 1]); --place) {
      order[place] = order[place - 1];
    }
    order[place] = axis;
  }
  for (std::size_t place = 1; place < Rank; ++place) {
    const std::size_t inner = order[place - 1];
    const std::size_t outer = order[place];
    if (shape[inner] != 0 && strides[inner] > strides[outer] / shape[inner]) {
      return outer;
    }
  }
  return Rank;
}

// std::void_t as a separate type: with std::void_t some compilers take two specialisations for one.
template <class...>
struct void_of {
  using type = void;
};

template <class Target, class = void>
inline constexpr bool can_map = false;
template <class Target>
inline constexpr bool
    can_map<Target, typename void_of<typename map_traits<Target>::element_type>::type> = true;

}  // namespace detail

// ------------------------------------------------------------------------------------------ mdspan

/// std::mdspan and cuda::std::mdspan with their layouts (stride, right, left), any extents, and
/// accessors whose handle is a plain pointer.
template <class Mdspan>
struct map_traits<
    Mdspan, typename detail::void_of<typename Mdspan::mapping_type, typename Mdspan::extents_type,
                                     typename Mdspan::data_handle_type>::type> {
  using element_type = typename Mdspan::element_type;
  using extents_type = typename Mdspan::extents_type;
  using mapping_type = typename Mdspan::mapping_type;
  using index_type = typename Mdspan::index_type;
  static constexpr std::size_t rank = extents_type::rank();
  using view_type = strided_view<element_type, rank>;

  static result<Mdspan> make(const view_type& view) noexcept {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const auto fixed = static_cast<std::int64_t>(extents_type::static_extent(axis));
      if (extents_type::static_extent(axis) != static_cast<std::size_t>(-1) &&
          fixed != view.extent(axis)) {
        return detail::unlike_target(rule_code::none, axis, "the extent", fixed, view.extent(axis));
      }
      if (!fits(view.extent(axis))) {
        return detail::unlike_target(rule_code::none, axis, "the extent",
                                     static_cast<std::int64_t>(max_index), view.extent(axis));
      }
    }
    return with(view, std::make_index_sequence<rank>());
  }

  /// An mdspan without memory; if all its extents are fixed, it must not be read through.
  static Mdspan empty() noexcept {
    return Mdspan(typename Mdspan::data_handle_type{}, mapping_type{});
  }

 private:
  static constexpr auto max_index = std::numeric_limits<index_type>::max();
  static constexpr bool fits(std::int64_t value) noexcept {
    return static_cast<std::uint64_t>(value) <= static_cast<std::uint64_t>(max_index);
  }

  static bool reaches(const view_type& view,
                      const std::array<std::int64_t, rank>& strides) noexcept {
    constexpr auto most = static_cast<std::uint64_t>(max_index);
    constexpr std::uint64_t signed_most = std::numeric_limits<std::int64_t>::max();
    constexpr std::uint64_t limit = most < signed_most ? most : signed_most;
    return detail::required_span<rank>(view.shape().data(), strides, limit) <= limit;
  }
  static error too_far(const view_type& view) noexcept {
    return {status_code::policy,
            rule_code::offset_overflow,
            -1,
            "the elements reach further than the target's index type counts: expected at most "
            "%lld, found %lld elements",
            static_cast<long long>(max_index),
            static_cast<long long>(view.size())};
  }
  // For a compact layout, whose reach does not depend on the order of its axes.
  static std::array<std::int64_t, rank> compact_strides(const view_type& view) noexcept {
    std::array<std::int64_t, rank> strides{};
    std::uint64_t next = 1;
    for (std::size_t axis = rank; axis-- > 0;) {
      strides[axis] = static_cast<std::int64_t>(next);
      next *= static_cast<std::uint64_t>(view.extent(axis));
    }
    return strides;
  }

  template <std::size_t... Axes>
  static result<Mdspan> with(const view_type& view, std::index_sequence<Axes...> axes) noexcept {
    const extents_type extents(static_cast<index_type>(view.extent(Axes))...);
    std::array<std::int64_t, rank> strides = detail::positive_strides(view);
    if constexpr (rank == 0) {
      return Mdspan(view.data(), mapping_type{});
    } else if constexpr (std::is_constructible_v<mapping_type, const extents_type&>) {
      if (!reaches(view, compact_strides(view))) {
        return too_far(view);
      }
      const mapping_type mapping(extents);
      return same(mapping, strides, view, axes);
    } else {
      for (std::size_t axis = 0; axis < rank; ++axis) {
        if (strides[axis] <= 0) {
          return detail::unlike_target(
              strides[axis] < 0 ? rule_code::negative_stride : rule_code::zero_stride, axis,
              "the stride", 1, strides[axis]);
        }
        if (!fits(strides[axis])) {
          return detail::unlike_target(rule_code::offset_overflow, axis, "the stride",
                                       static_cast<std::int64_t>(max_index), strides[axis]);
        }
      }
      // The precondition of layout_stride; without it the mapping is undefined.
      if (detail::interleaved_axis<rank>(view.shape().data(), strides) != rank) {
        for (std::size_t axis = 0; axis < rank; ++axis) {
          strides[axis] = view.extent(axis) == 1 ? 1 : strides[axis];
        }
      }
      const std::size_t axis = detail::interleaved_axis<rank>(view.shape().data(), strides);
      if (axis != rank) {
        return error(status_code::policy, rule_code::self_overlap, static_cast<std::int32_t>(axis),
                     "axis %d begins inside another, which no std::mdspan may: found stride %lld",
                     static_cast<int>(axis), static_cast<long long>(strides[axis]));
      }
      if (!reaches(view, strides)) {
        return too_far(view);
      }
      using strides_type = std::remove_cv_t<
          std::remove_reference_t<decltype(std::declval<const mapping_type&>().strides())>>;
      const strides_type given = {{static_cast<index_type>(strides[Axes])...}};
      return Mdspan(view.data(), mapping_type(extents, given));
    }
  }

  // A mapping that computes its strides must arrive at the tensor's.
  template <std::size_t... Axes>
  static result<Mdspan> same(const mapping_type& mapping,
                             const std::array<std::int64_t, rank>& strides, const view_type& view,
                             std::index_sequence<Axes...>) noexcept {
    error why;
    const auto compare = [&](std::size_t axis) {
      if (why || view.extent(axis) <= 1 || view.empty()) {
        return;
      }
      const auto expected = static_cast<std::int64_t>(mapping.stride(axis));
      if (expected != strides[axis]) {
        why = detail::unlike_target(rule_code::contiguity, axis, "the stride", expected,
                                    strides[axis]);
      }
    };
    (..., compare(Axes));
    if (why) {
      return why;
    }
    return Mdspan(view.data(), mapping);
  }
};

// ------------------------------------------------------------------------------------------- Eigen

/// Eigen::Map of matrices (two axes) and of vectors (one axis), with any of Eigen's stride types. A
/// map of a const matrix only reads. The map's alignment option is checked.
template <template <class, int, class> class Map, class Matrix, int Options, class Stride>
struct map_traits<
    Map<Matrix, Options, Stride>,
    typename detail::void_of<decltype(Matrix::RowsAtCompileTime), decltype(Matrix::IsRowMajor),
                             decltype(Stride::InnerStrideAtCompileTime)>::type> {
  using target = Map<Matrix, Options, Stride>;
  using scalar = typename Matrix::Scalar;
  using index = typename Matrix::Index;
  using element_type = std::conditional_t<std::is_const_v<Matrix>, const scalar, scalar>;
  static constexpr bool is_vector = Matrix::IsVectorAtCompileTime;
  static constexpr std::size_t rank = is_vector ? 1 : 2;

  static result<target> make(const strided_view<element_type, rank>& view) noexcept {
    const bool empty = view.empty();
    if (Options > 0 && !empty &&
        reinterpret_cast<std::uintptr_t>(view.data()) % (Options > 0 ? Options : 1)) {
      return error(status_code::policy, rule_code::alignment, -1,
                   "alignment: expected %d bytes, as the Eigen::Map has it", Options);
    }
    const std::array<std::int64_t, rank> strides = detail::positive_strides(view);
    constexpr std::size_t outer_axis = is_vector || Matrix::IsRowMajor ? 0 : 1;
    constexpr std::size_t inner_axis = is_vector ? 0 : 1 - outer_axis;
    const std::int64_t inner = strides[inner_axis];
    const std::int64_t outer = !is_vector ? strides[outer_axis]
                               : empty    ? 0
                                          : inner * view.extent(0);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const int fixed = is_vector   ? Matrix::SizeAtCompileTime
                        : axis == 0 ? Matrix::RowsAtCompileTime
                                    : Matrix::ColsAtCompileTime;
      if (fixed != dynamic && fixed != view.extent(axis)) {
        return detail::unlike_target(rule_code::none, axis, "the extent", fixed, view.extent(axis));
      }
      if (strides[axis] < 0) {  // Eigen asserts that none is negative
        return detail::unlike_target(rule_code::negative_stride, axis, "the stride", 0,
                                     strides[axis]);
      }
    }
    constexpr int inner_fixed = Stride::InnerStrideAtCompileTime;
    constexpr int outer_fixed = Stride::OuterStrideAtCompileTime;
    const std::int64_t wanted_inner = inner_fixed == 0 ? 1 : inner_fixed;
    if (!empty && inner_fixed != dynamic && view.extent(inner_axis) > 1 && inner != wanted_inner) {
      return detail::unlike_target(rule_code::contiguity, inner_axis, "the stride", wanted_inner,
                                   inner);
    }
    const std::int64_t wanted_outer = outer_fixed != 0 ? outer_fixed
                                      : empty          ? 0
                                                       : view.extent(inner_axis) * inner;
    if (!is_vector && !empty && outer_fixed != dynamic && view.extent(outer_axis) > 1 &&
        outer != wanted_outer) {
      return detail::unlike_target(rule_code::contiguity, outer_axis, "the stride", wanted_outer,
                                   outer);
    }
    return build(view, static_cast<index>(outer), static_cast<index>(inner));
  }

  /// An empty map.
  static target empty() noexcept {
    constexpr index rows = Matrix::RowsAtCompileTime == dynamic ? 0 : Matrix::RowsAtCompileTime;
    constexpr index cols = Matrix::ColsAtCompileTime == dynamic ? 0 : Matrix::ColsAtCompileTime;
    if constexpr (is_vector) {
      return target(nullptr, rows * cols, stride(0, 0));
    } else {
      return target(nullptr, rows, cols, stride(0, 0));
    }
  }

 private:
  static constexpr int dynamic = -1;

  static Stride stride(index outer, index inner) noexcept {
    constexpr bool inner_free = Stride::InnerStrideAtCompileTime == dynamic;
    constexpr bool outer_free = Stride::OuterStrideAtCompileTime == dynamic;
    if constexpr (std::is_constructible_v<Stride, index, index> && (inner_free || outer_free)) {
      return Stride(outer_free ? outer : static_cast<index>(Stride::OuterStrideAtCompileTime),
                    inner_free ? inner : static_cast<index>(Stride::InnerStrideAtCompileTime));
    } else if constexpr (inner_free || outer_free) {
      return Stride(inner_free ? inner : outer);
    } else {
      return Stride();
    }
  }
  static target build(const strided_view<element_type, rank>& view, index outer,
                      index inner) noexcept {
    if constexpr (is_vector) {
      return target(view.data(), static_cast<index>(view.extent(0)), stride(outer, inner));
    } else {
      return target(view.data(), static_cast<index>(view.extent(0)),
                    static_cast<index>(view.extent(1)), stride(outer, inner));
    }
  }
};

// ----------------------------------------------------------------------------------------- xtensor

/// xt::xtensor_adaptor (and types of its interface) over a buffer that it does not own, such as
/// xt::xtensor_adaptor<xt::xbuffer_adaptor<float*, xt::no_ownership>, 2, xt::layout_type::dynamic>.
template <class Adaptor>
struct map_traits<
    Adaptor,
    std::void_t<
        typename Adaptor::storage_type, typename Adaptor::inner_shape_type,
        typename Adaptor::inner_strides_type,
        std::enable_if_t<std::tuple_size<typename Adaptor::inner_shape_type>::value + 1 != 0>>> {
  using storage_type = typename Adaptor::storage_type;
  using shape_type = typename Adaptor::inner_shape_type;
  using strides_type = typename Adaptor::inner_strides_type;
  using pointer = decltype(std::declval<storage_type&>().data());
  using element_type = std::remove_pointer_t<pointer>;
  static constexpr std::size_t rank = std::tuple_size<shape_type>::value;

  static result<Adaptor> make(const strided_view<element_type, rank>& view) {
    shape_type shape{};
    strides_type strides{};
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (view.stride(axis) < 0 && view.extent(axis) > 1) {  // elements before the pointer
        return detail::unlike_target(rule_code::negative_stride, axis, "the stride", 0,
                                     view.stride(axis));
      }
      shape[axis] = static_cast<typename shape_type::value_type>(view.extent(axis));
      // It rejects a stride other than 0 on an axis of one element.
      const std::int64_t stride = view.extent(axis) == 1 ? 0 : view.stride(axis);
      strides[axis] = static_cast<typename strides_type::value_type>(stride);
    }
    // It demands a buffer of as many elements as the shape has, however far the strides reach.
    pointer data = view.data();
    return Adaptor(storage_type(data, static_cast<std::size_t>(view.size())), shape, strides);
  }
  /// An empty adaptor.
  static Adaptor empty() {
    pointer data = nullptr;
    return Adaptor(storage_type(data, 0), shape_type{}, strides_type{});
  }
};

/// A Target without a default constructor is made by its traits.
template <class Target>
struct blank_value<Target, typename detail::void_of<decltype(map_traits<Target>::empty())>::type> {
  static Target make() { return map_traits<Target>::empty(); }
};

// ------------------------------------------------------------------------------------------- plain

namespace detail {

template <class Target>
inline constexpr bool writes_through<
    Target, std::enable_if_t<can_map<Target> && !std::is_trivially_copy_assignable_v<Target>>> =
    true;

}  // namespace detail

/// Every target is a view, so and_then and transform do not let it outlive the owner.
template <class Target>
inline constexpr bool borrows<Target, std::enable_if_t<detail::can_map<Target>>> = true;

/// strided_view is a target too.
template <class T, std::size_t Rank>
struct map_traits<strided_view<T, Rank>> {
  using element_type = T;
  static constexpr std::size_t rank = Rank;
  static result<strided_view<T, Rank>> make(const strided_view<T, Rank>& view) noexcept {
    return view;
  }
};

template <class Target>
result<Target> checked_ref::map(access how) const {
  static_assert(detail::can_map<Target>,
                "dlbridge: no way is known to make this type view memory: specialise map_traits");
  if constexpr (detail::can_map<Target>) {
    using traits = map_traits<Target>;
    const auto view = elements<typename traits::element_type, traits::rank>(how);
    if (!view) {
      return view.error();
    }
    return traits::make(*view);
  }
}

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_MAP_HPP_
