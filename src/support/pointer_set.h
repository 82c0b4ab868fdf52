// SPDX-License-Identifier: Apache-2.0
// Finds duplicate pointers in an array: a hash table of indices, of fixed size.
#ifndef DLBRIDGE_SRC_SUPPORT_POINTER_SET_H_
#define DLBRIDGE_SRC_SUPPORT_POINTER_SET_H_

#include <cstddef>
#include <cstdint>

#include "support/checked.h"

namespace dlbridge {

class PointerSet {
 public:
  static constexpr size_t kMostEntries = size_t{1} << 30;

  // Bytes of memory that a set of `entries` needs, a multiple of 8.
  static size_t BytesFor(size_t entries) { return SlotsFor(entries) * sizeof(uint32_t); }

  // `memory` must be zeroed.
  PointerSet(void* memory, size_t entries)
      : slots_(static_cast<uint32_t*>(memory)),
        shift_(64 - static_cast<uint32_t>(__builtin_ctzll(SlotsFor(entries)))),
        mask_(SlotsFor(entries) - 1) {}

  // Adds entry `index` of `all` and returns the index of the first entry with the same value.
  template <class T>
  DLBRIDGE_INLINE size_t Add(const void* pointer, size_t index, T* const* all) {
    constexpr uint64_t kGolden = 0x9e3779b97f4a7c15U;
    size_t slot = (reinterpret_cast<uintptr_t>(pointer) * kGolden) >> shift_;
    while (slots_[slot] != 0) {
      if (DLBRIDGE_UNLIKELY(all[slots_[slot] - 1] == pointer)) {
        return slots_[slot] - 1;
      }
      slot = (slot + 1) & mask_;
    }
    slots_[slot] = static_cast<uint32_t>(index) + 1;
    return index;
  }

 private:
  // A power of two, at least twice the number of entries.
  static size_t SlotsFor(size_t entries) {
    size_t slots = 4;
    while (slots < 2 * entries) {
      slots *= 2;
    }
    return slots;
  }

  uint32_t* slots_;
  uint32_t shift_;
  size_t mask_;
};

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_SUPPORT_POINTER_SET_H_
