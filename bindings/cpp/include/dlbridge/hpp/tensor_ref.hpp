// SPDX-License-Identifier: Apache-2.0
// Borrowed tensors: foreign_ref, which gives no elements, and checked_ref, which does. Either is
// valid as long as the tensor that it refers to.
#ifndef DLBRIDGE_HPP_TENSOR_REF_HPP_
#define DLBRIDGE_HPP_TENSOR_REF_HPP_

#include "dlbridge/hpp/options.hpp"
#include "dlbridge/hpp/strided.hpp"

DLBRIDGE_HPP_BEGIN

/// How elements are accessed. Values can be combined: `on_device | vouch_writable`.
enum class access : unsigned {
  /// On the host: a tensor that the CPU cannot read is rejected.
  on_host = 0,
  /// On the tensor's device: the view is for a kernel, and the host must not read through it.
  on_device = 1,
  /// The caller knows that a legacy or borrowed tensor, which does not record writability, may be
  /// written to.
  vouch_writable = 2,
};
constexpr access operator|(access a, access b) noexcept {
  return static_cast<access>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(access all, access flag) noexcept {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(flag)) != 0;
}

namespace detail {

template <class... T>
constexpr void reject_unvalidated() noexcept {
  static_assert(always_false<T...>,
                "dlbridge: this tensor is not validated: import or validate it first");
}

// Members that give elements do not compile for a tensor that is not validated.
class closed {
 public:
  template <class T, std::size_t Rank>
  void elements(access = access::on_host) const {
    reject_unvalidated<T>();
  }
  template <class Target>
  void map(access = access::on_host) const {
    reject_unvalidated<Target>();
  }
  template <class T = void>
  void data() const {
    reject_unvalidated<T>();
  }
  template <class T = void>
  void shape() const {
    reject_unvalidated<T>();
  }
  template <class T = void>
  void strides() const {
    reject_unvalidated<T>();
  }
};

struct opener;

}  // namespace detail

/// A borrowed foreign DLTensor, and its known flags (0 if none).
class foreign_ref : public detail::closed {
 public:
  constexpr foreign_ref() noexcept = default;
  constexpr explicit foreign_ref(const DLTensor* tensor, std::uint64_t flags = 0) noexcept
      : raw_(tensor), flags_(flags) {}

  constexpr const DLTensor* raw() const noexcept { return raw_; }
  constexpr std::uint64_t flags() const noexcept { return flags_; }

 private:
  const DLTensor* raw_ = nullptr;
  std::uint64_t flags_ = 0;
};

/// A borrowed tensor that was validated: shape, strides and elements are safe to read.
class checked_ref {
 public:
  /// A reference to no tensor: no axes, no data.
  constexpr checked_ref() noexcept = default;

  constexpr const DLTensor* raw() const noexcept { return raw_; }
  constexpr std::uint64_t flags() const noexcept { return flags_; }
  constexpr std::int32_t ndim() const noexcept { return raw_ != nullptr ? raw_->ndim : 0; }
  constexpr span<const std::int64_t> shape() const noexcept {
    return {raw_ != nullptr ? raw_->shape : nullptr, static_cast<std::size_t>(ndim())};
  }
  /// In elements; empty if the producer omitted them (compact, last axis fastest).
  constexpr span<const std::int64_t> strides() const noexcept {
    return raw_ != nullptr && raw_->strides != nullptr
               ? span<const std::int64_t>(raw_->strides, static_cast<std::size_t>(ndim()))
               : span<const std::int64_t>();
  }
  constexpr dlbridge::dtype dtype() const noexcept {
    return raw_ != nullptr ? raw_->dtype : dlbridge::dtype{0, 0, 0};
  }
  dlbridge::device device() const noexcept {
    return raw_ != nullptr ? raw_->device : make_device(0);
  }
  /// The address of element (0,...,0), which the CPU may be unable to read. NULL if the tensor is
  /// empty, or if `data` is a handle (see handle and byte_offset).
  const void* data() const noexcept { return opaque() ? nullptr : address(); }
  /// `data` unchanged: an address, or the handle of an opaque device's memory.
  void* handle() const noexcept { return raw_ != nullptr ? raw_->data : nullptr; }
  /// Bytes from the address or handle to element (0,...,0).
  std::uint64_t byte_offset() const noexcept { return raw_ != nullptr ? raw_->byte_offset : 0; }
  /// Number of elements; 1 for a scalar.
  std::int64_t size() const noexcept {
    return raw_ != nullptr
               ? detail::count_elements(raw_->shape, static_cast<std::size_t>(raw_->ndim))
               : 0;
  }
  /// True if the data must not be written to. Also true for a legacy or borrowed tensor, which does
  /// not record that it may.
  constexpr bool read_only() const noexcept { return writable_ != answer::yes; }

