#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every language standard that the headers promise, with warnings as errors.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_programs
flags=(-pedantic-errors -Wall -Wextra -Werror -I"$PREFIX/include")
libraries=("$(library_of "$PREFIX")" "-Wl,-rpath,$PREFIX/lib" -ldl)
[ "$LINKAGE" = shared ] || flags+=(-DDLBRIDGE_STATIC)

# build COMPILER SOURCE STANDARD
build() {
  local program=$1-$3
  "$1" "-std=$3" "${flags[@]}" "$2" "${libraries[@]}" -o "$program"
  expect_run "$(library_of "$PREFIX")" "./$program"
}

for standard in c99 c11 c17; do
  build gcc program.c $standard
  build clang program.c $standard
done
for standard in c++11 c++17 c++20; do
  build g++ program.cc $standard
  build clang++ program.cc $standard
done
