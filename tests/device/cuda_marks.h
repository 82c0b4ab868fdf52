// SPDX-License-Identifier: Apache-2.0
// Marks of CUDA's streams, for tests that call the backend.
#ifndef DLBRIDGE_TESTS_DEVICE_CUDA_MARKS_H_
#define DLBRIDGE_TESTS_DEVICE_CUDA_MARKS_H_

#include "device/cuda_fixture.h"
#include "native/backend.h"

namespace dlbridge_test {

inline dlbridge::StreamMark MustMark(CUstream stream) {
  dlbridge::StreamMark mark = {};
  Error error;
  EXPECT_EQ(dlbridge::kCudaBackend.mark(dlbridge_stream_cuda(stream, 0), "stream", &mark, &error),
            DLBRIDGE_OK)
      << error.message;
  return mark;
}

inline bool IsOver(const dlbridge::StreamMark& mark) {
  bool over = false;
  Error error;
  EXPECT_EQ(dlbridge::kCudaBackend.mark_query(mark, &over, &error), DLBRIDGE_OK) << error.message;
  return over;
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_CUDA_MARKS_H_
