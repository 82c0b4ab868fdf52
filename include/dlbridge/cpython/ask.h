/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Import by a producer's __dlpack__. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_ASK_H_
#define DLBRIDGE_CPYTHON_ASK_H_

#include "dlbridge/cpython/accept.h"
#include "dlbridge/cpython/life.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds a keyword argument; takes the reference `value`. */
static inline int dlbridge_py_keyword_(PyObject* keywords, const char* name, PyObject* value) {
  int status = value != NULL ? PyDict_SetItemString(keywords, name, value) : -1;
  Py_XDECREF(value);
  return status;
}

/* The keywords to pass: older producers know fewer of them. */
enum {
  DLBRIDGE_PY_ASK_STREAM_ = 0,  /* `stream`, of the first protocol */
  DLBRIDGE_PY_ASK_VERSION_ = 1, /* `max_version` too */
  DLBRIDGE_PY_ASK_ALL_ = 2      /* `dl_device` and `copy` too */
};

/* Returns the keywords as a new dict. */
static inline PyObject* dlbridge_py_keywords_(DLBridgePy* py, const DLBridgePyImportOptions* options,
                                              int ask) {
  PyObject* keywords = PyDict_New();
  int status = keywords != NULL ? 0 : -1;
  if (status == 0 && (options->options & DLBRIDGE_PY_STREAM) != 0) {
    status = dlbridge_py_keyword_(keywords, "stream", PyLong_FromLongLong(options->stream));
  }
  if (status == 0 && ask >= DLBRIDGE_PY_ASK_VERSION_) {
    status = PyDict_SetItemString(keywords, "max_version", py->version);
  }
  if (status == 0 && ask == DLBRIDGE_PY_ASK_ALL_ && options->device != NULL) {
    status = dlbridge_py_keyword_(
        keywords, "dl_device",
        Py_BuildValue("(ii)", (int)options->device->device_type, (int)options->device->device_id));
  }
  if (status == 0 && ask == DLBRIDGE_PY_ASK_ALL_ && dlbridge_py_says_copy_(options)) {
    status = dlbridge_py_keyword_(
        keywords, "copy", PyBool_FromLong((options->options & DLBRIDGE_PY_COPY_ALWAYS) != 0));
  }
  if (status < 0) {
    Py_CLEAR(keywords);
  }
  return keywords;
}

/* Calls __dlpack__ with the keywords of `ask`. */
static inline PyObject* dlbridge_py_call_with_(DLBridgePy* py, PyObject* object,
                                               const DLBridgePyImportOptions* options, int ask) {
  PyObject *method, *none, *keywords, *result = NULL;
  method = PyObject_GetAttr(object, py->dlpack_name);
  none = method != NULL ? PyTuple_New(0) : NULL;
  keywords = none != NULL ? dlbridge_py_keywords_(py, options, ask) : NULL;
  if (keywords != NULL) {
    result = PyObject_Call(method, none, keywords);
  }
  Py_XDECREF(keywords);
  Py_XDECREF(none);
  Py_XDECREF(method);
  return result;
}

/* Calls __dlpack__(max_version=...), which most producers support, without a dict or bound method. */
static inline PyObject* dlbridge_py_call_usual_(DLBridgePy* py, PyObject* object) {
  PyObject* arguments[3];
  arguments[0] = NULL;
  arguments[1] = object;
  arguments[2] = py->version;
  return PyObject_VectorcallMethod(py->dlpack_name, arguments + 1,
                                   1 | PY_VECTORCALL_ARGUMENTS_OFFSET, py->version_keyword);
}

/* Turns the AttributeError of an object without __dlpack__ into a TypeError; keeps other exceptions. */
static inline void dlbridge_py_explain_(DLBridgePy* py, PyObject* object) {
  if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
    DLBridgePyPending_ pending = dlbridge_py_set_aside_();
    PyObject* method = PyObject_GetAttr(object, py->dlpack_name);
    const int missing = method == NULL && PyErr_ExceptionMatches(PyExc_AttributeError);
    Py_XDECREF(method);
    PyErr_Clear();
    dlbridge_py_put_back_(pending);
    if (!missing) {
      return;
    }
    PyErr_Clear();
    dlbridge_py_reject_(PyExc_TypeError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                        "expected an object that supports DLPack (__dlpack__, an exchange table, or "
                        "a DLPack capsule), found an instance of %R",
                        (PyObject*)Py_TYPE(object));
  }
}

/* Calls __dlpack__ with the keywords of the current protocol. If the producer does not know them, tries
 * those of the second and then of the first version. */
static inline PyObject* dlbridge_py_ask_(DLBridgePy* py, PyObject* object,
                                         const DLBridgePyImportOptions* options) {
  PyObject* result;
  int ask = DLBRIDGE_PY_ASK_ALL_;
  if (options->device == NULL && !dlbridge_py_says_copy_(options)) {
    ask = DLBRIDGE_PY_ASK_VERSION_;
  }
  result = ask == DLBRIDGE_PY_ASK_VERSION_ && (options->options & DLBRIDGE_PY_STREAM) == 0
               ? dlbridge_py_call_usual_(py, object)
               : dlbridge_py_call_with_(py, object, options, ask);
  while (result == NULL && ask > DLBRIDGE_PY_ASK_STREAM_ && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    result = dlbridge_py_call_with_(py, object, options, --ask);
  }
  if (result == NULL) {
    dlbridge_py_explain_(py, object);
  }
  return result;
}

/* Drops a capsule while an exception may be set. Its destructor is the producer's code, perhaps Python
 * code, which must not run with an exception set. */
static inline void dlbridge_py_drop_capsule_(PyObject* capsule) {
  DLBridgePyPending_ pending = dlbridge_py_set_aside_();
  Py_DECREF(capsule);
  PyErr_Clear();
  dlbridge_py_put_back_(pending);
}

static inline int dlbridge_py_by_method_(DLBridgePy* py, PyObject* object,
                                         const DLBridgePyImportOptions* options,
                                         DLManagedTensorVersioned** out) {
  int status;
  PyObject* capsule = dlbridge_py_ask_(py, object, options);
  if (capsule == NULL) {
    return -1;
  }
  if (!PyCapsule_CheckExact(capsule)) {
    dlbridge_py_reject_(PyExc_TypeError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                        "expected a capsule from __dlpack__ of %R, found an instance of %R",
                        (PyObject*)Py_TYPE(object), (PyObject*)Py_TYPE(capsule));
    status = -1;
  } else {
    status = dlbridge_py_by_capsule_(capsule, options, out);
  }
  dlbridge_py_drop_capsule_(capsule);
  return status;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_ASK_H_ */
