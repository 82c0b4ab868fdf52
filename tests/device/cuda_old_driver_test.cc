// SPDX-License-Identifier: Apache-2.0
// An older driver: without context ids and device UUIDs.
#include "device/cuda_fixture.h"

namespace dlbridge_test {
namespace {

class CudaOldDriver : public CudaTest {};

// Without context ids, an event in the pool could belong to a destroyed context.
TEST_F(CudaOldDriver, EachHandoffMakesAnEventAndDestroysIt) {
  CUstream producer = MakeStream();
  CUstream consumer = MakeStream();
  const DLBridgeStream from = dlbridge_stream_cuda(producer, 0);
  const DLBridgeStream to = dlbridge_stream_cuda(consumer, 0);
  for (int i = 0; i < 2; ++i) {
    fake_cuda_clear_log();
    Error error;
    EXPECT_EQ(dlbridge_stream_handoff(&from, &to, 0, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(
        Log(),
        "cuStreamGetCtx cuCtxPushCurrent_v2 cuStreamIsCapturing cuCtxGetDevice cuStreamIsCapturing "
        "cuThreadExchangeStreamCaptureMode cuEventCreate cuThreadExchangeStreamCaptureMode "
        "cuEventRecord cuStreamWaitEvent cuCtxPopCurrent_v2 "
        "cuThreadExchangeStreamCaptureMode cuEventDestroy_v2 "
        "cuThreadExchangeStreamCaptureMode ");
    EXPECT_EQ(Counts().live_events, 0);
  }
  const Current current(context_);
  EXPECT_CUDA(cuStreamDestroy(producer));
  EXPECT_CUDA(cuStreamDestroy(consumer));
}

TEST_F(CudaOldDriver, CapturesWithoutIdsAreNotJoined) {
  CUstream producer = MakeStream();
  CUstream consumer = MakeStream();
  const DLBridgeStream from = dlbridge_stream_cuda(producer, 0);
  const DLBridgeStream to = dlbridge_stream_cuda(consumer, 0);
  const Current current(context_);
  EXPECT_CUDA(cuStreamBeginCapture(producer, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_CUDA(cuStreamBeginCapture(consumer, CU_STREAM_CAPTURE_MODE_GLOBAL));
  Error error;
  EXPECT_EQ(dlbridge_stream_handoff(&from, &to, DLBRIDGE_HANDOFF_ALLOW_CAPTURE, &error),
            DLBRIDGE_ERROR_CAPTURE);
  CUgraph graph = nullptr;
  EXPECT_CUDA(cuStreamEndCapture(producer, &graph));
  EXPECT_CUDA(cuStreamEndCapture(consumer, &graph));
  EXPECT_CUDA(cuStreamDestroy(producer));
  EXPECT_CUDA(cuStreamDestroy(consumer));
}

// An event of the library could belong to a destroyed context, or to a stream whose handle another
// stream has now.
TEST_F(CudaOldDriver, StreamsAreNotExported) {
  CUstream native = MakeStream();
  const DLBridgeStream stream = dlbridge_stream_cuda(native, 0);
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.buffer = dlbridge_buffer_cuda(Allocate(64));
  spec.dtype = {kDLInt, 8, 1};
  spec.device = kDevice;
  Error error;
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(dlbridge_wrap(&spec, &tensor, &error), DLBRIDGE_OK) << error.message;
  DLBridgeIpcExportSpec to = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  to.stream = &stream;
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  EXPECT_EQ(dlbridge_ipc_export(tensor, &to, &sizes, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("CUDA 12.0")) << error.message;
  tensor->deleter(tensor);
  const Current current(context_);
  EXPECT_CUDA(cuStreamDestroy(native));
}

TEST_F(CudaOldDriver, SpecialStreamsUseTheRetainedPrimaryContext) {
  const DLBridgeStream legacy = dlbridge_stream_cuda(CU_STREAM_LEGACY, 0);
  for (int i = 0; i < 2; ++i) {
    Error error;
    EXPECT_EQ(dlbridge_stream_synchronize(&legacy, &error), DLBRIDGE_OK) << error.message;
  }
  EXPECT_EQ(Counts().primary_retained, 1);
}

}  // namespace
}  // namespace dlbridge_test
