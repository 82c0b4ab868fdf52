# SPDX-License-Identifier: Apache-2.0
"""Every way to consume the library, each a session in a scratch folder below build/consumers.

    nox -f tests/consumers/noxfile.py [-s 'find_package(shared)']

The folders build/release and build/release-static must have been built (./run test consumers). A
session tagged "selftest" shows that checks of the others can fail; a plain run leaves these out.
"""

import os
import pathlib
import platform
import re
import shutil
import sys

import nox

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import (  # noqa: E402 needs the path above
    ABI,
    KIT_FILES,
    ROOT,
    SONAME,
    VERSION,
    Failed,
    Scenario,
    contents,
    demand,
    dynamic,
    equal,
    expect_hardened,
    expect_own_needs,
    files_below,
    has_tool,
    installed_files,
    library,
    output,
    prefix,
    same_names,
    shell,
    source,
)

os.chdir(ROOT)  # also the folder that a relative --report counts from
nox.options.default_venv_backend = "none"

KINDS = ["shared", "static"]
both_kinds = nox.parametrize("linkage", KINDS, ids=KINDS)
selftest = nox.session(tags=["selftest"], default=False)
FOUND = '-DCMAKE_PREFIX_PATH="$PREFIX"'
RUN_PATH = '-Wl,-rpath,"$PREFIX/lib"'

# Commands like those of docs/start/install.md, whose own are run by `./run test documents`.
COMPILER_ONLY = """
cc program.c -I"$PREFIX/include" -L"$PREFIX/lib" -ldlbridge -Wl,-rpath,"$PREFIX/lib" -o program
"""
PKG_CONFIG = r"""
export PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig"
cc program.c $(pkg-config --cflags --libs dlbridge) \
  -Wl,-rpath,"$(pkg-config --variable=libdir dlbridge)" -o program
"""
PKG_CONFIG_STATIC = """
export PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig"
cc program.c $(pkg-config --cflags --libs dlbridge-static) -o program_static
"""
ARCHIVE = """
cd "$ROOT"
cpack --config build/release/CPackConfig.cmake -B "$PACKAGES"
"""
DEBIAN = """
python3 -B "$ROOT/packaging/debian.py" "$SOURCE" "$PACKAGES"
"""


@nox.session
@both_kinds
def find_package(session, linkage):
    """An installed prefix, for programs in C, in C++ and of the C++ binding."""
    place = Scenario(session, linkage)
    place.cmake("build", f"{FOUND} -DCMAKE_EXE_LINKER_FLAGS=-Wl,--no-as-needed")
    place.expect_programs("build")
    place.expect_first("build")
    # The archive adds no C++ runtime to a program in C, not even through CMake's link rules.
    for program, expected in (("program", False), ("program_cxx", True)):
        needs = "libstdc++" in " ".join(dynamic(place / "build" / program, "NEEDED"))
        equal(needs, expected, f"{program} needs the C++ runtime")

    for language, program in (("C", "program.c"), ("CXX", "program.cc")):
        place.write(
            f"{language}/CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.21)",
            f"project(consumer LANGUAGES {language})",
            "find_package(dlbridge 0.3 REQUIRED)",
            f"add_executable(program ../{program})",
            "target_link_libraries(program PRIVATE dlbridge::dlbridge)",
        )
        place.cmake(f"{language}/build", FOUND, where=language)
        place.expect_run(f"{language}/build/program")


# Versions before 0.3 were never published: a request for one was written for another interface.
OTHER_INTERFACE = f"(ABI {ABI}, that of 0.3 and later)"
NEXT = int(ABI) + 1
REJECTED_REQUESTS = (
    ("99.0 REQUIRED", 'compatible with requested version "99.0"'),
    ("99.0 REQUIRED", f"dlbridgeConfig.cmake, version: {VERSION}"),
    ("99.0...100 REQUIRED", 'compatible with requested version range "99.0...100"'),
    ("0.2 REQUIRED", OTHER_INTERFACE),
    ("0 REQUIRED", OTHER_INTERFACE),
    ("0.2.9 REQUIRED", OTHER_INTERFACE),
    ("0.1...99 REQUIRED", OTHER_INTERFACE),
    (f"{VERSION}.1 EXACT REQUIRED", f'exactly matches requested version "{VERSION}.1"'),
    (f"REQUIRED COMPONENTS abi{NEXT}", f"dlbridge {VERSION} is not 'abi{NEXT}'"),
    ("REQUIRED COMPONENTS static", f"dlbridge {VERSION} is not 'static'; it is: abi{ABI};shared"),
)
ACCEPTED_REQUESTS = (
    f"{VERSION} EXACT REQUIRED COMPONENTS abi{ABI} shared",
    "REQUIRED",
    "0.3 REQUIRED",
    "0.3...99 REQUIRED OPTIONAL_COMPONENTS static",
)


@nox.session
def find_package_versions(session):
    """Which requests find_package rejects, with which message, and which it accepts."""
    place = Scenario(session)
    project = (place / "CMakeLists.txt").read_text()

    def request(text):
        changed = project.replace("(dlbridge 0.3 REQUIRED)", f"(dlbridge {text})")
        (place / "CMakeLists.txt").write_text(changed)
        return f"rm -rf build; cmake -B build {FOUND}"

    for text, message in REJECTED_REQUESTS:
        place.rejected(message, request(text))
    for text in ACCEPTED_REQUESTS:
        place.run(request(text))


