/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Cached facts of types: their exchange tables and guards. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_TYPES_H_
#define DLBRIDGE_CPYTHON_TYPES_H_

#include "dlbridge/cpython/life.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CPython changes a type's version tag when the result of an attribute look-up may change; 0: no tag. */
static inline unsigned int dlbridge_py_tag_(PyTypeObject* type) {
#ifdef Py_LIMITED_API
  (void)type;
  return 1;
#elif defined(Py_GIL_DISABLED)
  return (unsigned int)dlbridge_py_load_((int*)&type->tp_version_tag);
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

/* Classes whose objects need a guard, and their subclasses. A later row replaces an earlier one. */
static inline int dlbridge_py_guard_of_(PyObject* type) {
  static const struct {
    const char* module;
    const char* name;
    int guard;
  } known[] = {
      {"torch", "Tensor", DLBRIDGE_PY_GUARD_TORCH},
      {"torch._subclasses.fake_tensor", "FakeTensor", DLBRIDGE_PY_GUARD_FAKE},
      {"torch.masked.maskedtensor.core", "MaskedTensor", DLBRIDGE_PY_GUARD_MASKED},
      {"numpy.ma", "MaskedArray", DLBRIDGE_PY_GUARD_MASKED},
      {"numpy.ma.core", "MaskedArray", DLBRIDGE_PY_GUARD_MASKED},
      {"paddle", "Tensor", DLBRIDGE_PY_GUARD_PADDLE},
      {"paddle.base.libpaddle", "Tensor", DLBRIDGE_PY_GUARD_PADDLE},
      {"jax.core", "Tracer", DLBRIDGE_PY_GUARD_TRACER},
      {"jax._src.core", "Tracer", DLBRIDGE_PY_GUARD_TRACER},
      {"numpy", "datetime64", DLBRIDGE_PY_GUARD_TIME},
      {"numpy", "timedelta64", DLBRIDGE_PY_GUARD_TIME},
      {"tensorflow.python.framework.ops", "EagerTensor", DLBRIDGE_PY_GUARD_TENSORFLOW},
  };
  size_t i;
  for (i = 0; i < sizeof known / sizeof *known; ++i) {
    if (dlbridge_py_is_(type, known[i].module, known[i].name)) {
      return known[i].guard;
    }
  }
  return DLBRIDGE_PY_GUARD_NONE;
}

/* Returns 1 if the class itself has a __torch_function__ that torch calls: it may replace __dlpack__. */
static inline int dlbridge_py_has_torch_function_(PyObject* type) {
  int found;
  PyObject *names, *function;
  if (dlbridge_py_is_(type, "torch", "Tensor")) {
    return 0;
  }
  names = PyObject_GetAttrString(type, "__dict__");
  function = names != NULL ? PyMapping_GetItemString(names, "__torch_function__") : NULL;
  found = function != NULL &&
          !dlbridge_py_reads_(function, "__name__", "_disabled_torch_function_impl");
  Py_XDECREF(function);
  Py_XDECREF(names);
  PyErr_Clear();
  return found;
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
    out->redefined |= !has_table && (speaks || dlbridge_py_has_torch_function_(base));
    if (out->guard == DLBRIDGE_PY_GUARD_NONE) {
      out->guard = dlbridge_py_guard_of_(base);
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

/* Reads an attribute of a type; `*out` is a new reference, or NULL if there is no such attribute. */
static inline int dlbridge_py_find_(PyTypeObject* type, PyObject* name, PyObject** out) {
  *out = name != NULL ? PyObject_GetAttr((PyObject*)type, name) : NULL;
  if (*out != NULL) {
    return 0;
  }
  if (name == NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
    return -1;
  }
  PyErr_Clear();
  return 0;
}

/* Uses the table for consumers that keep READ_ONLY, which has the same functions: those of the usual one
 * refuse read-only tensors. Its attribute is asked of types only that have the usual one too. */
static inline int dlbridge_py_prefer_keeping_(PyTypeObject* type, DLBridgePyType* out) {
  PyObject* capsule;
  PyObject* name = PyUnicode_InternFromString("__dlbridge_c_exchange_api__");
  int status = dlbridge_py_find_(type, name, &capsule);
  const DLPackExchangeAPI* table = capsule != NULL ? dlbridge_py_table_(capsule) : NULL;
  Py_XDECREF(name);
  if (table == NULL) {
    Py_XDECREF(capsule);
    return status;
  }
  Py_DECREF(out->capsule);
  out->capsule = capsule;
  out->table = table;
  out->guard = DLBRIDGE_PY_GUARD_KEEPS;
  return 0;
}

/* Inspects `type`. The references in `out` are new. */
static inline int dlbridge_py_look_(DLBridgePy* py, PyTypeObject* type, DLBridgePyType* out) {
  DLBridgePyBases_ bases;
  memset(out, 0, sizeof *out);
  if (dlbridge_py_check_state_(py) < 0 || dlbridge_py_bases_(py, type, &bases) < 0 ||
      dlbridge_py_find_(type, py->table_name, &out->capsule) < 0) {
    return -1;
  }
  out->guard = bases.guard;
  if (out->capsule != NULL && !bases.redefined) {
    out->table = dlbridge_py_table_(out->capsule);
    if (out->guard == DLBRIDGE_PY_GUARD_NONE && dlbridge_py_prefer_keeping_(type, out) < 0) {
      Py_CLEAR(out->capsule);
      return -1;
    }
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
/* Inspects a type that is new or has changed, and keeps its entry. */
DLBRIDGE_PY_APART_ int dlbridge_py_meet_type_(DLBridgePy* py, PyTypeObject* type, DLBridgePyType* out) {
  DLBridgePyType old;
  DLBridgePyType* place;
  if (dlbridge_py_look_(py, type, out) < 0) {
    return -1;
  }
  place = dlbridge_py_place_(py, type);
  old = *place;
  *place = *out;
  Py_XINCREF(out->capsule);
  dlbridge_py_forget_(&old);
  return 0;
}

/* The caller uses its copy of the entry while it calls other code, which may replace the entry. The copy
 * holds the capsule, so that `table` stays valid. */
static inline int dlbridge_py_type_(DLBridgePy* py, PyTypeObject* type, DLBridgePyType* out) {
  const DLBridgePyType* known = dlbridge_py_known_(py, type);
  if (known == NULL) {
    return dlbridge_py_meet_type_(py, type, out);
  }
  *out = *known;
  Py_XINCREF(out->capsule);
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
  const DLPackExchangeAPI* table;
  if (dlbridge_py_type_(py, type, &entry) < 0) {
    PyErr_Clear();
    return NULL;
  }
  table = entry.table;
  dlbridge_py_type_done_(&entry);
  return table;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_TYPES_H_ */
