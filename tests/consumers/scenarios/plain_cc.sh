#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An installed prefix by nothing but the compiler.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_programs
if [ "$LINKAGE" = shared ]; then
  cc program.c -I"$PREFIX/include" -L"$PREFIX/lib" -ldlbridge -Wl,-rpath,"$PREFIX/lib" -o program
else
  cc -DDLBRIDGE_STATIC program.c -I"$PREFIX/include" "$PREFIX/lib/libdlbridge.a" -ldl -lpthread -o program
fi
expect_run "$(library_of "$PREFIX")" program

# Without a run path a program is linked, and the loader says what it misses.
if [ "$LINKAGE" = shared ]; then
  cc program.c -I"$PREFIX/include" -L"$PREFIX/lib" -ldlbridge -o lost
  expect_refusal "libdlbridge.so.$ABI: cannot open shared object file" ./lost "$VERSION"
  LD_LIBRARY_PATH="$PREFIX/lib" ./lost "$VERSION"
fi
