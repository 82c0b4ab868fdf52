/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Import by a producer's __dlpack__. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_ASK_H_
#define DLBRIDGE_CPYTHON_ASK_H_

#include "dlbridge/cpython/accept.h"
#include "dlbridge/cpython/buffers.h"
#include "dlbridge/cpython/consumers.h"
#include "dlbridge/cpython/life.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The keywords to pass: older producers know fewer of them. */
enum {
  DLBRIDGE_PY_ASK_STREAM_ = 0,  /* `stream`, of the first protocol */
  DLBRIDGE_PY_ASK_VERSION_ = 1, /* `max_version` too */
  DLBRIDGE_PY_ASK_ALL_ = 2      /* `dl_device` and `copy` too */
};

/* A bit of the options for torch, whose __dlpack__ has the default stream=-1 instead of None: without a
 * stream, the work on the tensor would not be ordered. */
enum { DLBRIDGE_PY_SAY_STREAM_ = 1 << 30 };

/* The arguments of one call: the object, and the values of `names`. */
typedef struct DLBridgePyCall_ {
  PyObject* arguments[6]; /* the first is scratch space of the call */
  const char* names[4];
  Py_ssize_t count;
} DLBridgePyCall_;

/* Adds a keyword argument; takes the reference `value`. */
static inline int dlbridge_py_keyword_(DLBridgePyCall_* call, const char* name, PyObject* value) {
  if (value == NULL) {
    return -1;
  }
  call->names[call->count] = name;
  call->arguments[2 + call->count++] = value;
  return 0;
}

/* Adds the keywords of `ask`. */
static inline int dlbridge_py_keywords_(DLBridgePy* py, const DLBridgePyImportOptions* options, int ask,
                                        DLBridgePyCall_* call) {
  int status = 0;
  if ((options->options & DLBRIDGE_PY_STREAM) != 0) {
    status = dlbridge_py_keyword_(call, "stream", PyLong_FromLongLong(options->stream));
  } else if ((options->options & DLBRIDGE_PY_SAY_STREAM_) != 0) {
    status = dlbridge_py_keyword_(call, "stream", Py_NewRef(Py_None));
  }
  if (status == 0 && ask >= DLBRIDGE_PY_ASK_VERSION_) {
    status = dlbridge_py_keyword_(call, "max_version", Py_NewRef(py->version));
  }
  if (status == 0 && ask == DLBRIDGE_PY_ASK_ALL_ && options->device != NULL) {
    status = dlbridge_py_keyword_(
        call, "dl_device",
        Py_BuildValue("(ii)", (int)options->device->device_type, (int)options->device->device_id));
  }
  if (status == 0 && ask == DLBRIDGE_PY_ASK_ALL_ && dlbridge_py_says_copy_(options)) {
    status = dlbridge_py_keyword_(
        call, "copy", PyBool_FromLong((options->options & DLBRIDGE_PY_COPY_ALWAYS) != 0));
  }
  return status;
}

/* The tuple of the names, by which producers recognise dlbridge; a new reference. */
static inline PyObject* dlbridge_py_call_names_(const DLBridgePyCall_* call) {
  Py_ssize_t i;
  PyObject* names = PyTuple_New(call->count);
  for (i = 0; names != NULL && i < call->count; ++i) {
    PyObject* name = PyUnicode_InternFromString(call->names[i]);
    if (name == NULL || PyTuple_SetItem(names, i, name) < 0) {
      Py_CLEAR(names);
    }
  }
  return dlbridge_py_own_names_(names);
}

/* The keywords to try first. */
static inline int dlbridge_py_first_ask_(const DLBridgePyImportOptions* options) {
  return options->device != NULL || dlbridge_py_says_copy_(options) ? DLBRIDGE_PY_ASK_ALL_
                                                                     : DLBRIDGE_PY_ASK_VERSION_;
}

/* Calls __dlpack__ with the keywords of `ask`. */
DLBRIDGE_PY_APART_ PyObject* dlbridge_py_call_with_(DLBridgePy* py, PyObject* object,
                                                    const DLBridgePyImportOptions* options, int ask) {
  DLBridgePyCall_ call;
  PyObject *names = NULL, *result = NULL;
  Py_ssize_t i;
  memset(&call, 0, sizeof call);
  call.arguments[1] = object;
  if (dlbridge_py_keywords_(py, options, ask, &call) == 0) {
    names = dlbridge_py_call_names_(&call);
  }
  if (names != NULL) {
    result = PyObject_VectorcallMethod(py->dlpack_name, call.arguments + 1,
                                       1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                       call.count > 0 ? names : NULL);
  }
  Py_XDECREF(names);
  for (i = 0; i < call.count; ++i) {
    Py_DECREF(call.arguments[2 + i]);
  }
  return result;
}

#if !defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED)
typedef PyObject* (*DLBridgePyDirect_)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

