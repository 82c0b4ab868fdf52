// SPDX-License-Identifier: Apache-2.0
// Queries: versions, layouts, names, findings, negotiation, identification. The data is never read.
#ifndef DLBRIDGE_HPP_DESCRIBE_HPP_
#define DLBRIDGE_HPP_DESCRIBE_HPP_

#include <string>
#include <vector>

#include "dlbridge/hpp/convert.hpp"

DLBRIDGE_HPP_BEGIN

/// Version of the loaded library, as major * 10000 + minor * 100 + patch.
inline std::uint32_t library_version() noexcept { return abi::version(); }
/// The version as text, in static memory.
inline const char* library_version_string() noexcept { return abi::version_string(); }
/// Newest DLPack release that the library knows.
inline dlpack_version newest_dlpack() noexcept { return abi::dlpack_version(); }

/// An answer that may be unknown.
enum class answer : std::int32_t {
  // [facts/enums.toml ANSWER]
  no = DLBRIDGE_NO,
  yes = DLBRIDGE_YES,
  undecided = DLBRIDGE_UNDECIDED,
  // [/facts]
};

/// Returns whether the CPU can certainly read memory of this device type, which may be any integer.
/// `*detail`, unless NULL, distinguishes "no" from "unknown".
inline bool host_accessible(std::int32_t type, answer* detail = nullptr) noexcept {
  DLBridgeAnswer given = DLBRIDGE_UNDECIDED;
  const bool yes = abi::host_accessible(type, &given) == 1;
  if (detail != nullptr) {
    *detail = static_cast<answer>(given);
  }
  return yes;
}
inline bool host_accessible(const device& where, answer* detail = nullptr) noexcept {
  return host_accessible(device_type(where), detail);
}

/// The struct of a foreign tensor, borrowed. Rejected (version) if its major version is not 1,
/// since nothing else of it may be read then; rejected (invalid argument) if the owner is empty.
inline result<foreign_ref> borrow(const foreign_versioned& owner DLBRIDGE_HPP_BORROWS) noexcept {
  if (owner && owner.get()->version.major == 1) {
    return foreign_ref(&owner.get()->dl_tensor, owner.get()->flags);
  }
  result<foreign_ref> made;
  const DLBridgeStatus status =
      abi::validate_versioned(owner.get(), nullptr, detail::maker::sink(made));
  detail::maker::finish(made, status);
  return made;
}
result<foreign_ref> borrow(const foreign_versioned&&) = delete;  // the result would dangle
inline result<foreign_ref> borrow(const foreign_legacy& owner DLBRIDGE_HPP_BORROWS) noexcept {
  if (owner) {
    return foreign_ref(&owner.get()->dl_tensor);
  }
  return error(status_code::invalid_argument, rule_code::none, -1,
               "tensor: expected a tensor, found an empty owner, which was moved from or released");
}
result<foreign_ref> borrow(const foreign_legacy&&) = delete;

namespace detail {

inline foreign_ref borrowed_of(const foreign_ref& from) noexcept { return from; }
inline foreign_ref borrowed_of(const checked_ref& from) noexcept {
  return foreign_ref(from.raw(), from.flags());
}
template <class Managed>
foreign_ref borrowed_of(const open_handle<Managed>& from) noexcept {
  return borrowed_of(from.ref());
}

}  // namespace detail

// ------------------------------------------------------------------------------------------ layout

/// How a tensor lies in memory: the fields of DLBridgeLayout, and its properties by name.
struct layout_info : DLBridgeLayout {
  layout_info() noexcept : DLBridgeLayout DLBRIDGE_LAYOUT_INIT {}
  bool is_empty() const noexcept { return has(DLBRIDGE_LAYOUT_EMPTY); }
  bool is_c_contiguous() const noexcept { return has(DLBRIDGE_LAYOUT_C_CONTIGUOUS); }
  bool is_f_contiguous() const noexcept { return has(DLBRIDGE_LAYOUT_F_CONTIGUOUS); }
  bool is_broadcast() const noexcept { return has(DLBRIDGE_LAYOUT_BROADCAST); }
  bool has_negative_strides() const noexcept { return has(DLBRIDGE_LAYOUT_NEGATIVE_STRIDES); }
  bool is_padded() const noexcept { return has(DLBRIDGE_LAYOUT_PADDED); }
  bool is_opaque() const noexcept { return has(DLBRIDGE_LAYOUT_OPAQUE); }
  answer overlaps_itself() const noexcept { return static_cast<answer>(self_overlap); }

 private:
  bool has(std::uint32_t property) const noexcept { return (properties & property) != 0; }
};

