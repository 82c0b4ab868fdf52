// SPDX-License-Identifier: Apache-2.0
// Tests of the fake Level Zero driver itself: every rule is violated once.
#include <sys/mman.h>

#include <thread>

#include "device/level_zero_world.h"

namespace {

using dlbridge_test::World;

// The call failed, and this rule is the only one that was violated.
void Broken(const World& world, ze_result_t result, const char* rule) {
  EXPECT_NE(result, ZE_RESULT_SUCCESS) << rule;
  EXPECT_EQ(world.fake.Violation(), rule);
}

ze_context_handle_t AsContext(const void* handle) {
  return static_cast<ze_context_handle_t>(const_cast<void*>(handle));
}

LEVEL_ZERO_TEST(LevelZeroFake, Handles) {
  ze_context_handle_t context = world.MakeContext();
  ze_event_handle_t event = world.MakeEvent(context);
  int other = 0;
  Broken(world, world.ze.zeContextDestroy(nullptr), "zeContextDestroy: hContext is NULL");
  Broken(world, world.ze.zeContextDestroy(AsContext(&other)),
         "zeContextDestroy: hContext is no handle of this driver");
  Broken(world, world.ze.zeContextDestroy(AsContext(event)),
         "zeContextDestroy: hContext is a event, not a context");
  ze_command_list_handle_t list = world.MakeImmediate(context, world.devices[0]);
  ze_command_list_handle_t dead = nullptr;
  const ze_command_queue_desc_t desc = World::QueueDesc(0);
  world.ze.zeCommandListCreateImmediate(context, world.devices[0], &desc, &dead);
  EXPECT_EQ(world.ze.zeCommandListDestroy(dead), ZE_RESULT_SUCCESS);
  Broken(world, world.ze.zeCommandListDestroy(dead),
         "zeCommandListDestroy: hCommandList is a list that was destroyed");
  Broken(world, world.ze.zeContextDestroy(context),
         "zeContextDestroy: hContext still has queues or lists");
  Broken(world, world.ze.zeCommandListAppendBarrier(list, nullptr, 1, nullptr),
         "zeCommandListAppendBarrier: phWaitEvents is NULL");
  EXPECT_EQ(world.fake.fake_ze_live("driver"), 2U);
}

LEVEL_ZERO_TEST(LevelZeroFake, Peers) {
  ze_bool_t value = 0;
  const auto ask = [&](ze_device_handle_t device, ze_device_handle_t peer) {
    value = 2;
    return world.ze.zeDeviceCanAccessPeer(device, peer, &value);
  };
  Broken(world, ask(world.devices[0], world.devices[2]),
         "zeDeviceCanAccessPeer: hPeerDevice is of another driver");
  Broken(world, world.ze.zeDeviceCanAccessPeer(world.devices[0], world.devices[1], nullptr),
         "zeDeviceCanAccessPeer: value is NULL");
  const auto is = [&](ze_device_handle_t device, ze_device_handle_t peer) {
    EXPECT_EQ(ask(device, peer), ZE_RESULT_SUCCESS);
    return value;
  };
  EXPECT_EQ(is(world.devices[0], world.devices[0]), 1);
  EXPECT_EQ(is(world.devices[0], world.devices[1]), 0);
  EXPECT_EQ(is(world.parts[0][0], world.parts[0][1]), 1);
  EXPECT_EQ(is(world.parts[0][0], world.devices[0]), 0);
}

// Work that has not run is lost, and only contexts can be destroyed.
LEVEL_ZERO_TEST(LevelZeroFake, LostDevice) {
  const ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ze_context_handle_t context = nullptr;
  EXPECT_EQ(world.ze.zeContextCreate(world.drivers[0], &desc, &context), ZE_RESULT_SUCCESS);
  const ze_command_queue_desc_t queue = World::QueueDesc(0);
  ze_command_list_handle_t list = nullptr;
  EXPECT_EQ(world.ze.zeCommandListCreateImmediate(context, world.devices[0], &queue, &list),
            ZE_RESULT_SUCCESS);
  ze_context_handle_t other = world.MakeContext();
  ze_event_handle_t event = world.MakeEvent(other);
  std::thread waiter([&] {
    EXPECT_EQ(world.ze.zeEventHostSynchronize(event, UINT64_MAX), ZE_RESULT_ERROR_DEVICE_LOST);
  });
  world.fake.fake_ze_lose(1);
  waiter.join();
  EXPECT_EQ(world.ze.zeEventQueryStatus(event), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_EQ(world.ze.zeCommandListDestroy(list), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_EQ(world.ze.zeContextDestroy(context), ZE_RESULT_SUCCESS);
  world.fake.fake_ze_lose(0);
}

LEVEL_ZERO_TEST(LevelZeroFake, EventsOfADestroyedContext) {
  const ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ze_context_handle_t context = nullptr;
  EXPECT_EQ(world.ze.zeContextCreate(world.drivers[0], &desc, &context), ZE_RESULT_SUCCESS);
  const ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, 0, 1};
  ze_event_pool_handle_t pool = nullptr;
  EXPECT_EQ(world.ze.zeEventPoolCreate(context, &pool_desc, 0, nullptr, &pool), ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeContextDestroy(context), ZE_RESULT_SUCCESS);
  Broken(world, world.ze.zeEventPoolDestroy(pool),
         "zeEventPoolDestroy: hEventPool is a pool that was destroyed");
}

LEVEL_ZERO_TEST(LevelZeroFake, Structs) {
  ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0};
  ze_context_handle_t made = nullptr;
  Broken(world, world.ze.zeContextCreate(world.drivers[0], &desc, &made),
         "zeContextCreate: desc has another stype");
  desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, &made, 0};
  Broken(world, world.ze.zeContextCreate(world.drivers[0], &desc, &made),
         "zeContextCreate: desc has a pNext");
  desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 8};
  Broken(world, world.ze.zeContextCreate(world.drivers[0], &desc, &made),
         "zeContextCreate: desc->flags has an unknown bit");
  Broken(world, world.ze.zeContextCreate(world.drivers[0], nullptr, &made),
         "zeContextCreate: desc is NULL");
  desc.flags = 0;
  Broken(world, world.ze.zeContextCreate(world.drivers[0], &desc, nullptr),
         "zeContextCreate: phContext is NULL");
  ze_device_properties_t properties = {};
  Broken(world, world.ze.zeDeviceGetProperties(world.devices[0], &properties),
         "zeDeviceGetProperties: pDeviceProperties has another stype");
  Broken(world, world.ze.zeDriverGet(nullptr, nullptr), "zeDriverGet: pCount is NULL");
  uint32_t count = 2;
  Broken(world, world.ze.zeDriverGet(&count, nullptr), "zeDriverGet: the array of handles is NULL");
}

