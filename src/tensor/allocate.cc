// SPDX-License-Identifier: Apache-2.0
#include "tensor/allocate.h"

#include "describe/boundary.h"
#include "describe/known_values.h"
#include "describe/required.h"
#include "support/load.h"
#include "support/memory.h"
#include "tensor/ipc_host.h"
#include "tensor/options.h"
#include "validate/rules.h"

namespace dlbridge {
namespace {

// Payloads up to this size are allocated inline after the node: a separate aligned allocation takes
// several times as long as the rest of a small tensor.
constexpr uint64_t kMostInside = 512;

// The bytes after the tail of a node that also holds the tensor's memory; 0 if the memory is
// allocated separately. If it is not 0, `shape` has the extents that the bytes were computed from:
// the caller's array may change meanwhile.
uint64_t RoomInside(const NewTensor& tensor, int64_t* shape) {
  if (tensor.allocator != nullptr || tensor.shareable || tensor.alignment > kDefaultAlignment) {
    return 0;
  }
  uint64_t bits = ItemBits(tensor.dtype, tensor.flags);
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    shape[i] = Load(tensor.shape + i);
    if (MulOverflows(bits, shape[i], &bits)) {
      return 0;
    }
  }
  const uint64_t bytes = bits / 8 + (bits % 8 != 0 ? 1 : 0);
  return bytes != 0 && bytes <= kMostInside ? bytes + tensor.alignment - 1 : 0;
}

void* AlignUp(void* memory, uint64_t alignment) {
  const auto address = reinterpret_cast<uintptr_t>(memory) + (alignment - 1);
  return reinterpret_cast<void*>(address & ~(alignment - 1));
}

// Allocates the tensor's memory and fills the tail; false if there is no memory. `room` is the
// number of bytes after the tail.
bool AcquireMemory(const NewTensor& tensor, uint64_t bytes, uint64_t room, AllocationTail* tail) {
  *tail = {nullptr, room != 0, bytes, tensor.alignment, tensor.device, nullptr, nullptr};
  if (bytes == 0) {
    return true;
  }
  if (room != 0) {
    tail->memory = AlignUp(tail + 1, tensor.alignment);
  } else if (tensor.allocator == nullptr) {
    tail->memory = AllocateAligned(tensor.alignment, bytes);
  } else {
    tail->context = tensor.allocator->context;
    tail->deallocate = tensor.allocator->deallocate;
    tail->memory = tensor.allocator->allocate(tail->context, tensor.device, bytes, tensor.alignment,
                                              tensor.stream);
  }
  return tail->memory != nullptr;
}

// The memory of a tensor that is stored inline.
struct Inside {
  uint64_t room;         // 0: the memory is allocated separately
  const int64_t* shape;  // the extents that `room` was computed from
};

// Writes shape and compact strides to the node and computes the size. RoomInside has already
// checked the size of a tensor that is stored inline.
DLBridgeStatus PlaceAxes(const NewTensor& tensor, const Inside& inside, Node* node, int64_t* bytes,
                         DLBridgeError* error) {
  if (inside.room != 0) {
    CopyAxes(tensor.ndim, inside.shape, nullptr, node->shape(), node->strides());
    *bytes = static_cast<int64_t>(inside.room - (tensor.alignment - 1));
    return DLBRIDGE_OK;
  }
  Extent extent =
      ScanTensor<true>(tensor.ndim, tensor.shape, nullptr, node->shape(), node->strides());
  ByteExtent reach;
  FirstBroken sink(error);
  if (CheckExtent(tensor.ndim, node->shape(), nullptr, ItemBits(tensor.dtype, tensor.flags),
                  &extent, &reach, &sink)) {
    *bytes = reach.packed;
  }
  return sink.status();
}

DLBridgeStatus FillAllocated(const NewTensor& tensor, const Inside& inside, Node* node,
                             DLBridgeError* error) {
  int64_t bytes = 0;
  DLBRIDGE_TRY(PlaceAxes(tensor, inside, node, &bytes, error));
  auto* tail = static_cast<AllocationTail*>(node->tail());
  if (tensor.shareable && bytes != 0) {
    DLBRIDGE_TRY(AcquireShareable(static_cast<uint64_t>(bytes), tensor.alignment, tail, error));
  } else if (!AcquireMemory(tensor, static_cast<uint64_t>(bytes), inside.room, tail)) {
    return RejectMemory(error);
  }
  const DLTensor filled = {
      tail->memory, tensor.device, tensor.ndim, tensor.dtype, nullptr, nullptr, 0};
  FillVersioned(node, filled, ToDLPack(tensor.version));
  BecomeRoot(node, SourceKind::kAllocation, nullptr);
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckAllocateOptions(const DLBridgeAllocateSpec& spec, DLDevice device,
                                    DLBridgeError* error) {
  DLBRIDGE_TRY(CheckOptionBits(spec.options, kKnownAllocateBits, "spec.options", error));
  if (spec.options != 0 && spec.allocator != nullptr) {
    return RejectArgument(error, "spec.options",
                          "has DLBRIDGE_ALLOCATE_SHAREABLE, which needs the CPU and no allocator, "
                          "found an allocator");
  }
  if (spec.options != 0 && TypeOf(device) != kDLCPU) {
    return RejectDevice(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.options",
                        "has DLBRIDGE_ALLOCATE_SHAREABLE, which needs the CPU and no allocator",
                        device);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckSpec(const DLBridgeAllocateSpec& spec, DLDevice device, DLBridgeError* error) {
  if (Packed(spec.dtype) == 0) {
    return RejectArgument(error, "spec.dtype", "is not set");
  }
  if (spec.alignment != 0 && !IsPowerOfTwo(spec.alignment)) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.alignment",
                       "must be 0 or a power of two", spec.alignment);
  }
  DLBRIDGE_TRY(CheckResultVersion(spec.version, "spec.version", error));
  DLBRIDGE_TRY(CheckAllocator(spec.allocator, "spec.allocator", error));
  DLBRIDGE_TRY(CheckAllocateOptions(spec, device, error));
  if (spec.allocator == nullptr && TypeOf(device) != kDLCPU) {
    return RejectDevice(error, DLBRIDGE_ERROR_UNSUPPORTED, "spec.device",
                        "must be the CPU unless spec.allocator is set", device);
  }
  return DLBRIDGE_OK;
}

// Checks the tensor that the spec describes by the rules for a producer's tensor.
DLBridgeStatus CheckPrototype(const DLBridgeAllocateSpec& spec, DLDevice device, Version version,
                              DLBridgeError* error) {
  // The data is not allocated yet: any address that is not NULL stands for it.
  const DLTensor tensor = {const_cast<DLBridgeAllocateSpec*>(&spec), device,  spec.ndim, spec.dtype,
                           const_cast<int64_t*>(spec.shape),         nullptr, 0};
  FirstBroken sink(error);
  if (!CheckHead(BorrowedSubject(tensor, spec.tensor_flags, true), kDefaultPolicy, &sink)) {
    return sink.failure();
  }
  return CheckCodes(tensor, spec.tensor_flags, version, error);
}

DLBridgeStatus Allocate(const DLBridgeAllocateSpec& spec, Node** out, DLBridgeError* error) {
  const DLDevice device = DeviceOrCpu(spec.device);
  DLBRIDGE_TRY(CheckSpec(spec, device, error));
  const Version version = SharedVersion(spec.version);
  DLBRIDGE_TRY(CheckPrototype(spec, device, version, error));
  const NewTensor tensor = {spec.ndim,
                            spec.shape,
                            device,
                            spec.dtype,
                            spec.tensor_flags,
                            version,
                            spec.alignment != 0 ? spec.alignment : kDefaultAlignment,
                            spec.allocator,
                            (spec.options & DLBRIDGE_ALLOCATE_SHAREABLE) != 0};
  return AllocateTensor(tensor, out, error);
}

}  // namespace

DLBridgeStatus AllocateTensor(const NewTensor& tensor, Node** out, DLBridgeError* error) {
  int64_t shape[DLBRIDGE_MAX_NDIM];
  const Inside inside = {RoomInside(tensor, shape), shape};
  Node* node = AllocateNode(tensor.ndim, sizeof(AllocationTail) + inside.room);
  if (node == nullptr) {
    return RejectMemory(error);
  }
  InitNode(node, tensor.ndim, tensor.flags);
  const DLBridgeStatus status = FillAllocated(tensor, inside, node, error);
  if (status != DLBRIDGE_OK) {
    DiscardNode(node);
    return status;
  }
  *out = node;
  return DLBRIDGE_OK;
}

}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_allocate(const DLBridgeAllocateSpec* spec, DLManagedTensorVersioned** out,
                                 DLBridgeError* error) {
  DLBRIDGE_REQUIRE(spec);
  DLBRIDGE_REQUIRE(out);
  DLBRIDGE_TRY(dlbridge::CheckStruct(spec, "spec", error));
  dlbridge::Node* node = nullptr;
  DLBRIDGE_TRY(dlbridge::Allocate(*spec, &node, error));
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

}  // extern "C"
