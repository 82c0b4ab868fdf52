/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that from_dlpack's `ndim` and `shape` put on a tensor. */
#include "limits.h"

#include "arguments.h"

static int expected_ndim(PyObject* found) {
  PyErr_Format(PyExc_ValueError, "expected ndim from 0 to %d, found %R", DLBRIDGE_MAX_NDIM, found);
  return -1;
}

/* Reads a number of axes; None means `open`. */
static int read_axes(PyObject* value, int32_t open, int32_t* out) {
  int64_t axes;
  *out = open;
  if (value == Py_None) {
    return 0;
  }
  if (core_read_integer(value, "ndim of 64 bits", &axes) < 0) {
    return -1;
  }
  if (axes < 0 || axes > DLBRIDGE_MAX_NDIM) {
    return expected_ndim(value);
  }
  *out = (int32_t)axes;
  return 0;
}

static int read_range(PyObject* pair, CoreLimits* out) {
  if (read_axes(CORE_TUPLE_ITEM(pair, 0), 0, &out->min_ndim) < 0 ||
      read_axes(CORE_TUPLE_ITEM(pair, 1), DLBRIDGE_MAX_NDIM, &out->max_ndim) < 0) {
    return -1;
  }
  if (out->min_ndim > out->max_ndim) {
    PyErr_Format(PyExc_ValueError, "expected ndim as (least, most), found %R", pair);
    return -1;
  }
  return 0;
}

int core_read_ndim(PyObject* value, CoreLimits* out) {
  if (PyTuple_Check(value) && CORE_TUPLE_SIZE(value) == 2) {
    return read_range(value, out);
  }
  if (!PyIndex_Check(value) || PyBool_Check(value)) {
    PyErr_Format(PyExc_TypeError, "expected ndim to be an integer or (least, most), found %R",
                 value);
    return -1;
  }
  if (read_axes(value, 0, &out->min_ndim) < 0) {
    return -1;
  }
  out->max_ndim = out->min_ndim;
  return 0;
}

static int expected_shape(PyObject* found) {
  PyErr_Format(PyExc_TypeError,
               "expected shape to be a sequence of integers, None for any, found %R", found);
  return -1;
}

static int read_extent(PyObject* item, int64_t* out) {
  *out = -1;
  if (item == Py_None) {
    return 0;
  }
  if (core_read_integer(item, "extents of 64 bits", out) < 0) {
    return -1;
  }
  if (*out < 0) {
    PyErr_Format(PyExc_ValueError,
                 "expected extents of at least 0 in shape, found %R: None accepts any", item);
    return -1;
  }
  return 0;
}

static int read_item(PyObject* sequence, Py_ssize_t index, int64_t* out) {
  int status;
  PyObject* item = PySequence_GetItem(sequence, index);
  if (item == NULL) {
    return -1;
  }
  status =
      item == Py_None || PyIndex_Check(item) ? read_extent(item, out) : expected_shape(sequence);
  Py_DECREF(item);
  return status;
}

int core_read_shape(PyObject* value, CoreLimits* out) {
  Py_ssize_t i, size;
  if (!PySequence_Check(value) || PyUnicode_Check(value) || PyBytes_Check(value)) {
    return expected_shape(value);
  }
  size = PySequence_Size(value);
  if (size < 0) {
    return -1;
  }
  if (size > DLBRIDGE_MAX_NDIM) {
    PyErr_Format(PyExc_ValueError, "expected shape of at most %d axes, found %zd",
                 DLBRIDGE_MAX_NDIM, size);
    return -1;
  }
  for (i = 0; i < size; ++i) {
    if (read_item(value, i, &out->shape[i]) < 0) {
      return -1;
    }
  }
  out->min_ndim = out->max_ndim = (int32_t)size;
  return 0;
}
