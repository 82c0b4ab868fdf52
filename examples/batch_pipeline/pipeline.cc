// SPDX-License-Identifier: Apache-2.0
// A pipeline takes the batches of a loader as a whole or not at all, and stacks them by threads.
#include <array>
#include <dlbridge/dlbridge.hpp>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

// What a loader of another library returns: legacy tensors of three floats each.
struct loaded {
  std::vector<float> values;
  std::array<std::int64_t, 1> shape;
  DLManagedTensor managed;
};

dlbridge::foreign_legacy load(std::vector<float> values) {
  auto* made = new loaded{std::move(values), {}, {}};
  made->shape = {static_cast<std::int64_t>(made->values.size())};
  made->managed.dl_tensor = {made->values.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1},
                             made->shape.data(),  nullptr,     0};
  made->managed.manager_ctx = made;
  made->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<loaded*>(self->manager_ctx);
  };
  return dlbridge::foreign_legacy(&made->managed);
}

dlbridge::result<dlbridge::tensor> stack(std::vector<dlbridge::foreign_legacy> batch) {
  const std::array<std::int64_t, 1> three = {3};
  const std::array float32 = {dlbridge::dtype_of<float>::value};
  const auto demands = dlbridge::policy().shape(three).dtypes(float32);
  std::vector<dlbridge::tensor> samples(batch.size());
  std::size_t failed = 0;
  const auto taken =
      dlbridge::upgrade_many(batch, samples, dlbridge::convert_options().policy(demands), &failed);
  if (!taken) {
    std::cout << "sample " << failed << ": " << taken.error().message() << '\n';
    return taken.error();  // no sample was taken: `batch` releases them all
  }
  const std::array<std::int64_t, 2> shape = {static_cast<std::int64_t>(samples.size()), 3};
  auto stacked = dlbridge::allocate(dlbridge::allocate_spec(float32[0], shape));
  if (!stacked) return stacked;
  const auto to = stacked->elements<float, 2>().value();
  std::vector<std::thread> threads;
  for (std::size_t row = 0; row < samples.size(); ++row)
    threads.emplace_back([&, row] {
      const auto from = samples[row].elements<const float, 1>().value();
      for (std::int64_t i = 0; i < 3; ++i) to(static_cast<std::int64_t>(row), i) = from(i) / 255;
    });
  for (auto& thread : threads) thread.join();
  return stacked;
}

std::vector<dlbridge::foreign_legacy> load_batch(std::vector<std::vector<float>> samples) {
  std::vector<dlbridge::foreign_legacy> batch;
  for (auto& sample : samples) batch.push_back(load(std::move(sample)));
  return batch;
}

int main() {
  const auto batch = stack(load_batch({{255, 0, 0}, {0, 255, 51}}));
  if (!batch) return 1;
  const auto view = batch->elements<const float, 2>().value();
  std::cout << view.extent(0) << " x " << view.extent(1) << ", last " << view(1, 2) << '\n';
  return stack(load_batch({{255, 0, 0}, {1, 2}})) ? 1 : 0;
}
