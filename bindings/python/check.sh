#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All checks of the Python package, from anywhere: a line each, `passed`, `FAILED` with the log's
# tail, or `skipped` with the reason. Ends with 1 if any failed. README.md says what it needs.
#
#   check.sh                     every check; the wheels are built first, see wheels.sh. With
#                                DLBRIDGE_SHARE=N/3, of what takes minutes once more (the other
#                                interpreters, other builds) a third
#   check.sh --develop [MINOR]   builds the package for CPython 3.MINOR (11) as it stands and says
#                                which PYTHONPATH has it; sources in Python are linked, not copied
#
# DLBRIDGE_OUTCOMES_DIR   folder for python.jsonl, what each step of the corpus answered
# Checks are called by their names, which the linter does not see.
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
DLBRIDGE_SHARE=${DLBRIDGE_SHARE-1/1}
scratch=$root/build/bindings/python
wheels=$root/build/wheels
logs=$scratch/logs
# shellcheck source=bindings/python/environment.sh
. "$here/environment.sh"

# Nothing but what is installed may lead to a package.
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONOPTIMIZE LD_LIBRARY_PATH LD_PRELOAD
export PYTHONNOUSERSITE=1 LC_ALL=C.UTF-8

die() {
  printf 'check.sh: %s\n' "$*" >&2
  exit 1
}

# check NAME FUNCTION [ARGUMENT...]: runs it in a shell of its own. What it says last is shown where
# it was skipped, and where it begins with `::`.
check() {
  local name=$1 log=$logs/${1// /-}.log status=0 last began=$SECONDS
  # Not in a condition, where no command but the last could stop it.
  set +e
  (set -e; cd "$here"; "${@:2}") >"$log" 2>&1
  status=$?
  set -e
  last=$(tail -n 1 "$log")
  printf '%4d s %s\n' $((SECONDS - began)) "$name" >>"$logs/times"
  case $status in
    0) if [[ $last == ::* ]]; then printf 'passed %s (%s)\n' "$name" "${last#:: }"
      else printf 'passed %s\n' "$name"; fi ;;
    77) printf 'skipped %s: %s\n' "$name" "$last" ;;
    *)
      printf 'FAILED %s\n%s\n' "$name" "$(tail -n 40 "$log")"
      touch "$logs/failed"
      ;;
  esac
}

