#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages: what they say, installed by the system's package manager, used from the
# system's folders, removed without a trace.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

command -v apt-get >/dev/null || skip 'not a Debian system'
[ "$(id -u)" -eq 0 ] || sudo --non-interactive true || skip 'neither root nor sudo'
runtime=libdlbridge$ABI development=libdlbridge-dev
for package in "$runtime" "$development"; do
  ! dpkg-query --show "$package" >/dev/null 2>&1 || skip "$package is installed already"
done

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo --non-interactive "$@"; fi
}
apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes \
    -o DPkg::Lock::Timeout=300 -o APT::Sandbox::User=root "$@"
}
remove_all() { apt purge "$runtime" "$development"; }

architecture=$(dpkg --print-architecture)
multiarch=$(dpkg-architecture --query DEB_HOST_MULTIARCH)
library=/usr/lib/$multiarch/libdlbridge.so.$ABI
PACKAGES=$PWD/made
cd "$ROOT"
cpack --config build/debian/CPackConfig.cmake -B "$PACKAGES"
cd "$OLDPWD"
runtime_file=$PWD/made/${runtime}_${VERSION}_$architecture.deb
development_file=$PWD/made/${development}_${VERSION}_$architecture.deb

# What the packages say.
# expect_field FILE FIELD PATTERN
expect_field() {
  local found
  found=$(dpkg-deb --field "$1" "$2")
  # shellcheck disable=SC2053 # a pattern
  [[ $found == $3 ]] || fail "$(basename "$1"): $2 is '$found'"
}
for file in "$runtime_file" "$development_file"; do
  expect_field "$file" Version "$VERSION"
  expect_field "$file" Architecture "$architecture"
  expect_field "$file" Conflicts ''
  expect_field "$file" Replaces ''
done
expect_field "$runtime_file" Section libs
expect_field "$runtime_file" Depends 'libc6 (>= 2.*)'
expect_field "$development_file" Section libdevel
expect_field "$development_file" Depends "$runtime (= $VERSION)"
dpkg-deb --control "$runtime_file" control
grep --quiet --line-regexp 'activate-noawait ldconfig' control/triggers
# An option may be newer than the function that takes it, so a program needs the minor version that it
# was built with.
least=${VERSION%.*}.0
[ "$(cat control/shlibs)" = "libdlbridge $ABI $runtime (>= $least)" ] || fail "shlibs: $(cat control/shlibs)"
awk -v least="$least" '/^ / && $2 != least { print; bad = 1 } END { exit bad }' control/symbols ||
  fail 'the symbols file accepts an older version'
[ ! -e control/postinst ] || fail 'a script does what the trigger does'

# No errors and no warnings.
command -v lintian >/dev/null || fail 'there is no lintian'
debug_file=$PWD/made/$runtime-dbgsym_${VERSION}_$architecture.ddeb
lintian --fail-on error,warning "$runtime_file" "$development_file" "$debug_file"

# expect_files FILE PATH...: all that the package brings, folders aside.
expect_files() {
  local file=$1
  shift
  diff <(dpkg-deb --fsys-tarfile "$file" | tar --list | grep -v '/$' | sed 's|^\.||' | sort) \
    <(printf '%s\n' "$@" | sort)
}
expect_files "$runtime_file" "$library" "$library.$VERSION" \
  "/usr/share/doc/$runtime/"{changelog.gz,copyright}
package=/usr/lib/$multiarch/cmake/dlbridge/dlbridge
expect_files "$development_file" /usr/include/dlbridge/{dlbridge,dlpack,{cpython,cuda,hip,level_zero,opencl}_api}.h \
  /usr/include/dlbridge/dlbridge.hpp "${HPP_PARTS[@]/#//usr/include/dlbridge/}" \
  "$package"{Config,ConfigVersion,ConfigVersionBasic,Targets-shared,Targets-shared-release}.cmake \
  "/usr/lib/$multiarch/libdlbridge.so" "/usr/lib/$multiarch/pkgconfig/dlbridge.pc" \
  "/usr/share/doc/$development/"{changelog.gz,copyright}

# The symbols file says of each function that the library exports since when there is it.
dpkg-deb --extract "$runtime_file" unpacked
diff <(nm --dynamic --defined-only --with-symbol-versions "unpacked$library" |
  awk '{ sub("@@.*", "", $3); print $3 }' | sort) \
  <(awk '/^ / { sub("@.*", "", $1); print $1 }' control/symbols | sort)

# The debug information is in a package of its own, where debuggers look for it by the build id.
expect_debug_information() {
  local id debug
  id=$(readelf --notes "unpacked$library" | sed -n 's/.*Build ID: //p')
  dpkg-deb --extract "$debug_file" unpacked-debug
  debug=unpacked-debug/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
  readelf --wide --sections "$debug" | grep --quiet '\.debug_info ' || fail "$debug is not there"
  ! grep --quiet --fixed-strings "$ROOT" "$debug" || fail 'it names the folder of the sources'
  ! readelf --wide --sections "unpacked$library" | grep -E ' \.(debug|symtab)' ||
    fail 'the library is not stripped'
}
expect_debug_information

# Before: there is nothing to build with.
take_programs
expect_refusal 'dlbridge/dlbridge.h: No such file' cc program.c -ldlbridge -o program

trap remove_all EXIT
apt install "$runtime_file" "$development_file"
dpkg --verify "$runtime" "$development"
[ "$(ldconfig -p | grep -c "libdlbridge.so.$ABI ")" -eq 1 ] || fail 'the loader does not know it'
files=$(dpkg --listfiles "$runtime" "$development" | grep -i dlbridge)

cc program.c -ldlbridge -o program
expect_run "$library" program

# shellcheck disable=SC2046
c++ program.cc $(pkg-config --cflags --libs dlbridge) -o program_cxx
expect_run "$library" program_cxx

take_project find_package
cmake -B build
cmake --build build
expect_programs "$library" build

# A package with that program would depend on the library's package, from the right version on.
mkdir debian
printf 'Source: program\n\nPackage: program\nArchitecture: any\n' >debian/control
dpkg-shlibdeps -O program | tee depends
grep --quiet --fixed-strings "$runtime (>= $least)" depends || fail 'a program does not come to depend on the library'

# Without the development package programs run, and are not built.
apt purge "$development"
expect_run "$library" program
expect_refusal 'dlbridge/dlbridge.h: No such file' cc program.c -ldlbridge -o program_again
expect_refusal "Package 'dlbridge'" pkg-config --print-errors dlbridge

# Without either nothing is left.
apt purge "$runtime"
trap - EXIT
while read -r file; do
  [ ! -e "$file" ] || fail "left behind: $file"
done <<<"$files"
[ "$(ldconfig -p | grep -c dlbridge)" -eq 0 ] || fail 'the loader still knows it'
expect_refusal "libdlbridge.so.$ABI: cannot open shared object file" ./program "$VERSION"
rm -rf build
expect_refusal 'Could not find a package configuration file provided by "dlbridge"' cmake -B build
