// SPDX-License-Identifier: Apache-2.0
// Releases a tensor when streams have done the work that uses it.
#include "describe/boundary.h"
#include "describe/device.h"
#include "describe/known_values.h"
#include "native/backend.h"
#include "native/pending.h"
#include "native/stream.h"
#include "support/text.h"
#include "tensor/node.h"

namespace dlbridge {
namespace {

// The streams of one call, checked.
struct Streams {
  const DLBridgeStream* streams;
  size_t count;
};

DLBridgeStatus CheckKind(DLBridgeKind kind, DLBridgeError* error) {
  return kind == DLBRIDGE_KIND_LEGACY || kind == DLBRIDGE_KIND_VERSIONED
             ? DLBRIDGE_OK
             : RejectEnum(error, "kind", "must be LEGACY (1) or VERSIONED (2)", kind, kLastKind);
}

// The name of a stream in messages.
class StreamName {
 public:
  explicit StreamName(size_t index) {
    TextWriter(text_, sizeof text_).String("streams[").Unsigned(index).Character(']');
  }
  const char* text() const { return text_; }

 private:
  char text_[40];
};

DLBridgeStatus CheckOne(const DLBridgeStream& stream, size_t index, DLBridgeError* error) {
  const StreamName name(index);
  DLBRIDGE_TRY(CheckStream(stream, name.text(), error));
  return stream.kind != DLBRIDGE_STREAM_NO_SYNC
             ? DLBRIDGE_OK
             : RejectArgument(error, name.text(),
                              "is of kind NO_SYNC, which names no work to wait for: expected HOST "
                              "(1), QUEUE (3) or IMMEDIATE_LIST (4)");
}

DLBridgeStatus CheckStreams(const Streams& given, DLBridgeError* error) {
  if (given.count == 0) {
    return RejectArgument(error, "count",
                          "must be at least 1: a tensor that no stream uses is released by "
                          "dlbridge_release");
  }
  for (size_t i = 0; i < given.count; ++i) {
    DLBRIDGE_TRY(CheckOne(given.streams[i], i, error));
  }
  return DLBRIDGE_OK;
}

// Is the stream among those before it?
bool IsRepeated(const Streams& given, size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (IsSameStream(given.streams[i], given.streams[index])) {
      return true;
    }
  }
  return false;
}

DLBridgeStatus MarkStream(const Streams& given, size_t index, Pending* pending,
                          DLBridgeError* error) {
  const DLBridgeStream& stream = given.streams[index];
  const Backend& backend = *FindBackend(stream.backend);
  DLBRIDGE_TRY(StartDriver(backend, error));
  StreamMark* mark = pending->marks() + pending->mark_count;
  mark->backend = backend.id;
  DLBRIDGE_TRY(backend.mark(stream, StreamName(index).text(), mark, error));
  ++pending->mark_count;
  return DLBRIDGE_OK;
}

// Marks each queue once. `*last` receives one of them.
DLBridgeStatus MarkAll(const Streams& given, Pending* pending, const DLBridgeStream** last,
                       DLBridgeError* error) {
  for (size_t i = 0; i < given.count; ++i) {
    const DLBridgeStream& stream = given.streams[i];
    if (!IsQueue(stream) || IsRepeated(given, i)) {
      continue;
    }
    DLBRIDGE_TRY(MarkStream(given, i, pending, error));
    *last = &stream;
  }
  return DLBRIDGE_OK;
}

// The node of a tensor whose release callback accepts a stream and may run before its work is over:
// the last owner of such memory, on a device of the stream's backend. NULL for any other tensor.
template <class Managed>
Node* FindStreamOrdered(void* tensor, const DLBridgeStream& stream) {
  const auto* managed = static_cast<const Managed*>(tensor);
  Node* node = OwnNode(managed);
  return node != nullptr && IsStreamOrdered(*node) &&
                 IsBackendOf(stream.backend, TypeOf(managed->dl_tensor.device))
             ? node
             : nullptr;
}
Node* StreamOrderedNode(const HeldTensor& held, const DLBridgeStream& stream) {
  return held.kind == DLBRIDGE_KIND_VERSIONED
             ? FindStreamOrdered<DLManagedTensorVersioned>(held.tensor, stream)
             : FindStreamOrdered<DLManagedTensor>(held.tensor, stream);
}

// All streams are marked: the rest cannot fail. `stream` is one of the marked ones, or NULL.
void ReleaseMarked(Pending* pending, const DLBridgeStream* stream) {
  Node* node = stream != nullptr && pending->mark_count == 1
                   ? StreamOrderedNode(pending->tensors[0], *stream)
                   : nullptr;
  if (node != nullptr) {
    DiscardPending(pending);
    ReleaseNodeOn(node, *stream);
  } else if (pending->mark_count == 0) {
    ReleasePending(pending);
  } else {
    AddPending(pending);
  }
}

DLBridgeStatus ReleaseAfter(const HeldTensor& held, const Streams& given, DLBridgeError* error) {
  Pending* pending = MakePending(given.count);
  if (pending == nullptr) {
    return RejectMemory(error);
  }
  const DLBridgeStream* stream = nullptr;
  const DLBridgeStatus status = MarkAll(given, pending, &stream, error);
  if (status != DLBRIDGE_OK) {
    DiscardPending(pending);
    return status;
  }
  Hold(held.tensor, held.kind, pending);
  ReleaseMarked(pending, stream);
  PollPending();
  return DLBRIDGE_OK;
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_release_after(void* tensor, DLBridgeKind kind,
                                      const DLBridgeStream* streams, size_t count,
                                      DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(streams);
  const dlbridge::Streams given = {streams, count};
  DLBRIDGE_TRY(dlbridge::CheckKind(kind, error));
  DLBRIDGE_TRY(dlbridge::CheckStreams(given, error));
  return dlbridge::ReleaseAfter({tensor, kind}, given, error);
}

}  // extern "C"
