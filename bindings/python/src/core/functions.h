/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of dlbridge._core. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_FUNCTIONS_H_
#define DLBRIDGE_BINDINGS_PYTHON_FUNCTIONS_H_

#include "state.h"

extern PyMethodDef core_functions[];

#endif /* DLBRIDGE_BINDINGS_PYTHON_FUNCTIONS_H_ */
