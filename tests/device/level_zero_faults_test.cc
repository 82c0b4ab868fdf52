// SPDX-License-Identifier: Apache-2.0
// Each call of the Level Zero driver and of the C library fails, under each function for devices.
#include "fault_checks.h"
#include "level_zero_tensor_device.h"

namespace dlbridge_test {
namespace {

class LevelZeroFaults final : public DriverFaults {
 public:
  explicit LevelZeroFaults(const Fake& fake) : fake_(fake) {}

 private:
  std::string Switch(int nth, bool for_good) override {
    char names[1 << 14];
    fake_.fake_ze_failed(names, sizeof names);
    if (for_good) {
      fake_.fake_ze_fail_all(kUnknown, static_cast<uint32_t>(nth));
    } else {
      fake_.fake_ze_fail(nullptr, kUnknown, static_cast<uint32_t>(nth));
    }
    return names;
  }

  static constexpr uint32_t kUnknown = 0x7ffffffe;
  const Fake& fake_;
};

void Check(World* world, Faults* faults) {
  ze_context_handle_t context = world->MakeContext();
  world->Register(0, 0, context);
  world->Register(1, 1, context);
  LevelZeroDevice device(world, 0, 0, context);
  LevelZeroDevice other(world, 1, 1, context);
  {
    FaultWorld memory(&device, &other, [] {});
    std::vector<Scenario> scenarios = memory.Scenarios();
    CheckEachCallFails(faults, scenarios, [&] {
      int64_t live = 0;
      for (const char* kind : {"context", "queue", "list", "pool", "event", "ipc"}) {
        live += static_cast<int64_t>(world->fake.fake_ze_live(kind));
      }
      return live;
    });
  }
  world->kept.pools = world->fake.fake_ze_live("pool");
  EXPECT_LE(world->kept.pools, 2U);
  // Lists that are still in use when a wait fails are kept; two are the test's own.
  world->kept.lists = world->fake.fake_ze_live("list") - 2;
}

LEVEL_ZERO_TEST(LevelZeroEachCall, OfTheDriverFails) {
  LevelZeroFaults faults(world.fake);
  Check(&world, &faults);
}

LEVEL_ZERO_TEST(LevelZeroEachCall, OfTheCLibraryFails) {
  CLibrary faults;
  Check(&world, &faults);
}

}  // namespace
}  // namespace dlbridge_test
