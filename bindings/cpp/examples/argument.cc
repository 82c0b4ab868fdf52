// SPDX-License-Identifier: Apache-2.0
// A typed argument: n points of 3 floats on the CPU, from a managed tensor of any kind.
#include <dlbridge/dlbridge.hpp>
#include <iostream>

using points = dlbridge::arg<const float, dlbridge::shape<-1, 3>>;

float sum_of_x(const points& given) {
  float sum = 0;
  for (std::int64_t i = 0; i < given.extent(0); ++i) {
    sum += given(i, 0);
  }
  return sum;
}

int main() {
  static float data[] = {1, 2, 3, 4, 5, 6};
  static std::int64_t shape[] = {2, 3};
  static DLManagedTensor tensor = {
      {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0}, nullptr, nullptr};
  void* managed = &tensor;
  std::cout << sum_of_x(points::import(managed).value()) << '\n';

  // The library names the broken rule; the tensor is untouched.
  using pairs = dlbridge::arg<const float, dlbridge::shape<-1, 2>>;
  const auto rejected = pairs::import(managed);
  std::cout << dlbridge::name(rejected.error().rule()) << ": " << rejected.error().message()
            << '\n';
}
