# SPDX-License-Identifier: Apache-2.0
# Level Zero: the real loader with dlbridge's fake driver, whose signatures the vendor's headers
# check. Debian: libze1, libze-dev. Only the stand-in for a newer loader links a library of the
# vendor: the real loader.
find_path(DLBRIDGE_LEVEL_ZERO_INCLUDE level_zero/zes_ddi.h DOC "The folder above level_zero/ze_api.h")
find_library(DLBRIDGE_LEVEL_ZERO_LOADER ze_loader DOC "The loader of Level Zero")
if(NOT DLBRIDGE_LEVEL_ZERO_INCLUDE OR NOT DLBRIDGE_LEVEL_ZERO_LOADER)
  message(STATUS "dlbridge: Level Zero's headers or loader were not found, it is not tested")
  dlbridge_add_script_test(level_zero_missing device ${CMAKE_CURRENT_SOURCE_DIR}/missing.py
    "Level Zero's headers or loader were not found: DLBRIDGE_LEVEL_ZERO_INCLUDE, _LOADER")
  return()
endif()

set(level_zero_fakes ${PROJECT_SOURCE_DIR}/tests/fakes/level_zero)
set(level_zero_tables ${CMAKE_CURRENT_BINARY_DIR}/level_zero_tables.cc)
add_custom_command(OUTPUT ${level_zero_tables}
  COMMAND ${Python3_EXECUTABLE} -B ${level_zero_fakes}/tables.py
    --include ${DLBRIDGE_LEVEL_ZERO_INCLUDE} --out ${level_zero_tables}
  DEPENDS ${level_zero_fakes}/tables.py)

function(dlbridge_fake_level_zero target)
  add_library(${target} MODULE ${ARGN})
  target_include_directories(${target} PRIVATE ${level_zero_fakes})
  target_include_directories(${target} SYSTEM PRIVATE ${DLBRIDGE_LEVEL_ZERO_INCLUDE})
  # Without this, the vendor's headers would export the functions of the driver's tables.
  target_compile_definitions(${target} PRIVATE ZE_APIEXPORT=)
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<BOOL:${DLBRIDGE_WERROR}>:-Werror>
    ${DLBRIDGE_TEST_OPTIONS})
  find_package(Threads REQUIRED)
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fakes)
endfunction()
set(level_zero_driver ${level_zero_fakes}/command.cc ${level_zero_fakes}/device.cc
  ${level_zero_fakes}/memory.cc ${level_zero_fakes}/world.cc ${level_zero_tables})
dlbridge_fake_level_zero(fake_level_zero ${level_zero_driver})
dlbridge_fake_level_zero(fake_level_zero_2 ${level_zero_driver})
target_compile_definitions(fake_level_zero_2 PRIVATE FAKE_ZE_INSTANCE=1)
dlbridge_fake_level_zero(fake_level_zero_loader ${level_zero_fakes}/loader_next.cc)
target_link_libraries(fake_level_zero_loader PRIVATE
  -Wl,--push-state,--no-as-needed ${DLBRIDGE_LEVEL_ZERO_LOADER} -Wl,--pop-state)

add_library(level_zero_signatures OBJECT level_zero_signatures.cc)
target_include_directories(level_zero_signatures PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(level_zero_signatures SYSTEM PRIVATE ${DLBRIDGE_LEVEL_ZERO_INCLUDE})

# The typed veneer, compiled as C and C++ of the oldest supported standards.
add_library(level_zero_veneer OBJECT level_zero_veneer.c level_zero_veneer.cc)
target_link_libraries(level_zero_veneer PRIVATE dlbridge::dlbridge)
target_include_directories(level_zero_veneer SYSTEM PRIVATE ${DLBRIDGE_LEVEL_ZERO_INCLUDE})
set_target_properties(level_zero_veneer PROPERTIES C_STANDARD 99 CXX_STANDARD 11)
target_compile_options(level_zero_veneer PRIVATE -Wall -Wextra -Wpedantic -Werror)

# Lets a test program use the fakes.
function(dlbridge_use_fake_level_zero name)
  target_include_directories(${name} PRIVATE ${level_zero_fakes})
  target_include_directories(${name} SYSTEM PRIVATE ${DLBRIDGE_LEVEL_ZERO_INCLUDE})
  target_compile_definitions(${name} PRIVATE
    FAKE_LEVEL_ZERO="$<TARGET_FILE:fake_level_zero>"
    FAKE_LEVEL_ZERO_2="$<TARGET_FILE:fake_level_zero_2>"
    FAKE_LEVEL_ZERO_LOADER="$<TARGET_FILE:fake_level_zero_loader>")
  add_dependencies(${name} fake_level_zero fake_level_zero_2 fake_level_zero_loader)
endfunction()

file(GLOB level_zero_tests CONFIGURE_DEPENDS level_zero_*_test.cc)
foreach(source IN LISTS level_zero_tests)
  dlbridge_add_test(device ${source})
  get_filename_component(name ${source} NAME_WE)
  if(NOT TARGET ${name})
    continue() # an internal test: an installed library does not export what it needs
  endif()
  dlbridge_use_fake_level_zero(${name})
  # The loader's validation layer also checks the calls. In the tests of the fake it would reject the
  # invalid calls that the fake must see.
  if(NOT name STREQUAL "level_zero_fake_test")
    add_test(NAME ${name}_validated COMMAND ${name})
    set_tests_properties(${name}_validated PROPERTIES LABELS device
      ENVIRONMENT "ZE_ENABLE_VALIDATION_LAYER=1;ZE_ENABLE_PARAMETER_VALIDATION=1")
  endif()
  add_dependencies(${name} level_zero_signatures level_zero_veneer)
endforeach()
target_link_libraries(level_zero_faults_test PRIVATE dlbridge_faults)

dlbridge_add_device_fuzzer(level_zero)
dlbridge_use_fake_level_zero(fuzz_level_zero)
dlbridge_add_fuzz_variant(level_zero next)
