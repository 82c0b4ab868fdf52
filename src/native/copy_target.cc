// SPDX-License-Identifier: Apache-2.0
#include "native/copy_target.h"

#include "describe/boundary.h"
#include "describe/device.h"
#include "describe/known_values.h"
#include "describe/required.h"
#include "native/backend.h"
#include "native/stream.h"
#include "support/text.h"
#include "tensor/allocate.h"
#include "tensor/options.h"
#include "validate/rules.h"

namespace dlbridge {
namespace {

bool HasTarget(const DLBridgeCopySpec& spec) { return spec.target.handle != 0; }

DLBridgeStatus CheckTargetBuffer(const DLBridgeCopySpec& spec, DLBridgeError* error) {
  const int32_t type = TypeOf(spec.device);
  if (spec.target.kind != DLBRIDGE_BUFFER_DEFAULT && spec.target.kind != ImpliedBufferKind(type)) {
    return RejectEnum(error, "spec.target.kind",
                      "must be 0, or CL_MEM (2) for OpenCL, else ADDRESS (1)", spec.target.kind,
                      kLastBuffer);
  }
  DLBRIDGE_TRY(CheckReserved(spec.target.reserved, "spec.target", error));
  if (!IsBackendOf(spec.target.backend, type)) {
    return RejectBackend(error, "spec.target.backend", spec.device, spec.target.backend);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckTargetMemory(const DLBridgeCopySpec& spec, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckTargetBuffer(spec, error));
  if (spec.target_offset > spec.target_size) {
    char problem[80];
    TextWriter(problem, sizeof problem)
        .String("must be at most target_size, which is ")
        .Unsigned(spec.target_size);
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.target_offset", problem,
                       spec.target_offset);
  }
  if (spec.allocator != nullptr) {
    return RejectArgument(error, "spec.allocator",
                          "must be NULL with a target, found an allocator");
  }
  uint64_t end = 0;
  if (TypeOf(spec.device) != kDLOpenCL &&
      AddOverflows(spec.target.handle, spec.target_size, &end)) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.target_size",
                       "leaves the address space", spec.target_size);
  }
  return DLBRIDGE_OK;
}

// A partly filled target is an error of the caller: its NULL handle does not request an allocation.
bool NamesTarget(const DLBridgeCopySpec& spec) {
  const DLBridgeBuffer& target = spec.target;
  return target.kind != 0 || target.backend != 0 || target.context != 0 || target.reserved != 0 ||
         spec.target_size != 0 || spec.target_offset != 0 || spec.release != nullptr;
}

// As NamesTarget: a partly filled stream is an error, too.
bool NamesStream(const DLBridgeStream& stream) {
  return stream.kind != 0 || stream.backend != 0 || stream.handle != 0 || stream.context != 0 ||
         Packed(stream.device) != 0;
}

