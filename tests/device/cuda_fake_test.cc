// SPDX-License-Identifier: Apache-2.0
// Tests of the fake driver itself: each rule in tests/fakes/README.md is violated here, so that a
// test that passes on the fake is meaningful.
#include <dlfcn.h>

#include "device/cuda_fixture.h"
#include "support/child.h"

namespace dlbridge_test {
namespace {

class CudaFake : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    EXPECT_CUDA(cuCtxPushCurrent(context_));
    EXPECT_CUDA(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    EXPECT_CUDA(cuMemAlloc(&memory_, 64));
  }

  void TearDown() override {
    EXPECT_CUDA(cuStreamDestroy(stream_));
    CUcontext popped = nullptr;
    EXPECT_CUDA(cuCtxPopCurrent(&popped));
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

  CUevent MakeEvent() {
    CUevent event = nullptr;
    EXPECT_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
  }

  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
};

CUresult PopOnce() {
  CUcontext popped = nullptr;
  return cuCtxPopCurrent(&popped);
}

TEST(CudaFakeStart, RejectsCallsBeforeCuInit) {
  EXPECT_TRUE(InChild([] {
    int count = 0;
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_NE(std::strstr(fake_cuda_violation_texts(), "before cuInit"), nullptr);
    fake_cuda_forgive();
    EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(fake_cuda_violations(), 1);
    EXPECT_CUDA(cuInit(0));
    EXPECT_CUDA(cuInit(0));
    EXPECT_EQ(fake_cuda_violations(), 2) << "more than once";
    EXPECT_TRUE(InChild([] {
      int n = 0;
      EXPECT_EQ(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
      EXPECT_NE(std::strstr(fake_cuda_violation_texts(), "in a forked child"), nullptr);
    }));
  }));
}

TEST(CudaFakeStart, AnOlderDriverRejectsNewerAttributes) {
  EXPECT_TRUE(InChild([] {
    setenv("FAKE_CUDA_VERSION", "10010", 1);
    EXPECT_CUDA(cuInit(0));
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_RANGE_SIZE;
    size_t size = 0;
    void* place = &size;
    EXPECT_EQ(cuPointerGetAttributes(1, &attribute, &place, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_NE(std::strstr(fake_cuda_violation_texts(), "newer than the driver"), nullptr);
  }));
}

TEST_F(CudaFake, RejectsCallsWithoutACurrentContext) {
  EXPECT_CUDA(PopOnce());
  CUevent event = nullptr;
  ExpectRefused(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_ERROR_INVALID_CONTEXT,
                "without a current context");
  ExpectRefused(cuStreamSynchronize(stream_), CUDA_ERROR_INVALID_CONTEXT,
                "without a current context");
  CUcontext context = nullptr;
  ExpectRefused(cuStreamGetCtx(CU_STREAM_LEGACY, &context), CUDA_ERROR_INVALID_CONTEXT,
                "special stream but no context");
  ExpectRefused(PopOnce(), CUDA_ERROR_INVALID_CONTEXT, "without a pushed context");
  EXPECT_CUDA(cuCtxPushCurrent(context_));
}

TEST_F(CudaFake, RejectsContextsThatDoNotExist) {
  int none = 0;
  ExpectRefused(cuCtxPushCurrent(reinterpret_cast<CUcontext>(&none)), CUDA_ERROR_INVALID_CONTEXT,
                "no such context");
}

TEST_F(CudaFake, RejectsDestroyedContextsAndDevicesThatDoNotExist) {
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 1));
  EXPECT_CUDA(cuCtxDestroy(other));
  ExpectRefused(cuCtxPushCurrent(other), CUDA_ERROR_INVALID_CONTEXT, "no live context");
  ExpectRefused(cuCtxDestroy(other), CUDA_ERROR_INVALID_CONTEXT, "no live context");
  CUdevice device = 0;
  ExpectRefused(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE, "does not exist");
  ExpectRefused(cuDevicePrimaryCtxRetain(&other, 2), CUDA_ERROR_INVALID_DEVICE, "does not exist");
  int value = 0;
  ExpectRefused(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2),
                CUDA_ERROR_INVALID_DEVICE, "does not exist");
  ExpectRefused(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0),
                CUDA_ERROR_INVALID_VALUE, "MAX_PITCH");
}

TEST_F(CudaFake, RejectsWorkInADestroyedContext) {
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 0));
  EXPECT_CUDA(cuCtxPushCurrent(other));
  EXPECT_CUDA(cuCtxDestroy(other));  // pops one of the two
  CUevent event = nullptr;
  ExpectRefused(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_ERROR_CONTEXT_IS_DESTROYED,
                "in a destroyed context");
  unsigned long long id = 0;
  EXPECT_EQ(cuCtxGetId(other, &id), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(fake_cuda_violations(), 0) << "querying is allowed";
  EXPECT_CUDA(PopOnce());
}

