# SPDX-License-Identifier: Apache-2.0
# The plugins on Windows, and a host that does not link the library.
foreach(plugin linked_plugin own_plugin pinning_plugin)
  set_target_properties(${plugin} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/plugin)
endforeach()

add_executable(windows_test windows_test.cc)
target_link_libraries(windows_test PRIVATE GTest::gtest_main)
target_include_directories(windows_test PRIVATE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(windows_test PRIVATE
  LINKED_PLUGIN="$<TARGET_FILE:linked_plugin>"
  OWN_PLUGIN="$<TARGET_FILE:own_plugin>"
  PINNING_PLUGIN="$<TARGET_FILE:pinning_plugin>")
target_compile_options(windows_test PRIVATE
  -Wall -Wextra $<$<BOOL:${DLBRIDGE_WERROR}>:-Werror> ${DLBRIDGE_TEST_OPTIONS})
set_target_properties(windows_test PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/plugin)
add_dependencies(windows_test linked_plugin own_plugin pinning_plugin)
add_test(NAME windows_test COMMAND windows_test WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests/plugin)
set_tests_properties(windows_test PROPERTIES LABELS plugin)
