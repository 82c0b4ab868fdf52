/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Arrays that are immutable because the program has registered their producer by register_producer of
 * the package dlbridge: their exports do not record it. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_IMMUTABLE_H_
#define DLBRIDGE_CPYTHON_IMMUTABLE_H_

#include "dlbridge/cpython/guards.h"
#include "dlbridge/cpython/options.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef Py_GIL_DISABLED
static inline void dlbridge_py_lock_answers_(DLBridgePy* py) { PyMutex_Lock(&py->mutex); }
static inline void dlbridge_py_unlock_answers_(DLBridgePy* py) { PyMutex_Unlock(&py->mutex); }
#else
static inline void dlbridge_py_lock_answers_(DLBridgePy* py) { (void)py; }
static inline void dlbridge_py_unlock_answers_(DLBridgePy* py) { (void)py; }
#endif

/* The answer about a type that was asked about before; -1 if it must be asked. */
static inline int dlbridge_py_answered_(DLBridgePy* py, const DLBridgePyAnswer_* question) {
  const DLBridgePyAnswer_* answers = dlbridge_py_more_(py->life)->answers;
  int i, immutable = -1;
  dlbridge_py_lock_answers_(py);
  for (i = 0; i < DLBRIDGE_PY_TYPES; ++i) {
    if (answers[i].type == question->type && answers[i].version_tag == question->version_tag &&
        answers[i].registrations == question->registrations) {
      immutable = answers[i].immutable;
      break;
    }
  }
  dlbridge_py_unlock_answers_(py);
  return immutable;
}

/* Keeps an answer. Dropping the type of the oldest one may run other code, so it comes last. */
static inline void dlbridge_py_keep_answer_(DLBridgePy* py, const DLBridgePyAnswer_* answer) {
  DLBridgePyMore_* more = dlbridge_py_more_(py->life);
  DLBridgePyAnswer_* place;
  PyTypeObject* oldest;
  dlbridge_py_lock_answers_(py);
  place = &more->answers[more->next_answer++ % DLBRIDGE_PY_TYPES];
  oldest = place->type;
  *place = *answer;
  Py_INCREF((PyObject*)place->type);
  dlbridge_py_unlock_answers_(py);
  Py_XDECREF((PyObject*)oldest);
}

/* How often producers were registered. */
static inline Py_ssize_t dlbridge_py_registrations_(DLBridgePy* py) {
  PyObject* registered = dlbridge_py_more_(py->life)->registered;
#if defined(Py_LIMITED_API) || defined(Py_GIL_DISABLED)
  return PyList_Size(registered);
#else
  return PyList_GET_SIZE(registered);
#endif
}

/* Asks the newest registration about a type: 1, 0, or -1 with an exception. */
DLBRIDGE_PY_APART_ int dlbridge_py_ask_immutable_(DLBridgePy* py, PyTypeObject* type) {
  PyObject* registered = dlbridge_py_more_(py->life)->registered;
  PyObject* function;
  DLBridgePyAnswer_ answer;
  answer.type = type;
  answer.version_tag = dlbridge_py_tag_(type); /* before the call, which may change the type */
  answer.registrations = dlbridge_py_registrations_(py);
  answer.immutable = answer.version_tag != 0 ? dlbridge_py_answered_(py, &answer) : -1;
  if (answer.immutable >= 0) {
    return answer.immutable;
  }
  function = PyList_GetItem(registered, answer.registrations - 1);
  answer.immutable =
      function == Py_None
          ? 0
          : dlbridge_py_truth_(PyObject_CallFunctionObjArgs(function, (PyObject*)type, NULL));
  if (answer.immutable >= 0 && answer.version_tag != 0 && py->life != NULL) {
    dlbridge_py_keep_answer_(py, &answer);
  }
  return answer.immutable;
}

/* Returns 1 if the program has registered the arrays of a type as immutable, 0 if not, and -1 with an
 * exception. A program that has registered nothing pays for one comparison. */
static inline int dlbridge_py_is_immutable_(DLBridgePy* py, PyTypeObject* type) {
  return py->life == NULL || dlbridge_py_registrations_(py) == 0
             ? 0
             : dlbridge_py_ask_immutable_(py, type);
}

/* Rejects an immutable array for a caller that requires a writable tensor. */
static inline int dlbridge_py_reject_immutable_(void) {
  return dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_POLICY, DLBRIDGE_RULE_NOT_WRITABLE,
                             "expected a writable tensor, found an array whose memory is immutable; "
                             "use copy=True of dlbridge.from_dlpack");
}

/* Marks the tensor of an immutable array as read-only; a copy has one owner and stays writable. On
 * failure the tensor is released. */
static inline int dlbridge_py_protect_(DLBridgePy* py, PyTypeObject* type,
                                       const DLBridgePyImportOptions* options,
                                       DLManagedTensorVersioned** tensor) {
  const uint64_t decided = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  int immutable =
      ((*tensor)->flags & decided) != 0 ? 0 : dlbridge_py_is_immutable_(py, type);
  if (immutable == 1 && dlbridge_py_must_write_(options)) {
    immutable = dlbridge_py_reject_immutable_();
  }
  if (immutable < 0) {
    dlbridge_py_release(*tensor);
    *tensor = NULL;
    return -1;
  }
  if (immutable == 1) {
    (*tensor)->flags |= DLPACK_FLAG_BITMASK_READ_ONLY; /* the owner may add this flag */
  }
  return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_IMMUTABLE_H_ */
