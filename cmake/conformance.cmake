# SPDX-License-Identifier: Apache-2.0
# Installs the component `conformance` beside an installed library:
#   cmake --install BUILD --component conformance
# find_package(dlbridge COMPONENTS conformance) then gives dlbridge::conformance, and pkg-config
# dlbridge-conformance.

set(component COMPONENT conformance EXCLUDE_FROM_ALL)
install(TARGETS dlbridge_conformance EXPORT dlbridgeConformanceTargets ARCHIVE ${component})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/conformance/c/include/dlbridge
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  ${component}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT dlbridgeConformanceTargets
  NAMESPACE dlbridge::
  DESTINATION ${package_dir}
  ${component})
# dlbridge_install_pc() has written it.
install(FILES ${package_files}/dlbridge-conformance.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  ${component})
