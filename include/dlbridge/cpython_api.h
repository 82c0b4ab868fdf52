/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * DLPack for authors of CPython extensions: any Python object that speaks DLPack, in whichever way,
 * becomes a validated DLManagedTensorVersioned in one call, and tensors become capsules for consumers
 * of any version. C99 and C++11 on top of Python.h; the shared library itself never needs Python.
 *
 * Python.h comes first in the including file, as CPython asks. The version-specific API serves from
 * 3.10 on, the limited API from 3.12 (Py_LIMITED_API >= 0x030c0000); free-threaded builds compile too.
 *
 * STATE. What is looked up once is kept in a DLBridgePy, one per interpreter: put it in the module's
 * state, dlbridge_py_init it in Py_mod_exec, and call dlbridge_py_traverse and dlbridge_py_clear from
 * the module's m_traverse, m_clear and m_free.
 *
 * THREADS. Every function needs the GIL (an attached thread state) unless its comment says otherwise.
 * Deleters of tensors made here may run on any thread, with or without the GIL.
 *
 * STREAMS. On the CPU there is nothing to order. Elsewhere `stream` of the options is the consumer's,
 * as the Python array API counts streams; the default stands for the legacy default stream. The
 * producer orders its work before it, in __dlpack__ or, by its exchange table, through
 * dlbridge_stream_handoff.
 *
 * ERRORS. A function that fails returns -1 or NULL with an exception set. Exceptions of a producer pass
 * through unchanged. Those of the library are BufferError (a tensor that is broken or rejected),
 * TypeError (an object that does not speak DLPack), ValueError (an argument), MemoryError and
 * RuntimeError (a driver), with the library's message and the attributes `status`, `rule` (names),
 * `axis` and `native_code` (of a driver); all but `status` are None where none applies. On failure a
 * tensor or capsule stays with its owner, unless the function's comment says otherwise.
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

/** Types whose exchange table a DLBridgePy remembers; of more, the oldest is forgotten. \since 0.3.0 */
enum { DLBRIDGE_PY_TYPES = 8 };

/** How the tensors of a type are to be asked, beyond what it says itself. \since 0.3.0 */
enum {
  DLBRIDGE_PY_GUARD_NONE = 0,  /**< As it offers itself. */
  DLBRIDGE_PY_GUARD_TORCH = 1, /**< torch: its table hands out conjugated and negated views with their
                                    raw values, and what requires a gradient. */
  DLBRIDGE_PY_GUARD_FAKE = 2   /**< torch's fake tensors have no data at all. */
};

/** What is known of one type. \since 0.3.0 */
typedef struct DLBridgePyType {
  PyTypeObject* type;             /**< Held; NULL: the entry is free. */
  PyObject* capsule;              /**< Held, so that `table` stays; NULL where there is none. */
  const DLPackExchangeAPI* table; /**< The newest that is understood, or NULL. */
  unsigned int version_tag;       /**< Of the type when it was looked at; 0 where that is not known. */
  int guard;                      /**< DLBRIDGE_PY_GUARD_* */
} DLBridgePyType;

/** What outlives the interpreter: deleters on other threads ask it whether the GIL may still be taken,
 * and leave there what they must not release themselves. \since 0.3.0 */
typedef struct DLBridgePyLife {
  void* left;       /**< Stack of DLBridgePyKept that wait for a thread of their interpreter. */
  int64_t users;    /**< State and kept objects that point here. */
  int alive;        /**< 0 from the interpreter's end on. */
  int is_main;      /**< Of the main interpreter, whose GIL PyGILState_Ensure takes. */
} DLBridgePyLife;

/** State of one interpreter; all members are this header's own. \since 0.3.0 */
typedef struct DLBridgePy {
  PyObject* dlpack_name;     /* "__dlpack__" */
  PyObject* table_name;      /* "__dlpack_c_exchange_api__" */
  PyObject* version;         /* the newest that is asked for */
  PyObject* version_keyword; /* ("max_version",) */
  PyObject* requires_grad;   /* torch's descriptors; NULL until torch is met */
  PyObject* is_conj;
  PyObject* is_neg;
  DLBridgePyLife* life;
  DLBridgePyType types[DLBRIDGE_PY_TYPES];
  unsigned int next_type; /* entry to be forgotten next */
#ifdef Py_GIL_DISABLED
  PyMutex mutex; /* over `types`; entries are never forgotten there */
#endif
} DLBridgePy;

