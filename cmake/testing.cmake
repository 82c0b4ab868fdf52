# SPDX-License-Identifier: Apache-2.0

# The library is tested as it is released or instrumented, but test programs are not optimised: they
# compile in a third of the time. zig checks for undefined behaviour by default and has no runtime for
# that, so the check is disabled when cross-compiling.
set(DLBRIDGE_TEST_OPTIONS -O0 -g1)
if(CMAKE_CROSSCOMPILING)
  list(APPEND DLBRIDGE_TEST_OPTIONS -fno-sanitize=undefined)
endif()

# GoogleTest takes half of the time of a test program's compilation. Builds with sanitizers have flags of
# their own; the others get the objects of each other from ccache, which needs the text.
if(DLBRIDGE_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT TARGET dlbridge_precompiled)
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cc "")
  add_library(dlbridge_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cc)
  target_link_libraries(dlbridge_precompiled PRIVATE nlohmann_json::nlohmann_json GTest::gtest_main)
  target_compile_options(dlbridge_precompiled PRIVATE ${DLBRIDGE_TEST_OPTIONS}
    "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(dlbridge_precompiled PRIVATE <gtest/gtest.h> <nlohmann/json.hpp>)
endif()

# dlbridge_add_test_program(label source): a GoogleTest program and its ctest, named after the source.
# The programs of a label are in <build>/tests/<label>, where `./run test` finds them. The program
# neither links the library nor finds its headers.
function(dlbridge_add_test_program label source)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json GTest::gtest_main
                        ${CMAKE_DL_LIBS})
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE
    DLBRIDGE_CASES="${PROJECT_SOURCE_DIR}/tests/conformance/cases.json")
  target_compile_options(${name} PRIVATE -Wall -Wextra $<$<BOOL:${DLBRIDGE_WERROR}>:-Werror>
    ${DLBRIDGE_TEST_OPTIONS})
  if(TARGET dlbridge_precompiled)
    target_precompile_headers(${name} REUSE_FROM dlbridge_precompiled)
  endif()
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/${label})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${label})
endfunction()

# dlbridge_add_test(label source): the same with the library, or with its objects for *_internal_test.cc.
function(dlbridge_add_test label source)
  get_filename_component(name ${source} NAME_WE)
  if(name MATCHES "_internal_test$" AND NOT TARGET dlbridge_objects)
    return() # an installed library has no objects
  endif()
  dlbridge_add_test_program(${label} ${source})
  # An archive has identical headers, which is checked, so compiled test programs can be reused with it.
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  if(name MATCHES "_internal_test$")
    target_link_libraries(${name} PRIVATE dlbridge_objects)
  else()
    target_link_libraries(${name} PRIVATE dlbridge::dlbridge)
  endif()
endfunction()

# dlbridge_add_script_test(name label script args...): a ctest that runs a Python script. Exit status 77
# means skipped.
function(dlbridge_add_script_test name label script)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${script} ${ARGN} COMMAND_EXPAND_LISTS)
  set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77)
endfunction()
