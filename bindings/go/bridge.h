// SPDX-License-Identifier: Apache-2.0
// The functions that Go calls, each in one crossing. Pointers to C memory cross as integers, which
// cgo does not check. Errors live on the C stack and are copied only when a call fails.
#ifndef DLBRIDGE_GO_BRIDGE_H_
#define DLBRIDGE_GO_BRIDGE_H_

#include <dlbridge/dlbridge.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The outcome of a call that can fail. The caller frees `error`, which is NULL after success and
// if malloc failed.
typedef struct godl_result {
  uintptr_t value;
  DLBridgeError* error;
  DLBridgeStatus status;
  int32_t extra;
  DLBridgeRule rule;
  int32_t axis;
} godl_result;

// A DLBridgePolicy without pointers, so that it may be in Go memory.
typedef struct godl_policy {
  int32_t given;  // 0: the default policy
  int32_t level;
  DLPackVersion version;
  uint32_t options;
  int32_t contiguity;
  int32_t min_ndim;
  int32_t max_ndim;
  int32_t device_count;  // -1: NULL
  int32_t dtype_count;   // -1: NULL
  uint64_t alignment;
  uint64_t buffer_size;
} godl_policy;

// The lists of a policy. `shape` has `max_ndim` entries, or is NULL.
typedef struct godl_lists {
  const DLDevice* devices;
  const DLDataType* dtypes;
  const int64_t* shape;
} godl_lists;

// A DLBridgeConvertOptions without pointers. `allocator` is the handle of an allocator in Go.
typedef struct godl_options {
  uint32_t options;
  DLPackVersion version;
  uint64_t tensor_flags;
  uintptr_t allocator;
  godl_policy policy;
} godl_options;

static inline godl_result godl_finish(DLBridgeStatus status, const DLBridgeError* error,
                                      uintptr_t value) {
  godl_result result = {value, NULL, status, 0, DLBRIDGE_RULE_NONE, -1};
  if (status != DLBRIDGE_OK) {
    result.rule = error->rule;
    result.axis = error->axis;
    result.error = (DLBridgeError*)malloc(sizeof *error);
    if (result.error != NULL) memcpy(result.error, error, sizeof *error);
  }
  return result;
}

// An empty list that is not NULL gets an address, so that the library rejects it.
static inline void godl_fill_policy(const godl_policy* given, godl_lists lists,
                                    DLBridgePolicy* out) {
  static const DLDevice no_device;
  static const DLDataType no_dtype;
  *out = dlbridge_policy_init();
  out->options = given->options;
  out->version = given->version;
  out->level = given->level;
  out->contiguity = given->contiguity;
  out->min_ndim = given->min_ndim;
  out->max_ndim = given->max_ndim;
  out->alignment = given->alignment;
  out->buffer_size = given->buffer_size;
  out->shape = lists.shape;
  if (given->device_count >= 0) {
    out->devices = given->device_count > 0 ? lists.devices : &no_device;
    out->device_count = (size_t)given->device_count;
  }
  if (given->dtype_count >= 0) {
    out->dtypes = given->dtype_count > 0 ? lists.dtypes : &no_dtype;
    out->dtype_count = (size_t)given->dtype_count;
  }
}

// ------------------------------------------------------------------------------------ validate

static inline DLBridgeStatus godl_validate_kind(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                                const DLBridgePolicy* policy,
                                                DLBridgeError* error) {
  switch (kind) {
    case DLBRIDGE_KIND_LEGACY:
      return dlbridge_validate_legacy((const DLManagedTensor*)tensor, policy, error);
    case DLBRIDGE_KIND_VERSIONED:
      return dlbridge_validate_versioned((const DLManagedTensorVersioned*)tensor, policy, error);
    default:
      return dlbridge_validate((const DLTensor*)tensor, flags, policy, error);
  }
}

// Validates by the default policy.
static inline godl_result godl_check(uintptr_t tensor, DLBridgeKind kind, uint64_t flags) {
  DLBridgeError error;
  return godl_finish(godl_validate_kind(tensor, kind, flags, NULL, &error), &error, 0);
}

static inline godl_result godl_validate(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                        const godl_policy* given, godl_lists lists) {
  DLBridgeError error;
  DLBridgePolicy policy;
  godl_fill_policy(given, lists, &policy);
  return godl_finish(godl_validate_kind(tensor, kind, flags, &policy, &error), &error, 0);
}

