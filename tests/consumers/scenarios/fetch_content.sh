#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# FetchContent: the shared library from a git repository, the static one from a folder at hand.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_project fetch_content
if [ "$LINKAGE" = shared ]; then
  cmake -B build -DDLBRIDGE_REPOSITORY="file://$SOURCE"
else
  git clone --quiet "$SOURCE" at_hand
  cmake -B build -DFETCHCONTENT_SOURCE_DIR_DLBRIDGE="$PWD/at_hand" -DDLBRIDGE_STATIC=ON
fi
cmake --build build
library=$(built_library build/_deps/dlbridge-build)
expect_programs "$library" build
expect_own_needs "$library"
