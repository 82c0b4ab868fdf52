# SPDX-License-Identifier: Apache-2.0
"""The constants of the Python binding, and its lists of functions."""

import re

from .c import member
from .text import Problem, replace

MESSAGES = "bindings/python/src/core/messages.c"
ABI = "bindings/python/dlbridge/abi.py"
STUBS = "bindings/python/dlbridge/_describe.pyi"
# Functions of abi.py that are not functions of the library: those of the extension, and its own.
OF_EXTENSION = ("capsule", "host_accessible_answer", "library_file")
OWN = ("exchange_tables", "name_of", "names_of", "tensor_at")

HEAD = '''\
# Generated from facts/ by tools/facts.py; do not edit.
# SPDX-License-Identifier: Apache-2.0
"""The enumerations of dlbridge.h and dlpack.h. Values that are not listed here are possible: they
stay plain integers."""

from enum import IntEnum, IntFlag

# Newest DLPack release that this package knows.
NEWEST_DLPACK = ({newest})
'''
TAIL = '''

def name_of(kind: type[IntEnum], value: int) -> str:
    """The name of a value, or the number if it has no name."""
    try:
        return kind(value).name
    except ValueError:
        return str(value)


def names_of(kind: type[IntFlag], bits: int) -> list[str]:
    """The names of the bits that are set, lowest first; for a bit without a name, its value."""
    known = {flag.value: str(flag.name) for flag in kind.__members__.values()}
    return [known.get(1 << i, str(1 << i)) for i in range(bits.bit_length()) if bits >> i & 1]
'''


def constants(facts):
    newest = facts.dlpack["newest"].replace(".", ", ")
    statuses = [(one.name.removeprefix("ERROR_"), one.number) for one in facts.statuses]
    flags = "DLPack's flags of a versioned tensor (DLPACK_FLAG_BITMASK_*)."
    return "".join(
        [
            HEAD.format(newest=newest),
            _class("Status", "Outcome of a call (DLBridgeStatus).", statuses),
            _class("Rule", "Which rule a tensor broke (DLBridgeRule).", _plain(facts.rules)),
            *map(_group, facts.groups),
            _class("TensorFlag", flags, _bits(facts.flags), "IntFlag"),
            _class("DeviceType", "DLPack's device types (DLDeviceType).", _plain(facts.devices)),
            _class("DtypeCode", "DLPack's dtype codes (DLDataTypeCode).", _plain(facts.dtypes)),
            TAIL,
        ]
    )


def _plain(items):
    return [(one.name, one.number) for one in items]


def _bits(items):
    return [(one.name, f"1 << {one.number}") for one in items]


def _group(group):
    python = group["python"]
    if group["bits"]:
        return _class(python["type"], python["doc"], _bits(group.members), "IntFlag")
    return _class(python["type"], python["doc"], _plain(group.members))


def _class(name, doc, rows, base="IntEnum"):
    body = "".join(f"    {constant} = {value}\n" for constant, value in rows)
    return f'\n\nclass {name}({base}):\n    """{doc}"""\n\n{body}'


def regions(facts):
    names = [member(one) for one in facts.functions]
    described = sorted((*names, *OF_EXTENSION))
    yield ABI, "facts/functions.toml describe", "".join(f"    {name},\n" for name in described)
    everything = sorted((*described, *OWN))
    yield ABI, "facts/functions.toml all", "".join(f'    "{name}",\n' for name in everything)
    yield MESSAGES, "facts/rules.toml", _remedies(facts)


# What a program in Python does instead of a remedy that has names of C, by the rule.
VERSIONED = "request it with max_version=(1, 0)"
REMEDIES = {
    "STRIDES_NULL": "set them in the producer",
    "DTYPE_LANES_SCALABLE": "convert it to a dtype of known size",
    "DTYPE_UNKNOWN": "convert it to a known dtype",
    "DEVICE_UNKNOWN": "move it to a known device",
    "FLAGS_UNKNOWN": "clear the bit in the producer",
    "CONTIGUITY": "copy it to that layout; copy=True makes C order",
    "ALIGNMENT": "copy it to aligned memory; copy=True aligns to 256 bytes",
    "DEVICE_REJECTED": "copy it to a listed device",
    "NOT_WRITABLE": "make a writable copy with copy=True",
    "NEGATIVE_STRIDE": "make a compact copy with copy=True",
    "ZERO_STRIDE": "make a compact copy with copy=True",
    "SELF_OVERLAP": "make a compact copy with copy=True",
    "REQUIRED_VERSION": "request a newer version",
    "LEGACY_READ_ONLY": f"{VERSIONED} or copy=True, or export it with drop_read_only=True",
    "LEGACY_PADDED": "request it with max_version=(1, 1), or use dlbridge.adapt(x, copy=True)",
    "LEGACY_DTYPE": f"{VERSIONED}, or export it with allow_newer_codes=True",
    "LEGACY_DEVICE": f"{VERSIONED}, or export it with allow_newer_codes=True",
    "OFFSET_FOLD": "keep the byte_offset",
    "IN_STORAGE": "import it with from_dlpack",
    "COPY_DEVICE": 'copy it with device="cpu"',
}


def _remedies(facts):
    """Rows of the remedies with names of C; rules with the same remedy share a row. One may begin
    with another, so the longest are first."""
    rows = {}
    for rule in facts.rules:
        named = re.search(r"dlbridge_|DLBRIDGE_", rule.more.get("remedy", "")) is not None
        if named != (rule.name in REMEDIES):
            which = "add one" if named else "remove it"
            raise Problem(f"tools/facts_lib/python.py: REMEDIES: {which} for the rule {rule.name}")
        if named:
            rows.setdefault(rule.more["remedy"], REMEDIES[rule.name])
    longest_first = sorted(rows.items(), key=lambda row: -len(row[0]))
    return "".join(f"    {{{_quoted(c)},\n     {_quoted(text)}}},\n" for c, text in longest_first)


def _quoted(text):
    escaped = text.replace('"', '\\"')
    return f'"{escaped}"'


# The Python types that dlbridge.abi uses for the types of C.
TYPES = {
    "DLDevice": "tuple[int, int]",
    "DLDataType": "tuple[int, int, int]",
    "DLPackVersion": "tuple[int, int]",
    "const char *": "str",
    "void": "None",
    "DLBridgeStatus": "None",
}


def stubs(facts, declared, text):
    """The stubs, with a generated line for each function that has no line by hand."""
    by_hand = text[: text.index("[facts/functions.toml]")]
    lines = []
    for one in facts.functions:
        if not re.search(rf"^def {member(one)}\(", by_hand, re.MULTILINE):
            lines.append(_stub(member(one), declared[f"dlbridge_{one.name}"]))
    return replace(text, "facts/functions.toml", "".join(lines), STUBS)


def _stub(name, declared):
    parameters, results = [], []
    for kind, what in declared["parameters"]:
        if kind.endswith("*") and not kind.startswith("const ") and what != "error":
            results.append(TYPES.get(kind[:-1].strip(), "int"))
        elif what != "error":
            parameters.append(f"{what}: {TYPES.get(kind, 'int')}")
    result = TYPES.get(declared["result"], "int")
    results = results if result == "None" else [result, *results]
    answer = f"tuple[{', '.join(results)}]" if len(results) > 1 else (results or ["None"])[0]
    return f"def {name}({', '.join(parameters)}) -> {answer}: ...\n"
