/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Recognises the consumer that calls __dlpack__. Part of dlbridge/cpython_api.h.
 *
 * A consumer in C passes the names of its keywords in one tuple, which it makes once and keeps. A method
 * with METH_FASTCALL | METH_KEYWORDS gets that object itself. Code in Python cannot pass it on: a call
 * with keywords has a tuple of its own, and **keywords makes a new one. A request with the tuple of
 * NumPy therefore comes from NumPy, and its result goes to NumPy, whatever calls are below. The tuple of
 * a known consumer is found by two calls of its from_dlpack with an object that only records it. */
#ifndef DLBRIDGE_CPYTHON_CONSUMERS_H_
#define DLBRIDGE_CPYTHON_CONSUMERS_H_

#include "dlbridge/cpython/errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is known of a consumer. \since 0.4.0 */
enum {
  DLBRIDGE_PY_CONSUMER_UNKNOWN = 0,     /**< It may write to read-only memory. */
  DLBRIDGE_PY_CONSUMER_KEEPS = 1,       /**< It keeps READ_ONLY. */
  DLBRIDGE_PY_CONSUMER_NEVER_WRITES = 2 /**< Its arrays are immutable. */
};

/* A list of the interpreter that all extensions share. Entries are never removed, so borrowed references
 * to them stay valid. Returns a borrowed reference. */
static inline PyObject* dlbridge_py_shared_list_(const char* key) {
  PyObject *fresh, *found;
  PyObject* places = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (places == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "this interpreter has no dictionary for extensions");
    return NULL;
  }
  found = PyDict_GetItemString(places, key);
  if (found != NULL && PyList_CheckExact(found)) {
    return found;
  }
  if (found != NULL) {
    PyErr_Format(PyExc_RuntimeError, "expected a list as '%s' of this interpreter, found %R", key,
                 (PyObject*)Py_TYPE(found));
    return NULL;
  }
  fresh = PyList_New(0);
  found = fresh != NULL ? PyObject_CallMethod(places, "setdefault", "sO", key, fresh) : NULL;
  Py_XDECREF(fresh);
  Py_XDECREF(found); /* the dictionary holds it */
  return found;
}

/* The consumers: (names of keywords, title, what is known, the function that was probed or None). The
 * names are None if no tuple identifies it. Borrowed. */
static inline PyObject* dlbridge_py_consumers_(void) {
  return dlbridge_py_shared_list_("dlbridge.consumers");
}

static inline int dlbridge_py_add_consumer_(PyObject* consumers, PyObject* names, const char* title,
                                            int known, PyObject* importer) {
  PyObject* entry = Py_BuildValue("(OsiO)", names, title, known, importer);
  int status = entry != NULL ? PyList_Append(consumers, entry) : -1;
  Py_XDECREF(entry);
  return status;
}

/** Registers a consumer in C that keeps READ_ONLY: the memory of a read-only tensor may go to it without
 * a copy. `names` is the tuple of keyword names that its import, and nothing else, passes to
 * __dlpack__ with PyObject_VectorcallMethod; no Python code may get hold of it. dlbridge_py_init does
 * this for dlbridge_py_import. \since 0.4.0 */
static inline int dlbridge_py_register_consumer(PyObject* names, const char* title) {
  PyObject* consumers = dlbridge_py_consumers_();
  return consumers != NULL
             ? dlbridge_py_add_consumer_(consumers, names, title, DLBRIDGE_PY_CONSUMER_KEEPS, Py_None)
             : -1;
}

static inline PyObject* dlbridge_py_names_of_(PyObject* consumers, Py_ssize_t place) {
  return PyTuple_GetItem(PyList_GetItem(consumers, place), 0);
}

/* The entry with this very tuple, borrowed; NULL without an exception if there is none. */
static inline PyObject* dlbridge_py_find_consumer_(PyObject* consumers, PyObject* names) {
  Py_ssize_t i;
  for (i = PyList_Size(consumers) - 1; i >= 0; --i) {
    if (dlbridge_py_names_of_(consumers, i) == names) {
      return PyList_GetItem(consumers, i);
    }
  }
  return NULL;
}

/* A new reference to the tuple that dlbridge itself passes for these keywords: equal tuples of all
 * extensions are one object, which is registered. Takes the reference `names`. */
static inline PyObject* dlbridge_py_own_names_(PyObject* names) {
  static const char title[] = "dlbridge";
  PyObject* consumers = names != NULL ? dlbridge_py_consumers_() : NULL;
  Py_ssize_t i;
  for (i = 0; consumers != NULL && i < PyList_Size(consumers); ++i) {
    PyObject* entry = PyList_GetItem(consumers, i);
    PyObject* known = PyTuple_GetItem(entry, 0);
    if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(entry, 1), title) == 0 &&
        PyObject_RichCompareBool(known, names, Py_EQ) == 1) {
      Py_INCREF(known);
      Py_DECREF(names);
      return known;
    }
  }
  if (consumers == NULL || dlbridge_py_register_consumer(names, title) < 0) {
    Py_CLEAR(names);
  }
  return names;
}

