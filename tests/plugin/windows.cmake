# SPDX-License-Identifier: Apache-2.0
# The plugins on Windows, and a host that does not link the library.
foreach(plugin linked_plugin own_plugin pinning_plugin)
  set_target_properties(${plugin} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/plugin)
endforeach()

dlbridge_add_test_program(plugin windows_test.cc)
target_include_directories(windows_test PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(windows_test PRIVATE
  LINKED_PLUGIN="$<TARGET_FILE:linked_plugin>"
  OWN_PLUGIN="$<TARGET_FILE:own_plugin>"
  PINNING_PLUGIN="$<TARGET_FILE:pinning_plugin>")
add_dependencies(windows_test linked_plugin own_plugin pinning_plugin)
set_tests_properties(windows_test PROPERTIES WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests/plugin)
