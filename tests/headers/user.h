/*
 * SPDX-License-Identifier: Apache-2.0
 * What a user's source does with dlbridge.h: names every type and static initialiser. Compiled
 * only.
 */
static inline int32_t dlbridge_header_user(void) {
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  DLBridgeAllocator allocator = DLBRIDGE_ALLOCATOR_INIT;
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  DLBridgeViewSpec view = DLBRIDGE_VIEW_SPEC_INIT;
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  DLBridgeWrapSpec wrap = DLBRIDGE_WRAP_SPEC_INIT;
  DLBridgeCopySpec copy = DLBRIDGE_COPY_SPEC_INIT;
  DLBridgeBackendInfo backend = DLBRIDGE_BACKEND_INFO_INIT;
  DLBridgePointerInfo pointer = DLBRIDGE_POINTER_INFO_INIT;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  DLBridgeIpcExportSpec export_spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  DLBridgeIpcImportSpec import_spec = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
  const DLBridgeApi* api = dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
  DLManagedTensorVersioned* tensor = NULL;
  DLBridgeStatus status;
  layout.properties = DLBRIDGE_LAYOUT_EMPTY | DLBRIDGE_LAYOUT_OPAQUE;
  policy.options = DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS | DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP;
  options.options |= DLBRIDGE_CONVERT_VOUCH_WRITABLE;
  options.policy = &policy;
  options.allocator = &allocator;
  spec.tensor_flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  spec.dtype.code = kDLFloat4_e2m1fn;
  storage.memory = &view;
  policy = dlbridge_policy_init();
  options = dlbridge_convert_options_init();
  allocator = dlbridge_allocator_init();
  wrap.buffer = dlbridge_buffer_address(&backend);
  wrap.policy = copy.policy = import_spec.policy = &policy;
  copy.device = pointer.device = entry.device;
  export_spec.buffer = &sizes;
  export_spec.buffer_size = sizes.buffer_size;
  if (api == NULL || !DLBRIDGE_API_HAS(api, identify)) return DLBRIDGE_ERROR_UNSUPPORTED;
  status = api->allocate(&spec, &tensor, &error);
  if (status == DLBRIDGE_OK) dlbridge_release_versioned(tensor);
  return (int32_t)layout.properties + (int32_t)(wrap.options | copy.options | import_spec.options) +
         (int32_t)(pointer.properties | export_spec.options) + (int32_t)storage.size + view.ndim +
         kDLTrn;
}
