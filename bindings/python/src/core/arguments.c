/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of Python arguments. */
#include "arguments.h"

/* The first pass compares identity; texts are compared only if no name is the given object. */
PyObject* core_known_name(const CoreNames* names, PyObject* given) {
  PyObject* const* all = (PyObject* const*)names;
  const size_t count = sizeof *names / sizeof *all;
  size_t i;
  for (i = 0; i < count; ++i) {
    if (given == all[i]) {
      return given;
    }
  }
  /* Names are NULL while the module is being cleared. */
  for (i = 0; i < count; ++i) {
    if (all[i] != NULL && PyUnicode_Compare(given, all[i]) == 0) {
      return all[i];
    }
  }
  return given;
}

int core_given_twice(const char* function, PyObject* name) {
  PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", function, name);
  return -1;
}

int core_unknown_keyword(const char* function, PyObject* given) {
  PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, given);
  return -1;
}

int core_positional(const char* function, Py_ssize_t found, Py_ssize_t least, Py_ssize_t most) {
  if (found >= least && found <= most) {
    return 0;
  }
  if (least == most) {
    PyErr_Format(PyExc_TypeError, "%s() takes %zd positional argument%s, found %zd", function, most,
                 most == 1 ? "" : "s", found);
  } else {
    PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd positional arguments, found %zd", function,
                 least, most, found);
  }
  return -1;
}

static int out_of_range(const char* what, PyObject* value) {
  PyErr_Format(PyExc_ValueError, "expected %s, found %R", what, value);
  return -1;
}

int core_read_integer(PyObject* value, const char* what, int64_t* out) {
  *out = PyLong_AsLongLong(value);
  if (*out != -1 || !PyErr_Occurred()) {
    return 0;
  }
  if (!PyErr_ExceptionMatches(PyExc_OverflowError)) {
    return -1;
  }
  PyErr_Clear();
  return out_of_range(what, value);
}

/* A pair of integers, such as a device or a version. */
static int read_pair(PyObject* value, const char* what, int64_t* first, int64_t* second) {
  if (!PyTuple_Check(value) || CORE_TUPLE_SIZE(value) != 2) {
    PyErr_Format(PyExc_TypeError, "expected %s, found %R", what, value);
    return -1;
  }
  /* core_read_integer calls __index__, so integer enumerations are accepted. */
  return core_read_integer(CORE_TUPLE_ITEM(value, 0), what, first) < 0 ||
                 core_read_integer(CORE_TUPLE_ITEM(value, 1), what, second) < 0
             ? -1
             : 0;
}

