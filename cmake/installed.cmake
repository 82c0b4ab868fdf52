# SPDX-License-Identifier: Apache-2.0
# The targets dlbridge and dlbridge::dlbridge from DLBRIDGE_TEST_PREFIX, an installed library or an
# unpacked archive. Tests are built with its headers and run with its library. Nothing is
# installed.

file(GLOB prefix ${DLBRIDGE_TEST_PREFIX} ${DLBRIDGE_TEST_PREFIX}/dlbridge-*)
find_package(dlbridge ${PROJECT_VERSION} EXACT REQUIRED CONFIG
  PATHS ${prefix} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
set_target_properties(dlbridge::shared PROPERTIES IMPORTED_GLOBAL TRUE)
add_library(dlbridge ALIAS dlbridge::shared)
set(DLBRIDGE_INSTALL OFF)
