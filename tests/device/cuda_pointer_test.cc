// SPDX-License-Identifier: Apache-2.0
// Information on CUDA pointers, and validation of tensors with wrong devices and extents.
#include <sys/mman.h>

#include "device/cuda_fixture.h"

namespace dlbridge_test {
namespace {

class CudaPointer : public CudaTest {
 protected:
  static DLBridgePointerInfo Ask(CUdeviceptr address, DLDevice label = kDevice) {
    const DLBridgeBuffer buffer = dlbridge_buffer_cuda(address);
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    Error error;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, label, &info, &error), DLBRIDGE_OK) << error.message;
    return info;
  }

  static DLBridgeStatus Validate(CUdeviceptr address, DLDevice device, int64_t count,
                                 uint64_t byte_offset, DLBridgeError* error) {
    DLTensor tensor = {};
    tensor.data = reinterpret_cast<void*>(address);
    tensor.device = device;
    tensor.ndim = 1;
    tensor.dtype = {kDLUInt, 8, 1};
    tensor.shape = &count;
    int64_t stride = 1;
    tensor.strides = &stride;
    tensor.byte_offset = byte_offset;
    DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
    policy.level = DLBRIDGE_LEVEL_DEVICE;
    return dlbridge_validate(&tensor, 0, &policy, error);
  }
};

TEST_F(CudaPointer, DeviceMemoryInOneCallAndWithoutAContext) {
  const CUdeviceptr address = Allocate(4096);
  fake_cuda_clear_log();
  const DLBridgePointerInfo info = Ask(address);
  EXPECT_EQ(Log(), "cuPointerGetAttributes ");
  EXPECT_EQ(info.backend, DLBRIDGE_BACKEND_CUDA);
  EXPECT_EQ(info.device.device_type, kDLCUDA);
  EXPECT_EQ(info.device.device_id, 0);
  EXPECT_EQ(info.native_device, 0);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_DEVICE);
  EXPECT_EQ(info.base, address);
  EXPECT_EQ(info.size, 4096U);
  EXPECT_EQ(dlbridge_cuda_memory_context(&info), context_);
  EXPECT_EQ(Counts().primary_created, 0);
}

TEST_F(CudaPointer, AnAddressInsideAnAllocation) {
  const CUdeviceptr address = Allocate(4096);
  const DLBridgePointerInfo info = Ask(address + 4095);
  EXPECT_EQ(info.base, address);
  EXPECT_EQ(info.size, 4096U);
  EXPECT_EQ(Ask(address + 4096).memory, DLBRIDGE_MEMORY_HOST);
}

TEST_F(CudaPointer, AnotherDevice) {
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 1));
  CUdeviceptr address = 0;
  EXPECT_CUDA(cuMemAlloc(&address, 64));
  EXPECT_CUDA(cuCtxPopCurrent(&other));
  const DLBridgePointerInfo info = Ask(address);
  EXPECT_EQ(info.device.device_id, 1);
  EXPECT_EQ(info.native_device, 1);
  EXPECT_CUDA(cuCtxDestroy(other));
}

TEST_F(CudaPointer, ManagedMemory) {
  const Current current(context_);
  CUdeviceptr address = 0;
  EXPECT_CUDA(cuMemAllocManaged(&address, 64, CU_MEM_ATTACH_GLOBAL));
  const DLBridgePointerInfo info = Ask(address + 1);
  EXPECT_EQ(info.device.device_type, kDLCUDAManaged);
  EXPECT_EQ(info.device.device_id, 0);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_MANAGED);
  EXPECT_EQ(info.base, address);
  EXPECT_EQ(info.size, 64U);
}

TEST_F(CudaPointer, PinnedMemory) {
  const Current current(context_);
  void* pinned = nullptr;
  EXPECT_CUDA(cuMemHostAlloc(&pinned, 64, 0));
  const auto address = reinterpret_cast<CUdeviceptr>(pinned);
  fake_cuda_clear_log();
  const DLBridgePointerInfo info = Ask(address + 8);
  EXPECT_EQ(Log(), "cuPointerGetAttributes cuPointerGetAttribute ");
  EXPECT_EQ(info.device.device_type, kDLCUDAHost);
  EXPECT_EQ(info.device.device_id, 0);
  EXPECT_EQ(info.native_device, 0);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_PINNED);
  EXPECT_EQ(info.base, address);
  EXPECT_EQ(info.size, 64U);
  EXPECT_CUDA(cuMemFreeHost(pinned));
}

