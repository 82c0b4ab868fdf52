// SPDX-License-Identifier: Apache-2.0
// Builders of the structs that say how: policies, conversions, allocators, storage.
#ifndef DLBRIDGE_HPP_OPTIONS_HPP_
#define DLBRIDGE_HPP_OPTIONS_HPP_

#include "dlbridge/hpp/callback.hpp"
#include "dlbridge/hpp/element.hpp"

DLBRIDGE_HPP_BEGIN

/// What a consumer demands of a tensor; a default one is the library's default. Each function
/// returns a policy that demands this too, so that demands can be chained. Arrays that are passed
/// are borrowed and must outlive the policy. It validates the metadata at least: a check of the
/// struct alone is `inspect_struct`, which opens no elements. Functions without a comment are the
/// flags and fields of DLBridgePolicy of the same name, which dlbridge.h documents.
class policy {
 public:
  constexpr policy() noexcept : raw_ DLBRIDGE_POLICY_INIT {}

  /// Newest DLPack that the consumer speaks.
  [[nodiscard]] constexpr policy speaks(dlpack_version newest) const noexcept {
    policy made = *this;
    made.raw_.version = newest;
    return made;
  }
  /// Reads shape and strides, which is the default.
  [[nodiscard]] constexpr policy read_metadata() const noexcept {
    policy made = *this;
    made.raw_.level = DLBRIDGE_LEVEL_METADATA;
    return made;
  }
  /// Also asks the driver where the data lives.
  [[nodiscard]] constexpr policy ask_driver() const noexcept {
    policy made = *this;
    made.raw_.level = DLBRIDGE_LEVEL_DEVICE;
    return made;
  }
  [[nodiscard]] constexpr policy max_ndim(std::int32_t axes) const noexcept {
    policy made = *this;
    made.raw_.max_ndim = axes;
    return made;
  }
  [[nodiscard]] constexpr policy any_order() const noexcept {
    return contiguity(DLBRIDGE_CONTIGUITY_ANY);
  }
  [[nodiscard]] constexpr policy c_contiguous() const noexcept {
    return contiguity(DLBRIDGE_CONTIGUITY_C);
  }
  [[nodiscard]] constexpr policy f_contiguous() const noexcept {
    return contiguity(DLBRIDGE_CONTIGUITY_F);
  }
  [[nodiscard]] constexpr policy c_or_f_contiguous() const noexcept {
    return contiguity(DLBRIDGE_CONTIGUITY_C_OR_F);
  }
  /// Bytes, a power of two, that element (0,...,0) is aligned to.
  [[nodiscard]] constexpr policy alignment(std::uint64_t bytes) const noexcept {
    policy made = *this;
    made.raw_.alignment = bytes;
    return made;
  }
  /// Bytes at `data` that the extent stays inside.
  [[nodiscard]] constexpr policy buffer_size(std::uint64_t bytes) const noexcept {
    policy made = *this;
    made.raw_.buffer_size = bytes;
    return made;
  }
  /// Accepts these devices only, id -1 being any.
  [[nodiscard]] constexpr policy devices(span<const device> accepted) const noexcept {
    policy made = *this;
    made.raw_.devices = accepted.data();
    made.raw_.device_count = accepted.size();
    return made;
  }
  /// Accepts these dtypes only.
  [[nodiscard]] constexpr policy dtypes(span<const dtype> accepted) const noexcept {
    policy made = *this;
    made.raw_.dtypes = accepted.data();
    made.raw_.dtype_count = accepted.size();
    return made;
  }
  [[nodiscard]] constexpr policy refuse_unknown_dtype() const noexcept {
    return add(DLBRIDGE_POLICY_REFUSE_UNKNOWN_DTYPE);
  }
  [[nodiscard]] constexpr policy refuse_unknown_device() const noexcept {
    return add(DLBRIDGE_POLICY_REFUSE_UNKNOWN_DEVICE);
  }
  [[nodiscard]] constexpr policy refuse_unknown_flags() const noexcept {
    return add(DLBRIDGE_POLICY_REFUSE_UNKNOWN_FLAGS);
  }
  [[nodiscard]] constexpr policy refuse_negative_strides() const noexcept {
    return add(DLBRIDGE_POLICY_REFUSE_NEGATIVE_STRIDES);
  }
  [[nodiscard]] constexpr policy refuse_zero_strides() const noexcept {
    return add(DLBRIDGE_POLICY_REFUSE_ZERO_STRIDES);
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
  /// The caller knows that a legacy or bare tensor may be written to.
  [[nodiscard]] constexpr policy vouch_writable() const noexcept {
    return add(DLBRIDGE_POLICY_VOUCH_WRITABLE);
  }
  [[nodiscard]] constexpr policy allow_self_overlap() const noexcept {
    return add(DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP);
  }

  constexpr const DLBridgePolicy* raw() const noexcept { return &raw_; }

 private:
  constexpr policy add(std::uint32_t flag) const noexcept {
    policy made = *this;
    made.raw_.flags = raw_.flags | flag;
    return made;
  }
  [[nodiscard]] constexpr policy contiguity(std::int32_t value) const noexcept {
    policy made = *this;
    made.raw_.contiguity = value;
    return made;
  }

  DLBridgePolicy raw_;
};
using policy_ref = detail::optional_ref<policy>;

/// A policy whose level is the struct alone: shape and strides are not read, so it opens no
/// elements.
class struct_policy {
 public:
  constexpr explicit struct_policy(const policy& demands = {}) noexcept : raw_(*demands.raw()) {
    raw_.level = DLBRIDGE_LEVEL_STRUCT;
  }
  constexpr const DLBridgePolicy* raw() const noexcept { return &raw_; }

