#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each misuse of misuse.cc is refused by the compiler, for the reason that stands there, and its
# corrected twin compiles.
#
# misuse.sh COMPILER SCRATCH OPTION...   (the options find the headers)
set -euo pipefail

source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/misuse.cc
compiler=$1
scratch=$2
shift 2
warnings=(-std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Werror "$@")
options=(-fsyntax-only "${warnings[@]}")
mkdir -p "$scratch"

# The headers are read once. A number that has flags of its own reads them anew.
printf '#include <array>\n#include <vector>\n#include "dlbridge/dlbridge.hpp"\n' >"$scratch/once.hpp"
"$compiler" "${warnings[@]}" -x c++-header "$scratch/once.hpp" \
  -o "$scratch/once.hpp.gch"

# try NUMBER: compiles that misuse; says what is wrong and fails unless it is refused as it should be.
try() {
  local number=$1 says flags log=$scratch/misuse-$1.log
  says=$(sed -n "/^\/\/ MISUSE $number:/,/^[^/]/s|^// says: ||p" "$source")
  read -r -a flags <<<"$(sed -n "/^\/\/ MISUSE $number:/,/^[^/]/s|^// flags: ||p" "$source")"
  [ -n "$says" ] || { echo "misuse $number has no reason"; return 1; }
  [ ${#flags[@]} -gt 0 ] || flags=(-include "$scratch/once.hpp")
  if "$compiler" "${options[@]}" "${flags[@]}" -DMISUSE="$number" "$source" 2>"$log"; then
    echo "misuse $number compiles"
    return 1
  fi
  grep --extended-regexp --quiet "error: .*$says" "$log" || {
    echo "misuse $number is refused, but not because: $says"
    grep 'error:' "$log"
    return 1
  }
}

"$compiler" "${options[@]}" -DMISUSE=0 "$source"
numbers=$(sed -n 's|^// MISUSE \([0-9]*\):.*|\1|p' "$source")
count=0
status=0
for number in $numbers; do
  count=$((count + 1))
  [ "$number" -eq $count ] || { echo "misuse $number stands at place $count"; status=1; }
  try "$number" &
  if [ $((count % 2)) -eq 0 ]; then wait -n || status=1; fi
done
while [ -n "$(jobs -pr)" ]; do wait -n || status=1; done
echo "$count misuses"
[ $count -ge 25 ] || status=1
exit $status
