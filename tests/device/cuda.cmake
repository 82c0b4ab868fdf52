# SPDX-License-Identifier: Apache-2.0
# CUDA: a fake driver whose signatures NVIDIA's headers check, and the tests that use it. The
# headers come from PyPI (nvidia-cuda-runtime, nvidia-cuda-crt); no library of NVIDIA is linked.
set(DLBRIDGE_CUDA_INCLUDE "" CACHE PATH "The folder of cuda.h; empty: that of build/cuda-venv")
set(cuda_include ${DLBRIDGE_CUDA_INCLUDE})
file(GLOB cuda_headers
  ${PROJECT_SOURCE_DIR}/build/cuda-venv/lib/python3*/site-packages/nvidia/*/include/cuda.h)
if(NOT cuda_include AND cuda_headers)
  list(GET cuda_headers 0 cuda_include)
  get_filename_component(cuda_include ${cuda_include} DIRECTORY)
endif()

if(NOT EXISTS "${cuda_include}/cuda.h")
  message(STATUS "dlbridge: cuda.h was not found (DLBRIDGE_CUDA_INCLUDE), CUDA is not tested")
  dlbridge_add_script_test(cuda_headers_missing device
    ${CMAKE_CURRENT_SOURCE_DIR}/missing.py "cuda.h was not found: DLBRIDGE_CUDA_INCLUDE")
  return()
endif()

# dlbridge_add_fake_cuda(target definition...): a libcuda.so.1 in its own folder.
function(dlbridge_add_fake_cuda target)
  set(folder ${PROJECT_SOURCE_DIR}/tests/fakes/cuda)
  add_library(${target} SHARED ${folder}/copy.cc ${folder}/device.cc ${folder}/ipc.cc
    ${folder}/ipc_event.cc ${folder}/kernel.cc ${folder}/mapping.cc ${folder}/memory.cc
    ${folder}/pool.cc ${folder}/state.cc ${folder}/stream.cc)
  target_include_directories(${target} PUBLIC ${folder})
  target_include_directories(${target} SYSTEM PUBLIC ${cuda_include})
  # Benchmarks use it; under sanitizers only its compile time counts.
  set(optimise -O2)
  if(DLBRIDGE_SANITIZE)
    set(optimise ${DLBRIDGE_TEST_OPTIONS})
  endif()
  target_compile_options(${target} PRIVATE ${optimise} -Wall -Wextra
    $<$<BOOL:${DLBRIDGE_WERROR}>:-Werror>)
  target_compile_definitions(${target} PRIVATE ${ARGN})
  find_package(Threads REQUIRED)
  target_link_libraries(${target} PRIVATE Threads::Threads)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME cuda SOVERSION 1 CXX_VISIBILITY_PRESET default
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fakes/${target})
endfunction()
dlbridge_add_fake_cuda(fake_cuda)
dlbridge_add_fake_cuda(fake_cuda_old FAKE_CUDA_OLD)

add_library(cuda_signatures OBJECT cuda_signatures.cc)
target_include_directories(cuda_signatures PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(cuda_signatures SYSTEM PRIVATE ${cuda_include})

# The typed veneer, compiled as C and C++ of the oldest supported standards.
add_library(cuda_veneer OBJECT cuda_veneer.c cuda_veneer.cc)
target_link_libraries(cuda_veneer PRIVATE dlbridge::dlbridge)
target_include_directories(cuda_veneer SYSTEM PRIVATE ${cuda_include})
set_target_properties(cuda_veneer PROPERTIES C_STANDARD 99 CXX_STANDARD 11)
target_compile_options(cuda_veneer PRIVATE -Wall -Wextra -Wpedantic -Werror)

# dlbridge_add_cuda_test(source fake)
function(dlbridge_add_cuda_test source fake)
  dlbridge_add_test(device ${source})
  get_filename_component(name ${source} NAME_WE)
  if(NOT TARGET ${name})
    return() # an internal test: an installed library does not export what it needs
  endif()
  target_link_libraries(${name} PRIVATE ${fake})
  add_dependencies(${name} cuda_signatures cuda_veneer)
  target_compile_definitions(${name} PRIVATE FAKE_CUDA_FILE="$<TARGET_FILE:${fake}>")
endfunction()
foreach(name cuda_start cuda_pointer cuda_stream cuda_copy_internal cuda_ipc_internal
    cuda_capture_internal cuda_mark_internal cuda_peers_internal cuda_ipc_kinds cuda_ipc_event
    cuda_fake cuda_fake_ipc cuda_tensor cuda_tensor_ipc cuda_pending cuda_faults)
  dlbridge_add_cuda_test(${name}_test.cc fake_cuda)
endforeach()
target_link_libraries(cuda_faults_test PRIVATE dlbridge_faults)
dlbridge_add_cuda_test(cuda_old_driver_test.cc fake_cuda_old)
dlbridge_add_cuda_test(cuda_old_mark_internal_test.cc fake_cuda_old)

foreach(name IN ITEMS cuda cuda_old)
  dlbridge_add_device_fuzzer(${name})
  target_link_libraries(fuzz_${name} PRIVATE fake_${name})
  target_compile_definitions(fuzz_${name} PRIVATE FAKE_CUDA_FILE="$<TARGET_FILE:fake_${name}>")
endforeach()

# The bundle of `./run gpu --bundle`, packed from this build and run with the fake driver.
if(NOT DLBRIDGE_STATIC AND NOT DLBRIDGE_SANITIZE)
  add_executable(gpu_timings ${PROJECT_SOURCE_DIR}/tests/gpu/timings.c)
  target_include_directories(gpu_timings PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(gpu_timings PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(gpu_timings PROPERTIES C_STANDARD 99)
  target_compile_options(gpu_timings PRIVATE -Wall -Wextra -Wpedantic -Werror)
  dlbridge_add_script_test(gpu_bundle_on_the_fake device ${PROJECT_SOURCE_DIR}/tests/gpu/bundle_test.py
    $<TARGET_FILE:dlbridge> $<TARGET_FILE:gpu_timings> $<TARGET_FILE:fake_cuda>)
endif()
