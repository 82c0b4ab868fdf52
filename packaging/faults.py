# SPDX-License-Identifier: Apache-2.0
"""Shows that the checks of releases can fail: faults are put into a copy, and exactly the checks
that are named for them must complain. One line per fault; exit status 1 where one is overlooked.

faults.py RELEASES BUILD [N/M]   the folder of the archives, and the folder of the build folders;
                                 N/M: only every Mth fault of a file or archive, from the Nth on
"""

import itertools
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import archive_checks
import check
import foreign_checks

ZIG = next(archive_checks.ROOT.glob("build/zig-venv/lib/python3*/site-packages/ziglang/zig"))
MAP = archive_checks.ROOT / "src/dlbridge.map"
# As cmake/library.cmake links it.
LINK = {
    "soname": "-Wl,-soname,libdlbridge.so." + archive_checks.abi(),
    "map": f"-Wl,--version-script={MAP}",
    "nodelete": "-Wl,-z,nodelete",
    "now": "-Wl,-z,now",
    "bind": "-Wl,-Bsymbolic",
    "strip": "-s",
}


def part(faults, share):
    """Those of the faults that are this run's."""
    number, count = map(int, share.split("/"))
    return itertools.islice(faults, number - 1, None, count)


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: {done.stderr}")


def zig(target, *arguments):
    run(ZIG, "cc", "-target", target, *arguments)


def objects(build):
    """The library's; nonshared.c is Linux's, which the other systems compile to nothing."""
    folder = build / "src/CMakeFiles"
    return sorted(
        [*(folder / "dlbridge_objects.dir").rglob("*.o*"), *folder.rglob("nonshared.c.o")]
    )


def repack(folder, path, edit=None):
    """Packs the folder as archive.sh does, but for what `edit` does to a member."""

    def plain(member):
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return edit(member) if edit else member

    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as tar:
        tar.add(folder, arcname=folder.name, filter=plain)


def owned(member):
    member.uid = 1000
    return member


def newer(member):
    member.mtime = 1 if member.isfile() else 0
    return member


def writable(member):
    member.mode |= 0o022
    return member


def append(name, text):
    def edit(folder):
        with (folder / name).open("a") as file:
            file.write(text)

    return edit


def remove(name):
    return lambda folder: (folder / name).unlink()


def add_debug_section(folder):
    path = folder / f"lib/libdlbridge.so.{archive_checks.abi()}"
    run("objcopy", "--add-section", f".debug_info={MAP}", path.resolve())


def relink(build, left_out=(), target="x86_64-linux-gnu.2.17", added=()):
    """The library linked once more, differently."""

    def edit(folder):
        path = (folder / f"lib/libdlbridge.so.{archive_checks.abi()}").resolve()
        options = [option for name, option in LINK.items() if name not in left_out]
        zig(target, "-shared", "-o", path, *objects(build), *options, "-ldl", "-lpthread", *added)

    return edit


def unprotected(build):
    """An object without landing pads."""
    source = build / "unprotected.c"
    source.write_text("typedef int nothing;\n")
    zig(
        "x86_64-linux-gnu.2.17",
        "-c",
        "-fPIC",
        "-fcf-protection=none",
        "-o",
        build / "unprotected.o",
        source,
    )
    return build / "unprotected.o"


def archive_faults(build):
    """Name, what is done to the unpacked folder, and the checks that must complain."""
    pc, header = "lib/pkgconfig/dlbridge.pc", "include/dlbridge/dlpack.h"
    yield "nothing", lambda folder: None, set()
    yield "relinked", relink(build), set()
    yield "a file more", append("lib/more", "more"), {"contents"}
    yield "a file less", remove(pc), {"contents"}
    yield "other header", append(header, "/* more */\n"), {"headers"}
    yield "path of a home", append(pc, f"# {'/home'}/someone/dlbridge\n"), {"paths"}
    yield "path of the sources", append(pc, f"# {archive_checks.ROOT}\n"), {"paths"}
    yield "debug section", add_debug_section, {"stripped"}
    yield "not stripped", relink(build, {"strip"}), {"stripped"}
    newer_glibc = {"floor", "glibc", "needed"}
    yield "newer glibc", relink(build, (), "x86_64-linux-gnu.2.34"), newer_glibc
    # The linker then takes the path of the output for the name.
    yield "no soname", relink(build, {"soname"}), {"soname", "paths"}
    yield "no nodelete", relink(build, {"nodelete"}), {"nodelete"}
    yield "lazy", relink(build, {"now"}, added=["-Wl,-z,lazy"]), {"relro"}
    yield "bound by name", relink(build, {"bind"}), {"binding"}
    yield "no version script", relink(build, {"map"}), {"symbols", "version-node"}
    yield (
        "unprotected code",
        relink(build, added=[unprotected(build)]),
        {
            "branch protection",
            "shadow stack",
        },
    )
    yield "runpath", relink(build, added=["-Wl,-rpath,/nowhere"]), {"runpath"}


def complaints(archive):
    found = {name: found(archive) for name, found in archive_checks.CHECKS.items()}
    return {name for name, said in found.items() if said}


def try_archive(release, machine, expected, edit=None, edit_member=None, name=None):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        archive = archive_checks.unpack(release, machine, scratch / "good")
        if edit:
            edit(archive.folder)
        path = scratch / (name or release.name)
        repack(archive.folder, path, edit_member)
        found = complaints(archive_checks.unpack(path, machine, scratch / "bad"))
    return [] if found == expected else [f"complaints are {sorted(found)}"]


