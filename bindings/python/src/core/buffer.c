/* SPDX-License-Identifier: Apache-2.0 */
/* The buffer protocol of tensors that the CPU can read. */
#include "buffer.h"

#include "object.h"

/* The format of a dtype in the buffer protocol; NULL if it has none. */
static const char* format_of(DLDataType dtype) {
  static const struct {
    uint8_t code, bits;
    const char* format;
  } formats[] = {
      {kDLInt, 8, "b"},       {kDLInt, 16, "h"},       {kDLInt, 32, "i"},   {kDLInt, 64, "q"},
      {kDLUInt, 8, "B"},      {kDLUInt, 16, "H"},      {kDLUInt, 32, "I"},  {kDLUInt, 64, "Q"},
      {kDLFloat, 16, "e"},    {kDLFloat, 32, "f"},     {kDLFloat, 64, "d"}, {kDLBool, 8, "?"},
      {kDLComplex, 64, "Zf"}, {kDLComplex, 128, "Zd"},
  };
  size_t i;
  for (i = 0; dtype.lanes == 1 && i < sizeof formats / sizeof *formats; ++i) {
    if (dtype.code == formats[i].code && dtype.bits == formats[i].bits) {
      return formats[i].format;
    }
  }
  return NULL;
}

static int reject(Py_buffer* view, const char* message) {
  view->obj = NULL;
  PyErr_SetString(PyExc_BufferError, message);
  return -1;
}

