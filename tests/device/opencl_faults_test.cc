// SPDX-License-Identifier: Apache-2.0
// Each call of an OpenCL driver and of the C library fails, under each function for devices.
#include "fault_checks.h"
#include "opencl_tensor_device.h"

namespace dlbridge_test {
namespace {

class OpenClFaults final : public DriverFaults {
  std::string Switch(int nth, bool for_good) override {
    char names[1 << 14];
    SHIM(shim_fail_any)(CL_OUT_OF_RESOURCES, nth, for_good ? 1 : 0, names, sizeof names);
    return names;
  }
};

class OpenClEachCall : public World {
 protected:
  void Check(Faults* faults) {
    const DLDevice label = {kDLOpenCL, IndexOf(device_)};
    OpenClBuffers device(label, context_, MakeQueue(context_), MakeQueue(context_));
    OpenClBuffers other(label, context_, MakeQueue(context_), MakeQueue(context_));
    {
      FaultWorld world(&device, &other, [] {});
      CheckEachCallFails(faults, world.Scenarios(), [] { return Live().mems; });
    }
    ExpectNothingLive();
  }
};

TEST_F(OpenClEachCall, OfTheDriverFails) {
  OpenClFaults faults;
  Check(&faults);
}

// From any call on, all fail. The consumer waits for a user event of its context, which the library
// sets also if it cannot have the driver do that.
TEST_F(OpenClEachCall, OfAHandoffToAnotherContextLetsTheConsumerFinish) {
  const DLDevice label = {kDLOpenCL, IndexOf(device_)};
  cl_command_queue consumer = MakeQueue(MakeContext());
  const DLBridgeStream from = dlbridge_stream_opencl(MakeQueue(context_), label);
  const DLBridgeStream to = dlbridge_stream_opencl(consumer, label);
  OpenClFaults faults;
  bool failed = true;
  for (int nth = 1; failed; ++nth) {
    faults.Arm(nth, true);
    const DLBridgeStatus status = dlbridge_stream_handoff(&from, &to, 0, nullptr);
    failed = faults.Disarm() != 0;
    EXPECT_EQ(status == DLBRIDGE_OK, !failed) << "call " << nth;
    EXPECT_EQ(CL(clFinish)(consumer), CL_SUCCESS);
  }
}

TEST_F(OpenClEachCall, OfTheCLibraryFails) {
  CLibrary faults;
  Check(&faults);
}

}  // namespace
}  // namespace dlbridge_test
