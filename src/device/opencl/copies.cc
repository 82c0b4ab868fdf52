// SPDX-License-Identifier: Apache-2.0
// Copies of OpenCL: runs and rectangles of buffers, runs of USM.
#include "describe/device.h"
#include "device/opencl/events.h"
#include "device/opencl/internal.h"
#include "device/opencl/kept_queues.h"
#include "native/table.h"

namespace dlbridge::opencl {
namespace {

// The contents of CopyJob::state, by index.
enum : uint8_t {
  kFromOffset,  // of a sub-buffer in its parent, which the copy uses
  kToOffset,
  kFromSize,  // of that sub-buffer, which the driver does not check in the parent
  kToSize,
  kQueue,
  kSlot,       // of a kept queue
  kOwnQueue,   // 1: the queue is leased for this copy
  kKeptEntry,  // of the table, whose default queue is used
  kMemcpy,
  kContext,    // of temporary buffers
  kThrough,    // 1: all boxes go through temporary buffers
  kTemporary,  // the current one
  kFree,       // its unused bytes
  kInOrder,    // 1: the queue runs its work in order
  kCommands,   // enqueued so far
  kEvent       // of the only command, of a job that is marked
};

enum class Place : uint8_t { kHost, kMem, kUsm };

Place PlaceOf(const CopySide& side) {
  if (side.on_host) {
    return Place::kHost;
  }
  return side.buffer.kind == DLBRIDGE_BUFFER_CL_MEM ? Place::kMem : Place::kUsm;
}

Queue QueueOf(const CopyJob& job) { return ToHandle<Queue>(job.state[kQueue]); }

// The side that decides where the copy runs.
const CopySide& DeviceSide(const CopyJob& job) { return job.from.on_host ? job.to : job.from; }

// The contexts of the sides; NULL: not known, since the side is not a cl_mem.
struct Contexts {
  Context from;
  Context to;
};

// Checks the cl_mem of a copy. The target's label becomes that of the result, so it is checked,
// too; the source's label is the producer's.
DLBridgeStatus CheckMems(const CopyJob& job, Contexts* out, DLBridgeError* error) {
  if (PlaceOf(job.from) == Place::kMem) {
    DLBRIDGE_TRY(
        MemContext(job.from.buffer, {"source.data", "the source's context"}, &out->from, error));
  }
  if (PlaceOf(job.to) == Place::kMem) {
    DLBRIDGE_TRY(
        MemContext(job.to.buffer, {"spec.target.handle", "spec.target.context"}, &out->to, error));
    DLBRIDGE_TRY(CheckLabel(out->to, job.to.device, error));
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus SideContext(const CopySide& side, Context known, Context* out,
                           DLBridgeError* error) {
  if (known != nullptr) {
    *out = known;
    return DLBRIDGE_OK;
  }
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  DLBRIDGE_TRY(UsmInfo(side.buffer, side.device, &info, error));
  *out = ToHandle<Context>(info.context);
  return *out != nullptr ? DLBRIDGE_OK
                         : RejectStatus(error, DLBRIDGE_ERROR_NOT_FOUND, "buffer.context",
                                        "is unknown: no context in the context table has allocated "
                                        "this address; register the one that did");
}

// PoCL 3.1 crashes in clEnqueueCopyBufferRect if either buffer is a sub-buffer.
DLBridgeStatus UseParents(CopyJob* job, DLBridgeError* error) {
  if (PlaceOf(job->from) == Place::kMem) {
    DLBRIDGE_TRY(
        ToParent(&job->from.buffer, &job->state[kFromOffset], &job->state[kFromSize], error));
  }
  return PlaceOf(job->to) == Place::kMem
             ? ToParent(&job->to.buffer, &job->state[kToOffset], &job->state[kToSize], error)
             : DLBRIDGE_OK;
}

// OpenCL has no copy between a cl_mem and USM, nor between two contexts.
DLBridgeStatus CheckSides(const CopyJob& job, const Contexts& known, DLBridgeError* error) {
  const Place from = PlaceOf(job.from);
  const Place to = PlaceOf(job.to);
  if (from == Place::kHost || to == Place::kHost) {
    return DLBRIDGE_OK;
  }
  if (from != to) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the copy",
                        "is between a cl_mem and USM, which OpenCL copies only through host "
                        "memory: set DLBRIDGE_COPY_ALLOW_STAGING");
  }
  Context one = nullptr;
  Context other = nullptr;
  DLBRIDGE_TRY(SideContext(job.from, known.from, &one, error));
  DLBRIDGE_TRY(SideContext(job.to, known.to, &other, error));
  return one == other ? DLBRIDGE_OK
                      : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the copy",
                                     "is between two contexts, which OpenCL copies only through "
                                     "host memory: set DLBRIDGE_COPY_ALLOW_STAGING");
}

// The caller's queue names the context of addresses that no registered context knows.
DLBridgeStatus StreamContext(const CopyJob& job, uint64_t memory, Context* out,
                             DLBridgeError* error) {
  DLBRIDGE_TRY(QueueContext(job.stream, "spec.stream", out, error));
  return memory == 0 || memory == ToInteger(*out)
             ? DLBRIDGE_OK
             : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "spec.stream",
                            "belongs to another cl_context than the memory: expected a queue of "
                            "that context, or none");
}

