#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# archive.sh BUILD FOLDER: installs a build and packs it as cpack would name it. The same
# commit gives the same bytes, which cpack does not: order, owner and times are none of the machine's.
set -euo pipefail
build=$1
folder=$2

name=$(sed -n 's/^set(CPACK_PACKAGE_FILE_NAME "\(.*\)")$/\1/p' "$build/CPackConfig.cmake")
[ -n "$name" ] || {
  echo "archive.sh: $build/CPackConfig.cmake does not name the package" >&2
  exit 1
}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
umask 022
cmake --install "$build" --prefix "$stage/$name"
mkdir -p "$folder"
tar --create --directory "$stage" --format gnu --sort name --numeric-owner --owner 0 --group 0 \
  --mode u=rwX,go=rX --mtime "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" "$name" |
  gzip --best --no-name >"$folder/$name.tar.gz"
echo "$folder/$name.tar.gz"
