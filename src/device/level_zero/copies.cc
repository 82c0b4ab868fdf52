// SPDX-License-Identifier: Apache-2.0
// Copies of Level Zero. Lists may run out of order, so each copy is between two barriers.
#include <cstdlib>

#include "describe/device.h"
#include "device/level_zero/events.h"

namespace dlbridge::level_zero {
namespace {

// A copy in progress.
struct Copy {
  List list;
  Queue queue;           // executes the list, which then belongs to this copy; else NULL
  bool own;              // the list belongs to this copy
  Context from_context;  // the source's context if it differs from the list's; else NULL
  Owner owner;           // of the list's context
  EventPair* pair;
  uint32_t appended;
};

Copy* CopyOf(const CopyJob& job) { return ToHandle<Copy*>(job.state[0]); }

bool HasStream(const CopyJob& job) {
  return job.stream.kind == DLBRIDGE_STREAM_QUEUE ||
         job.stream.kind == DLBRIDGE_STREAM_IMMEDIATE_LIST;
}

// Finds the context of one side: the context that the side names, else the stream's if it knows the
// memory, else one that the search finds.
DLBridgeStatus FindSide(const CopyJob& job, const CopySide& side, const char* argument, Memory* out,
                        DLBridgeError* error) {
  DLBridgeBuffer buffer = side.buffer;
  if (buffer.context != 0) {
    buffer.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
  } else if (HasStream(job)) {
    buffer.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
    buffer.context = job.stream.context;
  }
  DLBRIDGE_TRY(FindMemory(buffer, side.device, out, error));
  if (out->type == kUnknown && side.buffer.context == 0 && buffer.context != 0) {
    buffer.context = 0;
    DLBRIDGE_TRY(FindMemory(buffer, side.device, out, error));
  }
  return out->type != kUnknown
             ? DLBRIDGE_OK
             : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, argument,
                            "is memory that no context of Level Zero knows: pass the "
                            "ze_context_handle_t that allocated it, or register that context");
}

// Both sides of a copy, and the context and device of its list.
struct Route {
  Memory from;
  Memory to;
  uint64_t context;       // of the list
  uint64_t from_context;  // of the source if it differs; else 0
  Device device;          // of the list
};

Driver DriverOf(const Memory& memory) {
  return memory.record != nullptr ? memory.record->driver : nullptr;
}

// The driver of the list, as far as it is known.
Driver ListDriver(const CopyJob& job, const Route& route) {
  if (!HasStream(job)) {
    return DriverOf(route.to);
  }
  Device device = nullptr;
  const DLBridgeStatus status =
      NativeDevice(job.stream.device, job.stream.context, "spec.stream", &device, nullptr);
  const DeviceRecord* record = status == DLBRIDGE_OK ? FindDevice(device) : nullptr;
  return record != nullptr ? record->driver : nullptr;
}

DLBridgeStatus CheckDrivers(const CopyJob& job, const Route& route, DLBridgeError* error) {
  Driver from = DriverOf(route.from);
  Driver list = route.from_context != 0 ? ListDriver(job, route) : from;
  return from == list || from == nullptr || list == nullptr
             ? DLBRIDGE_OK
             : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "source and copy",
                            "belong to two drivers, between which Level Zero does not copy: set "
                            "DLBRIDGE_COPY_ALLOW_STAGING to copy through host memory");
}

DLBridgeStatus FindContexts(const CopyJob& job, Route* route, DLBridgeError* error) {
  const uint64_t from = job.from.on_host ? 0 : route->from.context;
  const uint64_t to = job.to.on_host ? 0 : route->to.context;
  route->context = HasStream(job) ? job.stream.context : (to != 0 ? to : from);
  if (to != 0 && to != route->context) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "spec.stream",
                        "belongs to another ze_context_handle_t than the memory that is copied to: "
                        "expected a queue of that context, or none");
  }
  route->from_context = from != route->context ? from : 0;
  return CheckDrivers(job, *route, error);
}

// The list is for the stream's device. Without a stream, it is for the memory's device, or for the
// label's device if the memory is host memory.
DLBridgeStatus FindListDevice(const CopyJob& job, Route* route, DLBridgeError* error) {
  if (HasStream(job)) {
    return job.stream.kind == DLBRIDGE_STREAM_QUEUE
               ? NativeDevice(job.stream.device, job.stream.context, "spec.stream", &route->device,
                              error)
               : DLBRIDGE_OK;
  }
  const bool by_source = job.to.on_host;
  const Memory& memory = by_source ? route->from : route->to;
  route->device = memory.device;
  return memory.device != nullptr ? DLBRIDGE_OK
                                  : NativeDevice(by_source ? job.from.device : job.to.device,
                                                 route->context, "device", &route->device, error);
}

