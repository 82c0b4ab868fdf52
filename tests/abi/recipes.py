# SPDX-License-Identifier: Apache-2.0
"""The calls of each function in client.c (clients.py), as statements in C99 and C++11. They may use
`error`; objects that they pass by pointer come from client.h (NEW, MAKE, SLOT, bare, legacy,
versioned). A function without a recipe is called with zeros, which is sufficient if they are valid
arguments."""

HELPERS = """
/* ---- Callbacks, which check their arguments -------------------------------------------------- */

static unsigned char g_pool[1024];
static int g_allocated;
static int g_wrong; /* calls with other arguments than expected */

static void* allocate(void* context, DLDevice device, uint64_t bytes, uint64_t alignment,
                      const struct DLBridgeStream* stream) {
  const size_t over = (size_t)g_pool % 64;
  const int right = context == &g_allocated && device.device_type == kDLCPU && bytes >= 24 &&
                    alignment == 64 && stream == NULL;
  g_wrong += !right;
  ++g_allocated;
  return right && bytes < sizeof g_pool - 64 ? g_pool + (over == 0 ? 0 : 64 - over) : NULL;
}

static void deallocate(void* context, DLDevice device, void* memory, uint64_t bytes,
                       uint64_t alignment, const struct DLBridgeStream* stream) {
  const int right = context == &g_allocated && device.device_type == kDLCPU && memory != NULL &&
                    bytes >= 24 && alignment == 64 && stream == NULL;
  g_wrong += !right;
  --g_allocated;
}

static int g_freed;
static void free_storage(void* context, void* memory) {
  g_wrong += context != &g_freed || memory == NULL || memory == context;
  ++g_freed;
}
static void free_buffer(void* context, const DLBridgeBuffer* buffer,
                        const struct DLBridgeStream* stream) {
  g_wrong += context != &g_freed || stream != NULL || (float*)(uintptr_t)buffer->handle != g_data;
  ++g_freed;
}
static void free_entry(void* context, const struct DLBridgeContextEntry* entry) {
  g_wrong += context != &g_freed || entry->context != 77;
  ++g_freed;
}

/* ---- Structs --------------------------------------------------------------------------------- */

static DLBridgePolicy* policy(void) {
  MAKE(DLBridgePolicy, made, DLBRIDGE_POLICY_INIT);
  const DLBridgePolicy same = dlbridge_policy_init();
  if (memcmp(&same, made, sizeof same) != 0) ++g_wrong;
  return made;
}

static DLBridgeConvertOptions* convert_options(void) {
  MAKE(DLBridgeConvertOptions, made, DLBRIDGE_CONVERT_OPTIONS_INIT);
  made->policy = policy();
  return made;
}

static DLBridgeAllocateSpec* allocate_spec(void) {
  MAKE(DLBridgeAllocateSpec, made, DLBRIDGE_ALLOCATE_SPEC_INIT);
  made->shape = (int64_t*)guarded(sizeof g_shape);
  memcpy((void*)made->shape, g_shape, sizeof g_shape);
  made->ndim = 2;
  made->dtype = bare()->dtype;
  return made;
}

static DLBridgeWrapSpec* wrap_spec(void) {
  MAKE(DLBridgeWrapSpec, made, DLBRIDGE_WRAP_SPEC_INIT);
  made->shape = g_shape;
  made->ndim = 2;
  made->dtype = bare()->dtype;
  made->buffer = dlbridge_buffer_address(g_data);
  made->device.device_type = kDLCPU;
  made->release = free_buffer;
  made->release_context = &g_freed;
  return made;
}

/* An entry for a device that no machine has. */
static DLBridgeContextEntry* entry(void) {
  MAKE(DLBridgeContextEntry, made, DLBRIDGE_CONTEXT_ENTRY_INIT);
  made->backend = DLBRIDGE_BACKEND_CUDA;
  made->device.device_type = kDLCUDA;
  made->device.device_id = 999;
  made->native_device = 999;
  made->context = 77;
  made->release = free_entry;
  made->release_context = &g_freed;
  return made;
}

static DLBridgeStream* stream(int32_t kind) {
  DLBridgeStream* const made = NEW(DLBridgeStream);
  memset(made, 0, sizeof *made);
  made->backend = DLBRIDGE_BACKEND_CPU;
  made->kind = kind;
  made->device.device_type = kDLCPU;
  return made;
}

static int64_t g_none[1];
static int exchange_allocator(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                              void (*set)(void*, const char*, const char*)) {
  return prototype == NULL || out == NULL || context == NULL || set == NULL;
}
static int from_object(void* object, DLManagedTensorVersioned** out) {
  return object == NULL || out == NULL;
}
static int to_object(DLManagedTensorVersioned* tensor, void** out) {
  return tensor == NULL || out == NULL;
}
static int work_stream(DLDeviceType type, int32_t id, void** out) {
  return type == kDLCPU && id == 0 && out == NULL;
}
"""

