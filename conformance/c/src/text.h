// SPDX-License-Identifier: Apache-2.0
// Texts of fixed size and arrays that grow. The kit uses no C++ runtime, so that a program in C,
// Rust or Go links it without one.
#ifndef DLBRIDGE_CONFORMANCE_TEXT_H_
#define DLBRIDGE_CONFORMANCE_TEXT_H_

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// Checks the arguments of a function that takes a format.
#if defined(__MINGW32__)
#define DLBRIDGE_CONFORMANCE_PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#define DLBRIDGE_CONFORMANCE_PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif

namespace dlbridge_conformance {

// A NUL-terminated text that is cut where it does not fit.
template <size_t kSize>
struct Text {
  char text[kSize] = {0};

  DLBRIDGE_CONFORMANCE_PRINTF(2, 0) void Append(const char* format, va_list values) {
    const size_t used = strlen(text);
    vsnprintf(text + used, kSize - used, format, values);
  }
  DLBRIDGE_CONFORMANCE_PRINTF(2, 3) void Add(const char* format, ...) {
    va_list values;
    va_start(values, format);
    Append(format, values);
    va_end(values);
  }
  void Set(const char* other) {
    text[0] = 0;
    Add("%s", other);
  }
};

using Line = Text<384>;
using Snippet = Text<1536>;

DLBRIDGE_CONFORMANCE_PRINTF(1, 2) inline Line Say(const char* format, ...) {
  Line line;
  va_list values;
  va_start(values, format);
  line.Append(format, values);
  va_end(values);
  return line;
}

// An array of plain values. Without memory, Add returns false and leaves the array as it was.
template <typename T>
class List {
 public:
  List() = default;
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List() { free(items_); }

  bool Add(const T& item) {
    if (count_ == capacity_) {
      const size_t capacity = capacity_ == 0 ? 16 : capacity_ * 2;
      void* grown = realloc(static_cast<void*>(items_), capacity * sizeof(T));
      if (grown == nullptr) {
        return false;
      }
      items_ = static_cast<T*>(grown);
      capacity_ = capacity;
    }
    memcpy(static_cast<void*>(items_ + count_), &item, sizeof(T));
    ++count_;
    return true;
  }
  size_t size() const { return count_; }
  T& operator[](size_t index) { return items_[index]; }
  const T& operator[](size_t index) const { return items_[index]; }
  T* begin() { return items_; }
  T* end() { return items_ + count_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + count_; }

 private:
  T* items_ = nullptr;
  size_t count_ = 0;
  size_t capacity_ = 0;
};

}  // namespace dlbridge_conformance

#endif  // DLBRIDGE_CONFORMANCE_TEXT_H_
