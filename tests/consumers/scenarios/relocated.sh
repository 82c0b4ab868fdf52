#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A prefix that is renamed after the installation; whatever names the old one fails.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

old=$PWD/old new="$PWD/a new place"
cp --archive "$PREFIX" "$old"
mv "$old" "$new"
[ ! -e "$old" ] || fail "$old is still there"

take_project find_package
cmake -B build -DCMAKE_PREFIX_PATH="$new"
cmake --build build
expect_programs "$(library_of "$new")" build

export PKG_CONFIG_PATH="$new/lib/pkgconfig"
eval "flags=($(pkg-config --cflags --libs dlbridge))"
# shellcheck disable=SC2154 # by eval: the folder has blanks, which pkg-config quotes
cc program.c "${flags[@]}" -Wl,-rpath,"$new/lib" -o program
expect_run "$(library_of "$new")" ./program

if [ "$LINKAGE" = static ]; then
  eval "flags=($(pkg-config --cflags --libs dlbridge-static))"
  cc program.c "${flags[@]}" -o program_static
  expect_run "$(library_of "$new")" ./program_static
fi
