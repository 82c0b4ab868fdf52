#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the scenarios share. Each runs in an empty folder and is told by run.sh: $LINKAGE (shared or
# static), $PREFIX (where that library is installed), $SOURCE (a repository with the source tree),
# $ROOT (this repository), $HERE, $VERSION, $ABI.
set -euo pipefail

# The parts of dlbridge.hpp, as the list of the archive's files has them.
mapfile -t HPP_PARTS < <(sed -n 's|^include/dlbridge/\(hpp/\)|\1|p' "$ROOT/packaging/contents.txt")
export HPP_PARTS # for the scripts that source this file

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

skip() {
  printf '%s\n' "$*"
  exit 77
}

take_programs() { cp "$HERE/program.c" "$HERE/program.cc" .; }

# take_project NAME: a project that consumes the library, and the two programs that it builds.
take_project() {
  take_programs
  cp "$HERE/projects/$1/"* .
}

# dynamic FILE TAG: what the dynamic section says, one value per line.
dynamic() {
  readelf --wide --dynamic "$1" | sed -n "s/.*($2).*\[\(.*\)\]/\1/p"
}

# The file that the loader takes for a program's libdlbridge; empty where it needs none.
loaded_library() {
  ldd "$1" | sed -n 's/^[[:space:]]*libdlbridge[^ ]* => \(.*\) (0x.*/\1/p'
}

# expect_run LIBRARY PROGRAM: the program does its work with that very file; for a static library,
# LIBRARY is the archive, and there must be no file to load.
expect_run() {
  local expected=$1 program found
  program=$(realpath "$2")
  "$program" "$VERSION" || fail "$program failed"
  found=$(loaded_library "$program")
  case $expected in
    *.a) ! dynamic "$program" NEEDED | grep --quiet dlbridge || fail "$program needs $found" ;;
    *)
      [ -n "$found" ] || fail "$program loads no libdlbridge"
      [ "$(readlink -e "$found")" = "$(readlink -e "$expected")" ] ||
        fail "$program loads '$found', not $expected"
      ;;
  esac
}

# expect_refusal TEXT COMMAND...: the command fails and says TEXT, however it breaks its lines.
expect_refusal() {
  local text=$1 said
  shift
  if said=$("$@" 2>&1); then
    fail "'$*' should have failed"
  fi
  said=$(tr --squeeze-repeats '[:space:]' ' ' <<<"$said")
  [[ $said == *"$text"* ]] || fail "'$*' failed, but said: $said"
}

# The installed library of this linkage below a prefix.
library_of() {
  if [ "$LINKAGE" = static ]; then
    printf '%s\n' "$1/lib/libdlbridge.a"
  else
    printf '%s\n' "$1/lib/libdlbridge.so.$ABI"
  fi
}

# expect_own_needs LIBRARY: built in whichever way, it needs glibc's own files and nothing of the
# C++ runtime, and has its own name and no others' functions.
expect_own_needs() {
  local file=$1 names
  if [ "$LINKAGE" = static ]; then
    names=$(nm --undefined-only "$file" | awk 'NF == 2 { print $2 }' |
      grep -E '^(__cxa|__gxx|_Unwind|__dynamic_cast|_ZSt|_ZNSt|_ZNKSt|_Znw|_ZdlPv)' || true)
    [ -z "$names" ] || fail "$file asks for the C++ runtime: $names"
    return 0
  fi
  names=$(dynamic "$file" NEEDED | grep -v -x -E 'libc\.so\.6|libdl\.so\.2|ld-linux.*' || true)
  [ -z "$names" ] || fail "$file needs $names"
  [ "$(dynamic "$file" SONAME)" = "libdlbridge.so.$ABI" ] || fail "$file has another SONAME"
  [ -z "$(dynamic "$file" RUNPATH)$(dynamic "$file" RPATH)" ] || fail "$file has a run path"
  names=$(nm --dynamic --defined-only "$file" | awk '{ print $3 }' |
    grep -v -E '^(dlbridge_|DLBRIDGE_)' || true)
  [ -z "$names" ] || fail "$file exports $names"
}

# expect_programs LIBRARY FOLDER: the programs that a consumer's project has built.
expect_programs() {
  expect_run "$1" "$2/program"
  expect_run "$1" "$2/program_cxx"
}

# The library that a project around the source tree has built in a folder.
built_library() {
  if [ "$LINKAGE" = static ]; then
    printf '%s\n' "$1/src/libdlbridge.a"
  else
    printf '%s\n' "$1/src/libdlbridge.so.$ABI"
  fi
}
