// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/tensors.h"

// Sanitizers abort on an impossible request by default; here it must return NULL.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace dlbridge_test {
namespace {

DLBridgeAllocateSpec Spec(const Axes& shape) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = static_cast<int32_t>(shape.size());
  spec.shape = shape.data();
  return spec;
}

DLManagedTensorVersioned* MustAllocate(const DLBridgeAllocateSpec& spec) {
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_allocate(&spec, &out, &error), DLBRIDGE_OK) << error.message;
  return out;
}

// The error that a spec leads to.
struct Answer {
  DLBridgeStatus status;
  DLBridgeRule rule;
  bool operator==(const Answer& other) const {
    return status == other.status && rule == other.rule;
  }
};
std::ostream& operator<<(std::ostream& stream, const Answer& answer) {
  return stream << dlbridge_status_name(answer.status) << ' ' << dlbridge_rule_name(answer.rule);
}

Answer Ask(const DLBridgeAllocateSpec& spec) {
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  const DLBridgeStatus status = dlbridge_allocate(&spec, &out, &error);
  if (status == DLBRIDGE_OK) {
    dlbridge_release_versioned(out);
  } else {
    EXPECT_EQ(out, nullptr);
  }
  return {status, status == DLBRIDGE_OK ? DLBRIDGE_RULE_NONE : error.rule};
}

Answer Refused(DLBridgeStatus status, DLBridgeRule rule = DLBRIDGE_RULE_NONE) {
  return {status, rule};
}

TEST(Allocate, MakesAWritableCompactTensor) {
  const Axes shape = {3, 1, 5};
  DLManagedTensorVersioned* tensor = MustAllocate(Spec(shape));
  EXPECT_EQ(ShapeOf(tensor->dl_tensor), shape);
  EXPECT_EQ(StridesOf(tensor->dl_tensor), Axes({5, 5, 1}));
  EXPECT_EQ(tensor->flags, 0U);
  EXPECT_EQ(tensor->version.major, 1U);
  EXPECT_EQ(tensor->version.minor, 3U);
  EXPECT_EQ(tensor->dl_tensor.device.device_type, kDLCPU);
  EXPECT_EQ(tensor->dl_tensor.byte_offset, 0U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->dl_tensor.data) % 256, 0U);
  EXPECT_EQ(dlbridge_validate_versioned(tensor, nullptr, nullptr), DLBRIDGE_OK);
  std::memset(tensor->dl_tensor.data, 1, 60);
  tensor->deleter(tensor);
}

// Sizes allocated inline with the node, separately, and on huge pages.
TEST(Allocate, EverySizeIsAlignedAndWritable) {
  constexpr int64_t kMi = 1 << 20;
  for (const int64_t size : {int64_t{1}, int64_t{511}, int64_t{512}, int64_t{513}, int64_t{70000},
                             4 * kMi - 1, 4 * kMi, 5 * kMi + 1}) {
    const Axes shape = {size};
    DLBridgeAllocateSpec spec = Spec(shape);
    spec.dtype = Dtype(kDLUInt, 8);
    DLManagedTensorVersioned* tensor = MustAllocate(spec);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->dl_tensor.data) % 256, 0U) << size;
    std::memset(tensor->dl_tensor.data, 1, static_cast<size_t>(size));
    EXPECT_EQ(ShapeOf(tensor->dl_tensor), shape);
    tensor->deleter(tensor);
  }
}

TEST(Allocate, CopiesTheShape) {
  Axes shape = {3, 4};
  DLManagedTensorVersioned* tensor = MustAllocate(Spec(shape));
  shape = {9, 9};
  EXPECT_EQ(ShapeOf(tensor->dl_tensor), Axes({3, 4}));
  DLManagedTensorVersioned* shared = MustShare(tensor);
  dlbridge_release_versioned(tensor);
  std::memset(shared->dl_tensor.data, 1, 48);
  dlbridge_release_versioned(shared);
}

TEST(Allocate, DefaultSpecWithADtypeMakesAScalar) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = Dtype(kDLFloat, 32);
  DLManagedTensorVersioned* tensor = MustAllocate(spec);
  EXPECT_EQ(tensor->dl_tensor.ndim, 0);
  std::memset(tensor->dl_tensor.data, 1, 4);
  dlbridge_release_versioned(tensor);
}

