// SPDX-License-Identifier: Apache-2.0
#include "allocate.h"

#include "device/ipc_host.h"
#include "options.h"
#include "required.h"
#include "support/boundary.h"
#include "support/memory.h"
#include "validate.h"

namespace dlbridge {
namespace {

// So many bytes at most are put behind the node: memory of its own, which is aligned, costs several
// times what all the rest of a small tensor does.
constexpr uint64_t kMostInside = 512;

// The bytes that a node needs beyond its tail to hold the tensor's memory as well; 0 where it does
// not.
uint64_t RoomInside(const NewTensor& tensor) {
  if (tensor.allocator != nullptr || tensor.shareable || tensor.alignment > kDefaultAlignment) {
    return 0;
  }
  uint64_t bits = ItemBits(tensor.dtype, tensor.flags);
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (MulOverflows(bits, tensor.shape[i], &bits)) {
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

// Fills the tail with memory of the tensor; false where there is none. `room` is what follows the
// tail.
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
    tail->memory =
        tensor.allocator->allocate(tail->context, tensor.device, bytes, tensor.alignment);
  }
  return tail->memory != nullptr;
}

// Writes shape and compact strides to the node and finds the size. What has room inside was found
// to fit, so that it needs no further look.
DLBridgeStatus PlaceAxes(const NewTensor& tensor, uint64_t room, Node* node, int64_t* bytes,
                         DLBridgeError* error) {
  if (room != 0) {
    CopyAxes(tensor.ndim, tensor.shape, nullptr, node->shape(), node->strides());
    *bytes = static_cast<int64_t>(room - (tensor.alignment - 1));
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

DLBridgeStatus FillAllocated(const NewTensor& tensor, uint64_t room, Node* node,
                             DLBridgeError* error) {
  int64_t bytes = 0;
  DLBRIDGE_TRY(PlaceAxes(tensor, room, node, &bytes, error));
  auto* tail = static_cast<AllocationTail*>(node->tail());
  if (tensor.shareable && bytes != 0) {
    DLBRIDGE_TRY(AcquireShareable(static_cast<uint64_t>(bytes), tensor.alignment, tail, error));
  } else if (!AcquireMemory(tensor, static_cast<uint64_t>(bytes), room, tail)) {
    return RefuseMemory(error);
  }
  const DLTensor filled = {
      tail->memory, tensor.device, tensor.ndim, tensor.dtype, nullptr, nullptr, 0};
  FillVersioned(node, filled, ToDLPack(tensor.version));
  BecomeRoot(node, SourceKind::kAllocation, nullptr);
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckAllocateOptions(const DLBridgeAllocateSpec& spec, DLBridgeError* error) {
  if (spec.reserved1 != 0) {
    return RefuseArgument(error, "spec.reserved1", "must be zero");
  }
  if ((spec.options & ~uint32_t{DLBRIDGE_ALLOCATE_SHAREABLE}) != 0) {
    return RefuseArgument(error, "spec.options", "has a bit that this library does not know");
  }
  if (spec.options != 0 && (spec.allocator != nullptr || TypeOf(spec.device) != kDLCPU)) {
    return RefuseArgument(error, "spec.options",
                          "must not say SHAREABLE with an allocator or for another device than "
                          "the CPU");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckSpec(const DLBridgeAllocateSpec& spec, DLBridgeError* error) {
  if (spec.reserved0 != 0 || spec.reserved[0] != 0 || spec.reserved[1] != 0) {
    return RefuseArgument(error, "spec.reserved", "must be zero");
  }
  if (spec.alignment != 0 && !IsPowerOfTwo(spec.alignment)) {
    return RefuseArgument(error, "spec.alignment", "must be 0 or a power of two");
  }
  if (spec.version.major != kMajor && (spec.version.major != 0 || spec.version.minor != 0)) {
    return RefuseArgument(error, "spec.version", "must be of major 1, or {0, 0} for the newest");
  }
  DLBRIDGE_TRY(CheckAllocator(spec.allocator, error));
  DLBRIDGE_TRY(CheckAllocateOptions(spec, error));
  if (spec.allocator == nullptr && TypeOf(spec.device) != kDLCPU) {
    return RefuseStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "spec.device",
                        "must be the CPU where no allocator is given");
  }
  return DLBRIDGE_OK;
}

// The rules that the spec's own tensor must keep, as if a producer had made it.
DLBridgeStatus CheckPrototype(const DLBridgeAllocateSpec& spec, Version version,
                              DLBridgeError* error) {
  // A stand-in for the data, which is not there yet.
  const DLTensor tensor = {
      const_cast<DLBridgeAllocateSpec*>(&spec), spec.device, spec.ndim, spec.dtype,
      const_cast<int64_t*>(spec.shape),         nullptr,     0};
  FirstBroken sink(error);
  if (!CheckHead(BareSubject(&tensor, spec.flags, true), kDefaultPolicy, &sink)) {
    return sink.failure();
  }
  return CheckCodes(tensor, spec.flags, version, error);
}

}  // namespace

DLBridgeStatus AllocateTensor(const NewTensor& tensor, Node** out, DLBridgeError* error) {
  const uint64_t room = RoomInside(tensor);
  Node* node = AllocateNode(tensor.ndim, sizeof(AllocationTail) + room);
  if (node == nullptr) {
    return RefuseMemory(error);
  }
  InitNode(node, tensor.ndim, tensor.flags);
  const DLBridgeStatus status = FillAllocated(tensor, room, node, error);
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
  DLBridgeAllocateSpec whole;
  DLBRIDGE_TRY(dlbridge::ReadGrown(spec, "spec", &whole, error));
  DLBRIDGE_TRY(dlbridge::CheckSpec(whole, error));
  const dlbridge::Version version = dlbridge::SharedVersion(whole.version);
  DLBRIDGE_TRY(dlbridge::CheckPrototype(whole, version, error));
  const dlbridge::NewTensor tensor = {
      whole.ndim,
      whole.shape,
      whole.device,
      whole.dtype,
      whole.flags,
      version,
      whole.alignment != 0 ? whole.alignment : dlbridge::kDefaultAlignment,
      whole.allocator,
      (whole.options & DLBRIDGE_ALLOCATE_SHAREABLE) != 0};
  dlbridge::Node* node = nullptr;
  DLBRIDGE_TRY(dlbridge::AllocateTensor(tensor, &node, error));
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

}  // extern "C"
