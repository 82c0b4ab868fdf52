# SPDX-License-Identifier: Apache-2.0
# The repository's toolchain of PyPI's ziglang with one program per language, as ccache expects
# compilers. tools/wheels.py writes the programs to the folder DLBRIDGE_ZIG_PROGRAMS.

include(${CMAKE_CURRENT_LIST_DIR}/../../../cmake/toolchains/zig.cmake)
set(CMAKE_C_COMPILER $ENV{DLBRIDGE_ZIG_PROGRAMS}/cc)
set(CMAKE_CXX_COMPILER $ENV{DLBRIDGE_ZIG_PROGRAMS}/c++)
find_program(ccache ccache)
if(ccache)
  set(CMAKE_C_COMPILER_LAUNCHER ${ccache})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache})
endif()
