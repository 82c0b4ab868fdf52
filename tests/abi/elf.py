# SPDX-License-Identifier: Apache-2.0
"""The output of readelf for a file, as Python values."""

import os
import re
import subprocess
from collections import namedtuple

Symbol = namedtuple("Symbol", "name version type bind visibility section value", defaults=(0,))
Symbol.__doc__ = "version: '@@NODE' or '@NODE' or ''; section: 'UND', 'ABS' or a number."


def readelf(path, *options):
    """Output of readelf; a file that readelf cannot read raises an error."""
    environment = dict(os.environ, LC_ALL="C")
    command = ["readelf", "--wide", *options, str(path)]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout


def _symbol(fields):
    name = fields[7] if len(fields) > 7 else ""
    match = re.fullmatch(r"(.*?)(@@?[^@]+)?", name)
    value = int(fields[1], 16)
    return Symbol(match[1], match[2] or "", fields[3], fields[4], fields[5], fields[6], value)


def symbols(path, *options):
    """The symbols of all tables that the options of readelf select, including local ones."""
    rows = (line.split() for line in readelf(path, *options).splitlines())
    return [_symbol(row) for row in rows if len(row) >= 7 and re.fullmatch(r"\d+:", row[0])]


def dynamic(path):
    """The dynamic section: maps each tag to its list of values."""
    found = {}
    for line in readelf(path, "--dynamic").splitlines():
        match = re.match(r"\s*0x[0-9a-f]+\s+\((\w+)\)\s*(.*)", line)
        if match:
            value = re.search(r"\[(.*)\]", match[2])
            found.setdefault(match[1], []).append(value[1] if value else match[2].strip())
    return found


def machine(path):
    """The processor of the file, by the name that its ABI uses: 'x86_64', 'aarch64'."""
    text = readelf(path, "--file-header")
    name = re.search(r"Machine:\s+(.*)", text)[1]
    return {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}.get(name, name)


def needed_versions(path):
    """What the file needs from other files: file to version to the names of the symbols."""
    users = {}
    for symbol in symbols(path, "--dyn-syms"):
        if symbol.section == "UND" and symbol.version:
            users.setdefault(symbol.version.lstrip("@"), set()).add(symbol.name)
    found = {}
    needs = readelf(path, "--version-info").partition("Version needs section")[2]
    for line in needs.splitlines():
        name = re.search(r"File: (\S+)", line)
        version = re.search(r"Name: (\S+)", line)
        if name:
            versions = found.setdefault(name[1], {})
        elif version:
            versions[version[1]] = users.get(version[1], set())
    return found


def segments(path):
    """The program headers: maps each type to its list of flags, such as {'GNU_STACK': ['RW']}."""
    found = {}
    row = re.compile(r"\s+([A-Z_]+)(?:\s+0x[0-9a-f]+){5}\s+([RWE ]{3})\s+(?:0x)?[0-9a-f]+")
    for line in readelf(path, "--program-headers").splitlines():
        match = row.match(line)
        if match:
            found.setdefault(match[1], []).append(match[2].replace(" ", ""))
    return found


def relocations(path):
    """The relocations that the loader applies, one per line, with the symbol name of each."""
    return readelf(path, "--relocs")


def sections(path):
    """The section headers: maps each name to its size."""
    row = re.compile(r"\s+\[\s*\d+\]\s+(\S+)\s+\S+\s+[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s")
    found = (row.match(line) for line in readelf(path, "--sections").splitlines())
    return {match[1]: int(match[2], 16) for match in found if match}


def properties(path):
    """The features that the GNU property note claims for all code, such as {'IBT', 'SHSTK'}."""
    found = re.findall(r"(?:x86|AArch64) feature: (.*)", readelf(path, "--notes"))
    return {name.strip() for line in found for name in line.split(",")}


def build_id(path):
    """The build ID, by which a debugger finds the matching files; None if there is none."""
    found = re.search(r"Build ID: ([0-9a-f]+)", readelf(path, "--notes"))
    return found[1] if found else None


def at_address(path, address, size):
    """The bytes loaded at an address, relative to the load address of the file."""
    for kind, offset, virtual, length in _loaded(path):
        if kind == "LOAD" and virtual <= address < virtual + length:
            with open(path, "rb") as file:
                file.seek(offset + address - virtual)
                return file.read(size)
    raise ValueError(f"{path}: nothing is loaded to {address:#x}")


def _loaded(path):
    """The program headers: type, offset in the file, address and size in the file."""
    row = re.compile(r"\s+([A-Z_]+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)")
    rows = (row.match(line) for line in readelf(path, "--program-headers").splitlines())
    return [(row[1], int(row[2], 16), int(row[3], 16), int(row[4], 16)) for row in rows if row]
