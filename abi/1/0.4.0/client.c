/*
 * SPDX-License-Identifier: Apache-2.0
 * The start of every client that recipes.py describes; clients.py copies it to the start of a
 * version's client.c, which is recorded. Every object that a client passes by pointer ends at the
 * end of a page; the page after it is inaccessible, and the bytes before the object must not
 * change. So the library may not read or write outside what the version's header declares. C99 and
 * C++11.
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dlbridge/dlbridge.h"

#define CANARY 0x5a
#define NEW(type) ((type*)guarded(sizeof(type)))
/* A struct with its default. */
#define MAKE(type, name, init)             \
  static const type name##_default = init; \
  type* const name = NEW(type);            \
  memcpy(name, &name##_default, sizeof *name)
#define CHECK(condition)                                         \
  do {                                                           \
    if (!(condition)) {                                          \
      printf("line %d: %s: %s\n", __LINE__, #condition, said()); \
      return 1;                                                  \
    }                                                            \
  } while (0)
/* A call that must succeed, and one that must fail with a status. */
#define OK(call) CHECK((call) == DLBRIDGE_OK)
#define FAILS(status, call) CHECK((call) == DLBRIDGE_ERROR_##status)

enum { BLOCKS = 64 };
typedef struct {
  unsigned char* start; /* of the page or pages */
  unsigned char* object;
  size_t mapped;
} Block;

static Block g_blocks[BLOCKS];
static int g_count;
static DLBridgeError* g_error;

/* The message of the last failure. */
static const char* said(void) { return g_error == NULL ? "" : g_error->message; }

/* Memory whose last byte is the last of a page; its bytes are canaries. */
static void* guarded(size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t pages = (size + page) / page * page;
  void* const start =
      mmap(NULL, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Block* const block = &g_blocks[g_count++ % BLOCKS];
  memset(start, CANARY, pages);
  mprotect((unsigned char*)start + pages, page, PROT_NONE);
  block->start = (unsigned char*)start;
  block->object = block->start + (pages - size);
  block->mapped = pages + page;
  return block->object;
}

/* Whether the bytes before every object are unchanged; also unmaps the memory. */
static int untouched(void) {
  int good = g_count <= BLOCKS;
  int i;
  for (i = 0; i < g_count && i < BLOCKS; ++i) {
    const unsigned char* byte = g_blocks[i].start;
    while (byte < g_blocks[i].object && *byte == CANARY) ++byte;
    good = good && byte == g_blocks[i].object;
    munmap(g_blocks[i].start, g_blocks[i].mapped);
  }
  g_count = 0;
  return good;
}

/* A tensor of float32 and shape {2, 3} whose deleter counts its calls. */
static float g_data[6];
static int64_t g_shape[2] = {2, 3};
static int g_deleted;
static void delete_legacy(DLManagedTensor* tensor) {
  (void)tensor;
  ++g_deleted;
}
static void delete_versioned(DLManagedTensorVersioned* tensor) {
  (void)tensor;
  ++g_deleted;
}

static DLTensor* bare(void) {
  DLTensor* const tensor = NEW(DLTensor);
  memset(tensor, 0, sizeof *tensor);
  tensor->data = g_data;
  tensor->device.device_type = kDLCPU;
  tensor->ndim = 2;
  tensor->dtype.code = kDLFloat;
  tensor->dtype.bits = 32;
  tensor->dtype.lanes = 1;
  tensor->shape = (int64_t*)guarded(sizeof g_shape);
  memcpy(tensor->shape, g_shape, sizeof g_shape);
  return tensor;
}

static DLManagedTensor* legacy(void) {
  DLManagedTensor* const tensor = NEW(DLManagedTensor);
  tensor->dl_tensor = *bare();
  tensor->manager_ctx = NULL;
  tensor->deleter = delete_legacy;
  return tensor;
}

static DLManagedTensorVersioned* versioned(void) {
  DLManagedTensorVersioned* const tensor = NEW(DLManagedTensorVersioned);
  tensor->version.major = 1;
  tensor->version.minor = 0;
  tensor->manager_ctx = NULL;
  tensor->deleter = delete_versioned;
  tensor->flags = 0;
  tensor->dl_tensor = *bare();
  return tensor;
}

/* A location for a result, initialised to NULL. */
#define SLOT(type, name)                              \
  type** const name = (type**)guarded(sizeof(type*)); \
  *name = NULL

/* Checks that a member of the function table is the exported function of that name. */
static int is_symbol(const char* name, const void* function) {
  void* const symbol = dlsym(RTLD_DEFAULT, name);
  void* member = NULL;
  memcpy(&member, function, sizeof member);
  if (symbol != NULL && symbol == member) return 1;
  printf("the table's entry is not %s\n", name);
  return 0;
}

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

static int call_dlbridge_version(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  CHECK(dlbridge_version() >= DLBRIDGE_VERSION_MAJOR * 10000 + DLBRIDGE_VERSION_MINOR * 100 +
                                  DLBRIDGE_VERSION_PATCH);
  (void)error;
  return 0;
}

static int call_dlbridge_version_string(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  CHECK(strchr(dlbridge_version_string(), '.') != NULL);
  (void)error;
  return 0;
}

static int call_dlbridge_dlpack_version(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  CHECK(dlbridge_dlpack_version().major == 1 && dlbridge_dlpack_version().minor >= 3);
  (void)error;
  return 0;
}

static int call_dlbridge_status_name(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  CHECK(strcmp(dlbridge_status_name(DLBRIDGE_ERROR_VERSION), "DLBRIDGE_ERROR_VERSION") == 0);
  CHECK(strcmp(dlbridge_status_name(-1), "UNKNOWN_STATUS") == 0);
  (void)error;
  return 0;
}

static int call_dlbridge_status_text(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  CHECK(strlen(dlbridge_status_text(DLBRIDGE_ERROR_VERSION)) > 0);
  (void)error;
  return 0;
}

static int call_dlbridge_rule_name(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  CHECK(strcmp(dlbridge_rule_name(DLBRIDGE_RULE_NDIM_NEGATIVE), "NDIM_NEGATIVE") == 0);
  (void)error;
  return 0;
}

static int call_dlbridge_rule_text(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  CHECK(strlen(dlbridge_rule_text(DLBRIDGE_RULE_NDIM_NEGATIVE)) > 0);
  (void)error;
  return 0;
}

static int call_dlbridge_layout(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  MAKE(DLBridgeLayout, layout, DLBRIDGE_LAYOUT_INIT);
  OK(dlbridge_layout(bare(), 0, layout, error));
  CHECK(layout->struct_size == sizeof *layout && layout->options == 0 && layout->ndim == 2);
  CHECK(layout->element_count == 6 && layout->packed_bytes == 24 && layout->item_bits == 32);
  CHECK(layout->begin == 0 && layout->end == 24 && layout->self_overlap == DLBRIDGE_NO);
  CHECK(layout->broadcast_axes == 0 && layout->negative_axes == 0 && layout->alignment >= 4);
  CHECK(layout->properties == (DLBRIDGE_LAYOUT_C_CONTIGUOUS));
  (void)error;
  return 0;
}

static int call_dlbridge_dtype_format(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  char* const buffer = (char*)guarded(8);
  size_t* const length = NEW(size_t);

  OK(dlbridge_dtype_format(bare()->dtype, buffer, 8, length, error));
  CHECK(strcmp(buffer, "float32") == 0 && *length == 7);
  FAILS(BUFFER_TOO_SMALL, dlbridge_dtype_format(bare()->dtype, buffer, 4, length, error));
  CHECK(strcmp(buffer, "flo") == 0 && *length == 7 && strcmp(buffer + 4, "t32") == 0);
  (void)error;
  return 0;
}

static int call_dlbridge_dtype_parse(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  char* const text = (char*)guarded(7);
  DLDataType* const dtype = NEW(DLDataType);
  memcpy(text, "float32", 7);
  OK(dlbridge_dtype_parse(text, 7, dtype, error));
  CHECK(dtype->code == kDLFloat && dtype->bits == 32 && dtype->lanes == 1);
  FAILS(PARSE, dlbridge_dtype_parse(text, 4, dtype, error));
  (void)error;
  return 0;
}

static int call_dlbridge_device_format(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  char* const buffer = (char*)guarded(6);
  size_t* const length = NEW(size_t);

  OK(dlbridge_device_format(bare()->device, buffer, 6, length, error));
  CHECK(strcmp(buffer, "cpu:0") == 0 && *length == 5);
  (void)error;
  return 0;
}

static int call_dlbridge_device_parse(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  char* const text = (char*)guarded(6);
  DLDevice* const device = NEW(DLDevice);
  memcpy(text, "cuda:1", 6);
  OK(dlbridge_device_parse(text, 6, device, error));
  CHECK(device->device_type == kDLCUDA && device->device_id == 1);
  (void)error;
  return 0;
}

static int call_dlbridge_tensor_format(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  char* const buffer = (char*)guarded(16);
  size_t* const length = NEW(size_t);

  FAILS(BUFFER_TOO_SMALL, dlbridge_tensor_format(bare(), 0, buffer, 16, length, error));
  CHECK(strlen(buffer) == 15 && *length > 15);
  (void)error;
  return 0;
}

static int call_dlbridge_host_accessible(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  DLBridgeAnswer* const answer = NEW(DLBridgeAnswer);
  CHECK(dlbridge_host_accessible(kDLCPU, answer) == 1 && *answer == DLBRIDGE_YES);
  CHECK(dlbridge_host_accessible(kDLCUDA, answer) == 0 && *answer == DLBRIDGE_NO);
  (void)error;
  return 0;
}

static int call_dlbridge_validate(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  DLTensor* const tensor = bare();
  DLBridgePolicy* const demands = policy();
  OK(dlbridge_validate(tensor, 0, demands, error));
  tensor->ndim = -1;
  FAILS(INVALID_TENSOR, dlbridge_validate(tensor, 0, demands, error));
  CHECK(error->status == DLBRIDGE_ERROR_INVALID_TENSOR && error->message[0] != '\0');
  CHECK(error->rule == DLBRIDGE_RULE_NDIM_NEGATIVE && error->axis == -1);
  CHECK(error->native_code == 0 && memchr(error->message, 0, sizeof error->message) != NULL);
  (void)error;
  return 0;
}

static int call_dlbridge_validate_legacy(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  OK(dlbridge_validate_legacy(legacy(), policy(), error));
  (void)error;
  return 0;
}

static int call_dlbridge_validate_versioned(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  OK(dlbridge_validate_versioned(versioned(), policy(), error));
  (void)error;
  return 0;
}

static int call_dlbridge_diagnose(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  DLBridgeFinding* const findings = (DLBridgeFinding*)guarded(sizeof *findings);
  size_t* const count = NEW(size_t);
  DLTensor* const tensor = bare();
  tensor->ndim = -1;
  OK(dlbridge_diagnose(tensor, DLBRIDGE_KIND_BORROWED, 0, policy(), findings, 1, count, error));
  CHECK(*count >= 1 && findings->rule == DLBRIDGE_RULE_NDIM_NEGATIVE && findings->axis == -1);
  CHECK(findings->severity == DLBRIDGE_SEVERITY_BROKEN && findings->found[0] != '\0');
  (void)error;
  return 0;
}

static int call_dlbridge_import(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  SLOT(DLManagedTensorVersioned, out);
  OK(dlbridge_import(legacy(), DLBRIDGE_KIND_LEGACY, convert_options(), out, error));
  CHECK((*out)->version.major == 1 && (*out)->dl_tensor.ndim == 2 && (*out)->dl_tensor.strides);
  CHECK((*out)->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  dlbridge_release_versioned(*out);
  CHECK(g_deleted == 1);
  (void)error;
  return 0;
}

static int call_dlbridge_export(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  SLOT(void, out);
  DLBridgeKind* const kind = NEW(DLBridgeKind);
  const DLPackVersion target = {0, 8};
  OK(dlbridge_export(versioned(), DLBRIDGE_KIND_VERSIONED, target, convert_options(), out, kind,
                     error));
  CHECK(*kind == DLBRIDGE_KIND_LEGACY && ((DLManagedTensor*)*out)->dl_tensor.ndim == 2);
  dlbridge_release_legacy((DLManagedTensor*)*out);
  CHECK(g_deleted == 1);
  (void)error;
  return 0;
}

static int call_dlbridge_release(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  OK(dlbridge_release(legacy(), DLBRIDGE_KIND_LEGACY));
  FAILS(INVALID_ARGUMENT, dlbridge_release(legacy(), DLBRIDGE_KIND_BORROWED));
  CHECK(g_deleted == 1);
  (void)error;
  return 0;
}

static int call_dlbridge_release_legacy(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  dlbridge_release_legacy(legacy());
  dlbridge_release_legacy(NULL);
  CHECK(g_deleted == 1);
  (void)error;
  return 0;
}

static int call_dlbridge_release_versioned(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  dlbridge_release_versioned(versioned());
  dlbridge_release_versioned(NULL);
  CHECK(g_deleted == 1);
  (void)error;
  return 0;
}

static int call_dlbridge_upgrade(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  SLOT(DLManagedTensorVersioned, out);
  DLBridgeConvertOptions* const options = convert_options();
  options->options = DLBRIDGE_CONVERT_VOUCH_WRITABLE;
  OK(dlbridge_upgrade(legacy(), options, out, error));
  CHECK((*out)->flags == 0 && (*out)->dl_tensor.data == g_data);
  dlbridge_release_versioned(*out);
  CHECK(g_deleted == 1);
  (void)error;
  return 0;
}

static int call_dlbridge_upgrade_storage_size(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  CHECK(dlbridge_upgrade_storage_size(2) >= sizeof(DLManagedTensorVersioned));
  CHECK(dlbridge_upgrade_storage_size(-1) == 0);
  CHECK(dlbridge_upgrade_storage_size(DLBRIDGE_MAX_NDIM + 1) == 0);
  (void)error;
  return 0;
}

static int call_dlbridge_upgrade_into(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

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
  (void)error;
  return 0;
}

static int call_dlbridge_upgrade_many(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

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
  (void)error;
  return 0;
}

static int call_dlbridge_downgrade(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  SLOT(DLManagedTensor, out);
  OK(dlbridge_downgrade(versioned(), convert_options(), out, error));
  CHECK((*out)->dl_tensor.ndim == 2 && (*out)->dl_tensor.data == g_data);
  dlbridge_release_legacy(*out);
  CHECK(g_deleted == 1);
  (void)error;
  return 0;
}

static int call_dlbridge_share(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  SLOT(DLManagedTensorVersioned, owned);
  OK(dlbridge_allocate(allocate_spec(), owned, error));

  SLOT(DLManagedTensorVersioned, out);
  OK(dlbridge_share(*owned, out, error));
  CHECK((*out)->dl_tensor.data == (*owned)->dl_tensor.data);
  dlbridge_release_versioned(*out);
  dlbridge_release_versioned(*owned);
  FAILS(FOREIGN_TENSOR, dlbridge_share(versioned(), out, error));
  (void)error;
  return 0;
}

static int call_dlbridge_view(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  SLOT(DLManagedTensorVersioned, owned);
  OK(dlbridge_allocate(allocate_spec(), owned, error));

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
  (void)error;
  return 0;
}

static int call_dlbridge_allocate(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

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
  (void)error;
  return 0;
}

static int call_dlbridge_required_version(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  DLPackVersion* const version = NEW(DLPackVersion);
  OK(dlbridge_required_version(bare(), 0, version, error));
  CHECK(version->major == 0 && version->minor == 2);
  (void)error;
  return 0;
}

static int call_dlbridge_negotiate(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  DLBridgeKind* const kind = NEW(DLBridgeKind);
  DLPackVersion* const version = NEW(DLPackVersion);
  const DLPackVersion older = {1, 1};
  const DLPackVersion newer = {2, 0};
  OK(dlbridge_negotiate(older, newer, kind, version, error));
  CHECK(*kind == DLBRIDGE_KIND_VERSIONED && version->major == 1 && version->minor == 1);
  FAILS(VERSION, dlbridge_negotiate(newer, older, kind, version, error));
  (void)error;
  return 0;
}

static int call_dlbridge_exchange_api_find(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

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
  (void)error;
  return 0;
}

static int call_dlbridge_identify(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  DLManagedTensorVersioned* const tensor = versioned();
  DLManagedTensor* const other = legacy();
  CHECK(dlbridge_identify(NULL) == DLBRIDGE_KIND_UNKNOWN);
  CHECK(dlbridge_identify(tensor) != DLBRIDGE_KIND_LEGACY);
  CHECK(dlbridge_identify(other) != DLBRIDGE_KIND_VERSIONED);
  (void)error;
  return 0;
}

static int call_dlbridge_module_pin(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  OK(dlbridge_module_pin(g_none, error));
  (void)error;
  return 0;
}

static int call_dlbridge_backend_info(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  MAKE(DLBridgeBackendInfo, info, DLBRIDGE_BACKEND_INFO_INIT);
  OK(dlbridge_backend_info(DLBRIDGE_BACKEND_CPU, info, error));
  CHECK(info->struct_size == sizeof *info && info->backend == DLBRIDGE_BACKEND_CPU);
  CHECK(info->state == DLBRIDGE_STATE_READY && info->reason[0] == '\0');
  (void)error;
  return 0;
}

static int call_dlbridge_pointer_info(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  MAKE(DLBridgePointerInfo, info, DLBRIDGE_POINTER_INFO_INIT);
  DLBridgeBuffer* const buffer = NEW(DLBridgeBuffer);
  *buffer = dlbridge_buffer_address(g_data);
  OK(dlbridge_pointer_info(buffer, bare()->device, info, error));
  CHECK(info->struct_size == sizeof *info && info->memory == DLBRIDGE_MEMORY_HOST);
  CHECK(info->backend == DLBRIDGE_BACKEND_CPU && info->native_device == -1);
  (void)error;
  return 0;
}

static int call_dlbridge_wrap(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  SLOT(DLManagedTensorVersioned, out);
  const int freed = g_freed;
  OK(dlbridge_wrap(wrap_spec(), out, error));
  CHECK((*out)->dl_tensor.data == g_data && (*out)->dl_tensor.shape[1] == 3);
  dlbridge_release_versioned(*out);
  CHECK(g_freed == freed + 1 && g_wrong == 0);
  (void)error;
  return 0;
}

static int call_dlbridge_wrap_legacy(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  SLOT(DLManagedTensor, out);
  const int freed = g_freed;
  OK(dlbridge_wrap_legacy(wrap_spec(), out, error));
  CHECK((*out)->dl_tensor.data == g_data && (*out)->dl_tensor.shape[1] == 3);
  dlbridge_release_legacy(*out);
  CHECK(g_freed == freed + 1 && g_wrong == 0);
  (void)error;
  return 0;
}

static int call_dlbridge_stream_from_array_api(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  DLBridgeStream* const out = NEW(DLBridgeStream);
  DLDevice device = bare()->device;
  OK(dlbridge_stream_from_array_api(device, DLBRIDGE_ARRAY_API_STREAM_NONE, out, error));
  CHECK(out->kind == DLBRIDGE_STREAM_HOST);
  device.device_type = kDLCUDA;
  device.device_id = 3;
  OK(dlbridge_stream_from_array_api(device, 2, out, error));
  CHECK(out->kind == DLBRIDGE_STREAM_QUEUE && out->handle == 2 && out->device.device_id == 3);
  (void)error;
  return 0;
}

static int call_dlbridge_stream_handoff(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  DLBridgeStream* const host = stream(DLBRIDGE_STREAM_HOST);
  OK(dlbridge_stream_handoff(host, stream(DLBRIDGE_STREAM_NO_SYNC), 0, error));
  FAILS(INVALID_ARGUMENT, dlbridge_stream_handoff(stream(0), host, 0, error));
  FAILS(INVALID_ARGUMENT, dlbridge_stream_handoff(host, host, 1, error));
  (void)error;
  return 0;
}

static int call_dlbridge_stream_synchronize(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  OK(dlbridge_stream_synchronize(stream(DLBRIDGE_STREAM_HOST), error));
  FAILS(INVALID_ARGUMENT, dlbridge_stream_synchronize(stream(DLBRIDGE_STREAM_NO_SYNC), error));
  (void)error;
  return 0;
}

static int call_dlbridge_context_register(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  uint64_t* const id = NEW(uint64_t);
  const int freed = g_freed;
  OK(dlbridge_context_register(entry(), id, error));
  CHECK(*id > 0);

  OK(dlbridge_context_unregister(*id, error));
  CHECK(g_freed == freed + 1 && g_wrong == 0);
  (void)error;
  return 0;
}

static int call_dlbridge_context_find(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  uint64_t* const id = NEW(uint64_t);
  const int freed = g_freed;
  OK(dlbridge_context_register(entry(), id, error));

  MAKE(DLBridgeContextEntry, out, DLBRIDGE_CONTEXT_ENTRY_INIT);
  OK(dlbridge_context_find(entry()->device, 77, out, error));
  CHECK(out->struct_size == sizeof *out && out->id == *id && out->context == 77);
  CHECK(out->release_context == NULL || out->release_context == &g_freed);

  OK(dlbridge_context_unregister(*id, error));
  CHECK(g_freed == freed + 1 && g_wrong == 0);
  (void)error;
  return 0;
}

static int call_dlbridge_context_next(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  uint64_t* const id = NEW(uint64_t);
  const int freed = g_freed;
  OK(dlbridge_context_register(entry(), id, error));

  MAKE(DLBridgeContextEntry, out, DLBRIDGE_CONTEXT_ENTRY_INIT);
  uint64_t* const cursor = NEW(uint64_t);
  *cursor = 0;
  OK(dlbridge_context_next(cursor, out, error));
  CHECK(*cursor != 0 && out->id == *id);
  FAILS(NOT_FOUND, dlbridge_context_next(cursor, out, error));

  OK(dlbridge_context_unregister(*id, error));
  CHECK(g_freed == freed + 1 && g_wrong == 0);
  (void)error;
  return 0;
}

static int call_dlbridge_context_retain(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  uint64_t* const id = NEW(uint64_t);
  const int freed = g_freed;
  OK(dlbridge_context_register(entry(), id, error));

  OK(dlbridge_context_retain(*id, error));
  OK(dlbridge_context_release(*id, error));
  FAILS(NOT_FOUND, dlbridge_context_retain(*id + 1, error));

  OK(dlbridge_context_unregister(*id, error));
  CHECK(g_freed == freed + 1 && g_wrong == 0);
  (void)error;
  return 0;
}

static int call_dlbridge_context_release(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  uint64_t* const id = NEW(uint64_t);
  const int freed = g_freed;
  OK(dlbridge_context_register(entry(), id, error));

  OK(dlbridge_context_retain(*id, error));
  OK(dlbridge_context_unregister(*id, error));
  CHECK(g_freed == freed);
  OK(dlbridge_context_release(*id, error));
  CHECK(g_freed == freed + 1 && g_wrong == 0);
  (void)error;
  return 0;
}

static int call_dlbridge_context_unregister(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  uint64_t* const id = NEW(uint64_t);
  const int freed = g_freed;
  OK(dlbridge_context_register(entry(), id, error));

  OK(dlbridge_context_unregister(*id, error));
  CHECK(g_freed == freed + 1 && g_wrong == 0);

  FAILS(NOT_FOUND, dlbridge_context_unregister(*id, error));
  (void)error;
  return 0;
}

static int call_dlbridge_context_table_v1(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  uint64_t* const id = NEW(uint64_t);
  const int freed = g_freed;
  OK(dlbridge_context_register(entry(), id, error));

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
  (void)error;
  return 0;
}

static int call_dlbridge_copy(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

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
  (void)error;
  return 0;
}

static int call_dlbridge_copy_async(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);
  (void)dlbridge_copy_async(NULL, NULL, NULL, error);
  (void)error;
  return 0;
}

static int call_dlbridge_release_after(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);
  DLBridgeKind zero1;
  memset(&zero1, 0, sizeof zero1);
  size_t zero3;
  memset(&zero3, 0, sizeof zero3);
  (void)dlbridge_release_after(NULL, zero1, NULL, zero3, error);
  (void)error;
  return 0;
}

static int call_dlbridge_collect(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);
  uint32_t zero0;
  memset(&zero0, 0, sizeof zero0);
  (void)dlbridge_collect(zero0, NULL, error);
  (void)error;
  return 0;
}

static int call_dlbridge_ipc_export(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

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
  (void)error;
  return 0;
}

static int call_dlbridge_ipc_import(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  SLOT(DLManagedTensorVersioned, out);
  MAKE(DLBridgeIpcImportSpec, spec, DLBRIDGE_IPC_IMPORT_SPEC_INIT);
  spec->buffer = guarded(8);
  spec->buffer_size = 8;
  spec->policy = policy();
  FAILS(DESCRIPTOR, dlbridge_ipc_import(spec, out, error));
  CHECK(*out == NULL);
  (void)error;
  return 0;
}

static int call_dlbridge_get_api(void) {
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);

  CHECK(dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi)) != NULL);
  CHECK(dlbridge_get_api(DLBRIDGE_ABI + 1, sizeof(DLBridgeApi)) == NULL);
  (void)error;
  return 0;
}

