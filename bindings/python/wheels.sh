#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Into build/wheels: the source distribution and, built of nothing else, a wheel each for CPython 3.10
# and 3.11 and one for 3.12 and later. They need glibc 2.17 on x86_64. What is there already of the
# same sources is not built again.
#
# DLBRIDGE_WHEELS   another folder for them, which is emptied first
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$root/build/bindings/python
readonly machine=x86_64
wheels=$root/build/wheels
work=$scratch/wheels-$machine
if [ -n "${DLBRIDGE_WHEELS-}" ]; then
  wheels=$DLBRIDGE_WHEELS
  work=$DLBRIDGE_WHEELS.work
  rm -rf "$wheels" "$work"
fi
# shellcheck source=bindings/python/environment.sh
. "$here/environment.sh"

# hook MINOR NAME FOLDER [SETTING=VALUE...]: calls the build backend, in the folder of the project;
# what it made is in `made`, and what its programs said goes to stderr.
hook() {
  made=$("$scratch/tools-3.$1/bin/python" - "${@:2}" <<'PYTHON'
import os, sys
from scikit_build_core import build
name, folder, *settings = sys.argv[1:]
answer = os.dup(1)
os.dup2(2, 1)
made = getattr(build, name)(folder, dict(setting.split("=", 1) for setting in settings))
os.write(answer, made.encode())
PYTHON
  )
}

# The programs are the same wherever they are, so that ccache knows them again.
zig_programs() {
  local language
  # shellcheck disable=SC2154 # need_zig sets it
  mkdir -p "$work/programs"
  for language in cc c++; do
    printf '#!/bin/sh\nexec "%s" %s -target %s "$@"\n' "$zig" "$language" \
      "$machine-linux-gnu.2.17" >"$work/programs/$language"
    chmod +x "$work/programs/$language"
  done
  export DLBRIDGE_ZIG_PROGRAMS=$work/programs
  export CCACHE_COMPILERTYPE=clang CCACHE_COMPILERCHECK=content
}

make_sdist() {
  local before
  mkdir -p "$wheels"
  before=$(sha256sum "$wheels"/dlbridge-*.tar.gz 2>/dev/null || true)
  cd "$here"
  hook "$1" build_sdist "$work/sdist"
  sdist=$wheels/$made
  # The archive stays as it is where nothing changed.
  [ "$before" = "$(sha256sum "$work/sdist/$made" | cut -d ' ' -f 1)  $sdist" ] || {
    rm -f "$wheels"/dlbridge-*.tar.gz
    cp "$work/sdist/$made" "$sdist"
  }
  rm -rf "$work/source"
  mkdir -p "$work/source"
  tar --extract --file "$sdist" --directory "$work/source" --strip-components 1
}

# make_wheel MINOR FOLDER: a wheel that says which glibc it needs.
make_wheel() {
  rm -rf "$work/build" "$work/plain" "$2"
  cd "$work/source"
  hook "$1" build_wheel "$work/plain" "build-dir=$work/build" cmake.define.DLBRIDGE_WERROR=ON \
    "cmake.define.CMAKE_TOOLCHAIN_FILE=$here/cmake/zig.cmake" "cmake.define.DLBRIDGE_ZIG=$zig" \
    "cmake.define.DLBRIDGE_ZIG_TARGET=$machine-linux-gnu.2.17"
  PATH=$scratch/audit/bin:$PATH auditwheel repair --plat "manylinux_2_17_$machine" \
    --wheel-dir "$2" "$work/plain/$made"
}

# wheel MINOR TAGS: the same bytes, whoever builds it and when.
wheel() {
  local made stamp
  stamp=$work/$2.$({
    sha256sum "$sdist" "$here"/{wheels,environment}.sh "$here"/requirements/{build,wheels}.txt \
      "$here/cmake/zig.cmake" "$root/cmake/toolchains/zig.cmake" "$root/packaging/requirements.txt"
    "$scratch/tools-3.$1/bin/python" -VV
  } | sha256sum | cut -c 1-16).stamp
  if [ ! -e "$stamp" ] || ! ls "$wheels"/dlbridge-*-"$2"-*"$machine".whl >/dev/null 2>&1; then
    rm -f "$work/$2".*.stamp "$wheels"/dlbridge-*-"$2"-*"$machine".whl
    make_wheel "$1" "$work/repaired"
    mv "$work/repaired"/*.whl "$wheels"
    touch "$stamp"
  fi
  ls "$wheels"/dlbridge-*-"$2"-*"$machine".whl
}

main() {
  local minor python built=()
  export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1640995200}
  for minor in 11 12 10; do
    if python=$(find_python "$minor") && has_headers "$python"; then
      need_environment "$scratch/tools-3.$minor" "$python" "$here/requirements/build.txt"
      built+=("$minor")
    else
      echo "no wheel for CPython 3.$minor: it is not here, or without headers"
    fi
  done
  [ ${#built[@]} -gt 0 ] || {
    echo 'there is no CPython with headers to build wheels for' >&2
    return 1
  }
  need_environment "$scratch/audit" python3 "$here/requirements/wheels.txt"
  need_zig
  use_ccache
  zig_programs
  make_sdist "${built[0]}"
  echo "$sdist"
  for minor in "${built[@]}"; do
    if [ "$minor" = 12 ]; then wheel 12 cp312-abi3; else wheel "$minor" "cp3$minor-cp3$minor"; fi
  done
}

# One at a time: whoever comes second finds the wheels there.
mkdir -p "$scratch"
exec 9>"$scratch/wheels.lock"
flock 9
main
