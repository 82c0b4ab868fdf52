// SPDX-License-Identifier: Apache-2.0
// Tests of the fake driver's rules for memory and events between processes: tests/fakes/README.md.
#include <fcntl.h>

#include <functional>

#include "cuda_ipc_memory.h"
#include "support/child.h"

namespace dlbridge_test {
namespace {

// First, while this process has not started the driver.
TEST(CudaFakeIpcTwoProcesses, OneContextOfADeviceOpensHandles) {
  int pipes[2][2];
  ASSERT_EQ(pipe(pipes[0]), 0);
  ASSERT_EQ(pipe(pipes[1]), 0);
  const pid_t exporter = fork();
  if (exporter == 0) {
    close(pipes[1][1]);
    EXPECT_CUDA(cuInit(0));
    CUcontext context = nullptr;
    EXPECT_CUDA(cuCtxCreate(&context, nullptr, 0, 0));
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuMemAlloc(&address, 64));
    CUipcMemHandle handle = {};
    EXPECT_CUDA(cuIpcGetMemHandle(&handle, address));
    EXPECT_EQ(write(pipes[0][1], &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
    char end = 0;
    EXPECT_EQ(read(pipes[1][0], &end, 1), 0);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  EXPECT_TRUE(InChild([&] {
    CUipcMemHandle handle = {};
    EXPECT_EQ(read(pipes[0][0], &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
    EXPECT_CUDA(cuInit(0));
    CUcontext first = nullptr;
    CUcontext second = nullptr;
    CUdeviceptr address = 0;
    const unsigned lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    EXPECT_CUDA(cuCtxCreate(&first, nullptr, 0, 0));
    EXPECT_CUDA(cuIpcOpenMemHandle(&address, handle, lazy));
    EXPECT_CUDA(cuIpcCloseMemHandle(address));
    EXPECT_CUDA(cuCtxCreate(&second, nullptr, 0, 0));
    EXPECT_EQ(cuIpcOpenMemHandle(&address, handle, lazy), CUDA_ERROR_ALREADY_MAPPED)
        << "an answer, not a violation";
    EXPECT_CUDA(cuCtxDestroy(first));
    EXPECT_CUDA(cuIpcOpenMemHandle(&address, handle, lazy)) << "the first context is gone";
    EXPECT_CUDA(cuIpcCloseMemHandle(address));
    EXPECT_EQ(fake_cuda_violations(), 0) << fake_cuda_violation_texts();
  }));
  for (auto& ends : pipes) {
    close(ends[0]);
    close(ends[1]);
  }
  int status = -1;
  EXPECT_EQ(waitpid(exporter, &status, 0), exporter);
  EXPECT_EQ(status, 0) << "the exporter failed";
}

class CudaFakeIpc : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    EXPECT_CUDA(cuCtxPushCurrent(context_));
    EXPECT_CUDA(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }

  void TearDown() override {
    EXPECT_CUDA(cuStreamDestroy(stream_));
    CUcontext popped = nullptr;
    EXPECT_CUDA(cuCtxPopCurrent(&popped));
    const FakeCudaCounts counts = Counts();
    EXPECT_EQ(counts.live_pools, 0);
    EXPECT_EQ(counts.live_allocations, 0);
    EXPECT_EQ(counts.live_reservations, 0);
    EXPECT_EQ(counts.live_chunks, 0);
    CudaTest::TearDown();
  }

  // The call returned the error and recorded this one violation, which is then cleared.
  static void ExpectRefused(CUresult result, CUresult expected, const char* text) {
    EXPECT_EQ(result, expected) << text;
    EXPECT_EQ(fake_cuda_violations(), 1) << text;
    EXPECT_NE(std::strstr(fake_cuda_violation_texts(), text), nullptr)
        << fake_cuda_violation_texts() << text;
    fake_cuda_forgive();
  }

  static void ExpectInvalid(CUresult result, const char* text) {
    ExpectRefused(result, CUDA_ERROR_INVALID_VALUE, text);
  }

  CUdeviceptr AllocateFrom(CUmemoryPool pool) const {
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuMemAllocFromPoolAsync(&address, 64, pool, stream_));
    return address;
  }

  CUstream stream_ = nullptr;
};

constexpr CUmemAllocationHandleType kFd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

void* AsHandle(int fd) { return reinterpret_cast<void*>(static_cast<intptr_t>(fd)); }

TEST_F(CudaFakeIpc, RejectsWrongUseOfPools) {
  CUmemPoolProps host = {};
  CUmemoryPool pool = nullptr;
  ExpectInvalid(cuMemPoolCreate(&pool, &host), "other memory than a device's");
  pool = MakePool(0, kFd);
  const CUdeviceptr address = AllocateFrom(pool);
  CUmemPoolPtrExportData data = {};
  ExpectInvalid(cuMemPoolExportPointer(&data, address), "before its pool was exported");
  int fd = -1;
  ExpectInvalid(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_FABRIC, 0),
                "another type");
  ExpectInvalid(cuMemPoolExportToShareableHandle(&fd, pool, kFd, 1), "flags");
  EXPECT_CUDA(cuMemPoolExportToShareableHandle(&fd, pool, kFd, 0));
  ExpectInvalid(cuMemPoolExportPointer(&data, address + 1), "no start of memory of a pool");
  EXPECT_CUDA(cuMemPoolExportPointer(&data, address));
  CUdeviceptr imported = 0;
  ExpectInvalid(cuMemPoolImportPointer(&imported, pool, &data), "was not imported");
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {1}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  ExpectInvalid(cuMemPoolSetAccess(pool, &access, 1), "its own device");
  ExpectInvalid(cuMemPoolDestroy(pool), "before its memory is freed");
  EXPECT_CUDA(cuMemFree(address));
  EXPECT_CUDA(cuMemPoolDestroy(pool));
  ExpectInvalid(cuMemPoolDestroy(pool), "no live pool");
  close(fd);
}

// These are answers, not violations: a program cannot know them in advance.
TEST_F(CudaFakeIpc, AnswersAboutPools) {
  CUmemoryPool pool = MakePool(0, CU_MEM_HANDLE_TYPE_NONE);
  int fd = -1;
  EXPECT_EQ(cuMemPoolExportToShareableHandle(&fd, pool, kFd, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuMemPoolDestroy(pool));
  const int null = open("/dev/null", O_RDONLY);
  for (const int wrong : {null, -1}) {
    EXPECT_EQ(cuMemPoolImportFromShareableHandle(&pool, AsHandle(wrong), kFd, 0),
              CUDA_ERROR_INVALID_VALUE);
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cuMemImportFromShareableHandle(&handle, AsHandle(wrong), kFd),
              CUDA_ERROR_INVALID_VALUE);
  }
  close(null);
}

TEST_F(CudaFakeIpc, RejectsWrongUseOfImportedPools) {
  CUmemoryPool pool = MakePool(0, kFd);
  const CUdeviceptr address = AllocateFrom(pool);
  int fd = -1;
  EXPECT_CUDA(cuMemPoolExportToShareableHandle(&fd, pool, kFd, 0));
  CUmemPoolPtrExportData data = {};
  EXPECT_CUDA(cuMemPoolExportPointer(&data, address));
  CUmemoryPool imported = nullptr;
  ExpectInvalid(cuMemPoolImportFromShareableHandle(&imported, AsHandle(fd), kFd, 1), "flags");
  EXPECT_CUDA(cuMemPoolImportFromShareableHandle(&imported, AsHandle(fd), kFd, 0));
  CUdeviceptr none = 0;
  ExpectInvalid(cuMemAllocFromPoolAsync(&none, 64, imported, stream_), "from an imported pool");
  int again = -1;
  EXPECT_EQ(cuMemPoolExportToShareableHandle(&again, imported, kFd, 0), CUDA_ERROR_INVALID_VALUE);
  CUmemPoolPtrExportData foreign = data;
  foreign.reserved[12] ^= 1;  // the number of the pool
  EXPECT_EQ(cuMemPoolImportPointer(&none, imported, &foreign), CUDA_ERROR_INVALID_VALUE);

  // Two imports of one pointer have one address and no count; no access before cuMemPoolSetAccess.
  CUdeviceptr twice[2] = {};
  EXPECT_CUDA(cuMemPoolImportPointer(&twice[0], imported, &data));
  EXPECT_CUDA(cuMemPoolImportPointer(&twice[1], imported, &data));
  EXPECT_EQ(twice[0], twice[1]);
  char byte = 0;
  ExpectInvalid(cuMemcpyDtoHAsync(&byte, twice[0], 1, stream_), "memory that is accessible");
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}},
                                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_CUDA(cuMemPoolSetAccess(imported, &access, 1));
  EXPECT_CUDA(cuMemcpyDtoHAsync(&byte, twice[0], 1, stream_));
  EXPECT_CUDA(cuStreamSynchronize(stream_));
  ExpectInvalid(cuMemPoolDestroy(imported), "before its memory is freed");
  EXPECT_CUDA(cuMemFree(twice[0]));
  ExpectInvalid(cuMemFree(twice[1]), "of no allocation");
  EXPECT_CUDA(cuMemPoolDestroy(imported));
  EXPECT_CUDA(cuMemFree(address));
  EXPECT_CUDA(cuMemPoolDestroy(pool));
  close(fd);
}

TEST_F(CudaFakeIpc, RejectsWrongUseOfMappedMemory) {
  const CUmemAllocationProp prop = ChunkProperties(0, kFd);
  CUmemGenericAllocationHandle handle = 0;
  ExpectInvalid(cuMemCreate(&handle, 4096, &prop, 0), "multiple of the granularity");
  EXPECT_CUDA(cuMemCreate(&handle, kChunk, &prop, 0));
  CUdeviceptr base = 0;
  ExpectInvalid(cuMemAddressReserve(&base, kChunk, 0, 0, 1), "flags");
  EXPECT_EQ(cuMemAddressReserve(&base, 4096, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuMemAddressReserve(&base, 2 * kChunk, 0, 0, 0));
  ExpectInvalid(cuMemMap(base, kChunk, 4096, handle, 0), "an offset");
  ExpectInvalid(cuMemMap(base + 2 * kChunk, kChunk, 0, handle, 0), "that are not reserved");
  EXPECT_EQ(cuMemMap(base, 2 * kChunk, 0, handle, 0), CUDA_ERROR_INVALID_VALUE) << "too large";
  EXPECT_EQ(cuMemMap(base + 4096, kChunk, 0, handle, 0), CUDA_ERROR_INVALID_VALUE) << "unaligned";
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}},
                                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  ExpectInvalid(cuMemSetAccess(base, kChunk, &access, 1), "whole mappings");
  EXPECT_CUDA(cuMemMap(base, kChunk, 0, handle, 0));
  ExpectInvalid(cuMemMap(base, kChunk, 0, handle, 0), "that are mapped");