  /// The elements as `Rank` axes of T. Rejected (policy) where dtype, ndim, alignment or device do
  /// not match, and, unless T is const, where the tensor must not be written to or elements share
  /// memory. The result borrows from the tensor.
  template <class T, std::size_t Rank>
  result<strided_view<T, Rank>> elements(access how = access::on_host) const noexcept {
    detail::require_element<T>();
    const demand wanted = {dtype_of<std::remove_cv_t<T>>::value,
                           Rank,
                           alignof(T),
                           !std::is_const_v<T>,
                           detail::is_padded<T>,
                           how};
    if (!meets(wanted)) {
      return rejection(wanted);
    }
    return open<T, Rank>();
  }

  /// The elements as a Target that views memory: std::mdspan, cuda::std::mdspan, Eigen::Map,
  /// xt::xtensor_adaptor; see map_traits for others. Rejected as elements() rejects, and where the
  /// target cannot express the strides. The result borrows from the tensor. Throws what the
  /// Target's constructor throws.
  template <class Target>
  result<Target> map(access how = access::on_host) const;

 private:
  enum class answer : std::uint8_t { no, yes, unknown };
  struct demand {
    dlbridge::dtype dtype;
    std::size_t rank;
    std::size_t alignment;
    bool writable;
    bool padded;  // an element of less than a byte fills a byte
    access how;
  };

  checked_ref(const DLTensor* raw, std::uint64_t flags, answer writable) noexcept
      : raw_(raw), flags_(flags), writable_(writable) {}
  friend struct trust;
  friend struct detail::opener;

  // The elements of a tensor that meets the demands of a T; none without a tensor.
  template <class T, std::size_t Rank>
  strided_view<T, Rank> open() const noexcept {
    if (raw_ == nullptr) {
      return {};
    }
    std::int64_t compact[Rank != 0 ? Rank : 1] = {};
    return strided_view<T, Rank>(static_cast<T*>(address()), raw_->shape,
                                 raw_->strides != nullptr ? raw_->strides : fill<Rank>(compact));
  }

  void* address() const noexcept {
    return raw_ != nullptr && raw_->data != nullptr
               ? static_cast<unsigned char*>(raw_->data) + raw_->byte_offset
               : nullptr;
  }

  template <std::size_t Rank>
  const std::int64_t* fill(std::int64_t* strides) const noexcept {
    std::uint64_t next = 1;  // the extents of an empty tensor may have any product
    for (std::size_t axis = Rank; axis-- > 0;) {
      strides[axis] = static_cast<std::int64_t>(next);
      next *= static_cast<std::uint64_t>(raw_->shape[axis]);
    }
    return strides;
  }