LEVEL_ZERO_TEST(LevelZeroFake, Memory) {
  ze_context_handle_t context = world.MakeContext();
  ze_context_handle_t other = world.MakeContext();
  unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  const ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
  void* made = nullptr;
  const auto alloc = [&](size_t size, size_t alignment, ze_device_handle_t device) {
    return world.ze.zeMemAllocDevice(context, &desc, size, alignment, device, &made);
  };
  Broken(world, alloc(0, 0, world.devices[0]), "zeMemAllocDevice: size is 0");
  Broken(world, alloc(1, 3, world.devices[0]),
         "zeMemAllocDevice: alignment is no power of two up to a page");
  Broken(world, alloc(1, 0, world.devices[2]), "zeMemAllocDevice: hDevice is of another driver");
  Broken(world, world.ze.zeContextDestroy(context), "zeContextDestroy: hContext still has memory");
  Broken(world, world.ze.zeMemFree(context, memory + 1),
         "zeMemFree: ptr is not the start of an allocation");
  Broken(world, world.ze.zeMemFree(other, memory), "zeMemFree: ptr is memory of another context");
  ze_memory_allocation_properties_t properties = {};
  properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  Broken(world, world.ze.zeMemGetAllocProperties(context, nullptr, &properties, nullptr),
         "zeMemGetAllocProperties: ptr is NULL");
  properties.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  Broken(world, world.ze.zeMemGetAllocProperties(context, memory, &properties, nullptr),
         "zeMemGetAllocProperties: pMemAllocProperties has another stype");
  Broken(world, world.ze.zeMemGetAddressRange(context, nullptr, nullptr, nullptr),
         "zeMemGetAddressRange: ptr is NULL");
}