@nox.session
def another_abi(session):
    """find_package rejects a library of the next ABI for a request of a version of this one."""
    place = Scenario(session, with_source=True)
    place.edit(
        "dlbridge/include/dlbridge/dlbridge.h",
        ("^#define DLBRIDGE_ABI .*", f"#define DLBRIDGE_ABI {NEXT}"),
        ("^#define DLBRIDGE_VERSION_MAJOR .*", "#define DLBRIDGE_VERSION_MAJOR 50"),
        (r'^#define DLBRIDGE_VERSION_STRING "\d+', '#define DLBRIDGE_VERSION_STRING "50'),
    )
    options = "-DDLBRIDGE_BUILD_TESTS=OFF -DDLBRIDGE_BUILD_EXAMPLES=OFF -DCMAKE_BUILD_TYPE=Debug"
    options += " -DDLBRIDGE_BUILD_TOOL=OFF -DDLBRIDGE_CONFORMANCE=OFF -DDLBRIDGE_DEVICES=OFF"
    message = f"does not set DLBRIDGE_ABI_{NEXT}_SINCE"
    place.rejected(message, f"cmake -S dlbridge -B next {options}")
    since = (rf"^set\(DLBRIDGE_ABI_{ABI}_SINCE .*", rf"\g<0>\nset(DLBRIDGE_ABI_{NEXT}_SINCE 50.0)")
    place.edit("dlbridge/cmake/version.cmake", since)
    place.cmake("next", options, where="dlbridge")
    place.run("cmake --install next --prefix installed")
    demand((place / f"installed/lib/libdlbridge.so.{NEXT}").exists(), "the file name has no ABI")

    configure = 'cmake -B build -DCMAKE_PREFIX_PATH="$PWD/installed'
    place.rejected("dlbridgeConfig.cmake, version: 50", f'{configure}"')
    place.rejected(f"(ABI {NEXT}, that of 50.0 and later)", f'{configure}"')
    # CMake searches on after the rejected library.
    place.run(f'{configure};$PREFIX"; cmake --build build')
    place.expect_programs("build")


COMPILERS = {
    "program.c": (("gcc", "clang"), ("c99", "c11", "c17")),
    "program.cc": (("g++", "clang++"), ("c++11", "c++17", "c++20")),
}


@nox.session
@both_kinds
def compiler_only(session, linkage):
    """Without a build tool, in every language standard that the headers support."""
    place = Scenario(session, linkage)
    flags = '-pedantic-errors -Wall -Wextra -Werror -I"$PREFIX/include"'
    if linkage == "shared":
        place.run(COMPILER_ONLY)
        # Without a run path the program links, and the loader names the file that it misses.
        place.run(f'cc {flags} program.c -L"$PREFIX/lib" -ldlbridge -o lost')
        place.rejected(f"{SONAME}: cannot open shared object file", './lost "$VERSION"')
        place.run('LD_LIBRARY_PATH="$PREFIX/lib" ./lost "$VERSION"')
    else:
        flags += " -DDLBRIDGE_STATIC"
        place.run(f"cc {flags} program.c {place.library} -ldl -lpthread -o program")
    place.expect_run("program")
    for program, (compilers, standards) in COMPILERS.items():
        for compiler in compilers:
            for standard in standards:
                build = f"{compiler} -std={standard} {flags} {program} {place.library}"
                place.run(f"{build} {RUN_PATH} -ldl -o {compiler}-{standard}")
                place.expect_run(f"{compiler}-{standard}")


@nox.session
@both_kinds
def pkg_config(session, linkage):
    """An installed prefix by pkg-config."""
    place = Scenario(session, linkage)
    path = {"PKG_CONFIG_PATH": place.prefix / "lib/pkgconfig"}
    asked = place.run(
        "pkg-config --modversion dlbridge; pkg-config --variable=abi dlbridge", **path
    )
    equal(asked.split(), [VERSION, ABI], "version and ABI")
    place.run('pkg-config --print-errors "dlbridge >= $VERSION"', **path)
    place.rejected("dlbridge >= 99.0", 'pkg-config --print-errors "dlbridge >= 99.0"', **path)

    place.run(PKG_CONFIG)
    place.expect_run("program")
    if linkage == "static":
        place.run(PKG_CONFIG_STATIC)
        place.expect_run("program_static")
    flags = "$(pkg-config --cflags --libs --static dlbridge)"
    place.run(f"c++ program.cc {flags} {RUN_PATH} -o program_cxx", **path)
    place.expect_run("program_cxx")


# docs/conformance_c.md shows these commands.
CONFORMANCE = """
cmake --install "$BUILD" --prefix "$PREFIX"
cmake --install "$BUILD" --prefix "$PREFIX" --component conformance
"""
CONFORMANCE_PKG_CONFIG = """
cc vector.c $(pkg-config --cflags --libs dlbridge-conformance) -o check_vector
"""
CONFORMANCE_PROJECT = (
    "cmake_minimum_required(VERSION 3.21)",
    "project(consumer LANGUAGES C)",
    "find_package(dlbridge REQUIRED COMPONENTS conformance)",
    "add_executable(check_array ../main.c ../array.c)",
    "target_link_libraries(check_array PRIVATE dlbridge::conformance)",
)


