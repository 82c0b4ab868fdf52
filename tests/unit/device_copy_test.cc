// SPDX-License-Identifier: Apache-2.0
// dlbridge_copy on the host: every kind of target, and no effect when it fails.
#include <gtest/gtest.h>

#ifdef __linux__
#include <unistd.h>
#endif

#include <cstdlib>
#include <cstring>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/allocations.h"
#include "support/ipc.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// A 3 x 2 source whose element (i, j) is 10 * i + j; its strides are not in memory order.
struct Source {
  float memory[8] = {0, 10, 20, 0, 1, 11, 21, 0};
  int64_t shape[2] = {3, 2};
  int64_t strides[2] = {1, 4};
  DLTensor tensor = {memory, Device(kDLCPU), 2, Dtype(kDLFloat, 32), shape, strides, 0};
};
const std::vector<float> kExpected = {0, 1, 10, 11, 20, 21};

// A target buffer of the caller.
struct Target {
  alignas(64) float memory[16];
  int releases = 0;

  Target() {
    for (float& value : memory) {
      value = -1;
    }
  }
  static void Release(void* context, const DLBridgeBuffer* /*buffer*/,
                      const DLBridgeStream* /*stream*/) {
    ++static_cast<Target*>(context)->releases;
  }
  DLBridgeCopySpec Spec(uint64_t offset = 0, uint64_t size = sizeof(float[16])) {
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    spec.target = dlbridge_buffer_address(memory);
    spec.target_offset = offset;
    spec.target_size = size;
    spec.release = Release;
    spec.release_context = this;
    return spec;
  }
};

std::vector<float> ValuesOf(const DLTensor& tensor, size_t count) {
  std::vector<float> values(count);
  std::memcpy(values.data(), static_cast<const char*>(tensor.data) + tensor.byte_offset,
              count * sizeof(float));
  return values;
}

DLManagedTensorVersioned* MustCopy(const DLTensor& tensor, const DLBridgeCopySpec& spec,
                                   uint64_t flags = 0) {
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_copy(&tensor, flags, &spec, &out, &error), DLBRIDGE_OK) << error.message;
  return out;
}

Error Refused(const DLTensor& tensor, const DLBridgeCopySpec& spec, DLBridgeStatus status) {
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_copy(&tensor, 0, &spec, &out, &error), status) << error.message;
  EXPECT_EQ(out, nullptr);
  return error;
}

TEST(DeviceCopy, MakesNewMemoryByDefault) {
  const Source source;
  const DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLManagedTensorVersioned* copy = MustCopy(source.tensor, spec);
  EXPECT_EQ(copy->flags, kCopied);
  EXPECT_EQ(StridesOf(copy->dl_tensor), Axes({2, 1}));
  EXPECT_EQ(ValuesOf(copy->dl_tensor, 6), kExpected);
  dlbridge_release_versioned(copy);
}

TEST(DeviceCopy, WritesToTheCallersMemory) {
  const Source source;
  Target target;
  DLBridgeCopySpec spec = target.Spec(8);
  spec.tensor_flags = kReadOnly;
  DLManagedTensorVersioned* copy = MustCopy(source.tensor, spec);
  EXPECT_EQ(copy->flags, kCopied | kReadOnly);
  EXPECT_EQ(copy->dl_tensor.data, target.memory);
  EXPECT_EQ(copy->dl_tensor.byte_offset, 8U);
  EXPECT_EQ(ValuesOf(copy->dl_tensor, 6), kExpected);
  EXPECT_EQ(target.memory[1], -1) << "bytes before the target are unchanged";
  EXPECT_EQ(target.memory[8], -1) << "bytes after the target are unchanged";
  DLManagedTensorVersioned* shared = MustShare(copy);
  dlbridge_release_versioned(copy);
  EXPECT_EQ(target.releases, 0);
  dlbridge_release_versioned(shared);
  EXPECT_EQ(target.releases, 1);
}

