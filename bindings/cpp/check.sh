#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The checks of the C++ binding, on an installed library. One line per check: `passed`, `FAILED`
# (with the end of its log) or `skipped` with the reason. Everything is built in
# build/bindings/cpp of the repository.
#
# DLBRIDGE_PREFIX=folder [DLBRIDGE_PREFIX_STATIC=folder] [DLBRIDGE_OUTCOMES_DIR=folder] check.sh
# check.sh --one NAME   (one check, for which `tests-gcc` may have to be built)
# shellcheck disable=SC2317 # the checks are called by name
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
scratch=$ROOT/build/bindings/cpp
prefix=${DLBRIDGE_PREFIX:?the folder where the shared library is installed}
jobs=$(nproc)
[ "$jobs" -le 2 ] || jobs=2
export CMAKE_GENERATOR=Ninja LC_ALL=C

warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wold-style-cast -Werror)
include=(-I"$prefix/include")
link=(-L"$prefix/lib" -ldlbridge "-Wl,-rpath,$prefix/lib")

skip() {
  printf '%s\n' "$*"
  exit 77
}
need() { command -v "$1" >/dev/null || skip "there is no $1"; }
fail() {
  printf '%s\n' "$*"
  exit 1
}

# The headers that are tested are those that were installed, and these are the checkout's.
check_installed_headers() {
  diff <(cd "$HERE/include/dlbridge" && find . -name '*.hpp' | sort) \
    <(cd "$prefix/include/dlbridge" && find . -name '*.hpp' | sort)
  (cd "$HERE/include" && find . -name '*.hpp' -print0) |
    xargs -0 -I{} cmp "$HERE/include/{}" "$prefix/include/{}"
}

# build_tests NAME COMPILER FLAGS...: the tests as a project beside the installed library.
build_tests() {
  local name=$1 compiler=$2
  shift 2
  need cmake
  need "$compiler"
  cmake -S "$HERE" -B "$scratch/$name" -DCMAKE_PREFIX_PATH="$prefix" -DDLBRIDGE_WERROR=ON \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$*" -DCMAKE_CXX_STANDARD="${STANDARD-17}"
  cmake --build "$scratch/$name" --parallel "$jobs"
  ctest --test-dir "$scratch/$name" --output-on-failure --no-tests=error --parallel "$jobs"
}
check_tests_gcc() { build_tests tests-gcc g++ -O0 -g1; }

check_conformance() {
  local outcomes=${DLBRIDGE_OUTCOMES_DIR-$scratch}
  mkdir -p "$outcomes"
  [ -x "$scratch/tests-gcc/tests/cpp/cpp_conformance_test" ] || fail 'tests-gcc was not built'
  DLBRIDGE_OUTCOMES=$outcomes/cpp.jsonl "$scratch/tests-gcc/tests/cpp/cpp_conformance_test"
  [ "$(wc -l <"$outcomes/cpp.jsonl")" -ge 3200 ]
}

# The tests leave out libraries that are not installed; here they are required.
check_containers() {
  [ -e /usr/include/eigen3/Eigen/Core ] || skip 'libeigen3-dev is not installed'
  [ -e /usr/include/xtensor/xtensor.hpp ] || skip 'libxtensor-dev is not installed'
  "$scratch/tests-gcc/tests/cpp/cpp_memory_test" --gtest_filter='Eigen.*:Xtensor.*' |
    tee "$scratch/containers.txt"
  grep --quiet '5 tests from 2 test suites ran' "$scratch/containers.txt"
}

check_misuse_gcc() { "$HERE/tests/misuse.sh" g++ "$scratch/misuse-gcc" "${include[@]}"; }
check_misuse_clang() {
  need clang++
  "$HERE/tests/misuse.sh" clang++ "$scratch/misuse-clang" "${include[@]}"
}