  // Memory is accessible only after cuMemSetAccess, and only where it is mapped.
  char bytes[2] = {};
  ExpectInvalid(cuMemcpyDtoHAsync(bytes, base, 1, stream_), "memory that is accessible");
  ExpectInvalid(cuMemSetAccess(base, 2 * kChunk, &access, 1), "whole mappings");
  EXPECT_CUDA(cuMemSetAccess(base, kChunk, &access, 1));
  EXPECT_CUDA(cuMemcpyDtoHAsync(bytes, base, 1, stream_));
  EXPECT_CUDA(cuStreamSynchronize(stream_));
  ExpectInvalid(cuMemcpyDtoHAsync(bytes, base + kChunk - 1, 2, stream_), "leaves its allocation");

  ExpectInvalid(cuMemUnmap(base, kChunk / 2), "whole mappings");
  ExpectInvalid(cuMemAddressFree(base, 2 * kChunk), "that are mapped");
  ExpectInvalid(cuMemAddressFree(base, kChunk), "something else than a reservation");
  ExpectInvalid(cuMemFree(base), "of memory of cuMemMap");
  EXPECT_CUDA(cuMemRelease(handle));
  EXPECT_CUDA(cuMemcpyDtoHAsync(bytes, base, 1, stream_)) << "the mapping keeps the memory";
  EXPECT_CUDA(cuStreamSynchronize(stream_));
  EXPECT_CUDA(cuMemUnmap(base, kChunk));
  ExpectInvalid(cuMemRelease(handle), "no live handle");
  EXPECT_CUDA(cuMemAddressFree(base, 2 * kChunk));
}

