# SPDX-License-Identifier: Apache-2.0
# dlbridge_library(source...): the target dlbridge (alias dlbridge::dlbridge), which is a shared library
# (alias dlbridge::shared) or a static one (alias dlbridge::static), and the target dlbridge_objects,
# the same objects for tests of internal functions.

# dlopen, dladdr and the locks are in separate libraries before glibc 2.34.
set(DLBRIDGE_SYSTEM_LIBRARIES ${CMAKE_DL_LIBS})
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  list(APPEND DLBRIDGE_SYSTEM_LIBRARIES pthread)
endif()

include(cmake/debug_symbols.cmake)
include(cmake/harden.cmake)

function(dlbridge_library)
  add_library(dlbridge_objects OBJECT ${ARGN})
  target_include_directories(dlbridge_objects
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(dlbridge_objects PRIVATE DLBRIDGE_BUILDING)
  set(pic ON)
  if(DLBRIDGE_STATIC)
    set(pic ${DLBRIDGE_PIC})
  endif()
  set_target_properties(dlbridge_objects PROPERTIES
    POSITION_INDEPENDENT_CODE ${pic}
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    UNITY_BUILD OFF)
  # -O3 gains nothing (measured), so Release uses -O2 like RelWithDebInfo. Thread-safe statics would need
  # the C++ runtime.
  target_compile_options(dlbridge_objects PRIVATE
    -fno-exceptions -fno-rtti -fno-threadsafe-statics
    $<$<CONFIG:Release>:-O2>)
  if(NOT DLBRIDGE_DEVICES)
    dlbridge_small_objects(dlbridge_objects)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # Outline atomics would need a constructor, which chooses them at run time.
    target_compile_options(dlbridge_objects PRIVATE -mno-outline-atomics)
  endif()
  dlbridge_harden_objects(dlbridge_objects)
  dlbridge_harden_hot_sources()
  dlbridge_debug_symbols(dlbridge_objects)
  # A project that includes this one chooses its own warnings. The Python package's asks for these, so
  # that both have the same objects and ccache compiles them once.
  if(PROJECT_IS_TOP_LEVEL OR DLBRIDGE_WERROR)
    target_compile_options(dlbridge_objects PRIVATE
      -Wall -Wextra -Wpedantic -Wconversion
      $<$<BOOL:${DLBRIDGE_WERROR}>:-Werror>)
  endif()

  if(DLBRIDGE_STATIC)
    set(linkage static)
    # Hidden symbols: a module with a static copy exports none of them and uses no other copy.
    target_compile_definitions(dlbridge_objects PRIVATE DLBRIDGE_STATIC)
    add_library(dlbridge STATIC $<TARGET_OBJECTS:dlbridge_objects>)
    target_compile_definitions(dlbridge INTERFACE DLBRIDGE_STATIC)
  else()
    set(linkage shared)
    add_library(dlbridge SHARED $<TARGET_OBJECTS:dlbridge_objects>)
    dlbridge_shared_link()
  endif()
  add_library(dlbridge::${linkage} ALIAS dlbridge)
  # An installed package may have both; its configuration chooses which one is dlbridge::dlbridge.
  set_target_properties(dlbridge PROPERTIES
    EXPORT_NAME ${linkage}
    DLBRIDGE_VERSION ${PROJECT_VERSION}
    EXPORT_PROPERTIES DLBRIDGE_VERSION)
  add_library(dlbridge::dlbridge ALIAS dlbridge)
  target_include_directories(dlbridge INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(dlbridge PRIVATE ${DLBRIDGE_SYSTEM_LIBRARIES})
  # Links with the C compiler and without CMake's implicit C++ libraries, so that a dependency on the
  # C++ runtime is a link error.
  set_target_properties(dlbridge PROPERTIES LINKER_LANGUAGE C DEBUG_POSTFIX "")
  set(CMAKE_CXX_IMPLICIT_LINK_LIBRARIES "" PARENT_SCOPE)
  if(NOT DLBRIDGE_DEVICES AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(dlbridge PRIVATE LINKER:--gc-sections)
  endif()
endfunction()

# dlbridge_small_objects(target): a library without drivers is optimised for size. It copies element by
# element, since the vector kernels take 25 KB. The linker drops what only a driver would reach.
function(dlbridge_small_objects target)
  target_compile_definitions(${target} PRIVATE DLBRIDGE_WITHOUT_DEVICES DLBRIDGE_SHUFFLES=0)
  target_compile_options(${target} PRIVATE
    $<$<CONFIG:Release,RelWithDebInfo>:-Os> -ffunction-sections -fdata-sections)
endfunction()

# Links the shared library. tests/abi/library_file_test.py and the checks of packaging/ check the file.
function(dlbridge_shared_link)
  # SOVERSION is the ABI number; the file name also has the version.
  set_target_properties(dlbridge PROPERTIES
    SOVERSION ${DLBRIDGE_HEADER_ABI}
    VERSION ${DLBRIDGE_HEADER_ABI}.${PROJECT_VERSION})
  if(WIN32)
    # One name for every version, as vendors name theirs: dlbridge.dll and libdlbridge.dll.a.
    set_target_properties(dlbridge PROPERTIES PREFIX "")
  endif()
  if(WIN32 OR APPLE)
    # Replaces -z nodelete.
    target_sources(dlbridge PRIVATE resident.c)
    target_compile_options(dlbridge PRIVATE -O2)
  else()
    dlbridge_elf_link()
  endif()
endfunction()

function(dlbridge_elf_link)
  target_sources(dlbridge PRIVATE nonshared.c)
  target_compile_options(dlbridge PRIVATE -O2)
  dlbridge_harden_objects(dlbridge)
  dlbridge_debug_symbols(dlbridge)
  set(map ${CMAKE_CURRENT_SOURCE_DIR}/dlbridge.map)
  set_target_properties(dlbridge PROPERTIES LINK_DEPENDS ${map})
  target_link_options(dlbridge PRIVATE
    -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--as-needed
    -Wl,--version-script=${map})
  dlbridge_harden_link(dlbridge)
  if(DLBRIDGE_DEBUG_SYMBOLS)
    target_link_options(dlbridge PRIVATE -Wl,--build-id=sha1)
  endif()
  # Symbols of a sanitizer are defined in the program. It may be enabled here or by a project that
  # includes this one.
  if(PROJECT_IS_TOP_LEVEL AND NOT DLBRIDGE_SANITIZE)
    target_link_options(dlbridge PRIVATE -Wl,-z,defs)
  endif()
endfunction()
