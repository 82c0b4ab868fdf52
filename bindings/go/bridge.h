// SPDX-License-Identifier: Apache-2.0
// What Go calls: each function is one crossing. Pointers to C memory cross as integers, which cgo
// need not check; errors live on the C stack and are copied only where a call fails.
#ifndef DLBRIDGE_GO_BRIDGE_H_
#define DLBRIDGE_GO_BRIDGE_H_

#include <dlbridge/dlbridge.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// What every call that can fail gives back. `error` is malloc's and the caller's; NULL where the
// call succeeded or nothing was left for it.
typedef struct godl_result {
  uintptr_t value;
  DLBridgeError* error;
  DLBridgeStatus status;
  int32_t extra;
  DLBridgeRule rule;
  int32_t axis;
} godl_result;

// A DLBridgePolicy without its pointers, so that it may lie in Go's memory.
typedef struct godl_policy {
  int32_t given;  // 0: the default policy
  int32_t level;
  DLPackVersion version;
  uint32_t flags;
  int32_t max_ndim;
  int32_t contiguity;
  int32_t device_count;  // -1: NULL
  int32_t dtype_count;   // -1: NULL
  int32_t padding;
  uint64_t alignment;
  uint64_t buffer_size;
} godl_policy;

// The same of DLBridgeConvertOptions. `allocator` is the number that Go knows an allocator by.
typedef struct godl_options {
  uint32_t flags;
  DLPackVersion version;
  uint64_t source_flags;
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

// A list that is empty and not NULL needs an address, whatever it is.
static inline void godl_fill_policy(const godl_policy* given, const DLDevice* devices,
                                    const DLDataType* dtypes, DLBridgePolicy* out) {
  static const DLDevice no_device;
  static const DLDataType no_dtype;
  const DLBridgePolicy init = DLBRIDGE_POLICY_INIT;
  *out = init;
  out->level = given->level;
  out->version = given->version;
  out->flags = given->flags;
  out->max_ndim = given->max_ndim;
  out->contiguity = given->contiguity;
  out->alignment = given->alignment;
  out->buffer_size = given->buffer_size;
  if (given->device_count >= 0) {
    out->devices = given->device_count > 0 ? devices : &no_device;
    out->device_count = (size_t)given->device_count;
  }
  if (given->dtype_count >= 0) {
    out->dtypes = given->dtype_count > 0 ? dtypes : &no_dtype;
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

// By the default policy.
static inline godl_result godl_check(uintptr_t tensor, DLBridgeKind kind, uint64_t flags) {
  DLBridgeError error;
  dlbridge_error_init(&error);
  return godl_finish(godl_validate_kind(tensor, kind, flags, NULL, &error), &error, 0);
}

static inline godl_result godl_validate(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                        const godl_policy* given, const DLDevice* devices,
                                        const DLDataType* dtypes) {
  DLBridgeError error;
  DLBridgePolicy policy;
  dlbridge_error_init(&error);
  godl_fill_policy(given, devices, dtypes, &policy);
  return godl_finish(godl_validate_kind(tensor, kind, flags, &policy, &error), &error, 0);
}

// The same where the policy asks drivers: the last use of a context of Go's may end meanwhile, and
// its callback run. A name of its own, since Go is told of the other that nothing calls back.
static inline godl_result godl_validate_device(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                               const godl_policy* given, const DLDevice* devices,
                                               const DLDataType* dtypes) {
  return godl_validate(tensor, kind, flags, given, devices, dtypes);
}

// Reports up to `capacity` findings; `value` is how many there are.
static inline godl_result godl_diagnose(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                        const godl_policy* given, const DLDevice* devices,
                                        const DLDataType* dtypes, DLBridgeFinding* findings,
                                        size_t capacity) {
  DLBridgeError error;
  DLBridgePolicy policy;
  size_t count = 0;
  dlbridge_error_init(&error);
  if (given->given) godl_fill_policy(given, devices, dtypes, &policy);
  const DLBridgeStatus status =
      dlbridge_diagnose((const void*)tensor, kind, kind == DLBRIDGE_KIND_BARE ? flags : 0,
                        given->given ? &policy : NULL, findings, capacity, &count, &error);
  return godl_finish(status, &error, count);
}

// ------------------------------------------------------------------------------------ describe

// The bare tensor inside, and its flags; NULL where the struct is of another major, whose inside
// nobody here can read.
static inline const DLTensor* godl_inside(uintptr_t tensor, DLBridgeKind kind, uint64_t* flags) {
  if (kind == DLBRIDGE_KIND_BARE || tensor == 0) return (const DLTensor*)tensor;
  if (kind == DLBRIDGE_KIND_LEGACY) {
    *flags = 0;
    return &((const DLManagedTensor*)tensor)->dl_tensor;
  }
  const DLManagedTensorVersioned* versioned = (const DLManagedTensorVersioned*)tensor;
  if (versioned->version.major != 1) return NULL;
  *flags = versioned->flags;
  return &versioned->dl_tensor;
}

// The error of a tensor of another major, as validation words it.
static inline godl_result godl_other_major(uintptr_t tensor) {
  return godl_check(tensor, DLBRIDGE_KIND_VERSIONED, 0);
}

static inline godl_result godl_layout(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                      DLBridgeLayout* out) {
  DLBridgeError error;
  const DLTensor* inside = godl_inside(tensor, kind, &flags);
  if (inside == NULL && tensor != 0) return godl_other_major(tensor);
  dlbridge_error_init(&error);
  out->struct_size = (uint32_t)sizeof *out;
  return godl_finish(dlbridge_layout(inside, flags, out, &error), &error, 0);
}

static inline godl_result godl_tensor_format(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                             char* buffer, size_t size) {
  DLBridgeError error;
  size_t length = 0;
  const DLTensor* inside = godl_inside(tensor, kind, &flags);
  if (inside == NULL && tensor != 0) return godl_other_major(tensor);
  dlbridge_error_init(&error);
  const DLBridgeStatus status =
      dlbridge_tensor_format(inside, flags, buffer, size, &length, &error);
  return godl_finish(status, &error, length);
}

static inline godl_result godl_required_version(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                                DLPackVersion* out) {
  DLBridgeError error;
  const DLTensor* inside = godl_inside(tensor, kind, &flags);
  if (inside == NULL && tensor != 0) return godl_other_major(tensor);
  dlbridge_error_init(&error);
  return godl_finish(dlbridge_required_version(inside, flags, out, &error), &error, 0);
}

static inline godl_result godl_dtype_format(DLDataType dtype, char* buffer, size_t size) {
  DLBridgeError error;
  size_t length = 0;
  dlbridge_error_init(&error);
  const DLBridgeStatus status = dlbridge_dtype_format(dtype, buffer, size, &length, &error);
  return godl_finish(status, &error, length);
}

static inline godl_result godl_dtype_parse(const char* text, size_t length, DLDataType* out) {
  DLBridgeError error;
  dlbridge_error_init(&error);
  return godl_finish(dlbridge_dtype_parse(text, length, out, &error), &error, 0);
}

static inline godl_result godl_device_format(DLDevice device, char* buffer, size_t size) {
  DLBridgeError error;
  size_t length = 0;
  dlbridge_error_init(&error);
  const DLBridgeStatus status = dlbridge_device_format(device, buffer, size, &length, &error);
  return godl_finish(status, &error, length);
}

static inline godl_result godl_device_parse(const char* text, size_t length, DLDevice* out) {
  DLBridgeError error;
  dlbridge_error_init(&error);
  return godl_finish(dlbridge_device_parse(text, length, out, &error), &error, 0);
}

// ------------------------------------------------------------------------------------- convert

// A DLBridgeContextEntry without its pointers, which are numbers of Go's that a stack of Go's must
// not take for pointers.
typedef struct godl_context {
  DLBridgeBackend backend;
  DLDevice device;
  int32_t queue_kind;
  uint32_t flags;
  uint64_t id;
  uint64_t platform;
  uint64_t native_device;
  uint64_t context;
  uint64_t queue;
  uint8_t uuid[16];
} godl_context;

// Hooks of Go's: bridge.c has the functions that the library calls, and they call the ones that Go
// exports. All are hidden, so that two plugins in Go never reach each other's.
#define GODL_HIDDEN __attribute__((visibility("hidden")))
GODL_HIDDEN void* godl_hook_allocate(void* context, DLDevice device, uint64_t bytes,
                                     uint64_t alignment);
GODL_HIDDEN void godl_hook_deallocate(void* context, DLDevice device, void* memory, uint64_t bytes,
                                      uint64_t alignment);
GODL_HIDDEN void godl_hook_release(void* context, DLBridgeBuffer buffer);
GODL_HIDDEN void godl_hook_context(void* user, const DLBridgeContextEntry* entry);
GODL_HIDDEN extern uintptr_t dlbridgeGoAllocate(uintptr_t number, DLDevice device, uint64_t bytes,
                                                uint64_t alignment);
GODL_HIDDEN extern void dlbridgeGoDeallocate(uintptr_t number, DLDevice device, uintptr_t memory,
                                             uint64_t bytes, uint64_t alignment);
GODL_HIDDEN extern void dlbridgeGoRelease(uintptr_t number, DLBridgeBuffer buffer);
GODL_HIDDEN extern void dlbridgeGoContext(uintptr_t number, godl_context entry);

static inline DLBridgeAllocator godl_allocator(uintptr_t number) {
  DLBridgeAllocator allocator = DLBRIDGE_ALLOCATOR_INIT;
  allocator.context = (void*)number;
  allocator.allocate = godl_hook_allocate;
  allocator.deallocate = godl_hook_deallocate;
  return allocator;
}

// What a converter is given: options, and what they point to.
typedef struct godl_filled_options {
  DLBridgeConvertOptions options;
  DLBridgePolicy policy;
  DLBridgeAllocator allocator;
} godl_filled_options;

static inline void godl_fill_options(const godl_options* given, const DLDevice* devices,
                                     const DLDataType* dtypes, godl_filled_options* out) {
  const DLBridgeConvertOptions init = DLBRIDGE_CONVERT_OPTIONS_INIT;
  out->options = init;
  out->options.flags = given->flags;
  out->options.version = given->version;
  out->options.source_flags = given->source_flags;
  if (given->policy.given) {
    godl_fill_policy(&given->policy, devices, dtypes, &out->policy);
    out->options.policy = &out->policy;
  }
  if (given->allocator != 0) {
    out->allocator = godl_allocator(given->allocator);
    out->options.allocator = &out->allocator;
  }
}

static inline godl_result godl_upgrade_plain(uintptr_t source) {
  DLBridgeError error;
  DLManagedTensorVersioned* out = NULL;
  dlbridge_error_init(&error);
  const DLBridgeStatus status = dlbridge_upgrade((DLManagedTensor*)source, NULL, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

static inline godl_result godl_upgrade(uintptr_t source, godl_options given,
                                       const DLDevice* devices, const DLDataType* dtypes) {
  DLBridgeError error;
  godl_filled_options filled;
  DLManagedTensorVersioned* out = NULL;
  dlbridge_error_init(&error);
  godl_fill_options(&given, devices, dtypes, &filled);
  const DLBridgeStatus status =
      dlbridge_upgrade((DLManagedTensor*)source, &filled.options, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

// `sources` and `outs` are numbers, so that Go need not look through them. `value`: who was
// refused.
static inline godl_result godl_upgrade_many(const uintptr_t* sources, size_t count,
                                            int32_t given_any, const godl_options* given,
                                            const DLDevice* devices, const DLDataType* dtypes,
                                            uintptr_t* outs) {
  DLBridgeError error;
  godl_filled_options filled;
  size_t failed = 0;
  dlbridge_error_init(&error);
  if (given_any) godl_fill_options(given, devices, dtypes, &filled);
  const DLBridgeStatus status = dlbridge_upgrade_many(
      (DLManagedTensor* const*)sources, count, given_any ? &filled.options : NULL,
      (DLManagedTensorVersioned**)outs, &failed, &error);
  return godl_finish(status, &error, failed);
}

static inline godl_result godl_downgrade(uintptr_t source, int32_t given_any, godl_options given,
                                         const DLDevice* devices, const DLDataType* dtypes) {
  DLBridgeError error;
  godl_filled_options filled;
  DLManagedTensor* out = NULL;
  dlbridge_error_init(&error);
  godl_fill_options(&given, devices, dtypes, &filled);
  const DLBridgeStatus status = dlbridge_downgrade(
      (DLManagedTensorVersioned*)source, given_any ? &filled.options : NULL, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

static inline godl_result godl_adopt(uintptr_t source, int32_t given_any, godl_options given,
                                     const DLDevice* devices, const DLDataType* dtypes) {
  DLBridgeError error;
  godl_filled_options filled;
  DLManagedTensorVersioned* out = NULL;
  dlbridge_error_init(&error);
  godl_fill_options(&given, devices, dtypes, &filled);
  const DLBridgeStatus status = dlbridge_adopt((DLManagedTensorVersioned*)source,
                                               given_any ? &filled.options : NULL, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

static inline godl_result godl_convert(uintptr_t source, DLBridgeKind kind, DLPackVersion target,
                                       int32_t given_any, godl_options given,
                                       const DLDevice* devices, const DLDataType* dtypes) {
  DLBridgeError error;
  godl_filled_options filled;
  void* out = NULL;
  DLBridgeKind out_kind = DLBRIDGE_KIND_AMBIGUOUS;
  dlbridge_error_init(&error);
  godl_fill_options(&given, devices, dtypes, &filled);
  const DLBridgeStatus status = dlbridge_convert(
      (void*)source, kind, target, given_any ? &filled.options : NULL, &out, &out_kind, &error);
  godl_result result = godl_finish(status, &error, (uintptr_t)out);
  result.extra = out_kind;
  return result;
}

// As godl_validate_device is to godl_validate.
static inline godl_result godl_upgrade_many_device(const uintptr_t* sources, size_t count,
                                                   int32_t given_any, const godl_options* given,
                                                   const DLDevice* devices,
                                                   const DLDataType* dtypes, uintptr_t* outs) {
  return godl_upgrade_many(sources, count, given_any, given, devices, dtypes, outs);
}

// ------------------------------------------------------------------------------------- storage

// Room for one upgraded tensor. `state` says who still needs it: bit 0 the tensor, bit 1 Go, bit 2
// a call of Go's. Freed by who goes last.
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
                                            const DLDevice* devices, const DLDataType* dtypes,
                                            godl_storage* room) {
  DLBridgeError error;
  godl_filled_options filled;
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  DLManagedTensorVersioned* out = NULL;
  dlbridge_error_init(&error);
  godl_fill_options(&given, devices, dtypes, &filled);
  storage.memory = room->memory;
  storage.size = room->size;
  storage.released = godl_storage_released;
  storage.context = room;
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
  dlbridge_error_init(&error);
  const DLBridgeStatus status =
      dlbridge_share((const DLManagedTensorVersioned*)tensor, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

static inline godl_result godl_view(uintptr_t tensor, int32_t ndim, const int64_t* shape,
                                    const int64_t* strides, int64_t offset) {
  DLBridgeError error;
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  DLManagedTensorVersioned* out = NULL;
  dlbridge_error_init(&error);
  spec.ndim = ndim;
  spec.shape = shape;
  spec.strides = strides;
  spec.offset = offset;
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

// What Go's batches are made of: the start of owner.go's `owner`.
typedef struct godl_owner {
  uintptr_t address;
  uint32_t state;
  int32_t kind;
} godl_owner;

enum { GODL_STATE_RELEASING = 8 };

// Releases the tensors of a batch that the call is to release, and says so of them no more.
// Deleters may call back into Go and use the rest of the batch.
static inline void godl_release_owners(godl_owner* owners, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    // Whoever takes the bit away releases: another Close of the batch may be here, too.
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
  uint64_t flags;
  DLPackVersion version;
  uintptr_t allocator;
} godl_new;

static inline godl_result godl_allocate(godl_new given, int32_t ndim, const int64_t* shape) {
  DLBridgeError error;
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  DLBridgeAllocator allocator;
  DLManagedTensorVersioned* out = NULL;
  dlbridge_error_init(&error);
  spec.ndim = ndim;
  spec.shape = shape;
  spec.device = given.device;
  spec.dtype = given.dtype;
  spec.options = given.options;
  spec.alignment = given.alignment;
  spec.flags = given.flags;
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
  uint64_t flags;
  DLPackVersion version;
  uintptr_t release;  // The number that Go knows the callback by; 0: none.
  godl_policy policy;
} godl_wrap_spec;

static inline godl_result godl_wrap(godl_wrap_spec given, int32_t ndim, const int64_t* shape,
                                    const int64_t* strides, const DLDevice* devices,
                                    const DLDataType* dtypes) {
  DLBridgeError error;
  DLBridgePolicy policy;
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  dlbridge_error_init(&error);
  spec.ndim = ndim;
  spec.shape = shape;
  spec.strides = strides;
  spec.buffer = given.buffer;
  spec.byte_offset = given.byte_offset;
  spec.buffer_size = given.buffer_size;
  spec.device = given.device;
  spec.dtype = given.dtype;
  spec.options = given.options;
  spec.flags = given.flags;
  spec.version = given.version;
  spec.release = given.release != 0 ? godl_hook_release : NULL;
  spec.release_context = (void*)given.release;
  if (given.policy.given) {
    godl_fill_policy(&given.policy, devices, dtypes, &policy);
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
  dlbridge_error_init(&error);
  out->struct_size = (uint32_t)sizeof *out;
  return godl_finish(dlbridge_backend_info(backend, out, &error), &error, 0);
}

static inline godl_result godl_pointer_info(DLBridgeBuffer buffer, DLDevice device,
                                            DLBridgePointerInfo* out) {
  DLBridgeError error;
  dlbridge_error_init(&error);
  out->struct_size = (uint32_t)sizeof *out;
  return godl_finish(dlbridge_pointer_info(&buffer, device, out, &error), &error, 0);
}

static inline godl_result godl_stream_from_array_api(DLDevice device, int64_t number,
                                                     DLBridgeStream* out) {
  DLBridgeError error;
  dlbridge_error_init(&error);
  return godl_finish(dlbridge_stream_from_array_api(device, number, out, &error), &error, 0);
}

static inline godl_result godl_stream_handoff(DLBridgeStream producer, DLBridgeStream consumer,
                                              uint32_t options) {
  DLBridgeError error;
  dlbridge_error_init(&error);
  return godl_finish(dlbridge_stream_handoff(&producer, &consumer, options, &error), &error, 0);
}

static inline godl_result godl_stream_synchronize(DLBridgeStream stream) {
  DLBridgeError error;
  dlbridge_error_init(&error);
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
  uint64_t flags;
  uintptr_t release;  // The number that Go knows the callback by; 0: none.
  uintptr_t allocator;
  godl_policy policy;
} godl_copy_spec;

static inline godl_result godl_copy(uintptr_t tensor, DLBridgeKind kind, uint64_t flags,
                                    godl_copy_spec given, const DLDevice* devices,
                                    const DLDataType* dtypes) {
  DLBridgeError error;
  DLBridgePolicy policy;
  DLBridgeAllocator allocator;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLManagedTensorVersioned* out = NULL;
  const DLTensor* inside = godl_inside(tensor, kind, &flags);
  if (inside == NULL && tensor != 0) return godl_other_major(tensor);
  dlbridge_error_init(&error);
  spec.options = given.options;
  spec.device = given.device;
  spec.version = given.version;
  spec.stream = given.stream;
  spec.target = given.target;
  spec.target_offset = given.target_offset;
  spec.target_size = given.target_size;
  spec.flags = given.flags;
  spec.release = given.release != 0 ? godl_hook_release : NULL;
  spec.release_context = (void*)given.release;
  if (given.allocator != 0) {
    allocator = godl_allocator(given.allocator);
    spec.allocator = &allocator;
  }
  if (given.policy.given) {
    godl_fill_policy(&given.policy, devices, dtypes, &policy);
    spec.policy = &policy;
  }
  const DLBridgeStatus status = dlbridge_copy(inside, flags, &spec, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

// ------------------------------------------------------------------------------------- processes

// `value` is the length of the descriptor, `extra` the number of file descriptors.
static inline godl_result godl_ipc_export(uintptr_t tensor, uint32_t options, void* buffer,
                                          size_t size, int32_t* fds, size_t capacity) {
  DLBridgeError error;
  size_t length = 0;
  size_t count = 0;
  dlbridge_error_init(&error);
  const DLBridgeStatus status =
      dlbridge_ipc_export((const DLManagedTensorVersioned*)tensor, options, buffer, size, &length,
                          fds, capacity, &count, &error);
  godl_result result = godl_finish(status, &error, length);
  result.extra = (int32_t)count;
  return result;
}

static inline godl_result godl_ipc_import(const void* buffer, size_t length, const int32_t* fds,
                                          size_t count, uint32_t options, const godl_policy* given,
                                          const DLDevice* devices, const DLDataType* dtypes) {
  DLBridgeError error;
  DLBridgePolicy policy;
  DLManagedTensorVersioned* out = NULL;
  dlbridge_error_init(&error);
  if (given->given) godl_fill_policy(given, devices, dtypes, &policy);
  const DLBridgeStatus status = dlbridge_ipc_import(buffer, length, fds, count, options,
                                                    given->given ? &policy : NULL, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

// ------------------------------------------------------------------------------------ negotiation

// `extra` is the kind.
static inline godl_result godl_negotiate(DLPackVersion producer, DLPackVersion consumer,
                                         DLPackVersion* version) {
  DLBridgeError error;
  DLBridgeKind kind = DLBRIDGE_KIND_AMBIGUOUS;
  dlbridge_error_init(&error);
  const DLBridgeStatus status = dlbridge_negotiate(producer, consumer, &kind, version, &error);
  godl_result result = godl_finish(status, &error, 0);
  result.extra = kind;
  return result;
}

static inline godl_result godl_exchange_api_find(uintptr_t chain, DLPackVersion consumer) {
  DLBridgeError error;
  const DLPackExchangeAPI* out = NULL;
  dlbridge_error_init(&error);
  const DLBridgeStatus status =
      dlbridge_exchange_api_find((const DLPackExchangeAPIHeader*)chain, consumer, &out, &error);
  return godl_finish(status, &error, (uintptr_t)out);
}

static inline DLBridgeKind godl_identify(uintptr_t tensor) {
  return dlbridge_identify((const void*)tensor);
}

static inline godl_result godl_pin_module(uintptr_t address) {
  DLBridgeError error;
  dlbridge_error_init(&error);
  return godl_finish(dlbridge_pin_module((const void*)address, &error), &error, 0);
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
  out.flags = entry->flags;
  out.id = entry->id;
  out.platform = entry->platform;
  out.native_device = entry->native_device;
  out.context = entry->context;
  out.queue = entry->queue;
  memcpy(out.uuid, entry->uuid, sizeof out.uuid);
  return out;
}

static inline godl_result godl_device_register(godl_context given, uintptr_t hook) {
  DLBridgeError error;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  uint64_t id = 0;
  dlbridge_error_init(&error);
  entry.backend = given.backend;
  entry.device = given.device;
  entry.queue_kind = given.queue_kind;
  entry.flags = given.flags;
  entry.id = given.id;
  entry.platform = given.platform;
  entry.native_device = given.native_device;
  entry.context = given.context;
  entry.queue = given.queue;
  memcpy(entry.uuid, given.uuid, sizeof entry.uuid);
  entry.release = hook != 0 ? godl_hook_context : NULL;
  entry.user = (void*)hook;
  const DLBridgeStatus status = dlbridge_device_register(&entry, &id, &error);
  return godl_finish(status, &error, id);
}

static inline godl_context_result godl_device_lookup(DLDevice device, uint64_t context) {
  DLBridgeError error;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  godl_context_result result;
  dlbridge_error_init(&error);
  result.result = godl_finish(dlbridge_device_lookup(device, context, &entry, &error), &error, 0);
  result.entry = godl_context_of(&entry);
  return result;
}

// `value` is the cursor for the next call.
static inline godl_context_result godl_device_next(uint64_t cursor) {
  DLBridgeError error;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  godl_context_result result;
  dlbridge_error_init(&error);
  const DLBridgeStatus status = dlbridge_device_next(&cursor, &entry, &error);
  result.result = godl_finish(status, &error, cursor);
  result.entry = godl_context_of(&entry);
  return result;
}

static inline godl_result godl_device_retain(uint64_t id) {
  DLBridgeError error;
  dlbridge_error_init(&error);
  return godl_finish(dlbridge_device_retain(id, &error), &error, 0);
}

static inline godl_result godl_device_release(uint64_t id) {
  DLBridgeError error;
  dlbridge_error_init(&error);
  return godl_finish(dlbridge_device_release(id, &error), &error, 0);
}

static inline godl_result godl_device_unregister(uint64_t id) {
  DLBridgeError error;
  dlbridge_error_init(&error);
  return godl_finish(dlbridge_device_unregister(id, &error), &error, 0);
}

// -------------------------------------------------------------------------------------- elements

// Holds a tensor against what a typed look of Go's at its elements needs: this dtype, memory that
// the CPU reads, elements at whole multiples of `alignment`, and to write also that nobody forbids
// it.
static inline godl_result godl_check_elements(uintptr_t tensor, DLDataType dtype,
                                              uint64_t alignment, int32_t writable) {
  static const DLDevice readable[] = {
      {kDLCPU, -1}, {kDLCUDAHost, -1}, {kDLROCMHost, -1}, {kDLCUDAManaged, -1}};
  DLBridgeError error;
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  dlbridge_error_init(&error);
  policy.flags = DLBRIDGE_POLICY_ALLOW_NULL_STRIDES | DLBRIDGE_POLICY_REFUSE_UNKNOWN_FLAGS;
  policy.flags |= writable ? (uint32_t)DLBRIDGE_POLICY_REQUIRE_WRITABLE : 0;
  policy.alignment = alignment;
  policy.devices = readable;
  policy.device_count = sizeof readable / sizeof readable[0];
  policy.dtypes = &dtype;
  policy.dtype_count = 1;
  const DLBridgeStatus status =
      dlbridge_validate_versioned((const DLManagedTensorVersioned*)tensor, &policy, &error);
  return godl_finish(status, &error, 0);
}

#endif  // DLBRIDGE_GO_BRIDGE_H_
