// SPDX-License-Identifier: Apache-2.0
// Tests of the fake driver itself: each rule in tests/fakes/README.md is violated here, so that a
// test that passes on the fake is meaningful.
#include <dlfcn.h>

#include <functional>
#include <thread>
#include <utility>

#include "device/cuda/driver.h"
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

// Without a function that drivers may lack, the library would take the way for older drivers.
TEST(CudaFakeStart, HasEachFunctionThatTheLibraryCalls) {
  void* fake = dlopen(FAKE_CUDA_FILE, RTLD_NOW);
#define EXPECT_FUNCTION(member, name, version, parameters) \
  EXPECT_NE(dlsym(fake, #name), nullptr) << "tests/fakes/cuda has no " #name;
  DLBRIDGE_CUDA_REQUIRED(EXPECT_FUNCTION)
  DLBRIDGE_CUDA_OPTIONAL(EXPECT_FUNCTION)
#undef EXPECT_FUNCTION
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
  EXPECT_CUDA(PopOnce());
}

TEST_F(CudaFake, RejectsTheIdOfADestroyedContext) {
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 1));
  unsigned long long before = 0;
  EXPECT_CUDA(cuCtxGetId(other, &before));
  EXPECT_CUDA(cuCtxDestroy(other));
  unsigned long long id = 0;
  ExpectRefused(cuCtxGetId(other, &id), CUDA_ERROR_CONTEXT_IS_DESTROYED, "of a destroyed context");
  fake_cuda_garbage_ids(1);
  ExpectRefused(cuCtxGetId(other, &id), CUDA_SUCCESS, "of a destroyed context");
  EXPECT_NE(id, before);
  fake_cuda_garbage_ids(0);
}

TEST_F(CudaFake, AFaultIsReturnedByAllLaterCalls) {
  CUevent event = MakeEvent();
  EXPECT_CUDA(cuEventRecord(event, stream_));
  fake_cuda_fault(context_, CUDA_ERROR_ILLEGAL_ADDRESS);
  CUcontext context = nullptr;
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  unsigned type = 0;
  void* place = &type;
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamGetCtx(stream_, &context), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuPointerGetAttributes(1, &attribute, &place, memory_), CUDA_ERROR_ILLEGAL_ADDRESS);
  fake_cuda_fault(context_, 0);
  EXPECT_CUDA(cuEventDestroy(event));
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

TEST_F(CudaFake, RejectsQueriesOfWrongEvents) {
  CUevent event = MakeEvent();
  ExpectRefused(cuEventQuery(event), CUDA_ERROR_INVALID_VALUE, "never recorded");
  ExpectRefused(cuEventSynchronize(event), CUDA_ERROR_INVALID_VALUE, "never recorded");
  EXPECT_CUDA(cuEventRecord(event, stream_));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_CUDA(cuEventSynchronize(event));
  EXPECT_CUDA(cuEventQuery(event));
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 1));
  ExpectRefused(cuEventQuery(event), CUDA_ERROR_INVALID_CONTEXT, "another context");
  EXPECT_CUDA(cuCtxDestroy(other));
  EXPECT_CUDA(cuEventDestroy(event));
  ExpectRefused(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE, "no live event");
}

