/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * DLPack for authors of CPython extensions. One call makes a validated DLManagedTensorVersioned of any
 * Python object that supports DLPack; another makes a capsule for a consumer of any DLPack version. C99
 * and C++11 on top of Python.h; the shared library itself never needs Python.
 *
 * Include Python.h first, as CPython requires. The version-specific API works from 3.10 on, the limited
 * API from 3.12 (Py_LIMITED_API >= 0x030c0000). Free-threaded builds compile too.
 *
 * STATE. A DLBridgePy caches names and types, one per interpreter. Put it in the module's state, call
 * dlbridge_py_init in Py_mod_exec, and dlbridge_py_traverse and dlbridge_py_clear in the module's
 * m_traverse, m_clear and m_free.
 *
 * THREADS. Every function needs the GIL (an attached thread state) unless its comment states otherwise.
 * Deleters of tensors made here may run on any thread, with or without the GIL.
 *
 * STREAMS. The CPU needs no ordering. On other devices `stream` of the options is the consumer's stream,
 * as an integer of the Python array API; the default is the legacy default stream. The producer's
 * __dlpack__ orders its work before that stream; for an exchange table dlbridge_stream_handoff does.
 *
 * ERRORS. A function that fails returns -1 or NULL with an exception set. Exceptions of a producer pass
 * through unchanged. The library raises BufferError (a broken or rejected tensor), TypeError (an object
 * without DLPack support), ValueError (an argument), MemoryError and RuntimeError (a driver), with its
 * message and the attributes `status`, `rule` (names), `axis` and `native_code` (of a driver). All but
 * `status` are None if they do not apply. On failure a tensor or capsule stays with its owner, unless
 * the function's comment states otherwise.
 * \since 0.3.0
 */
#ifndef DLBRIDGE_CPYTHON_API_H_
#define DLBRIDGE_CPYTHON_API_H_

#include <Python.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dlbridge/dlbridge.h"

#if defined(Py_LIMITED_API) && Py_LIMITED_API + 0 < 0x030c0000
#error "dlbridge/cpython_api.h needs the limited API of 3.12 or later"
#elif !defined(Py_LIMITED_API) && PY_VERSION_HEX < 0x030a0000
#error "dlbridge/cpython_api.h needs CPython 3.10 or later"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * State
 * ------------------------------------------------------------------------------------------- */

/** Number of types that a DLBridgePy caches; the oldest entry makes room for a new one. \since 0.3.0 */
enum { DLBRIDGE_PY_TYPES = 8 };

/** Types whose exchange table is not sufficient: the checks that they need first. \since 0.3.0 */
enum {
  DLBRIDGE_PY_GUARD_NONE = 0,  /**< No further check. */
  DLBRIDGE_PY_GUARD_TORCH = 1, /**< torch: its table exports conjugated and negated views by their raw
                                    values, and tensors that require a gradient. */
  DLBRIDGE_PY_GUARD_FAKE = 2   /**< torch's fake tensors have no data. */
};

/** Cached facts of one type. \since 0.3.0 */
typedef struct DLBridgePyType {
  PyTypeObject* type;             /**< A strong reference; NULL: the entry is free. */
  PyObject* capsule;              /**< A strong reference that keeps `table` alive, or NULL. */
  const DLPackExchangeAPI* table; /**< The newest table that dlbridge supports, or NULL. */
  unsigned int version_tag;       /**< The type's version tag when it was cached; 0: unknown. */
  int guard;                      /**< DLBRIDGE_PY_GUARD_* */
} DLBridgePyType;

/** Outlives the interpreter. Deleters on other threads check here whether they may still take the GIL,
 * and leave objects here that they cannot release themselves. \since 0.3.0 */
typedef struct DLBridgePyLife {
  void* left;       /**< Stack of DLBridgePyKept, to be released on a thread of the interpreter. */
  int64_t users;    /**< Reference count: the state, and kept objects. */
  int alive;        /**< 0 once the interpreter finalizes. */
  int is_main;      /**< Main interpreter: PyGILState_Ensure takes its GIL. */
} DLBridgePyLife;

/** State of one interpreter; all members are private to this header. \since 0.3.0 */
typedef struct DLBridgePy {
  PyObject* dlpack_name;     /* "__dlpack__" */
  PyObject* table_name;      /* "__dlpack_c_exchange_api__" */
  PyObject* version;         /* the newest that is asked for */
  PyObject* version_keyword; /* ("max_version",) */
  PyObject* requires_grad;   /* torch's descriptors; NULL until the first torch tensor */
  PyObject* is_conj;
  PyObject* is_neg;
  DLBridgePyLife* life;
  DLBridgePyType types[DLBRIDGE_PY_TYPES];
  unsigned int next_type; /* entry to be replaced next */
#ifdef Py_GIL_DISABLED
  PyMutex mutex; /* protects `types`; free-threaded builds never replace an entry */
#endif
} DLBridgePy;

/** One object that a tensor keeps alive. */
typedef struct DLBridgePyKept {
  struct DLBridgePyKept* next;
  DLBridgePyLife* life;
  PyObject* object;
  Py_buffer view; /* view.obj is NULL if `object` is kept instead */
} DLBridgePyKept;

