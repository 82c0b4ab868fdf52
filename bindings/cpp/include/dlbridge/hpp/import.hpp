// SPDX-License-Identifier: Apache-2.0
// import makes a validated tensor from any managed tensor, export_to makes the struct that a
// consumer reads, release calls the deleter of a C struct. On success the source passes to the
// result; on failure the source still owns, although it was passed as an rvalue. Omitted options
// are the library's defaults.
#ifndef DLBRIDGE_HPP_IMPORT_HPP_
#define DLBRIDGE_HPP_IMPORT_HPP_

#include "dlbridge/hpp/owner.hpp"

DLBRIDGE_HPP_BEGIN

/// The kind of struct that a pointer points to.
enum class kind : std::int32_t {
  // [facts/enums.toml KIND]
  unknown = DLBRIDGE_KIND_UNKNOWN,
  legacy = DLBRIDGE_KIND_LEGACY,
  versioned = DLBRIDGE_KIND_VERSIONED,
  borrowed = DLBRIDGE_KIND_BORROWED,
  ambiguous = DLBRIDGE_KIND_AMBIGUOUS,
  // [/facts]
};

/// Owns a tensor of either kind, such as the result of export_to for a consumer whose version is
/// known at run time only.
template <class Legacy, class Versioned>
class either {
 public:
  either() noexcept = default;
  explicit either(Legacy&& tensor) noexcept : legacy_(std::move(tensor)) {}
  explicit either(Versioned&& tensor) noexcept : versioned_(std::move(tensor)) {}

  /// legacy or versioned; unknown if it is empty.
  dlbridge::kind kind() const noexcept {
    return legacy_ ? kind::legacy : versioned_ ? kind::versioned : kind::unknown;
  }
  explicit operator bool() const noexcept { return legacy_ || versioned_; }
  /// The struct, which stays this owner's.
  void* get() const noexcept DLBRIDGE_HPP_BORROWS {
    return legacy_ ? static_cast<void*>(legacy_.get()) : versioned_.get();
  }
  /// Gives the struct, which is of kind(), to the caller, who must release it once.
  [[nodiscard]] void* release() noexcept {
    return legacy_ ? static_cast<void*>(legacy_.release()) : versioned_.release();
  }
  /// The tensor, borrowed; only if it is validated.
  checked_ref ref() const& noexcept DLBRIDGE_HPP_BORROWS {
    return legacy_ ? legacy_.ref() : versioned_.ref();
  }
  checked_ref ref() const&& = delete;
  /// Moves the tensor to an owner of that kind; empty if the tensor is of the other kind.
  Legacy legacy() && noexcept { return std::move(legacy_); }
  Versioned versioned() && noexcept { return std::move(versioned_); }
  void reset() noexcept {
    legacy_.reset();
    versioned_.reset();
  }

 private:
  Legacy legacy_;
  Versioned versioned_;
};
using any_tensor = either<checked_legacy, checked_versioned>;
using any_foreign = either<foreign_legacy, foreign_versioned>;

