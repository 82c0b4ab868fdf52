// SPDX-License-Identifier: Apache-2.0
// Copies of the Level Zero backend, through the interface of the backends.
#include <cstring>
#include <utility>

#include "device/level_zero_world.h"
#include "native/backend.h"

namespace {

using dlbridge::CopyBox;
using dlbridge::CopyJob;
using dlbridge::CopySide;
using dlbridge::kLevelZeroBackend;
using dlbridge_test::Error;
using dlbridge_test::InNextWorld;
using dlbridge_test::InWorld;
using dlbridge_test::kDeviceLost;
using dlbridge_test::OneApi;
using dlbridge_test::World;

const char* const kDone =
    "zeCommandListAppendBarrier,zeEventHostSynchronize,zeEventHostReset,zeCommandListDestroy";

void Start(World& world) {
  Error error;
  ASSERT_EQ(dlbridge::StartBackend(kLevelZeroBackend, &error), DLBRIDGE_OK) << error.message;
  world.fake.Log();
}

CopySide HostSide(const void* address) {
  return {true, dlbridge_test::Device(kDLCPU), dlbridge_buffer_address(address)};
}
CopySide DeviceSide(const void* address, int32_t id, ze_context_handle_t context = nullptr) {
  return {false, OneApi(id), dlbridge_buffer_level_zero(address, context)};
}

CopyBox Line(uint64_t bytes, uint64_t from = 0, uint64_t to = 0) {
  return {bytes, 1, 1, from, bytes, bytes, to, bytes, bytes};
}

CopyJob Job(const CopySide& from, const CopySide& to) {
  CopyJob job = {};
  job.from = from;
  job.to = to;
  return job;
}

// Returns the first failure; a copy that began is always finished.
DLBridgeStatus Copy(CopyJob job, const std::vector<CopyBox>& boxes, DLBridgeError* error) {
  DLBridgeStatus status = kLevelZeroBackend.copy_begin(&job, error);
  if (status != DLBRIDGE_OK) {
    return status;
  }
  for (const CopyBox& box : boxes) {
    status = status == DLBRIDGE_OK ? kLevelZeroBackend.copy_box(&job, box, error) : status;
  }
  const DLBridgeStatus finished =
      kLevelZeroBackend.copy_finish(&job, status == DLBRIDGE_OK ? error : nullptr);
  return status == DLBRIDGE_OK ? finished : status;
}

void MustCopy(const CopyJob& job, const std::vector<CopyBox>& boxes) {
  Error error;
  EXPECT_EQ(Copy(job, boxes, &error), DLBRIDGE_OK) << error.message;
}

struct Memory {
  explicit Memory(World* the_world)
      : world(*the_world),
        context(world.MakeContext()),
        device(world.AllocDevice(context, world.devices[0])) {
    world.Register(0, 0, context);
    for (size_t i = 0; i < sizeof host; ++i) {
      host[i] = static_cast<unsigned char>(i * 7 + 1);
    }
    std::memset(device, 0, 4096);
    Start(world);
    world.kept.pools = 1;
  }

