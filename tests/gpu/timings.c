/* SPDX-License-Identifier: Apache-2.0 */
/* The time of the library's calls beside that of the driver calls that a program would make
 * instead.
 *
 * timings DRIVER LIBRARY    prints a line of JSON: {"name": [[nanoseconds of the driver's calls],
 * [of the library's]], ...}, one entry per round; both are measured in turn. It is linked to
 * neither file. */
#define _POSIX_C_SOURCE 200809L

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dlbridge/dlbridge.h"

enum { ROUNDS = 15, CALLS = 200, SMALL = 4096, LARGE = 16 << 20, NON_BLOCKING = 1, NO_TIMING = 2 };
enum { RING = 256, NOT_READY = 600 };
enum {
  MEMORY_TYPE = 2,
  IS_MANAGED = 8,
  ORDINAL = 9,
  CONTEXT = 1,
  RANGE_START = 11,
  RANGE_SIZE = 12
};
enum { ATTRIBUTES = 6 };

typedef void* Handle;
typedef uint64_t Address;

static struct {
  int (*init)(unsigned);
  int (*retain)(Handle*, int);
  int (*push)(Handle);
  int (*stream_create)(Handle*, unsigned);
  int (*synchronize)(Handle);
  int (*event_create)(Handle*, unsigned);
  int (*record)(Handle, Handle);
  int (*query)(Handle);
  int (*wait)(Handle, Handle, unsigned);
  int (*allocate)(Address*, size_t);
  int (*to_host)(void*, Address, size_t, Handle);
  int (*on_device)(Address, Address, size_t, Handle);
  int (*attributes)(unsigned, uint32_t*, void**, Address);
} cu;

static const DLBridgeApi* api;
static Handle first, second, event, ring[RING];
static unsigned next;
static Address source, target;
static unsigned char* host;
static DLManagedTensorVersioned* small;

static void fail(const char* what) {
  fprintf(stderr, "timings: %s failed\n", what);
  exit(1);
}

static void check(int code, const char* what) {
  if (code != 0) {
    fprintf(stderr, "timings: %s returned %d\n", what, code);
    exit(1);
  }
}

/* POSIX lets dlsym's result be used as a function; C has no cast for it. */
static void find(void* library, const char* name, void* place) {
  void* const found = dlsym(library, name);
  if (found == NULL) {
    fail(name);
  }
  memcpy(place, &found, sizeof found);
}

static void load_driver(const char* file) {
  void* const library = dlopen(file, RTLD_NOW);
  if (library == NULL) {
    fail(dlerror());
  }
  find(library, "cuInit", &cu.init);
  find(library, "cuDevicePrimaryCtxRetain", &cu.retain);
  find(library, "cuCtxPushCurrent_v2", &cu.push);
  find(library, "cuStreamCreate", &cu.stream_create);
  find(library, "cuStreamSynchronize", &cu.synchronize);
  find(library, "cuEventCreate", &cu.event_create);
  find(library, "cuEventRecord", &cu.record);
  find(library, "cuEventQuery", &cu.query);
  find(library, "cuStreamWaitEvent", &cu.wait);
  find(library, "cuMemAlloc_v2", &cu.allocate);
  find(library, "cuMemcpyDtoHAsync_v2", &cu.to_host);
  find(library, "cuMemcpyDtoDAsync_v2", &cu.on_device);
  find(library, "cuPointerGetAttributes", &cu.attributes);
}

static void load_library(const char* file) {
  void* const library = dlopen(file, RTLD_NOW);
  const DLBridgeApi* (*get)(uint32_t, size_t);
  if (library == NULL) {
    fail(dlerror());
  }
  find(library, "dlbridge_get_api", &get);
  api = get(DLBRIDGE_ABI, sizeof(DLBridgeApi));
  if (api == NULL) {
    fail("dlbridge_get_api");
  }
}

static DLBridgeStream stream_of(Handle handle) {
  DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
  stream.backend = DLBRIDGE_BACKEND_CUDA;
  stream.kind = DLBRIDGE_STREAM_QUEUE;
  stream.device.device_type = kDLCUDA;
  stream.handle = (uint64_t)(uintptr_t)handle;
  return stream;
}

static DLBridgeBuffer buffer_at(Address address) {
  DLBridgeBuffer buffer = DLBRIDGE_BUFFER_INIT;
  buffer.kind = DLBRIDGE_BUFFER_ADDRESS;
  buffer.handle = address;
  return buffer;
}

static DLManagedTensorVersioned* wrapped(Address address, int64_t size) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  DLManagedTensorVersioned* out = NULL;
  spec.shape = &size;
  spec.ndim = 1;
  spec.buffer = buffer_at(address);
  spec.device.device_type = kDLCUDA;
  spec.dtype.code = kDLUInt;
  spec.dtype.bits = 8;
  spec.dtype.lanes = 1;
  check(api->wrap(&spec, &out, NULL), "dlbridge_wrap");
  return out;
}

static void set_up(void) {
  Handle context;
  check(cu.init(0), "cuInit");
  check(cu.retain(&context, 0), "cuDevicePrimaryCtxRetain");
  check(cu.push(context), "cuCtxPushCurrent");
  check(cu.stream_create(&first, NON_BLOCKING), "cuStreamCreate");
  check(cu.stream_create(&second, NON_BLOCKING), "cuStreamCreate");
  check(cu.event_create(&event, NO_TIMING), "cuEventCreate");
  for (int i = 0; i < RING; ++i) {
    check(cu.event_create(&ring[i], NO_TIMING), "cuEventCreate");
    check(cu.record(ring[i], first), "cuEventRecord");
  }
  check(cu.allocate(&source, LARGE), "cuMemAlloc");
  check(cu.allocate(&target, LARGE), "cuMemAlloc");
  host = malloc(LARGE);
  if (host == NULL) {
    fail("malloc");
  }
  memset(host, 0, LARGE);
  small = wrapped(source, SMALL);
}

/* ------------------------------------------------------------------------------- what is measured
 */

static void raw_handoff(void) {
  check(cu.record(event, first), "cuEventRecord");
  check(cu.wait(second, event, 0), "cuStreamWaitEvent");
}

static void handoff(void) {
  const DLBridgeStream from = stream_of(first), to = stream_of(second);
  check(api->stream_handoff(&from, &to, 0, NULL), "dlbridge_stream_handoff");
}

static void raw_synchronize(void) { check(cu.synchronize(first), "cuStreamSynchronize"); }

static void synchronize(void) {
  const DLBridgeStream stream = stream_of(first);
  check(api->stream_synchronize(&stream, NULL), "dlbridge_stream_synchronize");
}

static void raw_pointer(void) {
  uint32_t names[ATTRIBUTES] = {MEMORY_TYPE, ORDINAL, IS_MANAGED, CONTEXT, RANGE_START, RANGE_SIZE};
  uint64_t values[ATTRIBUTES] = {0};
  void* places[ATTRIBUTES];
  for (int i = 0; i < ATTRIBUTES; ++i) {
    places[i] = &values[i];
  }
  check(cu.attributes(ATTRIBUTES, names, places, source), "cuPointerGetAttributes");
}

static void pointer(void) {
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  const DLBridgeBuffer buffer = buffer_at(source);
  const DLDevice device = {kDLCUDA, 0};
  check(api->pointer_info(&buffer, device, &info, NULL), "dlbridge_pointer_info");
}

static void raw_to_host(size_t size) {
  check(cu.to_host(host, source, size, first), "cuMemcpyDtoHAsync");
  check(cu.synchronize(first), "cuStreamSynchronize");
}

static void raw_on_device(size_t size) {
  check(cu.on_device(target, source, size, first), "cuMemcpyDtoDAsync");
  check(cu.synchronize(first), "cuStreamSynchronize");
}

static DLBridgeCopySpec copy_spec(DLDeviceType device, Address address, size_t size) {
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.device.device_type = device;
  spec.stream = stream_of(first);
  spec.target = buffer_at(address);
  spec.target_size = size;
  return spec;
}

static void copy(DLDeviceType device, Address address, int64_t size) {
  const DLBridgeCopySpec spec = copy_spec(device, address, (size_t)size);
  DLManagedTensorVersioned* out = NULL;
  DLTensor what;
  memset(&what, 0, sizeof what);
  what.data = (void*)(uintptr_t)source;
  what.device.device_type = kDLCUDA;
  what.ndim = 1;
  what.dtype = small->dl_tensor.dtype;
  what.shape = &size;
  check(api->copy(&what, 0, &spec, &out, NULL), "dlbridge_copy");
  api->release_versioned(out);
}

