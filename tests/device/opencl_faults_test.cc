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

TEST_F(OpenClEachCall, OfTheCLibraryFails) {
  CLibrary faults;
  Check(&faults);
}

}  // namespace
}  // namespace dlbridge_test