TEST_F(CudaFake, RejectsAPrimaryContextReleasedTwice) {
  CUcontext primary = nullptr;
  EXPECT_CUDA(cuDevicePrimaryCtxRetain(&primary, 1));
  EXPECT_CUDA(cuDevicePrimaryCtxRelease(1));
  ExpectRefused(cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT, "not retained");
}

TEST_F(CudaFake, RejectsInvalidStreams) {
  int none = 0;
  CUcontext context = nullptr;
  ExpectRefused(cuStreamGetCtx(nullptr, &context), CUDA_ERROR_INVALID_HANDLE, "ambiguous");
  ExpectRefused(cuStreamGetCtx(reinterpret_cast<CUstream>(&none), &context),
                CUDA_ERROR_INVALID_HANDLE, "no live stream");
  ExpectRefused(cuStreamDestroy(CU_STREAM_LEGACY), CUDA_ERROR_INVALID_HANDLE, "special stream");
}

TEST_F(CudaFake, RejectsInvalidEvents) {
  CUevent event = MakeEvent();
  EXPECT_CUDA(cuEventDestroy(event));
  ExpectRefused(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE, "no live event");
  ExpectRefused(cuEventRecord(event, stream_), CUDA_ERROR_INVALID_HANDLE, "no live event");
  ExpectRefused(cuStreamWaitEvent(stream_, event, 0), CUDA_ERROR_INVALID_HANDLE, "no live event");
  ExpectRefused(cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_ERROR_INVALID_VALUE,
                "takes the time");
}

TEST_F(CudaFake, RejectsWrongUseOfEvents) {
  CUevent event = MakeEvent();
  ExpectRefused(cuStreamWaitEvent(stream_, event, 0), CUDA_ERROR_INVALID_VALUE, "never recorded");
  EXPECT_CUDA(cuEventRecord(event, stream_));
  ExpectRefused(cuStreamWaitEvent(stream_, event, 1), CUDA_ERROR_INVALID_VALUE, "with flags");
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 0));
  CUevent theirs = MakeEvent();
  ExpectRefused(cuEventRecord(theirs, stream_), CUDA_ERROR_INVALID_HANDLE, "another context");
  EXPECT_CUDA(cuCtxDestroy(other));
  EXPECT_CUDA(cuEventDestroy(event));
}