def read_conformance_example(place):
    """Writes vector.c, the program of docs/conformance_c.md, which also has the commands above."""
    text = (ROOT / "docs/conformance_c.md").read_text()
    shown = re.findall(r"```c\n(.*?)```", text, re.DOTALL)
    demand(len(shown) == 1, "docs/conformance_c.md has another number of programs than 1")
    (place / "vector.c").write_text(shown[0])
    lines = [*CONFORMANCE.splitlines(), *CONFORMANCE_PKG_CONFIG.splitlines()]
    for line in [*lines, CONFORMANCE_PROJECT[2], CONFORMANCE_PROJECT[4]]:
        demand(line in text, f"docs/conformance_c.md has no line '{line}'")


@nox.session
@both_kinds
def conformance(session, linkage):
    """The conformance kit by CMake and pkg-config, for a project in C, without the C++ runtime."""
    place = Scenario(session, linkage)
    kit = place / "kit"
    build = ROOT / ("build/release-static" if linkage == "static" else "build/release")
    place.run(CONFORMANCE, BUILD=build, PREFIX=kit)
    place.run(f"cp {ROOT}/conformance/c/examples/*.[ch] .")
    read_conformance_example(place)
    same_names(files_below(kit) - files_below(prefix(linkage)), set(KIT_FILES))
    place.write("cmake/CMakeLists.txt", *CONFORMANCE_PROJECT)
    place.cmake("build", f'-DCMAKE_PREFIX_PATH="{kit}"', where="cmake")
    static = " --static" if linkage == "static" else ""
    command = CONFORMANCE_PKG_CONFIG.replace("--libs", f"--libs{static}")
    place.run(command, PKG_CONFIG_PATH=kit / "lib/pkgconfig")
    for program in ("build/check_array", "check_vector"):
        needs = dynamic(place / program, "NEEDED")
        demand("libstdc++.so.6" not in needs, f"{program} needs the C++ runtime: {needs}")
    found = {"LD_LIBRARY_PATH": kit / "lib"}
    printed = place.run("build/check_array --rounds 100", **found)
    demand(" passed, 0 failed" in printed, f"check_array printed: {printed}")
    printed = place.run("./check_vector --only layout- || test $? -eq 1", **found)
    failed = re.findall(r"^not ok \d+ - (\S+)$", printed, re.MULTILINE)
    faults = ["transposed", "negative", "broadcast", "gaps", "byte-offset"]
    equal(failed, [f"layout-{name}" for name in faults], "what the kit finds in vector.c")
    demand('found: "an access outside of the data: byte 12 of 12"' in printed, printed)


@nox.session
@both_kinds
def relocated(session, linkage):
    """A prefix in another folder than the installed one; the shared library out of its archive."""
    place = Scenario(session, linkage)
    new = place / "a new place"
    if linkage == "shared":
        name = f"dlbridge-{VERSION}-linux-{platform.machine()}"
        place.run(ARCHIVE, PACKAGES=place / "made")
        place.run(f"tar --extract --file made/{name}.tar.gz")
        equal([path.name for path in place.path.glob("dlbridge-*")], [name], "folders in it")
        # The archive is the installed prefix, file by file; programs may be stripped.
        same_names(files_below(place / name), files_below(place.prefix))
        place.run(f"diff --recursive --exclude 'libdlbridge.so*' --exclude bin {name} \"$PREFIX\"")
        (place / name).rename(new)
        if has_tool():
            equal(
                place.run(f'"{new}/bin/dlbridge" --version').strip(), f"dlbridge {VERSION}", "tool"
            )
    else:
        place.run('cp --archive "$PREFIX" old; mv old "a new place"')
    moved = library(new / "lib", linkage)
    expect_own_needs(moved)
    place.cmake("build", FOUND.replace("$PREFIX", str(new)))
    place.expect_programs("build", moved)
    for package in ["dlbridge", "dlbridge-static"][: 1 + (linkage == "static")]:
        # pkg-config quotes the blanks of the path.
        place.run(
            f'eval "flags=($(pkg-config --cflags --libs {package}))"\n'
            f'cc program.c "${{flags[@]}}" -Wl,-rpath,"{new}/lib" -o {package}',
            PKG_CONFIG_PATH=new / "lib/pkgconfig",
        )
        place.expect_run(package, moved)


@nox.session
@both_kinds
def files(session, linkage):
    """The files of an installation by component; none contains a path of the build."""
    place = Scenario(session, linkage)
    tree = {"shared": "release", "static": "release-static"}[linkage]
    expected = installed_files(linkage)
    for component, names in expected.items():
        install = f"cmake --install $ROOT/build/{tree} --component {component}"
        place.run(f"mkdir {component}; {install} --prefix $PWD/{component}")
        same_names(files_below(place / component), names)
    # Each installed file belongs to a component.
    same_names(files_below(place.prefix), set().union(*expected.values()))
    for name in files_below(place.prefix):
        content = (place.prefix / name).read_bytes()
        demand(os.fsencode(ROOT) not in content, f"{name} contains a path of the build")
    expect_own_needs(place.library)


