/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Exceptions for the library's errors, and releases that keep a pending exception. Part of
 * dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_ERRORS_H_
#define DLBRIDGE_CPYTHON_ERRORS_H_

#include "dlbridge/cpython/atomic.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The exception type for `status`; a borrowed reference. \since 0.3.0 */
static inline PyObject* dlbridge_py_error_type(DLBridgeStatus status) {
  switch (status) {
    /* [facts/statuses.toml] */
    case DLBRIDGE_ERROR_INVALID_ARGUMENT:
    case DLBRIDGE_ERROR_TOO_NEW:
    case DLBRIDGE_ERROR_BUFFER_TOO_SMALL:
    case DLBRIDGE_ERROR_PARSE:
    case DLBRIDGE_ERROR_NOT_FOUND:
    case DLBRIDGE_ERROR_BOUNDS:
    case DLBRIDGE_ERROR_EXISTS:
    case DLBRIDGE_ERROR_DESCRIPTOR:
    case DLBRIDGE_ERROR_AMBIGUOUS:
      return PyExc_ValueError;
    case DLBRIDGE_ERROR_OUT_OF_MEMORY:
      return PyExc_MemoryError;
    case DLBRIDGE_ERROR_FORKED:
    case DLBRIDGE_ERROR_UNAVAILABLE:
    case DLBRIDGE_ERROR_DRIVER:
    case DLBRIDGE_ERROR_CAPTURE:
      return PyExc_RuntimeError;
    /* [/facts] */
    default:
      return PyExc_BufferError;
  }
}

/* Sets an attribute and takes the reference `value`; returns 0 or -1. */
static inline int dlbridge_py_set_(PyObject* object, const char* name, PyObject* value) {
  int status = -1;
  if (value != NULL) {
    status = PyObject_SetAttrString(object, name, value);
    Py_DECREF(value);
  }
  return status;
}

/* Returns a new reference to a string, or to None for NULL. */
static inline PyObject* dlbridge_py_name_(const char* name) {
  return name != NULL ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
}

/* Raises `type` with the attributes of the library's errors; returns -1. Takes the reference `message`
 * (NULL: an exception is already set). */
static inline int dlbridge_py_raise_as_(PyObject* type, PyObject* message, DLBridgeStatus status,
                                        DLBridgeRule rule, int32_t axis, int32_t native_code) {
  static const char prefix[] = "DLBRIDGE_ERROR_";
  const char* name = dlbridge_status_name(status);
  PyObject* exception =
      message != NULL ? PyObject_CallFunctionObjArgs(type, message, (PyObject*)NULL) : NULL;
  Py_XDECREF(message);
  if (exception == NULL) {
    return -1;
  }
  if (strncmp(name, prefix, sizeof prefix - 1) == 0) {
    name += sizeof prefix - 1;
  }
  if (dlbridge_py_set_(exception, "status", dlbridge_py_name_(name)) == 0 &&
      dlbridge_py_set_(
          exception, "rule",
          dlbridge_py_name_(rule != DLBRIDGE_RULE_NONE ? dlbridge_rule_name(rule) : NULL)) == 0 &&
      dlbridge_py_set_(exception, "axis",
                       axis < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(axis)) == 0 &&
      dlbridge_py_set_(exception, "native_code",
                       native_code == 0 ? Py_NewRef(Py_None) : PyLong_FromLong(native_code)) == 0) {
    PyErr_SetObject(type, exception);
  }
  Py_DECREF(exception);
  return -1;
}

/** Raises `error`; returns -1. \since 0.3.0 */
static inline int dlbridge_py_raise(const DLBridgeError* error) {
  /* A truncated message may end inside a UTF-8 character. */
  return dlbridge_py_raise_as_(
      dlbridge_py_error_type(error->status),
      PyUnicode_DecodeUTF8(error->message, (Py_ssize_t)strlen(error->message), "replace"),
      error->status, error->rule, error->axis, error->native_code);
}