DLBridgeStatus JobContext(const CopyJob& job, const Contexts& contexts, Context* out,
                          DLBridgeError* error) {
  const CopySide& side = DeviceSide(job);
  Context known = job.from.on_host ? contexts.to : contexts.from;
  const uint64_t memory = known != nullptr ? ToInteger(known) : side.buffer.context;
  return job.stream.kind == DLBRIDGE_STREAM_QUEUE ? StreamContext(job, memory, out, error)
                                                  : SideContext(side, known, out, error);
}

DLBridgeStatus DeviceFor(Context context, DLDevice label, Device* out, DLBridgeError* error) {
  DeviceList list;
  DLBRIDGE_TRY(ContextDevices(context, &list, error));
  const NamedDevice named(label);
  *out = list.count != 0 ? list.devices[0] : nullptr;
  for (uint32_t i = 0; i < list.count; ++i) {
    if (IsSameDevice(list.devices[i], named.device())) {
      *out = list.devices[i];
    }
  }
  FreeDevices(&list);
  return DLBRIDGE_OK;
}

// A queue for this copy alone, kept from an earlier copy or new.
DLBridgeStatus LeaseQueue(CopyJob* job, Context context, DLBridgeError* error) {
  const CopySide& side = DeviceSide(*job);
  Device device = nullptr;
  DLBRIDGE_TRY(DeviceFor(context, side.device, &device, error));
  Mem anchor = PlaceOf(side) == Place::kMem ? ToHandle<Mem>(side.buffer.handle) : nullptr;
  QueueLease lease = {nullptr, 0};
  DLBRIDGE_TRY(TakeQueue(context, device, anchor, &lease, error));
  job->state[kQueue] = ToInteger(lease.queue);
  job->state[kSlot] = lease.slot;
  job->state[kOwnQueue] = 1;
  return DLBRIDGE_OK;
}

// Uses the default queue of the table's entry, which is retained during the copy.
bool TakeDefaultQueue(CopyJob* job, Context context) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  if (SharedTable().find(DeviceSide(*job).device, ToInteger(context), &entry) != DLBRIDGE_OK ||
      entry.backend != DLBRIDGE_BACKEND_OPENCL || entry.queue == 0 ||
      SharedTable().retain(entry.id) != DLBRIDGE_OK) {
    return false;
  }
  job->state[kQueue] = entry.queue;
  job->state[kKeptEntry] = entry.id;
  return true;
}

DLBridgeStatus ChooseQueue(CopyJob* job, Context context, DLBridgeError* error) {
  if (job->stream.kind == DLBRIDGE_STREAM_QUEUE) {
    job->state[kQueue] = job->stream.handle;
    return DLBRIDGE_OK;
  }
  return TakeDefaultQueue(job, context) ? DLBRIDGE_OK : LeaseQueue(job, context, error);
}

// Orders the copy after earlier work of a queue that others use.
DLBridgeStatus OrderCopy(CopyJob* job, DLBridgeError* error) {
  bool in_order = true;
  if (job->state[kOwnQueue] == 0) {
    DLBRIDGE_TRY(IsInOrder(QueueOf(*job), &in_order, error));
  }
  job->state[kInOrder] = in_order ? 1 : 0;
  return in_order ? DLBRIDGE_OK : OrderWork(QueueOf(*job), error);
}