/* Atomic integers and pointers without <stdatomic.h>, which C++ and C99 lack. */
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static inline int64_t dlbridge_py_add_(int64_t* value, int64_t more) {
  return _InterlockedExchangeAdd64((volatile __int64*)value, more) + more;
}
static inline void* dlbridge_py_swap_(void** place, void* value) {
  return _InterlockedExchangePointer((void* volatile*)place, value);
}
static inline int dlbridge_py_replace_(void** place, void* expected, void* value) {
  return _InterlockedCompareExchangePointer((void* volatile*)place, value, expected) == expected;
}
static inline int dlbridge_py_load_(int* value) { return _InterlockedOr((volatile long*)value, 0); }
static inline void* dlbridge_py_look_at_(void** place) {
  return _InterlockedCompareExchangePointer((void* volatile*)place, NULL, NULL);
}
static inline void dlbridge_py_store_(int* place, int value) {
  _InterlockedExchange((volatile long*)place, value);
}
#else
static inline int64_t dlbridge_py_add_(int64_t* value, int64_t more) {
  return __atomic_add_fetch(value, more, __ATOMIC_ACQ_REL);
}
static inline void* dlbridge_py_swap_(void** place, void* value) {
  return __atomic_exchange_n(place, value, __ATOMIC_ACQ_REL);
}
static inline int dlbridge_py_replace_(void** place, void* expected, void* value) {
  return __atomic_compare_exchange_n(place, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
static inline int dlbridge_py_load_(int* value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }
static inline void* dlbridge_py_look_at_(void** place) {
  return __atomic_load_n(place, __ATOMIC_RELAXED);
}
static inline void dlbridge_py_store_(int* place, int value) {
  __atomic_store_n(place, value, __ATOMIC_RELEASE);
}
#endif

/* ---------------------------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------------------------- */

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

/** Releases `tensor` (NULL is accepted). Keeps the current exception, and discards an exception that the
 * deleter sets. \since 0.3.0 */
static inline void dlbridge_py_release(DLManagedTensorVersioned* tensor) {
  if (tensor == NULL) {
    return;
  }
  if (PyErr_Occurred()) {
    DLBridgePyPending_ pending = dlbridge_py_set_aside_();
    dlbridge_release_versioned(tensor);
    PyErr_Clear();
    dlbridge_py_put_back_(pending);
  } else {
    dlbridge_release_versioned(tensor);
    if (PyErr_Occurred()) {
      PyErr_Clear();
    }
  }
}

/* ---------------------------------------------------------------------------------------------
 * Python objects that tensors keep alive
 * ------------------------------------------------------------------------------------------- */

static inline void dlbridge_py_life_drop_(DLBridgePyLife* life) {
  if (dlbridge_py_add_(&life->users, -1) == 0) {
    free(life);
  }
}

/* Releases the kept object; needs the GIL of its interpreter. */
static inline void dlbridge_py_let_go_(DLBridgePyKept* kept) {
  DLBridgePyPending_ pending = dlbridge_py_set_aside_();
  DLBridgePyLife* life = kept->life;
  if (kept->view.obj != NULL) {
    PyBuffer_Release(&kept->view);
  }
  Py_XDECREF(kept->object);
  PyErr_Clear();
  dlbridge_py_put_back_(pending);
  free(kept);
  dlbridge_py_life_drop_(life);
}

/** Releases the objects that a deleter could not release: objects of a sub-interpreter, and objects of
 * the main interpreter whose tensor was released by a thread in another interpreter.
 * dlbridge_py_import and dlbridge_py_wrap call this first. \since 0.3.0 */
static inline void dlbridge_py_collect(DLBridgePy* py) {
  if (py->life != NULL && dlbridge_py_look_at_(&py->life->left) != NULL) {
    DLBridgePyKept* kept = (DLBridgePyKept*)dlbridge_py_swap_(&py->life->left, NULL);
    while (kept != NULL) {
      DLBridgePyKept* next = kept->next;
      dlbridge_py_let_go_(kept);
      kept = next;
    }
  }
}

/* Returns 1 if this thread runs in an interpreter other than the main one. PyGILState_Ensure would then
 * stay in that interpreter or, before 3.12, deadlock on the GIL that this thread holds. */
static inline int dlbridge_py_is_elsewhere_(void) {
  PyThreadState* known = PyGILState_GetThisThreadState();
  if (known == NULL) {
    return 0;
  }
  if (PyInterpreterState_GetID(PyThreadState_GetInterpreter(known)) != 0) {
    return 1;
  }
#if PY_VERSION_HEX < 0x030c0000
  {
    /* The thread may hold the GIL through a state that PyGILState does not know. */
    const PyThreadState* current = _PyThreadState_UncheckedGet();
    return current != NULL && current != known && current->thread_id == PyThread_get_thread_ident();
  }
#else
  return 0;
#endif
}

/* `release` callback of dlbridge_wrap, on any thread, with or without the GIL. If the interpreter is
 * finalizing, its objects must not be accessed and are leaked. If work on `stream` may still use the
 * memory, the host waits for it, because a Python object cannot. */
static inline void dlbridge_py_released_(void* context, const DLBridgeBuffer* buffer,
                                         const struct DLBridgeStream* stream) {
  DLBridgePyKept* kept = (DLBridgePyKept*)context;
  (void)buffer;
  if (stream != NULL) {
    dlbridge_stream_synchronize(stream, NULL);
  }
  if (!dlbridge_py_load_(&kept->life->alive)) {
    return;
  }
  if (kept->life->is_main && !dlbridge_py_is_elsewhere_()) {
    PyGILState_STATE state = PyGILState_Ensure();
    dlbridge_py_let_go_(kept);
    PyGILState_Release(state);
    return;
  }
  do {
    kept->next = (DLBridgePyKept*)dlbridge_py_look_at_(&kept->life->left);
  } while (!dlbridge_py_replace_(&kept->life->left, kept->next, kept));
}

/* During garbage collection, objects that refer to the module may call it after it was cleared. */
static inline int dlbridge_py_check_state_(const DLBridgePy* py) {
  if (py->life == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "expected a module in use, found one that is being cleared");
    return -1;
  }
  return 0;
}

/* Allocates an empty DLBridgePyKept. Returns NULL with MemoryError on failure. */
static inline DLBridgePyKept* dlbridge_py_kept_(DLBridgePy* py) {
  DLBridgePyKept* kept;
  if (dlbridge_py_check_state_(py) < 0) {
    return NULL;
  }
  kept = (DLBridgePyKept*)calloc(1, sizeof *kept);
  if (kept == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  kept->life = py->life;
  dlbridge_py_add_(&py->life->users, 1);
  return kept;
}

/* Wraps memory that `kept` keeps alive; releases `kept` on failure. */
static inline int dlbridge_py_wrap_kept_(DLBridgePyKept* kept, DLBridgeWrapSpec* spec,
                                         DLManagedTensorVersioned** out) {
  DLBridgeError error;
  spec->release = dlbridge_py_released_;
  spec->release_context = kept;
  if (dlbridge_wrap(spec, out, &error) != DLBRIDGE_OK) {
    dlbridge_py_let_go_(kept);
    return dlbridge_py_raise(&error);
  }
  return 0;
}

/** Makes a tensor of memory that the Python object `owner` keeps alive, for extension types that own
 * memory. As dlbridge_wrap; this function sets `release` and `release_context`. The tensor holds a
 * reference to `owner` until its last owner is released. \since 0.3.0 */
static inline int dlbridge_py_wrap(DLBridgePy* py, PyObject* owner, const DLBridgeWrapSpec* spec,
                                   DLManagedTensorVersioned** out) {
  DLBridgeWrapSpec copy = *spec;
  DLBridgePyKept* kept;
  dlbridge_py_collect(py);
  kept = dlbridge_py_kept_(py);
  if (kept == NULL) {
    return -1;
  }
  kept->object = Py_NewRef(owner);
  return dlbridge_py_wrap_kept_(kept, &copy, out);
}

/** The same for memory of a buffer. `*view` passes to the tensor on success and is released on
 * failure. \since 0.3.0 */
static inline int dlbridge_py_wrap_buffer(DLBridgePy* py, Py_buffer* view,
                                          const DLBridgeWrapSpec* spec,
                                          DLManagedTensorVersioned** out) {
  DLBridgeWrapSpec copy = *spec;
  DLBridgePyKept* kept;
  dlbridge_py_collect(py);
  kept = dlbridge_py_kept_(py);
  if (kept == NULL) {
    PyBuffer_Release(view);
    return -1;
  }
  kept->view = *view;
  view->obj = NULL;
  return dlbridge_py_wrap_kept_(kept, &copy, out);
}

/* ---------------------------------------------------------------------------------------------
 * State: initialisation and clean-up
 * ------------------------------------------------------------------------------------------- */

/* Called by atexit, while other threads can still take the GIL. */
static inline PyObject* dlbridge_py_at_exit_(PyObject* self, PyObject* unused) {
  DLBridgePyLife* life = (DLBridgePyLife*)PyCapsule_GetPointer(self, "dlbridge_py_life");
  (void)unused;
  if (life == NULL) {
    return NULL;
  }
  dlbridge_py_store_(&life->alive, 0);
  Py_RETURN_NONE;
}

static inline void dlbridge_py_life_destroy_(PyObject* capsule) {
  dlbridge_py_life_drop_((DLBridgePyLife*)PyCapsule_GetPointer(capsule, "dlbridge_py_life"));
}

/* Registers the end of `life` with atexit, which holds one reference. */
static inline int dlbridge_py_register_exit_(DLBridgePyLife* life) {
  static PyMethodDef method = {"dlbridge_at_exit", dlbridge_py_at_exit_, METH_NOARGS, NULL};
  PyObject *capsule, *function = NULL, *module = NULL, *result = NULL;
  capsule = PyCapsule_New(life, "dlbridge_py_life", dlbridge_py_life_destroy_);
  if (capsule == NULL) {
    return -1;
  }
  dlbridge_py_add_(&life->users, 1);
  function = PyCFunction_NewEx(&method, capsule, NULL);
  Py_DECREF(capsule);
  if (function != NULL && (module = PyImport_ImportModule("atexit")) != NULL) {
    result = PyObject_CallMethod(module, "register", "O", function);
  }
  Py_XDECREF(function);
  Py_XDECREF(module);
  Py_XDECREF(result);
  return result != NULL ? 0 : -1;
}

static inline int dlbridge_py_start_life_(DLBridgePy* py) {
  int64_t id = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (id < 0) {
    return -1;
  }
  py->life = (DLBridgePyLife*)calloc(1, sizeof *py->life);
  if (py->life == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  py->life->users = 1;
  py->life->alive = 1;
  py->life->is_main = id == 0;
  return dlbridge_py_register_exit_(py->life);
}

/** Initialises `py`, whose previous content is ignored. After a failure (-1) dlbridge_py_clear may be
 * called. \since 0.3.0 */
static inline int dlbridge_py_init(DLBridgePy* py) {
  memset(py, 0, sizeof *py);
  py->dlpack_name = PyUnicode_InternFromString("__dlpack__");
  py->table_name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  /* [facts/dlpack.toml] */
  py->version = Py_BuildValue("(ii)", 1, 3);
  /* [/facts] */
  py->version_keyword = Py_BuildValue("(N)", PyUnicode_InternFromString("max_version"));
  if (py->dlpack_name == NULL || py->table_name == NULL || py->version == NULL ||
      py->version_keyword == NULL) {
    return -1;
  }
  return dlbridge_py_start_life_(py);
}

/** For the module's m_traverse. \since 0.3.0 */
static inline int dlbridge_py_traverse(DLBridgePy* py, visitproc visit, void* arg) {
  int i;
  for (i = 0; i < DLBRIDGE_PY_TYPES; ++i) {
    Py_VISIT((PyObject*)py->types[i].type);
    Py_VISIT(py->types[i].capsule);
  }
  Py_VISIT(py->requires_grad);
  Py_VISIT(py->is_conj);
  Py_VISIT(py->is_neg);
  return 0;
}

/* Frees an entry. The entry is empty before the references are dropped, which may run other code. */
static inline void dlbridge_py_forget_(DLBridgePyType* entry) {
  PyTypeObject* type = entry->type;
  PyObject* capsule = entry->capsule;
  memset(entry, 0, sizeof *entry);
  Py_XDECREF((PyObject*)type);
  Py_XDECREF(capsule);
}

/** For the module's m_clear and m_free; may be called twice. Afterwards `py` may only be passed to
 * dlbridge_py_init. Tensors made before stay valid. \since 0.3.0 */
static inline void dlbridge_py_clear(DLBridgePy* py) {
  int i;
  DLBridgePyLife* life = py->life;
  if (life != NULL) {
    /* The main interpreter may outlive the module, and threads can take its GIL until it finalizes.
     * Objects that later deleters leave for other interpreters are leaked. */
    if (!life->is_main || !Py_IsInitialized()) {
      dlbridge_py_store_(&life->alive, 0);
    }
    dlbridge_py_collect(py);
    py->life = NULL;
    dlbridge_py_life_drop_(life);
  }
  for (i = 0; i < DLBRIDGE_PY_TYPES; ++i) {
    dlbridge_py_forget_(&py->types[i]);
  }
  Py_CLEAR(py->dlpack_name);
  Py_CLEAR(py->table_name);
  Py_CLEAR(py->version);
  Py_CLEAR(py->version_keyword);
  Py_CLEAR(py->requires_grad);
  Py_CLEAR(py->is_conj);
  Py_CLEAR(py->is_neg);
}

/* ---------------------------------------------------------------------------------------------
 * Types and their exchange tables
 * ------------------------------------------------------------------------------------------- */

/* CPython changes a type's version tag when the result of an attribute look-up may change; 0: no tag. */
static inline unsigned int dlbridge_py_tag_(PyTypeObject* type) {
#ifdef Py_LIMITED_API
  (void)type;
  return 1;
#else
  return type->tp_version_tag;
#endif
}

/* Returns 1 if the class itself defines `name`, not a base; -1 on error. */
static inline int dlbridge_py_says_(PyObject* type, PyObject* name) {
  int found;
  PyObject* names = PyObject_GetAttrString(type, "__dict__");
  if (names == NULL) {
    return -1;
  }
  found = PySequence_Contains(names, name);
  Py_DECREF(names);
  return found;
}

/* Returns 1 if an attribute is this string. */
static inline int dlbridge_py_reads_(PyObject* object, const char* attribute, const char* text) {
  PyObject* value = PyObject_GetAttrString(object, attribute);
  int same = value != NULL && PyUnicode_Check(value) &&
             PyUnicode_CompareWithASCIIString(value, text) == 0;
  Py_XDECREF(value);
  PyErr_Clear();
  return same;
}

static inline int dlbridge_py_is_(PyObject* type, const char* module, const char* name) {
  return dlbridge_py_reads_(type, "__name__", name) && dlbridge_py_reads_(type, "__module__", module);
}

/* The guard that a type needs, and whether a class nearer than the one with the table redefines
 * __dlpack__: the table then misses what __dlpack__ does. */
typedef struct DLBridgePyBases_ {
  int guard;
  int redefined;
} DLBridgePyBases_;

static inline int dlbridge_py_bases_(DLBridgePy* py, PyTypeObject* type, DLBridgePyBases_* out) {
  Py_ssize_t i, count;
  int has_table = 0;
  PyObject* bases = PyObject_GetAttrString((PyObject*)type, "__mro__");
  out->guard = DLBRIDGE_PY_GUARD_NONE;
  out->redefined = 0;
  if (bases == NULL) {
    return -1;
  }
  count = PyTuple_Check(bases) ? PyTuple_Size(bases) : 0;
  for (i = 0; i < count; ++i) {
    PyObject* base = PyTuple_GetItem(bases, i);
    int speaks = dlbridge_py_says_(base, py->dlpack_name);
    int offers = dlbridge_py_says_(base, py->table_name);
    if (speaks < 0 || offers < 0) {
      Py_DECREF(bases);
      return -1;
    }
    has_table |= offers;
    out->redefined |= speaks && !has_table;
    if (dlbridge_py_is_(base, "torch._subclasses.fake_tensor", "FakeTensor")) {
      out->guard = DLBRIDGE_PY_GUARD_FAKE;
    } else if (out->guard == DLBRIDGE_PY_GUARD_NONE && dlbridge_py_is_(base, "torch", "Tensor")) {
      out->guard = DLBRIDGE_PY_GUARD_TORCH;
    }
  }
  Py_DECREF(bases);
  return 0;
}

/* Returns the newest table in the capsule's chain that dlbridge supports, or NULL. */
static inline const DLPackExchangeAPI* dlbridge_py_table_(PyObject* capsule) {
  const DLPackExchangeAPI* table = NULL;
  if (PyCapsule_CheckExact(capsule)) {
    void* chain = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (chain == NULL) {
      PyErr_Clear();
    } else if (dlbridge_exchange_api_find((const DLPackExchangeAPIHeader*)chain,
                                          dlbridge_dlpack_version(), &table, NULL) != DLBRIDGE_OK) {
      table = NULL;
    }
  }
  return table;
}

/* Inspects `type`. The references in `out` are new. */
static inline int dlbridge_py_look_(DLBridgePy* py, PyTypeObject* type, DLBridgePyType* out) {
  DLBridgePyBases_ bases;
  memset(out, 0, sizeof *out);
  if (dlbridge_py_check_state_(py) < 0 || dlbridge_py_bases_(py, type, &bases) < 0) {
    return -1;
  }
  out->guard = bases.guard;
  out->capsule = PyObject_GetAttr((PyObject*)type, py->table_name);
  if (out->capsule == NULL) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
      return -1;
    }
    PyErr_Clear();
  } else {
    out->table = bases.redefined ? NULL : dlbridge_py_table_(out->capsule);
  }
  out->version_tag = dlbridge_py_tag_(type);
  out->type = (PyTypeObject*)Py_NewRef((PyObject*)type);
  return 0;
}

/* Returns 1 if the cached entry is still valid. */
static inline int dlbridge_py_holds_(const DLBridgePy* py, const DLBridgePyType* entry) {
#ifdef Py_LIMITED_API
  /* The limited API has no version tags: a table that was found stays cached, and a mutable type that
   * had none is asked again. */
  int none = 1;
  if (entry->table == NULL && !(PyType_GetFlags(entry->type) & Py_TPFLAGS_IMMUTABLETYPE)) {
    PyObject* capsule = PyObject_GetAttr((PyObject*)entry->type, py->table_name);
    none = capsule == NULL ? entry->capsule == NULL : capsule == entry->capsule;
    Py_XDECREF(capsule);
    PyErr_Clear();
  }
  return none;
#else
  (void)py;
  return entry->version_tag != 0 && entry->version_tag == dlbridge_py_tag_(entry->type);
#endif
}

static inline const DLBridgePyType* dlbridge_py_known_(const DLBridgePy* py, PyTypeObject* type) {
  int i;
  for (i = 0; i < DLBRIDGE_PY_TYPES; ++i) {
    if (py->types[i].type == type) {
      /* The check may run code of the type, which may replace this entry. */
      return dlbridge_py_holds_(py, &py->types[i]) && py->types[i].type == type ? &py->types[i] : NULL;
    }
  }
  return NULL;
}

/* The entry for `type`: the one that it had before it changed, else the next one in turn, which is free
 * or the oldest. */
static inline DLBridgePyType* dlbridge_py_place_(DLBridgePy* py, PyTypeObject* type) {
  int i;
  for (i = 0; i < DLBRIDGE_PY_TYPES; ++i) {
    if (py->types[i].type == type) {
      return &py->types[i];
    }
  }
  return &py->types[py->next_type++ % DLBRIDGE_PY_TYPES];
}

#ifdef Py_GIL_DISABLED
/* Another thread may read an entry at any time, so entries are never replaced. Types that do not fit
 * into the cache are inspected each time. */
static inline int dlbridge_py_type_(DLBridgePy* py, PyTypeObject* type, DLBridgePyType* out) {
  const DLBridgePyType* known;
  DLBridgePyType* free_entry;
  PyMutex_Lock(&py->mutex);
  known = dlbridge_py_known_(py, type);
  if (known != NULL) {
    *out = *known;
    Py_INCREF((PyObject*)out->type);
    Py_XINCREF(out->capsule);
  }
  PyMutex_Unlock(&py->mutex);
  if (known != NULL) {
    return 0;
  }
  if (dlbridge_py_look_(py, type, out) < 0) {
    return -1;
  }
  PyMutex_Lock(&py->mutex);
  free_entry = py->next_type < DLBRIDGE_PY_TYPES ? &py->types[py->next_type] : NULL;
  if (free_entry != NULL && dlbridge_py_known_(py, type) == NULL) {
    *free_entry = *out;
    ++py->next_type;
    Py_INCREF((PyObject*)out->type);
    Py_XINCREF(out->capsule);
  }
  PyMutex_Unlock(&py->mutex);
  return 0;
}
static inline void dlbridge_py_type_done_(DLBridgePyType* entry) { dlbridge_py_forget_(entry); }
#else
/* The caller uses its copy of the entry while it calls other code, which may replace the entry. The copy
 * holds the capsule, so that `table` stays valid. */
static inline int dlbridge_py_type_(DLBridgePy* py, PyTypeObject* type, DLBridgePyType* out) {
  const DLBridgePyType* known = dlbridge_py_known_(py, type);
  if (known == NULL) {
    DLBridgePyType fresh;
    DLBridgePyType* place;
    if (dlbridge_py_look_(py, type, &fresh) < 0) {
      return -1;
    }
    place = dlbridge_py_place_(py, type);
    *out = fresh;
    fresh = *place;
    *place = *out;
    Py_XINCREF(out->capsule);
    dlbridge_py_forget_(&fresh);
  } else {
    *out = *known;
    Py_XINCREF(out->capsule);
  }
  return 0;
}
static inline void dlbridge_py_type_done_(DLBridgePyType* entry) { Py_XDECREF(entry->capsule); }
#endif

/** The exchange table that dlbridge_py_import uses for objects of `type`: the newest supported and
 * complete one of its chain. NULL, without an exception, if the type has none, if a subclass redefines
 * __dlpack__, or if the look-up failed. Borrowed: valid as long as the type's attribute.
 * \since 0.3.0 */
static inline const DLPackExchangeAPI* dlbridge_py_exchange_api(DLBridgePy* py, PyTypeObject* type) {
  DLBridgePyType entry;
  if (dlbridge_py_type_(py, type, &entry) < 0) {
    PyErr_Clear();
    return NULL;
  }
  dlbridge_py_type_done_(&entry);
  return entry.table;
}

/* ---------------------------------------------------------------------------------------------
 * Import
 * ------------------------------------------------------------------------------------------- */

/** Bits of DLBridgePyImportOptions::options. \since 0.3.0 */
enum {
  /** The caller states that a legacy or borrowed tensor is writable. Without it, such a tensor is
   * READ_ONLY. */
  DLBRIDGE_PY_VOUCH_WRITABLE = 1 << 8,
  /** Skip validation: the caller knows that the tensor is valid. `policy` must be NULL. */
  DLBRIDGE_PY_SKIP_VALIDATION = 1 << 9,
  /** The result is dlbridge-owned, as that of dlbridge_import: it can be shared and viewed, and its
   * producer can no longer change it. Without it, a versioned tensor is returned unchanged. */
  DLBRIDGE_PY_OWNED = 1 << 10,
  /** A producer that would have to copy rejects the request. Without COPY_NEVER and COPY_ALWAYS the
   * producer decides whether to copy. */
  DLBRIDGE_PY_COPY_NEVER = 1 << 11,
  /** If the producer does not copy, dlbridge does: to `device`, or to the host if it is NULL. */
  DLBRIDGE_PY_COPY_ALWAYS = 1 << 12,
  /** `stream` is set. */
  DLBRIDGE_PY_STREAM = 1 << 13
};

/** How to import. All zero but `struct_size` means the same as a NULL pointer. All pointers are borrowed
 * for the call. \since 0.3.0 */
typedef struct DLBridgePyImportOptions {
  uint32_t struct_size;         /**< sizeof(DLBridgePyImportOptions) */
  uint32_t options;             /**< DLBRIDGE_PY_* */
  const DLDevice* device;       /**< Target device; NULL: the tensor's own. */
  int64_t stream;               /**< The consumer's, as an integer of the Python array API. Read
                                     only with DLBRIDGE_PY_STREAM, else 0: the legacy default. */
  const DLBridgePolicy* policy; /**< Policy for validation; NULL: the default policy, plus rejection of
                                     dtypes, devices and flag bits that no release knows. */
} DLBridgePyImportOptions;

/** Static initialiser. \since 0.3.0 */
#define DLBRIDGE_PY_IMPORT_OPTIONS_INIT {(uint32_t)sizeof(DLBridgePyImportOptions), 0, NULL, 0, NULL}

/** The same as a value. \since 0.3.0 */
static inline DLBridgePyImportOptions dlbridge_py_import_options_init(void) {
  DLBridgePyImportOptions value = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  return value;
}

/* The policy for NULL: a code that no release knows is rejected, as in conversions, for every kind of
 * source. */
static inline const DLBridgePolicy* dlbridge_py_policy_(const DLBridgePyImportOptions* options) {
  static const DLBridgePolicy known = {
      (uint32_t)sizeof(DLBridgePolicy),
      DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE | DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE |
          DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS,
      {0, 0},
      DLBRIDGE_LEVEL_DEFAULT,
      DLBRIDGE_CONTIGUITY_ANY,
      0,
      0,
      0,
      0,
      NULL,
      0,
      NULL,
      0,
      NULL};
  return options->policy != NULL ? options->policy : &known;
}

/* Returns 1 if the tensor uses nothing newer than DLPack 1.0. */
static inline int dlbridge_py_is_plain_(const DLTensor* tensor, uint64_t tensor_flags) {
  const uint64_t known = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  const int64_t device = (int64_t)tensor->device.device_type;
  return tensor->dtype.code <= kDLBool && (tensor_flags & ~known) == 0 && device >= kDLCPU &&
         device <= kDLCUDAHost;
}

/* The policy to pass: NULL, which is the fastest, if the default policy adds nothing for this tensor. */
static inline const DLBridgePolicy* dlbridge_py_needed_(const DLBridgePyImportOptions* options,
                                                        const DLTensor* tensor,
                                                        uint64_t tensor_flags) {
  return options->policy == NULL && dlbridge_py_is_plain_(tensor, tensor_flags)
             ? NULL
             : dlbridge_py_policy_(options);
}

/* Validates a versioned tensor without a conversion. */
static inline DLBridgeStatus dlbridge_py_validate_(const DLManagedTensorVersioned* tensor,
                                                   const DLBridgePyImportOptions* options,
                                                   DLBridgeError* error) {
  /* In another major only the version may be read. */
  const DLBridgePolicy* policy =
      tensor->version.major == 1 ? dlbridge_py_needed_(options, &tensor->dl_tensor, tensor->flags)
                                 : NULL;
  return dlbridge_validate_versioned(tensor, policy, error);
}

/* Calls dlbridge_import with the equivalent of these options. */
static inline DLBridgeStatus dlbridge_py_owned_(void* tensor, DLBridgeKind kind,
                                                const DLBridgePyImportOptions* options,
                                                DLManagedTensorVersioned** out,
                                                DLBridgeError* error) {
  DLBridgeConvertOptions convert = DLBRIDGE_CONVERT_OPTIONS_INIT;
  convert.options = DLBRIDGE_CONVERT_ALLOW_UNKNOWN;
  if ((options->options & DLBRIDGE_PY_VOUCH_WRITABLE) != 0) {
    convert.options |= DLBRIDGE_CONVERT_VOUCH_WRITABLE;
  }
  if ((options->options & DLBRIDGE_PY_SKIP_VALIDATION) != 0) {
    convert.options |= DLBRIDGE_CONVERT_SKIP_VALIDATION;
  } else {
    convert.policy = dlbridge_py_policy_(options);
  }
  return dlbridge_import(tensor, kind, &convert, out, error);
}

/* Turns a managed tensor into `*out`; on failure it stays the caller's. */
static inline int dlbridge_py_accept_(void* tensor, DLBridgeKind kind,
                                      const DLBridgePyImportOptions* options,
                                      DLManagedTensorVersioned** out) {
  DLBridgeError error;
  DLBridgeStatus status = DLBRIDGE_OK;
  if (kind != DLBRIDGE_KIND_VERSIONED || (options->options & DLBRIDGE_PY_OWNED) != 0) {
    status = dlbridge_py_owned_(tensor, kind, options, out, &error);
  } else {
    if ((options->options & DLBRIDGE_PY_SKIP_VALIDATION) == 0) {
      status = dlbridge_py_validate_((DLManagedTensorVersioned*)tensor, options, &error);
    }
    if (status == DLBRIDGE_OK) {
      *out = (DLManagedTensorVersioned*)tensor;
    }
  }
  return status == DLBRIDGE_OK ? 0 : dlbridge_py_raise(&error);
}

/* Rejects a capsule without a live tensor, with the reason. */
static inline int dlbridge_py_reject_capsule_(const char* name) {
  if (name != NULL && strncmp(name, "used_dltensor", 13) == 0) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_NONE,
                        "expected a capsule whose tensor was not taken yet, found one named \"%s\": "
                        "request another from its producer",
                        name);
  } else {
    dlbridge_py_reject_(PyExc_TypeError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                        "expected a capsule named \"dltensor\" or \"dltensor_versioned\", found "
                        "%s%.100s%s",
                        name != NULL ? "\"" : "", name != NULL ? name : "one without a name",
                        name != NULL ? "\"" : "");
  }
  return -1;
}

