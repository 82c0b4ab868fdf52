# SPDX-License-Identifier: Apache-2.0
# The targets dlbridge and dlbridge::dlbridge of DLBRIDGE_TEST_PREFIX, an installed library or a
# folder where an archive was unpacked, so that tests and examples are built with its headers and run
# with its file. Nothing is installed then.

file(GLOB prefix ${DLBRIDGE_TEST_PREFIX} ${DLBRIDGE_TEST_PREFIX}/dlbridge-*)
find_package(dlbridge ${PROJECT_VERSION} EXACT REQUIRED CONFIG
  PATHS ${prefix} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
set_target_properties(dlbridge::shared PROPERTIES IMPORTED_GLOBAL TRUE)
add_library(dlbridge ALIAS dlbridge::shared)
set(DLBRIDGE_INSTALL OFF)
