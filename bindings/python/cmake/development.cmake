# SPDX-License-Identifier: Apache-2.0
# What extensions need that are built against the installed package: the library, its headers and those
# of the C++ binding, find_package(dlbridge), and pkg-config. No file contains a path of the build, so
# that the package can be moved.

include(CMakePackageConfigHelpers)
set(templates ${library}/cmake/package)
set(made ${CMAKE_CURRENT_BINARY_DIR}/development)

install(TARGETS dlbridge EXPORT dlbridgeTargets
  RUNTIME DESTINATION dlbridge
  ARCHIVE DESTINATION dlbridge/lib
  LIBRARY DESTINATION dlbridge/lib NAMELINK_SKIP
  INCLUDES DESTINATION dlbridge/include)
install(DIRECTORY ${library}/include/dlbridge DESTINATION dlbridge/include
  FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${library}/bindings/cpp/include/dlbridge DESTINATION dlbridge/include
  FILES_MATCHING PATTERN "*.hpp")

# The same package of CMake as that of the library.
install(EXPORT dlbridgeTargets FILE dlbridgeTargets-shared.cmake NAMESPACE dlbridge::
  DESTINATION dlbridge/lib/cmake/dlbridge)
write_basic_package_version_file(${made}/dlbridgeConfigVersionBasic.cmake
  COMPATIBILITY AnyNewerVersion)
foreach(name IN ITEMS dlbridgeConfig.cmake dlbridgeConfigVersion.cmake)
  configure_file(${templates}/${name}.in ${made}/${name} @ONLY)
endforeach()
install(FILES
  ${made}/dlbridgeConfig.cmake
  ${made}/dlbridgeConfigVersion.cmake
  ${made}/dlbridgeConfigVersionBasic.cmake
  DESTINATION dlbridge/lib/cmake/dlbridge)

get_directory_property(PROJECT_DESCRIPTION DIRECTORY ${library} DEFINITION PROJECT_DESCRIPTION)
set(DLBRIDGE_PC_PREFIX \${pcfiledir}/../..)
set(DLBRIDGE_PC_LIBDIR \${prefix}/lib)
set(DLBRIDGE_PC_INCLUDEDIR \${prefix}/include)
set(DLBRIDGE_PC_LIBS_PRIVATE)
configure_file(${templates}/dlbridge.pc.in ${made}/dlbridge.pc @ONLY)
install(FILES ${made}/dlbridge.pc DESTINATION dlbridge/lib/pkgconfig)

# -ldlbridge finds a script that names the library's file, where others have a symbolic link.
if(UNIX AND NOT APPLE)
  file(CONFIGURE OUTPUT ${made}/libdlbridge.so CONTENT "INPUT(libdlbridge.so.@DLBRIDGE_HEADER_ABI@)\n" @ONLY)
  install(FILES ${made}/libdlbridge.so DESTINATION dlbridge/lib)
endif()
