// SPDX-License-Identifier: Apache-2.0
// One program from this file compiled twice. With exceptions it has main and a callback that
// throws; without them it has the same functions of the header, which cannot catch.
#include <cstdio>
#include <vector>

#include "dlbridge/dlbridge.hpp"

namespace db = dlbridge;

using Callback = void (*)();

// The same instances of the header's templates in both files.
static bool Lends(std::vector<float>& values, Callback called) {
  return db::wrap_borrowed(values, called).has_value();
}

bool lends_without_exceptions(std::vector<float>& values, Callback called);

#if DLBRIDGE_HPP_EXCEPTIONS
static int calls = 0;

int main() {
  std::vector<float> values(3);
  const bool without = lends_without_exceptions(values, [] { ++calls; });
  const bool with = Lends(values, [] {
    ++calls;
    throw 1;
  });
  std::printf("%d calls\n", calls);
  return with && without && calls == 2 ? 0 : 1;
}
#else
bool lends_without_exceptions(std::vector<float>& values, Callback called) {
  return Lends(values, called);
}
#endif