LEVEL_ZERO_TEST(LevelZeroFake, Ipc) {
  ze_context_handle_t context = world.MakeContext();
  unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  unsigned char* shared = world.AllocShared(context, world.devices[0]);
  ze_ipc_mem_handle_t handle = {};
  Broken(world, world.ze.zeMemGetIpcHandle(context, memory + 8, &handle),
         "zeMemGetIpcHandle: ptr is not the start of an allocation");
  Broken(world, world.ze.zeMemGetIpcHandle(context, shared, &handle),
         "zeMemGetIpcHandle: ptr is no device memory");
  Broken(world, world.ze.zeMemGetIpcHandle(world.MakeContext(), memory, &handle),
         "zeMemGetIpcHandle: ptr is memory of another context");
  EXPECT_EQ(world.ze.zeMemGetIpcHandle(context, memory, &handle), ZE_RESULT_SUCCESS);
  void* opened = nullptr;
  Broken(world, world.ze.zeMemOpenIpcHandle(context, world.devices[0], handle, 4, &opened),
         "zeMemOpenIpcHandle: flags has an unknown bit");
  EXPECT_EQ(world.ze.zeMemOpenIpcHandle(context, world.devices[0], handle, 0, &opened),
            ZE_RESULT_SUCCESS);
  Broken(world, world.ze.zeMemFree(context, opened), "zeMemFree: ptr was opened, not allocated");
  EXPECT_EQ(world.ze.zeMemCloseIpcHandle(context, opened), ZE_RESULT_SUCCESS);
  Broken(world, world.ze.zeMemCloseIpcHandle(context, memory),
         "zeMemCloseIpcHandle: ptr was allocated, not opened");
  EXPECT_EQ(world.fake.fake_ze_put_ipc(context, handle), ZE_RESULT_SUCCESS);
  Broken(world, world.fake.fake_ze_put_ipc(context, handle),
         "zeMemPutIpcHandle: handle is none that was got and not put");
}

LEVEL_ZERO_TEST(LevelZeroFake, Queues) {
  ze_context_handle_t context = world.MakeContext();
  ze_context_handle_t other = world.MakeContext();
  ze_command_queue_handle_t queue = world.MakeQueue(context, world.devices[0]);
  ze_command_queue_handle_t made = nullptr;
  ze_command_queue_desc_t desc = World::QueueDesc(2);
  Broken(world, world.ze.zeCommandQueueCreate(context, world.devices[0], &desc, &made),
         "zeCommandQueueCreate: desc has an ordinal that hDevice has no group of");
  desc = World::QueueDesc(0);
  Broken(world, world.ze.zeCommandQueueCreate(context, world.devices[2], &desc, &made),
         "zeCommandQueueCreate: hDevice is of another driver");
  desc.flags = 2;  // in order, since spec 1.7
  Broken(world, world.ze.zeCommandQueueCreate(context, world.devices[0], &desc, &made),
         "zeCommandQueueCreate: desc->flags has a bit that spec 1.4 does not know");
  desc = World::QueueDesc(0);
  desc.mode = ZE_COMMAND_QUEUE_MODE_FORCE_UINT32;
  Broken(world, world.ze.zeCommandQueueCreate(context, world.devices[0], &desc, &made),
         "zeCommandQueueCreate: desc->mode is none");
  const auto executed = [&](ze_context_handle_t of, ze_device_handle_t device, uint32_t ordinal,
                            bool close) {
    const ze_command_list_desc_t list_desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, ordinal,
                                              0};
    ze_command_list_handle_t list = nullptr;
    EXPECT_EQ(world.ze.zeCommandListCreate(of, device, &list_desc, &list), ZE_RESULT_SUCCESS);
    if (close) {
      EXPECT_EQ(world.ze.zeCommandListClose(list), ZE_RESULT_SUCCESS);
    }
    const ze_result_t result = world.ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr);
    EXPECT_EQ(world.ze.zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    return result;
  };
  const std::string begin = "zeCommandQueueExecuteCommandLists: phCommandLists has ";
  Broken(world, executed(context, world.devices[0], 0, false),
         (begin + "a list that is not closed").c_str());
  Broken(world, executed(context, world.devices[0], 1, true),
         (begin + "a list of another group").c_str());
  Broken(world, executed(other, world.devices[0], 0, true),
         (begin + "a list of another context").c_str());
  Broken(world, executed(context, world.devices[1], 0, true),
         (begin + "a list of another device").c_str());
  ze_command_list_handle_t immediate = world.MakeImmediate(context, world.devices[0]);
  Broken(world, world.ze.zeCommandQueueExecuteCommandLists(queue, 2, &immediate, nullptr),
         "zeCommandQueueExecuteCommandLists: numCommandLists is not 1, which this driver was not "
         "asked for");
  auto* fence = reinterpret_cast<ze_fence_handle_t>(queue);
  Broken(world, world.ze.zeCommandQueueExecuteCommandLists(queue, 1, &immediate, fence),
         "zeCommandQueueExecuteCommandLists: hFence is given, which this driver was not asked for");
  Broken(world, world.ze.zeCommandQueueExecuteCommandLists(queue, 1, &immediate, nullptr),
         (begin + "an immediate list").c_str());
}

