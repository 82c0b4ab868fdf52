# SPDX-License-Identifier: Apache-2.0
# dlbridge_extension(name pattern): the extension module dlbridge.<name> of the sources that match,
# plain C, or C++ with nanobind. It exports only its entry point. It finds the library in lib/; on
# Windows next to itself, since a DLL has no search path.

function(dlbridge_extension name pattern)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${pattern})
  if(NOT sources)
    message(FATAL_ERROR "${name} has no sources: nothing matches ${pattern}")
  endif()
  if(pattern MATCHES "\\.cc$")
    nanobind_add_module(${name} STABLE_ABI FREE_THREADED NB_STATIC NB_SUPPRESS_WARNINGS NOSTRIP ${sources})
    dlbridge_unite_nanobind(${name})
  else()
    dlbridge_c_module(${name} ${sources})
  endif()
  target_link_libraries(${name} PRIVATE dlbridge::dlbridge)
  target_compile_options(${name} PRIVATE -Wall -Wextra $<$<BOOL:${DLBRIDGE_WERROR}>:-Werror>)
  if(DLBRIDGE_DEVELOP)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  dlbridge_link(${name})
  set_target_properties(${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/package/dlbridge
    BUILD_WITH_INSTALL_RPATH ON)
  dlbridge_strip(${name})
  install(TARGETS ${name} LIBRARY DESTINATION dlbridge)
endfunction()

# nanobind's library in two files: each of its sources alone takes a second for the headers. Its authors
# compile all of them as one file too (nb_combined.cpp).
function(dlbridge_unite_nanobind name)
  get_target_property(libraries ${name} LINK_LIBRARIES)
  list(FILTER libraries INCLUDE REGEX ^nanobind)
  set_target_properties(${libraries} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  target_compile_options(${libraries} PRIVATE "SHELL:-include cstdio" $<$<BOOL:${DLBRIDGE_DEVELOP}>:-O0>)
endfunction()

# nanobind's headers use stderr without including <cstdio>; Python's limited API does not include it
# either. The headers take more than half of the compile time; zig refuses the options with which CMake
# precompiles them. `header` includes those of nanobind, and each source includes it.
function(dlbridge_include_first name header)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${name} PRIVATE <cstdio> ${header})
  else()
    target_compile_options(${name} PRIVATE "SHELL:-include cstdio")
  endif()
endfunction()

function(dlbridge_link name)
  if(WIN32)
    target_link_libraries(${name} PRIVATE ${DLBRIDGE_PYTHON_LIBRARY})
  elseif(APPLE)
    # The interpreter defines Python's functions. nanobind lists them in a file of linker options, which
    # zig's linker does not read; both together are not needed.
    get_target_property(options ${name} LINK_OPTIONS)
    list(FILTER options EXCLUDE REGEX "^-Wl,@")
    list(REMOVE_ITEM options "options-NOTFOUND")
    set_target_properties(${name} PROPERTIES LINK_OPTIONS "${options};-Wl,-undefined,dynamic_lookup")
    set_target_properties(${name} PROPERTIES INSTALL_RPATH @loader_path/lib)
  else()
    target_link_options(${name} PRIVATE
      -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cmake/extension.map
      -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
    set_target_properties(${name} PROPERTIES INSTALL_RPATH $ORIGIN/lib)
  endif()
endfunction()

function(dlbridge_c_module name)
  add_library(${name} MODULE ${ARGN})
  target_include_directories(${name} SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O2>)
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden LINKER_LANGUAGE C)
  if(DLBRIDGE_LIMITED_API)
    target_compile_definitions(${name} PRIVATE Py_LIMITED_API=0x030C0000)
    nanobind_extension_abi3(${name})
  else()
    nanobind_extension(${name})
  endif()
endfunction()

# Releases have no debug symbols.
function(dlbridge_strip name)
  target_link_options(${name} PRIVATE $<$<CONFIG:Release>:-Wl,-s>)
endfunction()
