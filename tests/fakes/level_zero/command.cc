// SPDX-License-Identifier: Apache-2.0
// Queues, lists, events and the worker of the fake driver. Commands that no barrier or event holds
// back run in any order; the fake runs the last one first.
#include "control.h"
#include "functions.h"
#include "world.h"

#include <algorithm>
#include <cstring>

namespace fake_ze {
namespace {

constexpr uint32_t kGroups = 2;  // one for compute and copies, one for copies only

bool IsSignalled(const std::vector<Event*>& waits) {
  return std::all_of(waits.begin(), waits.end(),
                     [](const Event* event) { return event->signalled; });
}

// A barrier without wait events waits for all commands before it, a barrier with them only for
// these.
bool MayRun(const Engine& engine, size_t index) {
  const Command& command = engine.pending[index];
  if (!IsSignalled(command.waits) || (command.barrier && command.waits.empty() && index != 0)) {
    return false;
  }
  return std::none_of(engine.pending.begin(),
                      engine.pending.begin() + static_cast<std::ptrdiff_t>(index),
                      [](const Command& before) { return before.barrier; });
}

// Removes a command that has run or never will.
Command Remove(Engine* engine, size_t index) {
  Command command = engine->pending[index];
  engine->pending.erase(engine->pending.begin() + static_cast<std::ptrdiff_t>(index));
  for (Event* event : command.waits) {
    --event->waits;
  }
  if (command.signal != nullptr) {
    --command.signal->signals;
  }
  if (command.of != nullptr) {
    --command.of->executing;
  }
  return command;
}

void RunOne(Engine* engine, size_t index) {
  const Command command = Remove(engine, index);
  for (const Run& run : command.runs) {
    std::memcpy(run.to, run.from, run.bytes);
  }
  if (command.signal != nullptr) {
    command.signal->signalled = true;
  }
}

bool RunAny() {
  for (Engine* engine : TheWorld().engines) {
    for (size_t i = engine->pending.size(); i-- > 0;) {
      if (MayRun(*engine, i)) {
        RunOne(engine, i);
        return true;
      }
    }
  }
  return false;
}

void WorkForEver() {
  std::unique_lock<std::mutex> lock(TheWorld().mutex);
  for (;;) {
    if (RunAny()) {
      TheWorld().changed.notify_all();
    } else {
      TheWorld().changed.wait(lock);
    }
  }
}

// Adds a command to the pending commands of a queue or an immediate list.
void Enqueue(Call* call, Engine* engine, const Command& command) {
  if (command.signal != nullptr) {
    call->Require(!command.signal->signalled && command.signal->signals == 0,
                  "hSignalEvent is signalled, or about to be, and was not reset",
                  ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  }
  if (call->failed()) {
    return;
  }
  if (command.signal != nullptr) {
    ++command.signal->signals;
  }
  for (Event* event : command.waits) {
    ++event->waits;
  }
  engine->pending.push_back(command);
  Work();
  TheWorld().changed.notify_all();
}

void Append(Call* call, List* list, const Command& command) {
  if (list->immediate) {
    Enqueue(call, list, command);
  } else {
    list->recorded.push_back(command);
  }
}

Event* CheckEvent(Call* call, ze_event_handle_t handle, const char* argument, const List* list) {
  auto* event = call->Get<Event>(handle, argument);
  if (event != nullptr && list != nullptr) {
    call->Require(event->context == list->context,
                  std::string(argument) + " is of another context than the list");
  }
  return event;
}

// Checks the arguments that all commands share.
Command CheckCommand(Call* call, const List* list, ze_event_handle_t signal, uint32_t count,
                     ze_event_handle_t* waits) {
  Command command;
  if (list != nullptr) {
    call->Require(list->immediate || !list->closed, "hCommandList is closed");
  }
  if (signal != nullptr) {
    command.signal = CheckEvent(call, signal, "hSignalEvent", list);
  }
  if (count != 0) {
    call->Pointer(waits, "phWaitEvents");
  }
  for (uint32_t i = 0; i < count && waits != nullptr; ++i) {
    command.waits.push_back(CheckEvent(call, waits[i], "phWaitEvents", list));
  }
  return command;
}

void CheckPlace(Call* call, const Context* context, const Device* device, uint32_t ordinal) {
  if (context != nullptr && device != nullptr) {
    call->Require(device->driver == context->driver, "hDevice is of another driver");
  }
  call->Require(ordinal < kGroups, "desc has an ordinal that hDevice has no group of");
}

template <class T>
T* MakeEngine(Context* context, Device* device, uint32_t ordinal) {
  T* made = TheWorld().Make<T>(context);
  made->device = device;
  made->ordinal = ordinal;
  TheWorld().engines.push_back(made);
  return made;
}

void CheckQueueDesc(Call* call, const ze_command_queue_desc_t* desc, const char* argument) {
  call->Typed(desc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, argument);
  if (desc == nullptr) {
    return;
  }
  call->Require(desc->flags <= ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY,
                "desc->flags has a bit that spec 1.4 does not know");
  call->Require(desc->mode <= ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, "desc->mode is none");
}

// Adds one run per row of a region.
void AddRuns(const ze_copy_region_t& region, unsigned char* to, uint32_t to_pitch,
             uint32_t to_slice, const unsigned char* from, uint32_t from_pitch, uint32_t from_slice,
             std::vector<Run>* runs) {
  const uint32_t depth = std::max(region.depth, 1U);
  for (size_t z = 0; z < depth; ++z) {
    for (size_t y = 0; y < region.height; ++y) {
      runs->push_back(
          {to + z * to_slice + y * to_pitch, from + z * from_slice + y * from_pitch, region.width});
    }
  }
}

void CheckRegion(Call* call, const ze_copy_region_t* region, uint32_t pitch, uint32_t slice,
                 const char* side) {
  call->Pointer(region, side);
  if (region == nullptr) {
    return;
  }
  const std::string name = side;
  call->Require(region->originX == 0 && region->originY == 0 && region->originZ == 0,
                name + " has an origin, which this driver was not asked for yet");
  call->Require(region->width != 0 && region->height != 0, name + " is empty",
                ZE_RESULT_ERROR_INVALID_SIZE);
  call->Require(pitch >= region->width, name + " has a pitch smaller than its rows",
                ZE_RESULT_ERROR_INVALID_SIZE);
  call->Require(region->depth == 0 || slice >= uint64_t{pitch} * region->height,
                name + " has a slice pitch smaller than its slices", ZE_RESULT_ERROR_INVALID_SIZE);
}

// The bytes from the first to the last byte of a region, including the gaps.
size_t ExtentOf(const ze_copy_region_t& region, uint32_t pitch, uint32_t slice) {
  const size_t depth = std::max(region.depth, 1U);
  return (depth - 1) * slice + (region.height - size_t{1}) * pitch + region.width;
}

void CheckOnHost(Call* call, const Event& event) {
  call->Require(event.pool->host_visible, "hEvent is of a pool that is not visible to the host",
                ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
}

void CheckHostWaits(Call* call, const Event& event) {
  CheckOnHost(call, event);
  call->Require(event.flushes_to_host, "hEvent has a signal scope without the host",
                ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
}

// Does a row that is written overlap a row that is read? All rows have one length.
bool Overlap(std::vector<Run> runs) {
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.from < b.from; });
  return std::any_of(runs.begin(), runs.end(), [&runs](const Run& writer) {
    // The first row that ends after the start of the written one.
    const auto reader = std::partition_point(runs.begin(), runs.end(), [&writer](const Run& run) {
      return run.from + run.bytes <= writer.to;
    });
    return reader != runs.end() && reader->from < writer.to + writer.bytes;
  });
}

void CheckRuns(Call* call, const List* list, const Context* from, const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    CheckRange(call, run.to, run.bytes, list->context, "dstptr");
    CheckRange(call, run.from, run.bytes, from, "srcptr");
  }
}

}  // namespace

void DropWork() {
  for (Engine* engine : TheWorld().engines) {
    while (!engine->pending.empty()) {
      Remove(engine, engine->pending.size() - 1);
    }
  }
}

void Work() {
  if (!TheWorld().working) {
    TheWorld().working = true;
    std::thread(WorkForEver).detach();
  }
}

}  // namespace fake_ze

