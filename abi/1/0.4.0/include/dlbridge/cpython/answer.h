/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * dlbridge_py_dlpack: the whole of __dlpack__ for an extension type. Part of dlbridge/cpython_api.h.
 *
 * The memory of a read-only tensor goes without a copy only to a consumer that is known to keep
 * READ_ONLY or never to write. Every other request gets a BufferError, or a writable copy if it has
 * copy=True. */
#ifndef DLBRIDGE_CPYTHON_ANSWER_H_
#define DLBRIDGE_CPYTHON_ANSWER_H_

#include "dlbridge/cpython/consumers.h"
#include "dlbridge/cpython/export.h"
#include "dlbridge/cpython/import.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a consumer asked of __dlpack__. \since 0.4.0 */
typedef struct DLBridgePyRequest {
  PyObject* names;      /**< The tuple of keyword names, borrowed; NULL: none. */
  int64_t stream;       /**< Of the Python array API; DLBRIDGE_ARRAY_API_STREAM_NONE: not given. */
  DLPackVersion newest; /**< max_version; {0, 0}: not given. */
  DLDevice device;      /**< dl_device; read only if `has_device` is set. */
  int32_t has_device;   /**< dl_device was given. */
  uint32_t copy;        /**< DLBRIDGE_PY_COPY_ALWAYS, DLBRIDGE_PY_COPY_NEVER, or 0. */
} DLBridgePyRequest;

static inline int dlbridge_py_reject_keyword_(PyObject* type, const char* expected, PyObject* found) {
  PyErr_Format(type, "expected %s, found %R", expected, found);
  return -1;
}

/* Reads an integer from `least` to `most`. */
static inline int dlbridge_py_read_integer_(PyObject* value, const char* expected, long long least,
                                            long long most, long long* out) {
  int overflow = 0;
  PyObject* number = PyNumber_Index(value);
  if (number == NULL) {
    return -1;
  }
  *out = PyLong_AsLongLongAndOverflow(number, &overflow);
  Py_DECREF(number);
  return overflow != 0 || *out < least || *out > most
             ? dlbridge_py_reject_keyword_(PyExc_ValueError, expected, value)
             : 0;
}

/* Reads a tuple of two integers from `least` to `most`. */
static inline int dlbridge_py_read_pair_(PyObject* value, const char* expected, long long least,
                                         long long most, long long* first, long long* second) {
  if (!PyTuple_Check(value) || PyTuple_Size(value) != 2) {
    return dlbridge_py_reject_keyword_(PyExc_TypeError, expected, value);
  }
  return dlbridge_py_read_integer_(PyTuple_GetItem(value, 0), expected, least, most, first) < 0
             ? -1
             : dlbridge_py_read_integer_(PyTuple_GetItem(value, 1), expected, least, most, second);
}

static inline int dlbridge_py_read_version_(PyObject* value, DLBridgePyRequest* out) {
  long long major, minor;
  if (dlbridge_py_read_pair_(value, "max_version to be None or (major, minor)", 0, UINT32_MAX, &major,
                             &minor) < 0) {
    return -1;
  }
  out->newest.major = (uint32_t)major;
  out->newest.minor = (uint32_t)minor;
  return 0;
}

static inline int dlbridge_py_read_device_(PyObject* value, DLBridgePyRequest* out) {
  long long type, id;
  int32_t code;
  if (dlbridge_py_read_pair_(value, "dl_device to be None or (device_type, device_id)", INT32_MIN,
                             INT32_MAX, &type, &id) < 0) {
    return -1;
  }
  code = (int32_t)type;
  memcpy(&out->device.device_type, &code, sizeof code); /* not every value is one of the enumeration */
  out->device.device_id = (int32_t)id;
  out->has_device = 1;
  return 0;
}

