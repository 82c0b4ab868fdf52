// SPDX-License-Identifier: Apache-2.0
// Events between processes. The exporter records an event after its work, and the importer waits
// for it.
//
// An event of the exporter must exist, unchanged in meaning, for as long as an importer may open
// its handle, and the exporter never learns when that ends. So no event is ever destroyed, their
// number is bounded by a table, and an event is recorded again only if every earlier handle still
// orders the importer after the work that it was made for. An importer waits for the latest record
// at the time of its wait, so a new record must cover the work before the older records:
//
// - An event that was recorded last on the same stream may be recorded there again: a stream runs
//   its work in order, so the later record covers the earlier work. Ids of streams are unique in a
//   program, so a stream that reuses the handle of a destroyed stream does not count as the same.
// - An event that is complete (cuEventQuery) may be recorded on any stream of its context: the work
//   before its older records is done, and any record covers it.
//
// In both cases an importer may wait longer than necessary, but never too little. If no event can
// be used, the export is rejected. An event of a destroyed context is gone, like the memory that
// was exported from it; its slot is free.
//
// The table is an array of slots. The thread that sets a slot's state to kBusy owns the slot, from
// the search until the record: no other thread can record the event for another stream in between.
// Two threads that export from one stream at once get two events.
#include <atomic>

#include "device/cuda/events.h"
#include "device/cuda/ipc.h"
#include "support/text.h"

namespace dlbridge::cuda {
namespace {

struct IpcEventSlot {
  std::atomic<uint32_t> state;
  std::atomic<uint64_t> context_id;  // this and the rest are written while the slot is busy
  std::atomic<uint64_t> stream_id;
  std::atomic<Address> witness;  // of the context
  std::atomic<uint64_t> buffer;
  std::atomic<Event> event;
  IpcEventHandle handle;
};

// Drivers limit the number of events between processes: to about 22,000 up to CUDA 10.1
// (torch/csrc/CudaIPCTypes.h in PyTorch, which uses at most 1,000).
constexpr int kSlots = 64;
IpcEventSlot g_slots[kSlots];

// A stream and its context, with their ids.
struct Target {
  Stream stream;
  Context context;
  uint64_t context_id;
  uint64_t stream_id;
};

bool HasEventFunctions() {
  const Driver& driver = g_cuda.driver;
  return driver.ctx_get_id != nullptr && driver.stream_get_id != nullptr &&
         driver.ipc_get_event_handle != nullptr && driver.ipc_open_event_handle != nullptr;
}

DLBridgeStatus RequireEvents(DLBridgeError* error) {
  return HasEventFunctions()
             ? DLBRIDGE_OK
             : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "this driver",
                            "has no events that order the work of two processes, for which the "
                            "library needs CUDA 12.0 or later: the exporter must wait for its "
                            "stream (dlbridge_stream_synchronize) and export with NULL");
}

// Claims the first slot in a state for which `fits` is true, or returns NULL.
template <class Fits>
IpcEventSlot* Find(uint32_t state, const Fits& fits) {
  for (IpcEventSlot& slot : g_slots) {
    // Another thread may change the slot before it is claimed.
    if (fits(slot) && Claim(&slot, state)) {
      if (fits(slot)) {
        return &slot;
      }
      Return(&slot, state);
    }
  }
  return nullptr;
}

bool IsOf(const IpcEventSlot& slot, const Target& target) {
  return slot.context_id.load(std::memory_order_relaxed) == target.context_id &&
         slot.stream_id.load(std::memory_order_relaxed) == target.stream_id;
}

// A context's events are destroyed with it.
bool IsGone(const IpcEventSlot& slot) {
  bool alive = true;
  return AskAlive({slot.witness.load(), slot.buffer.load()}, &alive, nullptr) == DLBRIDGE_OK &&
         !alive;
}

bool IsDone(const IpcEventSlot& slot, const Target& target) {
  return slot.context_id.load() == target.context_id &&
         g_cuda.driver.event_query(slot.event) == kSuccess;
}

// Fills a slot without an event. On failure no process knows the event.
DLBridgeStatus MakeEvent(const Target& target, IpcEventSlot* slot, DLBridgeError* error) {
  Event event = nullptr;
  DLBRIDGE_TRY(Check(g_cuda.driver.event_create(&event, kEventDisableTiming | kEventInterprocess),
                     "cuEventCreate", error));
  const DLBridgeStatus status =
      Check(g_cuda.driver.ipc_get_event_handle(&slot->handle, event), "cuIpcGetEventHandle", error);
  if (status != DLBRIDGE_OK) {
    g_cuda.driver.event_destroy(event);
    return status;
  }
  const Witness witness = WitnessOf(target.context);
  slot->event.store(event);
  slot->witness.store(witness.address);
  slot->buffer.store(witness.buffer);
  slot->context_id.store(target.context_id);
  return DLBRIDGE_OK;
}

// Claims a slot without an event and makes one; `*out` is NULL if all slots have one.
DLBridgeStatus TakeNew(const Target& target, IpcEventSlot** out, DLBridgeError* error) {
  IpcEventSlot* slot = Find(kEmpty, [](const IpcEventSlot&) { return true; });
  slot = slot != nullptr ? slot : Find(kIdle, IsGone);
  if (slot == nullptr) {
    return DLBRIDGE_OK;
  }
  const DLBridgeStatus status = MakeEvent(target, slot, error);
  if (status != DLBRIDGE_OK) {
    Return(slot, kEmpty);
    return status;
  }
  *out = slot;
  return DLBRIDGE_OK;
}

DLBRIDGE_COLD DLBridgeStatus RejectTable(DLBridgeError* error) {
  static_assert(kSlots == 64, "as the message says");
  return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "spec.stream",
                      "cannot be exported with the tensor: 64 streams have unfinished work that "
                      "other processes may wait for. Wait for this stream, then export with NULL");
}

