/* SPDX-License-Identifier: Apache-2.0 */
/* The common cases of adapt and to, without Python code. */
#include "shortcuts.h"

#include "exporter.h"
#include "owners.h"
#include "plain.h"

/* --- The other cases, in Python -----------------------------------------------------------------
 */

/* Calls a function of a module of this package with the same arguments. */
static PyObject* in_python(const char* module, const char* name, PyObject* const* args,
                           Py_ssize_t count, PyObject* keywords) {
  PyObject* place = PyImport_ImportModule(module);
  PyObject* function = place != NULL ? PyObject_GetAttrString(place, name) : NULL;
  PyObject* result =
      function != NULL ? PyObject_Vectorcall(function, args, (size_t)count, keywords) : NULL;
  Py_XDECREF(function);
  Py_XDECREF(place);
  return result;
}

/* --- adapt --------------------------------------------------------------------------------------
 */

static PyObject* adapted(CoreState* state, PyObject* array) {
  PyObject* result;
  PyObject* tensor = core_plain_tensor(state, array);
  if (tensor == NULL) {
    return NULL;
  }
  result = core_exporter_new(&state->shortcuts, array, tensor);
  Py_DECREF(tensor);
  return result;
}

PyObject* core_adapt(PyObject* module, PyObject* const* args, Py_ssize_t count,
                     PyObject* keywords) {
  CoreState* state = core_state_of_module(module);
  PyObject* result = NULL;
  if (count == 1 && keywords == NULL && state->shortcuts.level > 0 &&
      state->shortcuts.adapted_type != NULL) {
    result = adapted(state, args[0]);
  }
  return result != NULL || PyErr_Occurred()
             ? result
             : in_python("dlbridge._adapt", "adapt", args, count, keywords);
}

/* --- to -----------------------------------------------------------------------------------------
 */

/* NumPy recognizes the tensor's __dlpack__, which hands the memory on. */
static PyObject* to_numpy(CoreState* state, PyObject* array) {
  PyObject* arguments[2] = {NULL, NULL};
  PyObject *importer, *result = NULL;
  PyObject* tensor = core_plain_tensor(state, array);
  if (tensor == NULL || !core_numpy_has(((TensorObject*)tensor)->tensor->dl_tensor.dtype)) {
    Py_XDECREF(tensor);
    return NULL;
  }
  importer = core_imported(state->words.numpy, state->words.from_dlpack);
  if (importer != NULL) {
    arguments[1] = tensor;
    result = PyObject_Vectorcall(importer, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (result == NULL) {
      core_clear_rejection();
    }
  }
  Py_XDECREF(importer);
  Py_DECREF(tensor);
  return result;
}

/* Other arrays are for Python code: a capsule and some producers export only once, and facts about
 * their framework may apply. Facts that the program has registered may concern every type but
 * torch.Tensor. */
static int knows(CoreState* state, PyObject* array, PyTypeObject* type) {
  PyTypeObject* own = Py_TYPE(array);
  if (own == state->tensor_type || core_is_numpy(state, own) || core_is_torch(state, own)) {
    return state->shortcuts.level > 1 || core_is_torch(state, type);
  }
  return state->shortcuts.level > 1 && core_is_cupy(state, own);
}

/* Through the exchange table; NULL without an exception if the type has none. */
static PyObject* to_type(CoreState* state, PyObject* array, PyTypeObject* type) {
  PyObject* result = NULL;
  if (!knows(state, array, type) || dlbridge_py_exchange_api(&state->py, type) == NULL) {
    return NULL;
  }
  result = core_to_type(state, array, type, 0);
  if (result != NULL && !PyObject_TypeCheck(result, type)) {
    Py_CLEAR(result); /* a subclass, whose objects the table does not make: rejected in Python */
    return NULL;
  }
  if (result == NULL) {
    core_clear_rejection();
  }
  return result;
}

static PyObject* to_torch(CoreState* state, PyObject* array) {
  PyObject* result = NULL;
  PyObject* type = core_imported(state->words.torch, state->words.tensor);
  if (type != NULL && PyType_Check(type)) {
    result = to_type(state, array, (PyTypeObject*)type);
  }
  Py_XDECREF(type);
  return result;
}

/* Whether a target is the framework: its name, or its module. */
static int is_framework(PyObject* target, PyObject* name) {
  if (target == name) {
    return 1;
  }
  return PyUnicode_CheckExact(target)
             ? PyUnicode_Compare(target, name) == 0
             : target == PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
}

/* NULL without an exception if the case is not a common one. Nothing about a target is kept: its
 * module is looked up in each call. */
static PyObject* to_common(CoreState* state, PyObject* array, PyObject* target) {
  if (PyType_Check(target)) {
    return core_is_numpy(state, (PyTypeObject*)target)
               ? to_numpy(state, array)
               : to_type(state, array, (PyTypeObject*)target);
  }
  if (!PyUnicode_CheckExact(target) && !PyModule_CheckExact(target)) {
    return NULL;
  }
  if (is_framework(target, state->words.torch)) {
    return to_torch(state, array);
  }
  return is_framework(target, state->words.numpy) ? to_numpy(state, array) : NULL;
}

PyObject* core_to(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  CoreState* state = core_state_of_module(module);
  PyObject* result = NULL;
  if (count == 2 && keywords == NULL && state->shortcuts.level > 0) {
    result = to_common(state, args[0], args[1]);
  }
  return result != NULL || PyErr_Occurred()
             ? result
             : in_python("dlbridge._to", "to", args, count, keywords);
}

/* --- What Python code reports -------------------------------------------------------------------
 */

PyObject* core_share_adapted(PyObject* module, PyObject* args) {
  CoreState* state = core_state_of_module(module);
  PyObject *type, *options, *base, *old_type, *old_options;
  int status;
  if (!PyArg_ParseTuple(args, "OO:share_adapted", &type, &options)) {
    return NULL;
  }
  base = PyObject_GetAttrString(module, "Exporter");
  status = base != NULL ? core_check_exporter(type, base) : -1;
  Py_XDECREF(base);
  if (status < 0) {
    return NULL;
  }
  old_type = (PyObject*)state->shortcuts.adapted_type;
  old_options = state->shortcuts.options;
  state->shortcuts.adapted_type = (PyTypeObject*)Py_NewRef(type);
  state->shortcuts.options = Py_NewRef(options);
  Py_XDECREF(old_type);
  Py_XDECREF(old_options);
  return Py_NewRef(Py_None);
}

PyObject* core_share_immutable(PyObject* module, PyObject* function) {
  PyObject* registered = dlbridge_py_registered_();
  (void)module;
  return registered != NULL && PyList_Append(registered, function) == 0 ? Py_NewRef(Py_None) : NULL;
}

PyObject* core_shortcuts(PyObject* module, PyObject* args) {
  CoreShortcuts* shortcuts = &core_state_of_module(module)->shortcuts;
  int level = shortcuts->level;
  if (!PyArg_ParseTuple(args, "|i:shortcuts", &level)) {
    return NULL;
  }
  shortcuts->level = level;
  return PyLong_FromLong(level);
}