static int table(void) {
  const DLBridgeApi* const api = dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
  CHECK(api != NULL && api->abi == DLBRIDGE_ABI && api->struct_size >= sizeof(DLBridgeApi));
  CHECK(DLBRIDGE_API_HAS(api, version) && is_symbol("dlbridge_version", &api->version));
  CHECK(DLBRIDGE_API_HAS(api, version_string) && is_symbol("dlbridge_version_string", &api->version_string));
  CHECK(DLBRIDGE_API_HAS(api, dlpack_version) && is_symbol("dlbridge_dlpack_version", &api->dlpack_version));
  CHECK(DLBRIDGE_API_HAS(api, status_name) && is_symbol("dlbridge_status_name", &api->status_name));
  CHECK(DLBRIDGE_API_HAS(api, status_text) && is_symbol("dlbridge_status_text", &api->status_text));
  CHECK(DLBRIDGE_API_HAS(api, rule_name) && is_symbol("dlbridge_rule_name", &api->rule_name));
  CHECK(DLBRIDGE_API_HAS(api, rule_text) && is_symbol("dlbridge_rule_text", &api->rule_text));
  CHECK(DLBRIDGE_API_HAS(api, layout) && is_symbol("dlbridge_layout", &api->layout));
  CHECK(DLBRIDGE_API_HAS(api, dtype_format) && is_symbol("dlbridge_dtype_format", &api->dtype_format));
  CHECK(DLBRIDGE_API_HAS(api, dtype_parse) && is_symbol("dlbridge_dtype_parse", &api->dtype_parse));
  CHECK(DLBRIDGE_API_HAS(api, device_format) && is_symbol("dlbridge_device_format", &api->device_format));
  CHECK(DLBRIDGE_API_HAS(api, device_parse) && is_symbol("dlbridge_device_parse", &api->device_parse));
  CHECK(DLBRIDGE_API_HAS(api, tensor_format) && is_symbol("dlbridge_tensor_format", &api->tensor_format));
  CHECK(DLBRIDGE_API_HAS(api, host_accessible) && is_symbol("dlbridge_host_accessible", &api->host_accessible));
  CHECK(DLBRIDGE_API_HAS(api, import_tensor) && is_symbol("dlbridge_import", &api->import_tensor));
  CHECK(DLBRIDGE_API_HAS(api, export_tensor) && is_symbol("dlbridge_export", &api->export_tensor));
  CHECK(DLBRIDGE_API_HAS(api, release) && is_symbol("dlbridge_release", &api->release));
  CHECK(DLBRIDGE_API_HAS(api, release_legacy) && is_symbol("dlbridge_release_legacy", &api->release_legacy));
  CHECK(DLBRIDGE_API_HAS(api, release_versioned) && is_symbol("dlbridge_release_versioned", &api->release_versioned));
  CHECK(DLBRIDGE_API_HAS(api, validate) && is_symbol("dlbridge_validate", &api->validate));
  CHECK(DLBRIDGE_API_HAS(api, validate_legacy) && is_symbol("dlbridge_validate_legacy", &api->validate_legacy));
  CHECK(DLBRIDGE_API_HAS(api, validate_versioned) && is_symbol("dlbridge_validate_versioned", &api->validate_versioned));
  CHECK(DLBRIDGE_API_HAS(api, diagnose) && is_symbol("dlbridge_diagnose", &api->diagnose));
  CHECK(DLBRIDGE_API_HAS(api, upgrade) && is_symbol("dlbridge_upgrade", &api->upgrade));
  CHECK(DLBRIDGE_API_HAS(api, upgrade_storage_size) && is_symbol("dlbridge_upgrade_storage_size", &api->upgrade_storage_size));
  CHECK(DLBRIDGE_API_HAS(api, upgrade_into) && is_symbol("dlbridge_upgrade_into", &api->upgrade_into));
  CHECK(DLBRIDGE_API_HAS(api, upgrade_many) && is_symbol("dlbridge_upgrade_many", &api->upgrade_many));
  CHECK(DLBRIDGE_API_HAS(api, downgrade) && is_symbol("dlbridge_downgrade", &api->downgrade));
  CHECK(DLBRIDGE_API_HAS(api, share) && is_symbol("dlbridge_share", &api->share));
  CHECK(DLBRIDGE_API_HAS(api, view) && is_symbol("dlbridge_view", &api->view));
  CHECK(DLBRIDGE_API_HAS(api, allocate) && is_symbol("dlbridge_allocate", &api->allocate));
  CHECK(DLBRIDGE_API_HAS(api, required_version) && is_symbol("dlbridge_required_version", &api->required_version));
  CHECK(DLBRIDGE_API_HAS(api, negotiate) && is_symbol("dlbridge_negotiate", &api->negotiate));
  CHECK(DLBRIDGE_API_HAS(api, exchange_api_find) && is_symbol("dlbridge_exchange_api_find", &api->exchange_api_find));
  CHECK(DLBRIDGE_API_HAS(api, identify) && is_symbol("dlbridge_identify", &api->identify));
  CHECK(DLBRIDGE_API_HAS(api, module_pin) && is_symbol("dlbridge_module_pin", &api->module_pin));
  CHECK(DLBRIDGE_API_HAS(api, backend_info) && is_symbol("dlbridge_backend_info", &api->backend_info));
  CHECK(DLBRIDGE_API_HAS(api, pointer_info) && is_symbol("dlbridge_pointer_info", &api->pointer_info));
  CHECK(DLBRIDGE_API_HAS(api, wrap) && is_symbol("dlbridge_wrap", &api->wrap));
  CHECK(DLBRIDGE_API_HAS(api, wrap_legacy) && is_symbol("dlbridge_wrap_legacy", &api->wrap_legacy));
  CHECK(DLBRIDGE_API_HAS(api, stream_from_array_api) && is_symbol("dlbridge_stream_from_array_api", &api->stream_from_array_api));
  CHECK(DLBRIDGE_API_HAS(api, stream_handoff) && is_symbol("dlbridge_stream_handoff", &api->stream_handoff));
  CHECK(DLBRIDGE_API_HAS(api, stream_synchronize) && is_symbol("dlbridge_stream_synchronize", &api->stream_synchronize));
  CHECK(DLBRIDGE_API_HAS(api, context_register) && is_symbol("dlbridge_context_register", &api->context_register));
  CHECK(DLBRIDGE_API_HAS(api, context_find) && is_symbol("dlbridge_context_find", &api->context_find));
  CHECK(DLBRIDGE_API_HAS(api, context_next) && is_symbol("dlbridge_context_next", &api->context_next));
  CHECK(DLBRIDGE_API_HAS(api, context_retain) && is_symbol("dlbridge_context_retain", &api->context_retain));
  CHECK(DLBRIDGE_API_HAS(api, context_release) && is_symbol("dlbridge_context_release", &api->context_release));
  CHECK(DLBRIDGE_API_HAS(api, context_unregister) && is_symbol("dlbridge_context_unregister", &api->context_unregister));
  CHECK(DLBRIDGE_API_HAS(api, context_table_v1) && is_symbol("dlbridge_context_table_v1", &api->context_table_v1));
  CHECK(DLBRIDGE_API_HAS(api, copy) && is_symbol("dlbridge_copy", &api->copy));
  CHECK(DLBRIDGE_API_HAS(api, ipc_export) && is_symbol("dlbridge_ipc_export", &api->ipc_export));
  CHECK(DLBRIDGE_API_HAS(api, ipc_import) && is_symbol("dlbridge_ipc_import", &api->ipc_import));
  CHECK(DLBRIDGE_API_HAS(api, copy_async) && is_symbol("dlbridge_copy_async", &api->copy_async));
  CHECK(DLBRIDGE_API_HAS(api, release_after) && is_symbol("dlbridge_release_after", &api->release_after));
  CHECK(DLBRIDGE_API_HAS(api, collect) && is_symbol("dlbridge_collect", &api->collect));
  return 0;
}

