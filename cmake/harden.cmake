# SPDX-License-Identifier: Apache-2.0
# Hardening of the library, as far as the compiler and the linker have it. The checks of
# tests/abi/library_checks.py read the result from the built file.

# dlbridge_add_option(target flag): adds a compiler option if the compiler accepts it.
function(dlbridge_add_option target flag)
  string(MAKE_C_IDENTIFIER "DLBRIDGE_HAS${flag}" has)
  check_cxx_compiler_flag(${flag} ${has})
  if(${has})
    target_compile_options(${target} PRIVATE ${flag})
  endif()
endfunction()

# dlbridge_harden_objects(target): stack protector, fortified C library calls, branch protection.
function(dlbridge_harden_objects target)
  include(CheckCXXCompilerFlag)
  dlbridge_add_option(${target} -fstack-protector-strong)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    dlbridge_add_option(${target} -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    dlbridge_add_option(${target} -mbranch-protection=standard)
  endif()
  if(NOT WIN32 AND NOT APPLE)
    # The loader binds every function at load anyway. Calls through the GOT save the jump that a PLT
    # entry costs, which pays for the landing pads.
    dlbridge_add_option(${target} -fno-plt)
    if(NOT DLBRIDGE_SANITIZE)
      target_compile_options(${target} PRIVATE
        "SHELL:-include \"${CMAKE_CURRENT_SOURCE_DIR}/support/fortify.h\"")
    endif()
  endif()
endfunction()

# -fstack-protector-strong also protects functions that only take the address of a local variable.
# The entry points of these files do, since they pass policies and results on; they have no array that
# could overflow, and the check costs up to 4 % of their instructions. Functions with arrays of
# characters keep it.
function(dlbridge_harden_hot_sources)
  foreach(source IN ITEMS
          validate/rules.cc tensor/validate.cc protocol/upgrade.cc protocol/downgrade.cc)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fstack-protector)
  endforeach()
endfunction()

# dlbridge_harden_link(target): marks an x86_64 file as compatible with CET. GNU ld drops the mark where
# a start file lacks it, as Debian's crti.o does. Its _init has no landing pad either: without DT_INIT
# and DT_FINI nothing calls it. The names given are defined nowhere, so ld writes no such entries.
function(dlbridge_harden_link target)
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR NOT DLBRIDGE_HAS_fcf_protection_full)
    return()
  endif()
  # A toolchain that links nothing to find out cannot be asked.
  if(CMAKE_TRY_COMPILE_TARGET_TYPE STREQUAL "STATIC_LIBRARY")
    return()
  endif()
  include(CheckLinkerFlag)
  set(flags -Wl,-z,ibt,-z,shstk,-init=dlbridge_no_init,-fini=dlbridge_no_fini)
  check_linker_flag(C ${flags} DLBRIDGE_HAS_CET_LINK)
  if(DLBRIDGE_HAS_CET_LINK)
    target_link_options(${target} PRIVATE ${flags})
  endif()
endfunction()
