# SPDX-License-Identifier: Apache-2.0
# cmake -DPORT_FOLDER=... -DWORK=... -DLINKAGE=... [-DCHOSEN=feature...] -P vcpkg.cmake: carries out a port
# of vcpkg, its release half, and leaves what would be installed in WORK/packages. Defines the functions of
# vcpkg that the port of dlbridge uses, as its documentation describes them.
cmake_minimum_required(VERSION 3.21)

file(READ ${PORT_FOLDER}/vcpkg.json manifest)
string(JSON PORT GET "${manifest}" name)
string(JSON VERSION GET "${manifest}" version)
set(CURRENT_PACKAGES_DIR ${WORK}/packages)
set(build ${WORK}/buildtree)
file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR} ${build})

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_download_distfile out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILENAME;SHA512" "URLS")
  file(DOWNLOAD ${arg_URLS} ${WORK}/${arg_FILENAME} EXPECTED_HASH SHA512=${arg_SHA512})
  set(${out} ${WORK}/${arg_FILENAME} PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
  file(ARCHIVE_EXTRACT INPUT ${arg_ARCHIVE} DESTINATION ${WORK}/src)
  file(GLOB folder ${WORK}/src/*)
  set(${out} ${folder} PARENT_SCOPE)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  list(POP_FRONT arg_FEATURES feature option)
  string(JSON described GET "${manifest}" features ${feature} description)
  set(value OFF)
  if(feature IN_LIST CHOSEN)
    set(value ON)
  endif()
  set(${arg_OUT_FEATURE_OPTIONS} -D${option}=${value} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  set(shared OFF)
  if(LINKAGE STREQUAL "dynamic")
    set(shared ON)
  endif()
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${build} -G Ninja -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DBUILD_SHARED_LIBS=${shared}
    -DCMAKE_INSTALL_LIBDIR:STRING=lib ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${build} --target install)
endfunction()

# Moves the files of find_package to share/<port>, and corrects the way from there to the prefix.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/share)
  file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${CURRENT_PACKAGES_DIR}/share/${PORT})
  set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  file(GLOB files ${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake)
  foreach(path IN LISTS files)
    file(READ ${path} text)
    string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
    file(WRITE ${path} "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  configure_file(${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright COPYONLY)
endfunction()

include(${PORT_FOLDER}/portfile.cmake)
message("${PORT} ${VERSION}: installed")