DLBridgeStatus ChooseMemcpy(CopyJob* job, Context context, DLBridgeError* error) {
  if (PlaceOf(DeviceSide(*job)) != Place::kUsm) {
    return DLBRIDGE_OK;
  }
  const PlatformRecord* platform = nullptr;
  DLBRIDGE_TRY(ContextPlatform(context, &platform, error));
  if (platform == nullptr || platform->enqueue_memcpy == nullptr) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the driver of this USM",
                        "has no clEnqueueMemcpyINTEL, which a copy of USM needs");
  }
  job->state[kMemcpy] = ToInteger(platform->enqueue_memcpy);
  job->rows_alone = true;  // USM has no rectangle copies
  return DLBRIDGE_OK;
}

// Does the driver reject reads or writes of this memory by the host? Then the copy goes through
// temporary buffers: the flags do not concern copies between buffers.
DLBridgeStatus ChooseThrough(CopyJob* job, DLBridgeError* error) {
  const CopySide& side = DeviceSide(*job);
  if (job->from.on_host == job->to.on_host || PlaceOf(side) != Place::kMem) {
    return DLBRIDGE_OK;
  }
  uint64_t flags = 0;
  DLBRIDGE_TRY(MemFlags(side.buffer, &flags, error));
  const uint64_t denied = job->to.on_host ? kMemHostWriteOnly : kMemHostReadOnly;
  if ((flags & (denied | kMemHostNoAccess)) != 0) {
    job->state[kThrough] = 1;
  }
  return DLBRIDGE_OK;
}

// Commands that use the buffer keep it until they are done.
void DropTemporary(CopyJob* job) {
  if (job->state[kTemporary] != 0) {
    g_opencl.call.clReleaseMemObject(ToHandle<Mem>(job->state[kTemporary]));
    job->state[kTemporary] = 0;
  }
}

void DropEvent(CopyJob* job) {
  if (job->state[kEvent] != 0) {
    g_opencl.call.clReleaseEvent(ToHandle<Event>(job->state[kEvent]));
    job->state[kEvent] = 0;
  }
}

// `usable`: the queue may serve further copies.
DLBridgeStatus LetGo(CopyJob* job, bool usable, DLBridgeError* error) {
  DropTemporary(job);
  DropEvent(job);
  DLBridgeStatus status = DLBRIDGE_OK;
  if (job->state[kOwnQueue] != 0) {
    status = GiveQueue({QueueOf(*job), job->state[kSlot]}, usable, error);
  }
  if (job->state[kKeptEntry] != 0) {
    SharedTable().release(job->state[kKeptEntry]);
  }
  return status;
}

DLBridgeStatus Memcpy(const CopyJob& job, const CopyBox& box, Event* done, DLBridgeError* error) {
  return Check(ToHandle<EnqueueMemcpy*>(job.state[kMemcpy])(
                   QueueOf(job), kFalse, ToHandle<void*>(job.to.buffer.handle + box.to_offset),
                   ToHandle<const void*>(job.from.buffer.handle + box.from_offset), box.bytes, 0,
                   nullptr, done),
               "clEnqueueMemcpyINTEL", error);
}

// One command. It waits for `before` unless that is NULL, and fills `*done` unless that is NULL.
struct Command {
  Queue queue;
  CopySide from;
  CopySide to;
  const Event* before;
  Event* done;

  uint32_t waits() const { return before != nullptr ? 1 : 0; }
};

