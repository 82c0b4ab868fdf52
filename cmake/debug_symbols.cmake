# SPDX-License-Identifier: Apache-2.0
# Debug information of a release. The code is the same with it and without it; packages strip the library
# and bring the information in a file of its own, which debuggers find by the build id.

# dlbridge_debug_symbols(target): source files are named from the repository's root.
function(dlbridge_debug_symbols target)
  if(DLBRIDGE_DEBUG_SYMBOLS)
    target_compile_options(${target} PRIVATE
      -g -ffile-prefix-map=${PROJECT_BINARY_DIR}=build -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  endif()
endfunction()
