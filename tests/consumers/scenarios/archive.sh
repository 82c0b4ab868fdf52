#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The archive that cpack makes, unpacked somewhere and used.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

PACKAGES=$PWD/made
cd "$ROOT"
cpack --config build/release/CPackConfig.cmake -B "$PACKAGES"
cd "$OLDPWD"
folder=dlbridge-$VERSION-linux-$(uname -m)
tar --extract --file "made/$folder.tar.gz"
[ "$(find . -maxdepth 1 -name 'dlbridge-*')" = "./$folder" ] || fail 'not one folder at the top'

# It is the installed prefix, file by file; the library may have been stripped.
diff <(cd "$folder" && find . | sort) <(cd "$PREFIX" && find . | sort)
diff --recursive --exclude 'libdlbridge.so*' "$folder" "$PREFIX"

take_project find_package
cmake -B build -DCMAKE_PREFIX_PATH="$PWD/$folder"
cmake --build build
expect_programs "$(library_of "$PWD/$folder")" build

export PKG_CONFIG_PATH="$PWD/$folder/lib/pkgconfig"
# shellcheck disable=SC2046
cc program.c $(pkg-config --cflags --libs dlbridge) \
  -Wl,-rpath,"$(pkg-config --variable=libdir dlbridge)" -o program
expect_run "$(library_of "$PWD/$folder")" ./program
expect_own_needs "$(library_of "$folder")"
