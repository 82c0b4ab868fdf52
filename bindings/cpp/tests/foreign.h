// SPDX-License-Identifier: Apache-2.0
// A producer of tensors for the tests: legacy and versioned structs whose deleters count calls.
#ifndef DLBRIDGE_CPP_TESTS_FOREIGN_H_
#define DLBRIDGE_CPP_TESTS_FOREIGN_H_

#include <cstdint>
#include <vector>

#include "dlbridge/dlbridge.hpp"

namespace dlbridge_cpp_test {

// A 2 x 3 float tensor with the elements 0 to 5 in its own memory.
class Foreign {
 public:
  Foreign() {
    legacy.dl_tensor = borrowed();
    legacy.manager_ctx = this;
    legacy.deleter = [](DLManagedTensor* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->deletes;
    };
    versioned.version = {1, 3};
    versioned.dl_tensor = borrowed();
    versioned.manager_ctx = this;
    versioned.deleter = [](DLManagedTensorVersioned* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->deletes;
    };
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  DLTensor borrowed() {
    return {elements.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  }
  dlbridge::foreign_legacy as_legacy() { return dlbridge::foreign_legacy(&legacy); }
  dlbridge::foreign_versioned as_versioned() { return dlbridge::foreign_versioned(&versioned); }

  std::vector<float> elements = {0, 1, 2, 3, 4, 5};
  std::int64_t shape[2] = {2, 3};
  std::int64_t strides[2] = {3, 1};
  DLManagedTensor legacy = {};
  DLManagedTensorVersioned versioned = {};
  int deletes = 0;
};

}  // namespace dlbridge_cpp_test

#endif  // DLBRIDGE_CPP_TESTS_FOREIGN_H_
