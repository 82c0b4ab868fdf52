// SPDX-License-Identifier: Apache-2.0
// A peer: what an extension of nanobind does with an array that it receives.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

NB_MODULE(exchange_nanobind, module) {
  module.def("nothing", [](nb::handle) {});
  module.def("take", [](nb::ndarray<>) {});
}