/* The message for a program in Python that passed a tensor: its remedy names nothing of C. */
static inline PyObject* dlbridge_py_text_for_caller_(const DLBridgeError* error) {
  /* clang-format off */
  static const char* const of_c[] = {"; conversions can set DLBRIDGE_", "; policies can set DLBRIDGE_",
                                     ", or set DLBRIDGE_", " with dlbridge_copy"};
  /* clang-format on */
  const DLBridgeRule rule = error->rule;
  const int copy_helps = rule == DLBRIDGE_RULE_NOT_WRITABLE || rule == DLBRIDGE_RULE_CONTIGUITY ||
                         rule == DLBRIDGE_RULE_ALIGNMENT || rule == DLBRIDGE_RULE_NEGATIVE_STRIDE ||
                         rule == DLBRIDGE_RULE_ZERO_STRIDE || rule == DLBRIDGE_RULE_SELF_OVERLAP;
  const char* end = copy_helps ? strstr(error->message, "; ") : NULL;
  PyObject *kept, *text;
  size_t i;
  for (i = 0; !copy_helps && end == NULL && i < sizeof of_c / sizeof *of_c; ++i) {
    end = strstr(error->message, of_c[i]);
  }
  /* A truncated message may end inside a UTF-8 character. */
  kept = PyUnicode_DecodeUTF8(
      error->message,
      end != NULL ? (Py_ssize_t)(end - error->message) : (Py_ssize_t)strlen(error->message), "replace");
  if (kept == NULL || !copy_helps || end == NULL) {
    return kept;
  }
  text = PyUnicode_FromFormat("%U; pass a copy, dlbridge.from_dlpack(x, copy=True)", kept);
  Py_DECREF(kept);
  return text;
}

/* Raises the error of a tensor that a program in Python passed; returns -1. */
static inline int dlbridge_py_raise_to_caller_(const DLBridgeError* error) {
  return dlbridge_py_raise_as_(dlbridge_py_error_type(error->status),
                               dlbridge_py_text_for_caller_(error), error->status, error->rule,
                               error->axis, error->native_code);
}

/* Raises an error with a message in the format of PyUnicode_FromFormat; returns -1. */
static inline int dlbridge_py_reject_(PyObject* type, DLBridgeStatus status, DLBridgeRule rule,
                                      const char* format, ...) {
  PyObject* message;
  va_list arguments;
  va_start(arguments, format);
  message = PyUnicode_FromFormatV(format, arguments);
  va_end(arguments);
  return dlbridge_py_raise_as_(type, message, status, rule, -1, 0);
}

/* Saves the current exception while a deleter runs. */
#if PY_VERSION_HEX >= 0x030c0000
typedef PyObject* DLBridgePyPending_;
static inline DLBridgePyPending_ dlbridge_py_set_aside_(void) { return PyErr_GetRaisedException(); }
static inline void dlbridge_py_put_back_(DLBridgePyPending_ pending) {
  PyErr_SetRaisedException(pending);
}
#else
typedef struct {
  PyObject *type, *value, *traceback;
} DLBridgePyPending_;
static inline DLBridgePyPending_ dlbridge_py_set_aside_(void) {
  DLBridgePyPending_ pending;
  PyErr_Fetch(&pending.type, &pending.value, &pending.traceback);
  return pending;
}
static inline void dlbridge_py_put_back_(DLBridgePyPending_ pending) {
  PyErr_Restore(pending.type, pending.value, pending.traceback);
}
#endif

/* The current exception as an object, which remains pending; a new reference. */
static inline PyObject* dlbridge_py_pending_(void) {
#if PY_VERSION_HEX >= 0x030c0000
  PyObject* exception = PyErr_GetRaisedException();
  PyErr_SetRaisedException(Py_XNewRef(exception));
  return exception;
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != NULL) {
    PyException_SetTraceback(value, traceback);
  }
  Py_XINCREF(value);
  PyErr_Restore(type, value, traceback);
  return value;
#endif
}

/* Releases a tensor while an exception is set. */
DLBRIDGE_PY_APART_ void dlbridge_py_release_aside_(DLManagedTensorVersioned* tensor) {
  DLBridgePyPending_ pending = dlbridge_py_set_aside_();
  dlbridge_release_versioned(tensor);
  PyErr_Clear();
  dlbridge_py_put_back_(pending);
}

/** Releases `tensor` (NULL is accepted). Keeps the current exception, and discards an exception that the
 * deleter sets. \since 0.3.0 */
static inline void dlbridge_py_release(DLManagedTensorVersioned* tensor) {
  if (tensor == NULL) {
    return;
  }
  if (PyErr_Occurred()) {
    dlbridge_py_release_aside_(tensor);
  } else {
    dlbridge_release_versioned(tensor);
    if (PyErr_Occurred()) {
      PyErr_Clear();
    }
  }
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_ERRORS_H_ */
