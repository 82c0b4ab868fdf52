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
    "wrap_vouched": "wrap, the caller vouches + release",
    "wrap": "wrap, validated + release",
    "tvm_import_export": "tvm-ffi: import, export, release",
    "tvm_export": "tvm-ffi: export, release",
}

TARGETS = {
    ("validate", 1): (0.7, 115),
    ("validate", 4): (1.1, 180),
    ("validate", 8): (1.6, 270),
    ("upgrade", 1): (2.0, 325),
    ("upgrade", 4): (2.4, 400),
    ("upgrade", 8): (2.9, 500),
    ("upgrade_vouched", 1): (1.75, 260),
    ("upgrade_vouched", 4): (1.9, 290),
    ("upgrade_vouched", 8): (2.3, 340),
    ("upgrade_into", 1): (1.1, 165),
    ("upgrade_into", 4): (1.4, 245),
    ("upgrade_into", 8): (2.0, 345),
    ("downgrade", 4): (1.6, 200),
    ("share", 4): (1.6, 200),
}
# The target is the cost of another operation in the same run.
LIKE = {"wrap_vouched": "upgrade_vouched"}
PERMUTED_TARGETS = {("validate", 4): (1.6, 260)}


def target(operation, ndim, strides, unit, found):
    """`unit` is 0 for the multiple and 1 for instructions; None without a target."""
    if operation in LIKE:
        return found.get((LIKE[operation], ndim, strides))
    table = PERMUTED_TARGETS if strides == "permuted" else TARGETS
    pair = table.get((operation, ndim))
    return pair[unit] if pair else None


def cell(value, goal, digits):
    """Such as "2.21 (2.4)", with an exclamation mark if the target is missed."""
    if value is None:
        return ""
    text = f"{value:.{digits}f}"
    if goal is None:
        return text
    return f"{text} ({goal:.4g}){'!' if value > goal else ''}"


def table(found, unit, digits):
    """Lines of the table; `found` maps (operation, ndim, strides) to a number."""
    line = "{:<39}{:<10}" + "{:<17}" * len(NDIMS)
    yield line.format("operation", "strides", *(f"ndim {ndim}" for ndim in NDIMS)).rstrip()
    for operation, title in ROWS.items():
        for strides in STRIDES:
            values = [found.get((operation, ndim, strides)) for ndim in NDIMS]
            if not any(values):
                continue
            goals = [target(operation, ndim, strides, unit, found) for ndim in NDIMS]
            cells = [cell(v, g, digits) for v, g in zip(values, goals)]
            yield line.format(title, strides, *cells).rstrip()
