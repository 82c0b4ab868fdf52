# SPDX-License-Identifier: Apache-2.0
# Hardening of the library, as far as compiler and linker support it. tests/abi/library_checks.py checks
# the built file.

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
    # The loader binds every function at load time, so PLT entries gain nothing. Calls through the GOT
    # save one jump each, which compensates for the landing pads.
    dlbridge_add_option(${target} -fno-plt)
    if(NOT DLBRIDGE_SANITIZE)
      target_compile_options(${target} PRIVATE
        "SHELL:-include \"${CMAKE_CURRENT_SOURCE_DIR}/support/fortify.h\"")
    endif()
  endif()
endfunction()

# -fstack-protector-strong also protects functions that only take the address of a local variable.
# The entry points of these files do so to pass on policies and results. They have no array that could
# overflow, and the check costs up to 4 % of their instructions. Functions with arrays of characters
# keep it.
function(dlbridge_harden_hot_sources)
  foreach(source IN ITEMS
          validate/rules.cc tensor/validate.cc tensor/share.cc protocol/upgrade.cc
          protocol/downgrade.cc protocol/rewrap.cc protocol/import.cc protocol/export.cc)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fstack-protector)
  endforeach()
endfunction()

# dlbridge_harden_link(target): marks an x86_64 file as compatible with CET. Without these flags, GNU ld
# drops the mark because Debian's start file crti.o lacks it. The _init in crti.o has no landing pad, so
# it must not be called: the symbols given for -init and -fini do not exist, and ld therefore writes
# neither DT_INIT nor DT_FINI.
function(dlbridge_harden_link target)
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR NOT DLBRIDGE_HAS_fcf_protection_full)
    return()
  endif()
  # Linker flags cannot be checked if the toolchain does not link in try_compile.
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
