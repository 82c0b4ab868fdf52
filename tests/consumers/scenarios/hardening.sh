#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The installed file is hardened, also where a project around the sources says otherwise, and the hot paths
# do not pay for it.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

# complaints FILE: what the checks of the built file find in it.
complaints() {
  python3 -B - "$ROOT/tests/abi" "$1" <<'PYTHON'
import pathlib, sys

sys.path.insert(0, sys.argv[1])
import library_checks

names = ("nodelete", "stack", "text-relocations", "relro", "stack protector", "fortify", "landing pads",
         "shadow stack")
checks = {name: library_checks.SHARED_CHECKS[name] for name in names}
for name, found in library_checks.run(checks, pathlib.Path(sys.argv[2]).resolve(), None).items():
    print(name, *found, sep=": ")
PYTHON
}
# expect_hardened FILE
expect_hardened() {
  local found
  found=$(complaints "$1")
  [ -z "$found" ] || fail "$1: $found"
}
expect_hardened "$PREFIX/lib/libdlbridge.so.$ABI"

# with_canary FILE FUNCTION...: those that check the stack; x86_64 keeps the value at fs:0x28.
with_canary() {
  local file=$1 function
  shift
  for function in "$@"; do
    # Not a pipe to grep --quiet, which would stop objdump.
    if [[ $(objdump --disassemble="$function" "$file") == *%fs:0x28* ]]; then
      printf '%s\n' "$function"
    fi
  done
}
hot=(dlbridge_validate dlbridge_validate_legacy dlbridge_validate_versioned dlbridge_upgrade
  dlbridge_upgrade_into dlbridge_downgrade dlbridge_share)
if [ "$(uname -m)" = x86_64 ]; then
  found=$(with_canary "$PREFIX/lib/libdlbridge.so.$ABI" "${hot[@]}")
  [ -z "$found" ] || fail "a stack protector in a hot path: $found"
  [ "$(with_canary "$PREFIX/lib/libdlbridge.so.$ABI" dlbridge_tensor_format)" = dlbridge_tensor_format ] ||
    fail 'no stack protector where there is an array'
fi

# Flags of a project around the sources do not take it away, and its own level of fortification stays.
take_project add_subdirectory
git clone --quiet "$SOURCE" dlbridge
cmake -B build -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS='-fno-stack-protector -fcf-protection=none -D_FORTIFY_SOURCE=1 -Werror'
cmake --build build
expect_hardened "$(built_library build/dlbridge)"
