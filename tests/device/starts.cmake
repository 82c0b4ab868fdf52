# SPDX-License-Identifier: Apache-2.0
# The fuzz target of the first use of drivers, with all fakes. The file name sorts after theirs. Only
# its seeds are replayed: libFuzzer cannot see what a child process reaches.
if(NOT DLBRIDGE_SANITIZE AND TARGET fake_cuda AND TARGET fake_hip6 AND TARGET fake_level_zero AND TARGET opencl_shim)
  dlbridge_add_fuzzer(starts device)
  target_compile_definitions(fuzz_starts PRIVATE
    FUZZ_CUDA="$<TARGET_FILE:fake_cuda>" FUZZ_CUDA_OLD="$<TARGET_FILE:fake_cuda_old>"
    FUZZ_HIP0="$<TARGET_FILE:fake_hip0>" FUZZ_HIP5="$<TARGET_FILE:fake_hip5>"
    FUZZ_HIP6="$<TARGET_FILE:fake_hip6>" FUZZ_LEVEL_ZERO="$<TARGET_FILE:fake_level_zero>"
    FUZZ_LEVEL_ZERO_LOADER="$<TARGET_FILE:fake_level_zero_loader>"
    FUZZ_OPENCL_SHIM="$<TARGET_FILE:opencl_shim>" FUZZ_OPENCL_ICD="${icd}")
  add_dependencies(fuzz_starts fake_cuda fake_cuda_old fake_hip0 fake_hip5 fake_hip6 fake_level_zero
    fake_level_zero_loader opencl_shim)
endif()