// The copy has the label of its target.
DLBridgeStatus CheckTarget(const CopySide& side, const Memory& memory, DLBridgeError* error) {
  const DLDevice found = LabelOf(memory, side.device);
  const int32_t type = TypeOf(side.device);
  return found.device_id == side.device.device_id
             ? DLBRIDGE_OK
             : Reject(error, {DLBRIDGE_RULE_DEVICE_LABEL, kNoAxis,
                              MemoryFact(0, type, side.device.device_id),
                              MemoryFact(DLBRIDGE_MEMORY_USM_DEVICE, type, found.device_id)});
}

DLBridgeStatus FindRoute(const CopyJob& job, Route* route, DLBridgeError* error) {
  if (HasStream(job)) {
    DLBRIDGE_TRY(RequireContext(job.stream, "spec.stream", error));
  }
  if (!job.from.on_host) {
    DLBRIDGE_TRY(FindSide(job, job.from, "source", &route->from, error));
  }
  if (!job.to.on_host) {
    DLBRIDGE_TRY(FindSide(job, job.to, "spec.target", &route->to, error));
    DLBRIDGE_TRY(CheckTarget(job.to, route->to, error));
  }
  DLBRIDGE_TRY(FindContexts(job, route, error));
  return FindListDevice(job, route, error);
}

DLBridgeStatus MakeQueueList(const CopyJob& job, const Route& route, Copy* copy,
                             DLBridgeError* error) {
  copy->queue = ToHandle<Queue>(job.stream.handle);
  ListDescT desc = {kListDesc, nullptr, 0, 0};
  DLBRIDGE_TRY(OrdinalOf(copy->queue, &desc.ordinal, error));
  DLBRIDGE_ZE_TRY(zeCommandListCreate, ToHandle<Context>(route.context), route.device, &desc,
                  &copy->list);
  copy->own = true;
  return DLBRIDGE_OK;
}

DLBridgeStatus MakeList(const CopyJob& job, const Route& route, Copy* copy, DLBridgeError* error) {
  if (job.stream.kind == DLBRIDGE_STREAM_IMMEDIATE_LIST) {
    copy->list = ToHandle<List>(job.stream.handle);
    return DLBRIDGE_OK;
  }
  if (job.stream.kind == DLBRIDGE_STREAM_QUEUE) {
    return MakeQueueList(job, route, copy, error);
  }
  const QueueDescT desc = {kQueueDesc, nullptr, 0, 0, 0, kAsynchronous, 0};
  DLBRIDGE_ZE_TRY(zeCommandListCreateImmediate, ToHandle<Context>(route.context), route.device,
                  &desc, &copy->list);
  copy->own = true;
  return DLBRIDGE_OK;
}

// The copy starts after the work that is already on the stream.
DLBridgeStatus Prepare(const CopyJob& job, const Route& route, Copy* copy, DLBridgeError* error) {
  const DLDevice side = job.to.on_host ? route.from.key : route.to.key;
  copy->owner = OwnerOf(HasStream(job) ? job.stream.device : side, route.context);
  DLBRIDGE_TRY(TakePair(route.context, copy->owner.entry, &copy->pair, error));
  DLBRIDGE_TRY(MakeList(job, route, copy, error));
  if (HasStream(job)) {
    DLBRIDGE_ZE_TRY(zeCommandListAppendBarrier, copy->list, nullptr, 0, nullptr);
  }
  return DLBRIDGE_OK;
}

// Destroys a list without work, or whose work is done.
DLBridgeStatus DropList(Copy* copy, DLBridgeError* error) {
  if (copy->own) {
    DLBRIDGE_ZE_TRY(zeCommandListDestroy, copy->list);
  }
  return DLBRIDGE_OK;
}

bool FitsPitch(uint64_t pitch, uint64_t least) { return pitch >= least && pitch <= UINT32_MAX; }

bool IsRectangle(const CopyBox& box) {
  return box.bytes <= UINT32_MAX && box.rows <= UINT32_MAX &&
         FitsPitch(box.from_row_pitch, box.bytes) && FitsPitch(box.to_row_pitch, box.bytes);
}

