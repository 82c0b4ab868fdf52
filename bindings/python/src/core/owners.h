/* SPDX-License-Identifier: Apache-2.0 */
/* Further owners of a tensor's data: shared with it, or of a copy. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_OWNERS_H_
#define DLBRIDGE_BINDINGS_PYTHON_OWNERS_H_

#include "object.h"

/* Imports a tensor as a dlbridge-owned one: later changes of the producer's struct have no effect.
 */
extern const DLBridgePyImportOptions core_import_options;

/* Removes IS_COPIED, which promises that the data has one owner: sharing ends that. Takes the
 * tensor, even if it fails; NULL with an exception. */
DLManagedTensorVersioned* core_without_copied(DLManagedTensorVersioned* tensor);
/* One more owner of the tensor's data; NULL with an exception. */
DLManagedTensorVersioned* core_share(TensorObject* self);
/* A dlbridge-owned tensor of any object that speaks DLPack; NULL with an exception. */
DLManagedTensorVersioned* core_import(CoreState* state, PyObject* object);
/* An object of a type with an exchange table, of any object that speaks DLPack, as
 * dlbridge_py_to_type_after makes it. The work on the tensor is ordered before the current stream
 * of the type's framework. */
PyObject* core_to_type(CoreState* state, PyObject* object, PyTypeObject* type, uint32_t options);
/* A compact copy on `device`; NULL with an exception. */
DLManagedTensorVersioned* core_copy(TensorObject* self, DLDevice device);
/* A compact copy of a tensor on the host, with elements below a byte packed; NULL with an
 * exception.
 */
DLManagedTensorVersioned* core_packed(TensorObject* self);
/* Orders the work on the tensor, which is on `device`, before the stream that the exchange tables
 * name: the legacy default stream. -1 with an exception. */
int core_order_for_table(const TensorObject* self, DLDevice device);

#endif /* DLBRIDGE_BINDINGS_PYTHON_OWNERS_H_ */
