// SPDX-License-Identifier: Apache-2.0
// Validation, and conversion where the kind is known at compile time. On success the source owner
// is empty and the result owns; on failure the source still owns, although it was passed as an
// rvalue. Omitted options are the library's defaults.
#ifndef DLBRIDGE_HPP_CONVERT_HPP_
#define DLBRIDGE_HPP_CONVERT_HPP_

#include "dlbridge/hpp/import.hpp"
#include "dlbridge/hpp/map.hpp"

DLBRIDGE_HPP_BEGIN

namespace detail {

DLBRIDGE_HPP_INLINE DLBridgeStatus validate_managed(const DLManagedTensor* tensor,
                                                    const DLBridgePolicy* by,
                                                    DLBridgeError* sink) noexcept {
  return abi::validate_legacy(tensor, by, sink);
}
DLBRIDGE_HPP_INLINE DLBridgeStatus validate_managed(const DLManagedTensorVersioned* tensor,
                                                    const DLBridgePolicy* by,
                                                    DLBridgeError* sink) noexcept {
  return abi::validate_versioned(tensor, by, sink);
}

// The converters take any owner of the right struct, by std::move.
template <class Managed, class Owner>
constexpr void require_owner() noexcept {
  static_assert(!std::is_lvalue_reference_v<Owner>,
                "dlbridge: the call consumes the owner: pass std::move(owner)");
  static_assert(
      std::is_base_of_v<handle<Managed>, std::remove_reference_t<Owner>>,
      "dlbridge: the call takes the other kind of tensor (legacy or versioned), or this is not an "
      "owner; import takes both kinds");
}

// Calls a converter: on success its output gets an owner and the source is emptied.
template <class To, class From, class Call>
DLBRIDGE_HPP_INLINE result<To> converted(From& source, Call&& call) noexcept {
  error why{error::unfilled()};
  typename To::managed_type* out = nullptr;
  const DLBridgeStatus status = call(&out, why.sink());
  if (status != DLBRIDGE_OK) {
    return failed<To>(why, status);
  }
  static_cast<void>(source.release());
  return result<To>(owner_of<To>(out));
}

template <class Managed, class From, class Call>
DLBRIDGE_HPP_INLINE result<foreign<Managed>> unchecked(From& source, Call&& call) noexcept {
  return converted<foreign<Managed>>(source, std::forward<Call>(call));
}

template <class To, class Call>
DLBRIDGE_HPP_INLINE result<To> produced(Call&& call) noexcept {
  error why{error::unfilled()};
  typename To::managed_type* out = nullptr;
  const DLBridgeStatus status = call(&out, why.sink());
  if (status != DLBRIDGE_OK) {
    return failed<To>(why, status);
  }
  return result<To>(owner_of<To>(out));
}

// Calls a validator; on success returns the result of `open`.
template <class To, class Call, class Open>
DLBRIDGE_HPP_INLINE result<To> opened(Call&& call, Open&& open) noexcept {
  error why{error::unfilled()};
  const DLBridgeStatus status = call(why.sink());
  if (status != DLBRIDGE_OK) {
    return failed<To>(why, status);
  }
  return result<To>(open());
}

}  // namespace detail

/// Validates a foreign tensor in place: ownership passes to a type that gives its elements.
template <class Managed>
DLBRIDGE_HPP_INLINE result<checked<Managed>> validate(foreign<Managed>&& source,
                                                      policy_ref by = {}) noexcept {
  return detail::opened<checked<Managed>>(
      [&](DLBridgeError* sink) { return detail::validate_managed(source.get(), by.raw(), sink); },
      [&] { return checked<Managed>::assume_validated(source.release()); });
}

/// Validates a borrowed managed tensor, such as an argument of a C function.
template <class Managed>
DLBRIDGE_HPP_INLINE result<checked_ref> validate(const Managed* borrowed DLBRIDGE_HPP_BORROWS,
                                                 policy_ref by = {}) noexcept {
  return detail::opened<checked_ref>(
      [&](DLBridgeError* sink) { return detail::validate_managed(borrowed, by.raw(), sink); },
      [&] { return trust::assume_validated(borrowed); });
}

/// Validates a borrowed DLTensor.
DLBRIDGE_HPP_INLINE result<checked_ref> validate(foreign_ref borrowed,
                                                 policy_ref by = {}) noexcept {
  return detail::opened<checked_ref>(
      [&](DLBridgeError* sink) {
        return abi::validate(borrowed.raw(), borrowed.flags(), by.raw(), sink);
      },
      [&] { return trust::assume_validated(borrowed.raw(), borrowed.flags()); });
}

/// Checks the struct only, without reading shape or strides, so the result gives no elements: for a
/// channel that only passes tensors on.
template <class Managed>
result<void> inspect_struct(const Managed* tensor,
                            const struct_policy& by = struct_policy()) noexcept {
  result<void> made;
  detail::maker::finish(made,
                        detail::validate_managed(tensor, by.raw(), detail::maker::sink(made)));
  return made;
}
inline result<void> inspect_struct(foreign_ref tensor,
                                   const struct_policy& by = struct_policy()) noexcept {
  result<void> made;
  detail::maker::finish(
      made, abi::validate(tensor.raw(), tensor.flags(), by.raw(), detail::maker::sink(made)));
  return made;
}

