# SPDX-License-Identifier: Apache-2.0
# Tests of the binding as a separate project, with the compiler of the build: programs in several
# modes, misuses that must not compile, warnings, and cost. noxfile.py has a session for each label;
# the target `cpp_programs` builds the programs.
include(CheckCXXSourceCompiles)

add_custom_target(cpp_programs)
set(CMAKE_NO_SYSTEM_FROM_IMPORTED ON)  # warnings of the installed headers count
set(DLBRIDGE_CCCL_INCLUDE "" CACHE PATH "Folder with cuda/std/mdspan")
set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wold-style-cast -Werror)
set(useless_cast)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(useless_cast -Wuseless-cast)
endif()
find_path(DLBRIDGE_INCLUDE dlbridge/dlbridge.hpp REQUIRED)

# dlbridge_cpp_program(name source label [option...]): a program that is a test.
function(dlbridge_cpp_program name source label)
  add_executable(cpp_${name} EXCLUDE_FROM_ALL ${source})
  add_dependencies(cpp_programs cpp_${name})
  target_link_libraries(cpp_${name} PRIVATE dlbridge::cpp)
  target_compile_options(cpp_${name} PRIVATE ${warnings} ${ARGN})
  add_test(NAME cpp_${name} COMMAND cpp_${name})
  set_tests_properties(cpp_${name} PROPERTIES LABELS ${label})
endfunction()

dlbridge_cpp_program(plain plain_program.cc programs)
dlbridge_cpp_program(no_exceptions plain_program.cc programs -fno-exceptions -fno-rtti -O2)
dlbridge_cpp_program(cxx20 plain_program.cc programs)
set_target_properties(cpp_cxx20 PROPERTIES CXX_STANDARD 20)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  dlbridge_cpp_program(cxx23 plain_program.cc programs)
  set_target_properties(cpp_cxx23 PROPERTIES CXX_STANDARD 23)
endif()
if(EXISTS /usr/include/dlpack/dlpack.h)
  dlbridge_cpp_program(official_dlpack plain_program.cc programs -DOFFICIAL_DLPACK)
endif()
if(DLBRIDGE_CCCL_INCLUDE)
  dlbridge_cpp_program(mdspan_cuda mdspan_program.cc mdspan -DCUDA_MDSPAN)
  target_include_directories(cpp_mdspan_cuda SYSTEM PRIVATE ${DLBRIDGE_CCCL_INCLUDE})
endif()

# Calls through a table that the program loads: a function that it links would be undefined.
add_executable(cpp_table EXCLUDE_FROM_ALL plain_program.cc)
add_dependencies(cpp_programs cpp_table)
target_compile_definitions(cpp_table PRIVATE USE_TABLE)
target_compile_options(cpp_table PRIVATE ${warnings})
target_include_directories(cpp_table PRIVATE ${DLBRIDGE_INCLUDE})
target_link_libraries(cpp_table PRIVATE ${CMAKE_DL_LIBS})
target_compile_features(cpp_table PRIVATE cxx_std_17)
add_test(NAME cpp_table COMMAND cpp_table $<TARGET_FILE:dlbridge::dlbridge>)
set_tests_properties(cpp_table PROPERTIES LABELS programs)

# A callback that throws is caught, whichever of the two files the linker takes functions from.
foreach(part IN ITEMS with without)
  add_library(cpp_mixed_${part} OBJECT EXCLUDE_FROM_ALL mixed_program.cc)
  target_link_libraries(cpp_mixed_${part} PRIVATE dlbridge::cpp)
  target_compile_options(cpp_mixed_${part} PRIVATE ${warnings})
endforeach()
target_compile_options(cpp_mixed_without PRIVATE -fno-exceptions)
set(mixed $<TARGET_OBJECTS:cpp_mixed_with> $<TARGET_OBJECTS:cpp_mixed_without>)
dlbridge_cpp_program(mixed_with_first "${mixed}" programs)
list(REVERSE mixed)
dlbridge_cpp_program(mixed_without_first "${mixed}" programs)

# dlbridge_cpp_compiles(name label option...): a compilation as a test.
set(compile ${CMAKE_CXX_COMPILER} ${warnings} -I${DLBRIDGE_INCLUDE})
function(dlbridge_cpp_compiles name label)
  add_test(NAME cpp_${name} COMMAND ${compile} ${ARGN})
  set_tests_properties(cpp_${name} PROPERTIES LABELS ${label})
endfunction()

set(strict ${useless_cast} -Wshadow -Wnon-virtual-dtor)
set(plain ${CMAKE_CURRENT_SOURCE_DIR}/plain_program.cc)
foreach(standard IN ITEMS 17 20)
  foreach(exceptions IN ITEMS exceptions no-exceptions)
    dlbridge_cpp_compiles(warnings_${exceptions}_${standard} warnings
      -fsyntax-only -std=c++${standard} -f${exceptions} ${strict} ${plain})
  endforeach()
  dlbridge_cpp_compiles(warnings_misuse_${standard} warnings
    -fsyntax-only -std=c++${standard} -DMISUSE=0 ${strict} ${CMAKE_CURRENT_SOURCE_DIR}/misuse.cc)
