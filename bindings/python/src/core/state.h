/* SPDX-License-Identifier: Apache-2.0 */
/* The state of dlbridge._core in one interpreter. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_STATE_H_
#define DLBRIDGE_BINDINGS_PYTHON_STATE_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "messages.h"

#include "dlbridge/cpython_api.h"

/* Macros of the version-specific API avoid a call. */
#ifdef Py_LIMITED_API
#define CORE_TUPLE_ITEM(tuple, index) PyTuple_GetItem(tuple, index)
#define CORE_TUPLE_SIZE(tuple) PyTuple_Size(tuple)
#else
#define CORE_TUPLE_ITEM(tuple, index) PyTuple_GET_ITEM(tuple, index)
#define CORE_TUPLE_SIZE(tuple) PyTuple_GET_SIZE(tuple)
#endif

/* Interned names of keywords. Callers' names are interned too, so identity is compared first. */
typedef struct {
  PyObject* max_version;
  PyObject* dl_device;
  PyObject* stream;
  PyObject* copy;
  PyObject* device;
  PyObject* writable;
  PyObject* validate;
  PyObject* strides;
  PyObject* byte_offset;
  PyObject* readonly;
  PyObject* nbytes;
  PyObject* tensor_flags;
  PyObject* offset;
  PyObject* drop_read_only;
  PyObject* allow_newer_codes;
  PyObject* ndim;
  PyObject* shape;
  PyObject* wait;
} CoreNames;

/* Interned names that the shortcuts look up. */
typedef struct {
  PyObject* numpy;
  PyObject* torch;
  PyObject* cupy;
  PyObject* jax;
  PyObject* ndarray;
  PyObject* tensor;
  PyObject* from_dlpack;
} CoreWords;

/* What the shortcuts of adapt and to know; NULL until it is seen. */
typedef struct {
  PyTypeObject* adapted_type; /* dlbridge._adapt.Adapted */
  PyObject* options;          /* those of a call without any */
  PyTypeObject* numpy_array;  /* numpy.ndarray */
  PyTypeObject* torch_tensor; /* torch.Tensor */
  PyTypeObject* cupy_array;   /* cupy.ndarray */
  PyObject* numpy_keywords;   /* NumPy's tuple of names for __dlpack__ */
  PyObject* version;          /* the tuple that a consumer passed last, and its value */
  DLPackVersion version_value;
  /* 2: all shortcuts. 1: those of NumPy and PyTorch, since the program has registered facts about
   * others, which only Python code knows. 0: none. */
  int level;
} CoreShortcuts;

typedef struct CoreState {
  struct CoreState* older; /* the state of an earlier module of this interpreter */
  DLBridgePy py;
  PyTypeObject* tensor_type;
  CoreNames names;
  CoreWords words;
  CoreShortcuts shortcuts;
} CoreState;

/* Initializes the names and the library's part; -1 with an exception. */
int core_state_init(CoreState* state);
int core_state_traverse(CoreState* state, visitproc visit, void* arg);
void core_state_clear(CoreState* state);
/* Makes `state` the one that core_state returns, until it is cleared; -1 with an exception. */
int core_state_publish(CoreState* state);

CoreState* core_state_of_module(PyObject* module);
/* `type` is the tensor type or inherits from it. */
CoreState* core_state_of_type(PyTypeObject* type);
/* The newest state of this interpreter; NULL with an exception if it has not imported the module.
 */
CoreState* core_state(void);

#endif /* DLBRIDGE_BINDINGS_PYTHON_STATE_H_ */
