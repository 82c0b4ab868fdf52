// SPDX-License-Identifier: Apache-2.0
// The copies of the fake: each side must be of the stated kind and inside its allocation.
#include <cstring>

#include "state.h"

namespace fake_cuda {
namespace {

// One side of a copy, as bytes that the fake reaches.
struct Side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  const Context* context;  // named by the caller, or NULL
  unsigned char* bytes = nullptr;
};

struct Shape {
  size_t width;
  size_t height;
  size_t depth;
};

struct Pitch {
  size_t row;
  size_t plane_rows;
};

size_t Span(const Shape& shape, const Pitch& pitch) {
  return (shape.depth - 1) * pitch.plane_rows * pitch.row + (shape.height - 1) * pitch.row +
         shape.width;
}

CUresult ResolveHost(Side* side, const std::string& function) {
  FAKE_REQUIRE(side->device == 0, CUDA_ERROR_INVALID_VALUE,
               function + " with a device's address beside that of the host");
  const auto address = reinterpret_cast<CUdeviceptr>(side->host);
  const Memory* memory = FindMemory(address);
  const bool reachable =
      memory == nullptr || address - reinterpret_cast<CUdeviceptr>(memory->bytes) < memory->size;
  FAKE_REQUIRE(reachable, CUDA_ERROR_INVALID_VALUE,
               function + " of a device's address as one of the host");
  side->bytes = static_cast<unsigned char*>(const_cast<void*>(side->host));
  return CUDA_SUCCESS;
}

bool IsMappedUpTo(const Memory& memory, size_t offset, size_t span) {
  const size_t end = offset + span;
  while (offset < end) {
    const Piece* piece = FindPiece(memory, offset);
    if (piece == nullptr) {
      return false;
    }
    offset = memory.kind == Kind::kMapped ? piece->offset + piece->size : end;
  }
  return true;
}

CUresult ResolveDevice(Side* side, size_t span, const std::string& function) {
  const Memory* memory = FindMemory(side->device);
  FAKE_REQUIRE(memory != nullptr, CUDA_ERROR_INVALID_VALUE,
               function + " of an address that no device knows");
  const size_t offset = side->device - memory->address;
  FAKE_REQUIRE(IsReachable(*memory, offset, span), CUDA_ERROR_INVALID_VALUE,
               function + " leaves its allocation, or the memory that is accessible");
  FAKE_REQUIRE(memory->reservation != nullptr || IsMappedUpTo(*memory, offset, span),
               CUDA_ERROR_INVALID_VALUE, function + " of memory that is not mapped");
  const bool owned = memory->context != nullptr;
  FAKE_REQUIRE(side->context == nullptr || (owned ? side->context == memory->context
                                                  : side->context->device == memory->device),
               CUDA_ERROR_INVALID_VALUE, function + " with another context than the memory's");
  side->bytes = memory->bytes + offset;
  return CUDA_SUCCESS;
}

CUresult Resolve(Side* side, size_t span, const std::string& function) {
  FAKE_REQUIRE(side->type == CU_MEMORYTYPE_HOST || side->type == CU_MEMORYTYPE_DEVICE,
               CUDA_ERROR_INVALID_VALUE, function + " of another kind than host or device");
  return side->type == CU_MEMORYTYPE_HOST ? ResolveHost(side, function)
                                          : ResolveDevice(side, span, function);
}

int DeviceOf(const Side& side) {
  const Memory* memory = side.type == CU_MEMORYTYPE_DEVICE ? FindMemory(side.device) : nullptr;
  return memory != nullptr ? memory->device : -1;
}

const Context* OwnerOf(const Side& side) {
  const Memory* memory = side.type == CU_MEMORYTYPE_DEVICE ? FindMemory(side.device) : nullptr;
  return memory != nullptr ? memory->context : nullptr;
}

CUresult CheckPitch(const Shape& shape, const Pitch& pitch, const std::string& function) {
  FAKE_REQUIRE(shape.height == 1 || pitch.row >= shape.width, CUDA_ERROR_INVALID_VALUE,
               function + " with a pitch that is less than the width");
  FAKE_REQUIRE(shape.height == 1 || pitch.row <= kMaxPitch, CUDA_ERROR_INVALID_VALUE,
               function + " with a pitch above the device's limit");
  FAKE_REQUIRE(shape.depth == 1 || pitch.plane_rows >= shape.height, CUDA_ERROR_INVALID_VALUE,
               function + " with planes that overlap");
  return CUDA_SUCCESS;
}

void CopyBytes(const Side& to, const Pitch& to_pitch, const Side& from, const Pitch& from_pitch,
               const Shape& shape) {
  for (size_t z = 0; z < shape.depth; ++z) {
    for (size_t y = 0; y < shape.height; ++y) {
      std::memcpy(to.bytes + (z * to_pitch.plane_rows + y) * to_pitch.row,
                  from.bytes + (z * from_pitch.plane_rows + y) * from_pitch.row, shape.width);
    }
  }
}

struct Request {
  Side to;
  Pitch to_pitch;
  Side from;
  Pitch from_pitch;
  Shape shape;
  bool peer;
};

// Within a device the driver may refuse pitches that cuMemAllocPitch did not compute.
bool IsRefusedPitch(const Request& request) {
  const bool one_device =
      DeviceOf(request.to) >= 0 && DeviceOf(request.to) == DeviceOf(request.from);
  const bool computed =
      request.to_pitch.row % kPitchStep == 0 && request.from_pitch.row % kPitchStep == 0;
  return one_device && !computed && (request.shape.height > 1 || request.shape.depth > 1);
}

CUresult CheckRequest(Request* request, const std::string& function) {
  FAKE_REQUIRE(request->shape.width > 0 && request->shape.height > 0 && request->shape.depth > 0,
               CUDA_ERROR_INVALID_VALUE, function + " of nothing");
  CUresult result = CheckPitch(request->shape, request->to_pitch, function);
  result =
      result != CUDA_SUCCESS ? result : CheckPitch(request->shape, request->from_pitch, function);
  result = result != CUDA_SUCCESS
               ? result
               : Resolve(&request->to, Span(request->shape, request->to_pitch), function);
  result = result != CUDA_SUCCESS
               ? result
               : Resolve(&request->from, Span(request->shape, request->from_pitch), function);
  if (result != CUDA_SUCCESS) {
    return result;
  }
  const Context* to = OwnerOf(request->to);
  const Context* from = OwnerOf(request->from);
  FAKE_REQUIRE(request->peer || to == nullptr || from == nullptr || to == from,
               CUDA_ERROR_INVALID_VALUE, function + " between two contexts");
  return CUDA_SUCCESS;
}

CUresult Copy(Request request, CUstream handle, const std::string& function) {
  Stream* stream = FindStream(handle, function.c_str());
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  FAKE_REQUIRE(stream->context == Current(), CUDA_ERROR_INVALID_HANDLE,
               function + " on a stream of another context than the current one");
  FAKE_REQUIRE(stream->capture == CU_STREAM_CAPTURE_STATUS_NONE,
               CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, function + " on a stream that is capturing");
  FAKE_UNSAFE(function.c_str());
  const CUresult result = CheckRequest(&request, function);
  if (result == CUDA_SUCCESS && IsRefusedPitch(request)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (result == CUDA_SUCCESS) {
    Enqueue(stream, [=] {
      CopyBytes(request.to, request.to_pitch, request.from, request.from_pitch, request.shape);
    });
  }
  return result;
}

Side Host(const void* address) { return {CU_MEMORYTYPE_HOST, address, 0, nullptr}; }
Side OnDevice(CUdeviceptr address) { return {CU_MEMORYTYPE_DEVICE, nullptr, address, nullptr}; }

// The fields that CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER share.
template <class Parameters>
CUresult CopyBox(const Parameters& p, bool peer, const Context* to, const Context* from,
                 CUstream stream, const std::string& function) {
  FAKE_REQUIRE(p.srcXInBytes == 0 && p.srcY == 0 && p.srcZ == 0 && p.srcLOD == 0 &&
                   p.dstXInBytes == 0 && p.dstY == 0 && p.dstZ == 0 && p.dstLOD == 0 &&
                   p.srcArray == nullptr && p.dstArray == nullptr,
               CUDA_ERROR_INVALID_VALUE, function + " with offsets or arrays");
  return Copy({{p.dstMemoryType, p.dstHost, p.dstDevice, to},
               {p.dstPitch, p.dstHeight},
               {p.srcMemoryType, p.srcHost, p.srcDevice, from},
               {p.srcPitch, p.srcHeight},
               {p.WidthInBytes, p.Height, p.Depth},
               peer},
              stream, function);
}

}  // namespace
}  // namespace fake_cuda

