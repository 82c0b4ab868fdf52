/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack's protocols on the tensor object. */
#include "protocol.h"

#include "arguments.h"
#include "object.h"
#include "owners.h"
#include "state.h"

typedef struct {
  PyObject* stream;
  PyObject* max_version;
  PyObject* dl_device;
  PyObject* copy;
} Asked;

static int read_keywords(const CoreNames* names, PyObject* const* values, PyObject* keywords,
                         Asked* out) {
  Py_ssize_t i, count = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  for (i = 0; i < count; ++i) {
    PyObject* name = core_known_name(names, CORE_TUPLE_ITEM(keywords, i));
    if (name == names->max_version) {
      out->max_version = values[i];
    } else if (name == names->stream) {
      out->stream = values[i];
    } else if (name == names->dl_device) {
      out->dl_device = values[i];
    } else if (name == names->copy) {
      out->copy = values[i];
    } else {
      return core_unknown_keyword("__dlpack__", name);
    }
  }
  return 0;
}

static int same_device(DLDevice one, DLDevice other) {
  return (int64_t)one.device_type == (int64_t)other.device_type && one.device_id == other.device_id;
}

/* Orders the work that produced the tensor before the consumer's stream, which belongs to the
 * device that the consumer asked for. */
static int order(const TensorObject* self, DLDevice own, DLDevice wanted, int64_t stream) {
  DLBridgeStream producer, consumer;
  DLBridgeError error;
  if (dlbridge_stream_from_array_api(wanted, stream, &consumer, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  if (consumer.kind == DLBRIDGE_STREAM_NO_SYNC || self->stream == -1 ||
      (same_device(own, wanted) &&
       (consumer.kind == DLBRIDGE_STREAM_HOST || self->stream == stream))) {
    return 0;
  }
  if (dlbridge_stream_from_array_api(own, self->stream, &producer, &error) != DLBRIDGE_OK ||
      dlbridge_stream_handoff(&producer, &consumer, 0, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  return 0;
}

/* The owner for the capsule: one more owner of this tensor, or the owner of a copy if the consumer
 * asked for one. */
static DLManagedTensorVersioned* prepare(TensorObject* self, const Asked* asked) {
  DLDevice own, wanted;
  uint32_t copy = 0;
  int64_t stream;
  if (core_device((PyObject*)self, &own) < 0) {
    return NULL;
  }
  wanted = own;
  if (core_read_copy(asked->copy, &copy) < 0 ||
      (asked->dl_device != NULL && asked->dl_device != Py_None &&
       core_read_device(asked->dl_device, &wanted) < 0)) {
    return NULL;
  }
  if ((copy & DLBRIDGE_PY_COPY_NEVER) != 0 && !same_device(own, wanted)) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_UNSUPPORTED, DLBRIDGE_RULE_NONE,
                        "expected dl_device=(%d, %d), where the tensor is, found (%d, %d) and "
                        "copy=False, which forbids to move it",
                        (int)own.device_type, (int)own.device_id, (int)wanted.device_type,
                        (int)wanted.device_id);
    return NULL;
  }
  if ((int64_t)own.device_type != kDLCPU || (asked->stream != NULL && asked->stream != Py_None)) {
    if (core_read_stream(asked->stream, &stream) < 0 || order(self, own, wanted, stream) < 0) {
      return NULL;
    }
  }
  return (copy & DLBRIDGE_PY_COPY_ALWAYS) != 0 || !same_device(own, wanted)
             ? core_copy(self, wanted)
             : core_share(self);
}

PyObject* core_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  DLPackVersion newest;
  DLManagedTensorVersioned* tensor;
  Asked asked = {NULL, NULL, NULL, NULL};
  int given = 0;
  CoreState* state = core_state_of_type(Py_TYPE(self));
  if (state == NULL || core_positional("__dlpack__", count, 0, 0) < 0 ||
      read_keywords(&state->names, args + count, keywords, &asked) < 0 ||
      core_read_version(asked.max_version, &newest, &given) < 0) {
    return NULL;
  }
  tensor = prepare((TensorObject*)self, &asked);
  return tensor != NULL ? dlbridge_py_capsule(tensor, given ? &newest : NULL, 0) : NULL;
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

static int from_object(void* object, DLManagedTensorVersioned** out) {
  TensorObject* self = checked(object);
  *out = self != NULL ? core_share(self) : NULL;
  return *out != NULL ? 0 : -1;
}

static int lend(void* object, DLTensor* out) {
  TensorObject* self = checked(object);
  const DLManagedTensorVersioned* tensor;
  if (self == NULL) {
    return -1;
  }
  CORE_LOCK(self);
  tensor = core_live((PyObject*)self);
  if (tensor != NULL) {
    *out = tensor->dl_tensor;
  }
  CORE_UNLOCK();
  return tensor != NULL ? 0 : -1;
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

int core_offer_table(PyObject* type) {
  /* Initialized statically: interpreters with their own GIL may import this at the same time. */
  static DLPackExchangeAPI table = {{{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, NULL},
                                    dlbridge_py_table_allocate,
                                    from_object,
                                    to_object,
                                    lend,
                                    dlbridge_py_table_no_stream};
  return dlbridge_py_offer(type, &table);
}
