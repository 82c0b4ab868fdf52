// SPDX-License-Identifier: Apache-2.0
// Handoffs and waits on CUDA: the calls are those of docs/streams.md, in the same order.
#include <thread>
#include <vector>

#include "device/cuda_fixture.h"

namespace dlbridge_test {
namespace {

class CudaStream : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    producer_ = MakeStream();
    consumer_ = MakeStream();
    fake_cuda_clear_log();
  }

  void TearDown() override {
    {
      const Current current(context_);
      EXPECT_CUDA(cuStreamDestroy(producer_));
      EXPECT_CUDA(cuStreamDestroy(consumer_));
    }
    CudaTest::TearDown();
  }

  static DLBridgeStatus Handoff(CUstream producer, CUstream consumer, Error* error = nullptr,
                                uint32_t options = 0) {
    const DLBridgeStream from = dlbridge_stream_cuda(producer, 0);
    const DLBridgeStream to = dlbridge_stream_cuda(consumer, 0);
    return dlbridge_stream_handoff(&from, &to, options, error);
  }

  static void MustHandOff(CUstream producer, CUstream consumer) {
    Error error;
    EXPECT_EQ(Handoff(producer, consumer, &error), DLBRIDGE_OK) << error.message;
  }

  // Fills the pool with an event of the context.
  void WarmUp() {
    MustHandOff(producer_, consumer_);
    fake_cuda_clear_log();
  }

  void BeginCapture(CUstream stream) {
    {
      const Current current(context_);
      EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    }
    fake_cuda_clear_log();
  }

  void EndCapture(CUstream stream, CUresult expected = CUDA_SUCCESS) {
    const Current current(context_);
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), expected);
  }

  CUstream producer_ = nullptr;
  CUstream consumer_ = nullptr;
};

// The context's id, in the relaxed capture mode.
#define ASK_ID "cuThreadExchangeStreamCaptureMode cuCtxGetId cuThreadExchangeStreamCaptureMode "

constexpr char kHandoff[] =
    "cuStreamGetCtx cuCtxPushCurrent_v2 cuStreamIsCapturing cuCtxGetDevice "
    "cuStreamIsCapturing " ASK_ID "cuEventRecord cuStreamWaitEvent cuCtxPopCurrent_v2 ";

TEST_F(CudaStream, TheFirstHandoffMakesAnEvent) {
  MustHandOff(producer_, consumer_);
  EXPECT_EQ(
      Log(),
      "cuStreamGetCtx cuCtxPushCurrent_v2 cuStreamIsCapturing cuCtxGetDevice cuStreamIsCapturing "
      "cuThreadExchangeStreamCaptureMode cuCtxGetId cuEventCreate "
      "cuThreadExchangeStreamCaptureMode cuEventRecord cuStreamWaitEvent "
      "cuCtxPopCurrent_v2 ");
}

TEST_F(CudaStream, LaterOnesMakeExactlyTheCallsOfTheProtocol) {
  WarmUp();
  const int created = Counts().events_created;
  for (int i = 0; i < 3; ++i) {
    MustHandOff(producer_, consumer_);
    EXPECT_EQ(Log(), kHandoff);
  }
  EXPECT_EQ(Counts().events_created, created);
}

