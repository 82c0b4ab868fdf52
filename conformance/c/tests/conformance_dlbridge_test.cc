// SPDX-License-Identifier: Apache-2.0
// dlbridge passes its own kit: exports by allocate, view and downgrade, imports by dlbridge_import.
// An array is a dlbridge-owned versioned tensor.
#include <cstring>

#include "support.h"

namespace conformance_test {
namespace {

using Request = DLBridgeConformanceRequest;
using Export = DLBridgeConformanceExport;
using Offer = DLBridgeConformanceOffer;
using Answer = DLBridgeConformanceAnswer;
using Tensor = DLManagedTensorVersioned;

Answer Rejected(const DLBridgeError& error, char* message) {
  snprintf(message, DLBRIDGE_CONFORMANCE_MESSAGE_SIZE, "%s", error.message);
  return DLBRIDGE_CONFORMANCE_REJECTED;
}

unsigned char* DataOf(const Tensor* tensor) {
  return static_cast<unsigned char*>(tensor->dl_tensor.data) + tensor->dl_tensor.byte_offset;
}

// Compact memory with the values, which view then lays out.
DLBridgeStatus Allocate(const Request* request, const int64_t* shape, int32_t ndim, Tensor** out,
                        DLBridgeError* error) {
  DLBridgeAllocateSpec spec = dlbridge_allocate_spec_init();
  spec.shape = shape;
  spec.ndim = ndim;
  spec.dtype = request->dtype;
  spec.tensor_flags = request->tensor_flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  spec.version = request->max_version;
  return dlbridge_allocate(&spec, out, error);
}

// The layouts of the kit for a producer have as many elements as bytes: no gaps.
DLBridgeStatus Arrange(const Request* request, Tensor** out, DLBridgeError* error) {
  if (request->strides == nullptr) {
    const DLBridgeStatus status = Allocate(request, request->shape, request->ndim, out, error);
    if (status == DLBRIDGE_OK && request->value_bytes > 0) {
      memcpy(DataOf(*out), request->values, request->value_bytes);
    }
    return status;
  }
  const int64_t count = 6;
  Tensor* flat = nullptr;
  DLBridgeStatus status = Allocate(request, &count, 1, &flat, error);
  if (status != DLBRIDGE_OK) {
    return status;
  }
  DLBridgeViewSpec view = dlbridge_view_spec_init();
  view.ndim = request->ndim;
  view.shape = request->shape;
  view.strides = request->strides;
  status = dlbridge_view(flat, &view, out, error);
  dlbridge_release_versioned(flat);
  if (status == DLBRIDGE_OK) {
    const auto* values = static_cast<const float*>(request->values);
    auto* data = reinterpret_cast<float*>(DataOf(*out));
    for (int64_t i = 0; i < 6; ++i) {
      data[i / 3 * request->strides[0] + i % 3 * request->strides[1]] = values[i];
    }
  }
  return status;
}

DLBridgeStatus Copy(const Tensor* array, Tensor** out, DLBridgeError* error) {
  const DLBridgeCopySpec spec = dlbridge_copy_spec_init();
  return dlbridge_copy(&array->dl_tensor, array->flags, &spec, out, error);
}

// `array` stays the project's.
DLBridgeStatus ExportArray(const Request* request, Tensor* array, Export* out,
                           DLBridgeError* error) {
  Tensor* shared = nullptr;
  const bool copy = (request->tensor_flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
  DLBridgeStatus status =
      copy ? Copy(array, &shared, error) : dlbridge_share(array, &shared, error);
  if (status != DLBRIDGE_OK) {
    return status;
  }
  shared->flags |= request->tensor_flags & DLPACK_FLAG_BITMASK_READ_ONLY;
  const DLPackVersion target =
      request->kind == DLBRIDGE_KIND_LEGACY ? DLPackVersion{0, 8} : request->max_version;
  status = dlbridge_export(shared, DLBRIDGE_KIND_VERSIONED, target, nullptr, &out->tensor,
                           &out->kind, error);
  if (status != DLBRIDGE_OK) {
    dlbridge_release_versioned(shared);
  }
  return status;
}

Answer Make(void*, const Request* request, Export* out, char* message) {
  DLBridgeError error;
  Tensor* array = nullptr;
  if (Arrange(request, &array, &error) != DLBRIDGE_OK) {
    return Rejected(error, message);
  }
  if (ExportArray(request, array, out, &error) != DLBRIDGE_OK) {
    dlbridge_release_versioned(array);
    return Rejected(error, message);
  }
  out->array = array;
  return DLBRIDGE_CONFORMANCE_DONE;
}

Answer Consume(void*, const Offer* offer, void** array, char* message) {
  DLBridgePolicy policy = dlbridge_policy_init();
  policy.options = DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE | DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE;
  DLBridgeConvertOptions options = dlbridge_convert_options_init();
  options.policy = &policy;
  DLBridgeError error;
  Tensor* imported = nullptr;
  if (dlbridge_import(offer->tensor, offer->kind, &options, &imported, &error) != DLBRIDGE_OK) {
    return Rejected(error, message);
  }
  *array = imported;
  return DLBRIDGE_CONFORMANCE_DONE;
}

Answer Read(void*, void* array, void* out, size_t size, size_t* written, char* message) {
  const auto* tensor = static_cast<const Tensor*>(array);
  DLBridgeLayout layout = dlbridge_layout_init();
  DLBridgeCopySpec spec = dlbridge_copy_spec_init();
  spec.tensor_flags = tensor->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  DLBridgeError error;
  Tensor* copy = nullptr;
  if (dlbridge_copy(&tensor->dl_tensor, tensor->flags, &spec, &copy, &error) != DLBRIDGE_OK) {
    return Rejected(error, message);
  }
  dlbridge_layout(&copy->dl_tensor, copy->flags, &layout, nullptr);
  *written = static_cast<size_t>(layout.packed_bytes);
  if (*written > 0) {
    memcpy(out, DataOf(copy), *written < size ? *written : size);
  }
  dlbridge_release_versioned(copy);
  return DLBRIDGE_CONFORMANCE_DONE;
}

Answer Write(void*, void* array, const void* values, size_t size, char* message) {
  const auto* tensor = static_cast<const Tensor*>(array);
  DLBridgePolicy policy = dlbridge_policy_init();
  policy.options = DLBRIDGE_POLICY_REQUIRE_WRITABLE;
  policy.contiguity = DLBRIDGE_CONTIGUITY_C;
  DLBridgeError error;
  if (dlbridge_validate_versioned(tensor, &policy, &error) != DLBRIDGE_OK) {
    return Rejected(error, message);
  }
  memcpy(DataOf(tensor), values, size);
  return DLBRIDGE_CONFORMANCE_DONE;
}

void Release(void*, void* array) { dlbridge_release_versioned(static_cast<Tensor*>(array)); }

DLBridgeConformanceProject Dlbridge() {
  DLBridgeConformanceProject project = dlbridge_conformance_project_init();
  project.name = "dlbridge";
  project.make = Make;
  project.consume = Consume;
  project.read = Read;
  project.write = Write;
  project.release = Release;
  return project;
}

TEST(Dlbridge, Passes) {
  const Ran ran = RunAll(Dlbridge());
  EXPECT_EQ(ran.status, DLBRIDGE_OK) << ran.error.message;
  EXPECT_EQ(ran.Failures(), "");
  for (const auto& [name, result] : ran.results) {
    const bool left_out =
        name.rfind("table-", 0) == 0 || name.rfind("stream-", 0) == 0 || name == "deleter-releases";
    EXPECT_EQ(result.outcome, left_out ? DLBRIDGE_CONFORMANCE_SKIPPED : DLBRIDGE_CONFORMANCE_PASSED)
        << name << ": " << result.found;
  }
}

}  // namespace
}  // namespace conformance_test
