#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The compiler rejects each misuse of misuse.cc, and of misuse_no_exceptions.cc with its flags, with
# the error that is given there, and compiles its corrected twin.
#
# misuse.sh COMPILER SCRATCH OPTION...   (the options find the headers)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
compiler=$1
scratch=$2
shift 2
mkdir -p "$scratch"

# try SOURCE NUMBER: compiles that misuse; says what is wrong and fails unless it is rejected as it
# should be.
try() {
  local source=$1 number=$2 says log
  log=$scratch/$(basename "$source")-$number.log
  says=$(sed -n "/^\/\/ MISUSE $number:/,/^[^/]/s|^// says: ||p" "$source")
  [ -n "$says" ] || { echo "misuse $number has no reason"; return 1; }
  if "$compiler" "${options[@]}" -include "$scratch/once.hpp" -DMISUSE="$number" "$source" \
    2>"$log"; then
    echo "misuse $number compiles"
    return 1
  fi
  grep --extended-regexp --quiet "error: .*$says" "$log" || {
    echo "misuse $number is rejected, but not because: $says"
    grep 'error:' "$log"
    return 1
  }
}

# try_all SOURCE LEAST OPTION...: the twins, then every misuse of that file, two at a time.
try_all() {
  local source=$1 least=$2 count=0 status=0 number pid flags numbers warnings options pids=()
  shift 2
  read -r -a flags <<<"$(sed -n 's|^// flags: ||p' "$source")"
  warnings=(-std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wold-style-cast -Werror "${flags[@]}" "$@")
  options=(-fsyntax-only "${warnings[@]}")
  # The headers are read once, with the flags of the file.
  printf '#include <array>\n#include <vector>\n#include "dlbridge/dlbridge.hpp"\n' \
    >"$scratch/once.hpp"
  mapfile -t numbers < <(sed -n 's|^// MISUSE \([0-9]*\):.*|\1|p' "$source")
  "$compiler" "${warnings[@]}" -x c++-header "$scratch/once.hpp" -o "$scratch/once.hpp.gch"
  "$compiler" "${options[@]}" -DMISUSE=0 "$source" || { echo 'a twin does not compile'; status=1; }
  for number in "${numbers[@]}"; do
    count=$((count + 1))
    [ "$number" -eq $count ] || { echo "misuse $number stands at place $count"; status=1; }
    try "$source" "$number" &
    pids+=($!)
    # Each is waited for by its id: `wait -n` forgets one that had ended before it was called.
    if [ ${#pids[@]} -eq 2 ]; then
      for pid in "${pids[@]}"; do wait "$pid" || status=1; done
      pids=()
    fi
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  echo "$count misuses in $(basename "$source")"
  [ $count -ge "$least" ] || status=1
  return $status
}

status=0
try_all "$here/misuse.cc" 59 "$@" || status=1
try_all "$here/misuse_no_exceptions.cc" 2 "$@" || status=1
if printf '#if __has_cpp_attribute(clang::lifetimebound)\nyes\n#endif\n' | "$compiler" -E -x c++ - |
  grep --quiet --line-regexp yes; then
  try_all "$here/misuse_lifetime.cc" 7 "$@" || status=1
fi
exit $status
