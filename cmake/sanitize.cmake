# SPDX-License-Identifier: Apache-2.0
# Sanitizers instrument the library itself and all that is built with it.

if(DLBRIDGE_SANITIZE)
  set(options -fsanitize=${DLBRIDGE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(DLBRIDGE_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # These two need C++ type information, which the library does without.
    list(APPEND options -fno-sanitize=function,vptr)
  endif()
  add_compile_options(${options})
  add_link_options(-fsanitize=${DLBRIDGE_SANITIZE})
endif()