TEST(DeviceCopy, RejectsATargetThatIsTooSmall) {
  const Source source;
  Target target;
  for (const DLBridgeCopySpec& spec :
       {target.Spec(0, 23), target.Spec(1, 24), target.Spec(24, 24)}) {
    EXPECT_TRUE(
        Refused(source.tensor, spec, DLBRIDGE_ERROR_BUFFER_TOO_SMALL).Says("spec.target_size"));
  }
  Refused(source.tensor, target.Spec(25, 24), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  DLBridgeCopySpec spec = target.Spec();
  spec.target.handle = UINT64_MAX - 8;
  Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(target.releases, 0);
  EXPECT_EQ(target.memory[0], -1);
}

TEST(DeviceCopy, RejectsATargetInsideItsSource) {
  Source source;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.target_size = 24;
  for (const size_t index : {size_t{0}, size_t{2}, size_t{6}}) {
    spec.target = dlbridge_buffer_address(source.memory + index);
    EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("share"));
  }
}

TEST(DeviceCopy, KeepsTheTargetOfAnEmptyTensor) {
  Source source;
  source.shape[1] = 0;
  Target target;
  DLManagedTensorVersioned* copy = MustCopy(source.tensor, target.Spec());
  EXPECT_EQ(copy->dl_tensor.data, nullptr);
  EXPECT_EQ(target.releases, 0);
  dlbridge_release_versioned(copy);
  EXPECT_EQ(target.releases, 1);
}

struct Allocator {
  int allocated = 0;
  int freed = 0;
  bool refuse = false;
  DLDevice device = Device(0);

  static void* Allocate(void* context, DLDevice device, uint64_t bytes, uint64_t /*alignment*/,
                        const DLBridgeStream* /*stream*/) {
    auto* self = static_cast<Allocator*>(context);
    self->device = device;
    if (self->refuse) {
      return nullptr;
    }
    ++self->allocated;
    return std::malloc(static_cast<size_t>(bytes));
  }
  static void Deallocate(void* context, DLDevice /*device*/, void* memory, uint64_t /*bytes*/,
                         uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
    ++static_cast<Allocator*>(context)->freed;
    std::free(memory);
  }
  DLBridgeAllocator Hook() {
    DLBridgeAllocator hook = DLBRIDGE_ALLOCATOR_INIT;
    hook.context = this;
    hook.allocate = Allocate;
    hook.deallocate = Deallocate;
    return hook;
  }
};

TEST(DeviceCopy, UsesTheAllocatorOfItsDevice) {
  const Source source;
  Allocator allocator;
  const DLBridgeAllocator hook = allocator.Hook();
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.allocator = &hook;
  spec.device = Device(kDLCUDAHost, 2);  // CPU-writable
  DLManagedTensorVersioned* copy = MustCopy(source.tensor, spec);
  EXPECT_EQ(allocator.device.device_type, kDLCUDAHost);
  EXPECT_EQ(copy->dl_tensor.device.device_type, kDLCUDAHost);
  EXPECT_EQ(copy->dl_tensor.device.device_id, 0);
  EXPECT_EQ(ValuesOf(copy->dl_tensor, 6), kExpected);
  dlbridge_release_versioned(copy);
  EXPECT_EQ(allocator.allocated, 1);
  EXPECT_EQ(allocator.freed, 1);
  allocator.refuse = true;
  Refused(source.tensor, spec, DLBRIDGE_ERROR_OUT_OF_MEMORY);
}

TEST(DeviceCopy, FreesMemoryThatItCouldNotFill) {
  const Source source;
  Allocator allocator;
  const DLBridgeAllocator hook = allocator.Hook();
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.allocator = &hook;
  spec.device = Device(kDLTrn);
  EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_UNSUPPORTED).Says("spec.target"));
  EXPECT_EQ(allocator.allocated, 1);
  EXPECT_EQ(allocator.freed, 1);
}

TEST(DeviceCopy, PadsAndPacks) {
  // 4-bit elements 1 to 5, packed.
  unsigned char packed[3] = {0x21, 0x43, 0x05};
  int64_t shape[1] = {5};
  const DLTensor tensor = {packed, Device(kDLCPU), 1, Dtype(kDLInt, 4), shape, nullptr, 0};
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.tensor_flags = kPadded;
  DLManagedTensorVersioned* padded = MustCopy(tensor, spec);
  EXPECT_EQ(padded->flags, kPadded | kCopied);
  EXPECT_EQ(std::memcmp(padded->dl_tensor.data, "\1\2\3\4\5", 5), 0);
  spec.tensor_flags = 0;
  DLManagedTensorVersioned* again = MustCopy(padded->dl_tensor, spec, padded->flags);
  EXPECT_EQ(again->flags, kCopied);
  EXPECT_EQ(std::memcmp(again->dl_tensor.data, packed, 3), 0);
  dlbridge_release_versioned(again);
  dlbridge_release_versioned(padded);
}