// A list with one barrier that waits for an event signalled by the host.
struct Gated {
  explicit Gated(World* the_world)
      : world(*the_world),
        context(world.MakeContext()),
        gate(world.MakeEvent(context)),
        event(world.MakeEvent(context)),
        list(world.MakeImmediate(context, world.devices[0])),
        queue(world.MakeQueue(context, world.devices[0])) {
    const ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
    EXPECT_EQ(world.ze.zeCommandListCreate(context, world.devices[0], &desc, &closed),
              ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.ze.zeCommandListAppendBarrier(closed, event, 1, &gate), ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.ze.zeCommandListClose(closed), ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.ze.zeCommandQueueExecuteCommandLists(queue, 1, &closed, nullptr),
              ZE_RESULT_SUCCESS);
  }
  ~Gated() {
    EXPECT_EQ(world.ze.zeEventHostSignal(gate), ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.ze.zeCommandQueueSynchronize(queue, UINT64_MAX), ZE_RESULT_SUCCESS);
    EXPECT_EQ(world.ze.zeCommandListDestroy(closed), ZE_RESULT_SUCCESS);
  }
  Gated(const Gated&) = delete;
  Gated& operator=(const Gated&) = delete;

  World& world;
  ze_context_handle_t context;
  ze_event_handle_t gate;
  ze_event_handle_t event;
  ze_command_list_handle_t list;
  ze_command_queue_handle_t queue;
  ze_command_list_handle_t closed = nullptr;
};

LEVEL_ZERO_TEST(LevelZeroFake, InUse) {
  Gated gated(&world);
  EXPECT_EQ(world.ze.zeCommandQueueSynchronize(gated.queue, 0), ZE_RESULT_NOT_READY);
  EXPECT_EQ(world.ze.zeEventHostSynchronize(gated.event, 0), ZE_RESULT_NOT_READY);
  Broken(world, world.ze.zeCommandQueueExecuteCommandLists(gated.queue, 1, &gated.closed, nullptr),
         "zeCommandQueueExecuteCommandLists: phCommandLists has a list that is still being "
         "executed");
  Broken(world, world.ze.zeCommandListDestroy(gated.closed),
         "zeCommandListDestroy: hCommandList is still in use");
  Broken(world, world.ze.zeCommandQueueDestroy(gated.queue),
         "zeCommandQueueDestroy: hCommandQueue still has work");
  for (ze_event_handle_t event : {gated.gate, gated.event}) {
    Broken(world, world.ze.zeEventHostReset(event), "zeEventHostReset: hEvent is still in use");
    Broken(world, world.ze.zeEventDestroy(event), "zeEventDestroy: hEvent is still in use");
  }
  unsigned char* memory = world.AllocDevice(gated.context, world.devices[0]);
  EXPECT_EQ(world.ze.zeCommandListAppendMemoryCopy(gated.list, memory, memory + 8, 8, nullptr, 1,
                                                   &gated.gate),
            ZE_RESULT_SUCCESS);
  Broken(world, world.ze.zeMemFree(gated.context, memory), "zeMemFree: ptr is still being copied");
  Broken(world, world.ze.zeCommandListDestroy(gated.list),
         "zeCommandListDestroy: hCommandList is still in use");
}

