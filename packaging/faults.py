# SPDX-License-Identifier: Apache-2.0
"""Shows that the rules of archive_checks.py can fail: faults are put into a copy of an archive, and
exactly the checks that are named for them must complain. `./run gate` does the same for the rules
of the library itself. One line per fault; exit status 1 where one is overlooked.

faults.py RELEASES    the folder of the archives
"""

import pathlib
import subprocess
import sys
import tarfile
import tempfile

import archive_checks
import check


def repack(folder, path, edit):
    """Packs the folder as pack.py does, but for what `edit` does to a member."""

    def plain(member):
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return edit(member) if edit else member

    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as tar:
        tar.add(folder, arcname=folder.name, filter=plain)


def setting(**values):
    """An edit of the members that are files."""

    def edit(member):
        for name, value in values.items() if member.isfile() else ():
            setattr(member, name, value)
        return member

    return edit


def append(name, text):
    def edit(folder):
        with (folder / name).open("a") as file:
            file.write(text)

    return edit


def remove(name):
    return lambda folder: (folder / name).unlink()


def add_debug_section(folder):
    path = (folder / f"lib/libdlbridge.so.{archive_checks.abi()}").resolve()
    command = ("objcopy", "--add-section", f".debug_info={__file__}", path)
    subprocess.run(command, check=True, capture_output=True)


PC, HEADER = "lib/pkgconfig/dlbridge.pc", "include/dlbridge/dlpack.h"
# Name, what is done to the unpacked folder, and the checks that must complain.
FOLDER_FAULTS = (
    ("none", lambda folder: None, set()),
    ("a file more", append("lib/more", "more"), {"contents"}),
    ("a file less", remove(PC), {"contents"}),
    ("other header", append(HEADER, "/* more */\n"), {"headers"}),
    ("dead link", append("share/doc/dlbridge/docs/faq.md", "[x](nowhere.md)\n"), {"links"}),
    ("path of a home", append(PC, f"# {'/home'}/someone/dlbridge\n"), {"paths"}),
    ("path of the sources", append(PC, f"# {archive_checks.ROOT}\n"), {"paths"}),
    ("debug section", add_debug_section, {"stripped"}),
)
MEMBER_FAULTS = (
    ("owner", setting(uid=1000)),
    ("mode", setting(mode=0o766)),
    ("times", setting(mtime=1)),
)


def complaints(archive):
    found = {name: found(archive) for name, found in archive_checks.CHECKS.items()}
    return {name for name, said in found.items() if said}


def judge(release, expected, edit=None, member=None, machine="x86_64", name=None):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        archive = archive_checks.unpack(release, machine, scratch / "good")
        if edit:
            edit(archive.folder)
        path = scratch / (name or release.name)
        repack(archive.folder, path, member)
        found = complaints(archive_checks.unpack(path, machine, scratch / "bad"))
    return [] if found == expected else [f"complaints are {sorted(found)}"]


def archive_results(release):
    for name, edit, expected in FOLDER_FAULTS:
        yield name, judge(release, expected, edit)
    for name, member in MEMBER_FAULTS:
        yield name, judge(release, {"members"}, member=member)
    renamed = release.name.replace("dlbridge-", "dlbridge-9")
    yield "other name", judge(release, {"name", "contents"}, name=renamed)
    # On aarch64 alone the loader is needed, for the stack protector's value.
    expected = {"name", "machine", "branch protection", "glibc", "needed", "tool"}
    yield "other machine", judge(release, expected, machine="aarch64")


def seen(text, found):
    return [] if any(text in line for line in found) else [f"complaints are {found}"]


def debug_results(release):
    """The archive beside a release is missing, has nothing, or is of another library."""
    with tempfile.TemporaryDirectory() as name:
        archive = archive_checks.unpack(release, "x86_64", pathlib.Path(name) / "good")
        yield "debug: none", archive_checks.check_debug(archive)
        lost = archive._replace(path=pathlib.Path(name) / release.name)
        yield "debug: no archive", seen("no debug information", archive_checks.check_debug(lost))
        library = archive_checks.library(archive)
        other = pathlib.Path(name) / "other.so"
        command = ("objcopy", "--remove-section=.note.gnu.build-id", library, other)
        subprocess.run(command, check=True, capture_output=True)
        found = archive_checks.debug_complaints(other, library)
        yield "debug: stripped", seen("has no debug information", found)
        yield "debug: another library", seen("another library", found)


def kit_results(release):
    """The conformance kit beside a release is missing, or has another header or a file more."""
    with tempfile.TemporaryDirectory() as name:
        archive = archive_checks.unpack(release, "x86_64", pathlib.Path(name) / "good")
        yield "kit: none", archive_checks.check_kit(archive)
        lost = archive._replace(path=pathlib.Path(name) / release.name)
        yield "kit: no archive", seen("no conformance kit", archive_checks.check_kit(lost))
        path = release.with_name(release.name.replace(".tar.gz", "-conformance.tar.gz"))
        kit = archive_checks.unpack(path, "x86_64", pathlib.Path(name) / "kit")
        append("include/dlbridge/conformance.h", "/* more */\n")(kit.folder)
        yield "kit: other header", seen("not the repository's", archive_checks.kit_complaints(kit))
        append("lib/more", "more")(kit.folder)
        yield "kit: a file more", seen("lib/more", archive_checks.kit_complaints(kit))


def main():
    (release,) = pathlib.Path(sys.argv[1]).resolve().glob("*-x86_64.tar.gz")
    status = check.report("fault", archive_results(release))
    status |= check.report("fault", debug_results(release))
    return status | check.report("fault", kit_results(release))


if __name__ == "__main__":
    sys.exit(main())
