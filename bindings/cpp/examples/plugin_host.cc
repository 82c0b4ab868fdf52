// SPDX-License-Identifier: Apache-2.0
// A plugin host: accepts a void* of either managed struct, logs why it rejects one, shares the
// rest.
#include <array>
#include <dlbridge/dlbridge.hpp>
#include <iostream>

// host: begin
std::array<dlbridge::tensor, 2> accept(void* managed) {
  auto imported = dlbridge::import(managed);
  if (!imported) {
    std::cout << "rejected: " << imported.error().message() << '\n';
    return {};  // the tensor is still the plugin's
  }
  return {dlbridge::share(*imported).value(), *std::move(imported)};
}
// host: end

int main() {
  static float data[6] = {};
  static std::int64_t shape[] = {2, 3};
  static DLManagedTensor tensor = {{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0},
                                   nullptr,
                                   [](DLManagedTensor*) { std::cout << "released\n"; }};
  for (const dlbridge::tensor& owner : accept(&tensor)) {
    std::cout << dlbridge::to_string(owner.dtype()) << ", " << owner.size() << " elements\n";
  }
  shape[1] = -3;
  std::cout << accept(&tensor)[0].size() << " elements\n";
}