/// Describes the layout of a tensor: a foreign_ref, checked_ref or validated owner.
template <class Tensor>
result<layout_info> layout(const Tensor& of) noexcept {
  const foreign_ref from = detail::borrowed_of(of);
  result<layout_info> made;
  const DLBridgeStatus status =
      abi::layout(from.raw(), from.flags(), &detail::maker::value(made), detail::maker::sink(made));
  detail::maker::finish(made, status);
  return made;
}

// ------------------------------------------------------------------------------------------- names

namespace detail {

inline DLBridgeStatus write_name(const dtype& of, char* buffer, std::size_t size,
                                 std::size_t* length, DLBridgeError* sink) noexcept {
  return abi::dtype_format(of, buffer, size, length, sink);
}
inline DLBridgeStatus write_name(const device& of, char* buffer, std::size_t size,
                                 std::size_t* length, DLBridgeError* sink) noexcept {
  return abi::device_format(of, buffer, size, length, sink);
}
template <class Tensor>
DLBridgeStatus write_name(const Tensor& of, char* buffer, std::size_t size, std::size_t* length,
                          DLBridgeError* sink) noexcept {
  const foreign_ref from = borrowed_of(of);
  return abi::tensor_format(from.raw(), from.flags(), buffer, size, length, sink);
}

}  // namespace detail

/// Writes the name of a dtype ("float32"), device ("cuda:1") or tensor (one line for logs, even of
/// a broken one), and NUL, to `into`, without allocating. Returns the length; rejected (buffer too
/// small) if it does not fit. `*length`, unless NULL, is the length in both cases.
template <class Named>
result<std::size_t> format_to(span<char> into, const Named& of,
                              std::size_t* length = nullptr) noexcept {
  result<std::size_t> made;
  const DLBridgeStatus status = detail::write_name(
      of, into.data(), into.size(), &detail::maker::value(made), detail::maker::sink(made));
  detail::maker::finish(made, status);
  if (length != nullptr) {
    *length = *made;
  }
  return made;
}

/// Returns the name as a string; "(no tensor)" for an empty owner or reference.
template <class Named>
std::string to_string(const Named& of) {
  char buffer[256];
  std::size_t length = 0;
  const result<std::size_t> written = format_to(span<char>(buffer), of, &length);
  if (written) {
    return std::string(buffer, length);
  }
  if (written.error().status() != status_code::buffer_too_small) {
    return "(no tensor)";  // the only other failure is a NULL
  }
  std::string text(length + 1, '\0');
  const result<std::size_t> again = format_to(span<char>(text.data(), text.size()), of, &length);
  text.resize(again ? length : std::strlen(text.c_str()));  // a foreign struct may have changed
  return text;
}

/// Reads a name as to_string writes it.
inline result<dtype> parse_dtype(std::string_view text) noexcept {
  result<dtype> made;
  detail::maker::finish(made,
                        abi::dtype_parse(text.data() != nullptr ? text.data() : "", text.size(),
                                         &detail::maker::value(made), detail::maker::sink(made)));
  return made;
}
/// Reads the name of a device; "cuda" means "cuda:0".
inline result<device> parse_device(std::string_view text) noexcept {
  result<device> made;
  detail::maker::finish(made,
                        abi::device_parse(text.data() != nullptr ? text.data() : "", text.size(),
                                          &detail::maker::value(made), detail::maker::sink(made)));
  return made;
}

// ---------------------------------------------------------------------------------------- findings

enum class severity : std::int32_t {
  // [facts/enums.toml SEVERITY]
  broken = DLBRIDGE_SEVERITY_BROKEN,
  note = DLBRIDGE_SEVERITY_NOTE,
  // [/facts]
};

/// One finding about a tensor.
class finding {
 public:
  finding() noexcept = default;
  rule_code rule() const noexcept { return static_cast<rule_code>(raw_.rule); }
  std::int32_t axis() const noexcept { return raw_.axis; }
  dlbridge::severity severity() const noexcept { return static_cast<enum severity>(raw_.severity); }
  /// The status that validate would return for it; ok for a note.
  status_code status() const noexcept { return static_cast<status_code>(raw_.status); }
  const char* expected() const noexcept DLBRIDGE_HPP_BORROWS { return raw_.expected; }
  const char* found() const noexcept DLBRIDGE_HPP_BORROWS { return raw_.found; }
  const DLBridgeFinding& raw() const noexcept DLBRIDGE_HPP_BORROWS { return raw_; }

 private:
  DLBridgeFinding raw_{};
};