TEST(DeviceCopy, ValidatesItsSource) {
  Source source;
  const DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  source.shape[0] = -3;
  EXPECT_EQ(Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_TENSOR).rule,
            DLBRIDGE_RULE_EXTENT_NEGATIVE);
  source.shape[0] = 3;
  source.tensor.data = nullptr;
  EXPECT_EQ(Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_TENSOR).rule,
            DLBRIDGE_RULE_DATA_NULL);
  source.tensor.data = source.memory;
  DLBridgePolicy policy = Policy(DLBRIDGE_POLICY_REJECT_ZERO_STRIDES);
  source.strides[0] = 0;
  DLBridgeCopySpec strict = spec;
  strict.policy = &policy;
  EXPECT_EQ(Refused(source.tensor, strict, DLBRIDGE_ERROR_POLICY).rule, DLBRIDGE_RULE_ZERO_STRIDE);
  source.tensor.device = Device(kDLMetal);
  Refused(source.tensor, spec, DLBRIDGE_ERROR_UNSUPPORTED);
  source.tensor.device = Device(99);
  Refused(source.tensor, spec, DLBRIDGE_ERROR_UNSUPPORTED);
}

TEST(DeviceCopy, RejectsInvalidSpecs) {
  const Source source;
  Allocator allocator;
  const DLBridgeAllocator hook = allocator.Hook();
  Target target;
  const DLBridgeCopySpec plain = DLBRIDGE_COPY_SPEC_INIT;
  DLBridgeCopySpec spec = plain;
  spec.options = 1U << 10;
  EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_TOO_NEW).Says("spec.options"));
  spec.options = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("spec.options"));
  spec = plain;
  spec.stream.kind = DLBRIDGE_STREAM_HOST;
  spec.stream.reserved = 1;
  EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_TOO_NEW).Says("spec.stream"));
  spec = target.Spec();
  spec.target.reserved = 1;
  EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_TOO_NEW).Says("reserved"));
  spec = plain;
  spec.version = {2, 0};
  EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("spec.version"));
  spec = plain;
  spec.device = Device(kDLCUDA);
  EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_UNSUPPORTED).Says("allocator"));
  spec.device = Device(kDLCPU, -1);
  EXPECT_EQ(Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_TENSOR).rule,
            DLBRIDGE_RULE_DEVICE_ID_NEGATIVE);
  spec = plain;
  spec.release = Target::Release;
  EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("target"));
  spec = target.Spec();
  spec.allocator = &hook;
  EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("spec.allocator"));
  spec = target.Spec();
  spec.target.handle = 0;
  Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_ARGUMENT);
  spec = target.Spec();
  spec.target.kind = DLBRIDGE_BUFFER_CL_MEM;
  EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("target.kind"));
  spec = target.Spec();
  spec.options = DLBRIDGE_COPY_SHAREABLE;
  EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("SHAREABLE"));
  spec = plain;
  spec.tensor_flags = 8;
  const Error error = Refused(source.tensor, spec, DLBRIDGE_ERROR_UNKNOWN_CODE);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_FLAGS_UNKNOWN);
  // A copy has no option that allows them.
  EXPECT_TRUE(error.Says("spec.tensor_flags has bits that are no flags of DLPack"))
      << error.message;
  EXPECT_FALSE(error.Says("DLBRIDGE_CONVERT")) << error.message;
  EXPECT_EQ(dlbridge_copy(nullptr, 0, &plain, nullptr, nullptr), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(target.releases, 0);
}

TEST(DeviceCopy, RejectsInvalidStreams) {
  const Source source;
  const DLBridgeStream wrong[] = {
      {DLBRIDGE_BACKEND_CUDA, -1, Device(kDLCUDA), 8, 0, 0},
      {DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, Device(kDLCUDA), 0, 0, 0},
      {DLBRIDGE_BACKEND_LEVEL_ZERO, DLBRIDGE_STREAM_QUEUE, Device(kDLOneAPI), 0, 0, 0},
      {DLBRIDGE_BACKEND_OPENCL, DLBRIDGE_STREAM_IMMEDIATE_LIST, Device(kDLOpenCL), 8, 0, 0}};
  for (const DLBridgeStream& stream : wrong) {
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    spec.stream = stream;
    EXPECT_TRUE(Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_ARGUMENT).Says("spec.stream"));
  }
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.stream.kind = DLBRIDGE_STREAM_HOST;
  dlbridge_release_versioned(MustCopy(source.tensor, spec));
}

