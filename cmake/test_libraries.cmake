# SPDX-License-Identifier: Apache-2.0
# GTest::gtest_main and nlohmann_json::nlohmann_json. When cross-compiling, the installed libraries
# cannot be linked: GoogleTest is then built from the sources of Debian's package googletest.

find_package(nlohmann_json REQUIRED)
if(NOT CMAKE_CROSSCOMPILING)
  find_package(GTest REQUIRED)
  return()
endif()

set(DLBRIDGE_GOOGLETEST /usr/src/googletest CACHE PATH "Sources of GoogleTest")
if(NOT EXISTS ${DLBRIDGE_GOOGLETEST}/googletest/CMakeLists.txt)
  message(FATAL_ERROR "There is no GoogleTest in '${DLBRIDGE_GOOGLETEST}': install the package "
    "googletest, or set DLBRIDGE_GOOGLETEST")
endif()
if(NOT TARGET gtest) # several folders of tests include this file
  add_subdirectory(${DLBRIDGE_GOOGLETEST}/googletest ${PROJECT_BINARY_DIR}/googletest
    EXCLUDE_FROM_ALL)
endif()

# Its include folder also has the host's headers, which a cross compiler must not see.
get_target_property(json_include nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
list(GET json_include 0 json_include)
set(json_alone ${PROJECT_BINARY_DIR}/nlohmann_json)
file(MAKE_DIRECTORY ${json_alone})
file(CREATE_LINK ${json_include}/nlohmann ${json_alone}/nlohmann SYMBOLIC)
set_target_properties(nlohmann_json::nlohmann_json PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${json_alone}
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${json_alone})
