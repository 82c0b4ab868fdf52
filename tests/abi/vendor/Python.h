/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's types that cpython_api.h names in its declarations, for tests/abi/api.py. */
#include <stddef.h>
#include <stdint.h>
#define PY_VERSION_HEX 0x030b0000
typedef intptr_t Py_ssize_t;
typedef struct _object PyObject;
typedef struct _typeobject PyTypeObject;
typedef struct _ts PyThreadState;
typedef int (*visitproc)(PyObject*, void*);
typedef PyObject* (*PyCFunction)(PyObject*, PyObject*);
typedef PyObject* (*getter)(PyObject*, void*);
typedef void (*PyCapsule_Destructor)(PyObject*);
typedef struct {
  void* buf;
  PyObject* obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  Py_ssize_t* suboffsets;
  void* internal;
} Py_buffer;
