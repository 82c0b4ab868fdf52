# SPDX-License-Identifier: Apache-2.0
"""What the tests take from the facts: names and releases of codes, and lists of functions."""

from .c import in_table, member
from .load import UPSTREAM, version


def regions(facts):
    model = "tests/conformance/model.py"
    yield model, "facts/dlpack.toml", _newest(facts)
    yield model, "facts/dtypes.toml", "".join(map(_dtype, facts.dtypes))
    yield model, "facts/devices.toml", "".join(map(_device, facts.devices))
    yield model, "facts/devices.toml data", _device_sets(facts)
    yield "tests/headers/dlpack_layout.h", "facts/dlpack.toml", _values(facts)
    yield "tests/unit/api_test.cc", "facts/functions.toml", _members(facts)


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

    return (
        f"ADDRESS_DEVICES = {of(lambda one: one['data'] == 'address')}\n"
        f"HANDLE_DEVICES = {of(lambda one: one['data'] == 'handle')}\n"
        f"HOST_DEVICES = {of(lambda one: one['host_like'])}\n"
    )


def _values(facts):
    """The constants by the release that has them, for the compiler to compare with any dlpack.h."""
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
