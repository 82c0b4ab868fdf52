# SPDX-License-Identifier: Apache-2.0
# The Debian packages libdlbridge<abi> (runtime) and libdlbridge-dev (development).

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
set(CPACK_DEBIAN_PACKAGE_MULTIARCH same) # heeded from CMake 3.31 on

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${runtime_package})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
  ${files}/symbols ${PROJECT_SOURCE_DIR}/cmake/package/triggers)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "This package has the shared library.
Programs that exchange tensors through DLPack link this library instead of
writing the exchange by hand. It needs the C library and nothing else.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libdlbridge-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${runtime_package} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "This package has what it takes to build programs with libdlbridge: the headers,
and what the linker, CMake and pkg-config ask for.")

# What dpkg-shlibdeps reads: the package's version that brought each exported symbol. The linker's
# version script knows: a node DLBRIDGE_0.2 came with 0.2.0.
function(dlbridge_debian_symbols map out)
  file(READ ${map} text)
  string(REPLACE ";" "" text "${text}") # which would separate elements of a list
  set(symbols "libdlbridge.so.${DLBRIDGE_HEADER_ABI} ${runtime_package} #MINVER#")
  string(REGEX MATCHALL "DLBRIDGE_[0-9.]+ {[^}]*}" nodes "${text}")
  foreach(node IN LISTS nodes)
    string(REGEX MATCH "DLBRIDGE_([0-9.]+)" name "${node}")
    set(since ${CMAKE_MATCH_1}.0)
    string(REGEX MATCHALL "dlbridge_[a-z0-9_]+" functions "${node}")
    foreach(symbol IN LISTS name functions)
      string(APPEND symbols "\n ${symbol}@${name} ${since}")
    endforeach()
  endforeach()
  file(WRITE ${out} "${symbols}\n")
endfunction()

dlbridge_debian_symbols(${PROJECT_SOURCE_DIR}/src/dlbridge.map ${files}/symbols)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/dlbridge.map)

configure_file(cmake/package/copyright.in ${files}/copyright @ONLY)
install(FILES ${files}/copyright DESTINATION share/doc/${runtime_package} COMPONENT runtime)
install(FILES ${files}/copyright DESTINATION share/doc/libdlbridge-dev COMPONENT development)
