# SPDX-License-Identifier: Apache-2.0
"""Packs an installed build as cpack would name it. Beside it: an archive of the library's debug
information, which unpacks to where debuggers look, and one of the conformance kit, which unpacks
over the release. Unlike cpack, the same commit gives the same bytes: order, owner, modes and times
do not depend on the machine.

pack.py BUILD FOLDER    prints the names of the three archives, the release last
"""

import gzip
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile


def run(*command):
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)


def package_name(build):
    text = (build / "CPackConfig.cmake").read_text()
    return re.search(r'^set\(CPACK_PACKAGE_FILE_NAME "(.*)"\)$', text, re.MULTILINE)[1]


def commit_time():
    """SOURCE_DATE_EPOCH, or the time of the last commit."""
    log = ("git", "log", "-1", "--format=%ct")
    return int(os.environ.get("SOURCE_DATE_EPOCH") or subprocess.check_output(log))


def separate(library, debug):
    """Moves the debug information into a file of its own, which the library names."""
    debug.parent.mkdir(parents=True)
    run("llvm-objcopy", "--only-keep-debug", library, debug)
    run("llvm-objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", library)


def plain(time):
    """Removes from a member of the archive what depends on the machine."""

    def change(member):
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = time
        runs = member.isdir() or "/bin/" in member.name
        member.mode = 0o777 if member.issym() else 0o755 if runs else 0o644
        return member

    return change


def pack(folder, archive, time):
    """tarfile adds the members of a folder in the order of their names."""
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        tar.add(folder, folder.name, filter=plain(time))
    print(archive)


def install_kit(build, folder):
    """Only the component of the conformance kit, without debug information."""
    run("cmake", "--install", build, "--prefix", folder, "--component", "conformance")
    run("llvm-objcopy", "--strip-debug", folder / "lib/libdlbridge_conformance.a")


def main():
    build, releases = (pathlib.Path(name) for name in sys.argv[1:])
    name, time = package_name(build), commit_time()
    releases.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        kinds = ("release", "debug", "conformance")
        release, debug, kit = (pathlib.Path(scratch) / kind / name for kind in kinds)
        run("cmake", "--install", build, "--prefix", release)
        (library,) = (
            path for path in release.glob("lib/libdlbridge.so.*") if not path.is_symlink()
        )
        separate(library, debug / f"lib/.debug/{library.name}.debug")
        install_kit(build, kit)
        pack(debug, releases / f"{name}-debug.tar.gz", time)
        pack(kit, releases / f"{name}-conformance.tar.gz", time)
        pack(release, releases / f"{name}.tar.gz", time)


if __name__ == "__main__":
    main()