/* Returns 1 if every object of the type has the __dlpack__ of the type: no dictionary of its own and no
 * other way to read attributes replaces it. */
static inline int dlbridge_py_has_fixed_methods_(PyTypeObject* type) {
  return type->tp_dictoffset == 0 && type->tp_getattro == PyObject_GenericGetAttr &&
         Py_IS_TYPE((PyObject*)type, &PyType_Type);
}

/* Finds the C function of the type's __dlpack__; NULL if it has another kind, or if an object may have
 * another method. The interpreter caches the look-up by the type's version tag. */
static inline PyCFunction dlbridge_py_direct_(DLBridgePy* py, PyTypeObject* type) {
  PyObject* method; /* borrowed */
  PyMethodDef* definition;
  if (!dlbridge_py_has_fixed_methods_(type)) {
    return NULL;
  }
  method = _PyType_Lookup(type, py->dlpack_name);
  if (method == NULL || !Py_IS_TYPE(method, &PyMethodDescr_Type) ||
      (type != PyDescr_TYPE(method) && !PyType_IsSubtype(type, PyDescr_TYPE(method)))) {
    return NULL;
  }
  definition = ((PyMethodDescrObject*)method)->d_method;
  return definition->ml_flags == (METH_FASTCALL | METH_KEYWORDS) ? definition->ml_meth : NULL;
}

static inline PyObject* dlbridge_py_call_direct_(PyCFunction function, PyObject* object,
                                                 PyObject* const* values, PyObject* names) {
  PyObject* result =
      ((DLBridgePyDirect_)(void (*)(void))function)(object, values, 0, names);
  if (result == NULL && !PyErr_Occurred()) {
    PyErr_Format(PyExc_SystemError, "__dlpack__ of %R failed without an exception",
                 (PyObject*)Py_TYPE(object));
  }
  return result;
}
#endif

/* Calls __dlpack__(max_version=...), which most producers support, without a dict or bound method. */
static inline PyObject* dlbridge_py_call_usual_(DLBridgePy* py, PyObject* object) {
  PyObject* arguments[3];
  arguments[0] = NULL;
  arguments[1] = object;
  arguments[2] = py->version;
#if !defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED)
  {
    PyCFunction direct = dlbridge_py_direct_(py, Py_TYPE(object));
    if (direct != NULL) {
      return dlbridge_py_call_direct_(direct, object, arguments + 2, py->version_keyword);
    }
  }
#endif
  return PyObject_VectorcallMethod(py->dlpack_name, arguments + 1,
                                   1 | PY_VECTORCALL_ARGUMENTS_OFFSET, py->version_keyword);
}

/* Turns the AttributeError of an object without __dlpack__ into a TypeError; keeps other exceptions. */
static inline void dlbridge_py_explain_(DLBridgePy* py, PyObject* object) {
  if (PyErr_ExceptionMatches(PyExc_AttributeError) && dlbridge_py_lacks_dlpack_(py, object)) {
    PyErr_Clear();
    dlbridge_py_reject_(PyExc_TypeError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                        "expected an object that supports DLPack (__dlpack__, an exchange table, or "
                        "a DLPack capsule), found an instance of %R",
                        (PyObject*)Py_TYPE(object));
  }
}

/* Returns 1 if the message of an exception has this text. */
static inline int dlbridge_py_mentions_(PyObject* exception, const char* text) {
  PyObject* message = PyObject_Str(exception);
  PyObject* words = message != NULL ? PyUnicode_FromString(text) : NULL;
  const int found = words != NULL && PyUnicode_Contains(message, words) == 1;
  Py_XDECREF(words);
  Py_XDECREF(message);
  PyErr_Clear();
  return found;
}

/* Returns 1 if the message names one of the protocol's keywords. */
static inline int dlbridge_py_mentions_keyword_(PyObject* exception) {
  return dlbridge_py_mentions_(exception, "max_version") || dlbridge_py_mentions_(exception, "copy") ||
         dlbridge_py_mentions_(exception, "dl_device") || dlbridge_py_mentions_(exception, "stream");
}

/* Returns 1 if a TypeError is about the keywords of the call. CPython raises it before the producer's
 * code runs, so without a traceback; a producer that forwards its arguments adds its frame, and the
 * message still names the keyword. Any other TypeError raised inside the producer's code is not about
 * keywords. */
static inline int dlbridge_py_is_unknown_keyword_(PyObject* exception) {
  PyObject* traceback = PyException_GetTraceback(exception);
  const int ran = traceback != NULL;
  Py_XDECREF(traceback);
  return ran ? dlbridge_py_mentions_(exception, "keyword argument") &&
                   dlbridge_py_mentions_keyword_(exception)
             : dlbridge_py_mentions_(exception, "argument");
}

