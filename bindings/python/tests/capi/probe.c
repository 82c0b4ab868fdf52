/* SPDX-License-Identifier: Apache-2.0 */
/* An extension as an author would write it on dlbridge/cpython_api.h, in C99 that C++11 takes too:
 * it borrows, imports, wraps and exports, and has a type with an exchange table of its own. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "dlbridge/cpython_api.h"

/* ISO C turns a function into an integer, but not into a void*. */
#define SLOT(function) ((void*)(uintptr_t)(function))

typedef struct {
  DLBridgePy py;
  PyTypeObject* type;
  PyTypeObject* plain; /* without a table for consumers that keep READ_ONLY */
} State;

typedef struct {
  PyObject_HEAD DLManagedTensorVersioned* tensor;
} Array;

static State* state_of(PyObject* module) { return (State*)PyModule_GetState(module); }

/* What Python sees of a tensor: (shape, flags, version, data). */
static PyObject* describe(const DLTensor* tensor, uint64_t flags, const DLPackVersion* version) {
  int32_t axis;
  PyObject* shape = PyTuple_New(tensor->ndim);
  if (shape == NULL) {
    return NULL;
  }
  for (axis = 0; axis < tensor->ndim; ++axis) {
    PyObject* extent = PyLong_FromLongLong(tensor->shape[axis]);
    if (extent == NULL || PyTuple_SetItem(shape, axis, extent) < 0) {
      Py_DECREF(shape);
      return NULL;
    }
  }
  return Py_BuildValue("(NK(II)K)", shape, (unsigned long long)flags,
                       version != NULL ? version->major : 0, version != NULL ? version->minor : 0,
                       (unsigned long long)((uintptr_t)tensor->data + tensor->byte_offset));
}

/* borrow(x, options): what it saw, and whether there was an owner. */
static PyObject* borrow(PyObject* module, PyObject* args) {
  DLBridgePyImportOptions options = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  DLBridgePyBorrowed borrowed;
  PyObject *object, *seen;
  unsigned int bits;
  int owned;
  if (!PyArg_ParseTuple(args, "OI", &object, &bits)) {
    return NULL;
  }
  options.options = bits;
  if (dlbridge_py_borrow(&state_of(module)->py, object, &options, &borrowed) < 0) {
    return NULL;
  }
  owned = borrowed.owner != NULL;
  seen = describe(&borrowed.tensor, borrowed.tensor_flags, NULL);
  dlbridge_py_give_back(&borrowed);
  return seen != NULL ? Py_BuildValue("(Ni)", seen, owned) : NULL;
}

/* The options as a newer version of the header might have them. */
typedef struct {
  DLBridgePyImportOptions known;
  uint64_t tail;
} NewerOptions;

/* import_(x, options, device_type or 0, struct_size or 0, tail, stream): what came. */
static PyObject* import_(PyObject* module, PyObject* args) {
  NewerOptions options;
  DLManagedTensorVersioned* tensor;
  DLDevice device = {kDLCPU, 0};
  PyObject *object, *seen;
  unsigned int bits, size;
  unsigned long long tail;
  long long stream;
  int device_type;
  int32_t type;
  if (!PyArg_ParseTuple(args, "OIiIKL", &object, &bits, &device_type, &size, &tail, &stream)) {
    return NULL;
  }
  options.known = dlbridge_py_import_options_init();
  options.known.options = bits;
  options.known.stream = stream;
  options.tail = tail;
  if (size != 0) {
    options.known.struct_size = size;
  }
  if (device_type != 0) {
    type = device_type;
    memcpy(&device.device_type, &type, sizeof type);
    options.known.device = &device;
  }
  if (dlbridge_py_import(&state_of(module)->py, object, &options.known, &tensor) < 0) {
    return NULL;
  }
  seen = describe(&tensor->dl_tensor, tensor->flags, &tensor->version);
  dlbridge_py_release(tensor);
  return seen;
}

/* import_capsule(capsule, options, with_device): what came. */
static PyObject* import_capsule(PyObject* module, PyObject* args) {
  DLBridgePyImportOptions options = dlbridge_py_import_options_init();
  DLManagedTensorVersioned* tensor;
  DLDevice device = {kDLCPU, 0};
  PyObject *object, *seen;
  unsigned int bits;
  int with_device;
  (void)module;
  if (!PyArg_ParseTuple(args, "OIp", &object, &bits, &with_device)) {
    return NULL;
  }
  options.options = bits;
  options.device = with_device ? &device : NULL;
  if (dlbridge_py_import_capsule(object, &options, &tensor) < 0) {
    return NULL;
  }
  seen = describe(&tensor->dl_tensor, tensor->flags, &tensor->version);
  dlbridge_py_release(tensor);
  return seen;
}

