// SPDX-License-Identifier: Apache-2.0
// A user of the library in C++11 and later, with exceptions and the C++ runtime. The argument is
// the version that the library must have. Prints the first failed expectation and fails then.
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "dlbridge/dlbridge.h"

namespace {

int deleted = 0;

struct Release {
  void operator()(DLManagedTensorVersioned* tensor) const { dlbridge_release_versioned(tensor); }
};
using Tensor = std::unique_ptr<DLManagedTensorVersioned, Release>;

void demand(bool fulfilled, const std::string& what) {
  if (!fulfilled) throw std::runtime_error(what);
}

Tensor upgrade(DLManagedTensor& legacy) {
  DLManagedTensorVersioned* tensor = nullptr;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  demand(dlbridge_upgrade(&legacy, nullptr, &tensor, &error) == DLBRIDGE_OK, error.message);
  return Tensor(tensor);
}

bool rejects(DLManagedTensor& legacy) {
  try {
    upgrade(legacy);
  } catch (const std::runtime_error&) {
    return true;
  }
  return false;
}

void check(const std::string& version) {
  demand(version == DLBRIDGE_VERSION_STRING, "header of another version");
  demand(version == dlbridge_version_string(), "library of another version");

  float data[6] = {};
  int64_t shape[2] = {std::numeric_limits<int64_t>::max(), 3};
  DLManagedTensor legacy = {};
  legacy.dl_tensor.data = data;
  legacy.dl_tensor.device = {kDLCPU, 0};
  legacy.dl_tensor.ndim = 2;
  legacy.dl_tensor.dtype = {kDLFloat, 32, 1};
  legacy.dl_tensor.shape = shape;
  legacy.deleter = [](DLManagedTensor*) { ++deleted; };

  demand(rejects(legacy) && deleted == 0, "a crafted shape was accepted");
  shape[0] = 2;
  Tensor tensor = upgrade(legacy);
  demand(tensor->dl_tensor.data == data && deleted == 0, "wrong tensor");
  tensor.reset();
  demand(deleted == 1, "the deleter was not called exactly once");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    demand(argc == 2, "usage: program VERSION");
    check(argv[1]);
    std::cout << "C++, dlbridge " << dlbridge_version_string() << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
