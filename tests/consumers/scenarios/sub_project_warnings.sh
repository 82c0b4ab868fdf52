#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# As a sub-project the library compiles without a warning under flags that are stricter than its own, and so
# do the public headers and everything that they expand to in a program.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_project add_subdirectory
git clone --quiet "$SOURCE" dlbridge
both='-Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Werror'

# Each initialiser of the header, by the type whose size it states.
initialisers() {
  printf '%s\n' '#include <dlbridge/dlbridge.h>'
  sed -e ':join' -e '/\\$/N; s/\\\n//; tjoin' dlbridge/include/dlbridge/dlbridge.h |
    sed -n 's/^#define \(DLBRIDGE_[A-Z_]*_INIT\) .*sizeof(\([A-Za-z]*\)).*/static const \2 k\1 = \1; const void* use_\1(void); const void* use_\1(void) { return \&k\1; }/p'
}
initialisers | tee initialisers.c initialisers.cc
[ "$(wc -l <initialisers.c)" -gt 10 ] || fail 'initialisers were not found'
printf '%s\n' '#include <dlbridge/dlbridge.hpp>' 'int main() { return 0; }' >binding.cc

# strict C C++ FLAGS: the library, the headers and the programs by these compilers.
strict() {
  local flags=(-Idlbridge/include -Idlbridge/bindings/cpp/include -pedantic -c -o /dev/null) cxx="$both -Wold-style-cast $3"
  # shellcheck disable=SC2086 # words
  {
    "$1" -std=c99 $both "${flags[@]}" initialisers.c
    "$2" -std=c++11 $cxx "${flags[@]}" initialisers.cc
    "$2" -std=c++17 $cxx "${flags[@]}" binding.cc
  }
  cmake -B "$1" -DCMAKE_C_COMPILER="$1" -DCMAKE_CXX_COMPILER="$2" \
    -DCMAKE_C_FLAGS="$both" -DCMAKE_CXX_FLAGS="$cxx"
  cmake --build "$1"
  expect_programs "$(built_library "$1/dlbridge")" "$1"
}
strict gcc g++ -Wuseless-cast
strict clang clang++ ''

# The flags do reach the library.
printf '%s\n' 'int odd(double value); int odd(double value) { return (int)value; }' >>dlbridge/src/protocol/api.cc
expect_refusal 'old-style cast' cmake --build gcc
