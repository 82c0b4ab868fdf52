// SPDX-License-Identifier: Apache-2.0
// Handoffs between Level Zero queues and lists: their driver calls and the resulting order.
#include <thread>

#include "device/level_zero_world.h"

namespace {

using dlbridge_test::Device;
using dlbridge_test::Error;
using dlbridge_test::InNextWorld;
using dlbridge_test::kDeviceLost;
using dlbridge_test::OneApi;
using dlbridge_test::World;

constexpr uint32_t kHostWait = DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT;

const char* const kPoolOf32 =
    "zeEventPoolCreate,"
    "zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,"
    "zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,"
    "zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,"
    "zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,"
    "zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,zeEventCreate,"
    "zeEventCreate,zeEventCreate,";
const char* const kReclaim = "zeEventQueryStatus,zeEventHostReset,zeEventHostReset,";
const char* const kBarriers = "zeCommandListAppendBarrier,zeCommandListAppendBarrier";
const char* const kExecutions =
    "zeCommandQueueExecuteCommandLists,zeCommandQueueExecuteCommandLists";
const char* const kLists =
    "zeCommandListCreate,zeCommandListAppendBarrier,zeCommandListClose,"
    "zeCommandListCreate,zeCommandListAppendBarrier,zeCommandListClose,";
constexpr int kPairs = 16;

void Start(World& world) {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_LEVEL_ZERO, &info, nullptr), DLBRIDGE_OK);
  ASSERT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
  world.fake.Log();
}

DLBridgeStatus Handoff(const DLBridgeStream& from, const DLBridgeStream& to, uint32_t options = 0,
                       DLBridgeError* error = nullptr) {
  return dlbridge_stream_handoff(&from, &to, options, error);
}

void MustHandoff(const DLBridgeStream& from, const DLBridgeStream& to) {
  Error error;
  EXPECT_EQ(Handoff(from, to, 0, &error), DLBRIDGE_OK) << error.message;
}

void MustSynchronize(const DLBridgeStream& stream) {
  Error error;
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, &error), DLBRIDGE_OK) << error.message;
}

// One context with two immediate lists, on two devices of one driver.
struct Lists {
  explicit Lists(World* the_world)
      : world(*the_world),
        context(world.MakeContext()),
        first(world.MakeImmediate(context, world.devices[0])),
        second(world.MakeImmediate(context, world.devices[1])),
        producer(dlbridge_stream_level_zero(first, context, OneApi(0))),
        consumer(dlbridge_stream_level_zero(second, context, OneApi(1))) {
    Start(world);
  }

  // Waits until no handoff is in flight, so that the next one reuses events.
  void Settle() const {
    ze_event_handle_t done = world.MakeEvent(context);
    EXPECT_EQ(world.ze.zeCommandListAppendBarrier(second, done, 0, nullptr), ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.ze.zeEventHostSynchronize(done, UINT64_MAX), ZE_RESULT_SUCCESS);
    world.fake.Log();
  }

  World& world;
  ze_context_handle_t context;
  ze_command_list_handle_t first;
  ze_command_list_handle_t second;
  DLBridgeStream producer;
  DLBridgeStream consumer;
};