LEVEL_ZERO_TEST(LevelZeroFake, OneShotEvents) {
  Gated gated(&world);
  Broken(world, world.ze.zeCommandListAppendBarrier(gated.list, gated.event, 0, nullptr),
         "zeCommandListAppendBarrier: hSignalEvent is signalled, or about to be, and was not "
         "reset");
  ze_event_handle_t event = world.MakeEvent(gated.context);
  EXPECT_EQ(world.ze.zeEventHostSignal(event), ZE_RESULT_SUCCESS);
  Broken(world, world.ze.zeEventHostSignal(event),
         "zeEventHostSignal: hEvent is signalled, or about to be, and was not reset");
  Broken(world, world.ze.zeCommandListAppendBarrier(gated.list, event, 0, nullptr),
         "zeCommandListAppendBarrier: hSignalEvent is signalled, or about to be, and was not "
         "reset");
  EXPECT_EQ(world.ze.zeEventHostReset(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeCommandListAppendBarrier(gated.list, event, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeEventHostSynchronize(event, UINT64_MAX), ZE_RESULT_SUCCESS);
}

LEVEL_ZERO_TEST(LevelZeroFake, Pools) {
  ze_context_handle_t context = world.MakeContext();
  ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, 0, 0};
  ze_event_pool_handle_t pool = nullptr;
  Broken(world, world.ze.zeEventPoolCreate(context, &desc, 0, nullptr, &pool),
         "zeEventPoolCreate: desc->count is 0");
  desc.count = 1;
  desc.flags = 16;
  Broken(world, world.ze.zeEventPoolCreate(context, &desc, 0, nullptr, &pool),
         "zeEventPoolCreate: desc->flags has a bit that spec 1.4 does not know");
  desc.flags = 0;
  Broken(world, world.ze.zeEventPoolCreate(context, &desc, 1, world.devices.data(), &pool),
         "zeEventPoolCreate: phDevices is given, which this driver was not asked for");
  EXPECT_EQ(world.ze.zeEventPoolCreate(context, &desc, 0, nullptr, &pool), ZE_RESULT_SUCCESS);
  ze_event_desc_t event_desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 1, 0, 0};
  ze_event_handle_t event = nullptr;
  ze_event_handle_t second = nullptr;
  Broken(world, world.ze.zeEventCreate(pool, &event_desc, &event),
         "zeEventCreate: desc->index is none of the pool, or taken");
  event_desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0, 8, 0};
  Broken(world, world.ze.zeEventCreate(pool, &event_desc, &event),
         "zeEventCreate: desc has an unknown scope");
  event_desc.signal = 0;
  EXPECT_EQ(world.ze.zeEventCreate(pool, &event_desc, &event), ZE_RESULT_SUCCESS);
  Broken(world, world.ze.zeEventCreate(pool, &event_desc, &second),
         "zeEventCreate: desc->index is none of the pool, or taken");
  Broken(world, world.ze.zeEventPoolDestroy(pool),
         "zeEventPoolDestroy: hEventPool still has events");
  const std::string hidden = ": hEvent is of a pool that is not visible to the host";
  Broken(world, world.ze.zeEventHostSignal(event), ("zeEventHostSignal" + hidden).c_str());
  Broken(world, world.ze.zeEventHostReset(event), ("zeEventHostReset" + hidden).c_str());
  Broken(world, world.ze.zeEventQueryStatus(event), ("zeEventQueryStatus" + hidden).c_str());
  Broken(world, world.ze.zeEventHostSynchronize(event, 0),
         ("zeEventHostSynchronize" + hidden).c_str());
  EXPECT_EQ(world.ze.zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
}

