/*
 * SPDX-License-Identifier: Apache-2.0
 * A client as it was compiled with the headers of a release, C99 and C++11, to run with a newer
 * library: structs of the size that the release gave them, made by its initialiser, with bytes
 * behind them that are not the library's. Written with what 0.1.0 has; clients.py adds
 * `references`, every function and table member of the release's own header. A check that fails is
 * printed; exit status 1 then.
 */
#include <stdio.h>
#include <string.h>

#include "dlbridge/dlbridge.h"

int references(void); /* clients.py */

#define CANARY 0x5a
#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      printf("line %d: %s: %s\n", __LINE__, #condition, g_message); \
      return 1;                                                     \
    }                                                               \
  } while (0)

static const char* g_message = "";

/* A struct of the release's size, on memory that goes on behind it. */
typedef struct {
  DLBridgePolicy policy;
  unsigned char behind_policy[64];
  DLBridgeAllocator allocator;
  unsigned char behind_allocator[64];
  DLBridgeConvertOptions options;
  unsigned char behind_options[64];
  DLBridgeStorage storage;
  unsigned char behind_storage[64];
  DLBridgeViewSpec view;
  unsigned char behind_view[64];
  DLBridgeAllocateSpec allocate;
  unsigned char behind_allocate[64];
  DLBridgeLayout layout;
  unsigned char behind_layout[64];
  DLBridgeFinding finding;
  unsigned char behind_finding[64];
  DLBridgeError error;
  unsigned char behind_error[64];
} Structs;

static Structs g_structs;
static float g_data[6];
static int64_t g_shape[2] = {2, 3};
static char g_allocated[512];
static char g_storage[512];
static int g_deallocated;

/* The first address in `memory` that is a multiple of a power of two. */
static char* align(char* memory, uint64_t alignment) {
  const uint64_t over = (uint64_t)(uintptr_t)memory & (alignment - 1);
  return over == 0 ? memory : memory + (alignment - over);
}

static void* allocate(void* context, DLDevice device, uint64_t bytes, uint64_t alignment) {
  char* start = align(g_allocated, alignment);
  (void)context;
  (void)device;
  return bytes <= (uint64_t)(g_allocated + sizeof g_allocated - start) ? start : NULL;
}

static void deallocate(void* context, DLDevice device, void* memory, uint64_t bytes,
                       uint64_t alignment) {
  (void)context;
  (void)device;
  (void)memory;
  (void)bytes;
  (void)alignment;
  ++g_deallocated;
}

static void initialise(void) {
  const DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  const DLBridgeAllocator allocator = DLBRIDGE_ALLOCATOR_INIT;
  const DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  const DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  const DLBridgeViewSpec view = DLBRIDGE_VIEW_SPEC_INIT;
  const DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  const DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  const DLBridgeError error = DLBRIDGE_ERROR_INIT;
  memset(&g_structs, CANARY, sizeof g_structs);
  g_structs.policy = policy;
  g_structs.allocator = allocator;
  g_structs.allocator.allocate = allocate;
  g_structs.allocator.deallocate = deallocate;
  g_structs.options = options;
  g_structs.options.policy = &g_structs.policy;
  g_structs.options.allocator = &g_structs.allocator;
  g_structs.storage = storage;
  g_structs.storage.memory = align(g_storage, 16);
  g_structs.storage.size = sizeof g_storage - 16;
  g_structs.view = view;
  g_structs.view.ndim = 1;
  g_structs.view.shape = g_shape + 1;
  g_structs.allocate = spec;
  g_structs.allocate.ndim = 1;
  g_structs.allocate.shape = g_shape;
  g_structs.allocate.alignment = 16;
  g_structs.allocate.allocator = &g_structs.allocator;
  g_structs.layout = layout;
  g_structs.error = error;
  g_message = g_structs.error.message;
}

static int untouched(const unsigned char* bytes) {
  int i = 0;
  while (i < 64 && bytes[i] == CANARY) ++i;
  return i == 64;
}

static DLManagedTensor source_tensor(void) {
  DLManagedTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.dl_tensor.data = g_data;
  tensor.dl_tensor.device.device_type = kDLCPU;
  tensor.dl_tensor.ndim = 2;
  tensor.dl_tensor.dtype.code = kDLFloat;
  tensor.dl_tensor.dtype.bits = 32;
  tensor.dl_tensor.dtype.lanes = 1;
  tensor.dl_tensor.shape = g_shape;
  return tensor;
}

/* Structs that the library reads. */
static int convert(void) {
  DLManagedTensor source = source_tensor();
  DLManagedTensorVersioned* tensor = NULL;
  DLManagedTensorVersioned* part = NULL;
  DLBridgeError* error = &g_structs.error;
  CHECK(dlbridge_validate(&source.dl_tensor, 0, &g_structs.policy, error) == DLBRIDGE_OK);
  CHECK(dlbridge_upgrade(&source, &g_structs.options, &tensor, error) == DLBRIDGE_OK);
  CHECK(tensor->version.major == 1 && tensor->dl_tensor.ndim == 2 && tensor->dl_tensor.strides);
  CHECK(dlbridge_view(tensor, &g_structs.view, &part, error) == DLBRIDGE_OK);
  dlbridge_release_versioned(part);
  dlbridge_release_versioned(tensor);
  CHECK(dlbridge_upgrade_into(&source, &g_structs.options, &g_structs.storage, &tensor, error) ==
        DLBRIDGE_OK);
  dlbridge_release_versioned(tensor);
  CHECK(dlbridge_allocate(&g_structs.allocate, &tensor, error) == DLBRIDGE_OK);
  dlbridge_release_versioned(tensor);
  CHECK(g_deallocated == 1);
  return 0;
}

/* Structs that it writes. */
static int describe(void) {
  DLManagedTensor source = source_tensor();
  size_t count = 0;
  DLBridgeError* error = &g_structs.error;
  CHECK(dlbridge_layout(&source.dl_tensor, 0, &g_structs.layout, error) == DLBRIDGE_OK);
  CHECK(g_structs.layout.struct_size == sizeof(DLBridgeLayout));
  CHECK(g_structs.layout.element_count == 6 && g_structs.layout.end == 24);
  source.dl_tensor.ndim = -1;
  CHECK(dlbridge_diagnose(&source, DLBRIDGE_KIND_LEGACY, 0, NULL, &g_structs.finding, 1, &count,
                          error) == DLBRIDGE_OK);
  CHECK(count >= 1 && g_structs.finding.rule == DLBRIDGE_RULE_NDIM_NEGATIVE);
  CHECK(dlbridge_validate_legacy(&source, NULL, error) == DLBRIDGE_ERROR_INVALID_TENSOR);
  CHECK(error->rule == DLBRIDGE_RULE_NDIM_NEGATIVE && error->message[0] != '\0');
  return 0;
}

static int behind(void) {
  CHECK(untouched(g_structs.behind_policy));
  CHECK(untouched(g_structs.behind_allocator));
  CHECK(untouched(g_structs.behind_options));
  CHECK(untouched(g_structs.behind_storage));
  CHECK(untouched(g_structs.behind_view));
  CHECK(untouched(g_structs.behind_allocate));
  CHECK(untouched(g_structs.behind_layout));
  CHECK(untouched(g_structs.behind_finding));
  CHECK(untouched(g_structs.behind_error));
  return 0;
}

int main(void) {
  initialise();
  CHECK(dlbridge_version() >=
        DLBRIDGE_VERSION_MAJOR * 10000 + DLBRIDGE_VERSION_MINOR * 100 + DLBRIDGE_VERSION_PATCH);
  return references() || convert() || describe() || behind();
}
