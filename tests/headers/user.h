/*
 * SPDX-License-Identifier: Apache-2.0
 * Uses dlbridge.h as a user's source does: names every type and static initialiser. Compiled only.
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
  DLBridgeBackendInfo backend = DLBRIDGE_BACKEND_INFO_INIT;
  DLBridgeBuffer buffer = DLBRIDGE_BUFFER_INIT;
  DLBridgePointerInfo pointer = DLBRIDGE_POINTER_INFO_INIT;
  DLBridgeWrapSpec wrap = DLBRIDGE_WRAP_SPEC_INIT;
  DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  DLBridgeCopySpec copy = DLBRIDGE_COPY_SPEC_INIT;
  DLBridgeIpcExportSpec sent = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  DLBridgeIpcImportSpec received = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
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
  buffer = dlbridge_buffer_init();
  stream = dlbridge_stream_init();
  wrap.buffer = buffer;
  copy.stream = stream;
  if (api == NULL || !DLBRIDGE_API_HAS(api, identify)) return DLBRIDGE_ERROR_UNSUPPORTED;
  status = api->allocate(&spec, &tensor, &error);
  if (status == DLBRIDGE_OK) dlbridge_release_versioned(tensor);
  return (int32_t)layout.properties + (int32_t)storage.size + view.ndim + kDLTrn +
         (int32_t)(backend.struct_size + pointer.struct_size + wrap.struct_size +
                   entry.struct_size + copy.struct_size + sent.struct_size + sizes.struct_size +
                   received.struct_size);
}
