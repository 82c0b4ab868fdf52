# SPDX-License-Identifier: Apache-2.0
# Reads the version and the ABI number from the public header, the only place that states them.
# Sets DLBRIDGE_HEADER_VERSION and DLBRIDGE_HEADER_ABI.

set(header ${CMAKE_CURRENT_LIST_DIR}/../include/dlbridge/dlbridge.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
file(READ ${header} text)

function(dlbridge_read_define name value_regex out)
  if(NOT text MATCHES "#define ${name} (${value_regex})\n")
    message(FATAL_ERROR "${header} does not define ${name}")
  endif()
  set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

dlbridge_read_define(DLBRIDGE_VERSION_MAJOR "[0-9]+" major)
dlbridge_read_define(DLBRIDGE_VERSION_MINOR "[0-9]+" minor)
dlbridge_read_define(DLBRIDGE_VERSION_PATCH "[0-9]+" patch)
dlbridge_read_define(DLBRIDGE_VERSION_STRING "\"[^\"\n]*\"" string)
dlbridge_read_define(DLBRIDGE_ABI "[0-9]+" DLBRIDGE_HEADER_ABI)

set(DLBRIDGE_HEADER_VERSION ${major}.${minor}.${patch})
if(NOT string STREQUAL "\"${DLBRIDGE_HEADER_VERSION}\"")
  message(FATAL_ERROR "DLBRIDGE_VERSION_STRING is ${string}, but the version numbers give "
    "${DLBRIDGE_HEADER_VERSION}")
endif()
unset(text)

# The first version with each ABI number. A program that asks for an older version was written for
# another ABI. Versions before 0.3 also had the number 1, but were never published.
set(DLBRIDGE_ABI_1_SINCE 0.3)

set(DLBRIDGE_ABI_SINCE ${DLBRIDGE_ABI_${DLBRIDGE_HEADER_ABI}_SINCE})
if(NOT DEFINED DLBRIDGE_ABI_${DLBRIDGE_HEADER_ABI}_SINCE)
  message(FATAL_ERROR "cmake/version.cmake does not set DLBRIDGE_ABI_${DLBRIDGE_HEADER_ABI}_SINCE")
endif()
