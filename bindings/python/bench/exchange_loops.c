// SPDX-License-Identifier: Apache-2.0
// What an extension does with an array that it receives, in the least code: one call each from
// Python, and `nothing`, whose cost is subtracted. The other functions control callgrind.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <valgrind/callgrind.h>

#include "dlbridge/cpython_api.h"

static DLBridgePy state;

static PyObject* nothing(PyObject* self, PyObject* object) {
  (void)self;
  (void)object;
  return Py_NewRef(Py_None);
}

static PyObject* owned(PyObject* self, PyObject* object) {
  DLManagedTensorVersioned* tensor;
  (void)self;
  if (dlbridge_py_import(&state, object, NULL, &tensor) < 0) {
    return NULL;
  }
  dlbridge_py_release(tensor);
  return Py_NewRef(Py_None);
}

static PyObject* borrowed(PyObject* self, PyObject* object) {
  DLBridgePyBorrowed tensor;
  (void)self;
  if (dlbridge_py_borrow(&state, object, NULL, &tensor) < 0) {
    return NULL;
  }
  dlbridge_py_give_back(&tensor);
  return Py_NewRef(Py_None);
}

// Counts from zero.
static PyObject* count_start(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  return Py_NewRef(Py_None);
}

// Writes the counts under a name.
static PyObject* count_write(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  (void)self;
  if (text == NULL) {
    return NULL;
  }
  CALLGRIND_DUMP_STATS_AT(text);
  return Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"nothing", nothing, METH_O, "nothing(object)"},
    {"owned", owned, METH_O, "owned(object): import and release."},
    {"borrowed", borrowed, METH_O, "borrowed(object): borrow and release."},
    {"count_start", count_start, METH_NOARGS, "count_start()"},
    {"count_write", count_write, METH_O, "count_write(name)"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "exchange_loops", NULL, -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_exchange_loops(void) {
  return dlbridge_py_init(&state) < 0 ? NULL : PyModule_Create(&definition);
}