DLBridgeStatus CheckNoTarget(const DLBridgeCopySpec& spec, DLBridgeError* error) {
  if (NamesTarget(spec)) {
    return RejectArgument(error, "spec.target.handle",
                          "is not set, but other fields of the target are");
  }
  if (spec.allocator == nullptr && TypeOf(spec.device) != kDLCPU) {
    return RejectDevice(error, DLBRIDGE_ERROR_UNSUPPORTED, "spec.device",
                        "must be the CPU unless spec.target or spec.allocator is set", spec.device);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckShareable(const DLBridgeCopySpec& spec, DLBridgeError* error) {
  const bool shareable = (spec.options & DLBRIDGE_COPY_SHAREABLE) != 0;
  if (shareable && (HasTarget(spec) || spec.allocator != nullptr)) {
    return RejectArgument(error, "spec.options",
                          HasTarget(spec) ? "has DLBRIDGE_COPY_SHAREABLE, which needs the CPU, no "
                                            "target and no allocator, found a target"
                                          : "has DLBRIDGE_COPY_SHAREABLE, which needs the CPU, no "
                                            "target and no allocator, found an allocator");
  }
  if (shareable && TypeOf(spec.device) != kDLCPU) {
    return RejectDevice(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.options",
                        "has DLBRIDGE_COPY_SHAREABLE, which needs the CPU, no target and no "
                        "allocator",
                        spec.device);
  }
  return DLBRIDGE_OK;
}

// Checks the codes and flags of the copy like those of a producer's tensor.
DLBridgeStatus CheckResult(const DLTensor& source, const DLBridgeCopySpec& spec, Version version,
                           DLBridgeError* error) {
  DLBRIDGE_TRY(CheckFlags(spec.tensor_flags, "spec.tensor_flags", error));
  DLTensor tensor = source;
  tensor.device = spec.device;
  tensor.byte_offset = 0;
  return CheckCodes(tensor, spec.tensor_flags, version, error);
}

// The number of elements of a checked layout. It does not overflow, except beside an extent of 0.
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

// The size of the copy. Padding may make it overflow even if the source's size does not.
DLBridgeStatus PackedBytes(const LayoutSnapshot& layout, uint32_t item_bits, uint64_t* out,
                           DLBridgeError* error) {
  const int64_t count = CountElements(layout);
  const Wide bytes = (static_cast<Wide>(count) * item_bits + 7) >> 3;
  if (bytes > INT64_MAX) {
    return Reject(error, {DLBRIDGE_RULE_SIZE_OVERFLOW, kNoAxis, 0, Bits(count)});
  }
  *out = static_cast<uint64_t>(bytes);
  return DLBRIDGE_OK;
}

DLBridgeStatus Allocate(const DLTensor& source, const LayoutSnapshot& layout,
                        const DLBridgeCopySpec& spec, const DLBridgeStream* stream, Version version,
                        CopyTarget* out, DLBridgeError* error) {
  const NewTensor tensor = {source.ndim,
                            layout.shape(),
                            CanonicalDevice(spec.device),
                            source.dtype,
                            spec.tensor_flags | kCopied,
                            version,
                            kDefaultAlignment,
                            spec.allocator,
                            (spec.options & DLBRIDGE_COPY_SHAREABLE) != 0,
                            stream};
  DLBRIDGE_TRY(AllocateTensor(tensor, &out->node, error));
  out->buffer = dlbridge_buffer_address(out->node->versioned.dl_tensor.data);
  out->buffer.kind = ImpliedBufferKind(TypeOf(spec.device));
  return DLBRIDGE_OK;
}

DLBridgeBuffer TargetBuffer(const DLBridgeCopySpec& spec) {
  DLBridgeBuffer buffer = spec.target;
  buffer.kind = ImpliedBufferKind(TypeOf(spec.device));
  return buffer;
}

// Makes a root of the caller's memory. CommitTarget sets its release callback.
void WrapTarget(const DLTensor& source, const LayoutSnapshot& layout, const DLBridgeCopySpec& spec,
                Version version, uint64_t bytes, Node* node) {
  InitNode(node, source.ndim, spec.tensor_flags | kCopied);
  ScanTensor<true>(source.ndim, layout.shape(), nullptr, node->shape(), node->strides());
  const DLTensor tensor = {bytes != 0 ? reinterpret_cast<void*>(spec.target.handle) : nullptr,
                           CanonicalDevice(spec.device),
                           source.ndim,
                           source.dtype,
                           nullptr,
                           nullptr,
                           bytes != 0 ? spec.target_offset : 0};
  FillVersioned(node, tensor, ToDLPack(version));
  *static_cast<WrapTail*>(node->tail()) = {
      nullptr, nullptr, TargetBuffer(spec), 0, spec.target.backend, false, false};
  BecomeRoot(node, SourceKind::kWrapped, nullptr);
}

DLBridgeStatus UseTarget(const DLTensor& source, const LayoutSnapshot& layout,
                         const DLBridgeCopySpec& spec, Version version, CopyTarget* out,
                         DLBridgeError* error) {
  if (out->bytes > spec.target_size - spec.target_offset) {
    uint64_t needed = 0;
    const bool wraps = AddOverflows(spec.target_offset, out->bytes, &needed);
    return RejectSize(error, "spec.target_size", wraps ? UINT64_MAX : needed, spec.target_size);
  }
  Node* node = AllocateNode(source.ndim, sizeof(WrapTail));
  if (node == nullptr) {
    return RejectMemory(error);
  }
  WrapTarget(source, layout, spec, version, out->bytes, node);
  out->node = node;
  out->buffer = TargetBuffer(spec);
  return DLBRIDGE_OK;
}

}  // namespace

static_assert(kAllFlags == 7, "named in the message");

DLBridgeStatus CheckFlags(uint64_t flags, const char* argument, DLBridgeError* error) {
  if (DLBRIDGE_LIKELY((flags & ~kAllFlags) == 0)) {
    return DLBRIDGE_OK;
  }
  RejectValue(error, DLBRIDGE_ERROR_UNKNOWN_CODE, argument,
              "has bits that are no flags of DLPack: clear all but 7 (READ_ONLY, IS_COPIED, "
              "IS_SUBBYTE_TYPE_PADDED)",
              flags);
  if (error != nullptr) {
    error->rule = DLBRIDGE_RULE_FLAGS_UNKNOWN;
  }
  return DLBRIDGE_ERROR_UNKNOWN_CODE;
}

DLBridgeStatus CheckCopySpec(const DLBridgeCopySpec& spec, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckOptionBits(spec.options, kKnownCopyBits, "spec.options", error));
  DLBRIDGE_TRY(CheckResultVersion(spec.version, "spec.version", error));
  if (spec.device.device_id < 0) {
    return Reject(error,
                  {DLBRIDGE_RULE_DEVICE_ID_NEGATIVE, kNoAxis, 0, Bits(spec.device.device_id)});
  }
  if (NamesStream(spec.stream)) {
    DLBRIDGE_TRY(CheckStream(spec.stream, "spec.stream", error));
  }
  DLBRIDGE_TRY(CheckReserved(spec.stream.reserved, "spec.stream", error));
  DLBRIDGE_TRY(CheckAllocator(spec.allocator, "spec.allocator", error));
  DLBRIDGE_TRY(CheckShareable(spec, error));
  return HasTarget(spec) ? CheckTargetMemory(spec, error) : CheckNoTarget(spec, error);
}

DLBridgeStatus MakeTarget(const DLTensor& source, const LayoutSnapshot& layout,
                          const DLBridgeCopySpec& spec, const DLBridgeStream* stream,
                          CopyTarget* out, DLBridgeError* error) {
  const Version version = SharedVersion(spec.version);
  DLBRIDGE_TRY(CheckResult(source, spec, version, error));
  DLBRIDGE_TRY(PackedBytes(layout, ItemBits(source.dtype, spec.tensor_flags), &out->bytes, error));
  return HasTarget(spec) ? UseTarget(source, layout, spec, version, out, error)
                         : Allocate(source, layout, spec, stream, version, out, error);
}

void CommitTarget(const DLBridgeCopySpec& spec, CopyTarget* target) {
  if (HasTarget(spec)) {
    auto* tail = static_cast<WrapTail*>(target->node->tail());
    tail->release = spec.release;
    tail->context = spec.release_context;
  }
}

}  // namespace dlbridge
