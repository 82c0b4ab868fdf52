#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# archive.sh BUILD FOLDER: installs a build and packs it as cpack would name it, and beside it an archive
# of the library's debug information, which unpacks to where debuggers look. The same commit gives the same
# bytes, which cpack does not: order, owner and times are none of the machine's.
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

# separate LIBRARY DEBUG: moves the debug information into a file of its own, which the library names.
separate() {
  mkdir -p "$(dirname "$2")"
  llvm-objcopy --only-keep-debug "$1" "$2"
  chmod 644 "$2"
  llvm-objcopy --strip-all --add-gnu-debuglink="$2" "$1"
}

# pack PARENT NAME ARCHIVE
pack() {
  tar --create --directory "$1" --format gnu --sort name --numeric-owner --owner 0 --group 0 \
    --mode u=rwX,go=rX --mtime "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" "$2" |
    gzip --best --no-name >"$3"
  echo "$3"
}

cmake --install "$build" --prefix "$stage/$name"
library=$(find "$stage/$name/lib" -name 'libdlbridge.so.*' -type f)
separate "$library" "$stage/debug/$name/lib/.debug/${library##*/}.debug"
mkdir -p "$folder"
pack "$stage/debug" "$name" "$folder/$name-debug.tar.gz"
pack "$stage" "$name" "$folder/$name.tar.gz"
