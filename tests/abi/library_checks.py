# SPDX-License-Identifier: Apache-2.0
"""The checks of the built library files. Each returns a list of complaints."""

import pathlib
import re
import subprocess
from collections import namedtuple

import elf
import rules

Expected = namedtuple("Expected", "soname needed symbols libc", defaults=[()])
Expected.__doc__ = """needed: file name to the set of its versions; symbols: set of 'name@@NODE';
libc: the files of the compiler's glibc."""

# Undefined symbols of the C compiler's start files; they have no version.
START_FILE_SYMBOLS = {
    "__gmon_start__",
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "__cxa_finalize",
}
# Mangled names in namespace dlbridge: functions, tables, guards, static variables of functions.
NAMESPACE = re.compile(r"_Z(TV|TS|TI|GV|Z)?N[VK]*8dlbridge\w*")


def read_symbols(path):
    """A committed list of exported symbols, one `name@@NODE` per line."""
    return set(path.read_text().split())


def read_needed(path):
    """A committed list of needed files: one line per file, with the versions of it that are needed;
    `#` starts a comment."""
    lines = (line.split("#")[0].split() for line in path.read_text().splitlines())
    return {words[0]: set(words[1:]) for words in lines if words}


def check_lists(header, symbols):
    """The committed symbol list, the functions of the header (as api.py reads it), and the function
    table must be the same."""
    functions = set(header["functions"])
    listed = {symbol.split("@@")[0] for symbol in symbols}
    table = set(rules.table(header).values())
    complaints = [f"in the header only: {name}" for name in sorted(functions - listed)]
    complaints += [f"in the symbol list only: {name}" for name in sorted(listed - functions)]
    missing = functions - table - {"dlbridge_get_api"}
    complaints += [f"not in DLBridgeApi: {name}" for name in sorted(missing)]
    return complaints + [f"in DLBridgeApi only: {name}" for name in sorted(table - functions)]


def difference(found, expected):
    """Complaints on two sets that should be equal."""
    return [f"unexpected: {item}" for item in sorted(found - expected)] + [
        f"missing: {item}" for item in sorted(expected - found)
    ]


def version_nodes(path):
    """The version nodes that the file defines; the linker's first entry is the file itself."""
    text = elf.readelf(path, "--version-info").split("Version needs section")[0]
    return set(re.findall(r"Flags: (?!BASE).*Name: (\S+)", text))


def exported(path):
    """Defined dynamic symbols, without those that name a version node."""
    nodes = version_nodes(path)
    return [
        symbol
        for symbol in elf.symbols(path, "--dyn-syms")
        if symbol.name
        and symbol.section != "UND"
        and symbol.bind != "LOCAL"
        and not (symbol.section == "ABS" and symbol.name in nodes)
    ]


def check_needed(path, expected):
    found = elf.dynamic(path).get("NEEDED", [])
    return [] if sorted(found) == sorted(expected.needed) else [f"NEEDED is {found}"]


def check_glibc(path, expected):
    """Exactly the listed versions: a newer one would exclude systems that were supported before."""
    found = elf.needed_versions(path)
    complaints = []
    for name in sorted(set(found) | set(expected.needed)):
        versions, listed = found.get(name, {}), expected.needed.get(name, set())
        for version in sorted(set(versions) - listed):
            users = ", ".join(sorted(versions[version]))
            complaints.append(f"needs {version} of {name} for {users}")
        complaints += [f"{v} of {name} is not needed" for v in sorted(listed - set(versions))]
    return complaints


def check_symbols(path, expected):
    return difference({symbol.name + symbol.version for symbol in exported(path)}, expected.symbols)


def check_version_node(path, expected):
    """Every symbol has a version node, and the file defines exactly the nodes of the list."""
    complaints = [f"in no version node: {s.name}" for s in exported(path) if not s.version]
    return complaints + difference(
        version_nodes(path), {symbol.split("@@")[1] for symbol in expected.symbols}
    )


def check_node_chain(path, _):
    """Each node inherits from the one before it, oldest first."""
    text = elf.readelf(path, "--version-info").split("Version needs section")[0]
    nodes = re.findall(r"Flags: (?!BASE)\S+.*?Name: (\S+)((?:\n.*Parent \d+: \S+)*)", text)
    names = [name for name, _ in nodes]
    numbers = [[int(part) for part in re.findall(r"\d+", name)] for name in names]
    complaints = [] if numbers == sorted(numbers) else [f"the order of the nodes is {names}"]
    for place, (name, said) in enumerate(nodes):
        parents = re.findall(r"Parent \d+: (\S+)", said)
        if parents != names[place - 1 : place]:
            complaints.append(f"the parents of {name} are {parents}")
    return complaints


