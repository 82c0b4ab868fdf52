// SPDX-License-Identifier: Apache-2.0
// Native memory as a tensor: its fields, the time of its release, and the rejected specs.
#include <gtest/gtest.h>

#include <cstring>
#include <list>

#include "dlbridge/dlbridge.h"
#include "support/allocations.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// Memory of the caller, and the number of its releases.
struct Memory {
  alignas(64) unsigned char bytes[256] = {};
  int releases = 0;
  std::list<Axes> shapes;  // shapes that its specs point to
  DLBridgeBuffer released = {0, 0, 0, 0, 0};

  static void Release(void* context, const DLBridgeBuffer* buffer,
                      const DLBridgeStream* /*stream*/) {
    auto* self = static_cast<Memory*>(context);
    ++self->releases;
    self->released = *buffer;
  }
};

DLBridgeWrapSpec Spec(Memory* memory, const Axes& shape, const Axes* strides = nullptr) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  memory->shapes.push_back(shape);
  spec.ndim = static_cast<int32_t>(shape.size());
  spec.shape = memory->shapes.back().data();
  spec.strides = strides != nullptr ? strides->data() : nullptr;
  spec.buffer = dlbridge_buffer_address(memory->bytes);
  spec.device = Device(kDLCPU);
  spec.dtype = Dtype(kDLFloat, 32);
  spec.release = Memory::Release;
  spec.release_context = memory;
  return spec;
}

DLManagedTensorVersioned* MustWrap(const DLBridgeWrapSpec& spec) {
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_wrap(&spec, &out, &error), DLBRIDGE_OK) << error.message;
  return out;
}

// The call fails with `status`, and calls and writes nothing. Returns the error for further checks.
Error Refused(const DLBridgeWrapSpec& spec, const Memory& memory, DLBridgeStatus status) {
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_wrap(&spec, &out, &error), status) << error.message;
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(memory.releases, 0);
  return error;
}

TEST(Wrap, MakesATensorWithTheFieldsOfTheSpec) {
  Memory memory;
  const Axes shape = {2, 3};
  const Axes strides = {1, 2};
  DLBridgeWrapSpec spec = Spec(&memory, shape, &strides);
  spec.dtype = Dtype(kDLBfloat, 16);
  spec.byte_offset = 8;
  spec.tensor_flags = kReadOnly;
  DLManagedTensorVersioned* tensor = MustWrap(spec);
  EXPECT_EQ(tensor->version.major, 1U);
  EXPECT_EQ(tensor->version.minor, 3U);
  EXPECT_EQ(tensor->flags, kReadOnly);
  EXPECT_EQ(tensor->dl_tensor.data, memory.bytes) << "the offset is not folded";
  EXPECT_EQ(tensor->dl_tensor.byte_offset, 8U);
  EXPECT_EQ(ShapeOf(tensor->dl_tensor), shape);
  EXPECT_EQ(StridesOf(tensor->dl_tensor), strides);
  EXPECT_NE(tensor->dl_tensor.shape, spec.shape) << "the shape is copied";
  EXPECT_EQ(tensor->dl_tensor.dtype.code, kDLBfloat);
  EXPECT_EQ(memory.releases, 0);
  dlbridge_release_versioned(tensor);
  EXPECT_EQ(memory.releases, 1);
  EXPECT_EQ(std::memcmp(&memory.released, &spec.buffer, sizeof spec.buffer), 0);
}

TEST(Wrap, FillsStridesIn) {
  Memory memory;
  const Axes shape = {2, 3, 4};
  DLManagedTensorVersioned* tensor = MustWrap(Spec(&memory, shape));
  EXPECT_EQ(StridesOf(tensor->dl_tensor), Axes({12, 4, 1}));
  dlbridge_release_versioned(tensor);
}

TEST(Wrap, WorksWithoutAReleaseCallback) {
  Memory memory;
  DLBridgeWrapSpec spec = Spec(&memory, {2});
  spec.release = nullptr;
  dlbridge_release_versioned(MustWrap(spec));
  EXPECT_EQ(memory.releases, 0);
}