# side_by_side CHECK...: `NAME|FUNCTION ARGUMENT...`, two at a time.
side_by_side() {
  local line
  for line in "$@"; do
    [ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n
    # shellcheck disable=SC2086 # words on purpose
    check "${line%%|*}" ${line#*|} &
  done
  wait
}

# skip REASON
skip() {
  echo "$1"
  exit 77
}

develop() {
  local minor=${1:-11} folder python
  folder=$scratch/develop/3.$minor
  python=$(find_python "$minor") || die "there is no CPython 3.$minor"
  has_headers "$python" || die "CPython 3.$minor has no headers"
  (build_tree "$minor" "$python" "$folder" -DCMAKE_BUILD_TYPE=RelWithDebInfo) \
    >"$logs/develop.log" 2>&1 || {
    tail -n 60 "$logs/develop.log" >&2
    die "the build failed: $logs/develop.log"
  }
  echo "PYTHONPATH=$folder/package"
}

# tag MINOR: that of the wheel for it.
tag() {
  if [ "$1" -ge 12 ]; then echo cp312-abi3; else echo "cp3$1-cp3$1"; fi
}

# wheel MINOR: sets `wheel` and `python`, or skips the check.
wheel() {
  python=$(find_python "$1") || skip "there is no CPython 3.$1"
  wheel=$(echo "$wheels"/dlbridge-*-"$(tag "$1")"-*x86_64.whl)
  [ -e "$wheel" ] || skip "there is no wheel for CPython 3.$1, whose headers are not here"
}

# install FOLDER WHEEL: into an environment, unless it is there.
install() {
  local stamp
  stamp=$1/$(sha256sum "$2" | cut -c 1-16).wheel
  exec {lock}>"$1.lock"
  flock "$lock"
  if [ ! -e "$stamp" ]; then
    rm -f "$1"/*.wheel
    "$pip" -m pip --python "$1/bin/python" install --disable-pip-version-check --quiet --no-index \
      --no-deps --force-reinstall "$2"
    touch "$stamp"
  fi
  exec {lock}>&-
}

# installed MINOR: an environment with the wheel and what the tests need, where `python` is.
installed() {
  wheel "$1"
  need_environment "$scratch/env-3.$1" "$python" "$here/requirements/tests.txt"
  install "$scratch/env-3.$1" "$wheel"
  python=$scratch/env-3.$1/bin/python
}

# Everything else stands on these.
build_wheels() {
  need_pip
  "$here/wheels.sh"
}

built_tags() {
  local minor
  for minor in 10 11 12; do
    [ ! -e "$scratch/tools-3.$minor" ] || tag "$minor"
  done
}

rules() {
  mapfile -t tags < <(built_tags)
  "$scratch/audit/bin/python" -B tools/wheel_checks.py "$wheels" x86_64 "${tags[@]}"
}

rules_can_fail() {
  wheel 12
  "$scratch/audit/bin/python" -B tools/wheel_checks.py --faults "$wheel"
}

limited_api() {
  wheel 12
  "$scratch/audit/bin/python" -m abi3audit --strict --summary "$wheel"
}

# In another folder, at another time: the same bytes.
reproducible() {
  local file
  DLBRIDGE_WHEELS=$scratch/wheels-again "$here/wheels.sh"
  for file in "$wheels"/*x86_64.whl "$wheels"/*.tar.gz; do
    cmp "$file" "$scratch/wheels-again/$(basename "$file")"
  done
}

# The source distribution builds by itself, with this machine's compiler; quicker without
# optimisation.
sdist() {
  local folder=$scratch/sdist
  python=$(find_python 11) || skip 'there is no CPython 3.11'
  has_headers "$python" || skip 'CPython 3.11 has no headers'
  need_environment "$folder" "$python" "$here/requirements/build.txt"
  use_ccache
  export SKBUILD_CMAKE_BUILD_TYPE=None
  "$pip" -m pip --python "$folder/bin/python" install --disable-pip-version-check --no-index \
    --no-deps --no-cache-dir --no-build-isolation --force-reinstall "$wheels"/dlbridge-*.tar.gz
  cd "$folder"
  bin/python -c 'import dlbridge, dlbridge._core, dlbridge._describe; print(dlbridge.__file__)'
}

# copy_tests FOLDER: the tests without the package beside them.
copy_tests() {
  rm -rf "$1"
  mkdir -p "$1"
  cp -r "$here/tests" "$1/tests"
  cd "$1"
}

# comes_from FOLDER: the package that is tested.
comes_from() {
  "$python" - "$1" <<'PYTHON'
import pathlib, sys, dlbridge._core, dlbridge._describe
for module in (dlbridge._core, dlbridge._describe):
    assert pathlib.Path(sys.argv[1]) in pathlib.Path(module.__file__).parents, module.__file__
PYTHON
}

# What pytest counted, for the line of the check.
counted() { printf ':: %s\n' "$(tail -n 1 "$1" | tr -d = | xargs)"; }

tests() {
  local said=$logs/pytest-3.$1
  installed "$1"
  copy_tests "$scratch/tests-3.$1"
  comes_from "$scratch/env-3.$1"
  "$python" -m pytest -q -p no:cacheprovider --color=no -ra tests >"$said" 2>&1 || {
    cat "$said"
    return 1
  }
  counted "$said"
}

# The same under AddressSanitizer and UndefinedBehaviorSanitizer, from within the library too. Python
# itself keeps memory to its end, so leaks are found by counting deleters.
sanitizers() {
  local folder=$scratch/asan-3.11 said=$logs/pytest-asan preload
  preload=$(gcc -print-file-name=libasan.so):$(g++ -print-file-name=libstdc++.so)
  python=$(find_python 11) || skip 'there is no CPython 3.11'
  has_headers "$python" || skip 'CPython 3.11 has no headers'
  CC=gcc CXX=g++ build_tree 11 "$python" "$folder" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DDLBRIDGE_SANITIZE=address,undefined -DCMAKE_C_FLAGS_RELWITHDEBINFO='-O1 -g' \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO='-O1 -g'
  need_environment "$scratch/env-asan" "$python" "$here/requirements/tests.txt"
  python=$scratch/env-asan/bin/python
  copy_tests "$scratch/tests-asan"
  export PYTHONPATH=$folder/package LD_PRELOAD=$preload DLBRIDGE_SLOW_MACHINE=1
  export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
  export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  comes_from "$folder"
  "$python" -m pytest -q -p no:cacheprovider --color=no -ra tests >"$said" 2>&1 || {
    cat "$said"
    return 1
  }
  counted "$said"
}

# The version is that of the header, wherever one asks.
versions() {
  installed 11
  cd "$scratch"
  PYTHONPATH=$here/tools "$python" - <<'PYTHON'
import importlib.metadata, header_version
from dlbridge import _describe
version = header_version.version()
found = {"package": importlib.metadata.version("dlbridge"), "library": _describe.version_string()}
assert set(found.values()) == {version}, f"the header says {version}, and {found}"
PYTHON
}

# The stubs say what the modules have, and the package keeps to its own types.
types() {
  local folder=$scratch/env-types stubs
  wheel 11
  need_environment "$folder" "$python" "$here"/requirements/{tests,types}.txt
  python=$folder/bin/python
  install "$folder" "$wheel"
  mapfile -t stubs < <(cd "$here" && find dlbridge -name '*.pyi' | sed 's|/|.|g; s|\.pyi$||')
  cd "$scratch"
  export MYPY_CACHE_DIR=$scratch/mypy
  "$python" -m mypy.stubtest --allowlist "$here/tools/stubs_allowed.txt" "${stubs[@]}"
  "$python" -m mypy --package dlbridge
}

# The examples of README.md, as they stand there.
readme() {
  installed 11
  "$python" - "$here/README.md" >"$scratch/readme.py" <<'PYTHON'
import pathlib, re, sys
print(*re.findall(r"```python\n(.*?)```", pathlib.Path(sys.argv[1]).read_text(), re.DOTALL), sep="\n\n")
PYTHON
  cd "$scratch"
  "$python" readme.py
}

# The corpus that every binding answers.
corpus() {
  installed 11
  copy_tests "$scratch/tests-corpus"
  comes_from "$scratch/env-3.11"
  export DLBRIDGE_OUTCOMES=$scratch/python.jsonl
  if [ -n "${DLBRIDGE_OUTCOMES_DIR-}" ]; then
    mkdir -p "$DLBRIDGE_OUTCOMES_DIR"
    DLBRIDGE_OUTCOMES=$(cd "$DLBRIDGE_OUTCOMES_DIR" && pwd)/python.jsonl
  fi
  "$python" tests/conformance.py "$root/tests/conformance/cases.json"
  [ -s "$DLBRIDGE_OUTCOMES" ]
  counted "$logs/corpus.log"
}

# share CHECK...: every Mth of them, from the Nth on.
share() {
  local number=${DLBRIDGE_SHARE%/*} count=${DLBRIDGE_SHARE#*/} place=0 line some=()
  for line in "$@"; do
    place=$((place + 1))
    [ $((place % count)) -ne $((number % count)) ] || some+=("$line")
  done
  side_by_side "${some[@]}"
}

main() {
  rm -f "$logs/failed" "$logs/times"
  need_pip
  check wheels build_wheels
  [ ! -e "$logs/failed" ] || exit 1
  side_by_side 'rules of the wheels|rules' 'sanitizers|sanitizers' \
    'rules of the wheels can fail|rules_can_fail' 'limited API|limited_api' 'types|types' \
    'tests 3.11|tests 11'
  share 'tests 3.10|tests 10' 'tests 3.12|tests 12' 'reproducible|reproducible' \
    'tests 3.13|tests 13' 'source distribution|sdist'
  side_by_side 'versions|versions' 'examples of README.md|readme' 'corpus|corpus'
  [ ! -e "$logs/failed" ]
}

mkdir -p "$logs"
case ${1-} in
  '') main ;;
  --develop) develop "${2-}" ;;
  *) die "no such option: $1" ;;
esac
