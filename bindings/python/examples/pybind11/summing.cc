// SPDX-License-Identifier: Apache-2.0
#include <dlbridge/pybind11.hpp>

using points = dlbridge::py::arg<const float, dlbridge::shape<-1, 3>>;

double sum(const points& given) {
  double total = 0;
  for (std::int64_t i = 0; i < given.extent(0); ++i)
    for (std::int64_t axis = 0; axis < 3; ++axis) total += given(i, axis);
  return total;
}

PYBIND11_MODULE(summing, m) { m.def("sum", &sum, "Adds the coordinates of points."); }
