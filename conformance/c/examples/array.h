/* SPDX-License-Identifier: Apache-2.0
 * A small array library in C that exchanges DLPack tensors, and its project for the conformance
 * kit. */
#ifndef DLBRIDGE_CONFORMANCE_EXAMPLE_ARRAY_H_
#define DLBRIDGE_CONFORMANCE_EXAMPLE_ARRAY_H_

#include "dlbridge/conformance.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ARRAY_MAX_NDIM 8

/* A strided array in host memory. Exports and the array itself count as owners. */
typedef struct Array {
  int32_t owners;
  unsigned char* memory; /* owned; NULL if imported */
  unsigned char* data;   /* element (0,...,0) */
  int32_t ndim;
  int64_t shape[ARRAY_MAX_NDIM];
  int64_t strides[ARRAY_MAX_NDIM];
  DLDataType dtype;
  DLDevice device;
  int read_only;
  int padded;
  void* source; /* the imported tensor, or NULL */
  DLBridgeKind source_kind;
  DLBridgeConformanceQueue* queue; /* of an array on the emulated device */
} Array;

/* The arrays that are alive. */
int64_t array_live(void);

/* The callbacks of the project. */
DLBridgeConformanceProject array_project(void);

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CONFORMANCE_EXAMPLE_ARRAY_H_ */
