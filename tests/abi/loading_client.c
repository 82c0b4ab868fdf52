/*
 * SPDX-License-Identifier: Apache-2.0
 * loading_client LIBRARY: a client of today's header that loads a library, possibly an older one.
 * It checks the table before it uses NEWEST, the newest function; if that is missing, it reports
 * DLBRIDGE_ERROR_UNSUPPORTED.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "dlbridge/dlbridge.h"

#if !defined(NEWEST)
#define NEWEST version /* for tools that compile only this file */
#endif
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

static const DLBridgeApi* g_api;

static void report(const char* call, DLBridgeStatus status, const DLBridgeError* error) {
  printf("%s: %s%s%s\n", call, g_api->status_name(status), status == DLBRIDGE_OK ? "" : ": ",
         status == DLBRIDGE_OK ? "" : error->message);
}

/* A missing function is rejected like any other request that the library cannot fulfil. */
static DLBridgeStatus use_newest(DLBridgeError* error) {
  if (DLBRIDGE_API_HAS(g_api, NEWEST)) return DLBRIDGE_OK;
  error->status = DLBRIDGE_ERROR_UNSUPPORTED;
  snprintf(error->message, sizeof error->message, "libdlbridge %s has no %s: load a newer one",
           g_api->version_string(), TEXT(NEWEST));
  return error->status;
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
  report("newest", use_newest(&error), &error);
  return 0;
}
