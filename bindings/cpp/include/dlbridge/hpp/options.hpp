// SPDX-License-Identifier: Apache-2.0
// Builders of option structs: policies, conversions, allocators, storage.
#ifndef DLBRIDGE_HPP_OPTIONS_HPP_
#define DLBRIDGE_HPP_OPTIONS_HPP_

#include "dlbridge/hpp/callback.hpp"
#include "dlbridge/hpp/element.hpp"
#include "dlbridge/hpp/stream.hpp"

DLBRIDGE_HPP_BEGIN

namespace detail {

// An empty list does not mean "any". The library rejects a list without entries if it has an
// address.
template <class T>
constexpr const T* list_of(span<const T> entries, const T& none) noexcept {
  return entries.data() != nullptr ? entries.data() : &none;
}
inline constexpr DLDevice no_device = DLBRIDGE_NO_DEVICE;
inline constexpr DLDataType no_dtype = {0, 0, 0};
template <std::int64_t... Values>
inline constexpr std::int64_t constants[] = {Values...};

}  // namespace detail

/// The order of a tensor's elements: compact, with the last (c) or the first axis (f) fastest.
enum class contiguity : std::int32_t {
  // [facts/enums.toml CONTIGUITY]
  any = DLBRIDGE_CONTIGUITY_ANY,
  c = DLBRIDGE_CONTIGUITY_C,
  f = DLBRIDGE_CONTIGUITY_F,
  c_or_f = DLBRIDGE_CONTIGUITY_C_OR_F,
  // [/facts]
};

/// A consumer's demands on a tensor; a default policy is the library's default. Each function
/// returns a policy with one more demand, so that demands can be chained. Arrays are borrowed and
/// must outlive the policy. A policy validates at least the metadata; `inspect_struct` checks the
/// struct only and gives no elements. dlbridge.h documents the functions without a comment, as the
/// options and fields of DLBridgePolicy with the same name.
class policy {
 public:
  constexpr policy() noexcept : raw_ DLBRIDGE_POLICY_INIT {}

