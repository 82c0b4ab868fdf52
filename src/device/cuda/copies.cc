// SPDX-License-Identifier: Apache-2.0
// Copies of CUDA: rows, rectangles and boxes, to and from the host and between devices.
//
// Without a stream of the caller, a copy gets its own. Its stream does not wait for the legacy
// default stream, so the copy also works while another stream is capturing a graph.
#include "describe/device.h"
#include "device/cuda/events.h"
#include "device/cuda/internal.h"

namespace dlbridge::cuda {
namespace {

// CopyJob::state, by index.
enum : uint32_t { kContext, kStream, kOwnStream, kFromContext, kToContext, kPitchLimit };

template <class Handle>
Handle StateOf(const CopyJob& job, uint32_t index) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(job.state[index]));
}

void SetState(CopyJob* job, uint32_t index, const void* handle) {
  job->state[index] = reinterpret_cast<uintptr_t>(handle);
}

Stream StreamOf(const CopyJob& job) { return StateOf<Stream>(job, kStream); }

// Memory of pools and of cuMemMap belongs to no context: use the device's.
DLBridgeStatus ContextOfSide(const CopySide& side, const char* argument, Context* context,
                             PointerFacts* out, DLBridgeError* error) {
  DLBRIDGE_TRY(AskFacts(side.buffer.handle, out, error));
  const PointerFacts& facts = *out;
  if (facts.type == 0 && !IsUnmapped(facts)) {
    return RejectArgument(error, argument,
                          "is not known to CUDA in this process: expected memory that CUDA "
                          "allocated or registered here");
  }
  if (IsUnmapped(facts)) {
    return RejectArgument(error, argument,
                          "is virtual memory that is reserved but not mapped: map memory there "
                          "first (cuMemMap)");
  }
  *context = facts.context;
  return facts.context != nullptr ? DLBRIDGE_OK
                                  : ContextOfDevice(facts.ordinal, argument, context, error);
}

uint64_t PitchLimitOf(int32_t ordinal) {
  return ordinal >= 0 && ordinal < g_cuda.device_count ? g_cuda.devices[ordinal].max_pitch : 0;
}

// The copy has the label of its target.
DLBridgeStatus CheckTarget(const CopySide& side, const PointerFacts& facts, DLBridgeError* error) {
  const int32_t label = side.device.device_id;
  const bool placed = facts.type == kMemoryDevice && facts.managed == 0 && facts.ordinal >= 0;
  return !placed || TypeOf(side.device) != kDLCUDA || label == facts.ordinal
             ? DLBRIDGE_OK
             : Reject(error, {DLBRIDGE_RULE_DEVICE_LABEL, kNoAxis, MemoryFact(0, kDLCUDA, label),
                              MemoryFact(DLBRIDGE_MEMORY_DEVICE, kDLCUDA, facts.ordinal)});
}

DLBridgeStatus FindSides(CopyJob* job, DLBridgeError* error) {
  Context context = nullptr;
  PointerFacts facts = {0, 0, -1, nullptr, 0, 0, 1};
  if (!job->from.on_host) {
    DLBRIDGE_TRY(ContextOfSide(job->from, "source", &context, &facts, error));
    SetState(job, kFromContext, context);
  }
  if (!job->to.on_host) {
    DLBRIDGE_TRY(ContextOfSide(job->to, "spec.target", &context, &facts, error));
    DLBRIDGE_TRY(CheckTarget(job->to, facts, error));
    SetState(job, kToContext, context);
  }
  SetState(job, kContext, context);
  job->state[kPitchLimit] = PitchLimitOf(facts.ordinal);
  return DLBRIDGE_OK;
}

// Uses the relaxed capture mode, which permits calls that a capture in another stream would forbid,
// such as copies that the driver makes synchronous.
template <class Body>
DLBridgeStatus InJob(const CopyJob& job, DLBridgeError* error, const Body& body) {
  return InContext(StateOf<Context>(job, kContext), error,
                   [&] { return WhileCapturing(error, body); });
}

DLBridgeStatus OwnStream(CopyJob* job, DLBridgeError* error) {
  Stream stream = nullptr;
  const DLBridgeStatus status = InJob(*job, error, [&] {
    return Check(g_cuda.driver.stream_create(&stream, kStreamNonBlocking), "cuStreamCreate", error);
  });
  if (status != DLBRIDGE_OK && stream != nullptr) {
    InJob(*job, nullptr,
          [&] { return Check(g_cuda.driver.stream_destroy(stream), "cuStreamDestroy", nullptr); });
  }
  SetState(job, kStream, stream);
  job->state[kOwnStream] = 1;
  return status;
}

