// SPDX-License-Identifier: Apache-2.0
// A tensor comes from foreign code, is imported, shared and read; own memory goes out.
#include <dlbridge/dlbridge.hpp>
#include <iostream>
#include <vector>

// What a framework returns: here a 2 x 3 float array whose deleter prints a line.
DLManagedTensor* produce() {
  static float data[] = {0, 1, 2, 3, 4, 5};
  static std::int64_t shape[] = {2, 3};
  static DLManagedTensor tensor = {{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0},
                                   nullptr,
                                   [](DLManagedTensor*) { std::cout << "released\n"; }};
  return &tensor;
}

int main() {
  // Validated, its metadata copied, and owned; or an error with the broken rule.
  dlbridge::result<dlbridge::tensor> imported = dlbridge::import(produce());
  if (!imported) {
    std::cerr << imported.error().message() << '\n';
    return 1;
  }

  // A legacy tensor does not record that it may be written to, so it gives const elements only.
  const auto view = imported->elements<const float, 2>().value();
  std::cout << "element (1, 2): " << view(1, 2) << '\n';
  std::cout << imported->elements<float, 2>().error().message() << '\n';

  // One more owner of the same data; the last one releases it.
  dlbridge::tensor shared = dlbridge::share(*imported).value();
  imported->reset();
  shared.reset();

  // Own memory moves in, and goes to a consumer as the struct that it reads.
  dlbridge::tensor mine = dlbridge::wrap_owned(std::vector<double>{1, 2, 3}).value();
  dlbridge::any_tensor out = dlbridge::export_to(std::move(mine), {0, 8}).value();
  void* managed = out.release();  // a DLManagedTensor*, which the consumer releases once
  dlbridge::release(managed, dlbridge::kind::legacy).value();
}
