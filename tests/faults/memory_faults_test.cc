// SPDX-License-Identifier: Apache-2.0
// Functions that make memory: allocation, copies, wrapped memory, and memory of other processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "faults/attempt.h"
#include "support/ipc.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

using Managed = DLManagedTensorVersioned;

// Writes and reads the first and the last element.
void ExpectUsable(const Managed& tensor, int64_t count) {
  auto* floats = reinterpret_cast<float*>(static_cast<char*>(tensor.dl_tensor.data) +
                                          tensor.dl_tensor.byte_offset);
  floats[0] = 1;
  floats[count - 1] = 2;
  EXPECT_EQ(floats[count - 1], 2);
}

std::function<void(Attempt&)> Allocate(int64_t count, uint32_t options) {
  return [count, options](Attempt& attempt) {
    DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
    spec.options = options;
    spec.dtype = Dtype(kDLFloat, 32);
    spec.ndim = 1;
    spec.shape = &count;
    Managed* out = nullptr;
    if (attempt([&](DLBridgeError* error) { return dlbridge_allocate(&spec, &out, error); })) {
      ExpectUsable(*out, count);
    } else {
      EXPECT_EQ(out, nullptr);
    }
    dlbridge_release_versioned(out);
  };
}

// An allocator that counts.
struct Counting {
  int live = 0;

  DLBridgeAllocator Hook() {
    DLBridgeAllocator hook = DLBRIDGE_ALLOCATOR_INIT;
    hook.context = this;
    hook.allocate = [](void* self, DLDevice /*device*/, uint64_t bytes, uint64_t /*alignment*/,
                       const DLBridgeStream* /*stream*/) {
      ++static_cast<Counting*>(self)->live;
      return std::aligned_alloc(256, (bytes + 255) & ~uint64_t{255});
    };
    hook.deallocate = [](void* self, DLDevice /*device*/, void* memory, uint64_t /*bytes*/,
                         uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
      --static_cast<Counting*>(self)->live;
      std::free(memory);
    };
    return hook;
  }
};

void AllocateByCaller(Attempt& attempt) {
  Counting memory;
  const DLBridgeAllocator hook = memory.Hook();
  const int64_t count = 8;
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = Dtype(kDLFloat, 32);
  spec.ndim = 1;
  spec.shape = &count;
  spec.allocator = &hook;
  Managed* out = nullptr;
  attempt([&](DLBridgeError* error) { return dlbridge_allocate(&spec, &out, error); });
  EXPECT_EQ(memory.live, out != nullptr ? 1 : 0);
  dlbridge_release_versioned(out);
  EXPECT_EQ(memory.live, 0);
}

// The source of a copy has more axes than fit on the stack, and is reversed.
TensorSpec ManyAxes() {
  TensorSpec spec(Axes(20, 1));
  spec.shape[19] = 6;
  spec.strides[19] = -1;
  spec.start = 64;
  return spec;
}

std::function<void(Attempt&)> Copy(const TensorSpec& tensor, uint32_t options) {
  return [tensor, options](Attempt& attempt) {
    const LegacySource source(tensor);
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    spec.options = options;
    Managed* out = nullptr;
    if (attempt([&](DLBridgeError* error) {
          return dlbridge_copy(source.tensor(), 0, &spec, &out, error);
        })) {
      ExpectUsable(*out, 6);
    } else {
      EXPECT_EQ(out, nullptr);
    }
    EXPECT_TRUE(source.Untouched());
    dlbridge_release_versioned(out);
    source.get()->deleter(source.get());
  };
}

void CountRelease(void* count, const DLBridgeBuffer* /*buffer*/, const DLBridgeStream* /*stream*/) {
  ++*static_cast<int*>(count);
}

void CopyIntoBuffer(Attempt& attempt) {
  const LegacySource source;
  alignas(64) float memory[16];
  int released = 0;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.target = dlbridge_buffer_address(memory);
  spec.target_size = sizeof memory;
  spec.release = CountRelease;
  spec.release_context = &released;
  Managed* out = nullptr;
  const bool copied = attempt(
      [&](DLBridgeError* error) { return dlbridge_copy(source.tensor(), 0, &spec, &out, error); });
  EXPECT_EQ(released, 0);
  dlbridge_release_versioned(out);
  EXPECT_EQ(released, copied ? 1 : 0);
  source.get()->deleter(source.get());
}

void CopyAsync(Attempt& attempt) {
  VersionedSource source;
  Managed* mine = MustAdopt(source.get());
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.stream.kind = DLBRIDGE_STREAM_HOST;
  Managed* out = nullptr;
  if (attempt(
          [&](DLBridgeError* error) { return dlbridge_copy_async(mine, &spec, &out, error); })) {
    ExpectUsable(*out, 6);
  } else {
    EXPECT_EQ(out, nullptr);
  }
  EXPECT_EQ(source.deletions(), 0);
  dlbridge_release_versioned(out);
  dlbridge_release_versioned(mine);
}

