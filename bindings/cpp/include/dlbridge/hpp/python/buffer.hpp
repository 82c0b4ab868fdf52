// SPDX-License-Identifier: Apache-2.0
// Tensors of objects that have the buffer protocol but not DLPack: bytes, array.array, memoryview.
#ifndef DLBRIDGE_HPP_PYTHON_BUFFER_HPP_
#define DLBRIDGE_HPP_PYTHON_BUFFER_HPP_

#include "dlbridge/hpp/options.hpp"
#include "dlbridge/hpp/python/error.hpp"

DLBRIDGE_HPP_BEGIN
namespace py::detail {

// The dtype of a buffer's elements; {0, 0, 0} if DLPack has none or the byte order is another one.
inline dtype buffer_dtype(const Py_buffer& view) noexcept {
  const char* format = view.format != nullptr ? view.format : "B";
  const bool swapped = *format == '>' || *format == '!';
  format += swapped || *format == '@' || *format == '=' || *format == '<' ? 1 : 0;
  const bool complex = *format == 'Z' || *format == 'F' || *format == 'D';
  format += *format == 'Z' ? 1 : 0;
  const bool sized = view.itemsize == 1 || view.itemsize == 2 || view.itemsize == 4 ||
                     view.itemsize == 8 || (complex && view.itemsize == 16);
  if (*format == '\0' || format[1] != '\0' || !sized || (swapped && view.itemsize > 1)) {
    return {0, 0, 0};
  }
  const auto bits = static_cast<std::uint8_t>(8 * view.itemsize);
  return complex                                     ? make_dtype(kDLComplex, bits)
         : std::strchr("bhilqn", *format) != nullptr ? make_dtype(kDLInt, bits)
         : std::strchr("BHILQN", *format) != nullptr ? make_dtype(kDLUInt, bits)
         : std::strchr("efd", *format) != nullptr    ? make_dtype(kDLFloat, bits)
         : *format == '?'                            ? make_dtype(kDLBool, bits)
                                                     : dtype{0, 0, 0};
}

// Strides in elements. An axis with at most one index needs none.
inline bool buffer_strides(const Py_buffer& view, std::int64_t* shape,
                           std::int64_t* strides) noexcept {
  for (int axis = 0; axis < view.ndim; ++axis) {
    const bool used = view.shape[axis] > 1;
    shape[axis] = view.shape[axis];
    strides[axis] = used ? view.strides[axis] / view.itemsize : 1;
    if (used && view.strides[axis] % view.itemsize != 0) {
      dlbridge_py_reject_(
          PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_NONE,
          "strides: expected a multiple of the element's %zd bytes on axis %d, found "
          "%zd bytes; copy the buffer",
          view.itemsize, axis, view.strides[axis]);
      return false;
    }
  }
  return true;
}

// Makes a tensor of the buffer, which passes to it or is released.
inline bool wrap_buffer(DLBridgePy* py, Py_buffer* view, const policy& demands,
                        DLManagedTensorVersioned** out) noexcept {
  std::int64_t shape[DLBRIDGE_MAX_NDIM];
  std::int64_t strides[DLBRIDGE_MAX_NDIM];
  DLBridgeWrapSpec spec = dlbridge_wrap_spec_init();
  spec.dtype = buffer_dtype(*view);
  if (spec.dtype.bits == 0) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_POLICY, DLBRIDGE_RULE_DTYPE_REJECTED,
                        "dtype: expected a buffer of numbers or bools in the byte order of this "
                        "machine, found the format \"%.50s\" of %zd bytes; convert it",
                        view->format, view->itemsize);
    PyBuffer_Release(view);
    return false;
  }
  if (!buffer_strides(*view, &shape[0], &strides[0])) {
    PyBuffer_Release(view);
    return false;
  }
  spec.ndim = view->ndim;
  spec.shape = &shape[0];
  spec.strides = &strides[0];
  spec.device = {kDLCPU, 0};
  spec.buffer = dlbridge_buffer_address(view->buf);
  spec.tensor_flags = view->readonly != 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  spec.policy = demands.raw();
  return dlbridge_py_wrap_buffer(py, view, &spec, out) == 0;
}

inline bool import_buffer(DLBridgePy* py, PyObject* object, const policy& demands,
                          DLManagedTensorVersioned** out) noexcept {
  Py_buffer view;
  return PyObject_GetBuffer(object, &view, PyBUF_STRIDES | PyBUF_FORMAT) == 0 &&
         wrap_buffer(py, &view, demands, out);
}

}  // namespace py::detail
DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_PYTHON_BUFFER_HPP_
