/* SPDX-License-Identifier: Apache-2.0 */
/* The module dlbridge._core: one state per interpreter. */
#include "core.h"

static const char kStateKey[] = "dlbridge._core.state";

CoreState* core_state_of_module(PyObject* module) { return (CoreState*)PyModule_GetState(module); }

CoreState* core_state_of_type(PyTypeObject* type) {
  return (CoreState*)PyType_GetModuleState(type);
}

/* The states of this interpreter, the newest first: a module may be made again while the one before
 * it still lives. NULL, without an exception, where there is none. */
static CoreState* newest_state(PyObject* places) {
  PyObject* capsule = places != NULL ? PyDict_GetItemString(places, kStateKey) : NULL;
  return capsule != NULL ? (CoreState*)PyCapsule_GetPointer(capsule, kStateKey) : NULL;
}

/* Where the exchange table's functions start, which get no module. */
CoreState* core_state(void) {
  CoreState* state = newest_state(PyInterpreterState_GetDict(PyInterpreterState_Get()));
  if (state == NULL && !PyErr_Occurred()) {
    PyErr_SetString(PyExc_RuntimeError,
                    "dlbridge was not imported in this interpreter, or is gone");
  }
  return state;
}

/* Makes `state` the newest; NULL leaves none. */
static int put_state(PyObject* places, CoreState* state) {
  int status;
  PyObject* capsule;
  if (state == NULL) {
    return PyDict_DelItemString(places, kStateKey);
  }
  capsule = PyCapsule_New(state, kStateKey, NULL);
  status = capsule != NULL ? PyDict_SetItemString(places, kStateKey, capsule) : -1;
  Py_XDECREF(capsule);
  return status;
}

static int publish_state(CoreState* state) {
  PyObject* places = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (places == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "this interpreter keeps nothing for extensions");
    return -1;
  }
  state->older = newest_state(places);
  return put_state(places, state);
}

static void withdraw_state(CoreState* state) {
  PyObject* places = PyInterpreterState_GetDict(PyInterpreterState_Get());
  CoreState* newer = newest_state(places);
  if (newer == state && newer != NULL) {
    put_state(places, state->older);
  }
  while (newer != NULL && newer->older != state) {
    newer = newer->older;
  }
  if (newer != NULL) {
    newer->older = state->older;
  }
  state->older = NULL;
  PyErr_Clear();
}

static int make_names(CoreNames* names) {
  const struct {
    PyObject** place;
    const char* text;
  } all[] = {
      {&names->stream, "stream"},
      {&names->max_version, "max_version"},
      {&names->dl_device, "dl_device"},
      {&names->copy, "copy"},
      {&names->device, "device"},
      {&names->writable, "writable"},
      {&names->validate, "validate"},
      {&names->strides, "strides"},
      {&names->byte_offset, "byte_offset"},
      {&names->readonly, "readonly"},
      {&names->nbytes, "nbytes"},
      {&names->tensor_flags, "tensor_flags"},
      {&names->offset, "offset"},
      {&names->drop_read_only, "drop_read_only"},
      {&names->allow_newer_codes, "allow_newer_codes"},
      {&names->ndim, "ndim"},
      {&names->shape, "shape"},
  };
  size_t i;
  for (i = 0; i < sizeof all / sizeof *all; ++i) {
    *all[i].place = PyUnicode_InternFromString(all[i].text);
    if (*all[i].place == NULL) {
      return -1;
    }
  }
  return 0;
}

static int execute(PyObject* module) {
  CoreState* state = core_state_of_module(module);
  memset(state, 0, sizeof *state);
  if (dlbridge_py_init(&state->py) < 0 || make_names(&state->names) < 0 ||
      core_add_tensor_type(module, state) < 0 ||
      PyModule_AddStringConstant(module, "__version__", dlbridge_version_string()) < 0) {
    return -1;
  }
  return publish_state(state);
}

static int traverse(PyObject* module, visitproc visit, void* arg) {
  CoreState* state = core_state_of_module(module);
  if (state == NULL) {
    return 0;
  }
  Py_VISIT((PyObject*)state->tensor_type);
  return dlbridge_py_traverse(&state->py, visit, arg);
}

static int clear(PyObject* module) {
  CoreState* state = core_state_of_module(module);
  PyObject** names;
  size_t i;
  if (state == NULL) {
    return 0;
  }
  withdraw_state(state);
  Py_CLEAR(state->tensor_type);
  names = (PyObject**)&state->names;
  for (i = 0; i < sizeof state->names / sizeof *names; ++i) {
    Py_CLEAR(names[i]);
  }
  dlbridge_py_clear(&state->py);
  return 0;
}

static void free_module(void* module) { clear((PyObject*)module); }

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void*)execute},
#ifdef Py_MOD_PER_INTERPRETER_GIL_SUPPORTED
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "dlbridge._core",
    "The hot path of dlbridge: import, export, and the tensor object.",
    sizeof(CoreState),
    core_functions,
    slots,
    traverse,
    clear,
    free_module,
};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }
