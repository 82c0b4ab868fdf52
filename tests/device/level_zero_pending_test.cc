// SPDX-License-Identifier: Apache-2.0
// Copies and releases ordered by Level Zero's lists and queues, which may run out of order. An
// event that the test signals holds back the work.
#include "level_zero_tensor_device.h"
#include "pending_checks.h"

namespace dlbridge_test {
namespace {

// An application's context, registered for the first device, and its immediate list.
struct App {
  explicit App(World* world, int lists = 1)
      : context(world->MakeContext()), device(world, 0, 0, context) {
    world->Register(0, 0, context);
    world->kept.pools = static_cast<size_t>(lists);
  }
  ze_context_handle_t context;
  LevelZeroDevice device;
};

class EventGate final : public Gate {
 public:
  EventGate(World* world, App* app, LevelZeroDevice* device)
      : world_(*world), context_(app->context), device_(*device) {}

  DLBridgeStream Close() override {
    event_ = world_.MakeEvent(context_);
    const DLBridgeStream stream = device_.stream();
    auto* list = reinterpret_cast<ze_command_list_handle_t>(static_cast<uintptr_t>(stream.handle));
    EXPECT_EQ(world_.ze.zeCommandListAppendBarrier(list, nullptr, 1, &event_), ZE_RESULT_SUCCESS);
    return stream;
  }
  void Open() override { EXPECT_EQ(world_.ze.zeEventHostSignal(event_), ZE_RESULT_SUCCESS); }

 private:
  World& world_;
  ze_context_handle_t context_;
  LevelZeroDevice& device_;
  ze_event_handle_t event_ = nullptr;
};

LEVEL_ZERO_TEST(LevelZeroPending, ReleasesAfterTheWork) {
  App app(&world);
  EventGate gate(&world, &app, &app.device);
  CheckRelease(&gate);
}

LEVEL_ZERO_TEST(LevelZeroPending, ReleasesAfterTwoLists) {
  App app(&world);
  LevelZeroDevice other(&world, 0, 0, app.context);
  EventGate first(&world, &app, &app.device);
  EventGate second(&world, &app, &other);
  CheckTwoStreams(&first, &second);
}

LEVEL_ZERO_TEST(LevelZeroPending, PassesTheStreamToTheCallback) {
  App app(&world);
  EventGate gate(&world, &app, &app.device);
  CheckReleaseOnStream(&app.device, &gate);
}

LEVEL_ZERO_TEST(LevelZeroPending, CopiesOnTheList) {
  HostMemory host;
  App app(&world);
  EventGate gate(&world, &app, &app.device);
  CheckAsyncCopies(&host, &app.device, &gate);
  CheckAsyncCopies(&app.device, &host, &gate);
  CheckAsyncCopies(&app.device, &app.device, &gate);
  CheckAsyncRefusals(&app.device, &gate);
}

LEVEL_ZERO_TEST(LevelZeroPending, MarksThatFail) {
  App app(&world);
  EventGate gate(&world, &app, &app.device);
  CheckMarksThatFail(&app.device, &gate, {"zeCommandListAppendBarrier"});
}

LEVEL_ZERO_TEST(LevelZeroPending, DeletersCallBack) {
  App app(&world);
  EventGate gate(&world, &app, &app.device);
  CheckDeletersThatCallBack(&gate);
}

LEVEL_ZERO_TEST(LevelZeroPending, AForkedChild) {
  App app(&world);
  EventGate gate(&world, &app, &app.device);
  CheckForkedChild(&gate);
}

}  // namespace
}  // namespace dlbridge_test