@nox.session
def side_by_side(session):
    """The shared and the static library in one prefix, in either order of installation."""
    place = Scenario(session, project="side_by_side")
    place.run("""
        into() { cmake --install "$ROOT/build/$2" --prefix "$1"; }
        into one release; into one release-static
        into other release-static; into other release
        diff --recursive --no-dereference one other
    """)
    one = place / "one"
    for linkage in KINDS:
        for name in files_below(prefix(linkage)):
            place.run(f"cmp {prefix(linkage) / name} one/{name}")

    shared, static = (library(one / "lib", linkage) for linkage in KINDS)
    found = f"-DCMAKE_PREFIX_PATH={one}"
    for components in ("", "shared", "static", "shared;static"):
        place.run("rm -rf build")
        place.cmake("build", f'{found} -DCOMPONENTS="{components}"')
        place.expect_programs("build", static if components == "static" else shared)
        place.expect_run("build/program_shared", shared)
        place.expect_run("build/program_static", static)

    place.run(PKG_CONFIG, PREFIX=one)
    place.expect_run("program", shared)
    place.run(PKG_CONFIG_STATIC, PREFIX=one)
    place.expect_run("program_static", static)
    # A program without any shared library; glibc warns about dlopen in it.
    path = {"PKG_CONFIG_PATH": one / "lib/pkgconfig"}
    flags = place.run("pkg-config --static --cflags --libs dlbridge", **path)
    demand("-DDLBRIDGE_STATIC" in flags, f"DLBRIDGE_STATIC is not set: {flags}")
    place.run(f'cc -static program.c -o no_loader {flags}\n./no_loader "$VERSION"')
    equal(dynamic(place / "no_loader", "NEEDED"), [], "shared libraries of a static program")

    # CMake ignores a static library that another version has left in the prefix.
    targets = "one/lib/cmake/dlbridge/dlbridgeTargets-static.cmake"
    place.edit(targets, (f'DLBRIDGE_VERSION "{VERSION}"', 'DLBRIDGE_VERSION "0.2.9"'))
    message = f"dlbridge {VERSION} is not 'static'; it is: abi{ABI};shared"
    place.rejected(message, f"rm -rf build; cmake -B build {found} -DCOMPONENTS=static")


@nox.session
@both_kinds
def fetch_content(session, linkage):
    """The shared library from a git repository, the static one from a folder that is there."""
    place = Scenario(session, linkage, with_source=True)
    where = f"-DDLBRIDGE_REPOSITORY=file://{source()} -DDLBRIDGE_COMMIT=v{VERSION}"
    if linkage == "static":
        where = '-DFETCHCONTENT_SOURCE_DIR_DLBRIDGE="$PWD/dlbridge" -DDLBRIDGE_STATIC=ON'
    place.cmake("build", f"-DCONSUME=fetch_content {where}")
    built = library(place / "build/_deps/dlbridge-build/src", linkage)
    place.expect_programs("build", built)
    expect_own_needs(built)


INSIDE = "-DCONSUME=add_subdirectory"


def build_inside(place, options=""):
    """Builds the project with the source tree inside it; returns the library."""
    place.cmake("build", f"{INSIDE} {options}")
    built = library(place / "build/dlbridge/src", place.linkage)
    place.expect_programs("build", built)
    return built


@nox.session
@both_kinds
def add_subdirectory(session, linkage):
    """The source tree inside another project."""
    place = Scenario(session, linkage, with_source=True)
    expect_own_needs(build_inside(place, f"-DBUILD_SHARED_LIBS={linkage == 'shared'}"))
    if linkage == "shared":
        place.expect_first("build")
    changed = place.run("git -C dlbridge status --porcelain")
    equal(changed, "", "files that the build changed in the source tree")

    # Only on request is anything of the library installed with the project around it.
    place.run("mkdir nothing; cmake --install build --prefix nothing")
    same_names(files_below(place / "nothing"), set())
    place.cmake("build", "-DDLBRIDGE_INSTALL=ON -DCMAKE_INSTALL_DOCDIR=share/doc/consumer")
    place.run("cmake --install build --prefix installed")
    documents = {name for name in files_below(place / "installed") if name.startswith("share/")}
    same_names(documents, installed_files(linkage)["documentation"])
    place.cmake("user", '-DCMAKE_PREFIX_PATH="$PWD/installed"')
    place.expect_programs("user", library(place / "installed/lib", linkage))


@nox.session
def kind_of_library(session):
    """DLBRIDGE_STATIC overrides BUILD_SHARED_LIBS; shared is the default."""
    place = Scenario(session, with_source=True)
    cases = {
        "": "so",
        "-DBUILD_SHARED_LIBS=ON": "so",
        "-DBUILD_SHARED_LIBS=OFF": "a",
        "-DBUILD_SHARED_LIBS=OFF -DDLBRIDGE_STATIC=OFF": "so",
        "-DBUILD_SHARED_LIBS=ON -DDLBRIDGE_STATIC=ON": "a",
    }
    for number, (options, suffix) in enumerate(cases.items()):
        place.run(f"cmake -B kind{number} {INSIDE} {options}")
        rules = (place / f"kind{number}/build.ninja").read_text()
        equal(set(re.findall(r"libdlbridge\.(a|so)", rules)), {suffix}, f"kind of '{options}'")


