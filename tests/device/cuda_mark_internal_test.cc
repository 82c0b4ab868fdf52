// SPDX-License-Identifier: Apache-2.0
// Marks of CUDA's streams: when their work is over, which calls they make, and what is left of
// them.
#include <vector>

#include "device/cuda_marks.h"
#include "support/child.h"

namespace dlbridge_test {
namespace {

using dlbridge::kCudaBackend;
using dlbridge::StreamMark;

void Count(void* data) { ++*static_cast<int*>(data); }

class CudaMark : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    ASSERT_EQ(dlbridge::StartBackend(kCudaBackend, nullptr), DLBRIDGE_OK);
    stream_ = MakeStream();
    fake_cuda_clear_log();
  }

  void TearDown() override {
    fake_cuda_fault(nullptr, 0);
    {
      const Current current(context_);
      EXPECT_CUDA(cuStreamDestroy(stream_));
    }
    CudaTest::TearDown();
  }

  static void MustWait(const StreamMark& mark) {
    Error error;
    EXPECT_EQ(kCudaBackend.mark_wait(mark, &error), DLBRIDGE_OK) << error.message;
  }

  void Work(CUstream stream) {
    const Current current(context_);
    EXPECT_CUDA(cuLaunchHostFunc(stream, Count, &done_));
  }

  // A context of the program's own with a stream; it is not current.
  static CUstream MakeOther(CUcontext* context) {
    CUstream stream = nullptr;
    EXPECT_CUDA(cuCtxCreate(context, nullptr, 0, 0));
    EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUcontext popped = nullptr;
    EXPECT_CUDA(cuCtxPopCurrent(&popped));
    return stream;
  }

  CUstream stream_ = nullptr;
  int done_ = 0;
};

TEST_F(CudaMark, IsOverWithTheWorkBeforeIt) {
  Work(stream_);
  const StreamMark mark = MustMark(stream_);
  EXPECT_EQ(mark.backend, DLBRIDGE_BACKEND_CUDA);
  Work(stream_);
  EXPECT_FALSE(IsOver(mark));
  MustWait(mark);
  EXPECT_EQ(done_, 1) << "only the work before the mark";
  EXPECT_TRUE(IsOver(mark));
  kCudaBackend.mark_free(mark);
}

TEST_F(CudaMark, ARestingStreamIsOverSoon) {
  const StreamMark mark = MustMark(stream_);
  fake_cuda_run();
  EXPECT_TRUE(IsOver(mark));
  kCudaBackend.mark_free(mark);
}

constexpr char kPush[] = "cuCtxPushCurrent_v2 cuThreadExchangeStreamCaptureMode ";
constexpr char kPop[] = "cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 ";

TEST_F(CudaMark, MakesTheseCalls) {
  const StreamMark first = MustMark(stream_);  // the first of a context allocates a witness
  fake_cuda_clear_log();
  StreamMark mark = MustMark(stream_);
  EXPECT_EQ(Log(),
            "cuStreamGetCtx cuCtxPushCurrent_v2 cuCtxGetDevice cuStreamIsCapturing "
            "cuThreadExchangeStreamCaptureMode cuPointerGetAttributes cuCtxGetId "
            "cuEventCreate cuEventRecord cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 ");
  MustWait(mark);
  EXPECT_EQ(Log(), std::string("cuPointerGetAttributes ") + kPush + "cuEventSynchronize " + kPop);
  EXPECT_TRUE(IsOver(mark));
  EXPECT_EQ(Log(), std::string("cuPointerGetAttributes ") + kPush + "cuEventQuery " + kPop);
  kCudaBackend.mark_free(mark);
  EXPECT_EQ(Log(), std::string("cuPointerGetAttributes ") + kPush + "cuCtxGetId " + kPop);
  mark = MustMark(stream_);
  EXPECT_EQ(Log(),
            "cuStreamGetCtx cuCtxPushCurrent_v2 cuCtxGetDevice cuStreamIsCapturing "
            "cuThreadExchangeStreamCaptureMode cuPointerGetAttributes cuCtxGetId "
            "cuEventRecord cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 ");
  kCudaBackend.mark_free(mark);
  kCudaBackend.mark_free(first);
}

TEST_F(CudaMark, TheFirstOfAContextAllocatesAWitness) {
  CUcontext context = nullptr;
  CUstream stream = MakeOther(&context);
  fake_cuda_clear_log();
  for (int i = 0; i < 3; ++i) {
    const StreamMark mark = MustMark(stream);
    EXPECT_EQ(Log().find("cuMemAlloc_v2") != std::string::npos, i == 0);
    kCudaBackend.mark_free(mark);
  }
  EXPECT_CUDA(cuCtxDestroy(context));
}

TEST_F(CudaMark, AnEventThatIsFreedEarlyIsRecordedAgain) {
  Work(stream_);
  kCudaBackend.mark_free(MustMark(stream_));
  EXPECT_EQ(done_, 0) << "freeing waited";
  const int live = Counts().live_events;
  Work(stream_);
  const StreamMark mark = MustMark(stream_);
  EXPECT_EQ(Counts().live_events, live);
  EXPECT_FALSE(IsOver(mark));
  MustWait(mark);
  EXPECT_EQ(done_, 2) << "the mark is of the earlier work";
  kCudaBackend.mark_free(mark);
}

