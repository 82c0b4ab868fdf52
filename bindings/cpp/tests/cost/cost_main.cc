// SPDX-License-Identifier: Apache-2.0
// cost FUNCTION: runs a function such as `c_validate` or `cpp_upgrade` 1000 times on a tensor of
// four axes, under callgrind, which counts inside that function only.
#include <cstdio>
#include <cstring>

#include "cost.h"

namespace {

struct Operation {
  const char* name;
  int (*legacy)(DLManagedTensor*);
  int (*shared)(const DLManagedTensorVersioned*);
};

int Validate(DLManagedTensor* tensor) { return c_validate(tensor); }
int ValidateCpp(DLManagedTensor* tensor) { return cpp_validate(tensor); }
int Import(DLManagedTensor* tensor) { return c_import(tensor); }
int ImportCpp(DLManagedTensor* tensor) { return cpp_import(tensor); }

constexpr Operation kOperations[] = {
    {"c_validate", Validate, nullptr}, {"cpp_validate", ValidateCpp, nullptr},
    {"c_import", Import, nullptr},     {"cpp_import", ImportCpp, nullptr},
    {"c_upgrade", c_upgrade, nullptr}, {"cpp_upgrade", cpp_upgrade, nullptr},
    {"c_share", nullptr, c_share},     {"cpp_share", nullptr, cpp_share},
};

}  // namespace

int main(int argc, char** argv) {
  float data[120] = {};
  int64_t shape[4] = {2, 3, 4, 5};
  int64_t strides[4] = {60, 20, 5, 1};
  DLManagedTensor legacy = {
      {data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, strides, 0}, nullptr, nullptr};
  DLManagedTensor other = legacy;
  DLManagedTensorVersioned* owned = nullptr;
  if (dlbridge_upgrade(&other, nullptr, &owned, nullptr) != DLBRIDGE_OK) {
    return 1;
  }
  int done = 0;
  for (const Operation& operation : kOperations) {
    for (int i = 0; argc == 2 && std::strcmp(argv[1], operation.name) == 0 && i < 1000; ++i) {
      done += operation.legacy != nullptr ? operation.legacy(&legacy) : operation.shared(owned);
    }
  }
  dlbridge_release_versioned(owned);
  std::printf("%d\n", done);
  return done == 1000 ? 0 : 1;
}
