// SPDX-License-Identifier: Apache-2.0
// Memory that ends where reading would crash, and memory that must not be written to.
#ifndef DLBRIDGE_TESTS_SUPPORT_GUARD_H_
#define DLBRIDGE_TESTS_SUPPORT_GUARD_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace dlbridge_test {

// `size` bytes, the last of which is the last readable one: an unreadable page follows. Before
// them, in the same page, nothing but zeros. Read-only once Seal was called.
class Guarded {
 public:
  explicit Guarded(size_t size) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    readable_ = (size + page - 1) / page * page;
    mapped_ = readable_ + page;
    void* base = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base_ = base == MAP_FAILED ? nullptr : static_cast<char*>(base);
    EXPECT_NE(base_, nullptr);
    EXPECT_EQ(mprotect(base_ + readable_, page, PROT_NONE), 0);
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
  ~Guarded() { munmap(base_, mapped_); }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(start_);
  }
  // The unreadable page.
  template <class T>
  T* behind() const {
    return reinterpret_cast<T*>(base_ + readable_);
  }
  void Seal() { EXPECT_EQ(mprotect(base_, readable_, PROT_READ), 0); }
  void Unseal() { EXPECT_EQ(mprotect(base_, readable_, PROT_READ | PROT_WRITE), 0); }

 private:
  char* base_;
  char* start_;
  size_t readable_;
  size_t mapped_;
};

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_GUARD_H_