def check_floor(path, expected):
    """Every glibc function that the library needs exists in 2.17, according to the old versions
    that the compiler's glibc still exports. The release files are linked against 2.17 itself."""
    libc = [file for file in expected.libc if file.is_file()]
    old = {
        symbol.name
        for file in libc
        for symbol in elf.symbols(file, "--dyn-syms")
        if symbol.section != "UND" and is_old(symbol.version)
    }
    return [
        f"glibc 2.17 has no {symbol.name}{symbol.version}"
        for symbol in elf.symbols(path, "--dyn-syms")
        if symbol.section == "UND" and symbol.version and not is_old(symbol.version)
        if symbol.name not in old | RENAMED
    ]


# Functions of 2.33 whose older form, called by the headers of 2.17, has another name.
RENAMED = {"stat", "fstat", "lstat", "fstatat", "mknod", "mknodat"}


def is_old(version):
    numbers = re.findall(r"\d+", version)
    return "@GLIBC_" in version and [int(number) for number in numbers] <= [2, 17]


def glibc_files(cc):
    """The files of the glibc that a compiler links against."""
    for name in ("libc.so.6", "libdl.so.2", "libpthread.so.0"):
        command = (*cc, f"-print-file-name={name}")
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        yield pathlib.Path(found)


def check_soname(path, expected):
    found = elf.dynamic(path).get("SONAME", [])
    return [] if found == [expected.soname] else [f"SONAME is {found}"]


def check_nodelete(path, _):
    flags = " ".join(elf.dynamic(path).get("FLAGS_1", []))
    return [] if "NODELETE" in flags else [f"FLAGS_1 is '{flags}'"]


def check_runpath(path, _):
    entries = elf.dynamic(path)
    return [f"{tag} is {entries[tag]}" for tag in ("RPATH", "RUNPATH") if tag in entries]


def check_constructors(path, _):
    """Allows one entry each, for frame_dummy and __do_global_dtors_aux of the start files."""
    sizes = elf.sections(path)
    complaints = [
        f"{name} has {sizes[name] // 8} entries"
        for name in (".init_array", ".fini_array")
        if sizes.get(name, 0) > 8
    ]
    old = (".preinit_array", ".ctors", ".dtors")
    return complaints + [f"has a section {name}" for name in old if sizes.get(name)]


def check_tls(path, _):
    return ["has a TLS segment"] if "TLS" in elf.segments(path) else []


def check_stack(path, _):
    flags = elf.segments(path).get("GNU_STACK")
    return [] if flags == ["RW"] else [f"GNU_STACK is {flags}"]


def check_text_relocations(path, _):
    entries = elf.dynamic(path)
    found = "TEXTREL" in entries or "TEXTREL" in " ".join(entries.get("FLAGS", []))
    return ["has text relocations"] if found else []


def check_relro(path, _):
    """Relocations are applied at load time, and their memory is read-only afterwards."""
    complaints = [] if "GNU_RELRO" in elf.segments(path) else ["no GNU_RELRO segment"]
    flags = " ".join(elf.dynamic(path).get("FLAGS_1", []))
    return complaints + ([] if "NOW" in flags.split() else ["not linked with -z now"])


def imported(path):
    """Names of the undefined symbols."""
    return {s.name for s in elf.symbols(path, "--dyn-syms") if s.section == "UND" and s.name}


def check_stack_protector(path, _):
    return [] if "__stack_chk_fail" in imported(path) else ["has no stack protector"]


def check_fortify(path, _):
    """Functions with these names check bounds; a file built without _FORTIFY_SOURCE uses none of
    them."""
    found = [name for name in imported(path) if re.fullmatch(r"__(?!stack)\w+_chk", name)]
    return [] if found else ["uses no function that checks bounds"]


# The encodings of endbr64; and of bti c, bti jc, paciasp and pacibsp.
LANDING_PADS = {
    "x86_64": ("f30f1efa",),
    "aarch64": ("5f2403d5", "df2403d5", "3f2303d5", "7f2303d5"),
}


def check_landing_pads(path, _):
    """With branch checks, each exported function needs a landing pad: the loader and clients call
    it through a pointer."""
    pads = [bytes.fromhex(pad) for pad in LANDING_PADS[elf.machine(path)]]
    return [
        f"has no landing pad: {symbol.name}"
        for symbol in exported(path)
        if symbol.type == "FUNC" and elf.at_address(path, symbol.value, 4) not in pads
    ]


