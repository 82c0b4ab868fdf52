// SPDX-License-Identifier: Apache-2.0
// Tensors of LibTorch as tensors of dlbridge, and the reverse, with what LibTorch forgets.
#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>

#include <dlbridge/dlbridge.hpp>
#include <iostream>
#include <utility>
#include <vector>

// The memory of `tensor`, validated; its storage lives as long as the result.
dlbridge::result<dlbridge::tensor> from_torch(const at::Tensor& tensor) {
  // LibTorch's DLPack ignores these two: the memory of such a view does not have its values.
  const at::Tensor plain = tensor.resolve_conj().resolve_neg();
  return dlbridge::import(dlbridge::foreign_versioned(at::toDLPackVersioned(plain)));
}

// LibTorch drops READ_ONLY without a word, and takes no negative strides: it gets a copy of these.
dlbridge::result<at::Tensor> to_torch(dlbridge::tensor&& tensor) {
  const auto layout = dlbridge::layout(tensor);
  if (!layout) return layout.error();
  if (tensor.read_only() || layout->has_negative_strides()) {
    auto copied = dlbridge::copy(tensor);
    if (!copied) return copied.error();
    tensor = *std::move(copied);
  }
  return at::fromDLPackVersioned(tensor.release());
}

int main() {
  const at::Tensor x = at::arange(6, at::kFloat).reshape({2, 3});
  auto rows = from_torch(x.t()).value();
  x[1][2] = 50;
  std::cout << "one memory: " << rows.elements<const float, 2>().value()(2, 1) << '\n';
  at::Tensor back = to_torch(std::move(rows)).value();
  back[0][0] = 7;
  std::cout << "and back: " << x[0][0].item<float>() << '\n';

  static const std::vector<float> weights = {1, 2, 3};
  at::Tensor copied = to_torch(dlbridge::wrap_borrowed(weights).value()).value();
  copied.fill_(0);
  std::cout << "immutable: " << weights[2] << '\n';
}
