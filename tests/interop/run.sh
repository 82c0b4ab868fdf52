#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every pair of real frameworks, each in a process of its own, natively and through dlbridge. One
# line per check, `passed`, `FAILED` or `skipped`.
#
# run.sh            installs every framework and runs the whole matrix
# run.sh small      only the packages that are small: for each commit
# run.sh record     as without a word, and puts what came out on record: results.json and
#                   docs/interop.md
# shellcheck disable=SC2317 # `check` calls them
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$root/build/interop
status=0
cd "$root"
mkdir -p "$scratch/tmp"
export TMPDIR=$scratch/tmp

# need_python FOLDER REQUIREMENTS: an environment with just those packages.
need_python() {
  local folder=$1 requirements=$2 stamp
  stamp=$folder/$(sha256sum "$requirements" | cut -c 1-16).stamp
  [ ! -e "$stamp" ] || return 0
  rm -rf "$folder"
  "${3:-python3}" -m venv "$folder" &&
    "$folder/bin/python" -m pip install --disable-pip-version-check --quiet --no-deps \
      --requirement "$requirements" && touch "$stamp"
}

# check NAME COMMAND...: what it said is shown where it fails.
check() {
  local log=$scratch/${1// /-}.log
  if "${@:2}" >"$log" 2>&1; then
    printf 'passed interop: %s\n' "$1"
  else
    printf 'FAILED interop: %s\n' "$1"
    tail -n 60 "$log"
    status=1
    return 1
  fi
}

# package PYTHON: where PYTHONPATH finds the package, built for that interpreter.
package() {
  "$root/bindings/python/check.sh" --develop "$("$1" -c 'import sys; print(sys.version_info[1])')"
}

# matrix PYTHON ARGUMENT...
matrix() {
  local path
  path=$(package "$1") || return 1
  env "$path" "$1" -B "$here/matrix.py" "${@:2}" || return 1
}

# measured PYTHON NAME [FRAMEWORK...]: the lines of its own; anything else that goes wrong is one too.
measured() {
  local out=$scratch/$2.json said=$scratch/$2.said
  rm -f "$out"
  matrix "$1" measure "$out" "${@:3}" >"$said" 2>"$scratch/$2.log" || status=1
  cat "$said"
  [ -e "$out" ] || {
    printf 'FAILED interop: %s was measured\n' "$2"
    tail -n 60 "$scratch/$2.log"
    status=1
    return 1
  }
}

small() {
  local python=build/interop-small-venv/bin/python
  check 'the small packages are installed' need_python build/interop-small-venv \
    "$here/requirements-small.txt" || return 0
  check 'the package is built' package $python || return 0
  measured $python small numpy jax tvm_ffi onnxruntime pyarrow || return 0
  matrix $python compare "$scratch/small.json" "$here/results.json" main || status=1
  matrix $python document "$here/results.json" "$root/docs/interop.md" || status=1
}

# CPython 3.11 is the newest that the old packages have wheels for. A name may be a shim of pyenv.
old_python() {
  local name
  for name in python3.11 python3; do
    if "$name" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
}

old() {
  local python
  python=$(old_python)
  if [ -z "$python" ]; then
    echo 'skipped interop: old consumers: there is no CPython 3.11'
    return 0
  fi
  check 'the old packages are installed' need_python build/interop-old-venv \
    "$here/requirements-old.txt" "$python" || return 0
  measured build/interop-old-venv/bin/python old
}

whole() {
  local python=build/interop-venv/bin/python
  check 'all frameworks are installed' need_python build/interop-venv \
    "$here/requirements-matrix.txt" || return 0
  check 'the package is built' package $python || return 0
  measured $python main || return 0
  old
  [ "${1-}" != record ] || recorded
  matrix $python compare "$scratch/main.json" "$here/results.json" main || status=1
  [ ! -e "$scratch/old.json" ] ||
    matrix $python compare "$scratch/old.json" "$here/results.json" old || status=1
  matrix $python document "$here/results.json" "$root/docs/interop.md" || status=1
}

recorded() {
  local python=build/interop-venv/bin/python
  matrix $python record "$here/results.json" "main=$scratch/main.json" "old=$scratch/old.json"
  matrix $python document "$here/results.json" >"$root/docs/interop.md"
}

case ${1-} in
  "" | record) whole "$@" ;;
  small) small ;;
  *)
    sed -n '3,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
exit $status
