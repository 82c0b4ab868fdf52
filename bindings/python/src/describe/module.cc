// SPDX-License-Identifier: Apache-2.0
// The extension `dlbridge._describe`: the C ABI beyond the hot path, on addresses of live structs.
#include "describe.h"

NB_MODULE(_describe, module) {
  nanobind::set_leak_warnings(false);  // the package never prints
  module.doc() =
      "The C ABI of dlbridge on addresses (int) of live structs. The caller guarantees that an "
      "address "
      "is what they say; dlbridge.abi documents each function.";
  dlbridge::python::BindOptions(&module);
  dlbridge::python::BindText(&module);
  dlbridge::python::BindValidate(&module);
  dlbridge::python::BindConvert(&module);
  dlbridge::python::BindMake(&module);
  dlbridge::python::BindDevice(&module);
  dlbridge::python::BindContext(&module);
  dlbridge::python::BindIpc(&module);
  dlbridge::python::BindPython(&module);
}
