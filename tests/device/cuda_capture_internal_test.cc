// SPDX-License-Identifier: Apache-2.0
// Calls of the library while a program captures a graph: none invalidates the capture, and all that
// do not concern the capturing stream work.
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "device/cuda_fixture.h"
#include "native/backend.h"

namespace dlbridge_test {
namespace {

using dlbridge::CopyJob;
using dlbridge::kCudaBackend;
using dlbridge::StreamMark;

constexpr size_t kSize = 4096;

// A capture that another thread begins and ends.
class CaptureElsewhere {
 public:
  CaptureElsewhere(CUcontext context, CUstream stream, CUstreamCaptureMode mode)
      : thread_([=] { Run(context, stream, mode); }) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return began_; });
  }

  CUresult End() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      end_ = true;
    }
    changed_.notify_all();
    thread_.join();
    return result_;
  }

 private:
  void Run(CUcontext context, CUstream stream, CUstreamCaptureMode mode) {
    EXPECT_CUDA(cuCtxPushCurrent(context));
    EXPECT_CUDA(cuStreamBeginCapture(stream, mode));
    std::unique_lock<std::mutex> lock(mutex_);
    began_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return end_; });
    CUgraph graph = nullptr;
    result_ = cuStreamEndCapture(stream, &graph);
    EXPECT_CUDA(cuCtxPopCurrent(&context));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool began_ = false;
  bool end_ = false;
  CUresult result_ = CUDA_SUCCESS;
  std::thread thread_;
};

class CudaCapture : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    ASSERT_EQ(dlbridge::StartBackend(kCudaBackend, nullptr), DLBRIDGE_OK);
    capturing_ = MakeStream();
    stream_ = MakeStream();
    other_ = MakeStream();
    memory_ = Allocate(kSize);
    target_ = Allocate(kSize);
    virtual_memory_ = fake_cuda_map(0, kSize);
  }

  void TearDown() override {
    {
      const Current current(context_);
      for (CUstream stream : {capturing_, stream_, other_}) {
        EXPECT_CUDA(cuStreamDestroy(stream));
      }
    }
    CudaTest::TearDown();
  }

  // Names the call that broke a rule of the driver.
  static void ExpectOk(DLBridgeStatus status, const Error& error, const char* call) {
    EXPECT_EQ(status, DLBRIDGE_OK) << call << ": " << error.message;
    EXPECT_EQ(fake_cuda_violations(), 0) << call << ": " << fake_cuda_violation_texts();
    fake_cuda_forgive();
  }

  void UseStreams() {
    const DLBridgeStream stream = dlbridge_stream_cuda(stream_, 0);
    const DLBridgeStream other = dlbridge_stream_cuda(other_, 0);
    const DLBridgeStream special = dlbridge_stream_cuda(CU_STREAM_LEGACY, 1);
    Error error;
    ExpectOk(kCudaBackend.handoff(stream, other, 0, &error), error, "handoff");
    ExpectOk(kCudaBackend.handoff(stream, special, 0, &error), error, "handoff to a special one");
    ExpectOk(kCudaBackend.synchronize(stream, &error), error, "synchronize");
    StreamMark mark = {};
    bool over = false;
    ExpectOk(kCudaBackend.mark(stream, "stream", &mark, &error), error, "mark");
    ExpectOk(kCudaBackend.mark_query(mark, &over, &error), error, "mark_query");
    ExpectOk(kCudaBackend.mark_wait(mark, &error), error, "mark_wait");
    kCudaBackend.mark_free(mark);
    ExpectOk(DLBRIDGE_OK, error, "mark_free");
  }

  void UseMemory() {
    Error error;
    for (const CUdeviceptr address : {memory_, virtual_memory_}) {
      DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
      ExpectOk(kCudaBackend.pointer_info(dlbridge_buffer_cuda(address), kDevice, &info, &error),
               error, "pointer_info");
    }
    const DLBridgeStream stream = dlbridge_stream_cuda(stream_, 0);
    for (const DLBridgeStream* order : {static_cast<const DLBridgeStream*>(nullptr), &stream}) {
      dlbridge::IpcHandle handle = {};
      ExpectOk(kCudaBackend.ipc_export(dlbridge_buffer_cuda(memory_), kDevice, {0, 8, order},
                                       &handle, &error),
               error, "ipc_export");
    }
    uint64_t peers = 0;
    ExpectOk(kCudaBackend.peers(0, &peers, &error), error, "peers");
  }

  void Copy(const DLBridgeStream& stream, bool submit) {
    CopyJob job = {};
    job.from = {false, kDevice, dlbridge_buffer_cuda(memory_)};
    job.to = {false, kDevice, dlbridge_buffer_cuda(target_)};
    job.stream = stream;
    Error error;
    ExpectOk(kCudaBackend.copy_begin(&job, &error), error, "copy_begin");
    ExpectOk(kCudaBackend.copy_box(&job, {8, 2, 1, 0, 8, 0, 0, 8, 0}, &error), error, "copy_box");
    if (!submit) {
      ExpectOk(kCudaBackend.copy_finish(&job, &error), error, "copy_finish");
      return;
    }
    StreamMark mark = {};
    ExpectOk(kCudaBackend.copy_submit(&job, &mark, &error), error, "copy_submit");
    kCudaBackend.mark_free(mark);
    ExpectOk(DLBRIDGE_OK, error, "mark_free");
  }

  void UseEverything() {
    UseStreams();
    UseMemory();
    Copy({}, false);
    Copy(dlbridge_stream_cuda(stream_, 0), false);
    Copy(dlbridge_stream_cuda(stream_, 0), true);
  }

  void ExpectRejected(DLBridgeStatus status, const Error& error) {
    EXPECT_EQ(status, DLBRIDGE_ERROR_CAPTURE) << error.message;
    EXPECT_TRUE(error.Says("capturing")) << error.message;
  }

  // Every call that concerns the capturing stream is rejected.
  void UseTheCapturingStream() {
    const DLBridgeStream capturing = dlbridge_stream_cuda(capturing_, 0);
    const DLBridgeStream stream = dlbridge_stream_cuda(stream_, 0);
    Error error;
    ExpectRejected(kCudaBackend.handoff(stream, capturing, 0, &error), error);
    ExpectRejected(kCudaBackend.handoff(capturing, stream, 0, &error), error);
    ExpectRejected(kCudaBackend.synchronize(capturing, &error), error);
    StreamMark mark = {};
    ExpectRejected(kCudaBackend.mark(capturing, "stream", &mark, &error), error);
    EXPECT_EQ(mark.state[0], 0U);
    CopyJob job = {};
    job.from = {false, kDevice, dlbridge_buffer_cuda(memory_)};
    job.to = {false, kDevice, dlbridge_buffer_cuda(target_)};
    job.stream = capturing;
    ExpectRejected(kCudaBackend.copy_begin(&job, &error), error);
  }

  CUstream capturing_ = nullptr;
  CUstream stream_ = nullptr;
  CUstream other_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUdeviceptr target_ = 0;
  CUdeviceptr virtual_memory_ = 0;
};