/* Renames the capsule after its tensor was taken, as the protocol requires: the tensor cannot be taken
 * again, and the destructor does not release it. */
static inline int dlbridge_py_take_(PyObject* capsule, const char* used,
                                    DLManagedTensorVersioned** out) {
  if (PyCapsule_SetName(capsule, used) != 0) {
    dlbridge_py_release(*out);
    *out = NULL;
    return -1;
  }
  return 0;
}

/* Takes the tensor out of a capsule, by the protocol's rules. */
static inline int dlbridge_py_by_capsule_(PyObject* capsule, const DLBridgePyImportOptions* options,
                                          DLManagedTensorVersioned** out) {
  const char* name = PyCapsule_GetName(capsule);
  const int versioned = name != NULL && strcmp(name, "dltensor_versioned") == 0;
  void* tensor;
  if (!versioned && (name == NULL || strcmp(name, "dltensor") != 0)) {
    return dlbridge_py_reject_capsule_(name);
  }
  tensor = PyCapsule_GetPointer(capsule, name);
  if (tensor == NULL ||
      dlbridge_py_accept_(tensor, versioned ? DLBRIDGE_KIND_VERSIONED : DLBRIDGE_KIND_LEGACY, options,
                          out) < 0) {
    return -1;
  }
  return dlbridge_py_take_(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor", out);
}

/* --- By __dlpack__ ---------------------------------------------------------------------------- */

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

/* Returns 1 if the caller set one of the COPY options. */
static inline int dlbridge_py_says_copy_(const DLBridgePyImportOptions* options) {
  return (options->options & (DLBRIDGE_PY_COPY_NEVER | DLBRIDGE_PY_COPY_ALWAYS)) != 0;
}

/* The consumer's stream as an integer of the Python array API. */
static inline int64_t dlbridge_py_stream_(const DLBridgePyImportOptions* options) {
  return (options->options & DLBRIDGE_PY_STREAM) != 0 ? options->stream
                                                      : DLBRIDGE_ARRAY_API_STREAM_NONE;
}

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

/* --- Guards ----------------------------------------------------------------------------------- */

/* Calls a method without arguments through its descriptor; returns a new reference. For an object that
 * only pretends to be a torch.Tensor, CPython raises TypeError. */
static inline PyObject* dlbridge_py_ask_method_(PyObject* descriptor, PyObject* object) {
#ifndef Py_LIMITED_API
  if (Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) {
    PyMethodDef* method = ((PyMethodDescrObject*)descriptor)->d_method;
    if (method->ml_flags == METH_NOARGS && PyObject_TypeCheck(object, PyDescr_TYPE(descriptor))) {
      return method->ml_meth(object, NULL);
    }
  }
#endif
  return PyObject_CallFunctionObjArgs(descriptor, object, NULL);
}

/* Reads an attribute through its descriptor; returns a new reference. */
static inline PyObject* dlbridge_py_ask_attribute_(PyObject* descriptor, PyObject* object) {
#ifndef Py_LIMITED_API
  if (Py_IS_TYPE(descriptor, &PyGetSetDescr_Type)) {
    PyGetSetDef* getset = ((PyGetSetDescrObject*)descriptor)->d_getset;
    if (getset->get != NULL && PyObject_TypeCheck(object, PyDescr_TYPE(descriptor))) {
      return getset->get(object, getset->closure);
    }
  }
#endif
  return PyObject_CallMethod(descriptor, "__get__", "O", object);
}

/* Returns the truth value 0 or 1, or -1; takes the reference. */
static inline int dlbridge_py_truth_(PyObject* value) {
  int truth = value == Py_True ? 1 : value == Py_False ? 0 : value != NULL ? PyObject_IsTrue(value) : -1;
  Py_XDECREF(value);
  return truth;
}

/* Returns a new reference to torch.Tensor, a base of `type`. */
static inline PyObject* dlbridge_py_torch_class_(PyTypeObject* type) {
  Py_ssize_t i, count;
  PyObject* found = (PyObject*)type;
  PyObject* bases = PyObject_GetAttrString((PyObject*)type, "__mro__");
  if (bases == NULL) {
    return NULL;
  }
  count = PyTuple_Check(bases) ? PyTuple_Size(bases) : 0;
  for (i = 0; i < count; ++i) {
    PyObject* base = PyTuple_GetItem(bases, i);
    if (dlbridge_py_is_(base, "torch", "Tensor")) {
      found = base;
      break;
    }
  }
  Py_INCREF(found);
  Py_DECREF(bases);
  return found;
}

/* Finds the descriptors of torch.Tensor, starting from the type of a tensor. A subclass may override
 * them, and its versions apply neither to other tensors nor to the table's exports. */
static inline int dlbridge_py_meet_torch_(DLBridgePy* py, PyTypeObject* type) {
  PyObject *torch, *requires_grad, *is_conj, *is_neg;
  torch = dlbridge_py_torch_class_(type);
  if (torch == NULL) {
    return -1;
  }
  requires_grad = PyObject_GetAttrString(torch, "requires_grad");
  is_conj = requires_grad != NULL ? PyObject_GetAttrString(torch, "is_conj") : NULL;
  is_neg = is_conj != NULL ? PyObject_GetAttrString(torch, "is_neg") : NULL;
  Py_DECREF(torch);
  if (requires_grad == NULL || is_conj == NULL || is_neg == NULL) {
    Py_XDECREF(requires_grad);
    Py_XDECREF(is_conj);
    Py_XDECREF(is_neg);
    return -1;
  }
  py->is_conj = is_conj;
  py->is_neg = is_neg;
  py->requires_grad = requires_grad;
  return 0;
}

/* Calls one of torch's methods and returns its truth value; 0 without a call if `code` rules it out. */
static inline int dlbridge_py_torch_says_(PyObject* method, PyObject* object, int possible) {
  return possible ? dlbridge_py_truth_(dlbridge_py_ask_method_(method, object)) : 0;
}

/* Returns 1 if the table exports the same as torch's __dlpack__, 0 if __dlpack__ must be called, which
 * rejects the tensor, -1 on error. `code` is the tensor's dtype code, or -1 if it is not known yet:
 * integers and booleans have no gradient and are never conjugated or negated, and only complex numbers
 * are conjugated. */
static inline int dlbridge_py_guard_torch_(DLBridgePy* py, PyObject* object, int code) {
  int requires_grad, conjugated, negated;
  if (code == kDLInt || code == kDLUInt || code == kDLBool) {
    return 1;
  }
  if (py->requires_grad == NULL && dlbridge_py_meet_torch_(py, Py_TYPE(object)) < 0) {
    return -1;
  }
  requires_grad = dlbridge_py_truth_(dlbridge_py_ask_attribute_(py->requires_grad, object));
  conjugated = dlbridge_py_torch_says_(py->is_conj, object, code == kDLComplex || code == -1);
  negated = dlbridge_py_torch_says_(py->is_neg, object, 1);
  if (requires_grad < 0 || conjugated < 0 || negated < 0) {
    return -1;
  }
  if (negated) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_UNREPRESENTABLE, DLBRIDGE_RULE_NONE,
                        "expected a tensor whose memory holds its values, found a torch view that is "
                        "negated on reading: call its resolve_neg() first");
    return -1;
  }
  return !requires_grad && !conjugated;
}

