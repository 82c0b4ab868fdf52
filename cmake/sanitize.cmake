# SPDX-License-Identifier: Apache-2.0
# Sanitizers instrument the library and all targets that are built with it.

if(DLBRIDGE_SANITIZE)
  set(options -fsanitize=${DLBRIDGE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(DLBRIDGE_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # These two checks need RTTI, which the library is built without.
    list(APPEND options -fno-sanitize=function,vptr)
  endif()
  add_compile_options(${options})
  add_link_options(-fsanitize=${DLBRIDGE_SANITIZE})
  # The programs have the sanitizers' libraries inside, which takes GNU's linker three times as long.
  find_program(DLBRIDGE_LLD ld.lld)
  if(DLBRIDGE_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_link_options(-fuse-ld=lld)
  endif()
endif()