# plain NAME COMPILER OPTION...: the program of the result face.
plain() {
  local program=$scratch/plain-$1 compiler=$2
  shift 2
  need "$compiler"
  "$compiler" "${warnings[@]}" "${include[@]}" "$@" "$HERE/tests/plain_program.cc" -o "$program" \
    "${link[@]}"
  "$program"
}
check_no_exceptions_gcc() { plain no-exceptions-gcc g++ -std=c++17 -fno-exceptions -fno-rtti -O2; }
check_no_exceptions_clang() {
  plain no-exceptions-clang clang++ -std=c++17 -fno-exceptions -fno-rtti
}
# A callback that throws is caught, whichever of the two files the linker takes its functions from.
check_mixed_exceptions() {
  local source=$HERE/tests/mixed_program.cc first=with second=without swap
  g++ -std=c++17 "${warnings[@]}" "${include[@]}" -c "$source" -o "$scratch/mixed-with.o"
  g++ -std=c++17 "${warnings[@]}" "${include[@]}" -fno-exceptions -c "$source" \
    -o "$scratch/mixed-without.o"
  for swap in 1 2; do
    g++ "$scratch/mixed-$first.o" "$scratch/mixed-$second.o" -o "$scratch/mixed-$swap" "${link[@]}"
    "$scratch/mixed-$swap"
    first=without second=with
  done
}
check_cxx20_clang() { plain cxx20 clang++ -std=c++20; }
check_cxx23_gcc() { plain cxx23 g++ -std=c++23; }
check_official_dlpack() {
  [ -e /usr/include/dlpack/dlpack.h ] || skip 'libdlpack-dev is not installed'
  plain official g++ -std=c++17 -DOFFICIAL_DLPACK
}
check_table() {
  g++ -std=c++17 "${warnings[@]}" "${include[@]}" -DUSE_TABLE "$HERE/tests/plain_program.cc" \
    -o "$scratch/table" -ldl
  ! nm --undefined-only "$scratch/table" | grep dlbridge_ || fail 'a function is linked'
  "$scratch/table" "$prefix/lib/libdlbridge.so"
}
check_static() {
  local static=${DLBRIDGE_PREFIX_STATIC-}
  [ -n "$static" ] || skip 'DLBRIDGE_PREFIX_STATIC is not given'
  g++ -std=c++17 "${warnings[@]}" -DDLBRIDGE_STATIC -I"$static/include" \
    "$HERE/tests/plain_program.cc" -o "$scratch/static" "$static/lib/libdlbridge.a" -ldl -lpthread
  "$scratch/static"
}

# python_packages NAME REQUIREMENTS: an environment with just those; sets `python`.
python_packages() {
  local folder=$scratch/$1 stamp
  stamp=$folder/$(sha256sum "$2" | cut -c 1-16).stamp
  python=$folder/bin/python
  [ ! -e "$stamp" ] || return 0
  rm -rf "$folder"
  python3 -m venv "$folder"
  "$python" -m pip install --disable-pip-version-check --quiet --requirement "$2"
  touch "$stamp"
}

# The object is of libc++'s headers; nothing of its library is needed, which zig would build first.
check_mdspan_std() {
  local python requirements=$ROOT/packaging/requirements.txt
  python=$ROOT/build/zig-venv/bin/python
  [ -e "$ROOT/build/zig-venv/$(sha256sum "$requirements" | cut -c 1-16).stamp" ] ||
    python_packages zig-venv "$requirements"
  export ZIG_GLOBAL_CACHE_DIR=$scratch/zig ZIG_LOCAL_CACHE_DIR=$scratch/zig
  "$python" -m ziglang c++ -std=c++23 -O1 -fno-sanitize=undefined "${warnings[@]}" "${include[@]}" \
    -c "$HERE/tests/mdspan_program.cc" -o "$scratch/mdspan-std.o"
  g++ "$scratch/mdspan-std.o" -o "$scratch/mdspan-std" "${link[@]}"
  "$scratch/mdspan-std"
}
check_mdspan_cuda() {
  local python headers
  python_packages cccl-venv "$HERE/tests/requirements.txt"
  headers=$(find "$scratch/cccl-venv" -path '*/cuda/std/mdspan' -printf '%h\n' | head -n 1)
  [ -n "$headers" ] || fail 'nvidia-cuda-cccl has no cuda/std/mdspan'
  g++ -std=c++17 -DCUDA_MDSPAN "${warnings[@]}" "${include[@]}" -isystem "$headers/../.." \
    "$HERE/tests/mdspan_program.cc" -o "$scratch/mdspan-cuda" "${link[@]}"
  "$scratch/mdspan-cuda"
}

# block FENCE NUMBER: that block of that language in README.
block() {
  awk -v fence="\`\`\`$1" -v number="$2" \
    '$0 == "```" { on = 0 } on; $0 == fence { on = ++count == number }' "$HERE/README.md"
}
# example NAME: compiles and runs examples/NAME.cc.
example() {
  g++ -std=c++17 "${warnings[@]}" -Wuseless-cast "${include[@]}" "$HERE/examples/$1.cc" \
    -o "$scratch/$1" "${link[@]}"
  "$scratch/$1" >"$scratch/$1.txt"
}
# README shows the examples, and what they print. The plugin host needs at most 8 lines of its own.
check_readme() {
  local host=$scratch/host.txt
  sed -n '/^\/\/ host: begin/,/^\/\/ host: end/p' "$HERE/examples/plugin_host.cc" | sed '1d;$d' >"$host"
  diff <(block cpp 1) "$host"
  [ "$(wc -l <"$host")" -le 8 ]
  diff <(block cpp 2) "$HERE/examples/argument.cc"
  diff <(block cpp 3) "$HERE/examples/first.cc"
  example argument
  diff <(block text 1) "$scratch/argument.txt"
  example first
  diff <(block text 2) "$scratch/first.txt"
  example plugin_host
  [ "$(grep --count '^released$' "$scratch/plugin_host.txt")" -eq 1 ]
  grep --quiet '^rejected: axis 1: .*found -3' "$scratch/plugin_host.txt"
}