/* As dlbridge_py_guard_torch_, for any guard. */
static inline int dlbridge_py_guard_(DLBridgePy* py, PyObject* object, int guard, int code) {
  return guard == DLBRIDGE_PY_GUARD_TORCH ? dlbridge_py_guard_torch_(py, object, code) : 1;
}

static inline int dlbridge_py_reject_fake_(void) {
  dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_DATA_NULL,
                      "expected a tensor with data, found a torch fake tensor, which has none");
  return -1;
}

/* --- By the exchange table -------------------------------------------------------------------- */

/* The producer's current stream from its table. Returns -1 without an exception for devices whose queues
 * the table cannot name. */
static inline int dlbridge_py_work_stream_(const DLPackExchangeAPI* table, DLDevice device,
                                           DLBridgeStream* out) {
  int64_t type = (int64_t)device.device_type;
  void* handle = NULL;
  if (type != kDLCUDA && type != kDLROCM && type != kDLCUDAManaged) {
    return -1;
  }
  if (table->current_work_stream(device.device_type, device.device_id, &handle) != 0) {
    PyErr_Clear();
    return -1;
  }
  memset(out, 0, sizeof *out);
  out->backend = type == kDLROCM ? DLBRIDGE_BACKEND_HIP : DLBRIDGE_BACKEND_CUDA;
  out->kind = DLBRIDGE_STREAM_QUEUE;
  out->device = device;
  out->handle = (uint64_t)(uintptr_t)handle;
  if (handle == NULL && out->backend == DLBRIDGE_BACKEND_CUDA) {
    out->handle = 1; /* the legacy default stream */
  }
  return 0;
}

