// SPDX-License-Identifier: Apache-2.0
// A tensor comes from code that nobody here wrote, is checked, shared and read; own memory goes
// out.
#include <dlbridge/dlbridge.hpp>
#include <iostream>
#include <vector>

// What a framework hands out: here a 2 x 3 float array with a deleter that says when it runs.
DLManagedTensor* produce() {
  static float data[] = {0, 1, 2, 3, 4, 5};
  static std::int64_t shape[] = {2, 3};
  static DLManagedTensor tensor = {{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0},
                                   nullptr,
                                   [](DLManagedTensor*) { std::cout << "released\n"; }};
  return &tensor;
}

int main() {
  // Owned from here on, but not validated: foreign.elements<float, 2>() does not compile.
  dlbridge::foreign_legacy foreign(produce());

  // Validated and snapshotted, or rejected with the rule that it broke. value() would throw
  // instead.
  dlbridge::result<dlbridge::tensor> upgraded = dlbridge::upgrade(std::move(foreign));
  if (!upgraded) {
    std::cerr << upgraded.error().message() << '\n';
    return 1;
  }

  // Nothing said that it may be written to, so only const elements are given.
  const auto view = upgraded->elements<const float, 2>().value();
  std::cout << "element (1, 2): " << view(1, 2) << '\n';
  std::cout << upgraded->elements<float, 2>().error().message() << '\n';

  // One more owner of the same data; the last one releases it.
  dlbridge::tensor shared = dlbridge::share(*upgraded).value();
  upgraded->reset();
  shared.reset();

  // Own memory moves in and is lent to whoever reads DLPack.
  dlbridge::tensor mine = dlbridge::wrap_owned(std::vector<double>{1, 2, 3}).value();
  DLManagedTensorVersioned* out = mine.release();  // to a consumer, which releases it once
  out->deleter(out);
}
