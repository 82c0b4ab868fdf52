/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * The cached state of one interpreter. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_STATE_H_
#define DLBRIDGE_CPYTHON_STATE_H_

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

/** Number of types that a DLBridgePy caches; the oldest entry makes room for a new one. \since 0.3.0 */
enum { DLBRIDGE_PY_TYPES = 8 };

/** Types whose exchange table or __dlpack__ is not sufficient: the checks that they need first.
 * \since 0.3.0 */
enum {
  DLBRIDGE_PY_GUARD_NONE = 0,   /**< No further check. */
  DLBRIDGE_PY_GUARD_TORCH = 1,  /**< torch: its table exports conjugated and negated views by their raw
                                     values, and tensors that require a gradient. */
  DLBRIDGE_PY_GUARD_FAKE = 2,   /**< torch's fake tensors have no data. */
  DLBRIDGE_PY_GUARD_MASKED = 3, /**< Masked arrays, which would lose their mask. \since 0.4.0 */
  DLBRIDGE_PY_GUARD_PADDLE = 4, /**< Paddle's tensors may require a gradient, or be sparse.
                                     \since 0.4.0 */
  DLBRIDGE_PY_GUARD_TRACER = 5, /**< JAX's tracers have no values. \since 0.4.0 */
  DLBRIDGE_PY_GUARD_TIME = 6,   /**< NumPy's scalars of time, whose buffer is plain bytes.
                                     \since 0.4.0 */
  DLBRIDGE_PY_GUARD_TENSORFLOW = 7 /**< TensorFlow's export of strings and other objects ends the
                                        process. \since 0.4.0 */
};

/** The guard of a type without a check, whose `table` is that of __dlbridge_c_exchange_api__: it exports
 * read-only tensors with their flag. \since 0.4.0 */
enum { DLBRIDGE_PY_GUARD_KEEPS = -1 };

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

/* A function that is not inlined: an import that succeeds does without it, or calls it at most once. */
#if defined(__GNUC__)
#define DLBRIDGE_PY_APART_ __attribute__((noinline, unused)) static
#else
#define DLBRIDGE_PY_APART_ static inline
#endif

/** State of one interpreter; all members are private to this header. Initialise and use a state with the
 * same version of this header. \since 0.3.0 */
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

/* Whether the arrays of a type are immutable, as the program has registered. */
typedef struct DLBridgePyAnswer_ {
  PyTypeObject* type;       /* a strong reference; NULL: the entry is free */
  unsigned int version_tag; /* the type's when it was asked about */
  Py_ssize_t registrations; /* how many there were then: the next one may change the answer */
  int immutable;
} DLBridgePyAnswer_;

/* What a DLBridgePy and its DLBridgePyLife need since 0.4.0. Their own sizes are frozen. */
typedef struct DLBridgePyMore_ {
  DLBridgePyLife life;  /* comes first: the pointer to it is that to this struct */
  int64_t depth;        /* calls of dlbridge_py_let_go_ now */
  PyObject* forward_ad; /* the names of torch.autograd.forward_ad, or NULL */
  PyObject* level_name; /* "_current_level" */
  PyObject* dtype;      /* torch's descriptor, or NULL */
  PyObject* few_bits;   /* the set of torch's dtypes of 1 to 7 bits, or NULL */
  PyObject* registered; /* the list of dlbridge_py_registered_ */
  DLBridgePyAnswer_ answers[DLBRIDGE_PY_TYPES];
  unsigned int next_answer; /* entry to be replaced next */
} DLBridgePyMore_;

static inline DLBridgePyMore_* dlbridge_py_more_(DLBridgePyLife* life) {
  return (DLBridgePyMore_*)(void*)life;
}

/** One object that a tensor keeps alive. */
typedef struct DLBridgePyKept {
  struct DLBridgePyKept* next;
  DLBridgePyLife* life;
  PyObject* object;
  Py_buffer view; /* view.obj is NULL if `object` is kept instead */
} DLBridgePyKept;

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_STATE_H_ */
