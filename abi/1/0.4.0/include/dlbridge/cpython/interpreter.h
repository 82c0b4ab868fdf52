/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * dlbridge_py_state: a DLBridgePy without a module, one for each interpreter, made at the first use. For
 * extensions that have no module state, such as those of pybind11 and nanobind. Part of
 * dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_INTERPRETER_H_
#define DLBRIDGE_CPYTHON_INTERPRETER_H_

#include "dlbridge/cpython/life.h"
#include "dlbridge/cpython/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The state of the main interpreter, and what names the states of the others. An extension has its own,
 * since it may be compiled with another version of DLBridgePy than the next one. */
static inline void** dlbridge_py_main_state_(void) {
  static void* state = NULL;
  return &state;
}

/* The capsule's destructor, late in the finalization of the interpreter. */
static inline void dlbridge_py_interpreter_ends_(PyObject* capsule) {
  DLBridgePy* py = (DLBridgePy*)PyCapsule_GetPointer(capsule, "dlbridge_py");
  if (py != NULL) {
    DLBridgePyPending_ pending = dlbridge_py_set_aside_();
    dlbridge_py_replace_(dlbridge_py_main_state_(), py, NULL);
    dlbridge_py_clear(py);
    free(py);
    PyErr_Clear();
    dlbridge_py_put_back_(pending);
  }
}

/* Returns a new capsule of a new state, or NULL with an exception. */
static inline PyObject* dlbridge_py_new_state_(void) {
  PyObject* capsule = NULL;
  DLBridgePy* py = (DLBridgePy*)malloc(sizeof *py);
  if (py == NULL) {
    return PyErr_NoMemory();
  }
  if (dlbridge_py_init(py) == 0) {
    capsule = PyCapsule_New(py, "dlbridge_py", dlbridge_py_interpreter_ends_);
  }
  if (capsule == NULL) {
    dlbridge_py_clear(py);
    free(py);
  }
  return capsule;
}

/* Adds the capsule to the dictionary, unless another thread was faster; returns the one that is there,
 * borrowed from the dictionary. Takes the reference `capsule`. */
static inline PyObject* dlbridge_py_add_state_(PyObject* places, PyObject* key, PyObject* capsule) {
  PyObject* found;
#ifdef Py_GIL_DISABLED
  PyDict_SetDefaultRef(places, key, capsule, &found);
  Py_XDECREF(found); /* the dictionary holds it until the interpreter ends */
#else
  found = PyDict_GetItemWithError(places, key);
  if (found == NULL && !PyErr_Occurred() && PyDict_SetItem(places, key, capsule) == 0) {
    found = capsule;
  }
#endif
  Py_DECREF(capsule);
  return found;
}

/* Looks the state up in the interpreter's dictionary, and makes it if it is missing. */
static inline DLBridgePy* dlbridge_py_find_state_(PyInterpreterState* interpreter) {
  PyObject *key, *found, *places = PyInterpreterState_GetDict(interpreter);
  if (places == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "expected an interpreter in use, found one without a "
                                        "dictionary for extensions");
    return NULL;
  }
  key = PyLong_FromVoidPtr((void*)dlbridge_py_main_state_());
  if (key == NULL) {
    return NULL;
  }
  found = PyDict_GetItemWithError(places, key);
  if (found == NULL && !PyErr_Occurred()) {
    PyObject* capsule = dlbridge_py_new_state_();
    found = capsule != NULL ? dlbridge_py_add_state_(places, key, capsule) : NULL;
  }
  Py_DECREF(key);
  return found != NULL ? (DLBridgePy*)PyCapsule_GetPointer(found, "dlbridge_py") : NULL;
}

/** The DLBridgePy of the current interpreter, which lives as long as the interpreter: for extensions
 * without module state. Each source file that calls it has its own. NULL with an exception on failure.
 * \since 0.4.0 */
static inline DLBridgePy* dlbridge_py_state(void) {
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  void* state = NULL;
  if (PyInterpreterState_GetID(interpreter) != 0) {
    return dlbridge_py_find_state_(interpreter);
  }
  state = dlbridge_py_look_at_(dlbridge_py_main_state_());
  if (state == NULL) {
    state = dlbridge_py_find_state_(interpreter);
    dlbridge_py_swap_(dlbridge_py_main_state_(), state);
  }
  return (DLBridgePy*)state;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_INTERPRETER_H_ */