CUstreamCaptureStatus StatusOf(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_CUDA(cuStreamIsCapturing(stream, &status));
  return status;
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
  EXPECT_EQ(StatusOf(other_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(other_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_CUDA(cuStreamBeginCapture(other_, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(cuStreamIsCapturing(CU_STREAM_LEGACY, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(fake_cuda_violations(), 0) << "querying is allowed";
  EXPECT_EQ(StatusOf(other_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
}

// Each unsafe call fails, does nothing, and invalidates the capture.
TEST_F(CudaFakeCapture, RejectsUnsafeCallsDuringACapture) {
  static char host[64];
  static CUipcMemHandle handle;
  const std::pair<const char*, std::function<CUresult()>> calls[] = {
      {"cuMemAlloc",
       [] {
         CUdeviceptr p;
         return cuMemAlloc(&p, 64);
       }},
      {"cuMemAllocManaged",
       [] {
         CUdeviceptr p;
         return cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL);
       }},
      {"cuMemHostAlloc",
       [] {
         void* p;
         return cuMemHostAlloc(&p, 64, 0);
       }},
      {"cuMemHostRegister", [] { return cuMemHostRegister(host, 64, 0); }},
      {"cuMemHostUnregister", [] { return cuMemHostUnregister(host); }},
      {"cuMemFree", [this] { return cuMemFree(memory_); }},
      {"cuMemFreeHost", [] { return cuMemFreeHost(host); }},
      {"cuMemGetAddressRange",
       [this] {
         CUdeviceptr p;
         size_t n;
         return cuMemGetAddressRange(&p, &n, memory_);
       }},
      {"cuStreamCreate",
       [] {
         CUstream s;
         return cuStreamCreate(&s, 0);
       }},
      {"cuStreamDestroy", [this] { return cuStreamDestroy(stream_); }},
      {"cuStreamSynchronize", [this] { return cuStreamSynchronize(stream_); }},
      {"cuEventCreate",
       [] {
         CUevent e;
         return cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
       }},
      {"cuEventQuery", [this] { return cuEventQuery(event_); }},
      {"cuEventSynchronize", [this] { return cuEventSynchronize(event_); }},
      {"cuEventDestroy", [this] { return cuEventDestroy(event_); }},
      {"cuCtxGetId",
       [this] {
         unsigned long long id;
         return cuCtxGetId(context_, &id);
       }},
      {"cuCtxCreate",
       [] {
         CUcontext c;
         return cuCtxCreate(&c, nullptr, 0, 0);
       }},
      {"cuCtxDestroy", [this] { return cuCtxDestroy(context_); }},
      {"cuDeviceGetCount",
       [] {
         int n;
         return cuDeviceGetCount(&n);
       }},
      {"cuDeviceGetAttribute",
       [] {
         int n;
         return cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0);
       }},
      {"cuDeviceCanAccessPeer",
       [] {
         int n;
         return cuDeviceCanAccessPeer(&n, 0, 1);
       }},
      {"cuDevicePrimaryCtxGetState",
       [] {
         unsigned f;
         int n;
         return cuDevicePrimaryCtxGetState(0, &f, &n);
       }},
      {"cuDevicePrimaryCtxRetain",
       [] {
         CUcontext c;
         return cuDevicePrimaryCtxRetain(&c, 0);
       }},
      {"cuDevicePrimaryCtxRelease", [] { return cuDevicePrimaryCtxRelease(0); }},
      {"cuDevicePrimaryCtxReset", [] { return cuDevicePrimaryCtxReset(0); }},
      {"cuIpcGetMemHandle", [this] { return cuIpcGetMemHandle(&handle, memory_); }},
      {"cuIpcOpenMemHandle",
       [] {
         CUdeviceptr p;
         return cuIpcOpenMemHandle(&p, handle, 1);
       }},
      {"cuIpcCloseMemHandle", [this] { return cuIpcCloseMemHandle(memory_); }},
      {"cuMemcpyDtoHAsync", [this] { return cuMemcpyDtoHAsync(host, memory_, 64, stream_); }},
  };
  CUgraph graph = nullptr;
  EXPECT_CUDA(cuStreamEndCapture(other_, &graph));
  for (const auto& call : calls) {
    EXPECT_CUDA(cuStreamBeginCapture(other_, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ExpectRefused(call.second(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, call.first);
    EXPECT_EQ(StatusOf(other_), CU_STREAM_CAPTURE_STATUS_INVALIDATED) << call.first;
    EXPECT_EQ(cuStreamEndCapture(other_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  EXPECT_CUDA(cuStreamBeginCapture(other_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  ExpectRefused(cuMemcpyDtoHAsync(host, memory_, 64, other_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                "that is capturing");
}

TEST_F(CudaFakeCapture, AllowsSafeCallsDuringACapture) {
  CUcontext context = nullptr;
  EXPECT_CUDA(cuStreamGetCtx(other_, &context));
  EXPECT_CUDA(cuCtxGetCurrent(&context));
  CUdevice device = 0;
  EXPECT_CUDA(cuCtxGetDevice(&device));
  EXPECT_CUDA(cuCtxPushCurrent(context));
  EXPECT_CUDA(PopOnce());
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  unsigned type = 0;
  void* place = &type;
  EXPECT_CUDA(cuPointerGetAttributes(1, &attribute, &place, memory_));
  EXPECT_CUDA(cuPointerGetAttribute(&type, attribute, memory_));
  EXPECT_CUDA(cuEventRecord(event_, stream_));
  EXPECT_CUDA(cuStreamWaitEvent(stream_, event_, 0));
  EXPECT_EQ(StatusOf(other_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
}

// What cuThreadExchangeStreamCaptureMode describes: the mode of the capture, the mode of the
// calling thread, and whether the thread itself captures.
TEST_F(CudaFake, TheModesDecideWhichCallsACaptureForbids) {
  constexpr CUstreamCaptureMode kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
  constexpr CUstreamCaptureMode kLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  constexpr CUstreamCaptureMode kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
  for (const CUstreamCaptureMode capture : {kGlobal, kLocal, kRelaxed}) {
    for (const CUstreamCaptureMode set : {kGlobal, kLocal, kRelaxed}) {
      for (const bool elsewhere : {false, true}) {
        EXPECT_CUDA(cuStreamBeginCapture(stream_, capture));
        CUresult result = CUDA_SUCCESS;
        const auto call = [&] {
          CUstreamCaptureMode mode = set;
          EXPECT_CUDA(cuCtxPushCurrent(context_));
          EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
          unsigned long long id = 0;
          result = cuCtxGetId(context_, &id);
          EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
          EXPECT_CUDA(PopOnce());
        };
        if (elsewhere) {
          std::thread(call).join();
        } else {
          call();
        }
        const bool forbidden = set != kRelaxed && (elsewhere ? set == kGlobal && capture == kGlobal
                                                             : capture != kRelaxed);
        EXPECT_EQ(result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, forbidden)
            << capture << " " << set << " " << elsewhere;
        CUgraph graph = nullptr;
        EXPECT_EQ(cuStreamEndCapture(stream_, &graph),
                  forbidden ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
        fake_cuda_forgive();
      }
    }
  }
  CUstreamCaptureMode none = static_cast<CUstreamCaptureMode>(3);
  ExpectRefused(cuThreadExchangeStreamCaptureMode(&none), CUDA_ERROR_INVALID_VALUE, "no mode");
}

// RELAXED does not allow calls that conflict with the capture itself.
TEST_F(CudaFakeCapture, RejectsQueriesOfCapturedEvents) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_CUDA(cuEventRecord(event_, other_));
  ExpectRefused(cuEventQuery(event_), CUDA_ERROR_CAPTURED_EVENT, "that a capture recorded");
  EXPECT_EQ(StatusOf(other_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
}

TEST_F(CudaFakeCapture, RejectsTheWrongEndOfACapture) {
  CUgraph graph = nullptr;
  CUresult result = CUDA_SUCCESS;
  std::thread([&] {
    EXPECT_CUDA(cuCtxPushCurrent(context_));
    result = cuStreamEndCapture(other_, &graph);
    EXPECT_CUDA(PopOnce());
  }).join();
  ExpectRefused(result, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "in another thread");
  EXPECT_CUDA(cuEventRecord(event_, other_));
  EXPECT_CUDA(cuStreamWaitEvent(stream_, event_, 0));  // joins the capture
  ExpectRefused(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                "did not begin");
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

TEST_F(CudaFake, TellsMappedFromReservedMemory) {
  const CUdeviceptr reserved = fake_cuda_map_pieces(0, 4 * 4096, 4096, 4096, 2);
  const auto ask = [&](CUpointer_attribute attribute, size_t offset) {
    uint64_t value = 0;
    EXPECT_CUDA(cuPointerGetAttribute(&value, attribute, reserved + offset));
    return value;
  };
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_MAPPED, 0), 0U);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_MAPPED, 4096), 1U);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 4096), reserved);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 0), 4U * 4096);
  CUdeviceptr base = 0;
  size_t size = 0;
  EXPECT_CUDA(cuMemGetAddressRange(&base, &size, reserved + 2 * 4096 + 1));
  EXPECT_EQ(base, reserved + 2 * 4096);
  EXPECT_EQ(size, 4096U);
  ExpectRefused(cuMemGetAddressRange(&base, &size, reserved), CUDA_ERROR_NOT_FOUND, "not mapped");
  static char host[2 * 4096];
  EXPECT_CUDA(cuMemcpyDtoHAsync(host, reserved + 4096, sizeof host, stream_));
  ExpectRefused(cuMemcpyDtoHAsync(host, reserved + 4097, sizeof host, stream_),
                CUDA_ERROR_INVALID_VALUE, "not mapped");
  EXPECT_CUDA(cuStreamSynchronize(stream_));
}

// Refused without a violation: the library cannot know the pitches that a driver accepts.
TEST_F(CudaFake, RefusesPitchesThatWereNotComputed) {
  CUdeviceptr from = 0;
  CUdeviceptr to = 0;
  EXPECT_CUDA(cuMemAlloc(&from, 4096));
  EXPECT_CUDA(cuMemAlloc(&to, 4096));
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.WidthInBytes = 16;
  copy.Height = 2;
  copy.srcPitch = 512;
  for (const size_t pitch : {16, 100, 513}) {
    copy.dstPitch = pitch;
    EXPECT_EQ(cuMemcpy2DAsync(&copy, stream_), CUDA_ERROR_INVALID_VALUE) << pitch;
  }
  copy.dstPitch = 1024;
  EXPECT_CUDA(cuMemcpy2DAsync(&copy, stream_));
}

TEST_F(CudaFake, RejectsPeersOfADeviceItself) {
  int can = 0;
  ExpectRefused(cuDeviceCanAccessPeer(&can, 0, 0), CUDA_ERROR_INVALID_DEVICE, "and itself");
  ExpectRefused(cuDeviceCanAccessPeer(&can, 0, 2), CUDA_ERROR_INVALID_DEVICE, "does not exist");
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

TEST_F(CudaFake, RejectsOtherKernelsThanTheGate) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ExpectRefused(cuModuleLoadData(&module, ".entry add()"), CUDA_ERROR_INVALID_PTX, "another text");
  EXPECT_CUDA(cuModuleLoadData(&module, ".entry gate()"));
  ExpectRefused(cuModuleGetFunction(&function, module, "add"), CUDA_ERROR_NOT_FOUND,
                "another function");
  ExpectRefused(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr),
                CUDA_ERROR_INVALID_HANDLE, "no function");
}

TEST_F(CudaFake, TheGateRunsUntilItsFlagIsSetOrItsLimit) {
  CUmodule module = nullptr;
  CUfunction gate = nullptr;
  EXPECT_CUDA(cuModuleLoadData(&module, ".entry gate()"));
  EXPECT_CUDA(cuModuleGetFunction(&gate, module, "gate"));
  for (const bool open : {false, true}) {
    uint32_t flags[2] = {open ? 1U : 0U, 0};
    auto address = reinterpret_cast<uint64_t>(flags);
    uint64_t nanoseconds = 1000;
    void* parameters[] = {&address, &nanoseconds};
    EXPECT_CUDA(cuLaunchKernel(gate, 1, 1, 1, 1, 1, 1, 0, stream_, parameters, nullptr));
    EXPECT_CUDA(cuStreamSynchronize(stream_));
    EXPECT_EQ(flags[1], open ? 0U : 1U) << "whether it gave up";
  }
}

}  // namespace
}  // namespace dlbridge_test
