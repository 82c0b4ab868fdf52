/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of dlbridge._core. */
#include "functions.h"

#include "arguments.h"
#include "limits.h"
#include "object.h"
#include "owners.h"
#include "plain.h"
#include "shortcuts.h"

/* --- from_dlpack --------------------------------------------------------------------------------
 */

typedef struct {
  DLBridgePyImportOptions how;
  DLBridgePolicy policy;
  CoreLimits limits; /* `policy` points to them */
  DLDevice device;
  int read_only; /* the result becomes read-only */
} ImportArguments;

static int read_writable(PyObject* value, ImportArguments* out) {
  if (value == Py_True) {
    out->how.options |= DLBRIDGE_PY_VOUCH_WRITABLE;
    out->policy.options |= DLBRIDGE_POLICY_REQUIRE_WRITABLE;
  } else if (value == Py_False) {
    out->read_only = 1;
  } else if (value != Py_None) {
    PyErr_Format(PyExc_TypeError, "expected writable to be None, True or False, found %R", value);
    return -1;
  }
  return 0;
}

static int read_validate(PyObject* value, ImportArguments* out) {
  if (PyUnicode_Check(value)) {
    if (PyUnicode_CompareWithASCIIString(value, "metadata") == 0) {
      return 0;
    }
    if (PyUnicode_CompareWithASCIIString(value, "none") == 0) {
      out->how.options |= DLBRIDGE_PY_SKIP_VALIDATION;
      return 0;
    }
    if (PyUnicode_CompareWithASCIIString(value, "struct") == 0) {
      out->policy.level = DLBRIDGE_LEVEL_STRUCT;
      return 0;
    }
    if (PyUnicode_CompareWithASCIIString(value, "device") == 0) {
      out->policy.level = DLBRIDGE_LEVEL_DEVICE;
      return 0;
    }
  }
  PyErr_Format(PyExc_ValueError,
               "expected validate to be \"none\", \"struct\", \"metadata\" or \"device\", found %R",
               value);
  return -1;
}

static int read_import_stream(PyObject* value, ImportArguments* out) {
  int64_t stream;
  if (core_read_stream(value, &stream) < 0) {
    return -1;
  }
  if (stream != DLBRIDGE_ARRAY_API_STREAM_NONE) {
    out->how.options |= DLBRIDGE_PY_STREAM;
    out->how.stream = stream;
  }
  return 0;
}

static int read_limits(PyObject* value, int (*read)(PyObject*, CoreLimits*), ImportArguments* out) {
  if (value == Py_None) {
    return 0;
  }
  if ((out->policy.options & DLBRIDGE_POLICY_LIMIT_NDIM) != 0) {
    PyErr_SetString(PyExc_ValueError, "expected ndim or shape, found both: a shape implies ndim");
    return -1;
  }
  if (read(value, &out->limits) < 0) {
    return -1;
  }
  out->policy.options |= DLBRIDGE_POLICY_LIMIT_NDIM;
  out->policy.min_ndim = out->limits.min_ndim;
  out->policy.max_ndim = out->limits.max_ndim;
  out->policy.shape = read == core_read_shape ? out->limits.shape : NULL;
  return 0;
}

static int read_import_keyword(const CoreNames* names, PyObject* name, PyObject* value,
                               ImportArguments* out) {
  if (name == names->device) {
    if (value == Py_None) {
      return 0;
    }
    out->how.device = &out->device;
    return core_read_device(value, &out->device);
  }
  if (name == names->copy) {
    return core_read_copy(value, &out->how.options);
  }
  if (name == names->writable) {
    return read_writable(value, out);
  }
  if (name == names->validate) {
    return read_validate(value, out);
  }
  if (name == names->stream) {
    return read_import_stream(value, out);
  }
  if (name == names->ndim) {
    return read_limits(value, core_read_ndim, out);
  }
  if (name == names->shape) {
    return read_limits(value, core_read_shape, out);
  }
  return core_unknown_keyword("from_dlpack", name);
}

