#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A library of the next ABI is refused to those who ask for a version of this one.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

next=$((ABI + 1))
git clone --quiet "$SOURCE" dlbridge
sed -i "s/^#define DLBRIDGE_ABI .*/#define DLBRIDGE_ABI $next/
  s/^#define DLBRIDGE_VERSION_MAJOR .*/#define DLBRIDGE_VERSION_MAJOR 50/
  s/^#define DLBRIDGE_VERSION_STRING \"[0-9]*/#define DLBRIDGE_VERSION_STRING \"50/" \
  dlbridge/include/dlbridge/dlbridge.h

options=(-DDLBRIDGE_BUILD_TESTS=OFF -DDLBRIDGE_BUILD_EXAMPLES=OFF -DCMAKE_BUILD_TYPE=Debug)
expect_refusal "does not say since when there is ABI $next" cmake -S dlbridge -B next "${options[@]}"
sed -i "s/^set(DLBRIDGE_ABI_${ABI}_SINCE .*/&\nset(DLBRIDGE_ABI_${next}_SINCE 50.0)/" \
  dlbridge/cmake/install.cmake
cmake -S dlbridge -B next "${options[@]}"
cmake --build next
cmake --install next --prefix "$PWD/next-prefix"
[ -e "next-prefix/lib/libdlbridge.so.$next" ] || fail "the next ABI has another file name"

take_project find_package
expect_refusal "dlbridgeConfig.cmake, version: 50" cmake -B build -DCMAKE_PREFIX_PATH="$PWD/next-prefix"
expect_refusal "(ABI $next, that of 50.0 and later)" cmake -B build -DCMAKE_PREFIX_PATH="$PWD/next-prefix"

# With both at hand the right one is found behind the wrong one.
cmake -B both -DCMAKE_PREFIX_PATH="$PWD/next-prefix;$PREFIX"
cmake --build both
expect_programs "$(library_of "$PREFIX")" both
