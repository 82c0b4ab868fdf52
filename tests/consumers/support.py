# SPDX-License-Identifier: Apache-2.0
"""What the scenarios of noxfile.py share: a scratch folder, and checks of what was built in it."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRATCH = ROOT / "build/consumers"

sys.path[:0] = [str(ROOT / "tests/abi"), str(ROOT / "packaging")]
import archive_checks  # noqa: E402 needs the path above
import contents  # noqa: E402
import library_checks  # noqa: E402


class Failed(Exception):
    """A scenario found something wrong."""


def demand(condition, message):
    if not condition:
        raise Failed(message)


def equal(found, expected, what):
    demand(found == expected, f"{what}: expected {expected!r}, found {found!r}")


def same_names(found, expected):
    missing, extra = sorted(expected - found), sorted(found - expected)
    demand(found == expected, f"missing: {missing}; unexpected: {extra}")


def header_define(name):
    text = (ROOT / "include/dlbridge/dlbridge.h").read_text()
    return re.search(rf'^#define {name} "?([^"\n]*)"?$', text, re.MULTILINE)[1]


VERSION = header_define("DLBRIDGE_VERSION_STRING")
ABI = header_define("DLBRIDGE_ABI")
SONAME = f"libdlbridge.so.{ABI}"
KIT_FILES = archive_checks.KIT.split()
# Variables through which the caller's environment could lead a compiler to another library.
LEADING = re.compile(r"CMAKE_(PREFIX|INSTALL_PREFIX).*|PKG_CONFIG_.*|LD_.*|.*PATH|CC|CXX|\w+FLAGS")
ENVIRONMENT = {k: v for k, v in os.environ.items() if k == "PATH" or not LEADING.fullmatch(k)}
ENVIRONMENT.update(CMAKE_GENERATOR="Ninja", LC_ALL="C", ROOT=str(ROOT), VERSION=VERSION)


def shell(script, folder=ROOT, **environment):
    """Exit status and output of a script."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**ENVIRONMENT, **{name: str(value) for name, value in environment.items()}},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def output(script, folder=ROOT, **environment):
    """The output of a script, which must succeed."""
    done = shell(script, folder, **environment)
    tail = "\n".join(done.stdout.splitlines()[-40:])
    demand(done.returncode == 0, f"exit status {done.returncode}: {script}\n{tail}")
    return done.stdout