// The event of a mark is recorded by nothing else while the mark lives.
TEST_F(CudaMark, AHandoffUsesAnotherEvent) {
  CUstream other = MakeStream();
  const StreamMark mark = MustMark(stream_);
  Work(stream_);
  const DLBridgeStream from = dlbridge_stream_cuda(stream_, 0);
  const DLBridgeStream to = dlbridge_stream_cuda(other, 0);
  EXPECT_EQ(kCudaBackend.handoff(from, to, 0, nullptr), DLBRIDGE_OK);
  MustWait(mark);
  EXPECT_EQ(done_, 0) << "the event was recorded again";
  kCudaBackend.mark_free(mark);
  const Current current(context_);
  EXPECT_CUDA(cuStreamDestroy(other));
}

TEST_F(CudaMark, ManyAtOnceAreBounded) {
  std::vector<StreamMark> marks;
  marks.reserve(100);
  for (int i = 0; i < 100; ++i) {
    marks.push_back(MustMark(stream_));
  }
  fake_cuda_run();
  for (const StreamMark& mark : marks) {
    EXPECT_TRUE(IsOver(mark));
    kCudaBackend.mark_free(mark);
  }
  EXPECT_LE(Counts().live_events, 64) << "more events than the pool holds";
}

// The stream may be destroyed; the event is of the context.
TEST_F(CudaMark, OutlivesItsStream) {
  CUstream other = MakeStream();
  const StreamMark mark = MustMark(other);
  {
    const Current current(context_);
    EXPECT_CUDA(cuStreamDestroy(other));
  }
  MustWait(mark);
  EXPECT_TRUE(IsOver(mark));
  kCudaBackend.mark_free(mark);
}

// No handle of a destroyed context is used: the fake records that as a violation.
TEST_F(CudaMark, OfADestroyedContextIsOver) {
  for (const int garbage : {0, 1}) {
    fake_cuda_garbage_ids(garbage);
    CUcontext context = nullptr;
    const StreamMark mark = MustMark(MakeOther(&context));
    EXPECT_CUDA(cuCtxDestroy(context));
    EXPECT_TRUE(IsOver(mark));
    MustWait(mark);
    CUcontext next = nullptr;
    CUstream stream = MakeOther(&next);
    EXPECT_EQ(next, context) << "the fake reuses handles";
    const StreamMark of_next = MustMark(stream);
    EXPECT_FALSE(IsOver(of_next));
    EXPECT_TRUE(IsOver(mark));
    MustWait(mark);
    kCudaBackend.mark_free(mark);
    EXPECT_FALSE(IsOver(of_next));
    kCudaBackend.mark_free(of_next);
    EXPECT_CUDA(cuCtxDestroy(next));
  }
  fake_cuda_garbage_ids(0);
}

TEST_F(CudaMark, OfAResetDeviceIsOver) {
  const DLBridgeStream legacy = dlbridge_stream_cuda(CU_STREAM_LEGACY, 1);
  StreamMark mark = {};
  Error error;
  ASSERT_EQ(kCudaBackend.mark(legacy, "stream", &mark, &error), DLBRIDGE_OK) << error.message;
  EXPECT_FALSE(IsOver(mark));
  EXPECT_CUDA(cuDevicePrimaryCtxReset(1));
  EXPECT_TRUE(IsOver(mark));
  EXPECT_EQ(kCudaBackend.synchronize(legacy, &error), DLBRIDGE_OK) << error.message;
  EXPECT_TRUE(IsOver(mark));
  kCudaBackend.mark_free(mark);
}

