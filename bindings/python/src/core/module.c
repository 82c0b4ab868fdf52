/* SPDX-License-Identifier: Apache-2.0 */
/* The module dlbridge._core. */
#include "exporter.h"
#include "functions.h"
#include "state.h"
#include "tensor.h"

static int execute(PyObject* module) {
  CoreState* state = core_state_of_module(module);
  if (core_state_init(state) < 0 || core_add_tensor_type(module, state) < 0 ||
      core_add_exporter_type(module) < 0 ||
      PyModule_AddStringConstant(module, "__version__", dlbridge_version_string()) < 0) {
    return -1;
  }
  return core_state_publish(state);
}

static int traverse(PyObject* module, visitproc visit, void* arg) {
  CoreState* state = core_state_of_module(module);
  return state != NULL ? core_state_traverse(state, visit, arg) : 0;
}

static int clear(PyObject* module) {
  CoreState* state = core_state_of_module(module);
  if (state != NULL) {
    core_state_clear(state);
  }
  return 0;
}

static void free_module(void* module) { clear((PyObject*)module); }

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void*)execute},
#ifdef Py_MOD_PER_INTERPRETER_GIL_SUPPORTED
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
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