LEVEL_ZERO_TEST(LevelZeroStream, CallsOfOneList) {
  Lists lists(&world);
  MustHandoff(lists.producer, lists.producer);
  EXPECT_EQ(world.fake.Log(), "zeCommandListAppendBarrier");
  lists.producer.context = 0;
  MustHandoff(lists.producer, lists.producer);
  EXPECT_EQ(world.fake.Log(), "zeCommandListAppendBarrier");
  world.fake.fake_ze_fail("zeCommandListAppendBarrier", kDeviceLost, 1);
  Error error;
  EXPECT_EQ(Handoff(lists.producer, lists.producer, 0, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("zeCommandListAppendBarrier")) << error.message;
  EXPECT_EQ(world.fake.fake_ze_list_synchronize(lists.first, UINT64_MAX), ZE_RESULT_SUCCESS);
}

// A list that hands over to itself: it runs the newest command first, unless a barrier is between.
LEVEL_ZERO_TEST(LevelZeroStream, OrdersOneList) {
  const Lists lists(&world);
  unsigned char* a = world.AllocDevice(lists.context, world.devices[0]);
  unsigned char* b = world.AllocDevice(lists.context, world.devices[0]);
  unsigned char* c = world.AllocDevice(lists.context, world.devices[0]);
  a[0] = 42;
  ze_event_handle_t gate = world.MakeEvent(lists.context);
  const dlbridge_test::Loader& ze = world.ze;
  EXPECT_EQ(ze.zeCommandListAppendMemoryCopy(lists.first, b, a, 1, nullptr, 1, &gate),
            ZE_RESULT_SUCCESS);
  MustHandoff(lists.producer, lists.producer);
  EXPECT_EQ(ze.zeCommandListAppendMemoryCopy(lists.first, c, b, 1, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(ze.zeEventHostSignal(gate), ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.fake.fake_ze_list_synchronize(lists.first, UINT64_MAX), ZE_RESULT_SUCCESS);
  EXPECT_EQ(c[0], 42);
}

LEVEL_ZERO_TEST(LevelZeroStream, CallsOfTwoLists) {
  const Lists lists(&world);
  MustHandoff(lists.producer, lists.consumer);
  EXPECT_EQ(world.fake.Log(), std::string(kPoolOf32) + kBarriers);
  for (int i = 1; i < kPairs; ++i) {
    MustHandoff(lists.producer, lists.consumer);
    EXPECT_EQ(world.fake.Log(), kBarriers);
  }
  lists.Settle();
  for (int i = 0; i < 100; ++i) {
    MustHandoff(lists.producer, lists.consumer);
    EXPECT_EQ(world.fake.Log(), std::string(kReclaim) + kBarriers);
    lists.Settle();
  }
  world.kept.pools = 1;
}

// The consumer's copy waits for the producer's, which waits for the host; the host does not wait.
LEVEL_ZERO_TEST(LevelZeroStream, Orders) {
  const Lists lists(&world);
  unsigned char* a = world.AllocDevice(lists.context, world.devices[0]);
  unsigned char* b = world.AllocDevice(lists.context, world.devices[0]);
  unsigned char* c = world.AllocDevice(lists.context, world.devices[1]);
  a[0] = 42;
  ze_event_handle_t gate = world.MakeEvent(lists.context);
  ze_event_handle_t done = world.MakeEvent(lists.context);
  const dlbridge_test::Loader& ze = world.ze;
  EXPECT_EQ(ze.zeCommandListAppendMemoryCopy(lists.first, b, a, 1, nullptr, 1, &gate),
            ZE_RESULT_SUCCESS);
  MustHandoff(lists.producer, lists.consumer);
  EXPECT_EQ(ze.zeCommandListAppendMemoryCopy(lists.second, c, b, 1, done, 0, nullptr),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(ze.zeEventQueryStatus(done), ZE_RESULT_NOT_READY);
  EXPECT_EQ(ze.zeEventHostSignal(gate), ZE_RESULT_SUCCESS);
  EXPECT_EQ(ze.zeEventHostSynchronize(done, UINT64_MAX), ZE_RESULT_SUCCESS);
  EXPECT_EQ(c[0], 42);
  world.kept.pools = 1;
}

// More handoffs in flight than a pool has events: a second pool is created, and both are used.
LEVEL_ZERO_TEST(LevelZeroStream, ManyInFlight) {
  const Lists lists(&world);
  ze_event_handle_t gate = world.MakeEvent(lists.context);
  EXPECT_EQ(world.ze.zeCommandListAppendBarrier(lists.first, nullptr, 1, &gate), ZE_RESULT_SUCCESS);
  for (int i = 0; i < 2 * kPairs; ++i) {
    MustHandoff(lists.producer, lists.consumer);
  }
  world.kept.pools = 2;
  EXPECT_EQ(world.ze.zeEventHostSignal(gate), ZE_RESULT_SUCCESS);
  lists.Settle();
  for (int i = 0; i < 4 * kPairs; ++i) {
    MustHandoff(lists.producer, lists.consumer);
    lists.Settle();
  }
}

// Repeated bursts of handoffs use the pools of the first one.
LEVEL_ZERO_TEST(LevelZeroStream, ManyBursts) {
  const Lists lists(&world);
  ze_event_handle_t gate = world.MakeEvent(lists.context);
  for (int burst = 0; burst < 20; ++burst) {
    EXPECT_EQ(world.ze.zeCommandListAppendBarrier(lists.first, nullptr, 1, &gate),
              ZE_RESULT_SUCCESS);
    for (int i = 0; i < 3 * kPairs; ++i) {
      MustHandoff(lists.producer, lists.consumer);
    }
    EXPECT_EQ(world.ze.zeEventHostSignal(gate), ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.fake.fake_ze_list_synchronize(lists.first, UINT64_MAX), ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.fake.fake_ze_list_synchronize(lists.second, UINT64_MAX), ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.ze.zeEventHostReset(gate), ZE_RESULT_SUCCESS);
    ASSERT_EQ(world.fake.fake_ze_live("pool"), 3U + 1U) << burst;  // and the gate's
  }
  world.kept.pools = 3;
}

// A new context with the handle of a destroyed one must not use the old pool.
LEVEL_ZERO_TEST(LevelZeroStream, PoolPerEntry) {
  Lists lists(&world);
  MustHandoff(lists.producer, lists.consumer);
  world.Register(0, 0, lists.context);
  lists.Settle();
  MustHandoff(lists.producer, lists.consumer);
  EXPECT_EQ(world.fake.Log(), std::string(kPoolOf32) + kBarriers);
  world.kept.pools = 2;
  lists.Settle();
}

LEVEL_ZERO_TEST(LevelZeroStream, TwoContexts) {
  const Lists lists(&world);
  ze_context_handle_t other = world.MakeContext();
  const DLBridgeStream stream =
      dlbridge_stream_level_zero(world.MakeImmediate(other, world.devices[0]), other, OneApi(0));
  world.fake.Log();
  Error error;
  EXPECT_EQ(Handoff(lists.producer, stream, 0, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT")) << error.message;
  EXPECT_EQ(world.fake.Log(), "");
  EXPECT_EQ(Handoff(lists.producer, stream, kHostWait, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(world.fake.Log(), std::string(kPoolOf32) +
                                  "zeCommandListAppendBarrier,zeEventHostSynchronize,"
                                  "zeEventHostReset");
  world.kept.pools = 1;
}

LEVEL_ZERO_TEST(LevelZeroStream, NoContext) {
  const Lists lists(&world);
  DLBridgeStream without = lists.consumer;
  without.context = 0;
  Error error;
  EXPECT_EQ(Handoff(lists.producer, without, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("consumer has no context")) << error.message;
  EXPECT_EQ(Handoff(without, lists.producer, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("producer has no context")) << error.message;
  EXPECT_EQ(dlbridge_stream_synchronize(&without, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("stream has no context")) << error.message;
  EXPECT_EQ(world.fake.Log(), "");
}

LEVEL_ZERO_TEST(LevelZeroStream, SynchronizesList) {
  const Lists lists(&world);
  MustSynchronize(lists.producer);
  world.fake.Log();
  MustSynchronize(lists.producer);
  EXPECT_EQ(world.fake.Log(), "zeCommandListAppendBarrier,zeEventHostSynchronize,zeEventHostReset");
  DLBridgeStream host = {};
  host.kind = DLBRIDGE_STREAM_HOST;
  MustHandoff(lists.producer, host);
  EXPECT_EQ(world.fake.Log(), "zeCommandListAppendBarrier,zeEventHostSynchronize,zeEventHostReset");
  world.kept.pools = 1;
}

TEST(LevelZeroStream, SynchronizesListByNewerLoader) {
  EXPECT_TRUE(InNextWorld({}, [](World& world) {
    const Lists lists(&world);
    MustSynchronize(lists.producer);
    EXPECT_EQ(world.fake.Log(), "zeCommandListHostSynchronize");
    world.fake.fake_ze_fail("zeCommandListHostSynchronize", kDeviceLost, 1);
    Error error;
    EXPECT_EQ(dlbridge_stream_synchronize(&lists.producer, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says("zeCommandListHostSynchronize")) << error.message;
  }));
  EXPECT_TRUE(
      InNextWorld({{"FAKE_ZE_LOADER_LACKS", "zeCommandListHostSynchronize"}}, [](World& world) {
        const Lists lists(&world);
        MustSynchronize(lists.producer);
        EXPECT_EQ(world.fake.Log(), std::string(kPoolOf32) +
                                        "zeCommandListAppendBarrier,zeEventHostSynchronize,"
                                        "zeEventHostReset");
        world.kept.pools = 1;
      }));
}

// Two queues of one context.
struct Queues {
  explicit Queues(World* the_world, uint32_t ordinal = 0)
      : world(*the_world),
        context(world.MakeContext()),
        first(world.MakeQueue(context, world.devices[0], ordinal)),
        second(world.MakeQueue(context, world.devices[1])),
        producer(dlbridge_stream_level_zero_queue(first, context, OneApi(0))),
        consumer(dlbridge_stream_level_zero_queue(second, context, OneApi(1))) {
    Start(world);
  }
  void Settle() const {
    EXPECT_EQ(world.ze.zeCommandQueueSynchronize(second, UINT64_MAX), ZE_RESULT_SUCCESS);
    world.fake.Log();
  }

  World& world;
  ze_context_handle_t context;
  ze_command_queue_handle_t first;
  ze_command_queue_handle_t second;
  DLBridgeStream producer;
  DLBridgeStream consumer;
};

LEVEL_ZERO_TEST(LevelZeroStream, CallsOfTwoQueues) {
  const Queues queues(&world);
  MustHandoff(queues.producer, queues.consumer);
  EXPECT_EQ(world.fake.Log(), std::string(kPoolOf32) + kLists + kExecutions);
  queues.Settle();
  for (int i = 1; i < kPairs; ++i) {
    MustHandoff(queues.producer, queues.consumer);
    EXPECT_EQ(world.fake.Log(), std::string(kLists) + kExecutions);
    queues.Settle();
  }
  for (int i = 0; i < 2 * kPairs; ++i) {
    MustHandoff(queues.producer, queues.consumer);
    EXPECT_EQ(world.fake.Log(), std::string(kReclaim) + kExecutions);
    queues.Settle();
  }
  world.kept.pools = 1;
  world.kept.lists = size_t{2} * kPairs;
}

LEVEL_ZERO_TEST(LevelZeroStream, CallsOfOneQueue) {
  Queues queues(&world);
  for (int i = 0; i < kPairs; ++i) {
    MustHandoff(queues.producer, queues.producer);
    EXPECT_EQ(world.fake.Log(), std::string(i == 0 ? kPoolOf32 : "") +
                                    "zeCommandListCreate,zeCommandListAppendBarrier,"
                                    "zeCommandListClose,zeCommandQueueExecuteCommandLists");
    EXPECT_EQ(world.ze.zeCommandQueueSynchronize(queues.first, UINT64_MAX), ZE_RESULT_SUCCESS);
    world.fake.Log();
  }
  for (int i = 0; i < 2 * kPairs; ++i) {
    MustHandoff(queues.producer, queues.producer);
    EXPECT_EQ(world.fake.Log(),
              "zeEventQueryStatus,zeEventHostReset,zeCommandQueueExecuteCommandLists");
    EXPECT_EQ(world.ze.zeCommandQueueSynchronize(queues.first, UINT64_MAX), ZE_RESULT_SUCCESS);
    world.fake.Log();
  }
  queues.producer.context = 0;
  Error error;
  EXPECT_EQ(Handoff(queues.producer, queues.producer, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("producer has no context")) << error.message;
  world.kept.pools = 1;
  world.kept.lists = kPairs;
}

// A closed list with one copy that waits for `gate`, or for nothing.
ze_command_list_handle_t MakeCopy(const World& world, ze_context_handle_t context,
                                  unsigned char* to, const unsigned char* from,
                                  ze_event_handle_t gate) {
  const ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
  ze_command_list_handle_t made = nullptr;
  EXPECT_EQ(world.ze.zeCommandListCreate(context, world.devices[0], &desc, &made),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeCommandListAppendMemoryCopy(made, to, from, 1, nullptr,
                                                   gate != nullptr ? 1 : 0, &gate),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeCommandListClose(made), ZE_RESULT_SUCCESS);
  return made;
}

// Lists that one queue executes run the newest command first, unless a barrier is between.
LEVEL_ZERO_TEST(LevelZeroStream, OrdersOneQueue) {
  const Queues queues(&world);
  unsigned char* a = world.AllocDevice(queues.context, world.devices[0]);
  unsigned char* b = world.AllocDevice(queues.context, world.devices[0]);
  unsigned char* c = world.AllocDevice(queues.context, world.devices[0]);
  a[0] = 42;
  ze_event_handle_t gate = world.MakeEvent(queues.context);
  const dlbridge_test::Loader& ze = world.ze;
  ze_command_list_handle_t first = MakeCopy(world, queues.context, b, a, gate);
  ze_command_list_handle_t second = MakeCopy(world, queues.context, c, b, nullptr);
  EXPECT_EQ(ze.zeCommandQueueExecuteCommandLists(queues.first, 1, &first, nullptr),
            ZE_RESULT_SUCCESS);
  MustHandoff(queues.producer, queues.producer);
  EXPECT_EQ(ze.zeCommandQueueExecuteCommandLists(queues.first, 1, &second, nullptr),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(ze.zeEventHostSignal(gate), ZE_RESULT_SUCCESS);
  EXPECT_EQ(ze.zeCommandQueueSynchronize(queues.first, UINT64_MAX), ZE_RESULT_SUCCESS);
  EXPECT_EQ(c[0], 42);
  EXPECT_EQ(ze.zeCommandListDestroy(first), ZE_RESULT_SUCCESS);
  EXPECT_EQ(ze.zeCommandListDestroy(second), ZE_RESULT_SUCCESS);
  world.kept.pools = 1;
  world.kept.lists = 1;
}

// In the reverse direction each list belongs to the other device.
LEVEL_ZERO_TEST(LevelZeroStream, ListsOfOtherDevices) {
  const Queues queues(&world);
  for (int i = 0; i < kPairs; ++i) {
    MustHandoff(queues.producer, queues.consumer);
  }
  queues.Settle();
  MustHandoff(queues.consumer, queues.producer);
  EXPECT_EQ(world.fake.Log(),
            std::string(kReclaim) +
                "zeCommandListDestroy,zeCommandListCreate,zeCommandListAppendBarrier,"
                "zeCommandListClose,zeCommandListDestroy,zeCommandListCreate,"
                "zeCommandListAppendBarrier,zeCommandListClose," +
                kExecutions);
  EXPECT_EQ(world.ze.zeCommandQueueSynchronize(queues.first, UINT64_MAX), ZE_RESULT_SUCCESS);
  world.kept.pools = 1;
  world.kept.lists = size_t{2} * kPairs;
}

LEVEL_ZERO_TEST(LevelZeroStream, SynchronizesQueue) {
  const Queues queues(&world);
  MustSynchronize(queues.producer);
  EXPECT_EQ(world.fake.Log(), "zeCommandQueueSynchronize");
  world.fake.fake_ze_fail("zeCommandQueueSynchronize", kDeviceLost, 1);
  Error error;
  EXPECT_EQ(dlbridge_stream_synchronize(&queues.producer, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("zeCommandQueueSynchronize failed with")) << error.message;
}

LEVEL_ZERO_TEST(LevelZeroStream, QueueAndList) {
  const Queues queues(&world);
  ze_command_list_handle_t list = world.MakeImmediate(queues.context, world.devices[0]);
  const DLBridgeStream stream = dlbridge_stream_level_zero(list, queues.context, OneApi(0));
  world.fake.Log();
  MustHandoff(queues.producer, stream);
  EXPECT_EQ(world.fake.Log(), std::string(kPoolOf32) +
                                  "zeCommandListCreate,zeCommandListAppendBarrier,"
                                  "zeCommandListClose,zeCommandQueueExecuteCommandLists,"
                                  "zeCommandListAppendBarrier");
  MustSynchronize(stream);
  world.kept.pools = 1;
  world.kept.lists = 1;
}

// A queue of the copy group takes lists of that group, which newer loaders report.
TEST(LevelZeroStream, OrdinalByNewerLoader) {
  EXPECT_TRUE(InNextWorld({}, [](World& world) {
    const Queues queues(&world, 1);
    MustHandoff(queues.producer, queues.consumer);
    EXPECT_EQ(world.ze.zeCommandQueueSynchronize(queues.second, UINT64_MAX), ZE_RESULT_SUCCESS);
    world.kept.pools = 1;
    world.kept.lists = 2;
  }));
  EXPECT_TRUE(InNextWorld({{"FAKE_ZE_LOADER_LACKS", "zeCommandQueueGetOrdinal"}}, [](World& world) {
    const Queues queues(&world);
    MustHandoff(queues.producer, queues.consumer);
    queues.Settle();
    world.kept.pools = 1;
    world.kept.lists = 2;
  }));
}

LEVEL_ZERO_TEST(LevelZeroStream, QueueOfUnknownDevice) {
  Queues queues(&world);
  queues.consumer.device = OneApi(17);
  Error error;
  EXPECT_EQ(Handoff(queues.producer, queues.consumer, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("consumer has a device")) << error.message;
  queues.consumer.device = Device(kDLCPU);
  EXPECT_EQ(Handoff(queues.producer, queues.consumer, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  // Registered under that id, the device is known.
  world.Register(17, 1, queues.context);
  queues.consumer.device = OneApi(17);
  MustHandoff(queues.producer, queues.consumer);
  EXPECT_EQ(world.ze.zeCommandQueueSynchronize(queues.second, UINT64_MAX), ZE_RESULT_SUCCESS);
  world.kept.pools = 2;  // one from before the registration
  world.kept.lists = 4;  // including the producer's lists of the rejected handoffs
}

// Each driver call of an operation fails in turn; started work is undone, and the next handoff
// succeeds.
template <class Operation>
void FailInTurn(const World& world, Operation operation) {
  for (uint32_t n = 1;; ++n) {
    world.fake.Log();
    world.fake.fake_ze_fail(nullptr, kDeviceLost, n);
    Error error;
    const DLBridgeStatus status = operation(&error);
    world.fake.fake_ze_fail(nullptr, 0, 0);
    EXPECT_EQ(world.fake.Violation(), "") << n;
    if (status == DLBRIDGE_OK) {
      ASSERT_GT(n, 1U);
      return;
    }
    EXPECT_EQ(status, DLBRIDGE_ERROR_DRIVER) << error.message;
    EXPECT_TRUE(error.Says("ZE_RESULT_ERROR_DEVICE_LOST")) << error.message;
    ASSERT_LT(n, 100U);
  }
}

LEVEL_ZERO_TEST(LevelZeroStream, EachCallOfListsFails) {
  const Lists lists(&world);
  FailInTurn(world, [&](DLBridgeError* error) {
    return Handoff(lists.producer, lists.consumer, 0, error);
  });
  lists.Settle();
  for (int i = 1; i < kPairs; ++i) {
    MustHandoff(lists.producer, lists.consumer);
  }
  lists.Settle();
  FailInTurn(world, [&](DLBridgeError* error) {
    return Handoff(lists.producer, lists.consumer, 0, error);
  });
  lists.Settle();
  FailInTurn(world, [&](DLBridgeError* error) {
    return dlbridge_stream_synchronize(&lists.producer, error);
  });
  lists.Settle();
  world.kept.pools = 1;
}

LEVEL_ZERO_TEST(LevelZeroStream, EachCallOfQueuesFails) {
  const Queues queues(&world);
  FailInTurn(world, [&](DLBridgeError* error) {
    return Handoff(queues.producer, queues.consumer, 0, error);
  });
  queues.Settle();
  for (int i = 1; i < kPairs; ++i) {
    MustHandoff(queues.producer, queues.consumer);
  }
  queues.Settle();
  FailInTurn(world, [&](DLBridgeError* error) {
    return Handoff(queues.consumer, queues.producer, 0, error);
  });
  EXPECT_EQ(world.ze.zeCommandQueueSynchronize(queues.first, UINT64_MAX), ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeCommandQueueSynchronize(queues.second, UINT64_MAX), ZE_RESULT_SUCCESS);
  FailInTurn(world, [&](DLBridgeError* error) {
    return Handoff(queues.producer, queues.producer, 0, error);
  });
  EXPECT_EQ(world.ze.zeCommandQueueSynchronize(queues.first, UINT64_MAX), ZE_RESULT_SUCCESS);
  world.kept.pools = 1;
  world.kept.lists = world.fake.fake_ze_live("list");
  EXPECT_LE(world.kept.lists, 2U * kPairs);
}

// Threads with their own lists share the pool.
LEVEL_ZERO_TEST(LevelZeroStream, Threads) {
  const Lists lists(&world);
  std::vector<std::thread> threads;
  std::vector<DLBridgeStream> ends;
  ends.reserve(8);
  for (int i = 0; i < 8; ++i) {
    ends.push_back(dlbridge_stream_level_zero(
        world.MakeImmediate(lists.context, world.devices[i % 2]), lists.context, OneApi(0)));
  }
  for (size_t i = 0; i < ends.size(); i += 2) {
    threads.emplace_back([&ends, i] {
      for (int n = 0; n < 200; ++n) {
        MustHandoff(ends[i], ends[i + 1]);
        MustSynchronize(ends[i + 1]);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  world.kept.pools = world.fake.fake_ze_live("pool");
  EXPECT_LE(world.kept.pools, 4U);
}

}  // namespace