HOSTILE = (
    "-DCMAKE_BUILD_TYPE=Debug -DCMAKE_DEBUG_POSTFIX=d -DCMAKE_UNITY_BUILD=ON "
    "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0 -DCMAKE_CXX_STANDARD=20 "
    "-DCMAKE_POSITION_INDEPENDENT_CODE=OFF -DCMAKE_CXX_VISIBILITY_PRESET=default "
    "-DCMAKE_VISIBILITY_INLINES_HIDDEN=OFF -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--no-as-needed "
    "-DCMAKE_CXX_FLAGS='-fexceptions -frtti -fthreadsafe-statics -Wall -Wextra -Wshadow -Werror' "
)
LTO = (
    "-DCMAKE_BUILD_TYPE=Release -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON -DCMAKE_CXX_STANDARD=11 "
    "-DBUILD_SHARED_LIBS=ON "
)
GCC = "-DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ "
CLANG = "-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ "
ADDRESS = "-DCMAKE_C_FLAGS=-fsanitize=address -DCMAKE_CXX_FLAGS=-fsanitize=address"
UNHARDENED = (
    "-DCMAKE_BUILD_TYPE=Release "
    "-DCMAKE_CXX_FLAGS='-fno-stack-protector -fcf-protection=none -D_FORTIFY_SOURCE=1 -Werror'"
)


def expect_no_own_warnings(built):
    """The library's own warning flags are not for the build of another project."""
    expect_own_needs(built)
    rules = (built.parents[2] / "build.ninja").read_text()
    demand("-Wconversion" not in rules, "-Wconversion in the build of another project")


def expect_sanitized(built):
    """clang links the sanitizer's runtime into the program only."""
    demand("__asan_report" in output(f"nm --dynamic {built}"), "the library is not sanitized")


# Options of the project around the sources, and what the library must be like then. An archive of
# objects for link-time optimisation has no symbols that nm lists.
FLAGS = {
    "hostile-shared": (
        HOSTILE + "-DBUILD_SHARED_LIBS=OFF -DDLBRIDGE_STATIC=OFF",
        expect_no_own_warnings,
    ),
    "hostile-static": (HOSTILE + "-DBUILD_SHARED_LIBS=ON -DDLBRIDGE_STATIC=ON", expect_own_needs),
    "lto-shared": (LTO + "-DCMAKE_CXX_FLAGS='-fexceptions -ffast-math'", expect_own_needs),
    "lto-static": (LTO + "-DDLBRIDGE_STATIC=ON", lambda built: None),
    "sanitizer": (CLANG + ADDRESS, expect_sanitized),
    "unhardened": (UNHARDENED, expect_hardened),
}


@nox.session
@nox.parametrize("name", list(FLAGS), ids=list(FLAGS))
def flags(session, name):
    """Flags of the project around the sources do not change what the library is."""
    options, check = FLAGS[name]
    linkage = "static" if name.endswith("static") else "shared"
    check(build_inside(Scenario(session, linkage, with_source=True), options))


STRICT = "-Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Werror"
WARNINGS = {
    "gcc": (GCC, f"{STRICT} -Wold-style-cast -Wuseless-cast"),
    "clang": (CLANG, f"{STRICT} -Wold-style-cast"),
}


def initialisers():
    """Lines of C that use each initialiser macro of the header, by the type whose size it has."""
    header = (ROOT / "include/dlbridge/dlbridge.h").read_text().replace("\\\n", "")
    for macro, name in re.findall(
        r"(?m)^#define (DLBRIDGE_[A-Z_]*_INIT) .*sizeof\((\w+)\)", header
    ):
        yield f"static const {name} k{name} = {macro}; const void* use_{name}(void);"
        yield f"const void* use_{name}(void) {{ return &k{name}; }}"


@nox.session
@nox.parametrize("compiler", list(WARNINGS), ids=list(WARNINGS))
def warnings(session, compiler):
    """The library and its headers compile without a warning under stricter flags than its own."""
    compilers, cxx_flags = WARNINGS[compiler]
    place = Scenario(session, with_source=True)
    uses = list(initialisers())
    demand(len(uses) > 20, f"too few initialisers: {uses}")
    for name in ("initialisers.c", "initialisers.cc"):
        place.write(name, "#include <dlbridge/dlbridge.h>", *uses)
    place.write("binding.cc", "#include <dlbridge/dlbridge.hpp>", "int main() { return 0; }")
    c, cxx = re.findall(r"COMPILER=(\S+)", compilers)
    rest = "-Idlbridge/include -Idlbridge/bindings/cpp/include -pedantic -fsyntax-only"
    place.run(f"{c} -std=c99 {STRICT} {rest} initialisers.c")
    place.run(f"{cxx} -std=c++11 {cxx_flags} {rest} initialisers.cc")
    place.run(f"{cxx} -std=c++17 {cxx_flags} {rest} binding.cc")
    build_inside(place, f"{compilers} -DCMAKE_C_FLAGS='{STRICT}' -DCMAKE_CXX_FLAGS='{cxx_flags}'")


@nox.session
def traces(session):
    """As a sub-project the library adds only its own targets and options."""
    place = Scenario(session, project="traces", with_source=True)
    place.cmake("build", "-DSUB_PROJECT=dlbridge")
    place.expect_programs("build", library(place / "build/sub_project/src", "shared"))


