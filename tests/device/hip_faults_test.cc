// SPDX-License-Identifier: Apache-2.0
// Each call of the HIP runtime and of the C library fails, under each function for devices.
#include "fault_checks.h"
#include "hip_tensor_device.h"

namespace dlbridge_test {
namespace {

class HipFaults final : public DriverFaults {
 public:
  explicit HipFaults(const FakeHip& fake) : fake_(fake) {}

 private:
  std::string Switch(int nth, bool for_good) override {
    return fake_.fail_any(hipErrorUnknown, nth, for_good);
  }
  const FakeHip& fake_;
};

void Check(const FakeHip& fake, Faults* faults) {
  HipDevice device(fake, 0);
  HipDevice other(fake, 1);
  FaultWorld world(&device, &other, [] {});
  std::vector<Scenario> scenarios = world.Scenarios();
  scenarios.push_back(world.IpcExportOf(false));
  CheckEachCallFails(faults, scenarios, [&] { return static_cast<int64_t>(fake.live_events()); });
}

// Objects whose release failed are left, and the thread's mode if the call that restores it failed.
TEST(HipEachCall, OfTheRuntimeFails) {
  EXPECT_TRUE(InChild([] {
    setenv("DLBRIDGE_LIBHIP", DLBRIDGE_FAKE_HIP6, 1);
    const FakeHip& fake = *LoadFakeHip(DLBRIDGE_FAKE_HIP6);
    HipFaults faults(fake);
    Check(fake, &faults);
    const auto lost = static_cast<size_t>(faults.lost());
    fake.set_thread_mode(0);
    fake.settle(kPooled + lost, kPooled + lost, lost);
    EXPECT_STREQ(fake.violations(), "");
  }));
}

HIP_TEST(HipEachCall, OfTheCLibraryFails) {
  CLibrary faults;
  Check(fake, &faults);
}

TEST(HipStartFaults, EachCall) {
  setenv("DLBRIDGE_LIBHIP", DLBRIDGE_FAKE_HIP6, 1);
  HipFaults driver(*LoadFakeHip(DLBRIDGE_FAKE_HIP6));
  CLibrary library;
  for (Faults* faults : {static_cast<Faults*>(&driver), static_cast<Faults*>(&library)}) {
    CheckStart(faults, DLBRIDGE_BACKEND_HIP);
  }
}

}  // namespace
}  // namespace dlbridge_test