  /// Newest DLPack that the consumer reads.
  [[nodiscard]] constexpr policy version(dlpack_version newest) const noexcept {
    policy made = *this;
    made.raw_.version = newest;
    return made;
  }
  /// Reads shape and strides: the default (DLBRIDGE_LEVEL_DEFAULT).
  [[nodiscard]] constexpr policy read_metadata() const noexcept {
    policy made = *this;
    made.raw_.level = DLBRIDGE_LEVEL_METADATA;
    return made;
  }
  /// Also asks the driver where the data lies.
  [[nodiscard]] constexpr policy ask_driver() const noexcept {
    policy made = *this;
    made.raw_.level = DLBRIDGE_LEVEL_DEVICE;
    return made;
  }
  /// Accepts from `least` to `most` axes. Limits that contradict an earlier `shape` make the policy
  /// an invalid argument.
  [[nodiscard]] constexpr policy ndim(std::int32_t least, std::int32_t most) const noexcept {
    policy made = add(DLBRIDGE_POLICY_LIMIT_NDIM);
    // The library reads `max_ndim` extents of a shape, and rejects limits that differ. Limits that
    // are equal to each other, but not to the shape's number of extents, become such limits.
    const bool contradict =
        raw_.shape != nullptr && least == most && (least != raw_.min_ndim || most != raw_.max_ndim);
    made.raw_.min_ndim = contradict ? 0 : least;
    made.raw_.max_ndim = contradict && most <= 0 ? 1 : most;
    return made;
  }
  /// Accepts exactly `axes` axes.
  [[nodiscard]] constexpr policy ndim(std::int32_t axes) const noexcept { return ndim(axes, axes); }
  [[nodiscard]] constexpr policy min_ndim(std::int32_t axes) const noexcept {
    return ndim(axes, has(DLBRIDGE_POLICY_LIMIT_NDIM) ? raw_.max_ndim : DLBRIDGE_MAX_NDIM);
  }
  [[nodiscard]] constexpr policy max_ndim(std::int32_t axes) const noexcept {
    return ndim(has(DLBRIDGE_POLICY_LIMIT_NDIM) ? raw_.min_ndim : 0, axes);
  }
  /// Accepts this shape only: as many axes, each of that extent, where -1 means any. No extents: a
  /// scalar.
  [[nodiscard]] constexpr policy shape(span<const std::int64_t> extents) const noexcept {
    const std::size_t most = DLBRIDGE_MAX_NDIM + 1;  // one more, which the library rejects
    return with_shape(extents.data(),
                      static_cast<std::int32_t>(extents.size() < most ? extents.size() : most));
  }
  /// As shape(extents), with constants, which need no array: `policy().shape<-1, 3>()`.
  template <std::int64_t... Extents>
  [[nodiscard]] constexpr policy shape() const noexcept {
    constexpr auto axes = static_cast<std::int32_t>(sizeof...(Extents));
    if constexpr (axes != 0) {
      return with_shape(detail::constants<Extents...>, axes);
    } else {
      return with_shape(nullptr, axes);
    }
  }
  [[nodiscard]] constexpr policy contiguity(dlbridge::contiguity order) const noexcept {
    policy made = *this;
    made.raw_.contiguity = static_cast<std::int32_t>(order);
    return made;
  }
  [[nodiscard]] constexpr policy c_contiguous() const noexcept {
    return contiguity(dlbridge::contiguity::c);
  }
  [[nodiscard]] constexpr policy f_contiguous() const noexcept {
    return contiguity(dlbridge::contiguity::f);
  }
  /// The address of element (0,...,0) must be a multiple of so many bytes, a power of two.
  [[nodiscard]] constexpr policy alignment(std::uint64_t bytes) const noexcept {
    policy made = *this;
    made.raw_.alignment = bytes;
    return made;
  }
  /// Bytes at `data` that all elements must lie inside.
  [[nodiscard]] constexpr policy buffer_size(std::uint64_t bytes) const noexcept {
    policy made = add(DLBRIDGE_POLICY_LIMIT_BUFFER);
    made.raw_.buffer_size = bytes;
    return made;
  }
  /// Accepts these devices only; an id of -1 means any. A list without entries is an invalid
  /// argument.
  [[nodiscard]] constexpr policy devices(span<const device> accepted) const noexcept {
    policy made = *this;
    made.raw_.devices = detail::list_of(accepted, detail::no_device);
    made.raw_.device_count = accepted.size();
    return made;
  }
  /// Accepts these dtypes only. A list without entries is an invalid argument.
  [[nodiscard]] constexpr policy dtypes(span<const dtype> accepted) const noexcept {
    policy made = *this;
    made.raw_.dtypes = detail::list_of(accepted, detail::no_dtype);
    made.raw_.dtype_count = accepted.size();
    return made;
  }
  [[nodiscard]] constexpr policy reject_unknown_dtype() const noexcept {
    return add(DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE);
  }
  [[nodiscard]] constexpr policy reject_unknown_device() const noexcept {
    return add(DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE);
  }
  [[nodiscard]] constexpr policy reject_unknown_flags() const noexcept {
    return add(DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS);
  }
  [[nodiscard]] constexpr policy reject_negative_strides() const noexcept {
    return add(DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES);
  }
  [[nodiscard]] constexpr policy reject_zero_strides() const noexcept {
    return add(DLBRIDGE_POLICY_REJECT_ZERO_STRIDES);
  }
  [[nodiscard]] constexpr policy allow_null_strides() const noexcept {
    return add(DLBRIDGE_POLICY_ALLOW_NULL_STRIDES);
  }
  [[nodiscard]] constexpr policy allow_scalable_lanes() const noexcept {
    return add(DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES);
  }
  [[nodiscard]] constexpr policy require_writable() const noexcept {
    return add(DLBRIDGE_POLICY_REQUIRE_WRITABLE);
  }
  /// The caller knows that a legacy or borrowed tensor may be written to.
  [[nodiscard]] constexpr policy vouch_writable() const noexcept {
    return add(DLBRIDGE_POLICY_VOUCH_WRITABLE);
  }
  [[nodiscard]] constexpr policy allow_self_overlap() const noexcept {
    return add(DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP);
  }

  constexpr const DLBridgePolicy* raw() const noexcept DLBRIDGE_HPP_BORROWS { return &raw_; }

 private:
  constexpr bool has(std::uint32_t option) const noexcept { return (raw_.options & option) != 0; }
  constexpr policy add(std::uint32_t option) const noexcept {
    policy made = *this;
    made.raw_.options = raw_.options | option;
    return made;
  }
  constexpr policy with_shape(const std::int64_t* extents, std::int32_t axes) const noexcept {
    policy made = *this;
    made.raw_.shape = nullptr;  // an earlier shape does not count
    made = made.ndim(axes);
    made.raw_.shape = extents;
    return made;
  }

  DLBridgePolicy raw_;
};
using policy_ref = detail::optional_ref<policy>;

