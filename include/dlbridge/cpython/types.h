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

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_TYPES_H_ */