/** One object that a tensor keeps alive. */
typedef struct DLBridgePyKept {
  struct DLBridgePyKept* next;
  DLBridgePyLife* life;
  PyObject* object;
  Py_buffer view; /* view.obj is NULL where an object is kept as such */
} DLBridgePyKept;

/* Integers that threads share, without <stdatomic.h>, which C++ and C99 lack. */
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

/** The exception type that stands for `status`; borrowed. \since 0.3.0 */
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

/* Sets an attribute to a new reference; 0 or -1. */
static inline int dlbridge_py_set_(PyObject* object, const char* name, PyObject* value) {
  int status = -1;
  if (value != NULL) {
    status = PyObject_SetAttrString(object, name, value);
    Py_DECREF(value);
  }
  return status;
}

/* A name, or None for NULL; a new reference. */
static inline PyObject* dlbridge_py_name_(const char* name) {
  return name != NULL ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
}

/* Raises `type` with a message, a new reference that is taken (NULL: an exception is set already), and
 * the attributes that every error of the library has; returns -1. */
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
  /* A message that was cut may end inside a character. */
  return dlbridge_py_raise_as_(
      dlbridge_py_error_type(error->status),
      PyUnicode_DecodeUTF8(error->message, (Py_ssize_t)strlen(error->message), "replace"),
      error->status, error->rule, error->axis, error->native_code);
}

/* Raises an error of this header's own, with a message for PyUnicode_FromFormat; returns -1. */
static inline int dlbridge_py_reject_(PyObject* type, DLBridgeStatus status, DLBridgeRule rule,
                                      const char* format, ...) {
  PyObject* message;
  va_list arguments;
  va_start(arguments, format);
  message = PyUnicode_FromFormatV(format, arguments);
  va_end(arguments);
  return dlbridge_py_raise_as_(type, message, status, rule, -1, 0);
}

/* An exception that is set aside while a deleter runs. */
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

/** Releases `tensor` (NULL is accepted) without touching the exception that is set, and without letting
 * one out that the deleter sets. \since 0.3.0 */
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

/* Lets go of what is kept; needs the GIL of its interpreter. */
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

/** Lets go of objects whose tensors were released where that could not be done: those of a
 * sub-interpreter, and those of the main one released by a thread
 * inside another. dlbridge_py_import and dlbridge_py_wrap do so first. \since 0.3.0 */
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

/* Is this thread at work in another interpreter than the main one? Then PyGILState_Ensure would stay
 * there, or before 3.12 wait for the very GIL that this thread has. */
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
    /* Has this thread the GIL, by a state that PyGILState does not know? */
    const PyThreadState* current = _PyThreadState_UncheckedGet();
    return current != NULL && current != known && current->thread_id == PyThread_get_thread_ident();
  }
#else
  return 0;
#endif
}

/* `release` of dlbridge_wrap: any thread, with or without the GIL. When the interpreter is at its end,
 * its objects can no longer be touched from here: they are left to it. Where work may still
 * use the memory, the host waits for it: a Python object cannot. */
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

/* Garbage that holds the module may call it while all of it is cleared. */
static inline int dlbridge_py_check_state_(const DLBridgePy* py) {
  if (py->life == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "expected a module in use, found one that is being cleared");
    return -1;
  }
  return 0;
}

/* Memory for what is kept, of nothing yet. NULL with MemoryError. */
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

/* Wraps with `kept`, which is let go of where that fails. */
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

/** Makes a tensor of memory that the Python object `owner` keeps alive: as dlbridge_wrap, whose
 * `release` and `release_context` are set here. The tensor holds a reference to `owner` until its last
 * owner is gone. An extension's own type makes its tensors so. \since 0.3.0 */
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

/** The same for memory that a buffer keeps alive: `*view` passes to the tensor, also where this
 * fails. \since 0.3.0 */
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
 * State: begin and end
 * ------------------------------------------------------------------------------------------- */

/* Called by atexit, before the interpreter stops giving its GIL to other threads. */
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

/* Registers the end of `life` with atexit, which owns one use of it. */
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

