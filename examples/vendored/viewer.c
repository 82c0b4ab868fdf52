/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "dlbridge/dlbridge.h"

DLManagedTensorVersioned* camera_frame(void);

/* Takes a frame of the other project, whose tensors are foreign to this copy of dlbridge. */
int main(void) {
  DLBridgeError error;
  DLManagedTensorVersioned *frame = camera_frame(), *own = NULL;
  if (frame == NULL) return 1;
  if (dlbridge_import(frame, DLBRIDGE_KIND_VERSIONED, NULL, &own, &error) != DLBRIDGE_OK) {
    printf("rejected: %s\n", error.message);
    frame->deleter(frame);
    return 1;
  }
  printf("dlbridge %s: a frame of %d x %d bytes\n", dlbridge_version_string(),
         (int)own->dl_tensor.shape[0], (int)own->dl_tensor.shape[1]);
  dlbridge_release_versioned(own); /* calls the deleter of the camera's copy */
  return 0;
}