// As godl_validate, for a policy that asks drivers. A driver may then release a context whose
// callback is in Go, and godl_validate is declared to call no Go function.
static inline godl_result godl_validate_device(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                               const godl_policy* given, godl_lists lists) {
  return godl_validate(tensor, kind, flags, given, lists);
}

// Reports up to `capacity` findings; `value` is the number of all findings.
static inline godl_result godl_diagnose(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                        const godl_policy* given, godl_lists lists,
                                        DLBridgeFinding* findings, size_t capacity) {
  DLBridgeError error;
  DLBridgePolicy policy;
  size_t count = 0;
  if (given->given) godl_fill_policy(given, lists, &policy);
  const DLBridgeStatus status =
      dlbridge_diagnose((const void*)tensor, kind, kind == DLBRIDGE_KIND_BORROWED ? flags : 0,
                        given->given ? &policy : NULL, findings, capacity, &count, &error);
  return godl_finish(status, &error, count);
}

// ------------------------------------------------------------------------------------ describe

// The DLTensor of a struct and its flags; NULL for another major version, whose layout is unknown.
static inline const DLTensor* godl_inside(uintptr_t tensor, DLBridgeKind kind, uint64_t* flags) {
  if (kind == DLBRIDGE_KIND_BORROWED || tensor == 0) return (const DLTensor*)tensor;
  if (kind == DLBRIDGE_KIND_LEGACY) {
    *flags = 0;
    return &((const DLManagedTensor*)tensor)->dl_tensor;
  }
  const DLManagedTensorVersioned* versioned = (const DLManagedTensorVersioned*)tensor;
  if (versioned->version.major != 1) return NULL;
  *flags = versioned->flags;
  return &versioned->dl_tensor;
}

// The error for a tensor of another major version.
static inline godl_result godl_other_major(uintptr_t tensor) {
  return godl_check(tensor, DLBRIDGE_KIND_VERSIONED, 0);
}

static inline godl_result godl_layout(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                      DLBridgeLayout* out) {
  DLBridgeError error;
  const DLTensor* inside = godl_inside(tensor, kind, &flags);
  if (inside == NULL && tensor != 0) return godl_other_major(tensor);
  *out = dlbridge_layout_init();
  return godl_finish(dlbridge_layout(inside, flags, out, &error), &error, 0);
}

static inline godl_result godl_tensor_format(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                             char* buffer, size_t size) {
  DLBridgeError error;
  size_t length = 0;
  const DLTensor* inside = godl_inside(tensor, kind, &flags);
  if (inside == NULL && tensor != 0) return godl_other_major(tensor);
  const DLBridgeStatus status =
      dlbridge_tensor_format(inside, flags, buffer, size, &length, &error);
  return godl_finish(status, &error, length);
}

static inline godl_result godl_required_version(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                                DLPackVersion* out) {
  DLBridgeError error;
  const DLTensor* inside = godl_inside(tensor, kind, &flags);
  if (inside == NULL && tensor != 0) return godl_other_major(tensor);
  return godl_finish(dlbridge_required_version(inside, flags, out, &error), &error, 0);
}

static inline godl_result godl_dtype_format(DLDataType dtype, char* buffer, size_t size) {
  DLBridgeError error;
  size_t length = 0;
  const DLBridgeStatus status = dlbridge_dtype_format(dtype, buffer, size, &length, &error);
  return godl_finish(status, &error, length);
}

static inline godl_result godl_dtype_parse(const char* text, size_t length, DLDataType* out) {
  DLBridgeError error;
  return godl_finish(dlbridge_dtype_parse(text, length, out, &error), &error, 0);
}

static inline godl_result godl_device_format(DLDevice device, char* buffer, size_t size) {
  DLBridgeError error;
  size_t length = 0;
  const DLBridgeStatus status = dlbridge_device_format(device, buffer, size, &length, &error);
  return godl_finish(status, &error, length);
}

static inline godl_result godl_device_parse(const char* text, size_t length, DLDevice* out) {
  DLBridgeError error;
  return godl_finish(dlbridge_device_parse(text, length, out, &error), &error, 0);
}

// ------------------------------------------------------------------------------------- convert

// A DLBridgeContextEntry without pointers, since cgo could mistake a Go handle for one.
typedef struct godl_context {
  DLBridgeBackend backend;
  DLDevice device;
  int32_t queue_kind;
  uint32_t properties;
  uint64_t id;
  uint64_t platform;
  uint64_t native_device;
  uint64_t context;
  uint64_t queue;
  uint8_t uuid[16];
} godl_context;

