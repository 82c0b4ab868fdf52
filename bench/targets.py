# SPDX-License-Identifier: Apache-2.0
"""The targets, and how both reports print them.

A target is (multiple of malloc + free of 128 bytes, instructions) by operation and ndim, for
contiguous float32; "permuted" has its own table.
"""

NDIMS = (1, 4, 8)
STRIDES = ("given", "null", "permuted")

ROWS = {
    "validate": "validate",
    "upgrade": "upgrade validated + release",
    "upgrade_writable": "the same, options given",
    "upgrade_vouched": "upgrade, the caller vouches + release",
    "upgrade_into": "upgrade_into, validated + release",
    "downgrade": "downgrade + release",
    "share": "share + release",
    "import": "import, legacy + release",
    "import_unknown": "import, kind unknown + release",
    "import_versioned": "import, versioned + release",
    "export": "export legacy to 1.3 + release",
    "upgrade_many_64": "upgrade_many of 64, per tensor + release",
    "upgrade_loop_64": "64 calls of upgrade, per tensor + release",
    "refuse_reported": "a refusal with an error struct",
    "refuse": "a refusal without one",
    "wrap_vouched": "wrap, the caller vouches + release",
    "wrap": "wrap, validated + release",
    "tvm_import_export": "tvm-ffi: import, export, release",
    "tvm_export": "tvm-ffi: export, release",
}

TARGETS = {
    ("validate", 1): (0.8, 110),
    ("validate", 4): (1.1, 145),
    ("validate", 8): (1.5, 183),
    ("upgrade", 1): (2.5, 325),
    ("upgrade", 4): (2.8, 375),
    ("upgrade", 8): (3.3, 438),
    ("upgrade_vouched", 4): (2.2, 285),
    ("upgrade_into", 4): (1.9, 245),
    ("upgrade_many_64", 4): (4.4, 575),
    ("downgrade", 4): (2.8, 375),
    ("share", 4): (1.9, 240),
    ("refuse_reported", 4): (9.0, 1200),
    ("refuse", 4): (1.5, 194),
}
# The target is the cost of another operation in the same run: (operation, factor, instructions
# more).
# malloc + free of 128 bytes, the other unit, are about 130 instructions.
LIKE = {
    "import": ("upgrade", 1.15, 0),
    "import_unknown": ("upgrade", 1, 90),
    "export": ("upgrade", 1.15, 0),
    "wrap_vouched": ("upgrade_vouched", 1, 0),
}
UNIT = 130
# Rows of growth_bench.
GROWTH = {
    "bytes_per_tensor/4": 192,
    "registrations/10000": 50,
    "registrations_bytes/10000": 4 << 20,
    **{f"look_up/{entries}": 16 for entries in (1, 10, 100, 1000, 10000)},
    "dlopen_and_first_call": 60,
}
PERMUTED_TARGETS = {("validate", 4): (1.6, 260)}


def multiples(rows):
    """Maps (operation, ndim, strides) of the rows of the core to their multiple of the unit, whose
    own row has another name."""
    keys = ((row["name"].split("/"), row["multiple"]) for row in rows if "/" in row["name"])
    return {(operation, int(ndim), strides): value for (operation, ndim, strides), value in keys}


def target(operation, ndim, strides, unit, found):
    """`unit` is 0 for the multiple and 1 for instructions; None without a target."""
    if operation in LIKE:
        other, factor, more = LIKE[operation]
        cost = found.get((other, ndim, strides))
        return None if cost is None else cost * factor + more / (1 if unit == 1 else UNIT)
    table = PERMUTED_TARGETS if strides == "permuted" else TARGETS
    pair = table.get((operation, ndim))
    return pair[unit] if pair else None


def cell(value, goal, digits, sure=True):
    """Such as "2.21 (2.4)", with an exclamation mark if the target is missed, and a question mark
    if the run decides nothing."""
    if value is None:
        return ""
    text = f"{value:.{digits}f}"
    if goal is None:
        return text
    mark = "" if value <= goal else "!"
    return f"{text} ({goal:.4g}){mark if sure else '?'}"


def table(found, unit, digits, sure=True):
    """Lines of the table; `found` maps (operation, ndim, strides) to a number."""
    line = "{:<42}{:<10}" + "{:<17}" * len(NDIMS)
    yield line.format("operation", "strides", *(f"ndim {ndim}" for ndim in NDIMS)).rstrip()
    for operation, title in ROWS.items():
        for strides in STRIDES:
            values = [found.get((operation, ndim, strides)) for ndim in NDIMS]
            if not any(values):
                continue
            goals = [target(operation, ndim, strides, unit, found) for ndim in NDIMS]
            cells = [cell(v, g, digits, sure) for v, g in zip(values, goals)]
            yield line.format(title, strides, *cells).rstrip()
