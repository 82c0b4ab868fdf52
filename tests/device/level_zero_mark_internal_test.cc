// SPDX-License-Identifier: Apache-2.0
// Marks of Level Zero queues and lists, and copies that end with a mark, through the interface of
// the backends.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "device/level_zero_world.h"
#include "native/backend.h"

namespace {

using dlbridge::CopyBox;
using dlbridge::CopyJob;
using dlbridge::CopySide;
using dlbridge::kLevelZeroBackend;
using dlbridge::StreamMark;
using dlbridge_test::Error;
using dlbridge_test::InNextWorld;
using dlbridge_test::kDeviceLost;
using dlbridge_test::OneApi;
using dlbridge_test::World;

constexpr size_t kPairs = 16;  // of a pool

void Start(World& world) {
  Error error;
  ASSERT_EQ(dlbridge::StartBackend(kLevelZeroBackend, &error), DLBRIDGE_OK) << error.message;
  world.fake.Log();
}

StreamMark MustMark(const DLBridgeStream& stream) {
  StreamMark mark = {};
  Error error;
  EXPECT_EQ(kLevelZeroBackend.mark(stream, "stream", &mark, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(mark.backend, DLBRIDGE_BACKEND_LEVEL_ZERO);
  return mark;
}

bool IsOver(const StreamMark& mark) {
  bool over = false;
  Error error;
  EXPECT_EQ(kLevelZeroBackend.mark_query(mark, &over, &error), DLBRIDGE_OK) << error.message;
  return over;
}

void MustWait(const StreamMark& mark) {
  Error error;
  EXPECT_EQ(kLevelZeroBackend.mark_wait(mark, &error), DLBRIDGE_OK) << error.message;
}

void Free(const StreamMark& mark) { kLevelZeroBackend.mark_free(mark); }

// An event that the test destroys, before its context.
struct Gate {
  Gate(const World& world, ze_context_handle_t context) : ze(&world.ze) {
    const ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr,
                                            ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    const ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0, 0, 0};
    EXPECT_EQ(ze->zeEventPoolCreate(context, &pool_desc, 0, nullptr, &pool), ZE_RESULT_SUCCESS);
    EXPECT_EQ(ze->zeEventCreate(pool, &desc, &event), ZE_RESULT_SUCCESS);
  }
  void Destroy() const {
    EXPECT_EQ(ze->zeEventDestroy(event), ZE_RESULT_SUCCESS);
    EXPECT_EQ(ze->zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
  }
  void Open() const { EXPECT_EQ(ze->zeEventHostSignal(event), ZE_RESULT_SUCCESS); }

  const dlbridge_test::Loader* ze;
  ze_event_pool_handle_t pool = nullptr;
  ze_event_handle_t event = nullptr;
};

// One context with an immediate list and a queue on one device, and memory.
struct Ends {
  explicit Ends(World* the_world)
      : world(*the_world),
        context(world.MakeContext()),
        list(world.MakeImmediate(context, world.devices[0])),
        queue(world.MakeQueue(context, world.devices[0])),
        on_list(dlbridge_stream_level_zero(list, context, OneApi(0))),
        on_queue(dlbridge_stream_level_zero_queue(queue, context, OneApi(0))),
        gate(world.MakeEvent(context)),
        from(world.AllocDevice(context, world.devices[0])),
        to(world.AllocDevice(context, world.devices[0])) {
    std::memset(from, 7, 4096);
    Start(world);
  }
  ~Ends() {
    for (ze_command_list_handle_t made : closed) {
      EXPECT_EQ(world.ze.zeCommandListDestroy(made), ZE_RESULT_SUCCESS);
    }
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  // Work that the gate holds back.
  void GateList() const {
    EXPECT_EQ(world.ze.zeCommandListAppendMemoryCopy(list, to, from, 4096, nullptr, 1,
                                                     const_cast<ze_event_handle_t*>(&gate)),
              ZE_RESULT_SUCCESS);
  }
  void GateQueue() {
    const ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
    ze_command_list_handle_t made = nullptr;
    EXPECT_EQ(world.ze.zeCommandListCreate(context, world.devices[0], &desc, &made),
              ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.ze.zeCommandListAppendMemoryCopy(made, to, from, 4096, nullptr, 1, &gate),
              ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.ze.zeCommandListClose(made), ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.ze.zeCommandQueueExecuteCommandLists(queue, 1, &made, nullptr),
              ZE_RESULT_SUCCESS);
    closed.push_back(made);
  }
  void Open() const { EXPECT_EQ(world.ze.zeEventHostSignal(gate), ZE_RESULT_SUCCESS); }
  void Shut() const { EXPECT_EQ(world.ze.zeEventHostReset(gate), ZE_RESULT_SUCCESS); }
  // Waits for all work, without calls of the library.
  void Settle() const {
    EXPECT_EQ(world.fake.fake_ze_list_synchronize(list, UINT64_MAX), ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.ze.zeCommandQueueSynchronize(queue, UINT64_MAX), ZE_RESULT_SUCCESS);
    world.fake.Log();
  }

  World& world;
  ze_context_handle_t context;
  ze_command_list_handle_t list;
  ze_command_queue_handle_t queue;
  DLBridgeStream on_list;
  DLBridgeStream on_queue;
  ze_event_handle_t gate;
  unsigned char* from;
  unsigned char* to;
  std::vector<ze_command_list_handle_t> closed;
};

// ------------------------------------------------------------------------------------------ marks

void ExpectMarked(const Ends& ends, const DLBridgeStream& stream) {
  const StreamMark mark = MustMark(stream);
  EXPECT_FALSE(IsOver(mark));
  EXPECT_EQ(ends.to[0], 0);
  ends.Open();
  MustWait(mark);
  EXPECT_EQ(ends.to[4095], 7);
  EXPECT_TRUE(IsOver(mark));
  Free(mark);
}

LEVEL_ZERO_TEST(LevelZeroMark, OfList) {
  const Ends ends(&world);
  ends.GateList();
  ExpectMarked(ends, ends.on_list);
  world.kept.pools = 1;
}

LEVEL_ZERO_TEST(LevelZeroMark, OfQueue) {
  Ends ends(&world);
  ends.GateQueue();
  ExpectMarked(ends, ends.on_queue);
  world.kept.pools = 1;
  world.kept.lists = 1;
}

LEVEL_ZERO_TEST(LevelZeroMark, Calls) {
  const Ends ends(&world);
  Free(MustMark(ends.on_list));
  ends.Settle();
  const StreamMark mark = MustMark(ends.on_list);
  EXPECT_EQ(world.fake.Log(), "zeCommandListAppendBarrier");
  MustWait(mark);
  EXPECT_EQ(world.fake.Log(), "zeEventHostSynchronize");
  EXPECT_TRUE(IsOver(mark));
  EXPECT_EQ(world.fake.Log(), "zeEventQueryStatus");
  Free(mark);
  EXPECT_EQ(world.fake.Log(), "zeEventQueryStatus,zeEventHostReset");
  const StreamMark queued = MustMark(ends.on_queue);
  EXPECT_EQ(world.fake.Log(),
            "zeCommandListCreate,zeCommandListAppendBarrier,zeCommandListClose,"
            "zeCommandQueueExecuteCommandLists");
  MustWait(queued);
  Free(queued);
  world.kept.pools = 1;
  world.kept.lists = 1;
}

LEVEL_ZERO_TEST(LevelZeroMark, Rejects) {
  const Ends ends(&world);
  DLBridgeStream without = ends.on_list;
  without.context = 0;
  StreamMark mark = {};
  Error error;
  EXPECT_EQ(kLevelZeroBackend.mark(without, "stream", &mark, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("stream has no context")) << error.message;
  DLBridgeStream far = ends.on_queue;
  far.device = OneApi(17);
  EXPECT_EQ(kLevelZeroBackend.mark(far, "stream", &mark, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("stream has a device that neither")) << error.message;
  world.kept.pools = 1;
}

// Each driver call fails in turn; nothing stays enqueued, and the next mark succeeds.
void FailMarks(const Ends& ends, const DLBridgeStream& stream) {
  for (uint32_t n = 1;; ++n) {
    ends.world.fake.fake_ze_fail(nullptr, kDeviceLost, n);
    StreamMark mark = {};
    Error error;
    const DLBridgeStatus status = kLevelZeroBackend.mark(stream, "stream", &mark, &error);
    ends.world.fake.fake_ze_fail(nullptr, 0, 0);
    EXPECT_EQ(ends.world.fake.Violation(), "") << n;
    if (status == DLBRIDGE_OK) {
      MustWait(mark);
      Free(mark);
      return;
    }
    EXPECT_EQ(status, DLBRIDGE_ERROR_DRIVER) << error.message;
    ASSERT_LT(n, 100U);
  }
}

LEVEL_ZERO_TEST(LevelZeroMark, EachCallFails) {
  const Ends ends(&world);
  FailMarks(ends, ends.on_list);
  FailMarks(ends, ends.on_queue);
  world.kept.pools = 1;
  world.kept.lists = world.fake.fake_ze_live("list") - 1;
  EXPECT_LE(world.kept.lists, kPairs);
}

LEVEL_ZERO_TEST(LevelZeroMark, FailingQueryAndWait) {
  const Ends ends(&world);
  const StreamMark mark = MustMark(ends.on_list);
  constexpr uint32_t kInvalid = ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
  bool over = true;
  Error error;
  world.fake.fake_ze_fail("zeEventQueryStatus", kInvalid, 1);
  EXPECT_EQ(kLevelZeroBackend.mark_query(mark, &over, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("zeEventQueryStatus")) << error.message;
  EXPECT_FALSE(over);
  world.fake.fake_ze_fail("zeEventHostSynchronize", kInvalid, 1);
  EXPECT_EQ(kLevelZeroBackend.mark_wait(mark, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("zeEventHostSynchronize")) << error.message;
  // A pair that could not be reset is reset by a later mark.
  MustWait(mark);
  world.fake.fake_ze_fail("zeEventHostReset", kInvalid, 1);
  Free(mark);
  for (size_t i = 0; i < 2 * kPairs; ++i) {
    const StreamMark next = MustMark(ends.on_list);
    MustWait(next);
    Free(next);
  }
  world.kept.pools = 1;
}

// Marks that are freed before their work is over: nothing that the device uses is reset, and later
// marks use their events again.
LEVEL_ZERO_TEST(LevelZeroMark, FreedEarly) {
  const Ends ends(&world);
  for (int round = 0; round < 20; ++round) {
    ends.GateList();
    for (size_t i = 0; i < 2 * kPairs; ++i) {
      const StreamMark mark = MustMark(ends.on_list);
      world.fake.Log();
      Free(mark);
      EXPECT_EQ(world.fake.Log(), "zeEventQueryStatus");
    }
    ends.Open();
    ends.Settle();
    ends.Shut();
    // The marks of one round fill two pools, beside the gate's; those of later rounds reuse them.
    ASSERT_EQ(world.fake.fake_ze_live("pool"), 3U) << round;
  }
  world.kept.pools = 2;
}

LEVEL_ZERO_TEST(LevelZeroMark, DeviceLost) {
  const Ends ends(&world);
  ends.GateList();
  const StreamMark mark = MustMark(ends.on_list);
  EXPECT_FALSE(IsOver(mark));
  std::thread waiter([&mark] { MustWait(mark); });
  world.fake.fake_ze_lose(1);
  waiter.join();
  EXPECT_TRUE(IsOver(mark));
  MustWait(mark);
  Free(mark);
  StreamMark next = {};
  Error error;
  EXPECT_EQ(kLevelZeroBackend.mark(ends.on_list, "stream", &next, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("ZE_RESULT_ERROR_DEVICE_LOST")) << error.message;
  world.fake.fake_ze_lose(0);
  world.kept.pools = 1;
}

// A context that the test destroys itself.
struct OwnContext {
  explicit OwnContext(const World& the_world) : world(the_world) {
    const ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    EXPECT_EQ(world.ze.zeContextCreate(world.drivers[0], &desc, &context), ZE_RESULT_SUCCESS);
    const ze_command_queue_desc_t queue = World::QueueDesc(0);
    EXPECT_EQ(world.ze.zeCommandListCreateImmediate(context, world.devices[0], &queue, &list),
              ZE_RESULT_SUCCESS);
  }
  DLBridgeStream Stream(int32_t id) const {
    return dlbridge_stream_level_zero(list, context, OneApi(id));
  }
  void Settle() const {
    EXPECT_EQ(world.fake.fake_ze_list_synchronize(list, UINT64_MAX), ZE_RESULT_SUCCESS);
  }
  void DestroyList() const { EXPECT_EQ(world.ze.zeCommandListDestroy(list), ZE_RESULT_SUCCESS); }

  const World& world;
  ze_context_handle_t context = nullptr;
  ze_command_list_handle_t list = nullptr;
};

void Unregister(uint64_t entry) {
  Error error;
  EXPECT_EQ(dlbridge_context_unregister(entry, &error), DLBRIDGE_OK) << error.message;
}

// The handles of a destroyed context are not used again.
void ExpectOverWhenGone(World& world, int32_t label) {
  Start(world);
  const OwnContext own(world);
  const uint64_t entry = world.Register(0, 0, own.context);
  const StreamMark first = MustMark(own.Stream(label));
  const StreamMark second = MustMark(own.Stream(label));
  own.Settle();
  own.DestroyList();
  Free(first);
  Unregister(entry);
  EXPECT_EQ(world.ze.zeContextDestroy(own.context), ZE_RESULT_SUCCESS);
  world.fake.Log();
  EXPECT_TRUE(IsOver(second));
  MustWait(second);
  Free(second);
  EXPECT_EQ(world.fake.Log(), "");
}

LEVEL_ZERO_TEST(LevelZeroMark, OfAContextThatIsGone) { ExpectOverWhenGone(world, 0); }

// The library's memory for the events of a context serves a later one, but not while a mark has it.
LEVEL_ZERO_TEST(LevelZeroMark, TheMemoryOfAContextThatIsGoneIsUsedAgain) {
  Start(world);
  uint64_t seen[4] = {};
  StreamMark kept = {};
  for (int i = 0; i < 4; ++i) {
    const OwnContext own(world);
    const uint64_t entry = world.Register(0, 0, own.context);
    const StreamMark mark = MustMark(own.Stream(0));
    seen[i] = mark.state[0];
    own.Settle();
    EXPECT_TRUE(IsOver(mark));
    own.DestroyList();
    if (i == 1) {
      kept = mark;
    } else {
      Free(mark);
    }
    Unregister(entry);
    EXPECT_EQ(world.ze.zeContextDestroy(own.context), ZE_RESULT_SUCCESS);
  }
  EXPECT_EQ(seen[1], seen[0]);
  EXPECT_NE(seen[2], seen[1]);
  EXPECT_EQ(seen[3], seen[2]);
  EXPECT_TRUE(IsOver(kept));
  Free(kept);
}

// The context is registered for another device than the stream's.
LEVEL_ZERO_TEST(LevelZeroMark, OfAContextOfSeveralDevicesThatIsGone) {
  ExpectOverWhenGone(world, 1);
}

// Contexts that the library enumerated are never destroyed: an application that registers one
// removes its enumerated entry.
TEST(LevelZeroMark, OfTheDefaultContext) {
  EXPECT_TRUE(InNextWorld({}, [](World& world) {
    Start(world);
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    EXPECT_EQ(dlbridge_context_find(OneApi(0), 0, &entry, nullptr), DLBRIDGE_OK);
    auto* context = reinterpret_cast<ze_context_handle_t>(static_cast<uintptr_t>(entry.context));
    const Gate gate(world, context);
    ze_command_list_handle_t list = world.MakeImmediate(context, world.devices[0]);
    ze_event_handle_t event = gate.event;
    EXPECT_EQ(world.ze.zeCommandListAppendBarrier(list, nullptr, 1, &event), ZE_RESULT_SUCCESS);
    const StreamMark mark = MustMark(dlbridge_stream_level_zero(list, context, OneApi(0)));
    world.Register(0, 0, context);
    EXPECT_FALSE(IsOver(mark));
    gate.Open();
    MustWait(mark);
    Free(mark);
    gate.Destroy();
    world.kept.contexts = 2;
    world.kept.pools = 1;
  }));
}

// A context that is destroyed by the release callback of its entry.
struct Owned {
  explicit Owned(World* the_world) : world(*the_world), own(world), gate(world, own.context) {
    Start(world);
    DLBridgeContextEntry made =
        dlbridge_context_entry_level_zero(0, world.driver_of[0], world.devices[0], own.context);
    made.release = Release;
    made.release_context = this;
    Error error;
    EXPECT_EQ(dlbridge_context_register(&made, &entry, &error), DLBRIDGE_OK) << error.message;
  }
  static void Release(void* owned, const DLBridgeContextEntry* /*entry*/) {
    auto* self = static_cast<Owned*>(owned);
    ++self->released;
    if (!self->lost) {
      self->own.DestroyList();
      self->gate.Destroy();
    }
    EXPECT_EQ(self->world.ze.zeContextDestroy(self->own.context), ZE_RESULT_SUCCESS);
  }
  StreamMark GatedMark() const {
    ze_event_handle_t event = gate.event;
    EXPECT_EQ(world.ze.zeCommandListAppendBarrier(own.list, nullptr, 1, &event), ZE_RESULT_SUCCESS);
    return MustMark(own.Stream(0));
  }
  void Finish() const {
    gate.Open();
    own.Settle();
  }

  World& world;
  OwnContext own;
  Gate gate;
  uint64_t entry = 0;
  int released = 0;
  bool lost = false;  // only the context may be destroyed
};

// The mark keeps the entry, so that its work can be queried until it is over.
LEVEL_ZERO_TEST(LevelZeroMark, KeepsAContextWithACallback) {
  Owned owned(&world);
  const StreamMark mark = owned.GatedMark();
  Unregister(owned.entry);
  EXPECT_FALSE(IsOver(mark));
  EXPECT_EQ(owned.released, 0);
  owned.Finish();
  MustWait(mark);
  EXPECT_TRUE(IsOver(mark));
  EXPECT_EQ(owned.released, 0);
  Free(mark);
  EXPECT_EQ(owned.released, 1);
}

// If the mark is freed earlier, its events keep the entry until a later call finds them signalled.
LEVEL_ZERO_TEST(LevelZeroMark, FreedEarlyKeepsAContextWithACallback) {
  Owned owned(&world);
  const StreamMark mark = owned.GatedMark();
  Unregister(owned.entry);
  Free(mark);
  EXPECT_EQ(owned.released, 0);
  const Ends ends(&world);
  const StreamMark before = MustMark(ends.on_list);
  EXPECT_EQ(owned.released, 0);
  owned.Finish();
  const StreamMark after = MustMark(ends.on_list);
  EXPECT_EQ(owned.released, 1);
  for (const StreamMark& other : {before, after}) {
    MustWait(other);
    Free(other);
  }
  world.kept.pools = 1;
}

LEVEL_ZERO_TEST(LevelZeroMark, LostDeviceReleasesAContextWithACallback) {
  Owned owned(&world);
  const Ends ends(&world);
  const StreamMark mark = owned.GatedMark();
  Unregister(owned.entry);
  Free(mark);
  owned.lost = true;
  world.fake.fake_ze_lose(1);
  StreamMark next = {};
  EXPECT_EQ(kLevelZeroBackend.mark(ends.on_list, "stream", &next, nullptr), DLBRIDGE_ERROR_DRIVER);
  EXPECT_EQ(owned.released, 1);
  world.fake.fake_ze_lose(0);
}

// A child has neither the parent's work nor its contexts.
LEVEL_ZERO_TEST(LevelZeroMark, FreedInAForkedChild) {
  Owned owned(&world);
  owned.gate.Open();
  const StreamMark mark = MustMark(owned.own.Stream(0));
  Unregister(owned.entry);
  MustWait(mark);
  world.fake.Log();
  const pid_t child = fork();
  if (child == 0) {
    Free(mark);
    _exit(owned.released == 0 && world.fake.Log().empty() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Free(mark);
  EXPECT_EQ(owned.released, 1);
}

LEVEL_ZERO_TEST(LevelZeroMark, Threads) {
  const Ends ends(&world);
  std::vector<DLBridgeStream> streams;
  streams.reserve(4);
  for (int i = 0; i < 4; ++i) {
    streams.push_back(dlbridge_stream_level_zero(
        world.MakeImmediate(ends.context, world.devices[0]), ends.context, OneApi(0)));
  }
  std::vector<std::thread> threads;
  threads.reserve(streams.size());
  for (const DLBridgeStream& stream : streams) {
    threads.emplace_back([&stream] {
      for (int n = 0; n < 200; ++n) {
        const StreamMark mark = MustMark(stream);
        if (n % 2 == 0) {
          MustWait(mark);
          EXPECT_TRUE(IsOver(mark));
        }
        Free(mark);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const DLBridgeStream& stream : streams) {
    EXPECT_EQ(dlbridge_stream_synchronize(&stream, nullptr), DLBRIDGE_OK);
  }
  world.kept.pools = world.fake.fake_ze_live("pool") - 1;
  EXPECT_LE(world.kept.pools, 64U);
}

// ----------------------------------------------------------------------------------------- copies

CopySide Side(const void* address, ze_context_handle_t context) {
  return {false, OneApi(0), dlbridge_buffer_level_zero(address, context)};
}

CopyJob Job(const Ends& ends, const DLBridgeStream& stream) {
  CopyJob job = {};
  job.from = Side(ends.from, ends.context);
  job.to = Side(ends.to, ends.context);
  job.stream = stream;
  return job;
}

// Begins a copy of two runs, and submits it if nothing failed.
DLBridgeStatus Submit(CopyJob job, StreamMark* out, DLBridgeError* error) {
  DLBridgeStatus status = kLevelZeroBackend.copy_begin(&job, error);
  if (status != DLBRIDGE_OK) {
    return status;
  }
  for (const uint64_t at : {0, 200}) {
    const CopyBox box = {100, 1, 1, at, 100, 100, at, 100, 100};
    status = status == DLBRIDGE_OK ? kLevelZeroBackend.copy_box(&job, box, error) : status;
  }
  if (status != DLBRIDGE_OK) {
    kLevelZeroBackend.copy_finish(&job, nullptr);
    return status;
  }
  return kLevelZeroBackend.copy_submit(&job, out, error);
}

StreamMark MustSubmit(const Ends& ends, const DLBridgeStream& stream) {
  StreamMark mark = {};
  Error error;
  EXPECT_EQ(Submit(Job(ends, stream), &mark, &error), DLBRIDGE_OK) << error.message;
  return mark;
}

void ExpectWhole(const Ends& ends) {
  EXPECT_EQ(ends.to[0], 7);
  EXPECT_EQ(ends.to[99], 7);
  EXPECT_EQ(ends.to[100], 0);
  EXPECT_EQ(ends.to[299], 7);
}

// The copy waits for earlier work of its stream, the host does not, and the mark covers the copy.
void ExpectSubmitted(const Ends& ends, const DLBridgeStream& stream) {
  World& world = ends.world;
  world.fake.Log();
  const StreamMark mark = MustSubmit(ends, stream);
  const std::string log = world.fake.Log();
  EXPECT_EQ(log.find("Synchronize"), std::string::npos) << log;
  EXPECT_FALSE(IsOver(mark));
  EXPECT_EQ(ends.to[0], 0);
  ends.Open();
  MustWait(mark);
  ExpectWhole(ends);
  EXPECT_TRUE(IsOver(mark));
  world.fake.Log();
  Free(mark);
}

LEVEL_ZERO_TEST(LevelZeroSubmit, OnList) {
  const Ends ends(&world);
  ze_event_handle_t gate = ends.gate;
  EXPECT_EQ(world.ze.zeCommandListAppendBarrier(ends.list, nullptr, 1, &gate), ZE_RESULT_SUCCESS);
  ExpectSubmitted(ends, ends.on_list);
  EXPECT_EQ(world.fake.Log(), "zeEventQueryStatus,zeEventHostReset");
  world.kept.pools = 1;
}

// The list of the copy lives until the mark is freed.
LEVEL_ZERO_TEST(LevelZeroSubmit, OnQueue) {
  const Ends ends(&world);
  const ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
  ze_command_list_handle_t gated = nullptr;
  ze_event_handle_t gate = ends.gate;
  EXPECT_EQ(world.ze.zeCommandListCreate(ends.context, world.devices[0], &desc, &gated),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeCommandListAppendBarrier(gated, nullptr, 1, &gate), ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeCommandListClose(gated), ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeCommandQueueExecuteCommandLists(ends.queue, 1, &gated, nullptr),
            ZE_RESULT_SUCCESS);
  const size_t before = world.fake.fake_ze_live("list");
  ExpectSubmitted(ends, ends.on_queue);
  EXPECT_EQ(world.fake.Log(), "zeEventQueryStatus,zeCommandListDestroy,zeEventHostReset");
  EXPECT_EQ(world.fake.fake_ze_live("list"), before);
  EXPECT_EQ(world.ze.zeCommandListDestroy(gated), ZE_RESULT_SUCCESS);
  world.kept.pools = 1;
}

// The mark of a copy without bytes covers the earlier work.
LEVEL_ZERO_TEST(LevelZeroSubmit, Nothing) {
  Ends ends(&world);
  ends.GateList();
  ends.GateQueue();
  StreamMark marks[2] = {};
  for (int i = 0; i < 2; ++i) {
    CopyJob job = Job(ends, i == 0 ? ends.on_list : ends.on_queue);
    EXPECT_EQ(kLevelZeroBackend.copy_begin(&job, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(kLevelZeroBackend.copy_submit(&job, &marks[i], nullptr), DLBRIDGE_OK);
    EXPECT_FALSE(IsOver(marks[i]));
  }
  ends.Open();
  for (const StreamMark& mark : marks) {
    MustWait(mark);
    Free(mark);
  }
  world.kept.pools = 1;
}

// The lists of copies whose marks were freed early are destroyed by later calls.
LEVEL_ZERO_TEST(LevelZeroSubmit, FreedEarly) {
  Ends ends(&world);
  const size_t before = world.fake.fake_ze_live("list");
  for (int round = 0; round < 20; ++round) {
    ends.GateQueue();
    for (size_t i = 0; i < kPairs; ++i) {
      Free(MustSubmit(ends, ends.on_queue));
    }
    ends.Open();
    ends.Settle();
    ends.Shut();
  }
  // As many as pairs, not as rounds, beside the gated lists of the test.
  const size_t pools = world.fake.fake_ze_live("pool") - 1;
  EXPECT_LE(pools, 3U);
  EXPECT_LE(world.fake.fake_ze_live("list"), before + 20 + pools * kPairs);
  for (size_t i = 0; i < pools * kPairs; ++i) {
    const StreamMark mark = MustMark(ends.on_list);
    MustWait(mark);
    Free(mark);
  }
  EXPECT_EQ(world.fake.fake_ze_live("list"), before + 20);
  world.kept.pools = pools;
}

// After a failure the copy is not in progress: it did not start, or it was waited for.
template <class Prepare>
void FailInTurn(const Ends& ends, const DLBridgeStream& stream, Prepare prepare) {
  const World& world = ends.world;
  for (uint32_t n = 1;; ++n) {
    prepare();
    world.fake.fake_ze_fail(nullptr, kDeviceLost, n);
    StreamMark mark = {};
    Error error;
    const DLBridgeStatus status = Submit(Job(ends, stream), &mark, &error);
    world.fake.fake_ze_fail(nullptr, 0, 0);
    EXPECT_EQ(world.fake.Violation(), "") << n;
    if (status == DLBRIDGE_OK) {
      MustWait(mark);
      Free(mark);
      ASSERT_GT(n, 5U);
      return;
    }
    EXPECT_EQ(status, DLBRIDGE_ERROR_DRIVER) << error.message;
    EXPECT_TRUE(error.Says("ZE_RESULT_ERROR_DEVICE_LOST")) << error.message;
    const unsigned char first = ends.to[0];
    ends.Settle();
    EXPECT_EQ(ends.to[0], first) << n << ": the copy was still in progress";
    ASSERT_LT(n, 100U);
  }
}

// The list rejects the barrier that ends the copy: the call returns when the copies are done.
void ExpectFailureWaits(const Ends& ends, DLBridgeStatus (*end)(CopyJob*, DLBridgeError*)) {
  ze_event_handle_t gate = ends.gate;
  EXPECT_EQ(ends.world.ze.zeCommandListAppendBarrier(ends.list, nullptr, 1, &gate),
            ZE_RESULT_SUCCESS);
  CopyJob job = Job(ends, ends.on_list);
  EXPECT_EQ(kLevelZeroBackend.copy_begin(&job, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(kLevelZeroBackend.copy_box(&job, {300, 1, 1, 0, 300, 300, 0, 300, 300}, nullptr),
            DLBRIDGE_OK);
  ends.world.fake.fake_ze_fail("zeCommandListAppendBarrier", kDeviceLost, 1);
  std::atomic<bool> returned = {false};
  std::thread copier([&] {
    Error error;
    EXPECT_EQ(end(&job, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says("zeCommandListAppendBarrier")) << error.message;
    returned = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(returned);
  ends.Open();
  copier.join();
  EXPECT_EQ(ends.to[299], 7);
}

LEVEL_ZERO_TEST(LevelZeroSubmit, FailureOnListWaits) {
  const Ends ends(&world);
  ExpectFailureWaits(ends, [](CopyJob* job, DLBridgeError* error) {
    StreamMark mark = {};
    return kLevelZeroBackend.copy_submit(job, &mark, error);
  });
  world.kept.pools = 1;
}

LEVEL_ZERO_TEST(LevelZeroSubmit, FailureOfFinishOnListWaits) {
  const Ends ends(&world);
  ExpectFailureWaits(ends, [](CopyJob* job, DLBridgeError* error) {
    return kLevelZeroBackend.copy_finish(job, error);
  });
  world.kept.pools = 1;
}

LEVEL_ZERO_TEST(LevelZeroSubmit, EachCallOnListFails) {
  const Ends ends(&world);
  const auto prepare = [&ends] { std::memset(ends.to, 0, 4096); };
  FailInTurn(ends, ends.on_list, prepare);
  FailInTurn(ends, ends.on_list, prepare);
  world.kept.pools = 1;
}

TEST(LevelZeroSubmit, EachCallOnListFailsWithNewerLoader) {
  EXPECT_TRUE(InNextWorld({}, [](World& world) {
    const Ends ends(&world);
    FailInTurn(ends, ends.on_list, [&ends] { std::memset(ends.to, 0, 4096); });
    world.kept.pools = 1;
  }));
}

LEVEL_ZERO_TEST(LevelZeroSubmit, EachCallOnQueueFails) {
  const Ends ends(&world);
  const auto prepare = [&ends] { std::memset(ends.to, 0, 4096); };
  FailInTurn(ends, ends.on_queue, prepare);
  FailInTurn(ends, ends.on_queue, prepare);
  world.kept.pools = 1;
}

}  // namespace
