# SPDX-License-Identifier: Apache-2.0
"""The other systems that wheels are built for: how each wheel is built, and how it is checked."""

import pathlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

import foreign_runs


class System(NamedTuple):
    target: str  # of zig
    package: str  # the classifier of the Maven package with the system's CPython
    platform: str  # of the wheel
    headers: str  # the folder of Python.h in that package
    library: str  # the shared library in the package `dlbridge`
    needed: str  # a pattern: the libraries that the wheel's files may need
    # Yields complaints about the unpacked wheel in a folder, by the system's CPython and zig.
    check: Callable[[pathlib.Path, pathlib.Path, str], Iterable[str]]
    suffix: str = ".abi3.so"  # of the extensions
    python_library: str = ""  # the import library of Python's functions, if extensions link one
    programs: tuple[str, ...] = ()  # what runs programs of that system


SYSTEMS = {
    "aarch64": System(
        target="aarch64-linux-gnu.2.17",
        package="linux-arm64",
        platform="manylinux-2.17-aarch64",
        headers="include/python3.14",
        library="lib/libdlbridge.so.1",
        needed=r"libdlbridge\.so\.1|lib(c|m|dl|pthread)\.so\.\d|ld-linux-aarch64\.so\.1",
        check=foreign_runs.run_aarch64,
        programs=(foreign_runs.QEMU,),
    ),
    "windows": System(
        target="x86_64-windows-gnu",
        package="windows-x86_64",
        platform="win-amd64",
        headers="include",
        library="dlbridge.dll",
        needed=r"dlbridge\.dll|python3\.dll|(KERNEL32|ntdll|api-ms-win-crt-\w+-l1-1-0)\.dll",
        check=foreign_runs.run_windows,
        suffix=".pyd",
        python_library="libs/python3.lib",
        programs=(foreign_runs.WINE,),
    ),
    "macos": System(
        target="aarch64-macos.11.0",
        package="macosx-arm64",
        platform="macosx-11.0-arm64",
        headers="include/python3.14",
        library="lib/libdlbridge.1.dylib",
        needed=r"@rpath/libdlbridge\.1\.dylib|/usr/lib/libSystem\.B\.dylib"
        r"|package/dlbridge/_\w+\.abi3\.so",
        check=foreign_runs.check_macos,
    ),
}
