// SPDX-License-Identifier: Apache-2.0
#include "device/copy_target.h"

#include "allocate.h"
#include "device.h"
#include "device/backend.h"
#include "device/stream.h"
#include "options.h"
#include "required.h"
#include "support/boundary.h"
#include "validate.h"

namespace dlbridge {
namespace {

constexpr uint32_t kKnownOptions = DLBRIDGE_COPY_ALLOW_STAGING | DLBRIDGE_COPY_SHAREABLE;

bool HasTarget(const DLBridgeCopySpec& spec) { return spec.target.kind != 0; }

int32_t KindOf(int32_t type) {
  return type == kDLOpenCL ? DLBRIDGE_BUFFER_CL_MEM : DLBRIDGE_BUFFER_ADDRESS;
}

DLBridgeStatus CheckTargetMemory(const DLBridgeCopySpec& spec, DLBridgeError* error) {
  if (spec.target.kind != KindOf(TypeOf(spec.device))) {
    return RefuseArgument(error, "spec.target.kind", "must be CL_MEM for OpenCL, else ADDRESS");
  }
  if (!IsBackendOf(spec.target.backend, TypeOf(spec.device))) {
    return RefuseArgument(error, "spec.target.backend", "must be NONE or a backend of the device");
  }
  if (spec.target.handle == 0) {
    return RefuseArgument(error, "spec.target.handle", "must not be NULL");
  }
  if (spec.target_offset > spec.target_size) {
    return RefuseArgument(error, "spec.target_offset", "must not be behind target_size");
  }
  if (spec.allocator != nullptr) {
    return RefuseArgument(error, "spec.allocator", "must be NULL where a target is given");
  }
  uint64_t end = 0;
  if (spec.target.kind == DLBRIDGE_BUFFER_ADDRESS &&
      AddOverflows(spec.target.handle, spec.target_size, &end)) {
    return RefuseArgument(error, "spec.target_size", "leaves the address space");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckNoTarget(const DLBridgeCopySpec& spec, DLBridgeError* error) {
  if (spec.release != nullptr) {
    return RefuseArgument(error, "spec.release", "must be NULL where no target is given");
  }
  if (spec.allocator == nullptr && TypeOf(spec.device) != kDLCPU) {
    return RefuseStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "spec.device",
                        "must be the CPU where neither a target nor an allocator is given");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckShareable(const DLBridgeCopySpec& spec, DLBridgeError* error) {
  const bool shareable = (spec.options & DLBRIDGE_COPY_SHAREABLE) != 0;
  if (shareable &&
      (HasTarget(spec) || spec.allocator != nullptr || TypeOf(spec.device) != kDLCPU)) {
    return RefuseArgument(error, "spec.options",
                          "must not ask for SHAREABLE with a target, an allocator or a device "
                          "other than the CPU");
  }
  return DLBRIDGE_OK;
}

// The codes and flags that the copy will have, as if a producer had made it.
DLBridgeStatus CheckResult(const DLTensor& source, const DLBridgeCopySpec& spec, Version version,
                           DLBridgeError* error) {
  DLTensor tensor = source;
  tensor.device = spec.device;
  tensor.byte_offset = 0;
  return CheckCodes(tensor, spec.flags, version, error);
}

// The elements of a layout that was checked: they fit, but for extents beside a 0.
int64_t CountElements(const LayoutSnapshot& layout) {
  if (HasZero(layout.ndim(), layout.shape())) {
    return 0;
  }
  int64_t count = 1;
  for (int32_t i = 0; i < layout.ndim(); ++i) {
    count *= layout.shape()[i];
  }
  return count;
}

// The bytes of the copy; padding may make them too many where those of the source were not.
DLBridgeStatus PackedBytes(const LayoutSnapshot& layout, uint32_t item_bits, uint64_t* out,
                           DLBridgeError* error) {
  const int64_t count = CountElements(layout);
  const Wide bytes = (static_cast<Wide>(count) * item_bits + 7) >> 3;
  if (bytes > INT64_MAX) {
    return Refuse(error, {DLBRIDGE_RULE_SIZE_OVERFLOW, kNoAxis, 0, Bits(count)});
  }
  *out = static_cast<uint64_t>(bytes);
  return DLBRIDGE_OK;
}

DLBridgeStatus Allocate(const DLTensor& source, const LayoutSnapshot& layout,
                        const DLBridgeCopySpec& spec, Version version, CopyTarget* out,
                        DLBridgeError* error) {
  const NewTensor tensor = {
      source.ndim,       layout.shape(),       CanonicalDevice(spec.device),
      source.dtype,      spec.flags | kCopied, version,
      kDefaultAlignment, spec.allocator,       (spec.options & DLBRIDGE_COPY_SHAREABLE) != 0};
  DLBRIDGE_TRY(AllocateTensor(tensor, &out->node, error));
  out->buffer = dlbridge_buffer_address(out->node->versioned.dl_tensor.data);
  out->buffer.kind = KindOf(TypeOf(spec.device));
  return DLBRIDGE_OK;
}

// A root of the caller's memory; nobody is called before CommitTarget.
void Adopt(const DLTensor& source, const LayoutSnapshot& layout, const DLBridgeCopySpec& spec,
           Version version, uint64_t bytes, Node* node) {
  InitNode(node, source.ndim, spec.flags | kCopied);
  ScanTensor<true>(source.ndim, layout.shape(), nullptr, node->shape(), node->strides());
  const DLTensor tensor = {bytes != 0 ? reinterpret_cast<void*>(spec.target.handle) : nullptr,
                           CanonicalDevice(spec.device),
                           source.ndim,
                           source.dtype,
                           nullptr,
                           nullptr,
                           bytes != 0 ? spec.target_offset : 0};
  FillVersioned(node, tensor, ToDLPack(version));
  *static_cast<WrapTail*>(node->tail()) = {nullptr, nullptr, spec.target, 0, false};
  BecomeRoot(node, SourceKind::kWrapped, nullptr);
}

DLBridgeStatus UseTarget(const DLTensor& source, const LayoutSnapshot& layout,
                         const DLBridgeCopySpec& spec, Version version, CopyTarget* out,
                         DLBridgeError* error) {
  if (out->bytes > spec.target_size - spec.target_offset) {
    return RefuseStatus(error, DLBRIDGE_ERROR_BUFFER_TOO_SMALL, "spec.target_size",
                        "is smaller than the compact copy behind target_offset");
  }
  Node* node = AllocateNode(source.ndim, sizeof(WrapTail));
  if (node == nullptr) {
    return RefuseMemory(error);
  }
  Adopt(source, layout, spec, version, out->bytes, node);
  out->node = node;
  out->buffer = spec.target;
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus CheckCopySpec(const DLBridgeCopySpec& spec, DLBridgeError* error) {
  if ((spec.options & ~kKnownOptions) != 0) {
    return RefuseArgument(error, "spec.options", "has a bit that this library does not know");
  }
  if ((spec.reserved[0] | spec.reserved[1] | spec.reserved[2] | spec.reserved[3]) != 0) {
    return RefuseArgument(error, "spec.reserved", "must be zero");
  }
  if (spec.version.major != kMajor && (spec.version.major != 0 || spec.version.minor != 0)) {
    return RefuseArgument(error, "spec.version", "must be of major 1, or {0, 0} for the newest");
  }
  if (spec.device.device_id < 0) {
    return RefuseArgument(error, "spec.device", "must not have a negative id");
  }
  if (spec.stream.kind != 0) {
    DLBRIDGE_TRY(CheckStream(spec.stream, "spec.stream", error));
  }
  DLBRIDGE_TRY(CheckAllocator(spec.allocator, error));
  DLBRIDGE_TRY(CheckShareable(spec, error));
  return HasTarget(spec) ? CheckTargetMemory(spec, error) : CheckNoTarget(spec, error);
}

DLBridgeStatus MakeTarget(const DLTensor& source, const LayoutSnapshot& layout,
                          const DLBridgeCopySpec& spec, CopyTarget* out, DLBridgeError* error) {
  const Version version = SharedVersion(spec.version);
  DLBRIDGE_TRY(CheckResult(source, spec, version, error));
  DLBRIDGE_TRY(PackedBytes(layout, ItemBits(source.dtype, spec.flags), &out->bytes, error));
  return HasTarget(spec) ? UseTarget(source, layout, spec, version, out, error)
                         : Allocate(source, layout, spec, version, out, error);
}

void CommitTarget(const DLBridgeCopySpec& spec, CopyTarget* target) {
  if (HasTarget(spec)) {
    auto* tail = static_cast<WrapTail*>(target->node->tail());
    tail->release = spec.release;
    tail->context = spec.release_context;
  }
}

}  // namespace dlbridge