TEST(Allocate, EmptyTensorHasNullData) {
  const Axes shape = {3, 0, 5};
  DLManagedTensorVersioned* tensor = MustAllocate(Spec(shape));
  EXPECT_EQ(tensor->dl_tensor.data, nullptr);
  EXPECT_EQ(ShapeOf(tensor->dl_tensor), shape);
  EXPECT_EQ(StridesOf(tensor->dl_tensor), Axes({5, 5, 1}));
  dlbridge_release_versioned(tensor);
}

TEST(Allocate, HonoursTheAlignment) {
  const Axes shape = {3};
  DLBridgeAllocateSpec spec = Spec(shape);
  for (uint64_t alignment = 1; alignment <= 1 << 16; alignment *= 2) {
    spec.alignment = alignment;
    DLManagedTensorVersioned* tensor = MustAllocate(spec);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->dl_tensor.data) % alignment, 0U);
    std::memset(tensor->dl_tensor.data, 1, 12);
    dlbridge_release_versioned(tensor);
  }
  for (const uint64_t alignment : {uint64_t{3}, uint64_t{12}, UINT64_MAX}) {
    spec.alignment = alignment;
    EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_INVALID_ARGUMENT));
  }
  // An allocator that gets them may abort: AddressSanitizer's and valgrind's do.
  for (const uint64_t alignment : {uint64_t{1} << 62, uint64_t{1} << 63}) {
    spec.alignment = alignment;
    EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_OUT_OF_MEMORY));
  }
}

TEST(Allocate, TakesSubByteElementsPackedOrPadded) {
  const Axes shape = {3, 5};
  DLBridgeAllocateSpec spec = Spec(shape);
  spec.dtype = Dtype(kDLFloat4_e2m1fn, 4);
  DLManagedTensorVersioned* packed = MustAllocate(spec);
  std::memset(packed->dl_tensor.data, 1, 8);
  dlbridge_release_versioned(packed);
  spec.tensor_flags = kPadded;
  DLManagedTensorVersioned* padded = MustAllocate(spec);
  EXPECT_EQ(padded->flags, kPadded);
  std::memset(padded->dl_tensor.data, 1, 15);
  dlbridge_release_versioned(padded);
}

TEST(Allocate, WritesTheConsumersVersion) {
  DLBridgeAllocateSpec spec = Spec({});
  spec.version = {1, 1};
  DLManagedTensorVersioned* tensor = MustAllocate(spec);
  EXPECT_EQ(tensor->version.minor, 1U);
  dlbridge_release_versioned(tensor);
  spec.version = {1, 99};
  tensor = MustAllocate(spec);
  EXPECT_EQ(tensor->version.minor, 3U);
  dlbridge_release_versioned(tensor);
  spec.version = {2, 0};
  EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_INVALID_ARGUMENT));
}

TEST(Allocate, RejectsCodesThatTheVersionLacks) {
  DLBridgeAllocateSpec spec = Spec({});
  spec.version = {1, 0};
  spec.dtype = Dtype(kDLFloat8_e5m2, 8);
  EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_VERSION, DLBRIDGE_RULE_REQUIRED_VERSION));
  spec.version = {1, 1};
  EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_OK));
  spec.dtype = Dtype(kDLFloat, 32);
  spec.tensor_flags = 8;
  EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_UNKNOWN_CODE, DLBRIDGE_RULE_FLAGS_UNKNOWN));
}

TEST(Allocate, RejectsInvalidTensors) {
  const Axes negative = {2, -1};
  EXPECT_EQ(Ask(Spec(negative)),
            Refused(DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_EXTENT_NEGATIVE));
  const Axes huge = {INT64_MAX, 2};
  EXPECT_EQ(Ask(Spec(huge)), Refused(DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_COUNT_OVERFLOW));
  const Axes large = {INT64_MAX / 2};
  EXPECT_EQ(Ask(Spec(large)), Refused(DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_SIZE_OVERFLOW));
  DLBridgeAllocateSpec spec = Spec({});
  spec.dtype.bits = 0;
  EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_DTYPE_BITS_ZERO));
  spec = Spec({});
  spec.ndim = -1;
  EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_NDIM_NEGATIVE));
  spec.ndim = 1;
  EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_SHAPE_NULL));
  spec = Spec({});
  spec.device = Device(kDLCPU, -1);
  EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_DEVICE_ID_NEGATIVE));
}

TEST(Allocate, ImpossibleSizeIsOutOfMemory) {
  const Axes shape = {INT64_MAX / 4};
  EXPECT_EQ(Ask(Spec(shape)), Refused(DLBRIDGE_ERROR_OUT_OF_MEMORY));
}

