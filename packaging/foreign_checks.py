# SPDX-License-Identifier: Apache-2.0
"""The rules for the libraries of other systems, read with llvm-readobj and llvm-objdump. Each check
takes the file and the names of the functions, and returns a list of complaints."""

import re
import subprocess

from archive_checks import ROOT, abi, library_checks

# The linker exports two names of its own, whatever it is told.
LINKER_SYMBOLS = {"___dso_handle", "__mh_dylib_header"}


def tool(*command):
    return subprocess.run(map(str, command), check=True, capture_output=True, text=True).stdout


def needed_list(artefact):
    return set(library_checks.read_needed(ROOT / f"abi/needed/{artefact}.txt"))


def check_dll_exports(path, functions):
    said = tool("llvm-readobj", "--coff-exports", path)
    return library_checks.difference(set(re.findall(r"^  Name: (.+)$", said, re.M)), functions)


def check_dll_needed(path, _):
    said = tool("llvm-readobj", "--coff-imports", path)
    found = set(re.findall(r"^  Name: (.+)$", said, re.M))
    return library_checks.difference(found, needed_list("windows-x86_64"))


def check_dll_name(path, _):
    """The name in the DLL, which programs linked with it load."""
    found = re.findall(r"^ DLL name: (.+)$", tool("llvm-objdump", "-p", path), re.M)
    return [] if found == ["dlbridge.dll"] else [f"calls itself {found}"]


def check_dll_flags(path, _):
    """Its place in memory is random in 64 bits, and data is not executed."""
    said = tool("llvm-readobj", "--file-headers", path)
    flags = ("HIGH_ENTROPY_VA", "DYNAMIC_BASE", "NX_COMPAT")
    return [f"is not {flag}" for flag in flags if f"IMAGE_DLL_CHARACTERISTICS_{flag}" not in said]


def check_dylib_exports(path, functions):
    said = tool("llvm-objdump", "--macho", "--exports-trie", path)
    found = set(re.findall(r"^0x[0-9A-F]+\s+(\S+)", said, re.M))
    return library_checks.difference(found - LINKER_SYMBOLS, {"_" + name for name in functions})


def check_dylib_needed(path, _):
    lines = tool("llvm-objdump", "--macho", "--dylibs-used", path).splitlines()
    found = {line.split(" (")[0].strip() for line in lines[1:]}
    # The first one is the file's own name.
    return library_checks.difference(found - {install_name(path)}, needed_list("macos-aarch64"))


def install_name(path):
    return tool("llvm-objdump", "--macho", "--dylib-id", path).splitlines()[-1].strip()


def check_dylib_name(path, _):
    """Programs load the file by its install name, so one of that name is beside it."""
    found = install_name(path)
    file = f"libdlbridge.{abi()}.dylib"
    if found != f"@rpath/{file}":
        return [f"its install name is {found}"]
    return [] if path.with_name(file).exists() else [f"there is no file {file}"]


CHECKS = {
    "windows": {
        "exports": check_dll_exports,
        "needed": check_dll_needed,
        "name": check_dll_name,
        "flags": check_dll_flags,
    },
    "macos": {
        "exports": check_dylib_exports,
        "needed": check_dylib_needed,
        "name": check_dylib_name,
    },
}