/* --- Probes ----------------------------------------------------------------------------------- */

/* Known consumers whose tuple is always the same object. `keyword` is one of their requests. */
typedef struct DLBridgePyProbe_ {
  const char* module;
  const char* owner; /* the object with from_dlpack below the module, or NULL */
  const char* title;
  const char* keyword;
  int known;
} DLBridgePyProbe_;

static inline const DLBridgePyProbe_* dlbridge_py_probes_(Py_ssize_t* count) {
  static const DLBridgePyProbe_ probes[] = {
      {"numpy", NULL, "NumPy", "max_version", DLBRIDGE_PY_CONSUMER_KEEPS},
      {"pyarrow", "Tensor", "PyArrow", "max_version", DLBRIDGE_PY_CONSUMER_KEEPS},
#ifndef Py_GIL_DISABLED
      /* JAX calls from Python code, whose tuple is a constant of its module. Free-threaded builds share
       * equal constants between modules. */
      {"jax", "dlpack", "JAX", "stream", DLBRIDGE_PY_CONSUMER_NEVER_WRITES},
#endif
  };
  *count = (Py_ssize_t)(sizeof probes / sizeof *probes);
  return probes;
}

/* Returns 1 if `tuple` is a constant of the Python code that runs now. */
static inline int dlbridge_py_is_constant_(PyObject* tuple) {
  int found = 0;
  Py_ssize_t i;
  PyFrameObject* frame = PyEval_GetFrame();
  PyObject* code = frame != NULL ? (PyObject*)PyFrame_GetCode(frame) : NULL;
  PyObject* constants = code != NULL ? PyObject_GetAttrString(code, "co_consts") : NULL;
  for (i = 0; constants != NULL && !found && i < PyTuple_Size(constants); ++i) {
    found = PyTuple_GetItem(constants, i) == tuple;
  }
  Py_XDECREF(constants);
  Py_XDECREF(code);
  PyErr_Clear();
  return found;
}

/* Returns 1 if the Python code that runs now is in the package `name`. */
static inline int dlbridge_py_runs_in_(const char* name) {
  const size_t length = strlen(name);
  PyObject* globals = PyEval_GetGlobals();
  PyObject* module = globals != NULL ? PyDict_GetItemString(globals, "__name__") : NULL;
  PyObject* bytes = module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8String(module) : NULL;
  const char* text = bytes != NULL ? PyBytes_AsString(bytes) : NULL;
  const int same = text != NULL && strncmp(text, name, length) == 0 &&
                   (text[length] == '\0' || text[length] == '.');
  Py_XDECREF(bytes);
  PyErr_Clear();
  return same;
}

/* __dlpack__ of the probe: `self` is a list of the consumer's package, which receives the names of the
 * keywords. Python code outside of that package, such as a replacement of numpy.from_dlpack, is not the
 * consumer: None is received for it. */
static inline PyObject* dlbridge_py_record_names_(PyObject* self, PyObject* const* arguments,
                                                  Py_ssize_t count, PyObject* names) {
  PyObject* package = PyList_GetItem(self, 0);
  PyObject* bytes = package != NULL ? PyUnicode_AsUTF8String(package) : NULL;
  const char* name = bytes != NULL ? PyBytes_AsString(bytes) : NULL;
  const int known = names != NULL && name != NULL &&
                    (!dlbridge_py_is_constant_(names) || dlbridge_py_runs_in_(name));
  (void)arguments;
  (void)count;
  Py_XDECREF(bytes);
  if (name != NULL && PyList_Append(self, known ? names : Py_None) == 0) {
    PyErr_SetString(PyExc_BufferError, "expected a tensor, found a probe of dlbridge without one");
  }
  return NULL;
}

static inline PyObject* dlbridge_py_probe_device_(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  return Py_BuildValue("(ii)", (int)kDLCPU, 0);
}

/* An object with the two methods of the protocol; a new reference. */
static inline PyObject* dlbridge_py_probe_object_(PyObject* seen) {
  static PyMethodDef ask = {"__dlpack__", (PyCFunction)(void (*)(void))dlbridge_py_record_names_,
                            METH_FASTCALL | METH_KEYWORDS, NULL};
  static PyMethodDef device = {"__dlpack_device__", dlbridge_py_probe_device_, METH_NOARGS, NULL};
  PyObject* types = PyImport_ImportModule("types");
  PyObject* probe =
      types != NULL ? PyObject_CallMethod(types, "SimpleNamespace", NULL) : NULL;
  Py_XDECREF(types);
  if (probe != NULL && (dlbridge_py_set_(probe, ask.ml_name, PyCFunction_NewEx(&ask, seen, NULL)) < 0 ||
                        dlbridge_py_set_(probe, device.ml_name,
                                         PyCFunction_NewEx(&device, seen, NULL)) < 0)) {
    Py_CLEAR(probe);
  }
  return probe;
}