TEST(Wrap, WritesEmptyTensorsCanonically) {
  Memory memory;
  const Axes shape = {2, 0, 3};
  const Axes strides = {7, -7, 9};
  DLBridgeWrapSpec spec = Spec(&memory, shape, &strides);
  spec.byte_offset = 16;
  DLManagedTensorVersioned* tensor = MustWrap(spec);
  EXPECT_EQ(tensor->dl_tensor.data, nullptr);
  EXPECT_EQ(tensor->dl_tensor.byte_offset, 0U);
  EXPECT_EQ(StridesOf(tensor->dl_tensor), Axes({3, 3, 1}));
  dlbridge_release_versioned(tensor);
  EXPECT_EQ(memory.releases, 1);
  EXPECT_EQ(memory.released.handle, spec.buffer.handle);
}

TEST(Wrap, WritesNoIdOnHostMemory) {
  Memory memory;
  for (const int32_t type : {kDLCPU, kDLCUDAHost, kDLCUDAManaged, kDLROCMHost}) {
    DLBridgeWrapSpec spec = Spec(&memory, {2});
    spec.device = Device(type, 3);
    DLManagedTensorVersioned* tensor = MustWrap(spec);
    EXPECT_EQ(tensor->dl_tensor.device.device_id, 0) << type;
    dlbridge_release_versioned(tensor);
  }
  DLBridgeWrapSpec spec = Spec(&memory, {2});
  spec.device = Device(kDLCUDA, 3);
  DLManagedTensorVersioned* tensor = MustWrap(spec);
  EXPECT_EQ(tensor->dl_tensor.device.device_id, 3);
  dlbridge_release_versioned(tensor);
}

TEST(Wrap, SharesOneReleaseAmongAllOwners) {
  Memory memory;
  DLManagedTensorVersioned* tensor = MustWrap(Spec(&memory, {4, 4}));
  DLManagedTensorVersioned* shared = MustShare(tensor);
  DLManagedTensorVersioned* view = MustView(tensor, {4}, nullptr, 4);
  dlbridge_release_versioned(tensor);
  dlbridge_release_versioned(view);
  EXPECT_EQ(memory.releases, 0);
  dlbridge_release_versioned(shared);
  EXPECT_EQ(memory.releases, 1);
}

TEST(Wrap, GoesThroughLegacyAndBack) {
  Memory memory;
  DLManagedTensorVersioned* tensor = MustWrap(Spec(&memory, {4}));
  DLManagedTensor* legacy = MustDowngrade(tensor);
  DLManagedTensorVersioned* back = MustUpgrade(legacy);
  EXPECT_EQ(back->flags, 0U) << "the flags are restored";
  dlbridge_release_versioned(back);
  EXPECT_EQ(memory.releases, 1);
}

