/*
 * SPDX-License-Identifier: Apache-2.0
 * What host and plugin agree on: plain DLPack, and who owns what.
 */
#ifndef DLBRIDGE_EXAMPLES_PLUGIN_PLUGIN_H_
#define DLBRIDGE_EXAMPLES_PLUGIN_PLUGIN_H_

#include "dlbridge/dlpack.h"

/* Each gives the caller a tensor to release, or NULL. */
DLManagedTensorVersioned* plugin_squares(void); /* memory and deleter are dlbridge's */
DLManagedTensor* plugin_primes(void);           /* data and deleter lie in the plugin */

#endif /* DLBRIDGE_EXAMPLES_PLUGIN_PLUGIN_H_ */
