# SPDX-License-Identifier: Apache-2.0
"""The rules that a release archive answers to, and the library in it. Each check returns a list of
complaints."""

import pathlib
import re
import shutil
import sys
import tarfile
import tempfile
from collections import namedtuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/abi"))

import contents  # noqa: E402
import elf  # noqa: E402
import header  # noqa: E402
import library_checks  # noqa: E402

FLOOR = (2, 17)
# The C++ runtime is part of the program.
TOOL_NEEDS = re.compile(r"libdlbridge\.so\.\d+$|lib(c|m|dl|pthread|rt)\.so\.\d$|ld-linux")
# Folders of the machine that built it; a slash before them belongs to a longer, relative path.
MACHINE_PATH = re.compile(rb"(?<![\w.])/(?:work|root|build|home/\w+|tmp)/[\w./-]*")

Archive = namedtuple("Archive", "path machine folder")
Archive.__doc__ = "folder: what was unpacked of it, the only folder in it."


def unpack(path, machine, folder):
    """The archive, unpacked into the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(path) as tar:
        (top,) = {member.name.split("/")[0] for member in tar}
        tar.extractall(folder)
    return Archive(path, machine, folder / top)


def version():
    text = (ROOT / "include/dlbridge/dlbridge.h").read_text()
    return header.define(text, "DLBRIDGE_VERSION_STRING").strip('"')


def abi():
    return header.define((ROOT / "include/dlbridge/dlbridge.h").read_text(), "DLBRIDGE_ABI")


def library(archive):
    return (archive.folder / f"lib/libdlbridge.so.{abi()}").resolve()


def files(archive):
    """Every file of the archive, links left out."""
    found = sorted(archive.folder.rglob("*"))
    return [path for path in found if path.is_file() and not path.is_symlink()]


def check_name(archive):
    expected = f"dlbridge-{version()}-linux-{archive.machine}.tar.gz"
    return [] if archive.path.name == expected else [f"is called {archive.path.name}"]


def check_contents(archive):
    """Exactly the listed files, in one folder that is called as the archive is."""
    listed = contents.expected(abi(), version())
    with tarfile.open(archive.path) as tar:
        found = {member.name for member in tar if not member.isdir()}
    top = archive.path.name.removesuffix(".tar.gz")
    return library_checks.difference(found, {f"{top}/{name}" for name in listed})


def check_members(archive):
    """Nothing of who packed it: owner root, one time, plain modes."""
    complaints, times = [], set()
    with tarfile.open(archive.path) as tar:
        for member in tar:
            times.add(member.mtime)
            plain = 0o755 if member.isdir() else 0o777 if member.issym() else 0o644
            if (member.uid, member.gid, member.uname, member.gname) != (0, 0, "", ""):
                complaints.append(f"{member.name} has an owner")
            if member.mode & 0o777 not in (plain, 0o755):
                complaints.append(f"{member.name} has mode {member.mode:o}")
    return complaints + ([] if len(times) == 1 else [f"{len(times)} different times"])


def check_headers(archive):
    """The headers are the repository's, byte for byte."""
    sources = {}
    for include, pattern in ((ROOT / "include", "*.h"), (ROOT / "bindings/cpp/include", "*.hpp")):
        for path in sorted((include / "dlbridge").rglob(pattern)):
            sources[path.relative_to(include)] = path
    return [
        f"{name} is not the repository's"
        for name, path in sources.items()
        if (archive.folder / "include" / name).read_bytes() != path.read_bytes()
    ]


LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def check_links(archive):
    """Each page of the documentation links to installed files only."""
    return [
        f"{page.relative_to(archive.folder)} links to {target}, which is not in the archive"
        for page in sorted(archive.folder.glob("share/doc/**/*.md"))
        for target in LINK.findall(without_code(page.read_text()))
        if "://" not in target and not (page.parent / target).exists()
    ]