// The first use makes an event, a witness and a primary context; later ones do not.
TEST_F(CudaCapture, AGlobalCaptureOfAnotherThreadSurvives) {
  for (int i = 0; i < 2; ++i) {
    CaptureElsewhere capture(context_, capturing_, CU_STREAM_CAPTURE_MODE_GLOBAL);
    UseEverything();
    UseTheCapturingStream();
    EXPECT_EQ(capture.End(), CUDA_SUCCESS) << "the capture was invalidated";
  }
}

TEST_F(CudaCapture, ACaptureOfThisThreadSurvives) {
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const Current current(context_);
    EXPECT_CUDA(cuStreamBeginCapture(capturing_, mode));
    UseEverything();
    UseTheCapturingStream();
    CUgraph graph = nullptr;
    EXPECT_CUDA(cuStreamEndCapture(capturing_, &graph));
  }
}

// A thread may be in any mode; it is in the same mode after each call.
TEST_F(CudaCapture, TheModeOfTheThreadIsKept) {
  for (CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                   CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_GLOBAL}) {
    const CUstreamCaptureMode set = mode;
    EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
    UseEverything();
    EXPECT_EQ(Counts().capture_mode, static_cast<int>(set));
  }
}

// The legacy stream would become part of a blocking stream's capture.
TEST_F(CudaCapture, TheLegacyStreamIsRejectedAndTheCaptureSurvives) {
  CUstream blocking = MakeStream(CU_STREAM_DEFAULT);
  const Current current(context_);
  EXPECT_CUDA(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  const DLBridgeStream legacy = dlbridge_stream_cuda(CU_STREAM_LEGACY, 0);
  StreamMark mark = {};
  Error error;
  EXPECT_EQ(kCudaBackend.synchronize(legacy, &error), DLBRIDGE_ERROR_CAPTURE);
  EXPECT_EQ(kCudaBackend.mark(legacy, "stream", &mark, &error), DLBRIDGE_ERROR_CAPTURE);
  CUgraph graph = nullptr;
  EXPECT_CUDA(cuStreamEndCapture(blocking, &graph));
  EXPECT_CUDA(cuStreamDestroy(blocking));
}

}  // namespace
}  // namespace dlbridge_test
