#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An installed prefix by find_package, for a program in C and one in C++.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_project find_package
cmake -B build -DCMAKE_PREFIX_PATH="$PREFIX" -DCMAKE_EXE_LINKER_FLAGS=-Wl,--no-as-needed
cmake --build build
expect_programs "$(library_of "$PREFIX")" build

# The archive brings no C++ runtime into a program in C, not even by how CMake links it.
! dynamic build/program NEEDED | grep 'libstdc++' || fail 'a program in C needs the C++ runtime'
dynamic build/program_cxx NEEDED | grep --quiet 'libstdc++' || fail 'a program in C++ does not'

# in_one_language LANGUAGE SOURCE
in_one_language() {
  mkdir "$1"
  cp "$2" "$1"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.21)' "project(consumer LANGUAGES $1)" \
    'find_package(dlbridge 0.3 REQUIRED)' "add_executable(program $2)" \
    'target_link_libraries(program PRIVATE dlbridge::dlbridge)' >"$1/CMakeLists.txt"
  cmake -S "$1" -B "$1/build" -DCMAKE_PREFIX_PATH="$PREFIX"
  cmake --build "$1/build"
  expect_run "$(library_of "$PREFIX")" "$1/build/program"
}
in_one_language C program.c
in_one_language CXX program.cc