def empty_folder(name):
    folder = SCRATCH / re.sub(r"\W+", "-", name).strip("-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@functools.cache
def source():
    """A git repository with a release tag, of the files that git knows here."""
    script = """
        git init --quiet
        git -C "$ROOT" ls-files -z --cached --others --exclude-standard |
          tar --create --directory "$ROOT" --null --files-from - --ignore-failed-read |
          tar --extract
        git add --all
        git -c user.name=test -c user.email=test@localhost commit --quiet --message test
        git tag "v$VERSION"
    """
    folder = empty_folder("source")
    output(script, folder)
    return folder


@functools.cache
def prefix(linkage):
    """The library of build/release or build/release-static, installed."""
    folder = empty_folder(f"prefix-{linkage}")
    shared = """
        cmake --install build/release --prefix "$PREFIX"
    """
    static = 'cmake --install build/release-static --prefix "$PREFIX"'
    output(static if linkage == "static" else shared, PREFIX=folder)
    return folder


def library(folder, linkage):
    """The library in the folder lib of a prefix, or src of a build."""
    return pathlib.Path(folder) / ("libdlbridge.a" if linkage == "static" else SONAME)


class Scenario:
    """A scratch folder with a project that consumes the library, in which commands run.

    Commands see PREFIX, where the library is installed, VERSION and ROOT; the folder `dlbridge` is
    a clone of the source tree if `with_source` is set."""

    def __init__(self, session, linkage="shared", project="consumer", with_source=False):
        self.path = empty_folder(session.name)
        self.linkage = linkage
        self.prefix = prefix(linkage)
        self.library = library(self.prefix / "lib", linkage)
        first = ROOT / "bindings/cpp/examples/first.cc"
        for file in [*HERE.glob("program.*"), *HERE.glob(f"projects/{project}/*"), first]:
            shutil.copy(file, self.path)
        if with_source:
            self.run(f"git clone --quiet {source()} dlbridge")

    def __truediv__(self, name):
        return self.path / name

    def run(self, script, **environment):
        return output(script, self.path, **{"PREFIX": self.prefix, **environment})

    def rejected(self, message, script, **environment):
        """The script must fail and print the message, wherever it breaks the line."""
        done = shell(script, self.path, **{"PREFIX": self.prefix, **environment})
        demand(done.returncode != 0, f"should have failed: {script}")
        printed = " ".join(done.stdout.split())
        demand(message in printed, f"{script}: expected '{message}', found: {printed}")

    def cmake(self, build, options="", where="."):
        self.run(f"cmake -S {where} -B {build} {options}\ncmake --build {build}")

    def write(self, name, *lines):
        (self / name).parent.mkdir(exist_ok=True)
        (self / name).write_text("".join(f"{line}\n" for line in lines))

    def edit(self, name, *replacements):
        """Replaces the first match of each regular expression."""
        text = (self / name).read_text()
        for pattern, replacement in replacements:
            text, count = re.subn(pattern, replacement, text, count=1, flags=re.MULTILINE)
            demand(count, f"{name} does not contain {pattern}")
        (self / name).write_text(text)

    def expect_run(self, program, library=None):
        """The program works with exactly that library; an archive leaves no file to load."""
        program, library = self / program, library or self.library
        self.run(f'"{program}" "$VERSION"')
        needs = [name for name in dynamic(program, "NEEDED") if "dlbridge" in name]
        if library.suffix == ".a":
            demand(not needs, f"{program} needs {needs}")
            return
        found = re.search(r"^\s*libdlbridge\S* => (/.*) \(0x", output(f'ldd "{program}"'), re.M)
        demand(found, f"{program} loads no libdlbridge")
        same = library.exists() and library.samefile(found[1])
        demand(same, f"{program} loads '{found[1]}', not {library}")

    def expect_programs(self, build, library=None):
        self.expect_run(f"{build}/program", library)
        self.expect_run(f"{build}/program_cxx", library)

    def expect_first(self, build):
        """The first example of the C++ binding compiles without a stated language standard."""
        printed = self.run(f"cmake --build {build} --target first >first.log; {build}/first")
        demand(printed.startswith("element (1, 2): 5\n"), f"first printed: {printed}")


def files_below(folder):
    """The paths of all files and links below a folder, relative to it."""
    paths = pathlib.Path(folder).rglob("*")
    return {str(p.relative_to(folder)) for p in paths if p.is_symlink() or not p.is_dir()}


def dynamic(file, tag):
    """The values of a tag in the dynamic section."""
    text = output(f'readelf --wide --dynamic "{file}"')
    return re.findall(rf"\({tag}\).*\[(.*)\]", text)


def expect_own_needs(library):
    """The library needs only the C library, and exports only its own functions."""
    if library.suffix == ".a":
        complaints = library_checks.check_archive_undefined(library, None)
        demand(not complaints, f"{library} needs the C++ runtime: {complaints}")
        return
    own = re.compile(r"libc\.so\.6|libdl\.so\.2|ld-linux.*")
    needs = [name for name in dynamic(library, "NEEDED") if not own.fullmatch(name)]
    equal(needs, [], f"what {library} needs besides the C library")
    equal(dynamic(library, "SONAME"), [SONAME], f"SONAME of {library}")
    equal(dynamic(library, "RUNPATH") + dynamic(library, "RPATH"), [], f"run path of {library}")
    symbols = output(f"nm --dynamic --defined-only '{library}' | awk '{{ print $3 }}'").split()
    strange = [name for name in symbols if not name.startswith(("dlbridge_", "DLBRIDGE_"))]
    equal(strange, [], f"what {library} exports besides its own functions")


def expect_hardened(library):
    names = (
        "nodelete,stack,text-relocations,relro,stack protector,fortify,landing pads,shadow stack"
    )
    checks = {name: library_checks.SHARED_CHECKS[name] for name in names.split(",")}
    equal(library_checks.run(checks, library.resolve(), None), {}, f"complaints about {library}")


def installed_files(linkage):
    """The files of an installation by component, from the list of the archive's files."""
    text = "\n".join(contents.expected(ABI, VERSION)) + "\n"
    if linkage == "static":
        text = re.sub(r"^lib/libdlbridge\.so.*\n", "", text, flags=re.MULTILINE)
        text = text.replace("Targets-shared", "Targets-static")
        text += "lib/libdlbridge.a\nlib/pkgconfig/dlbridge-static.pc\n"
    files = set(text.split())
    tools = {name for name in files if name.startswith(contents.TOOL)}
    files -= tools
    documentation = {name for name in files if name.startswith("share/doc/")}
    runtime = {name for name in files if name.startswith("lib/libdlbridge.so.")}
    development = files - documentation - runtime
    components = {"runtime": runtime, "development": development, "documentation": documentation}
    return {**components, "tools": tools} if linkage == "shared" and has_tool() else components


@functools.cache
def has_tool(tree="release"):
    """The tool is built where its header-only libraries are installed."""
    cache = (ROOT / f"build/{tree}/CMakeCache.txt").read_text()
    return "DLBRIDGE_BUILD_TOOL:BOOL=ON" in cache
