#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The C++ binding by find_package and as a sub-project: its first example, with nothing said about the
# language's standard.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_project cpp_binding
cp "$SOURCE/bindings/cpp/examples/first.cc" .

# expect_first LIBRARY PROGRAM: it does its work with that very file.
expect_first() {
  [ "$("$2" | head -n 1)" = 'element (1, 2): 5' ] || fail "$2 failed"
  [ "$LINKAGE" = static ] ||
    [ "$(readlink -e "$(loaded_library "$2")")" = "$(readlink -e "$1")" ] || fail "$2 loads another"
}

cmake -B build -DCMAKE_PREFIX_PATH="$PREFIX"
cmake --build build
expect_first "$(library_of "$PREFIX")" build/first

[ "$LINKAGE" = shared ] || exit 0
git clone --quiet "$SOURCE" dlbridge
cmake -B around -DSUB_PROJECT=dlbridge -DDLBRIDGE_BUILD_TESTS=OFF
cmake --build around --target first
expect_first "$(built_library around/sub_project)" around/first
