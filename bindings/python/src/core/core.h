/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of dlbridge._core share: the state of one interpreter, the tensor object, and
 * readers of arguments. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_CORE_H_
#define DLBRIDGE_BINDINGS_PYTHON_CORE_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "dlbridge/cpython_api.h"

/* Without a call where the version-specific API has macros. */
#ifdef Py_LIMITED_API
#define CORE_TUPLE_ITEM(tuple, index) PyTuple_GetItem(tuple, index)
#define CORE_TUPLE_SIZE(tuple) PyTuple_Size(tuple)
#else
#define CORE_TUPLE_ITEM(tuple, index) PyTuple_GET_ITEM(tuple, index)
#define CORE_TUPLE_SIZE(tuple) PyTuple_GET_SIZE(tuple)
#endif

/* Keywords that are compared by identity first: callers' names are interned, as these are. */
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
} CoreNames;

typedef struct CoreState {
  struct CoreState* older; /* of a module of this interpreter that was made before */
  DLBridgePy py;
  PyTypeObject* tensor_type;
  CoreNames names;
} CoreState;

/* A tensor as Python sees it; `tensor` is owned and never NULL. */
typedef struct {
  PyObject_HEAD DLManagedTensorVersioned* tensor;
  int64_t stream; /* that work on it was ordered before, as the array API counts streams */
  PyObject* weak_references;
} TensorObject;

/* module.c */
CoreState* core_state_of_module(PyObject* module);
/* Of the tensor type or a type that inherits from it. */
CoreState* core_state_of_type(PyTypeObject* type);
/* NULL with an exception where the module was not imported in this interpreter. */
CoreState* core_state(void);

/* protocol.c: a Tensor is always dlbridge-owned. What was validated is what it has, whatever the
 * producer does to its own struct afterwards. */
extern const DLBridgePyImportOptions core_import_options;

/* tensor.c: takes the tensor, also where it fails. */
PyObject* core_tensor_new(CoreState* state, DLManagedTensorVersioned* tensor, int64_t stream);
/* Also of a type that another import of the module made. */
int core_is_tensor(PyObject* object);
int core_add_tensor_type(PyObject* module, CoreState* state);

/* buffer.c */
int core_get_buffer(PyObject* self, Py_buffer* view, int flags);
void core_release_buffer(PyObject* self, Py_buffer* view);

/* protocol.c */
/* IS_COPIED promises that the data has one owner, which ends as it is shared: a consumer that wants
 * a copy would take it for one. Takes the tensor, also where it fails, and returns it without that
 * flag; NULL with an exception. */
DLManagedTensorVersioned* core_without_copied(DLManagedTensorVersioned* tensor);
/* One more owner of the tensor's data; NULL with an exception. */
DLManagedTensorVersioned* core_share(TensorObject* self);
/* A compact copy on `device`. */
DLManagedTensorVersioned* core_copy(TensorObject* self, DLDevice device);
PyObject* core_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
PyObject* core_dlpack_device(PyObject* self, PyObject* unused);
int core_offer_table(PyObject* type);

/* functions.c */
extern PyMethodDef core_functions[];

/* arguments.c */
/* The one of `names` that reads like `given`, a keyword's name; `given` where none does. Borrowed.
 */
PyObject* core_known_name(const CoreNames* names, PyObject* given);
/* Each returns 0, or -1 with an exception set. */
int core_unknown_keyword(const char* function, PyObject* given);
int core_given_twice(const char* function, PyObject* name);
int core_positional(const char* function, Py_ssize_t found, Py_ssize_t least, Py_ssize_t most);
/* An integer of 64 bits: ValueError where it is not. */
int core_read_integer(PyObject* value, const char* what, int64_t* out);
int core_read_device(PyObject* value, DLDevice* out);
int core_read_dtype(PyObject* value, DLDataType* out);
int core_read_version(PyObject* value, DLPackVersion* out, int* given);
/* Adds DLBRIDGE_PY_COPY_* to the options. */
int core_read_copy(PyObject* value, uint32_t* options);
int core_read_stream(PyObject* value, int64_t* out);
int core_read_unsigned(PyObject* value, const char* what, uint64_t* out);
/* A sequence of integers; free `*out` with PyMem_Free. */
int core_read_extents(PyObject* value, const char* what, int64_t** out, int32_t* count);

/* limits.c: what from_dlpack's `ndim` and `shape` demand. */
typedef struct {
  int32_t min_ndim;
  int32_t max_ndim;
  int64_t shape[DLBRIDGE_MAX_NDIM]; /* -1: any */
} CoreLimits;
/* An integer, or (least, most) with None for an open end. */
int core_read_ndim(PyObject* value, CoreLimits* out);
/* An extent for each axis, None for any. */
int core_read_shape(PyObject* value, CoreLimits* out);

#endif /* DLBRIDGE_BINDINGS_PYTHON_CORE_H_ */