/** Fills `py`, which may hold anything before. On failure (-1) it is ready for dlbridge_py_clear.
 * \since 0.3.0 */
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

/* Forgets a type; the entry is free before anything else can run. */
static inline void dlbridge_py_forget_(DLBridgePyType* entry) {
  PyTypeObject* type = entry->type;
  PyObject* capsule = entry->capsule;
  memset(entry, 0, sizeof *entry);
  Py_XDECREF((PyObject*)type);
  Py_XDECREF(capsule);
}

/** For the module's m_clear and m_free; may be called again. Afterwards nothing but
 * dlbridge_py_init may be done with `py`; tensors made before live on. \since 0.3.0 */
static inline void dlbridge_py_clear(DLBridgePy* py) {
  int i;
  DLBridgePyLife* life = py->life;
  if (life != NULL) {
    /* The main interpreter may outlive the module, and its GIL can be taken until it ends; what
     * other interpreters leave is not collected. */
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

/* A type's version tag changes with everything that its look-ups would find; 0 is no tag. */
static inline unsigned int dlbridge_py_tag_(PyTypeObject* type) {
#ifdef Py_LIMITED_API
  (void)type;
  return 1;
#else
  return type->tp_version_tag;
#endif
}

/* Does the class say `name` itself, not by a base? */
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

/* Is an attribute this text? */
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

/* What the classes of `type`, nearest first, say of its guard, and whether __dlpack__ was redefined
 * nearer than the table: then it knows something that the table does not. */
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

/* The newest table in the capsule's chain that is understood; NULL where there is none. */
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

/* Looks at `type` anew. The references of `out` are new ones. */
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

/* Does the entry still say what a look would? */
static inline int dlbridge_py_holds_(const DLBridgePy* py, const DLBridgePyType* entry) {
#ifdef Py_LIMITED_API
  /* Without version tags: a table that was found is kept, and a type that had none and can change is
   * asked for one again. */
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
      /* To ask may run code of the type's, which may bring other types here. */
      return dlbridge_py_holds_(py, &py->types[i]) && py->types[i].type == type ? &py->types[i] : NULL;
    }
  }
  return NULL;
}

/* Where to remember `type`: where it was before it changed, in a free entry, or in place of the one
 * that was met longest ago. */
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
/* Another thread may read an entry while it is forgotten: what is known stays, and more than the cache
 * holds is looked at each time. */
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
/* The caller calls into other code only through what it copied out, of which `table` must outlive
 * that: so it holds the capsule. */
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

/** The exchange table by which objects of `type` are imported here: the newest of its chain that is
 * understood and whole; NULL, without an exception, where the type has none, where a subclass redefines
 * __dlpack__, and where looking failed. Borrowed from the type, for as long as its attribute stays.
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
  /** The caller knows that a legacy or borrowed tensor may be written to. Without it, unknown is
   * READ_ONLY. */
  DLBRIDGE_PY_VOUCH_WRITABLE = 1 << 8,
  /** Skip validation: the caller knows that the tensor is valid. `policy` must be NULL. */
  DLBRIDGE_PY_SKIP_VALIDATION = 1 << 9,
  /** The result is dlbridge-owned, as that of dlbridge_import: it can be shared and viewed, and its
   * producer can no longer change it. Without it, a versioned tensor is handed out as it came. */
  DLBRIDGE_PY_OWNED = 1 << 10,
  /** A producer that would have to copy rejects the request. Without COPY_NEVER and COPY_ALWAYS the
   * producer decides. */
  DLBRIDGE_PY_COPY_NEVER = 1 << 11,
  /** What does not come as a copy is copied here: to the host, unless `device` is set. */
  DLBRIDGE_PY_COPY_ALWAYS = 1 << 12,
  /** `stream` counts. */
  DLBRIDGE_PY_STREAM = 1 << 13
};

/** How to import; all zero but `struct_size` is what a NULL pointer stands for. All pointers are
 * borrowed for the call. \since 0.3.0 */