  World& world;
  ze_context_handle_t context;
  unsigned char* device;
  unsigned char host[4096];
};

LEVEL_ZERO_TEST(LevelZeroCopy, Runs) {
  Memory memory(&world);
  MustCopy(Job(HostSide(memory.host), DeviceSide(memory.device, 0)),
           {Line(100, 5, 50), Line(10, 500, 200), Line(0)});
  EXPECT_EQ(std::memcmp(memory.device + 50, memory.host + 5, 100), 0);
  EXPECT_EQ(std::memcmp(memory.device + 200, memory.host + 500, 10), 0);
  unsigned char back[100] = {};
  world.fake.Log();
  MustCopy(Job(DeviceSide(memory.device, 0), HostSide(back)), {Line(100, 50)});
  EXPECT_EQ(std::memcmp(back, memory.host + 5, 100), 0);
  EXPECT_EQ(world.fake.Log(), std::string("zeMemGetAllocProperties,zeCommandListCreateImmediate,"
                                          "zeCommandListAppendMemoryCopy,") +
                                  kDone);
}

// Compares the copied bytes with the box, byte by byte.
void ExpectCopied(const unsigned char* to, const unsigned char* from, const CopyBox& box) {
  for (uint64_t plane = 0; plane < box.planes; ++plane) {
    for (uint64_t row = 0; row < box.rows; ++row) {
      const uint64_t t = box.to_offset + plane * box.to_plane_pitch + row * box.to_row_pitch;
      const uint64_t f = box.from_offset + plane * box.from_plane_pitch + row * box.from_row_pitch;
      EXPECT_EQ(std::memcmp(to + t, from + f, box.bytes), 0) << plane << " " << row;
    }
  }
}

LEVEL_ZERO_TEST(LevelZeroCopy, Boxes) {
  Memory memory(&world);
  const char* const region = "zeCommandListAppendMemoryCopyRegion";
  const char* const run = "zeCommandListAppendMemoryCopy";
  const struct {
    CopyBox box;
    const char* call;
    int calls;
  } cases[] = {
      {{12, 5, 1, 3, 20, 0, 7, 16, 0}, region, 1},            // a rectangle
      {{12, 1, 5, 3, 0, 20, 7, 0, 16}, region, 1},            // the same, given as planes
      {{12, 5, 3, 0, 20, 100, 0, 16, 80}, region, 1},         // a cuboid
      {{12, 5, 3, 0, 100, 20, 0, 16, 80}, region, 3},         // interleaved planes
      {{12, 5, 1, 0, 0, 0, 0, 12, 0}, run, 5},                // a repeated row
      {{12, 2, 3, 0, 0, 12, 0, 12, 24}, run, 6},              // repeated planes
      {{12, 5, 1, 400, uint64_t(-40), 0, 0, 12, 0}, run, 5},  // reversed rows
      {{12, 0, 3, 0, 12, 12, 0, 12, 12}, run, 0},             // empty
  };
  for (const auto& item : cases) {
    std::memset(memory.device, 0, 4096);
    world.fake.Log();
    MustCopy(Job(HostSide(memory.host), DeviceSide(memory.device, 0)), {item.box});
    const std::string log = world.fake.Log();
    ExpectCopied(memory.device, memory.host, item.box);
    int calls = 0;
    for (size_t at = log.find("AppendMemoryCopy"); at != std::string::npos;
         at = log.find("AppendMemoryCopy", at + 1)) {
      ++calls;
    }
    EXPECT_EQ(calls, item.calls) << log;
    EXPECT_EQ(log.find(std::string(item.call) + ",") != std::string::npos, calls != 0) << log;
  }
}

// Pitches beyond the driver's 32 bits are copied row by row; the test checks the calls only.
LEVEL_ZERO_TEST(LevelZeroCopy, PitchBeyond32Bits) {
  Memory memory(&world);
  // The second row is outside the memory, so its call is made to fail.
  const CopyBox box = {4, 2, 1, 0, uint64_t{1} << 33, 0, 0, 4, 0};
  CopyJob job = Job(DeviceSide(memory.device, 0), HostSide(memory.host));
  ASSERT_EQ(kLevelZeroBackend.copy_begin(&job, nullptr), DLBRIDGE_OK);
  world.fake.Log();
  world.fake.fake_ze_fail("zeCommandListAppendMemoryCopy", kDeviceLost, 2);
  EXPECT_EQ(kLevelZeroBackend.copy_box(&job, box, nullptr), DLBRIDGE_ERROR_DRIVER);
  EXPECT_EQ(world.fake.Log(), "zeCommandListAppendMemoryCopy,zeCommandListAppendMemoryCopy");
  EXPECT_EQ(kLevelZeroBackend.copy_finish(&job, nullptr), DLBRIDGE_OK);
}

// A copy on a stream runs after the work on it, and the stream stays the caller's.
LEVEL_ZERO_TEST(LevelZeroCopy, OnList) {
  Memory memory(&world);
  unsigned char* from = world.AllocDevice(memory.context, world.devices[0]);
  ze_command_list_handle_t list = world.MakeImmediate(memory.context, world.devices[0]);
  std::memset(from, 5, 4096);
  EXPECT_EQ(
      world.ze.zeCommandListAppendMemoryCopy(list, memory.device, from, 64, nullptr, 0, nullptr),
      ZE_RESULT_SUCCESS);
  unsigned char back[64] = {};
  CopyJob job = Job(DeviceSide(memory.device, 0), HostSide(back));
  job.stream = dlbridge_stream_level_zero(list, memory.context, OneApi(0));
  world.fake.Log();
  MustCopy(job, {Line(64)});
  EXPECT_EQ(back[63], 5);
  const std::string log = world.fake.Log();
  const char* const end =
      "zeCommandListAppendBarrier,zeCommandListAppendMemoryCopy,"
      "zeCommandListAppendBarrier,zeEventHostSynchronize,zeEventHostReset";
  EXPECT_NE(log.find(end), std::string::npos) << log;
  EXPECT_EQ(log.find("zeCommandListDestroy"), std::string::npos) << log;
}

LEVEL_ZERO_TEST(LevelZeroCopy, OnQueue) {
  Memory memory(&world);
  ze_command_queue_handle_t queue = world.MakeQueue(memory.context, world.devices[0]);
  CopyJob job = Job(HostSide(memory.host), DeviceSide(memory.device, 0));
  job.stream = dlbridge_stream_level_zero_queue(queue, memory.context, OneApi(0));
  world.fake.Log();
  MustCopy(job, {Line(64), Line(64, 100, 100)});
  EXPECT_EQ(std::memcmp(memory.device + 100, memory.host + 100, 64), 0);
  const std::string log = world.fake.Log();
  const char* const end =
      "zeCommandListCreate,zeCommandListAppendBarrier,zeCommandListAppendMemoryCopy,"
      "zeCommandListAppendMemoryCopy,zeCommandListAppendBarrier,zeCommandListClose,"
      "zeCommandQueueExecuteCommandLists,zeEventHostSynchronize,zeEventHostReset,"
      "zeCommandListDestroy";
  EXPECT_NE(log.find(end), std::string::npos) << log;
}

// Source and target in two contexts of one driver: copied in runs, with the source's context.
LEVEL_ZERO_TEST(LevelZeroCopy, FromAnotherContext) {
  Memory memory(&world);
  ze_context_handle_t other = world.MakeContext();
  unsigned char* to = world.AllocDevice(other, world.devices[1]);
  std::memcpy(memory.device, memory.host, 4096);
  world.fake.Log();
  const CopyBox box = {12, 5, 1, 3, 20, 0, 7, 16, 0};
  MustCopy(Job(DeviceSide(memory.device, 0), DeviceSide(to, 1, other)), {box});
  ExpectCopied(to, memory.host, box);
  const std::string log = world.fake.Log();
  EXPECT_NE(log.find("zeCommandListAppendMemoryCopyFromContext"), std::string::npos) << log;
  EXPECT_EQ(log.find("zeCommandListAppendMemoryCopyRegion"), std::string::npos) << log;
}

// To the host, on a stream of another context than the source's.
LEVEL_ZERO_TEST(LevelZeroCopy, StreamOfAnotherContext) {
  Memory memory(&world);
  ze_context_handle_t other = world.MakeContext();
  ze_command_list_handle_t list = world.MakeImmediate(other, world.devices[0]);
  std::memcpy(memory.device, memory.host, 4096);
  unsigned char back[64] = {};
  CopyJob job = Job(DeviceSide(memory.device, 0), HostSide(back));
  job.stream = dlbridge_stream_level_zero(list, other, OneApi(0));
  MustCopy(job, {Line(64)});
  EXPECT_EQ(std::memcmp(back, memory.host, 64), 0);
  CopyJob there = Job(HostSide(memory.host), DeviceSide(memory.device, 0));
  there.stream = job.stream;
  Error error;
  EXPECT_EQ(Copy(there, {Line(64)}, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("stream belongs to another ze_context_handle_t")) << error.message;
}

LEVEL_ZERO_TEST(LevelZeroCopy, TwoDrivers) {
  Memory memory(&world);
  ze_context_handle_t other = world.MakeContext(1);
  unsigned char* to = world.AllocDevice(other, world.devices[2]);
  Error error;
  EXPECT_EQ(Copy(Job(DeviceSide(memory.device, 0), DeviceSide(to, 2, other)), {Line(8)}, &error),
            DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("two drivers")) << error.message;
  world.kept.pools = 0;
}

LEVEL_ZERO_TEST(LevelZeroCopy, UnknownMemory) {
  Memory memory(&world);
  Error error;
  EXPECT_EQ(Copy(Job(DeviceSide(memory.host, 0), HostSide(memory.host)), {}, &error),
            DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("source is memory that no context")) << error.message;
  EXPECT_EQ(
      Copy(Job(HostSide(memory.host), DeviceSide(memory.host, 0, memory.context)), {}, &error),
      DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("target is memory that no context")) << error.message;
  CopyJob job = Job(DeviceSide(memory.device, 0), HostSide(memory.host));
  job.stream = dlbridge_stream_level_zero(nullptr, nullptr, OneApi(0));
  EXPECT_EQ(Copy(job, {}, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("stream has no context")) << error.message;
  world.kept.pools = 0;
  world.kept.contexts = 2;
}

// Host USM belongs to no device: the tensor's device id selects the device that copies.
LEVEL_ZERO_TEST(LevelZeroCopy, HostUsm) {
  Memory memory(&world);
  unsigned char* usm = world.AllocHost(memory.context);
  MustCopy(Job(HostSide(memory.host), DeviceSide(usm, 0)), {Line(64)});
  EXPECT_EQ(std::memcmp(usm, memory.host, 64), 0);
  Error error;
  EXPECT_EQ(Copy(Job(HostSide(memory.host), DeviceSide(usm, 17, memory.context)), {}, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("device has a device that neither")) << error.message;
}

TEST(LevelZeroCopy, IntelTable) {
  EXPECT_TRUE(InWorld({{"FAKE_ZE_TABLE", "driver"}}, [](World& world) {
    Memory memory(&world);
    MustCopy(Job(HostSide(memory.host), DeviceSide(memory.device, 0)), {Line(64)});
    EXPECT_EQ(std::memcmp(memory.device, memory.host, 64), 0);
  }));
}

// Each driver call fails in turn and nothing leaks. If the driver cannot tell whether a list has
// finished, that list is kept, not destroyed.
template <class Prepare>
void FailInTurn(const World& world, Prepare prepare) {
  const std::vector<CopyBox> boxes = {Line(64), {12, 5, 3, 0, 20, 100, 200, 16, 80}};
  for (uint32_t n = 1;; ++n) {
    const CopyJob job = prepare();
    world.fake.Log();
    world.fake.fake_ze_fail(nullptr, kDeviceLost, n);
    Error error;
    const DLBridgeStatus status = Copy(job, boxes, &error);
    world.fake.fake_ze_fail(nullptr, 0, 0);
    EXPECT_EQ(world.fake.Violation(), "") << n << " " << world.fake.Log();
    if (status == DLBRIDGE_OK) {
      ASSERT_GT(n, 5U);
      break;
    }
    EXPECT_EQ(status, DLBRIDGE_ERROR_DRIVER) << error.message;
    EXPECT_TRUE(error.Says("ZE_RESULT_ERROR_DEVICE_LOST")) << error.message;
    ASSERT_LT(n, 100U);
  }
}

// The first round includes the calls that create the events, the second does not.
template <class Prepare>
void FailColdAndWarm(World* world, size_t kept, Prepare prepare) {
  FailInTurn(*world, prepare);
  FailInTurn(*world, prepare);
  world->kept.lists = kept;
}

LEVEL_ZERO_TEST(LevelZeroCopy, EachCallFails) {
  Memory memory(&world);
  // Failures of the last barrier, the wait, the reset and the destruction. After the first two the
  // list may still be running; in the last case it could not be destroyed.
  FailColdAndWarm(&world, 3,
                  [&] { return Job(HostSide(memory.host), DeviceSide(memory.device, 0)); });
}

TEST(LevelZeroCopy, EachCallFailsWithNewerLoader) {
  EXPECT_TRUE(InNextWorld({}, [](World& world) {
    Memory memory(&world);
    // The newer loader can wait for the list if the barrier failed.
    FailColdAndWarm(&world, 2,
                    [&] { return Job(HostSide(memory.host), DeviceSide(memory.device, 0)); });
  }));
}

LEVEL_ZERO_TEST(LevelZeroCopy, EachCallOnListFails) {
  Memory memory(&world);
  ze_command_list_handle_t list = world.MakeImmediate(memory.context, world.devices[0]);
  FailColdAndWarm(&world, 0, [&] {
    CopyJob job = Job(HostSide(memory.host), DeviceSide(memory.device, 0));
    job.stream = dlbridge_stream_level_zero(list, memory.context, OneApi(0));
    return job;
  });
}

LEVEL_ZERO_TEST(LevelZeroCopy, EachCallOnQueueFails) {
  Memory memory(&world);
  ze_command_queue_handle_t queue = world.MakeQueue(memory.context, world.devices[0]);
  FailColdAndWarm(&world, 2, [&] {
    CopyJob job = Job(HostSide(memory.host), DeviceSide(memory.device, 0));
    job.stream = dlbridge_stream_level_zero_queue(queue, memory.context, OneApi(0));
    return job;
  });
}

// A driver without the region copy reports that by its result.
TEST(LevelZeroCopy, DriverLacksRegions) {
  EXPECT_TRUE(InWorld({{"FAKE_ZE_LACKS", "zeCommandListAppendMemoryCopyRegion"}}, [](World& world) {
    Memory memory(&world);
    const CopyBox box = {12, 5, 1, 3, 20, 0, 7, 16, 0};
    MustCopy(Job(HostSide(memory.host), DeviceSide(memory.device, 0)), {box});
    ExpectCopied(memory.device, memory.host, box);
  }));
}

}  // namespace
