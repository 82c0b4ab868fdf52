#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Instructions (callgrind's Ir) of a validated upgrade and drop, ndim 4, in C and in Rust; fails
# where Rust needs more than 15 more, or fewer than half of C's, which would mean that it did not do
# it.
#
# instructions.sh SCRATCH C_PROGRAM RUST_PROGRAM
set -euo pipefail

scratch=$1
limit=15

# total PROGRAM COUNT
total() {
  valgrind --tool=callgrind --callgrind-out-file="$scratch/callgrind.out" "$1" "$2" \
    >"$scratch/callgrind.log" 2>&1 || {
    cat "$scratch/callgrind.log" >&2
    return 1
  }
  sed -n 's/^\(summary\|totals\): //p' "$scratch/callgrind.out" | tail -n 1
}

# per_call PROGRAM: what 1000 more calls cost, so that starting up does not count.
per_call() {
  local few many
  few=$(total "$1" 1000)
  many=$(total "$1" 2000)
  awk -v few="$few" -v many="$many" 'BEGIN { printf "%.1f", (many - few) / 1000 }'
}

c=$(per_call "$2")
rust=$(per_call "$3")
printf 'Ir of a validated upgrade and drop, ndim 4: C %s, Rust %s\n' "$c" "$rust"
awk -v c="$c" -v rust="$rust" -v limit="$limit" \
  'BEGIN { exit !(c > 0 && rust > c / 2 && rust <= c + limit) }'
