#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures a validated upgrade and drop, ndim 4, in Rust beside the C functions and dlpark, in one
# run: medians as multiples of malloc and free of 128 bytes; then instructions, by callgrind.
#
# DLBRIDGE_PREFIX is where the shared library is installed. All output is below build/bindings/rust.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$root/build/bindings/rust
mkdir -p "$scratch"
export PKG_CONFIG_PATH=$DLBRIDGE_PREFIX/lib/pkgconfig LD_LIBRARY_PATH=$DLBRIDGE_PREFIX/lib
export CARGO_TARGET_DIR=$scratch/bench

cd "$here/bench"
cargo fmt --check
cargo clippy --locked --quiet --all-targets -- -D warnings
cargo bench --locked --quiet --bench upgrade -- --noplot >"$scratch/bench.log" 2>&1 || {
  tail -n 40 "$scratch/bench.log"
  exit 1
}
python3 - "$CARGO_TARGET_DIR/criterion/upgrade" <<'PYTHON'
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
medians = {
    path.parents[1].name: json.loads(path.read_text())["median"]["point_estimate"]
    for path in folder.glob("*/new/estimates.json")
}
base = medians["malloc_free_128"]
for name, median in sorted(medians.items(), key=lambda item: item[1]):
    share = median / 64 if name.endswith("_64") else median
    each = " each" if name.endswith("_64") else ""
    print(f"{name:20} {share:8.1f} ns {share / base:6.2f}x{each}")
PYTHON
cd "$here"
CARGO_TARGET_DIR=$scratch/target cargo build --locked --quiet --release -p programs
cc -O2 -I"$DLBRIDGE_PREFIX/include" tools/hot_path.c -o "$scratch/hot_path_c" \
  -L"$DLBRIDGE_PREFIX/lib" -ldlbridge
tools/instructions.sh "$scratch" "$scratch/hot_path_c" "$scratch/target/release/hot_path"
