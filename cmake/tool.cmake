# SPDX-License-Identifier: Apache-2.0
# The option DLBRIDGE_BUILD_TOOL, and the header-only libraries of the tool as the targets
# dlbridge_cli11 and dlbridge_json.

# The folder that has `header`, or NOTFOUND. It may also have the host's headers of the C library,
# which a cross compiler must not see, so a folder of this build with a link to `name` replaces it.
function(dlbridge_header_library target name header)
  find_path(DLBRIDGE_${target}_INCLUDE ${header} NO_CMAKE_FIND_ROOT_PATH)
  mark_as_advanced(DLBRIDGE_${target}_INCLUDE)
  if(NOT DLBRIDGE_${target}_INCLUDE)
    return()
  endif()
  set(alone ${PROJECT_BINARY_DIR}/headers/${target})
  file(MAKE_DIRECTORY ${alone})
  file(CREATE_LINK ${DLBRIDGE_${target}_INCLUDE}/${name} ${alone}/${name} SYMBOLIC)
  add_library(dlbridge_${target} INTERFACE)
  target_include_directories(dlbridge_${target} SYSTEM INTERFACE ${alone})
endfunction()

function(dlbridge_find_tool_libraries)
  dlbridge_header_library(cli11 CLI CLI/CLI.hpp)
  dlbridge_header_library(json nlohmann nlohmann/json.hpp)
endfunction()

if(PROJECT_IS_TOP_LEVEL OR DLBRIDGE_BUILD_TOOL)
  dlbridge_find_tool_libraries()
endif()
# A static library is for programs that vendor it. The tool of both kinds would have one name.
set(default OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT DLBRIDGE_STATIC AND TARGET dlbridge_cli11 AND TARGET dlbridge_json)
  set(default ON)
endif()
option(DLBRIDGE_BUILD_TOOL "Build the command-line tool dlbridge (needs CLI11 and nlohmann-json)"
  ${default})
if(DLBRIDGE_BUILD_TOOL AND NOT (TARGET dlbridge_cli11 AND TARGET dlbridge_json))
  message(FATAL_ERROR "The tool needs the headers of CLI11 and nlohmann-json (Debian: libcli11-dev "
    "nlohmann-json3-dev): install them, or set DLBRIDGE_BUILD_TOOL=OFF")
endif()
