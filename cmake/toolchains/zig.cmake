# SPDX-License-Identifier: Apache-2.0
# The compiler of PyPI's ziglang: clang with the headers and link stubs of other systems and of an
# old glibc. DLBRIDGE_ZIG_TARGET chooses the target. What it builds for Windows runs under wine.
set(DLBRIDGE_ZIG_TARGET "" CACHE STRING "Target of the compiler, such as x86_64-linux-gnu.2.17")
file(GLOB zig_in_venv ${CMAKE_CURRENT_LIST_DIR}/../../build/zig-venv/lib/python3*/site-packages/ziglang)
find_program(DLBRIDGE_ZIG zig HINTS ${zig_in_venv} NO_CMAKE_FIND_ROOT_PATH
  DOC "The program of PyPI's ziglang")
if(NOT DLBRIDGE_ZIG)
  message(FATAL_ERROR "There is no zig: ./run package installs it, DLBRIDGE_ZIG says where it is")
endif()
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DLBRIDGE_ZIG DLBRIDGE_ZIG_TARGET)

if(NOT DLBRIDGE_ZIG_TARGET MATCHES "^(x86_64|aarch64)-(linux|windows|macos)")
  message(FATAL_ERROR "DLBRIDGE_ZIG_TARGET is '${DLBRIDGE_ZIG_TARGET}', which must be "
    "<x86_64|aarch64>-<linux|windows|macos>...")
endif()
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
if(CMAKE_MATCH_2 STREQUAL "linux")
  set(CMAKE_SYSTEM_NAME Linux)
elseif(CMAKE_MATCH_2 STREQUAL "windows")
  set(CMAKE_SYSTEM_NAME Windows)
  set(CMAKE_RC_COMPILER llvm-rc)
  set(wine_prefix ${CMAKE_BINARY_DIR}/wine)
  set(CMAKE_CROSSCOMPILING_EMULATOR env WINEDEBUG=-all WINEPREFIX=${wine_prefix}
    WINEPATH=${CMAKE_BINARY_DIR}/src /usr/lib/wine/wine64)
else()
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_OSX_SYSROOT "")
  set(CMAKE_OSX_DEPLOYMENT_TARGET "")
  set(CMAKE_USER_MAKE_RULES_OVERRIDE ${CMAKE_CURRENT_LIST_DIR}/zig_macos.cmake)
endif()

set(CMAKE_C_COMPILER ${DLBRIDGE_ZIG} cc -target ${DLBRIDGE_ZIG_TARGET})
set(CMAKE_CXX_COMPILER ${DLBRIDGE_ZIG} c++ -target ${DLBRIDGE_ZIG_TARGET})
# zig remembers itself what it has compiled.
set(CMAKE_C_COMPILER_LAUNCHER "")
set(CMAKE_CXX_COMPILER_LAUNCHER "")

# The first program for a target takes minutes, since zig then builds the C library's start files,
# and for C++ its C++ library, which dlbridge needs none of. So nothing is linked to find out what is
# known: it is a clang.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
execute_process(COMMAND ${DLBRIDGE_ZIG} cc -dumpversion
  OUTPUT_VARIABLE zig_version OUTPUT_STRIP_TRAILING_WHITESPACE)
set(languages CXX)
if(CMAKE_SYSTEM_NAME STREQUAL "Windows")
  list(APPEND languages C) # elsewhere it is quick, and tells the format of programs
endif()
foreach(language IN LISTS languages)
  set(CMAKE_${language}_COMPILER_ID_RUN TRUE)
  set(CMAKE_${language}_COMPILER_ID Clang)
  set(CMAKE_${language}_COMPILER_VERSION ${zig_version})
  set(CMAKE_${language}_COMPILER_FRONTEND_VARIANT GNU)
  set(CMAKE_${language}_STANDARD_COMPUTED_DEFAULT 17)
  set(CMAKE_${language}_EXTENSIONS_COMPUTED_DEFAULT ON)
endforeach()

# The same tools for every kind of object file.
set(CMAKE_AR llvm-ar)
set(CMAKE_RANLIB llvm-ranlib)
