/* SPDX-License-Identifier: Apache-2.0 */
/* The type dlbridge.Tensor: its attributes and methods. */
#include "tensor.h"

#include <stddef.h>
#include <structmember.h>

#include "arguments.h"
#include "buffer.h"
#include "object.h"
#include "owners.h"
#include "protocol.h"

/* --- Attributes ---------------------------------------------------------------------------------
 */

/* The values are copied first: a collection that the tuple starts may run Python code. */
static PyObject* extents(const int64_t* values, int32_t count) {
  int64_t copies[DLBRIDGE_MAX_NDIM];
  int32_t i;
  PyObject* result;
  if (count > 0) {
    memcpy(copies, values, (size_t)count * sizeof *copies);
  }
  result = PyTuple_New(count);
  for (i = 0; result != NULL && i < count; ++i) {
    PyObject* value = PyLong_FromLongLong(copies[i]);
    if (value == NULL || PyTuple_SetItem(result, i, value) < 0) {
      Py_CLEAR(result);
    }
  }
  return result;
}

static PyObject* get_shape(const DLManagedTensorVersioned* tensor) {
  return extents(tensor->dl_tensor.shape, tensor->dl_tensor.ndim);
}

static PyObject* get_strides(const DLManagedTensorVersioned* tensor) {
  return extents(tensor->dl_tensor.strides, tensor->dl_tensor.ndim);
}

static PyObject* get_ndim(const DLManagedTensorVersioned* tensor) {
  return PyLong_FromLong(tensor->dl_tensor.ndim);
}

