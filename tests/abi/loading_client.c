/*
 * SPDX-License-Identifier: Apache-2.0
 * loading_client LIBRARY: a client of today's header that loads a library which may be older. It
 * asks the table before each call, and answers with a status of the library's own for what is
 * missing.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "dlbridge/dlbridge.h"

static const DLBridgeApi* g_api;

static void report(const char* call, DLBridgeStatus status, const DLBridgeError* error) {
  printf("%s: %s%s%s\n", call, g_api->status_name(status), status == DLBRIDGE_OK ? "" : ": ",
         status == DLBRIDGE_OK ? "" : error->message);
}

/* What the library lacks is refused as anything else that it cannot do. */
static DLBridgeStatus refuse_missing(const char* function, DLBridgeError* error) {
  error->status = DLBRIDGE_ERROR_UNSUPPORTED;
  snprintf(error->message, sizeof error->message,
           "libdlbridge %s has no dlbridge_%s: load a newer one", g_api->version_string(),
           function);
  return error->status;
}

/* The newest function; what it is given is no export. */
static DLBridgeStatus ipc_import(DLBridgeError* error) {
  static const char bytes[64];
  DLManagedTensorVersioned* tensor = NULL;
  if (!DLBRIDGE_API_HAS(g_api, ipc_import)) return refuse_missing("ipc_import", error);
  return g_api->ipc_import(bytes, sizeof bytes, NULL, 0, 0, NULL, &tensor, error);
}

static DLBridgeStatus round_trip(DLBridgeError* error) {
  static float data[6];
  int64_t shape[2] = {2, 3};
  DLManagedTensor source = {{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0}, NULL, NULL};
  DLManagedTensorVersioned* tensor = NULL;
  const DLBridgeStatus status = g_api->upgrade(&source, NULL, &tensor, error);
  if (status == DLBRIDGE_OK) g_api->release_versioned(tensor);
  return status;
}

int main(int count, char** arguments) {
  void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  const DLBridgeApi* (*get_api)(uint32_t, size_t) = NULL;
  if (library == NULL) return 2;
  *(void**)&get_api = dlsym(library, "dlbridge_get_api");
  g_api = get_api == NULL ? NULL : get_api(DLBRIDGE_ABI, sizeof *g_api);
  if (g_api == NULL) return 3;

  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  report("upgrade", round_trip(&error), &error);
  report("ipc_import", ipc_import(&error), &error);
  return 0;
}
