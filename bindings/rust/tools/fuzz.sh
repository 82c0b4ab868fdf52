#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzz target for some seconds, on a stable compiler: rustc's own coverage pass, clang's
# libFuzzer, and the library built with clang's AddressSanitizer and UndefinedBehaviorSanitizer.
# What is found is written to SCRATCH; the corpus of the repository is only read.
#
# fuzz.sh SCRATCH SECONDS
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1/corpus"
scratch=$(cd "$1" && pwd)

# What cargo-fuzz passes, but for what needs a nightly compiler: Rust's own code is watched for
# coverage and not for addresses; the allocator is the sanitizer's all the same.
passes=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
  -Cllvm-args=-sanitizer-coverage-trace-compares)
link="-Clinker=clang -Clink-arg=-fsanitize=address,undefined,fuzzer -Clink-arg=-lstdc++"
sanitize="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize=vptr,function -fno-sanitize-recover=all"

host=$(rustc -vV | sed -n 's/^host: //p')
cd "$here/fuzz"
DLBRIDGE_NO_PKG_CONFIG=1 CC=clang CXX=clang++ CXXFLAGS="$sanitize -g1" \
  RUSTFLAGS="--cfg fuzzing ${passes[*]} $link" CARGO_TARGET_DIR="$scratch/target" \
  cargo build --locked --release --quiet --no-default-features --bin import --target "$host"

program=$(find "$scratch/target" -path '*/release/import' -type f)
cd "$scratch"
# Deleters of the corpus may be NULL, so what leaks is counted by the target itself.
ASAN_OPTIONS=detect_leaks=0 "$program" -max_total_time="$2" -max_len=128 -print_final_stats=1 \
  -artifact_prefix="$scratch/" corpus "$here/fuzz/corpus/import"
