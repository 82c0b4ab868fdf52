/* SPDX-License-Identifier: Apache-2.0 */
/* Exporter: its __dlpack__ is in C, since only a method in C sees the tuple by which a consumer is
 * recognised. NumPy's requests of plain tensors are answered here; for the others it calls the
 * method _export of the class in Python. */
#include "exporter.h"

#include <stddef.h>
#include <structmember.h>

#include "object.h"
#include "owners.h"
#include "plain.h"
#include "request.h"

enum { kMostKeywords = 8 };

/* The attributes that the class in Python uses. */
typedef struct {
  PyObject_HEAD PyObject* array;
  PyObject* options;
  PyObject* resolved;
  PyObject* tensor;
  PyObject* copied;
  PyObject* report;
  PyObject* rejection;
} ExporterObject;

static PyMemberDef members[] = {
    {"_array", T_OBJECT_EX, offsetof(ExporterObject, array), 0, NULL},
    {"_options", T_OBJECT_EX, offsetof(ExporterObject, options), 0, NULL},
    {"_resolved", T_OBJECT_EX, offsetof(ExporterObject, resolved), 0, NULL},
    {"_tensor", T_OBJECT_EX, offsetof(ExporterObject, tensor), 0, NULL},
    {"copied", T_OBJECT_EX, offsetof(ExporterObject, copied), 0, "Whether the last export copied."},
    {"report", T_OBJECT_EX, offsetof(ExporterObject, report), 0, "What the last export did."},
    {"rejection", T_OBJECT_EX, offsetof(ExporterObject, rejection), 0,
     "The rejection of the last export, without its traceback, or None."},
    {NULL, 0, 0, 0, NULL},
};

static int traverse(PyObject* object, visitproc visit, void* arg) {
  ExporterObject* self = (ExporterObject*)object;
  Py_VISIT((PyObject*)Py_TYPE(object));
  Py_VISIT(self->array);
  Py_VISIT(self->options);
  Py_VISIT(self->resolved);
  Py_VISIT(self->tensor);
  Py_VISIT(self->copied);
  Py_VISIT(self->report);
  Py_VISIT(self->rejection);
  return 0;
}

static int clear(PyObject* object) {
  ExporterObject* self = (ExporterObject*)object;
  Py_CLEAR(self->array);
  Py_CLEAR(self->options);
  Py_CLEAR(self->resolved);
  Py_CLEAR(self->tensor);
  Py_CLEAR(self->copied);
  Py_CLEAR(self->report);
  Py_CLEAR(self->rejection);
  return 0;
}

static void deallocate(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  clear(object);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF((PyObject*)type);
}

/* The bytes of an object of the type; -1 with an exception. */
static long size_of(PyObject* type) {
  PyObject* value = PyObject_GetAttrString(type, "__basicsize__");
  long size = value != NULL ? PyLong_AsLong(value) : -1;
  Py_XDECREF(value);
  return size;
}

int core_check_exporter(PyObject* type, PyObject* base) {
  if (PyType_Check(type) && PyType_IsSubtype((PyTypeObject*)type, (PyTypeObject*)base)) {
    const long size = size_of(type);
    if (size < 0 || size == (long)sizeof(ExporterObject)) {
      return size < 0 ? -1 : 0;
    }
  }
  PyErr_Format(PyExc_TypeError, "expected a class below Exporter with empty __slots__, found %R",
               type);
  return -1;
}