def without_code(text):
    """Markdown without its fences and code in lines, in which brackets are no links."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def check_paths(archive):
    """No file names a folder of the machine that built it."""
    places = re.compile(re.escape(str(ROOT).encode()) + b"|" + MACHINE_PATH.pattern)
    return [
        f"{path.relative_to(archive.folder)} names {match[0].decode()}"
        for path in files(archive)
        for match in places.finditer(path.read_bytes())
    ]


def check_machine(archive):
    found = elf.machine(library(archive))
    return [] if found == archive.machine else [f"the library is for {found}"]


def debug_sections(path):
    return [name for name in elf.sections(path) if re.match(r"\.(debug|symtab|zdebug|stab)", name)]


def check_stripped(archive):
    return [f"has a section {name}" for name in debug_sections(library(archive))]


def check_branch_protection(archive):
    """All code takes part, the start files of the compiler of the archives too."""
    promised = {"x86_64": {"IBT", "SHSTK"}, "aarch64": {"BTI", "PAC"}}[archive.machine]
    missing = promised - elf.properties(library(archive))
    return [f"does not promise {name}" for name in sorted(missing)]


def check_floor(archive):
    """No symbol of a glibc that is newer than the floor."""
    return floor_complaints(library(archive))


def floor_complaints(path):
    complaints = []
    for name, versions in elf.needed_versions(path).items():
        for text, users in versions.items():
            match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", text)
            if not match or (int(match[1]), int(match[2])) > FLOOR:
                complaints.append(f"needs {text} of {name} for {', '.join(sorted(users))}")
    return complaints


def check_tool(archive):
    """The program runs where the library runs, finds the library beside it, and is stripped."""
    tool = archive.folder / "bin/dlbridge"
    found = elf.machine(tool)
    complaints = [] if found == archive.machine else [f"the program is for {found}"]
    own = f"of libdlbridge.so.{abi()} "
    complaints += [line for line in floor_complaints(tool) if own not in line]
    needed = elf.dynamic(tool)
    if "$ORIGIN/../lib" not in needed.get("RUNPATH", []) + needed.get("RPATH", []):
        complaints.append("the program does not look for the library beside it")
    foreign = [name for name in needed["NEEDED"] if not TOOL_NEEDS.match(name)]
    complaints += [f"the program needs {name}" for name in foreign]
    if not tool.stat().st_mode & 0o100:
        complaints.append("the program cannot be executed")
    return complaints + [f"the program has a section {name}" for name in debug_sections(tool)]


def debug_archive(archive):
    return archive.path.with_name(archive.path.name.replace(".tar.gz", "-debug.tar.gz"))


def check_debug(archive):
    """The archive beside this one has the debug information of this very library."""
    with tempfile.TemporaryDirectory() as name:
        try:
            folder = unpack(
                debug_archive(archive), archive.machine, pathlib.Path(name) / "debug"
            ).folder
            debug = folder / f"lib/.debug/{library(archive).name}.debug"
            return debug_complaints(library(archive), debug)
        except OSError as error:
            return [f"no debug information: {error}"]


def debug_complaints(stripped, debug):
    complaints = [] if ".debug_info" in elf.sections(debug) else ["has no debug information"]
    if elf.build_id(stripped) is None or elf.build_id(stripped) != elf.build_id(debug):
        complaints.append(f"{elf.build_id(debug)} is for another library")
    if debug.name.encode() not in stripped.read_bytes():
        complaints.append("the library does not name it")
    if str(ROOT).encode() in debug.read_bytes():
        complaints.append("names the folder of the sources")
    return complaints


KIT = """
include/dlbridge/conformance.h
include/dlbridge/conformance.hpp
lib/cmake/dlbridge/dlbridgeConformanceTargets-release.cmake
lib/cmake/dlbridge/dlbridgeConformanceTargets.cmake
lib/libdlbridge_conformance.a
lib/pkgconfig/dlbridge-conformance.pc
"""


def check_kit(archive):
    """The archive beside this one has the conformance kit, for the same machine and C library."""
    path = archive.path.with_name(archive.path.name.replace(".tar.gz", "-conformance.tar.gz"))
    with tempfile.TemporaryDirectory() as name:
        try:
            kit = unpack(path, archive.machine, pathlib.Path(name) / "kit")
        except OSError as error:
            return [f"no conformance kit: {error}"]
        return [*kit_complaints(kit), *check_members(kit), *check_paths(kit)]


def kit_complaints(kit):
    found = {str(path.relative_to(kit.folder)) for path in files(kit)}
    complaints = library_checks.difference(found, set(KIT.split()))
    library = kit.folder / "lib/libdlbridge_conformance.a"
    if not library.exists():
        return complaints
    complaints += library_checks.check_archive_undefined(library, None)
    for name in ("include/dlbridge/conformance.h", "include/dlbridge/conformance.hpp"):
        if (kit.folder / name).read_bytes() != (ROOT / "conformance/c" / name).read_bytes():
            complaints.append(f"{name} is not the repository's")
    return complaints


def check_library(name):
    """A check of library_checks on the library, with the lists of this artefact."""

    def check(archive):
        needed = ROOT / f"abi/needed/glibc2.17-{archive.machine}.txt"
        expected = library_checks.Expected(
            f"libdlbridge.so.{abi()}",
            library_checks.read_needed(needed),
            library_checks.read_symbols(ROOT / "abi/symbols.txt"),
        )
        return library_checks.SHARED_CHECKS[name](library(archive), expected)

    return check


CHECKS = {
    "name": check_name,
    "contents": check_contents,
    "members": check_members,
    "headers": check_headers,
    "links": check_links,
    "paths": check_paths,
    "machine": check_machine,
    "stripped": check_stripped,
    "tool": check_tool,
    "branch protection": check_branch_protection,
    "floor": check_floor,
    **{name: check_library(name) for name in library_checks.SHARED_CHECKS},
}
