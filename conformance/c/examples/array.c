/* SPDX-License-Identifier: Apache-2.0
 * A small array library in C: how it exports and imports DLPack tensors, and the callbacks by which
 * the conformance kit checks it. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

static int64_t live;

int64_t array_live(void) { return live; }

/* ------------------------------------------------------------------------------------- arrays */

static size_t item_bytes(const Array* array) {
  return ((size_t)array->dtype.bits * array->dtype.lanes + 7) / 8;
}

/* Elements that share bytes: they are stored compactly. */
static int is_packed(const Array* array) { return array->dtype.bits < 8 && !array->padded; }

static int64_t element_count(const Array* array) {
  int64_t count = 1;
  for (int32_t i = 0; i < array->ndim; ++i) count *= array->shape[i];
  return count;
}

/* Bytes of the elements without gaps. */
static size_t compact_bytes(const Array* array) {
  const size_t count = (size_t)element_count(array);
  return is_packed(array) ? (count * array->dtype.bits + 7) / 8 : count * item_bytes(array);
}

static void set_compact_strides(Array* array) {
  int64_t stride = 1;
  for (int32_t i = array->ndim; i-- > 0;) {
    array->strides[i] = stride;
    stride *= array->shape[i] > 0 ? array->shape[i] : 1;
  }
}

/* Copies between the elements and a compact buffer, in row-major order. */
static void copy_elements(const Array* array, unsigned char* buffer, int to_buffer) {
  const size_t item = item_bytes(array);
  const int64_t count = element_count(array);
  if (is_packed(array)) {
    if (to_buffer)
      memcpy(buffer, array->data, compact_bytes(array));
    else
      memcpy(array->data, buffer, compact_bytes(array));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t left = i, offset = 0;
    for (int32_t axis = array->ndim; axis-- > 0;) {
      offset += left % array->shape[axis] * array->strides[axis];
      left /= array->shape[axis];
    }
    unsigned char* element = array->data + offset * (int64_t)item;
    if (to_buffer)
      memcpy(buffer + (size_t)i * item, element, item);
    else
      memcpy(element, buffer + (size_t)i * item, item);
  }
}

static void array_drop(Array* array) {
  if (__atomic_sub_fetch(&array->owners, 1, __ATOMIC_ACQ_REL) > 0) return;
  if (array->source != NULL) dlbridge_release(array->source, array->source_kind);
  free(array->memory);
  free(array);
  __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
}

static Array* array_new(int32_t ndim, const int64_t* shape, const int64_t* strides,
                        DLDataType dtype, int padded) {
  Array* array = calloc(1, sizeof *array);
  if (array == NULL) return NULL;
  __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  array->owners = 1;
  array->ndim = ndim;
  array->dtype = dtype;
  array->padded = padded;
  array->device.device_type = kDLCPU;
  for (int32_t i = 0; i < ndim; ++i) array->shape[i] = shape[i];
  set_compact_strides(array);
  for (int32_t i = 0; strides != NULL && i < ndim; ++i) array->strides[i] = strides[i];
  return array;
}

/* Memory for the elements, without gaps before the lowest. */
static int array_allocate(Array* array) {
  int64_t low = 0, high = 0;
  if (element_count(array) == 0) return 1;
  for (int32_t i = 0; i < array->ndim; ++i) {
    const int64_t reach = (array->shape[i] - 1) * array->strides[i];
    if (reach < 0)
      low += reach;
    else
      high += reach;
  }
  const size_t bytes =
      is_packed(array) ? compact_bytes(array) : (size_t)(high - low + 1) * item_bytes(array);
  array->memory = malloc(bytes);
  if (array->memory == NULL) return 0;
  array->data = array->memory + (is_packed(array) ? 0 : -low * (int64_t)item_bytes(array));
  return 1;
}

/* ------------------------------------------------------------------------------------- export */

/* A managed tensor with the arrays that it points to. */
typedef struct Export {
  union {
    DLManagedTensor legacy;
    DLManagedTensorVersioned versioned;
  } tensor;
  int64_t shape[ARRAY_MAX_NDIM];
  int64_t strides[ARRAY_MAX_NDIM];
  Array* array;
} Export;

static void export_drop(Export* made) {
  array_drop(made->array);
  free(made);
}

static void delete_legacy(DLManagedTensor* self) { export_drop((Export*)self->manager_ctx); }

static void delete_versioned(DLManagedTensorVersioned* self) {
  export_drop((Export*)self->manager_ctx);
}

static void describe(const Array* array, Export* made, DLTensor* out) {
  memcpy(made->shape, array->shape, sizeof made->shape);
  memcpy(made->strides, array->strides, sizeof made->strides);
  out->data = array->data;
  out->device = array->device;
  out->ndim = array->ndim;
  out->dtype = array->dtype;
  out->shape = made->shape;
  out->strides = made->strides;
  out->byte_offset = 0;
}

