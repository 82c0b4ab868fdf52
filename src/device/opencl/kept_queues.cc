// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/kept_queues.h"

#include <atomic>

#include "device/opencl/internal.h"
#include "protocol/module.h"

namespace dlbridge::opencl {
namespace {

// kEmpty: no queue, no anchor. kBusy: the thread that set it owns the slot. kIdle: the queue can be
// taken. kOrphan: the anchor was destroyed while the slot was busy. kSpent: the queue is gone, the
// anchor is not.
enum State : uint32_t { kEmpty, kBusy, kIdle, kOrphan, kSpent };

struct Slot {
  std::atomic<uint32_t> state;
  std::atomic<Context> context;
  std::atomic<Device> device;
  Queue queue;  // read and written by the owner only
};

// Further contexts create a queue for each copy.
constexpr uint64_t kSlots = 16;
Slot g_slots[kSlots];

bool Change(Slot* slot, uint32_t from, uint32_t to) {
  return slot->state.compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

bool Fits(const Slot& slot, Context context, Device device) {
  return slot.context.load(std::memory_order_relaxed) == context &&
         slot.device.load(std::memory_order_relaxed) == device;
}

void Empty(Slot* slot) {
  slot->context.store(nullptr, std::memory_order_relaxed);
  slot->state.store(kEmpty, std::memory_order_release);
}

int32_t ReleaseQueue(Queue queue) { return g_opencl.call.clReleaseCommandQueue(queue); }

// The owner returns the slot. If the anchor is gone, the queue goes too.
void SetIdle(Slot* slot) {
  if (!Change(slot, kBusy, kIdle)) {
    ReleaseQueue(slot->queue);
    Empty(slot);
  }
}

// The anchor is gone. Returns false if the owner has just changed the state.
bool Drop(Slot* slot) {
  if (Change(slot, kIdle, kBusy)) {
    ReleaseQueue(slot->queue);
    Empty(slot);
    return true;
  }
  if (Change(slot, kSpent, kBusy)) {
    Empty(slot);
    return true;
  }
  return Change(slot, kBusy, kOrphan);
}

// Runs when the driver destroys the anchor, on any thread.
void DLBRIDGE_CL_CALL OnDestroyed(Mem /*anchor*/, void* user) {
  if (!IsStarted(kOpenClBackend)) {
    return;  // in a forked child
  }
  while (!Drop(static_cast<Slot*>(user))) {
  }
}

Slot* TakeIdle(Context context, Device device) {
  for (Slot& slot : g_slots) {
    if (Fits(slot, context, device) && Change(&slot, kIdle, kBusy)) {
      if (Fits(slot, context, device)) {
        return &slot;
      }
      SetIdle(&slot);  // the slot was emptied and filled again in between
    }
  }
  return nullptr;
}

bool IsKept(Context context, Device device) {
  for (const Slot& slot : g_slots) {
    if (Fits(slot, context, device)) {
      return true;
    }
  }
  return false;
}

Slot* TakeEmpty() {
  for (Slot& slot : g_slots) {
    if (Change(&slot, kEmpty, kBusy)) {
      return &slot;
    }
  }
  return nullptr;
}

// Ties the queue to the anchor. The driver may call OnDestroyed at any later time, so the module
// must stay loaded.
bool Anchor(Mem anchor, Slot* slot) {
  return PinModule(reinterpret_cast<const void*>(&OnDestroyed), nullptr) == DLBRIDGE_OK &&
         g_opencl.call.clSetMemObjectDestructorCallback(anchor, OnDestroyed, slot) == kSuccess;
}

// Returns NULL if the queue cannot be kept.
Slot* Keep(Context context, Device device, Mem anchor, Queue queue) {
  Slot* slot = anchor == nullptr || IsKept(context, device) ? nullptr : TakeEmpty();
  if (slot == nullptr) {
    return nullptr;
  }
  slot->queue = queue;
  slot->device.store(device, std::memory_order_relaxed);
  slot->context.store(context, std::memory_order_relaxed);
  if (!Anchor(anchor, slot)) {
    Empty(slot);
    return nullptr;
  }
  return slot;
}

uint64_t NumberOf(const Slot* slot) {
  return slot != nullptr ? static_cast<uint64_t>(slot - g_slots) + 1 : 0;
}

}  // namespace

DLBridgeStatus TakeQueue(Context context, Device device, Mem anchor, QueueLease* out,
                         DLBridgeError* error) {
  Slot* slot = anchor != nullptr ? TakeIdle(context, device) : nullptr;
  if (slot != nullptr) {
    *out = {slot->queue, NumberOf(slot)};
    return DLBRIDGE_OK;
  }
  int32_t code = kSuccess;
  Queue queue = g_opencl.call.clCreateCommandQueue(context, device, 0, &code);
  DLBRIDGE_TRY(Check(code, "clCreateCommandQueue", error));
  *out = {queue, NumberOf(Keep(context, device, anchor, queue))};
  return DLBRIDGE_OK;
}

DLBridgeStatus GiveQueue(const QueueLease& lease, bool usable, DLBridgeError* error) {
  Slot* slot = lease.slot != 0 ? &g_slots[lease.slot - 1] : nullptr;
  if (slot != nullptr && usable) {
    SetIdle(slot);
    return DLBRIDGE_OK;
  }
  const int32_t code = ReleaseQueue(lease.queue);
  if (slot != nullptr && !Change(slot, kBusy, kSpent)) {
    Empty(slot);
  }
  return Check(code, "clReleaseCommandQueue", error);
}

}  // namespace dlbridge::opencl
