#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shared and the static library in one prefix, in either order of installation.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

# install_both PREFIX TREE...
install_both() {
  local prefix=$1 tree
  shift
  for tree in "$@"; do cmake --install "$ROOT/build/$tree" --prefix "$prefix" >/dev/null; done
}
install_both "$PWD/one" release release-static
install_both "$PWD/other" release-static release
diff --recursive --no-dereference one other
both=$PWD/one shared=$PWD/one/lib/libdlbridge.so.$ABI static=$PWD/one/lib/libdlbridge.a

# What each installation brings is still there, byte for byte.
for linkage in shared static; do
  # shellcheck disable=SC2154 # set by run.sh
  (cd "$prefixes/$linkage" && find . -not -type d -exec cmp {} "$both/{}" \;) | tee differences
  [ ! -s differences ] || fail "the $linkage library's files were changed"
done

# with_components COMPONENTS LIBRARY: which library dlbridge::dlbridge is then.
with_components() {
  rm -rf build
  cmake -B build -DCMAKE_PREFIX_PATH="$both" -DCOMPONENTS="$1"
  cmake --build build
  expect_programs "$2" build
  expect_run "$shared" build/program_shared
  expect_run "$static" build/program_static
}
take_project side_by_side
with_components '' "$shared"
with_components shared "$shared"
with_components static "$static"
with_components 'shared;static' "$shared"

export PKG_CONFIG_PATH="$both/lib/pkgconfig"
# by_pkg_config LIBRARY OPTION...: a program in C by these options of pkg-config.
by_pkg_config() {
  local library=$1
  shift
  # shellcheck disable=SC2046
  cc program.c $(pkg-config --cflags --libs "$@") -Wl,-rpath,"$both/lib" -o by_pkg_config
  expect_run "$library" by_pkg_config
}
by_pkg_config "$shared" dlbridge
by_pkg_config "$static" dlbridge-static

# A program without any shared library. glibc warns of dlopen in it.
# shellcheck disable=SC2046
cc -static program.c $(pkg-config --static --cflags --libs dlbridge) -o no_loader
./no_loader "$VERSION"
[ -z "$(dynamic no_loader NEEDED)" ] || fail 'it needs a shared library'
[[ $(pkg-config --static --cflags dlbridge) == *-DDLBRIDGE_STATIC* ]] || fail 'DLBRIDGE_STATIC is not set'

# A library that another version has left does not fit the headers: it is as if it were not there.
sed -i "s/DLBRIDGE_VERSION \"$VERSION\"/DLBRIDGE_VERSION \"0.2.9\"/" \
  one/lib/cmake/dlbridge/dlbridgeTargets-static.cmake
rm -rf build
expect_refusal "dlbridge $VERSION is not 'static'; it is: abi$ABI;shared" \
  cmake -B build -DCMAKE_PREFIX_PATH="$both" -DCOMPONENTS=static
