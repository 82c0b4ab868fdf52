/* SPDX-License-Identifier: Apache-2.0 */
/* The two libraries know neither each other nor the program: only tensors pass between them. */
#include "dlbridge/opencl_api.h"

/* A float32 tensor with 1, 2, 3, 4 in a buffer of the context of kDLOpenCL, 0; NULL: see `error`.
 */
DLManagedTensorVersioned* producer_make(DLBridgeError* error);

/* Writes 7 to the second half of a float32 tensor, on the queue of its device. Returns CL_SUCCESS,
 * a code of OpenCL, or -1: see `error`. */
int consumer_fill(const DLManagedTensorVersioned* tensor, DLBridgeError* error);