DLBridgeStatus Run(const Command& on, const CopyBox& box, DLBridgeError* error) {
  const Functions& call = g_opencl.call;
  const uint64_t source = on.from.buffer.handle;
  const uint64_t target = on.to.buffer.handle;
  const uint64_t from = box.from_offset;
  const uint64_t to = box.to_offset;
  if (on.from.on_host) {
    return Check(call.clEnqueueWriteBuffer(on.queue, ToHandle<Mem>(target), kFalse, to, box.bytes,
                                           ToHandle<const void*>(source + from), on.waits(),
                                           on.before, on.done),
                 "clEnqueueWriteBuffer", error);
  }
  if (on.to.on_host) {
    return Check(
        call.clEnqueueReadBuffer(on.queue, ToHandle<Mem>(source), kFalse, from, box.bytes,
                                 ToHandle<void*>(target + to), on.waits(), on.before, on.done),
        "clEnqueueReadBuffer", error);
  }
  return Check(call.clEnqueueCopyBuffer(on.queue, ToHandle<Mem>(source), ToHandle<Mem>(target),
                                        from, to, box.bytes, on.waits(), on.before, on.done),
               "clEnqueueCopyBuffer", error);
}

DLBridgeStatus Rectangle(const Command& on, const CopyBox& box, DLBridgeError* error) {
  const Functions& call = g_opencl.call;
  const uint64_t source = on.from.buffer.handle;
  const uint64_t target = on.to.buffer.handle;
  const size_t from[3] = {on.from.on_host ? 0 : box.from_offset, 0, 0};
  const size_t to[3] = {on.to.on_host ? 0 : box.to_offset, 0, 0};
  const size_t region[3] = {box.bytes, box.rows, box.planes};
  if (on.from.on_host) {
    return Check(call.clEnqueueWriteBufferRect(on.queue, ToHandle<Mem>(target), kFalse, to, from,
                                               region, box.to_row_pitch, box.to_plane_pitch,
                                               box.from_row_pitch, box.from_plane_pitch,
                                               ToHandle<const void*>(source + box.from_offset),
                                               on.waits(), on.before, on.done),
                 "clEnqueueWriteBufferRect", error);
  }
  if (on.to.on_host) {
    return Check(call.clEnqueueReadBufferRect(
                     on.queue, ToHandle<Mem>(source), kFalse, from, to, region, box.from_row_pitch,
                     box.from_plane_pitch, box.to_row_pitch, box.to_plane_pitch,
                     ToHandle<void*>(target + box.to_offset), on.waits(), on.before, on.done),
                 "clEnqueueReadBufferRect", error);
  }
  return Check(call.clEnqueueCopyBufferRect(on.queue, ToHandle<Mem>(source), ToHandle<Mem>(target),
                                            from, to, region, box.from_row_pitch,
                                            box.from_plane_pitch, box.to_row_pitch,
                                            box.to_plane_pitch, on.waits(), on.before, on.done),
               "clEnqueueCopyBufferRect", error);
}

DLBridgeStatus Enqueue(const Command& on, const CopyBox& box, DLBridgeError* error) {
  return box.rows == 1 && box.planes == 1 ? Run(on, box, error) : Rectangle(on, box, error);
}

// The least size of a temporary buffer: a copy of many small runs creates few.
constexpr uint64_t kLeastTemporary = 1 << 16;

DLBridgeStatus MakeTemporary(CopyJob* job, uint64_t size, DLBridgeError* error) {
  DropTemporary(job);
  int32_t code = kSuccess;
  Mem made = g_opencl.call.clCreateBuffer(ToHandle<Context>(job->state[kContext]), kMemReadWrite,
                                          size, nullptr, &code);
  DLBRIDGE_TRY(Check(code, "clCreateBuffer", error));
  job->state[kTemporary] = ToInteger(made);
  job->state[kFree] = size;
  return DLBRIDGE_OK;
}

// Finds `bytes` at the end of the current temporary buffer, or makes another one.
DLBridgeStatus Reserve(CopyJob* job, uint64_t bytes, uint64_t* offset, DLBridgeError* error) {
  if (job->state[kTemporary] == 0 || job->state[kFree] < bytes) {
    const uint64_t size = bytes > kLeastTemporary ? bytes : kLeastTemporary;
    DLBRIDGE_TRY(MakeTemporary(job, size, error));
  }
  job->state[kFree] -= bytes;
  *offset = job->state[kFree];
  return DLBRIDGE_OK;
}