TEST_F(CudaPointer, RegisteredMemory) {
  const Current current(context_);
  static char mine[256];
  EXPECT_CUDA(cuMemHostRegister(mine, sizeof mine, 0));
  const DLBridgePointerInfo info = Ask(reinterpret_cast<CUdeviceptr>(mine + 3));
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_PINNED);
  EXPECT_EQ(info.base, reinterpret_cast<CUdeviceptr>(mine));
  EXPECT_CUDA(cuMemHostUnregister(mine));
}

// Pinned memory with two addresses: the reported range is in host addresses, like tensors.
TEST_F(CudaPointer, PinnedMemoryWithAnotherAddressOnTheDevice) {
  const Current current(context_);
  void* pinned = nullptr;
  EXPECT_CUDA(cuMemHostAlloc(&pinned, 64, CU_MEMHOSTALLOC_WRITECOMBINED));
  const auto host = reinterpret_cast<CUdeviceptr>(pinned);
  CUdeviceptr device = 0;
  EXPECT_CUDA(cuMemHostGetDevicePointer(&device, pinned, 0));
  ASSERT_NE(device, host);
  EXPECT_EQ(Ask(device + 8).base, host);
  EXPECT_EQ(Ask(device + 8).size, 64U);
  EXPECT_EQ(Ask(host + 8).memory, DLBRIDGE_MEMORY_PINNED);
  EXPECT_EQ(Ask(host + 8).size, 0U) << "the driver reports the range in device addresses";
  Error error;
  EXPECT_EQ(Validate(host, {kDLCUDAHost, 0}, 64, 0, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(device, {kDLCUDAHost, 0}, 64, 0, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_ALLOCATION_BOUNDS);
  EXPECT_CUDA(cuMemFreeHost(pinned));
}

// Memory without a context: the ordinal identifies the device.
TEST_F(CudaPointer, MemoryOfPoolsAndOfMap) {
  CUstream stream = MakeStream();
  CUdeviceptr pooled = 0;
  {
    const Current current(context_);
    EXPECT_CUDA(cuMemAllocAsync(&pooled, 64, stream));
  }
  for (const CUdeviceptr address : {pooled, fake_cuda_map(1, 8192)}) {
    const DLBridgePointerInfo info = Ask(address + 5);
    EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_DEVICE);
    EXPECT_EQ(info.device.device_id, address == pooled ? 0 : 1);
    EXPECT_EQ(info.base, address);
    EXPECT_EQ(info.size, address == pooled ? 64U : 8192U);
    EXPECT_EQ(info.context, 0U);
  }
  const Current current(context_);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

// PyTorch's expandable segments: a large reservation with memory mapped piece by piece.
class CudaVirtual : public CudaPointer {
 protected:
  static constexpr size_t kPiece = 4096;

  void SetUp() override {
    CudaPointer::SetUp();
    EXPECT_CUDA(cuCtxCreate(&other_, nullptr, 0, 1));
    // [unmapped][piece][piece][piece][unmapped ...]
    reserved_ = fake_cuda_map_pieces(1, 64 * kPiece, kPiece, kPiece, 3);
    first_ = reserved_ + kPiece;
  }

  void TearDown() override {
    EXPECT_CUDA(cuCtxDestroy(other_));
    CudaPointer::TearDown();
  }

  CUcontext other_ = nullptr;  // of device 1, current
  CUdeviceptr reserved_ = 0;
  CUdeviceptr first_ = 0;
  const DLDevice device_ = {kDLCUDA, 1};
};

TEST_F(CudaVirtual, TheRangeIsThatOfThePiece) {
  const DLBridgePointerInfo info = Ask(first_ + kPiece + 5);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_DEVICE);
  EXPECT_EQ(info.base, first_ + kPiece);
  EXPECT_EQ(info.size, kPiece);
  EXPECT_EQ(info.properties, 0U);
}

TEST_F(CudaVirtual, ATensorMayFillSeveralPieces) {
  Error error;
  EXPECT_EQ(Validate(first_, device_, 3 * kPiece, 0, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(first_ + 7, device_, kPiece, 0, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(first_, device_, 3 * kPiece + 1, 0, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_ALLOCATION_BOUNDS);
  EXPECT_TRUE(error.Says("[0, 12288)")) << error.message;
}

TEST_F(CudaVirtual, UnmappedMemoryIsOutOfBounds) {
  for (const int hidden : {0, 1}) {
    fake_cuda_hide_unmapped(hidden);
    Error error;
    EXPECT_EQ(Validate(reserved_, device_, 64, 0, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_ALLOCATION_BOUNDS) << error.message;
    EXPECT_TRUE(error.Says("[0, 0)")) << error.message;
    EXPECT_EQ(Validate(first_ + 3 * kPiece, device_, 1, 0, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
    const DLBridgeBuffer buffer = dlbridge_buffer_cuda(reserved_);
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, device_, &info, &error),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(error.Says("reserved but not mapped")) << error.message;
  }
  fake_cuda_hide_unmapped(0);
}

TEST_F(CudaVirtual, OfADriverThatDoesNotKnowThePieceTheReservationIsReported) {
  fake_cuda_fail("cuMemGetAddressRange_v2", CUDA_ERROR_NOT_FOUND, 1);
  const DLBridgePointerInfo info = Ask(first_);
  EXPECT_EQ(info.base, reserved_);
  EXPECT_EQ(info.size, 64 * kPiece);
}

TEST_F(CudaVirtual, EachCallThatFailsIsNamed) {
  const DLBridgeBuffer buffer = dlbridge_buffer_cuda(first_);
  for (const char* call : {"cuCtxGetCurrent", "cuCtxGetDevice", "cuCtxPushCurrent",
                           "cuThreadExchangeStreamCaptureMode", "cuMemGetAddressRange"}) {
    std::string name = call;
    name += name == "cuCtxPushCurrent" || name == "cuMemGetAddressRange" ? "_v2" : "";
    fake_cuda_fail(name.c_str(), CUDA_ERROR_UNKNOWN, 1);
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    Error error;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, device_, &info, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says(call)) << error.message;
  }
}

// The primary context is used if it is active, and not created.
TEST_F(CudaVirtual, AQuestionCreatesNoContext) {
  EXPECT_CUDA(cuCtxPushCurrent(context_));
  const int created = Counts().primary_created;
  EXPECT_EQ(Ask(first_).size, 64 * kPiece);
  EXPECT_EQ(Counts().primary_created, created);
  CUcontext primary = nullptr;
  EXPECT_CUDA(cuDevicePrimaryCtxRetain(&primary, 1));
  EXPECT_EQ(Ask(first_).size, kPiece);
  for (const char* call : {"cuDevicePrimaryCtxGetState", "cuDevicePrimaryCtxRetain"}) {
    const DLBridgeBuffer buffer = dlbridge_buffer_cuda(first_);
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    Error error;
    fake_cuda_fail(call, CUDA_ERROR_UNKNOWN, 1);
    EXPECT_EQ(dlbridge_pointer_info(&buffer, device_, &info, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says(call)) << error.message;
  }
  CUcontext popped = nullptr;
  EXPECT_CUDA(cuCtxPopCurrent(&popped));
  EXPECT_CUDA(cuDevicePrimaryCtxRelease(1));
}

// Two allocations of a pool may be neighbours; a tensor must not reach from one into the other.
TEST_F(CudaVirtual, MemoryOfPoolsIsOneRange) {
  CUstream stream = MakeStream();
  CUdeviceptr pooled = 0;
  {
    const Current current(context_);
    EXPECT_CUDA(cuMemAllocAsync(&pooled, 64, stream));
  }
  fake_cuda_clear_log();
  EXPECT_EQ(Ask(pooled).size, 64U);
  EXPECT_EQ(Log(), "cuPointerGetAttributes cuPointerGetAttribute ");
  Error error;
  EXPECT_EQ(Validate(pooled, kDevice, 65, 0, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  const Current current(context_);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(CudaPointer, UnknownMemoryIsHostMemory) {
  int on_stack = 0;
  for (const CUdeviceptr address :
       {reinterpret_cast<CUdeviceptr>(&on_stack), CUdeviceptr{0}, ~CUdeviceptr{0}}) {
    const DLBridgePointerInfo info = Ask(address);
    EXPECT_EQ(info.backend, DLBRIDGE_BACKEND_CPU);
    EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_HOST);
    EXPECT_EQ(info.native_device, -1);
  }
}

TEST_F(CudaPointer, KeepsTheCurrentContext) {
  const CUdeviceptr address = Allocate(64);
  const Current current(context_);
  Ask(address);
  CUcontext now = nullptr;
  EXPECT_CUDA(cuCtxGetCurrent(&now));
  EXPECT_EQ(now, context_);
}

TEST_F(CudaPointer, EachCallThatFailsIsNamed) {
  const Current current(context_);
  void* pinned = nullptr;
  EXPECT_CUDA(cuMemHostAlloc(&pinned, 64, 0));
  const DLBridgeBuffer buffer = dlbridge_buffer_cuda(reinterpret_cast<CUdeviceptr>(pinned));
  for (const char* call : {"cuPointerGetAttributes", "cuPointerGetAttribute"}) {
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    Error error;
    fake_cuda_fail(call, CUDA_ERROR_UNKNOWN, 1);
    EXPECT_EQ(dlbridge_pointer_info(&buffer, kDevice, &info, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says(call)) << error.message;
    EXPECT_TRUE(error.Says("999 (CUDA_ERROR_UNKNOWN)")) << error.message;
    EXPECT_EQ(info.memory, 0) << "an output was written";
  }
  EXPECT_CUDA(cuMemFreeHost(pinned));
}

TEST_F(CudaPointer, ACorrectDeviceAndExtentAreValid) {
  const CUdeviceptr address = Allocate(64);
  Error error;
  EXPECT_EQ(Validate(address, kDevice, 64, 0, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(address, kDevice, 1, 63, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(address + 16, kDevice, 48, 0, &error), DLBRIDGE_OK) << error.message;
}

TEST_F(CudaPointer, AWrongDeviceIsReportedWithTheActualOne) {
  const CUdeviceptr address = Allocate(64);
  Error error;
  EXPECT_EQ(Validate(address, {kDLCUDA, 1}, 64, 0, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL);
  EXPECT_TRUE(error.Says("cuda:1")) << error.message;
  EXPECT_TRUE(error.Says("cuda:0")) << error.message;
  EXPECT_EQ(Validate(address, {kDLCPU, 0}, 64, 0, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_TRUE(error.Says("cpu")) << error.message;
  EXPECT_TRUE(error.Says("cuda:0")) << error.message;
  EXPECT_EQ(Validate(address, {kDLCUDAManaged, 0}, 64, 0, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(Validate(address, {kDLCUDAHost, 0}, 64, 0, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
}

TEST_F(CudaPointer, HostMemoryIsNotDeviceMemory) {
  static unsigned char host[64];
  Error error;
  EXPECT_EQ(Validate(reinterpret_cast<CUdeviceptr>(host), kDevice, 64, 0, &error),
            DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL);
}

TEST_F(CudaPointer, AnExtentThatLeavesTheAllocationIsReportedWithBothRanges) {
  const CUdeviceptr address = Allocate(64);
  Error error;
  EXPECT_EQ(Validate(address, kDevice, 65, 0, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_ALLOCATION_BOUNDS);
  EXPECT_TRUE(error.Says("[0, 64)")) << error.message;
  EXPECT_TRUE(error.Says("byte 64")) << error.message;
  EXPECT_EQ(Validate(address + 63, kDevice, 2, 0, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(Validate(address, kDevice, 1, 64, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
}

TEST_F(CudaPointer, AFailingDriverIsADriverError) {
  const CUdeviceptr address = Allocate(64);
  Error error;
  fake_cuda_fail("cuPointerGetAttributes", CUDA_ERROR_UNKNOWN, 1);
  EXPECT_EQ(Validate(address, kDevice, 64, 0, &error), DLBRIDGE_ERROR_DRIVER);
}

}  // namespace
}  // namespace dlbridge_test
