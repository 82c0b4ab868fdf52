/* SPDX-License-Identifier: Apache-2.0 */
/* The module dlbridge._core: one state per interpreter. */
#include "core.h"

static const char kStateKey[] = "dlbridge._core.state";

CoreState* core_state_of_module(PyObject* module) { return (CoreState*)PyModule_GetState(module); }

CoreState* core_state_of_type(PyTypeObject* type) {
  return (CoreState*)PyType_GetModuleState(type);
}

static int publish_state(CoreState* state) {
  int status;
  PyObject* places = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject* capsule = PyCapsule_New(state, kStateKey, NULL);
  if (places == NULL || capsule == NULL) {
    Py_XDECREF(capsule);
    return -1;
  }
  status = PyDict_SetItemString(places, kStateKey, capsule);
  Py_DECREF(capsule);
  return status;
}

static struct PyModuleDef definition;

/* The state that was published last is gone with its module: another import's may be there. */
static CoreState* core_state_again(void) {
  CoreState* state = NULL;
  PyObject* module = PyImport_ImportModule("dlbridge._core");
  PyErr_Clear();
  if (module != NULL && PyModule_Check(module) && PyModule_GetDef(module) == &definition) {
    state = core_state_of_module(module);
  }
  if (state == NULL || state->tensor_type == NULL || publish_state(state) < 0) {
    PyErr_SetString(PyExc_RuntimeError,
                    "dlbridge was not imported in this interpreter, or is gone");
    state = NULL;
  }
  Py_XDECREF(module);
  return state;
}

/* What the exchange table's functions start from, which are told no module. */
CoreState* core_state(void) {
  PyObject* places = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject* capsule = places != NULL ? PyDict_GetItemString(places, kStateKey) : NULL;
  return capsule != NULL ? (CoreState*)PyCapsule_GetPointer(capsule, kStateKey)
                         : core_state_again();
}

static void withdraw_state(CoreState* state) {
  PyObject* places = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject* capsule = places != NULL ? PyDict_GetItemString(places, kStateKey) : NULL;
  if (capsule != NULL && PyCapsule_GetPointer(capsule, kStateKey) == (void*)state) {
    PyDict_DelItemString(places, kStateKey);
  }
  PyErr_Clear();
}

static int make_names(CoreNames* names) {
  const struct {
    PyObject** place;
    const char* text;
  } all[] = {
      {&names->stream, "stream"},           {&names->max_version, "max_version"},
      {&names->dl_device, "dl_device"},     {&names->copy, "copy"},
      {&names->device, "device"},           {&names->writable, "writable"},
      {&names->validate, "validate"},       {&names->strides, "strides"},
      {&names->byte_offset, "byte_offset"}, {&names->readonly, "readonly"},
      {&names->nbytes, "nbytes"},           {&names->flags, "flags"},
      {&names->offset, "offset"},           {&names->drop_read_only, "drop_read_only"},
      {&names->newer_codes, "newer_codes"},
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