static void raw_small_to_host(void) { raw_to_host(SMALL); }
static void small_to_host(void) { copy(kDLCPU, (Address)(uintptr_t)host, SMALL); }
static void raw_large_to_host(void) { raw_to_host(LARGE); }
static void large_to_host(void) { copy(kDLCPU, (Address)(uintptr_t)host, LARGE); }
static void raw_small_on_device(void) { raw_on_device(SMALL); }
static void small_on_device(void) { copy(kDLCUDA, target, SMALL); }

/* What a program does to learn when memory may be freed: an event for each release, and a look at
 * the oldest one. */
static void raw_release(void) {
  int oldest;
  check(cu.record(ring[next++ % RING], first), "cuEventRecord");
  oldest = cu.query(ring[next % RING]);
  check(oldest == NOT_READY ? 0 : oldest, "cuEventQuery");
}

static void raw_enqueue(void) {
  check(cu.on_device(target, source, SMALL, first), "cuMemcpyDtoDAsync");
  raw_release();
}

static void raw_block(void) {
  void* volatile block = malloc(128);
  free(block);
}

static void wrap(void) { api->release_versioned(wrapped(source, SMALL)); }

static void copy_async(void) {
  const DLBridgeCopySpec spec = copy_spec(kDLCUDA, target, SMALL);
  DLManagedTensorVersioned* out = NULL;
  check(api->copy_async(small, &spec, &out, NULL), "dlbridge_copy_async");
  api->release_versioned(out);
}

static void release_after(void) {
  const DLBridgeStream stream = stream_of(first);
  DLManagedTensorVersioned* const tensor = wrapped(source, SMALL);
  check(api->release_after(tensor, DLBRIDGE_KIND_VERSIONED, &stream, 1, NULL),
        "dlbridge_release_after");
}

/* ------------------------------------------------------------------------------------- the rounds
 */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Nanoseconds of one call; the driver's queues are empty before and after. */
static double measure(void (*call)(void), int calls) {
  double began;
  double took;
  call();
  check(cu.synchronize(first), "cuStreamSynchronize");
  check(cu.synchronize(second), "cuStreamSynchronize");
  began = now();
  for (int i = 0; i < calls; ++i) {
    call();
  }
  took = (now() - began) / calls;
  check(cu.synchronize(first), "cuStreamSynchronize");
  check(cu.synchronize(second), "cuStreamSynchronize");
  if (DLBRIDGE_API_HAS(api, collect)) {
    check(api->collect(DLBRIDGE_COLLECT_WAIT, NULL, NULL), "dlbridge_collect");
  }
  return took;
}

static void print_list(const double* values) {
  for (int i = 0; i < ROUNDS; ++i) {
    printf("%s%.1f", i == 0 ? "[" : ", ", values[i]);
  }
  printf("]");
}

static void compare(const char* name, void (*raw)(void), void (*ours)(void), int calls) {
  static int count;
  double theirs[ROUNDS];
  double mine[ROUNDS];
  for (int i = 0; i < ROUNDS; ++i) {
    theirs[i] = measure(raw, calls);
    mine[i] = measure(ours, calls);
  }
  printf("%s\"%s\": [", count++ == 0 ? "{" : ", ", name);
  print_list(theirs);
  printf(", ");
  print_list(mine);
  printf("]");
}

int main(int count, char** arguments) {
  if (count != 3) {
    fail("reading the arguments DRIVER LIBRARY");
  }
  load_driver(arguments[1]);
  load_library(arguments[2]);
  set_up();
  compare("wrap and release, beside malloc and free", raw_block, wrap, CALLS);
  compare("handoff", raw_handoff, handoff, CALLS);
  compare("synchronize", raw_synchronize, synchronize, CALLS);
  compare("pointer_info", raw_pointer, pointer, CALLS);
  compare("copy 4 KiB to the host", raw_small_to_host, small_to_host, CALLS);
  compare("copy 16 MiB to the host", raw_large_to_host, large_to_host, 2);
  compare("copy 4 KiB on the device", raw_small_on_device, small_on_device, CALLS);
  if (DLBRIDGE_API_HAS(api, copy_async)) {
    compare("copy_async 4 KiB on the device", raw_enqueue, copy_async, CALLS);
    compare("release_after", raw_release, release_after, CALLS);
  }
  printf("}\n");
  return 0;
}
