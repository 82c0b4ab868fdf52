/*
 * SPDX-License-Identifier: Apache-2.0
 * Functions with one fault each, which LD_PRELOAD loads before the library; a macro selects one.
 * They stand for a faulty library, which the consumers' programs must reject.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "dlbridge/dlbridge.h"

typedef DLBridgeStatus (*Upgrade)(DLManagedTensor*, const DLBridgeConvertOptions*,
                                  DLManagedTensorVersioned**, DLBridgeError*);
typedef void (*Release)(DLManagedTensorVersioned*);

#if defined(ACCEPTS_ANYTHING)
DLBridgeStatus dlbridge_upgrade(DLManagedTensor* tensor, const DLBridgeConvertOptions* options,
                                DLManagedTensorVersioned** out, DLBridgeError* error) {
  Upgrade upgrade = (Upgrade)dlsym(RTLD_NEXT, "dlbridge_upgrade");
  tensor->dl_tensor.shape[0] = 2;
  return upgrade(tensor, options, out, error);
}

#elif defined(DELETES_EARLY) || defined(DELETES_TWICE)
static DLManagedTensor* upgraded;

DLBridgeStatus dlbridge_upgrade(DLManagedTensor* tensor, const DLBridgeConvertOptions* options,
                                DLManagedTensorVersioned** out, DLBridgeError* error) {
  Upgrade upgrade = (Upgrade)dlsym(RTLD_NEXT, "dlbridge_upgrade");
  DLBridgeStatus status = upgrade(tensor, options, out, error);
  if (status == DLBRIDGE_OK) upgraded = tensor;
#ifdef DELETES_EARLY
  if (status == DLBRIDGE_OK) tensor->deleter(tensor);
#endif
  return status;
}

void dlbridge_release_versioned(DLManagedTensorVersioned* tensor) {
  Release release = (Release)dlsym(RTLD_NEXT, "dlbridge_release_versioned");
  release(tensor);
#ifdef DELETES_TWICE
  upgraded->deleter(upgraded);
#endif
}

#elif defined(DELETES_NEVER)
void dlbridge_release_versioned(DLManagedTensorVersioned* tensor) { (void)tensor; }

#elif defined(OTHER_VERSION)
const char* dlbridge_version_string(void) { return "99.0"; }

#else
#error "which fault?"
#endif