# A dlbridge-owned tensor `tensor` of memory that the library allocated.
OWNED = """
  SLOT(DLManagedTensorVersioned, owned);
  OK(dlbridge_allocate(allocate_spec(), owned, error));
"""
# An entry `id` of the context table.
REGISTERED = """
  uint64_t* const id = NEW(uint64_t);
  const int freed = g_freed;
  OK(dlbridge_context_register(entry(), id, error));
"""
GONE = """
  OK(dlbridge_context_unregister(*id, error));
  CHECK(g_freed == freed + 1 && g_wrong == 0);
"""
TEXT = """
  char* const buffer = (char*)guarded(%d);
  size_t* const length = NEW(size_t);
"""

CALLS = {
    "dlbridge_version": """
  CHECK(dlbridge_version() >= DLBRIDGE_VERSION_MAJOR * 10000 + DLBRIDGE_VERSION_MINOR * 100 +
                                  DLBRIDGE_VERSION_PATCH);
""",
    "dlbridge_version_string": """
  CHECK(strchr(dlbridge_version_string(), '.') != NULL);
""",
    "dlbridge_dlpack_version": """
  CHECK(dlbridge_dlpack_version().major == 1 && dlbridge_dlpack_version().minor >= 3);
""",
    "dlbridge_status_name": """
  CHECK(strcmp(dlbridge_status_name(DLBRIDGE_ERROR_VERSION), "DLBRIDGE_ERROR_VERSION") == 0);
  CHECK(strcmp(dlbridge_status_name(-1), "UNKNOWN_STATUS") == 0);
""",
    "dlbridge_status_text": """
  CHECK(strlen(dlbridge_status_text(DLBRIDGE_ERROR_VERSION)) > 0);
""",
    "dlbridge_rule_name": """
  CHECK(strcmp(dlbridge_rule_name(DLBRIDGE_RULE_NDIM_NEGATIVE), "NDIM_NEGATIVE") == 0);
""",
    "dlbridge_rule_text": """
  CHECK(strlen(dlbridge_rule_text(DLBRIDGE_RULE_NDIM_NEGATIVE)) > 0);
""",
    "dlbridge_layout": """
  MAKE(DLBridgeLayout, layout, DLBRIDGE_LAYOUT_INIT);
  OK(dlbridge_layout(bare(), 0, layout, error));
  CHECK(layout->struct_size == sizeof *layout && layout->options == 0 && layout->ndim == 2);
  CHECK(layout->element_count == 6 && layout->packed_bytes == 24 && layout->item_bits == 32);
  CHECK(layout->begin == 0 && layout->end == 24 && layout->self_overlap == DLBRIDGE_NO);
  CHECK(layout->broadcast_axes == 0 && layout->negative_axes == 0 && layout->alignment >= 4);
  CHECK(layout->properties == (DLBRIDGE_LAYOUT_C_CONTIGUOUS));
""",
    "dlbridge_dtype_format": TEXT % 8
    + """
  OK(dlbridge_dtype_format(bare()->dtype, buffer, 8, length, error));
  CHECK(strcmp(buffer, "float32") == 0 && *length == 7);
  FAILS(BUFFER_TOO_SMALL, dlbridge_dtype_format(bare()->dtype, buffer, 4, length, error));
  CHECK(strcmp(buffer, "flo") == 0 && *length == 7 && strcmp(buffer + 4, "t32") == 0);
""",
    "dlbridge_dtype_parse": """
  char* const text = (char*)guarded(7);
  DLDataType* const dtype = NEW(DLDataType);
  memcpy(text, "float32", 7);
  OK(dlbridge_dtype_parse(text, 7, dtype, error));
  CHECK(dtype->code == kDLFloat && dtype->bits == 32 && dtype->lanes == 1);
  FAILS(PARSE, dlbridge_dtype_parse(text, 4, dtype, error));
""",
    "dlbridge_device_format": TEXT % 6
    + """
  OK(dlbridge_device_format(bare()->device, buffer, 6, length, error));
  CHECK(strcmp(buffer, "cpu:0") == 0 && *length == 5);
""",
    "dlbridge_device_parse": """
  char* const text = (char*)guarded(6);
  DLDevice* const device = NEW(DLDevice);
  memcpy(text, "cuda:1", 6);
  OK(dlbridge_device_parse(text, 6, device, error));
  CHECK(device->device_type == kDLCUDA && device->device_id == 1);
""",
    "dlbridge_tensor_format": TEXT % 16
    + """
  FAILS(BUFFER_TOO_SMALL, dlbridge_tensor_format(bare(), 0, buffer, 16, length, error));
  CHECK(strlen(buffer) == 15 && *length > 15);
""",
    "dlbridge_host_accessible": """
  DLBridgeAnswer* const answer = NEW(DLBridgeAnswer);
  CHECK(dlbridge_host_accessible(kDLCPU, answer) == 1 && *answer == DLBRIDGE_YES);
  CHECK(dlbridge_host_accessible(kDLCUDA, answer) == 0 && *answer == DLBRIDGE_NO);
""",
    "dlbridge_validate": """
  DLTensor* const tensor = bare();
  DLBridgePolicy* const demands = policy();
  OK(dlbridge_validate(tensor, 0, demands, error));
  tensor->ndim = -1;
  FAILS(INVALID_TENSOR, dlbridge_validate(tensor, 0, demands, error));
  CHECK(error->status == DLBRIDGE_ERROR_INVALID_TENSOR && error->message[0] != '\\0');
  CHECK(error->rule == DLBRIDGE_RULE_NDIM_NEGATIVE && error->axis == -1);
  CHECK(error->native_code == 0 && memchr(error->message, 0, sizeof error->message) != NULL);
""",
    "dlbridge_validate_legacy": """
  OK(dlbridge_validate_legacy(legacy(), policy(), error));
""",
    "dlbridge_validate_versioned": """
  OK(dlbridge_validate_versioned(versioned(), policy(), error));
""",
    "dlbridge_diagnose": """
  DLBridgeFinding* const findings = (DLBridgeFinding*)guarded(sizeof *findings);
  size_t* const count = NEW(size_t);
  DLTensor* const tensor = bare();
  tensor->ndim = -1;
  OK(dlbridge_diagnose(tensor, DLBRIDGE_KIND_BORROWED, 0, policy(), findings, 1, count, error));
  CHECK(*count >= 1 && findings->rule == DLBRIDGE_RULE_NDIM_NEGATIVE && findings->axis == -1);
  CHECK(findings->severity == DLBRIDGE_SEVERITY_BROKEN && findings->found[0] != '\\0');
""",
    "dlbridge_import": """
  SLOT(DLManagedTensorVersioned, out);
  OK(dlbridge_import(legacy(), DLBRIDGE_KIND_LEGACY, convert_options(), out, error));
  CHECK((*out)->version.major == 1 && (*out)->dl_tensor.ndim == 2 && (*out)->dl_tensor.strides);
  CHECK((*out)->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  dlbridge_release_versioned(*out);
  CHECK(g_deleted == 1);
""",
    "dlbridge_export": """
  SLOT(void, out);
  DLBridgeKind* const kind = NEW(DLBridgeKind);
  const DLPackVersion target = {0, 8};
  OK(dlbridge_export(versioned(), DLBRIDGE_KIND_VERSIONED, target, convert_options(), out, kind,
                     error));
  CHECK(*kind == DLBRIDGE_KIND_LEGACY && ((DLManagedTensor*)*out)->dl_tensor.ndim == 2);
  dlbridge_release_legacy((DLManagedTensor*)*out);
  CHECK(g_deleted == 1);
""",
    "dlbridge_release": """
  OK(dlbridge_release(legacy(), DLBRIDGE_KIND_LEGACY));
  FAILS(INVALID_ARGUMENT, dlbridge_release(legacy(), DLBRIDGE_KIND_BORROWED));
  CHECK(g_deleted == 1);
""",
    "dlbridge_release_legacy": """
  dlbridge_release_legacy(legacy());
  dlbridge_release_legacy(NULL);
  CHECK(g_deleted == 1);
""",
    "dlbridge_release_versioned": """
  dlbridge_release_versioned(versioned());
  dlbridge_release_versioned(NULL);
  CHECK(g_deleted == 1);
""",
    "dlbridge_upgrade": """
  SLOT(DLManagedTensorVersioned, out);
  DLBridgeConvertOptions* const options = convert_options();
  options->options = DLBRIDGE_CONVERT_VOUCH_WRITABLE;
  OK(dlbridge_upgrade(legacy(), options, out, error));
  CHECK((*out)->flags == 0 && (*out)->dl_tensor.data == g_data);
  dlbridge_release_versioned(*out);
  CHECK(g_deleted == 1);
""",
    "dlbridge_upgrade_storage_size": """
  CHECK(dlbridge_upgrade_storage_size(2) >= sizeof(DLManagedTensorVersioned));
  CHECK(dlbridge_upgrade_storage_size(-1) == 0);
  CHECK(dlbridge_upgrade_storage_size(DLBRIDGE_MAX_NDIM + 1) == 0);
""",
    "dlbridge_upgrade_into": """
  SLOT(DLManagedTensorVersioned, out);
  MAKE(DLBridgeStorage, storage, DLBRIDGE_STORAGE_INIT);
  const int freed = g_freed;
  storage->size = (dlbridge_upgrade_storage_size(2) + 15) / 16 * 16;
  storage->memory = guarded(storage->size);
  storage->release = free_storage;
  storage->release_context = &g_freed;
  OK(dlbridge_upgrade_into(legacy(), convert_options(), storage, out, error));
  CHECK((void*)*out == storage->memory);
  dlbridge_release_versioned(*out);
  CHECK(g_deleted == 1 && g_freed == freed + 1 && g_wrong == 0);
""",
    "dlbridge_upgrade_many": """
  DLManagedTensor** const sources = (DLManagedTensor**)guarded(2 * sizeof *sources);
  DLManagedTensorVersioned** const outs =
      (DLManagedTensorVersioned**)guarded(2 * sizeof *outs);
  size_t* const failed = NEW(size_t);
  sources[0] = legacy();
  sources[1] = legacy();
  OK(dlbridge_upgrade_many(sources, 2, convert_options(), outs, failed, error));
  dlbridge_release_versioned(outs[0]);
  dlbridge_release_versioned(outs[1]);
  CHECK(g_deleted == 2);
  sources[1] = sources[0];
  FAILS(INVALID_ARGUMENT,
        dlbridge_upgrade_many(sources, 2, convert_options(), outs, failed, error));
""",
    "dlbridge_downgrade": """
  SLOT(DLManagedTensor, out);
  OK(dlbridge_downgrade(versioned(), convert_options(), out, error));
  CHECK((*out)->dl_tensor.ndim == 2 && (*out)->dl_tensor.data == g_data);
  dlbridge_release_legacy(*out);
  CHECK(g_deleted == 1);
""",
    "dlbridge_share": OWNED
    + """
  SLOT(DLManagedTensorVersioned, out);
  OK(dlbridge_share(*owned, out, error));
  CHECK((*out)->dl_tensor.data == (*owned)->dl_tensor.data);
  dlbridge_release_versioned(*out);
  dlbridge_release_versioned(*owned);
  FAILS(FOREIGN_TENSOR, dlbridge_share(versioned(), out, error));
""",
    "dlbridge_view": OWNED
    + """
  SLOT(DLManagedTensorVersioned, out);
  MAKE(DLBridgeViewSpec, spec, DLBRIDGE_VIEW_SPEC_INIT);
  spec->ndim = 1;
  spec->shape = (int64_t*)memcpy(guarded(sizeof *g_shape), g_shape, sizeof *g_shape);
  spec->offset = 4;
  OK(dlbridge_view(*owned, spec, out, error));
  CHECK((*out)->dl_tensor.ndim == 1 && (*out)->dl_tensor.shape[0] == 2);
  dlbridge_release_versioned(*out);
  spec->offset = 5;
  FAILS(BOUNDS, dlbridge_view(*owned, spec, out, error));
  dlbridge_release_versioned(*owned);
""",
    "dlbridge_allocate": """
  SLOT(DLManagedTensorVersioned, out);
  MAKE(DLBridgeAllocator, allocator, DLBRIDGE_ALLOCATOR_INIT);
  DLBridgeAllocateSpec* const spec = allocate_spec();
  allocator->context = &g_allocated;
  allocator->allocate = allocate;
  allocator->deallocate = deallocate;
  spec->allocator = allocator;
  spec->alignment = 64;
  OK(dlbridge_allocate(spec, out, error));
  CHECK(g_allocated == 1 && (size_t)(*out)->dl_tensor.data % 64 == 0);
  dlbridge_release_versioned(*out);
  CHECK(g_allocated == 0 && g_wrong == 0);
""",
    "dlbridge_required_version": """
  DLPackVersion* const version = NEW(DLPackVersion);
  OK(dlbridge_required_version(bare(), 0, version, error));
  CHECK(version->major == 0 && version->minor == 2);
""",
    "dlbridge_negotiate": """
  DLBridgeKind* const kind = NEW(DLBridgeKind);
  DLPackVersion* const version = NEW(DLPackVersion);
  const DLPackVersion older = {1, 1};
  const DLPackVersion newer = {2, 0};
  OK(dlbridge_negotiate(older, newer, kind, version, error));
  CHECK(*kind == DLBRIDGE_KIND_VERSIONED && version->major == 1 && version->minor == 1);
  FAILS(VERSION, dlbridge_negotiate(newer, older, kind, version, error));
""",
    "dlbridge_exchange_api_find": """
  DLPackExchangeAPI* const table = NEW(DLPackExchangeAPI);
  const DLPackExchangeAPI** const out = (const DLPackExchangeAPI**)guarded(sizeof *out);
  const DLPackVersion consumer = {1, 3};
  memset(table, 0, sizeof *table);
  table->header.version = consumer;
  table->managed_tensor_allocator = exchange_allocator;
  table->managed_tensor_from_py_object_no_sync = from_object;
  table->managed_tensor_to_py_object_no_sync = to_object;
  table->current_work_stream = work_stream;
  OK(dlbridge_exchange_api_find(&table->header, consumer, out, error));
  CHECK(*out == table);
""",
    "dlbridge_identify": """
  DLManagedTensorVersioned* const tensor = versioned();
  DLManagedTensor* const other = legacy();
  CHECK(dlbridge_identify(NULL) == DLBRIDGE_KIND_UNKNOWN);
  CHECK(dlbridge_identify(tensor) != DLBRIDGE_KIND_LEGACY);
  CHECK(dlbridge_identify(other) != DLBRIDGE_KIND_VERSIONED);
""",
    "dlbridge_module_pin": """
  OK(dlbridge_module_pin(g_none, error));
""",
    "dlbridge_backend_info": """
  MAKE(DLBridgeBackendInfo, info, DLBRIDGE_BACKEND_INFO_INIT);
  OK(dlbridge_backend_info(DLBRIDGE_BACKEND_CPU, info, error));
  CHECK(info->struct_size == sizeof *info && info->backend == DLBRIDGE_BACKEND_CPU);
  CHECK(info->state == DLBRIDGE_STATE_READY && info->reason[0] == '\\0');
""",
    "dlbridge_pointer_info": """
  MAKE(DLBridgePointerInfo, info, DLBRIDGE_POINTER_INFO_INIT);
  DLBridgeBuffer* const buffer = NEW(DLBridgeBuffer);
  *buffer = dlbridge_buffer_address(g_data);
  OK(dlbridge_pointer_info(buffer, bare()->device, info, error));
  CHECK(info->struct_size == sizeof *info && info->memory == DLBRIDGE_MEMORY_HOST);
  CHECK(info->backend == DLBRIDGE_BACKEND_CPU && info->native_device == -1);
""",
    "dlbridge_wrap": """
  SLOT(DLManagedTensorVersioned, out);
  const int freed = g_freed;
  OK(dlbridge_wrap(wrap_spec(), out, error));
  CHECK((*out)->dl_tensor.data == g_data && (*out)->dl_tensor.shape[1] == 3);
  dlbridge_release_versioned(*out);
  CHECK(g_freed == freed + 1 && g_wrong == 0);
""",
    "dlbridge_wrap_legacy": """
  SLOT(DLManagedTensor, out);
  const int freed = g_freed;
  OK(dlbridge_wrap_legacy(wrap_spec(), out, error));
  CHECK((*out)->dl_tensor.data == g_data && (*out)->dl_tensor.shape[1] == 3);
  dlbridge_release_legacy(*out);
  CHECK(g_freed == freed + 1 && g_wrong == 0);
""",
    "dlbridge_stream_from_array_api": """
  DLBridgeStream* const out = NEW(DLBridgeStream);
  DLDevice device = bare()->device;
  OK(dlbridge_stream_from_array_api(device, DLBRIDGE_ARRAY_API_STREAM_NONE, out, error));
  CHECK(out->kind == DLBRIDGE_STREAM_HOST);
  device.device_type = kDLCUDA;
  device.device_id = 3;
  OK(dlbridge_stream_from_array_api(device, 2, out, error));
  CHECK(out->kind == DLBRIDGE_STREAM_QUEUE && out->handle == 2 && out->device.device_id == 3);
""",
    "dlbridge_stream_handoff": """
  DLBridgeStream* const host = stream(DLBRIDGE_STREAM_HOST);
  OK(dlbridge_stream_handoff(host, stream(DLBRIDGE_STREAM_NO_SYNC), 0, error));
  FAILS(INVALID_ARGUMENT, dlbridge_stream_handoff(stream(0), host, 0, error));
  FAILS(INVALID_ARGUMENT, dlbridge_stream_handoff(host, host, 1, error));
""",
    "dlbridge_stream_synchronize": """
  OK(dlbridge_stream_synchronize(stream(DLBRIDGE_STREAM_HOST), error));
  FAILS(INVALID_ARGUMENT, dlbridge_stream_synchronize(stream(DLBRIDGE_STREAM_NO_SYNC), error));
""",
    "dlbridge_context_register": """
  uint64_t* const id = NEW(uint64_t);
  const int freed = g_freed;
  OK(dlbridge_context_register(entry(), id, error));
  CHECK(*id > 0);
"""
    + GONE,
    "dlbridge_context_find": REGISTERED
    + """
  MAKE(DLBridgeContextEntry, out, DLBRIDGE_CONTEXT_ENTRY_INIT);
  OK(dlbridge_context_find(entry()->device, 77, out, error));
  CHECK(out->struct_size == sizeof *out && out->id == *id && out->context == 77);
  CHECK(out->release_context == NULL || out->release_context == &g_freed);
"""
    + GONE,
    "dlbridge_context_next": REGISTERED
    + """
  MAKE(DLBridgeContextEntry, out, DLBRIDGE_CONTEXT_ENTRY_INIT);
  uint64_t* const cursor = NEW(uint64_t);
  *cursor = 0;
  OK(dlbridge_context_next(cursor, out, error));
  CHECK(*cursor != 0 && out->id == *id);
  FAILS(NOT_FOUND, dlbridge_context_next(cursor, out, error));
"""
    + GONE,
    "dlbridge_context_retain": REGISTERED
    + """
  OK(dlbridge_context_retain(*id, error));
  OK(dlbridge_context_release(*id, error));
  FAILS(NOT_FOUND, dlbridge_context_retain(*id + 1, error));
"""
    + GONE,
    "dlbridge_context_release": REGISTERED
    + """
  OK(dlbridge_context_retain(*id, error));
  OK(dlbridge_context_unregister(*id, error));
  CHECK(g_freed == freed);
  OK(dlbridge_context_release(*id, error));
  CHECK(g_freed == freed + 1 && g_wrong == 0);
""",
    "dlbridge_context_unregister": REGISTERED
    + GONE
    + """
  FAILS(NOT_FOUND, dlbridge_context_unregister(*id, error));
""",
    "dlbridge_context_table_v1": REGISTERED
    + """
  const DLBridgeContextTable* const of = dlbridge_context_table_v1();
  MAKE(DLBridgeContextEntry, out, DLBRIDGE_CONTEXT_ENTRY_INIT);
  uint64_t* const cursor = NEW(uint64_t);
  uint64_t* const other = NEW(uint64_t);
  *cursor = 0;
  CHECK(of != NULL && of->version >= 1 && of->struct_size >= sizeof *of);
  OK(of->find(entry()->device, 77, out));
  CHECK(out->id == *id);
  OK(of->next(cursor, out));
  CHECK(out->id == *id);
  OK(of->retain(*id));
  OK(of->release(*id));
  FAILS(EXISTS, of->add(entry(), other));
  OK(of->remove(*id));
  CHECK(g_freed == freed + 1 && g_wrong == 0);
""",
    "dlbridge_copy": """
  SLOT(DLManagedTensorVersioned, out);
  MAKE(DLBridgeCopySpec, spec, DLBRIDGE_COPY_SPEC_INIT);
  float* const target = (float*)guarded(sizeof g_data);
  spec->policy = policy();
  g_data[5] = 5;
  OK(dlbridge_copy(bare(), 0, spec, out, error));
  CHECK(((float*)(*out)->dl_tensor.data)[5] == g_data[5]);
  dlbridge_release_versioned(*out);
  spec->target = dlbridge_buffer_address(target);
  spec->target_size = sizeof g_data;
  OK(dlbridge_copy(bare(), 0, spec, out, error));
  CHECK(target[5] == g_data[5] && (*out)->flags == DLPACK_FLAG_BITMASK_IS_COPIED);
  dlbridge_release_versioned(*out);
""",
    "dlbridge_ipc_export": """
  SLOT(DLManagedTensorVersioned, owned);
  DLBridgeAllocateSpec* const shareable = allocate_spec();
  MAKE(DLBridgeIpcExportSpec, spec, DLBRIDGE_IPC_EXPORT_SPEC_INIT);
  MAKE(DLBridgeIpcSizes, sizes, DLBRIDGE_IPC_SIZES_INIT);
  size_t i;
  shareable->options = DLBRIDGE_ALLOCATE_SHAREABLE;
  OK(dlbridge_allocate(shareable, owned, error));
  FAILS(BUFFER_TOO_SMALL, dlbridge_ipc_export(*owned, spec, sizes, error));
  CHECK(sizes->struct_size == sizeof *sizes && sizes->buffer_size > 0 && sizes->fd_count >= 1);
  spec->buffer_size = sizes->buffer_size;
  spec->buffer = guarded(spec->buffer_size);
  spec->fd_capacity = sizes->fd_count;
  spec->fds = (int32_t*)guarded(spec->fd_capacity * sizeof *spec->fds);
  OK(dlbridge_ipc_export(*owned, spec, sizes, error));
  CHECK(sizes->buffer_size == spec->buffer_size && sizes->fd_count == spec->fd_capacity);
  for (i = 0; i < spec->fd_capacity; ++i) CHECK(close(spec->fds[i]) == 0);
  dlbridge_release_versioned(*owned);
""",
    "dlbridge_ipc_import": """
  SLOT(DLManagedTensorVersioned, out);
  MAKE(DLBridgeIpcImportSpec, spec, DLBRIDGE_IPC_IMPORT_SPEC_INIT);
  spec->buffer = guarded(8);
  spec->buffer_size = 8;
  spec->policy = policy();
  FAILS(DESCRIPTOR, dlbridge_ipc_import(spec, out, error));
  CHECK(*out == NULL);
""",
    "dlbridge_get_api": """
  CHECK(dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi)) != NULL);
  CHECK(dlbridge_get_api(DLBRIDGE_ABI + 1, sizeof(DLBridgeApi)) == NULL);
""",
}
