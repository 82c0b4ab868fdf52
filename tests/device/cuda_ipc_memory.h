// SPDX-License-Identifier: Apache-2.0
// Memory of CUDA's pools and of cuMemMap for the checks of tensors between processes.
#ifndef DLBRIDGE_TESTS_DEVICE_CUDA_IPC_MEMORY_H_
#define DLBRIDGE_TESTS_DEVICE_CUDA_IPC_MEMORY_H_

#include <dirent.h>

#include <vector>

#include "device/cuda_tensor_device.h"

namespace dlbridge_test {

// The granularity of the fake.
constexpr size_t kChunk = size_t{2} << 20;

inline CUmemAllocationProp ChunkProperties(int ordinal, unsigned handle_types) {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = ordinal;
  prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  return prop;
}

// Chunks in one reserved range, as PyTorch's expandable segments map them: the handles are kept.
class Segment {
 public:
  explicit Segment(size_t count) : size_(count * kChunk) {
    EXPECT_CUDA(cuMemAddressReserve(&base_, size_, 0, 0, 0));
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() {
    for (const Mapping& mapping : mappings_) {
      EXPECT_CUDA(cuMemUnmap(mapping.address, mapping.size));
      EXPECT_CUDA(cuMemRelease(mapping.handle));
    }
    EXPECT_CUDA(cuMemAddressFree(base_, size_));
  }

  CUdeviceptr base() const { return base_; }

  // Maps `size` bytes at a chunk of the range.
  void Map(size_t chunk, size_t size, int ordinal, unsigned handle_types) {
    const CUmemAllocationProp prop = ChunkProperties(ordinal, handle_types);
    Mapping mapping = {base_ + chunk * kChunk, size, 0};
    EXPECT_CUDA(cuMemCreate(&mapping.handle, size, &prop, 0));
    EXPECT_CUDA(cuMemMap(mapping.address, size, 0, mapping.handle, 0));
    CUmemAccessDesc access = {};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    EXPECT_CUDA(cuMemSetAccess(mapping.address, size, &access, 1));
    mappings_.push_back(mapping);
  }

 private:
  struct Mapping {
    CUdeviceptr address;
    size_t size;
    CUmemGenericAllocationHandle handle;
  };
  CUdeviceptr base_ = 0;
  size_t size_;
  std::vector<Mapping> mappings_;
};

inline CUmemoryPool MakePool(int ordinal, CUmemAllocationHandleType handle_types) {
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = ordinal;
  props.handleTypes = handle_types;
  CUmemoryPool pool = nullptr;
  EXPECT_CUDA(cuMemPoolCreate(&pool, &props));
  return pool;
}

// A device whose memory is of another kind than that of cuMemAlloc.
class OtherCudaMemory : public TensorDevice {
 public:
  explicit OtherCudaMemory(int ordinal) : ordinal_(ordinal), device_(ordinal) {}
  DLDevice label() override { return device_.label(); }
  DLBridgeStream stream() override { return device_.stream(); }
  void Fill(const DLBridgeBuffer& buffer, const TensorBytes& bytes) override {
    device_.Fill(buffer, bytes);
  }
  TensorBytes Read(const DLBridgeBuffer& buffer, size_t bytes) override {
    return device_.Read(buffer, bytes);
  }
  void Fail(const char* function, int nth) override { device_.Fail(function, nth); }

 protected:
  int ordinal_;
  CudaDevice device_;
};

class PoolDevice final : public OtherCudaMemory {
 public:
  using OtherCudaMemory::OtherCudaMemory;
  DLBridgeBuffer Allocate(size_t bytes) override {
    pool_ = MakePool(ordinal_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuCtxPushCurrent(device_.context()));
    EXPECT_CUDA(cuMemAllocFromPoolAsync(&address, bytes, pool_, device_.native_stream()));
    CUcontext popped = nullptr;
    EXPECT_CUDA(cuCtxPopCurrent(&popped));
    return dlbridge_buffer_cuda(address);
  }
  void Free(const DLBridgeBuffer& buffer) override {
    device_.Free(buffer);
    EXPECT_CUDA(cuMemPoolDestroy(pool_));
  }

 private:
  CUmemoryPool pool_ = nullptr;
};

// Three chunks of two sizes. The tensor of ipc_checks.h lies in the second and the third.
class ChunkDevice final : public OtherCudaMemory {
 public:
  using OtherCudaMemory::OtherCudaMemory;
  DLBridgeBuffer Allocate(size_t /*bytes*/) override {
    segment_ = std::make_unique<Segment>(4);
    segment_->Map(0, kChunk, ordinal_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    segment_->Map(1, 2 * kChunk, ordinal_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    segment_->Map(3, kChunk, ordinal_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    return dlbridge_buffer_cuda(segment_->base() + 3 * kChunk - 200);
  }
  void Free(const DLBridgeBuffer& /*buffer*/) override { segment_.reset(); }

 private:
  std::unique_ptr<Segment> segment_;
};

// The driver is started in each process by itself.
template <class Device>
struct CudaProcess {
  template <class Part>
  void operator()(Part part) const {
    UseFakeCuda();
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    ASSERT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_CUDA, &info, nullptr), DLBRIDGE_OK);
    ASSERT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    {
      Device device(1);
      part(&device);
    }
    EXPECT_EQ(fake_cuda_violations(), 0) << fake_cuda_violation_texts();
    const FakeCudaCounts counts = Counts();
    EXPECT_EQ(counts.live_mappings, 0);
    EXPECT_EQ(counts.live_pools, 0);
    EXPECT_EQ(counts.live_allocations, 0);
    EXPECT_EQ(counts.live_reservations, 0);
    EXPECT_EQ(counts.live_chunks, 0);
    EXPECT_EQ(counts.context_depth, 0);
    EXPECT_EQ(counts.capture_mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  }
};

// The file descriptors that this process has open.
inline int OpenFiles() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) {
    ++count;
  }
  closedir(folder);
  return count;
}

// Counts what the importer has open.
inline int OpenMemory() {
  const FakeCudaCounts counts = Counts();
  EXPECT_EQ(counts.live_allocations, 0) << "handles are not kept";
  return counts.live_mappings + counts.live_reservations;
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_CUDA_IPC_MEMORY_H_