namespace detail {

// The sources of import and export_to: the pointer, its kind, and how to empty the owner on
// success.
template <class Source, class = void>
struct source_traits {
  static constexpr bool known = false;
  static constexpr bool owns = false;
};
template <>
struct source_traits<void*> {
  static constexpr bool known = true;
  static constexpr bool owns = false;
  static void* get(void* source) noexcept { return source; }
  static DLBridgeKind kind(void* /*source*/) noexcept { return DLBRIDGE_KIND_UNKNOWN; }
  static void taken(void* /*source*/) noexcept {}
};
template <class Managed>
struct source_traits<Managed*,
                     std::enable_if_t<std::is_same_v<Managed, DLManagedTensor> ||
                                      std::is_same_v<Managed, DLManagedTensorVersioned>>> {
  static constexpr bool known = true;
  static constexpr bool owns = false;
  static void* get(Managed* source) noexcept { return source; }
  static DLBridgeKind kind(Managed* /*source*/) noexcept {
    return std::is_same_v<Managed, DLManagedTensor> ? DLBRIDGE_KIND_LEGACY
                                                    : DLBRIDGE_KIND_VERSIONED;
  }
  static void taken(Managed* /*source*/) noexcept {}
};
template <class Owner>
struct source_traits<
    Owner, std::enable_if_t<std::is_base_of_v<handle<typename Owner::managed_type>, Owner>>> {
  static constexpr bool known = true;
  static constexpr bool owns = true;
  static void* get(const Owner& source) noexcept { return source.get(); }
  static DLBridgeKind kind(const Owner& source) noexcept {
    return source_traits<typename Owner::managed_type*>::kind(source.get());
  }
  static void taken(Owner& source) noexcept { static_cast<void>(source.release()); }
};
template <class Legacy, class Versioned>
struct source_traits<either<Legacy, Versioned>> {
  static constexpr bool known = true;
  static constexpr bool owns = true;
  using both = either<Legacy, Versioned>;
  static void* get(const both& source) noexcept { return source.get(); }
  static DLBridgeKind kind(const both& source) noexcept {
    return static_cast<DLBridgeKind>(source.kind());
  }
  static void taken(both& source) noexcept { static_cast<void>(source.release()); }
};

template <class Source>
inline constexpr bool is_source = source_traits<plain<Source>>::known;

// Success leaves a pointer as it is, and empties an owner, which is passed by std::move.
template <class Source>
constexpr void require_source() noexcept {
  static_assert(
      is_source<Source>,
      "dlbridge: expected a void*, a managed tensor, or an owner of one; a DLTensor has no "
      "owner: validate or copy it");
  static_assert(!source_traits<plain<Source>>::owns ||
                    (!std::is_lvalue_reference_v<Source> && !std::is_const_v<Source>),
                "dlbridge: the call consumes the owner: pass std::move(owner)");
}
template <class Pointer>
constexpr void require_untyped() noexcept {
  static_assert(std::is_same_v<plain<Pointer>, void*>,
                "dlbridge: a kind is given for a void* only: the type of any other source has it");
}

template <class Owner>
DLBRIDGE_HPP_INLINE Owner owner_of(void* pointer) noexcept {
  auto* const managed = static_cast<typename Owner::managed_type*>(pointer);
  if constexpr (std::is_constructible_v<Owner, decltype(managed)>) {
    return Owner(managed);
  } else {
    return Owner::assume_validated(managed);
  }
}

// Makes the failure out of line, so that a success stays in registers.
template <class To>
DLBRIDGE_HPP_INLINE result<To> failed(error& why, DLBridgeStatus status) noexcept {
  why.set(status);
  return result<To>(why);
}

template <class To, class Source>
DLBRIDGE_HPP_INLINE result<To> imported(Source& source, DLBridgeKind kind,
                                        const DLBridgeConvertOptions* how) noexcept {
  using traits = source_traits<plain<Source>>;
  error why{error::unfilled()};
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status =
      abi::import_tensor(traits::get(source), kind, how, &out, why.sink());
  if (status != DLBRIDGE_OK) {
    return failed<To>(why, status);
  }
  traits::taken(source);
  return result<To>(owner_of<To>(out));
}

template <class Legacy, class Versioned, class Source>
result<either<Legacy, Versioned>> exported(Source& source, DLBridgeKind kind, dlpack_version target,
                                           const DLBridgeConvertOptions* how) noexcept {
  using traits = source_traits<plain<Source>>;
  using both = either<Legacy, Versioned>;
  error why{error::unfilled()};
  void* out = nullptr;
  DLBridgeKind is = DLBRIDGE_KIND_UNKNOWN;
  const DLBridgeStatus status =
      abi::export_tensor(traits::get(source), kind, target, how, &out, &is, why.sink());
  if (status != DLBRIDGE_OK) {
    return failed<both>(why, status);
  }
  traits::taken(source);
  return is == DLBRIDGE_KIND_LEGACY ? both(owner_of<Legacy>(out)) : both(owner_of<Versioned>(out));
}

}  // namespace detail