int main(void) {
  static const struct {
    const char* name;
    int (*call)(void);
  } calls[] = {{"dlbridge_version", call_dlbridge_version},
      {"dlbridge_version_string", call_dlbridge_version_string},
      {"dlbridge_dlpack_version", call_dlbridge_dlpack_version},
      {"dlbridge_status_name", call_dlbridge_status_name},
      {"dlbridge_status_text", call_dlbridge_status_text},
      {"dlbridge_rule_name", call_dlbridge_rule_name},
      {"dlbridge_rule_text", call_dlbridge_rule_text},
      {"dlbridge_layout", call_dlbridge_layout},
      {"dlbridge_dtype_format", call_dlbridge_dtype_format},
      {"dlbridge_dtype_parse", call_dlbridge_dtype_parse},
      {"dlbridge_device_format", call_dlbridge_device_format},
      {"dlbridge_device_parse", call_dlbridge_device_parse},
      {"dlbridge_tensor_format", call_dlbridge_tensor_format},
      {"dlbridge_host_accessible", call_dlbridge_host_accessible},
      {"dlbridge_validate", call_dlbridge_validate},
      {"dlbridge_validate_legacy", call_dlbridge_validate_legacy},
      {"dlbridge_validate_versioned", call_dlbridge_validate_versioned},
      {"dlbridge_diagnose", call_dlbridge_diagnose},
      {"dlbridge_import", call_dlbridge_import},
      {"dlbridge_export", call_dlbridge_export},
      {"dlbridge_release", call_dlbridge_release},
      {"dlbridge_release_legacy", call_dlbridge_release_legacy},
      {"dlbridge_release_versioned", call_dlbridge_release_versioned},
      {"dlbridge_upgrade", call_dlbridge_upgrade},
      {"dlbridge_upgrade_storage_size", call_dlbridge_upgrade_storage_size},
      {"dlbridge_upgrade_into", call_dlbridge_upgrade_into},
      {"dlbridge_upgrade_many", call_dlbridge_upgrade_many},
      {"dlbridge_downgrade", call_dlbridge_downgrade},
      {"dlbridge_share", call_dlbridge_share},
      {"dlbridge_view", call_dlbridge_view},
      {"dlbridge_allocate", call_dlbridge_allocate},
      {"dlbridge_required_version", call_dlbridge_required_version},
      {"dlbridge_negotiate", call_dlbridge_negotiate},
      {"dlbridge_exchange_api_find", call_dlbridge_exchange_api_find},
      {"dlbridge_identify", call_dlbridge_identify},
      {"dlbridge_module_pin", call_dlbridge_module_pin},
      {"dlbridge_backend_info", call_dlbridge_backend_info},
      {"dlbridge_pointer_info", call_dlbridge_pointer_info},
      {"dlbridge_wrap", call_dlbridge_wrap},
      {"dlbridge_wrap_legacy", call_dlbridge_wrap_legacy},
      {"dlbridge_stream_from_array_api", call_dlbridge_stream_from_array_api},
      {"dlbridge_stream_handoff", call_dlbridge_stream_handoff},
      {"dlbridge_stream_synchronize", call_dlbridge_stream_synchronize},
      {"dlbridge_context_register", call_dlbridge_context_register},
      {"dlbridge_context_find", call_dlbridge_context_find},
      {"dlbridge_context_next", call_dlbridge_context_next},
      {"dlbridge_context_retain", call_dlbridge_context_retain},
      {"dlbridge_context_release", call_dlbridge_context_release},
      {"dlbridge_context_unregister", call_dlbridge_context_unregister},
      {"dlbridge_context_table_v1", call_dlbridge_context_table_v1},
      {"dlbridge_copy", call_dlbridge_copy},
      {"dlbridge_copy_async", call_dlbridge_copy_async},
      {"dlbridge_release_after", call_dlbridge_release_after},
      {"dlbridge_collect", call_dlbridge_collect},
      {"dlbridge_ipc_export", call_dlbridge_ipc_export},
      {"dlbridge_ipc_import", call_dlbridge_ipc_import},
      {"dlbridge_get_api", call_dlbridge_get_api}};
  int failed = table();
  size_t i;
  for (i = 0; i < sizeof calls / sizeof *calls; ++i) {
    g_deleted = 0;
    printf("%s\n", calls[i].name);
    fflush(stdout);
    failed |= calls[i].call();
    if (!untouched()) {
      printf("%s wrote before an object\n", calls[i].name);
      failed = 1;
    }
  }
  if (!failed) printf("all is well\n");
  return failed;
}