HOT_PATHS = "validate validate_legacy validate_versioned upgrade upgrade_into downgrade share"


@nox.session
def hardening(session):
    """The installed library is hardened, at no cost for the hot paths."""
    installed = library(prefix("shared") / "lib", "shared")
    expect_hardened(installed)
    if platform.machine() != "x86_64":
        session.skip("the code of the stack protector is known for x86_64 only")

    def has_canary(function):
        """x86_64 keeps the stack protector's value at fs:0x28."""
        return "%fs:0x28" in output(f"objdump --disassemble=dlbridge_{function} {installed}")

    equal(list(filter(has_canary, HOT_PATHS.split())), [], "hot paths with a stack protector")
    demand(has_canary("tensor_format"), "no stack protector in a function with an array")


RUNTIME, DEVELOPMENT = f"libdlbridge{ABI}", "libdlbridge-dev"
KIT, TOOLS = "libdlbridge-conformance-dev", "dlbridge-tools"
PACKAGES = (RUNTIME, DEVELOPMENT, KIT, TOOLS)
REVISION = f"{VERSION}-1"
# An option may be newer than the function that takes it, so a program needs the minor version that
# it was built with.
LEAST = VERSION.rpartition(".")[0] + ".0"
AS_ROOT = "" if os.getuid() == 0 else "sudo --non-interactive "
APT = (
    f"{AS_ROOT}env DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes "
    "-o DPkg::Lock::Timeout=300 -o APT::Sandbox::User=root"
)
FIELDS = ("Version", "Architecture", "Conflicts", "Multi-Arch", "Section", "Depends")


def check_fields(place, packages, architecture):
    """The packages' descriptions."""
    expected = {
        RUNTIME: ("same", "libs", r"libc6 \(>= 2\..*\)"),
        DEVELOPMENT: ("same", "libdevel", re.escape(f"{RUNTIME} (= {REVISION})")),
        KIT: ("same", "libdevel", re.escape(f"{DEVELOPMENT} (= {REVISION})")),
        TOOLS: ("foreign", "devel", f".*{re.escape(f'{RUNTIME} (>= {LEAST})')}.*"),
    }
    for name, own in expected.items():
        for field, pattern in zip(FIELDS, (REVISION, architecture, "", *own)):
            found = place.run(f"dpkg-deb --field {packages[name]} {field}").strip()
            demand(re.fullmatch(pattern, found), f"{name}: {field} is '{found}'")


def check_control(place, packages, unpacked):
    """What the package of the library states for the packages of programs."""
    place.run(f"dpkg-deb --control {packages[RUNTIME]} control")
    triggers, rows = ((place / "control" / name).read_text() for name in ("triggers", "symbols"))
    demand("activate-noawait ldconfig\n" in triggers, f"triggers: {triggers}")
    demand(not (place / "control/postinst").exists(), "a script repeats the work of the trigger")
    symbols = dict(row.split() for row in rows.splitlines() if row.startswith(" "))
    equal(set(symbols.values()), {LEAST}, "versions in the symbols file")
    listed = output(f"nm --dynamic --defined-only --with-symbol-versions {unpacked}")
    exported = {line.split()[2].partition("@@")[0] for line in listed.splitlines()}
    same_names({name.partition("@")[0] for name in symbols}, exported)


def packaged_files():
    """The files of each package, without documents: those of the components of both kinds."""
    shared, static = installed_files("shared"), installed_files("static")
    development = shared["development"] | static["development"]
    files = {RUNTIME: shared["runtime"], DEVELOPMENT: development, KIT: set(KIT_FILES)}
    files[TOOLS] = {
        name.replace("dlbridge.1", "dlbridge.1.gz").replace("site-functions", "vendor-completions")
        for name in contents.expected(ABI, VERSION)
        if name.startswith(contents.TOOL)
    }
    return {
        name: {file.replace("-release.cmake", "-none.cmake") for file in component}
        for name, component in files.items()
    }


def check_contents(place, packages, multiarch):
    """The packages have the files of the components, in Debian's folders, and the documents."""
    for name, files in packaged_files().items():
        text = place.run(f"dpkg-deb --fsys-tarfile {packages[name]} | tar --list")
        found = {line.lstrip(".") for line in text.splitlines() if not line.endswith("/")}
        paths = {f"/usr/{file}" for file in files}
        paths = {path.replace("/usr/lib/", f"/usr/lib/{multiarch}/") for path in paths}
        documents = {path for path in found if path.startswith(f"/usr/share/doc/{name}/")}
        same_names(found - documents, paths)
        needed = ["changelog.Debian.gz", "changelog.gz", "copyright"]
        needed += ["README.md", "docs/functions.md"] if name == DEVELOPMENT else []
        for document in needed:
            demand(f"/usr/share/doc/{name}/{document}" in documents, f"{name} lacks {document}")