def check_shadow_stack(path, _):
    """x86_64 checks returns and branches only if the file declares that all its code supports it.
    Debian's start files for aarch64 do not, so there only the release archive declares it."""
    if elf.machine(path) != "x86_64":
        return []
    missing = sorted({"IBT", "SHSTK"} - elf.properties(path))
    complaints = [f"does not declare {name}" for name in missing]
    # _init and _fini of glibc have no landing pad.
    old = [tag for tag in ("INIT", "FINI") if tag in elf.dynamic(path)]
    return complaints + [f"has {tag}" for tag in old if not lands(path, tag)]


def lands(path, tag):
    """Does the function that an entry of the dynamic section names start with a landing pad?"""
    text = elf.dynamic(path)[tag][0]
    return elf.at_address(path, int(text, 16), 4).hex() in LANDING_PADS["x86_64"]


def check_binding(path, _):
    """The file refers to its own functions by address. References by name would be bound to another
    copy of the library that was loaded earlier."""
    names = {symbol.name for symbol in exported(path)}
    referred = set(re.findall(r"([\w.]+)(?:@@?[\w.]+)? \+ [0-9a-f]+$", elf.relocations(path), re.M))
    return [f"bound by name: {name}" for name in sorted(names & referred)]


def check_undefined(path, _):
    """Undefined symbols must come from glibc."""
    return [
        f"not glibc's: {symbol.name}{symbol.version}"
        for symbol in elf.symbols(path, "--dyn-syms")
        if symbol.name
        and symbol.section == "UND"
        and not symbol.version.startswith("@GLIBC_")
        and not (symbol.bind == "WEAK" and symbol.name in START_FILE_SYMBOLS)
    ]


SHARED_CHECKS = {
    "needed": check_needed,
    "glibc": check_glibc,
    "symbols": check_symbols,
    "version-node": check_version_node,
    "soname": check_soname,
    "nodelete": check_nodelete,
    "runpath": check_runpath,
    "constructors": check_constructors,
    "tls": check_tls,
    "stack": check_stack,
    "text-relocations": check_text_relocations,
    "relro": check_relro,
    "stack protector": check_stack_protector,
    "fortify": check_fortify,
    "landing pads": check_landing_pads,
    "shadow stack": check_shadow_stack,
    "binding": check_binding,
    "undefined": check_undefined,
}


# Checks only for builds against this machine's glibc; the release files have lists instead.
BUILD_CHECKS = {**SHARED_CHECKS, "node-chain": check_node_chain, "floor": check_floor}


def check_archive_globals(path, expected):
    """A static library adds to a program only its functions and C++ names of dlbridge. All are
    hidden, so that a module that contains a copy exports none of them."""
    functions = {symbol.split("@@")[0] for symbol in expected.symbols}
    found = {
        symbol.name: symbol.visibility
        for symbol in elf.symbols(path, "--symbols")
        if symbol.bind != "LOCAL" and symbol.section != "UND"
    }
    complaints = [f"missing: {name}" for name in sorted(functions - set(found))]
    for name, visibility in sorted(found.items()):
        ours = name in functions or name.startswith("dlbridge_") or NAMESPACE.fullmatch(name)
        if not ours:
            complaints.append(f"not in our namespace: {name}")
        elif visibility != "HIDDEN":
            complaints.append(f"visibility {visibility}: {name}")
    return complaints


def check_archive_undefined(path, _):
    """The archive needs no symbol of the C++ runtime."""
    table = elf.symbols(path, "--symbols")
    defined = {symbol.name for symbol in table if symbol.section != "UND"}
    undefined = {symbol.name for symbol in table if symbol.section == "UND" and symbol.name}
    runtime = re.compile(r"_Z|__cxa|__gxx|_Unwind|__dynamic_cast")
    return [f"C++ runtime: {n}" for n in sorted(undefined - defined) if runtime.match(n)]


def check_archive_constructors(path, _):
    text = elf.readelf(path, "--sections")
    return [
        f"has a section {name}"
        for name in (".init_array", ".ctors", ".tbss", ".tdata")
        if re.search(rf"\s{re.escape(name)}[.\s]", text)
    ]


ARCHIVE_CHECKS = {
    "globals": check_archive_globals,
    "undefined": check_archive_undefined,
    "constructors": check_archive_constructors,
}


def run(checks, path, expected):
    """Complaints by the name of the check; empty if all checks pass."""
    results = {name: check(path, expected) for name, check in checks.items()}
    return {name: complaints for name, complaints in results.items() if complaints}
