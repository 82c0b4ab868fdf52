/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Initialisation and clean-up of the state. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_LIFE_H_
#define DLBRIDGE_CPYTHON_LIFE_H_

#include "dlbridge/cpython/consumers.h"
#include "dlbridge/cpython/owners.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* What the package dlbridge has registered about producers: each entry is a function that returns
 * whether the arrays of a type are immutable, or None if none are. The last one counts. Empty unless
 * register_producer(immutable=True) was called. Borrowed. */
static inline PyObject* dlbridge_py_registered_(void) {
  return dlbridge_py_shared_list_("dlbridge.producers");
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
  py->life = (DLBridgePyLife*)calloc(1, sizeof(DLBridgePyMore_));
  if (py->life == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  py->life->users = 1;
  py->life->alive = 1;
  py->life->is_main = id == 0;
  dlbridge_py_more_(py->life)->registered = Py_XNewRef(dlbridge_py_registered_());
  return dlbridge_py_more_(py->life)->registered != NULL ? dlbridge_py_register_exit_(py->life) : -1;
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
  py->version_keyword =
      dlbridge_py_own_names_(Py_BuildValue("(N)", PyUnicode_InternFromString("max_version")));
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
  if (py->life != NULL) {
    DLBridgePyMore_* more = dlbridge_py_more_(py->life);
    Py_VISIT(more->forward_ad);
    Py_VISIT(more->dtype);
    Py_VISIT(more->few_bits);
    Py_VISIT(more->registered);
    for (i = 0; i < DLBRIDGE_PY_TYPES; ++i) {
      Py_VISIT((PyObject*)more->answers[i].type);
    }
  }
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
    Py_CLEAR(dlbridge_py_more_(life)->forward_ad);
    Py_CLEAR(dlbridge_py_more_(life)->level_name);
    Py_CLEAR(dlbridge_py_more_(life)->dtype);
    Py_CLEAR(dlbridge_py_more_(life)->few_bits);
    Py_CLEAR(dlbridge_py_more_(life)->registered);
    for (i = 0; i < DLBRIDGE_PY_TYPES; ++i) {
      Py_CLEAR(dlbridge_py_more_(life)->answers[i].type);
    }
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

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_LIFE_H_ */