/* Returns a managed tensor that shares the array's memory, or NULL without memory. */
static void* array_export(Array* array, DLBridgeKind kind, uint64_t more_flags) {
  Export* made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  __atomic_add_fetch(&array->owners, 1, __ATOMIC_RELAXED);
  made->array = array;
  if (kind == DLBRIDGE_KIND_LEGACY) {
    describe(array, made, &made->tensor.legacy.dl_tensor);
    made->tensor.legacy.manager_ctx = made;
    made->tensor.legacy.deleter = delete_legacy;
  } else {
    DLManagedTensorVersioned* tensor = &made->tensor.versioned;
    describe(array, made, &tensor->dl_tensor);
    tensor->version.major = DLPACK_MAJOR_VERSION;
    tensor->version.minor = DLPACK_MINOR_VERSION;
    tensor->manager_ctx = made;
    tensor->deleter = delete_versioned;
    tensor->flags = more_flags;
    if (array->read_only) tensor->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    if (array->padded) tensor->flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  }
  return &made->tensor;
}

/* ------------------------------------------------------------------------------------- import */

/* Takes the tensor over. On an error it is untouched. */
static Array* array_import(void* tensor, DLBridgeKind kind, DLBridgeError* error) {
  DLBridgePolicy policy = dlbridge_policy_init();
  uint64_t flags = 0;
  const DLTensor* from;
  policy.options = DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE | DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE |
                   DLBRIDGE_POLICY_LIMIT_NDIM;
  policy.max_ndim = ARRAY_MAX_NDIM;
  if (kind == DLBRIDGE_KIND_LEGACY) {
    if (dlbridge_validate_legacy(tensor, &policy, error) != DLBRIDGE_OK) return NULL;
    from = &((DLManagedTensor*)tensor)->dl_tensor;
  } else {
    if (dlbridge_validate_versioned(tensor, &policy, error) != DLBRIDGE_OK) return NULL;
    from = &((DLManagedTensorVersioned*)tensor)->dl_tensor;
    flags = ((DLManagedTensorVersioned*)tensor)->flags;
  }
  Array* array = array_new(from->ndim, from->shape, from->strides, from->dtype,
                           (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0);
  if (array == NULL) {
    strcpy(error->message, "no memory");
    return NULL;
  }
  if (from->data != NULL) array->data = (unsigned char*)from->data + from->byte_offset;
  array->device = from->device;
  array->read_only = kind == DLBRIDGE_KIND_LEGACY || (flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  array->source = tensor;
  array->source_kind = kind;
  return array;
}

/* --------------------------------------------------------------------------- the exchange table */

static int table_allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                          void (*SetError)(void*, const char*, const char*)) {
  DLBridgeAllocateSpec spec = dlbridge_allocate_spec_init();
  DLBridgeError error;
  spec.shape = prototype->shape;
  spec.ndim = prototype->ndim;
  spec.dtype = prototype->dtype;
  spec.device = prototype->device;
  if (dlbridge_allocate(&spec, out, &error) == DLBRIDGE_OK) return 0;
  SetError(context, "ValueError", error.message);
  return -1;
}

static int table_from_object(void* object, DLManagedTensorVersioned** out) {
  *out = array_export((Array*)object, DLBRIDGE_KIND_VERSIONED, 0);
  return *out == NULL ? -1 : 0;
}

static int table_to_object(DLManagedTensorVersioned* tensor, void** out) {
  DLBridgeError error;
  *out = array_import(tensor, DLBRIDGE_KIND_VERSIONED, &error);
  return *out == NULL ? -1 : 0;
}

static int table_borrow(void* object, DLTensor* out) {
  Array* array = (Array*)object;
  memset(out, 0, sizeof *out);
  out->data = array->data;
  out->device = array->device;
  out->ndim = array->ndim;
  out->dtype = array->dtype;
  out->shape = array->shape;
  out->strides = array->strides;
  return 0;
}

static int table_stream(DLDeviceType device_type, int32_t device_id, void** out) {
  *out = NULL;
  return device_type == kDLCPU && device_id == 0 ? 0 : -1;
}

static const DLPackExchangeAPIHeader* exchange_api(void* user) {
  static const DLPackExchangeAPI table = {{{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, NULL},
                                          table_allocate,
                                          table_from_object,
                                          table_to_object,
                                          table_borrow,
                                          table_stream};
  (void)user;
  return &table.header;
}

/* --------------------------------------------------------------------- callbacks of the kit */

/* Work on the emulated device: write values into an array. */
typedef struct Upload {
  Array* array;
  size_t size;
  unsigned char values[1]; /* longer */
} Upload;

static void upload(void* context) {
  Upload* work = (Upload*)context;
  copy_elements(work->array, work->values, 0);
  array_drop(work->array);
  free(work);
}

static int start_upload(Array* array, const DLBridgeConformanceRequest* request) {
  Upload* work = malloc(sizeof *work + request->value_bytes);
  if (work == NULL) return 0;
  __atomic_add_fetch(&array->owners, 1, __ATOMIC_RELAXED);
  work->array = array;
  memcpy(work->values, request->values, request->value_bytes);
  dlbridge_conformance_queue_submit(request->queue, upload, work);
  /* The consumer's later work waits for the upload; without a queue of the consumer, wait here. */
  if (request->consumer != NULL)
    dlbridge_conformance_queue_wait(request->consumer, request->queue);
  else
    dlbridge_conformance_queue_synchronize(request->queue);
  return 1;
}

static int fill(Array* array, const DLBridgeConformanceRequest* request) {
  if (!array_allocate(array)) return 0;
  array->device = request->device;
  array->read_only = (request->tensor_flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  if (request->queue != NULL) return start_upload(array, request);
  copy_elements(array, (unsigned char*)request->values, 0);
  return 1;
}

static Array* array_copy(const Array* array) {
  Array* copy = array_new(array->ndim, array->shape, NULL, array->dtype, array->padded);
  if (copy != NULL && !array_allocate(copy)) {
    array_drop(copy);
    return NULL;
  }
  if (copy != NULL) copy_elements(array, copy->data, 1);
  return copy;
}

static DLBridgeConformanceAnswer make(void* user, const DLBridgeConformanceRequest* request,
                                      DLBridgeConformanceExport* out, char* message) {
  const int padded = (request->tensor_flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  const uint64_t copied = request->tensor_flags & DLPACK_FLAG_BITMASK_IS_COPIED;
  Array* array = array_new(request->ndim, request->shape, request->strides, request->dtype, padded);
  (void)user;
  if (array == NULL || !fill(array, request)) {
    if (array != NULL) array_drop(array);
    strcpy(message, "no memory");
    return DLBRIDGE_CONFORMANCE_REJECTED;
  }
  Array* exported = copied ? array_copy(array) : array;
  out->tensor = exported == NULL ? NULL : array_export(exported, request->kind, copied);
  if (copied && exported != NULL) array_drop(exported); /* the tensor owns it */
  if (out->tensor == NULL) {
    array_drop(array);
    strcpy(message, "no memory");
    return DLBRIDGE_CONFORMANCE_REJECTED;
  }
  out->kind = request->kind;
  out->array = array;
  return DLBRIDGE_CONFORMANCE_DONE;
}

static DLBridgeConformanceAnswer consume(void* user, const DLBridgeConformanceOffer* offer,
                                         void** array, char* message) {
  DLBridgeError error;
  Array* made = array_import(offer->tensor, offer->kind, &error);
  (void)user;
  if (made == NULL) {
    strncpy(message, error.message, DLBRIDGE_CONFORMANCE_MESSAGE_SIZE - 1);
    return DLBRIDGE_CONFORMANCE_REJECTED;
  }
  made->queue = offer->queue;
  *array = made;
  return DLBRIDGE_CONFORMANCE_DONE;
}

static DLBridgeConformanceAnswer read_array(void* user, void* given, void* out, size_t size,
                                            size_t* written, char* message) {
  Array* array = (Array*)given;
  (void)user;
  *written = compact_bytes(array);
  if (*written > size) {
    strcpy(message, "the buffer is too small");
    return DLBRIDGE_CONFORMANCE_REJECTED;
  }
  if (array->queue != NULL) dlbridge_conformance_queue_synchronize(array->queue);
  copy_elements(array, out, 1);
  return DLBRIDGE_CONFORMANCE_DONE;
}

static DLBridgeConformanceAnswer write_array(void* user, void* given, const void* values,
                                             size_t size, char* message) {
  Array* array = (Array*)given;
  (void)user;
  if (array->read_only || size != compact_bytes(array)) {
    strcpy(message, array->read_only ? "the array is read-only" : "another number of bytes");
    return DLBRIDGE_CONFORMANCE_REJECTED;
  }
  copy_elements(array, (unsigned char*)values, 0);
  return DLBRIDGE_CONFORMANCE_DONE;
}

static void drop_later(void* array) { array_drop((Array*)array); }

static void release(void* user, void* given) {
  Array* array = (Array*)given;
  (void)user;
  /* Work that uses the memory may still be pending: the array ends after it. */
  if (array->queue != NULL)
    dlbridge_conformance_queue_submit(array->queue, drop_later, array);
  else
    array_drop(array);
}

static int64_t count_live(void* user) {
  (void)user;
  return array_live();
}

DLBridgeConformanceProject array_project(void) {
  DLBridgeConformanceProject project = dlbridge_conformance_project_init();
  project.name = "array";
  project.make = make;
  project.consume = consume;
  project.read = read_array;
  project.write = write_array;
  project.release = release;
  project.live = count_live;
  project.exchange_api = exchange_api;
  project.queue_device.device_type = kDLExtDev;
  return project;
}
