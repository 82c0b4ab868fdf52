/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that can be handed on without a decision, and what the program has imported. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_PLAIN_H_
#define DLBRIDGE_BINDINGS_PYTHON_PLAIN_H_

#include "object.h"

/* An attribute of a module, a new reference; NULL without an exception if the program has not
 * imported the module, or not completely. */
PyObject* core_imported(PyObject* name, PyObject* attribute);
/* Whether the type is numpy.ndarray. */
int core_is_numpy(CoreState* state, PyTypeObject* type);

/* Whether the type is numpy.ndarray or a subclass. Call it without an exception. */
int core_derives_from_numpy(CoreState* state, PyTypeObject* type);
/* Whether the type is torch.Tensor. */
int core_is_torch(CoreState* state, PyTypeObject* type);
/* Whether the type is cupy.ndarray. */
int core_is_cupy(CoreState* state, PyTypeObject* type);

/* A tensor of an array that can be handed on without a decision: writable memory of the host
 * without an offset, of NumPy, PyTorch or dlbridge. A new reference; NULL without an exception for
 * others, and with the exception of a producer that is not a rejection. */
PyObject* core_plain_tensor(CoreState* state, PyObject* array);
/* Whether the tensor has these properties. For a block of CORE_LOCK. */
int core_is_plain(const DLManagedTensorVersioned* tensor);
/* Whether NumPy has the dtype. */
int core_numpy_has(DLDataType dtype);
/* The name of a known consumer by its tuple of keyword names, borrowed; None for others. Keeps
 * NumPy's tuple. */
PyObject* core_consumer(CoreState* state, PyObject* keywords);
/* Clears the exception of a rejection, which Python code repeats with its remedy; -1 for others,
 * which stay. */
int core_clear_rejection(void);

#endif /* DLBRIDGE_BINDINGS_PYTHON_PLAIN_H_ */