/// Makes a versioned tensor from a legacy one, without copying data unless the options ask for it.
/// Shape and strides are copied, so what was validated is what is used. A tensor that downgrade
/// made becomes again the tensor that downgrade was given.
template <class Owner>
DLBRIDGE_HPP_INLINE result<tensor> upgrade(Owner&& source, convert_options_ref how = {}) noexcept {
  detail::require_owner<DLManagedTensor, Owner>();
  return detail::converted<tensor>(source, [&](auto** out, DLBridgeError* sink) {
    return abi::upgrade(source.get(), how.raw(), out, sink);
  });
}
/// Upgrades without validation, so the result gives no elements.
template <class Owner>
DLBRIDGE_HPP_INLINE result<foreign_versioned> upgrade(Owner&& source,
                                                      const unchecked_options& how) noexcept {
  detail::require_owner<DLManagedTensor, Owner>();
  return detail::unchecked<DLManagedTensorVersioned>(source, [&](auto** out, DLBridgeError* sink) {
    return abi::upgrade(source.get(), how.raw(), out, sink);
  });
}

/// Bytes of storage that upgrade_into needs for `ndim` axes; 0 for an ndim below 0 or above 64.
inline std::size_t upgrade_storage_size(std::int32_t ndim) noexcept {
  return abi::upgrade_storage_size(ndim);
}

/// Upgrades into the caller's storage, without allocating.
template <class Owner>
DLBRIDGE_HPP_INLINE result<stored_tensor> upgrade_into(Owner&& source, const storage& into,
                                                       convert_options_ref how = {}) noexcept {
  detail::require_owner<DLManagedTensor, Owner>();
  return detail::converted<stored_tensor>(source, [&](auto** out, DLBridgeError* sink) {
    return abi::upgrade_into(source.get(), how.raw(), into.raw(), out, sink);
  });
}

template <class Owner>
result<foreign_versioned> upgrade_into(Owner&& source, const storage& into,
                                       const unchecked_options& how) noexcept {
  detail::require_owner<DLManagedTensor, Owner>();
  return detail::unchecked<DLManagedTensorVersioned>(source, [&](auto** out, DLBridgeError* sink) {
    return abi::upgrade_into(source.get(), how.raw(), into.raw(), out, sink);
  });
}

namespace detail {

template <class Out>
result<void> upgrade_all(span<foreign_legacy> sources, span<Out> outs,
                         const DLBridgeConvertOptions* how, std::size_t* failed) noexcept {
  static_assert(sizeof(foreign_legacy) == sizeof(DLManagedTensor*) &&
                sizeof(Out) == sizeof(DLManagedTensorVersioned*) &&
                std::is_standard_layout_v<foreign_legacy> && std::is_standard_layout_v<Out>);
  bool empty = sources.size() == outs.size();
  for (std::size_t i = 0; empty && i < outs.size(); ++i) {
    empty = !outs[i];
  }
  if (!empty) {
    if (failed != nullptr) {
      *failed = sources.size();
    }
    return error(status_code::invalid_argument, rule_code::none, -1,
                 "outs must be as many owners as sources, and empty");
  }
  // An owner has the layout of a pointer, so arrays of owners are the C function's arrays.
  result<void> made;
  const DLBridgeStatus status = abi::upgrade_many(
      reinterpret_cast<DLManagedTensor* const*>(sources.data()), sources.size(), how,
      reinterpret_cast<DLManagedTensorVersioned**>(outs.data()), failed, maker::sink(made));
  if (maker::finish(made, status)) {
    for (foreign_legacy& source : sources) {
      static_cast<void>(source.release());
    }
  }
  return made;
}

}  // namespace detail

/// Upgrades all or none. `outs` has as many owners as `sources`, all empty. On failure `*failed`,
/// unless NULL, is the index of the rejected tensor, or the number of tensors if none is the cause.
inline result<void> upgrade_many(span<foreign_legacy> sources, span<tensor> outs,
                                 convert_options_ref how = {},
                                 std::size_t* failed = nullptr) noexcept {
  return detail::upgrade_all(sources, outs, how.raw(), failed);
}
inline result<void> upgrade_many(span<foreign_legacy> sources, span<foreign_versioned> outs,
                                 const unchecked_options& how,
                                 std::size_t* failed = nullptr) noexcept {
  return detail::upgrade_all(sources, outs, how.raw(), failed);
}

/// Makes a legacy tensor from a versioned one. A property that legacy cannot record is rejected,
/// unless the options allow that loss or ask for a copy. Upgrading the result restores it.
template <class Owner>
DLBRIDGE_HPP_INLINE result<checked_legacy> downgrade(Owner&& source,
                                                     convert_options_ref how = {}) noexcept {
  detail::require_owner<DLManagedTensorVersioned, Owner>();
  return detail::converted<checked_legacy>(source, [&](auto** out, DLBridgeError* sink) {
    return abi::downgrade(source.get(), how.raw(), out, sink);
  });
}
template <class Owner>
result<foreign_legacy> downgrade(Owner&& source, const unchecked_options& how) noexcept {
  detail::require_owner<DLManagedTensorVersioned, Owner>();
  return detail::unchecked<DLManagedTensor>(source, [&](auto** out, DLBridgeError* sink) {
    return abi::downgrade(source.get(), how.raw(), out, sink);
  });
}

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_CONVERT_HPP_