typedef struct DLBridgePyImportOptions {
  uint32_t struct_size;         /**< sizeof(DLBridgePyImportOptions) */
  uint32_t options;             /**< DLBRIDGE_PY_* */
  const DLDevice* device;       /**< Where the tensor is wanted; NULL: where it is. */
  int64_t stream;               /**< The consumer's, as the Python array API counts them. Read with
                                     DLBRIDGE_PY_STREAM; must be 0 without it: the legacy default. */
  const DLBridgePolicy* policy; /**< Validate by it; NULL: the default policy, with dtypes, devices and
                                     flag bits that no release knows rejected. */
} DLBridgePyImportOptions;

/** Static initialiser. \since 0.3.0 */
#define DLBRIDGE_PY_IMPORT_OPTIONS_INIT {(uint32_t)sizeof(DLBridgePyImportOptions), 0, NULL, 0, NULL}

/** The same as a value. \since 0.3.0 */
static inline DLBridgePyImportOptions dlbridge_py_import_options_init(void) {
  DLBridgePyImportOptions value = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  return value;
}

/* The policy that NULL stands for: as in conversions, a code that no release knows is rejected,
 * however the tensor came. */
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

/* Is there nothing in it that is newer than DLPack 1.0? */
static inline int dlbridge_py_is_plain_(const DLTensor* tensor, uint64_t tensor_flags) {
  const uint64_t known = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  const int64_t device = (int64_t)tensor->device.device_type;
  return tensor->dtype.code <= kDLBool && (tensor_flags & ~known) == 0 && device >= kDLCPU &&
         device <= kDLCUDAHost;
}

/* What to validate by: NULL, which is the fastest, where the policy has nothing to add. */
static inline const DLBridgePolicy* dlbridge_py_needed_(const DLBridgePyImportOptions* options,
                                                        const DLTensor* tensor,
                                                        uint64_t tensor_flags) {
  return options->policy == NULL && dlbridge_py_is_plain_(tensor, tensor_flags)
             ? NULL
             : dlbridge_py_policy_(options);
}

/* Validates a versioned tensor where it is. */
static inline DLBridgeStatus dlbridge_py_validate_(const DLManagedTensorVersioned* tensor,
                                                   const DLBridgePyImportOptions* options,
                                                   DLBridgeError* error) {
  /* Of another major, nothing but the version may be read. */
  const DLBridgePolicy* policy =
      tensor->version.major == 1 ? dlbridge_py_needed_(options, &tensor->dl_tensor, tensor->flags)
                                 : NULL;
  return dlbridge_validate_versioned(tensor, policy, error);
}

/* As dlbridge_import, by these options. */
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

/* Makes `*out` of a managed tensor, which stays the caller's on failure. */
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

/* A capsule that is none of a live tensor: what it is instead. */
static inline int dlbridge_py_reject_capsule_(const char* name) {
  if (name != NULL && strncmp(name, "used_dltensor", 13) == 0) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_NONE,
                        "expected a capsule whose tensor was not taken yet, found one named "
                        "\"%s\": ask "
                        "its producer for another",
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

/* What a consumer owes a capsule whose tensor it took: another name, so that it is not taken twice and
 * its destructor leaves it alone. */
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

/* Appends a keyword and its value, a new reference, to the arguments of a call. */
static inline int dlbridge_py_keyword_(PyObject* keywords, const char* name, PyObject* value) {
  int status = value != NULL ? PyDict_SetItemString(keywords, name, value) : -1;
  Py_XDECREF(value);
  return status;
}

/* What a producer is asked for: the fewer keywords, the older are the producers that know them. */
enum {
  DLBRIDGE_PY_ASK_STREAM_ = 0,  /* `stream`, of the first protocol */
  DLBRIDGE_PY_ASK_VERSION_ = 1, /* `max_version` too */
  DLBRIDGE_PY_ASK_ALL_ = 2      /* `dl_device` and `copy` too */
};

/* Does the caller say whether to copy? */
static inline int dlbridge_py_says_copy_(const DLBridgePyImportOptions* options) {
  return (options->options & (DLBRIDGE_PY_COPY_NEVER | DLBRIDGE_PY_COPY_ALWAYS)) != 0;
}

/* The consumer's stream, as the Python array API counts them. */
static inline int64_t dlbridge_py_stream_(const DLBridgePyImportOptions* options) {
  return (options->options & DLBRIDGE_PY_STREAM) != 0 ? options->stream
                                                      : DLBRIDGE_ARRAY_API_STREAM_NONE;
}

/* The keywords; a new dict. */
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

/* __dlpack__ with just those keywords. */
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

/* __dlpack__(max_version=...), which most producers understand, without a dict or a bound method. */
static inline PyObject* dlbridge_py_call_usual_(DLBridgePy* py, PyObject* object) {
  PyObject* arguments[3];
  arguments[0] = NULL;
  arguments[1] = object;
  arguments[2] = py->version;
  return PyObject_VectorcallMethod(py->dlpack_name, arguments + 1,
                                   1 | PY_VECTORCALL_ARGUMENTS_OFFSET, py->version_keyword);
}

/* Turns the AttributeError of an object without __dlpack__ into a TypeError; others stay. */
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
                        "expected an object that speaks DLPack (__dlpack__, an exchange table, or "
                        "a DLPack "
                        "capsule), found an instance of %R",
                        (PyObject*)Py_TYPE(object));
  }
}

