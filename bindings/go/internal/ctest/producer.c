// SPDX-License-Identifier: Apache-2.0
// A foreign producer: structs in C memory, with deleters that count.
#include "producer.h"

#include <pthread.h>
#include <string.h>

static void count(void* context) {
  __atomic_add_fetch(&((ctest_producer*)context)->deletes, 1, __ATOMIC_ACQ_REL);
}

static void delete_legacy(DLManagedTensor* self) { count(self->manager_ctx); }
static void delete_versioned(DLManagedTensorVersioned* self) { count(self->manager_ctx); }

ctest_producer* ctest_new(ctest_spec spec) {
  ctest_producer* producer = (ctest_producer*)calloc(1, sizeof *producer);
  DLTensor* borrowed = &producer->borrowed;
  borrowed->data = (void*)spec.data;
  borrowed->device = spec.device;
  borrowed->ndim = spec.ndim;
  borrowed->dtype = spec.dtype;
  borrowed->shape = spec.shape;
  borrowed->strides = spec.strides;
  borrowed->byte_offset = spec.byte_offset;
  producer->legacy.dl_tensor = *borrowed;
  producer->legacy.manager_ctx = producer;
  producer->legacy.deleter = spec.has_deleter ? delete_legacy : NULL;
  producer->versioned.version = spec.version;
  producer->versioned.manager_ctx = producer;
  producer->versioned.deleter = spec.has_deleter ? delete_versioned : NULL;
  producer->versioned.flags = spec.flags;
  producer->versioned.dl_tensor = *borrowed;
  return producer;
}

int32_t ctest_deletes(const ctest_producer* producer) {
  return __atomic_load_n(&producer->deletes, __ATOMIC_ACQUIRE);
}

static void* release_legacy(void* tensor) {
  dlbridge_release_legacy((DLManagedTensor*)tensor);
  return NULL;
}

static void* release_versioned(void* tensor) {
  dlbridge_release_versioned((DLManagedTensorVersioned*)tensor);
  return NULL;
}

int ctest_release_on_thread(uintptr_t tensor, int32_t legacy) {
  pthread_t thread;
  const int status =
      pthread_create(&thread, NULL, legacy ? release_legacy : release_versioned, (void*)tensor);
  return status != 0 ? status : pthread_join(thread, NULL);
}

const DLTensor* ctest_inside(uintptr_t tensor, DLBridgeKind kind) {
  switch (kind) {
    case DLBRIDGE_KIND_LEGACY:
      return &((const DLManagedTensor*)tensor)->dl_tensor;
    case DLBRIDGE_KIND_VERSIONED:
      return &((const DLManagedTensorVersioned*)tensor)->dl_tensor;
    default:
      return (const DLTensor*)tensor;
  }
}

static int no_allocator(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                        void (*set_error)(void*, const char*, const char*)) {
  (void)prototype, (void)out, (void)context, (void)set_error;
  return -1;
}
static int no_from(void* object, DLManagedTensorVersioned** out) {
  (void)object, (void)out;
  return -1;
}
static int no_to(DLManagedTensorVersioned* tensor, void** out) {
  (void)tensor, (void)out;
  return -1;
}
static int no_borrow(void* object, DLTensor* out) {
  (void)object, (void)out;
  return -1;
}
static int no_stream(DLDeviceType type, int32_t id, void** out) {
  (void)type, (void)id, (void)out;
  return -1;
}

static void fill(const ctest_table* from, DLPackExchangeAPI* table) {
  table->header.version = from->version;
  table->managed_tensor_allocator = from->missing & 1 ? NULL : no_allocator;
  table->managed_tensor_from_py_object_no_sync = from->missing & 2 ? NULL : no_from;
  table->managed_tensor_to_py_object_no_sync = from->missing & 4 ? NULL : no_to;
  table->dltensor_from_py_object_no_sync = from->missing & 8 ? NULL : no_borrow;
  table->current_work_stream = from->missing & 16 ? NULL : no_stream;
}

DLPackExchangeAPI* ctest_chain(const ctest_table* tables, size_t count, int32_t ring) {
  DLPackExchangeAPI* chain = (DLPackExchangeAPI*)calloc(count, sizeof *chain);
  for (size_t i = 0; i < count; ++i) {
    fill(&tables[i], &chain[i]);
    if (i + 1 < count) {
      chain[i].header.prev_api = &chain[i + 1].header;
    } else if (ring) {
      chain[i].header.prev_api = &chain[0].header;
    }
  }
  return chain;
}

DLBridgeStatus ctest_view(uintptr_t tensor, int32_t ndim, const int64_t* shape,
                          const int64_t* strides, int64_t offset, ctest_answer* answer) {
  DLBridgeViewSpec spec = dlbridge_view_spec_init();
  spec.ndim = ndim;
  spec.shape = shape;
  spec.strides = strides;
  spec.offset = offset;
  return dlbridge_view((const DLManagedTensorVersioned*)tensor, &spec,
                       (DLManagedTensorVersioned**)&answer->out, &answer->error);
}

DLBridgeStatus ctest_allocate(int32_t ndim, const int64_t* shape, DLDevice device, DLDataType dtype,
                              ctest_answer* answer) {
  DLBridgeAllocateSpec spec = dlbridge_allocate_spec_init();
  spec.ndim = ndim;
  spec.shape = shape;
  spec.device = device;
  spec.dtype = dtype;
  return dlbridge_allocate(&spec, (DLManagedTensorVersioned**)&answer->out, &answer->error);
}

DLBridgeStatus ctest_wrap(uint64_t address, int32_t ndim, const int64_t* shape, DLDevice device,
                          DLDataType dtype, ctest_answer* answer) {
  DLBridgeWrapSpec spec = dlbridge_wrap_spec_init();
  spec.ndim = ndim;
  spec.shape = shape;
  spec.buffer.handle = address;
  spec.device = device;
  spec.dtype = dtype;
  return dlbridge_wrap(&spec, (DLManagedTensorVersioned**)&answer->out, &answer->error);
}
