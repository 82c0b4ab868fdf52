/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "dlbridge/dlbridge.h"

/* The host: takes a tensor of either kind from a plugin and makes a second owner of its data. */
static DLManagedTensorVersioned* accept(void* given, DLManagedTensorVersioned** share) {
  DLManagedTensorVersioned* tensor = NULL;
  DLBridgeError error;
  if (dlbridge_import(given, DLBRIDGE_KIND_UNKNOWN, NULL, &tensor, &error) != DLBRIDGE_OK ||
      dlbridge_share(tensor, share, &error) != DLBRIDGE_OK)
    printf("rejected, rule %s: %s\n", dlbridge_rule_name(error.rule), error.message);
  return tensor; /* NULL: `given` was rejected, is untouched, and still belongs to the plugin */
}

int main(void) {
  /* The plugin: a legacy tensor of its own memory, without a deleter. */
  float data[6] = {0};
  int64_t shape[2] = {2, 3};
  DLManagedTensor legacy = {{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0}, NULL, NULL};

  DLManagedTensorVersioned* share = NULL;
  DLManagedTensorVersioned* tensor = accept(&legacy, &share);
  if (tensor == NULL || share == NULL) return 1;
  dlbridge_release_versioned(tensor);

  char text[128]; /* the second owner keeps the data */
  dlbridge_tensor_format(&share->dl_tensor, share->flags, text, sizeof text, NULL, NULL);
  printf("DLPack %u.%u: %s\n", share->version.major, share->version.minor, text);
  dlbridge_release_versioned(share); /* the last owner: calls the producer's deleter, if any */

  shape[0] = INT64_MAX; /* a crafted shape */
  return accept(&legacy, &share) == NULL ? 0 : 1;
}
