/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that from_dlpack's `ndim` and `shape` put on a tensor. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_LIMITS_H_
#define DLBRIDGE_BINDINGS_PYTHON_LIMITS_H_

#include "state.h"

typedef struct {
  int32_t min_ndim;
  int32_t max_ndim;
  int64_t shape[DLBRIDGE_MAX_NDIM]; /* -1: any */
} CoreLimits;
/* Reads an integer, or (least, most) with None for an open end. */
int core_read_ndim(PyObject* value, CoreLimits* out);
/* Reads an extent for each axis, None for any. */
int core_read_shape(PyObject* value, CoreLimits* out);

#endif /* DLBRIDGE_BINDINGS_PYTHON_LIMITS_H_ */