DLBridgeWrapSpec WrapOf(void* memory, const int64_t* shape, int* released) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.buffer = dlbridge_buffer_address(memory);
  spec.device = Device(kDLCPU);
  spec.dtype = Dtype(kDLFloat, 32);
  spec.ndim = 1;
  spec.shape = shape;
  spec.release = CountRelease;
  spec.release_context = released;
  return spec;
}

void Wrap(Attempt& attempt) {
  float memory[4];
  const int64_t shape = 4;
  int released = 0;
  const DLBridgeWrapSpec spec = WrapOf(memory, &shape, &released);
  Managed* out = nullptr;
  const bool wrapped =
      attempt([&](DLBridgeError* error) { return dlbridge_wrap(&spec, &out, error); });
  EXPECT_EQ(wrapped, out != nullptr);
  EXPECT_EQ(released, 0);
  dlbridge_release_versioned(out);
  EXPECT_EQ(released, wrapped ? 1 : 0);
}

void WrapLegacy(Attempt& attempt) {
  float memory[4];
  const int64_t shape = 4;
  int released = 0;
  const DLBridgeWrapSpec spec = WrapOf(memory, &shape, &released);
  DLManagedTensor* out = nullptr;
  const bool wrapped =
      attempt([&](DLBridgeError* error) { return dlbridge_wrap_legacy(&spec, &out, error); });
  EXPECT_EQ(wrapped, out != nullptr);
  EXPECT_EQ(released, 0);
  dlbridge_release_legacy(out);
  EXPECT_EQ(released, wrapped ? 1 : 0);
}

// A shareable tensor, and its message to another process.
struct Shared {
  Managed* tensor = nullptr;
  uint8_t bytes[kIpcBytes];
  int32_t fds[kIpcFds];
  size_t length = 0;
  size_t fd_count = 0;

  Shared() {
    const int64_t count = 100;
    DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
    spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
    spec.dtype = Dtype(kDLFloat, 32);
    spec.ndim = 1;
    spec.shape = &count;
    EXPECT_EQ(dlbridge_allocate(&spec, &tensor, nullptr), DLBRIDGE_OK);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() {
    for (size_t i = 0; i < fd_count; ++i) {
      EXPECT_EQ(close(fds[i]), 0);
    }
    dlbridge_release_versioned(tensor);
  }

  DLBridgeStatus Export(uint32_t options, DLBridgeError* error) {
    return IpcExport(tensor, options, {bytes, sizeof bytes, fds, kIpcFds}, &length, &fd_count,
                     error);
  }
};

std::function<void(Attempt&)> IpcExportOf(uint32_t options) {
  return [options](Attempt& attempt) {
    Shared shared;
    const bool done = attempt([&](DLBridgeError* error) { return shared.Export(options, error); });
    EXPECT_EQ(shared.fd_count, done ? 1U : 0U);
    ExpectUsable(*shared.tensor, 100);
  };
}

std::function<void(Attempt&)> IpcImportOf(uint32_t options) {
  return [options](Attempt& attempt) {
    Shared shared;
    EXPECT_EQ(shared.Export(options, nullptr), DLBRIDGE_OK);
    ExpectUsable(*shared.tensor, 100);
    Managed* out = nullptr;
    if (attempt([&](DLBridgeError* error) {
          return IpcImport(shared.bytes, shared.length, shared.fds, shared.fd_count, options,
                           nullptr, &out, error);
        })) {
      EXPECT_EQ(std::memcmp(out->dl_tensor.data, shared.tensor->dl_tensor.data, 400), 0);
    } else {
      EXPECT_EQ(out, nullptr);
    }
    dlbridge_release_versioned(out);
  };
}

const std::vector<Scenario> kScenarios = {
    {"AllocateInTheNode", Allocate(15, 0)},
    {"Allocate", Allocate(1500, 0)},
    {"AllocateHugePages", Allocate(1500000, 0)},
    {"AllocateShareable", Allocate(1500, DLBRIDGE_ALLOCATE_SHAREABLE)},
    {"AllocateByCaller", AllocateByCaller},
    {"Copy", Copy(TensorSpec(), 0)},
    {"CopyOfManyAxes", Copy(ManyAxes(), 0)},
    {"CopyShareable", Copy(TensorSpec(), DLBRIDGE_COPY_SHAREABLE)},
    {"CopyIntoBuffer", CopyIntoBuffer},
    {"CopyAsync", CopyAsync},
    {"Wrap", Wrap},
    {"WrapLegacy", WrapLegacy},
    {"IpcExport", IpcExportOf(0)},
    {"IpcExportReadOnly", IpcExportOf(DLBRIDGE_IPC_READ_ONLY)},
    {"IpcImport", IpcImportOf(0)},
    {"IpcImportReadOnly", IpcImportOf(DLBRIDGE_IPC_READ_ONLY)},
};

DLBRIDGE_FAIL_EACH_CALL(Memory, kScenarios);

}  // namespace
}  // namespace dlbridge_test