TEST(DeviceCopy, RejectsATargetOfAnotherBackend) {
  const Source source;
  Target target;
  for (const int32_t type : {kDLCPU, kDLCUDA}) {
    for (const DLBridgeBackend backend : {99, -1, int32_t{DLBRIDGE_BACKEND_HIP}}) {
      DLBridgeCopySpec spec = target.Spec();
      spec.device = Device(type);
      spec.target.backend = backend;
      const DLBridgeStatus status =
          backend == 99 ? DLBRIDGE_ERROR_TOO_NEW : DLBRIDGE_ERROR_INVALID_ARGUMENT;
      EXPECT_TRUE(Refused(source.tensor, spec, status).Says("spec.target.backend"));
    }
  }
  DLBridgeCopySpec spec = target.Spec();
  spec.device = Device(kDLCUDA);
  spec.target.backend = DLBRIDGE_BACKEND_CPU;
  Refused(source.tensor, spec, DLBRIDGE_ERROR_INVALID_ARGUMENT);
  spec.device = Device(kDLCPU);
  dlbridge_release_versioned(MustCopy(source.tensor, spec));
  EXPECT_EQ(target.releases, 1);
}

#ifdef __linux__

DLBridgeStatus Export(const DLManagedTensorVersioned* tensor, Error* error) {
  unsigned char bytes[kIpcBytes];
  int32_t fds[kIpcFds];
  size_t length = 0;
  size_t count = 0;
  const DLBridgeStatus status =
      IpcExport(tensor, 0, {bytes, sizeof bytes, fds, kIpcFds}, &length, &count, error);
  for (size_t i = 0; status == DLBRIDGE_OK && i < count; ++i) {
    close(fds[i]);
  }
  return status;
}

TEST(DeviceCopy, IsShareableWithTheOption) {
  const Source source;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.options = DLBRIDGE_COPY_SHAREABLE;
  DLManagedTensorVersioned* copy = MustCopy(source.tensor, spec);
  EXPECT_EQ(ValuesOf(copy->dl_tensor, 6), kExpected);
  Error error;
  EXPECT_EQ(Export(copy, &error), DLBRIDGE_OK) << error.message;
  dlbridge_release_versioned(copy);
}

TEST(DeviceCopy, IsNotShareableInTheCallersMemory) {
  const Source source;
  Target target;
  DLManagedTensorVersioned* copy = MustCopy(source.tensor, target.Spec());
  DLManagedTensorVersioned* shared = MustShare(copy);
  for (const DLManagedTensorVersioned* tensor : {copy, shared}) {
    Error error;
    EXPECT_EQ(Export(tensor, &error), DLBRIDGE_ERROR_UNSUPPORTED);
    EXPECT_TRUE(error.Says("SHAREABLE")) << error.message;
  }
  dlbridge_release_versioned(copy);
  dlbridge_release_versioned(shared);
}

#endif

TEST(DeviceCopy, SurvivesEachFailingAllocation) {
  if (!Allocations::CanFail()) {
    GTEST_SKIP() << "no allocation can be made to fail here";
  }
  const Source source;
  Target target;
  for (const DLBridgeCopySpec& spec : {target.Spec(), DLBridgeCopySpec(DLBRIDGE_COPY_SPEC_INIT)}) {
    const int before = target.releases;
    for (int64_t fail_at = 1;; ++fail_at) {
      DLManagedTensorVersioned* out = nullptr;
      const Allocations allocations(fail_at);
      const DLBridgeStatus status = dlbridge_copy(&source.tensor, 0, &spec, &out, nullptr);
      if (status == DLBRIDGE_OK) {
        EXPECT_GT(fail_at, 1) << "no allocation failed";
        dlbridge_release_versioned(out);
        break;
      }
      EXPECT_EQ(status, DLBRIDGE_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(out, nullptr);
      EXPECT_EQ(allocations.live(), 0);
      EXPECT_EQ(target.releases, before);
    }
  }
  EXPECT_EQ(target.releases, 1);
}

}  // namespace
}  // namespace dlbridge_test
