# SPDX-License-Identifier: Apache-2.0
"""What can be checked here of a wheel for another system: that of aarch64 runs under qemu, that of
Windows under wine, and that of macOS cannot run. Each function yields complaints."""

import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = HERE / "tools/foreign_program.py"
CASES = HERE.parents[1] / "tests/conformance/cases.json"
QEMU = "qemu-aarch64"
WINE = "/usr/lib/wine/wine64"


def tool(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout


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
    return run(QEMU, *options, python / "bin/python3.14", "-B", PROGRAM, folder, CASES)


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
    own = {"WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all"}
    shutil.copytree(python, folder / "python", copy_function=os.link)
    shutil.copy(make_forwarder(python, zig, folder), folder / "python")
    # CPython needs Windows 10, which wine says that it is only if asked.
    key = (r"HKEY_CURRENT_USER\Software\Wine", "/v", "Version", "/d", "win10", "/f")
    yield from run(WINE, "reg", "add", *key, **own)
    yield from run(WINE, folder / "python/python.exe", "-B", PROGRAM, folder, CASES, **own)


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