static int check_memory(const DLManagedTensorVersioned* tensor, Py_buffer* view, int flags) {
  int32_t type;
  memcpy(&type, &tensor->dl_tensor.device.device_type, sizeof type);
  if (!dlbridge_host_accessible(type, NULL)) {
    return reject(view,
                  "expected memory that the CPU can read, found a tensor of another device: "
                  "take copy(device=\"cpu\") of it");
  }
  if ((flags & PyBUF_WRITABLE) != 0 && (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) {
    return reject(view, "expected a tensor that may be written to, found a read-only one");
  }
  if (flags == PyBUF_SIMPLE && (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 &&
      PyErr_Occurred() != NULL) {
    /* torch.asarray and torch.frombuffer ignore the exception of the request for writable memory,
     * request plain bytes, and write to them. Consumers that only read have no exception. */
    return reject(view,
                  "expected a consumer that accepts read-only memory, found one that requested "
                  "plain bytes after writable memory was rejected, and may write to this "
                  "read-only tensor: pass copy() of it");
  }
  if (tensor->dl_tensor.ndim > PyBUF_MAX_NDIM) {
    return reject(view, "expected at most 64 axes, which is what a buffer can have");
  }
  return 0;
}

/* Checks that the layout meets the requested flags. */
static int check_layout(const DLBridgeLayout* layout, Py_buffer* view, int flags) {
  const int c = (layout->properties & DLBRIDGE_LAYOUT_C_CONTIGUOUS) != 0;
  const int f = (layout->properties & DLBRIDGE_LAYOUT_F_CONTIGUOUS) != 0;
  const int wants_c = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
  const int wants_f = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
  const int wants_any = (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
  const int no_strides = (flags & PyBUF_STRIDES) != PyBUF_STRIDES;
  if (((wants_c || no_strides) && !c) || (wants_f && !f) || (wants_any && !c && !f)) {
    return reject(view, "expected a contiguous tensor, found strides: take copy() of it");
  }
  return 0;
}

/* Multiplies with wrap-around: the stride of an axis with at most one index is unused and may be
 * too large for the product. */
static Py_ssize_t product(Py_ssize_t one, Py_ssize_t other) {
  return (Py_ssize_t)((size_t)one * (size_t)other);
}

/* Fills shape and strides in bytes, in allocated memory, since the tensor's strides count elements.
 * A buffer without axes has neither. */
static int fill_strides(const DLTensor* tensor, Py_ssize_t item, Py_buffer* view) {
  int32_t i;
  Py_ssize_t* shape;
  view->internal = NULL;
  view->shape = NULL;
  view->strides = NULL;
  if (tensor->ndim == 0) {
    return 0;
  }
  view->internal = PyMem_Malloc((size_t)tensor->ndim * 2 * sizeof(Py_ssize_t));
  if (view->internal == NULL) {
    view->obj = NULL;
    PyErr_NoMemory();
    return -1;
  }
  shape = (Py_ssize_t*)view->internal;
  view->shape = shape;
  view->strides = shape + tensor->ndim;
  for (i = 0; i < tensor->ndim; ++i) {
    shape[i] = (Py_ssize_t)tensor->shape[i];
    view->strides[i] = product((Py_ssize_t)tensor->strides[i], item);
  }
  return 0;
}

static int fill(const DLManagedTensorVersioned* tensor, const DLBridgeLayout* layout,
                const char* format, Py_buffer* view, int flags) {
  static char nothing[1];
  const DLTensor* fields = &tensor->dl_tensor;
  const Py_ssize_t item = (Py_ssize_t)(layout->item_bits / 8);
  if (fill_strides(fields, item, view) < 0) {
    return -1;
  }
  view->buf = layout->element_count == 0 ? (void*)nothing
                                         : (void*)((char*)fields->data + fields->byte_offset);
  view->len = (Py_ssize_t)layout->packed_bytes;
  view->itemsize = item;
  view->readonly = (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  view->ndim = fields->ndim;
  view->format = (flags & PyBUF_FORMAT) != 0 ? (char*)format : NULL;
  view->suboffsets = NULL;
  if ((flags & PyBUF_ND) != PyBUF_ND) {
    view->shape = NULL;
  }
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
    view->strides = NULL;
  }
  return 0;
}

static int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const DLManagedTensorVersioned* tensor = core_live(self);
  const char* format;
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  DLBridgeError error;
  if (tensor == NULL) {
    view->obj = NULL;
    return -1;
  }
  if (check_memory(tensor, view, flags) < 0) {
    return -1;
  }
  format = format_of(tensor->dl_tensor.dtype);
  if (format == NULL) {
    return reject(view,
                  "expected a dtype that the buffer protocol can write, found another: "
                  "dlbridge.to_buffer gives its bytes");
  }
  if (dlbridge_layout(&tensor->dl_tensor, tensor->flags, &layout, &error) != DLBRIDGE_OK) {
    view->obj = NULL;
    return dlbridge_py_raise(&error);
  }
  if (check_layout(&layout, view, flags) < 0 || fill(tensor, &layout, format, view, flags) < 0) {
    return -1;
  }
  view->obj = Py_NewRef(self);
  ++((TensorObject*)self)->buffers;
  return 0;
}

/* Waits for the work of a GPU on memory that the CPU can read as well. Without a driver there is
 * none. */
static int wait_for_work(PyObject* self) {
  DLDevice device;
  DLBridgeStream pending;
  DLBridgeError error;
  DLBridgeStatus status;
  if (core_device(self, &device) < 0) {
    return -1;
  }
  if ((int64_t)device.device_type == kDLCPU) {
    return 0;
  }
  status = dlbridge_stream_from_array_api(device, ((TensorObject*)self)->stream, &pending, &error);
  if (status == DLBRIDGE_OK && pending.kind == DLBRIDGE_STREAM_QUEUE) {
    Py_BEGIN_ALLOW_THREADS status = dlbridge_stream_synchronize(&pending, &error);
    Py_END_ALLOW_THREADS
  }
  return status == DLBRIDGE_OK || status == DLBRIDGE_ERROR_UNAVAILABLE ? 0
                                                                       : dlbridge_py_raise(&error);
}

int core_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  int status;
  if (wait_for_work(self) < 0) {
    view->obj = NULL;
    return -1;
  }
  CORE_LOCK(self);
  status = get_buffer(self, view, flags);
  CORE_UNLOCK();
  return status;
}

void core_release_buffer(PyObject* self, Py_buffer* view) {
  PyMem_Free(view->internal);
  view->internal = NULL;
  CORE_LOCK(self);
  --((TensorObject*)self)->buffers;
  CORE_UNLOCK();
}
