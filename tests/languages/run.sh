#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a plugin in each language on a library with AddressSanitizer inside and runs them in one
# Python process. One line per check, `passed` or `FAILED`, as those of bindings/*/check.sh.
#
# run.sh SCRATCH    the preset asan must have been built; DLBRIDGE_PYTHON has NumPy and JAX
# shellcheck disable=SC2317 # `check` calls them
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1"
scratch=$(cd "$1" && pwd)
python=${DLBRIDGE_PYTHON:-$root/build/venv/bin/python}
status=0

# check NAME COMMAND...: what it said is shown where it fails.
check() {
  local log=$scratch/${1// /-}.log
  if "${@:2}" >"$log" 2>&1; then
    printf 'passed languages: %s\n' "$1"
  else
    printf 'FAILED languages: %s\n' "$1"
    tail -n 60 "$log"
    status=1
  fi
}

# Where each language's tools find the library.
installed() {
  cmake --install "$root/build/asan" --prefix "$scratch/prefix"
  ln -sfn "$scratch/prefix/lib" "$scratch/lib"
}

build_cpp() {
  clang++ -std=c++17 -g -O1 -Wall -Wextra -Werror -fPIC -shared -fsanitize=address -shared-libasan \
    -I"$scratch/prefix/include" "$here/cpp/plugin.cc" -o "$scratch/libcpp.so" \
    -L"$scratch/lib" -ldlbridge
}

build_go() {
  (cd "$here/go" && go vet . && go build -buildmode=c-shared -o "$scratch/libgo.so" .)
}

build_rust() {
  (cd "$here/rust" && cargo clippy --locked --quiet --target-dir "$scratch/rust" -- -D warnings &&
    cargo fmt --check &&
    cargo build --locked --quiet --target-dir "$scratch/rust")
}

# Python with the sanitizer's runtime, which must come first, and libstdc++, whose exceptions it wraps.
# Python itself keeps memory to its end, so leaks are found by counting deleters.
run_python() {
  LD_PRELOAD="$(clang -print-file-name=libclang_rt.asan-x86_64.so) $(g++ -print-file-name=libstdc++.so.6)" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
    "$python" -B "$here/test_languages.py" "$scratch/rust/debug/liblanguages.so" \
    "$scratch/libgo.so" "$scratch/libcpp.so" "$@"
}

# rejected TEXT ARGUMENT...: a run that must fail, and say so.
rejected() {
  local log=$scratch/rejected.log
  if run_python "${@:2}" >"$log" 2>&1; then
    echo "nothing was noticed"
    return 1
  fi
  grep --quiet "$1" "$log" || {
    tail -n 40 "$log"
    return 1
  }
}

export PKG_CONFIG_PATH=$scratch/lib/pkgconfig LD_LIBRARY_PATH=$scratch/lib
check 'the library is installed' installed
check 'the C++ plugin builds' build_cpp
check 'the Go plugin builds' build_go
check 'the Rust plugin builds' build_rust
check 'Python, Rust, Go and C++ share a tensor' run_python
check 'a plugin that drops twice is noticed' rejected AddressSanitizer --fault=drop-twice
check 'a plugin that never drops is noticed' rejected 'the deleter ran 0 times' --fault=never-drop
exit $status