TEST_F(CudaFakeIpc, HandlesOfMappedMemory) {
  Segment segment(2);
  segment.Map(0, kChunk, 0, CU_MEM_HANDLE_TYPE_NONE);
  segment.Map(1, kChunk, 0, kFd);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemRetainAllocationHandle(&handle, &handle), CUDA_ERROR_INVALID_VALUE)
      << "an answer, not a violation";
  const auto at = [&](size_t chunk) {
    return reinterpret_cast<void*>(segment.base() + chunk * kChunk + 5);
  };
  EXPECT_CUDA(cuMemRetainAllocationHandle(&handle, at(0)));
  CUmemAllocationProp prop = {};
  EXPECT_CUDA(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
  EXPECT_EQ(prop.requestedHandleTypes, CU_MEM_HANDLE_TYPE_NONE);
  int fd = -1;
  ExpectInvalid(cuMemExportToShareableHandle(&fd, handle, kFd, 0), "was not requested");
  EXPECT_CUDA(cuMemRelease(handle));
  EXPECT_CUDA(cuMemRetainAllocationHandle(&handle, at(1)));
  ExpectInvalid(cuMemExportToShareableHandle(&fd, handle, kFd, 1), "flags");
  EXPECT_CUDA(cuMemRelease(handle));

  // A range of the driver's attributes is the reservation; cuMemGetAddressRange has the chunk.
  CUdeviceptr base = 0;
  size_t size = 0;
  EXPECT_CUDA(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, segment.base()));
  EXPECT_EQ(size, 2 * kChunk);
  EXPECT_CUDA(cuMemGetAddressRange(&base, &size, segment.base() + kChunk + 1));
  EXPECT_EQ(base, segment.base() + kChunk);
  EXPECT_EQ(size, kChunk);
}