DLBridgeStatus CallersStream(CopyJob* job, DLBridgeError* error) {
  Context context = nullptr;
  DLBRIDGE_TRY(ContextOfStream(job->stream, "spec.stream", &context, error));
  SetState(job, kContext, context);
  SetState(job, kStream, HandleOf(job->stream));
  return InContext(context, error, [&] { return CheckStream(job->stream, "spec.stream", error); });
}

// One rectangle or box, with the addresses of its first bytes.
struct Part {
  uint64_t from;
  uint64_t to;
  CopyBox box;
};

template <class Pointer>
Pointer HostPointer(uint64_t address) {
  return reinterpret_cast<Pointer>(address);
}

bool IsPeer(const CopyJob& job) {
  return !job.from.on_host && !job.to.on_host && job.state[kFromContext] != job.state[kToContext];
}

DLBridgeStatus CopyRow(const CopyJob& job, uint64_t from, uint64_t to, uint64_t bytes,
                       DLBridgeError* error) {
  const Driver& driver = g_cuda.driver;
  if (job.from.on_host) {
    return Check(driver.memcpy_htod_async(to, HostPointer<const void*>(from), bytes, StreamOf(job)),
                 "cuMemcpyHtoDAsync", error);
  }
  if (job.to.on_host) {
    return Check(driver.memcpy_dtoh_async(HostPointer<void*>(to), from, bytes, StreamOf(job)),
                 "cuMemcpyDtoHAsync", error);
  }
  if (IsPeer(job)) {
    return Check(
        driver.memcpy_peer_async(to, StateOf<Context>(job, kToContext), from,
                                 StateOf<Context>(job, kFromContext), bytes, StreamOf(job)),
        "cuMemcpyPeerAsync", error);
  }
  return Check(driver.memcpy_dtod_async(to, from, bytes, StreamOf(job)), "cuMemcpyDtoDAsync",
               error);
}

// Sets the members that the structs of 2D and 3D copies share.
template <class Copy>
Copy Rectangle(const CopyJob& job, const Part& part) {
  Copy copy = {};
  copy.src_type = job.from.on_host ? kMemoryHost : kMemoryDevice;
  copy.src_host = job.from.on_host ? HostPointer<const void*>(part.from) : nullptr;
  copy.src_device = job.from.on_host ? 0 : part.from;
  copy.src_pitch = part.box.from_row_pitch;
  copy.dst_type = job.to.on_host ? kMemoryHost : kMemoryDevice;
  copy.dst_host = job.to.on_host ? HostPointer<void*>(part.to) : nullptr;
  copy.dst_device = job.to.on_host ? 0 : part.to;
  copy.dst_pitch = part.box.to_row_pitch;
  copy.width = part.box.bytes;
  copy.height = part.box.rows;
  return copy;
}

// A call of the driver that was made.
struct Called {
  Result result;
  const char* name;
};

Called CopyPlane(const CopyJob& job, const Part& part) {
  const auto copy = Rectangle<Copy2D>(job, part);
  return {g_cuda.driver.memcpy_2d_async(&copy, StreamOf(job)), "cuMemcpy2DAsync"};
}

// The driver counts the plane pitch in rows.
Called CopyVolume(const CopyJob& job, const Part& part) {
  auto copy = Rectangle<Copy3D>(job, part);
  const bool flat = part.box.planes == 1;
  copy.src_height = flat ? part.box.rows : part.box.from_plane_pitch / part.box.from_row_pitch;
  copy.dst_height = flat ? part.box.rows : part.box.to_plane_pitch / part.box.to_row_pitch;
  copy.depth = part.box.planes;
  if (!IsPeer(job)) {
    return {g_cuda.driver.memcpy_3d_async(&copy, StreamOf(job)), "cuMemcpy3DAsync"};
  }
  copy.src_context = StateOf<Context>(job, kFromContext);
  copy.dst_context = StateOf<Context>(job, kToContext);
  return {g_cuda.driver.memcpy_3d_peer_async(&copy, StreamOf(job)), "cuMemcpy3DPeerAsync"};
}

// Rows of a rectangle must not overlap, and the pitch must not exceed the device's limit.
bool IsPitch(uint64_t pitch, uint64_t bytes, uint64_t limit) {
  return pitch >= bytes && pitch <= limit;
}

