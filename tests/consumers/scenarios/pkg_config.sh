#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An installed prefix by pkg-config.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_programs
export PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig"
[ "$(pkg-config --modversion dlbridge)" = "$VERSION" ] || fail "$(pkg-config --modversion dlbridge)"
[ "$(pkg-config --variable=abi dlbridge)" = "$ABI" ] || fail "$(pkg-config --variable=abi dlbridge)"
pkg-config --print-errors "dlbridge >= $VERSION"
expect_refusal "dlbridge >= 99.0" pkg-config --print-errors "dlbridge >= 99.0"

# shellcheck disable=SC2046 # words are what pkg-config prints
cc program.c $(pkg-config --cflags --libs dlbridge) \
  -Wl,-rpath,"$(pkg-config --variable=libdir dlbridge)" -o program
expect_run "$(library_of "$PREFIX")" program

if [ "$LINKAGE" = static ]; then
  # shellcheck disable=SC2046
  cc program.c $(pkg-config --cflags --libs dlbridge-static) -o program_static
  expect_run "$(library_of "$PREFIX")" program_static
fi

# shellcheck disable=SC2046
c++ program.cc $(pkg-config --cflags --libs --static dlbridge) \
  -Wl,-rpath,"$(pkg-config --variable=libdir dlbridge)" -o program_cxx
expect_run "$(library_of "$PREFIX")" program_cxx