TEST_F(CudaMark, WorkThatAFaultHasEndedIsOver) {
  Work(stream_);
  const StreamMark mark = MustMark(stream_);
  EXPECT_FALSE(IsOver(mark));
  fake_cuda_fault(context_, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_TRUE(IsOver(mark));
  MustWait(mark);
  kCudaBackend.mark_free(mark);
  StreamMark later = {};
  Error error;
  EXPECT_EQ(kCudaBackend.mark(dlbridge_stream_cuda(stream_, 0), "stream", &later, &error),
            DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("700 (CUDA_ERROR_ILLEGAL_ADDRESS)")) << error.message;
}

// A driver may report the fault first from any of the calls.
TEST_F(CudaMark, AFaultIsRecognisedFromEachCall) {
  const StreamMark mark = MustMark(stream_);
  for (const int fault : {201, 214, 220, 226, 700, 702, 709, 710, 714, 717, 719, 911}) {
    for (const char* call : {"cuPointerGetAttributes", "cuCtxPushCurrent_v2",
                             "cuThreadExchangeStreamCaptureMode", "cuEventQuery"}) {
      fake_cuda_fail(call, fault, 1);
      EXPECT_TRUE(IsOver(mark)) << call << " " << fault;
    }
    fake_cuda_fail("cuEventSynchronize", fault, 1);
    MustWait(mark);
  }
  EXPECT_FALSE(IsOver(mark));
  kCudaBackend.mark_free(mark);
}

TEST_F(CudaMark, OtherErrorsAreNamed) {
  const StreamMark mark = MustMark(stream_);
  for (const char* call : {"cuPointerGetAttributes", "cuCtxPushCurrent",
                           "cuThreadExchangeStreamCaptureMode", "cuEventQuery"}) {
    const bool push = std::strcmp(call, "cuCtxPushCurrent") == 0;
    fake_cuda_fail(push ? "cuCtxPushCurrent_v2" : call, CUDA_ERROR_UNKNOWN, 1);
    bool over = false;
    Error error;
    EXPECT_EQ(kCudaBackend.mark_query(mark, &over, &error), DLBRIDGE_ERROR_DRIVER) << call;
    EXPECT_TRUE(error.Says(call)) << error.message;
    EXPECT_FALSE(over);
  }
  fake_cuda_fail("cuEventSynchronize", CUDA_ERROR_UNKNOWN, 1);
  Error error;
  EXPECT_EQ(kCudaBackend.mark_wait(mark, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("cuEventSynchronize")) << error.message;
  kCudaBackend.mark_free(mark);
}

TEST_F(CudaMark, EachCallOfAMarkThatFailsIsNamed) {
  const StreamMark first = MustMark(stream_);
  const struct {
    const char* call;
    int nth;
    const char* named;
  } failing[] = {
      {"cuStreamGetCtx", 1, "cuStreamGetCtx"},
      {"cuCtxPushCurrent_v2", 1, "cuCtxPushCurrent"},
      {"cuCtxGetDevice", 1, "cuCtxGetDevice"},
      {"cuStreamIsCapturing", 1, "cuStreamIsCapturing"},
      {"cuThreadExchangeStreamCaptureMode", 1, "cuThreadExchangeStreamCaptureMode"},
      {"cuCtxGetId", 1, "cuCtxGetId"},
      {"cuEventCreate", 1, "cuEventCreate"},
      {"cuEventRecord", 1, "cuEventRecord"},
      {"cuCtxPopCurrent_v2", 1, "cuCtxPopCurrent"},
  };
  for (const auto& one : failing) {
    StreamMark mark = {};
    Error error;
    fake_cuda_fail(one.call, CUDA_ERROR_UNKNOWN, one.nth);
    EXPECT_EQ(kCudaBackend.mark(dlbridge_stream_cuda(stream_, 0), "stream", &mark, &error),
              DLBRIDGE_ERROR_DRIVER)
        << one.call;
    EXPECT_TRUE(error.Says(one.named)) << error.message;
    EXPECT_EQ(fake_cuda_failures_left(), 0) << one.call;
    EXPECT_EQ(Counts().context_depth, 0) << one.call;
    EXPECT_LE(Counts().live_events, before_.live_events + 2) << one.call;
    EXPECT_EQ(mark.state[0], 0U) << one.call << ": a mark was kept";
  }
  kCudaBackend.mark_free(first);
  EXPECT_LE(Counts().live_events, before_.live_events + 2) << "events that the pool does not hold";
}

// Without memory for its witness a context is taken to be alive.
TEST_F(CudaMark, WorksWithoutMemoryOnTheDevice) {
  CUcontext context = nullptr;
  CUstream stream = MakeOther(&context);
  fake_cuda_fail("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY, 1);
  const StreamMark mark = MustMark(stream);
  EXPECT_FALSE(IsOver(mark));
  MustWait(mark);
  EXPECT_TRUE(IsOver(mark));
  kCudaBackend.mark_free(mark);
  EXPECT_CUDA(cuCtxDestroy(context));
}

TEST_F(CudaMark, InAForkedChildCallsNoDriver) {
  const StreamMark mark = MustMark(stream_);
  EXPECT_TRUE(InChild([&] {
    fake_cuda_clear_log();
    kCudaBackend.mark_free(mark);
    EXPECT_EQ(Log(), "");
  }));
  kCudaBackend.mark_free(mark);
}

// The last test with this driver: the pool keeps the events of the contexts that it destroys.
TEST_F(CudaMark, InMoreContextsThanTheLibraryRemembers) {
  std::vector<CUcontext> contexts(70);
  std::vector<StreamMark> marks;
  marks.reserve(contexts.size());
  for (CUcontext& context : contexts) {
    marks.push_back(MustMark(MakeOther(&context)));
  }
  for (const StreamMark& mark : marks) {
    EXPECT_FALSE(IsOver(mark));
    MustWait(mark);
    EXPECT_TRUE(IsOver(mark));
    kCudaBackend.mark_free(mark);
  }
  for (CUcontext context : contexts) {
    EXPECT_CUDA(cuCtxDestroy(context));
  }
  CUcontext later = nullptr;
  const StreamMark mark = MustMark(MakeOther(&later));
  EXPECT_CUDA(cuCtxDestroy(later));
  EXPECT_TRUE(IsOver(mark)) << "the entries of destroyed contexts are used again";
  kCudaBackend.mark_free(mark);
}

}  // namespace
}  // namespace dlbridge_test
