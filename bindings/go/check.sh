#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All checks of the Go binding, as CI runs them. Prints a line for each: `passed NAME`, `FAILED NAME` with
# the end of its log, or `skipped NAME: why`. Exits with 1 if any failed.
#
#   DLBRIDGE_PREFIX         where the shared library is installed
#   DLBRIDGE_PREFIX_STATIC  the same for the static one (optional)
#   DLBRIDGE_OUTCOMES_DIR   folder for the outcomes of the corpus, go.jsonl (optional)
set -uo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
SCRATCH=$ROOT/build/bindings/go
STATICCHECK=honnef.co/go/tools/cmd/staticcheck@v0.8.2
MODULE=dlbridge/bindings/go
logs=$SCRATCH/log

if [ -z "${DLBRIDGE_PREFIX:-}" ]; then
  echo 'FAILED prefix'
  echo 'DLBRIDGE_PREFIX must name the folder where the shared library is installed.'
  exit 1
fi

rm -rf "$logs"
mkdir -p "$logs" "$SCRATCH/bin"

# Ignore the user's settings, and write to the scratch folder only.
unset GOFLAGS GOEXPERIMENT GODEBUG GOARCH GOOS CGO_CFLAGS CGO_LDFLAGS CGO_ENABLED GOWORK DLBRIDGE_OUTCOMES
export GOCACHE=$SCRATCH/cache GOMODCACHE=$SCRATCH/modules GOBIN=$SCRATCH/bin GOTOOLCHAIN=local
export GOENV=off GOFLAGS='-buildvcs=false -modcacherw' GOTELEMETRY=off CGO_ENABLED=1

# The prefix that a check builds with: use PREFIX.
use() {
  local folder
  folder=$(find "$1" -name dlbridge.pc -printf '%h\n' -quit)
  export PKG_CONFIG_PATH=$folder
  LD_LIBRARY_PATH=$(pkg-config --variable=libdir dlbridge)
  export LD_LIBRARY_PATH
}

# check NAME FUNCTION: runs the function with its output in a log; 77 is a skip.
check() {
  local name=$1 status=0 began=$SECONDS
  ("$2") >"$logs/$name" 2>&1 || status=$?
  echo "$name: $((SECONDS - began)) s" >>"$logs/times"
  case $status in
    0) echo "passed $name" ;;
    77) echo "skipped $name: $(tail -n 1 "$logs/$name")" ;;
    *)
      printf 'FAILED %s\n%s\n' "$name" "$(tail -n 40 "$logs/$name")"
      touch "$logs/failed"
      ;;
  esac
}

skip() {
  echo "$1"
  exit 77
}

formatted() {
  local wrong
  wrong=$(cd "$HERE" && gofmt -l .)
  [ -z "$wrong" ] || {
    echo "gofmt would change: $wrong"
    return 1
  }
}

c_formatted() {
  command -v clang-format >/dev/null || skip 'clang-format is not installed'
  find "$HERE" -name '*.[ch]' -exec clang-format --dry-run -Werror {} +
}

vetted() { cd "$HERE" && go vet ./...; }

# The examples, the corpus and the seeds of the fuzz targets are among the tests.
tested() {
  cd "$HERE" || return 1
  if [ -n "${DLBRIDGE_OUTCOMES_DIR:-}" ]; then
    mkdir -p "$DLBRIDGE_OUTCOMES_DIR"
    DLBRIDGE_OUTCOMES=$(cd "$DLBRIDGE_OUTCOMES_DIR" && pwd)/go.jsonl
    export DLBRIDGE_OUTCOMES
  fi
  GODEBUG=cgocheck=1 go test -count=1 -v . >"$logs/tests.verbose" 2>&1 || {
    grep -v '^=== \|^--- PASS' "$logs/tests.verbose"
    return 1
  }
  grep 'cases ran' "$logs/tests.verbose" || {
    echo 'the corpus did not run'
    return 1
  }
  GODEBUG=cgocheck=1 go test -count=1 ./internal/fuzz
}

# cgocheck2 finds each Go pointer that is written to C memory. It and the race detector both need a
# standard library built for them, so they share one.
raced() {
  cd "$HERE" && GODEBUG=cgocheck=1 GOEXPERIMENT=cgocheck2 go test -count=1 -race .
}