def archive_results(release, build, share):
    for name, edit, expected in part(archive_faults(build), share):
        yield name, try_archive(release, "x86_64", expected, edit)
    yield "owner", try_archive(release, "x86_64", {"members"}, edit_member=owned)
    yield "mode", try_archive(release, "x86_64", {"members"}, edit_member=writable)
    yield "times", try_archive(release, "x86_64", {"members"}, edit_member=newer)
    renamed = release.name.replace("dlbridge-", "dlbridge-9")
    yield "other name", try_archive(release, "x86_64", {"name", "contents"}, name=renamed)
    # On aarch64 alone the loader is needed, for the stack protector's value.
    expected = {"name", "machine", "branch protection", "glibc", "needed"}
    yield "other machine", try_archive(release, "aarch64", expected)


def debug_results(release):
    """The archive beside a release is missing, has nothing, or is of another library."""
    with tempfile.TemporaryDirectory() as name:
        archive = archive_checks.unpack(release, "x86_64", pathlib.Path(name) / "good")
        yield "debug: nothing", archive_checks.check_debug(archive)
        lost = archive._replace(path=pathlib.Path(name) / release.name)
        yield "debug: no archive", seen("no debug information", archive_checks.check_debug(lost))
        library = archive_checks.library(archive)
        found = archive_checks.debug_complaints(library, library)
        yield "debug: stripped", seen("has no debug information", found)
        other = pathlib.Path(name) / "other.so"
        run("objcopy", "--remove-section=.note.gnu.build-id", library, other)
        yield (
            "debug: another library",
            seen("another library", archive_checks.debug_complaints(other, library)),
        )


def seen(text, found):
    return [] if any(text in line for line in found) else [f"complaints are {found}"]


def newer_symbol(scratch):
    """A function of a newer glibc in a library of few lines; the same without it is in order."""
    source, library = scratch / "new.c", scratch / "libnew.so"
    for body, complains in (("return 0;", False), ("return memfd_create(0, 0);", True)):
        source.write_text(f"#define _GNU_SOURCE\n#include <sys/mman.h>\nint f(void) {{ {body} }}\n")
        zig("x86_64-linux-gnu.2.28", "-shared", "-fPIC", "-O1", "-o", library, source)
        said = archive_checks.floor_complaints(library)
        if bool(said) != complains or (complains and "memfd_create" not in said[0]):
            return [f"{body}: {said}"]
    return []


MORE = """
__attribute__((dllexport)) int more(void) { return 1; }
"""
USER32 = """
int __stdcall MessageBeep(unsigned);
int beep(void) { return MessageBeep(0); }
"""


def foreign_complaints(system, path):
    checks = foreign_checks.CHECKS[system].items()
    return {name for name, found in checks if found(path, check.functions())}


def foreign_results(system, faults, scratch):
    """faults: name, what links a library into a folder and returns its path, and the complaints."""
    for name, link, expected in faults:
        folder = scratch / f"{system}-{name.replace(' ', '-')}"
        folder.mkdir()
        found = foreign_complaints(system, link(folder))
        yield f"{system}: {name}", [] if found == expected else [f"complaints are {sorted(found)}"]


def dll(build, name="dlbridge.dll", source="", added=()):
    def link(folder):
        code = folder / "more.c"
        code.write_text(source + "\ntypedef int nothing;\n")
        options = ("-shared", "-O2", "-s", "-o", folder / name, *objects(build), code, *added)
        zig("x86_64-windows-gnu", *options)
        return folder / name

    return link


def dylib(build, install_name="@rpath/libdlbridge.1.dylib", source="", other=False):
    def link(folder):
        code, path = folder / "more.c", folder / "libdlbridge.dylib"
        code.write_text(source + "\ntypedef int nothing;\n")
        added = []
        if other:
            added = [folder / "libother.dylib"]
            (folder / "other.c").write_text("int other(void) { return 1; }\n")
            zig(MACOS, "-shared", "-O2", "-o", *added, folder / "other.c")
        name = f"-Wl,-install_name,{install_name}"
        zig(MACOS, "-shared", "-O2", "-o", path, *objects(build), code, name, *added)
        return path

    return link


MACOS = "aarch64-macos.11.0"


def foreign_faults(builds):
    windows, macos = builds / "zig-windows", builds / "zig-macos"
    visible = "int more(void) { return 1; }"
    calls = '__attribute__((visibility("hidden"))) int f(void) { int other(void); return other(); }'
    return {
        "windows": (
            ("relinked", dll(windows), set()),
            ("function more", dll(windows, source=MORE), {"exports"}),
            ("other name", dll(windows, name="other.dll"), {"name"}),
            ("fixed place", dll(windows, added=["-Wl,--no-dynamicbase"]), {"flags"}),
            ("another library", dll(windows, source=USER32, added=["-luser32"]), {"needed"}),
        ),
        "macos": (
            ("relinked", dylib(macos), set()),
            ("function more", dylib(macos, source=visible), {"exports"}),
            ("other name", dylib(macos, install_name="libdlbridge.dylib"), {"name"}),
            ("another library", dylib(macos, source=calls, other=True), {"needed"}),
        ),
    }


def main():
    releases, builds = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    share = sys.argv[3] if len(sys.argv) > 3 else "1/1"
    (release,) = releases.glob("*-x86_64.tar.gz")
    status = check.report("fault", archive_results(release, builds / "zig-x86_64", share))
    status |= check.report("fault", debug_results(release))
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        status |= check.report("fault", [("newer symbol", newer_symbol(scratch))])
        for system, faults in foreign_faults(builds).items():
            if not (builds / f"zig-{system}").is_dir():
                print(f"skipped {system}: it was not built by this run")
                continue
            status |= check.report("fault", foreign_results(system, part(faults, share), scratch))
    return status


if __name__ == "__main__":
    sys.exit(main())