static inline int dlbridge_py_read_stream_(PyObject* value, DLBridgePyRequest* out) {
  long long stream;
  if (!PyLong_Check(value) || PyBool_Check(value)) {
    return dlbridge_py_reject_keyword_(PyExc_TypeError, "stream to be None or an integer", value);
  }
  /* DLBRIDGE_ARRAY_API_STREAM_NONE is INT64_MIN */
  if (dlbridge_py_read_integer_(value, "a stream", -INT64_MAX, INT64_MAX, &stream) < 0) {
    return -1;
  }
  out->stream = stream;
  return 0;
}

static inline int dlbridge_py_read_copy_(PyObject* value, DLBridgePyRequest* out) {
  if (value != Py_True && value != Py_False) {
    return dlbridge_py_reject_keyword_(PyExc_TypeError, "copy to be None, True or False", value);
  }
  out->copy = value == Py_True ? DLBRIDGE_PY_COPY_ALWAYS : DLBRIDGE_PY_COPY_NEVER;
  return 0;
}

/* Returns 1 if `name` is this text of `length` characters. */
static inline int dlbridge_py_is_name_(PyObject* name, const char* text, Py_ssize_t length) {
#ifdef Py_LIMITED_API
  return PyUnicode_GetLength(name) == length && PyUnicode_CompareWithASCIIString(name, text) == 0;
#else
  return PyUnicode_IS_COMPACT_ASCII(name) && PyUnicode_GET_LENGTH(name) == length &&
         memcmp(PyUnicode_1BYTE_DATA(name), text, (size_t)length) == 0;
#endif
}

static inline int dlbridge_py_read_keyword_(PyObject* name, PyObject* value, DLBridgePyRequest* out) {
  if (dlbridge_py_is_name_(name, "max_version", 11)) {
    return value == Py_None ? 0 : dlbridge_py_read_version_(value, out);
  }
  if (dlbridge_py_is_name_(name, "dl_device", 9)) {
    return value == Py_None ? 0 : dlbridge_py_read_device_(value, out);
  }
  if (dlbridge_py_is_name_(name, "copy", 4)) {
    return value == Py_None ? 0 : dlbridge_py_read_copy_(value, out);
  }
  if (dlbridge_py_is_name_(name, "stream", 6)) {
    return value == Py_None ? 0 : dlbridge_py_read_stream_(value, out);
  }
  PyErr_Format(PyExc_TypeError, "__dlpack__() got an unexpected keyword argument '%U'", name);
  return -1;
}

/** Reads the arguments of __dlpack__, a method with METH_FASTCALL | METH_KEYWORDS. May run Python code.
 * \since 0.4.0 */
static inline int dlbridge_py_read_request(PyObject* const* arguments, Py_ssize_t count,
                                           PyObject* names, DLBridgePyRequest* out) {
  Py_ssize_t i, named = names != NULL ? PyTuple_Size(names) : 0;
  memset(out, 0, sizeof *out);
  out->names = names;
  out->stream = DLBRIDGE_ARRAY_API_STREAM_NONE;
  if (count != 0) {
    PyErr_Format(PyExc_TypeError, "expected __dlpack__ without positional arguments, found %zd", count);
    return -1;
  }
  for (i = 0; i < named; ++i) {
    if (dlbridge_py_read_keyword_(PyTuple_GetItem(names, i), arguments[i], out) < 0) {
      return -1;
    }
  }
  return 0;
}

/* Orders the work that produced the tensor, on `producer`, before the consumer's stream, which belongs
 * to the device that the consumer asked for. */