bool IsCuboid(const CopyBox& box) {
  uint64_t from_plane = 0;
  uint64_t to_plane = 0;
  return IsRectangle(box) && box.planes <= UINT32_MAX &&
         !MulOverflows(box.rows, box.from_row_pitch, &from_plane) &&
         !MulOverflows(box.rows, box.to_row_pitch, &to_plane) &&
         FitsPitch(box.from_plane_pitch, from_plane) && FitsPitch(box.to_plane_pitch, to_plane);
}

// The start of a box on each side; it wraps as addresses do.
struct Ends {
  void* to;
  const void* from;
};

Ends EndsOf(const CopyJob& job, const CopyBox& box) {
  return {ToHandle<void*>(job.to.buffer.handle + box.to_offset),
          ToHandle<const void*>(job.from.buffer.handle + box.from_offset)};
}

// `*done` stays false if the driver cannot copy regions.
DLBridgeStatus CopyRegion(const CopyJob& job, const CopyBox& box, uint64_t depth, bool* done,
                          DLBridgeError* error) {
  const Ends ends = EndsOf(job, box);
  const CopyRegionT region = {0,
                              0,
                              0,
                              static_cast<uint32_t>(box.bytes),
                              static_cast<uint32_t>(box.rows),
                              static_cast<uint32_t>(depth)};
  const uint64_t to_slice = depth != 0 ? box.to_plane_pitch : 0;
  const uint64_t from_slice = depth != 0 ? box.from_plane_pitch : 0;
  const Result result = g_ze.zeCommandListAppendMemoryCopyRegion(
      CopyOf(job)->list, ends.to, &region, static_cast<uint32_t>(box.to_row_pitch),
      static_cast<uint32_t>(to_slice), ends.from, &region,
      static_cast<uint32_t>(box.from_row_pitch), static_cast<uint32_t>(from_slice), nullptr, 0,
      nullptr);
  if (result == kSuccess) {
    ++CopyOf(job)->appended;
    *done = true;
  }
  return result == kSuccess || IsLacking(result)
             ? DLBRIDGE_OK
             : RejectCall(error, "zeCommandListAppendMemoryCopyRegion", result);
}

DLBridgeStatus CopyRun(const CopyJob& job, const CopyBox& box, DLBridgeError* error) {
  Copy* copy = CopyOf(job);
  const Ends ends = EndsOf(job, box);
  const auto bytes = static_cast<size_t>(box.bytes);
  if (copy->from_context != nullptr) {
    DLBRIDGE_ZE_TRY(zeCommandListAppendMemoryCopyFromContext, copy->list, ends.to,
                    copy->from_context, ends.from, bytes, nullptr, 0, nullptr);
  } else {
    DLBRIDGE_ZE_TRY(zeCommandListAppendMemoryCopy, copy->list, ends.to, ends.from, bytes, nullptr,
                    0, nullptr);
  }
  ++copy->appended;
  return DLBRIDGE_OK;
}

