# SPDX-License-Identifier: Apache-2.0
# The fuzz targets whose inputs have processes of their own: the first use of drivers, with all fakes,
# and the context table of several libraries and of forked children. The file name sorts after those of
# the fakes. libFuzzer cannot see what a child process reaches: of the first, only seeds are replayed.
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

# dlbridge_add_table_module(name option...): a library that exports a context table.
function(dlbridge_add_table_module name)
  add_library(${name} MODULE ${PROJECT_SOURCE_DIR}/tests/fuzz/support/table_module.c)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${name} PRIVATE -Wall -Wextra $<$<BOOL:${DLBRIDGE_WERROR}>:-Werror>)
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden)
  add_dependencies(fuzz_processes ${name})
endfunction()

if(NOT DLBRIDGE_SANITIZE MATCHES "thread" AND TARGET fake_cuda AND TARGET dlbridge_copy_7)
  dlbridge_add_fuzzer(processes device dlbridge_fuzz_headers)
  foreach(name a b old data used)
    dlbridge_add_table_module(fuzz_table_${name})
    string(TOUPPER ${name} variable)
    target_compile_definitions(fuzz_processes PRIVATE
      FUZZ_TABLE_${variable}="$<TARGET_FILE:fuzz_table_${name}>")
  endforeach()
  # DT_HASH, the table of older linkers, also lists symbols that a module only imports.
  target_link_options(fuzz_table_old PRIVATE -Wl,--hash-style=sysv)
  target_compile_definitions(fuzz_table_data PRIVATE TABLE_IS_DATA)
  target_compile_definitions(fuzz_table_used PRIVATE TABLE_IS_USED)
  target_link_options(fuzz_table_used PRIVATE -Wl,--hash-style=sysv -Wl,-z,lazy)
  target_compile_definitions(fuzz_processes PRIVATE FUZZ_CUDA="$<TARGET_FILE:fake_cuda>"
    FUZZ_LIBRARY="$<TARGET_FILE:dlbridge>" FUZZ_COPY="$<TARGET_FILE:dlbridge_copy_7>")
  add_dependencies(fuzz_processes fake_cuda dlbridge dlbridge_copy_7)
endif()
