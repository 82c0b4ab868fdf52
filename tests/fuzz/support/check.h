// SPDX-License-Identifier: Apache-2.0
// What a fuzz target checks: a difference prints what was expected and what was found, and aborts,
// which libFuzzer and the replay report together with the input.
#ifndef DLBRIDGE_TESTS_FUZZ_SUPPORT_CHECK_H_
#define DLBRIDGE_TESTS_FUZZ_SUPPORT_CHECK_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace dlbridge_fuzz {

inline std::string Text(const std::string& value) { return '"' + value + '"'; }
inline std::string Text(const char* value) { return Text(std::string(value)); }
inline std::string Text(const void* value) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", value);
  return text;
}
template <class T, class = std::enable_if_t<std::is_integral<T>::value || std::is_enum<T>::value>>
std::string Text(T value) {
  return std::to_string(+value);
}

// What the target has done with this input, for the report.
inline std::string& Trace() {
  static std::string trace;
  return trace;
}

[[noreturn]] inline void Fail(const std::string& what, const std::string& expected,
                              const std::string& found) {
  std::fprintf(stderr, "%s%s: expected %s, found %s\n", Trace().c_str(), what.c_str(),
               expected.c_str(), found.c_str());
  std::abort();
}

// `what` is text or a function that returns it, which is called only for the report.
template <class What>
std::string Describe(const What& what) {
  if constexpr (std::is_invocable<What>::value) {
    return what();
  } else {
    return what;
  }
}

template <class What, class Expected, class Found>
void CheckEqual(const What& what, const Expected& expected, const Found& found) {
  if (!(expected == found)) {
    Fail(Describe(what), Text(expected), Text(found));
  }
}

template <class What>
void Check(const What& what, bool holds) {
  if (!holds) {
    Fail(Describe(what), "true", "false");
  }
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_SUPPORT_CHECK_H_
