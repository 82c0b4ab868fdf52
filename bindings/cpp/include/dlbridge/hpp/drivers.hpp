// SPDX-License-Identifier: Apache-2.0
// Queries to drivers: which are available, and where memory is.
#ifndef DLBRIDGE_HPP_DRIVERS_HPP_
#define DLBRIDGE_HPP_DRIVERS_HPP_

#include "dlbridge/hpp/make.hpp"

DLBRIDGE_HPP_BEGIN

enum class backend_state : std::int32_t {
  // [facts/enums.toml STATE]
  ready = DLBRIDGE_STATE_READY,
  absent = DLBRIDGE_STATE_ABSENT,
  unusable = DLBRIDGE_STATE_UNUSABLE,
  // [/facts]
};

/// The state of a backend: the fields of DLBridgeBackendInfo.
struct backend_status : DLBridgeBackendInfo {
  backend_status() noexcept : DLBridgeBackendInfo DLBRIDGE_BACKEND_INFO_INIT {}
  backend_state is() const noexcept { return static_cast<backend_state>(state); }
};

/// Starts a backend unless an earlier call tried to, and reports the outcome. A missing driver is
/// not an error.
inline result<backend_status> backend_info(backend of) noexcept {
  result<backend_status> made;
  const DLBridgeStatus status = abi::backend_info(
      static_cast<DLBridgeBackend>(of), &detail::maker::value(made), detail::maker::sink(made));
  detail::maker::finish(made, status);
  return made;
}

enum class memory_kind : std::int32_t {
  // [facts/enums.toml MEMORY]
  host = DLBRIDGE_MEMORY_HOST,
  device_memory = DLBRIDGE_MEMORY_DEVICE,
  pinned = DLBRIDGE_MEMORY_PINNED,
  managed = DLBRIDGE_MEMORY_MANAGED,
  usm_host = DLBRIDGE_MEMORY_USM_HOST,
  usm_device = DLBRIDGE_MEMORY_USM_DEVICE,
  usm_shared = DLBRIDGE_MEMORY_USM_SHARED,
  svm = DLBRIDGE_MEMORY_SVM,
  cl_mem = DLBRIDGE_MEMORY_CL_MEM,
  // [/facts]
};

/// What pointer_info asks for beyond the place of the memory.
enum class pointer_options : std::uint32_t {
  none = 0,
  // [facts/enums.toml POINTER_INFO]
  peers = DLBRIDGE_POINTER_INFO_PEERS,
  // [/facts]
};
constexpr pointer_options operator|(pointer_options a, pointer_options b) noexcept {
  return static_cast<pointer_options>(static_cast<std::uint32_t>(a) |
                                      static_cast<std::uint32_t>(b));
}

/// Where memory is: the fields of DLBridgePointerInfo.
struct memory_info : DLBridgePointerInfo {
  memory_info() noexcept : DLBridgePointerInfo DLBRIDGE_POINTER_INFO_INIT {}
  memory_kind is() const noexcept { return static_cast<memory_kind>(memory); }
  /// The answering context was neither registered nor named by the caller.
  bool context_assumed() const noexcept {
    return (properties & DLBRIDGE_POINTER_CONTEXT_ASSUMED) != 0;
  }
  /// `peers` has the driver's answer; see pointer_options::peers.
  bool peers_known() const noexcept { return (properties & DLBRIDGE_POINTER_PEERS_KNOWN) != 0; }
  /// Device `id` of the backend can access the memory, directly or once peer access is enabled.
  /// False also where the driver was not asked, or cannot tell.
  bool accessible_from(std::int32_t id) const noexcept {
    return peers_known() && id >= 0 && id < 64 && (peers >> id & 1) != 0;
  }
};

/// Asks the driver where `memory` is. `label` is the device of its tensor; with the CPU as label,
/// nothing is assumed.
inline result<memory_info> pointer_info(const buffer& memory, const device& label,
                                        pointer_options how) noexcept {
  result<memory_info> made;
  detail::maker::value(made).options = static_cast<std::uint32_t>(how);
  const DLBridgeStatus status =
      abi::pointer_info(&memory, label, &detail::maker::value(made), detail::maker::sink(made));
  detail::maker::finish(made, status);
  return made;
}
inline result<memory_info> pointer_info(const buffer& memory,
                                        const device& label = make_device(kDLCPU)) noexcept {
  return pointer_info(memory, label, pointer_options::none);
}
inline result<memory_info> pointer_info(const void* address, const device& label,
                                        pointer_options how) noexcept {
  return pointer_info(dlbridge_buffer_address(address), label, how);
}
inline result<memory_info> pointer_info(const void* address,
                                        const device& label = make_device(kDLCPU)) noexcept {
  return pointer_info(dlbridge_buffer_address(address), label);
}

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_DRIVERS_HPP_
