// SPDX-License-Identifier: Apache-2.0
// The work of Go's benchmarks in C, for comparison.
#include <time.h>

#include "producer.h"

void ctest_nothing(void) {}

void ctest_repeat_malloc(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    void* volatile block = malloc(128);
    free(block);
  }
}

void ctest_repeat_validate(uintptr_t legacy, int64_t count) {
  DLBridgeError error;
  for (int64_t i = 0; i < count; ++i) {
    dlbridge_validate_legacy((const DLManagedTensor*)legacy, NULL, &error);
  }
}

void ctest_repeat_upgrade(uintptr_t legacy, int64_t count) {
  DLBridgeError error;
  for (int64_t i = 0; i < count; ++i) {
    DLManagedTensorVersioned* out = NULL;
    dlbridge_upgrade((DLManagedTensor*)legacy, NULL, &out, &error);
    dlbridge_release_versioned(out);
  }
}

void ctest_repeat_share(uintptr_t versioned, int64_t count) {
  DLBridgeError error;
  for (int64_t i = 0; i < count; ++i) {
    DLManagedTensorVersioned* out = NULL;
    dlbridge_share((const DLManagedTensorVersioned*)versioned, &out, &error);
    dlbridge_release_versioned(out);
  }
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t ctest_repeat_upgrade_many(const uintptr_t* legacy, size_t size, int64_t count) {
  DLBridgeError error;
  DLManagedTensorVersioned* outs[64];
  int64_t upgrading = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t began = nanoseconds();
    dlbridge_upgrade_many((DLManagedTensor* const*)legacy, size, NULL, outs, NULL, &error);
    upgrading += nanoseconds() - began;
    for (size_t j = 0; j < size; ++j) dlbridge_release_versioned(outs[j]);
  }
  return upgrading;
}
