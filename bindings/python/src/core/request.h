/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of __dlpack__ that are common and ask for nothing special. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_REQUEST_H_
#define DLBRIDGE_BINDINGS_PYTHON_REQUEST_H_

#include "state.h"

/* Reads the keywords if they are max_version alone, or with None and copy=False for the others.
 * Returns 1; or 0, without an exception, for any other request. Runs no Python code. */
int core_read_plain(CoreState* state, PyObject* const* values, PyObject* keywords,
                    DLPackVersion* newest);

#endif /* DLBRIDGE_BINDINGS_PYTHON_REQUEST_H_ */
