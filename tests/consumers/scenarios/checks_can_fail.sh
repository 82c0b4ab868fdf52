#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the scenarios check with can fail: each check meets the fault that it is there for.
# shellcheck source=tests/consumers/support.sh
source "$HERE/support.sh"

take_programs
library=$PREFIX/lib/libdlbridge.so.$ABI
flags=(-I"$PREFIX/include" -L"$PREFIX/lib" -ldlbridge "-Wl,-rpath,$PREFIX/lib")
cc program.c "${flags[@]}" -o program
expect_run "$library" program

# Another file, no file, another version, a program that fails.
mkdir other
cp "$library" other/
expect_refusal "loads '$library', not other/" expect_run "other/libdlbridge.so.$ABI" program
expect_refusal "needs $library" expect_run "$PREFIX/lib/libdlbridge.a" program
expect_refusal 'header of another version' ./program 99.0
VERSION=99.0 expect_refusal 'program failed' expect_run "$library" program
rm "other/libdlbridge.so.$ABI"
expect_refusal "not other/" expect_run "other/libdlbridge.so.$ABI" program

# A header and a library of different versions.
cp --recursive "$PREFIX/include" newer
sed -i 's/DLBRIDGE_VERSION_STRING ".*"/DLBRIDGE_VERSION_STRING "99.0"/' newer/dlbridge/dlbridge.h
cc program.c -Inewer "${flags[@]}" -o newer_program
expect_refusal 'library of another version' ./newer_program 99.0

# Libraries with a fault, in front of the right one: what a program in C and one in C++ say then.
c++ program.cc "${flags[@]}" -o program_cxx
# faulty FAULT TEXT-IN-C TEXT-IN-CXX
faulty() {
  cc -shared -fPIC -I"$PREFIX/include" "-D$1" "$HERE/faults.c" -o "$1.so"
  expect_refusal "$2" env LD_PRELOAD="$PWD/$1.so" ./program "$VERSION"
  expect_refusal "$3" env LD_PRELOAD="$PWD/$1.so" ./program_cxx "$VERSION"
}
faulty ACCEPTS_ANYTHING 'a crafted shape was accepted' 'a crafted shape was accepted'
faulty DELETES_EARLY 'the deleter was called too early' 'wrong tensor'
faulty DELETES_TWICE 'not called exactly once' 'not called exactly once'
faulty DELETES_NEVER 'not called exactly once' 'not called exactly once'
faulty OTHER_VERSION 'library of another version' 'library of another version'

# A command that should fail and does not, or says something else; a library that is none of ours.
expect_refusal 'should have failed' expect_refusal '' true
expect_refusal "but said: something else" expect_refusal 'this' bash -c 'echo something else; false'
printf '%s\n' 'int foreign(void) { return 0; }' >foreign.c
c++ -x c -shared -fPIC foreign.c -Wl,--no-as-needed -o foreign.so
expect_refusal 'needs libstdc++' expect_own_needs foreign.so
cc -shared -fPIC foreign.c -o foreign.so
expect_refusal 'another SONAME' expect_own_needs foreign.so
cc -shared -fPIC foreign.c -Wl,-soname,"libdlbridge.so.$ABI" -Wl,-rpath,/nowhere -o foreign.so
expect_refusal 'run path' expect_own_needs foreign.so
cc -shared -fPIC foreign.c -Wl,-soname,"libdlbridge.so.$ABI" -o foreign.so
expect_refusal 'exports foreign' expect_own_needs foreign.so
printf '%s\n' 'int* leak() { return new int; }' >foreign.cc
c++ -c foreign.cc
ar qc foreign.a foreign.o
LINKAGE=static expect_refusal 'asks for the C++ runtime' expect_own_needs foreign.a
