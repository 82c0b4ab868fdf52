// SPDX-License-Identifier: Apache-2.0
// Fixture of the CUDA tests: the library finds the fake driver, and TearDown checks the state that
// each test leaves.
#ifndef DLBRIDGE_TESTS_DEVICE_CUDA_FIXTURE_H_
#define DLBRIDGE_TESTS_DEVICE_CUDA_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "dlbridge/cuda_api.h"
#include "dlbridge/dlbridge.h"
#include "fake_cuda.h"
#include "support/error.h"

namespace dlbridge_test {

inline void UseFakeCuda() { setenv("DLBRIDGE_LIBCUDA", FAKE_CUDA_FILE, 1); }

#define EXPECT_CUDA(call) EXPECT_EQ((call), CUDA_SUCCESS)

inline FakeCudaCounts Counts() {
  FakeCudaCounts counts;
  fake_cuda_counts(&counts);
  return counts;
}

// The driver's calls since the log was cleared.
inline std::string Log() {
  std::string log = fake_cuda_log();
  fake_cuda_clear_log();
  return log;
}

class CudaTest : public testing::Test {
 protected:
  static constexpr DLDevice kDevice = {kDLCUDA, 0};

  static void SetUpTestSuite() {
    UseFakeCuda();
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    ASSERT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_CUDA, &info, nullptr), DLBRIDGE_OK);
    ASSERT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
  }

  void SetUp() override {
    // The application's context on device 0; it is not current.
    ASSERT_EQ(cuCtxCreate(&context_, nullptr, 0, 0), CUDA_SUCCESS);
    CUcontext popped = nullptr;
    ASSERT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    before_ = Counts();
    fake_cuda_clear_log();
  }

  void TearDown() override {
    EXPECT_EQ(fake_cuda_violations(), 0) << fake_cuda_violation_texts();
    EXPECT_EQ(fake_cuda_failures_left(), 0) << "a planned failure did not happen";
    const FakeCudaCounts after = Counts();
    EXPECT_EQ(after.context_depth, 0) << "contexts stay pushed";
    EXPECT_EQ(after.capture_mode, before_.capture_mode) << "the capture mode was not restored";
    EXPECT_EQ(after.live_streams, before_.live_streams) << "streams are left";
    EXPECT_EQ(after.live_mappings, before_.live_mappings) << "mappings are left";
    EXPECT_LE(after.live_events, 64) << "more events than the pool holds";
    fake_cuda_forgive();
    fake_cuda_forget_failures();
    EXPECT_CUDA(cuCtxDestroy(context_));
  }

  // Makes a context current for calls that the application makes itself.
  class Current {
   public:
    explicit Current(CUcontext context) { EXPECT_CUDA(cuCtxPushCurrent(context)); }
    ~Current() {
      CUcontext popped = nullptr;
      EXPECT_CUDA(cuCtxPopCurrent(&popped));
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
  };

  CUdeviceptr Allocate(size_t size) const {
    const Current current(context_);
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuMemAlloc(&address, size));
    return address;
  }

  CUstream MakeStream(unsigned flags = CU_STREAM_NON_BLOCKING) const {
    const Current current(context_);
    CUstream stream = nullptr;
    EXPECT_CUDA(cuStreamCreate(&stream, flags));
    return stream;
  }

  CUcontext context_ = nullptr;
  FakeCudaCounts before_ = {};
};

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_CUDA_FIXTURE_H_
