#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All checks of the Python package, from anywhere.
#
#   check.sh --develop [MINOR]   builds the package for CPython 3.MINOR (11) as it stands and says
#                                which PYTHONPATH has it; sources in Python are linked, not copied
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$root/build/bindings/python
# shellcheck source=bindings/python/environment.sh
. "$here/environment.sh"

die() {
  printf 'check.sh: %s\n' "$*" >&2
  exit 1
}

develop() {
  local minor=${1:-11} folder log python
  folder=$scratch/develop/3.$minor
  log=$scratch/logs/develop
  mkdir -p "$scratch/logs"
  python=$(find_python "$minor") || die "there is no CPython 3.$minor"
  has_headers "$python" || die "CPython 3.$minor has no headers"
  (build_tree "$minor" "$python" "$folder" -DCMAKE_BUILD_TYPE=RelWithDebInfo) >"$log" 2>&1 || {
    tail -n 60 "$log" >&2
    die "the build failed: $log"
  }
  echo "PYTHONPATH=$folder/package"
}

if [ "${1-}" = --develop ]; then
  develop "${2-}"
  exit
fi
