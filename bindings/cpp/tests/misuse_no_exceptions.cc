// SPDX-License-Identifier: Apache-2.0
// Misuses that the types forbid where exceptions are off; see misuse.cc.
// flags: -fno-exceptions
#include "dlbridge/dlbridge.hpp"

namespace db = dlbridge;

// MISUSE 1: value(), which throws
// says: value\(\) throws, and exceptions are off: ask has_value\(\)
bool throws_without_exceptions(db::foreign_legacy& tensor) {
  const auto made = db::validate(std::move(tensor));
#if MISUSE == 1
  return static_cast<bool>(made.value());
#else
  return made.has_value();
#endif
}

// MISUSE 2: at(), which throws
// says: value\(\) throws, and exceptions are off: ask has_value\(\)
float reads_at(const db::strided_view<const float, 1>& view) {
#if MISUSE == 2
  return view.at(0);
#else
  const float* const element = view.find(0);
  return element != nullptr ? *element : 0;
#endif
}