TEST(Allocate, NeedsAnAllocatorForOtherDevices) {
  DLBridgeAllocateSpec spec = Spec({});
  for (const int32_t type : {kDLCUDA, kDLCUDAHost, kDLVulkan}) {
    spec.device = Device(type);
    EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_UNSUPPORTED));
  }
}

TEST(Allocate, NeedsBothFunctionsOfAnAllocator) {
  DLBridgeAllocator hook = DLBRIDGE_ALLOCATOR_INIT;
  DLBridgeAllocateSpec spec = Spec({});
  spec.allocator = &hook;
  EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_INVALID_ARGUMENT));
  hook.allocate = [](void*, DLDevice, uint64_t, uint64_t,
                     const DLBridgeStream* /*stream*/) -> void* { return nullptr; };
  EXPECT_EQ(Ask(spec), Refused(DLBRIDGE_ERROR_INVALID_ARGUMENT));
}

// An allocator that returns handles, which are not addresses.
struct Handles {
  int live = 0;
  DLDevice device = Device(0);
  uint64_t bytes = 0;
  uint64_t alignment = 0;

  static void* Allocate(void* context, DLDevice device, uint64_t bytes, uint64_t alignment,
                        const DLBridgeStream* /*stream*/) {
    auto* self = static_cast<Handles*>(context);
    ++self->live;
    self->device = device;
    self->bytes = bytes;
    self->alignment = alignment;
    return reinterpret_cast<void*>(uintptr_t{7});
  }
  static void Deallocate(void* context, DLDevice device, void* memory, uint64_t bytes,
                         uint64_t alignment, const DLBridgeStream* /*stream*/) {
    auto* self = static_cast<Handles*>(context);
    --self->live;
    EXPECT_EQ(memory, reinterpret_cast<void*>(uintptr_t{7}));
    EXPECT_EQ(device.device_type, self->device.device_type);
    EXPECT_EQ(device.device_id, self->device.device_id);
    EXPECT_EQ(bytes, self->bytes);
    EXPECT_EQ(alignment, self->alignment);
  }
};

TEST(Allocate, PassesTheSpecsValuesToTheAllocator) {
  Handles handles;
  DLBridgeAllocator hook = DLBRIDGE_ALLOCATOR_INIT;
  hook.context = &handles;
  hook.allocate = &Handles::Allocate;
  hook.deallocate = &Handles::Deallocate;
  const Axes shape = {3, 5};
  DLBridgeAllocateSpec spec = Spec(shape);
  spec.allocator = &hook;
  spec.device = Device(kDLVulkan, 2);
  spec.alignment = 1024;
  DLManagedTensorVersioned* tensor = MustAllocate(spec);
  EXPECT_EQ(handles.live, 1);
  EXPECT_EQ(handles.bytes, 60U);
  EXPECT_EQ(handles.alignment, 1024U);
  EXPECT_EQ(handles.device.device_type, kDLVulkan);
  EXPECT_EQ(handles.device.device_id, 2);
  EXPECT_EQ(tensor->dl_tensor.data, reinterpret_cast<void*>(uintptr_t{7}));
  DLManagedTensorVersioned* view = MustView(tensor, {2}, nullptr, 3);
  dlbridge_release_versioned(tensor);
  EXPECT_EQ(handles.live, 1);
  dlbridge_release_versioned(view);
  EXPECT_EQ(handles.live, 0);
  spec.alignment = 0;
  dlbridge_release_versioned(MustAllocate(spec));
  EXPECT_EQ(handles.alignment, 256U);
  const Axes empty = {0};
  spec = Spec(empty);
  spec.allocator = &hook;
  handles.bytes = 99;
  dlbridge_release_versioned(MustAllocate(spec));
  EXPECT_EQ(handles.bytes, 99U) << "an empty tensor allocates no memory";
}

TEST(Allocate, RoundTripsThroughLegacy) {
  const Axes shape = {2, 2};
  DLManagedTensorVersioned* tensor = MustAllocate(Spec(shape));
  void* data = tensor->dl_tensor.data;
  for (int i = 0; i < 3; ++i) {
    DLManagedTensor* legacy = MustDowngrade(tensor);
    EXPECT_EQ(legacy->dl_tensor.data, data);
    tensor = MustUpgrade(legacy);
    EXPECT_EQ(tensor->flags, 0U) << "writable as before the downgrade";
  }
  std::memset(data, 1, 16);
  dlbridge_release_versioned(tensor);
}

}  // namespace
}  // namespace dlbridge_test