/* Orders the producer's work before the consumer's. Returns 1 if done, 0 if the table cannot and
 * __dlpack__ must be called, -1 on error. */
static inline int dlbridge_py_order_(const DLPackExchangeAPI* table, const DLTensor* tensor,
                                     const DLBridgePyImportOptions* options) {
  int64_t type = (int64_t)tensor->device.device_type;
  DLBridgeStream producer, consumer;
  DLBridgeError error;
  if (type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost ||
      dlbridge_py_stream_(options) == -1) {
    return 1;
  }
  if (dlbridge_py_work_stream_(table, tensor->device, &producer) < 0) {
    return 0;
  }
  if (dlbridge_stream_from_array_api(tensor->device, dlbridge_py_stream_(options), &consumer, &error) !=
          DLBRIDGE_OK ||
      dlbridge_stream_handoff(&producer, &consumer, 0, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  return 1;
}

/* A function of the table of `type` failed: keeps its exception, or sets one; returns -1. */
static inline int dlbridge_py_table_failed_(PyTypeObject* type) {
  if (!PyErr_Occurred()) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_NONE,
                        "expected a tensor from the exchange table of %R, which failed without "
                        "setting an exception",
                        (PyObject*)type);
  }
  return -1;
}

/* Returns 1 if `*out` is set, 0 if __dlpack__ must be called, -1 on error. */
static inline int dlbridge_py_by_table_(DLBridgePy* py, const DLBridgePyType* type, PyObject* object,
                                        const DLBridgePyImportOptions* options,
                                        DLManagedTensorVersioned** out) {
  int status = 1;
  DLManagedTensorVersioned* tensor = NULL;
  if (type->table->managed_tensor_from_py_object_no_sync(object, &tensor) != 0 || tensor == NULL) {
    return dlbridge_py_table_failed_(Py_TYPE(object));
  }
  if (tensor->version.major == 1) {
    status = dlbridge_py_guard_(py, object, type->guard, tensor->dl_tensor.dtype.code);
    if (status == 1) {
      status = dlbridge_py_order_(type->table, &tensor->dl_tensor, options);
    }
  }
  if (status == 1 && dlbridge_py_accept_(tensor, DLBRIDGE_KIND_VERSIONED, options, out) < 0) {
    status = -1;
  }
  if (status != 1) {
    dlbridge_py_release(tensor);
  }
  return status;
}

