# SPDX-License-Identifier: Apache-2.0
"""Checks the wheel for another system. That of aarch64 runs under qemu, that of Windows under wine;
that of macOS cannot run here.

foreign_checks.py SYSTEM WHEEL PYTHON ZIG   PYTHON: the folder of the system's CPython. The exit
                                            status is 1 if a check fails.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = HERE / "tools/foreign_program.py"
CASES = HERE.parents[1] / "tests/conformance/cases.json"


class Files(NamedTuple):
    """The files of a wheel, and the libraries that every such system has."""

    suffix: str  # of the extensions
    library: str
    needed: str  # a pattern of names


FILES = {
    "aarch64": Files(
        ".abi3.so",
        "lib/libdlbridge.so.1",
        r"libdlbridge\.so\.1|lib(c|m|dl|pthread)\.so\.\d|ld-linux-aarch64\.so\.1",
    ),
    "windows": Files(
        ".pyd",
        "dlbridge.dll",
        r"dlbridge\.dll|python3\.dll|(KERNEL32|ntdll|api-ms-win-crt-\w+-l1-1-0)\.dll",
    ),
    "macos": Files(
        ".abi3.so",
        "lib/libdlbridge.1.dylib",
        r"@rpath/libdlbridge\.1\.dylib|/usr/lib/libSystem\.B\.dylib|package/dlbridge/_\w+\.abi3\.so",
    ),
}


def tool(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout


def check_libraries(package, system):
    """The extensions and the library need only libraries that every such system has."""
    files = FILES[system]
    extensions = (package / f"{name}{files.suffix}" for name in ("_core", "_describe"))
    for file in (*extensions, package / files.library):
        needed = re.findall(r"^  (\S+)$", tool("llvm-readobj", "--needed-libs", file), re.M)
        wrong = [name for name in needed if not re.fullmatch(files.needed, name, re.I)]
        if not needed or wrong:
            yield f"{file.name} needs {wrong or 'no library'}"


def run(*command, **variables):
    """The package exchanges tensors, and answers the corpus as the library does."""
    environment = {**os.environ, **variables}
    # The output is a pipe: wine gives a console program no other one.
    done = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
    )
    print(done.stdout.decode(errors="replace")[-6000:], end="")
    if done.returncode != 0:
        yield f"the program has failed: exit status {done.returncode}"


def run_aarch64(folder, python, _):
    options = ("-L", "/usr/aarch64-linux-gnu", "-E", f"LD_LIBRARY_PATH={python}")
    return run("qemu-aarch64", *options, python / "bin/python3.14", "-B", PROGRAM, folder, CASES)


def make_forwarder(python, zig, folder):
    """Makes python3.dll, which extensions with the stable ABI ask for: each of its names stands for
    that of the python3XY.dll beside it (CPython's PC/python3dll.c). Maven's package lacks it."""
    [real] = (file.stem for file in python.glob("python3?*.dll"))
    symbols = tool("llvm-nm", python / "libs/python3.lib")
    names = sorted(set(re.findall(r" __imp_(\w+)$", symbols, re.M)))
    lines = ["LIBRARY python3.dll", "EXPORTS", *(f"  {name}={real}.{name}" for name in names)]
    (folder / "python3.def").write_text("\n".join(lines) + "\n")
    (folder / "python3.c").write_text("int DllMain(void* m, unsigned r, void* x) { return 1; }\n")
    command = (zig, "cc", "-target", "x86_64-windows-gnu", "-shared", "-o", folder / "python3.dll")
    tool(*command, folder / "python3.c", folder / "python3.def")
    return folder / "python3.dll"


def run_windows(folder, python, zig):
    wine = "/usr/lib/wine/wine64"
    own = {"WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all"}
    shutil.copytree(python, folder / "python", copy_function=os.link)
    shutil.copy(make_forwarder(python, zig, folder), folder / "python")
    # CPython needs Windows 10, which wine says that it is only if asked.
    key = (r"HKEY_CURRENT_USER\Software\Wine", "/v", "Version", "/d", "win10", "/f")
    yield from run(wine, "reg", "add", *key, **own)
    yield from run(wine, folder / "python/python.exe", "-B", PROGRAM, folder, CASES, **own)


def check_macos(folder, python, _):
    """What dyld would do: each function of Python exists there, and the library is found."""
    package = folder / "dlbridge"
    defined = set(tool("llvm-nm", "--defined-only", python / "libpython3.14.dylib").split())
    for name in ("_core", "_describe"):
        file = package / f"{name}.abi3.so"
        used = set(re.findall(r"\b__?Py\w+", tool("llvm-nm", "--undefined-only", file)))
        if not used or used - defined:
            yield f"{file.name} uses {sorted(used - defined) or 'nothing of Python'}"
        headers = tool("llvm-objdump", "--macho", "--private-headers", file)
        if not re.search(r"path @loader_path/lib \(", headers):
            yield f"{file.name} does not look for the library in lib/"
        if "minos 11.0" not in headers:
            yield f"{file.name} is not for macOS 11"
        exports = tool("llvm-objdump", "--macho", "--exports-trie", file)
        if f"_PyInit_{name}\n" not in exports:
            yield f"{file.name} does not export its entry point"


RUN = {"aarch64": run_aarch64, "windows": run_windows, "macos": check_macos}


def main(system, wheel, python, zig):
    with tempfile.TemporaryDirectory(dir=pathlib.Path(wheel).parent) as name:
        folder = pathlib.Path(name)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        complaints = list(check_libraries(folder / "dlbridge", system))
        complaints += RUN[system](folder, pathlib.Path(python), zig)
    for complaint in complaints:
        print(f"FAILED {system}: {complaint}")
    print(f"{pathlib.Path(wheel).name}: {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
