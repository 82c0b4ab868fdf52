// SPDX-License-Identifier: Apache-2.0
// Marks with an older driver, which has no ids of contexts: events are not kept.
#include "device/cuda_marks.h"

namespace dlbridge_test {
namespace {

using dlbridge::kCudaBackend;
using dlbridge::StreamMark;

class CudaOldMark : public CudaTest {};

TEST_F(CudaOldMark, DestroysItsEvent) {
  CUstream stream = MakeStream();
  for (const bool wait : {false, true}) {
    const StreamMark mark = MustMark(stream);
    EXPECT_EQ(Counts().live_events, 1);
    EXPECT_FALSE(IsOver(mark));
    if (wait) {
      EXPECT_EQ(kCudaBackend.mark_wait(mark, nullptr), DLBRIDGE_OK);
      EXPECT_TRUE(IsOver(mark));
    }
    kCudaBackend.mark_free(mark);
    EXPECT_EQ(Counts().live_events, 0);
  }
  const Current current(context_);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(CudaOldMark, OfADestroyedContextIsOver) {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  EXPECT_CUDA(cuCtxCreate(&context, nullptr, 0, 0));
  EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const StreamMark mark = MustMark(stream);
  EXPECT_FALSE(IsOver(mark));
  EXPECT_CUDA(cuCtxDestroy(context));
  EXPECT_TRUE(IsOver(mark));
  kCudaBackend.mark_free(mark);
}

}  // namespace
}  // namespace dlbridge_test