PyObject* core_exporter_new(const CoreShortcuts* shortcuts, PyObject* array, PyObject* tensor) {
  ExporterObject* self = (ExporterObject*)PyType_GenericAlloc(shortcuts->adapted_type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->array = Py_NewRef(array);
  self->tensor = Py_NewRef(tensor);
  self->options = Py_NewRef(shortcuts->options);
  self->resolved = PyTuple_New(0);
  self->report = PyTuple_New(0);
  self->copied = Py_NewRef(Py_False);
  self->rejection = Py_NewRef(Py_None);
  return (PyObject*)self;
}

/* --- __dlpack__ ---------------------------------------------------------------------------------
 */

/* The state if this object has a tensor of this module, the options of a call without any, and
 * NumPy is the consumer; else NULL. */
static CoreState* numpy_asks(const ExporterObject* self, PyObject* keywords) {
  CoreState* state;
  if (keywords == NULL || self->tensor == NULL || !core_is_tensor(self->tensor)) {
    return NULL;
  }
  state = core_state_of_type(Py_TYPE(self->tensor));
  return state != NULL && state->shortcuts.level > 0 && self->options == state->shortcuts.options &&
                 keywords == state->shortcuts.numpy_keywords
             ? state
             : NULL;
}

static DLManagedTensorVersioned* plain_share(PyObject* tensor) {
  const DLManagedTensorVersioned* held;
  int plain;
  CORE_LOCK(tensor);
  held = ((TensorObject*)tensor)->tensor;
  plain = held != NULL && core_is_plain(held) && core_numpy_has(held->dl_tensor.dtype);
  CORE_UNLOCK();
  return plain ? core_share((TensorObject*)tensor) : NULL;
}

static PyObject* exchanged(PyObject** place, PyObject* value) {
  PyObject* old = *place;
  *place = value;
  return old;
}

/* Threads may use one object: each old value is dropped once, and after the lock. */
static void set_record(ExporterObject* self) {
  PyObject *copied, *report, *rejection, *empty = PyTuple_New(0);
  CORE_LOCK(self);
  copied = exchanged(&self->copied, Py_NewRef(Py_False));
  report = exchanged(&self->report, empty);
  rejection = exchanged(&self->rejection, Py_NewRef(Py_None));
  CORE_UNLOCK();
  Py_XDECREF(copied);
  Py_XDECREF(report);
  Py_XDECREF(rejection);
}

/* NULL without an exception if the request is not a common one. */
static PyObject* answer_numpy(ExporterObject* self, PyObject* const* args, PyObject* keywords) {
  CoreState* state = numpy_asks(self, keywords);
  DLPackVersion newest;
  DLManagedTensorVersioned* tensor;
  if (state == NULL || !core_read_plain(state, args, keywords, &newest) || newest.major == 0) {
    return NULL;
  }
  tensor = plain_share(self->tensor);
  if (tensor == NULL) {
    return NULL;
  }
  set_record(self);
  return dlbridge_py_capsule_versioned(tensor);
}

/* Keeps NumPy's tuple, by which the next request is recognised. */
static void recognise(const ExporterObject* self, PyObject* keywords, PyObject** consumer) {
  CoreState* state;
  dlbridge_py_consumer(keywords, consumer);
  if (PyUnicode_Check(*consumer) && PyUnicode_CompareWithASCIIString(*consumer, "NumPy") == 0 &&
      self->tensor != NULL && core_is_tensor(self->tensor)) {
    state = core_state_of_type(Py_TYPE(self->tensor));
    if (state != NULL && state->shortcuts.numpy_keywords == NULL) {
      state->shortcuts.numpy_keywords = Py_NewRef(keywords);
    }
  }
}

/* _export(consumer, **keywords): `consumer` is the name of a known consumer, or None. */
static PyObject* answer_in_python(PyObject* self, PyObject* const* args, PyObject* keywords,
                                  Py_ssize_t named) {
  PyObject* forwarded[3 + kMostKeywords] = {NULL, self, Py_None};
  PyObject *name, *result;
  Py_ssize_t i;
  recognise((ExporterObject*)self, keywords, &forwarded[2]);
  for (i = 0; i < named; ++i) {
    forwarded[3 + i] = args[i];
  }
  name = PyUnicode_InternFromString("_export");
  if (name == NULL) {
    return NULL;
  }
  result =
      PyObject_VectorcallMethod(name, forwarded + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
  Py_DECREF(name);
  return result;
}

static PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords) {
  PyObject* result;
  Py_ssize_t named = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  if (count != 0 || named > kMostKeywords) {
    PyErr_SetString(PyExc_TypeError,
                    "expected __dlpack__ with at most stream, max_version, dl_device and copy, as "
                    "keyword arguments");
    return NULL;
  }
  result = answer_numpy((ExporterObject*)self, args, keywords);
  return result != NULL || PyErr_Occurred() ? result
                                            : answer_in_python(self, args, keywords, named);
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))dlpack, METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A capsule in the form that the consumer accepts."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_traverse, (void*)traverse},
    {Py_tp_clear, (void*)clear},
    {Py_tp_dealloc, (void*)deallocate},
    {Py_tp_doc, "The base class of Adapted."},
    {0, NULL},
};

static PyType_Spec spec = {
    "dlbridge._core.Exporter",
    sizeof(ExporterObject),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    slots,
};

int core_add_exporter_type(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &spec, NULL);
  int status = type != NULL ? PyModule_AddObjectRef(module, "Exporter", type) : -1;
  Py_XDECREF(type);
  return status;
}