/* Returns 1 if the producer may export without `dl_device` and `copy`, so that dlbridge copies. With
 * copy=False a BufferError may mean that it would have to copy, and stays. */
static inline int dlbridge_py_can_do_without_(PyObject* exception,
                                              const DLBridgePyImportOptions* options) {
  if (PyErr_GivenExceptionMatches(exception, PyExc_RecursionError)) {
    return 0;
  }
  if (PyErr_GivenExceptionMatches(exception, PyExc_NotImplementedError)) {
    return 1;
  }
  return (options->options & DLBRIDGE_PY_COPY_NEVER) == 0 &&
         (PyErr_GivenExceptionMatches(exception, PyExc_BufferError) ||
          PyErr_GivenExceptionMatches(exception, PyExc_RuntimeError) ||
          PyErr_GivenExceptionMatches(exception, PyExc_ValueError));
}

/* The keywords to try after the current exception; -1 if the exception stays. */
static inline int dlbridge_py_next_ask_(const DLBridgePyImportOptions* options, int ask) {
  int again = 0;
  PyObject* exception;
  if (ask == DLBRIDGE_PY_ASK_STREAM_) {
    return -1;
  }
  exception = dlbridge_py_pending_();
  if (PyErr_GivenExceptionMatches(exception, PyExc_TypeError)) {
    DLBridgePyPending_ pending = dlbridge_py_set_aside_();
    again = dlbridge_py_is_unknown_keyword_(exception);
    dlbridge_py_put_back_(pending);
  } else {
    again = ask == DLBRIDGE_PY_ASK_ALL_ && dlbridge_py_can_do_without_(exception, options);
  }
  Py_DECREF(exception);
  return again ? ask - 1 : -1;
}

/* Asks again without the keywords that the producer does not know or support. */
DLBRIDGE_PY_APART_ PyObject* dlbridge_py_ask_again_(DLBridgePy* py, PyObject* object,
                                                    const DLBridgePyImportOptions* options) {
  int ask = dlbridge_py_first_ask_(options);
  PyObject* result = NULL;
  while (result == NULL && (ask = dlbridge_py_next_ask_(options, ask)) >= 0) {
    PyErr_Clear();
    result = dlbridge_py_call_with_(py, object, options, ask);
  }
  if (result == NULL) {
    dlbridge_py_explain_(py, object);
  }
  return result;
}

/* Calls __dlpack__ with the keywords of the current protocol. If the producer does not know or support
 * them, tries those of the second and then of the first version. */
static inline PyObject* dlbridge_py_ask_(DLBridgePy* py, PyObject* object,
                                         const DLBridgePyImportOptions* options) {
  const uint32_t more = DLBRIDGE_PY_COPY_NEVER | DLBRIDGE_PY_COPY_ALWAYS | DLBRIDGE_PY_STREAM |
                        DLBRIDGE_PY_SAY_STREAM_;
  PyObject* result = options->device == NULL && (options->options & more) == 0
                         ? dlbridge_py_call_usual_(py, object)
                         : dlbridge_py_call_with_(py, object, options, dlbridge_py_first_ask_(options));
  return result != NULL ? result : dlbridge_py_ask_again_(py, object, options);
}

/* Drops a capsule. Its destructor is the producer's code, perhaps Python code. */
static inline void dlbridge_py_drop_capsule_(PyObject* capsule) {
  Py_DECREF(capsule);
  if (PyErr_Occurred()) {
    PyErr_Clear();
  }
}

/* Drops a capsule while an exception is set, with which its destructor must not run. */
DLBRIDGE_PY_APART_ void dlbridge_py_drop_rejected_(PyObject* capsule) {
  DLBridgePyPending_ pending = dlbridge_py_set_aside_();
  dlbridge_py_drop_capsule_(capsule);
  dlbridge_py_put_back_(pending);
}

DLBRIDGE_PY_APART_ int dlbridge_py_reject_result_(PyObject* object, PyObject* result) {
  return dlbridge_py_reject_(PyExc_TypeError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                             "expected a capsule from __dlpack__ of %R, found an instance of %R",
                             (PyObject*)Py_TYPE(object), (PyObject*)Py_TYPE(result));
}

static inline int dlbridge_py_by_method_(DLBridgePy* py, PyObject* object,
                                         const DLBridgePyImportOptions* options,
                                         DLManagedTensorVersioned** out) {
  int status;
  PyObject* capsule = dlbridge_py_ask_(py, object, options);
  if (capsule == NULL) {
    return dlbridge_py_by_buffer_(py, object, options, out);
  }
  status = PyCapsule_CheckExact(capsule) ? dlbridge_py_by_capsule_(capsule, options, out)
                                         : dlbridge_py_reject_result_(object, capsule);
  if (status < 0) {
    dlbridge_py_drop_rejected_(capsule);
  } else {
    dlbridge_py_drop_capsule_(capsule);
  }
  return status;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_ASK_H_ */
