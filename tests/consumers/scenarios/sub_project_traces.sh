#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# As a sub-project the library leaves nothing behind but its own targets and options.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_project traces
git clone --quiet "$SOURCE" dlbridge
cmake -B build -DSUB_PROJECT=dlbridge
cmake --build build
expect_programs "$(built_library build/sub_project)" build

# Each kind of trace is noticed: the same with a sub-project that leaves it.
# leaves COMPLAINT LINE...
leaves() {
  local complaint=$1
  shift
  rm -rf traces left
  mkdir left
  printf '%s\n' "$@" >left/CMakeLists.txt
  expect_refusal "$complaint" cmake -B traces -DSUB_PROJECT="$PWD/left"
}
leaves 'a variable: stray' 'set(stray 1 PARENT_SCOPE)'
leaves 'a changed variable: CMAKE_CXX_IMPLICIT_LINK_LIBRARIES' \
  'set(CMAKE_CXX_IMPLICIT_LINK_LIBRARIES "" PARENT_SCOPE)'
leaves 'a changed variable: CMAKE_BUILD_TYPE' 'set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)'
leaves 'a cache entry: BUILD_TESTING' 'include(CTest)'
leaves 'a cache entry: CMAKE_INSTALL_LIBDIR' 'include(GNUInstallDirs)'
leaves 'a changed property: COMPILE_OPTIONS' \
  'set_property(DIRECTORY .. APPEND PROPERTY COMPILE_OPTIONS -fno-rtti)'
leaves 'a changed property: USE_FOLDERS' 'set_property(GLOBAL PROPERTY USE_FOLDERS ON)'
leaves 'a target: check' 'add_custom_target(check)'
leaves 'tests: noisy' 'enable_testing()' 'add_test(NAME noisy COMMAND true)'
leaves 'no target at all' ''
