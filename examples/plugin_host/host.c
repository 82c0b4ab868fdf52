/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>

#include "dlbridge/dlbridge.h"

/* The host is not linked to the library: it loads it, and needs one symbol of it. */
static const DLBridgeApi* load(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  const DLBridgeApi* (*get)(uint32_t, size_t) = NULL;
  if (library != NULL) *(void**)&get = dlsym(library, "dlbridge_get_api");
  return get != NULL ? get(DLBRIDGE_ABI, sizeof(DLBridgeApi)) : NULL;
}

/* Takes any tensor that a plugin returns, or reports the broken rule and ends the tensor. */
static DLManagedTensorVersioned* accept(const DLBridgeApi* api, void* given) {
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  options.options = DLBRIDGE_CONVERT_PIN_PRODUCER; /* the deleter outlives dlclose */
  DLManagedTensorVersioned* tensor = NULL;
  DLBridgeError error;
  if (api->import_tensor(given, DLBRIDGE_KIND_UNKNOWN, &options, &tensor, &error) == DLBRIDGE_OK)
    return tensor;
  printf("rejected, rule %s: %s\n", api->rule_name(error.rule), error.message);
  api->release(given, api->identify(given)); /* still the plugin's: end it if it can be told */
  return NULL;
}

int main(int count, char** files) {
  const DLBridgeApi* api = count == 3 ? load(files[1]) : NULL;
  void* plugin = api != NULL ? dlopen(files[2], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (plugin == NULL)
    return fprintf(stderr, "%s\n", count == 3 ? dlerror() : "usage: host LIBDLBRIDGE PLUGIN"), 2;
  void* (*make)(void) = NULL;
  DLManagedTensorVersioned* tensors[2];
  const char* names[2] = {"plugin_squares", "plugin_broken"};
  for (int i = 0; i < 2; ++i) {
    *(void**)&make = dlsym(plugin, names[i]);
    if (make == NULL) return 2;
    tensors[i] = accept(api, make());
  }
  dlclose(plugin);
  if (tensors[0] == NULL || tensors[1] != NULL) return 1;
  const DLTensor* view = &tensors[0]->dl_tensor;
  const int32_t* values = (const int32_t*)((const char*)view->data + view->byte_offset);
  printf("after dlclose: %d\n", (int)values[4]);
  api->release_versioned(tensors[0]); /* calls code of the plugin, which is still loaded */
  return 0;
}