static int read_device_name(PyObject* value, DLDevice* out) {
  DLBridgeError error;
  Py_ssize_t length;
  const char* text = PyUnicode_AsUTF8AndSize(value, &length);
  if (text == NULL) {
    return -1;
  }
  if (dlbridge_device_parse(text, (size_t)length, out, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  return 0;
}

static int read_device_pair(PyObject* value, DLDevice* out) {
  static const char expected[] = "a device: \"cpu\", \"cuda:1\" or (device_type, device_id)";
  int64_t type, id;
  int32_t small;
  if (read_pair(value, expected, &type, &id) < 0) {
    return -1;
  }
  if (type < INT32_MIN || type > INT32_MAX || id < INT32_MIN || id > INT32_MAX) {
    return out_of_range(expected, value);
  }
  small = (int32_t)type;
  memcpy(&out->device_type, &small, sizeof small);
  out->device_id = (int32_t)id;
  return 0;
}

int core_read_device(PyObject* value, DLDevice* out) {
  if ((PyUnicode_Check(value) ? read_device_name(value, out) : read_device_pair(value, out)) < 0) {
    return -1;
  }
  /* The host is one device: an ordinal is accepted, as PyTorch does, and has no meaning. */
  if ((int64_t)out->device_type == kDLCPU) {
    out->device_id = 0;
  }
  return 0;
}

static int read_dtype_name(PyObject* value, DLDataType* out) {
  DLBridgeError error;
  Py_ssize_t length;
  const char* text = PyUnicode_AsUTF8AndSize(value, &length);
  if (text == NULL) {
    return -1;
  }
  if (dlbridge_dtype_parse(text, (size_t)length, out, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  return 0;
}

int core_read_dtype(PyObject* value, DLDataType* out) {
  static const char expected[] = "a dtype: \"float32\" or (code, bits, lanes)";
  int64_t code, bits, lanes;
  if (PyUnicode_Check(value)) {
    return read_dtype_name(value, out);
  }
  if (!PyTuple_Check(value) || CORE_TUPLE_SIZE(value) != 3) {
    PyErr_Format(PyExc_TypeError, "expected %s, found %R", expected, value);
    return -1;
  }
  if (core_read_integer(CORE_TUPLE_ITEM(value, 0), expected, &code) < 0 ||
      core_read_integer(CORE_TUPLE_ITEM(value, 1), expected, &bits) < 0 ||
      core_read_integer(CORE_TUPLE_ITEM(value, 2), expected, &lanes) < 0) {
    return -1;
  }
  if (code < 0 || code > UINT8_MAX || bits < 0 || bits > UINT8_MAX || lanes < 0 ||
      lanes > UINT16_MAX) {
    return out_of_range(expected, value);
  }
  out->code = (uint8_t)code;
  out->bits = (uint8_t)bits;
  out->lanes = (uint16_t)lanes;
  return 0;
}

int core_read_version(PyObject* value, DLPackVersion* out, int* given) {
  static const char expected[] = "max_version to be None or (major, minor)";
  int64_t major, minor;
  *given = 0;
  if (value == NULL || value == Py_None) {
    return 0;
  }
  if (read_pair(value, expected, &major, &minor) < 0) {
    return -1;
  }
  if (major < 0 || major > UINT32_MAX || minor < 0 || minor > UINT32_MAX) {
    return out_of_range(expected, value);
  }
  out->major = (uint32_t)major;
  out->minor = (uint32_t)minor;
  *given = 1;
  return 0;
}

int core_read_copy(PyObject* value, uint32_t* options) {
  if (value == Py_True) {
    *options |= DLBRIDGE_PY_COPY_ALWAYS;
  } else if (value == Py_False) {
    *options |= DLBRIDGE_PY_COPY_NEVER;
  } else if (value != NULL && value != Py_None) {
    PyErr_Format(PyExc_TypeError, "expected copy to be None, True or False, found %R", value);
    return -1;
  }
  return 0;
}

int core_read_stream(PyObject* value, int64_t* out) {
  if (value == NULL || value == Py_None || value == Py_Ellipsis) {
    *out = DLBRIDGE_ARRAY_API_STREAM_NONE;
    return 0;
  }
  if (!PyLong_Check(value) || PyBool_Check(value)) {
    PyErr_Format(PyExc_TypeError, "expected stream to be None or an integer, found %R", value);
    return -1;
  }
  if (core_read_integer(value, "a stream", out) < 0) {
    return -1;
  }
  return *out == DLBRIDGE_ARRAY_API_STREAM_NONE ? out_of_range("a stream", value) : 0;
}

static int read_small(PyObject* value, const char* what, int32_t* out) {
  int64_t wide;
  if (core_read_integer(value, what, &wide) < 0) {
    return -1;
  }
  *out = (int32_t)wide;
  return wide < INT32_MIN || wide > INT32_MAX ? out_of_range(what, value) : 0;
}

int core_read_native_stream(PyObject* value, DLBridgeStream* out) {
  static const char expected[] = "a stream: (backend, kind, device, handle, context)";
  *out = dlbridge_stream_init();
  if (CORE_TUPLE_SIZE(value) != 5) {
    PyErr_Format(PyExc_TypeError, "expected %s, found %R", expected, value);
    return -1;
  }
  return read_small(CORE_TUPLE_ITEM(value, 0), expected, &out->backend) < 0 ||
                 read_small(CORE_TUPLE_ITEM(value, 1), expected, &out->kind) < 0 ||
                 core_read_device(CORE_TUPLE_ITEM(value, 2), &out->device) < 0 ||
                 core_read_unsigned(CORE_TUPLE_ITEM(value, 3), expected, &out->handle) < 0 ||
                 core_read_unsigned(CORE_TUPLE_ITEM(value, 4), expected, &out->context) < 0
             ? -1
             : 0;
}

int core_read_unsigned(PyObject* value, const char* what, uint64_t* out) {
  PyObject* number = PyNumber_Index(value);
  if (number == NULL) {
    return -1;
  }
  *out = PyLong_AsUnsignedLongLong(number);
  Py_DECREF(number);
  if (*out == UINT64_MAX && PyErr_Occurred()) {
    PyErr_Clear();
    return out_of_range(what, value);
  }
  return 0;
}

static int expected_integers(const char* what, PyObject* found) {
  PyErr_Format(PyExc_TypeError, "expected %s to be a sequence of integers, found %R", what, found);
  return -1;
}

static int read_extent(PyObject* sequence, const char* what, Py_ssize_t index, int64_t* out) {
  int status;
  PyObject* item = PySequence_GetItem(sequence, index);
  if (item == NULL) {
    return -1;
  }
  status = PyIndex_Check(item) ? core_read_integer(item, "integers of 64 bits", out)
                               : expected_integers(what, sequence);
  Py_DECREF(item);
  return status;
}

int core_read_extents(PyObject* value, const char* what, int64_t** out, int32_t* count) {
  Py_ssize_t i, size;
  if (!PySequence_Check(value) || PyUnicode_Check(value) || PyBytes_Check(value)) {
    return expected_integers(what, value);
  }
  size = PySequence_Size(value);
  if (size < 0) {
    return -1;
  }
  if (size > 1024) {
    PyErr_Format(PyExc_ValueError, "expected %s of at most 1024 axes, found %zd", what, size);
    return -1;
  }
  *out = (int64_t*)PyMem_Malloc(((size_t)size + 1) * sizeof **out);
  if (*out == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  for (i = 0; i < size; ++i) {
    if (read_extent(value, what, i, &(*out)[i]) < 0) {
      PyMem_Free(*out);
      *out = NULL;
      return -1;
    }
  }
  *count = (int32_t)size;
  return 0;
}
