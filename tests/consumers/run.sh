#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every way to consume the library, each a script of its own in a scratch folder. One line per
# scenario, `passed`, `FAILED` or `skipped`, and what a scenario said unless it passed.
#
# run.sh SCRATCH [SCENARIO...]
#
# The presets release, release-static and debian must have been built. A scenario is the name of a script in
# scenarios/, or that and `shared` or `static`; what it said is in SCRATCH/<scenario>.log.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
jobs=$(nproc)

# Nothing but what a scenario names itself may lead to a library.
unset CMAKE_PREFIX_PATH CMAKE_INSTALL_PREFIX PKG_CONFIG_PATH PKG_CONFIG_LIBDIR LD_LIBRARY_PATH \
  LD_PRELOAD CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH CC CXX CFLAGS CXXFLAGS LDFLAGS
export CMAKE_GENERATOR=Ninja CMAKE_BUILD_PARALLEL_LEVEL=1 LC_ALL=C

# What the header states: header_define NAME.
header_define() {
  sed -n "s/^#define $1 \"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" "$ROOT/include/dlbridge/dlbridge.h"
}

# The source tree as a user gets it: what git knows, in a repository of its own with a release tag.
make_source() {
  git init --quiet "$SOURCE"
  git -C "$ROOT" ls-files -z --cached --others --exclude-standard |
    (cd "$ROOT" && xargs -0 ls -d 2>/dev/null | tar --create --files-from -) |
    tar --extract --directory "$SOURCE"
  git -C "$SOURCE" add --all
  git -C "$SOURCE" -c user.name=test -c user.email=test@localhost commit --quiet --message test
  git -C "$SOURCE" tag "v$VERSION"
}

# Both kinds of the library, installed.
make_prefixes() {
  local PREFIX=$prefixes/shared
  cd "$ROOT"
  cmake --install build/release --prefix "$PREFIX"
  cmake --install build/release-static --prefix "$prefixes/static"
}

# scenario NAME [LINKAGE]: runs it in a folder of its own and says how it went.
scenario() {
  local name=$1 status=0 folder log
  folder=$scratch/$name${2+-$2}
  log=$folder.log
  mkdir "$folder"
  export LINKAGE=${2-shared}
  export PREFIX=$prefixes/$LINKAGE
  (cd "$folder" && bash "$HERE/scenarios/$name.sh") >"$log" 2>&1 || status=$?
  case $status in
    0) printf 'passed %s\n' "$*" ;;
    77) printf 'skipped %s: %s\n' "$*" "$(tail -n 1 "$log")" ;;
    *)
      printf 'FAILED %s\n' "$*"
      tail -n 40 "$log"
      ;;
  esac
}

if [ "$1" = --scenario ]; then
  read -r -a words <<<"$2"
  scenario "${words[@]}"
  exit
fi

rm -rf "$1"
mkdir -p "$1"
scratch=$(cd "$1" && pwd)
shift
VERSION=$(header_define DLBRIDGE_VERSION_STRING)
ABI=$(header_define DLBRIDGE_ABI)
SOURCE=$scratch/source
prefixes=$scratch/prefix
export HERE ROOT VERSION ABI SOURCE scratch prefixes

# Those that build the library come first. `debian` changes the system, so it runs alone.
scenarios=(
  another_abi
  'sub_project_flags shared' 'sub_project_flags static'
  'add_subdirectory shared' 'add_subdirectory static'
  'fetch_content shared' 'fetch_content static'
  sub_project_traces
  sub_project_warnings
  hardening
  'cpp_binding shared' 'cpp_binding static'
  'find_package shared' 'find_package static'
  'pkg_config shared' 'pkg_config static'
  'plain_cc shared' 'plain_cc static'
  'standards shared' 'standards static'
  'relocated shared' 'relocated static'
  'installed_files shared' 'installed_files static'
  side_by_side
  find_package_refused
  archive
  checks_can_fail
)
alone=(debian)
if [ $# -gt 0 ]; then
  scenarios=("$@")
  alone=()
fi

for step in make_source make_prefixes; do
  # Not in a condition, where no command but the last could stop it.
  set +e
  (set -e; $step) >"$scratch/$step.log" 2>&1
  status=$?
  set -e
  [ $status -eq 0 ] || {
    tail -n 60 "$scratch/$step.log"
    exit 1
  }
done

# run_all JOBS SCENARIO...
run_all() {
  local parallel=$1
  shift
  [ $# -eq 0 ] || printf '%s\0' "$@" | xargs -0 -n 1 -P "$parallel" "$HERE/run.sh" --scenario
}
run_all "$jobs" "${scenarios[@]}"
run_all 1 "${alone[@]}"
