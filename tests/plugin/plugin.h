/*
 * SPDX-License-Identifier: Apache-2.0
 * What the plugins of these tests export. Each makes a tensor of six floats, 0 to 5, as 2 x 3.
 */
#ifndef DLBRIDGE_TESTS_PLUGIN_PLUGIN_H_
#define DLBRIDGE_TESTS_PLUGIN_PLUGIN_H_

#include "dlbridge/dlpack.h"

#define PLUGIN_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* NULL where it fails. `deletions`, which must outlive the tensor, counts the calls of the plugin's
 * own deleter, where the plugin has one. */
PLUGIN_EXPORT DLManagedTensorVersioned* plugin_make(int* deletions);

/* The same as a legacy tensor; only of plugins with a deleter of their own. */
PLUGIN_EXPORT DLManagedTensor* plugin_make_legacy(int* deletions);

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_TESTS_PLUGIN_PLUGIN_H_ */
