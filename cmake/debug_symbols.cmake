# SPDX-License-Identifier: Apache-2.0
# Debug information of a release. It does not change the code. Packages strip the library and put the
# information into a separate file, which debuggers find by the build id.

# dlbridge_debug_symbols(target): paths of source files are relative to the repository's root.
function(dlbridge_debug_symbols target)
  if(DLBRIDGE_DEBUG_SYMBOLS)
    target_compile_options(${target} PRIVATE
      -g -ffile-prefix-map=${PROJECT_BINARY_DIR}=build -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  endif()
endfunction()
