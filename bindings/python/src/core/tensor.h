/* SPDX-License-Identifier: Apache-2.0 */
/* The type dlbridge.Tensor. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_TENSOR_H_
#define DLBRIDGE_BINDINGS_PYTHON_TENSOR_H_

#include "state.h"

/* Creates the type and adds it to the module; -1 with an exception. */
int core_add_tensor_type(PyObject* module, CoreState* state);

#endif /* DLBRIDGE_BINDINGS_PYTHON_TENSOR_H_ */
