// SPDX-License-Identifier: Apache-2.0
// Loops in C around one import each: the cost for an extension that receives an array. Each returns
// the nanoseconds of one round; callgrind counts only the loop.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <time.h>
#include <valgrind/callgrind.h>

#include "dlbridge/cpython_api.h"

static DLBridgePy state;

static int owned(PyObject* object) {
  DLManagedTensorVersioned* tensor;
  if (dlbridge_py_import(&state, object, NULL, &tensor) < 0) {
    return -1;
  }
  dlbridge_py_release(tensor);
  return 0;
}

static int borrowed(PyObject* object) {
  DLBridgePyBorrowed tensor;
  if (dlbridge_py_borrow(&state, object, NULL, &tensor) < 0) {
    return -1;
  }
  dlbridge_py_give_back(&tensor);
  return 0;
}

static int memory(PyObject* unused) {
  void* block = malloc(128);
  (void)unused;
  __asm__ volatile("" : : "r"(block) : "memory");
  free(block);
  return 0;
}

static PyObject* loop(PyObject* arguments, int (*round)(PyObject*)) {
  PyObject* object;
  long i, count;
  struct timespec start, end;
  if (!PyArg_ParseTuple(arguments, "Ol", &object, &count)) {
    return NULL;
  }
  CALLGRIND_TOGGLE_COLLECT;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (i = 0; i < count; ++i) {
    if (round(object) < 0) {
      return NULL;
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  CALLGRIND_TOGGLE_COLLECT;
  return PyFloat_FromDouble(
      ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
      (double)count);
}

static PyObject* loop_owned(PyObject* self, PyObject* arguments) {
  (void)self;
  return loop(arguments, owned);
}
static PyObject* loop_borrowed(PyObject* self, PyObject* arguments) {
  (void)self;
  return loop(arguments, borrowed);
}
static PyObject* loop_memory(PyObject* self, PyObject* arguments) {
  (void)self;
  return loop(arguments, memory);
}

static PyMethodDef functions[] = {
    {"owned", loop_owned, METH_VARARGS, "owned(object, rounds): import and release."},
    {"borrowed", loop_borrowed, METH_VARARGS, "borrowed(object, rounds): borrow and release."},
    {"memory", loop_memory, METH_VARARGS, "memory(None, rounds): malloc and free of 128 bytes."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "exchange_loops", NULL, -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_exchange_loops(void) {
  return dlbridge_py_init(&state) < 0 ? NULL : PyModule_Create(&definition);
}
