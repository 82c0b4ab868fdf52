// SPDX-License-Identifier: Apache-2.0
// Strided to compact copies on any device, which wait for the driver or are ordered by a stream.
#include "copy/copy.h"

#include <atomic>

#include "describe/boundary.h"
#include "describe/device.h"
#include "native/backend.h"
#include "native/copy_target.h"
#include "native/pending.h"
#include "native/stream.h"
#include "native/transfer.h"

namespace dlbridge {
namespace {

Side SourceSide(const DLTensor& source) {
  const int32_t type = TypeOf(source.device);
  DLBridgeBuffer buffer = dlbridge_buffer_address(source.data);
  buffer.kind = type == kDLOpenCL ? DLBRIDGE_BUFFER_CL_MEM : DLBRIDGE_BUFFER_ADDRESS;
  return {{false, source.device, buffer}, source.byte_offset, nullptr};
}

ByteExtent ReachOf(const LayoutSnapshot& layout, uint32_t item_bits) {
  Extent extent =
      ScanTensor<false>(layout.ndim(), layout.shape(), layout.strides(), nullptr, nullptr);
  ByteExtent reach = {0, 0, 0};
  FirstBroken sink(nullptr);
  // The extent was checked with the layout.
  CheckExtent(layout.ndim(), layout.shape(), layout.strides(), item_bits, &extent, &reach, &sink);
  return reach;
}

// Fills the target, whose data is NULL if there is nothing to copy. Sets `*unfinished` if a driver
// may still be copying after a failure.
DLBridgeStatus FillTarget(const DLTensor& source, uint64_t flags, const DLBridgeCopySpec& spec,
                          const LayoutSnapshot& layout, const CopyTarget& target, Pending* pending,
                          bool* unfinished, DLBridgeError* error) {
  const DLTensor& to = target.node->versioned.dl_tensor;
  if (to.data == nullptr) {
    return DLBRIDGE_OK;
  }
  const ItemWidths widths = WidthsOf(source.dtype, flags, target.node->flags);
  bool read_only = false;
  Transfer transfer = {&spec,
                       SourceSide(source),
                       {{false, to.device, target.buffer}, to.byte_offset, nullptr},
                       &layout,
                       widths,
                       ReachOf(layout, widths.from),
                       target.bytes,
                       false,
                       unfinished,
                       &read_only,
                       pending != nullptr ? pending->marks() : nullptr};
  DLBRIDGE_TRY(Move(&transfer, error));
  if (read_only) {
    target.node->flags |= kReadOnly;
    target.node->versioned.flags |= kReadOnly;
  }
  if (pending != nullptr) {
    pending->mark_count = 1;
  }
  return DLBRIDGE_OK;
}

// Makes the library one more owner of the tensor until the stream has done its work.
DLBridgeStatus HoldShare(const DLManagedTensorVersioned& tensor, Pending* pending,
                         DLBridgeError* error) {
  DLManagedTensorVersioned* share = nullptr;
  DLBRIDGE_TRY(dlbridge_share(&tensor, &share, error));
  Hold(share, DLBRIDGE_KIND_VERSIONED, pending);
  return DLBRIDGE_OK;
}

// Targets that a driver may still write to, although waiting for it failed: they are leaked into
// this list.
std::atomic<Node*> g_written;

// Drops a target that was not filled. The library's own memory is not freed while a driver may
// write to it. An allocator's memory is returned to the allocator: only its owner knows when the
// driver has finished.
void DropTarget(const DLBridgeCopySpec& spec, const CopyTarget& target, bool unfinished) {
  if (!unfinished || spec.target.handle != 0 || spec.allocator != nullptr) {
    ReleaseNode(target.node);
    return;
  }
  Node* first = g_written.load(std::memory_order_relaxed);
  do {
    target.node->source = first;
  } while (!g_written.compare_exchange_weak(first, target.node, std::memory_order_release,
                                            std::memory_order_relaxed));
}

DLBridgeStatus CopySnapshot(const DLTensor& source, uint64_t flags, const DLBridgeCopySpec& spec,
                            const LayoutSnapshot& layout, Pending* pending, Node** out,
                            DLBridgeError* error) {
  CopyTarget target;
  const DLBridgeStream* stream = pending != nullptr ? &spec.stream : nullptr;
  DLBRIDGE_TRY(MakeTarget(source, layout, spec, stream, &target, error));
  DLBridgeStatus status = pending != nullptr ? HoldShare(target.node->versioned, pending, error)
                                             : static_cast<DLBridgeStatus>(DLBRIDGE_OK);
  bool unfinished = false;
  if (status == DLBRIDGE_OK) {
    status = FillTarget(source, flags, spec, layout, target, pending, &unfinished, error);
  }
  if (status != DLBRIDGE_OK) {
    DropTarget(spec, target, unfinished);
    return status;
  }
  CommitTarget(spec, &target);
  *out = target.node;
  return DLBRIDGE_OK;
}

// With `pending`, the copy is only enqueued, and `pending` receives its mark and its result.
DLBridgeStatus Copy(const DLTensor& source, uint64_t flags, const DLBridgeCopySpec& spec,
                    Pending* pending, Node** out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckCopySpec(spec, error));
  Policy storage;
  const Policy* policy = nullptr;
  DLBRIDGE_TRY(ResolvePolicy(spec.policy, &storage, &policy, error));
  const Subject subject =
      BorrowedSubject(source, flags, policy->Has(DLBRIDGE_POLICY_VOUCH_WRITABLE));
  FirstBroken sink(error);
  if (!CheckHead(subject, *policy, &sink)) {
    return sink.failure();
  }
  DLBRIDGE_TRY(CheckFlags(flags, "tensor_flags", error));
  LayoutSnapshot layout(subject.tensor.ndim);
  DLBRIDGE_TRY(layout.Take(subject, *policy, error));
  return CopySnapshot(subject.tensor, flags, spec, layout, pending, out, error);
}

DLBridgeStatus CheckAsyncSpec(const DLBridgeCopySpec& spec, DLBridgeError* error) {
  if ((spec.options & DLBRIDGE_COPY_ALLOW_STAGING) != 0) {
    return RejectArgument(error, "spec.options",
                          "has DLBRIDGE_COPY_ALLOW_STAGING, but a copy through host memory must "
                          "wait for the stream: call dlbridge_copy");
  }
  DLBRIDGE_TRY(CheckStream(spec.stream, "spec.stream", error));
  return spec.stream.kind != DLBRIDGE_STREAM_NO_SYNC
             ? DLBRIDGE_OK
             : RejectArgument(error, "spec.stream",
                              "is of kind NO_SYNC, which names no queue to copy on: expected HOST "
                              "(1), QUEUE (3) or IMMEDIATE_LIST (4)");
}

// Holds the source, and copies its share: the caller may change its own struct meanwhile. A copy on
// the host is complete at once, and a copy of no elements enqueues nothing.
DLBridgeStatus CopyOnStream(const DLManagedTensorVersioned& source, const DLBridgeCopySpec& spec,
                            Pending* pending, Node** out, DLBridgeError* error) {
  DLBRIDGE_TRY(HoldShare(source, pending, error));
  const auto& held = *static_cast<const DLManagedTensorVersioned*>(pending->tensors[0].tensor);
  return Copy(held.dl_tensor, held.flags, spec, IsQueue(spec.stream) ? pending : nullptr, out,
              error);
}

DLBridgeStatus CopyAsync(const DLManagedTensorVersioned& source, const DLBridgeCopySpec& spec,
                         Node** out, DLBridgeError* error) {
  Pending* pending = MakePending(1);
  if (pending == nullptr) {
    return RejectMemory(error);
  }
  const DLBridgeStatus status = CopyOnStream(source, spec, pending, out, error);
  if (status != DLBRIDGE_OK || pending->mark_count == 0) {
    ReleasePending(pending);
    return status;
  }
  AddPending(pending);
  PollPending();
  return DLBRIDGE_OK;
}

// The spec with the default device filled in.
DLBridgeCopySpec FilledSpec(const DLBridgeCopySpec& spec) {
  DLBridgeCopySpec filled = spec;
  filled.device = DeviceOrCpu(spec.device);
  return filled;
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_copy(const DLTensor* source, uint64_t tensor_flags,
                             const DLBridgeCopySpec* spec, DLManagedTensorVersioned** out,
                             DLBridgeError* error) {
  DLBRIDGE_REQUIRE(source);
  DLBRIDGE_REQUIRE(spec);
  DLBRIDGE_REQUIRE(out);
  DLBRIDGE_TRY(dlbridge::CheckStruct(spec, "spec", error));
  dlbridge::Node* node = nullptr;
  DLBRIDGE_TRY(
      dlbridge::Copy(*source, tensor_flags, dlbridge::FilledSpec(*spec), nullptr, &node, error));
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

DLBridgeStatus dlbridge_copy_async(const DLManagedTensorVersioned* source,
                                   const DLBridgeCopySpec* spec, DLManagedTensorVersioned** out,
                                   DLBridgeError* error) {
  DLBRIDGE_REQUIRE(source);
  DLBRIDGE_REQUIRE(spec);
  DLBRIDGE_REQUIRE(out);
  DLBRIDGE_TRY(dlbridge::CheckStruct(spec, "spec", error));
  DLBRIDGE_TRY(dlbridge::CheckAsyncSpec(*spec, error));
  const DLBridgeCopySpec filled = dlbridge::FilledSpec(*spec);
  dlbridge::Node* node = nullptr;
  DLBRIDGE_TRY(dlbridge::CopyAsync(*source, filled, &node, error));
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

}  // extern "C"
