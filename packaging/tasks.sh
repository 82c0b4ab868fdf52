# shellcheck shell=bash disable=SC2154 # `run` includes this file and brings what is not defined here
# SPDX-License-Identifier: Apache-2.0
# ./run package: the release archives for Linux, what is built for other systems, and their tests.
# Archives lie in build/package, beside SHA256SUMS, and what was unpacked of them.

readonly releases=build/package

need_zig() {
  need_python build/zig-venv packaging/requirements.txt
  export ZIG_GLOBAL_CACHE_DIR=$PWD/build/zig-cache ZIG_LOCAL_CACHE_DIR=$PWD/build/zig-cache
}

need_package_tools() {
  need_test_tools git g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user googletest wine64
  need_frameworks
  need_crate
  need_zig
}

# What takes minutes once: Python's wheels, and zig builds Windows' start files and its C++ library
# with the first program for it. Whoever has other things to do meanwhile may run this beside them.
package_prepare() {
  local zig
  need_build_tools python3-dev
  need_zig
  bindings/python/wheels.sh >build/log/wheels 2>&1 || say "no wheels yet: the checks of Python say why"
  turn 1 || return 0
  zig=$(echo build/zig-venv/lib/python3*/site-packages/ziglang/zig)
  echo 'int main() {}' |
    quietly build/log/zig-windows-runtime "$zig" c++ -target x86_64-windows-gnu -O2 -x c++ - \
      -o build/zig-cache/empty.exe
}

# count_checks COMMAND...: a command that says `passed` or `FAILED` of each of its checks; those that
# passed are shown as one line.
count_checks() {
  local log=build/log/package-checks good bad
  "$@" >"$log" 2>&1 || grep --quiet '^FAILED ' "$log" || {
    tail -n 60 "$log" >&2
    die "broke off: $*"
  }
  good=$passed
  bad=$failed
  count_lines "$log"
  good=$((passed - good))
  bad=$((failed - bad))
  grep -v '^passed ' "$log" || true
  [ "$((good + bad))" -gt 0 ] || die "nothing was checked: $*"
  printf '%d of %d checks passed\n' "$good" $((good + bad))
}

# The archive of a machine, checked, and unpacked into the folder where its tests find it.
package_archive() {
  local machine=$1 archive
  build_preset "zig-$machine"
  archive=$(packaging/archive.sh "build/zig-$machine" $releases | tail -n 1)
  say "$archive"
  count_checks python3 -B packaging/check.py archive "$archive" "$machine" "$releases/$machine"
}

# foreign SYSTEM FILE: a library that is in no archive.
package_foreign() {
  build_preset "zig-$1"
  say "$2"
  count_checks python3 -B packaging/check.py "$1" "$2"
}

# package_all [N/M]: of the faults that the checks must see, only every Mth, from the Nth on.
package_all() {
  local machine
  need_package_tools
  rm -rf $releases
  for machine in x86_64 aarch64; do package_archive $machine; done
  (cd $releases && sha256sum ./*.tar.gz >SHA256SUMS)
  ! turn 1 || package_foreign windows build/zig-windows/src/dlbridge.dll
  package_foreign macos build/zig-macos/src/libdlbridge.dylib
  say "the checks can fail"
  count_checks python3 -B packaging/faults.py $releases build "${1-1/1}"
  for machine in x86_64 aarch64; do test_preset archive-$machine; done
  ! turn 1 || test_preset zig-windows
  summary package
}
