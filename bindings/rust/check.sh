#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All checks of the Rust bindings, from anywhere: a line each, `passed`, `FAILED` with the log's
# tail, or `skipped` with the reason. README.md lists what it needs.
#
# DLBRIDGE_PREFIX         where the shared library is installed
# DLBRIDGE_PREFIX_STATIC  where the static one is; without it that check is skipped
# DLBRIDGE_OUTCOMES_DIR   folder for rust.jsonl, what each step of the corpus answered
# DLBRIDGE_FUZZ_SECONDS   fuzz for so long; without it the corpus is replayed only
# Checks are called by their names, which the linter does not see.
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$root/build/bindings/rust
logs=$scratch/logs
failed=0
: "${DLBRIDGE_PREFIX:?is where the shared library is installed}"

# Nothing but the prefix may lead to a library.
unset PKG_CONFIG_LIBDIR DLBRIDGE_NO_PKG_CONFIG DLBRIDGE_STATIC
unset RUSTFLAGS RUSTDOCFLAGS CARGO_BUILD_TARGET
export PKG_CONFIG_PATH=$DLBRIDGE_PREFIX/lib/pkgconfig LD_LIBRARY_PATH=$DLBRIDGE_PREFIX/lib
export CARGO_TARGET_DIR=$scratch/target CARGO_TERM_COLOR=never RUST_BACKTRACE=0 LC_ALL=C
export CARGO_INCREMENTAL=0 PYTHONDONTWRITEBYTECODE=1
features=dlbridge/ndarray,dlbridge/half,dlbridge-sys/runtime

# check NAME FUNCTION: runs it in a shell of its own.
check() {
  local log=$logs/$1.log status=0
  # Not in a condition, where no command but the last could stop it.
  set +e
  (set -e; cd "$here"; "$2") >"$log" 2>&1
  status=$?
  set -e
  case $status in
    0) printf 'passed %s\n' "$1" ;;
    77) printf 'skipped %s: %s\n' "$1" "$(tail -n 1 "$log")" ;;
    *)
      printf 'FAILED %s\n' "$1"
      tail -n 40 "$log"
      failed=1
      ;;
  esac
}

# skip REASON
skip() {
  echo "$1"
  exit 77
}

fetch() {
  cargo fetch --locked
  cargo fetch --locked --manifest-path fuzz/Cargo.toml
}

