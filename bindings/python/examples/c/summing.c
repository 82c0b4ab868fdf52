/* SPDX-License-Identifier: Apache-2.0 */
#include <Python.h>
#include <dlbridge/cpython_api.h>

static const int64_t any_by_three[] = {-1, 3};
static const DLDataType float32 = {kDLFloat, 32, 1};
static const DLDevice cpu = {kDLCPU, 0};

static PyObject* sum(PyObject* module, PyObject* object) {
  DLBridgePolicy demands = dlbridge_policy_init();
  DLBridgePyImportOptions options = dlbridge_py_import_options_init();
  DLManagedTensorVersioned* points;
  double total = 0;
  demands.options = DLBRIDGE_POLICY_LIMIT_NDIM | DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS;
  demands.min_ndim = demands.max_ndim = 2;
  demands.shape = any_by_three;
  demands.dtypes = &float32;
  demands.dtype_count = 1;
  demands.devices = &cpu;
  demands.device_count = 1;
  demands.alignment = sizeof(float);
  options.options = DLBRIDGE_PY_OWNED;
  options.policy = &demands;
  DLBridgePy* py = dlbridge_py_state();
  if (py == NULL || dlbridge_py_import(py, object, &options, &points) < 0) return NULL;
  const DLTensor* tensor = &points->dl_tensor;
  const float* data = (const float*)((const char*)tensor->data + tensor->byte_offset);
  for (int64_t i = 0; i < tensor->shape[0]; ++i)
    for (int64_t axis = 0; axis < 3; ++axis)
      total += data[i * tensor->strides[0] + axis * tensor->strides[1]];
  dlbridge_py_release(points);
  return PyFloat_FromDouble(total);
}

static PyMethodDef methods[] = {{"sum", sum, METH_O, "Adds the coordinates of points."}, {NULL}};
static PyModuleDef summing = {PyModuleDef_HEAD_INIT, "summing", NULL, 0, methods};
PyMODINIT_FUNC PyInit_summing(void) { return PyModuleDef_Init(&summing); }