# The header without a warning: both compilers, C++17 and C++20, with and without exceptions.
check_warnings() {
  local compiler standard exceptions strict
  for compiler in g++ clang++; do
    need "$compiler"
    strict=("${warnings[@]}" "${include[@]}" -Wshadow -Wnon-virtual-dtor -fsyntax-only)
    [ "$compiler" != g++ ] || strict+=(-Wuseless-cast)
    for standard in 17 20; do
      for exceptions in -fexceptions -fno-exceptions; do
        "$compiler" "-std=c++$standard" "$exceptions" "${strict[@]}" "$HERE/tests/plain_program.cc"
      done
      "$compiler" "-std=c++$standard" -DMISUSE=0 "${strict[@]}" "$HERE/tests/misuse.cc"
    done
  done
}

# Every function, struct and constant of the C header has its place in the binding.
check_coverage() {
  local name missing=0
  cat "$HERE"/include/dlbridge/hpp/*.hpp >"$scratch/all.hpp"
  for name in $(python3 "$ROOT/tools/facts.py" names); do
    grep --quiet --word-regexp "$name" "$scratch/all.hpp" || {
      echo "the binding lacks $name"
      missing=$((missing + 1))
    }
  done
  [ "$missing" -eq 0 ]
}

check_format() {
  need clang-format
  find "$HERE" \( -name '*.hpp' -o -name '*.h' -o -name '*.cc' -o -name '*.c' \) -print0 |
    xargs -0 clang-format --dry-run -Werror
}
# tidy SOURCE OPTION...
tidy() {
  need clang-tidy
  clang-tidy --quiet --warnings-as-errors='*' --header-filter='bindings/cpp/|dlbridge/hpp/' "$@"
}
tidy_flags=(-std=c++17 -I"$HERE/include" -isystem "$ROOT/include" -isystem /usr/include/eigen3
  '-DDLBRIDGE_CASES=""')
check_tidy_analyzer() { tidy "$HERE/tests/plain_program.cc" -- "${tidy_flags[@]}"; }
# As for the library's own tests, all but the analyzer, which takes too long for what it finds there.
tidy_test() { tidy --checks='-clang-analyzer-*' "$HERE/tests/$1.cc" -- "${tidy_flags[@]}"; }
check_tidy_conformance() { tidy_test conformance_test; }
check_tidy_memory() { tidy_test memory_test; }
check_tidy_callback() { tidy_test callback_test; }
check_tidy_others() {
  tidy_test owner_test
  tidy_test describe_test
  tidy_test arg_test
}

check_cost() {
  need valgrind
  "$HERE/tests/cost/count.sh" "$prefix" "$scratch/cost" gcc g++
  # A limit that is below what C costs must be seen to be broken.
  ! LIMIT=-1000 "$HERE/tests/cost/count.sh" "$prefix" "$scratch/cost" gcc g++
}

# one NAME: runs a check and prints its result.
one() {
  local name=$1 status=0 log=$scratch/$1.log
  # Not in a condition, where no command but the last could stop a check.
  set +e
  (set -e; "check_${name//-/_}") >"$log" 2>&1
  status=$?
  set -e
  case $status in
    0) printf 'passed %s\n' "$name" ;;
    77) printf 'skipped %s: %s\n' "$name" "$(tail -n 1 "$log")" ;;
    *)
      printf 'FAILED %s\n%s\n' "$name" "$(tail -n 40 "$log")"
      return 1
      ;;
  esac
}

mkdir -p "$scratch"
if [ "${1-}" = --one ]; then
  one "$2"
  exit
fi

status=0
for name in installed-headers tests-gcc; do
  "$HERE/check.sh" --one $name || status=1
done
printf '%s\n' misuse-gcc misuse-clang | xargs -n 1 "$HERE/check.sh" --one || status=1
# clang-tidy goes in turns where the run is a share of three.
tidy=(tidy-conformance tidy-memory tidy-callback tidy-others tidy-analyzer)
[ "${DLBRIDGE_SHARE-3/3}" = 3/3 ] || tidy=()
printf '%s\n' "${tidy[@]}" mdspan-std mdspan-cuda conformance containers cost no-exceptions-gcc \
  no-exceptions-clang mixed-exceptions warnings cxx20-clang cxx23-gcc official-dlpack table static \
  readme coverage format |
  xargs -n 1 -P "$jobs" "$HERE/check.sh" --one || status=1
exit $status
