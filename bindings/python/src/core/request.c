/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of __dlpack__ that are common and ask for nothing special. */
#include "request.h"

#include "arguments.h"

/* A part of a version; -1 if it is not a small integer. */
static long read_part(PyObject* value) {
  long part;
  if (!PyLong_CheckExact(value)) {
    return -1;
  }
  part = PyLong_AsLong(value);
  if (part == -1) {
    PyErr_Clear();
  }
  return part <= INT32_MAX ? part : -1;
}

static int parse_version(PyObject* value, DLPackVersion* out) {
  long major, minor;
  if (!PyTuple_CheckExact(value) || CORE_TUPLE_SIZE(value) != 2) {
    return 0;
  }
  major = read_part(CORE_TUPLE_ITEM(value, 0));
  minor = read_part(CORE_TUPLE_ITEM(value, 1));
  if (major < 0 || minor < 0) {
    return 0;
  }
  out->major = (uint32_t)major;
  out->minor = (uint32_t)minor;
  return 1;
}

#ifdef Py_GIL_DISABLED
static int read_version(CoreShortcuts* shortcuts, PyObject* value, DLPackVersion* out) {
  (void)shortcuts;
  return parse_version(value, out);
}
#else
/* Consumers pass one constant tuple of integers, which cannot change. */
static int read_version(CoreShortcuts* shortcuts, PyObject* value, DLPackVersion* out) {
  if (value != shortcuts->version) {
    PyObject* old;
    if (!parse_version(value, &shortcuts->version_value)) {
      return 0;
    }
    old = shortcuts->version;
    shortcuts->version = Py_NewRef(value);
    Py_XDECREF(old); /* may run Python code */
  }
  *out = shortcuts->version_value;
  return 1;
}
#endif

/* The known name that is equal to a given one. Most callers' names are interned, as the known ones
 * are; those of NumPy 2.2 are not. */
static PyObject* known_name(const CoreNames* names, PyObject* given) {
  return given == names->max_version || given == names->copy || given == names->dl_device ||
                 given == names->stream
             ? given
             : core_known_name(names, given);
}

int core_read_plain(CoreState* state, PyObject* const* values, PyObject* keywords,
                    DLPackVersion* newest) {
  const CoreNames* names = &state->names;
  Py_ssize_t i, count = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  int found = 0;
  for (i = 0; i < count; ++i) {
    PyObject* name = known_name(names, CORE_TUPLE_ITEM(keywords, i));
    if (name == names->max_version) {
      if (!read_version(&state->shortcuts, values[i], newest)) {
        return 0;
      }
      found = 1;
    } else if (!(name == names->copy && values[i] == Py_False) &&
               !((name == names->copy || name == names->dl_device || name == names->stream) &&
                 values[i] == Py_None)) {
      return 0;
    }
  }
  return found;
}
