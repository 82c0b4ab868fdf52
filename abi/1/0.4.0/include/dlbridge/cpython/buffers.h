/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Import of objects that have the buffer protocol but not DLPack: bytes, array.array, memoryview, mmap.
 * Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_BUFFERS_H_
#define DLBRIDGE_CPYTHON_BUFFERS_H_

#include "dlbridge/cpython/options.h"
#include "dlbridge/cpython/owners.h"

#ifdef __cplusplus
extern "C" {
#endif

/* DLPack's code of a format without its byte order; -1 if it has none. */
static inline int dlbridge_py_format_code_(const char* format) {
  const int complex_letter = *format == 'Z';
  format += complex_letter;
  if (*format == '\0' || format[1] != '\0') {
    return -1;
  }
  return complex_letter ? (strchr("fd", *format) != NULL ? (int)kDLComplex : -1)
         : strchr("FD", *format) != NULL     ? (int)kDLComplex
         : strchr("bhilqn", *format) != NULL ? (int)kDLInt
         : strchr("BHILQN", *format) != NULL ? (int)kDLUInt
         : strchr("efd", *format) != NULL    ? (int)kDLFloat
         : *format == '?'                    ? (int)kDLBool
                                             : -1;
}

/* Returns 1 if DLPack has elements of this code with so many bytes. */
static inline int dlbridge_py_has_size_(int code, Py_ssize_t bytes) {
  switch (code) {
    case kDLBool:
      return bytes == 1;
    case kDLComplex:
      return bytes == 8 || bytes == 16;
    case kDLFloat:
      return bytes == 2 || bytes == 4 || bytes == 8;
    default:
      return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  }
}

/* Reads the dtype of a buffer's elements. The letters of C's types have the size that the buffer states.
 * Returns -1 if DLPack has none, or if the byte order is not that of this machine. */
static inline int dlbridge_py_buffer_dtype_(const Py_buffer* view, DLDataType* out) {
  const char* format = view->format != NULL ? view->format : "B";
  const int swapped = *format == '>' || *format == '!';
  int code;
  format += swapped || *format == '@' || *format == '=' || *format == '<' ? 1 : 0;
  code = dlbridge_py_format_code_(format);
  if (code < 0 || !dlbridge_py_has_size_(code, view->itemsize) || (swapped && view->itemsize > 1)) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_POLICY, DLBRIDGE_RULE_DTYPE_REJECTED,
                        "dtype: expected a buffer of numbers or bools in the byte order of this "
                        "machine, found the format '%.50s' of %zd bytes; convert it, or take its "
                        "bytes as another dtype by dlbridge.from_buffer(x, dtype=...)",
                        view->format != NULL ? view->format : "B", view->itemsize);
    return -1;
  }
  out->code = (uint8_t)code;
  out->bits = (uint8_t)(8 * view->itemsize);
  out->lanes = 1;
  return 0;
}

/* Reads the strides in elements. An axis with at most one index needs none. */
static inline int dlbridge_py_buffer_strides_(const Py_buffer* view, int64_t* strides) {
  int axis;
  for (axis = 0; axis < view->ndim; ++axis) {
    const int used = view->shape[axis] > 1 && view->len > 0;
    strides[axis] = used ? view->strides[axis] / view->itemsize : 1;
    if (used && view->strides[axis] % view->itemsize != 0) {
      return dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_NONE,
                                 "strides: expected a multiple of the element's %zd bytes on axis %d, "
                                 "found %zd bytes; copy the buffer",
                                 view->itemsize, axis, view->strides[axis]);
    }
  }
  return 0;
}

/* Rejects what a memoryview of the buffer could not describe either. */
static inline int dlbridge_py_check_buffer_(const Py_buffer* view) {
  if (view->ndim >= 0 && view->ndim <= DLBRIDGE_MAX_NDIM && view->suboffsets == NULL &&
      (view->ndim == 0 || view->shape != NULL)) {
    return 0;
  }
  return dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_NONE,
                             "buffer: expected a shape of at most %d axes and no suboffsets, found %d "
                             "axes%s%s",
                             DLBRIDGE_MAX_NDIM, view->ndim, view->shape == NULL ? ", no shape" : "",
                             view->suboffsets != NULL ? ", suboffsets; copy it" : "");
}