/* --- By capsule, table or __dlpack__ ---------------------------------------------------------- */

static inline int dlbridge_py_by_any_(DLBridgePy* py, PyObject* object,
                                      const DLBridgePyImportOptions* options,
                                      DLManagedTensorVersioned** out) {
  DLBridgePyType type;
  int status;
  if (PyCapsule_CheckExact(object)) {
    return dlbridge_py_by_capsule_(object, options, out);
  }
  if (dlbridge_py_type_(py, Py_TYPE(object), &type) < 0) {
    return -1;
  }
  if (type.guard == DLBRIDGE_PY_GUARD_FAKE) {
    status = dlbridge_py_reject_fake_();
  } else if (type.table != NULL && options->device == NULL) {
    status = dlbridge_py_by_table_(py, &type, object, options, out);
  } else {
    status = dlbridge_py_guard_(py, object, type.guard, -1) < 0 ? -1 : 0;
  }
  if (status == 0) {
    status = dlbridge_py_by_method_(py, object, options, out);
  }
  dlbridge_py_type_done_(&type);
  return status < 0 ? -1 : 0;
}

/* Copies to `device` (NULL: the host) and releases the source, also on failure. */
static inline int dlbridge_py_copied_(DLManagedTensorVersioned** tensor, const DLDevice* device) {
  DLBridgeError error;
  DLBridgeStatus status;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLManagedTensorVersioned *source = *tensor, *copy = NULL;
  spec.options = DLBRIDGE_COPY_ALLOW_STAGING;
  spec.tensor_flags = source->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  if (device != NULL) {
    spec.device = *device;
  }
  Py_BEGIN_ALLOW_THREADS
  status = dlbridge_copy(&source->dl_tensor, source->flags, &spec, &copy, &error);
  Py_END_ALLOW_THREADS
  *tensor = copy;
  if (status != DLBRIDGE_OK) {
    dlbridge_py_raise(&error);
  }
  dlbridge_py_release(source);
  return status == DLBRIDGE_OK ? 0 : -1;
}

/* Copies the tensor if it is not on the wanted device, or if the caller wants a copy and has none. */
static inline int dlbridge_py_fit_(const DLBridgePyImportOptions* options,
                                   DLManagedTensorVersioned** tensor) {
  const DLTensor* fields = &(*tensor)->dl_tensor;
  const int elsewhere = options->device != NULL &&
                        ((int64_t)fields->device.device_type != (int64_t)options->device->device_type ||
                         fields->device.device_id != options->device->device_id);
  const int never = (options->options & DLBRIDGE_PY_COPY_NEVER) != 0;
  const int copied = ((*tensor)->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
  const int writable = ((*tensor)->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0;
  const int on_host = (int64_t)fields->device.device_type == kDLCPU;
  if (elsewhere && never) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_UNSUPPORTED, DLBRIDGE_RULE_NONE,
                        "expected a tensor on device (%d, %d), found one on (%d, %d), which "
                        "copy=False forbids to copy",
                        (int)options->device->device_type, (int)options->device->device_id,
                        (int)fields->device.device_type, (int)fields->device.device_id);
    dlbridge_py_release(*tensor);
    *tensor = NULL;
    return -1;
  }
  if (never && copied) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_UNSUPPORTED, DLBRIDGE_RULE_NONE,
                        "expected the producer's own memory because of copy=False, found a copy that "
                        "the producer made");
    dlbridge_py_release(*tensor);
    *tensor = NULL;
    return -1;
  }
  /* Some producers copy and keep the source's READ_ONLY: such a copy is not writable. */
  if ((options->options & DLBRIDGE_PY_COPY_ALWAYS) != 0 && (!copied || (on_host && !writable))) {
    return dlbridge_py_copied_(tensor, options->device);
  }
  return elsewhere ? dlbridge_py_copied_(tensor, options->device) : 0;
}

/* Raises an error about an argument; returns -1. */
static inline int dlbridge_py_reject_argument_(const char* message) {
  return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                             "%s", message);
}

/* The name of the lowest DLPack flag in `bits`. */
static inline const char* dlbridge_py_flag_name_(uint32_t bits) {
  return (bits & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 ? "DLPACK_FLAG_BITMASK_READ_ONLY"
         : (bits & DLPACK_FLAG_BITMASK_IS_COPIED) != 0
             ? "DLPACK_FLAG_BITMASK_IS_COPIED"
         : (bits & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0
             ? "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED"
             : "a bit below 8, reserved for DLPack's flags";
}

/* Reads `struct_size` first, and no byte past it. */
static inline int dlbridge_py_check_size_(const DLBridgePyImportOptions* options) {
  const unsigned char* bytes = (const unsigned char*)options;
  const uint32_t size = options->struct_size;
  uint32_t i;
  if (size < sizeof *options || size > 4096) {
    return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                               "options.struct_size: expected %u to 4096, found %u; start from "
                               "dlbridge_py_import_options_init",
                               (unsigned)sizeof *options, (unsigned)size);
  }
  for (i = (uint32_t)sizeof *options; i < size; ++i) {
    if (bytes[i] != 0) {
      return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_TOO_NEW, DLBRIDGE_RULE_NONE,
                                 "options: byte %u is set, which is a field of a newer version of "
                                 "dlbridge/cpython_api.h",
                                 (unsigned)i);
    }
  }
  return 0;
}

static inline int dlbridge_py_check_bits_(uint32_t bits) {
  const uint32_t known = DLBRIDGE_PY_VOUCH_WRITABLE | DLBRIDGE_PY_SKIP_VALIDATION |
                         DLBRIDGE_PY_OWNED | DLBRIDGE_PY_COPY_NEVER | DLBRIDGE_PY_COPY_ALWAYS |
                         DLBRIDGE_PY_STREAM;
  if ((bits & 0xffu) != 0) {
    return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                               "options.options: expected DLBRIDGE_PY_* bits, found %s (0x%x)",
                               dlbridge_py_flag_name_(bits), (unsigned)bits);
  }
  if ((bits & ~known) != 0) {
    return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_TOO_NEW, DLBRIDGE_RULE_NONE,
                               "options.options: found the bits 0x%x, which this version of "
                               "dlbridge/cpython_api.h does not know",
                               (unsigned)(bits & ~known));
  }
  return 0;
}

static inline int dlbridge_py_check_options_(const DLBridgePyImportOptions* options) {
  const uint32_t both = DLBRIDGE_PY_COPY_NEVER | DLBRIDGE_PY_COPY_ALWAYS;
  if (dlbridge_py_check_size_(options) < 0 || dlbridge_py_check_bits_(options->options) < 0) {
    return -1;
  }
  if ((options->options & both) == both) {
    return dlbridge_py_reject_argument_(
        "options.options: expected at most one of DLBRIDGE_PY_COPY_NEVER and "
        "DLBRIDGE_PY_COPY_ALWAYS, found both");
  }
  if ((options->options & DLBRIDGE_PY_STREAM) == 0 && options->stream != 0) {
    return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                               "options.stream: expected 0 without DLBRIDGE_PY_STREAM, found %lld",
                               (long long)options->stream);
  }
  if ((options->options & DLBRIDGE_PY_SKIP_VALIDATION) != 0 && options->policy != NULL) {
    return dlbridge_py_reject_argument_(
        "options.policy: expected NULL with DLBRIDGE_PY_SKIP_VALIDATION, found a policy");
  }
  return 0;
}

