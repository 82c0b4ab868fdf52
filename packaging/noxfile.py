# SPDX-License-Identifier: Apache-2.0
"""The bundle and the recipes of package managers, as their users use them, below build/packaging.

    nox -f packaging/noxfile.py [-s 'bundle(clang)']

A plain run checks the bundle. Sessions tagged "recipes" build the recipes of package managers, and
those tagged "selftest" show that checks of the others can fail.
"""

import os
import pathlib
import re
import shutil
import sys

import nox

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [
    str(ROOT / "tests"),
    str(ROOT / "tests/consumers"),
    str(HERE / "bundle"),
    str(HERE / "recipes"),
]
import bundle as generator  # noqa: E402 needs the path above
import stages  # noqa: E402 needs the path above
import write  # noqa: E402 needs the path above

import support  # noqa: E402 needs the path above
from support import VERSION, demand, dynamic, empty_folder, equal, output, same_names, shell  # noqa: E402

support.SCRATCH = ROOT / "build/packaging"
os.chdir(ROOT)  # also the folder that a relative --report counts from
nox.options.default_venv_backend = "none"
recipes = nox.session(tags=["recipes"], default=False)
selftest = nox.session(tags=["selftest"], default=False)
KINDS = ["shared", "static"]
both_kinds = nox.parametrize("linkage", KINDS, ids=KINDS)

EXAMPLE = ROOT / "examples/vendored"
WARNINGS = "-Wall -Wextra -Wpedantic -Werror"
LEAN = "-fno-exceptions -fno-rtti"
PRINTED = f"dlbridge {VERSION}: a frame of 480 x 640 bytes\n"
# C and C++ compilers. zig has a cache of its own.
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++"), "zig": ("zig cc", "zig c++")}


def compilers(session, name):
    """The commands of a compiler; skips the session if it is missing."""
    if name == "zig":
        python = stages.environment(session, "zig-venv", "packaging/requirements.txt")
        zig = next(python.parents[1].glob("lib/python3*/site-packages/ziglang/zig"))
        return f"'{zig}' cc", f"'{zig}' c++"
    stages.need(session, *COMPILERS[name])
    cached = "ccache " if shutil.which("ccache") else ""
    return tuple(cached + program for program in COMPILERS[name])


