# SPDX-License-Identifier: Apache-2.0
"""The enumerations and the list of functions of the C++ binding."""

from .c import in_table, member

FOLDER = "bindings/cpp/include/dlbridge/hpp"
# The header of the binding that has the enumeration of a group.
GROUPS = {
    "KIND": "import.hpp",
    "ANSWER": "describe.hpp",
    "CONTIGUITY": "options.hpp",
    "SEVERITY": "describe.hpp",
    "BACKEND": "stream.hpp",
    "STATE": "drivers.hpp",
    "BUFFER": "make.hpp",
    "MEMORY": "drivers.hpp",
    "STREAM": "stream.hpp",
    "HANDOFF": "stream.hpp",
    "COLLECT": "async.hpp",
    "POINTER_INFO": "drivers.hpp",
}


def regions(facts):
    error = f"{FOLDER}/error.hpp"
    short = [(one.name.removeprefix("ERROR_").lower(), one.name) for one in facts.statuses]
    yield error, "facts/statuses.toml", _rows("DLBRIDGE_", short)
    rules = [(one.name.lower(), one.name) for one in facts.rules]
    yield error, "facts/rules.toml", _rows("DLBRIDGE_RULE_", rules)
    for group in facts.groups:
        if group.name in GROUPS:
            names = [(one["cpp"] or one.name.lower(), one.name) for one in group.members]
            path = f"{FOLDER}/{GROUPS[group.name]}"
            yield path, f"facts/enums.toml {group.name}", _rows(group.prefix, names)
    table = [
        f"DLBRIDGE_HPP_FUNCTION({member(one)}, dlbridge_{one.name})\n" for one in in_table(facts)
    ]
    yield f"{FOLDER}/abi.hpp", "facts/functions.toml", "".join(table)


def _rows(prefix, names):
    return "".join(f"  {name} = {prefix}{constant},\n" for name, constant in names)