static inline int dlbridge_py_order_request_(DLDevice own, DLDevice wanted, int64_t producer,
                                             int64_t consumer) {
  DLBridgeStream from, to;
  DLBridgeError error;
  DLBridgeStatus status;
  if (dlbridge_stream_from_array_api(wanted, consumer, &to, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  if (to.kind == DLBRIDGE_STREAM_NO_SYNC || producer == -1 ||
      (dlbridge_py_same_device_(own, wanted) &&
       (to.kind == DLBRIDGE_STREAM_HOST || producer == consumer))) {
    return 0;
  }
  status = dlbridge_stream_from_array_api(own, producer, &from, &error);
  if (status == DLBRIDGE_OK) {
    Py_BEGIN_ALLOW_THREADS /* the host may wait */
    status = dlbridge_stream_handoff(&from, &to, 0, &error);
    Py_END_ALLOW_THREADS
  }
  return status == DLBRIDGE_OK ? 0 : dlbridge_py_raise(&error);
}

/* Known frameworks that forget READ_ONLY, for messages only. */
static inline const char* dlbridge_py_caller_name_(const char* module) {
  static const char* const known[][2] = {
      {"torch", "PyTorch"},         {"paddle", "Paddle"}, {"tvm_ffi", "tvm-ffi"},
      {"tensorflow", "TensorFlow"}, {"cupy", "CuPy"},     {"dpnp", "dpnp"},
  };
  size_t i;
  for (i = 0; module != NULL && i < sizeof known / sizeof *known; ++i) {
    const size_t length = strlen(known[i][0]);
    if (strncmp(module, known[i][0], length) == 0 &&
        (module[length] == '\0' || module[length] == '.')) {
      return known[i][1];
    }
  }
  return "an unknown consumer";
}

/* The caller's name by the Python frame that called, which may be a forwarder's: no permission. */
static inline const char* dlbridge_py_caller_(void) {
  const char* found;
  PyObject* globals = PyEval_GetGlobals();
  PyObject* name = globals != NULL ? PyDict_GetItemString(globals, "__name__") : NULL;
  PyObject* bytes = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8String(name) : NULL;
  found = dlbridge_py_caller_name_(bytes != NULL ? PyBytes_AsString(bytes) : NULL);
  Py_XDECREF(bytes);
  PyErr_Clear();
  return found;
}

static inline int dlbridge_py_reject_as_(DLBridgeRule rule, const char* consumer, const char* request) {
  return dlbridge_py_reject_(
      PyExc_BufferError, DLBRIDGE_ERROR_POLICY, rule,
      "expected a consumer that is known to keep READ_ONLY for a read-only tensor, found %s%s: use "
      "copy=True of its from_dlpack, or dlbridge.to or dlbridge.adapt with readonly='copy'; "
      "readonly='keep' passes this memory on with the flag, readonly='drop' without it",
      consumer, request);
}

/** Raises the BufferError for a read-only tensor that an exchange table does not export, since its
 * consumer may make the tensor writable; returns -1. \since 0.4.0 */
static inline int dlbridge_py_reject_read_only(void) {
  return dlbridge_py_reject_as_(DLBRIDGE_RULE_NONE, dlbridge_py_caller_(), "");
}

/* The options of the export, if the memory of a read-only tensor may go to the consumer; else -1. */
static inline int dlbridge_py_allow_(const DLBridgePyRequest* request, uint32_t* options) {
  PyObject* title = NULL;
  const int known = dlbridge_py_consumer(request->names, &title);
  const int legacy = request->newest.major == 0;
  if (known == DLBRIDGE_PY_CONSUMER_NEVER_WRITES) {
    *options |= legacy ? (uint32_t)DLBRIDGE_CONVERT_DROP_READ_ONLY : 0;
    return 0;
  }
  if (known == DLBRIDGE_PY_CONSUMER_KEEPS && !legacy) {
    return 0;
  }
  return legacy ? dlbridge_py_reject_as_(DLBRIDGE_RULE_LEGACY_READ_ONLY, dlbridge_py_caller_(),
                                         " with a request for a legacy capsule, which cannot record it")
                : dlbridge_py_reject_read_only();
}

/* Rejects copy=False with another device than the tensor's. */
static inline int dlbridge_py_check_place_(const DLBridgePyRequest* request, DLDevice own) {
  if ((request->copy & DLBRIDGE_PY_COPY_NEVER) == 0 || !request->has_device ||
      dlbridge_py_same_device_(own, request->device)) {
    return 0;
  }
  return dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_UNSUPPORTED, DLBRIDGE_RULE_NONE,
                             "expected dl_device=(%d, %d), where the tensor is, found (%d, %d) and "
                             "copy=False, which forbids to move it",
                             (int)own.device_type, (int)own.device_id,
                             (int)request->device.device_type, (int)request->device.device_id);
}

/* Orders the producer's work for a request. A copy is whole when it is returned, so it is the copy that
 * comes after the work on `pending`, and the consumer's stream is only checked. */
static inline int dlbridge_py_order_answer_(DLDevice own, DLDevice wanted, int copy, int64_t stream,
                                            const DLBridgePyRequest* request, DLBridgeStream* pending) {
  DLBridgeStream consumer;
  DLBridgeError error;
  *pending = dlbridge_stream_init();
  if ((int64_t)own.device_type == kDLCPU && request->stream == DLBRIDGE_ARRAY_API_STREAM_NONE) {
    return 0;
  }
  if (!copy || !dlbridge_py_has_streams_(own)) {
    return dlbridge_py_order_request_(own, wanted, stream, request->stream);
  }
  if (dlbridge_stream_from_array_api(wanted, request->stream, &consumer, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  return dlbridge_py_pending_on_(own, stream, pending);
}

/* Orders, checks and copies for one request; `*options` are those of dlbridge_py_capsule. */
static inline int dlbridge_py_prepare_(DLManagedTensorVersioned** tensor, int64_t stream,
                                       const DLBridgePyRequest* request, uint32_t* options) {
  const DLDevice own = (*tensor)->dl_tensor.device;
  const DLDevice wanted = request->has_device ? request->device : own;
  const int copy = (request->copy & DLBRIDGE_PY_COPY_ALWAYS) != 0 ||
                   !dlbridge_py_same_device_(own, wanted);
  DLBridgeStream pending;
  if (dlbridge_py_check_place_(request, own) < 0 ||
      dlbridge_py_order_answer_(own, wanted, copy, stream, request, &pending) < 0) {
    return -1;
  }
  if (copy) {
    return dlbridge_py_copied_(tensor, &wanted, &pending); /* releases the source on failure */
  }
  return ((*tensor)->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 ? dlbridge_py_allow_(request, options)
                                                                 : 0;
}

/** Answers a request: a new reference to the capsule. `tensor` is an owner (dlbridge_share) that passes
 * to the capsule, and is released on failure. `stream` is the stream of the Python array API before
 * which the work on the tensor is ordered, or DLBRIDGE_ARRAY_API_STREAM_NONE: the legacy default stream.
 * \since 0.4.0 */
static inline PyObject* dlbridge_py_answer(DLManagedTensorVersioned* tensor, int64_t stream,
                                           const DLBridgePyRequest* request) {
  uint32_t options = 0;
  if (dlbridge_py_prepare_(&tensor, stream, request, &options) < 0) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  return dlbridge_py_capsule(tensor, &request->newest, options);
}

/** Implements __dlpack__ of an extension type, a method with METH_FASTCALL | METH_KEYWORDS: reads
 * `arguments`, orders streams, copies where the consumer asks for a copy, and protects read-only memory.
 * `tensor` is dlbridge-owned and remains the caller's; Python code that reading the arguments runs must
 * not release it. `stream` as for dlbridge_py_answer. \since 0.4.0 */
static inline PyObject* dlbridge_py_dlpack(DLManagedTensorVersioned* tensor, int64_t stream,
                                           PyObject* const* arguments, Py_ssize_t count,
                                           PyObject* names) {
  DLBridgePyRequest request;
  DLBridgeError error;
  DLManagedTensorVersioned* shared = NULL;
  if (dlbridge_py_read_request(arguments, count, names, &request) < 0) {
    return NULL;
  }
  if (dlbridge_share(tensor, &shared, &error) != DLBRIDGE_OK) {
    dlbridge_py_raise(&error);
    return NULL;
  }
  return dlbridge_py_answer(shared, stream, &request);
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_ANSWER_H_ */
