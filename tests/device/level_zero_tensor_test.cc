// SPDX-License-Identifier: Apache-2.0
// Level Zero tensors through the C ABI: copies, and sharing with another process.
#include <cstring>

#include "ipc_checks.h"
#include "level_zero_tensor_device.h"
#include "table_checks.h"

namespace dlbridge_test {
namespace {

// An application's context, registered for the first device.
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

// Both devices are in one context, so either queue may be used.
LEVEL_ZERO_TEST(LevelZeroTensor, BetweenTwoDevices) {
  App app(&world);
  world.Register(1, 1, app.context);
  LevelZeroDevice other(&world, 1, 1, app.context);
  CheckCopies(&app.device, &other);
  world.kept.pools = 2;  // one per device id
}

// Copies that the driver rejects, or accepts only without the source's queue, are staged.
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

// Sets up the device of a process.
struct Process {
  Environment environment;

  template <class Part>
  void operator()(Part part) const {
    SetEnvironment(environment);
    World world;
    App app(&world);
    world.kept.pools = 0;
    part(&app.device);
  }
};

World& WorldOf(TensorDevice* device) { return static_cast<LevelZeroDevice*>(device)->world(); }

// Counts the open mappings from the calls logged from now on.
std::function<int()> MappingsOf(TensorDevice* device) {
  World& world = WorldOf(device);
  world.fake.Log();
  return [&world, log = std::string()]() mutable {
    log += world.fake.Log();
    return CountIn(log, "zeMemOpenIpcHandle") - CountIn(log, "zeMemCloseIpcHandle");
  };
}

void CheckImportOf(TensorDevice* device, const IpcLetter& letter) {
  CheckImport(device, letter, MappingsOf(device));
  WorldOf(device).kept.pools = 1;
}

void CheckBetween(const Environment& environment, size_t fds) {
  BetweenProcesses(Process{environment}, [=](TensorDevice* device, const IpcLetter& letter) {
    EXPECT_EQ(letter.fd_count, fds);
    CheckImportOf(device, letter);
    CheckImportOf(device, letter);
  });
}

TEST(LevelZeroTensor, BetweenProcessesByADescriptor) { CheckBetween({}, 1); }

TEST(LevelZeroTensor, BetweenProcessesByTheExportersDescriptor) {
  CheckBetween({{"FAKE_ZE_IPC", "process"}}, 0);
}

TEST(LevelZeroTensor, BetweenProcessesByBytes) { CheckBetween({{"FAKE_ZE_IPC", "bytes"}}, 0); }

TEST(LevelZeroTensor, InvalidImportsAreRejected) {
  BetweenProcesses(Process(), [](TensorDevice* device, const IpcLetter& letter) {
    CheckGreed(letter, MappingsOf(device));
    CheckUnknownDevice(letter, MappingsOf(device));
    CheckAltered(letter, MappingsOf(device));
    IpcLetter bare = letter;
    bare.fd_count = 0;
    ExpectNoImport(bare, DLBRIDGE_ERROR_DESCRIPTOR, "fd_count", MappingsOf(device));
  });
}

// A descriptor keeps the memory alive; a handle that names the exporter's process does not.
TEST(LevelZeroTensor, AnEndedExporter) {
  AfterTheExporter(Process(), CheckImportOf);
  AfterTheExporter(
      Process{{{"FAKE_ZE_IPC", "process"}}}, [](TensorDevice*, const IpcLetter& letter) {
        DLBridgeError error = DLBRIDGE_ERROR_INIT;
        DLManagedTensorVersioned* tensor = nullptr;
        EXPECT_EQ(ImportLetter(letter, &tensor, &error), DLBRIDGE_ERROR_DRIVER);
        EXPECT_NE(std::strstr(error.message, "zeMemOpenIpcHandle"), nullptr) << error.message;
        EXPECT_EQ(tensor, nullptr);
      });
}

LEVEL_ZERO_TEST(LevelZeroTensor, DevicesInTheTable) {
  CheckEnumeration(DLBRIDGE_BACKEND_LEVEL_ZERO, kDLOneAPI, 4, {});
  world.kept.contexts = 2;
}

LEVEL_ZERO_TEST(LevelZeroTensor, TheContextInTheTable) {
  DLBridgeContextEntry entry;
  ASSERT_EQ(LookUp(OneApi(3), 0, &entry), DLBRIDGE_OK);
  LevelZeroDevice device(&world, 3, 3, dlbridge_level_zero_context(&entry));
  DLBridgeBuffer memory = device.Allocate(64);
  memory.context = entry.context;
  CheckEnumeratedContext(device.label(), memory);
  device.Free(memory);
  world.kept.contexts = 2;
  world.kept.pools = 1;
}

LEVEL_ZERO_TEST(LevelZeroTensor, AContextThatIsRegistered) {
  ze_context_handle_t context = world.MakeContext();
  LevelZeroDevice device(&world, 7, 0, context);
  const DLBridgeBuffer memory = device.Allocate(64);
  CheckContextIsKept(
      dlbridge_context_entry_level_zero(7, world.drivers[0], world.devices[0], context), memory);
  device.Free(memory);
  world.kept.contexts = 2;  // created by the enumeration
}

}  // namespace
}  // namespace dlbridge_test
