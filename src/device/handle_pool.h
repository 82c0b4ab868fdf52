// SPDX-License-Identifier: Apache-2.0
// A few driver handles that are kept for the next call, without a lock. The thread that takes a
// handle has it alone; a handle that does not fit is destroyed by its owner.
#ifndef DLBRIDGE_SRC_DEVICE_HANDLE_POOL_H_
#define DLBRIDGE_SRC_DEVICE_HANDLE_POOL_H_

#include <atomic>

namespace dlbridge {

// One cache line, so pools of neighbouring devices do not share one. Static pools are empty.
class alignas(64) HandlePool {
 public:
  // Returns NULL if the pool is empty.
  void* Take() {
    for (std::atomic<void*>& slot : slots_) {
      if (slot.load(std::memory_order_relaxed) != nullptr) {
        void* handle = slot.exchange(nullptr, std::memory_order_acquire);
        if (handle != nullptr) {
          return handle;
        }
      }
    }
    return nullptr;
  }

  // Returns false if the pool is full: the caller keeps the handle.
  bool Give(void* handle) {
    for (std::atomic<void*>& slot : slots_) {
      void* empty = nullptr;
      if (slot.load(std::memory_order_relaxed) == nullptr &&
          slot.compare_exchange_strong(empty, handle, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 private:
  std::atomic<void*> slots_[8];
};

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DEVICE_HANDLE_POOL_H_