/** Makes a tensor of any object that supports DLPack: through its type's exchange table, else through
 * __dlpack__ with keywords, else without; or of a capsule of either name. `options` may be NULL. `*out`
 * belongs to the caller; it is versioned, of major 1, and validated. If the producer exports a versioned
 * tensor and DLBRIDGE_PY_OWNED is not set, it is the producer's own tensor and nothing is allocated;
 * else it is dlbridge-owned. A rejected capsule still owns its tensor. If only `device` or a COPY option
 * cannot be met, the capsule was already taken and the tensor is released. \since 0.3.0 */
static inline int dlbridge_py_import(DLBridgePy* py, PyObject* object,
                                     const DLBridgePyImportOptions* options,
                                     DLManagedTensorVersioned** out) {
  static const DLBridgePyImportOptions usual = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  DLManagedTensorVersioned* tensor = NULL;
  options = options != NULL ? options : &usual;
  if (dlbridge_py_check_options_(options) < 0) {
    return -1;
  }
  dlbridge_py_collect(py);
  if (dlbridge_py_by_any_(py, object, options, &tensor) < 0) {
    return -1;
  }
  if ((options->device != NULL || dlbridge_py_says_copy_(options)) &&
      dlbridge_py_fit_(options, &tensor) < 0) {
    return -1;
  }
  *out = tensor;
  return 0;
}

/** Takes the tensor out of a capsule. On success the capsule is renamed and `*out` belongs to the
 * caller, as from dlbridge_py_import. On failure the capsule still owns its tensor. `device`, STREAM and
 * the COPY options do not apply: ValueError if one is set.
 * \since 0.3.0 */
static inline int dlbridge_py_import_capsule(PyObject* capsule,
                                             const DLBridgePyImportOptions* options,
                                             DLManagedTensorVersioned** out) {
  static const DLBridgePyImportOptions usual = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  options = options != NULL ? options : &usual;
  if (dlbridge_py_check_options_(options) < 0) {
    return -1;
  }
  if (options->device != NULL || dlbridge_py_says_copy_(options) ||
      (options->options & DLBRIDGE_PY_STREAM) != 0) {
    return dlbridge_py_reject_argument_(
        "options: expected no device, copy or stream for a capsule, whose tensor exists already");
  }
  if (!PyCapsule_CheckExact(capsule)) {
    return dlbridge_py_reject_(PyExc_TypeError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                               "expected a DLPack capsule, found an instance of %R",
                               (PyObject*)Py_TYPE(capsule));
  }
  return dlbridge_py_by_capsule_(capsule, options, out);
}

/** A tensor that is borrowed for the duration of a call. \since 0.3.0 */
typedef struct DLBridgePyBorrowed {
  DLTensor tensor;                 /**< The tensor. */
  uint64_t tensor_flags;           /**< Its DLPack flags; READ_ONLY if writability is unknown. */
  DLManagedTensorVersioned* owner; /**< Released by dlbridge_py_give_back; NULL: the object owns it. */
} DLBridgePyBorrowed;

