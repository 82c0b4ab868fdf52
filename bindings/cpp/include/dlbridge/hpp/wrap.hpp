// SPDX-License-Identifier: Apache-2.0
// Tensors around native memory, and around the memory of C++ containers, without copying it.
#ifndef DLBRIDGE_HPP_WRAP_HPP_
#define DLBRIDGE_HPP_WRAP_HPP_

#include <array>
#include <vector>

#include "dlbridge/hpp/make.hpp"

DLBRIDGE_HPP_BEGIN

/// Native memory that becomes a tensor. Arrays and the policy are borrowed for the call.
class wrap_spec {
 public:
  constexpr wrap_spec(const buffer& memory, const device& where, const dtype& type,
                      span<const std::int64_t> shape) noexcept
      : raw_ DLBRIDGE_WRAP_SPEC_INIT {
    raw_.buffer = memory;
    raw_.device = where;
    raw_.dtype = type;
    raw_.ndim = static_cast<std::int32_t>(shape.size());
    raw_.shape = shape.data();
  }
  /// A braced list, which ends with the statement: `wrap(wrap_spec(memory, where, type, {2, 3}))`.
  constexpr wrap_spec(const buffer& memory, const device& where, const dtype& type,
                      std::initializer_list<std::int64_t> shape DLBRIDGE_HPP_BORROWS) noexcept
      : wrap_spec(memory, where, type, span<const std::int64_t>(shape.begin(), shape.size())) {}
  /// In elements, one for each axis; omitted: compact, last axis fastest.
  [[nodiscard]] constexpr wrap_spec strides(span<const std::int64_t> elements) const noexcept {
    wrap_spec made = *this;
    made.raw_.strides = elements.data();
    made.strides_ = elements.size();
    return made;
  }
  /// A braced list, which ends with the statement.
  [[nodiscard]] constexpr wrap_spec strides(
      std::initializer_list<std::int64_t> elements DLBRIDGE_HPP_BORROWS) const noexcept {
    return strides(span<const std::int64_t>(elements.begin(), elements.size()));
  }
  /// Bytes from the handle to element (0,...,0).
  [[nodiscard]] constexpr wrap_spec byte_offset(std::uint64_t bytes) const noexcept {
    wrap_spec made = *this;
    made.raw_.byte_offset = bytes;
    return made;
  }
  /// Bytes at the handle; all elements must lie inside.
  [[nodiscard]] constexpr wrap_spec buffer_size(std::uint64_t bytes) const noexcept {
    wrap_spec made = add(DLBRIDGE_WRAP_LIMIT_BUFFER);
    made.raw_.buffer_size = bytes;
    return made;
  }
  [[nodiscard]] constexpr wrap_spec tensor_flags(std::uint64_t dlpack) const noexcept {
    wrap_spec made = *this;
    made.raw_.tensor_flags = dlpack;
    return made;
  }
  [[nodiscard]] constexpr wrap_spec read_only() const noexcept {
    return tensor_flags(raw_.tensor_flags | DLPACK_FLAG_BITMASK_READ_ONLY);
  }
  [[nodiscard]] constexpr wrap_spec version(dlpack_version newest) const noexcept {
    wrap_spec made = *this;
    made.raw_.version = newest;
    return made;
  }
  [[nodiscard]] constexpr wrap_spec policy(
      const dlbridge::policy& demands DLBRIDGE_HPP_BORROWS) const noexcept {
    wrap_spec made = *this;
    made.raw_.policy = demands.raw();
    return made;
  }
  wrap_spec policy(const dlbridge::policy&&) const = delete;
  /// For a cl_mem: the tensor retains it.
  [[nodiscard]] constexpr wrap_spec retain() const noexcept { return add(DLBRIDGE_WRAP_RETAIN); }
  /// Keeps the module of the release callback loaded.
  [[nodiscard]] constexpr wrap_spec pin_producer() const noexcept {
    return add(DLBRIDGE_WRAP_PIN_PRODUCER);
  }
  /// Skips validation: the caller knows that the layout is valid and may be used to read elements.
  /// The spec must not have a policy or a buffer_size then.
  [[nodiscard]] constexpr wrap_spec assume_valid() const noexcept {
    return add(DLBRIDGE_WRAP_SKIP_VALIDATION);
  }
  /// A C callback, called once with `context` when the last owner is released.
  [[nodiscard]] constexpr wrap_spec release(release_function callback,
                                            void* context) const noexcept {
    wrap_spec made = *this;
    made.raw_.release = callback;
    made.raw_.release_context = context;
    return made;
  }
  /// The release callback orders the end of the memory after the work of the stream that it
  /// receives, for instance by freeing it on that stream: release_after may call it at once, with
  /// the stream. A callable that takes no stream then waits for that work.
  [[nodiscard]] constexpr wrap_spec release_on_stream() const noexcept {
    return add(DLBRIDGE_WRAP_RELEASE_ON_STREAM);
  }

