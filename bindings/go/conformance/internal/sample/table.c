// SPDX-License-Identifier: Apache-2.0
// The table of the C exchange API of the library, whose objects are arrays of Go.
#include <dlbridge/dlbridge.h>
#include <stddef.h>

#include "_cgo_export.h"

static int make(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                void (*set_error)(void*, const char*, const char*)) {
  DLBridgeAllocateSpec spec = dlbridge_allocate_spec_init();
  DLBridgeError error;
  spec.shape = prototype->shape;
  spec.ndim = prototype->ndim;
  spec.dtype = prototype->dtype;
  if (dlbridge_allocate(&spec, out, &error) == DLBRIDGE_OK) return 0;
  set_error(context, "ValueError", error.message);
  return -1;
}

static int from_object(void* object, DLManagedTensorVersioned** out) {
  return dlbridge_share(sampleTensorOf(object), out, NULL);
}

static int to_object(DLManagedTensorVersioned* tensor, void** out) {
  DLManagedTensorVersioned* imported = NULL;
  const int status = dlbridge_import(tensor, DLBRIDGE_KIND_VERSIONED, NULL, &imported, NULL);
  if (status == DLBRIDGE_OK) *out = sampleObjectOf(imported);
  return status;
}

static int borrow(void* object, DLTensor* out) {
  *out = ((DLManagedTensorVersioned*)sampleTensorOf(object))->dl_tensor;
  return 0;
}

static int stream(DLDeviceType type, int32_t id, void** out) {
  *out = NULL;
  return type == kDLCPU && id == 0 ? 0 : -1;
}

const void* sample_table(int whole) {
  static const DLPackExchangeAPI table = {{{1, 3}, NULL}, make,   from_object,
                                          to_object,      borrow, stream};
  static const DLPackExchangeAPI without = {{{1, 3}, NULL}, make,   from_object,
                                            to_object,      borrow, NULL};
  return whole ? &table : &without;
}
