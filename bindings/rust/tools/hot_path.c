/* SPDX-License-Identifier: Apache-2.0
 * Repeats a validated upgrade and its release as often as the first argument states: the reference
 * for programs/src/bin/hot_path.rs. */
#include <dlbridge/dlbridge.h>
#include <stdlib.h>

static void delete_it(DLManagedTensor* tensor) {
  tensor->manager_ctx = (char*)tensor->manager_ctx + 1;
}

__attribute__((noinline)) static void once(DLManagedTensor* tensor) {
  DLManagedTensorVersioned* out;
  DLBridgeError error;
  if (dlbridge_upgrade(tensor, NULL, &out, &error) != DLBRIDGE_OK) {
    abort();
  }
  __asm__ volatile("" : "+r"(out));
  dlbridge_release_versioned(out);
}

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
  int64_t shape[] = {2, 3, 4, 5};
  int64_t strides[] = {60, 20, 5, 1};
  static float data[120];
  DLManagedTensor legacy = {
      {data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, strides, 0}, NULL, delete_it};
  for (size_t i = 0; i < count; ++i) {
    DLManagedTensor* tensor = &legacy;
    __asm__ volatile("" : "+r"(tensor));
    once(tensor);
  }
  return (size_t)legacy.manager_ctx == count ? 0 : 1;
}
