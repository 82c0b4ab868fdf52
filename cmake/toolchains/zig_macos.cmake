# SPDX-License-Identifier: Apache-2.0
# What CMake sets for macOS only where it knows the version of the system (rpath, and with it
# the install name @rpath/...), and what zig's linker does otherwise: it makes no bundles, but an
# interpreter also loads an extension that is a dylib.
foreach(language C CXX)
  set(CMAKE_SHARED_LIBRARY_RUNTIME_${language}_FLAG "-Wl,-rpath,")
  set(CMAKE_SHARED_MODULE_RUNTIME_${language}_FLAG "-Wl,-rpath,")
  set(CMAKE_EXECUTABLE_RUNTIME_${language}_FLAG "-Wl,-rpath,")
  set(CMAKE_SHARED_MODULE_CREATE_${language}_FLAGS "-dynamiclib -Wl,-headerpad_max_install_names")
endforeach()
