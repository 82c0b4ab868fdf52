/*
 * SPDX-License-Identifier: Apache-2.0
 * host PLUGIN: takes the tensors of a plugin, closes the plugin, and continues to use them.
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

/* Takes any tensor that arrives as a void*: validates and shares it, or logs the error and releases
 * it. Its producer stays loaded. A host needs no more than these lines. */
static DLManagedTensorVersioned* accept(void* given, DLManagedTensorVersioned** share) {
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  options.options = DLBRIDGE_CONVERT_PIN_PRODUCER;
  DLManagedTensorVersioned* tensor = NULL;
  DLBridgeError error;
  if (!dlbridge_import(given, DLBRIDGE_KIND_UNKNOWN, &options, &tensor, &error) &&
      !dlbridge_share(tensor, share, &error))
    return tensor;
  fprintf(stderr, "rejected: %s\n", error.message);
  return tensor != NULL ? tensor : (dlbridge_release(given, dlbridge_identify(given)), NULL);
}

typedef void* (*Make)(void);

static Make find(void* plugin, const char* name) {
  Make make = NULL;
  *(void**)&make = dlsym(plugin, name);
  return make;
}

int main(int count, char** arguments) {
  void* plugin = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", count == 2 ? dlerror() : "usage: host PLUGIN");
    return 2;
  }
  const char* names[3] = {"plugin_squares", "plugin_primes", "plugin_broken"};
  DLManagedTensorVersioned* tensors[3] = {NULL, NULL, NULL};
  DLManagedTensorVersioned* shares[3] = {NULL, NULL, NULL};
  for (int i = 0; i < 3; ++i) {
    const Make make = find(plugin, names[i]);
    if (make == NULL) return 2;
    tensors[i] = accept(make(), &shares[i]);
  }
  dlclose(plugin);
  if (shares[0] == NULL || shares[1] == NULL || tensors[2] != NULL) return 1;

  for (int i = 0; i < 3; ++i) dlbridge_release_versioned(tensors[i]);
  show("squares", shares[0]);
  show("primes", shares[1]);
  for (int i = 0; i < 3; ++i) dlbridge_release_versioned(shares[i]);
  return 0;
}