format() {
  cargo fmt --all --check
  cargo fmt --check --manifest-path fuzz/Cargo.toml
  cargo fmt --check --manifest-path bench/Cargo.toml
  rustfmt --check --edition 2021 dlbridge/tests/compile_fail/*.rs
}

mirrors() {
  python3 "$root/tools/facts.py" check
}

# Every exported function is called by the crate, not only declared.
symbols() {
  local name missing=0
  while IFS=@ read -r name _; do
    grep -rqw "sys::$name" dlbridge/src || {
      echo "nothing in dlbridge/src calls $name"
      missing=1
    }
  done <"$root/abi/symbols.txt"
  return "$missing"
}

# The README names every function that is unsafe.
unsafe_items() {
  local name missing=0
  while read -r name; do
    grep -q "[\`:]$name\`" dlbridge/README.md || {
      echo "dlbridge/README.md does not state what the caller of $name guarantees"
      missing=1
    }
  done < <(grep -rhoP '^ *pub (const )?unsafe fn \K\w+' dlbridge/src | sort -u)
  return "$missing"
}

clippy() {
  cargo clippy --locked --workspace --all-targets --features "$features" -- -D warnings
  cargo clippy --locked -p dlbridge -- -D warnings
  cargo clippy --locked -p dlbridge-sys --no-default-features --features runtime -- -D warnings
  cargo clippy --locked --no-default-features --manifest-path fuzz/Cargo.toml -- -D warnings
}

documentation() {
  RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps -p dlbridge-sys -p dlbridge \
    --features "$features"
}

# Unit, behaviour, corpus, replay, layout, loading at run time, misuse that must not compile; and
# the examples of the READMEs and of the documentation.
tests() {
  local outcomes=$scratch/rust.jsonl
  if [ -n "${DLBRIDGE_OUTCOMES_DIR-}" ]; then
    mkdir -p "$DLBRIDGE_OUTCOMES_DIR"
    outcomes=$(cd "$DLBRIDGE_OUTCOMES_DIR" && pwd)/rust.jsonl
  fi
  DLBRIDGE_OUTCOMES=$outcomes DLBRIDGE_LIBRARY=$DLBRIDGE_PREFIX/lib/libdlbridge.so \
    cargo test --locked -p dlbridge-sys -p dlbridge --features "$features"
  [ -s "$outcomes" ]
}

# A panic in a callback goes no further, or ends the process, as the program was built.
panics() {
  local status=0
  cargo build --locked -p programs --bin panic_abort
  "$CARGO_TARGET_DIR/debug/panic_abort"
  cargo build --locked -p programs --bin panic_abort --profile aborting
  "$CARGO_TARGET_DIR/aborting/panic_abort" || status=$?
  [ "$status" -eq 134 ] || {
    echo "with panic=abort the status is $status, not that of SIGABRT"
    return 1
  }
}

instructions() {
  command -v valgrind >/dev/null || skip 'valgrind is not installed'
  cargo build --locked --release -p programs --bin hot_path
  cc -O2 -I"$DLBRIDGE_PREFIX/include" tools/hot_path.c -o "$scratch/hot_path_c" \
    -L"$DLBRIDGE_PREFIX/lib" -ldlbridge
  tools/instructions.sh "$scratch" "$scratch/hot_path_c" "$CARGO_TARGET_DIR/release/hot_path"
}

# by_itself PROGRAM: it needs neither the shared library nor C++'s.
by_itself() {
  readelf --dynamic "$1" >"$scratch/needed.txt"
  grep NEEDED "$scratch/needed.txt"
  if grep -q 'NEEDED.*\(dlbridge\|stdc++\)' "$scratch/needed.txt"; then
    return 1
  fi
}

static() {
  [ -n "${DLBRIDGE_PREFIX_STATIC-}" ] || skip 'DLBRIDGE_PREFIX_STATIC is not set'
  export PKG_CONFIG_PATH=$DLBRIDGE_PREFIX_STATIC/lib/pkgconfig CARGO_TARGET_DIR=$scratch/static
  export LD_LIBRARY_PATH=
  cargo build --locked -p programs --bin hot_path
  "$CARGO_TARGET_DIR/debug/hot_path" 10
  by_itself "$CARGO_TARGET_DIR/debug/hot_path"
}

# The packages build by themselves, the library's source within; what it makes passes the layout
# tests, which call none of it, and the example of the README, which does.
packages() {
  export CARGO_TARGET_DIR=$scratch/package LD_LIBRARY_PATH=
  # An installed library of another ABI is passed over.
  mkdir -p "$scratch/other_abi"
  sed 's/^abi=.*/abi=99/' "$DLBRIDGE_PREFIX/lib/pkgconfig/dlbridge.pc" >"$scratch/other_abi/dlbridge.pc"
  export PKG_CONFIG_PATH=$scratch/other_abi
  local version crate test
  version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
  cargo package --locked --allow-dirty --no-verify -p dlbridge-sys -p dlbridge
  rm -rf "$scratch/unpacked"
  mkdir "$scratch/unpacked"
  for crate in dlbridge-sys dlbridge; do
    # Of today: by the packages' own dates cargo would take all for built already.
    tar --extract --touch --file "$CARGO_TARGET_DIR/package/$crate-$version.crate" \
      --directory "$scratch/unpacked"
  done
  cd "$scratch/unpacked/dlbridge-$version"
  # What a registry would do: the packaged dlbridge finds the packaged dlbridge-sys.
  printf '[patch.crates-io]\ndlbridge-sys = { path = "../dlbridge-sys-%s" }\n[workspace]\n' \
    "$version" >>Cargo.toml
  cargo test --doc
  cd "../dlbridge-sys-$version"
  printf '[workspace]\n' >>Cargo.toml
  cargo test --test layout --no-run --message-format json >"$scratch/package.json"
  test=$(sed -n 's/.*"executable":"\([^"]*layout-[^"]*\)".*/\1/p' "$scratch/package.json")
  "$test"
  by_itself "$test"
}

fuzz() {
  [ -n "${DLBRIDGE_FUZZ_SECONDS-}" ] || skip 'DLBRIDGE_FUZZ_SECONDS is not set'
  tools/fuzz.sh "$scratch/fuzz" "$DLBRIDGE_FUZZ_SECONDS"
}

scripts() {
  command -v shellcheck >/dev/null || skip 'shellcheck is not installed'
  shellcheck check.sh bench.sh tools/*.sh
}

mkdir -p "$logs"
check fetch fetch
check format format
check scripts scripts
check mirrors mirrors
check symbols symbols
check unsafe_items unsafe_items
check clippy clippy
check documentation documentation
check tests tests
check panics panics
check instructions instructions
check static static
check packages packages
check fuzz fuzz
exit $failed
