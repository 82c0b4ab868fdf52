/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that can be handed on without a decision, and what the program has imported. */
#include "plain.h"

#include "owners.h"

/* --- Modules that the program has imported ------------------------------------------------------
 */

/* An attribute of a module, a new reference; NULL without an exception if the program has not
 * imported the module, or not completely. */
PyObject* core_imported(PyObject* name, PyObject* attribute) {
  PyObject* module = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  PyObject* found = NULL;
  if (module != NULL && PyModule_CheckExact(module)) {
    Py_INCREF(module); /* its __getattr__ may remove it from sys.modules */
    found = PyObject_GetAttr(module, attribute);
    Py_DECREF(module);
  }
  if (found == NULL) {
    PyErr_Clear();
  }
  return found;
}

/* Whether `type` is this attribute of an imported module. It is compared with the type that was
 * found before, whose reference keeps the address from being reused. */
static int is_type(PyTypeObject* type, PyTypeObject** known, PyObject* module, PyObject* name) {
  PyObject* found;
  int same;
  if (type == *known) {
    return 1;
  }
  if (*known != NULL) {
    return 0;
  }
  found = core_imported(module, name);
  same = found == (PyObject*)type;
  Py_XDECREF(found);
  if (same) {
    *known = (PyTypeObject*)Py_NewRef((PyObject*)type);
  }
  return same;
}

int core_is_numpy(CoreState* state, PyTypeObject* type) {
  return is_type(type, &state->shortcuts.numpy_array, state->words.numpy, state->words.ndarray);
}

int core_derives_from_numpy(CoreState* state, PyTypeObject* type) {
  PyObject* known = core_imported(state->words.numpy, state->words.ndarray);
  const int derives =
      known != NULL && PyType_Check(known) && PyType_IsSubtype(type, (PyTypeObject*)known);
  Py_XDECREF(known);
  return derives;
}

int core_is_torch(CoreState* state, PyTypeObject* type) {
  return is_type(type, &state->shortcuts.torch_tensor, state->words.torch, state->words.tensor);
}

int core_is_cupy(CoreState* state, PyTypeObject* type) {
  return is_type(type, &state->shortcuts.cupy_array, state->words.cupy, state->words.ndarray);
}

/* --- Plain tensors ------------------------------------------------------------------------------
 */

int core_is_plain(const DLManagedTensorVersioned* tensor) {
  const DLTensor* fields = &tensor->dl_tensor;
  const uint64_t allowed = DLPACK_FLAG_BITMASK_IS_COPIED;
  return (tensor->flags & ~allowed) == 0 && fields->byte_offset == 0 &&
         (int64_t)fields->device.device_type == kDLCPU && fields->device.device_id == 0;
}

int core_numpy_has(DLDataType dtype) {
  const int whole = dtype.bits == 8 || dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
  if (dtype.lanes != 1) {
    return 0;
  }
  switch (dtype.code) {
    case kDLInt:
    case kDLUInt:
      return whole;
    case kDLFloat:
      return whole && dtype.bits != 8;
    case kDLComplex:
      return dtype.bits == 64 || dtype.bits == 128;
    default:
      return dtype.code == kDLBool && dtype.bits == 8;
  }
}

/* Clears the exception of a rejection, which Python code repeats with its remedy; others stay. */
int core_clear_rejection(void) {
  if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_RuntimeError) &&
      !PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError)) {
    return -1;
  }
  PyErr_Clear();
  return 0;
}

static int is_plain_object(PyObject* object) {
  const DLManagedTensorVersioned* tensor;
  int plain;
  CORE_LOCK(object);
  tensor = ((TensorObject*)object)->tensor;
  plain = tensor != NULL && core_is_plain(tensor);
  CORE_UNLOCK();
  return plain;
}

PyObject* core_plain_tensor(CoreState* state, PyObject* array) {
  DLManagedTensorVersioned* tensor;
  if (Py_IS_TYPE(array, state->tensor_type)) {
    return is_plain_object(array) ? Py_NewRef(array) : NULL;
  }
  /* Subclasses may have a mask, a gradient or a __dlpack__ of their own. */
  if (!core_is_numpy(state, Py_TYPE(array)) && !core_is_torch(state, Py_TYPE(array))) {
    return NULL;
  }
  tensor = core_import(state, array);
  if (tensor == NULL) {
    core_clear_rejection();
    return NULL;
  }
  if (!core_is_plain(tensor)) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  return core_tensor_new(state, tensor, DLBRIDGE_ARRAY_API_STREAM_NONE);
}

PyObject* core_consumer(CoreState* state, PyObject* keywords) {
  PyObject* title = Py_None;
  dlbridge_py_consumer(keywords, &title);
  if (title != Py_None && PyUnicode_CompareWithASCIIString(title, "NumPy") == 0 &&
      state->shortcuts.numpy_keywords == NULL) {
    state->shortcuts.numpy_keywords = Py_NewRef(keywords);
  }
  return title;
}
