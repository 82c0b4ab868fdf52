// SPDX-License-Identifier: Apache-2.0
// The operations as a user of the binding writes them.
#include "cost.h"
#include "dlbridge/dlbridge.hpp"

int cpp_validate(const DLManagedTensor* tensor) {
  return dlbridge::validate(tensor).has_value() ? 1 : 0;
}

int cpp_upgrade(DLManagedTensor* tensor) {
  return dlbridge::upgrade(dlbridge::foreign_legacy(tensor)).has_value() ? 1 : 0;
}

int cpp_import(void* tensor) { return dlbridge::import(tensor).has_value() ? 1 : 0; }

int cpp_share(const DLManagedTensorVersioned* tensor) {
  // A user's program has an owner; here a cast of the pointer makes one at no cost.
  static_assert(sizeof(dlbridge::tensor) == sizeof tensor);
  const auto& owner = *reinterpret_cast<const dlbridge::tensor*>(&tensor);
  return dlbridge::share(owner).has_value() ? 1 : 0;
}