using fake_ze::Call;
using fake_ze::Command;
using fake_ze::Context;
using fake_ze::Device;
using fake_ze::Event;
using fake_ze::InList;
using fake_ze::List;
using fake_ze::Pool;
using fake_ze::Queue;
using fake_ze::TheWorld;

ze_result_t zeCommandQueueCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                 const ze_command_queue_desc_t* desc,
                                 ze_command_queue_handle_t* phCommandQueue) {
  FAKE_CALL(zeCommandQueueCreate);
  auto* context = call.Get<Context>(hContext, "hContext");
  auto* device = call.Get<Device>(hDevice, "hDevice");
  fake_ze::CheckQueueDesc(&call, desc, "desc");
  call.Pointer(phCommandQueue, "phCommandQueue");
  FAKE_OR_RETURN;
  fake_ze::CheckPlace(&call, context, device, desc->ordinal);
  FAKE_OR_RETURN;
  *phCommandQueue = fake_ze::ToHandle<ze_command_queue_handle_t>(
      fake_ze::MakeEngine<Queue>(context, device, desc->ordinal));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueDestroy(ze_command_queue_handle_t hCommandQueue) {
  FAKE_CALL(zeCommandQueueDestroy);
  auto* queue = call.Get<Queue>(hCommandQueue, "hCommandQueue");
  FAKE_OR_RETURN;
  call.Require(queue->pending.empty(), "hCommandQueue still has work",
               ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  FAKE_OR_RETURN;
  queue->alive = false;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t hCommandQueue,
                                              uint32_t numCommandLists,
                                              ze_command_list_handle_t* phCommandLists,
                                              ze_fence_handle_t hFence) {
  FAKE_CALL(zeCommandQueueExecuteCommandLists);
  auto* queue = call.Get<Queue>(hCommandQueue, "hCommandQueue");
  call.Pointer(phCommandLists, "phCommandLists");
  call.Require(numCommandLists == 1,
               "numCommandLists is not 1, which this driver was not asked for");
  call.Require(hFence == nullptr, "hFence is given, which this driver was not asked for");
  FAKE_OR_RETURN;
  auto* list = call.Get<List>(phCommandLists[0], "phCommandLists");
  FAKE_OR_RETURN;
  call.Require(!list->immediate, "phCommandLists has an immediate list",
               ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
  call.Require(list->closed, "phCommandLists has a list that is not closed");
  call.Require(list->ordinal == queue->ordinal, "phCommandLists has a list of another group",
               ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
  call.Require(list->context == queue->context, "phCommandLists has a list of another context");
  call.Require(list->device == queue->device, "phCommandLists has a list of another device");
  call.Require(list->executing == 0, "phCommandLists has a list that is still being executed",
               ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  FAKE_OR_RETURN;
  for (Command command : list->recorded) {
    command.of = list;
    ++list->executing;
    fake_ze::Enqueue(&call, queue, command);
  }
  return call.result();
}

ze_result_t zeCommandQueueSynchronize(ze_command_queue_handle_t hCommandQueue, uint64_t timeout) {
  FAKE_CALL(zeCommandQueueSynchronize);
  auto* queue = call.Get<Queue>(hCommandQueue, "hCommandQueue");
  FAKE_OR_RETURN;
  while (!queue->pending.empty()) {
    if (timeout != UINT64_MAX) {
      return ZE_RESULT_NOT_READY;
    }
    call.Wait();
  }
  return Call::Waited();
}

ze_result_t fake_ze_queue_ordinal(ze_command_queue_handle_t queue, uint32_t* ordinal) {
  FAKE_CALL(zeCommandQueueGetOrdinal);
  const auto* found = call.Get<Queue>(queue, "hCommandQueue");
  call.Pointer(ordinal, "pOrdinal");
  FAKE_OR_RETURN;
  *ordinal = found->ordinal;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                const ze_command_list_desc_t* desc,
                                ze_command_list_handle_t* phCommandList) {
  FAKE_CALL(zeCommandListCreate);
  auto* context = call.Get<Context>(hContext, "hContext");
  auto* device = call.Get<Device>(hDevice, "hDevice");
  call.Typed(desc, ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, "desc");
  call.Pointer(phCommandList, "phCommandList");
  FAKE_OR_RETURN;
  call.Require(desc->flags <= 0x7, "desc->flags has a bit that spec 1.4 does not know");
  fake_ze::CheckPlace(&call, context, device, desc->commandQueueGroupOrdinal);
  FAKE_OR_RETURN;
  *phCommandList = fake_ze::ToHandle<ze_command_list_handle_t>(
      fake_ze::MakeEngine<List>(context, device, desc->commandQueueGroupOrdinal));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListCreateImmediate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                         const ze_command_queue_desc_t* altdesc,
                                         ze_command_list_handle_t* phCommandList) {
  FAKE_CALL(zeCommandListCreateImmediate);
  auto* context = call.Get<Context>(hContext, "hContext");
  auto* device = call.Get<Device>(hDevice, "hDevice");
  fake_ze::CheckQueueDesc(&call, altdesc, "altdesc");
  call.Pointer(phCommandList, "phCommandList");
  FAKE_OR_RETURN;
  fake_ze::CheckPlace(&call, context, device, altdesc->ordinal);
  FAKE_OR_RETURN;
  List* list = fake_ze::MakeEngine<List>(context, device, altdesc->ordinal);
  list->immediate = true;
  *phCommandList = fake_ze::ToHandle<ze_command_list_handle_t>(list);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListDestroy(ze_command_list_handle_t hCommandList) {
  FAKE_CALL(zeCommandListDestroy);
  auto* list = call.Get<List>(hCommandList, "hCommandList");
  FAKE_OR_RETURN;
  call.Require(list->executing == 0 && list->pending.empty() && list->users == 0,
               "hCommandList is still in use", ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  FAKE_OR_RETURN;
  list->alive = false;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListClose(ze_command_list_handle_t hCommandList) {
  FAKE_CALL(zeCommandListClose);
  auto* list = call.Get<List>(hCommandList, "hCommandList");
  const InList in(&call, list);
  FAKE_OR_RETURN;
  call.Require(!list->immediate, "hCommandList is immediate, and never closed");
  call.Require(!list->closed, "hCommandList is closed already");
  FAKE_OR_RETURN;
  list->closed = true;
  return ZE_RESULT_SUCCESS;
}

ze_result_t fake_ze_list_synchronize(ze_command_list_handle_t list, uint64_t timeout) {
  FAKE_CALL(zeCommandListHostSynchronize);
  auto* found = call.Get<List>(list, "hCommandList");
  FAKE_OR_RETURN;
  call.Require(found->immediate, "hCommandList is not immediate");
  FAKE_OR_RETURN;
  while (!found->pending.empty()) {
    if (timeout != UINT64_MAX) {
      return ZE_RESULT_NOT_READY;
    }
    call.Wait();
  }
  return Call::Waited();
}

ze_result_t zeCommandListAppendBarrier(ze_command_list_handle_t hCommandList,
                                       ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                       ze_event_handle_t* phWaitEvents) {
  FAKE_CALL(zeCommandListAppendBarrier);
  auto* list = call.Get<List>(hCommandList, "hCommandList");
  const InList in(&call, list);
  Command command = fake_ze::CheckCommand(&call, list, hSignalEvent, numWaitEvents, phWaitEvents);
  FAKE_OR_RETURN;
  command.barrier = true;
  fake_ze::Append(&call, list, command);
  return call.result();
}

ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t hCommandList, void* dstptr,
                                          const void* srcptr, size_t size,
                                          ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                          ze_event_handle_t* phWaitEvents) {
  FAKE_CALL(zeCommandListAppendMemoryCopy);
  auto* list = call.Get<List>(hCommandList, "hCommandList");
  const InList in(&call, list);
  Command command = fake_ze::CheckCommand(&call, list, hSignalEvent, numWaitEvents, phWaitEvents);
  call.Pointer(dstptr, "dstptr");
  call.Pointer(srcptr, "srcptr");
  FAKE_OR_RETURN;
  command.runs.push_back(
      {static_cast<unsigned char*>(dstptr), static_cast<const unsigned char*>(srcptr), size});
  fake_ze::CheckRuns(&call, list, list->context, command.runs);
  FAKE_OR_RETURN;
  fake_ze::Append(&call, list, command);
  return call.result();
}

ze_result_t zeCommandListAppendMemoryCopyFromContext(ze_command_list_handle_t hCommandList,
                                                     void* dstptr, ze_context_handle_t hContextSrc,
                                                     const void* srcptr, size_t size,
                                                     ze_event_handle_t hSignalEvent,
                                                     uint32_t numWaitEvents,
                                                     ze_event_handle_t* phWaitEvents) {
  FAKE_CALL(zeCommandListAppendMemoryCopyFromContext);
  auto* list = call.Get<List>(hCommandList, "hCommandList");
  const auto* from = call.Get<Context>(hContextSrc, "hContextSrc");
  const InList in(&call, list);
  Command command = fake_ze::CheckCommand(&call, list, hSignalEvent, numWaitEvents, phWaitEvents);
  call.Pointer(dstptr, "dstptr");
  call.Pointer(srcptr, "srcptr");
  FAKE_OR_RETURN;
  call.Require(from->driver == list->context->driver, "hContextSrc is of another driver");
  command.runs.push_back(
      {static_cast<unsigned char*>(dstptr), static_cast<const unsigned char*>(srcptr), size});
  fake_ze::CheckRuns(&call, list, from, command.runs);
  FAKE_OR_RETURN;
  fake_ze::Append(&call, list, command);
  return call.result();
}

ze_result_t zeCommandListAppendMemoryCopyRegion(
    ze_command_list_handle_t hCommandList, void* dstptr, const ze_copy_region_t* dstRegion,
    uint32_t dstPitch, uint32_t dstSlicePitch, const void* srcptr,
    const ze_copy_region_t* srcRegion, uint32_t srcPitch, uint32_t srcSlicePitch,
    ze_event_handle_t hSignalEvent, uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents) {
  FAKE_CALL(zeCommandListAppendMemoryCopyRegion);
  auto* list = call.Get<List>(hCommandList, "hCommandList");
  const InList in(&call, list);
  Command command = fake_ze::CheckCommand(&call, list, hSignalEvent, numWaitEvents, phWaitEvents);
  call.Pointer(dstptr, "dstptr");
  call.Pointer(srcptr, "srcptr");
  fake_ze::CheckRegion(&call, dstRegion, dstPitch, dstSlicePitch, "dstRegion");
  fake_ze::CheckRegion(&call, srcRegion, srcPitch, srcSlicePitch, "srcRegion");
  FAKE_OR_RETURN;
  call.Require(dstRegion->width == srcRegion->width && dstRegion->height == srcRegion->height &&
                   dstRegion->depth == srcRegion->depth,
               "dstRegion and srcRegion have different sizes");
  FAKE_OR_RETURN;
  fake_ze::CheckRange(&call, dstptr, fake_ze::ExtentOf(*dstRegion, dstPitch, dstSlicePitch),
                      list->context, "dstptr");
  fake_ze::CheckRange(&call, srcptr, fake_ze::ExtentOf(*srcRegion, srcPitch, srcSlicePitch),
                      list->context, "srcptr");
  FAKE_OR_RETURN;
  fake_ze::AddRuns(*dstRegion, static_cast<unsigned char*>(dstptr), dstPitch, dstSlicePitch,
                   static_cast<const unsigned char*>(srcptr), srcPitch, srcSlicePitch,
                   &command.runs);
  call.Require(!fake_ze::Overlap(command.runs), "dstRegion and srcRegion overlap",
               ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  FAKE_OR_RETURN;
  fake_ze::Append(&call, list, command);
  return call.result();
}

ze_result_t zeEventPoolCreate(ze_context_handle_t hContext, const ze_event_pool_desc_t* desc,
                              uint32_t numDevices, ze_device_handle_t* phDevices,
                              ze_event_pool_handle_t* phEventPool) {
  FAKE_CALL(zeEventPoolCreate);
  auto* context = call.Get<Context>(hContext, "hContext");
  call.Typed(desc, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, "desc");
  call.Pointer(phEventPool, "phEventPool");
  call.Require(numDevices == 0 && phDevices == nullptr,
               "phDevices is given, which this driver was not asked for");
  FAKE_OR_RETURN;
  call.Require(desc->count != 0, "desc->count is 0", ZE_RESULT_ERROR_INVALID_SIZE);
  call.Require(desc->flags <= 0x7, "desc->flags has a bit that spec 1.4 does not know",
               ZE_RESULT_ERROR_INVALID_ENUMERATION);
  FAKE_OR_RETURN;
  auto* pool = TheWorld().Make<Pool>(context);
  pool->host_visible = (desc->flags & ZE_EVENT_POOL_FLAG_HOST_VISIBLE) != 0;
  pool->taken.resize(desc->count);
  *phEventPool = fake_ze::ToHandle<ze_event_pool_handle_t>(pool);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t hEventPool) {
  FAKE_CALL(zeEventPoolDestroy);
  auto* pool = call.Get<Pool>(hEventPool, "hEventPool");
  FAKE_OR_RETURN;
  call.Require(
      std::none_of(pool->taken.begin(), pool->taken.end(), [](bool taken) { return taken; }),
      "hEventPool still has events", ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  FAKE_OR_RETURN;
  pool->alive = false;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventCreate(ze_event_pool_handle_t hEventPool, const ze_event_desc_t* desc,
                          ze_event_handle_t* phEvent) {
  FAKE_CALL(zeEventCreate);
  auto* pool = call.Get<Pool>(hEventPool, "hEventPool");
  call.Typed(desc, ZE_STRUCTURE_TYPE_EVENT_DESC, "desc");
  call.Pointer(phEvent, "phEvent");
  FAKE_OR_RETURN;
  call.Require(desc->signal <= 0x7 && desc->wait <= 0x7, "desc has an unknown scope",
               ZE_RESULT_ERROR_INVALID_ENUMERATION);
  call.Require(desc->index < pool->taken.size() && !pool->taken[desc->index],
               "desc->index is none of the pool, or taken");
  FAKE_OR_RETURN;
  auto* event = TheWorld().Make<Event>(pool->context);
  event->pool = pool;
  event->index = desc->index;
  event->flushes_to_host = (desc->signal & ZE_EVENT_SCOPE_FLAG_HOST) != 0;
  pool->taken[desc->index] = true;
  *phEvent = fake_ze::ToHandle<ze_event_handle_t>(event);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventDestroy(ze_event_handle_t hEvent) {
  FAKE_CALL(zeEventDestroy);
  auto* event = call.Get<Event>(hEvent, "hEvent");
  FAKE_OR_RETURN;
  call.Require(event->signals == 0 && event->waits == 0, "hEvent is still in use",
               ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  FAKE_OR_RETURN;
  event->pool->taken[event->index] = false;
  event->alive = false;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventHostSignal(ze_event_handle_t hEvent) {
  FAKE_CALL(zeEventHostSignal);
  auto* event = call.Get<Event>(hEvent, "hEvent");
  FAKE_OR_RETURN;
  fake_ze::CheckOnHost(&call, *event);
  FAKE_OR_RETURN;
  call.Require(!event->signalled && event->signals == 0,
               "hEvent is signalled, or about to be, and was not reset",
               ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  FAKE_OR_RETURN;
  event->signalled = true;
  TheWorld().changed.notify_all();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventHostSynchronize(ze_event_handle_t hEvent, uint64_t timeout) {
  FAKE_CALL(zeEventHostSynchronize);
  auto* event = call.Get<Event>(hEvent, "hEvent");
  FAKE_OR_RETURN;
  fake_ze::CheckHostWaits(&call, *event);
  FAKE_OR_RETURN;
  while (!event->signalled && !TheWorld().lost) {
    if (timeout != UINT64_MAX) {
      return ZE_RESULT_NOT_READY;
    }
    call.Wait();
  }
  return Call::Waited();
}

ze_result_t zeEventQueryStatus(ze_event_handle_t hEvent) {
  FAKE_CALL(zeEventQueryStatus);
  const auto* event = call.Get<Event>(hEvent, "hEvent");
  FAKE_OR_RETURN;
  fake_ze::CheckHostWaits(&call, *event);
  FAKE_OR_RETURN;
  return event->signalled ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

ze_result_t zeEventHostReset(ze_event_handle_t hEvent) {
  FAKE_CALL(zeEventHostReset);
  auto* event = call.Get<Event>(hEvent, "hEvent");
  FAKE_OR_RETURN;
  fake_ze::CheckOnHost(&call, *event);
  FAKE_OR_RETURN;
  call.Require(event->signals == 0 && event->waits == 0, "hEvent is still in use",
               ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  FAKE_OR_RETURN;
  event->signalled = false;
  return ZE_RESULT_SUCCESS;
}