/* What __dlpack__ answers: asked as the protocol is today, then, where the producer does not know those
 * keywords, as it was in its second and its first version. */
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

/* Lets go of a capsule while an exception may be set: its destructor is the producer's code, perhaps
 * Python code, which would run into that exception. */
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

/* Calls a method without arguments through its descriptor; a new reference. What only calls itself
 * torch.Tensor is none of the descriptor's objects, which CPython then says. */
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

/* Reads an attribute through its descriptor; a new reference. */
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

/* 0, 1 or -1; takes the reference. */
static inline int dlbridge_py_truth_(PyObject* value) {
  int truth = value == Py_True ? 1 : value == Py_False ? 0 : value != NULL ? PyObject_IsTrue(value) : -1;
  Py_XDECREF(value);
  return truth;
}

/* torch.Tensor itself, from which `type` inherits; a new reference. */
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

/* Finds torch's descriptors by the type of one of its tensors: those of torch.Tensor, since a subclass
 * may have its own, which say nothing of other tensors, nor of what the table hands out. */
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

/* Is the answer of one of torch's methods yes? Not asked where `code` rules it out. */
static inline int dlbridge_py_torch_says_(PyObject* method, PyObject* object, int possible) {
  return possible ? dlbridge_py_truth_(dlbridge_py_ask_method_(method, object)) : 0;
}

/* 1: the table hands out just what torch's __dlpack__ would; 0: ask __dlpack__, which rejects it; -1.
 * `code` is the tensor's dtype code, or -1 where it is not known yet: integers and booleans have no
 * gradient and are never conjugated or negated, and only complex numbers are conjugated. */
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
                        "expected a tensor whose memory holds its values, found a view of torch's "
                        "that is "
                        "negated as it is read: take resolve_neg() of it");
    return -1;
  }
  return !requires_grad && !conjugated;
}

/* As dlbridge_py_guard_torch_, for whatever guard there is. */
static inline int dlbridge_py_guard_(DLBridgePy* py, PyObject* object, int guard, int code) {
  return guard == DLBRIDGE_PY_GUARD_TORCH ? dlbridge_py_guard_torch_(py, object, code) : 1;
}

static inline int dlbridge_py_reject_fake_(void) {
  dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_DATA_NULL,
                      "expected a tensor with data, found a fake tensor of torch's, which has "
                      "none");
  return -1;
}

/* --- By the exchange table -------------------------------------------------------------------- */

/* The producer's stream, as its table names it. Devices whose queues the table cannot name: -1 without
 * an exception. */
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

/* Puts the producer's work before the consumer's. 1: done; 0: the table cannot, ask __dlpack__; -1. */
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

/* The exception of a table of `type` that failed, or one that reports it. */
static inline int dlbridge_py_table_failed_(PyTypeObject* type) {
  if (!PyErr_Occurred()) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_NONE,
                        "expected an answer from the exchange table of %R, which failed without "
                        "saying why",
                        (PyObject*)type);
  }
  return -1;
}

/* 1: `*out` is the caller's; 0: the table cannot, ask __dlpack__; -1. */
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

/* --- By whichever way there is ---------------------------------------------------------------- */

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

/* Copies to `device` (of the host where it is NULL), and releases the source in any case. */
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

