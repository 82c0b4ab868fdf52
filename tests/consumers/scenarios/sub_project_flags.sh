#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The library is what it should be, whatever the project around it builds with.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_project add_subdirectory
git clone --quiet "$SOURCE" dlbridge

# around NAME OPTION...: a build with these options, and the library that came out of it.
around() {
  local build=$1
  shift
  cmake -B "$build" "$@"
  cmake --build "$build"
  expect_programs "$(built_library "$build/dlbridge")" "$build"
}

hostile=(-DCMAKE_BUILD_TYPE=Debug -DCMAKE_DEBUG_POSTFIX=d -DCMAKE_UNITY_BUILD=ON
  -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 -DCMAKE_CXX_STANDARD=20 -DCMAKE_POSITION_INDEPENDENT_CODE=OFF
  -DCMAKE_CXX_VISIBILITY_PRESET=default -DCMAKE_VISIBILITY_INLINES_HIDDEN=OFF
  '-DCMAKE_CXX_FLAGS=-fexceptions -frtti -fthreadsafe-statics -Wall -Wextra -Wshadow -Werror'
  '-DCMAKE_SHARED_LINKER_FLAGS=-Wl,--no-as-needed')
lto=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON -DCMAKE_CXX_STANDARD=11)

if [ "$LINKAGE" = shared ]; then
  around hostile "${hostile[@]}" -DBUILD_SHARED_LIBS=OFF -DDLBRIDGE_STATIC=OFF
  expect_own_needs "$(built_library hostile/dlbridge)"
  ! grep --quiet -e -Wconversion hostile/build.ninja || fail "our own warnings in another's build"

  around lto "${lto[@]}" -DBUILD_SHARED_LIBS=ON '-DCMAKE_CXX_FLAGS=-fexceptions -ffast-math'
  expect_own_needs "$(built_library lto/dlbridge)"

  # clang links the sanitizer into the program alone.
  around sanitizer -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_C_FLAGS=-fsanitize=address -DCMAKE_CXX_FLAGS=-fsanitize=address
  nm --dynamic "$(built_library sanitizer/dlbridge)" | grep __asan_report >/dev/null ||
    fail 'the library was built without the sanitizer of the project around it'
else
  hostile+=(-DDLBRIDGE_STATIC=ON)
  around hostile "${hostile[@]}" -DBUILD_SHARED_LIBS=ON
  expect_own_needs "$(built_library hostile/dlbridge)"
  around lto "${lto[@]}" -DDLBRIDGE_STATIC=ON -DBUILD_SHARED_LIBS=ON
fi