/// Makes a validated, dlbridge-owned tensor from any managed tensor: THE FUNCTION FOR TENSORS FROM
/// FOREIGN CODE. `source` is a `void*` (the bytes decide its kind), a `DLManagedTensor*`, a
/// `DLManagedTensorVersioned*`, or an owner of one, by std::move. Shape and strides are copied, so
/// what was validated is what is used; the data is not copied unless the options ask for it. On
/// success the source belongs to the result; on failure it is untouched and still the caller's. A
/// legacy source is READ_ONLY without convert_options().vouch_writable().
template <class Source>
DLBRIDGE_HPP_INLINE result<tensor> import(Source&& source, convert_options_ref how = {}) noexcept {
  detail::require_source<Source>();
  if constexpr (detail::is_source<Source>) {
    using traits = detail::source_traits<detail::plain<Source>>;
    return detail::imported<tensor>(source, traits::kind(source), how.raw());
  }
}
/// Imports a `void*` whose kind is known.
template <class Pointer>
DLBRIDGE_HPP_INLINE result<tensor> import(Pointer&& source, kind is,
                                          convert_options_ref how = {}) noexcept {
  detail::require_untyped<Pointer>();
  void* pointer = source;
  return detail::imported<tensor>(pointer, static_cast<DLBridgeKind>(is), how.raw());
}
/// Imports without validation, so the result gives no elements.
template <class Source>
result<foreign_versioned> import(Source&& source, const unchecked_options& how) noexcept {
  detail::require_source<Source>();
  if constexpr (detail::is_source<Source>) {
    using traits = detail::source_traits<detail::plain<Source>>;
    return detail::imported<foreign_versioned>(source, traits::kind(source), how.raw());
  }
}
template <class Pointer>
result<foreign_versioned> import(Pointer&& source, kind is, const unchecked_options& how) noexcept {
  detail::require_untyped<Pointer>();
  void* pointer = source;
  return detail::imported<foreign_versioned>(pointer, static_cast<DLBridgeKind>(is), how.raw());
}

/// Makes from `source`, an argument as for import, the struct that a consumer of DLPack `target`
/// reads: legacy if the target's major version is 0. A tensor that the consumer can already read is
/// validated and returned. The options must not set a version, since the target states it.
template <class Source>
result<any_tensor> export_to(Source&& source, dlpack_version target,
                             convert_options_ref how = {}) noexcept {
  detail::require_source<Source>();
  if constexpr (detail::is_source<Source>) {
    using traits = detail::source_traits<detail::plain<Source>>;
    return detail::exported<checked_legacy, checked_versioned>(source, traits::kind(source), target,
                                                               how.raw());
  }
}
template <class Pointer>
result<any_tensor> export_to(Pointer&& source, kind is, dlpack_version target,
                             convert_options_ref how = {}) noexcept {
  detail::require_untyped<Pointer>();
  void* pointer = source;
  return detail::exported<checked_legacy, checked_versioned>(pointer, static_cast<DLBridgeKind>(is),
                                                             target, how.raw());
}
template <class Source>
result<any_foreign> export_to(Source&& source, dlpack_version target,
                              const unchecked_options& how) noexcept {
  detail::require_source<Source>();
  if constexpr (detail::is_source<Source>) {
    using traits = detail::source_traits<detail::plain<Source>>;
    return detail::exported<foreign_legacy, foreign_versioned>(source, traits::kind(source), target,
                                                               how.raw());
  }
}
template <class Pointer>
result<any_foreign> export_to(Pointer&& source, kind is, dlpack_version target,
                              const unchecked_options& how) noexcept {
  detail::require_untyped<Pointer>();
  void* pointer = source;
  return detail::exported<foreign_legacy, foreign_versioned>(pointer, static_cast<DLBridgeKind>(is),
                                                             target, how.raw());
}

/// Calls the deleter of a managed tensor that no owner of this header holds, such as one that
/// import rejected. NULL is accepted. Rejected (invalid argument), without a call, if
/// `is` is neither legacy nor versioned.
template <class Pointer>
result<void> release(Pointer managed, kind is) noexcept {
  detail::require_untyped<Pointer>();
  if (abi::release(managed, static_cast<DLBridgeKind>(is)) == DLBRIDGE_OK) {
    return {};
  }
  return error(status_code::invalid_argument, rule_code::none, -1,
               "kind: expected LEGACY (1) or VERSIONED (2), found %d; nothing was released",
               static_cast<DLBridgeKind>(is));
}
inline void release(DLManagedTensor* managed) noexcept { abi::release_legacy(managed); }
inline void release(DLManagedTensorVersioned* managed) noexcept { abi::release_versioned(managed); }

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_IMPORT_HPP_
