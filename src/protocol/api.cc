// SPDX-License-Identifier: Apache-2.0
// The function table for clients that dlopen.
#include "dlbridge/dlbridge.h"

namespace dlbridge {
namespace {

// The table's size in its first version, 0.3.0. No client was compiled with a smaller one.
constexpr size_t kFirstSize = offsetof(DLBridgeApi, ipc_import) + sizeof(DLBridgeApi::ipc_import);

// clang-format off
constexpr DLBridgeApi kApi = {
    sizeof(DLBridgeApi),
    DLBRIDGE_ABI,
    // [facts/functions.toml]
    dlbridge_version,
    dlbridge_version_string,
    dlbridge_dlpack_version,
    dlbridge_status_name,
    dlbridge_status_text,
    dlbridge_rule_name,
    dlbridge_rule_text,
    dlbridge_layout,
    dlbridge_dtype_format,
    dlbridge_dtype_parse,
    dlbridge_device_format,
    dlbridge_device_parse,
    dlbridge_tensor_format,
    dlbridge_host_accessible,
    dlbridge_import,
    dlbridge_export,
    dlbridge_release,
    dlbridge_release_legacy,
    dlbridge_release_versioned,
    dlbridge_validate,
    dlbridge_validate_legacy,
    dlbridge_validate_versioned,
    dlbridge_diagnose,
    dlbridge_upgrade,
    dlbridge_upgrade_storage_size,
    dlbridge_upgrade_into,
    dlbridge_upgrade_many,
    dlbridge_downgrade,
    dlbridge_share,
    dlbridge_view,
    dlbridge_allocate,
    dlbridge_required_version,
    dlbridge_negotiate,
    dlbridge_exchange_api_find,
    dlbridge_identify,
    dlbridge_module_pin,
    dlbridge_backend_info,
    dlbridge_pointer_info,
    dlbridge_wrap,
    dlbridge_wrap_legacy,
    dlbridge_stream_from_array_api,
    dlbridge_stream_handoff,
    dlbridge_stream_synchronize,
    dlbridge_context_register,
    dlbridge_context_find,
    dlbridge_context_next,
    dlbridge_context_retain,
    dlbridge_context_release,
    dlbridge_context_unregister,
    dlbridge_context_table_v1,
    dlbridge_copy,
    dlbridge_ipc_export,
    dlbridge_ipc_import,
    dlbridge_copy_async,
    dlbridge_release_after,
    dlbridge_collect,
    // [/facts]
};
// clang-format on

}  // namespace
}  // namespace dlbridge

extern "C" {

const DLBridgeApi* dlbridge_get_api(uint32_t abi, size_t struct_size) {
  return abi == DLBRIDGE_ABI && struct_size >= dlbridge::kFirstSize ? &dlbridge::kApi : nullptr;
}

}  // extern "C"
