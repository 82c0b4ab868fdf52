/*
 * SPDX-License-Identifier: Apache-2.0
 * The functions that the plugins of these tests export. Each makes a 2 x 3 tensor of the floats 0
 * to 5.
 */
#ifndef DLBRIDGE_TESTS_PLUGIN_PLUGIN_H_
#define DLBRIDGE_TESTS_PLUGIN_PLUGIN_H_

#include "dlbridge/dlpack.h"

#define PLUGIN_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* NULL on failure. `deletions`, which must outlive the tensor, counts the calls of the plugin's
 * deleter, if the plugin has one. */
PLUGIN_EXPORT DLManagedTensorVersioned* plugin_make(int* deletions);

/* Makes a legacy tensor; only in plugins with their own deleter. */
PLUGIN_EXPORT DLManagedTensor* plugin_make_legacy(int* deletions);

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_TESTS_PLUGIN_PLUGIN_H_ */
