// SPDX-License-Identifier: Apache-2.0
// Copies of OpenCL: runs and rectangles of buffers, runs of USM.
#include "describe/device.h"
#include "device/opencl/internal.h"
#include "native/table.h"

namespace dlbridge::opencl {
namespace {

// The contents of CopyJob::state, by index.
enum : uint8_t { kQueue, kOwnQueue, kKeptEntry, kMemcpy };

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

DLBridgeStatus SideContext(const CopySide& side, Context* out, DLBridgeError* error) {
  if (PlaceOf(side) == Place::kMem) {
    return MemContext(side.buffer, out, error);
  }
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  DLBRIDGE_TRY(UsmInfo(side.buffer, side.device, &info, error));
  *out = ToHandle<Context>(info.context);
  return *out != nullptr ? DLBRIDGE_OK
                         : RejectStatus(error, DLBRIDGE_ERROR_NOT_FOUND, "buffer.context",
                                        "is unknown: no context in the context table has allocated "
                                        "this address; register the one that did");
}

// OpenCL has no copy between a cl_mem and USM, nor between two contexts.
DLBridgeStatus CheckSides(const CopyJob& job, DLBridgeError* error) {
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
  DLBRIDGE_TRY(SideContext(job.from, &one, error));
  DLBRIDGE_TRY(SideContext(job.to, &other, error));
  return one == other ? DLBRIDGE_OK
                      : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the copy",
                                     "is between two contexts, which OpenCL copies only through "
                                     "host memory: set DLBRIDGE_COPY_ALLOW_STAGING");
}

// The caller's queue names the context of addresses that no registered context knows.
DLBridgeStatus StreamContext(const CopyJob& job, Context* out, DLBridgeError* error) {
  DLBRIDGE_TRY(QueueContext(ToHandle<Queue>(job.stream.handle), out, error));
  if (PlaceOf(DeviceSide(job)) != Place::kMem) {
    return DLBRIDGE_OK;
  }
  Context context = nullptr;
  DLBRIDGE_TRY(SideContext(DeviceSide(job), &context, error));
  return context == *out ? DLBRIDGE_OK
                         : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "stream",
                                        "belongs to another cl_context than the memory: expected a "
                                        "queue of that context, or none");
}

