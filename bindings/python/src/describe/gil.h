// SPDX-License-Identifier: Apache-2.0
// Calls that may wait for the GIL. Before CPython 3.14, a daemon thread that waits for it while the
// interpreter ends is ended by pthread_exit, and glibc then unwinds the thread's stack. That must
// not reach frames of C++: nanobind's are noexcept, so the process would abort, and in a release,
// whose C++ runtime is linked statically, two unwinders would meet. gil.cc is compiled without
// unwind tables, so glibc takes its frames for the end of the stack and ends the thread there.
// `work` is called below such a frame: it must have no destructors, which would be skipped, and
// must not be noexcept.
#ifndef DLBRIDGE_PYTHON_GIL_H_
#define DLBRIDGE_PYTHON_GIL_H_

#include <Python.h>

namespace dlbridge::python {

// Releases the GIL, calls `work(context)` and takes the GIL again.
void RunWithoutGil(void (*work)(void* context), void* context);

// PyGILState_Ensure.
PyGILState_STATE EnsureGil();

// PyObject_Vectorcall without keywords.
PyObject* CallPython(PyObject* function, PyObject* const* arguments, size_t count);

}  // namespace dlbridge::python

#endif  // DLBRIDGE_PYTHON_GIL_H_