static PyObject* capsule_of(DLManagedTensorVersioned* tensor, PyObject* version) {
  DLPackVersion newest;
  unsigned int major, minor;
  if (version == Py_None) {
    return dlbridge_py_capsule(tensor, NULL, 0);
  }
  if (!PyArg_ParseTuple(version, "II", &major, &minor)) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  newest.major = major;
  newest.minor = minor;
  return dlbridge_py_capsule(tensor, &newest, 0);
}

/* wrap(owner, address, count, flags, max_version): a capsule of `count` doubles. */
static PyObject* wrap(PyObject* module, PyObject* args) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  DLManagedTensorVersioned* tensor;
  PyObject *owner, *version;
  unsigned long long address, flags;
  long long count;
  int64_t shape;
  if (!PyArg_ParseTuple(args, "OKLKO", &owner, &address, &count, &flags, &version)) {
    return NULL;
  }
  shape = count;
  spec.ndim = 1;
  spec.shape = &shape;
  spec.dtype.code = kDLFloat;
  spec.dtype.bits = 64;
  spec.dtype.lanes = 1;
  spec.device.device_type = kDLCPU;
  spec.tensor_flags = flags;
  spec.buffer.handle = address;
  if (dlbridge_py_wrap(&state_of(module)->py, owner, &spec, &tensor) < 0) {
    return NULL;
  }
  return capsule_of(tensor, version);
}

/* wrap_buffer(buffer, count, max_version): the same of what has the buffer protocol. */
static PyObject* wrap_buffer(PyObject* module, PyObject* args) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  DLManagedTensorVersioned* tensor;
  PyObject *object, *version;
  Py_buffer view;
  long long count;
  int64_t shape;
  if (!PyArg_ParseTuple(args, "OLO", &object, &count, &version) ||
      PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0) {
    return NULL;
  }
  shape = count;
  spec.ndim = 1;
  spec.shape = &shape;
  spec.dtype.code = kDLUInt;
  spec.dtype.bits = 8;
  spec.dtype.lanes = 1;
  spec.device.device_type = kDLCPU;
  spec.buffer = dlbridge_buffer_address(view.buf);
  spec.options = DLBRIDGE_WRAP_LIMIT_BUFFER;
  spec.buffer_size = (uint64_t)view.len;
  if (view.readonly) {
    spec.tensor_flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  }
  if (dlbridge_py_wrap_buffer(&state_of(module)->py, &view, &spec, &tensor) < 0) {
    return NULL;
  }
  return capsule_of(tensor, version);
}

/* plain_bytes(x): a buffer as torch requests it, which ignores that writable memory was rejected.
 */
static PyObject* plain_bytes(PyObject* module, PyObject* object) {
  Py_buffer view;
  (void)module;
  if (PyObject_GetBuffer(object, &view, PyBUF_WRITABLE) < 0 &&
      PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0) {
    return NULL;
  }
  PyErr_Clear();
  PyBuffer_Release(&view);
  return PyLong_FromSsize_t(view.len);
}

/* to_type(x, type): x handed to the type's own table. */
static PyObject* to_type(PyObject* module, PyObject* args) {
  DLManagedTensorVersioned* tensor;
  PyObject *object, *type;
  if (!PyArg_ParseTuple(args, "OO!", &object, &PyType_Type, &type) ||
      dlbridge_py_import(&state_of(module)->py, object, NULL, &tensor) < 0) {
    return NULL;
  }
  return dlbridge_py_to_type(&state_of(module)->py, (PyTypeObject*)type, tensor);
}

/* has_table(type) */
static PyObject* has_table(PyObject* module, PyObject* type) {
  return PyBool_FromLong(dlbridge_py_exchange_api(&state_of(module)->py, (PyTypeObject*)type) !=
                         NULL);
}

/* make(x): an Array of any object. */
static PyObject* new_array(PyTypeObject* type, DLManagedTensorVersioned* tensor) {
  Array* self = PyObject_New(Array, type);
  if (self == NULL) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  self->tensor = tensor;
  return (PyObject*)self;
}

static PyObject* make_as(State* state, PyTypeObject* type, PyObject* object) {
  DLBridgePyImportOptions options = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  DLManagedTensorVersioned* tensor;
  options.options = DLBRIDGE_PY_OWNED;
  return dlbridge_py_import(&state->py, object, &options, &tensor) < 0 ? NULL
                                                                       : new_array(type, tensor);
}

static PyObject* make(PyObject* module, PyObject* object) {
  return make_as(state_of(module), state_of(module)->type, object);
}

