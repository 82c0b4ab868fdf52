// SPDX-License-Identifier: Apache-2.0
// Compiled without exceptions and unwind tables: see gil.h and CMakeLists.txt.
#include "gil.h"

namespace dlbridge::python {

// None of these ends with a call, which the compiler could make a jump: their frame would be
// missing.
void RunWithoutGil(void (*work)(void* context), void* context) {
  PyThreadState* state = PyEval_SaveThread();
  work(context);
  PyEval_RestoreThread(state);
  asm volatile("");
}

PyGILState_STATE EnsureGil() {
  const PyGILState_STATE state = PyGILState_Ensure();
  asm volatile("");
  return state;
}

PyObject* CallPython(PyObject* function, PyObject* const* arguments, size_t count) {
  PyObject* result = PyObject_Vectorcall(function, arguments, count, nullptr);
  asm volatile("");
  return result;
}

}  // namespace dlbridge::python
