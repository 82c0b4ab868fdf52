# SPDX-License-Identifier: Apache-2.0
# Drivers that are loaded after the first request. The program links no driver; it copies the fakes
# of CUDA and HIP and loads the copies. The file name sorts after those of both.
if(TARGET fake_cuda AND TARGET fake_hip6)
  dlbridge_add_test(device when_loaded_test.cc)
  dlbridge_use_fake_hip(when_loaded_test)
  target_include_directories(when_loaded_test SYSTEM PRIVATE ${cuda_include})
  target_compile_definitions(when_loaded_test PRIVATE FAKE_CUDA_FILE="$<TARGET_FILE:fake_cuda>")
  add_dependencies(when_loaded_test fake_cuda)
  if(TARGET fake_level_zero)
    target_compile_definitions(when_loaded_test PRIVATE
      FAKE_LEVEL_ZERO="$<TARGET_FILE:fake_level_zero>"
      LEVEL_ZERO_LOADER="${DLBRIDGE_LEVEL_ZERO_LOADER}")
    add_dependencies(when_loaded_test fake_level_zero)
  endif()
  find_library(DLBRIDGE_OPENCL_LOADER NAMES libOpenCL.so.1 DOC "The loader of OpenCL")
  if(DLBRIDGE_OPENCL_LOADER AND EXISTS "${DLBRIDGE_POCL_ICD}")
    target_compile_definitions(when_loaded_test PRIVATE
      OPENCL_LOADER="${DLBRIDGE_OPENCL_LOADER}" OPENCL_ICD="${icd}")
  endif()
  # The same situation in a Python program.
  if(NOT DLBRIDGE_SANITIZE)
    dlbridge_add_script_test(import_order device ${CMAKE_CURRENT_SOURCE_DIR}/import_order.py
      $<TARGET_FILE:dlbridge> $<TARGET_FILE:fake_hip6>)
  endif()
else()
  message(STATUS "dlbridge: the order of loading drivers is not tested, CUDA or HIP is missing")
  dlbridge_add_script_test(when_loaded_missing device
    ${CMAKE_CURRENT_SOURCE_DIR}/missing.py "the headers of CUDA or of HIP were not found")
endif()