/* Borrows a tensor through the exchange table. Returns as dlbridge_py_by_table_. */
static inline int dlbridge_py_lend_(DLBridgePy* py, const DLBridgePyType* type, PyObject* object,
                                    const DLBridgePyImportOptions* options, DLBridgePyBorrowed* out) {
  int status;
  DLBridgeError error;
  if (type->table->dltensor_from_py_object_no_sync(object, &out->tensor) != 0) {
    return dlbridge_py_table_failed_(Py_TYPE(object));
  }
  out->owner = NULL;
  if (out->tensor.dtype.bits < 8) {
    return 0; /* only an owner's flags record whether these elements are padded */
  }
  status = dlbridge_py_guard_(py, object, type->guard, out->tensor.dtype.code);
  if (status != 1) {
    return status;
  }
  /* A borrowed tensor has no flags. torch never marks a tensor read-only. */
  out->tensor_flags = type->guard == DLBRIDGE_PY_GUARD_TORCH ||
                              (options->options & DLBRIDGE_PY_VOUCH_WRITABLE) != 0
                          ? 0
                          : DLPACK_FLAG_BITMASK_READ_ONLY;
  if ((options->options & DLBRIDGE_PY_SKIP_VALIDATION) == 0 &&
      dlbridge_validate(&out->tensor, out->tensor_flags,
                        dlbridge_py_needed_(options, &out->tensor, out->tensor_flags),
                        &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  return dlbridge_py_order_(type->table, &out->tensor, options);
}

/* Returns 1 if the policy requires a writable tensor; only an owned tensor records that. */
static inline int dlbridge_py_must_write_(const DLBridgePyImportOptions* options) {
  return options->policy != NULL && (options->policy->options & DLBRIDGE_POLICY_REQUIRE_WRITABLE) != 0;
}

/** Borrows the tensor of any object that supports DLPack for the duration of a call. If the exchange
 * table of its type can lend tensors, nothing is allocated. `object` must stay alive and unchanged until
 * dlbridge_py_give_back. A capsule is taken, as by dlbridge_py_import. `options->device` and the COPY
 * options do not apply: ValueError if one is set.
 * \since 0.3.0 */
static inline int dlbridge_py_borrow(DLBridgePy* py, PyObject* object,
                                     const DLBridgePyImportOptions* options,
                                     DLBridgePyBorrowed* out) {
  static const DLBridgePyImportOptions usual = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  DLBridgePyType type;
  int status;
  options = options != NULL ? options : &usual;
  if (dlbridge_py_check_options_(options) < 0) {
    return -1;
  }
  if (options->device != NULL || dlbridge_py_says_copy_(options)) {
    dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                        "expected no device and no copy for a tensor that is borrowed");
    return -1;
  }
  if (!PyCapsule_CheckExact(object)) {
    if (dlbridge_py_type_(py, Py_TYPE(object), &type) < 0) {
      return -1;
    }
    status = 0;
    if (type.guard != DLBRIDGE_PY_GUARD_FAKE && type.table != NULL &&
        type.table->dltensor_from_py_object_no_sync != NULL && !dlbridge_py_must_write_(options)) {
      status = dlbridge_py_lend_(py, &type, object, options, out);
    }
    dlbridge_py_type_done_(&type);
    if (status != 0) {
      return status < 0 ? -1 : 0;
    }
  }
  if (dlbridge_py_import(py, object, options, &out->owner) < 0) {
    return -1;
  }
  out->tensor = out->owner->dl_tensor;
  out->tensor_flags = out->owner->flags;
  return 0;
}

/** Ends a dlbridge_py_borrow. May be called with an exception set. \since 0.3.0 */
static inline void dlbridge_py_give_back(DLBridgePyBorrowed* borrowed) {
  dlbridge_py_release(borrowed->owner);
  borrowed->owner = NULL;
}

/* ---------------------------------------------------------------------------------------------
 * Export
 * ------------------------------------------------------------------------------------------- */

/* Names are compared by address first. A consumer that takes the tensor renames the capsule. */
static inline const char* dlbridge_py_versioned_name_(void) {
  static const char name[] = "dltensor_versioned";
  return name;
}
static inline const char* dlbridge_py_legacy_name_(void) {
  static const char name[] = "dltensor";
  return name;
}

/* The destructor releases the tensor if it was not taken, and keeps the current exception. */
static inline void dlbridge_py_destroy_versioned_(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (name == dlbridge_py_versioned_name_() ||
      (name != NULL && strcmp(name, "dltensor_versioned") == 0)) {
    dlbridge_py_release((DLManagedTensorVersioned*)PyCapsule_GetPointer(capsule, name));
  }
}
static inline void dlbridge_py_destroy_legacy_(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (name == dlbridge_py_legacy_name_() || (name != NULL && strcmp(name, "dltensor") == 0)) {
    DLBridgePyPending_ pending = dlbridge_py_set_aside_();
    dlbridge_release_legacy((DLManagedTensor*)PyCapsule_GetPointer(capsule, name));
    PyErr_Clear();
    dlbridge_py_put_back_(pending);
  }
}

/** Makes a capsule for consumers of DLPack 1. On success the capsule owns `tensor`.
 * \since 0.3.0 */
static inline PyObject* dlbridge_py_capsule_versioned(DLManagedTensorVersioned* tensor) {
  return PyCapsule_New(tensor, dlbridge_py_versioned_name_(), dlbridge_py_destroy_versioned_);
}

/** The same for a legacy tensor. \since 0.3.0 */
static inline PyObject* dlbridge_py_capsule_legacy(DLManagedTensor* tensor) {
  return PyCapsule_New(tensor, dlbridge_py_legacy_name_(), dlbridge_py_destroy_legacy_);
}

/* Relabels the tensor if its version is newer than the consumer's. */
static inline int dlbridge_py_label_(DLManagedTensorVersioned** tensor, DLPackVersion newest) {
  DLBridgeError error;
  DLBridgeConvertOptions convert = DLBRIDGE_CONVERT_OPTIONS_INIT;
  DLBridgeKind kind;
  void* out;
  if (newest.major > 1 || (*tensor)->version.minor <= newest.minor) {
    return 0;
  }
  convert.options = DLBRIDGE_CONVERT_SKIP_VALIDATION;
  if (dlbridge_export(*tensor, DLBRIDGE_KIND_VERSIONED, newest, &convert, &out, &kind, &error) !=
      DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  *tensor = (DLManagedTensorVersioned*)out;
  return 0;
}

static inline PyObject* dlbridge_py_capsule_downgraded_(DLManagedTensorVersioned* tensor,
                                                        const DLPackVersion* newest,
                                                        uint32_t options) {
  DLBridgeError error;
  DLBridgeConvertOptions convert = DLBRIDGE_CONVERT_OPTIONS_INIT;
  DLManagedTensor* legacy = NULL;
  PyObject* capsule;
  convert.options = options;
  if (newest != NULL) {
    convert.version = *newest;
  }
  if (dlbridge_downgrade(tensor, &convert, &legacy, &error) != DLBRIDGE_OK) {
    dlbridge_py_raise(&error);
    dlbridge_py_release(tensor);
    return NULL;
  }
  capsule = dlbridge_py_capsule_legacy(legacy);
  if (capsule == NULL) {
    dlbridge_release_legacy(legacy);
  }
  return capsule;
}

/** Makes a capsule for a consumer that reads DLPack up to `newest`. If `newest` is NULL or of major 0,
 * as for a __dlpack__ call without max_version, the capsule is legacy; else it is versioned, of at most
 * that version. `tensor` passes to the capsule and is released on failure: share it first if you still
 * need it. `options` are DLBRIDGE_CONVERT_* bits for the downgrade. Legacy cannot record READ_ONLY, so a
 * READ_ONLY tensor is rejected without DROP_READ_ONLY. \since 0.3.0 */
static inline PyObject* dlbridge_py_capsule(DLManagedTensorVersioned* tensor,
                                            const DLPackVersion* newest, uint32_t options) {
  PyObject* capsule;
  if (newest == NULL || newest->major == 0) {
    return dlbridge_py_capsule_downgraded_(tensor, newest, options);
  }
  if (dlbridge_py_label_(&tensor, *newest) < 0) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  capsule = dlbridge_py_capsule_versioned(tensor);
  if (capsule == NULL) {
    dlbridge_py_release(tensor);
  }
  return capsule;
}

/* ---------------------------------------------------------------------------------------------
 * An exchange table for an extension type
 * ------------------------------------------------------------------------------------------- */

/** Allocator for the table: host memory. Needs no GIL. \since 0.3.0 */
static inline int dlbridge_py_table_allocate(DLTensor* prototype, DLManagedTensorVersioned** out,
                                             void* error_context,
                                             void (*set_error)(void* error_context, const char* kind,
                                                               const char* message)) {
  DLBridgeError error;
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.ndim = prototype->ndim;
  spec.shape = prototype->shape;
  spec.device = prototype->device;
  spec.dtype = prototype->dtype;
  if (dlbridge_allocate(&spec, out, &error) == DLBRIDGE_OK) {
    return 0;
  }
  if (set_error != NULL) {
    set_error(error_context,
              error.status == DLBRIDGE_ERROR_OUT_OF_MEMORY ? "MemoryError" : "BufferError",
              error.message);
  }
  return -1;
}

/** Stream function for the table, for types whose work is done when a call returns. \since 0.3.0 */
static inline int dlbridge_py_table_no_stream(DLDeviceType device_type, int32_t device_id,
                                              void** out_current_stream) {
  (void)device_type;
  (void)device_id;
  *out_current_stream = NULL;
  return 0;
}

/** Fills `table` for a type. `from_object` exports an owner (dlbridge_share of the object's tensor).
 * `to_object` makes an object of any tensor, which then owns it (dlbridge_import makes the tensor
 * dlbridge-owned). `lend` (may be NULL) fills a borrowed tensor. All are called with the GIL and return
 * 0, or -1 with an exception set. A table must never move or be freed: make it static. Its version is
 * the library's DLPack version. \since 0.3.0 */
static inline void dlbridge_py_table_init(DLPackExchangeAPI* table,
                                          DLPackManagedTensorFromPyObjectNoSync from_object,
                                          DLPackManagedTensorToPyObjectNoSync to_object,
                                          DLPackDLTensorFromPyObjectNoSync lend) {
  table->header.version = dlbridge_dlpack_version();
  table->header.prev_api = NULL;
  table->managed_tensor_allocator = dlbridge_py_table_allocate;
  table->managed_tensor_from_py_object_no_sync = from_object;
  table->managed_tensor_to_py_object_no_sync = to_object;
  table->dltensor_from_py_object_no_sync = lend;
  table->current_work_stream = dlbridge_py_table_no_stream;
}

/** Sets `type.__dlpack_c_exchange_api__` to `table`, which must never be freed. \since 0.3.0 */
static inline int dlbridge_py_offer(PyObject* type, DLPackExchangeAPI* table) {
  int status = -1;
  PyObject* capsule = PyCapsule_New(table, "dlpack_exchange_api", NULL);
  if (capsule != NULL) {
    status = PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule);
    Py_DECREF(capsule);
  }
  return status;
}

/* A proxy of the tensor for a table, whose function may fail before or after it calls the deleter (both
 * occur). The tensor is released once, by the deleter or by the caller. */
typedef struct DLBridgePyHanded_ {
  DLManagedTensorVersioned shell;
  void* tensor;  /* DLManagedTensorVersioned*; NULL after its release */
  int64_t users; /* reference count: the call, and the table until it calls the deleter */
} DLBridgePyHanded_;

static inline void dlbridge_py_handed_drop_(DLBridgePyHanded_* handed) {
  if (dlbridge_py_add_(&handed->users, -1) == 0) {
    free(handed);
  }
}

static inline void dlbridge_py_handed_release_(DLBridgePyHanded_* handed) {
  dlbridge_release_versioned(
      (DLManagedTensorVersioned*)dlbridge_py_swap_(&handed->tensor, NULL));
}

static inline void dlbridge_py_handed_deleter_(DLManagedTensorVersioned* self) {
  DLBridgePyHanded_* handed = (DLBridgePyHanded_*)self->manager_ctx;
  dlbridge_py_handed_release_(handed);
  dlbridge_py_handed_drop_(handed);
}

/* Returns NULL with MemoryError on failure. */
static inline DLBridgePyHanded_* dlbridge_py_hand_(DLManagedTensorVersioned* tensor) {
  DLBridgePyHanded_* handed = (DLBridgePyHanded_*)malloc(sizeof *handed);
  if (handed == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  handed->shell = *tensor;
  handed->shell.manager_ctx = handed;
  handed->shell.deleter = dlbridge_py_handed_deleter_;
  handed->tensor = tensor;
  handed->users = 2;
  return handed;
}

/* Releases the tensor of a failed call whose table never called the deleter. */
static inline void dlbridge_py_take_back_(DLBridgePyHanded_* handed) {
  DLBridgePyPending_ pending = dlbridge_py_set_aside_();
  DLManagedTensorVersioned* tensor =
      (DLManagedTensorVersioned*)dlbridge_py_swap_(&handed->tensor, NULL);
  if (tensor != NULL) {
    dlbridge_release_versioned(tensor);
    dlbridge_py_handed_drop_(handed);
  }
  PyErr_Clear();
  dlbridge_py_put_back_(pending);
}

/** Makes an object of `type` from a tensor, through the exchange table of `type`. The call consumes the
 * tensor and releases it on failure. Without a usable table: NULL with TypeError.
 * \since 0.3.0 */
static inline PyObject* dlbridge_py_to_type(DLBridgePy* py, PyTypeObject* type,
                                            DLManagedTensorVersioned* tensor) {
  DLBridgePyType entry;
  void* object = NULL;
  DLBridgePyHanded_* handed = NULL;
  if (dlbridge_py_type_(py, type, &entry) < 0) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  if (entry.table == NULL) {
    dlbridge_py_reject_(PyExc_TypeError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                        "expected a type with an exchange table, found %R",
                        (PyObject*)type);
  } else {
    handed = dlbridge_py_hand_(tensor);
  }
  if (handed == NULL) {
    dlbridge_py_release(tensor);
  } else {
    if (entry.table->managed_tensor_to_py_object_no_sync(&handed->shell, &object) != 0 ||
        object == NULL) {
      object = NULL;
      dlbridge_py_table_failed_(type);
      dlbridge_py_take_back_(handed);
    }
    dlbridge_py_handed_drop_(handed);
  }
  dlbridge_py_type_done_(&entry);
  return (PyObject*)object;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_API_H_ */
