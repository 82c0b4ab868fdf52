# SPDX-License-Identifier: Apache-2.0
# OpenCL, on real drivers: the system's PoCL, and Intel's CPU driver from a Python package.
# dlbridge's shim between the library and the drivers can make any call fail.

set(DLBRIDGE_INTEL_OPENCL "${PROJECT_SOURCE_DIR}/build/dpnp-venv/lib/libintelocl.so"
    CACHE FILEPATH "Intel's OpenCL driver, for tests")
set(DLBRIDGE_POCL_ICD "/etc/OpenCL/vendors/pocl.icd" CACHE FILEPATH "Names PoCL's driver, for tests")
find_path(DLBRIDGE_OPENCL_INCLUDE CL/cl.h)

if(CMAKE_CROSSCOMPILING OR WIN32)
  message(STATUS "OpenCL: no tests, there are no drivers for this target")
  return()
endif()
if(NOT DLBRIDGE_OPENCL_INCLUDE)
  message(STATUS "OpenCL: tests are skipped, there is no CL/cl.h (package opencl-c-headers)")
  add_test(NAME opencl_tests COMMAND ${CMAKE_COMMAND} -E false)
  set_tests_properties(opencl_tests PROPERTIES LABELS device DISABLED TRUE)
  return()
endif()

# Folders of driver files; a program is told to use one of them.
set(icd ${CMAKE_CURRENT_BINARY_DIR}/icd)
file(GENERATE OUTPUT ${icd}/intel/intel.icd CONTENT "${DLBRIDGE_INTEL_OPENCL}\n")
file(GENERATE OUTPUT ${icd}/both/intel.icd CONTENT "${DLBRIDGE_INTEL_OPENCL}\n")
file(MAKE_DIRECTORY ${icd}/none ${icd}/pocl ${icd}/both)
if(EXISTS ${DLBRIDGE_POCL_ICD})
  configure_file(${DLBRIDGE_POCL_ICD} ${icd}/pocl/pocl.icd COPYONLY)
  configure_file(${DLBRIDGE_POCL_ICD} ${icd}/both/pocl.icd COPYONLY)
else()
  message(STATUS "OpenCL: tests skip themselves, there is no PoCL (package pocl-opencl-icd)")
endif()

add_library(opencl_shim MODULE ${PROJECT_SOURCE_DIR}/tests/fakes/opencl/shim.cc)
target_include_directories(opencl_shim SYSTEM PRIVATE ${DLBRIDGE_OPENCL_INCLUDE})
target_compile_options(opencl_shim PRIVATE -Wall -Wextra $<$<BOOL:${DLBRIDGE_WERROR}>:-Werror>)
target_link_libraries(opencl_shim PRIVATE ${CMAKE_DL_LIBS})

add_library(opencl_signatures OBJECT opencl_signatures.cc)
target_include_directories(opencl_signatures PRIVATE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_include_directories(opencl_signatures SYSTEM PRIVATE ${DLBRIDGE_OPENCL_INCLUDE})

# The typed veneer, compiled as users compile it.
add_library(opencl_api OBJECT opencl_api_c99.c opencl_api_cxx11.cc)
target_include_directories(opencl_api PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_include_directories(opencl_api SYSTEM PRIVATE ${DLBRIDGE_OPENCL_INCLUDE})
target_compile_options(opencl_api PRIVATE
  -Wall -Wextra -Wpedantic $<$<BOOL:${DLBRIDGE_WERROR}>:-Werror>)
set_target_properties(opencl_api PROPERTIES
  C_STANDARD 99 C_EXTENSIONS OFF CXX_STANDARD 11 CXX_EXTENSIONS OFF)

# Lets a test program use the shim.
function(dlbridge_use_opencl_shim name)
  add_dependencies(${name} opencl_shim)
  target_include_directories(${name} SYSTEM PRIVATE ${DLBRIDGE_OPENCL_INCLUDE})
  target_compile_definitions(${name} PRIVATE
    DLBRIDGE_OPENCL_SHIM="$<TARGET_FILE:opencl_shim>" DLBRIDGE_OPENCL_ICD="${icd}")
endfunction()

# dlbridge_add_opencl_test(source [drivers...]): one program, and one ctest per set of drivers.
function(dlbridge_add_opencl_test source)
  get_filename_component(name ${source} NAME_WE)
  dlbridge_add_test(device ${source})
  if(NOT TARGET ${name})
    return()
  endif()
  dlbridge_use_opencl_shim(${name})
  foreach(drivers IN LISTS ARGN)
    add_test(NAME ${name}_${drivers} COMMAND ${name})
    set_tests_properties(${name}_${drivers} PROPERTIES
      LABELS device ENVIRONMENT "DLBRIDGE_TEST_OPENCL=${drivers}")
    if(NOT EXISTS ${DLBRIDGE_INTEL_OPENCL})
      message(STATUS "${name}_${drivers}: disabled, there is no '${DLBRIDGE_INTEL_OPENCL}'")
      set_tests_properties(${name}_${drivers} PROPERTIES DISABLED TRUE)
    endif()
  endforeach()
endfunction()

dlbridge_add_opencl_test(opencl_start_test.cc intel both)
dlbridge_add_opencl_test(opencl_pointer_test.cc intel both)
dlbridge_add_opencl_test(opencl_stream_test.cc intel both)
dlbridge_add_opencl_test(opencl_handle_internal_test.cc intel)
dlbridge_add_opencl_test(opencl_copy_internal_test.cc intel)
dlbridge_add_opencl_test(opencl_mark_internal_test.cc intel)
dlbridge_add_opencl_test(opencl_memory_test.cc intel both)
dlbridge_add_opencl_test(opencl_tensor_test.cc intel both)
dlbridge_add_opencl_test(opencl_pending_test.cc intel both)
dlbridge_add_opencl_test(opencl_faults_test.cc intel)
target_link_libraries(opencl_faults_test PRIVATE dlbridge_faults)

if(EXISTS ${DLBRIDGE_POCL_ICD})
  dlbridge_add_device_fuzzer(opencl)
  dlbridge_use_opencl_shim(fuzz_opencl)
endif()