def check_debug_information(place, debug_package, unpacked):
    """It lies in a package of its own, where debuggers look for it by the build id."""
    place.run(f"dpkg-deb --extract {debug_package} unpacked-debug")
    build_id = re.search(r"Build ID: (\w+)", output(f"readelf --notes {unpacked}"))[1]
    debug = place / f"unpacked-debug/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    sections = output(f"readelf --wide --sections {debug}")
    demand(re.search(r" \.z?debug_info ", sections), f"{debug} has no debug information")
    demand(os.fsencode(place.path) not in debug.read_bytes(), "it names the folder of the build")
    sections = output(f"readelf --wide --sections {unpacked}")
    demand(not re.search(r" \.(debug|symtab)", sections), "the library is not stripped")


def use_packages(place, installed):
    """Programs against the system's folders; a package of one depends on the library's package."""
    place.run(f"dpkg --verify {' '.join(PACKAGES)}")
    equal(output("/sbin/ldconfig -p").count(f"{SONAME} "), 1, f"{SONAME} in the loader's cache")
    # What autopkgtest runs.
    for test in re.findall(r"^Tests: (.*)$", (ROOT / "debian/tests/control").read_text(), re.M):
        scratch = place / f"autopkgtest-{test}"
        scratch.mkdir()
        output(f"debian/tests/{test}", ROOT, AUTOPKGTEST_TMP=scratch)
    place.run("cc program.c -ldlbridge -o program")
    place.expect_run("program", installed)
    place.cmake("build")
    place.expect_programs("build", installed)
    place.write("debian/control", "Source: program", "", "Package: program", "Architecture: any")
    depends = place.run("dpkg-shlibdeps -O program")
    demand(f"{RUNTIME} (>= {LEAST})" in depends, f"a program depends on: {depends}")


@nox.session
def debian(session):
    """The Debian packages: built, checked, installed, used from the system's folders, removed."""
    if not shutil.which("apt-get"):
        session.skip("not a Debian system")
    if shell(f"{AS_ROOT}true").returncode:
        session.skip("neither root nor sudo")
    for name in PACKAGES:
        if shell(f"dpkg-query --show {name}").returncode == 0:
            session.skip(f"{name} is installed already")
    place = Scenario(session)
    place.run(DEBIAN, SOURCE=source(), PACKAGES=place / "made")
    architecture = output("dpkg --print-architecture").strip()
    multiarch = output("dpkg-architecture --query DEB_HOST_MULTIARCH").strip()
    suffix = f"_{REVISION}_{architecture}.deb"
    packages = {name: place / f"made/{name}{suffix}" for name in PACKAGES}
    files = " ".join(map(str, packages.values()))
    installed = pathlib.Path(f"/usr/lib/{multiarch}/{SONAME}")
    unpacked = place / f"unpacked{installed}"
    place.run(f"dpkg-deb --extract {packages[RUNTIME]} unpacked")
    check_fields(place, packages, architecture)
    check_control(place, packages, unpacked)
    check_contents(place, packages, multiarch)
    check_debug_information(place, place / f"made/{RUNTIME}-dbgsym{suffix}", unpacked)

    build, no_header = "cc program.c -ldlbridge -o again", "dlbridge/dlbridge.h: No such file"
    place.rejected(no_header, build)
    try:
        place.run(f"{APT} install {files}")
        listed = place.run(f"dpkg --listfiles {' '.join(PACKAGES)}").splitlines()
        use_packages(place, installed)
        # Without the development package programs run, and cannot be built.
        place.run(f"{APT} purge {DEVELOPMENT}")
        place.expect_run("program", installed)
        place.rejected(no_header, build)
        place.rejected("Package 'dlbridge'", "pkg-config --print-errors dlbridge")
    finally:
        # apt-get knows no package that came from a file and was removed; dpkg passes it over.
        place.run(f"{AS_ROOT}dpkg --purge {TOOLS} {KIT} {DEVELOPMENT} {RUNTIME}")
    left = [name for name in listed if "dlbridge" in name and os.path.lexists(name)]
    equal(left, [], "files that were not removed")
    demand("dlbridge" not in output("/sbin/ldconfig -p"), "the loader's cache has the library")
    place.rejected(f"{SONAME}: cannot open shared object file", './program "$VERSION"')
    message = 'Could not find a package configuration file provided by "dlbridge"'
    place.rejected(message, "rm -rf build; cmake -B build")


def expect_failure(message, check, *arguments):
    """The check must fail with this message."""
    try:
        check(*arguments)
    except Failed as failure:
        demand(message in str(failure), f"expected '{message}', found: {failure}")
    else:
        raise Failed(f"should have failed: {message}")


# Faults of faults.c, and the messages of the program in C and the one in C++.
NOT_ONCE = "not called exactly once"
FAULTS = {
    "ACCEPTS_ANYTHING": ("a crafted shape was accepted", "a crafted shape was accepted"),
    "DELETES_EARLY": ("the deleter was called too early", "wrong tensor"),
    "DELETES_TWICE": (NOT_ONCE, NOT_ONCE),
    "DELETES_NEVER": (NOT_ONCE, NOT_ONCE),
    "OTHER_VERSION": ("library of another version", "library of another version"),
}


