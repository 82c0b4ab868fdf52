// SPDX-License-Identifier: Apache-2.0
// Copies of HIP: boxes on one stream, which is synchronised at the end.
//
// A job without a stream gets one of the library's, which does not wait for other streams. The
// default stream cannot be used: a capture anywhere in the process forbids copies on it. The
// library keeps such streams per device; each job has one for itself.
#include "device/handle_pool.h"
#include "device/hip/capture.h"
#include "support/checked.h"

namespace dlbridge::hip {
namespace {

constexpr int32_t kPooledDevices = 32;
HandlePool g_streams[kPooledDevices];

// The contents of CopyJob::state, by index.
enum : uint8_t { kStream, kDevice, kOwned };

Stream StreamOf(const CopyJob& job) {
  return reinterpret_cast<Stream>(static_cast<uintptr_t>(job.state[kStream]));
}

int32_t DeviceOfJob(const CopyJob& job) { return static_cast<int32_t>(job.state[kDevice]); }

DLBridgeStatus EnterForJob(const CopyJob& job, DeviceScope* scope, DLBridgeError* error) {
  return EnterFor(job.state[kStream], DeviceOfJob(job), scope, error);
}

int32_t KindOf(const CopyJob& job) {
  if (job.from.on_host) {
    return kHostToDevice;
  }
  return job.to.on_host ? kDeviceToHost : kDeviceToDevice;
}

DLBridgeStatus BorrowStream(CopyJob* job, DLBridgeError* error) {
  DeviceScope scope;
  DLBRIDGE_TRY(CheckHandle(job->stream, "spec.stream", error));
  DLBRIDGE_TRY(RequireNoCapture(job->stream, "spec.stream", &scope, error));
  job->state[kStream] = job->stream.handle;
  job->state[kDevice] = static_cast<uint32_t>(job->stream.device.device_id);
  return scope.Leave(error);
}

DLBridgeStatus TakeStream(CopyJob* job, DLBridgeError* error) {
  const CopySide& side = job->to.on_host ? job->from : job->to;
  const int32_t device = side.device.device_id;
  DLBRIDGE_TRY(CheckDevice(device, job->to.on_host ? "source" : "spec.target", error));
  Stream stream = device < kPooledDevices ? g_streams[device].Take() : nullptr;
  if (stream == nullptr) {
    DLBRIDGE_TRY(CreateStream(device, &stream, error));
  }
  job->state[kStream] = reinterpret_cast<uintptr_t>(stream);
  job->state[kDevice] = static_cast<uint32_t>(device);
  job->state[kOwned] = 1;
  return DLBRIDGE_OK;
}

// A stream whose work failed is not reused.
void GiveStream(const CopyJob& job, bool reusable) {
  const int32_t device = DeviceOfJob(job);
  if (job.state[kOwned] != 0 &&
      (!reusable || device >= kPooledDevices || !g_streams[device].Give(StreamOf(job)))) {
    DestroyStream(StreamOf(job));
  }
}

// Rows and planes of a box at absolute addresses, with the pitches that CopyBox guarantees.
struct Region {
  uint64_t to;
  uint64_t from;
  uint64_t bytes;
  uint64_t rows;
  uint64_t planes;
  uint64_t to_row_pitch;
  uint64_t from_row_pitch;
  uint64_t to_plane_pitch;
  uint64_t from_plane_pitch;
};

void* ToPointer(uint64_t address) { return reinterpret_cast<void*>(address); }

DLBridgeStatus CopyRun(const CopyJob& job, uint64_t to, uint64_t from, uint64_t bytes,
                       DLBridgeError* error) {
  DLBRIDGE_HIP_TRY(hipMemcpyAsync, ToPointer(to), ToPointer(from), bytes, KindOf(job),
                   StreamOf(job));
  return DLBRIDGE_OK;
}

DLBridgeStatus CopyPlane(const CopyJob& job, const Region& region, DLBridgeError* error) {
  uint64_t whole = 0;
  const bool compact = region.to_row_pitch == region.bytes && region.from_row_pitch == region.bytes;
  if ((compact || region.rows == 1) && !MulOverflows(region.bytes, region.rows, &whole)) {
    return CopyRun(job, region.to, region.from, whole, error);
  }
  DLBRIDGE_HIP_TRY(hipMemcpy2DAsync, ToPointer(region.to), region.to_row_pitch,
                   ToPointer(region.from), region.from_row_pitch, region.bytes, region.rows,
                   KindOf(job), StreamOf(job));
  return DLBRIDGE_OK;
}

// The runtime counts the plane pitch in rows.
PitchedPointer Pitched(uint64_t address, const Region& region, uint64_t row_pitch,
                       uint64_t plane_pitch) {
  return {ToPointer(address), row_pitch, region.bytes, plane_pitch / row_pitch};
}

DLBridgeStatus CopyPlanes(const CopyJob& job, const Region& region, DLBridgeError* error) {
  Region plane = region;
  for (uint64_t i = 0; i < region.planes; ++i) {
    DLBRIDGE_TRY(CopyPlane(job, plane, error));
    plane.to += region.to_plane_pitch;
    plane.from += region.from_plane_pitch;
  }
  return DLBRIDGE_OK;
}

// Runtimes from 5.7 on reject volumes with a row pitch of 2^31-1 or more than the largest
// allocation, and volumes whose allocation ends before the full pitch of the last plane. They
// accept each plane alone.
bool IsRejectedVolume(Result code) { return code == kInvalidValue || code == kInvalidPitchValue; }

DLBridgeStatus CopyVolume(const CopyJob& job, const Region& region, DLBridgeError* error) {
  Copy3D copy = {};
  copy.to = Pitched(region.to, region, region.to_row_pitch, region.to_plane_pitch);
  copy.from = Pitched(region.from, region, region.from_row_pitch, region.from_plane_pitch);
  copy.extent = {region.bytes, region.rows, region.planes};
  copy.kind = KindOf(job);
  const Result code = g_hip.driver.hipMemcpy3DAsync(&copy, StreamOf(job));
  if (DLBRIDGE_LIKELY(code == kSuccess)) {
    return DLBRIDGE_OK;
  }
  if (!IsRejectedVolume(code)) {
    return RejectCall(error, "hipMemcpy3DAsync", code);
  }
  g_hip.driver.hipGetLastError();
  return CopyPlanes(job, region, error);
}

// Planes of one row are the rows of one plane.
Region RegionOf(const CopyJob& job, const CopyBox& box) {
  const bool flat = box.rows == 1;
  return {job.to.buffer.handle + box.to_offset,
          job.from.buffer.handle + box.from_offset,
          box.bytes,
          flat ? box.planes : box.rows,
          flat ? 1 : box.planes,
          flat ? box.to_plane_pitch : box.to_row_pitch,
          flat ? box.from_plane_pitch : box.from_row_pitch,
          box.to_plane_pitch,
          box.from_plane_pitch};
}

}  // namespace

DLBridgeStatus CopyBegin(CopyJob* job, DLBridgeError* error) {
  job->state[kOwned] = 0;
  if (!job->to.on_host) {  // the copy has the label of its target
    DLBRIDGE_TRY(CheckDevice(job->to.device.device_id, "spec.target", error));
  }
  return job->stream.kind == DLBRIDGE_STREAM_QUEUE ? BorrowStream(job, error)
                                                   : TakeStream(job, error);
}

DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error) {
  if (box.bytes == 0 || box.rows == 0 || box.planes == 0) {
    return DLBRIDGE_OK;
  }
  DeviceScope scope;
  DLBRIDGE_TRY(EnterForJob(*job, &scope, error));
  const Region region = RegionOf(*job, box);
  const bool volume = region.planes > 1 && g_hip.driver.hipMemcpy3DAsync != nullptr;
  DLBRIDGE_TRY(volume ? CopyVolume(*job, region, error) : CopyPlanes(*job, region, error));
  return scope.Leave(error);
}

DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error) {
  job->unfinished = true;
  DeviceScope scope;
  DLBRIDGE_TRY(EnterForJob(*job, &scope, error));
  const DLBridgeStatus status = WaitFor(StreamOf(*job), DeviceOfJob(*job), &scope, error);
  job->unfinished = status != DLBRIDGE_OK;
  GiveStream(*job, status == DLBRIDGE_OK);
  return status == DLBRIDGE_OK ? scope.Leave(error) : status;
}

DLBridgeStatus CopySubmit(CopyJob* job, StreamMark* out, DLBridgeError* error) {
  const DLBridgeStatus status = Mark(job->stream, "spec.stream", out, error);
  if (status != DLBRIDGE_OK) {
    static_cast<void>(CopyFinish(job, nullptr));
  }
  return status;
}

}  // namespace dlbridge::hip
