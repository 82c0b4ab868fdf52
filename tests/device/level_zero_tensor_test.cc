// SPDX-License-Identifier: Apache-2.0
// dlbridge_copy to, from and between devices of Level Zero.
#include "level_zero_tensor_device.h"

namespace dlbridge_test {
namespace {

// A context of an application's, registered for the world's first device.
struct App {
  explicit App(World* world, LevelZeroDevice::Streams streams = LevelZeroDevice::kImmediate)
      : context(world->MakeContext()), device(world, 0, 0, context, streams) {
    world->Register(0, 0, context);
    world->kept.pools = 1;
  }
  ze_context_handle_t context;
  LevelZeroDevice device;
};

LEVEL_ZERO_TEST(LevelZeroTensor, FromTheHost) {
  HostMemory host;
  App app(&world);
  CheckCopies(&host, &app.device);
}

LEVEL_ZERO_TEST(LevelZeroTensor, ToTheHost) {
  HostMemory host;
  App app(&world);
  CheckCopies(&app.device, &host);
}

LEVEL_ZERO_TEST(LevelZeroTensor, InADevice) {
  App app(&world);
  CheckCopies(&app.device, &app.device);
}

// Of one context: the queue may be either's.
LEVEL_ZERO_TEST(LevelZeroTensor, BetweenTwoDevices) {
  App app(&world);
  world.Register(1, 1, app.context);
  LevelZeroDevice other(&world, 1, 1, app.context);
  CheckCopies(&app.device, &other);
  world.kept.pools = 2;  // one for each label
}

// What the driver refuses, or does only without the source's queue, goes through the host.
void CheckThroughTheHost(TensorDevice* from, TensorDevice* to) {
  for (const TensorLayout& layout : DirectLayouts()) {
    const TensorSource source(from, layout, kFloats);
    ForEachWay(from, to, [&](CopyWay way) {
      way.options = DLBRIDGE_COPY_ALLOW_STAGING;
      ExpectCopy(source, to, way);
    });
  }
}

LEVEL_ZERO_TEST(LevelZeroTensor, BetweenTwoContexts) {
  App app(&world);
  ze_context_handle_t context = world.MakeContext();
  world.Register(1, 1, context);
  LevelZeroDevice other(&world, 1, 1, context);
  const TensorSource source(&app.device, {"a rectangle", {6, 8}, {20, 1}, 0}, kFloats);
  ExpectCopy(source, &other, {});
  CopyWay way;
  way.stream = app.device.stream();
  ExpectRefusal(source, &other, way, DLBRIDGE_ERROR_UNSUPPORTED, "another ze_context_handle_t");
  CheckThroughTheHost(&app.device, &other);
  world.kept.pools = 2;
}

LEVEL_ZERO_TEST(LevelZeroTensor, BetweenTwoDrivers) {
  App app(&world);
  ze_context_handle_t context = world.MakeContext(1);
  world.Register(2, 2, context);
  LevelZeroDevice other(&world, 2, 2, context);
  const TensorSource source(&app.device, {"a rectangle", {6, 8}, {20, 1}, 0}, kFloats);
  ExpectRefusal(source, &other, {}, DLBRIDGE_ERROR_UNSUPPORTED, "two drivers");
  CheckThroughTheHost(&app.device, &other);
  world.kept.pools = 2;
}

TEST(LevelZeroTensor, ByAQueueWhoseOrdinalIsKnown) {
  EXPECT_TRUE(InNextWorld({}, [](World& world) {
    HostMemory host;
    App app(&world, LevelZeroDevice::kQueue);
    CheckCopies(&host, &app.device);
    CheckCopies(&app.device, &host);
  }));
}

LEVEL_ZERO_TEST(LevelZeroTensor, CallsThatFail) {
  HostMemory host;
  App app(&world);
  const std::vector<const char*> functions = {"zeMemGetAllocProperties",
                                              "zeCommandListCreateImmediate",
                                              "zeCommandListAppendMemoryCopyRegion"};
  CheckFailures(&host, &app.device, &app.device, functions);
  CheckFailures(&app.device, &host, &app.device, functions);
  CheckFailures(&app.device, &app.device, &app.device, functions);
  CheckFailuresOfStaging(&app.device, &app.device, &app.device,
                         {"zeCommandListCreateImmediate", "zeCommandListAppendMemoryCopy"});
}

}  // namespace
}  // namespace dlbridge_test