// Copies into a compact temporary buffer and out of it. The event orders the two on out-of-order
// queues.
DLBridgeStatus GoThrough(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  const uint64_t plane = box.bytes * box.rows;
  CopyBox in = box;
  DLBRIDGE_TRY(Reserve(job, plane * box.planes, &in.to_offset, error));
  in.to_row_pitch = box.bytes;
  in.to_plane_pitch = plane;
  CopyBox out = box;
  out.from_offset = in.to_offset;
  out.from_row_pitch = box.bytes;
  out.from_plane_pitch = plane;
  CopySide temporary = DeviceSide(*job);
  temporary.buffer.handle = job->state[kTemporary];
  Queue queue = QueueOf(*job);
  Event done = nullptr;
  DLBRIDGE_TRY(Enqueue({queue, job->from, temporary, nullptr, &done}, in, error));
  const DLBridgeStatus status = Enqueue({queue, temporary, job->to, &done, nullptr}, out, error);
  g_opencl.call.clReleaseEvent(done);
  return status;
}

// In one buffer, OpenCL copies a rectangle only to one of the same pitches.
bool IsTwisted(const CopyJob& job, const CopyBox& box) {
  const bool one_buffer = !job.from.on_host && job.from.buffer.handle == job.to.buffer.handle;
  const bool rectangle = box.rows > 1 || box.planes > 1;
  return one_buffer && rectangle &&
         (box.from_row_pitch != box.to_row_pitch || box.from_plane_pitch != box.to_plane_pitch);
}

DLBridgeStatus Directly(const CopyJob& job, const CopyBox& box, Event* done, DLBridgeError* error) {
  return job.state[kMemcpy] != 0
             ? Memcpy(job, box, done, error)
             : Enqueue({QueueOf(job), job.from, job.to, nullptr, done}, box, error);
}

// Copies a run or a rectangle. On an in-order queue the event of a job's only command marks its
// work.
DLBridgeStatus One(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  const bool through =
      job->state[kMemcpy] == 0 && (job->state[kThrough] != 0 || IsTwisted(*job, box));
  const bool only = job->state[kCommands]++ == 0 && !through;
  DropEvent(job);
  if (through) {
    return GoThrough(job, box, error);
  }
  Event done = nullptr;
  const bool marks = only && job->marked && job->state[kInOrder] != 0;
  const DLBridgeStatus status = Directly(*job, box, marks ? &done : nullptr, error);
  job->state[kEvent] = ToInteger(done);
  return status;
}

// Rows must not overlap, and a plane must consist of whole rows.
bool AreRows(uint64_t bytes, uint64_t pitch) { return pitch >= bytes; }
bool ArePlanes(uint64_t rows, uint64_t row_pitch, uint64_t pitch) {
  uint64_t least = 0;
  return row_pitch != 0 && !MulOverflows(rows, row_pitch, &least) && pitch >= least &&
         pitch % row_pitch == 0;
}

bool IsRectangle(const CopyJob& job, const CopyBox& box) {
  return job.state[kMemcpy] == 0 && AreRows(box.bytes, box.from_row_pitch) &&
         AreRows(box.bytes, box.to_row_pitch);
}

