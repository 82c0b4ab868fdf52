# SPDX-License-Identifier: Apache-2.0
"""Checks the wheel for another system; that of aarch64 runs under qemu.

foreign_checks.py SYSTEM WHEEL PYTHON   PYTHON: the folder of the system's CPython. The exit status
                                        is 1 if a check fails.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parents[1]
CASES = HERE.parents[1] / "tests/conformance/cases.json"
LIBRARIES = {
    "aarch64": r"libdlbridge\.so\.1|lib(c|m|dl|pthread)\.so\.\d|ld-linux-aarch64\.so\.1",
    "windows": r"dlbridge\.dll|python3\.dll|(KERNEL32|ntdll|api-ms-win-crt-\w+-l1-1-0)\.dll",
}
SUFFIX = {"aarch64": ".abi3.so", "windows": ".pyd"}
LIBRARY = {"aarch64": "lib/libdlbridge.so.1", "windows": "dlbridge.dll"}


def modules(folder, system):
    return [folder / f"dlbridge/{name}{SUFFIX[system]}" for name in ("_core", "_describe")]


def check_libraries(folder, system):
    """The extensions and the library need only libraries that every such system has."""
    for file in (*modules(folder, system), folder / "dlbridge" / LIBRARY[system]):
        command = ("llvm-readobj", "--needed-libs", str(file))
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        needed = re.findall(r"^  (\S+)$", text, re.M)
        wrong = [name for name in needed if not re.fullmatch(LIBRARIES[system], name, re.I)]
        if not needed or wrong:
            yield f"{file.name} needs {wrong or 'no library'}"


def runs(folder, python):
    """The package exchanges tensors under qemu, and answers the corpus as the library does."""
    options = ("-L", "/usr/aarch64-linux-gnu", "-E", f"LD_LIBRARY_PATH={python}")
    command = ("qemu-aarch64", *options, f"{python}/bin/python3.14", "-B")
    program = (str(HERE / "tools/foreign_program.py"), str(folder), str(CASES))
    if subprocess.run((*command, *program)).returncode != 0:
        yield "the program has failed"


def main(system, wheel, python):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "package"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        complaints = list(check_libraries(folder, system))
        if system == "aarch64":
            complaints += runs(folder, python)
    for complaint in complaints:
        print(f"FAILED {system}: {complaint}")
    print(f"{pathlib.Path(wheel).name}: {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