LEVEL_ZERO_TEST(LevelZeroFake, SignalScope) {
  ze_context_handle_t context = world.MakeContext();
  const ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr,
                                     ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
  ze_event_pool_handle_t pool = nullptr;
  EXPECT_EQ(world.ze.zeEventPoolCreate(context, &desc, 0, nullptr, &pool), ZE_RESULT_SUCCESS);
  const ze_event_desc_t event_desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0,
                                      ZE_EVENT_SCOPE_FLAG_DEVICE, ZE_EVENT_SCOPE_FLAG_HOST};
  ze_event_handle_t event = nullptr;
  EXPECT_EQ(world.ze.zeEventCreate(pool, &event_desc, &event), ZE_RESULT_SUCCESS);
  Broken(world, world.ze.zeEventQueryStatus(event),
         "zeEventQueryStatus: hEvent has a signal scope without the host");
  Broken(world, world.ze.zeEventHostSynchronize(event, 0),
         "zeEventHostSynchronize: hEvent has a signal scope without the host");
  EXPECT_EQ(world.ze.zeEventHostSignal(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.ze.zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
}

LEVEL_ZERO_TEST(LevelZeroFake, Lists) {
  Gated gated(&world);
  ze_context_handle_t other = world.MakeContext();
  ze_event_handle_t foreign = world.MakeEvent(other);
  Broken(world, world.ze.zeCommandListAppendBarrier(gated.list, foreign, 0, nullptr),
         "zeCommandListAppendBarrier: hSignalEvent is of another context than the list");
  ze_event_handle_t wait = foreign;
  Broken(world, world.ze.zeCommandListAppendBarrier(gated.list, nullptr, 1, &wait),
         "zeCommandListAppendBarrier: phWaitEvents is of another context than the list");
  Broken(world, world.ze.zeCommandListAppendBarrier(gated.closed, nullptr, 0, nullptr),
         "zeCommandListAppendBarrier: hCommandList is closed");
  Broken(world, world.ze.zeCommandListClose(gated.closed),
         "zeCommandListClose: hCommandList is closed already");
  Broken(world, world.ze.zeCommandListClose(gated.list),
         "zeCommandListClose: hCommandList is immediate, and never closed");
  Broken(world, world.fake.fake_ze_list_synchronize(gated.closed, 0),
         "zeCommandListHostSynchronize: hCommandList is not immediate");
}

LEVEL_ZERO_TEST(LevelZeroFake, TwoThreads) {
  ze_context_handle_t context = world.MakeContext();
  ze_command_list_handle_t list = world.MakeImmediate(context, world.devices[0]);
  world.fake.fake_ze_stall("zeCommandListAppendBarrier");
  std::thread first([&] {
    EXPECT_EQ(world.ze.zeCommandListAppendBarrier(list, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  });
  world.fake.fake_ze_await_stalled();
  Broken(world, world.ze.zeCommandListAppendBarrier(list, nullptr, 0, nullptr),
         "zeCommandListAppendBarrier: hCommandList is in use by another thread");
  world.fake.fake_ze_release_stalled();
  first.join();
  EXPECT_EQ(world.fake.fake_ze_list_synchronize(list, UINT64_MAX), ZE_RESULT_SUCCESS);
}

LEVEL_ZERO_TEST(LevelZeroFake, Copies) {
  ze_context_handle_t context = world.MakeContext();
  ze_context_handle_t other = world.MakeContext();
  ze_context_handle_t far = world.MakeContext(1);
  unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  unsigned char* foreign = world.AllocDevice(other, world.devices[0]);
  ze_command_list_handle_t list = world.MakeImmediate(context, world.devices[0]);
  const auto copy = [&](void* to, const void* from, size_t size) {
    return world.ze.zeCommandListAppendMemoryCopy(list, to, from, size, nullptr, 0, nullptr);
  };
  Broken(world, copy(nullptr, memory, 1), "zeCommandListAppendMemoryCopy: dstptr is NULL");
  Broken(world, copy(memory, nullptr, 1), "zeCommandListAppendMemoryCopy: srcptr is NULL");
  Broken(world, copy(memory + 4000, memory, 97),
         "zeCommandListAppendMemoryCopy: dstptr leaves its allocation");
  Broken(world, copy(memory, memory + 4000, 97),
         "zeCommandListAppendMemoryCopy: srcptr leaves its allocation");
  Broken(world, copy(memory, foreign, 1),
         "zeCommandListAppendMemoryCopy: srcptr is memory of another context");
  const auto copy_from = [&](ze_context_handle_t of, const void* from) {
    return world.ze.zeCommandListAppendMemoryCopyFromContext(list, memory, of, from, 1, nullptr, 0,
                                                             nullptr);
  };
  Broken(world, copy_from(other, memory),
         "zeCommandListAppendMemoryCopyFromContext: srcptr is memory of another context");
  Broken(world, copy_from(far, foreign),
         "zeCommandListAppendMemoryCopyFromContext: hContextSrc is of another driver");
}

LEVEL_ZERO_TEST(LevelZeroFake, Regions) {
  ze_context_handle_t context = world.MakeContext();
  unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  ze_command_list_handle_t list = world.MakeImmediate(context, world.devices[0]);
  const std::string begin = "zeCommandListAppendMemoryCopyRegion: ";
  const auto copy = [&](const ze_copy_region_t& to, uint32_t pitch, uint32_t slice,
                        const ze_copy_region_t& from) {
    return world.ze.zeCommandListAppendMemoryCopyRegion(
        list, memory, &to, pitch, slice, memory + 64, &from, pitch, slice, nullptr, 0, nullptr);
  };
  const ze_copy_region_t good = {0, 0, 0, 4, 2, 0};
  Broken(world, copy(good, 3, 0, good),
         (begin + "dstRegion has a pitch smaller than its rows").c_str());
  Broken(world, copy({0, 0, 0, 0, 2, 0}, 8, 0, good), (begin + "dstRegion is empty").c_str());
  Broken(world, copy({1, 0, 0, 4, 2, 0}, 8, 0, good),
         (begin + "dstRegion has an origin, which this driver was not asked for yet").c_str());
  Broken(world, copy({0, 0, 0, 4, 2, 2}, 8, 15, {0, 0, 0, 4, 2, 2}),
         (begin + "dstRegion has a slice pitch smaller than its slices").c_str());
  Broken(world, copy(good, 8, 0, {0, 0, 0, 4, 3, 0}),
         (begin + "dstRegion and srcRegion have different sizes").c_str());
  const ze_copy_region_t large = {0, 0, 0, 4, 1000, 0};
  Broken(world, copy(large, 8, 0, large), (begin + "dstptr leaves its allocation").c_str());
  const ze_copy_region_t nine = {0, 0, 0, 4, 9, 0};
  Broken(world, copy(nine, 8, 0, nine), (begin + "dstRegion and srcRegion overlap").c_str());
  // Rows of one region between the rows of the other.
  EXPECT_EQ(world.ze.zeCommandListAppendMemoryCopyRegion(list, memory, &nine, 8, 0, memory + 4,
                                                         &nine, 8, 0, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(world.fake.fake_ze_list_synchronize(list, UINT64_MAX), ZE_RESULT_SUCCESS);
}

TEST(LevelZeroFake, CalledBeforeInit) {
  EXPECT_TRUE(dlbridge_test::InChild([] {
    const dlbridge_test::Fake fake(FAKE_LEVEL_ZERO);
    EXPECT_EQ(fake.fake_ze_default_context(nullptr), nullptr);
    EXPECT_EQ(fake.Violation(), "zeDriverGetDefaultContext: was called before zeInit");
  }));
}

TEST(LevelZeroFake, UnknownInitFlag) {
  EXPECT_TRUE(dlbridge_test::InChild([] {
    dlbridge_test::SetEnvironment({});
    const dlbridge_test::Loader ze("libze_loader.so.1");
    const dlbridge_test::Fake fake(FAKE_LEVEL_ZERO);
    EXPECT_NE(ze.zeInit(16), ZE_RESULT_SUCCESS);
    EXPECT_EQ(fake.Violation(), "zeInit: flags has an unknown bit");
  }));
}

}  // namespace