/* Validation checks the demands on a tensor, so without it they are rejected. */
static int check_no_demands(uint32_t options) {
  const char* demand = (options & DLBRIDGE_POLICY_REQUIRE_WRITABLE) != 0 ? "writable=True"
                       : (options & DLBRIDGE_POLICY_LIMIT_NDIM) != 0     ? "ndim and shape"
                                                                         : NULL;
  if (demand == NULL) {
    return 0;
  }
  PyErr_Format(PyExc_ValueError, "expected some validation for %s, found validate=\"none\"",
               demand);
  return -1;
}

static int read_import(const CoreNames* names, PyObject* const* values, PyObject* keywords,
                       ImportArguments* out) {
  Py_ssize_t i, count = CORE_TUPLE_SIZE(keywords);
  out->how = core_import_options;
  out->policy = dlbridge_policy_init();
  out->policy.options = DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE |
                        DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE |
                        DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS;
  out->read_only = 0;
  for (i = 0; i < count; ++i) {
    if (read_import_keyword(names, core_known_name(names, CORE_TUPLE_ITEM(keywords, i)), values[i],
                            out) < 0) {
      return -1;
    }
  }
  if ((out->how.options & DLBRIDGE_PY_COPY_ALWAYS) != 0) {
    /* A copy is writable, whatever its source. */
    out->policy.options &= ~(uint32_t)DLBRIDGE_POLICY_REQUIRE_WRITABLE;
  }
  if ((out->how.options & DLBRIDGE_PY_SKIP_VALIDATION) != 0) {
    return check_no_demands(out->policy.options);
  }
  out->how.policy = &out->policy;
  return 0;
}

/* The stream before which the tensor's work is ordered. */
static int64_t stream_of(const DLBridgePyImportOptions* how) {
  return (how->options & DLBRIDGE_PY_STREAM) != 0 ? how->stream : DLBRIDGE_ARRAY_API_STREAM_NONE;
}

/* The keywords as a dict; `keywords` may be NULL. */
static PyObject* keywords_of(PyObject* const* values, PyObject* keywords) {
  Py_ssize_t i, count = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  PyObject* result = PyDict_New();
  for (i = 0; result != NULL && i < count; ++i) {
    if (PyDict_SetItem(result, CORE_TUPLE_ITEM(keywords, i), values[i]) < 0) {
      Py_CLEAR(result);
    }
  }
  return result;
}

/* The tensor of an object that Python code knows: a column, or an array that NumPy does not export.
 * None if it does not know the object; NULL with an exception if it rejects it. */
static PyObject* ask_python(PyObject* object, PyObject* const* values, PyObject* keywords) {
  PyObject* module = PyImport_ImportModule("dlbridge._foreign");
  PyObject* options = module != NULL ? keywords_of(values, keywords) : NULL;
  PyObject* result =
      options != NULL ? PyObject_CallMethod(module, "imported", "OO", object, options) : NULL;
  Py_XDECREF(options);
  Py_XDECREF(module);
  return result;
}

/* Called after an import failed. NULL with the exception of the import if Python code cannot help.
 * NumPy raises BufferError for an array whose dtype it does not export. */
static PyObject* import_foreign(CoreState* state, PyObject* object, PyObject* const* values,
                                PyObject* keywords) {
  const int lacks_dlpack = PyErr_ExceptionMatches(PyExc_TypeError);
  DLBridgePyPending_ pending, newer;
  PyObject* result;
  if (!lacks_dlpack && !PyErr_ExceptionMatches(PyExc_BufferError)) {
    return NULL;
  }
  pending = dlbridge_py_set_aside_();
  result = lacks_dlpack || core_derives_from_numpy(state, Py_TYPE(object))
               ? ask_python(object, values, keywords)
               : Py_NewRef(Py_None);
  if (result == Py_None) {
    Py_DECREF(result);
    dlbridge_py_put_back_(pending);
    return NULL;
  }
  newer = dlbridge_py_set_aside_();
  dlbridge_py_put_back_(pending);
  PyErr_Clear();
  dlbridge_py_put_back_(newer);
  return result;
}

