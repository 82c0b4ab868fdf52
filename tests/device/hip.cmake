# SPDX-License-Identifier: Apache-2.0
# HIP: fakes of AMD's runtime, built with its own headers, and the real runtime if installed.
set(DLBRIDGE_HIP_INCLUDE /usr/include CACHE PATH "Folder of hip/hip_runtime_api.h")
set(DLBRIDGE_HIP_LIBRARY /usr/lib/x86_64-linux-gnu/libamdhip64.so.5 CACHE FILEPATH
    "The real libamdhip64, to test its result without a device")

if(NOT EXISTS ${DLBRIDGE_HIP_INCLUDE}/hip/hip_runtime_api.h)
  message(STATUS "HIP is not tested: no ${DLBRIDGE_HIP_INCLUDE}/hip/hip_runtime_api.h")
  add_test(NAME hip_without_headers COMMAND ${CMAKE_COMMAND} -E echo "no headers of HIP")
  set_tests_properties(hip_without_headers PROPERTIES
    LABELS device SKIP_REGULAR_EXPRESSION "no headers of HIP")
  return()
endif()

add_library(dlbridge_hip_headers INTERFACE)
target_include_directories(dlbridge_hip_headers SYSTEM INTERFACE ${DLBRIDGE_HIP_INCLUDE})
target_compile_definitions(dlbridge_hip_headers INTERFACE __HIP_PLATFORM_AMD__=1)
target_compile_options(dlbridge_hip_headers INTERFACE
  -Wall -Wextra $<$<BOOL:${DLBRIDGE_WERROR}>:-Werror>)

# dlbridge_add_fake_hip(level): libamdhip64.so.<level> in its own folder; state.h describes the levels.
function(dlbridge_add_fake_hip level)
  set(folder ${PROJECT_SOURCE_DIR}/tests/fakes/hip)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
  add_library(fake_hip${level} SHARED ${sources})
  target_link_libraries(fake_hip${level} PRIVATE dlbridge_hip_headers)
  target_compile_definitions(fake_hip${level} PRIVATE FAKE_HIP_LEVEL=${level})
  target_compile_options(fake_hip${level} PRIVATE ${DLBRIDGE_TEST_OPTIONS})
  # Keeps several fakes in one process apart.
  target_link_options(fake_hip${level} PRIVATE -Wl,-Bsymbolic)
  set_target_properties(fake_hip${level} PROPERTIES
    OUTPUT_NAME amdhip64 SOVERSION ${level} CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fakes/hip${level})
endfunction()

# Compile-time checks: dlbridge's declarations against AMD's, and the veneer in C99 and C++11.
function(dlbridge_add_hip_compile_checks)
  add_library(hip_signatures OBJECT hip_signatures.cc)
  target_link_libraries(hip_signatures PRIVATE dlbridge_hip_headers)
  target_include_directories(hip_signatures PRIVATE ${PROJECT_SOURCE_DIR}/src)
  add_library(hip_api_languages OBJECT hip_api_c99.c hip_api_cxx11.cc)
  target_link_libraries(hip_api_languages PRIVATE dlbridge_hip_headers)
  target_include_directories(hip_api_languages PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(hip_api_languages PRIVATE -Wpedantic)
  set_target_properties(hip_api_languages PROPERTIES
    C_STANDARD 99 CXX_STANDARD 11 C_EXTENSIONS OFF CXX_EXTENSIONS OFF)
endfunction()

# Lets a test program use the fakes.
function(dlbridge_use_fake_hip name)
  if(NOT TARGET ${name})
    return()
  endif()
  target_link_libraries(${name} PRIVATE dlbridge_hip_headers)
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests/fakes/hip)
  target_compile_definitions(${name} PRIVATE
    DLBRIDGE_FAKE_HIP0="$<TARGET_FILE:fake_hip0>"
    DLBRIDGE_FAKE_HIP5="$<TARGET_FILE:fake_hip5>"
    DLBRIDGE_FAKE_HIP6="$<TARGET_FILE:fake_hip6>"
    DLBRIDGE_HIP_LIBRARY="${DLBRIDGE_HIP_LIBRARY}")
  add_dependencies(${name} fake_hip0 fake_hip5 fake_hip6)
endfunction()

dlbridge_add_fake_hip(0)
dlbridge_add_fake_hip(5)
dlbridge_add_fake_hip(6)
dlbridge_add_hip_compile_checks()
file(GLOB hip_tests CONFIGURE_DEPENDS hip_*_test.cc)
foreach(source IN LISTS hip_tests)
  dlbridge_add_test(device ${source})
  get_filename_component(name ${source} NAME_WE)
  dlbridge_use_fake_hip(${name})
endforeach()
target_link_libraries(hip_faults_test PRIVATE dlbridge_faults)

dlbridge_add_device_fuzzer(hip)
dlbridge_use_fake_hip(fuzz_hip)
dlbridge_add_fuzz_variant(hip old)
