# SPDX-License-Identifier: Apache-2.0
# Installs three components: `runtime` has the files that a program needs to run, `development` those
# that it needs to be built, and `documentation` those that belong to both. No installed file contains
# a path of the build or the prefix, so an installation can be moved as a whole. The component
# `tools`, the command-line tool, is installed if it is built (install_tool.cmake). The component
# `conformance`, the conformance kit, is installed only if it is asked for (conformance.cmake).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS dlbridge
  EXPORT dlbridgeTargets
  RUNTIME COMPONENT runtime
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dlbridge
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development
  FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bindings/cpp/include/dlbridge
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development
  FILES_MATCHING PATTERN "*.hpp")
include(cmake/install_docs.cmake)

# find_package(dlbridge). A shared and a static library can be installed into one prefix, one after the
# other: each has its own file of targets, and all other files are identical.
if(DLBRIDGE_STATIC)
  set(linkage static)
else()
  set(linkage shared)
endif()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dlbridge)
set(package_files ${PROJECT_BINARY_DIR}/package)
install(EXPORT dlbridgeTargets
  FILE dlbridgeTargets-${linkage}.cmake
  NAMESPACE dlbridge::
  DESTINATION ${package_dir}
  COMPONENT development)
write_basic_package_version_file(${package_files}/dlbridgeConfigVersionBasic.cmake
  COMPATIBILITY AnyNewerVersion)
configure_file(cmake/package/dlbridgeConfigVersion.cmake.in
  ${package_files}/dlbridgeConfigVersion.cmake @ONLY)
configure_file(cmake/package/dlbridgeConfig.cmake.in
  ${package_files}/dlbridgeConfig.cmake @ONLY)
install(FILES
  ${package_files}/dlbridgeConfig.cmake
  ${package_files}/dlbridgeConfigVersion.cmake
  ${package_files}/dlbridgeConfigVersionBasic.cmake
  DESTINATION ${package_dir}
  COMPONENT development)

# pkg-config dlbridge, and dlbridge-static, which names the archive in case both are installed. Absolute
# folders are kept; relative ones are relative to the .pc file.
function(dlbridge_pc_folder out folder)
  if(IS_ABSOLUTE ${folder})
    set(${out} ${folder} PARENT_SCOPE)
  else()
    set(${out} \${prefix}/${folder} PARENT_SCOPE)
  endif()
endfunction()

function(dlbridge_install_pc)
  set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  if(IS_ABSOLUTE ${pc_dir})
    set(DLBRIDGE_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  else()
    file(RELATIVE_PATH up /prefix/${pc_dir} /prefix)
    string(REGEX REPLACE "/$" "" up ${up})
    set(DLBRIDGE_PC_PREFIX \${pcfiledir}/${up})
  endif()
  dlbridge_pc_folder(DLBRIDGE_PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
  dlbridge_pc_folder(DLBRIDGE_PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
  list(TRANSFORM DLBRIDGE_SYSTEM_LIBRARIES PREPEND -l OUTPUT_VARIABLE libraries)
  list(JOIN libraries " " DLBRIDGE_PC_LIBS_PRIVATE)
  set(names dlbridge)
  if(DLBRIDGE_STATIC)
    set(DLBRIDGE_PC_ARCHIVE ${CMAKE_STATIC_LIBRARY_PREFIX}dlbridge${CMAKE_STATIC_LIBRARY_SUFFIX})
    list(APPEND names dlbridge-static)
  endif()
  if(DLBRIDGE_CONFORMANCE)
    configure_file(cmake/package/dlbridge-conformance.pc.in
      ${package_files}/dlbridge-conformance.pc @ONLY)
  endif()
  foreach(name IN LISTS names)
    configure_file(cmake/package/${name}.pc.in ${package_files}/${name}.pc @ONLY)
    install(FILES ${package_files}/${name}.pc DESTINATION ${pc_dir} COMPONENT development)
  endforeach()
endfunction()
dlbridge_install_pc()

if(DLBRIDGE_CONFORMANCE)
  include(cmake/conformance.cmake)
endif()
if(DLBRIDGE_BUILD_TOOL)
  include(cmake/install_tool.cmake)
endif()
