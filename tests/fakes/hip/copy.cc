// SPDX-License-Identifier: Apache-2.0
// Copies of the fake: checked when they are enqueued, done when a wait requires them.
#include <cstring>

#include "state.h"

namespace fake_hip {
namespace {

struct Side {
  const void* pointer;
  size_t row_pitch;
  size_t plane_pitch;
};

struct Shape {
  size_t bytes;
  size_t rows;
  size_t planes;
};

size_t SpanOf(const Side& side, const Shape& shape) {
  return (shape.planes - 1) * side.plane_pitch + (shape.rows - 1) * side.row_pitch + shape.bytes;
}

// The bytes of a side, or NULL and the reason in `why` if the memory does not hold them.
char* BytesOf(const Side& side, const Shape& shape, bool device, std::string* why) {
  uintptr_t base = 0;
  const Allocation* found = FindAllocation(side.pointer, &base);
  const auto address = reinterpret_cast<uintptr_t>(side.pointer);
  if (device && (found == nullptr || found->kind == kFakeArray)) {
    *why = "a side that is no memory of a device";
    return nullptr;
  }
  if (!device && found != nullptr && found->kind == kFakeDevice) {
    *why = "memory of a device as the host's";
    return nullptr;
  }
  if (found == nullptr) {
    return static_cast<char*>(const_cast<void*>(side.pointer));
  }
  if (SpanOf(side, shape) > found->size - (address - base)) {
    *why = "a copy that leaves the allocation";
    return nullptr;
  }
  return found->bytes + (address - base);
}

struct Work {
  char* to;
  const char* from;
  Side to_side;
  Side from_side;
  Shape shape;
};

void Run(const Work& work) {
  for (size_t plane = 0; plane < work.shape.planes; ++plane) {
    for (size_t row = 0; row < work.shape.rows; ++row) {
      std::memcpy(work.to + plane * work.to_side.plane_pitch + row * work.to_side.row_pitch,
                  work.from + plane * work.from_side.plane_pitch + row * work.from_side.row_pitch,
                  work.shape.bytes);
    }
  }
}

hipError_t Copy(const Call& call, const Side& to, const Side& from, const Shape& shape,
                hipMemcpyKind kind, hipStream_t handle) {
  Stream* stream = FindStream(handle, "copy");
  if (stream == nullptr) {
    return call.Return(hipErrorContextIsDestroyed);
  }
  if (stream->capture != hipStreamCaptureStatusNone) {
    return call.Reject(hipErrorStreamCaptureUnsupported, "a copy that a graph would keep");
  }
  if (kind == hipMemcpyHostToHost || kind == hipMemcpyDefault) {
    return call.Reject(hipErrorInvalidMemcpyDirection, "a direction that says nothing");
  }
  std::string why;
  const bool to_device = kind != hipMemcpyDeviceToHost;
  const bool from_device = kind != hipMemcpyHostToDevice;
  char* to_bytes = BytesOf(to, shape, to_device, &why);
  char* from_bytes = BytesOf(from, shape, from_device, &why);
  if (to_bytes == nullptr || from_bytes == nullptr) {
    return call.Reject(hipErrorInvalidValue, why);
  }
  const Work work = {to_bytes, from_bytes, to, from, shape};
  Enqueue(stream, [work] { Run(work); });
  return call.Return(hipSuccess);
}

#if FAKE_HIP_LEVEL > 0
// Runtimes from 5.7 on reject a volume if the allocation has fewer bytes than this product of whole
// planes, although the copy leaves out the end of the last plane.
bool HoldsWholePlanes(const hipPitchedPtr& side, const hipExtent& extent) {
  uintptr_t base = 0;
  const Allocation* found = FindAllocation(side.ptr, &base);
  if (TheState().version < 50700000 || found == nullptr || side.xsize == 0 || side.ysize == 0) {
    return true;
  }
  const size_t plane = side.xsize * side.ysize;
  return plane * (found->size / plane) >= extent.width * extent.height * extent.depth;
}
#endif

bool IsPitch(size_t pitch, size_t bytes) { return pitch >= bytes && pitch < INT32_MAX; }

std::string Text(size_t number) { return std::to_string(number); }

}  // namespace
}  // namespace fake_hip

using fake_hip::Text;

extern "C" {

FAKE_EXPORT hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                      hipStream_t stream) {
  FAKE_CALL(hipMemcpyAsync, Text(bytes), Text(kind), fake_hip::NameOf(stream))
  return fake_hip::Copy(call, {to, 0, 0}, {from, 0, 0}, {bytes, 1, 1}, kind, stream);
}

FAKE_EXPORT hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from,
                                        size_t from_pitch, size_t width, size_t height,
                                        hipMemcpyKind kind, hipStream_t stream) {
  FAKE_CALL(hipMemcpy2DAsync, Text(to_pitch), Text(from_pitch), Text(width), Text(height),
            Text(kind), fake_hip::NameOf(stream))
  if (!fake_hip::IsPitch(to_pitch, width) || !fake_hip::IsPitch(from_pitch, width)) {
    return call.Reject(hipErrorInvalidPitchValue, "a pitch that holds no row");
  }
  return fake_hip::Copy(call, {to, to_pitch, 0}, {from, from_pitch, 0}, {width, height, 1}, kind,
                        stream);
}

#if FAKE_HIP_LEVEL > 0
FAKE_EXPORT hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* copy, hipStream_t stream) {
  FAKE_CALL(hipMemcpy3DAsync, Text(copy->extent.width), Text(copy->extent.height),
            Text(copy->extent.depth), Text(copy->kind), fake_hip::NameOf(stream))
  const hipPitchedPtr& to = copy->dstPtr;
  const hipPitchedPtr& from = copy->srcPtr;
  if (copy->srcArray != nullptr || copy->dstArray != nullptr) {
    return call.Reject(hipErrorInvalidValue, "an array and a pointer");
  }
  if (!fake_hip::IsPitch(to.pitch, copy->extent.width) ||
      !fake_hip::IsPitch(from.pitch, copy->extent.width)) {
    return call.Reject(hipErrorInvalidPitchValue, "a pitch that holds no row");
  }
  if (to.ysize < copy->extent.height || from.ysize < copy->extent.height) {
    return call.Reject(hipErrorInvalidValue, "planes that overlap");
  }
  if (!fake_hip::HoldsWholePlanes(to, copy->extent) ||
      !fake_hip::HoldsWholePlanes(from, copy->extent)) {
    return call.Return(hipErrorInvalidValue);
  }
  return fake_hip::Copy(call, {to.ptr, to.pitch, to.pitch * to.ysize},
                        {from.ptr, from.pitch, from.pitch * from.ysize},
                        {copy->extent.width, copy->extent.height, copy->extent.depth}, copy->kind,
                        stream);
}
#endif

}  // extern "C"
