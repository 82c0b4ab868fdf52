#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the Go binding beside the same work in C, in one run: bench.sh [COUNT]
#
# Prints benchstat's table, then medians and minima as multiples (x) of malloc+free of 128 bytes.
# DLBRIDGE_PREFIX is the folder where the shared library is installed. On a busy machine
# only the minima of many runs are meaningful.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
SCRATCH=$ROOT/build/bindings/go
BENCHSTAT=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
count=${1:-15}

mkdir -p "$SCRATCH/bin"
export GOCACHE=$SCRATCH/cache GOMODCACHE=$SCRATCH/modules GOBIN=$SCRATCH/bin GOTOOLCHAIN=local
export GOENV=off GOFLAGS='-buildvcs=false -modcacherw' GOTELEMETRY=off
PKG_CONFIG_PATH=$(find "${DLBRIDGE_PREFIX:?}" -name dlbridge.pc -printf '%h\n' -quit)
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(pkg-config --variable=libdir dlbridge)
export LD_LIBRARY_PATH

go install "$BENCHSTAT"
cd "$HERE"
go test -c -o "$SCRATCH/bench.test" .
"$SCRATCH/bench.test" -test.run '^$' -test.bench . -test.benchtime 50ms -test.count "$count" \
  >"$SCRATCH/bench.txt"
"$GOBIN/benchstat" "$SCRATCH/bench.txt"

# name, figure, unit: one line for each figure but those of memory.
figures() {
  awk '/^Benchmark/ {
    sub(/^Benchmark/, "", $1); sub(/-[0-9]+$/, "", $1)
    for (i = 3; i < NF; i += 2)
      if ($(i + 1) ~ /^ns\//) print $1, $i, $(i + 1)
  }' "$SCRATCH/bench.txt"
}

echo
printf '%-24s %-11s %10s %8s %10s %8s\n' benchmark unit 'median ns' x 'least ns' x
figures | sort -k1,1 -k3,3 -k2,2g | awk '
  function report(   median) {
    median = values[int((n + 1) / 2)]
    names[++rows] = name; units[rows] = unit; medians[rows] = median; least[rows] = values[1]
    if (name == "MallocFree") { base = median; floor = values[1] }
  }
  $1 != name || $3 != unit { if (n) report(); name = $1; unit = $3; n = 0 }
  { values[++n] = $2 }
  END {
    report()
    for (i = 1; i <= rows; i++)
      printf "%-24s %-11s %10.1f %8.2f %10.1f %8.2f\n", names[i], units[i], medians[i],
        medians[i] / base, least[i], least[i] / floor
  }'