TEST_F(CudaStream, AStreamThatNamesAnotherDeviceIsRejected) {
  const DLBridgeStream consumer = dlbridge_stream_cuda(consumer_, 0);
  const DLBridgeStream wrong = dlbridge_stream_cuda(producer_, 1);
  const DLBridgeStream missing = dlbridge_stream_cuda(producer_, 7);
  Error error;
  EXPECT_EQ(dlbridge_stream_handoff(&wrong, &consumer, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "producer names device 1, but its queue runs on device 0");
  EXPECT_EQ(dlbridge_stream_synchronize(&wrong, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "stream names device 1, but its queue runs on device 0");
  fake_cuda_clear_log();
  EXPECT_EQ(dlbridge_stream_handoff(&missing, &consumer, 0, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("producer names device 7: expected 0 to 1")) << error.message;
  EXPECT_EQ(dlbridge_stream_handoff(&consumer, &missing, 0, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("consumer names device 7: expected 0 to 1")) << error.message;
  char unused = 0;
  const DLBridgeStream streams[] = {consumer, wrong};
  EXPECT_EQ(dlbridge_release_after(&unused, DLBRIDGE_KIND_VERSIONED, streams, 2, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "streams[1] names device 1, but its queue runs on device 0");
  // Labels that name no device contradict nothing.
  for (const DLDevice label :
       {DLDevice{kDLCUDAHost, 0}, DLDevice{static_cast<DLDeviceType>(0), 0}}) {
    DLBridgeStream stream = wrong;
    stream.device = label;
    EXPECT_EQ(dlbridge_stream_handoff(&stream, &consumer, 0, &error), DLBRIDGE_OK) << error.message;
  }
}

TEST_F(CudaStream, OneStreamNeedsNoCall) {
  MustHandOff(producer_, producer_);
  MustHandOff(CU_STREAM_LEGACY, CU_STREAM_LEGACY);
  EXPECT_EQ(Log(), "");
}

struct Writing {
  int* from;
  int* to;
};
void Write(void* data) {
  const auto* writing = static_cast<Writing*>(data);
  *writing->to = *writing->from;
}

// The consumer sees what the producer wrote before the handoff, and the host did not wait: work of
// the fake runs only when a wait requires it.
TEST_F(CudaStream, WorkOfTheProducerComesFirst) {
  int source = 0;
  int between = 0;
  int seen = 0;
  Writing produce = {&source, &between};
  Writing consume = {&between, &seen};
  {
    const Current current(context_);
    EXPECT_CUDA(cuLaunchHostFunc(producer_, Write, &produce));
  }
  source = 7;
  MustHandOff(producer_, consumer_);
  EXPECT_EQ(between, 0) << "the host waited";
  {
    const Current current(context_);
    EXPECT_CUDA(cuLaunchHostFunc(consumer_, Write, &consume));
    EXPECT_CUDA(cuStreamSynchronize(consumer_));
  }
  EXPECT_EQ(seen, 7);
}

// An event may be recorded again as soon as the wait for it is enqueued.
TEST_F(CudaStream, AReusedEventKeepsTheEarlierOrder) {
  int source = 7;
  int first = 0;
  int second = 0;
  Writing produce = {&source, &first};
  Writing consume = {&first, &second};
  CUstream third = MakeStream();
  const Current current(context_);
  EXPECT_CUDA(cuLaunchHostFunc(producer_, Write, &produce));
  MustHandOff(producer_, consumer_);
  MustHandOff(third, third == producer_ ? consumer_ : producer_);
  EXPECT_CUDA(cuLaunchHostFunc(consumer_, Write, &consume));
  EXPECT_CUDA(cuStreamSynchronize(consumer_));
  EXPECT_EQ(second, 7);
  EXPECT_CUDA(cuStreamDestroy(third));
}

TEST_F(CudaStream, AProducerOfAnotherDevice) {
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 1));
  CUstream far = nullptr;
  EXPECT_CUDA(cuStreamCreate(&far, CU_STREAM_NON_BLOCKING));
  CUcontext popped = nullptr;
  EXPECT_CUDA(cuCtxPopCurrent(&popped));
  const DLBridgeStream producer = dlbridge_stream_cuda(far, 1);
  const DLBridgeStream consumer = dlbridge_stream_cuda(consumer_, 0);
  for (int i = 0; i < 2; ++i) {
    fake_cuda_clear_log();
    Error error;
    EXPECT_EQ(dlbridge_stream_handoff(&producer, &consumer, 0, &error), DLBRIDGE_OK)
        << error.message;
  }
  EXPECT_EQ(Log(), kHandoff);
  EXPECT_CUDA(cuCtxDestroy(other));
}

TEST_F(CudaStream, SpecialStreamsAreThoseOfTheCurrentContext) {
  WarmUp();
  const Current current(context_);
  for (CUstream special : {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    fake_cuda_clear_log();
    MustHandOff(special, consumer_);
    EXPECT_EQ(Log(),
              "cuCtxGetCurrent cuCtxGetDevice cuCtxPushCurrent_v2 cuStreamIsCapturing "
              "cuStreamIsCapturing " ASK_ID "cuEventRecord cuStreamWaitEvent cuCtxPopCurrent_v2 ");
    MustHandOff(producer_, special);
    EXPECT_EQ(Log(),
              "cuStreamGetCtx cuCtxGetCurrent cuCtxGetDevice cuCtxPushCurrent_v2 "
              "cuStreamIsCapturing cuCtxGetDevice cuStreamIsCapturing " ASK_ID
              "cuEventRecord cuStreamWaitEvent cuCtxPopCurrent_v2 ");
  }
  MustHandOff(CU_STREAM_LEGACY, CU_STREAM_PER_THREAD);
  EXPECT_EQ(Counts().primary_retained, before_.primary_retained);
}

// Without a current context of the device, special streams belong to the primary context, which the
// library retains once.
TEST_F(CudaStream, SpecialStreamsWithoutACurrentContextUseThePrimaryOne) {
  WarmUp();
  MustHandOff(producer_, CU_STREAM_LEGACY);
  EXPECT_EQ(Counts().primary_retained, 1);
  fake_cuda_clear_log();
  MustHandOff(producer_, CU_STREAM_LEGACY);
  EXPECT_EQ(Log(),
            "cuStreamGetCtx cuCtxGetCurrent cuThreadExchangeStreamCaptureMode "
            "cuDevicePrimaryCtxGetState cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 "
            "cuThreadExchangeStreamCaptureMode cuCtxPushCurrent_v2 cuStreamIsCapturing "
            "cuCtxPushCurrent_v2 cuCtxGetDevice cuStreamIsCapturing " ASK_ID
            "cuEventRecord cuCtxPopCurrent_v2 cuStreamWaitEvent cuCtxPopCurrent_v2 ");
  MustHandOff(CU_STREAM_LEGACY, consumer_);
  EXPECT_EQ(Counts().primary_retained, 1);
  EXPECT_EQ(Counts().primary_created, 1);
}

TEST_F(CudaStream, TwoDevicesSpecialStreams) {
  DLBridgeStream from = dlbridge_stream_cuda(CU_STREAM_LEGACY, 0);
  DLBridgeStream to = dlbridge_stream_cuda(CU_STREAM_LEGACY, 1);
  Error error;
  const Current current(context_);
  EXPECT_EQ(dlbridge_stream_handoff(&from, &to, 0, &error), DLBRIDGE_OK) << error.message;
}

TEST_F(CudaStream, AResetDeviceGetsANewPrimaryContext) {
  MustHandOff(producer_, CU_STREAM_LEGACY);
  const int created = Counts().primary_created;
  EXPECT_CUDA(cuDevicePrimaryCtxReset(0));
  MustHandOff(producer_, CU_STREAM_LEGACY);
  EXPECT_EQ(Counts().primary_created, created + 1);
}

TEST_F(CudaStream, ADeviceThatDoesNotExist) {
  for (const int device : {-1, 2, 1 << 30}) {
    const DLBridgeStream special = dlbridge_stream_cuda(CU_STREAM_LEGACY, device);
    const DLBridgeStream other = dlbridge_stream_cuda(consumer_, 0);
    Error error;
    EXPECT_EQ(dlbridge_stream_handoff(&special, &other, 0, &error),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(error.Says("producer")) << error.message;
    EXPECT_TRUE(error.Says("expected 0 to 1")) << error.message;
    EXPECT_EQ(dlbridge_stream_synchronize(&special, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
}

TEST_F(CudaStream, ANullStreamIsRejected) {
  DLBridgeStream null = dlbridge_stream_cuda(producer_, 0);
  null.handle = 0;
  const DLBridgeStream other = dlbridge_stream_cuda(consumer_, 0);
  Error error;
  EXPECT_EQ(dlbridge_stream_handoff(&null, &other, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(Log(), "");
  EXPECT_EQ(dlbridge_stream_cuda(nullptr, 0).handle, 1U);
}

// A destroyed context destroys its events, and its handle is reused.
TEST_F(CudaStream, EventsOfADestroyedContextAreNotUsed) {
  CUcontext handle = nullptr;
  for (int i = 0; i < 3; ++i) {
    CUcontext other = nullptr;
    EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 0));
    EXPECT_TRUE(handle == nullptr || handle == other) << "the fake reuses handles";
    handle = other;
    fake_cuda_garbage_ids(i % 2);
    CUstream stream = nullptr;
    EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MustHandOff(stream, consumer_);
    EXPECT_CUDA(cuCtxDestroy(other));
  }
  fake_cuda_garbage_ids(0);
}

TEST_F(CudaStream, ThePoolIsBoundedAndReusesItsSlots) {
  for (int i = 0; i < 200; ++i) {
    CUcontext other = nullptr;
    EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 0));
    CUstream stream = nullptr;
    EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MustHandOff(stream, consumer_);
    EXPECT_CUDA(cuCtxDestroy(other));
  }
  WarmUp();
  MustHandOff(producer_, consumer_);
  EXPECT_EQ(Log(), kHandoff) << "an event of a live context found a slot";
}

TEST_F(CudaStream, ManyThreads) {
  WarmUp();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int n = 0; n < 200; ++n) {
        MustHandOff(producer_, consumer_);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_LE(Counts().live_events, 64);
}

// Each driver call fails in turn: the error names it, and nothing leaks.
TEST_F(CudaStream, EachCallThatFailsIsNamed) {
  struct Failing {
    const char* call;
    int nth;
    const char* named;
  };
  const Failing failing[] = {
      {"cuStreamGetCtx", 1, "cuStreamGetCtx"},
      {"cuCtxPushCurrent_v2", 1, "cuCtxPushCurrent"},
      {"cuStreamIsCapturing", 1, "cuStreamIsCapturing"},
      {"cuCtxGetDevice", 1, "cuCtxGetDevice"},
      {"cuStreamIsCapturing", 2, "cuStreamIsCapturing"},
      {"cuCtxGetId", 1, "cuCtxGetId"},
      {"cuThreadExchangeStreamCaptureMode", 1, "cuThreadExchangeStreamCaptureMode"},
      {"cuEventCreate", 1, "cuEventCreate"},
      {"cuEventRecord", 1, "cuEventRecord"},
      {"cuStreamWaitEvent", 1, "cuStreamWaitEvent"},
      {"cuCtxPopCurrent_v2", 1, "cuCtxPopCurrent"},
  };
  for (const Failing& one : failing) {
    fake_cuda_fail(one.call, CUDA_ERROR_UNKNOWN, one.nth);
    Error error;
    EXPECT_EQ(Handoff(producer_, consumer_, &error), DLBRIDGE_ERROR_DRIVER) << one.call;
    EXPECT_TRUE(error.Says(one.named)) << error.message;
    EXPECT_TRUE(error.Says("999 (CUDA_ERROR_UNKNOWN)")) << error.message;
    EXPECT_EQ(Counts().context_depth, 0) << one.call;
    EXPECT_EQ(fake_cuda_failures_left(), 0) << one.call;
  }
  MustHandOff(producer_, consumer_);
  EXPECT_EQ(Counts().live_events, before_.live_events + 1);
}

TEST_F(CudaStream, ACaptureModeThatCannotBeRestoredLeaksNoEvent) {
  fake_cuda_fail("cuThreadExchangeStreamCaptureMode", CUDA_ERROR_UNKNOWN, 2);
  Error error;
  EXPECT_EQ(Handoff(producer_, consumer_, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("cuThreadExchangeStreamCaptureMode")) << error.message;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
  const int created = Counts().events_created;
  MustHandOff(producer_, consumer_);
  EXPECT_EQ(Counts().events_created, created) << "the event is in the pool";
}

TEST_F(CudaStream, CallsForSpecialStreamsThatFailAreNamed) {
  const Current current(context_);
  for (const char* call : {"cuCtxGetCurrent", "cuCtxGetDevice"}) {
    fake_cuda_fail(call, CUDA_ERROR_UNKNOWN, 1);
    Error error;
    EXPECT_EQ(Handoff(CU_STREAM_LEGACY, consumer_, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says(call)) << error.message;
  }
}

TEST_F(CudaStream, CallsForThePrimaryContextThatFailAreNamed) {
  EXPECT_CUDA(cuDevicePrimaryCtxReset(1));
  const DLBridgeStream special = dlbridge_stream_cuda(CU_STREAM_LEGACY, 1);
  const int retained = Counts().primary_retained;
  fake_cuda_fail("cuDevicePrimaryCtxRetain", CUDA_ERROR_OUT_OF_MEMORY, 1);
  Error error;
  EXPECT_EQ(dlbridge_stream_synchronize(&special, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("cuDevicePrimaryCtxRetain")) << error.message;
  fake_cuda_fail("cuDevicePrimaryCtxGetState", CUDA_ERROR_UNKNOWN, 1);
  EXPECT_EQ(dlbridge_stream_synchronize(&special, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("cuDevicePrimaryCtxGetState")) << error.message;
  EXPECT_EQ(Counts().primary_retained, retained);
}

TEST_F(CudaStream, APrimaryContextIsRetainedOnce) {
  const DLBridgeStream special = dlbridge_stream_cuda(CU_STREAM_LEGACY, 1);
  EXPECT_EQ(dlbridge_stream_synchronize(&special, nullptr), DLBRIDGE_OK);
  const int retained = Counts().primary_retained;
  EXPECT_EQ(dlbridge_stream_synchronize(&special, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(Counts().primary_retained, retained);
  fake_cuda_fail("cuDevicePrimaryCtxRelease_v2", CUDA_ERROR_UNKNOWN, 1);
  Error error;
  EXPECT_EQ(dlbridge_stream_synchronize(&special, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("cuDevicePrimaryCtxRelease")) << error.message;
}

TEST_F(CudaStream, ACapturingProducerIsRejectedWithoutTheOption) {
  BeginCapture(producer_);
  Error error;
  EXPECT_EQ(Handoff(producer_, consumer_, &error), DLBRIDGE_ERROR_CAPTURE);
  EXPECT_TRUE(error.Says("DLBRIDGE_HANDOFF_ALLOW_CAPTURE")) << error.message;
  EXPECT_EQ(
      Log(),
      "cuStreamGetCtx cuCtxPushCurrent_v2 cuStreamIsCapturing cuCtxGetDevice cuStreamIsCapturing "
      "cuCtxPopCurrent_v2 ");
  EndCapture(producer_);
}

TEST_F(CudaStream, ACapturingProducerCapturesTheConsumerWithTheOption) {
  BeginCapture(producer_);
  Error error;
  EXPECT_EQ(Handoff(producer_, consumer_, &error, DLBRIDGE_HANDOFF_ALLOW_CAPTURE), DLBRIDGE_OK)
      << error.message;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_CUDA(cuStreamIsCapturing(consumer_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  // The way back within the same graph needs no option.
  fake_cuda_clear_log();
  MustHandOff(consumer_, producer_);
  EXPECT_EQ(Log(),
            "cuStreamGetCtx cuCtxPushCurrent_v2 cuStreamIsCapturing cuStreamGetCaptureInfo_v2 "
            "cuCtxGetDevice cuStreamIsCapturing cuStreamGetCaptureInfo_v2 " ASK_ID
            "cuEventRecord cuStreamWaitEvent cuCtxPopCurrent_v2 ");
  EndCapture(producer_);
  MustHandOff(producer_, consumer_);  // an event from a capture works outside of it
}

TEST_F(CudaStream, ACapturingConsumerCannotWaitForWorkOutside) {
  BeginCapture(consumer_);
  for (const uint32_t options : {0U, uint32_t{DLBRIDGE_HANDOFF_ALLOW_CAPTURE}}) {
    Error error;
    EXPECT_EQ(Handoff(producer_, consumer_, &error, options), DLBRIDGE_ERROR_CAPTURE);
    EXPECT_TRUE(error.Says("consumer")) << error.message;
  }
  EndCapture(consumer_);
}

TEST_F(CudaStream, TwoCapturesAreNotJoined) {
  BeginCapture(producer_);
  BeginCapture(consumer_);
  Error error;
  EXPECT_EQ(Handoff(producer_, consumer_, &error, DLBRIDGE_HANDOFF_ALLOW_CAPTURE),
            DLBRIDGE_ERROR_CAPTURE);
  EXPECT_TRUE(error.Says("the same graph")) << error.message;
  for (const int nth : {1, 2}) {
    fake_cuda_fail("cuStreamGetCaptureInfo_v2", CUDA_ERROR_UNKNOWN, nth);
    EXPECT_EQ(Handoff(producer_, consumer_, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says("cuStreamGetCaptureInfo")) << error.message;
  }
  EndCapture(producer_);
  EndCapture(consumer_);
}

// A violation of the driver's rules has ended the capture of the stream.
TEST_F(CudaStream, AFailedCaptureIsRejected) {
  BeginCapture(producer_);
  {
    const Current current(context_);
    EXPECT_EQ(cuStreamSynchronize(producer_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    fake_cuda_forgive();
  }
  Error error;
  EXPECT_EQ(Handoff(producer_, consumer_, &error), DLBRIDGE_ERROR_CAPTURE);
  EXPECT_TRUE(error.Says("failed")) << error.message;
  EXPECT_EQ(Handoff(consumer_, producer_, &error), DLBRIDGE_ERROR_CAPTURE);
  const DLBridgeStream stream = dlbridge_stream_cuda(producer_, 0);
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, &error), DLBRIDGE_ERROR_CAPTURE);
  EndCapture(producer_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CudaStream, TheLegacyStreamWhileABlockingOneIsCapturing) {
  CUstream blocking = MakeStream(CU_STREAM_DEFAULT);
  BeginCapture(blocking);
  const Current current(context_);
  Error error;
  EXPECT_EQ(Handoff(CU_STREAM_LEGACY, consumer_, &error), DLBRIDGE_ERROR_CAPTURE);
  EXPECT_TRUE(error.Says("906 (CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)")) << error.message;
  const DLBridgeStream legacy = dlbridge_stream_cuda(CU_STREAM_LEGACY, 0);
  EXPECT_EQ(dlbridge_stream_synchronize(&legacy, &error), DLBRIDGE_ERROR_CAPTURE);
  EndCapture(blocking);
  EXPECT_CUDA(cuStreamDestroy(blocking));
}

// The first event is created while another stream of the program captures.
TEST_F(CudaStream, ACaptureElsewhereIsNotDisturbed) {
  CUstream other = MakeStream();
  BeginCapture(other);
  MustHandOff(producer_, consumer_);
  EndCapture(other);
  const Current current(context_);
  EXPECT_CUDA(cuStreamDestroy(other));
}

TEST_F(CudaStream, SynchronizeWaits) {
  int source = 7;
  int seen = 0;
  Writing work = {&source, &seen};
  {
    const Current current(context_);
    EXPECT_CUDA(cuLaunchHostFunc(producer_, Write, &work));
  }
  const DLBridgeStream stream = dlbridge_stream_cuda(producer_, 0);
  fake_cuda_clear_log();
  Error error;
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(Log(),
            "cuStreamGetCtx cuCtxPushCurrent_v2 cuCtxGetDevice cuStreamIsCapturing "
            "cuThreadExchangeStreamCaptureMode cuStreamSynchronize "
            "cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 ");
  for (const char* call :
       {"cuStreamGetCtx", "cuCtxGetDevice", "cuStreamIsCapturing", "cuStreamSynchronize"}) {
    fake_cuda_fail(call, CUDA_ERROR_UNKNOWN, 1);
    EXPECT_EQ(dlbridge_stream_synchronize(&stream, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says(call)) << error.message;
  }
}

TEST_F(CudaStream, SynchronizeRejectsACapturingStream) {
  BeginCapture(producer_);
  const DLBridgeStream stream = dlbridge_stream_cuda(producer_, 0);
  Error error;
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, &error), DLBRIDGE_ERROR_CAPTURE);
  EXPECT_TRUE(error.Says("stream")) << error.message;
  EndCapture(producer_);
}

// The array API's None means the legacy default stream of the device.
TEST_F(CudaStream, TheArrayApisNone) {
  DLBridgeStream none = {};
  Error error;
  EXPECT_EQ(dlbridge_stream_from_array_api(kDevice, DLBRIDGE_ARRAY_API_STREAM_NONE, &none, &error),
            DLBRIDGE_OK);
  const Current current(context_);
  const DLBridgeStream from = dlbridge_stream_cuda(producer_, 0);
  EXPECT_EQ(dlbridge_stream_handoff(&from, &none, 0, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(dlbridge_cuda_stream(&none), CU_STREAM_LEGACY);
}

// More contexts than slots in the pool: each handoff of the others creates an event. The last test
// of this program, since the slots keep the events of the contexts that it destroys.
TEST_F(CudaStream, WithoutAFreeSlotAnEventIsCreatedAndDestroyed) {
  std::vector<CUcontext> contexts(70);
  CUstream stream = nullptr;
  for (CUcontext& context : contexts) {
    EXPECT_CUDA(cuCtxCreate(&context, nullptr, 0, 0));
    EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MustHandOff(stream, consumer_);
  }
  const int live = Counts().live_events;
  EXPECT_LE(live, 64);
  fake_cuda_fail("cuEventDestroy_v2", CUDA_ERROR_UNKNOWN, 1);
  Error error;
  EXPECT_EQ(Handoff(stream, consumer_, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("cuEventDestroy")) << error.message;
  for (auto context = contexts.rbegin(); context != contexts.rend(); ++context) {
    EXPECT_CUDA(cuCtxDestroy(*context));
  }
}

}  // namespace
}  // namespace dlbridge_test
