/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack's protocols on the tensor object. */
#include "protocol.h"

#include "object.h"
#include "owners.h"
#include "plain.h"
#include "request.h"
#include "state.h"

/* The tensor's minor version; -1 if it needs an order of streams or protection. */
static int64_t plain_minor(PyObject* self) {
  const DLManagedTensorVersioned* tensor;
  int64_t minor = -1;
  CORE_LOCK(self);
  tensor = ((TensorObject*)self)->tensor;
  if (tensor != NULL && (int64_t)tensor->dl_tensor.device.device_type == kDLCPU &&
      (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0) {
    minor = tensor->version.minor;
  }
  CORE_UNLOCK();
  return minor;
}

/* NumPy requests 1.0 and imports every 1.x. */
static int is_numpy(CoreState* state, PyObject* keywords) {
  if (state->shortcuts.numpy_keywords == NULL) {
    core_consumer(state, keywords);
  }
  return keywords == state->shortcuts.numpy_keywords;
}

/* Answers a common request of a plain tensor; NULL without an exception for others. */
static PyObject* answer_plain(CoreState* state, PyObject* self, PyObject* const* args,
                              PyObject* keywords) {
  DLPackVersion newest;
  DLManagedTensorVersioned* shared;
  const int64_t minor = plain_minor(self);
  if (minor < 0 || !core_read_plain(state, args, keywords, &newest) || newest.major == 0) {
    return NULL;
  }
  if (newest.major == 1 && minor > (int64_t)newest.minor && is_numpy(state, keywords)) {
    newest.minor = (uint32_t)minor;
  }
  shared = core_share((TensorObject*)self);
  return shared != NULL ? dlbridge_py_capsule(shared, &newest, 0) : NULL;
}

/* Returns 1 if the tensor has a dtype that JAX changes unless x64 is enabled. */
static int is_wide(PyObject* self) {
  const DLManagedTensorVersioned* tensor;
  DLDataType dtype = {0, 0, 0};
  CORE_LOCK(self);
  tensor = ((TensorObject*)self)->tensor;
  if (tensor != NULL) {
    dtype = tensor->dl_tensor.dtype;
  }
  CORE_UNLOCK();
  return dtype.lanes == 1 && ((dtype.code <= kDLFloat && dtype.bits == 64) ||
                              (dtype.code == kDLComplex && dtype.bits == 128));
}

/* Rejects a request of JAX that would lose values. A tensor has no options that permit the loss. */
static int check_values(CoreState* state, PyObject* self, PyObject* keywords) {
  PyObject *module, *result;
  if ((keywords != NULL && keywords == state->shortcuts.numpy_keywords) || !is_wide(self) ||
      PyDict_GetItemWithError(PyImport_GetModuleDict(), state->words.jax) == NULL ||
      !dlbridge_py_runs_in_("jax")) {
    return PyErr_Occurred() ? -1 : 0;
  }
  module = PyImport_ImportModule("dlbridge._adapt");
  result =
      module != NULL ? PyObject_CallMethod(module, "check_values_for", "sO", "jax", self) : NULL;
  Py_XDECREF(result);
  Py_XDECREF(module);
  return result != NULL ? 0 : -1;
}

PyObject* core_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  DLBridgePyRequest request;
  DLManagedTensorVersioned* shared;
  CoreState* state = core_state_of_type(Py_TYPE(self));
  PyObject* result = NULL;
  if (state != NULL && check_values(state, self, keywords) < 0) {
    return NULL;
  }
  if (state != NULL && count == 0) {
    result = answer_plain(state, self, args, keywords);
  }
  if (result != NULL || PyErr_Occurred()) {
    return result;
  }
  if (dlbridge_py_read_request(args, count, keywords, &request) < 0) {
    return NULL;
  }
  shared = core_share((TensorObject*)self);
  return shared != NULL ? dlbridge_py_answer(shared, ((TensorObject*)self)->stream, &request)
                        : NULL;
}

PyObject* core_dlpack_device(PyObject* self, PyObject* unused) {
  DLDevice device;
  int32_t type;
  (void)unused;
  if (core_device(self, &device) < 0) {
    return NULL;
  }
  memcpy(&type, &device.device_type, sizeof type);
  return Py_BuildValue("(ii)", (int)type, (int)device.device_id);
}

/* --- The exchange table ------------------------------------------------------------------------
 */

/* NULL with TypeError if the object is not a dlbridge.Tensor. */
static TensorObject* checked(void* object) {
  if (!core_is_tensor((PyObject*)object)) {
    PyErr_SetString(PyExc_TypeError, "expected a dlbridge.Tensor, found another object");
    return NULL;
  }
  return (TensorObject*)object;
}

/* The export of the table for consumers that keep READ_ONLY. */
static int from_object_keeping(void* object, DLManagedTensorVersioned** out) {
  TensorObject* self = checked(object);
  *out = self != NULL ? core_share(self) : NULL;
  if (*out == NULL) {
    return -1;
  }
  if (core_order_for_table(self, (*out)->dl_tensor.device) < 0) {
    dlbridge_py_release(*out);
    *out = NULL;
    return -1;
  }
  return 0;
}

/* The export of the usual table, whose consumer may forget READ_ONLY. */
static int from_object(void* object, DLManagedTensorVersioned** out) {
  if (from_object_keeping(object, out) < 0) {
    return -1;
  }
  if (((*out)->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0) {
    return 0;
  }
  dlbridge_py_release(*out);
  *out = NULL;
  return dlbridge_py_reject_read_only();
}

static int lend(void* object, DLTensor* out) {
  TensorObject* self = checked(object);
  const DLManagedTensorVersioned* tensor;
  int status = -1;
  if (self == NULL) {
    return -1;
  }
  CORE_LOCK(self);
  tensor = core_live((PyObject*)self);
  if (tensor != NULL) {
    status = dlbridge_py_lend_writable(tensor, out);
  }
  CORE_UNLOCK();
  return status == 0 ? core_order_for_table(self, out->device) : -1;
}

/* The tensor comes from foreign code. On failure it remains the caller's. */
static int to_object(DLManagedTensorVersioned* tensor, void** out) {
  CoreState* state = core_state();
  PyObject* object =
      state != NULL ? core_tensor_new(state, NULL, DLBRIDGE_ARRAY_API_STREAM_NONE) : NULL;
  *out = NULL;
  if (object == NULL) {
    return -1;
  }
  if (dlbridge_py_accept_(tensor, DLBRIDGE_KIND_VERSIONED, &core_import_options,
                          &((TensorObject*)object)->tensor) < 0) {
    Py_DECREF(object);
    return -1;
  }
  *out = object;
  return 0;
}

int core_offer_tables(PyObject* type) {
  /* Initialized statically: interpreters with their own GIL may import this at the same time. */
  static DLPackExchangeAPI usual = {{{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, NULL},
                                    dlbridge_py_table_allocate,
                                    from_object,
                                    to_object,
                                    lend,
                                    dlbridge_py_table_no_stream};
  static DLPackExchangeAPI keeping = {{{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, NULL},
                                      dlbridge_py_table_allocate,
                                      from_object_keeping,
                                      to_object,
                                      lend,
                                      dlbridge_py_table_no_stream};
  return dlbridge_py_offer(type, &usual) < 0 ? -1 : dlbridge_py_offer_keeping(type, &keeping);
}