/// A policy that checks the struct only: shape and strides are not read, so no elements are
/// available.
class struct_policy {
 public:
  constexpr explicit struct_policy(const policy& demands = {}) noexcept : raw_(*demands.raw()) {
    raw_.level = DLBRIDGE_LEVEL_STRUCT;
  }
  constexpr const DLBridgePolicy* raw() const noexcept DLBRIDGE_HPP_BORROWS { return &raw_; }

 private:
  DLBridgePolicy raw_;
};

/// Memory of the user's choice, for copies and allocations: any object with
/// `void* allocate(device, std::uint64_t bytes, std::uint64_t alignment)` and
/// `void deallocate(device, void*, std::uint64_t bytes, std::uint64_t alignment)`, each with
/// `const dlbridge::stream*` as a last parameter where it orders memory by a queue (NULL: none). A
/// deallocate without it is called once work on the queue is finished; if dlbridge cannot wait for
/// that, the memory is leaked. The object is borrowed and must outlive the memory; deallocate may
/// run on any thread. An allocate that throws counts as out of memory; see set_exception_handler.
class allocator {
 public:
  template <class A, class = std::enable_if_t<!std::is_same_v<std::remove_cv_t<A>, allocator>>>
  explicit constexpr allocator(A& object DLBRIDGE_HPP_BORROWS) noexcept
      : raw_ DLBRIDGE_ALLOCATOR_INIT {
    raw_.context = &object;
    raw_.allocate = &allocate<A>;
    raw_.deallocate = &deallocate<A>;
  }
  constexpr const DLBridgeAllocator* raw() const noexcept DLBRIDGE_HPP_BORROWS { return &raw_; }

 private:
  template <class A, class = void>
  struct takes_stream : std::false_type {};
  template <class A>
  struct takes_stream<A, std::void_t<decltype(std::declval<A&>().deallocate(
                             std::declval<device>(), nullptr, std::uint64_t{}, std::uint64_t{},
                             std::declval<const stream*>()))>> : std::true_type {};
  template <class A, class = void>
  struct allocates_on_stream : std::false_type {};
  template <class A>
  struct allocates_on_stream<A, std::void_t<decltype(std::declval<A&>().allocate(
                                    std::declval<device>(), std::uint64_t{}, std::uint64_t{},
                                    std::declval<const stream*>()))>> : std::true_type {};

  template <class A>
  static void* allocate(void* context, DLDevice on, std::uint64_t bytes, std::uint64_t alignment,
                        const DLBridgeStream* queue) noexcept {
    A& object = *static_cast<A*>(context);
    void* memory = nullptr;
    detail::contained([&] {
      if constexpr (allocates_on_stream<A>::value) {
        const stream copy = queue != nullptr ? stream(*queue) : stream();
        memory = object.allocate(on, bytes, alignment, queue != nullptr ? &copy : nullptr);
      } else {
        static_cast<void>(queue);  // any later work may use memory that is freed now
        memory = object.allocate(on, bytes, alignment);
      }
    });
    return memory;
  }
  template <class A>
  static void deallocate(void* context, DLDevice on, void* memory, std::uint64_t bytes,
                         std::uint64_t alignment, const DLBridgeStream* queue) noexcept {
    A& object = *static_cast<A*>(context);
    detail::contained([&] {
      if constexpr (takes_stream<A>::value) {
        const stream copy = queue != nullptr ? stream(*queue) : stream();
        object.deallocate(on, memory, bytes, alignment, queue != nullptr ? &copy : nullptr);
      } else if (detail::wait_for(queue)) {
        object.deallocate(on, memory, bytes, alignment);
      }
    });
  }

  DLBridgeAllocator raw_;
};

/// Options of a conversion; a default one is the library's default. The policy and the allocator
/// are borrowed and must outlive it. dlbridge.h documents the functions without a comment, as the
/// options DLBRIDGE_CONVERT_* of the same name.
class convert_options {
 public:
  constexpr convert_options() noexcept : raw_ DLBRIDGE_CONVERT_OPTIONS_INIT {}

