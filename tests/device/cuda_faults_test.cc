// SPDX-License-Identifier: Apache-2.0
// Each call of the CUDA driver and of the C library fails, under each function for devices.
#include "cuda_tensor_device.h"
#include "fault_checks.h"

namespace dlbridge_test {
namespace {

class CudaFaults final : public DriverFaults {
  std::string Switch(int nth, bool for_good) override {
    return fake_cuda_fail_any(CUDA_ERROR_LAUNCH_FAILED, nth, for_good ? 1 : 0);
  }
};

// Before the other tests start the driver in this process.
// A start that failed is reported as the state of the backend; later calls report the same.
TEST(CudaStartFaults, EachCall) {
  UseFakeCuda();
  CudaFaults driver;
  CLibrary library;
  for (Faults* faults : {static_cast<Faults*>(&driver), static_cast<Faults*>(&library)}) {
    CheckStart(faults, DLBRIDGE_BACKEND_CUDA);
  }
}

int64_t LiveObjects() {
  const FakeCudaCounts counts = Counts();
  return counts.live_streams + counts.live_mappings + counts.live_allocations +
         counts.live_reservations + counts.live_chunks + counts.primary_retained +
         counts.live_events;
}

class CudaEachCall : public CudaTest {
 protected:
  static void Check(Faults* faults) {
    CudaDevice device(0);
    CudaDevice other(1);
    FaultWorld world(&device, &other, fake_cuda_run);
    std::vector<Scenario> scenarios = world.Scenarios();
    scenarios.push_back(world.IpcExportOf(false));
    scenarios.push_back(world.IpcExportOf(true));
    CheckEachCallFails(faults, scenarios, LiveObjects);
    // The mode cannot be restored if the call for that fails.
    auto mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
  }
};

TEST_F(CudaEachCall, OfTheDriverFails) {
  CudaFaults faults;
  Check(&faults);
}

TEST_F(CudaEachCall, OfTheCLibraryFails) {
  CLibrary faults;
  Check(&faults);
}

}  // namespace
}  // namespace dlbridge_test
