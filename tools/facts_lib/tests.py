# SPDX-License-Identifier: Apache-2.0
"""The parts of tests that are generated: names and releases of codes, and lists of functions."""

from .c import in_table, member
from .load import UPSTREAM, version


def regions(facts):
    model = "tests/conformance/model.py"
    yield model, "facts/dlpack.toml", _newest(facts)
    yield model, "facts/dtypes.toml", "".join(map(_dtype, facts.dtypes))
    yield model, "facts/devices.toml", "".join(map(_device, facts.devices))
    yield model, "facts/devices.toml data", _device_sets(facts)
    yield "tests/headers/dlpack_layout.h", "facts/dlpack.toml", _values(facts)
    yield "tests/conformance/corpus.py", "facts/rules.toml", _statuses(facts)
    yield "tests/unit/api_test.cc", "facts/functions.toml", _members(facts)
    numbers = "tests/support/last_numbers.h"
    last = f"DLBRIDGE_{facts.statuses[-1].name}"
    yield numbers, "facts/statuses.toml", _last("Status", last, last)
    last = facts.rules[-1].name
    yield numbers, "facts/rules.toml", _last("Rule", f"DLBRIDGE_RULE_{last}", last)
    yield from _python(facts)


def _release(since):
    return "NO_RELEASE" if since == UPSTREAM else f"({since.replace('.', ', ')})"


def _newest(facts):
    return f"NEWEST = {_release(facts.dlpack['newest'])}\n"


def _dtype(one):
    bits = one["fixed_bits"] or None
    return f'    {one.number}: ("{one["name"]}", {_release(one.since)}, {bits}),\n'


def _device(one):
    return f'    {one.number}: ("{one["name"]}", {_release(one.since)}),\n'


def _device_sets(facts):
    def of(holds):
        return "{" + ", ".join(str(one.number) for one in facts.devices if holds(one)) + "}"

    readable = [f'    {one.number}: "{one["readable"].upper()}",\n' for one in facts.devices]
    return (
        f"ADDRESS_DEVICES = {of(lambda one: one['data'] == 'address')}\n"
        f"HANDLE_DEVICES = {of(lambda one: one['data'] == 'handle')}\n"
        f"HOST_DEVICES = {of(lambda one: one['host_like'])}\n"
        f"READABLE = {{\n{''.join(readable)}}}\n"
    )


def _values(facts):
    """The constants by release, which the compiler compares with any dlpack.h."""
    known = {}
    for one in (*facts.devices, *facts.dtypes):
        at = version(one.since) or 199
        known.setdefault(at, []).append(f"VALUE(kDL{one.name}, {one.number});\n")
    for one in facts.flags:
        line = f"VALUE(DLPACK_FLAG_BITMASK_{one.name}, {1 << one.number});\n"
        known[version(one.since)].append(line)
    return "".join(
        "".join(known[at]) if at <= 6 else f"#if DLPACK_FACTS >= {at}\n{''.join(known[at])}#endif\n"
        for at in sorted(known)
    )


def _members(facts):
    return "".join(f"  DLBRIDGE_MEMBER({member(one)}, {one.name});\n" for one in in_table(facts))


def _statuses(facts):
    rejecting = [one for one in facts.rules if one["status"] != "OK"]
    return "".join(f'    "{one.name}": "{one["status"]}",\n' for one in rejecting)


def _last(kind, constant, name):
    return (
        f"constexpr DLBridge{kind} kLast{kind} = {constant};\n"
        f'constexpr const char* kLast{kind}Name = "{name}";\n'
    )


def _python(facts):
    folder = "bindings/python/tests"
    rows = [
        f'    "{one.name.removeprefix("ERROR_")}": {one["python"]},\n' for one in facts.statuses[1:]
    ]
    yield f"{folder}/corpus_calls.py", "facts/statuses.toml", "".join(rows)
    # Rules that no tensor breaks by itself: policies, conversions, views and drivers apply them.
    rows = [f'    "{one.name}",\n' for one in facts.rules if not _of_tensors(one)]
    yield f"{folder}/test_inspect.py", "facts/rules.toml", "".join(rows)


def _of_tensors(rule):
    return any(word in rule["source"] for word in ("DLPack", "dlbridge"))