def run(script, folder, **variables):
    cache = ROOT / "build/zig-cache"
    zig = {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
    return output(script, folder, EXAMPLE=EXAMPLE, **zig, **variables)


def new_bundle(name, prefix=""):
    folder = empty_folder(name)
    generator.write(folder / "bundle", prefix)
    return folder


# ------------------------------------------------------------------------------------------ bundle


@nox.session
@nox.parametrize("compiler", list(COMPILERS), ids=list(COMPILERS))
def bundle(session, compiler):
    """Two copies with different prefixes in one program that needs no C++ runtime."""
    c, cxx = compilers(session, compiler)
    folder = new_bundle(f"bundle-{compiler}")
    copies = (("camera", f"-std=c++17 -O2 {LEAN}"), ("viewer", f"-std=c++20 -O1 {LEAN}"))
    for name, flags in copies:
        common = f"-DDLBRIDGE_PREFIX={name}_ {WARNINGS} -Ibundle -c"
        run(f"{cxx} {flags} {common} bundle/dlbridge/dlbridge.cc -o {name}_dlbridge.o", folder)
        run(f'{c} -std=c99 {common} "$EXAMPLE/{name}.c" -o {name}.o', folder)
    run(f"{c} *.o -ldl -lpthread -o vendored", folder)
    equal(run("./vendored", folder), PRINTED, "output of the example")


@nox.session
def bundle_example(session):
    """The example by CMake, with the compiler's default flags, where exceptions are enabled."""
    folder = new_bundle("bundle-example")
    build = f"""
        cmake -S "$EXAMPLE" -B build -DBUNDLE="$PWD/bundle" -DCMAKE_BUILD_TYPE=Debug \\
          -DCMAKE_C_FLAGS='{WARNINGS}' -DCMAKE_CXX_FLAGS='{WARNINGS}'
        cmake --build build
    """
    run(build, folder)
    equal(run("build/vendored", folder), PRINTED, "output of the example")


def symbols_of(folder, cxx, flags):
    """The symbols that a shared library with the bundle inside exports."""
    source = "bundle/dlbridge/dlbridge.cc"
    run(f"{cxx} -std=c++17 {LEAN} -fPIC {flags} -c {source} -o one.o", folder)
    run("gcc -shared -Wl,-z,defs one.o -ldl -lpthread -o libone.so", folder)
    printed = run("nm --dynamic --defined-only libone.so", folder)
    return {line.split()[2] for line in printed.splitlines()}


@nox.session
def bundle_symbols(session):
    """The bundle exports nothing by default, only prefixed names on request, and needs only the C
    library."""
    _, cxx = compilers(session, "gcc")
    folder = new_bundle("bundle-symbols")
    same_names(symbols_of(folder, cxx, "-O2"), set())
    needs = set(dynamic(folder / "libone.so", "NEEDED"))
    demand(needs <= {"libc.so.6", "libdl.so.2", "libpthread.so.0"}, f"it needs {needs}")
    visible = "-O2 -DDLBRIDGE_PREFIX=my_ '-DDLBRIDGE_API=__attribute__((visibility(\"default\")))'"
    same_names(symbols_of(folder, cxx, visible), {f"my_{name}" for name in generator.symbols()})


@nox.session
def bundle_files(session):
    """A second bundle has the same bytes, which SHA256SUMS states."""
    folders = [new_bundle(f"bundle-files-{number}", "own_") for number in (1, 2)]
    for folder in folders:
        run("cd bundle && sha256sum --check --strict SHA256SUMS", folder)
        equal(run("find bundle -type f | wc -l", folder).strip(), "4", "files of the bundle")
    sums = {run("cd bundle && sha256sum $(find . -type f | sort)", folder) for folder in folders}
    equal(len(sums), 1, "different bundles")
    rejected = shell(f"{sys.executable} -B packaging/bundle/bundle.py build/none --prefix 1st")
    demand("expected the beginning of a C name" in rejected.stdout, rejected.stdout)


@nox.session
def bundle_corpus(session):
    """The conformance cases give the answers of the library, with the prefix in the files."""
    _, cxx = compilers(session, "gcc")
    folder = new_bundle("bundle-corpus", "corpus_")
    cases = f"-DDLBRIDGE_CASES='\"{ROOT}/tests/conformance/cases.json\"'"
    tests = f'-O0 -Ibundle -I"$ROOT/tests" -I"$ROOT/src" {cases}'
    run(f"{cxx} -std=c++17 -O2 {LEAN} -c bundle/dlbridge/dlbridge.cc -o one.o", folder)
    run(f'{cxx} -std=c++17 {tests} -c "$ROOT/tests/conformance/runner_test.cc" -o run.o', folder)
    run("g++ one.o run.o -lgtest_main -lgtest -ldl -lpthread -o runner", folder)
    demand("corpus_dlbridge_import" in run("nm runner", folder), "the files have no prefix")
    session.log(run("./runner --gtest_brief=1", folder).strip().splitlines()[-1])


# ------------------------------------------------------------------------------------------ recipes

HOMEPAGE = "https://example.org/dlbridge"  # stands for the project's, which is not published
MESON_PROJECT = """
project('user', 'c', 'cpp', default_options: ['cpp_std=c++17'])
dlbridge = dependency('dlbridge', version: '>=0.3', fallback: 'dlbridge')
executable('program', 'program.c', dependencies: dlbridge, install: true)
executable('program_cxx', 'program.cc', dependencies: dlbridge)
"""


def tools(session):
    """The folder of the programs of requirements.txt."""
    requirements = "packaging/recipes/requirements.txt"
    return stages.environment(session, "recipes-venv", requirements).parent


def new_project(name):
    """A folder with the recipes for an archive of the source, the archive, and two programs."""
    folder = empty_folder(name)
    archive = folder / f"dlbridge-{VERSION}.tar.gz"
    where = f'--prefix="dlbridge-{VERSION}/" --output="{archive}"'
    output(f"git -C {support.source()} archive {where} HEAD")
    write.write(HOMEPAGE, archive.as_uri(), archive, folder / "recipes")
    for program in ("program.c", "program.cc"):
        shutil.copy(ROOT / "tests/consumers" / program, folder)
    return folder


def expect_symbols(file):
    listed = output(f"nm --dynamic --defined-only --with-symbol-versions {file}")
    names = {line.split()[2] for line in listed.splitlines() if " T " in line}
    same_names(names, set((ROOT / "abi/symbols.txt").read_text().split()))


def expect_library(file):
    """Like the library of CMake: what it needs, exports, and how it is hardened."""
    support.expect_own_needs(file)
    if file.suffix != ".a":
        support.expect_hardened(file)
        expect_symbols(file)


def expect_program(folder, script, linkage, lib="installed/lib"):
    """A program that a script compiles against what is installed."""
    run(f'{script} -Wl,-rpath,"$PWD/{lib}" -o outside', folder)
    run('./outside "$VERSION"', folder)
    needs = any("libdlbridge" in name for name in dynamic(folder / "outside", "NEEDED"))
    equal(needs, linkage == "shared", "a program that needs the shared library")


@recipes
@both_kinds
def conan(session, linkage):
    """`conan create`, which also builds and runs the programs of test_package."""
    folder = empty_folder(f"conan-{linkage}")
    home = {"CONAN_HOME": folder / "home"}
    options = f"-o '&:shared={linkage == 'shared'}'"
    if linkage == "static":
        options += " -o '&:fPIC=False' -o '&:devices=False'"
    create = f"""
        export PATH="{tools(session)}:$PATH"
        conan profile detect
        conan create {support.source()}/packaging/conan --no-remote {options} \
          -c tools.cmake.cmake_layout:test_folder="$PWD/test"
    """
    log = run(create, folder, **home)
    for language in ("C", "C++"):
        demand(f"{language}, dlbridge {VERSION}\n" in log, f"{language}: no program ran: {log}")
    library = "libdlbridge.a" if linkage == "static" else support.SONAME
    built = list((folder / "home/p/b").glob(f"*/p/lib/{library}"))
    equal(len(built), 1, f"packages with {library}")
    support.expect_own_needs(built[0])
    rules = "\n".join(path.read_text() for path in folder.glob("home/p/b/*/b/**/flags.make"))
    demand(rules, "no rules of the build")
    equal("-fPIC" in rules, linkage == "shared", "-fPIC")
    equal("DLBRIDGE_WITHOUT_DEVICES" in rules, linkage == "static", "without devices")


def clone_wrap():
    """The wrap of docs/start/install.md, with the path of a clone."""
    (shown,) = re.findall(
        r"```ini\n(.*?)```", (ROOT / "docs/start/install.md").read_text(), re.DOTALL
    )
    return shown.replace("/path/to/clone", str(support.source()))


@recipes
@both_kinds
def meson(session, linkage):
    """Builds and installs a project whose wrap file fetches the archive."""
    folder = new_project(f"meson-{linkage}")
    (folder / "meson.build").write_text(MESON_PROJECT)
    wrap = folder / "subprojects/dlbridge.wrap"
    wrap.parent.mkdir()
    if linkage == "shared":
        shutil.copy(folder / "recipes/meson/dlbridge.wrap", wrap)
    else:
        wrap.write_text(clone_wrap())
    # Without a build type, Meson switches checks of the C++ library on.
    kind = "--buildtype=release" if linkage == "shared" else ""
    build = f"""
        export PATH="{tools(session)}:$PATH"
        CC="ccache gcc" CXX="ccache g++" meson setup build {kind} --libdir=lib \
          --prefix="$PWD/installed" --default-library={linkage} --wrap-mode=forcefallback
        meson compile -C build
        build/program "$VERSION"
        build/program_cxx "$VERSION"
        meson install -C build
    """
    run(build, folder)
    expect_library(support.library(folder / "installed/lib", linkage))
    flags = "export PKG_CONFIG_PATH=installed/lib/pkgconfig\ncc program.c $(pkg-config"
    private = "--static " if linkage == "static" else ""
    expect_program(folder, f"{flags} {private}--cflags --libs dlbridge)", linkage)


@recipes
def conda(session):
    """rattler-build parses and renders the recipe, and builds and tests its package."""
    folder = new_project("conda")
    python = tools(session) / "python"
    script = f"{python} -B $ROOT/packaging/recipes/conda_build.py recipes/conda/recipe.yaml conda"
    package = run(script, folder).strip().splitlines()[-1]
    run(f"cd conda && unzip -q {package} && tar --extract --file pkg-*.tar.zst", folder)
    file = support.library(folder / "conda/lib", "shared").resolve()
    expect_symbols(file)
    support.expect_hardened(file)
    # conda gives each library a run path to its own folder.
    paths = dynamic(file, "RUNPATH") + dynamic(file, "RPATH")
    demand(all(path.startswith("$ORIGIN") for path in paths), f"run path of {file}: {paths}")


@recipes
def homebrew(session):
    """Ruby carries out the formula: its commands of installation, and its test."""
    stages.need(session, "ruby")
    folder = new_project("homebrew")
    script = """
        ruby -wc recipes/homebrew/dlbridge.rb
        tar --extract --file dlbridge-*.tar.gz
        cd dlbridge-*/
        ruby "$ROOT/packaging/recipes/brew.rb" ../recipes/homebrew/dlbridge.rb ../installed
    """
    demand(f"dlbridge {VERSION}: installed and tested" in run(script, folder), "not tested")
    expect_library(support.library(folder / "installed/lib", "shared").resolve())


@recipes
@both_kinds
def vcpkg(session, linkage):
    """CMake carries out the port, with the functions of vcpkg that it uses."""
    folder = new_project(f"vcpkg-{linkage}")
    kind = "dynamic" if linkage == "shared" else "static"
    options = f'-DPORT_FOLDER="$PWD/recipes/vcpkg" -DWORK="$PWD/work" -DLINKAGE={kind}'
    run(f'cmake {options} -DCHOSEN=devices -P "$ROOT/packaging/recipes/vcpkg.cmake"', folder)
    expect_library(support.library(folder / "work/packages/lib", linkage).resolve())
    found = {path.name for path in (folder / "work/packages/share/dlbridge").iterdir()}
    demand({"copyright", "dlbridgeConfig.cmake"} <= found, f"share/dlbridge has {found}")
    for file in (ROOT / "tests/consumers/projects/consumer/CMakeLists.txt",
                 ROOT / "bindings/cpp/examples/first.cc"):  # fmt: skip
        shutil.copy(file, folder)
    run('cmake -B build -DCMAKE_PREFIX_PATH="$PWD/work/packages"\ncmake --build build', folder)
    run('build/program "$VERSION" && build/program_cxx "$VERSION"', folder)


# --------------------------------------------------------------------------------------- self-tests


@selftest
def bundle_faults(session):
    """The checks of the bundle report faults that are put into a copy."""
    _, cxx = compilers(session, "gcc")
    folder = new_bundle("bundle-faults")
    source = folder / "bundle/dlbridge/dlbridge.cc"
    good = source.read_text()
    build = f"{cxx} -std=c++17 {WARNINGS} -Ibundle -fsyntax-only {source}"

    def expect(message, script):
        done = shell(script, folder)
        demand(done.returncode != 0 and message in done.stdout, f"{script}: {done.stdout[-800:]}")

    # Two sources with one name.
    source.write_text(good.replace("Start_native_without_devices", "Start_native_cpu"))
    expect("redefinition of", build)
    # A symbol that another shared library would see.
    source.write_text(good.replace("namespace dlbridge DLBRIDGE_HIDDEN {", "namespace dlbridge {"))
    found = [name for name in symbols_of(folder, cxx, "-O2") if "dlbridge" in name]
    demand(found, "visible symbols were not found")
    source.write_text(good + "\n")
    expect("dlbridge.cc: FAILED", "cd bundle && sha256sum --check SHA256SUMS")
    # Two copies without a prefix.
    source.write_text(good)
    objects = f"{cxx} -std=c++17 -c {source} -o"
    expect("multiple definition of `dlbridge_import'",
           f"{objects} a.o; {objects} b.o; g++ -shared a.o b.o -o none")  # fmt: skip


@selftest
def recipes_faults(session):
    """The tools of the recipes report faults that are put into a copy."""
    stages.need(session, "ruby")
    folder = new_project("recipes-faults")
    known = folder / "recipes"

    def expect(message, script):
        done = shell(f'export PATH="{tools(session)}:$PATH"\n{script}', folder)
        demand(done.returncode != 0 and message in done.stdout, f"{script}: {done.stdout[-800:]}")

    def edit(path, old, new):
        text = path.read_text()
        demand(old in text, f"{path} has no {old}")
        path.write_text(text.replace(old, new))

    archive = folder / f"dlbridge-{VERSION}.tar.gz"
    written = f"python3 -B $ROOT/packaging/recipes/write.py {HOMEPAGE}"
    expect(
        f"expected .../dlbridge-{VERSION}.tar.gz", f"{written} x/dlbridge-0.0.1.tar.gz {archive} x"
    )
    edit(known / "conda/recipe.yaml", "  summary:", "  sumary:")
    conda_build = "python -B $ROOT/packaging/recipes/conda_build.py recipes/conda/recipe.yaml conda"
    expect("sumary", conda_build)
    formula = known / "homebrew/dlbridge.rb"
    edit(formula, 'license "Apache-2.0"', "")
    brew = f'ruby "$ROOT/packaging/recipes/brew.rb" {formula} installed'
    expect("no license", brew)
    edit(formula, "  def install", "  def install(")
    expect("syntax error", f"ruby -wc {formula}")
    run(f"tar --extract --file {archive}", folder)
    header = folder / f"dlbridge-{VERSION}/include/dlbridge/dlbridge.h"
    edit(header, f'VERSION_STRING "{VERSION}"', 'VERSION_STRING "0.0.1"')
    expect("expected the version of dlbridge.h, 0.0.1", f"meson setup build dlbridge-{VERSION}")
    archive.write_bytes(archive.read_bytes() + b"x")
    port = '-DPORT_FOLDER="$PWD/recipes/vcpkg" -DWORK="$PWD/work" -DLINKAGE=static'
    expect("HASH mismatch", f'cmake {port} -P "$ROOT/packaging/recipes/vcpkg.cmake"')
    (folder / "subprojects").mkdir()
    shutil.copy(known / "meson/dlbridge.wrap", folder / "subprojects")
    (folder / "meson.build").write_text(MESON_PROJECT)
    expect("Incorrect hash", "meson setup user --wrap-mode=forcefallback")