/* make_plain(x): the same, of the type that has the usual table only. */
static PyObject* make_plain(PyObject* module, PyObject* object) {
  return make_as(state_of(module), state_of(module)->plain, object);
}

static void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  dlbridge_py_release(((Array*)self)->tensor);
  PyObject_Free(self);
  Py_DECREF((PyObject*)type);
}

/* The table's functions. The module is the only one of its process here. */
static PyObject* the_module;

static int from_object(void* object, DLManagedTensorVersioned** out) {
  return dlbridge_py_share_writable(((Array*)object)->tensor, out);
}

static int from_object_keeping(void* object, DLManagedTensorVersioned** out) {
  DLBridgeError error;
  return dlbridge_share(((Array*)object)->tensor, out, &error) == DLBRIDGE_OK
             ? 0
             : dlbridge_py_raise(&error);
}

/* What arrives is any tensor: made dlbridge-owned, it can be shared. */
static int to_object(DLManagedTensorVersioned* tensor, void** out) {
  DLBridgeError error;
  if (dlbridge_import(tensor, DLBRIDGE_KIND_VERSIONED, NULL, &tensor, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  *out = new_array(state_of(the_module)->type, tensor);
  return *out != NULL ? 0 : -1;
}

static int lend(void* object, DLTensor* out) {
  return dlbridge_py_lend_writable(((Array*)object)->tensor, out);
}

/* __dlpack__ and __dlpack_device__ */
static PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return dlbridge_py_dlpack(((Array*)self)->tensor, DLBRIDGE_ARRAY_API_STREAM_NONE, args, count,
                            names);
}

static PyObject* dlpack_device(PyObject* self, PyObject* unused) {
  const DLDevice device = ((Array*)self)->tensor->dl_tensor.device;
  (void)unused;
  return Py_BuildValue("(ii)", (int)device.device_type, (int)device.device_id);
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))dlpack, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef functions[] = {
    {"borrow", borrow, METH_VARARGS, NULL},
    {"import_", import_, METH_VARARGS, NULL},
    {"import_capsule", import_capsule, METH_VARARGS, NULL},
    {"wrap", wrap, METH_VARARGS, NULL},
    {"wrap_buffer", wrap_buffer, METH_VARARGS, NULL},
    {"plain_bytes", plain_bytes, METH_O, NULL},
    {"to_type", to_type, METH_VARARGS, NULL},
    {"has_table", has_table, METH_O, NULL},
    {"make", make, METH_O, NULL},
    {"make_plain", make_plain, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_dealloc, SLOT(deallocate)},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec type_spec = {"probe.Array", (int)sizeof(Array), 0, Py_TPFLAGS_DEFAULT,
                                type_slots};

static int execute(PyObject* module) {
  static DLPackExchangeAPI table, keeping;
  State* state = state_of(module);
  if (dlbridge_py_init(&state->py) < 0) {
    return -1;
  }
  state->type = (PyTypeObject*)PyType_FromModuleAndSpec(module, &type_spec, NULL);
  state->plain = (PyTypeObject*)PyType_FromModuleAndSpec(module, &type_spec, NULL);
  if (state->type == NULL || state->plain == NULL) {
    return -1;
  }
  dlbridge_py_table_init(&table, from_object, to_object, lend);
  dlbridge_py_table_init(&keeping, from_object_keeping, to_object, lend);
  the_module = module;
  return dlbridge_py_offer((PyObject*)state->plain, &table) < 0 ||
                 dlbridge_py_offer((PyObject*)state->type, &table) < 0 ||
                 dlbridge_py_offer_keeping((PyObject*)state->type, &keeping) < 0 ||
                 PyModule_AddObjectRef(module, "Array", (PyObject*)state->type) < 0
             ? -1
             : 0;
}

static int traverse(PyObject* module, visitproc visit, void* arg) {
  State* state = state_of(module);
  if (state == NULL) {
    return 0;
  }
  Py_VISIT((PyObject*)state->type);
  Py_VISIT((PyObject*)state->plain);
  return dlbridge_py_traverse(&state->py, visit, arg);
}

static int clear(PyObject* module) {
  State* state = state_of(module);
  if (state != NULL) {
    Py_CLEAR(state->type);
    Py_CLEAR(state->plain);
    dlbridge_py_clear(&state->py);
  }
  return 0;
}

static void free_module(void* module) { clear((PyObject*)module); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, SLOT(execute)}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "probe", NULL, sizeof(State), functions, slots, traverse, clear,
    free_module,
};

#define INIT_(name) PyInit_##name
#define INIT(name) INIT_(name)
PyMODINIT_FUNC INIT(PROBE)(void) { return PyModuleDef_Init(&definition); }