namespace detail {

inline result<std::vector<finding>> find_all(const void* tensor, DLBridgeKind kind,
                                             std::uint64_t flags, policy_ref by) {
  static_assert(sizeof(finding) == sizeof(DLBridgeFinding) && std::is_standard_layout_v<finding>);
  result<std::vector<finding>> made;
  std::vector<finding>& findings = maker::value(made);
  std::size_t count = 16;
  DLBridgeStatus status = DLBRIDGE_OK;
  do {
    findings.resize(count);
    // A finding has the layout of its C struct.
    status = abi::diagnose(tensor, kind, flags, by.raw(),
                           reinterpret_cast<DLBridgeFinding*>(findings.data()), findings.size(),
                           &count, maker::sink(made));
  } while (status == DLBRIDGE_OK && count > findings.size());
  findings.resize(maker::finish(made, status) ? count : 0);
  return made;
}

}  // namespace detail

/// Every finding on a tensor. Broken rules are findings in the value; the result is an error only
/// if the arguments are wrong.
inline result<std::vector<finding>> diagnose(const DLManagedTensor* tensor, policy_ref by = {}) {
  return detail::find_all(tensor, DLBRIDGE_KIND_LEGACY, 0, by);
}
inline result<std::vector<finding>> diagnose(const DLManagedTensorVersioned* tensor,
                                             policy_ref by = {}) {
  return detail::find_all(tensor, DLBRIDGE_KIND_VERSIONED, 0, by);
}
inline result<std::vector<finding>> diagnose(foreign_ref tensor, policy_ref by = {}) {
  return detail::find_all(tensor.raw(), DLBRIDGE_KIND_BORROWED, tensor.flags(), by);
}
template <class Managed>
result<std::vector<finding>> diagnose(const detail::handle<Managed>& owner, policy_ref by = {}) {
  return diagnose(static_cast<const Managed*>(owner.get()), by);
}

// --------------------------------------------------------------------------------------- agreement

/// The oldest DLPack version that can describe a tensor.
template <class Tensor>
result<dlpack_version> required_version(const Tensor& of) noexcept {
  const foreign_ref from = detail::borrowed_of(of);
  result<dlpack_version> made;
  detail::maker::finish(made,
                        abi::required_version(from.raw(), from.flags(), &detail::maker::value(made),
                                              detail::maker::sink(made)));
  return made;
}

/// The version that a producer exports for a consumer.
struct offer {
  dlbridge::kind kind = kind::unknown;
  dlpack_version version = {0, 0};
};

/// Negotiates between a producer that makes up to `producer` and a consumer that reads up to
/// `consumer`.
inline result<offer> negotiate(dlpack_version producer, dlpack_version consumer) noexcept {
  result<offer> made;
  DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
  const DLBridgeStatus status = abi::negotiate(
      producer, consumer, &kind, &detail::maker::value(made).version, detail::maker::sink(made));
  detail::maker::finish(made, status);
  detail::maker::value(made).kind = static_cast<enum kind>(kind);
  return made;
}

/// The newest table of a DLPackExchangeAPI chain that a consumer of that version can use; borrowed.
inline result<const DLPackExchangeAPI*> exchange_api_find(const DLPackExchangeAPIHeader* chain,
                                                          dlpack_version consumer) noexcept {
  result<const DLPackExchangeAPI*> made;
  detail::maker::finish(made, abi::exchange_api_find(chain, consumer, &detail::maker::value(made),
                                                     detail::maker::sink(made)));
  return made;
}

/// Which managed struct `tensor` points to, by its first 64 bytes. legacy and versioned are
/// found by exclusion; ambiguous: it can be both; unknown: it can be neither.
inline kind identify(const void* tensor) noexcept {
  return static_cast<kind>(abi::identify(tensor));
}

namespace detail {

// The error for a void* whose kind is not known.
inline error undecided(const void* managed, kind found) noexcept {
  if (managed == nullptr) {
    return {status_code::invalid_argument, rule_code::none, -1,
            "tensor: expected a managed tensor, found NULL"};
  }
  return {status_code::ambiguous, rule_code::none, -1,
          "tensor: expected bytes of one managed struct, found bytes that can be %s; pass its type",
          found == kind::ambiguous ? "both" : "neither"};
}

}  // namespace detail

/// Takes over a managed tensor of unknown kind without validating it. If the bytes do not decide
/// the kind, it is rejected (ambiguous) and still the caller's.
inline result<any_foreign> take(void* managed) noexcept {
  const kind found = identify(managed);
  if (found == kind::legacy) {
    return any_foreign(foreign_legacy(static_cast<DLManagedTensor*>(managed)));
  }
  if (found == kind::versioned) {
    return any_foreign(foreign_versioned(static_cast<DLManagedTensorVersioned*>(managed)));
  }
  return detail::undecided(managed, found);
}

/// Keeps the module that holds `address` loaded until the process ends.
inline result<void> module_pin(const void* address) noexcept {
  result<void> made;
  detail::maker::finish(made, abi::module_pin(address, detail::maker::sink(made)));
  return made;
}

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_DESCRIBE_HPP_
