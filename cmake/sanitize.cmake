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
endif()
