/*
 * SPDX-License-Identifier: Apache-2.0
 * host PLUGIN: takes two tensors of a plugin, closes the plugin, and goes on using them.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "dlbridge/dlbridge.h"
#include "plugin.h"

static void show(const char* name, const DLManagedTensorVersioned* tensor) {
  const int32_t* values = tensor->dl_tensor.data;
  printf("%s:", name);
  for (int64_t i = 0; i < tensor->dl_tensor.shape[0]; ++i) printf(" %d", (int)values[i]);
  printf("\n");
}

/* A legacy tensor from a plugin: validated, upgraded, and its producer kept loaded. */
static DLManagedTensorVersioned* keep(DLManagedTensor* legacy) {
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  options.options = DLBRIDGE_CONVERT_PIN_PRODUCER;
  DLManagedTensorVersioned* tensor = NULL;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  if (dlbridge_upgrade(legacy, &options, &tensor, &error) != DLBRIDGE_OK) {
    fprintf(stderr, "refused: %s\n", error.message);
    dlbridge_release_legacy(legacy); /* on failure it is still ours */
  }
  return tensor;
}

int main(int count, char** arguments) {
  void* plugin = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", count == 2 ? dlerror() : "usage: host PLUGIN");
    return 2;
  }
  DLManagedTensorVersioned* (*make_squares)(void) = NULL;
  DLManagedTensor* (*make_primes)(void) = NULL;
  *(void**)&make_squares = dlsym(plugin, "plugin_squares");
  *(void**)&make_primes = dlsym(plugin, "plugin_primes");
  if (make_squares == NULL || make_primes == NULL) return 2;

  DLManagedTensorVersioned* squares = make_squares();
  DLManagedTensorVersioned* primes = keep(make_primes());
  dlclose(plugin);
  if (squares == NULL || primes == NULL) return 1;

  show("squares", squares);
  show("primes", primes);
  dlbridge_release_versioned(squares);
  dlbridge_release_versioned(primes);
  return 0;
}
