/* SPDX-License-Identifier: Apache-2.0 */
/* One state per interpreter, reachable from its modules, from the tensor type and by itself. */
#include "state.h"

static const char kStateKey[] = "dlbridge._core.state";

CoreState* core_state_of_module(PyObject* module) { return (CoreState*)PyModule_GetState(module); }

CoreState* core_state_of_type(PyTypeObject* type) {
  return (CoreState*)PyType_GetModuleState(type);
}

/* Free-threaded builds: one thread at a time reads or changes the links between states. */
#ifdef Py_GIL_DISABLED
static PyMutex g_links;
#define LOCK_LINKS() PyMutex_Lock(&g_links)
#define UNLOCK_LINKS() PyMutex_Unlock(&g_links)
#else
#define LOCK_LINKS()
#define UNLOCK_LINKS()
#endif

/* The newest state of this interpreter, which links the older ones: a module may be created again
 * while the previous one still lives. NULL if there is none: without an exception, but
 * PyDict_GetItemString would also hide that there was no memory for the key. */
static CoreState* newest_state(PyObject* places) {
  PyObject* key = PyUnicode_FromString(kStateKey);
  PyObject* capsule = key != NULL && places != NULL ? PyDict_GetItemWithError(places, key) : NULL;
  Py_XDECREF(key);
  return capsule != NULL ? (CoreState*)PyCapsule_GetPointer(capsule, kStateKey) : NULL;
}

/* The functions of the exchange table start here: they receive no module. */
CoreState* core_state(void) {
  CoreState* state;
  LOCK_LINKS();
  state = newest_state(PyInterpreterState_GetDict(PyInterpreterState_Get()));
  UNLOCK_LINKS();
  if (state == NULL && !PyErr_Occurred()) {
    PyErr_SetString(PyExc_RuntimeError,
                    "dlbridge is not imported in this interpreter, or no longer");
  }
  return state;
}

/* Makes `state` the newest one; NULL removes the entry. */
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

int core_state_publish(CoreState* state) {
  int status;
  PyObject* places = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (places == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "this interpreter has no dictionary for extensions");
    return -1;
  }
  LOCK_LINKS();
  state->older = newest_state(places);
  status = PyErr_Occurred() ? -1 : put_state(places, state);
  UNLOCK_LINKS();
  return status;
}

static void withdraw(CoreState* state) {
  PyObject* places = PyInterpreterState_GetDict(PyInterpreterState_Get());
  CoreState* newer;
  LOCK_LINKS();
  newer = newest_state(places);
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
  UNLOCK_LINKS();
  PyErr_Clear();
}

static int make_names(CoreNames* names, CoreWords* words) {
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
      {&names->wait, "wait"},
      {&words->numpy, "numpy"},
      {&words->torch, "torch"},
      {&words->cupy, "cupy"},
      {&words->jax, "jax"},
      {&words->ndarray, "ndarray"},
      {&words->tensor, "Tensor"},
      {&words->from_dlpack, "from_dlpack"},
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

int core_state_init(CoreState* state) {
  memset(state, 0, sizeof *state);
  state->shortcuts.level = 2;
  return dlbridge_py_init(&state->py) < 0 ? -1 : make_names(&state->names, &state->words);
}

int core_state_traverse(CoreState* state, visitproc visit, void* arg) {
  const CoreShortcuts* shortcuts = &state->shortcuts;
  Py_VISIT((PyObject*)state->tensor_type);
  Py_VISIT((PyObject*)shortcuts->adapted_type);
  Py_VISIT(shortcuts->options);
  Py_VISIT((PyObject*)shortcuts->numpy_array);
  Py_VISIT((PyObject*)shortcuts->torch_tensor);
  Py_VISIT((PyObject*)shortcuts->cupy_array);
  Py_VISIT(shortcuts->numpy_keywords);
  Py_VISIT(shortcuts->version);
  return dlbridge_py_traverse(&state->py, visit, arg);
}

static void clear_shortcuts(CoreShortcuts* shortcuts) {
  shortcuts->level = 0;
  Py_CLEAR(shortcuts->adapted_type);
  Py_CLEAR(shortcuts->options);
  Py_CLEAR(shortcuts->numpy_array);
  Py_CLEAR(shortcuts->torch_tensor);
  Py_CLEAR(shortcuts->cupy_array);
  Py_CLEAR(shortcuts->numpy_keywords);
  Py_CLEAR(shortcuts->version);
}

void core_state_clear(CoreState* state) {
  PyObject** names = (PyObject**)&state->names;
  PyObject** words = (PyObject**)&state->words;
  size_t i;
  withdraw(state);
  clear_shortcuts(&state->shortcuts);
  Py_CLEAR(state->tensor_type);
  for (i = 0; i < sizeof state->words / sizeof *words; ++i) {
    Py_CLEAR(words[i]);
  }
  for (i = 0; i < sizeof state->names / sizeof *names; ++i) {
    Py_CLEAR(names[i]);
  }
  dlbridge_py_clear(&state->py);
}