  bool meets(const demand& wanted) const noexcept {
    return raw_ != nullptr && equal(raw_->dtype, wanted.dtype) &&
           static_cast<std::size_t>(raw_->ndim) == wanted.rank && aligned(wanted.alignment) &&
           (!wanted.padded || has_padding()) && layout_known() && reachable(wanted.how) &&
           (!wanted.writable || may_write(wanted.how));
  }
  // An empty tensor meets any alignment.
  bool aligned(std::size_t bytes) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address()) % bytes == 0 || size() == 0;
  }
  bool has_padding() const noexcept {
    return (flags_ & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  }
  // An unknown flag bit may change the layout.
  bool layout_known() const noexcept {
    constexpr std::uint64_t known = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED |
                                    DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    return (flags_ & ~known) == 0 ||
           status_of(as_policy(nullptr).allow_self_overlap()) == DLBRIDGE_OK;
  }
  bool reachable(access how) const noexcept {
    const std::int32_t type = device_type(raw_->device);
    return type == kDLCPU ||
           (has(how, access::on_device) ? !opaque() : abi::host_accessible(type, nullptr) == 1);
  }
  // True if `data` is a handle, to which no offset can be added. The library decides by the device.
  bool opaque() const noexcept {
    if (raw_ == nullptr || device_type(raw_->device) == kDLCPU) {
      return false;
    }
    DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
    const DLBridgeStatus status = abi::layout(raw_, flags_, &layout, nullptr);
    return status == DLBRIDGE_OK && (layout.properties & DLBRIDGE_LAYOUT_OPAQUE) != 0;
  }
  // Elements of a compact layout do not overlap; the library decides for other layouts.
  bool may_write(access how) const noexcept {
    const bool allowed = writable_ == answer::yes ||
                         (writable_ == answer::unknown && has(how, access::vouch_writable));
    return allowed && (compact() || status_of(as_policy(nullptr)) == DLBRIDGE_OK);
  }
  bool compact() const noexcept {
    std::uint64_t expected = 1;
    for (std::int32_t axis = raw_->ndim; raw_->strides != nullptr && axis-- > 0;) {
      if (raw_->shape[axis] != 1 && static_cast<std::uint64_t>(raw_->strides[axis]) != expected) {
        return false;
      }
      expected *= static_cast<std::uint64_t>(raw_->shape[axis]);
    }
    return true;
  }

  // The demands as a policy, so that the library writes the error.
  policy as_policy(const demand* wanted) const noexcept {
    const policy base = policy().allow_null_strides().allow_scalable_lanes().reject_unknown_flags();
    if (wanted == nullptr) {
      return base.require_writable().vouch_writable();
    }
    policy made = base.dtypes({&wanted->dtype, 1}).alignment(wanted->alignment);
    if (wanted->writable) {
      made = made.require_writable();
    }
    return has(wanted->how, access::vouch_writable) ? made.vouch_writable() : made;
  }
  DLBridgeStatus status_of(const policy& demands, DLBridgeError* sink = nullptr) const noexcept {
    return abi::validate(raw_, flags_ & ~DLPACK_FLAG_BITMASK_READ_ONLY, demands.raw(), sink);
  }

  error rejection(const demand& wanted) const noexcept {
    if (raw_ == nullptr) {
      return {status_code::invalid_argument, rule_code::none, -1,
              "tensor: expected a tensor, found an empty owner, which was moved from or released"};
    }
    if (static_cast<std::size_t>(raw_->ndim) != wanted.rank) {
      return {status_code::policy,
              rule_code::ndim_limit,
              -1,
              "ndim: expected %zu, found %d; ask for as many axes as the tensor has",
              wanted.rank,
              raw_->ndim};
    }
    if (!equal(raw_->dtype, wanted.dtype)) {
      char expected[64] = "";
      char found[64] = "";
      abi::dtype_format(wanted.dtype, &expected[0], sizeof expected, nullptr, nullptr);
      abi::dtype_format(raw_->dtype, &found[0], sizeof found, nullptr, nullptr);
      return {status_code::policy,
              rule_code::dtype_rejected,
              -1,
              "dtype: expected %s, found %s; convert it before the call",
              expected,
              found};
    }
    if (!reachable(wanted.how)) {
      return {
          status_code::policy,
          rule_code::device_rejected,
          -1,
          "device: expected memory that %s, found device type %d; copy it to the host or read it "
          "in a kernel of the device",
          has(wanted.how, access::on_device) ? "has an address" : "the CPU can read",
          device_type(raw_->device)};
    }
    if (wanted.writable && writable_ == answer::no) {
      return {status_code::policy, rule_code::not_writable, -1,
              "the tensor is READ_ONLY: expected a const element type, found a writable one"};
    }
    if (wanted.writable && writable_ == answer::unknown &&
        !has(wanted.how, access::vouch_writable)) {
      return {
          status_code::policy, rule_code::not_writable, -1,
          "a legacy or borrowed tensor does not record that it may be written to: ask for const "
          "elements, or pass access::vouch_writable if you know that it may"};
    }
    if (wanted.padded && !has_padding()) {
      return {status_code::policy, rule_code::dtype_rejected, -1,
              "elements: expected the flag IS_SUBBYTE_TYPE_PADDED, found packed elements"};
    }
    demand vouched = wanted;
    vouched.how = wanted.how | access::vouch_writable;
    error why;
    const DLBridgeStatus status = status_of(as_policy(&vouched), why.sink());
    if (status == DLBRIDGE_OK) {
      return {status_code::policy, rule_code::none, -1,
              "the tensor does not match the view: expected elements of its type"};
    }
    why.set(status);
    return why;
  }

  const DLTensor* raw_ = nullptr;
  std::uint64_t flags_ = 0;
  answer writable_ = answer::unknown;
};

template <>
inline constexpr bool borrows<foreign_ref> = true;
template <>
inline constexpr bool borrows<checked_ref> = true;

/// Skips validation, and is the only function that does: for callers who know that a tensor is
/// valid.
struct trust {
  /// The caller guarantees that `tensor`, whose flags are `flags`, is valid.
  static checked_ref assume_validated(const DLTensor* tensor, std::uint64_t flags = 0) noexcept {
    return {tensor, flags,
            (flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 ? checked_ref::answer::no
                                                         : checked_ref::answer::unknown};
  }
  static checked_ref assume_validated(const DLManagedTensor* tensor) noexcept {
    return tensor != nullptr ? assume_validated(&tensor->dl_tensor, 0) : checked_ref();
  }
  static checked_ref assume_validated(const DLManagedTensorVersioned* tensor) noexcept {
    if (tensor == nullptr) {
      return {};
    }
    return {&tensor->dl_tensor, tensor->flags,
            (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 ? checked_ref::answer::no
                                                                 : checked_ref::answer::yes};
  }
};

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_TENSOR_REF_HPP_
