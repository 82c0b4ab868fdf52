// SPDX-License-Identifier: Apache-2.0
// Typed arguments of nanobind's functions.
#include <dlbridge/nanobind.hpp>
//
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "functions.hpp"

using namespace typed;
using doubles = db::py::arg<const double, db::shape<-1, 3>>;

NB_MODULE(typed_nanobind, m) {
  db::py::translate_exceptions();
  m.def("sum", &sum);
  m.def("negate", [](writable given) { negate(given); });
  m.def("numbers", &sum_numbers);
  m.def("element", [](const points& given, long long i, long long j) { return given.at(i, j); });
  m.def("which", [](const points&) { return "float"; });
  m.def("which", [](const doubles&) { return "double"; });
  m.def("which", [](const std::string&) { return "str"; });
  m.def("which", [](double) { return "number"; });
  m.def(
      "maybe", [](const std::optional<points>& given) { return given ? sum(*given) : -1.0; },
      nanobind::arg().none());
  m.def("count", [](const std::vector<points>& given) { return given.size(); });
  m.def("forward", [](points given) { return given; });
  m.def("share", [](const points& given) { return db::share(given.owner()).value(); });
  m.def("pass_on", [](db::tensor given) { return given; });
  m.def("empty", [] { return db::tensor(); });
  m.def("release", [](points given) { release_elsewhere(std::move(given)); });
  m.def("unlocked", &sum, nanobind::call_guard<nanobind::gil_scoped_release>());
  m.def(
      "unlocked_copy", [](points given) { return sum(given); },
      nanobind::call_guard<nanobind::gil_scoped_release>());
}