@selftest
def selftest_programs(session):
    """The programs reject a faulty library, and expect_run another library than the given one."""
    place = Scenario(session)
    place.run(COMPILER_ONLY)
    place.run(
        f'c++ program.cc -I"$PREFIX/include" -L"$PREFIX/lib" -ldlbridge {RUN_PATH} -o program_cxx'
    )
    place.expect_programs(".")
    place.rejected("header of another version", "./program 99.0")
    place.run(f'mkdir other; cp "$PREFIX/lib/{SONAME}" other')
    expect_failure(
        f"loads '{place.library}'", place.expect_run, "program", place / "other" / SONAME
    )
    expect_failure("needs", place.expect_run, "program", place / "libdlbridge.a")
    expect_failure("should have failed", place.rejected, "", "true")
    expect_failure("found: other", place.rejected, "this", "echo other; false")
    for fault, messages in FAULTS.items():
        faulty = f"-D{fault} {ROOT}/tests/consumers/faults.c -o {fault}.so"
        place.run(f'cc -shared -fPIC -I"$PREFIX/include" {faulty}')
        for program, message in zip(("program", "program_cxx"), messages):
            place.rejected(message, f'LD_PRELOAD="$PWD/{fault}.so" ./{program} "$VERSION"')


@selftest
def selftest_library(session):
    """expect_own_needs rejects each fault of a library."""
    place = Scenario(session)
    place.write("foreign.cc", 'extern "C" int* foreign() { return new int; }')
    place.run("c++ -c -fPIC foreign.cc; ar qc foreign.a foreign.o")
    expect_failure("C++ runtime", expect_own_needs, place / "foreign.a")
    place.write("foreign.c", "int foreign(void) { return 0; }")
    named = f"-Wl,-soname,{SONAME}"
    for message, build in {
        "besides the C library": f"c++ {named} foreign.o",
        "SONAME": "cc foreign.c",
        "run path": f"cc {named} -Wl,-rpath,/nowhere foreign.c",
        "besides its own functions": f"cc {named} foreign.c",
    }.items():
        place.run(f"{build} -shared -fPIC -o foreign.so")
        expect_failure(message, expect_own_needs, place / "foreign.so")


@selftest
def selftest_debian(session):
    """A symbol more or less fails the build of the package, as does a tag of lintian."""
    place = Scenario(session)
    name = f"libdlbridge{ABI}.symbols"
    files = " ".join(f"{ROOT}/debian/{file}" for file in ("control", "changelog", name))
    place.run(f"mkdir debian; cp {files} debian")
    compare = f"dpkg-gensymbols -p{RUNTIME} -e$PREFIX/lib/{SONAME} -Idebian/{name} -O/dev/null -c4"
    place.run(compare)
    more = f" dlbridge_more@DLBRIDGE_0.3 {LEAST}"
    place.run(f"cp debian/{name} good; echo '{more}' >>debian/{name}")
    place.rejected("some symbols or patterns disappeared", compare)
    place.run(f"grep --invert-match dlbridge_import@ good >debian/{name}")
    place.rejected("some new symbols appeared", compare)
    unpack = (
        f'import debian, pathlib; debian.unpack(pathlib.Path("{source()}"), pathlib.Path.cwd())'
    )
    place.run(f"mkdir made; cd made; python3 -Bc '{unpack}'", PYTHONPATH=ROOT / "packaging")
    place.run(f"cd made; rm dlbridge-{VERSION}/debian/source/lintian-overrides")
    place.run(f"cd made; dpkg-source --build dlbridge-{VERSION}")
    check = "lintian --fail-on pedantic --pedantic --allow-root"
    place.rejected("no-homepage-field", f"{check} made/*.dsc")


LEFT_BEHIND = {
    "a variable: stray": "set(stray 1 PARENT_SCOPE)",
    "a changed variable: CMAKE_CXX_IMPLICIT_LINK_LIBRARIES": (
        'set(CMAKE_CXX_IMPLICIT_LINK_LIBRARIES "" PARENT_SCOPE)'
    ),
    "a changed variable: CMAKE_BUILD_TYPE": 'set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)',
    "a cache entry: BUILD_TESTING": "include(CTest)",
    "a cache entry: CMAKE_INSTALL_LIBDIR": "include(GNUInstallDirs)",
    "a changed property: COMPILE_OPTIONS": (
        "set_property(DIRECTORY .. APPEND PROPERTY COMPILE_OPTIONS -fno-rtti)"
    ),
    "a changed property: USE_FOLDERS": "set_property(GLOBAL PROPERTY USE_FOLDERS ON)",
    "a target: check": "add_custom_target(check)",
    "tests: noisy": "enable_testing()\nadd_test(NAME noisy COMMAND true)",
    "no target at all": "",
}


@selftest
def selftest_traces(session):
    """The project `traces` notices each kind of trace that a sub-project can leave."""
    place = Scenario(session, project="traces")
    for message, line in LEFT_BEHIND.items():
        place.write("left/CMakeLists.txt", line)
        place.rejected(message, 'rm -rf build; cmake -B build -DSUB_PROJECT="$PWD/left"')


@selftest
def selftest_warnings(session):
    """The strict flags of `warnings` reach the library's own sources."""
    place = Scenario(session, with_source=True)
    unused = "int odd(double v); int odd(double v) { return (int)v; }"
    place.run(f"echo '{unused}' >>$(find dlbridge/src -name '*.cc' -print -quit)")
    flags = f"{GCC} -DCMAKE_CXX_FLAGS='{WARNINGS['gcc'][1]}'"
    place.rejected("old-style cast", f"cmake -B build {INSIDE} {flags}; cmake --build build")