DLBridgeStatus Rows(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  for (uint64_t row = 0; row < box.rows; ++row) {
    const uint64_t from = box.from_offset + row * box.from_row_pitch;
    const uint64_t to = box.to_offset + row * box.to_row_pitch;
    DLBRIDGE_TRY(One(job, {box.bytes, 1, 1, from, 0, 0, to, 0, 0}, error));
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus Plane(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  return box.rows > 1 && IsRectangle(*job, box) ? One(job, box, error) : Rows(job, box, error);
}

DLBridgeStatus Planes(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  CopyBox plane = box;
  plane.planes = 1;
  plane.from_plane_pitch = 0;
  plane.to_plane_pitch = 0;
  for (uint64_t i = 0; i < box.planes; ++i) {
    DLBRIDGE_TRY(Plane(job, plane, error));
    plane.from_offset += box.from_plane_pitch;
    plane.to_offset += box.to_plane_pitch;
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus Box(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  const bool whole = box.planes > 1 && IsRectangle(*job, box) &&
                     ArePlanes(box.rows, box.from_row_pitch, box.from_plane_pitch) &&
                     ArePlanes(box.rows, box.to_row_pitch, box.to_plane_pitch);
  return whole ? One(job, box, error) : Planes(job, box, error);
}

CopyBox PlanesAsRows(const CopyBox& box) {
  CopyBox rows = box;
  rows.rows = box.planes;
  rows.planes = 1;
  rows.from_row_pitch = box.from_plane_pitch;
  rows.to_row_pitch = box.to_plane_pitch;
  rows.from_plane_pitch = 0;
  rows.to_plane_pitch = 0;
  return rows;
}

}  // namespace

DLBridgeStatus CopyBegin(CopyJob* job, DLBridgeError* error) {
  for (uint64_t& word : job->state) {
    word = 0;
  }
  Contexts contexts = {nullptr, nullptr};
  Context context = nullptr;
  DLBRIDGE_TRY(CheckMems(*job, &contexts, error));
  DLBRIDGE_TRY(CheckSides(*job, contexts, error));
  DLBRIDGE_TRY(UseParents(job, error));
  DLBRIDGE_TRY(JobContext(*job, contexts, &context, error));
  job->state[kContext] = ToInteger(context);
  DLBRIDGE_TRY(ChooseMemcpy(job, context, error));
  DLBRIDGE_TRY(ChooseThrough(job, error));
  DLBRIDGE_TRY(ChooseQueue(job, context, error));
  const DLBridgeStatus status = OrderCopy(job, error);
  if (status != DLBRIDGE_OK) {
    LetGo(job, true, nullptr);
  }
  return status;
}

namespace {

// Does a box leave the sub-buffer of this size? Its span fits in 64 bits, since the layout does.
bool Leaves(const CopyBox& box, uint64_t offset, uint64_t row_pitch, uint64_t plane_pitch,
            uint64_t size) {
  const uint64_t span = (box.planes - 1) * plane_pitch + (box.rows - 1) * row_pitch + box.bytes;
  return offset > size || span > size - offset;
}

DLBridgeStatus CheckBox(const CopyJob& job, const CopyBox& box, DLBridgeError* error) {
  constexpr char kLeaves[] = "leaves its sub-buffer (CL_MEM_SIZE): correct the layout or the size";
  if (PlaceOf(job.from) == Place::kMem && Leaves(box, box.from_offset, box.from_row_pitch,
                                                 box.from_plane_pitch, job.state[kFromSize])) {
    return RejectArgument(error, "source", kLeaves);
  }
  return PlaceOf(job.to) == Place::kMem && Leaves(box, box.to_offset, box.to_row_pitch,
                                                  box.to_plane_pitch, job.state[kToSize])
             ? RejectArgument(error, "spec.target", kLeaves)
             : DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckBox(*job, box, error));
  CopyBox moved = box;
  moved.from_offset += job->state[kFromOffset];
  moved.to_offset += job->state[kToOffset];
  return box.rows == 1 ? Plane(job, PlanesAsRows(moved), error) : Box(job, moved, error);
}

DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error) {
  const DLBridgeStatus done = Check(g_opencl.call.clFinish(QueueOf(*job)), "clFinish", error);
  const bool usable = done == DLBRIDGE_OK;
  job->unfinished = !usable;
  const DLBridgeStatus let_go = LetGo(job, usable, usable ? error : nullptr);
  return usable ? let_go : done;
}

namespace {

// Later work of the stream sees the copy, also on an out-of-order queue.
DLBridgeStatus MarkCopy(CopyJob* job, StreamMark* out, DLBridgeError* error) {
  if (job->state[kInOrder] == 0) {
    return OrderAndMark(QueueOf(*job), out, error);
  }
  Event event = ToHandle<Event>(job->state[kEvent]);
  job->state[kEvent] = 0;
  return event != nullptr ? MarkEvent(QueueOf(*job), event, out, error)
                          : MarkWork(QueueOf(*job), out, error);
}

}  // namespace

DLBridgeStatus CopySubmit(CopyJob* job, StreamMark* out, DLBridgeError* error) {
  const DLBridgeStatus status = MarkCopy(job, out, error);
  if (status != DLBRIDGE_OK) {
    CopyFinish(job, nullptr);
    return status;
  }
  const DLBridgeStatus let_go = LetGo(job, true, error);
  job->unfinished = let_go != DLBRIDGE_OK;
  return let_go;
}

}  // namespace dlbridge::opencl
