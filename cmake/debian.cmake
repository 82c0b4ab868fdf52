# SPDX-License-Identifier: Apache-2.0
# The Debian packages libdlbridge<abi> (runtime) and libdlbridge-dev (development), and with
# DLBRIDGE_DEBUG_SYMBOLS libdlbridge<abi>-dbgsym.

set(runtime_package libdlbridge${DLBRIDGE_HEADER_ABI})
set(files ${PROJECT_BINARY_DIR}/debian)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# Each package has a copyright file of its own instead.
list(REMOVE_ITEM CPACK_COMPONENTS_ALL documentation)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_MULTIARCH same) # ignored before CMake 3.31

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${runtime_package})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
if(DLBRIDGE_DEBUG_SYMBOLS)
  set(CPACK_STRIP_FILES OFF) # cpack strips the file after it has separated the debug information
  set(CPACK_DEBIAN_RUNTIME_DEBUGINFO_PACKAGE ON)
endif()
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package/finish_debian.cmake)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
  ${files}/shlibs ${files}/symbols ${PROJECT_SOURCE_DIR}/cmake/package/triggers)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "This package has the shared library.
Programs that exchange tensors through DLPack link this library instead of
writing the exchange by hand. It needs the C library and nothing else.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libdlbridge-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${runtime_package} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "This package has what it takes to build programs with libdlbridge: the headers,
and what the linker, CMake and pkg-config ask for.")

# The version that a linked program depends on. An option, a level or a member of a struct may be newer
# than the function that takes it, and only new minor versions add them. So a program needs the minor
# version that it was built with, whichever functions it calls.
set(least ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}.0)
file(WRITE ${files}/shlibs "libdlbridge ${DLBRIDGE_HEADER_ABI} ${runtime_package} (>= ${least})\n")

# The same as a symbols file, which dpkg-shlibdeps prefers. It lists each name of the linker's version
# script.
function(dlbridge_debian_symbols map out)
  file(READ ${map} text)
  string(REPLACE ";" "" text "${text}") # a semicolon would separate elements of a list
  set(symbols "libdlbridge.so.${DLBRIDGE_HEADER_ABI} ${runtime_package} #MINVER#")
  string(APPEND symbols "\n* Build-Depends-Package: libdlbridge-dev")
  string(REGEX MATCHALL "DLBRIDGE_[0-9.]+ {[^}]*}" nodes "${text}")
  foreach(node IN LISTS nodes)
    string(REGEX MATCH "DLBRIDGE_[0-9.]+" name "${node}")
    string(REGEX MATCHALL "dlbridge_[a-z0-9_]+" functions "${node}")
    foreach(symbol IN LISTS name functions)
      string(APPEND symbols "\n ${symbol}@${name} ${least}")
    endforeach()
  endforeach()
  file(WRITE ${out} "${symbols}\n")
endfunction()

dlbridge_debian_symbols(${PROJECT_SOURCE_DIR}/src/dlbridge.map ${files}/symbols)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/dlbridge.map)

# Debian's changelog, with one entry. Its time is SOURCE_DATE_EPOCH if set, else the current time.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(cmake/package/changelog.in ${files}/changelog @ONLY)
execute_process(COMMAND gzip --best --no-name --force ${files}/changelog COMMAND_ERROR_IS_FATAL ANY)

configure_file(cmake/package/copyright.in ${files}/copyright @ONLY)
install(FILES ${files}/copyright ${files}/changelog.gz
  DESTINATION share/doc/${runtime_package} COMPONENT runtime)
install(FILES ${files}/copyright ${files}/changelog.gz
  DESTINATION share/doc/libdlbridge-dev COMPONENT development)