  constexpr bool consistent() const noexcept {
    return raw_.strides == nullptr || strides_ == static_cast<std::size_t>(raw_.ndim);
  }
  /// From a C struct that was filled elsewhere.
  constexpr explicit wrap_spec(const DLBridgeWrapSpec& raw) noexcept
      : raw_(raw), strides_(static_cast<std::size_t>(raw.ndim)) {}
  constexpr const DLBridgeWrapSpec* raw() const noexcept DLBRIDGE_HPP_BORROWS { return &raw_; }

 private:
  constexpr wrap_spec add(std::uint32_t option) const noexcept {
    wrap_spec made = *this;
    made.raw_.options = raw_.options | option;
    return made;
  }
  DLBridgeWrapSpec raw_;
  std::size_t strides_ = 0;
};

/// Makes a dlbridge-owned tensor from native memory, which belongs to the tensor until its release
/// callback runs.
inline result<tensor> wrap(const wrap_spec& spec) noexcept {
  if (!spec.consistent()) {
    return detail::unlike_lengths();
  }
  return detail::produced<tensor>(
      [&](auto** out, DLBridgeError* sink) { return abi::wrap(spec.raw(), out, sink); });
}
/// Makes a legacy tensor instead; a property that legacy cannot record is rejected.
inline result<checked_legacy> wrap_legacy(const wrap_spec& spec) noexcept {
  if (!spec.consistent()) {
    return detail::unlike_lengths();
  }
  return detail::produced<checked_legacy>(
      [&](auto** out, DLBridgeError* sink) { return abi::wrap_legacy(spec.raw(), out, sink); });
}

namespace detail {

inline error no_memory() noexcept {
  return {status_code::out_of_memory, rule_code::none, -1, "no memory for a release callback"};
}

// The release callback of memory: a callable on the heap, called once with the buffer and the
// stream on which work may still run, with the buffer, or with nothing. A callable that takes no
// stream is called once that work is finished. If dlbridge cannot wait for it, the callable is
// leaked, so that no memory is freed while work uses it.
template <class F>
struct held_release {
  F callable;

  static constexpr bool takes_stream = std::is_invocable_v<F&, const buffer&, const stream*>;
  static constexpr bool takes_buffer = std::is_invocable_v<F&, const buffer&>;

  static void run(void* context, const DLBridgeBuffer* memory,
                  const DLBridgeStream* queue) noexcept {
    if (!takes_stream && !wait_for(queue)) {
      return;
    }
    const std::unique_ptr<held_release> self(static_cast<held_release*>(context));
    contained([&] {
      if constexpr (takes_stream) {
        const stream copy = queue != nullptr ? stream(*queue) : stream();
        self->callable(*memory, queue != nullptr ? &copy : nullptr);
      } else if constexpr (takes_buffer) {
        self->callable(*memory);
      } else {
        self->callable();
      }
    });
  }
};

// Wraps with a callable on the heap; a failure destroys it without a call.
template <class To, class F, class Wrap>
result<To> wrap_with(const wrap_spec& spec, F&& release, Wrap&& wrap_function) noexcept {
  using holder = held_release<std::decay_t<F>>;
  static_assert(
      holder::takes_stream || holder::takes_buffer || std::is_invocable_v<std::decay_t<F>&>,
      "dlbridge: release is called with the buffer and the stream, the buffer, or nothing");
  std::unique_ptr<holder> held = hold<holder>(std::forward<F>(release));
  if (held == nullptr) {
    return no_memory();
  }
  result<To> made = wrap_function(spec.release(&holder::run, held.get()));
  if (made) {
    static_cast<void>(held.release());
  }
  return made;
}

}  // namespace detail

