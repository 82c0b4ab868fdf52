/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Tensors of memory that Python objects keep alive. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_OWNERS_H_
#define DLBRIDGE_CPYTHON_OWNERS_H_

#include "dlbridge/cpython/errors.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline void dlbridge_py_life_drop_(DLBridgePyLife* life) {
  if (dlbridge_py_add_(&life->users, -1) == 0) {
    free(life);
  }
}

/* Releases the kept object, but not its use of the life; needs the GIL of its interpreter. */
static inline void dlbridge_py_free_kept_(DLBridgePyKept* kept) {
  DLBridgePyPending_ pending = dlbridge_py_set_aside_();
  if (kept->view.obj != NULL) {
    PyBuffer_Release(&kept->view);
  }
  Py_XDECREF(kept->object);
  PyErr_Clear();
  dlbridge_py_put_back_(pending);
  free(kept);
}

/* Leaves the kept object to a later dlbridge_py_drain_. */
static inline void dlbridge_py_leave_(DLBridgePyKept* kept) {
  DLBridgePyLife* life = kept->life;
  do {
    kept->next = (DLBridgePyKept*)dlbridge_py_look_at_(&life->left);
  } while (!dlbridge_py_replace_(&life->left, kept->next, kept));
}

DLBRIDGE_PY_APART_ void dlbridge_py_drain_left_(DLBridgePyLife* life) {
  dlbridge_py_add_(&life->users, 1);
  while (dlbridge_py_look_at_(&life->left) != NULL) {
    DLBridgePyKept* kept = (DLBridgePyKept*)dlbridge_py_swap_(&life->left, NULL);
    while (kept != NULL) {
      DLBridgePyKept* next = kept->next;
      dlbridge_py_free_kept_(kept);
      dlbridge_py_life_drop_(life);
      kept = next;
    }
  }
  dlbridge_py_life_drop_(life);
}

/* Releases the objects that were left; needs the GIL of their interpreter. */
static inline void dlbridge_py_drain_(DLBridgePyLife* life) {
  if (dlbridge_py_look_at_(&life->left) != NULL) {
    dlbridge_py_drain_left_(life);
  }
}

/* So many releases may call each other. A chain of tensors that keep each other would otherwise need
 * stack for each of them. */
enum { DLBRIDGE_PY_DEEPEST_ = 32 };

/* Releases the kept object; needs the GIL of its interpreter. In a deep chain, a call further out does
 * it before it returns. */
static inline void dlbridge_py_let_go_(DLBridgePyKept* kept) {
  DLBridgePyLife* life = kept->life;
  if (dlbridge_py_add_(&dlbridge_py_more_(life)->depth, 1) > DLBRIDGE_PY_DEEPEST_) {
    dlbridge_py_add_(&life->users, 1);
    dlbridge_py_leave_(kept);
  } else {
    dlbridge_py_free_kept_(kept);
    dlbridge_py_drain_(life);
  }
  if (dlbridge_py_add_(&dlbridge_py_more_(life)->depth, -1) == 0) {
    dlbridge_py_drain_(life); /* free-threaded builds: the calls of other threads may have ended */
  }
  dlbridge_py_life_drop_(life);
}

/** Releases the objects that a deleter could not release: objects of a sub-interpreter, and objects of
 * the main interpreter whose tensor was released by a thread in another interpreter.
 * dlbridge_py_import and dlbridge_py_wrap call this first. \since 0.3.0 */
static inline void dlbridge_py_collect(DLBridgePy* py) {
  if (py->life != NULL) {
    dlbridge_py_drain_(py->life);
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
  dlbridge_py_leave_(kept);
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

/** As dlbridge_py_wrap, for memory of a buffer. `*view` passes to the tensor on success and is
 * released on failure. \since 0.3.0 */
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

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_OWNERS_H_ */
