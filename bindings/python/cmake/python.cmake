# SPDX-License-Identifier: Apache-2.0
# The interpreter's headers and nanobind. Sets DLBRIDGE_LIMITED_API for CPython 3.12 and
# later, where extensions use the limited API. Free-threaded builds have no limited API before 3.15.

# A build for another system has the headers of that system's Python in DLBRIDGE_PYTHON_INCLUDE, the
# suffix of its extensions in NB_SUFFIX and NB_SUFFIX_S (nanobind's variables), and for Windows the import
# library in DLBRIDGE_PYTHON_LIBRARY. The interpreter, which must be of the same version, runs here.
set(DLBRIDGE_PYTHON_INCLUDE "" CACHE PATH "Headers of Python of another system")
set(DLBRIDGE_PYTHON_LIBRARY "" CACHE FILEPATH "Import library of Python, for Windows")
if(DLBRIDGE_PYTHON_INCLUDE)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
  set(Python_INCLUDE_DIRS ${DLBRIDGE_PYTHON_INCLUDE})
  add_library(Python::Module INTERFACE IMPORTED)
  target_include_directories(Python::Module INTERFACE ${DLBRIDGE_PYTHON_INCLUDE})
else()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
endif()
execute_process(COMMAND ${Python_EXECUTABLE} -c
  "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
  OUTPUT_VARIABLE DLBRIDGE_FREE_THREADED OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(DLBRIDGE_LIMITED_API OFF)
if(Python_VERSION VERSION_GREATER_EQUAL 3.12 AND NOT DLBRIDGE_FREE_THREADED)
  set(DLBRIDGE_LIMITED_API ON)
  if(NOT TARGET Python::SABIModule)
    # CMake before 3.26 has no such component. It would add the same headers and no library.
    add_library(Python::SABIModule INTERFACE IMPORTED)
  endif()
endif()

# TLS descriptors need glibc 2.39: before, its resolver did not preserve all registers that compilers
# expect it to.
set(NB_HAS_MTLS_GNU2 OFF CACHE INTERNAL "No TLS descriptors")
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind 3.1.0 EXACT REQUIRED CONFIG NO_CMAKE_FIND_ROOT_PATH)