/* Reads shape and strides. `*out` is NULL for a C-contiguous buffer without strides, as of ctypes. */
static inline int dlbridge_py_buffer_layout_(const Py_buffer* view, int64_t* shape, int64_t* strides,
                                             const int64_t** out) {
  int axis;
  if (dlbridge_py_check_buffer_(view) < 0) {
    return -1;
  }
  for (axis = 0; axis < view->ndim; ++axis) {
    shape[axis] = view->shape[axis];
  }
  *out = view->strides != NULL ? strides : NULL;
  return view->strides != NULL ? dlbridge_py_buffer_strides_(view, strides) : 0;
}

/* Makes a tensor of the buffer, which passes to it or is released. */
static inline int dlbridge_py_of_buffer_(DLBridgePy* py, Py_buffer* view,
                                         const DLBridgePyImportOptions* options,
                                         DLManagedTensorVersioned** out) {
  int64_t shape[DLBRIDGE_MAX_NDIM], strides[DLBRIDGE_MAX_NDIM];
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  if (dlbridge_py_buffer_dtype_(view, &spec.dtype) < 0 ||
      dlbridge_py_buffer_layout_(view, shape, strides, &spec.strides) < 0) {
    PyBuffer_Release(view);
    return -1;
  }
  spec.ndim = view->ndim;
  spec.shape = shape;
  spec.device.device_type = kDLCPU;
  spec.buffer = dlbridge_buffer_address(view->buf);
  spec.tensor_flags = view->readonly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  spec.policy = options->policy;
  return dlbridge_py_wrap_buffer(py, view, &spec, out);
}

/* Returns 1 if the object has no __dlpack__. Called while an exception is set, which stays, unless there
 * is no memory for this question: then it is a MemoryError. */
static inline int dlbridge_py_lacks_dlpack_(DLBridgePy* py, PyObject* object) {
  DLBridgePyPending_ pending = dlbridge_py_set_aside_(), newer;
  PyObject* method = PyObject_GetAttr(object, py->dlpack_name);
  const int lacks = method == NULL && PyErr_ExceptionMatches(PyExc_AttributeError);
  const int no_memory = method == NULL && PyErr_ExceptionMatches(PyExc_MemoryError);
  Py_XDECREF(method);
  if (!no_memory) {
    PyErr_Clear();
    dlbridge_py_put_back_(pending);
    return lacks;
  }
  newer = dlbridge_py_set_aside_();
  dlbridge_py_put_back_(pending);
  PyErr_Clear();
  dlbridge_py_put_back_(newer);
  return 0;
}

/* Returns 1 if the current exception is that of an object without DLPack which has a buffer instead. */
static inline int dlbridge_py_has_buffer_instead_(DLBridgePy* py, PyObject* object) {
  return PyErr_ExceptionMatches(PyExc_TypeError) && PyObject_CheckBuffer(object) &&
         dlbridge_py_lacks_dlpack_(py, object);
}

/* Called after an object had no __dlpack__: makes a tensor of its buffer, or keeps the exception. */
DLBRIDGE_PY_APART_ int dlbridge_py_by_buffer_(DLBridgePy* py, PyObject* object,
                                              const DLBridgePyImportOptions* options,
                                              DLManagedTensorVersioned** out) {
  Py_buffer view;
  if (!dlbridge_py_has_buffer_instead_(py, object)) {
    return -1;
  }
  PyErr_Clear();
  return PyObject_GetBuffer(object, &view, PyBUF_STRIDES | PyBUF_FORMAT) < 0
             ? -1
             : dlbridge_py_of_buffer_(py, &view, options, out);
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_BUFFERS_H_ */