/* The consumer's from_dlpack; NULL without an exception if its module is not imported, or not yet
 * completely. */
static inline PyObject* dlbridge_py_importer_(const DLBridgePyProbe_* probe) {
  PyObject *importer, *owner, *module = PyDict_GetItemString(PyImport_GetModuleDict(), probe->module);
  if (module == NULL) {
    return NULL;
  }
  Py_INCREF(module); /* its __getattr__ may remove it from sys.modules */
  owner = probe->owner != NULL ? PyObject_GetAttrString(module, probe->owner) : Py_NewRef(module);
  Py_DECREF(module);
  importer = owner != NULL ? PyObject_GetAttrString(owner, "from_dlpack") : NULL;
  Py_XDECREF(owner);
  PyErr_Clear();
  return importer;
}

/* Records the tuple of one consumer, or that it has none that stays the same. Leaves no exception: a
 * consumer that cannot be recognised is an unknown one. */
static inline void dlbridge_py_probe_(PyObject* consumers, const DLBridgePyProbe_* probe,
                                      PyObject* importer) {
  PyObject* seen = Py_BuildValue("[s]", probe->module);
  PyObject* object = seen != NULL ? dlbridge_py_probe_object_(seen) : NULL;
  int i;
  for (i = 0; object != NULL && i < 2; ++i) {
    Py_XDECREF(PyObject_CallFunctionObjArgs(importer, object, (PyObject*)NULL));
    PyErr_Clear();
  }
  if (object != NULL) {
    const int same = PyList_Size(seen) == 3 && PyList_GetItem(seen, 1) == PyList_GetItem(seen, 2);
    dlbridge_py_add_consumer_(consumers, same ? PyList_GetItem(seen, 1) : Py_None, probe->title,
                              probe->known, importer);
  }
  Py_XDECREF(object);
  Py_XDECREF(seen);
  PyErr_Clear();
}

/* Returns 1 if this from_dlpack was probed. A module may replace the function, so each one is probed
 * until several replacements were seen. */
static inline int dlbridge_py_was_probed_(PyObject* consumers, const char* title, PyObject* importer) {
  int probed = 0;
  Py_ssize_t i;
  for (i = 0; i < PyList_Size(consumers) && probed < 8; ++i) {
    PyObject* entry = PyList_GetItem(consumers, i);
    if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(entry, 1), title) == 0) {
      const int same = PyObject_RichCompareBool(PyTuple_GetItem(entry, 3), importer, Py_EQ);
      probed = same != 0 ? 8 : probed + 1;
    }
  }
  PyErr_Clear();
  return probed == 8;
}

static inline int dlbridge_py_has_name_(PyObject* names, const char* name) {
  Py_ssize_t i;
  for (i = 0; i < PyTuple_Size(names); ++i) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), name) == 0) {
      return 1;
    }
  }
  return 0;
}

/* Probes the consumers that may have passed `names` and were not probed yet. */
static inline void dlbridge_py_probe_all_(PyObject* consumers, PyObject* names) {
  Py_ssize_t i, count;
  const DLBridgePyProbe_* probes = dlbridge_py_probes_(&count);
  for (i = 0; i < count; ++i) {
    PyObject* importer = dlbridge_py_has_name_(names, probes[i].keyword)
                             ? dlbridge_py_importer_(&probes[i])
                             : NULL;
    if (importer != NULL && !dlbridge_py_was_probed_(consumers, probes[i].title, importer)) {
      dlbridge_py_probe_(consumers, &probes[i], importer);
    }
    Py_XDECREF(importer);
  }
}

/** What is known of the consumer that called __dlpack__, a method with METH_FASTCALL | METH_KEYWORDS:
 * DLBRIDGE_PY_CONSUMER_*. `names` is the tuple of keyword names that the method received, or NULL.
 * `title` (may be NULL) receives the name of a known consumer, a borrowed reference. Leaves no
 * exception. \since 0.4.0 */
static inline int dlbridge_py_consumer(PyObject* names, PyObject** title) {
  PyObject *consumers, *entry;
  if (names == NULL) {
    return DLBRIDGE_PY_CONSUMER_UNKNOWN;
  }
  consumers = dlbridge_py_consumers_();
  if (consumers == NULL) {
    PyErr_Clear();
    return DLBRIDGE_PY_CONSUMER_UNKNOWN;
  }
  entry = dlbridge_py_find_consumer_(consumers, names);
  if (entry == NULL) {
    dlbridge_py_probe_all_(consumers, names);
    entry = dlbridge_py_find_consumer_(consumers, names);
  }
  if (entry != NULL && title != NULL) {
    *title = PyTuple_GetItem(entry, 1);
  }
  return entry != NULL ? (int)PyLong_AsLong(PyTuple_GetItem(entry, 2)) : DLBRIDGE_PY_CONSUMER_UNKNOWN;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_CONSUMERS_H_ */