// Callbacks: bridge.c defines the functions that the library calls, and they call the exported Go
// functions. All are hidden, so that two Go plugins in one process keep their own.
#define GODL_HIDDEN __attribute__((visibility("hidden")))
GODL_HIDDEN void* godl_hook_allocate(void* context, DLDevice device, uint64_t bytes,
                                     uint64_t alignment, const DLBridgeStream* stream);
GODL_HIDDEN void godl_hook_deallocate(void* context, DLDevice device, void* memory, uint64_t bytes,
                                      uint64_t alignment, const DLBridgeStream* stream);
GODL_HIDDEN void godl_hook_release(void* context, const DLBridgeBuffer* buffer,
                                   const DLBridgeStream* stream);
GODL_HIDDEN void godl_hook_context(void* context, const DLBridgeContextEntry* entry);
GODL_HIDDEN extern uintptr_t dlbridgeGoAllocate(uintptr_t number, DLDevice device, uint64_t bytes,
                                                uint64_t alignment, DLBridgeStream stream);
GODL_HIDDEN extern void dlbridgeGoDeallocate(uintptr_t number, DLDevice device, uintptr_t memory,
                                             uint64_t bytes, uint64_t alignment,
                                             DLBridgeStream stream);
GODL_HIDDEN extern void dlbridgeGoRelease(uintptr_t number, DLBridgeBuffer buffer,
                                          DLBridgeStream stream);
GODL_HIDDEN extern void dlbridgeGoContext(uintptr_t number, godl_context entry);

// The stream of a callback; all zero for NULL.
static inline DLBridgeStream godl_stream_of(const DLBridgeStream* stream) {
  DLBridgeStream none;
  memset(&none, 0, sizeof none);
  return stream != NULL ? *stream : none;
}

static inline DLBridgeAllocator godl_allocator(uintptr_t number) {
  DLBridgeAllocator allocator = dlbridge_allocator_init();
  allocator.context = (void*)number;
  allocator.allocate = godl_hook_allocate;
  allocator.deallocate = godl_hook_deallocate;
  return allocator;
}

// Options, and the structs that they point to.
typedef struct godl_filled_options {
  DLBridgeConvertOptions options;
  DLBridgePolicy policy;
  DLBridgeAllocator allocator;
} godl_filled_options;

static inline void godl_fill_options(const godl_options* given, godl_lists lists,
                                     godl_filled_options* out) {
  out->options = dlbridge_convert_options_init();
  out->options.options = given->options;
  out->options.version = given->version;
  out->options.tensor_flags = given->tensor_flags;
  if (given->policy.given) {
    godl_fill_policy(&given->policy, lists, &out->policy);
    out->options.policy = &out->policy;
  }
  if (given->allocator != 0) {
    out->allocator = godl_allocator(given->allocator);
    out->options.allocator = &out->allocator;
  }
}

