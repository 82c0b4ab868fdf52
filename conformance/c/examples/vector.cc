// SPDX-License-Identifier: Apache-2.0
// A library in C++ that exchanges compact arrays of float, and its check. It copies what it
// imports.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "dlbridge/conformance.hpp"

namespace {

namespace conformance = dlbridge::conformance;

struct Array {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

void Check(DLBridgeStatus status, const DLBridgeError& error) {
  if (status != DLBRIDGE_OK) {
    throw std::runtime_error(error.message);
  }
}

// A tensor that owns an array.
struct Owner {
  DLManagedTensorVersioned tensor = {};
  std::shared_ptr<Array> array;
  std::vector<int64_t> strides;
};

DLManagedTensorVersioned* Export(const std::shared_ptr<Array>& array) {
  auto owner = std::make_unique<Owner>();
  owner->array = array;
  owner->strides.assign(array->shape.size(), 1);
  for (size_t i = array->shape.size(); i-- > 1;) {
    owner->strides[i - 1] = owner->strides[i] * array->shape[i];
  }
  DLManagedTensorVersioned& tensor = owner->tensor;
  tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  tensor.manager_ctx = owner.get();
  tensor.deleter = [](DLManagedTensorVersioned* self) {
    delete static_cast<Owner*>(self->manager_ctx);
  };
  tensor.dl_tensor.data = array->values.empty() ? nullptr : array->values.data();
  tensor.dl_tensor.device = {kDLCPU, 0};
  tensor.dl_tensor.ndim = static_cast<int32_t>(array->shape.size());
  tensor.dl_tensor.dtype = {kDLFloat, 32, 1};
  tensor.dl_tensor.shape = array->shape.data();
  tensor.dl_tensor.strides = owner->strides.data();
  return &owner.release()->tensor;
}

// Takes the tensor over, copies it and releases it. On an error it is untouched.
std::shared_ptr<Array> Import(void* given, DLBridgeKind kind) {
  DLBridgePolicy policy = dlbridge_policy_init();
  const DLDataType float32 = {kDLFloat, 32, 1};
  policy.dtypes = &float32;
  policy.dtype_count = 1;
  DLBridgeConvertOptions options = dlbridge_convert_options_init();
  options.options = DLBRIDGE_CONVERT_COPY;
  options.policy = &policy;
  DLManagedTensorVersioned* tensor = nullptr;
  DLBridgeError error;
  Check(dlbridge_import(given, kind, &options, &tensor, &error), error);
  auto array = std::make_shared<Array>();
  const DLTensor& from = tensor->dl_tensor;
  size_t count = 1;
  for (int32_t i = 0; i < from.ndim; ++i) {
    array->shape.push_back(from.shape[i]);
    count *= static_cast<size_t>(from.shape[i]);
  }
  const auto* data =
      reinterpret_cast<const float*>(static_cast<const char*>(from.data) + from.byte_offset);
  array->values.assign(data, data + count);
  dlbridge_release_versioned(tensor);
  return array;
}

class Library {
 public:
  using Array = std::shared_ptr<::Array>;

  conformance::Managed make(const conformance::Request& request, std::unique_ptr<Array>* out) {
    auto array = std::make_shared<::Array>();
    array->shape.assign(request.shape, request.shape + request.ndim);
    const auto* values = static_cast<const float*>(request.values);
    array->values.assign(values, values + request.value_bytes / sizeof(float));
    *out = std::make_unique<Array>(array);
    return {Export(array), DLBRIDGE_KIND_VERSIONED};
  }

  std::unique_ptr<Array> consume(const conformance::Offer& offer) {
    return std::make_unique<Array>(Import(offer.tensor, offer.kind));
  }

  std::vector<unsigned char> read(Array& array) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(array->values.data());
    return {bytes, bytes + array->values.size() * sizeof(float)};
  }

  void write(Array& array, const unsigned char* values, size_t size) {
    if (size != array->values.size() * sizeof(float)) {
      throw std::runtime_error("another number of bytes");
    }
    std::memcpy(array->values.data(), values, size);
  }
};

}  // namespace

int main(int argc, char** argv) {
  static const DLDataType float32 = {kDLFloat, 32, 1};
  Library library;
  DLBridgeConformanceProject project = conformance::Describe(library, "vector");
  project.dtypes = &float32;
  project.dtype_count = 1;
  project.unsupported = DLBRIDGE_CONFORMANCE_SHARING;
  project.producer_unsupported = DLBRIDGE_CONFORMANCE_LEGACY | DLBRIDGE_CONFORMANCE_STRIDES |
                                 DLBRIDGE_CONFORMANCE_READ_ONLY | DLBRIDGE_CONFORMANCE_COPY;
  return dlbridge_conformance_main(argc, argv, &project);
}