  /// Newest DLPack that the consumer reads.
  [[nodiscard]] constexpr convert_options version(dlpack_version newest) const noexcept {
    convert_options made = *this;
    made.raw_.version = newest;
    return made;
  }
  /// DLPack flags of a legacy source, which cannot record them.
  [[nodiscard]] constexpr convert_options tensor_flags(std::uint64_t flags) const noexcept {
    convert_options made = *this;
    made.raw_.tensor_flags = flags;
    return made;
  }
  /// Validates by `demands`.
  [[nodiscard]] constexpr convert_options policy(
      const dlbridge::policy& demands DLBRIDGE_HPP_BORROWS) const noexcept {
    convert_options made = *this;
    made.raw_.policy = demands.raw();
    return made;
  }
  convert_options policy(const dlbridge::policy&&) const = delete;  // it would be gone
  /// Copies the data, to system memory or to memory of `allocator`.
  [[nodiscard]] constexpr convert_options copy() const noexcept {
    return add(DLBRIDGE_CONVERT_COPY);
  }
  [[nodiscard]] constexpr convert_options allocator(
      const dlbridge::allocator& memory DLBRIDGE_HPP_BORROWS) const noexcept {
    convert_options made = *this;
    made.raw_.allocator = memory.raw();
    return made;
  }
  convert_options allocator(const dlbridge::allocator&&) const = delete;
  /// The caller knows that a legacy source may be written to; otherwise the result is read-only.
  [[nodiscard]] constexpr convert_options vouch_writable() const noexcept {
    return add(DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  }
  [[nodiscard]] constexpr convert_options allow_unknown() const noexcept {
    return add(DLBRIDGE_CONVERT_ALLOW_UNKNOWN);
  }
  [[nodiscard]] constexpr convert_options canonical() const noexcept {
    return add(DLBRIDGE_CONVERT_CANONICAL);
  }
  [[nodiscard]] constexpr convert_options fold_byte_offset() const noexcept {
    return add(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET);
  }
  [[nodiscard]] constexpr convert_options drop_read_only() const noexcept {
    return add(DLBRIDGE_CONVERT_DROP_READ_ONLY);
  }
  [[nodiscard]] constexpr convert_options drop_padded() const noexcept {
    return add(DLBRIDGE_CONVERT_DROP_PADDED);
  }
  [[nodiscard]] constexpr convert_options allow_newer_codes() const noexcept {
    return add(DLBRIDGE_CONVERT_ALLOW_NEWER_CODES);
  }
  [[nodiscard]] constexpr convert_options pin_producer() const noexcept {
    return add(DLBRIDGE_CONVERT_PIN_PRODUCER);
  }

  constexpr const DLBridgeConvertOptions* raw() const noexcept DLBRIDGE_HPP_BORROWS {
    return &raw_;
  }

 private:
  friend class unchecked_options;
  constexpr convert_options add(std::uint32_t option) const noexcept {
    convert_options made = *this;
    made.raw_.options = raw_.options | option;
    return made;
  }

  DLBridgeConvertOptions raw_;
};
using convert_options_ref = detail::optional_ref<convert_options>;

/// Conversion without validation, or with a check of the struct only: the result is not validated.
/// It is a separate type, so that no option makes the elements of such a tensor available.
class unchecked_options : private convert_options {
 public:
  /// The caller knows that the tensor is valid; `how` must not have a policy.
  constexpr explicit unchecked_options(const convert_options& how = {}) noexcept
      : convert_options(how.add(DLBRIDGE_CONVERT_SKIP_VALIDATION)) {}
  /// Only the struct is checked; the policy is borrowed.
  constexpr unchecked_options(const convert_options& how, const struct_policy& demands) noexcept
      : convert_options(how) {
    raw_.policy = demands.raw();
  }
  unchecked_options(const convert_options& how, const struct_policy&& demands) = delete;
  using convert_options::raw;
};

/// Memory for upgrade_into: `size` bytes, aligned to 16, that must stay until the tensor is
/// released.
class storage {
 public:
  constexpr storage(void* memory, std::size_t size) noexcept : raw_ DLBRIDGE_STORAGE_INIT {
    raw_.memory = memory;
    raw_.size = size;
  }
  /// Calls `f(memory)` or `f()` once when the storage is free again, on the thread of the last
  /// release, after the source's deleter. `f` is borrowed, since nothing is allocated, and must
  /// outlive the tensor.
  template <class F>
  [[nodiscard]] constexpr storage release(F& f DLBRIDGE_HPP_BORROWS) const noexcept {
    storage made = *this;
    made.raw_.release_context = const_cast<std::remove_const_t<F>*>(&f);
    made.raw_.release = [](void* context, void* memory) noexcept {
      detail::contained([&] {
        if constexpr (std::is_invocable_v<F&, void*>) {
          (*static_cast<F*>(context))(memory);
        } else {
          (*static_cast<F*>(context))();
        }
      });
    };
    return made;
  }
  template <class F>
  storage release(const F&& f) const = delete;  // it would no longer exist when it is called

  constexpr const DLBridgeStorage* raw() const noexcept DLBRIDGE_HPP_BORROWS { return &raw_; }

 private:
  DLBridgeStorage raw_;
};

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_OPTIONS_HPP_
