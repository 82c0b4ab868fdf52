/* SPDX-License-Identifier: Apache-2.0 */
/* Exporter: its __dlpack__ is in C, since only a method in C sees the tuple by which a consumer is
 * recognised. It calls the method _export of the class in Python. */
#include "exporter.h"

enum { kMostKeywords = 8 };

/* _export(consumer, **keywords): `consumer` is the name of a known consumer, or None. */
static PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords) {
  PyObject* forwarded[3 + kMostKeywords] = {NULL, self, Py_None};
  PyObject *name, *result;
  Py_ssize_t i, named = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  if (count != 0 || named > kMostKeywords) {
    PyErr_SetString(PyExc_TypeError,
                    "expected __dlpack__ with at most stream, max_version, dl_device and copy, as "
                    "keyword arguments");
    return NULL;
  }
  dlbridge_py_consumer(keywords, &forwarded[2]);
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

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))dlpack, METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A capsule in the form that the consumer accepts."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_doc, "The base class of Adapted."},
    {0, NULL},
};

static PyType_Spec spec = {
    "dlbridge._core.Exporter", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots,
};

int core_add_exporter_type(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &spec, NULL);
  int status = type != NULL ? PyModule_AddObjectRef(module, "Exporter", type) : -1;
  Py_XDECREF(type);
  return status;
}
