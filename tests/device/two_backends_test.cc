// SPDX-License-Identifier: Apache-2.0
// Copies between the memory of two drivers in one process: only through the host.
#include "cuda_tensor_device.h"
#include "hip_tensor_device.h"

namespace dlbridge_test {
namespace {

class TwoBackends : public CudaTest {
 protected:
  static void SetUpTestSuite() {
    setenv("DLBRIDGE_LIBHIP", DLBRIDGE_FAKE_HIP6, 1);
    CudaTest::SetUpTestSuite();
    StartHip(Hip());
  }
  void TearDown() override {
    Hip().settle(kPooled, kPooled, 0);
    EXPECT_STREQ(Hip().violations(), "");
    CudaTest::TearDown();
  }

  static const FakeHip& Hip() { return *LoadFakeHip(DLBRIDGE_FAKE_HIP6); }

  static void CheckBetween(TensorDevice* from, TensorDevice* to) {
    for (const TensorLayout& layout : DirectLayouts()) {
      const TensorSource source(from, layout, kFloats);
      ForEachWay(from, to, [&](const CopyWay& way) { ExpectStaged(source, to, way); });
    }
    const TensorSource many(from, {"5000 backwards", {5000}, {-1}, 4999}, kFloats);
    ForEachWay(from, to, [&](const CopyWay& way) { ExpectStaged(many, to, way); });
  }
};

TEST_F(TwoBackends, FromCudaToHip) {
  CudaDevice cuda(0);
  HipDevice hip(Hip(), 1);
  CheckBetween(&cuda, &hip);
}

TEST_F(TwoBackends, FromHipToCuda) {
  CudaDevice cuda(1);
  HipDevice hip(Hip(), 0);
  CheckBetween(&hip, &cuda);
}

TEST_F(TwoBackends, EitherDriverFails) {
  CudaDevice cuda(0);
  HipDevice hip(Hip(), 1);
  CheckFailuresOfStaging(&cuda, &hip, &cuda,
                         {"cuStreamCreate", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"});
  CheckFailuresOfStaging(&cuda, &hip, &hip, {"hipMemcpyAsync", "hipStreamSynchronize"});
  CheckFailuresOfStaging(&hip, &cuda, &hip, {"hipMemcpyAsync", "hipStreamSynchronize"});
  CheckFailuresOfStaging(&hip, &cuda, &cuda, {"cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"});
}

}  // namespace
}  // namespace dlbridge_test