/// Wraps with a callable, `release(const buffer&, const stream*)`, `release(const buffer&)` or
/// `release()`, that runs once, on the thread that releases the last owner. Work on the stream may
/// still use the memory (NULL: no work does, as always without release_on_stream); a callable that
/// takes no stream is called once that work is finished. Its exceptions go to the exception
/// handler. On failure it is destroyed without a call, and the memory is still the caller's.
template <class F>
result<tensor> wrap(const wrap_spec& spec, F&& release) noexcept {
  return detail::wrap_with<tensor>(spec, std::forward<F>(release),
                                   [](const wrap_spec& with) { return wrap(with); });
}
template <class F>
result<checked_legacy> wrap_legacy(const wrap_spec& spec, F&& release) noexcept {
  return detail::wrap_with<checked_legacy>(spec, std::forward<F>(release),
                                           [](const wrap_spec& with) { return wrap_legacy(with); });
}

// -------------------------------------------------------------------------------------- containers

/// Where the elements of a container lie. Specialise it for your own types:
///
///   static constexpr bool owning = ...;           // see owns_memory; false for views
///   static std::size_t rank(const C&);
///   static T* data(C&);                           // element (0,...,0); const T*: read-only
///   static bool layout(const C&, std::int64_t* shape, std::int64_t* strides);
///
/// None of them throws. layout fills rank() entries of both, strides in elements, or returns false
/// if the container has none. C may be const. Already supported are ranges with data() and size()
/// (std::vector, std::array, std::span), and types with the interface of Eigen's matrices and maps,
/// of xtensor's containers, adaptors and views, or of std::mdspan.
template <class C, class = void>
struct memory_traits;

/// True if a range owns its elements, so that it can be moved into a tensor. The library cannot see
/// that from the type: specialise it for your own ranges.
template <class C>
inline constexpr bool owns_memory = false;
template <class T, class Allocator>
inline constexpr bool owns_memory<std::vector<T, Allocator>> = true;
template <class T, std::size_t Size>
inline constexpr bool owns_memory<std::array<T, Size>> = true;

template <class C, class>
struct memory_traits {
  static_assert(
      detail::always_false<C>,
      "dlbridge: it is not known where this type's elements lie (std::vector<bool> has none "
      "in memory): specialise memory_traits");
};

namespace detail {

template <class C>
using data_pointer = decltype(std::declval<C&>().data());

template <class C, class = void>
inline constexpr bool is_eigen_like = false;
template <class C>
inline constexpr bool
    is_eigen_like<C, typename void_of<decltype(std::declval<const C&>().innerStride()),
                                      decltype(std::declval<const C&>().outerStride()),
                                      decltype(C::IsRowMajor)>::type> = true;

template <class C, class = void>
inline constexpr bool is_xtensor_like = false;
template <class C>
inline constexpr bool
    is_xtensor_like<C, typename void_of<decltype(std::declval<const C&>().shape()),
                                        decltype(std::declval<const C&>().strides()),
                                        decltype(std::declval<const C&>().dimension()),
                                        decltype(std::declval<const C&>().data_offset())>::type> =
        true;

// An xtensor type is a container if its temporary type is itself; the temporaries of adaptors and
// views are containers.
template <class C, class = void>
inline constexpr bool owns_xtensor = false;
template <class C>
inline constexpr bool owns_xtensor<C, typename void_of<typename C::temporary_type>::type> =
    std::is_same_v<typename C::temporary_type, C>;

// A type with strides does not count as a contiguous range.
template <class C, class = void>
inline constexpr bool has_strides = false;
template <class C>
inline constexpr bool
    has_strides<C, typename void_of<decltype(std::declval<const C&>().strides())>::type> = true;

template <class C, class = void>
inline constexpr bool is_contiguous_range = false;
template <class C>
inline constexpr bool
    is_contiguous_range<C, typename void_of<std::enable_if_t<std::is_pointer_v<data_pointer<C>>>,
                                            decltype(std::declval<const C&>().size())>::type> =
        !is_eigen_like<C> && !has_strides<C> && has_dtype<std::remove_pointer_t<data_pointer<C>>>;

}  // namespace detail