endforeach()

# dlbridge_cpp_misuses(file count): each misuse of the file is rejected with the stated message, and
# with MISUSE=0 the corrected variants of all compile. A precompiled header is shared by them.
function(dlbridge_cpp_misuses file count)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file}.cc)
  set(once ${CMAKE_CURRENT_BINARY_DIR}/${file}.hpp)
  file(WRITE ${once} "#include <array>\n#include <vector>\n#include \"dlbridge/dlbridge.hpp\"\n")
  file(STRINGS ${source} flags REGEX "^// flags: ")
  string(REGEX REPLACE "^// flags: " "" flags "${flags}")
  separate_arguments(flags)
  set(options -std=c++17 ${flags})
  dlbridge_cpp_compiles(${file}_header misuse ${options} -x c++-header ${once} -o ${once}.gch)
  list(APPEND options -fsyntax-only -include ${once})
  dlbridge_cpp_compiles(${file}_0 misuse ${options} -DMISUSE=0 ${source})
  set_tests_properties(cpp_${file}_header PROPERTIES FIXTURES_SETUP ${file})
  set_tests_properties(cpp_${file}_0 PROPERTIES FIXTURES_REQUIRED ${file})

  file(STRINGS ${source} reasons REGEX "^// says: ")
  file(STRINGS ${source} titles REGEX "^// MISUSE [0-9]+: ")
  list(LENGTH titles found)
  list(LENGTH reasons stated)
  if(NOT found EQUAL ${count} OR NOT stated EQUAL ${count})
    message(FATAL_ERROR "${file}.cc: expected ${count} misuses, found ${found} with ${stated} reasons")
  endif()
  foreach(title reason IN ZIP_LISTS titles reasons)
    string(REGEX MATCH "[0-9]+" number "${title}")
    string(REPLACE "// says: " "" reason "${reason}")
    string(REPLACE ".*" "[^\n]*" reason "${reason}")
    dlbridge_cpp_compiles(${file}_${number} misuse ${options} -DMISUSE=${number} ${source})
    set_tests_properties(cpp_${file}_${number} PROPERTIES FIXTURES_REQUIRED ${file}
      PASS_REGULAR_EXPRESSION "error: [^\n]*${reason}")
  endforeach()
endfunction()

dlbridge_cpp_misuses(misuse 68)
dlbridge_cpp_misuses(misuse_no_exceptions 2)
check_cxx_source_compiles("
  #if !__has_cpp_attribute(clang::lifetimebound)
  #error
  #endif
  int main() {}" DLBRIDGE_LIFETIMEBOUND)
if(DLBRIDGE_LIFETIMEBOUND)
  dlbridge_cpp_misuses(misuse_lifetime 9)
endif()

# The examples, and whether README shows them and what they print.
foreach(example IN ITEMS argument first plugin_host)
  add_executable(cpp_example_${example} EXCLUDE_FROM_ALL ../examples/${example}.cc)
  add_dependencies(cpp_programs cpp_example_${example})
  target_link_libraries(cpp_example_${example} PRIVATE dlbridge::cpp)
  target_compile_options(cpp_example_${example} PRIVATE ${warnings} ${useless_cast})
endforeach()
add_test(NAME cpp_examples COMMAND ${Python3_EXECUTABLE} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/examples_test.py $<TARGET_FILE_DIR:cpp_example_first>)
set_tests_properties(cpp_examples PROPERTIES LABELS programs)

# Instructions that the binding adds to the same calls in C.
function(dlbridge_cpp_cost name main)
  add_executable(cpp_${name} EXCLUDE_FROM_ALL cost/${main}.cc cost/cost_c.c cost/cost_cpp.cc)
  target_compile_options(cpp_${name} PRIVATE -O2)
  target_link_libraries(cpp_${name} PRIVATE dlbridge::cpp)
endfunction()
dlbridge_cpp_cost(cost cost_main)
dlbridge_cpp_cost(cost_bench bench_main)
add_dependencies(cpp_programs cpp_cost)
set(count ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/cost/count.py $<TARGET_FILE:cpp_cost>)
add_test(NAME cpp_cost COMMAND ${count})
set_tests_properties(cpp_cost PROPERTIES LABELS cost SKIP_RETURN_CODE 77)
# A limit below the cost of C shows that the test can fail.
add_test(NAME cpp_cost_selftest COMMAND ${count} --limit -1000)
set_tests_properties(cpp_cost_selftest PROPERTIES LABELS selftest WILL_FAIL ON)
