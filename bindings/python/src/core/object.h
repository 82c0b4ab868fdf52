/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor object, as plain data: its type is in tensor.h. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_OBJECT_H_
#define DLBRIDGE_BINDINGS_PYTHON_OBJECT_H_

#include "state.h"

/* Free-threaded builds: CORE_LOCK(object) opens a block in which no other thread uses the object's
 * fields, and CORE_UNLOCK() closes it. Do not leave the block by return. The interpreter suspends
 * the lock where other builds release the GIL, so the same rule holds for all builds: read a field
 * again after a call that may run Python code or detach the thread. */
#ifdef Py_GIL_DISABLED
#define CORE_LOCK(object) Py_BEGIN_CRITICAL_SECTION(object)
#define CORE_UNLOCK() Py_END_CRITICAL_SECTION()
#else
#define CORE_LOCK(object) \
  {                       \
    (void)(object)
#define CORE_UNLOCK() }
#endif

/* A tensor in Python; `tensor` is owned, and NULL after release_after. Other threads, and Python
 * code that runs in between, may release it: read it by core_live in a block of CORE_LOCK. */
typedef struct {
  PyObject_HEAD DLManagedTensorVersioned* tensor;
  int64_t stream;     /* work on the tensor is ordered before this stream of the array API */
  Py_ssize_t buffers; /* exported by the buffer protocol */
  PyObject* weak_references;
} TensorObject;

/* Takes the tensor, even if it fails. */
PyObject* core_tensor_new(CoreState* state, DLManagedTensorVersioned* tensor, int64_t stream);
void core_tensor_deallocate(PyObject* object);
/* Also true for a tensor of another import of the module. */
int core_is_tensor(PyObject* object);
/* The device of the tensor; -1 with ValueError after release_after. */
int core_device(PyObject* object, DLDevice* out);
/* The tensor, for a block of CORE_LOCK; NULL with ValueError after release_after. */
const DLManagedTensorVersioned* core_live(PyObject* object);

#endif /* DLBRIDGE_BINDINGS_PYTHON_OBJECT_H_ */