// Between two contexts only contiguous runs can be copied.
DLBridgeStatus CopyPlane(const CopyJob& job, CopyBox box, DLBridgeError* error) {
  bool done = false;
  if (box.rows > 1 && CopyOf(job)->from_context == nullptr && IsRectangle(box)) {
    DLBRIDGE_TRY(CopyRegion(job, box, 0, &done, error));
  }
  for (uint64_t row = 0; row < box.rows && !done; ++row) {
    DLBRIDGE_TRY(CopyRun(job, box, error));
    box.from_offset += box.from_row_pitch;
    box.to_offset += box.to_row_pitch;
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CopyPlanes(const CopyJob& job, CopyBox box, DLBridgeError* error) {
  bool done = false;
  if (box.planes > 1 && CopyOf(job)->from_context == nullptr && IsCuboid(box)) {
    DLBRIDGE_TRY(CopyRegion(job, box, box.planes, &done, error));
  }
  for (uint64_t plane = 0; plane < box.planes && !done; ++plane) {
    DLBRIDGE_TRY(CopyPlane(job, box, error));
    box.from_offset += box.from_plane_pitch;
    box.to_offset += box.to_plane_pitch;
  }
  return DLBRIDGE_OK;
}

// Appends the last barrier, whose event signals the end of the copy.
DLBridgeStatus Close(const Copy& copy, DLBridgeError* error) {
  List list = copy.list;
  DLBRIDGE_ZE_TRY(zeCommandListAppendBarrier, list, copy.pair->events[0], 0, nullptr);
  if (copy.queue != nullptr) {
    DLBRIDGE_ZE_TRY(zeCommandListClose, list);
    DLBRIDGE_ZE_TRY(zeCommandQueueExecuteCommandLists, copy.queue, 1, &list, nullptr);
  }
  return DLBRIDGE_OK;
}

// Called after the driver rejected the barrier. The copies of a queue's list have not started.
// Those of an immediate list have started; this function waits for them in another way. For a list
// of the library, this requires a newer loader.
bool IsDoneAnyway(const CopyJob& job, const Copy& copy) {
  if (copy.queue != nullptr) {
    return true;
  }
  if (!copy.own) {
    return Synchronize(job.stream, nullptr) == DLBRIDGE_OK;
  }
  return g_ze.zeCommandListHostSynchronize != nullptr &&
         g_ze.zeCommandListHostSynchronize(copy.list, UINT64_MAX) == kSuccess;
}

// Waits for the copies. `*done` is true if the list may be destroyed. A list that a device may
// still execute is leaked instead.
DLBridgeStatus Wait(const CopyJob& job, const Copy& copy, bool* done, DLBridgeError* error) {
  const DLBridgeStatus closed = Close(copy, error);
  if (closed != DLBRIDGE_OK) {
    ReturnPair(copy.pair, 0);
    *done = IsDoneAnyway(job, copy);
    return closed;
  }
  const Result result = g_ze.zeEventHostSynchronize(copy.pair->events[0], UINT64_MAX);
  if (result != kSuccess) {
    *done = false;
    ReturnPair(copy.pair, 1);
    return RejectCall(error, "zeEventHostSynchronize", result);
  }
  *done = true;
  return ReturnSignalled(copy.pair, error);
}

}  // namespace

DLBridgeStatus CopyBegin(CopyJob* job, DLBridgeError* error) {
  Route route = {};
  DLBRIDGE_TRY(FindRoute(*job, &route, error));
  auto* copy = static_cast<Copy*>(std::calloc(1, sizeof(Copy)));
  if (copy == nullptr) {
    return RejectMemory(error);
  }
  copy->from_context = ToHandle<Context>(route.from_context);
  job->rows_alone = route.from_context != 0;
  const DLBridgeStatus status = Prepare(*job, route, copy, error);
  if (status != DLBRIDGE_OK) {
    DropList(copy, nullptr);
    if (copy->pair != nullptr) {
      ReturnPair(copy->pair, 0);
    }
    std::free(copy);
    return status;
  }
  job->state[0] = ToInteger(copy);
  return DLBRIDGE_OK;
}

DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  if (box.bytes == 0 || box.rows == 0 || box.planes == 0) {
    return DLBRIDGE_OK;
  }
  if (box.bytes > SIZE_MAX) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "a row",
                        "has more bytes than a size_t can hold");
  }
  CopyBox turned = box;
  if (box.rows == 1) {
    // Planes of one row each are the rows of a rectangle.
    turned.rows = box.planes;
    turned.planes = 1;
    turned.from_row_pitch = box.from_plane_pitch;
    turned.to_row_pitch = box.to_plane_pitch;
  }
  return CopyPlanes(*job, turned, error);
}

DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error) {
  Copy* copy = CopyOf(*job);
  job->state[0] = 0;
  bool done = true;
  DLBridgeStatus status = DLBRIDGE_OK;
  if (copy->appended != 0) {
    status = Wait(*job, *copy, &done, error);
  } else {
    ReturnPair(copy->pair, 0);
  }
  job->unfinished = !done;
  if (done) {
    const DLBridgeStatus dropped = DropList(copy, status == DLBRIDGE_OK ? error : nullptr);
    status = status == DLBRIDGE_OK ? dropped : status;
  }
  std::free(copy);
  return status;
}

DLBridgeStatus CopySubmit(CopyJob* job, StreamMark* out, DLBridgeError* error) {
  Copy* copy = CopyOf(*job);
  job->state[0] = 0;
  const DLBridgeStatus status = Close(*copy, error);
  if (status == DLBRIDGE_OK) {
    copy->pair->copy = copy->own ? copy->list : nullptr;
    MakeMark(copy->pair, copy->owner, out);
  } else {
    ReturnPair(copy->pair, 0);
    job->unfinished = !IsDoneAnyway(*job, *copy);
    if (!job->unfinished) {
      DropList(copy, nullptr);
    }
  }
  std::free(copy);
  return status;
}

}  // namespace dlbridge::level_zero