/* Rejects an array of an immutable producer for a caller that requires a writable tensor, since
 * writable=True would else be believed: the legacy capsules of JAX and TensorFlow do not record it.
 * A copy has one owner. Releases the tensor on failure. */
static int check_writable(CoreState* state, PyObject* object, DLManagedTensorVersioned* tensor) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject *module, *answer;
  int immutable;
  if ((tensor->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0 || PyCapsule_CheckExact(object) ||
      type == state->tensor_type || core_is_numpy(state, type) || core_is_torch(state, type)) {
    return 0;
  }
  module = PyImport_ImportModule("dlbridge._producers");
  answer = module != NULL ? PyObject_CallMethod(module, "is_immutable", "O", object) : NULL;
  immutable = answer != NULL ? PyObject_IsTrue(answer) : -1;
  Py_XDECREF(answer);
  Py_XDECREF(module);
  if (immutable == 1) {
    immutable = dlbridge_py_reject_immutable_();
  }
  if (immutable < 0) {
    dlbridge_py_release(tensor);
  }
  return immutable;
}

static PyObject* from_dlpack(PyObject* module, PyObject* const* args, Py_ssize_t count,
                             PyObject* keywords) {
  CoreState* state = core_state_of_module(module);
  ImportArguments given;
  DLManagedTensorVersioned* tensor;
  if (core_positional("from_dlpack", count, 1, 1) < 0) {
    return NULL;
  }
  if (keywords == NULL || CORE_TUPLE_SIZE(keywords) == 0) {
    if (dlbridge_py_import(&state->py, args[0], &core_import_options, &tensor) < 0) {
      return import_foreign(state, args[0], NULL, NULL);
    }
    return core_tensor_new(state, tensor, DLBRIDGE_ARRAY_API_STREAM_NONE);
  }
  if (read_import(&state->names, args + 1, keywords, &given) < 0) {
    return NULL;
  }
  if (dlbridge_py_import(&state->py, args[0], &given.how, &tensor) < 0) {
    return import_foreign(state, args[0], args + 1, keywords);
  }
  if ((given.policy.options & DLBRIDGE_POLICY_REQUIRE_WRITABLE) != 0 &&
      check_writable(state, args[0], tensor) < 0) {
    return NULL;
  }
  if (given.read_only) {
    tensor->flags |= DLPACK_FLAG_BITMASK_READ_ONLY; /* the owner may add this flag */
  }
  return core_tensor_new(state, tensor, stream_of(&given.how));
}

/* --- wrap ---------------------------------------------------------------------------------------
 */

typedef struct {
  DLBridgeWrapSpec spec;
  int64_t* shape;
  int64_t* strides;
  int32_t stride_count; /* -1: none given */
  int64_t stream;
} WrapArguments;

static int read_address(PyObject* value, uint64_t* out) {
  return core_read_unsigned(value, "an address, at least 0", out);
}

static int read_wrap_keyword(const CoreNames* names, PyObject* name, PyObject* value,
                             WrapArguments* out) {
  int truth;
  if (name == names->strides) {
    return value == Py_None
               ? 0
               : core_read_extents(value, "strides", &out->strides, &out->stride_count);
  }
  if (name == names->device) {
    return core_read_device(value, &out->spec.device);
  }
  if (name == names->byte_offset) {
    return core_read_unsigned(value, "byte_offset of at least 0", &out->spec.byte_offset);
  }
  if (name == names->tensor_flags) {
    uint64_t flags;
    if (core_read_unsigned(value, "tensor_flags of at least 0", &flags) < 0) {
      return -1;
    }
    out->spec.tensor_flags |= flags; /* `readonly` may have set a flag before */
    return 0;
  }
  if (name == names->nbytes) {
    if (value == Py_None) {
      return 0;
    }
    out->spec.options |= DLBRIDGE_WRAP_LIMIT_BUFFER;
    return core_read_unsigned(value, "nbytes of at least 0", &out->spec.buffer_size);
  }
  if (name == names->stream) {
    return core_read_stream(value, &out->stream);
  }
  if (name == names->readonly) {
    truth = PyObject_IsTrue(value);
    if (truth == 1) {
      out->spec.tensor_flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    }
    return truth < 0 ? -1 : 0;
  }
  return core_unknown_keyword("wrap", name);
}