/// std::vector, std::array, std::span and other contiguous ranges: one axis.
template <class C>
struct memory_traits<C, std::enable_if_t<detail::is_contiguous_range<C>>> {
  static constexpr bool owning = owns_memory<C>;
  static constexpr std::size_t rank(const C&) noexcept { return 1; }
  static auto* data(C& container) noexcept { return container.data(); }
  static bool layout(const C& container, std::int64_t* shape, std::int64_t* strides) noexcept {
    shape[0] = static_cast<std::int64_t>(container.size());
    strides[0] = 1;
    return true;
  }
};

/// Eigen's matrices, vectors, arrays and maps.
template <class C>
struct memory_traits<C, std::enable_if_t<detail::is_eigen_like<C>>> {
  static constexpr bool owning =
      std::is_same_v<typename C::PlainObject, C>;  // a matrix is its own, a map is not
  static constexpr bool vector = C::IsVectorAtCompileTime;
  static constexpr std::size_t rank(const C&) noexcept { return vector ? 1 : 2; }
  static auto* data(C& matrix) noexcept { return matrix.data(); }
  static bool layout(const C& matrix, std::int64_t* shape, std::int64_t* strides) noexcept {
    if constexpr (vector) {
      shape[0] = static_cast<std::int64_t>(matrix.size());
      strides[0] = static_cast<std::int64_t>(matrix.innerStride());
    } else {
      shape[0] = static_cast<std::int64_t>(matrix.rows());
      shape[1] = static_cast<std::int64_t>(matrix.cols());
      strides[C::IsRowMajor ? 0 : 1] = static_cast<std::int64_t>(matrix.outerStride());
      strides[C::IsRowMajor ? 1 : 0] = static_cast<std::int64_t>(matrix.innerStride());
    }
    return true;
  }
};

/// xtensor's containers, adaptors and strided views, with the rank fixed or known at run time.
template <class C>
struct memory_traits<C, std::enable_if_t<detail::is_xtensor_like<C>>> {
  static constexpr bool owning = detail::owns_xtensor<C>;
  static std::size_t rank(const C& array) noexcept { return array.dimension(); }
  static auto* data(C& array) noexcept { return array.data() + array.data_offset(); }
  static bool layout(const C& array, std::int64_t* shape, std::int64_t* strides) noexcept {
    const auto& extents = array.shape();
    const auto& steps = array.strides();
    for (std::size_t axis = 0; axis < rank(array); ++axis) {
      shape[axis] = static_cast<std::int64_t>(extents[axis]);
      strides[axis] = static_cast<std::int64_t>(steps[axis]);
    }
    return true;
  }
};

/// std::mdspan, cuda::std::mdspan and strided_view: views, for wrap_borrowed only.
template <class C>
struct memory_traits<
    C, typename detail::void_of<typename C::mapping_type, typename C::data_handle_type>::type> {
  static constexpr bool owning = false;
  static constexpr std::size_t rank(const C&) noexcept { return C::rank(); }
  static auto* data(C& view) noexcept { return view.data_handle(); }
  static bool layout(const C& view, std::int64_t* shape, std::int64_t* strides) noexcept {
    if constexpr (C::rank() != 0) {  // a scalar has no strides
      for (std::size_t axis = 0; axis < C::rank(); ++axis) {
        if (!view.is_strided()) {
          return false;
        }
        shape[axis] = static_cast<std::int64_t>(view.extent(axis));
        strides[axis] = static_cast<std::int64_t>(view.stride(axis));
      }
    }
    return true;
  }
};
template <class T, std::size_t Rank>
struct memory_traits<strided_view<T, Rank>> {
  using view_type = strided_view<T, Rank>;
  static constexpr bool owning = false;
  static constexpr std::size_t rank(const view_type&) noexcept { return Rank; }
  static T* data(view_type& view) noexcept { return view.data(); }
  static bool layout(const view_type& view, std::int64_t* shape, std::int64_t* strides) noexcept {
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      shape[axis] = view.extent(axis);
      strides[axis] = view.stride(axis);
    }
    return true;
  }
};
template <class T, std::size_t Rank>
struct memory_traits<const strided_view<T, Rank>> : memory_traits<strided_view<T, Rank>> {
  static T* data(const strided_view<T, Rank>& view) noexcept { return view.data(); }
};

