#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What find_package must refuse, and in which words.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_project find_package
refused() {
  local request=$1 text=$2
  sed "s/find_package(dlbridge 0.3 REQUIRED)/find_package(dlbridge $request)/" \
    "$HERE/projects/find_package/CMakeLists.txt" >CMakeLists.txt
  grep --quiet --fixed-strings "find_package(dlbridge $request)" CMakeLists.txt
  rm -rf build
  expect_refusal "$text" cmake -B build -DCMAKE_PREFIX_PATH="$PREFIX"
}
accepted() {
  sed "s/find_package(dlbridge 0.3 REQUIRED)/find_package(dlbridge $1)/" \
    "$HERE/projects/find_package/CMakeLists.txt" >CMakeLists.txt
  rm -rf build
  cmake -B build -DCMAKE_PREFIX_PATH="$PREFIX"
}

refused '99.0 REQUIRED' "compatible with requested version \"99.0\""
refused '99.0 REQUIRED' "dlbridgeConfig.cmake, version: $VERSION"
refused '99.0...100 REQUIRED' 'compatible with requested version range "99.0...100"'
# Versions before 0.3 were never published: who asks for one was written for another interface.
refused '0.2 REQUIRED' "(ABI $ABI, that of 0.3 and later)"
refused '0 REQUIRED' "(ABI $ABI, that of 0.3 and later)"
refused '0.2.9 REQUIRED' "(ABI $ABI, that of 0.3 and later)"
refused '0.1...99 REQUIRED' "(ABI $ABI, that of 0.3 and later)"
refused "$VERSION.1 EXACT REQUIRED" "exactly matches requested version \"$VERSION.1\""
refused "REQUIRED COMPONENTS abi$((ABI + 1))" "dlbridge $VERSION is not 'abi$((ABI + 1))'"
refused 'REQUIRED COMPONENTS static' "dlbridge $VERSION is not 'static'; it is: abi$ABI;shared"
accepted "$VERSION EXACT REQUIRED COMPONENTS abi$ABI shared"
accepted 'REQUIRED'
accepted '0.3 REQUIRED'
accepted "0.3...99 REQUIRED OPTIONAL_COMPONENTS static"