static int read_wrap(const CoreNames* names, PyObject* const* args, PyObject* keywords,
                     WrapArguments* out) {
  Py_ssize_t i, count = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  out->spec.buffer.kind = DLBRIDGE_BUFFER_ADDRESS;
  out->spec.device.device_type = kDLCPU;
  if (read_address(args[1], &out->spec.buffer.handle) < 0 ||
      core_read_extents(args[2], "shape", &out->shape, &out->spec.ndim) < 0 ||
      core_read_dtype(args[3], &out->spec.dtype) < 0) {
    return -1;
  }
  for (i = 0; i < count; ++i) {
    if (read_wrap_keyword(names, core_known_name(names, CORE_TUPLE_ITEM(keywords, i)), args[4 + i],
                          out) < 0) {
      return -1;
    }
  }
  if (out->stride_count >= 0 && out->stride_count != out->spec.ndim) {
    PyErr_Format(PyExc_ValueError, "expected %d strides, one for each axis, found %d",
                 (int)out->spec.ndim, (int)out->stride_count);
    return -1;
  }
  out->spec.shape = out->shape;
  out->spec.strides = out->strides;
  return 0;
}

/* The object that keeps the memory alive, a new reference. A Tensor may be released before it ends,
 * so its memory is kept by a Tensor that nothing else refers to. */
static PyObject* owner_of(CoreState* state, PyObject* owner) {
  DLManagedTensorVersioned* shared;
  if (!core_is_tensor(owner)) {
    return Py_NewRef(owner);
  }
  shared = core_share((TensorObject*)owner);
  return shared != NULL ? core_tensor_new(state, shared, ((TensorObject*)owner)->stream) : NULL;
}

static int wrap_owned(CoreState* state, PyObject* given, const DLBridgeWrapSpec* spec,
                      DLManagedTensorVersioned** out) {
  PyObject* owner = owner_of(state, given);
  int status = owner != NULL ? dlbridge_py_wrap(&state->py, owner, spec, out) : -1;
  Py_XDECREF(owner);
  return status;
}

static PyObject* wrap(PyObject* module, PyObject* const* args, Py_ssize_t count,
                      PyObject* keywords) {
  CoreState* state = core_state_of_module(module);
  DLManagedTensorVersioned* tensor = NULL;
  WrapArguments given = {dlbridge_wrap_spec_init(), NULL, NULL, -1, DLBRIDGE_ARRAY_API_STREAM_NONE};
  int status = core_positional("wrap", count, 4, 4);
  if (status == 0) {
    status = read_wrap(&state->names, args, keywords, &given);
  }
  if (status == 0) {
    status = wrap_owned(state, args[0], &given.spec, &tensor);
  }
  PyMem_Free(given.shape);
  PyMem_Free(given.strides);
  return status < 0 ? NULL : core_tensor_new(state, tensor, given.stream);
}

/* --- export and to_type -------------------------------------------------------------------------
 */

/* Adds `option` if the keyword's value is true. */
static int read_option(PyObject* value, uint32_t option, uint32_t* options) {
  int truth = PyObject_IsTrue(value);
  if (truth == 1) {
    *options |= option;
  }
  return truth < 0 ? -1 : 0;
}

typedef struct {
  PyObject* version;
  uint32_t options; /* DLBRIDGE_CONVERT_* */
} ExportArguments;

