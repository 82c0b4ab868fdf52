/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack's protocols on the tensor object: __dlpack__, __dlpack_device__, the exchange table. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_PROTOCOL_H_
#define DLBRIDGE_BINDINGS_PYTHON_PROTOCOL_H_

#include "state.h"

PyObject* core_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
PyObject* core_dlpack_device(PyObject* self, PyObject* unused);
/* Gives the type its exchange table; -1 with an exception. */
int core_offer_tables(PyObject* type);

#endif /* DLBRIDGE_BINDINGS_PYTHON_PROTOCOL_H_ */