bool IsRectangle(const CopyJob& job, const CopyBox& box) {
  const uint64_t limit = job.state[kPitchLimit];
  return !job.rows_alone && IsPitch(box.from_row_pitch, box.bytes, limit) &&
         IsPitch(box.to_row_pitch, box.bytes, limit);
}

bool IsWholeRows(uint64_t plane_pitch, uint64_t row_pitch, uint64_t rows) {
  return plane_pitch % row_pitch == 0 && plane_pitch / row_pitch >= rows;
}

bool IsVolume(const CopyBox& box) {
  return IsWholeRows(box.from_plane_pitch, box.from_row_pitch, box.rows) &&
         IsWholeRows(box.to_plane_pitch, box.to_row_pitch, box.rows);
}

// Addresses wrap as unsigned numbers, so negative pitches work too.
DLBridgeStatus CopyRows(const CopyJob& job, const Part& part, DLBridgeError* error) {
  for (uint64_t row = 0; row < part.box.rows; ++row) {
    DLBRIDGE_TRY(CopyRow(job, part.from + row * part.box.from_row_pitch,
                         part.to + row * part.box.to_row_pitch, part.box.bytes, error));
  }
  return DLBRIDGE_OK;
}

// Between addresses of devices, the driver may refuse pitches that cuMemAllocPitch did not compute.
// Nothing was enqueued then, and rows are never refused.
bool IsRefused(const CopyJob& job, const Called& called) {
  return called.result == kInvalidValue && !job.from.on_host && !job.to.on_host;
}

DLBridgeStatus CopyOnePlane(CopyJob* job, const Part& part, DLBridgeError* error) {
  if (part.box.rows == 1 || !IsRectangle(*job, part.box)) {
    return CopyRows(*job, part, error);
  }
  const Called called = IsPeer(*job) ? CopyVolume(*job, part) : CopyPlane(*job, part);
  if (IsRefused(*job, called)) {
    job->rows_alone = true;
    return CopyRows(*job, part, error);
  }
  return Check(called.result, called.name, error);
}

DLBridgeStatus CopyPlanes(CopyJob* job, Part part, DLBridgeError* error) {
  const uint64_t planes = part.box.planes;
  part.box.planes = 1;
  for (uint64_t plane = 0; plane < planes; ++plane) {
    DLBRIDGE_TRY(CopyOnePlane(job, part, error));
    part.from += part.box.from_plane_pitch;
    part.to += part.box.to_plane_pitch;
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CopyAll(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  const Part part = {job->from.buffer.handle + box.from_offset,
                     job->to.buffer.handle + box.to_offset, box};
  if (box.planes > 1 && IsRectangle(*job, box) && IsVolume(box)) {
    const Called called = CopyVolume(*job, part);
    if (!IsRefused(*job, called)) {
      return Check(called.result, called.name, error);
    }
    job->rows_alone = true;
  }
  return CopyPlanes(job, part, error);
}

}  // namespace

DLBridgeStatus CopyBegin(CopyJob* job, DLBridgeError* error) {
  for (uint64_t& value : job->state) {
    value = 0;
  }
  DLBRIDGE_TRY(FindSides(job, error));
  return job->stream.kind == DLBRIDGE_STREAM_QUEUE ? CallersStream(job, error)
                                                   : OwnStream(job, error);
}

DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  if (box.bytes == 0 || box.rows == 0 || box.planes == 0) {
    return DLBRIDGE_OK;
  }
  return InJob(*job, error, [&] { return CopyAll(job, box, error); });
}

DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error) {
  job->unfinished = true;
  return InJob(*job, error, [&] {
    const Result waited = g_cuda.driver.stream_synchronize(StreamOf(*job));
    job->unfinished = waited != kSuccess;
    const Result ended =
        job->state[kOwnStream] != 0 ? g_cuda.driver.stream_destroy(StreamOf(*job)) : kSuccess;
    DLBRIDGE_TRY(Check(waited, "cuStreamSynchronize", error));
    return Check(ended, "cuStreamDestroy", error);
  });
}

DLBridgeStatus CopySubmit(CopyJob* job, StreamMark* out, DLBridgeError* error) {
  *out = {};
  const DLBridgeStatus status = InJob(*job, error, [&] {
    return MarkStream(StateOf<Context>(*job, kContext), StreamOf(*job), out, error);
  });
  if (status != DLBRIDGE_OK) {
    MarkFree(*out);
    *out = {};
    CopyFinish(job, nullptr);
  }
  return status;
}

}  // namespace dlbridge::cuda