static int read_export(const CoreNames* names, PyObject* const* values, PyObject* keywords,
                       ExportArguments* out) {
  Py_ssize_t i, count = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  for (i = 0; i < count; ++i) {
    PyObject* name = core_known_name(names, CORE_TUPLE_ITEM(keywords, i));
    int status = 0;
    if (name == names->max_version) {
      status = out->version != NULL ? core_given_twice("export", name) : 0;
      out->version = values[i];
    } else if (name == names->drop_read_only) {
      status = read_option(values[i], DLBRIDGE_CONVERT_DROP_READ_ONLY, &out->options);
    } else if (name == names->allow_newer_codes) {
      status = read_option(values[i], DLBRIDGE_CONVERT_ALLOW_NEWER_CODES, &out->options);
    } else {
      status = core_unknown_keyword("export", name);
    }
    if (status < 0) {
      return -1;
    }
  }
  return 0;
}

static PyObject* export_tensor(PyObject* module, PyObject* const* args, Py_ssize_t count,
                               PyObject* keywords) {
  CoreState* state = core_state_of_module(module);
  DLManagedTensorVersioned* tensor;
  DLPackVersion newest;
  ExportArguments given = {NULL, 0};
  int asked = 0;
  if (core_positional("export", count, 1, 2) < 0) {
    return NULL;
  }
  given.version = count > 1 ? args[1] : NULL;
  if (read_export(&state->names, args + count, keywords, &given) < 0 ||
      core_read_version(given.version, &newest, &asked) < 0) {
    return NULL;
  }
  if (!PyObject_TypeCheck(args[0], state->tensor_type)) {
    PyErr_Format(PyExc_TypeError, "expected a dlbridge.Tensor, found an instance of %R",
                 (PyObject*)Py_TYPE(args[0]));
    return NULL;
  }
  tensor = core_share((TensorObject*)args[0]);
  if (tensor == NULL) {
    return NULL;
  }
  return dlbridge_py_capsule(tensor, asked ? &newest : NULL, given.options);
}

static int read_to_type(const CoreNames* names, PyObject* const* values, PyObject* keywords,
                        uint32_t* options) {
  Py_ssize_t i, count = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  for (i = 0; i < count; ++i) {
    PyObject* name = core_known_name(names, CORE_TUPLE_ITEM(keywords, i));
    if (name != names->drop_read_only) {
      return core_unknown_keyword("to_type", name);
    }
    if (read_option(values[i], DLBRIDGE_CONVERT_DROP_READ_ONLY, options) < 0) {
      return -1;
    }
  }
  return 0;
}

static PyObject* to_type(PyObject* module, PyObject* const* args, Py_ssize_t count,
                         PyObject* keywords) {
  CoreState* state = core_state_of_module(module);
  uint32_t options = 0;
  if (core_positional("to_type", count, 2, 2) < 0 ||
      read_to_type(&state->names, args + 2, keywords, &options) < 0) {
    return NULL;
  }
  if (!PyType_Check(args[1])) {
    PyErr_Format(PyExc_TypeError, "expected a type, found %R", args[1]);
    return NULL;
  }
  if (dlbridge_py_exchange_api(&state->py, (PyTypeObject*)args[1]) == NULL) {
    Py_RETURN_NONE;
  }
  return core_to_type(state, args[0], (PyTypeObject*)args[1], options);
}

/* The stream on which the framework of a type with a table works. */
static PyObject* current_stream(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  CoreState* state = core_state_of_module(module);
  const DLPackExchangeAPI* table;
  DLDevice device;
  DLBridgeStream stream;
  if (core_positional("current_stream", count, 2, 2) < 0 ||
      core_read_device(args[1], &device) < 0) {
    return NULL;
  }
  table =
      PyType_Check(args[0]) ? dlbridge_py_exchange_api(&state->py, (PyTypeObject*)args[0]) : NULL;
  if (table == NULL || !dlbridge_py_has_streams_(device) ||
      dlbridge_py_work_stream_(table, device, &stream) < 0) {
    Py_RETURN_NONE;
  }
  return PyLong_FromUnsignedLongLong(stream.handle);
}

/* --- collect ------------------------------------------------------------------------------------
 */

