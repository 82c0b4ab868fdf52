// SPDX-License-Identifier: Apache-2.0
// One memory between two unreadable pages, in which a target places what it reads and writes.
#ifndef DLBRIDGE_TESTS_FUZZ_SUPPORT_FENCED_H_
#define DLBRIDGE_TESTS_FUZZ_SUPPORT_FENCED_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fuzz/support/check.h"
#include "fuzz/support/input.h"
#include "support/pages.h"

namespace dlbridge_fuzz {

// `size` bytes, a multiple of the page size. A target keeps one for all of its inputs, since
// mapping pages takes longer than most calls of the library.
class Fenced {
 public:
  explicit Fenced(size_t size) : size_(size) {
    const size_t page = dlbridge_test::PageSize();
    Check("the size is a multiple of the page size", size % page == 0);
    pages_ = static_cast<uint8_t*>(
        dlbridge_test::MapPages(size + 2 * page, dlbridge_test::Access::kNone));
    Check("pages for the memory", pages_ != nullptr);
    begin_ = pages_ + page;
    Check("access to the memory",
          dlbridge_test::ProtectPages(begin_, size, dlbridge_test::Access::kWrite));
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  ~Fenced() { dlbridge_test::UnmapPages(pages_, size_ + 2 * dlbridge_test::PageSize()); }

  uint8_t* begin() const { return begin_; }
  uint8_t* end() const { return begin_ + size_; }
  size_t size() const { return size_; }

  // A copy of `count` values that ends at the unreadable page.
  template <class T>
  T* Last(const T* values, size_t count) const {
    uint8_t* place = end() - count * sizeof(T);
    if (count != 0) {
      std::memcpy(place, values, count * sizeof(T));
    }
    return reinterpret_cast<T*>(place);
  }
  // Where `bytes` bytes begin: at the start, at the end or somewhere else.
  size_t TakePlace(Input* input, size_t bytes) const {
    const size_t room = size_ - bytes;
    switch (input->Below(4)) {
      case 0:
        return 0;
      case 1:
        return room;
      default:
        return static_cast<size_t>(input->Below(room < 300 ? room + 1 : 300));
    }
  }

 private:
  uint8_t* pages_;
  uint8_t* begin_;
  size_t size_;
};

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_SUPPORT_FENCED_H_