static inline godl_result godl_import_plain(uintptr_t tensor, DLBridgeKind kind) {
  DLBridgeError error;
  DLManagedTensorVersioned* out = NULL;
  const DLBridgeStatus status = dlbridge_import((void*)tensor, kind, NULL, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

static inline godl_result godl_import(uintptr_t tensor, DLBridgeKind kind, godl_options given,
                                      godl_lists lists) {
  DLBridgeError error;
  godl_filled_options filled;
  DLManagedTensorVersioned* out = NULL;
  godl_fill_options(&given, lists, &filled);
  const DLBridgeStatus status = dlbridge_import((void*)tensor, kind, &filled.options, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

// `extra` is the kind of the result.
static inline godl_result godl_export(uintptr_t tensor, DLBridgeKind kind, DLPackVersion target,
                                      int32_t given_any, godl_options given, godl_lists lists) {
  DLBridgeError error;
  godl_filled_options filled;
  void* out = NULL;
  DLBridgeKind out_kind = DLBRIDGE_KIND_UNKNOWN;
  godl_fill_options(&given, lists, &filled);
  const DLBridgeStatus status = dlbridge_export(
      (void*)tensor, kind, target, given_any ? &filled.options : NULL, &out, &out_kind, &error);
  godl_result result = godl_finish(status, &error, (uintptr_t)out);
  result.extra = out_kind;
  return result;
}

static inline godl_result godl_upgrade_plain(uintptr_t source) {
  DLBridgeError error;
  DLManagedTensorVersioned* out = NULL;
  const DLBridgeStatus status = dlbridge_upgrade((DLManagedTensor*)source, NULL, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

static inline godl_result godl_upgrade(uintptr_t source, godl_options given, godl_lists lists) {
  DLBridgeError error;
  godl_filled_options filled;
  DLManagedTensorVersioned* out = NULL;
  godl_fill_options(&given, lists, &filled);
  const DLBridgeStatus status =
      dlbridge_upgrade((DLManagedTensor*)source, &filled.options, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

// `sources` and `outs` are integers, which cgo does not check. `value` is the index of the rejected
// tensor.
static inline godl_result godl_upgrade_many(const uintptr_t* sources, size_t count,
                                            int32_t given_any, const godl_options* given,
                                            godl_lists lists, uintptr_t* outs) {
  DLBridgeError error;
  godl_filled_options filled;
  size_t failed = 0;
  if (given_any) godl_fill_options(given, lists, &filled);
  const DLBridgeStatus status = dlbridge_upgrade_many(
      (DLManagedTensor* const*)sources, count, given_any ? &filled.options : NULL,
      (DLManagedTensorVersioned**)outs, &failed, &error);
  return godl_finish(status, &error, failed);
}

static inline godl_result godl_downgrade(uintptr_t source, int32_t given_any, godl_options given,
                                         godl_lists lists) {
  DLBridgeError error;
  godl_filled_options filled;
  DLManagedTensor* out = NULL;
  godl_fill_options(&given, lists, &filled);
  const DLBridgeStatus status = dlbridge_downgrade(
      (DLManagedTensorVersioned*)source, given_any ? &filled.options : NULL, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

// As godl_upgrade_many, for a policy that asks drivers; see godl_validate_device.
static inline godl_result godl_upgrade_many_device(const uintptr_t* sources, size_t count,
                                                   int32_t given_any, const godl_options* given,
                                                   godl_lists lists, uintptr_t* outs) {
  return godl_upgrade_many(sources, count, given_any, given, lists, outs);
}

// ------------------------------------------------------------------------------------- storage

// Storage for one upgraded tensor. `state` has a bit for each of its users: the tensor, the Storage
// in Go, and a call in progress. The last user frees it.
typedef struct godl_storage {
  _Alignas(16) int32_t state;
  int32_t padding;
  size_t size;
  unsigned char* memory;
  void* block;
} godl_storage;

enum { GODL_STORAGE_TENSOR = 1, GODL_STORAGE_OWNED = 2, GODL_STORAGE_HELD = 4 };

static inline void godl_storage_hold(godl_storage* storage) {
  __atomic_or_fetch(&storage->state, GODL_STORAGE_HELD, __ATOMIC_ACQ_REL);
}

static inline void godl_storage_drop(godl_storage* storage, int32_t bit) {
  const int32_t left = __atomic_and_fetch(&storage->state, ~bit, __ATOMIC_ACQ_REL);
  if (left == 0) {
    free(storage->block);
    free(storage);
  }
}

static inline int32_t godl_storage_in_use(const godl_storage* storage) {
  return __atomic_load_n(&storage->state, __ATOMIC_ACQUIRE) & GODL_STORAGE_TENSOR;
}

GODL_HIDDEN void godl_storage_released(void* context, void* memory);

static inline godl_storage* godl_storage_new(size_t size) {
  godl_storage* storage = (godl_storage*)malloc(sizeof *storage);
  void* block = aligned_alloc(16, (size + 31) / 16 * 16);
  if (storage == NULL || block == NULL) {
    free(storage);
    free(block);
    return NULL;
  }
  storage->state = GODL_STORAGE_OWNED;
  storage->size = size;
  storage->memory = (unsigned char*)block;
  storage->block = block;
  return storage;
}

static inline godl_result godl_upgrade_into(uintptr_t source, int32_t given_any, godl_options given,
                                            godl_lists lists, godl_storage* room) {
  DLBridgeError error;
  godl_filled_options filled;
  DLBridgeStorage storage = dlbridge_storage_init();
  DLManagedTensorVersioned* out = NULL;
  godl_fill_options(&given, lists, &filled);
  storage.memory = room->memory;
  storage.size = room->size;
  storage.release = godl_storage_released;
  storage.release_context = room;
  __atomic_or_fetch(&room->state, GODL_STORAGE_TENSOR, __ATOMIC_ACQ_REL);
  const DLBridgeStatus status = dlbridge_upgrade_into(
      (DLManagedTensor*)source, given_any ? &filled.options : NULL, &storage, &out, &error);
  if (status != DLBRIDGE_OK) godl_storage_drop(room, GODL_STORAGE_TENSOR);
  return godl_finish(status, &error, (uintptr_t)out);
}

// -------------------------------------------------------------------------------------- owners

static inline godl_result godl_share(uintptr_t tensor) {
  DLBridgeError error;
  DLManagedTensorVersioned* out = NULL;
  const DLBridgeStatus status =
      dlbridge_share((const DLManagedTensorVersioned*)tensor, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

static inline godl_result godl_view(uintptr_t tensor, int32_t ndim, const int64_t* shape,
                                    const int64_t* strides, int64_t offset, DLDataType dtype) {
  DLBridgeError error;
  DLBridgeViewSpec spec = dlbridge_view_spec_init();
  DLManagedTensorVersioned* out = NULL;
  spec.ndim = ndim;
  spec.shape = shape;
  spec.strides = strides;
  spec.offset = offset;
  spec.dtype = dtype;
  const DLBridgeStatus status =
      dlbridge_view((const DLManagedTensorVersioned*)tensor, &spec, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

static inline void godl_release(uintptr_t tensor, DLBridgeKind kind) {
  if (kind == DLBRIDGE_KIND_LEGACY) {
    dlbridge_release_legacy((DLManagedTensor*)tensor);
  } else {
    dlbridge_release_versioned((DLManagedTensorVersioned*)tensor);
  }
}

// The layout of `owner` in owner.go, of which a batch has an array.
typedef struct godl_owner {
  uintptr_t address;
  uint32_t state;
  int32_t kind;
} godl_owner;

enum { GODL_STATE_RELEASING = 8 };

// Releases each tensor whose releasing bit this call clears. Deleters may call back into Go and use
// the rest of the batch.
static inline void godl_release_owners(godl_owner* owners, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    // Another Close of the same batch may run at the same time: the call that clears the bit
    // releases the tensor.
    const uint32_t bit = GODL_STATE_RELEASING;
    if ((__atomic_fetch_and(&owners[i].state, ~bit, __ATOMIC_ACQ_REL) & bit) == 0) continue;
    dlbridge_release_versioned((DLManagedTensorVersioned*)owners[i].address);
  }
}

typedef struct godl_new {
  DLDevice device;
  DLDataType dtype;
  uint32_t options;
  uint64_t alignment;
  uint64_t tensor_flags;
  DLPackVersion version;
  uintptr_t allocator;
} godl_new;

static inline godl_result godl_allocate(godl_new given, int32_t ndim, const int64_t* shape) {
  DLBridgeError error;
  DLBridgeAllocateSpec spec = dlbridge_allocate_spec_init();
  DLBridgeAllocator allocator;
  DLManagedTensorVersioned* out = NULL;
  spec.ndim = ndim;
  spec.shape = shape;
  spec.device = given.device;
  spec.dtype = given.dtype;
  spec.options = given.options;
  spec.alignment = given.alignment;
  spec.tensor_flags = given.tensor_flags;
  spec.version = given.version;
  if (given.allocator != 0) {
    allocator = godl_allocator(given.allocator);
    spec.allocator = &allocator;
  }
  const DLBridgeStatus status = dlbridge_allocate(&spec, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

typedef struct godl_wrap_spec {
  DLBridgeBuffer buffer;
  DLDataType dtype;
  DLDevice device;
  uint64_t byte_offset;
  uint64_t buffer_size;
  uint32_t options;
  int32_t legacy;
  uint64_t tensor_flags;
  DLPackVersion version;
  uintptr_t release;  // The handle of a callback in Go; 0: none.
  godl_policy policy;
} godl_wrap_spec;

static inline godl_result godl_wrap(godl_wrap_spec given, int32_t ndim, const int64_t* shape,
                                    const int64_t* strides, godl_lists lists) {
  DLBridgeError error;
  DLBridgePolicy policy;
  DLBridgeWrapSpec spec = dlbridge_wrap_spec_init();
  spec.ndim = ndim;
  spec.shape = shape;
  spec.strides = strides;
  spec.buffer = given.buffer;
  spec.byte_offset = given.byte_offset;
  spec.buffer_size = given.buffer_size;
  spec.device = given.device;
  spec.dtype = given.dtype;
  spec.options = given.options;
  spec.tensor_flags = given.tensor_flags;
  spec.version = given.version;
  spec.release = given.release != 0 ? godl_hook_release : NULL;
  spec.release_context = (void*)given.release;
  if (given.policy.given) {
    godl_fill_policy(&given.policy, lists, &policy);
    spec.policy = &policy;
  }
  if (given.legacy) {
    DLManagedTensor* out = NULL;
    const DLBridgeStatus status = dlbridge_wrap_legacy(&spec, &out, &error);
    return godl_finish(status, &error, (uintptr_t)out);
  }
  DLManagedTensorVersioned* out = NULL;
  const DLBridgeStatus status = dlbridge_wrap(&spec, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

// --------------------------------------------------------------------------------------- devices

static inline godl_result godl_backend_info(DLBridgeBackend backend, DLBridgeBackendInfo* out) {
  DLBridgeError error;
  *out = dlbridge_backend_info_init();
  return godl_finish(dlbridge_backend_info(backend, out, &error), &error, 0);
}

static inline godl_result godl_pointer_info(DLBridgeBuffer buffer, DLDevice device,
                                            uint32_t options, DLBridgePointerInfo* out) {
  DLBridgeError error;
  *out = dlbridge_pointer_info_init();
  out->options = options;
  return godl_finish(dlbridge_pointer_info(&buffer, device, out, &error), &error, 0);
}

static inline godl_result godl_stream_from_array_api(DLDevice device, int64_t number,
                                                     DLBridgeStream* out) {
  DLBridgeError error;
  return godl_finish(dlbridge_stream_from_array_api(device, number, out, &error), &error, 0);
}

static inline godl_result godl_stream_handoff(DLBridgeStream producer, DLBridgeStream consumer,
                                              uint32_t options) {
  DLBridgeError error;
  return godl_finish(dlbridge_stream_handoff(&producer, &consumer, options, &error), &error, 0);
}

static inline godl_result godl_stream_synchronize(DLBridgeStream stream) {
  DLBridgeError error;
  return godl_finish(dlbridge_stream_synchronize(&stream, &error), &error, 0);
}

// A DLBridgeCopySpec without its pointers.
typedef struct godl_copy_spec {
  uint32_t options;
  DLDevice device;
  DLPackVersion version;
  DLBridgeStream stream;
  DLBridgeBuffer target;
  uint64_t target_offset;
  uint64_t target_size;
  uint64_t tensor_flags;
  uintptr_t release;  // The handle of a callback in Go; 0: none.
  uintptr_t allocator;
  godl_policy policy;
} godl_copy_spec;

// A spec, and the structs that it points to.
typedef struct godl_filled_copy {
  DLBridgeCopySpec spec;
  DLBridgePolicy policy;
  DLBridgeAllocator allocator;
} godl_filled_copy;

static inline void godl_fill_copy(const godl_copy_spec* given, godl_lists lists,
                                  godl_filled_copy* out) {
  out->spec = dlbridge_copy_spec_init();
  out->spec.options = given->options;
  out->spec.device = given->device;
  out->spec.version = given->version;
  out->spec.stream = given->stream;
  out->spec.target = given->target;
  out->spec.target_offset = given->target_offset;
  out->spec.target_size = given->target_size;
  out->spec.tensor_flags = given->tensor_flags;
  out->spec.release = given->release != 0 ? godl_hook_release : NULL;
  out->spec.release_context = (void*)given->release;
  if (given->allocator != 0) {
    out->allocator = godl_allocator(given->allocator);
    out->spec.allocator = &out->allocator;
  }
  if (given->policy.given) {
    godl_fill_policy(&given->policy, lists, &out->policy);
    out->spec.policy = &out->policy;
  }
}

static inline godl_result godl_copy(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                    godl_copy_spec given, godl_lists lists) {
  DLBridgeError error;
  godl_filled_copy filled;
  DLManagedTensorVersioned* out = NULL;
  const DLTensor* inside = godl_inside(tensor, kind, &flags);
  if (inside == NULL && tensor != 0) return godl_other_major(tensor);
  godl_fill_copy(&given, lists, &filled);
  const DLBridgeStatus status = dlbridge_copy(inside, flags, &filled.spec, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

static inline godl_result godl_copy_async(uintptr_t tensor, godl_copy_spec given,
                                          godl_lists lists) {
  DLBridgeError error;
  godl_filled_copy filled;
  DLManagedTensorVersioned* out = NULL;
  godl_fill_copy(&given, lists, &filled);
  const DLBridgeStatus status =
      dlbridge_copy_async((const DLManagedTensorVersioned*)tensor, &filled.spec, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

// An empty list is not NULL, so that the library rejects its length.
static inline godl_result godl_release_after(uintptr_t tensor, DLBridgeKind kind,
                                             const DLBridgeStream* streams, size_t count) {
  static const DLBridgeStream none;
  DLBridgeError error;
  return godl_finish(
      dlbridge_release_after((void*)tensor, kind, count > 0 ? streams : &none, count, &error),
      &error, 0);
}

// `value` is the number that is still held, also after a failure.
static inline godl_result godl_collect(uint32_t options) {
  DLBridgeError error;
  size_t left = 0;
  const DLBridgeStatus status = dlbridge_collect(options, &left, &error);
  return godl_finish(status, &error, left);
}

// ------------------------------------------------------------------------------------- processes

// `sizes` is also filled if buffer or fds are too small.
static inline godl_result godl_ipc_export(uintptr_t tensor, uint32_t options,
                                          const DLBridgeStream* stream, void* buffer, size_t size,
                                          int32_t* fds, size_t capacity, DLBridgeIpcSizes* sizes) {
  DLBridgeError error;
  DLBridgeIpcExportSpec spec = dlbridge_ipc_export_spec_init();
  spec.options = options;
  spec.stream = stream;
  spec.buffer = buffer;
  spec.buffer_size = size;
  spec.fds = fds;
  spec.fd_capacity = capacity;
  *sizes = dlbridge_ipc_sizes_init();
  const DLBridgeStatus status =
      dlbridge_ipc_export((const DLManagedTensorVersioned*)tensor, &spec, sizes, &error);
  return godl_finish(status, &error, 0);
}

static inline godl_result godl_ipc_import(const void* buffer, size_t length, const int32_t* fds,
                                          size_t count, uint32_t options,
                                          const DLBridgeStream* stream, const godl_policy* given,
                                          godl_lists lists) {
  DLBridgeError error;
  DLBridgePolicy policy;
  DLBridgeIpcImportSpec spec = dlbridge_ipc_import_spec_init();
  DLManagedTensorVersioned* out = NULL;
  spec.options = options;
  spec.stream = stream;
  spec.buffer = buffer;
  spec.buffer_size = length;
  spec.fds = count > 0 ? fds : NULL;
  spec.fd_count = count;
  if (given->given) {
    godl_fill_policy(given, lists, &policy);
    spec.policy = &policy;
  }
  const DLBridgeStatus status = dlbridge_ipc_import(&spec, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

// ------------------------------------------------------------------------------------ negotiation

// `extra` is the kind.
static inline godl_result godl_negotiate(DLPackVersion producer, DLPackVersion consumer,
                                         DLPackVersion* version) {
  DLBridgeError error;
  DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
  const DLBridgeStatus status = dlbridge_negotiate(producer, consumer, &kind, version, &error);
  godl_result result = godl_finish(status, &error, 0);
  result.extra = kind;
  return result;
}

static inline godl_result godl_exchange_api_find(uintptr_t chain, DLPackVersion consumer) {
  DLBridgeError error;
  const DLPackExchangeAPI* out = NULL;
  const DLBridgeStatus status =
      dlbridge_exchange_api_find((const DLPackExchangeAPIHeader*)chain, consumer, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

static inline DLBridgeKind godl_identify(uintptr_t tensor) {
  return dlbridge_identify((const void*)tensor);
}

static inline godl_result godl_module_pin(uintptr_t address) {
  DLBridgeError error;
  return godl_finish(dlbridge_module_pin((const void*)address, &error), &error, 0);
}

static inline const DLBridgeApi* godl_api(void) {
  return dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
}

// --------------------------------------------------------------------------------- context table

typedef struct godl_context_result {
  godl_result result;
  godl_context entry;
} godl_context_result;

static inline godl_context godl_context_of(const DLBridgeContextEntry* entry) {
  godl_context out;
  out.backend = entry->backend;
  out.device = entry->device;
  out.queue_kind = entry->queue_kind;
  out.properties = entry->properties;
  out.id = entry->id;
  out.platform = entry->platform;
  out.native_device = entry->native_device;
  out.context = entry->context;
  out.queue = entry->queue;
  memcpy(out.uuid, entry->uuid, sizeof out.uuid);
  return out;
}

static inline godl_result godl_context_register(godl_context given, uintptr_t hook) {
  DLBridgeError error;
  DLBridgeContextEntry entry = dlbridge_context_entry_init();
  uint64_t id = 0;
  entry.backend = given.backend;
  entry.device = given.device;
  entry.queue_kind = given.queue_kind;
  entry.properties = given.properties;
  entry.id = given.id;
  entry.platform = given.platform;
  entry.native_device = given.native_device;
  entry.context = given.context;
  entry.queue = given.queue;
  memcpy(entry.uuid, given.uuid, sizeof entry.uuid);
  entry.release = hook != 0 ? godl_hook_context : NULL;
  entry.release_context = (void*)hook;
  const DLBridgeStatus status = dlbridge_context_register(&entry, &id, &error);
  return godl_finish(status, &error, id);
}

static inline godl_context_result godl_context_find(DLDevice device, uint64_t context) {
  DLBridgeError error;
  DLBridgeContextEntry entry = dlbridge_context_entry_init();
  godl_context_result result;
  result.result = godl_finish(dlbridge_context_find(device, context, &entry, &error), &error, 0);
  result.entry = godl_context_of(&entry);
  return result;
}

// `value` is the cursor for the next call.
static inline godl_context_result godl_context_next(uint64_t cursor) {
  DLBridgeError error;
  DLBridgeContextEntry entry = dlbridge_context_entry_init();
  godl_context_result result;
  const DLBridgeStatus status = dlbridge_context_next(&cursor, &entry, &error);
  result.result = godl_finish(status, &error, cursor);
  result.entry = godl_context_of(&entry);
  return result;
}

static inline godl_result godl_context_retain(uint64_t id) {
  DLBridgeError error;
  return godl_finish(dlbridge_context_retain(id, &error), &error, 0);
}

static inline godl_result godl_context_release(uint64_t id) {
  DLBridgeError error;
  return godl_finish(dlbridge_context_release(id, &error), &error, 0);
}

static inline godl_result godl_context_unregister(uint64_t id) {
  DLBridgeError error;
  return godl_finish(dlbridge_context_unregister(id, &error), &error, 0);
}

// -------------------------------------------------------------------------------------- elements

// The layout of a tensor, copied before it was validated, so that later changes of the struct have
// no effect on it.
typedef struct godl_look {
  uintptr_t address;  // Of element (0,...,0).
  int32_t ndim;
  int32_t has_strides;
  int64_t shape[DLBRIDGE_MAX_NDIM];
  int64_t strides[DLBRIDGE_MAX_NDIM];
} godl_look;

// Copies the arrays of `tensor` to `out` and lets `tensor` point to the copies.
static inline void godl_look_at(DLTensor* tensor, godl_look* out) {
  out->address = (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset;
  out->ndim = tensor->ndim;
  out->has_strides = tensor->strides != NULL;
  if (tensor->ndim < 0 || tensor->ndim > DLBRIDGE_MAX_NDIM) return;
  const size_t size = (size_t)tensor->ndim * sizeof(int64_t);
  if (tensor->shape != NULL) {
    memcpy(out->shape, tensor->shape, size);
    tensor->shape = out->shape;
  }
  if (tensor->strides != NULL) {
    memcpy(out->strides, tensor->strides, size);
    tensor->strides = out->strides;
  }
}

// The policy of Read and Write in Go: elements of `dtype`, aligned, in memory that the CPU reads.
static inline DLBridgePolicy godl_element_policy(const DLDataType* dtype, uint64_t alignment,
                                                 int32_t writable) {
  static const DLDevice readable[] = {
      {kDLCPU, -1}, {kDLCUDAHost, -1}, {kDLROCMHost, -1}, {kDLCUDAManaged, -1}};
  DLBridgePolicy policy = dlbridge_policy_init();
  policy.options = DLBRIDGE_POLICY_ALLOW_NULL_STRIDES | DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS;
  policy.options |= writable ? (uint32_t)DLBRIDGE_POLICY_REQUIRE_WRITABLE : 0;
  policy.alignment = alignment;
  policy.devices = readable;
  policy.device_count = sizeof readable / sizeof readable[0];
  policy.dtypes = dtype;
  policy.dtype_count = 1;
  return policy;
}

// Validates a tensor for Read or Write and copies its layout. The producer may still change the
// struct of an accepted tensor, so the copy is validated last.
static inline godl_result godl_open(uintptr_t tensor, DLDataType dtype, uint64_t alignment,
                                    int32_t writable, godl_look* out) {
  const DLManagedTensorVersioned* versioned = (const DLManagedTensorVersioned*)tensor;
  DLBridgeError error;
  DLBridgePolicy policy = godl_element_policy(&dtype, alignment, writable);
  DLBridgeStatus status = dlbridge_validate_versioned(versioned, &policy, &error);
  if (status == DLBRIDGE_OK) {
    const uint64_t flags = versioned->flags;
    DLTensor inside = versioned->dl_tensor;
    godl_look_at(&inside, out);
    policy.options |= DLBRIDGE_POLICY_VOUCH_WRITABLE;  // `flags` has it.
    status = dlbridge_validate(&inside, flags, &policy, &error);
  }
  return godl_finish(status, &error, 0);
}

#endif  // DLBRIDGE_GO_BRIDGE_H_