static PyObject* collect(PyObject* module, PyObject* const* args, Py_ssize_t count,
                         PyObject* keywords) {
  CoreState* state = core_state_of_module(module);
  Py_ssize_t i, named = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  DLBridgeError error;
  DLBridgeStatus status;
  uint32_t options = 0;
  size_t left = 0;
  if (core_positional("collect", count, 0, 0) < 0) {
    return NULL;
  }
  for (i = 0; i < named; ++i) {
    PyObject* name = core_known_name(&state->names, CORE_TUPLE_ITEM(keywords, i));
    if (name != state->names.wait) {
      core_unknown_keyword("collect", name);
      return NULL;
    }
    if (read_option(args[i], DLBRIDGE_COLLECT_WAIT, &options) < 0) {
      return NULL;
    }
  }
  Py_BEGIN_ALLOW_THREADS status = dlbridge_collect(options, &left, &error);
  Py_END_ALLOW_THREADS if (status != DLBRIDGE_OK) {
    dlbridge_py_raise(&error);
    return NULL;
  }
  return PyLong_FromSize_t(left);
}

/* --- Foreign types and objects
 * ---------------------------------------------------------------------------
 */

static PyObject* versions_of(const DLPackExchangeAPIHeader* header) {
  int seen;
  PyObject* result = PyList_New(0);
  for (seen = 0; result != NULL && header != NULL && seen < 64; header = header->prev_api, ++seen) {
    PyObject* version =
        Py_BuildValue("(II)", (unsigned)header->version.major, (unsigned)header->version.minor);
    if (version == NULL || PyList_Append(result, version) < 0) {
      Py_CLEAR(result);
    }
    Py_XDECREF(version);
  }
  return result;
}

static PyObject* exchange_versions(PyObject* module, PyObject* type) {
  CoreState* state = core_state_of_module(module);
  PyObject *capsule, *result;
  void* chain;
  if (!PyType_Check(type)) {
    PyErr_Format(PyExc_TypeError, "expected a type, found %R", type);
    return NULL;
  }
  capsule = PyObject_GetAttr(type, state->py.table_name);
  if (capsule == NULL) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
      return NULL;
    }
    PyErr_Clear();
    return PyList_New(0);
  }
  chain =
      PyCapsule_CheckExact(capsule) ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
  PyErr_Clear();
  result = versions_of((const DLPackExchangeAPIHeader*)chain);
  Py_DECREF(capsule);
  return result;
}

static PyObject* capsule_kind(PyObject* module, PyObject* capsule) {
  const char* name;
  (void)module;
  if (!PyCapsule_CheckExact(capsule)) {
    PyErr_Format(PyExc_TypeError, "expected a capsule, found an instance of %R",
                 (PyObject*)Py_TYPE(capsule));
    return NULL;
  }
  name = PyCapsule_GetName(capsule);
  if (name == NULL) {
    return PyErr_Occurred() ? NULL : PyUnicode_FromString("unknown");
  }
  if (strcmp(name, "dltensor") == 0) {
    return PyUnicode_FromString("legacy");
  }
  if (strcmp(name, "dltensor_versioned") == 0) {
    return PyUnicode_FromString("versioned");
  }
  return PyUnicode_FromString(strncmp(name, "used_dltensor", 13) == 0 ? "used" : "unknown");
}

/* The message of a guard that needs the caller's permission. */
static PyObject* guard_text(PyObject* module, PyObject* name) {
  const struct {
    const char* name;
    int reason;
  } known[] = {
      {"requires_grad", DLBRIDGE_PY_REASON_GRADIENT_},
      {"tangent", DLBRIDGE_PY_REASON_TANGENT_},
      {"conjugated", DLBRIDGE_PY_REASON_CONJUGATED_},
      {"negated", DLBRIDGE_PY_REASON_NEGATED_},
  };
  size_t i;
  (void)module;
  for (i = 0; PyUnicode_Check(name) && i < sizeof known / sizeof *known; ++i) {
    if (PyUnicode_CompareWithASCIIString(name, known[i].name) == 0) {
      return PyUnicode_FromString(dlbridge_py_reason_text_(known[i].reason));
    }
  }
  PyErr_Format(PyExc_ValueError, "expected the name of a guard, found %R", name);
  return NULL;
}

