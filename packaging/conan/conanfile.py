# SPDX-License-Identifier: Apache-2.0
"""Recipe of Conan 2: `conan create packaging/conan`, in a clone. The version is the header's."""

import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir


class DLBridgeRecipe(ConanFile):
    name = "dlbridge"
    license = "Apache-2.0"
    description = "Upgrade, validate, negotiate and share DLPack tensors"
    topics = ("dlpack", "tensor", "c-abi")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "devices": [True, False]}
    default_options = {"shared": False, "fPIC": True, "devices": True}
    implements = ["auto_shared_fpic"]

    @property
    def _root(self):
        return pathlib.Path(self.recipe_folder).resolve().parents[1]

    def set_version(self):
        header = (self._root / "include/dlbridge/dlbridge.h").read_text()
        self.version = re.search(r'^#define DLBRIDGE_VERSION_STRING "(.*)"$', header, re.M)[1]

    def export_sources(self):
        pages = ("LICENSE", "README.md", "CHANGELOG.md", "docs/*")
        kept = (*pages, "CMakeLists.txt", "cmake/*", "include/*", "src/*", "bindings/cpp/*")
        for pattern in kept:
            copy(self, pattern, src=str(self._root), dst=self.export_sources_folder)

    def configure(self):
        # The interface is C, and the library needs no C++ runtime.
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(
            DLBRIDGE_STATIC=not self.options.shared,
            DLBRIDGE_PIC=bool(self.options.get_safe("fPIC", True)),
            DLBRIDGE_DEVICES=bool(self.options.devices),
            DLBRIDGE_BUILD_TESTS=False,
            DLBRIDGE_BUILD_EXAMPLES=False,
            DLBRIDGE_CONFORMANCE=False,
            DLBRIDGE_BUILD_TOOL=False,
        )
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        cmake = CMake(self)
        for component in ("runtime", "development"):
            cmake.install(component=component)
        copy(self, "LICENSE", src=self.source_folder, dst=f"{self.package_folder}/licenses")
        # Conan writes the files for CMake and pkg-config itself.
        rmdir(self, f"{self.package_folder}/lib/cmake")
        rmdir(self, f"{self.package_folder}/lib/pkgconfig")

    def package_info(self):
        linkage = "shared" if self.options.shared else "static"
        self.cpp_info.libs = ["dlbridge"]
        self.cpp_info.set_property(
            "cmake_target_aliases", [f"dlbridge::{linkage}", "dlbridge::cpp"]
        )
        if not self.options.shared:
            self.cpp_info.defines = ["DLBRIDGE_STATIC"]
            if self.settings.os == "Linux":
                self.cpp_info.system_libs = ["dl", "pthread"]