class CudaFakeCapture : public CudaFake {
 protected:
  void SetUp() override {
    CudaFake::SetUp();
    EXPECT_CUDA(cuStreamCreate(&other_, CU_STREAM_DEFAULT));
    event_ = MakeEvent();
    EXPECT_CUDA(cuEventRecord(event_, stream_));
    EXPECT_CUDA(cuStreamBeginCapture(other_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  }

  void TearDown() override {
    CUgraph graph = nullptr;
    cuStreamEndCapture(other_, &graph);
    EXPECT_CUDA(cuStreamDestroy(other_));
    EXPECT_CUDA(cuEventDestroy(event_));
    CudaFake::TearDown();
  }

  CUstream other_ = nullptr;
  CUevent event_ = nullptr;
};

TEST_F(CudaFakeCapture, RejectsWaitingForACapturingStream) {
  ExpectRefused(cuStreamSynchronize(other_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                "while the stream is capturing");
  ExpectRefused(cuEventRecord(event_, other_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                "whose capture has failed");
}

TEST_F(CudaFakeCapture, RejectsACaptureThatWaitsForWorkOutside) {
  ExpectRefused(cuStreamWaitEvent(other_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                "outside of it");
}

TEST_F(CudaFakeCapture, RejectsJoiningTwoCaptures) {
  EXPECT_CUDA(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_CUDA(cuEventRecord(event_, stream_));
  ExpectRefused(cuStreamWaitEvent(other_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE,
                "joins two captures");
  CUgraph graph = nullptr;
  EXPECT_CUDA(cuStreamEndCapture(stream_, &graph));
}

TEST_F(CudaFakeCapture, RejectsTheLegacyStreamDuringABlockingCapture) {
  ExpectRefused(cuEventRecord(event_, CU_STREAM_LEGACY), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                "legacy stream");
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_EQ(cuStreamIsCapturing(CU_STREAM_LEGACY, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(fake_cuda_violations(), 0) << "querying is allowed";
}

TEST_F(CudaFakeCapture, RejectsUnsafeCallsDuringACapture) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  char host[64];
  ExpectRefused(cuStreamCreate(&stream, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "forbids it");
  ExpectRefused(cuStreamDestroy(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "forbids it");
  ExpectRefused(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
                CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "forbids it");
  ExpectRefused(cuMemcpyDtoHAsync(host, memory_, 64, stream_),
                CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "what may wait");
  ExpectRefused(cuMemcpyDtoHAsync(host, memory_, 64, other_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                "that is capturing");
}

TEST_F(CudaFake, RejectsInvalidBeginAndEndOfCaptures) {
  CUgraph graph = nullptr;
  ExpectRefused(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE, "without a capture");
  ExpectRefused(cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL),
                CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "legacy stream");
}

TEST_F(CudaFake, RejectsQueriesOfMoreThanTheCaptureId) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  size_t count = 0;
  const auto ask = reinterpret_cast<CUresult (*)(CUstream, CUstreamCaptureStatus*, cuuint64_t*,
                                                 CUgraph*, const CUgraphNode**, size_t*)>(
      dlsym(dlopen(FAKE_CUDA_FILE, RTLD_NOW), "cuStreamGetCaptureInfo_v2"));
  ExpectRefused(ask(stream_, &status, &id, nullptr, nullptr, &count), CUDA_ERROR_INVALID_VALUE,
                "more than the id");
}

TEST_F(CudaFake, RejectsUnsafePointerAttributes) {
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_P2P_TOKENS;
  uint64_t value = 0;
  void* place = &value;
  ExpectRefused(cuPointerGetAttributes(1, &attribute, &place, memory_), CUDA_ERROR_INVALID_VALUE,
                "side effects");
  attribute = CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
  ExpectRefused(cuPointerGetAttributes(1, &attribute, &place, memory_), CUDA_ERROR_INVALID_VALUE,
                "needs a context");
  place = nullptr;
  ExpectRefused(cuPointerGetAttributes(1, &attribute, &place, memory_), CUDA_ERROR_INVALID_VALUE,
                "without a place");
  ExpectRefused(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 1),
                CUDA_ERROR_INVALID_VALUE, "does not know");
}

TEST_F(CudaFake, RejectsRangesOfUnknownMemory) {
  CUdeviceptr base = 0;
  size_t size = 0;
  ExpectRefused(cuMemGetAddressRange(&base, &size, 1), CUDA_ERROR_NOT_FOUND, "does not know");
  CUdeviceptr managed = 0;
  EXPECT_CUDA(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
  ExpectRefused(cuMemGetAddressRange(&base, &size, managed), CUDA_ERROR_NOT_FOUND, "does not know");
  ExpectRefused(cuMemFree(1), CUDA_ERROR_INVALID_VALUE, "no allocation");
}

TEST_F(CudaFake, DeviceMemoryFaultsOnTheHost) {
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(memory_) = 1, "");
}

TEST_F(CudaFake, RejectsInvalidCopies) {
  static char host[64];
  const auto host_address = reinterpret_cast<CUdeviceptr>(host);
  ExpectRefused(cuMemcpyDtoHAsync(host, memory_ + 1, 64, stream_), CUDA_ERROR_INVALID_VALUE,
                "leaves its allocation");
  ExpectRefused(cuMemcpyDtoHAsync(host, host_address, 8, stream_), CUDA_ERROR_INVALID_VALUE,
                "no device knows");
  ExpectRefused(cuMemcpyDtoHAsync(reinterpret_cast<void*>(memory_), memory_, 8, stream_),
                CUDA_ERROR_INVALID_VALUE, "as one of the host");
  ExpectRefused(cuMemcpyDtoHAsync(host, memory_, 0, stream_), CUDA_ERROR_INVALID_VALUE,
                "of nothing");
}

TEST_F(CudaFake, RejectsCopiesAcrossContexts) {
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 1));
  CUdeviceptr far = 0;
  EXPECT_CUDA(cuMemAlloc(&far, 64));
  ExpectRefused(cuMemcpyDtoDAsync(far, memory_, 64, stream_), CUDA_ERROR_INVALID_HANDLE,
                "another context than the current one");
  EXPECT_CUDA(cuCtxPushCurrent(context_));
  ExpectRefused(cuMemcpyDtoDAsync(far, memory_, 64, stream_), CUDA_ERROR_INVALID_VALUE,
                "between two contexts");
  ExpectRefused(cuMemcpyPeerAsync(far, context_, memory_, context_, 64, stream_),
                CUDA_ERROR_INVALID_VALUE, "another context than the memory's");
  EXPECT_CUDA(PopOnce());
  EXPECT_CUDA(cuCtxDestroy(other));
}

TEST_F(CudaFake, RejectsInvalidRectangles) {
  static char host[64];
  CUDA_MEMCPY2D good = {};
  good.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  good.srcDevice = memory_;
  good.srcPitch = 16;
  good.dstMemoryType = CU_MEMORYTYPE_HOST;
  good.dstHost = host;
  good.dstPitch = 16;
  good.WidthInBytes = 16;
  good.Height = 2;
  EXPECT_CUDA(cuMemcpy2DAsync(&good, stream_));
  CUDA_MEMCPY2D bad = good;
  bad.srcPitch = 8;
  ExpectRefused(cuMemcpy2DAsync(&bad, stream_), CUDA_ERROR_INVALID_VALUE, "less than the width");
  bad.srcPitch = (1 << 20) + 1;
  ExpectRefused(cuMemcpy2DAsync(&bad, stream_), CUDA_ERROR_INVALID_VALUE, "above the device's");
  bad = good;
  bad.srcY = 1;
  ExpectRefused(cuMemcpy2DAsync(&bad, stream_), CUDA_ERROR_INVALID_VALUE, "offsets");
  bad = good;
  bad.dstDevice = memory_;
  ExpectRefused(cuMemcpy2DAsync(&bad, stream_), CUDA_ERROR_INVALID_VALUE, "beside that");
  bad = good;
  bad.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  ExpectRefused(cuMemcpy2DAsync(&bad, stream_), CUDA_ERROR_INVALID_VALUE, "another kind");
}

TEST_F(CudaFake, RejectsInvalidBoxes) {
  static char host[64];
  CUDA_MEMCPY3D good = {};
  good.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  good.srcDevice = memory_;
  good.srcPitch = 8;
  good.srcHeight = 2;
  good.dstMemoryType = CU_MEMORYTYPE_HOST;
  good.dstHost = host;
  good.dstPitch = 8;
  good.dstHeight = 2;
  good.WidthInBytes = 8;
  good.Height = 2;
  good.Depth = 2;
  EXPECT_CUDA(cuMemcpy3DAsync(&good, stream_));
  CUDA_MEMCPY3D bad = good;
  bad.srcHeight = 1;
  ExpectRefused(cuMemcpy3DAsync(&bad, stream_), CUDA_ERROR_INVALID_VALUE, "planes that overlap");
  bad = good;
  bad.reserved0 = host;
  ExpectRefused(cuMemcpy3DAsync(&bad, stream_), CUDA_ERROR_INVALID_VALUE, "reserved");
  bad = good;
  bad.srcZ = 1;
  ExpectRefused(cuMemcpy3DAsync(&bad, stream_), CUDA_ERROR_INVALID_VALUE, "offsets");
}

TEST_F(CudaFake, RejectsInvalidMemoryHandles) {
  CUipcMemHandle handle = {};
  ExpectRefused(cuIpcGetMemHandle(&handle, memory_ + 1), CUDA_ERROR_INVALID_VALUE,
                "no start of an allocation");
  ExpectRefused(cuIpcGetMemHandle(&handle, fake_cuda_map(0, 64)), CUDA_ERROR_INVALID_VALUE,
                "does not share");
  EXPECT_CUDA(cuIpcGetMemHandle(&handle, memory_));
  CUdeviceptr address = 0;
  ExpectRefused(cuIpcOpenMemHandle(&address, handle, 0), CUDA_ERROR_INVALID_VALUE,
                "without its only flag");
  ExpectRefused(cuIpcOpenMemHandle(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                CUDA_ERROR_INVALID_CONTEXT, "that exported");
  ExpectRefused(cuIpcCloseMemHandle(memory_), CUDA_ERROR_INVALID_VALUE, "not opened");
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 1));
  CUipcMemHandle foreign = handle;
  foreign.reserved[8] ^= 1;  // the exporter's pid
  ExpectRefused(cuIpcOpenMemHandle(&address, foreign, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                CUDA_ERROR_INVALID_CONTEXT, "another device");
  ExpectRefused(cuIpcGetMemHandle(&handle, memory_), CUDA_ERROR_INVALID_CONTEXT, "another context");
  EXPECT_CUDA(cuCtxDestroy(other));
}

}  // namespace
}  // namespace dlbridge_test
