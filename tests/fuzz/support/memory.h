// SPDX-License-Identifier: Apache-2.0
// Real memory between unreadable pages: a read or write next to a block stops the program.
#ifndef DLBRIDGE_TESTS_FUZZ_SUPPORT_MEMORY_H_
#define DLBRIDGE_TESTS_FUZZ_SUPPORT_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "fuzz/support/check.h"
#include "support/pages.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(memory, size) (static_cast<void>(memory), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(memory, size) ASAN_POISON_MEMORY_REGION(memory, size)
#endif

namespace dlbridge_fuzz {

// Blocks for one input. Each is in pages of its own, which stay mapped for the next input. Where a
// block cannot touch the unreadable page, a mark fills the gap: Reset checks it, and
// AddressSanitizer reports an access.
class GuardedMemory {
 public:
  static constexpr size_t kPagesPerBlock = 4;

  explicit GuardedMemory(size_t blocks = 64)
      : page_(dlbridge_test::PageSize()), room_(kPagesPerBlock * page_), capacity_(blocks) {
    const size_t size = capacity_ * (room_ + page_) + page_;
    base_ = static_cast<uint8_t*>(dlbridge_test::MapPages(size, dlbridge_test::Access::kNone));
    used_ = static_cast<Used*>(std::calloc(capacity_, sizeof(Used)));
    Check("memory for the blocks", base_ != nullptr && used_ != nullptr);
    for (size_t i = 0; i < capacity_; ++i) {
      Check("pages for a block",
            dlbridge_test::ProtectPages(Room(i), room_, dlbridge_test::Access::kWrite));
    }
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  size_t largest() const { return room_; }

  // A block that ends at an unreadable page, or at most `alignment` - 1 bytes before it. `offset`
  // moves it further towards the front. The bytes have a pattern.
  uint8_t* Take(size_t size, size_t alignment = 1, size_t offset = 0) {
    Check("the block fits", size + offset + alignment <= room_);
    const size_t start = (room_ - size - offset) / alignment * alignment;
    return Use(start, size);
  }
  // A block that begins after an unreadable page.
  uint8_t* TakeFirst(size_t size) {
    Check("the block fits", size <= room_);
    return Use(0, size);
  }
  template <class T>
  T* Take(size_t count = 1) {
    // NOLINTBEGIN(bugprone-sizeof-expression,misc-redundant-expression): T may be a pointer
    static_assert(sizeof(T) % alignof(T) == 0, "blocks end where their elements end");
    return reinterpret_cast<T*>(Take(count * sizeof(T), alignof(T)));
    // NOLINTEND(bugprone-sizeof-expression,misc-redundant-expression)
  }
  // A copy of the first `size` bytes of `content`.
  template <class T>
  T* Copy(const T& content, size_t size = sizeof(T)) {
    uint8_t* block = Take(size, alignof(T));
    std::memcpy(block, &content, size);
    return reinterpret_cast<T*>(block);
  }
  // Ends the use of a block: AddressSanitizer reports a later access.
  static void End(void* block, size_t size) {
    std::memset(block, 0xdd, size);
    ASAN_POISON_MEMORY_REGION(block, size);
  }
  // Ends the use of all blocks.
  void Reset() {
    for (size_t i = 0; i < count_; ++i) {
      CheckMarks(i);
    }
    count_ = 0;
  }

 private:
  static constexpr uint8_t kMark = 0xa5;
  static constexpr size_t kMarked = 64;
  static constexpr size_t kPattern = 256;  // bytes of a block that differ from each other
  struct Used {
    size_t start;
    size_t size;
  };

  uint8_t* Room(size_t i) const { return base_ + page_ + i * (room_ + page_); }

  uint8_t* Use(size_t start, size_t size) {
    Check("a block is left", count_ < capacity_);
    uint8_t* room = Room(count_);
    ASAN_UNPOISON_MEMORY_REGION(room, room_);
    used_[count_] = {start, size};
    std::memset(room + Before(start), kMark, start - Before(start));
    std::memset(room + start + size, kMark, After(start + size) - start - size);
    ++count_;
    std::memset(room + start, static_cast<int>(count_ * 31 + 1), size);
    for (size_t i = 0; i < size && i < kPattern; ++i) {
      room[start + i] = static_cast<uint8_t>(i * 7 + count_ * 31 + 1);
    }
    ASAN_POISON_MEMORY_REGION(room, start);
    ASAN_POISON_MEMORY_REGION(room + start + size, room_ - start - size);
    return room + start;
  }
  size_t Before(size_t start) const { return start < kMarked ? 0 : start - kMarked; }
  size_t After(size_t end) const { return room_ - end < kMarked ? room_ : end + kMarked; }

  void CheckMarks(size_t i) const {
    ASAN_UNPOISON_MEMORY_REGION(Room(i), room_);
    const size_t start = used_[i].start;
    const size_t end = start + used_[i].size;
    CheckMarked(Room(i) + Before(start), start - Before(start));
    CheckMarked(Room(i) + end, After(end) - end);
  }
  static void CheckMarked(const uint8_t* bytes, size_t size) {
    uint8_t marks[kMarked];
    std::memset(marks, kMark, sizeof marks);
    Check("the bytes next to a block are unchanged", std::memcmp(bytes, marks, size) == 0);
  }

  size_t page_;
  size_t room_;
  size_t capacity_;
  uint8_t* base_ = nullptr;
  Used* used_ = nullptr;
  size_t count_ = 0;
};

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_SUPPORT_MEMORY_H_
