// SPDX-License-Identifier: Apache-2.0
// What the test extensions do with typed arguments.
#pragma once

#include <dlbridge/python.hpp>
#include <thread>

namespace typed {

namespace db = dlbridge;

using points = db::py::arg<const float, db::shape<-1, 3>>;
using writable = db::py::arg<float, db::py::cpu, db::shape<-1, 3>>;
using vouched = db::py::arg<float, db::shape<-1, 3>, db::py::vouch_writable>;
using rows = db::py::arg<const float, db::shape<-1, -1>, db::py::c_contiguous>;
using columns = db::py::arg<const float, db::py::f_contiguous, db::shape<-1, -1>>;
using on_cuda = db::py::arg<const float, db::shape<-1, 3>, db::py::cuda>;
using scalar = db::py::arg<const std::int64_t, db::shape<>>;
using bytes = db::py::arg<const std::uint8_t, db::shape<-1>>;
using numbers =
    db::py::arg<db::py::one_of<const float, const double, const std::int64_t>, db::shape<-1>>;

inline double sum(const points& given) {
  double total = 0;
  for (std::int64_t i = 0; i < given.extent(0); ++i) {
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      total += static_cast<double>(given(i, axis));
    }
  }
  return total;
}

// Takes any arg with two axes of float.
template <class Arg>
void negate(const Arg& given) {
  for (std::int64_t i = 0; i < given.extent(0); ++i) {
    for (std::int64_t j = 0; j < given.extent(1); ++j) {
      given(i, j) = -given(i, j);
    }
  }
}

inline double sum_numbers(const numbers& given) {
  return given.visit([](const auto& view) {
    double total = 0;
    for (std::int64_t i = 0; i < view.extent(0); ++i) {
      total += static_cast<double>(view(i));
    }
    return total;
  });
}

// Releases its argument on a thread without the GIL.
inline void release_elsewhere(points given) {
  PyThreadState* const state = PyEval_SaveThread();
  std::thread([moved = std::move(given)]() mutable { moved = points(); }).join();
  PyEval_RestoreThread(state);
}

}  // namespace typed
