// SPDX-License-Identifier: Apache-2.0
// Memory that ends at an unreadable page, and memory that can be made read-only.
#ifndef DLBRIDGE_TESTS_SUPPORT_GUARD_H_
#define DLBRIDGE_TESTS_SUPPORT_GUARD_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "support/pages.h"

namespace dlbridge_test {

// `size` bytes that end at an unreadable page. The bytes before them in the same page are zero.
// Read-only after Seal().
class Guarded {
 public:
  explicit Guarded(size_t size) {
    const size_t page = PageSize();
    readable_ = (size + page - 1) / page * page;
    mapped_ = readable_ + page;
    base_ = static_cast<char*>(MapPages(mapped_, Access::kWrite));
    EXPECT_NE(base_, nullptr);
    EXPECT_TRUE(ProtectPages(base_ + readable_, page, Access::kNone));
    start_ = base_ + (readable_ - size);
  }
  Guarded(const void* content, size_t size) : Guarded(size) {
    if (size != 0) {
      std::memcpy(start_, content, size);
    }
  }
  template <class T>
  explicit Guarded(const std::vector<T>& content)
      : Guarded(content.data(), content.size() * sizeof(T)) {}
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { UnmapPages(base_, mapped_); }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(start_);
  }
  // The unreadable page after the bytes.
  template <class T>
  T* behind() const {
    return reinterpret_cast<T*>(base_ + readable_);
  }
  void Seal() { EXPECT_TRUE(ProtectPages(base_, readable_, Access::kRead)); }
  void Unseal() { EXPECT_TRUE(ProtectPages(base_, readable_, Access::kWrite)); }

 private:
  char* base_;
  char* start_;
  size_t readable_;
  size_t mapped_;
};

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_GUARD_H_
