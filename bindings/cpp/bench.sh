#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the C++ binding costs beside the same calls in C and malloc+free of 128 bytes: times in one
# run (medians), then instructions by callgrind. On an installed library, four axes.
#
# DLBRIDGE_PREFIX=folder bench.sh
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=${DLBRIDGE_PREFIX:?the folder where the shared library is installed}
scratch=$(cd "$HERE/../.." && pwd)/build/bindings/cpp/bench
cost=$HERE/tests/cost
mkdir -p "$scratch"

include=(-O2 -I"$prefix/include" -I"$cost")
gcc -std=c11 "${include[@]}" -c "$cost/cost_c.c" -o "$scratch/c.o"
g++ -std=c++17 "${include[@]}" "$cost/cost_cpp.cc" "$cost/bench_main.cc" "$scratch/c.o" \
  -o "$scratch/bench" -L"$prefix/lib" -ldlbridge "-Wl,-rpath,$prefix/lib"
"$scratch/bench"
if command -v valgrind >/dev/null; then
  "$cost/count.sh" "$prefix" "$scratch" gcc g++
fi
