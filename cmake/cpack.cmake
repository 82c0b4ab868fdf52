# SPDX-License-Identifier: Apache-2.0
# `cpack` makes one archive with the components runtime, development, documentation and tools. Debian's
# packages come from debian/.

string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
set(CPACK_PACKAGE_NAME dlbridge)
set(CPACK_PACKAGE_VENDOR "dlbridge")
set(CPACK_PACKAGE_CONTACT "dlbridge maintainers <maintainers@dlbridge.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_FILE_NAME
  dlbridge-${PROJECT_VERSION}-${system}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_COMPONENTS_ALL runtime development documentation)
if(DLBRIDGE_BUILD_TOOL)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR TGZ)

include(CPack)