/* Brings what came where it is wanted, and copies it where that is wanted and did not happen. */
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
                        "expected a tensor on device (%d, %d), found one on (%d, %d), and "
                        "copy=False forbids "
                        "to move it",
                        (int)options->device->device_type, (int)options->device->device_id,
                        (int)fields->device.device_type, (int)fields->device.device_id);
    dlbridge_py_release(*tensor);
    *tensor = NULL;
    return -1;
  }
  if (never && copied) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_UNSUPPORTED, DLBRIDGE_RULE_NONE,
                        "expected the producer's own memory, as copy=False asks, found a copy that "
                        "it made");
    dlbridge_py_release(*tensor);
    *tensor = NULL;
    return -1;
  }
  /* A copy that its producer flags as what it was copied of may still not be written to. */
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

/* The name of the lowest bit that is a flag of DLPack's and none of the options. */
static inline const char* dlbridge_py_flag_name_(uint32_t bits) {
  return (bits & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 ? "DLPACK_FLAG_BITMASK_READ_ONLY"
         : (bits & DLPACK_FLAG_BITMASK_IS_COPIED) != 0
             ? "DLPACK_FLAG_BITMASK_IS_COPIED"
         : (bits & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0
             ? "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED"
             : "a bit below 8, where DLPack has its flags";
}

/* `struct_size` first, and no byte beyond it. */
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

/** Makes a tensor of any object that speaks DLPack: by its type's exchange table, else by __dlpack__
 * with keywords, else by __dlpack__ without, or of a capsule of either name. `options` may be NULL.
 * `*out` is the caller's: versioned, of major 1, validated. It is the producer's own tensor where that
 * handed out a versioned one and DLBRIDGE_PY_OWNED is not set (nothing is allocated then), else it is
 * dlbridge-owned. A capsule that is rejected still owns its tensor. Where only `device` or a COPY
 * option cannot be met, the capsule was taken and the tensor is released. \since 0.3.0 */
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

/** Takes the tensor out of a capsule, by the protocol's rules: on success the capsule is renamed and
 * `*out` is the caller's, as from dlbridge_py_import. On failure the capsule still owns its tensor.
 * `device`, STREAM and the COPY options have no meaning here: ValueError where they are set.
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
        "options: expected no device, copy or stream for a capsule, whose tensor is there already");
  }
  if (!PyCapsule_CheckExact(capsule)) {
    return dlbridge_py_reject_(PyExc_TypeError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                               "expected a DLPack capsule, found an instance of %R",
                               (PyObject*)Py_TYPE(capsule));
  }
  return dlbridge_py_by_capsule_(capsule, options, out);
}

/** A tensor for the length of a call. \since 0.3.0 */
typedef struct DLBridgePyBorrowed {
  DLTensor tensor;                 /**< What was asked for. */
  uint64_t tensor_flags;           /**< Its DLPack flags; READ_ONLY also where it is not known. */
  DLManagedTensorVersioned* owner; /**< Released by dlbridge_py_give_back; NULL: the object itself. */
} DLBridgePyBorrowed;

/* By the table's function that makes no owner. As dlbridge_py_by_table_. */
static inline int dlbridge_py_lend_(DLBridgePy* py, const DLBridgePyType* type, PyObject* object,
                                    const DLBridgePyImportOptions* options, DLBridgePyBorrowed* out) {
  int status;
  DLBridgeError error;
  if (type->table->dltensor_from_py_object_no_sync(object, &out->tensor) != 0) {
    return dlbridge_py_table_failed_(Py_TYPE(object));
  }
  out->owner = NULL;
  if (out->tensor.dtype.bits < 8) {
    return 0; /* whether such elements are padded, only the flags of an owner tell */
  }
  status = dlbridge_py_guard_(py, object, type->guard, out->tensor.dtype.code);
  if (status != 1) {
    return status;
  }
  /* A borrowed tensor has no flags. torch never says that a tensor must not be written to. */
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

/* Only an owned tensor says that it may be written to. */
static inline int dlbridge_py_must_write_(const DLBridgePyImportOptions* options) {
  return options->policy != NULL && (options->policy->options & DLBRIDGE_POLICY_REQUIRE_WRITABLE) != 0;
}

/** Looks at the tensor of any object that speaks DLPack for the length of a call: where its type's
 * exchange table has the function for it, nothing is allocated. `object` must stay, unaltered, until
 * dlbridge_py_give_back. A capsule is taken, as by dlbridge_py_import.
 * `options->device` and the COPY options have no meaning here: ValueError where they are set.
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

/** Ends what dlbridge_py_borrow began; also with an exception set. \since 0.3.0 */
static inline void dlbridge_py_give_back(DLBridgePyBorrowed* borrowed) {
  dlbridge_py_release(borrowed->owner);
  borrowed->owner = NULL;
}

/* ---------------------------------------------------------------------------------------------
 * Export
 * ------------------------------------------------------------------------------------------- */

/* The names are compared as addresses first: who takes a tensor gives its capsule another. */
static inline const char* dlbridge_py_versioned_name_(void) {
  static const char name[] = "dltensor_versioned";
  return name;
}
static inline const char* dlbridge_py_legacy_name_(void) {
  static const char name[] = "dltensor";
  return name;
}

/* A capsule that was not taken releases its tensor, whatever exception is set meanwhile. */
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

/** A capsule that owns `tensor`, for consumers of DLPack 1; the tensor passes to it on success.
 * \since 0.3.0 */
static inline PyObject* dlbridge_py_capsule_versioned(DLManagedTensorVersioned* tensor) {
  return PyCapsule_New(tensor, dlbridge_py_versioned_name_(), dlbridge_py_destroy_versioned_);
}

/** The same of a legacy tensor. \since 0.3.0 */
static inline PyObject* dlbridge_py_capsule_legacy(DLManagedTensor* tensor) {
  return PyCapsule_New(tensor, dlbridge_py_legacy_name_(), dlbridge_py_destroy_legacy_);
}

/* Makes a tensor of a version that the consumer reads, where it is newer. */
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

/** A capsule for a consumer that reads DLPack up to `newest`: legacy where that is NULL or its major is
 * 0, as a __dlpack__ without max_version asks, else versioned, with a version no newer than asked for.
 * `tensor` passes to the capsule, and is released where this fails: share it before, if it is still
 * needed. `options` are DLBRIDGE_CONVERT_* for the downgrade, such as DROP_READ_ONLY; legacy cannot say
 * READ_ONLY, so that is rejected without. \since 0.3.0 */
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
 * An exchange table for an own type
 * ------------------------------------------------------------------------------------------- */

/** The table's allocator: memory of the host. Needs no GIL. \since 0.3.0 */
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

/** The table's stream of a type whose work is done when a call returns. \since 0.3.0 */
static inline int dlbridge_py_table_no_stream(DLDeviceType device_type, int32_t device_id,
                                              void** out_current_stream) {
  (void)device_type;
  (void)device_id;
  *out_current_stream = NULL;
  return 0;
}

/** Fills `table` for a type: `from_object` hands out an owner (dlbridge_share of the tensor that the
 * object has), `to_object` makes an object of any tensor, which passes to it (dlbridge_import
 * makes it dlbridge-owned), `lend` (may be NULL) fills a borrowed one. All are called with the
 * GIL and return 0, or -1 with an exception set. A table must never move or go: make it static. Its
 * version is DLPack's of this library. \since 0.3.0 */
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

/** Offers `table`, which must stay for ever, as `type.__dlpack_c_exchange_api__`. \since 0.3.0 */
static inline int dlbridge_py_offer(PyObject* type, DLPackExchangeAPI* table) {
  int status = -1;
  PyObject* capsule = PyCapsule_New(table, "dlpack_exchange_api", NULL);
  if (capsule != NULL) {
    status = PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule);
    Py_DECREF(capsule);
  }
  return status;
}

/* What is handed to a table that may fail before or after it calls the deleter (both are seen): the
 * tensor itself is released once, by the first of both. */
typedef struct DLBridgePyHanded_ {
  DLManagedTensorVersioned shell;
  void* tensor;  /* DLManagedTensorVersioned*; NULL once it was released */
  int64_t users; /* of this memory: the call, and the table until it calls the deleter */
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

/* NULL with MemoryError. */
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

/* A table that failed and never called the deleter has no use of the memory any more. */
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

/** Makes an object of `type` of a tensor, through the exchange table of `type`. The tensor passes to
 * this call, and is released where it fails. Without a usable table: NULL with TypeError.
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
