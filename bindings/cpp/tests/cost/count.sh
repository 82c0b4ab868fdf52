#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Instructions of each operation in C and in C++, by callgrind; fails where the binding adds more
# than LIMIT (5) to the C call.
#
# count.sh PREFIX SCRATCH CC CXX
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=$1
scratch=$2
cc=$3
cxx=$4
limit=${LIMIT-5}
mkdir -p "$scratch"

include=(-O2 -I"$prefix/include" -I"$here")
"$cc" -std=c11 "${include[@]}" -c "$here/cost_c.c" -o "$scratch/c.o"
"$cxx" -std=c++17 "${include[@]}" -c "$here/cost_cpp.cc" -o "$scratch/cpp.o"
"$cxx" -std=c++17 "${include[@]}" "$here/cost_main.cc" "$scratch/c.o" "$scratch/cpp.o" \
  -o "$scratch/cost" -L"$prefix/lib" -ldlbridge "-Wl,-rpath,$prefix/lib"

# instructions FUNCTION: per call, of 1000 calls, with what they call.
instructions() {
  local out=$scratch/$1.callgrind
  valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$1" "$scratch/cost" "$1" \
    >/dev/null 2>"$scratch/$1.log"
  awk '/^(summary|totals):/ { printf "%.1f", $2 / 1000; exit }' "$out"
}

status=0
for operation in validate import upgrade share; do
  in_c=$(instructions "c_$operation")
  in_cpp=$(instructions "cpp_$operation")
  printf '%-9s C %6.1f Ir, C++ %6.1f Ir\n' "$operation" "$in_c" "$in_cpp"
  # A count of 0 would never fail.
  awk -v c="$in_c" -v cpp="$in_cpp" -v limit="$limit" \
    'BEGIN { exit !(c > 20 && cpp > 20 && cpp - c <= limit) }' || status=1
done
exit $status
