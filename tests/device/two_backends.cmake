# SPDX-License-Identifier: Apache-2.0
# The fakes of CUDA and HIP in one process. The file name sorts after those of both.
if(TARGET fake_cuda)
  dlbridge_add_device_fuzzer(held)
  target_link_libraries(fuzz_held PRIVATE fake_cuda Threads::Threads)
  target_compile_definitions(fuzz_held PRIVATE FAKE_CUDA_FILE="$<TARGET_FILE:fake_cuda>")
endif()
if(TARGET fake_cuda AND TARGET fake_hip6)
  dlbridge_add_cuda_test(two_backends_test.cc fake_cuda)
  dlbridge_use_fake_hip(two_backends_test)
  dlbridge_add_device_fuzzer(transfers)
  target_link_libraries(fuzz_transfers PRIVATE fake_cuda)
  target_compile_definitions(fuzz_transfers PRIVATE FAKE_CUDA_FILE="$<TARGET_FILE:fake_cuda>")
  dlbridge_use_fake_hip(fuzz_transfers)
else()
  message(STATUS "dlbridge: copies between CUDA and HIP are not tested, one of them is missing")
  dlbridge_add_script_test(two_backends_missing device
    ${CMAKE_CURRENT_SOURCE_DIR}/missing.py "the headers of CUDA or of HIP were not found")
endif()