using fake_cuda::Host;
using fake_cuda::OnDevice;

extern "C" {

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t size,
                                      CUstream stream) {
  FAKE_CALL("cuMemcpyHtoDAsync_v2", kContext);
  return fake_cuda::Copy({OnDevice(to), {size, 1}, Host(from), {size, 1}, {size, 1, 1}, false},
                         stream, "cuMemcpyHtoDAsync");
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t size, CUstream stream) {
  FAKE_CALL("cuMemcpyDtoHAsync_v2", kContext);
  return fake_cuda::Copy({Host(to), {size, 1}, OnDevice(from), {size, 1}, {size, 1, 1}, false},
                         stream, "cuMemcpyDtoHAsync");
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size,
                                      CUstream stream) {
  FAKE_CALL("cuMemcpyDtoDAsync_v2", kContext);
  return fake_cuda::Copy({OnDevice(to), {size, 1}, OnDevice(from), {size, 1}, {size, 1, 1}, false},
                         stream, "cuMemcpyDtoDAsync");
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                   CUcontext from_context, size_t size, CUstream stream) {
  FAKE_CALL("cuMemcpyPeerAsync", kContext);
  fake_cuda::Side target = OnDevice(to);
  fake_cuda::Side source = OnDevice(from);
  target.context = fake_cuda::FindContext(to_context, "cuMemcpyPeerAsync");
  source.context = fake_cuda::FindContext(from_context, "cuMemcpyPeerAsync");
  if (target.context == nullptr || source.context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return fake_cuda::Copy({target, {size, 1}, source, {size, 1}, {size, 1, 1}, true}, stream,
                         "cuMemcpyPeerAsync");
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* p, CUstream stream) {
  FAKE_CALL("cuMemcpy2DAsync_v2", kContext);
  FAKE_REQUIRE(p->srcXInBytes == 0 && p->srcY == 0 && p->dstXInBytes == 0 && p->dstY == 0 &&
                   p->srcArray == nullptr && p->dstArray == nullptr,
               CUDA_ERROR_INVALID_VALUE, "cuMemcpy2DAsync with offsets or arrays");
  return fake_cuda::Copy({{p->dstMemoryType, p->dstHost, p->dstDevice, nullptr},
                          {p->dstPitch, p->Height},
                          {p->srcMemoryType, p->srcHost, p->srcDevice, nullptr},
                          {p->srcPitch, p->Height},
                          {p->WidthInBytes, p->Height, 1},
                          false},
                         stream, "cuMemcpy2DAsync");
}

CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* p, CUstream stream) {
  FAKE_CALL("cuMemcpy3DAsync_v2", kContext);
  FAKE_REQUIRE(p->reserved0 == nullptr && p->reserved1 == nullptr, CUDA_ERROR_INVALID_VALUE,
               "cuMemcpy3DAsync with something in what is reserved");
  return fake_cuda::CopyBox(*p, false, nullptr, nullptr, stream, "cuMemcpy3DAsync");
}

CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* p, CUstream stream) {
  FAKE_CALL("cuMemcpy3DPeerAsync", kContext);
  const auto* to = fake_cuda::FindContext(p->dstContext, "cuMemcpy3DPeerAsync");
  const auto* from = fake_cuda::FindContext(p->srcContext, "cuMemcpy3DPeerAsync");
  if (to == nullptr || from == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return fake_cuda::CopyBox(*p, true, to, from, stream, "cuMemcpy3DPeerAsync");
}
}
