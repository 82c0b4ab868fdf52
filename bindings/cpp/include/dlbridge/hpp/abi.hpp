// SPDX-License-Identifier: Apache-2.0
// Every function of the C ABI, called as abi::name(...): directly, or through the table that
// DLBRIDGE_HPP_API names. Either is a single call, since compilers inline the forwarders.
#ifndef DLBRIDGE_HPP_ABI_HPP_
#define DLBRIDGE_HPP_ABI_HPP_

#include <tuple>

#include "dlbridge/hpp/config.hpp"

#ifndef DLBRIDGE_HPP_API
#define DLBRIDGE_HPP_FUNCTION(name, function)             \
  template <class... Arguments>                           \
  DLBRIDGE_HPP_INLINE auto name(Arguments... arguments) { \
    return ::function(arguments...);                      \
  }
#else
// A library older than this header has a shorter table: a missing function returns UNSUPPORTED.
// Functions without an error parameter are in every version of the table, or return NULL.
#define DLBRIDGE_HPP_FUNCTION(name, function)                                                  \
  template <class... Arguments>                                                                \
  DLBRIDGE_HPP_INLINE auto name(Arguments... arguments) {                                      \
    const DLBridgeApi* const api = DLBRIDGE_HPP_API;                                           \
    if constexpr (ends_in_error<Arguments...>) {                                               \
      if (!DLBRIDGE_API_HAS(api, name)) {                                                      \
        return missing(#function, std::get<sizeof...(arguments) - 1>(std::tie(arguments...))); \
      }                                                                                        \
    } else if constexpr (std::is_pointer_v<decltype(api->name(arguments...))>) {               \
      if (!DLBRIDGE_API_HAS(api, name)) {                                                      \
        return static_cast<decltype(api->name(arguments...))>(nullptr);                        \
      }                                                                                        \
    }                                                                                          \
    return api->name(arguments...);                                                            \
  }
#endif

DLBRIDGE_HPP_BEGIN
namespace abi {

#ifdef DLBRIDGE_HPP_API
template <class... Arguments>
inline constexpr bool ends_in_error = false;
template <class First, class... Rest>
inline constexpr bool ends_in_error<First, Rest...> = ends_in_error<Rest...>;
template <class Last>
inline constexpr bool ends_in_error<Last> = std::is_convertible_v<Last, DLBridgeError*>;

inline DLBridgeStatus missing(const char* function, DLBridgeError* error) noexcept {
  constexpr char text[] = "the loaded library is older than this program and lacks ";
  static_assert(sizeof text + 64 < sizeof DLBridgeError::message);
  if (error != nullptr) {
    constexpr DLBridgeError none = DLBRIDGE_ERROR_INIT;
    *error = none;
    error->status = DLBRIDGE_ERROR_UNSUPPORTED;
    std::memcpy(error->message, text, sizeof text - 1);
    std::strncpy(error->message + sizeof text - 1, function, 64);
    error->message[sizeof text + 63] = '\0';
  }
  return DLBRIDGE_ERROR_UNSUPPORTED;
}
#endif

// [facts/functions.toml]
DLBRIDGE_HPP_FUNCTION(version, dlbridge_version)
DLBRIDGE_HPP_FUNCTION(version_string, dlbridge_version_string)
DLBRIDGE_HPP_FUNCTION(dlpack_version, dlbridge_dlpack_version)
DLBRIDGE_HPP_FUNCTION(status_name, dlbridge_status_name)
DLBRIDGE_HPP_FUNCTION(status_text, dlbridge_status_text)
DLBRIDGE_HPP_FUNCTION(rule_name, dlbridge_rule_name)
DLBRIDGE_HPP_FUNCTION(rule_text, dlbridge_rule_text)
DLBRIDGE_HPP_FUNCTION(layout, dlbridge_layout)
DLBRIDGE_HPP_FUNCTION(dtype_format, dlbridge_dtype_format)
DLBRIDGE_HPP_FUNCTION(dtype_parse, dlbridge_dtype_parse)
DLBRIDGE_HPP_FUNCTION(device_format, dlbridge_device_format)
DLBRIDGE_HPP_FUNCTION(device_parse, dlbridge_device_parse)
DLBRIDGE_HPP_FUNCTION(tensor_format, dlbridge_tensor_format)
DLBRIDGE_HPP_FUNCTION(host_accessible, dlbridge_host_accessible)
DLBRIDGE_HPP_FUNCTION(import_tensor, dlbridge_import)
DLBRIDGE_HPP_FUNCTION(export_tensor, dlbridge_export)
DLBRIDGE_HPP_FUNCTION(release, dlbridge_release)
DLBRIDGE_HPP_FUNCTION(release_legacy, dlbridge_release_legacy)
DLBRIDGE_HPP_FUNCTION(release_versioned, dlbridge_release_versioned)
DLBRIDGE_HPP_FUNCTION(validate, dlbridge_validate)
DLBRIDGE_HPP_FUNCTION(validate_legacy, dlbridge_validate_legacy)
DLBRIDGE_HPP_FUNCTION(validate_versioned, dlbridge_validate_versioned)
DLBRIDGE_HPP_FUNCTION(diagnose, dlbridge_diagnose)
DLBRIDGE_HPP_FUNCTION(upgrade, dlbridge_upgrade)
DLBRIDGE_HPP_FUNCTION(upgrade_storage_size, dlbridge_upgrade_storage_size)
DLBRIDGE_HPP_FUNCTION(upgrade_into, dlbridge_upgrade_into)
DLBRIDGE_HPP_FUNCTION(upgrade_many, dlbridge_upgrade_many)
DLBRIDGE_HPP_FUNCTION(downgrade, dlbridge_downgrade)
DLBRIDGE_HPP_FUNCTION(share, dlbridge_share)
DLBRIDGE_HPP_FUNCTION(view, dlbridge_view)
DLBRIDGE_HPP_FUNCTION(allocate, dlbridge_allocate)
DLBRIDGE_HPP_FUNCTION(required_version, dlbridge_required_version)
DLBRIDGE_HPP_FUNCTION(negotiate, dlbridge_negotiate)
DLBRIDGE_HPP_FUNCTION(exchange_api_find, dlbridge_exchange_api_find)
DLBRIDGE_HPP_FUNCTION(identify, dlbridge_identify)
DLBRIDGE_HPP_FUNCTION(module_pin, dlbridge_module_pin)
DLBRIDGE_HPP_FUNCTION(backend_info, dlbridge_backend_info)
DLBRIDGE_HPP_FUNCTION(pointer_info, dlbridge_pointer_info)
DLBRIDGE_HPP_FUNCTION(wrap, dlbridge_wrap)
DLBRIDGE_HPP_FUNCTION(wrap_legacy, dlbridge_wrap_legacy)
DLBRIDGE_HPP_FUNCTION(stream_from_array_api, dlbridge_stream_from_array_api)
DLBRIDGE_HPP_FUNCTION(stream_handoff, dlbridge_stream_handoff)
DLBRIDGE_HPP_FUNCTION(stream_synchronize, dlbridge_stream_synchronize)
DLBRIDGE_HPP_FUNCTION(context_register, dlbridge_context_register)
DLBRIDGE_HPP_FUNCTION(context_find, dlbridge_context_find)
DLBRIDGE_HPP_FUNCTION(context_next, dlbridge_context_next)
DLBRIDGE_HPP_FUNCTION(context_retain, dlbridge_context_retain)
DLBRIDGE_HPP_FUNCTION(context_release, dlbridge_context_release)
DLBRIDGE_HPP_FUNCTION(context_unregister, dlbridge_context_unregister)
DLBRIDGE_HPP_FUNCTION(context_table_v1, dlbridge_context_table_v1)
DLBRIDGE_HPP_FUNCTION(copy, dlbridge_copy)
DLBRIDGE_HPP_FUNCTION(ipc_export, dlbridge_ipc_export)
DLBRIDGE_HPP_FUNCTION(ipc_import, dlbridge_ipc_import)
DLBRIDGE_HPP_FUNCTION(copy_async, dlbridge_copy_async)
DLBRIDGE_HPP_FUNCTION(release_after, dlbridge_release_after)
DLBRIDGE_HPP_FUNCTION(collect, dlbridge_collect)
// [/facts]

/// The table in use: the linked library's own, or DLBRIDGE_HPP_API.
inline const DLBridgeApi* get_api() noexcept {
#ifdef DLBRIDGE_HPP_API
  return DLBRIDGE_HPP_API;
#else
  return ::dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
#endif
}

}  // namespace abi
DLBRIDGE_HPP_END

#undef DLBRIDGE_HPP_FUNCTION

#endif  // DLBRIDGE_HPP_ABI_HPP_