TEST(Wrap, LegacyKeepsFlagsThatItCannotRecord) {
  Memory memory;
  DLBridgeWrapSpec spec = Spec(&memory, {4});
  spec.tensor_flags = kCopied;
  DLManagedTensor* legacy = nullptr;
  Error error;
  ASSERT_EQ(dlbridge_wrap_legacy(&spec, &legacy, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(legacy->dl_tensor.data, memory.bytes);
  DLManagedTensorVersioned* upgraded = MustUpgrade(legacy);
  EXPECT_EQ(upgraded->flags, kCopied);
  EXPECT_EQ(memory.releases, 0);
  dlbridge_release_versioned(upgraded);
  EXPECT_EQ(memory.releases, 1);
}

TEST(Wrap, LegacyRejectsWhatItCannotExpress) {
  Memory memory;
  struct {
    DLBridgeRule rule;
    uint64_t flags;
    DLDataType dtype;
    DLDevice device;
    int32_t kind;
  } const kCases[] = {
      {DLBRIDGE_RULE_LEGACY_READ_ONLY, kReadOnly, Dtype(kDLFloat, 32), Device(kDLCPU), 1},
      {DLBRIDGE_RULE_LEGACY_PADDED, kPadded, Dtype(kDLInt, 4), Device(kDLCPU), 1},
      {DLBRIDGE_RULE_LEGACY_DTYPE, 0, Dtype(kDLFloat8_e5m2, 8), Device(kDLCPU), 1},
      {DLBRIDGE_RULE_LEGACY_DEVICE, 0, Dtype(kDLFloat, 32), Device(kDLTrn), 1},
  };
  for (const auto& one : kCases) {
    const Axes shape = {4};
    DLBridgeWrapSpec spec = Spec(&memory, shape);
    spec.tensor_flags = one.flags;
    spec.dtype = one.dtype;
    spec.device = one.device;
    DLManagedTensor* out = nullptr;
    Error error;
    EXPECT_EQ(dlbridge_wrap_legacy(&spec, &out, &error), DLBRIDGE_ERROR_UNREPRESENTABLE);
    EXPECT_EQ(error.rule, one.rule) << error.message;
    EXPECT_EQ(out, nullptr);
  }
  DLBridgeWrapSpec spec = Spec(&memory, {4});
  spec.version = {1, 0};
  DLManagedTensor* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_wrap_legacy(&spec, &out, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.releases, 0);
}

TEST(Wrap, IsValidatedLikeAForeignTensor) {
  Memory memory;
  Axes shape = {2, -1};
  EXPECT_EQ(Refused(Spec(&memory, shape), memory, DLBRIDGE_ERROR_INVALID_TENSOR).rule,
            DLBRIDGE_RULE_EXTENT_NEGATIVE);
  shape = {INT64_MAX, 3};
  EXPECT_EQ(Refused(Spec(&memory, shape), memory, DLBRIDGE_ERROR_INVALID_TENSOR).rule,
            DLBRIDGE_RULE_COUNT_OVERFLOW);
  shape = {2, 2};
  DLBridgeWrapSpec spec = Spec(&memory, shape);
  spec.ndim = -1;
  EXPECT_EQ(Refused(spec, memory, DLBRIDGE_ERROR_INVALID_TENSOR).rule, DLBRIDGE_RULE_NDIM_NEGATIVE);
  spec.options = DLBRIDGE_WRAP_SKIP_VALIDATION;
  EXPECT_EQ(Refused(spec, memory, DLBRIDGE_ERROR_INVALID_TENSOR).rule, DLBRIDGE_RULE_NDIM_NEGATIVE)
      << "a node cannot hold it";
  spec = Spec(&memory, shape);
  spec.buffer.handle = 0;
  EXPECT_EQ(Refused(spec, memory, DLBRIDGE_ERROR_INVALID_TENSOR).rule, DLBRIDGE_RULE_DATA_NULL);
  spec = Spec(&memory, shape);
  spec.device = Device(kDLCUDA, -1);
  EXPECT_EQ(Refused(spec, memory, DLBRIDGE_ERROR_INVALID_TENSOR).rule,
            DLBRIDGE_RULE_DEVICE_ID_NEGATIVE);
  spec = Spec(&memory, shape);
  spec.device = Device(99);
  Refused(spec, memory, DLBRIDGE_ERROR_UNKNOWN_CODE);
  spec = Spec(&memory, shape);
  spec.dtype = Dtype(kDLFloat8_e5m2, 8);
  spec.version = {1, 0};
  EXPECT_EQ(Refused(spec, memory, DLBRIDGE_ERROR_VERSION).rule, DLBRIDGE_RULE_REQUIRED_VERSION);
}

TEST(Wrap, StaysInsideItsBuffer) {
  Memory memory;
  const Axes shape = {4};
  DLBridgeWrapSpec spec = Spec(&memory, shape);
  spec.options = DLBRIDGE_WRAP_LIMIT_BUFFER;
  spec.buffer_size = 16;
  dlbridge_release_versioned(MustWrap(spec));
  EXPECT_EQ(memory.releases, 1);
  memory.releases = 0;
  spec.byte_offset = 1;
  EXPECT_EQ(Refused(spec, memory, DLBRIDGE_ERROR_POLICY).rule, DLBRIDGE_RULE_BUFFER_BOUNDS);
  DLBridgePolicy policy = Policy(DLBRIDGE_POLICY_LIMIT_BUFFER);
  policy.buffer_size = 8;
  spec.byte_offset = 0;
  spec.policy = &policy;
  EXPECT_EQ(Refused(spec, memory, DLBRIDGE_ERROR_POLICY).rule, DLBRIDGE_RULE_BUFFER_BOUNDS)
      << "the smaller limit applies";
}

TEST(Wrap, AcceptsEachKindOfHandleOnItsDevices) {
  Memory memory;
  const Axes shape = {4};
  struct {
    int32_t type;
    int32_t kind;
  } const kPairs[] = {{kDLCPU, DLBRIDGE_BUFFER_ADDRESS},    {kDLCUDA, DLBRIDGE_BUFFER_ADDRESS},
                      {kDLOneAPI, DLBRIDGE_BUFFER_ADDRESS}, {kDLOpenCL, DLBRIDGE_BUFFER_CL_MEM},
                      {kDLMetal, DLBRIDGE_BUFFER_HANDLE},   {kDLVulkan, DLBRIDGE_BUFFER_HANDLE},
                      {kDLWebGPU, DLBRIDGE_BUFFER_HANDLE},  {kDLVPI, DLBRIDGE_BUFFER_HANDLE}};
  for (const auto& pair : kPairs) {
    for (int32_t kind = -1; kind <= 4; ++kind) {
      DLBridgeWrapSpec spec = Spec(&memory, shape);
      spec.device = Device(pair.type);
      spec.buffer.kind = kind;
      spec.byte_offset = 4;
      if (kind != pair.kind && kind != DLBRIDGE_BUFFER_DEFAULT) {
        const bool newer = kind > DLBRIDGE_BUFFER_HANDLE;
        const DLBridgeStatus status =
            newer ? DLBRIDGE_ERROR_TOO_NEW : DLBRIDGE_ERROR_INVALID_ARGUMENT;
        EXPECT_TRUE(Refused(spec, memory, status).Says("spec.buffer.kind"));
        continue;
      }
      DLManagedTensorVersioned* tensor = MustWrap(spec);
      EXPECT_EQ(tensor->dl_tensor.data, memory.bytes);
      EXPECT_EQ(tensor->dl_tensor.byte_offset, 4U);
      dlbridge_release_versioned(tensor);
      EXPECT_EQ(memory.releases, 1);
      memory.releases = 0;
    }
  }
}

TEST(Wrap, RejectsInvalidOptions) {
  Memory memory;
  const Axes shape = {4};
  const DLBridgePolicy policy = Policy();
  DLBridgeWrapSpec spec = Spec(&memory, shape);
  spec.options = 1U << 13;
  EXPECT_TRUE(Refused(spec, memory, DLBRIDGE_ERROR_TOO_NEW).Says("spec.options"));
  spec.options = DLPACK_FLAG_BITMASK_READ_ONLY;
  EXPECT_TRUE(Refused(spec, memory, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("READ_ONLY"));
  spec.options = DLBRIDGE_WRAP_RETAIN;
  EXPECT_TRUE(Refused(spec, memory, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("RETAIN"));
  spec.options = DLBRIDGE_WRAP_SKIP_VALIDATION;
  spec.policy = &policy;
  Refused(spec, memory, DLBRIDGE_ERROR_INVALID_ARGUMENT);
  spec.policy = nullptr;
  spec.options |= DLBRIDGE_WRAP_LIMIT_BUFFER;
  spec.buffer_size = 16;
  Refused(spec, memory, DLBRIDGE_ERROR_INVALID_ARGUMENT);
  spec = Spec(&memory, shape);
  spec.buffer_size = 16;
  EXPECT_TRUE(Refused(spec, memory, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("LIMIT_BUFFER"));
  spec = Spec(&memory, shape);
  spec.buffer.reserved = 1;
  EXPECT_TRUE(Refused(spec, memory, DLBRIDGE_ERROR_TOO_NEW).Says("reserved"));
  spec = Spec(&memory, shape);
  spec.device = Device(0);
  EXPECT_TRUE(Refused(spec, memory, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("is not set"));
  spec = Spec(&memory, shape);
  spec.dtype = Dtype(0, 0, 0);
  EXPECT_TRUE(Refused(spec, memory, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("is not set"));
  spec = Spec(&memory, shape);
  spec.version = {2, 0};
  EXPECT_TRUE(Refused(spec, memory, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("spec.version"));
  spec = Spec(&memory, shape);
  spec.buffer.backend = DLBRIDGE_BACKEND_CUDA;
  EXPECT_TRUE(Refused(spec, memory, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("spec.buffer.backend"));
  spec = Spec(&memory, shape);
  spec.struct_size -= 8;
  Refused(spec, memory, DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_wrap(nullptr, nullptr, nullptr), DLBRIDGE_ERROR_INVALID_ARGUMENT);
}

TEST(Wrap, RejectsAContextOnDevicesWithoutContexts) {
  Memory memory;
  DLBridgeWrapSpec spec = Spec(&memory, {4});
  spec.buffer.context = 64;
  Refused(spec, memory, DLBRIDGE_ERROR_UNSUPPORTED);
}

// A context in the table that records its release.
struct Context {
  uint64_t id = 0;
  int releases = 0;
  int memory_releases_before = -1;
  const Memory* memory = nullptr;

  explicit Context(uint64_t handle, const Memory* belongs_to) : memory(belongs_to) {
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    entry.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
    entry.device = Device(kDLOneAPI, 7);
    entry.native_device = 0x7000;
    entry.context = handle;
    entry.release = Release;
    entry.release_context = this;
    Error error;
    EXPECT_EQ(dlbridge_context_register(&entry, &id, &error), DLBRIDGE_OK) << error.message;
  }
  static void Release(void* user, const DLBridgeContextEntry* /*entry*/) {
    auto* self = static_cast<Context*>(user);
    ++self->releases;
    self->memory_releases_before = self->memory->releases;
  }
};

TEST(WrapContext, OutlivesItsRegistration) {
  Memory memory;
  Context context(0x1000, &memory);
  const Context other(0x3000, &memory);  // avoids the enumeration by a driver
  DLBridgeWrapSpec spec = Spec(&memory, {4});
  spec.device = Device(kDLOneAPI, 7);
  spec.buffer.context = 0x1000;
  DLManagedTensorVersioned* tensor = MustWrap(spec);
  DLManagedTensorVersioned* shared = MustShare(tensor);
  Error error;
  EXPECT_EQ(dlbridge_context_unregister(context.id, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(context.releases, 0) << "a tensor retains it";
  Refused(spec, memory, DLBRIDGE_ERROR_NOT_FOUND);
  dlbridge_release_versioned(tensor);
  EXPECT_EQ(context.releases, 0);
  dlbridge_release_versioned(shared);
  EXPECT_EQ(context.releases, 1);
  EXPECT_EQ(context.memory_releases_before, 1) << "the memory is released before its context";
  EXPECT_EQ(dlbridge_context_unregister(other.id, &error), DLBRIDGE_OK);
}

TEST(WrapContext, MustBeInTheTable) {
  Memory memory;
  Context context(0x1000, &memory);
  DLBridgeWrapSpec spec = Spec(&memory, {4});
  spec.device = Device(kDLOneAPI, 7);
  spec.buffer.context = 0x2000;
  EXPECT_TRUE(Refused(spec, memory, DLBRIDGE_ERROR_NOT_FOUND).Says("context"));
  // A spec that is rejected for its layout retains nothing either.
  spec.buffer.context = 0x1000;
  spec.ndim = -1;
  Refused(spec, memory, DLBRIDGE_ERROR_INVALID_TENSOR);
  Error error;
  EXPECT_EQ(dlbridge_context_unregister(context.id, &error), DLBRIDGE_OK);
  EXPECT_EQ(context.releases, 1);
}

TEST(Wrap, PinsTheModuleOfItsRelease) {
  Memory memory;
  DLBridgeWrapSpec spec = Spec(&memory, {4});
  spec.options = DLBRIDGE_WRAP_PIN_PRODUCER;
  dlbridge_release_versioned(MustWrap(spec));
  EXPECT_EQ(memory.releases, 1);
  memory.releases = 0;
  // An address outside every module cannot be pinned.
  unsigned char* heap = new unsigned char[16];
  std::memcpy(&spec.release, &heap, sizeof heap);
  EXPECT_TRUE(Refused(spec, memory, DLBRIDGE_ERROR_NOT_FOUND).Says("module"));
  delete[] heap;
}

TEST(Wrap, CostsOneAllocationAndSurvivesItsFailure) {
  if (!Allocations::Counts()) {
    GTEST_SKIP() << "allocations are not counted here";
  }
  Memory memory;
  const Axes shape = {2, 3};
  const DLBridgeWrapSpec spec = Spec(&memory, shape);
  DLManagedTensorVersioned* tensor = nullptr;
  {
    const Allocations allocations;
    EXPECT_EQ(dlbridge_wrap(&spec, &tensor, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(allocations.made(), 1);
  }
  dlbridge_release_versioned(tensor);
  EXPECT_EQ(memory.releases, 1);
  memory.releases = 0;
  if (Allocations::CanFail()) {
    const Allocations allocations(1);
    DLManagedTensorVersioned* out = nullptr;
    EXPECT_EQ(dlbridge_wrap(&spec, &out, nullptr), DLBRIDGE_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(memory.releases, 0);
  }
}

}  // namespace
}  // namespace dlbridge_test