static PyObject* packed(PyObject* module, PyObject* object) {
  CoreState* state = core_state_of_module(module);
  DLManagedTensorVersioned* tensor;
  if (!PyObject_TypeCheck(object, state->tensor_type)) {
    PyErr_Format(PyExc_TypeError, "expected a dlbridge.Tensor, found an instance of %R",
                 (PyObject*)Py_TYPE(object));
    return NULL;
  }
  tensor = core_packed((TensorObject*)object);
  return tensor != NULL ? core_tensor_new(state, tensor, DLBRIDGE_ARRAY_API_STREAM_NONE) : NULL;
}

static PyObject* check_guards(PyObject* module, PyObject* object) {
  CoreState* state = core_state_of_module(module);
  DLBridgePyType entry;
  int status;
  if (dlbridge_py_check_state_(&state->py) < 0 ||
      dlbridge_py_type_(&state->py, Py_TYPE(object), &entry) < 0) {
    return NULL;
  }
  status = entry.guard > DLBRIDGE_PY_GUARD_TORCH
               ? dlbridge_py_guard_first_(object, entry.guard)
               : dlbridge_py_guard_dtype_(&state->py, object, entry.guard, NULL);
  dlbridge_py_type_done_(&entry);
  return status < 0 ? NULL : Py_NewRef(Py_None);
}

/* Python has no function for the address of a read-only buffer. */
static PyObject* buffer_address(PyObject* module, PyObject* object) {
  Py_buffer view;
  PyObject* result;
  (void)module;
  if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) {
    return NULL;
  }
  result = PyLong_FromVoidPtr(view.buf);
  PyBuffer_Release(&view);
  return result;
}

static const char adapt_text[] =
    "adapt($module, x, /, *, consumer=None, readonly='reject', strides='keep', copy=None, "
    "grad='reject', lazy='reject', device=None, dtype='keep')\n--\n\n"
    "Wraps an array for any framework's from_dlpack.\n\n"
    "The result exports the version and layout that each consumer accepts. An export that would "
    "copy\n"
    "or lose information is rejected with a Rejection, a BufferError that names the argument that\n"
    "permits it. Data is copied only with `readonly=\"copy\"`, `strides=\"compact\"`,\n"
    "`lazy=\"resolve\"`, `dtype=\"narrow\"`, `device=` or `copy=True`, and only if nothing else "
    "works;\n"
    "`copy=True` always copies, `copy=False` never does. After an export, `copied` and `report`\n"
    "describe what was done.\n\n"
    "The array is judged by this call, not by the exports: if it becomes read-only or starts to\n"
    "require a gradient afterwards, call adapt again.\n\n"
    "dtype: \"narrow\" permits a consumer to change the dtype and lose values, as JAX without x64\n"
    "does with int64, uint64, float64 and complex128.\n\n"
    "consumer: the framework's name, needed if nothing else identifies the consumer: TensorFlow\n"
    "accepts only capsules, and consumers written in C have no Python frame.\n\n"
    "readonly: what a consumer gets of a read-only array if it is not known to keep READ_ONLY. "
    "NumPy,\n"
    "PyArrow, JAX and dlbridge are recognised when they call and get the memory. \"keep\" exports "
    "it\n"
    "with the flag to every consumer that requests a versioned capsule, \"drop\" without the flag.";

static const char to_text[] =
    "to($module, x, target, /, **options)\n--\n\n"
    "Converts `x` for `target`: a type (torch.Tensor), a framework's module, or its name.\n\n"
    "`options` and rejections are those of adapt. A type with an exchange table gets the tensor\n"
    "through the table, other frameworks through their own import. For NumPy, the dtypes of the\n"
    "package ml_dtypes are used if it is installed.";