DLBridgeStatus Take(const Target& target, IpcEventSlot** out, DLBridgeError* error) {
  *out = Find(kIdle, [&](const IpcEventSlot& slot) { return IsOf(slot, target); });
  if (*out == nullptr) {
    DLBRIDGE_TRY(TakeNew(target, out, error));
  }
  if (*out == nullptr) {
    *out = Find(kIdle, [&](const IpcEventSlot& slot) { return IsDone(slot, target); });
  }
  if (*out == nullptr) {
    return RejectTable(error);
  }
  (*out)->stream_id.store(target.stream_id);
  return DLBRIDGE_OK;
}

// The context is current.
DLBridgeStatus AskIds(Target* target, DLBridgeError* error) {
  DLBRIDGE_TRY(IdOf(target->context, &target->context_id, error));
  unsigned long long id = 0;
  DLBRIDGE_TRY(Check(g_cuda.driver.stream_get_id(target->stream, &id), "cuStreamGetId", error));
  target->stream_id = id;
  return DLBRIDGE_OK;
}

// The context is current.
DLBridgeStatus Record(Target* target, IpcEventHandle* out, DLBridgeError* error) {
  DLBRIDGE_TRY(AskIds(target, error));
  IpcEventSlot* slot = nullptr;
  DLBRIDGE_TRY(Take(*target, &slot, error));
  const DLBridgeStatus status =
      Check(g_cuda.driver.event_record(slot->event, target->stream), "cuEventRecord", error);
  *out = slot->handle;
  Return(slot, kIdle);
  return status;
}

// An imported event may be destroyed while a stream waits for it (cuEventDestroy).
DLBridgeStatus Wait(const IpcEventHandle& handle, const DLBridgeStream* stream,
                    DLBridgeError* error) {
  Event event = nullptr;
  DLBRIDGE_TRY(
      Check(g_cuda.driver.ipc_open_event_handle(&event, handle), "cuIpcOpenEventHandle", error));
  const DLBridgeStatus status =
      stream == nullptr ? Check(g_cuda.driver.event_synchronize(event), "cuEventSynchronize", error)
                        : Check(g_cuda.driver.stream_wait_event(HandleOf(*stream), event, 0),
                                "cuStreamWaitEvent", error);
  const DLBridgeStatus destroyed = Check(g_cuda.driver.event_destroy(event), "cuEventDestroy",
                                         status == DLBRIDGE_OK ? error : nullptr);
  return status != DLBRIDGE_OK ? status : destroyed;
}

}  // namespace

DLBridgeStatus CheckIpcStream(const DLBridgeStream& stream, DLBridgeError* error) {
  if (stream.backend != DLBRIDGE_BACKEND_CUDA) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.stream",
                       "must be a stream of CUDA (2), like the memory", stream.backend);
  }
  DLBRIDGE_TRY(RequireEvents(error));
  Context context = nullptr;
  DLBRIDGE_TRY(ContextOfStream(stream, "spec.stream", &context, error));
  return InContext(context, error, [&] { return CheckStream(stream, "spec.stream", error); });
}

DLBridgeStatus RecordIpcEvent(const DLBridgeStream& stream, IpcEventHandle* out,
                              DLBridgeError* error) {
  Target target = {HandleOf(stream), nullptr, 0, 0};
  DLBRIDGE_TRY(ContextOfStream(stream, "spec.stream", &target.context, error));
  return InRelaxedContext(target.context, error, [&] { return Record(&target, out, error); });
}

DLBridgeStatus WaitForIpcEvent(const IpcEventHandle& handle, int32_t ordinal,
                               const DLBridgeStream* stream, DLBridgeError* error) {
  DLBRIDGE_TRY(RequireEvents(error));
  Context context = nullptr;
  DLBRIDGE_TRY(stream != nullptr
                   ? ContextOfStream(*stream, "spec.stream", &context, error)
                   : ContextOfDevice(ordinal, "the exporter's device", &context, error));
  return InRelaxedContext(context, error, [&] { return Wait(handle, stream, error); });
}

}  // namespace dlbridge::cuda