static int read_layout(const DLManagedTensorVersioned* tensor, DLBridgeLayout* layout) {
  DLBridgeError error;
  *layout = dlbridge_layout_init();
  if (dlbridge_layout(&tensor->dl_tensor, tensor->flags, layout, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  return 0;
}

static PyObject* get_size(const DLManagedTensorVersioned* tensor) {
  DLBridgeLayout layout;
  return read_layout(tensor, &layout) < 0 ? NULL : PyLong_FromLongLong(layout.element_count);
}

static PyObject* get_nbytes(const DLManagedTensorVersioned* tensor) {
  DLBridgeLayout layout;
  return read_layout(tensor, &layout) < 0 ? NULL : PyLong_FromLongLong(layout.packed_bytes);
}

static PyObject* get_dtype(const DLManagedTensorVersioned* tensor) {
  char text[64];
  dlbridge_dtype_format(tensor->dl_tensor.dtype, text, sizeof text, NULL, NULL);
  return PyUnicode_FromString(text);
}

static PyObject* get_dtype_triple(const DLManagedTensorVersioned* tensor) {
  const DLDataType dtype = tensor->dl_tensor.dtype;
  return Py_BuildValue("(iii)", (int)dtype.code, (int)dtype.bits, (int)dtype.lanes);
}

static PyObject* get_device(const DLManagedTensorVersioned* tensor) {
  char text[64];
  dlbridge_device_format(tensor->dl_tensor.device, text, sizeof text, NULL, NULL);
  return PyUnicode_FromString(text);
}

static PyObject* get_data_ptr(const DLManagedTensorVersioned* tensor) {
  return PyLong_FromVoidPtr(tensor->dl_tensor.data);
}

static PyObject* get_byte_offset(const DLManagedTensorVersioned* tensor) {
  return PyLong_FromUnsignedLongLong(tensor->dl_tensor.byte_offset);
}

static PyObject* get_flags(const DLManagedTensorVersioned* tensor) {
  return PyLong_FromUnsignedLongLong(tensor->flags);
}

static PyObject* get_version(const DLManagedTensorVersioned* tensor) {
  const DLPackVersion version = tensor->version;
  return Py_BuildValue("(II)", (unsigned)version.major, (unsigned)version.minor);
}

static PyObject* get_readonly(const DLManagedTensorVersioned* tensor) {
  return PyBool_FromLong((tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0);
}

static PyObject* get_copied(const DLManagedTensorVersioned* tensor) {
  return PyBool_FromLong((tensor->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0);
}

/* The address of the DLManagedTensorVersioned, for extensions in C. */
static PyObject* get_managed_ptr(const DLManagedTensorVersioned* tensor) {
  return PyLong_FromVoidPtr((void*)tensor);
}

/* The closure of an attribute: reads it from a tensor that is not released. */
typedef struct {
  PyObject* (*read)(const DLManagedTensorVersioned* tensor);
} Attribute;

static PyObject* get(PyObject* self, void* closure) {
  const DLManagedTensorVersioned* tensor;
  PyObject* result = NULL;
  CORE_LOCK(self);
  tensor = core_live(self);
  if (tensor != NULL) {
    result = ((const Attribute*)closure)->read(tensor);
  }
  CORE_UNLOCK();
  return result;
}

#define ATTRIBUTE(name, function, text)              \
  {                                                  \
    name, get, NULL, text, &(Attribute) { function } \
  }

static PyGetSetDef attributes[] = {
    ATTRIBUTE("shape", get_shape, "Extents, a tuple."),
    ATTRIBUTE("strides", get_strides, "Strides in elements, a tuple."),
    ATTRIBUTE("ndim", get_ndim, "Number of axes."),
    ATTRIBUTE("size", get_size, "Number of elements."),
    ATTRIBUTE("nbytes", get_nbytes, "Bytes of the elements laid out compactly."),
    ATTRIBUTE("dtype", get_dtype, "Name of the dtype, such as \"float32\"."),
    ATTRIBUTE("dtype_triple", get_dtype_triple, "DLPack's (code, bits, lanes)."),
    ATTRIBUTE("device", get_device, "Name of the device, such as \"cpu:0\"."),
    ATTRIBUTE("data_ptr", get_data_ptr, "DLPack's data pointer, without byte_offset."),
    ATTRIBUTE("byte_offset", get_byte_offset, "Bytes from data_ptr to element (0, ..., 0)."),
    ATTRIBUTE("flags", get_flags, "DLPack's flags."),
    ATTRIBUTE("version", get_version, "DLPack version of the struct, (major, minor)."),
    ATTRIBUTE("readonly", get_readonly, "True if the data must not be written to."),
    ATTRIBUTE("copied", get_copied, "True if the producer states that it made a copy."),
    ATTRIBUTE("managed_ptr", get_managed_ptr,
              "Address of the DLManagedTensorVersioned, until this object ends or is released."),
    {NULL, NULL, NULL, NULL, NULL},
};

/* --- Methods ------------------------------------------------------------------------------------
 */

static PyObject* copy(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  CoreState* state = core_state_of_type(Py_TYPE(self));
  DLDevice device;
  Py_ssize_t i, named = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  DLManagedTensorVersioned* tensor;
  if (state == NULL || core_device(self, &device) < 0 || core_positional("copy", count, 0, 0) < 0) {
    return NULL;
  }
  for (i = 0; i < named; ++i) {
    PyObject* name = core_known_name(&state->names, CORE_TUPLE_ITEM(keywords, i));
    if (name != state->names.device) {
      core_unknown_keyword("copy", name);
      return NULL;
    }
    if (args[i] != Py_None && core_read_device(args[i], &device) < 0) {
      return NULL;
    }
  }
  tensor = core_copy((TensorObject*)self, device); /* whole when the call returns */
  return tensor != NULL ? core_tensor_new(state, tensor, DLBRIDGE_ARRAY_API_STREAM_NONE) : NULL;
}

typedef struct {
  PyObject* shape;
  PyObject* strides;
  PyObject* offset;
} ViewArguments;

static int read_view(const CoreNames* names, PyObject* const* args, Py_ssize_t count,
                     PyObject* keywords, ViewArguments* out) {
  Py_ssize_t i, named = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  if (core_positional("view", count, 0, 3) < 0) {
    return -1;
  }
  out->shape = count > 0 ? args[0] : NULL;
  out->strides = count > 1 ? args[1] : Py_None;
  out->offset = count > 2 ? args[2] : NULL;
  for (i = 0; i < named; ++i) {
    PyObject* name = core_known_name(names, CORE_TUPLE_ITEM(keywords, i));
    if (name == names->shape && count < 1) {
      out->shape = args[count + i];
    } else if (name == names->strides && count < 2) {
      out->strides = args[count + i];
    } else if (name == names->offset && count < 3) {
      out->offset = args[count + i];
    } else if (name == names->shape || name == names->strides || name == names->offset) {
      return core_given_twice("view", name);
    } else {
      return core_unknown_keyword("view", name);
    }
  }
  if (out->shape == NULL) {
    PyErr_SetString(PyExc_TypeError, "view() missing required argument 'shape' (pos 1)");
    return -1;
  }
  return 0;
}

/* Whether the tensor is C-contiguous; -1 with an exception. */
static int is_compact(PyObject* self) {
  DLBridgeLayout layout;
  const DLManagedTensorVersioned* tensor;
  int result = -1;
  CORE_LOCK(self);
  tensor = core_live(self);
  if (tensor != NULL && read_layout(tensor, &layout) == 0) {
    result = (layout.properties & DLBRIDGE_LAYOUT_C_CONTIGUOUS) != 0;
  }
  CORE_UNLOCK();
  return result;
}

/* Calls the Python code that finds the strides of a view and checks which elements it has. */
static PyObject* found_strides(PyObject* self, const DLBridgeViewSpec* spec) {
  PyObject* result = NULL;
  PyObject* module = PyImport_ImportModule("dlbridge._views");
  PyObject* shape = module != NULL ? extents(spec->shape, spec->ndim) : NULL;
  PyObject* strides = shape == NULL           ? NULL
                      : spec->strides == NULL ? Py_NewRef(Py_None)
                                              : extents(spec->strides, spec->ndim);
  if (strides != NULL) {
    result = PyObject_CallMethod(module, "strides_of", "OOOL", self, shape, strides,
                                 (long long)spec->offset);
  }
  Py_XDECREF(strides);
  Py_XDECREF(shape);
  Py_XDECREF(module);
  return result;
}

/* Sets the strides of a view of a tensor that is not C-contiguous. dlbridge_view alone would make
 * compact ones, which have other elements, and allow those between the tensor's. */
static int place_view(PyObject* self, DLBridgeViewSpec* spec, int64_t** strides) {
  int32_t count;
  PyObject* found;
  int status = is_compact(self);
  if (status != 0 || spec->ndim > DLBRIDGE_MAX_NDIM) {
    return status < 0 ? -1 : 0; /* dlbridge_view rejects too many axes */
  }
  found = found_strides(self, spec);
  status = found != NULL ? 0 : -1;
  if (found != NULL && found != Py_None) {
    PyMem_Free(*strides);
    *strides = NULL;
    status = core_read_extents(found, "strides", strides, &count);
    spec->strides = *strides;
  }
  Py_XDECREF(found);
  return status;
}

static DLManagedTensorVersioned* viewed(TensorObject* self, const DLBridgeViewSpec* spec) {
  DLBridgeError error;
  DLManagedTensorVersioned* view = NULL;
  DLManagedTensorVersioned* shared = core_share(self);
  if (shared == NULL) {
    return NULL;
  }
  if (dlbridge_view(shared, spec, &view, &error) != DLBRIDGE_OK) {
    dlbridge_py_raise(&error);
  }
  dlbridge_py_release(shared);
  return view != NULL ? core_without_copied(view) : NULL;
}

static PyObject* view(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  CoreState* state = core_state_of_type(Py_TYPE(self));
  ViewArguments given;
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  int64_t *shape = NULL, *strides = NULL;
  int32_t stride_count;
  DLManagedTensorVersioned* tensor = NULL;
  if (state == NULL || read_view(&state->names, args, count, keywords, &given) < 0 ||
      core_read_extents(given.shape, "shape", &shape, &spec.ndim) < 0) {
    return NULL;
  }
  spec.shape = shape;
  stride_count = spec.ndim;
  if (given.strides == Py_None ||
      core_read_extents(given.strides, "strides", &strides, &stride_count) == 0) {
    spec.strides = strides;
    spec.offset = 0;
    if (stride_count != spec.ndim) {
      PyErr_Format(PyExc_ValueError, "expected %d strides, one for each axis, found %d",
                   (int)spec.ndim, (int)stride_count);
    } else if ((given.offset == NULL ||
                core_read_integer(given.offset, "an offset of 64 bits", &spec.offset) == 0) &&
               place_view(self, &spec, &strides) == 0) {
      tensor = viewed((TensorObject*)self, &spec);
    }
  }
  PyMem_Free(shape);
  PyMem_Free(strides);
  return tensor != NULL ? core_tensor_new(state, tensor, ((TensorObject*)self)->stream) : NULL;
}

/* Reads one argument of release_after: a stream of the array API on `device`, or the fields of an
 * abi.Stream. */
static int read_stream(PyObject* value, DLDevice device, DLBridgeStream* out) {
  DLBridgeError error;
  int64_t stream;
  if (PyTuple_Check(value)) {
    return core_read_native_stream(value, out);
  }
  if (core_read_stream(value, &stream) < 0) {
    return -1;
  }
  return dlbridge_stream_from_array_api(device, stream, out, &error) != DLBRIDGE_OK
             ? dlbridge_py_raise(&error)
             : 0;
}

/* The tensor is taken from the object while the call runs without the GIL. Call it in a block of
 * CORE_LOCK. */
static int give_away(TensorObject* self, const DLBridgeStream* streams, Py_ssize_t count) {
  DLBridgeError error;
  DLBridgeStatus status;
  DLManagedTensorVersioned* tensor = self->tensor;
  if (self->buffers != 0) {
    return dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_ARGUMENT,
                               DLBRIDGE_RULE_NONE,
                               "expected a tensor whose buffers are released, found %zd in use, "
                               "such as a memoryview",
                               self->buffers);
  }
  if (core_live((PyObject*)self) == NULL) {
    return -1;
  }
  self->tensor = NULL;
  Py_BEGIN_ALLOW_THREADS status =
      dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED, streams, (size_t)count, &error);
  Py_END_ALLOW_THREADS if (status != DLBRIDGE_OK) {
    self->tensor = tensor;
    return dlbridge_py_raise(&error);
  }
  return 0;
}

static PyObject* release_after(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  DLBridgeStream* streams;
  Py_ssize_t i;
  int status = 0;
  DLDevice device;
  if (core_device(self, &device) < 0) {
    return NULL;
  }
  streams = (DLBridgeStream*)PyMem_Malloc(((size_t)count + 1) * sizeof *streams);
  if (streams == NULL) {
    return PyErr_NoMemory();
  }
  for (i = 0; status == 0 && i < count; ++i) {
    status = read_stream(args[i], device, &streams[i]);
  }
  if (status == 0) {
    CORE_LOCK(self);
    status = give_away((TensorObject*)self, streams, count);
    CORE_UNLOCK();
  }
  PyMem_Free(streams);
  return status < 0 ? NULL : Py_NewRef(Py_None);
}

static int is_released(PyObject* self) {
  int released;
  CORE_LOCK(self);
  released = ((TensorObject*)self)->tensor == NULL;
  CORE_UNLOCK();
  return released;
}

/* Implemented in Python, since printing is not a hot path. */
static PyObject* represent(PyObject* self) {
  PyObject* result = NULL;
  PyObject* module;
  if (is_released(self)) {
    return PyUnicode_FromString("dlbridge.Tensor(released)");
  }
  module = PyImport_ImportModule("dlbridge._text");
  if (module != NULL) {
    result = PyObject_CallMethod(module, "text_of", "O", self);
    Py_DECREF(module);
  }
  return result;
}

static PyObject* reduce(PyObject* self, PyObject* protocol) {
  PyObject* result = NULL;
  PyObject* module = PyImport_ImportModule("dlbridge._pickle");
  if (module != NULL) {
    result = PyObject_CallMethod(module, "reduce", "OO", self, protocol);
    Py_DECREF(module);
  }
  return result;
}

/* numpy.asarray calls it for dtypes that the buffer protocol lacks, and to report why there is
 * none. */
static PyObject* as_array(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* result = NULL;
  PyObject* module = PyImport_ImportModule("dlbridge._adapt");
  if (module != NULL) {
    result = PyObject_CallMethod(module, "array_of", "OOO", self, args,
                                 keywords != NULL ? keywords : Py_None);
    Py_DECREF(module);
  }
  return result;
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))core_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A capsule with one more owner of the data, as the Python array API standard defines it."},
    {"__dlpack_device__", core_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self)\n--\n\nThe device, (device_type, device_id)."},
    {"__array__", (PyCFunction)(void (*)(void))as_array, METH_VARARGS | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\nFor numpy.asarray and numpy.array."},
    {"copy", (PyCFunction)(void (*)(void))copy, METH_FASTCALL | METH_KEYWORDS,
     "copy($self, *, device=None)\n--\n\n"
     "A compact, writable copy on the same device or another."},
    {"view", (PyCFunction)(void (*)(void))view, METH_FASTCALL | METH_KEYWORDS,
     "view($self, shape, strides=None, offset=0)\n--\n\n"
     "The same memory under another shape. Without strides, the view has the tensor's elements in\n"
     "C order. Of a C-contiguous tensor, it may have fewer, from element `offset` on. Strides and\n"
     "offset count elements from element (0, ..., 0) in memory. A view that needs a copy, or that\n"
     "is not known to have elements of this tensor only, is a ValueError."},
    {"release_after", (PyCFunction)(void (*)(void))release_after, METH_FASTCALL,
     "release_after($self, stream, /, *more)\n--\n\n"
     "Releases the tensor when the work that is on the streams now is over; the host does not "
     "wait. "
     "Every later use of this object raises ValueError. A failure leaves the tensor as it is."},
    {"__reduce_ex__", reduce, METH_O, "__reduce_ex__($self, protocol)\n--\n\nFor pickle."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void*)core_tensor_deallocate},
    {Py_tp_repr, (void*)represent},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, attributes},
    {Py_tp_doc,
     "A validated tensor that keeps its memory alive. It speaks DLPack, and the buffer protocol "
     "if\n"
     "the CPU can read it; its repr shows layout and values. from_dlpack creates it.\n"
     "The garbage collector does not see the memory's owner: an array that refers to a Tensor "
     "over\n"
     "itself stays alive until that reference ends."},
    {Py_bf_getbuffer, (void*)core_get_buffer},
    {Py_bf_releasebuffer, (void*)core_release_buffer},
    {0, NULL},
};

static PyType_Spec spec = {
    "dlbridge.Tensor",
    sizeof(TensorObject),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    slots,
};

int core_add_tensor_type(PyObject* module, CoreState* state) {
  PyObject* type = PyType_FromModuleAndSpec(module, &spec, NULL);
  if (type == NULL) {
    return -1;
  }
  state->tensor_type = (PyTypeObject*)type;
  if (core_offer_tables(type) < 0) {
    return -1;
  }
  return PyModule_AddObjectRef(module, "Tensor", type);
}