PyMethodDef core_functions[] = {
    {"from_dlpack", (PyCFunction)(void (*)(void))from_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "from_dlpack($module, x, /, *, device=None, copy=None, writable=None, validate='metadata', "
     "ndim=None, shape=None, stream=...)\n--\n\nA validated Tensor of any object that speaks "
     "DLPack, of a capsule, of a buffer, or of a column of pandas, polars or PyArrow."},
    {"wrap", (PyCFunction)(void (*)(void))wrap, METH_FASTCALL | METH_KEYWORDS,
     "wrap($module, owner, pointer, shape, dtype, /, *, strides=None, device=(1, 0), "
     "byte_offset=0, readonly=False, nbytes=None, tensor_flags=0, stream=None)\n--\n\nA Tensor "
     "over "
     "memory that `owner` keeps alive."},
    {"export", (PyCFunction)(void (*)(void))export_tensor, METH_FASTCALL | METH_KEYWORDS,
     "export($module, tensor, /, max_version=None, *, drop_read_only=False, "
     "allow_newer_codes=False)\n--\n\n"
     "A capsule of one more owner."},
    {"to_type", (PyCFunction)(void (*)(void))to_type, METH_FASTCALL | METH_KEYWORDS,
     "to_type($module, x, type, /, *, drop_read_only=False)\n--\n\n"
     "An object of `type` through its exchange table; None where it has none."},
    {"current_stream", (PyCFunction)(void (*)(void))current_stream, METH_FASTCALL,
     "current_stream($module, type, device, /)\n--\n\n"
     "The stream, as a number of the array API, on which the framework of a type with an exchange "
     "table works; None where its table names none."},
    {"adapt", (PyCFunction)(void (*)(void))core_adapt, METH_FASTCALL | METH_KEYWORDS, adapt_text},
    {"to", (PyCFunction)(void (*)(void))core_to, METH_FASTCALL | METH_KEYWORDS, to_text},
    {"share_adapted", core_share_adapted, METH_VARARGS,
     "share_adapted($module, type, options, /)\n--\n\n"
     "The class of adapt's results, and the options of a call without any."},
    {"share_immutable", core_share_immutable, METH_O,
     "share_immutable($module, function, /)\n--\n\n"
     "The function that every extension's imports ask whether the arrays of a type are immutable; "
     "None: none are."},
    {"shortcuts", core_shortcuts, METH_VARARGS,
     "shortcuts($module, level=..., /)\n--\n\n"
     "Which cases adapt and to answer without Python code: 2 all, 1 those of NumPy and PyTorch, 0 "
     "none."},
    {"collect", (PyCFunction)(void (*)(void))collect, METH_FASTCALL | METH_KEYWORDS,
     "collect($module, *, wait=False)\n--\n\n"
     "Releases the tensors of release_after whose work is over, on this thread, and returns the "
     "number that is still held; `wait` waits for the work of all that are held now."},
    {"exchange_versions", exchange_versions, METH_O,
     "exchange_versions($module, type, /)\n--\n\n"
     "Versions of the tables that a type offers, newest first."},
    {"capsule_kind", capsule_kind, METH_O,
     "capsule_kind($module, capsule, /)\n--\n\n"
     "'legacy', 'versioned', 'used' or 'unknown'; nothing is taken."},
    {"guard_text", guard_text, METH_O,
     "guard_text($module, name, /)\n--\n\nThe message of a rejection that a permission avoids."},
    {"packed", packed, METH_O,
     "packed($module, tensor, /)\n--\n\n"
     "A compact copy of a tensor on the host, whose elements below a byte are not padded."},
    {"check_guards", check_guards, METH_O,
     "check_guards($module, x, /)\n--\n\n"
     "Rejects an array whose memory does not hold its values, such as a masked one, as from_dlpack "
     "does."},
    {"buffer_address", buffer_address, METH_O,
     "buffer_address($module, buffer, /)\n--\n\nWhere the first element of a buffer is."},
    {NULL, NULL, 0, NULL},
};
