// SPDX-License-Identifier: Apache-2.0
#include <dlbridge/python.hpp>

using points = dlbridge::py::arg<const float, dlbridge::shape<-1, 3>>;

static PyObject* sum(PyObject*, PyObject* object) {
  const points given = points::import(object);
  if (!given) return nullptr;
  double total = 0;
  for (std::int64_t i = 0; i < given.extent(0); ++i)
    for (std::int64_t axis = 0; axis < 3; ++axis) total += given(i, axis);
  return PyFloat_FromDouble(total);
}

static PyMethodDef methods[] = {{"sum", sum, METH_O, "Adds the coordinates of points."}, {}};
static PyModuleDef summing = {PyModuleDef_HEAD_INIT, "summing", nullptr, 0, methods};
PyMODINIT_FUNC PyInit_summing() { return PyModuleDef_Init(&summing); }
