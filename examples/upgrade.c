/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "dlbridge/dlbridge.h"

int main(void) {
  /* A legacy tensor, as a framework hands it out. Nothing in it says who may write to it. */
  float data[6] = {0};
  int64_t shape[2] = {2, 3};
  DLManagedTensor legacy = {{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0}, NULL, NULL};

  DLManagedTensorVersioned* tensor = NULL;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  if (dlbridge_upgrade(&legacy, NULL, &tensor, &error) != DLBRIDGE_OK) return 1;

  char text[128];
  dlbridge_tensor_format(&tensor->dl_tensor, tensor->flags, text, sizeof text, NULL, NULL);
  printf("DLPack %u.%u: %s\n", tensor->version.major, tensor->version.minor, text);
  dlbridge_release_versioned(tensor); /* calls the producer's deleter, where there is one */

  shape[0] = INT64_MAX; /* a crafted shape: refused, and still the caller's */
  if (dlbridge_upgrade(&legacy, NULL, &tensor, &error) == DLBRIDGE_OK) return 1;
  printf("%s: %s\n", dlbridge_rule_name(error.rule), error.message);
  return 0;
}