static_library() {
  [ -n "${DLBRIDGE_PREFIX_STATIC:-}" ] || skip 'DLBRIDGE_PREFIX_STATIC is not set'
  use "$DLBRIDGE_PREFIX_STATIC"
  unset LD_LIBRARY_PATH
  cd "$HERE" || return 1
  go test -c -tags dlbridge_static -o "$SCRATCH/static.test" . || return 1
  if ldd "$SCRATCH/static.test" | grep libdlbridge; then
    echo 'the static library was not linked'
    return 1
  fi
  "$SCRATCH/static.test"
}

# A program outside this module, in a folder of its own: consumer NAME.
consumer() {
  rm -rf "${SCRATCH:?}/$1"
  mkdir -p "$SCRATCH/$1"
  cd "$SCRATCH/$1" || return 1
  go mod init "example/$1" && go mod edit -go=1.26 -require="$MODULE@v0.0.0" -replace="$MODULE=$HERE"
}

# The first block of README.md in a language: block LANGUAGE.
block() {
  awk -v start="^\`\`\`$1\$" '$0 ~ start && !done { on = 1; next }
    /^```$/ && on { on = 0; done = 1 } on' "$HERE/README.md"
}

# The statements of a function: body FUNCTION FILE.
body() {
  awk -v start="^func $1\\\\(.*{\$" '$0 ~ start { on = 1; next }
    /^}$/ { on = 0 } /^\t\/\/ Output:/ { on = 0 } on' "$2"
}

# A function of README.md has the statements of one of example_test.go: same FUNCTION ITS-NAME-THERE.
same() {
  body "$1" main.go >"$1.found"
  [ -s "$1.found" ] && diff "$1.found" <(body "$2" "$HERE/example_test.go") && return
  echo "$1: README.md and example_test.go differ"
  return 1
}

readme() {
  consumer readme || return 1
  block go >main.go
  block text >expected
  go vet . && go run . >found || return 1
  diff expected found || return 1
  same accept accept && same main Example && same plugin plugin || return 1
  [ "$(body accept main.go | wc -l)" -le 8 ] && [ -s expected ]
}

plugin() {
  consumer plugin || return 1
  cp "$HERE/testdata/plugin/plugin.go" .
  go build -buildmode=c-shared -o plugin.so . || return 1
  # shellcheck disable=SC2046
  cc -Wall -Wextra -Werror "$HERE/testdata/plugin/host.c" $(pkg-config --cflags --libs dlbridge) \
    -ldl -lpthread -o host || return 1
  ./host "$PWD/plugin.so"
}

staticcheck() {
  go install "$STATICCHECK" || {
    echo "could not be fetched: $STATICCHECK"
    return 1
  }
  cd "$HERE" && "$GOBIN/staticcheck" -tests ./...
}

fuzzed() {
  local target
  cd "$HERE" || return 1
  for target in FuzzForeign FuzzNames FuzzDescriptor; do
    go test -run '^$' -fuzz "^$target\$" -fuzztime 3s -fuzzminimizetime 10x \
      -test.fuzzcachedir="$SCRATCH/fuzz" ./internal/fuzz || return 1
  done
}

# Go's build cache notices neither other headers of the C library nor other flags of pkg-config.
fresh_cache() {
  local now
  now=$(find "$DLBRIDGE_PREFIX" "${DLBRIDGE_PREFIX_STATIC:-$DLBRIDGE_PREFIX}" \
    \( -name '*.h' -o -name '*.pc' \) -exec sha256sum {} + | sort)
  [ "$now" = "$(cat "$SCRATCH/cached-for" 2>/dev/null)" ] || go clean -cache
  echo "$now" >"$SCRATCH/cached-for"
}

use "$DLBRIDGE_PREFIX"
go version
fresh_cache
check go_format formatted
check c_format c_formatted

# Two at a time: the checks with the ordinary standard library, and those that build their own.
{
  check tests tested
  check vet vetted
  check readme readme
  check plugin plugin
  check static static_library
} &
{
  check staticcheck staticcheck
  check race_and_cgocheck raced
  check fuzz fuzzed
} &
wait
[ ! -e "$logs/failed" ]