 private:
  DLBridgePolicy raw_;
};

/// Memory of the user's choice, for copies and allocations: any object with
/// `void* allocate(device, std::uint64_t bytes, std::uint64_t alignment)` and
/// `void deallocate(device, void*, std::uint64_t bytes, std::uint64_t alignment)`. The object is
/// borrowed and must outlive the memory; deallocate may run on any thread. An allocate that throws
/// is out of memory; see set_exception_handler.
class allocator {
 public:
  template <class A, class = std::enable_if_t<!std::is_same_v<std::remove_cv_t<A>, allocator>>>
  explicit constexpr allocator(A& object) noexcept : raw_ DLBRIDGE_ALLOCATOR_INIT {
    raw_.context = &object;
    raw_.allocate = [](void* context, DLDevice on, std::uint64_t bytes, std::uint64_t alignment) {
      void* memory = nullptr;
      detail::contained([&] { memory = static_cast<A*>(context)->allocate(on, bytes, alignment); });
      return memory;
    };
    raw_.deallocate = [](void* context, DLDevice on, void* memory, std::uint64_t bytes,
                         std::uint64_t alignment) {
      detail::contained(
          [&] { static_cast<A*>(context)->deallocate(on, memory, bytes, alignment); });
    };
  }
  constexpr const DLBridgeAllocator* raw() const noexcept { return &raw_; }

 private:
  DLBridgeAllocator raw_;
};

/// How to convert; a default one is the library's default. What it points to (policy, allocator) is
/// borrowed and must outlive it. Functions without a comment are the flags of the same name,
/// DLBRIDGE_CONVERT_*, which dlbridge.h documents.
class convert_options {
 public:
  constexpr convert_options() noexcept : raw_ DLBRIDGE_CONVERT_OPTIONS_INIT {}

  /// Newest DLPack that the consumer speaks.
  [[nodiscard]] constexpr convert_options speaks(dlpack_version newest) const noexcept {
    convert_options made = *this;
    made.raw_.version = newest;
    return made;
  }
  /// DLPack flags that the caller knows of a legacy source, which cannot say them.
  [[nodiscard]] constexpr convert_options source_flags(std::uint64_t flags) const noexcept {
    convert_options made = *this;
    made.raw_.source_flags = flags;
    return made;
  }
  [[nodiscard]] constexpr convert_options by(const policy& demands) const noexcept {
    convert_options made = *this;
    made.raw_.policy = demands.raw();
    return made;
  }
  convert_options by(const policy&&) const = delete;  // a temporary would be gone when it is used
  /// Copies the data, to memory of the system's or of `memory`.
  [[nodiscard]] constexpr convert_options copy() const noexcept {
    return add(DLBRIDGE_CONVERT_COPY);
  }
  [[nodiscard]] constexpr convert_options memory(const allocator& memory) const noexcept {
    convert_options made = *this;
    made.raw_.allocator = memory.raw();
    return made;
  }
  convert_options memory(const allocator&&) const = delete;
  /// The caller knows that a legacy source may be written to; else it counts as read-only.
  [[nodiscard]] constexpr convert_options writable() const noexcept {
    return add(DLBRIDGE_CONVERT_WRITABLE);
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
  [[nodiscard]] constexpr convert_options newer_codes() const noexcept {
    return add(DLBRIDGE_CONVERT_NEWER_CODES);
  }
  [[nodiscard]] constexpr convert_options pin_producer() const noexcept {
    return add(DLBRIDGE_CONVERT_PIN_PRODUCER);
  }

  constexpr const DLBridgeConvertOptions* raw() const noexcept { return &raw_; }

 private:
  friend class unchecked_options;
  constexpr convert_options add(std::uint32_t flag) const noexcept {
    convert_options made = *this;
    made.raw_.flags = raw_.flags | flag;
    return made;
  }

  DLBridgeConvertOptions raw_;
};
using convert_options_ref = detail::optional_ref<convert_options>;

/// Conversion without validation, or with one of the struct alone, so that the result counts as
/// unvalidated. A type of its own: no option can open the elements of a tensor that nobody has
/// looked at.
class unchecked_options : private convert_options {
 public:
  /// The caller vouches for the tensor; `how` must have no policy.
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

/// Memory for upgrade_into: `size` bytes, aligned to 16, that stay until the tensor was released.
class storage {
 public:
  constexpr storage(void* memory, std::size_t size) noexcept : raw_ DLBRIDGE_STORAGE_INIT {
    raw_.memory = memory;
    raw_.size = size;
  }
  /// Calls `f(memory)` or `f()` once when the storage is free again, on the thread of the last
  /// release. `f` is borrowed, since nothing is allocated, and must outlive the tensor.
  template <class F>
  [[nodiscard]] constexpr storage on_released(F& f) const noexcept {
    storage made = *this;
    made.raw_.context = const_cast<std::remove_const_t<F>*>(&f);
    made.raw_.released = [](void* context, void* memory) {
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
  storage on_released(const F&& f) const = delete;  // it would be gone when it is called

  constexpr const DLBridgeStorage* raw() const noexcept { return &raw_; }

 private:
  DLBridgeStorage raw_;
};

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_OPTIONS_HPP_
