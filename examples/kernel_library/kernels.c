/* SPDX-License-Identifier: Apache-2.0 */
#include <Python.h>
#include <dlbridge/cpython_api.h>

/* What the kernel reads and writes, whatever framework it comes from: a matrix of float32 on the
 * CPU. */
static DLManagedTensorVersioned* matrix(PyObject* object, uint32_t more) {
  static const DLDevice cpu = {kDLCPU, 0};
  static const DLDataType float32 = {kDLFloat, 32, 1};
  DLBridgePolicy demands = dlbridge_policy_init();
  demands.options = DLBRIDGE_POLICY_LIMIT_NDIM | DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS | more;
  demands.min_ndim = demands.max_ndim = 2, demands.alignment = sizeof(float);
  demands.dtypes = &float32, demands.dtype_count = 1, demands.devices = &cpu,
  demands.device_count = 1;
  DLBridgePyImportOptions options = dlbridge_py_import_options_init();
  options.options = DLBRIDGE_PY_OWNED, options.policy = &demands;
  DLManagedTensorVersioned* tensor = NULL;
  DLBridgePy* py = dlbridge_py_state();
  if (py != NULL) dlbridge_py_import(py, object, &options, &tensor);
  return tensor; /* NULL: the exception names the broken rule and what to do */
}

static void multiply(const DLTensor* tensor, float factor) {
  float* data = (float*)((char*)tensor->data + tensor->byte_offset);
  for (int64_t i = 0; i < tensor->shape[0]; ++i)
    for (int64_t j = 0; j < tensor->shape[1]; ++j)
      data[i * tensor->strides[0] + j * tensor->strides[1]] *= factor;
}

static PyObject* scale(PyObject* module, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) return PyErr_SetString(PyExc_TypeError, "expected a matrix and a factor"), NULL;
  const double factor = PyFloat_AsDouble(arguments[1]);
  if (PyErr_Occurred()) return NULL;
  DLManagedTensorVersioned* tensor = matrix(arguments[0], DLBRIDGE_POLICY_REQUIRE_WRITABLE);
  if (tensor == NULL) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  multiply(&tensor->dl_tensor, (float)factor);
  Py_END_ALLOW_THREADS;
  dlbridge_py_release(tensor);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"scale", (PyCFunction)(void*)scale, METH_FASTCALL, "scale(matrix, factor), in place"}, {NULL}};
static PyModuleDef kernels = {PyModuleDef_HEAD_INIT, "kernels", NULL, 0, methods};
PyMODINIT_FUNC PyInit_kernels(void) { return PyModuleDef_Init(&kernels); }