namespace detail {

// Wraps the memory of a container by its traits; `wrap_function` completes the spec and wraps it.
template <class C, class Wrap>
result<tensor> wrap_container(C& container, dlpack_version newest, Wrap&& wrap_function) noexcept {
  using traits = memory_traits<C>;
  using element = std::remove_pointer_t<decltype(traits::data(container))>;
  static_assert(has_dtype<element>,
                "dlbridge: no DLPack dtype is known for this type: specialise dlbridge::dtype_of");
  require_element_size<element>();
  constexpr std::size_t most = DLBRIDGE_MAX_NDIM;
  std::int64_t shape[most] = {};
  std::int64_t strides[most] = {};
  const std::size_t rank = traits::rank(container);
  if (rank > most) {
    return error(status_code::policy, rule_code::ndim_limit, -1,
                 "ndim: expected at most %zu, found %zu", most, rank);
  }
  if (!traits::layout(container, shape, strides)) {
    return error(status_code::unrepresentable, rule_code::none, -1,
                 "layout: expected strides, found an mdspan layout that DLPack cannot express");
  }
  wrap_spec spec =
      wrap_spec(dlbridge_buffer_address(traits::data(container)), make_device(kDLCPU),
                dtype_of<std::remove_cv_t<element>>::value, {shape, rank})
          .strides({strides, rank})
          .tensor_flags(is_padded<element> ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0)
          .version(newest);
  if (std::is_const_v<element>) {
    spec = spec.read_only();
  }
  return wrap_function(spec);
}

// A container on the heap, for as long as tensors refer to it.
template <class C>
struct held_container {
  C container;
  static void run(void* context, const DLBridgeBuffer* /*memory*/,
                  const DLBridgeStream* queue) noexcept {
    if (wait_for(queue)) {
      delete static_cast<held_container*>(context);
    }
  }
};

}  // namespace detail

/// A tensor over the memory of `container`, which is borrowed: it must be neither destroyed nor
/// reallocated before the last owner is released. Const elements make the tensor read-only.
template <class C>
result<tensor> wrap_borrowed(C& container DLBRIDGE_HPP_BORROWS,
                             dlpack_version newest = {0, 0}) noexcept {
  return detail::wrap_container(container, newest,
                                [](const wrap_spec& spec) { return wrap(spec); });
}
template <class C>
result<tensor> wrap_borrowed(const C&& container, dlpack_version newest = {0, 0}) = delete;

/// As the overload without `release`, but calls `release()` once, when the last owner is released.
template <class C, class F, class = std::enable_if_t<std::is_invocable_v<std::decay_t<F>&>>>
result<tensor> wrap_borrowed(C& container DLBRIDGE_HPP_BORROWS, F&& release,
                             dlpack_version newest = {0, 0}) noexcept {
  return detail::wrap_container(container, newest, [&](const wrap_spec& spec) {
    return wrap(spec, std::forward<F>(release));
  });
}

/// A tensor over the memory of `container`, which is moved into the tensor and destroyed with its
/// last owner. Elements are not copied, unless they lie in the object itself (std::array, fixed
/// matrices). On failure `container` is unchanged.
template <class C>
result<tensor> wrap_owned(C&& container, dlpack_version newest = {0, 0}) noexcept {
  static_assert(
      !std::is_lvalue_reference_v<C>,
      "dlbridge: the container must move in: pass std::move(container), or borrow it with "
      "wrap_borrowed");
  static_assert(!std::is_const_v<C>, "dlbridge: a const container cannot move in");
  using plain = std::remove_reference_t<C>;
  static_assert(memory_traits<plain>::owning,
                "dlbridge: a view owns no elements: move the container in, or borrow the view with "
                "wrap_borrowed");
  static_assert(std::is_nothrow_move_constructible_v<plain>,
                "dlbridge: a container that moves in must not throw");
  using holder = detail::held_container<plain>;
  std::unique_ptr<holder> held(new (std::nothrow) holder{std::forward<C>(container)});
  if (held == nullptr) {
    return detail::no_memory();
  }
  result<tensor> made = detail::wrap_container(held->container, newest, [&](const wrap_spec& spec) {
    return wrap(spec.release(&holder::run, held.get()));
  });
  if (made) {
    static_cast<void>(held.release());
  } else {
    detail::contained([&] { container = std::move(held->container); });
  }
  return made;
}

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_WRAP_HPP_
