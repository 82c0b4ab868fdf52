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

static const DLManagedTensorVersioned* managed(PyObject* self) {
  return ((TensorObject*)self)->tensor;
}
static const DLTensor* fields(PyObject* self) { return &managed(self)->dl_tensor; }

/* --- Attributes ---------------------------------------------------------------------------------
 */

static PyObject* extents(const int64_t* values, int32_t count) {
  int32_t i;
  PyObject* result = PyTuple_New(count);
  for (i = 0; result != NULL && i < count; ++i) {
    PyObject* value = PyLong_FromLongLong(values[i]);
    if (value == NULL || PyTuple_SetItem(result, i, value) < 0) {
      Py_CLEAR(result);
    }
  }
  return result;
}

static PyObject* get_shape(PyObject* self, void* closure) {
  (void)closure;
  return extents(fields(self)->shape, fields(self)->ndim);
}

static PyObject* get_strides(PyObject* self, void* closure) {
  (void)closure;
  return extents(fields(self)->strides, fields(self)->ndim);
}

static PyObject* get_ndim(PyObject* self, void* closure) {
  (void)closure;
  return PyLong_FromLong(fields(self)->ndim);
}

static int read_layout(PyObject* self, DLBridgeLayout* layout) {
  DLBridgeError error;
  *layout = dlbridge_layout_init();
  if (dlbridge_layout(fields(self), managed(self)->flags, layout, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  return 0;
}

static PyObject* get_size(PyObject* self, void* closure) {
  DLBridgeLayout layout;
  (void)closure;
  return read_layout(self, &layout) < 0 ? NULL : PyLong_FromLongLong(layout.element_count);
}

static PyObject* get_nbytes(PyObject* self, void* closure) {
  DLBridgeLayout layout;
  (void)closure;
  return read_layout(self, &layout) < 0 ? NULL : PyLong_FromLongLong(layout.packed_bytes);
}

static PyObject* get_dtype(PyObject* self, void* closure) {
  char text[64];
  (void)closure;
  dlbridge_dtype_format(fields(self)->dtype, text, sizeof text, NULL, NULL);
  return PyUnicode_FromString(text);
}

static PyObject* get_dtype_triple(PyObject* self, void* closure) {
  const DLDataType dtype = fields(self)->dtype;
  (void)closure;
  return Py_BuildValue("(iii)", (int)dtype.code, (int)dtype.bits, (int)dtype.lanes);
}

static PyObject* get_device(PyObject* self, void* closure) {
  char text[64];
  (void)closure;
  dlbridge_device_format(fields(self)->device, text, sizeof text, NULL, NULL);
  return PyUnicode_FromString(text);
}

static PyObject* get_data_ptr(PyObject* self, void* closure) {
  (void)closure;
  return PyLong_FromVoidPtr(fields(self)->data);
}

static PyObject* get_byte_offset(PyObject* self, void* closure) {
  (void)closure;
  return PyLong_FromUnsignedLongLong(fields(self)->byte_offset);
}

static PyObject* get_flags(PyObject* self, void* closure) {
  (void)closure;
  return PyLong_FromUnsignedLongLong(managed(self)->flags);
}

static PyObject* get_version(PyObject* self, void* closure) {
  const DLPackVersion version = managed(self)->version;
  (void)closure;
  return Py_BuildValue("(II)", (unsigned)version.major, (unsigned)version.minor);
}

static PyObject* get_readonly(PyObject* self, void* closure) {
  (void)closure;
  return PyBool_FromLong((managed(self)->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0);
}

static PyObject* get_copied(PyObject* self, void* closure) {
  (void)closure;
  return PyBool_FromLong((managed(self)->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0);
}

/* The address of the DLManagedTensorVersioned, for extensions in C. */
static PyObject* get_managed_ptr(PyObject* self, void* closure) {
  (void)closure;
  return PyLong_FromVoidPtr((void*)managed(self));
}

static PyGetSetDef attributes[] = {
    {"shape", get_shape, NULL, "Extents, a tuple.", NULL},
    {"strides", get_strides, NULL, "Strides in elements, a tuple.", NULL},
    {"ndim", get_ndim, NULL, "Number of axes.", NULL},
    {"size", get_size, NULL, "Number of elements.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of the elements laid out compactly.", NULL},
    {"dtype", get_dtype, NULL, "Name of the dtype, such as \"float32\".", NULL},
    {"dtype_triple", get_dtype_triple, NULL, "DLPack's (code, bits, lanes).", NULL},
    {"device", get_device, NULL, "Name of the device, such as \"cpu:0\".", NULL},
    {"data_ptr", get_data_ptr, NULL, "DLPack's data pointer, without byte_offset.", NULL},
    {"byte_offset", get_byte_offset, NULL, "Bytes from data_ptr to element (0, ..., 0).", NULL},
    {"flags", get_flags, NULL, "DLPack's flags.", NULL},
    {"version", get_version, NULL, "DLPack version of the struct, (major, minor).", NULL},
    {"readonly", get_readonly, NULL, "True if the data must not be written to.", NULL},
    {"copied", get_copied, NULL, "True if the producer states that it made a copy.", NULL},
    {"managed_ptr", get_managed_ptr, NULL,
     "Address of the DLManagedTensorVersioned, for as long as this object lives.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* --- Methods ------------------------------------------------------------------------------------
 */

static PyObject* copy(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  CoreState* state = core_state_of_type(Py_TYPE(self));
  DLDevice device = fields(self)->device;
  Py_ssize_t i, named = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  DLManagedTensorVersioned* tensor;
  if (state == NULL || core_positional("copy", count, 0, 0) < 0) {
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
  tensor = core_copy((TensorObject*)self, device);
  return tensor != NULL ? core_tensor_new(state, tensor, ((TensorObject*)self)->stream) : NULL;
}

typedef struct {
  PyObject* shape;
  PyObject* strides;
  PyObject* offset;
} ViewArguments;

static int read_view(const CoreNames* names, PyObject* const* args, Py_ssize_t count,
                     PyObject* keywords, ViewArguments* out) {
  Py_ssize_t i, named = keywords != NULL ? CORE_TUPLE_SIZE(keywords) : 0;
  if (core_positional("view", count, 1, 3) < 0) {
    return -1;
  }
  out->shape = args[0];
  out->strides = count > 1 ? args[1] : Py_None;
  out->offset = count > 2 ? args[2] : NULL;
  for (i = 0; i < named; ++i) {
    PyObject* name = core_known_name(names, CORE_TUPLE_ITEM(keywords, i));
    if (name == names->strides && count < 2) {
      out->strides = args[count + i];
    } else if (name == names->offset && count < 3) {
      out->offset = args[count + i];
    } else if (name == names->strides || name == names->offset) {
      return core_given_twice("view", name);
    } else {
      return core_unknown_keyword("view", name);
    }
  }
  return 0;
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
    } else if (given.offset == NULL ||
               core_read_integer(given.offset, "an offset of 64 bits", &spec.offset) == 0) {
      tensor = viewed((TensorObject*)self, &spec);
    }
  }
  PyMem_Free(shape);
  PyMem_Free(strides);
  return tensor != NULL ? core_tensor_new(state, tensor, ((TensorObject*)self)->stream) : NULL;
}

/* Implemented in Python, since printing is not a hot path. */
static PyObject* represent(PyObject* self) {
  PyObject* result = NULL;
  PyObject* module = PyImport_ImportModule("dlbridge._text");
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

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))core_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A capsule with one more owner of the data, as the Python array API standard defines it."},
    {"__dlpack_device__", core_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self)\n--\n\nThe device, (device_type, device_id)."},
    {"copy", (PyCFunction)(void (*)(void))copy, METH_FASTCALL | METH_KEYWORDS,
     "copy($self, *, device=None)\n--\n\n"
     "A compact, writable copy on the same device or another."},
    {"view", (PyCFunction)(void (*)(void))view, METH_FASTCALL | METH_KEYWORDS,
     "view($self, shape, strides=None, offset=0)\n--\n\n"
     "The same data under another shape; strides and offset count elements, and nothing outside "
     "this "
     "tensor's own elements can be reached."},
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
     "the CPU can read it; its repr shows layout and values. from_dlpack creates it."},
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
  if (core_offer_table(type) < 0) {
    return -1;
  }
  return PyModule_AddObjectRef(module, "Tensor", type);
}
