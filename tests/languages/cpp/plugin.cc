// SPDX-License-Identifier: Apache-2.0
// The plugin of plugin.h in C++.
#include "../plugin.h"

#include <dlbridge/dlbridge.hpp>
#include <new>

namespace {

double SumOf(const dlbridge::strided_view<const float, 3>& view) {
  double sum = 0;
  for (int64_t i = 0; i < view.extent(0); ++i) {
    for (int64_t j = 0; j < view.extent(1); ++j) {
      for (int64_t k = 0; k < view.extent(2); ++k) {
        sum += view(i, j, k);
      }
    }
  }
  return sum;
}

dlbridge::tensor* TensorOf(uintptr_t holder) { return reinterpret_cast<dlbridge::tensor*>(holder); }

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int32_t cpp_take(DLManagedTensorVersioned* tensor,
                                                        uintptr_t* holder, double* sum) {
  auto own = dlbridge::import(dlbridge::foreign_versioned(tensor));
  if (!own) {
    return static_cast<int32_t>(own.error().status());
  }
  const auto view = own->elements<const float, 3>();
  if (!view) {
    return static_cast<int32_t>(view.error().status());
  }
  *sum = SumOf(*view);
  auto* kept = new (std::nothrow) dlbridge::tensor(std::move(*own));
  *holder = reinterpret_cast<uintptr_t>(kept);
  return kept != nullptr ? 0 : DLBRIDGE_ERROR_OUT_OF_MEMORY;
}

__attribute__((visibility("default"))) int32_t cpp_share(uintptr_t holder,
                                                         DLManagedTensorVersioned** out) {
  auto shared = dlbridge::share(*TensorOf(holder));
  *out = shared ? shared->release() : nullptr;
  return shared ? 0 : static_cast<int32_t>(shared.error().status());
}

__attribute__((visibility("default"))) void cpp_drop(uintptr_t holder) { delete TensorOf(holder); }

}  // extern "C"
