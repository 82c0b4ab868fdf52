#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The source tree inside another project.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_project add_subdirectory
git clone --quiet "$SOURCE" dlbridge
options=()
[ "$LINKAGE" = shared ] || options+=(-DBUILD_SHARED_LIBS=OFF)
cmake -B build "${options[@]}"
cmake --build build
library=$(built_library build/dlbridge)
expect_programs "$library" build
expect_own_needs "$library"
[ -z "$(git -C dlbridge status --porcelain)" ] || fail "the build has written into the source tree"

# DLBRIDGE_STATIC overrides BUILD_SHARED_LIBS. What each build makes is known before it is built.
kind_of() {
  cmake -S . -B "kind$#-$1" "${@:2}" >/dev/null
  grep -o 'libdlbridge\.\(a\|so\)' "kind$#-$1/build.ninja" | sort -u
}
[ "$(kind_of default)" = libdlbridge.so ] || fail 'not shared by default'
[ "$(kind_of on -DBUILD_SHARED_LIBS=ON)" = libdlbridge.so ] || fail 'BUILD_SHARED_LIBS=ON is not heeded'
[ "$(kind_of off -DBUILD_SHARED_LIBS=OFF)" = libdlbridge.a ] || fail 'BUILD_SHARED_LIBS=OFF is not heeded'
[ "$(kind_of off -DBUILD_SHARED_LIBS=OFF -DDLBRIDGE_STATIC=OFF)" = libdlbridge.so ] ||
  fail 'DLBRIDGE_STATIC=OFF does not override'
[ "$(kind_of on -DBUILD_SHARED_LIBS=ON -DDLBRIDGE_STATIC=ON)" = libdlbridge.a ] ||
  fail 'DLBRIDGE_STATIC=ON does not override'

# Unless it is asked for, nothing of the library is installed with the project around it.
cmake --install build --prefix "$PWD/nothing"
[ -z "$(find nothing -not -type d 2>/dev/null)" ] || fail "installed: $(find nothing -not -type d)"

# Where it is, the installation is complete.
cmake -B build -DDLBRIDGE_INSTALL=ON -DCMAKE_INSTALL_DOCDIR=share/doc/consumer
cmake --build build
cmake --install build --prefix "$PWD/installed"
[ -e installed/share/doc/dlbridge/LICENSE ] || fail 'the licence is not there'
[ ! -e installed/share/doc/consumer ] || fail 'the documents of the project around it were replaced'
take_project find_package
cmake -B user -DCMAKE_PREFIX_PATH="$PWD/installed"
cmake --build user
expect_programs "$(library_of installed)" user