// As with fake_cuda_hide_unmapped: no type, but the range of the reservation.
TEST_F(CudaFakeIpc, AReservationWithoutMemory) {
  CUdeviceptr base = 0;
  EXPECT_CUDA(cuMemAddressReserve(&base, 2 * kChunk, 0, 0, 0));
  unsigned type = 9;
  unsigned mapped = 9;
  size_t size = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MAPPED,
                                      CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* values[] = {&type, &mapped, &size};
  EXPECT_CUDA(cuPointerGetAttributes(3, attributes, values, base + kChunk));
  EXPECT_EQ(type, 0U);
  EXPECT_EQ(mapped, 0U);
  EXPECT_EQ(size, 2 * kChunk);
  EXPECT_CUDA(cuMemAddressFree(base, 2 * kChunk));
}

TEST_F(CudaFakeIpc, RejectsWrongUseOfInterprocessEvents) {
  CUevent event = nullptr;
  EXPECT_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CUipcEventHandle handle = {};
  ExpectRefused(cuIpcGetEventHandle(&handle, event), CUDA_ERROR_INVALID_HANDLE,
                "without CU_EVENT_INTERPROCESS");
  EXPECT_CUDA(cuEventDestroy(event));
  EXPECT_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
  EXPECT_CUDA(cuIpcGetEventHandle(&handle, event));
  CUevent opened = nullptr;
  ExpectRefused(cuIpcOpenEventHandle(&opened, handle), CUDA_ERROR_INVALID_DEVICE, "that exported");
  CUipcEventHandle garbage = {};
  EXPECT_EQ(cuIpcOpenEventHandle(&opened, garbage), CUDA_ERROR_INVALID_HANDLE);
  ExpectRefused(cuEventDestroy(event), CUDA_SUCCESS, "that another process may open");
}

// Each of them also ends the capture.
TEST_F(CudaFakeIpc, RejectsUnsafeCallsDuringACapture) {
  CUdeviceptr base = 0;
  CUmemoryPool pool = nullptr;
  CUmemGenericAllocationHandle handle = 0;
  CUevent event = nullptr;
  CUmemAllocationProp prop = {};
  CUmemPoolPtrExportData data = {};
  CUipcEventHandle event_handle = {};
  unsigned long long id = 0;
  int fd = -1;
  const auto refused = [&](const std::function<CUresult()>& call) {
    EXPECT_CUDA(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ExpectRefused(call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "while a capture forbids it");
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  };
  refused([&] { return cuMemAddressReserve(&base, kChunk, 0, 0, 0); });
  refused([&] { return cuMemAddressFree(0, kChunk); });
  refused([&] { return cuMemMap(0, kChunk, 0, 0, 0); });
  refused([&] { return cuMemUnmap(0, kChunk); });
  refused([&] { return cuMemSetAccess(0, kChunk, nullptr, 1); });
  refused([&] { return cuMemRelease(0); });
  refused([&] { return cuMemRetainAllocationHandle(&handle, nullptr); });
  refused([&] { return cuMemGetAllocationPropertiesFromHandle(&prop, 0); });
  refused([&] { return cuMemExportToShareableHandle(&fd, 0, kFd, 0); });
  refused([&] { return cuMemImportFromShareableHandle(&handle, nullptr, kFd); });
  refused([&] { return cuMemPoolDestroy(nullptr); });
  refused([&] { return cuMemPoolSetAccess(nullptr, nullptr, 1); });
  refused([&] { return cuMemPoolExportToShareableHandle(&fd, nullptr, kFd, 0); });
  refused([&] { return cuMemPoolImportFromShareableHandle(&pool, nullptr, kFd, 0); });
  refused([&] { return cuMemPoolExportPointer(&data, 0); });
  refused([&] { return cuMemPoolImportPointer(&base, nullptr, &data); });
  refused([&] { return cuIpcGetEventHandle(&event_handle, nullptr); });
  refused([&] { return cuIpcOpenEventHandle(&event, event_handle); });
  refused([&] { return cuStreamGetId(stream_, &id); });
}

}  // namespace
}  // namespace dlbridge_test
