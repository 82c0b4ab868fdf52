#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What an installation consists of, by component, and that no file names a folder of the build.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

tree=$ROOT/build/release
[ "$LINKAGE" = shared ] || tree=$ROOT/build/release-static

# expect_files COMPONENT FILE...
expect_files() {
  local component=$1
  shift
  cmake --install "$tree" --prefix "$PWD/$component" --component "$component" >/dev/null
  diff <(cd "$component" && find . -not -type d -printf '%P\n' | sort) <(printf '%s\n' "$@" | sort)
}

package=lib/cmake/dlbridge/dlbridge
development=(
  include/dlbridge/{dlbridge,dlpack,{cpython,cuda,hip,level_zero,opencl}_api}.h
  include/dlbridge/dlbridge.hpp
  "${HPP_PARTS[@]/#/include/dlbridge/}"
  "$package"{Config,ConfigVersion,ConfigVersionBasic,"Targets-$LINKAGE","Targets-$LINKAGE-release"}.cmake
  lib/pkgconfig/dlbridge.pc)
documentation=(share/doc/dlbridge/{CHANGELOG.md,LICENSE,README.md})
if [ "$LINKAGE" = shared ]; then
  expect_files runtime "lib/libdlbridge.so.$ABI" "lib/libdlbridge.so.$ABI.$VERSION"
  expect_files development "${development[@]}" lib/libdlbridge.so
else
  expect_files development "${development[@]}" lib/libdlbridge.a lib/pkgconfig/dlbridge-static.pc
fi
expect_files documentation "${documentation[@]}"

# Nothing is installed that belongs to no component.
diff <(cd "$PREFIX" && find . -not -type d | sort) \
  <(find runtime development documentation -not -type d -printf './%P\n' 2>/dev/null | sort)

# Neither the sources' folder, nor the build's, nor the prefix.
if grep --recursive --files-with-matches --fixed-strings -e "$ROOT" -e "$PREFIX" "$PREFIX"; then
  fail 'these files name a folder of the build'
fi
expect_own_needs "$(library_of "$PREFIX")"