DLBridgeStatus JobContext(const CopyJob& job, Context* out, DLBridgeError* error) {
  return job.stream.kind == DLBRIDGE_STREAM_QUEUE ? StreamContext(job, out, error)
                                                  : SideContext(DeviceSide(job), out, error);
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

DLBridgeStatus MakeQueue(CopyJob* job, Context context, DLBridgeError* error) {
  Device device = nullptr;
  DLBRIDGE_TRY(DeviceFor(context, DeviceSide(*job).device, &device, error));
  int32_t code = kSuccess;
  Queue queue = g_opencl.call.clCreateCommandQueue(context, device, 0, &code);
  DLBRIDGE_TRY(Check(code, "clCreateCommandQueue", error));
  job->state[kQueue] = ToInteger(queue);
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

// Orders the copy after earlier work, also on out-of-order queues.
DLBridgeStatus OrderAfterEarlierWork(const CopyJob& job, DLBridgeError* error) {
  return Check(g_opencl.call.clEnqueueBarrierWithWaitList(QueueOf(job), 0, nullptr, nullptr),
               "clEnqueueBarrierWithWaitList", error);
}

DLBridgeStatus ChooseQueue(CopyJob* job, Context context, DLBridgeError* error) {
  if (job->stream.kind == DLBRIDGE_STREAM_QUEUE) {
    job->state[kQueue] = job->stream.handle;
    return DLBRIDGE_OK;
  }
  return TakeDefaultQueue(job, context) ? DLBRIDGE_OK : MakeQueue(job, context, error);
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

DLBridgeStatus LetGo(CopyJob* job, DLBridgeError* error) {
  int32_t code = kSuccess;
  if (job->state[kOwnQueue] != 0) {
    code = g_opencl.call.clReleaseCommandQueue(QueueOf(*job));
  }
  if (job->state[kKeptEntry] != 0) {
    SharedTable().release(job->state[kKeptEntry]);
  }
  return Check(code, "clReleaseCommandQueue", error);
}

DLBridgeStatus Run(const CopyJob& job, uint64_t bytes, uint64_t from, uint64_t to,
                   DLBridgeError* error) {
  const Functions& call = g_opencl.call;
  Queue queue = QueueOf(job);
  const uint64_t source = job.from.buffer.handle;
  const uint64_t target = job.to.buffer.handle;
  if (job.state[kMemcpy] != 0) {
    return Check(ToHandle<EnqueueMemcpy*>(job.state[kMemcpy])(
                     queue, kFalse, ToHandle<void*>(target + to),
                     ToHandle<const void*>(source + from), bytes, 0, nullptr, nullptr),
                 "clEnqueueMemcpyINTEL", error);
  }
  if (job.from.on_host) {
    return Check(
        call.clEnqueueWriteBuffer(queue, ToHandle<Mem>(target), kFalse, to, bytes,
                                  ToHandle<const void*>(source + from), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer", error);
  }
  if (job.to.on_host) {
    return Check(call.clEnqueueReadBuffer(queue, ToHandle<Mem>(source), kFalse, from, bytes,
                                          ToHandle<void*>(target + to), 0, nullptr, nullptr),
                 "clEnqueueReadBuffer", error);
  }
  return Check(call.clEnqueueCopyBuffer(queue, ToHandle<Mem>(source), ToHandle<Mem>(target), from,
                                        to, bytes, 0, nullptr, nullptr),
               "clEnqueueCopyBuffer", error);
}

DLBridgeStatus Rectangle(const CopyJob& job, const CopyBox& box, DLBridgeError* error) {
  const Functions& call = g_opencl.call;
  Queue queue = QueueOf(job);
  const uint64_t source = job.from.buffer.handle;
  const uint64_t target = job.to.buffer.handle;
  const size_t from[3] = {job.from.on_host ? 0 : box.from_offset, 0, 0};
  const size_t to[3] = {job.to.on_host ? 0 : box.to_offset, 0, 0};
  const size_t region[3] = {box.bytes, box.rows, box.planes};
  if (job.from.on_host) {
    return Check(call.clEnqueueWriteBufferRect(
                     queue, ToHandle<Mem>(target), kFalse, to, from, region, box.to_row_pitch,
                     box.to_plane_pitch, box.from_row_pitch, box.from_plane_pitch,
                     ToHandle<const void*>(source + box.from_offset), 0, nullptr, nullptr),
                 "clEnqueueWriteBufferRect", error);
  }
  if (job.to.on_host) {
    return Check(call.clEnqueueReadBufferRect(
                     queue, ToHandle<Mem>(source), kFalse, from, to, region, box.from_row_pitch,
                     box.from_plane_pitch, box.to_row_pitch, box.to_plane_pitch,
                     ToHandle<void*>(target + box.to_offset), 0, nullptr, nullptr),
                 "clEnqueueReadBufferRect", error);
  }
  return Check(
      call.clEnqueueCopyBufferRect(queue, ToHandle<Mem>(source), ToHandle<Mem>(target), from, to,
                                   region, box.from_row_pitch, box.from_plane_pitch,
                                   box.to_row_pitch, box.to_plane_pitch, 0, nullptr, nullptr),
      "clEnqueueCopyBufferRect", error);
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

DLBridgeStatus Rows(const CopyJob& job, const CopyBox& box, DLBridgeError* error) {
  for (uint64_t row = 0; row < box.rows; ++row) {
    DLBRIDGE_TRY(Run(job, box.bytes, box.from_offset + row * box.from_row_pitch,
                     box.to_offset + row * box.to_row_pitch, error));
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus Plane(const CopyJob& job, const CopyBox& box, DLBridgeError* error) {
  return box.rows > 1 && IsRectangle(job, box) ? Rectangle(job, box, error) : Rows(job, box, error);
}

DLBridgeStatus Planes(const CopyJob& job, const CopyBox& box, DLBridgeError* error) {
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

DLBridgeStatus Box(const CopyJob& job, const CopyBox& box, DLBridgeError* error) {
  const bool whole = box.planes > 1 && IsRectangle(job, box) &&
                     ArePlanes(box.rows, box.from_row_pitch, box.from_plane_pitch) &&
                     ArePlanes(box.rows, box.to_row_pitch, box.to_plane_pitch);
  return whole ? Rectangle(job, box, error) : Planes(job, box, error);
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
  Context context = nullptr;
  DLBRIDGE_TRY(CheckSides(*job, error));
  DLBRIDGE_TRY(JobContext(*job, &context, error));
  DLBRIDGE_TRY(ChooseMemcpy(job, context, error));
  DLBRIDGE_TRY(ChooseQueue(job, context, error));
  const DLBridgeStatus status =
      job->state[kOwnQueue] != 0 ? DLBRIDGE_OK : OrderAfterEarlierWork(*job, error);
  if (status != DLBRIDGE_OK) {
    LetGo(job, nullptr);
  }
  return status;
}

DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  return box.rows == 1 ? Plane(*job, PlanesAsRows(box), error) : Box(*job, box, error);
}

DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error) {
  const DLBridgeStatus done = Check(g_opencl.call.clFinish(QueueOf(*job)), "clFinish", error);
  const DLBridgeStatus let_go = LetGo(job, done == DLBRIDGE_OK ? error : nullptr);
  return done != DLBRIDGE_OK ? done : let_go;
}

}  // namespace dlbridge::opencl
