# SPDX-License-Identifier: Apache-2.0
"""The rules of the specification and dlbridge's decisions, in plain Python with unbounded integers.

The expectations of the corpus come from here, not from the library: the two were written
separately, so that a mistake in one shows. Only the wording of messages is recorded from the
library.
"""

import itertools
from fractions import Fraction

INT64_MAX = 2**63 - 1
UINT64 = 2**64
# [facts/dlpack.toml]
NEWEST = (1, 3)
# [/facts]
MAX_NDIM = 64
NO_RELEASE = (99, 0)
READ_ONLY, IS_COPIED, PADDED = 1, 2, 4

# code: (name, since, the only width or None)
DTYPES = {
    # [facts/dtypes.toml]
    0: ("int", (0, 2), None),
    1: ("uint", (0, 2), None),
    2: ("float", (0, 2), None),
    3: ("opaque", (0, 4), None),
    4: ("bfloat", (0, 3), 16),
    5: ("complex", (0, 4), None),
    6: ("bool", (0, 8), 8),
    7: ("float8_e3m4", (1, 1), 8),
    8: ("float8_e4m3", (1, 1), 8),
    9: ("float8_e4m3b11fnuz", (1, 1), 8),
    10: ("float8_e4m3fn", (1, 1), 8),
    11: ("float8_e4m3fnuz", (1, 1), 8),
    12: ("float8_e5m2", (1, 1), 8),
    13: ("float8_e5m2fnuz", (1, 1), 8),
    14: ("float8_e8m0fnu", (1, 1), 8),
    15: ("float6_e2m3fn", (1, 1), 6),
    16: ("float6_e3m2fn", (1, 1), 6),
    17: ("float4_e2m1fn", (1, 1), 4),
    18: ("bcomplex", NO_RELEASE, None),
    # [/facts]
}

# type: (name, since)
DEVICES = {
    # [facts/devices.toml]
    1: ("cpu", (0, 2)),
    2: ("cuda", (0, 2)),
    3: ("cuda_host", (0, 2)),
    4: ("opencl", (0, 2)),
    7: ("vulkan", (0, 3)),
    8: ("metal", (0, 2)),
    9: ("vpi", (0, 2)),
    10: ("rocm", (0, 2)),
    11: ("rocm_host", (0, 6)),
    12: ("ext_dev", (0, 3)),
    13: ("cuda_managed", (0, 6)),
    14: ("oneapi", (0, 7)),
    15: ("webgpu", (0, 7)),
    16: ("hexagon", (0, 7)),
    17: ("maia", (1, 0)),
    18: ("trn", (1, 2)),
    19: ("tpu", NO_RELEASE),
    20: ("tpu_host", NO_RELEASE),
    21: ("ascend", NO_RELEASE),
    # [/facts]
}
# The first numbers that no list has.
NEXT_DTYPE, NEXT_DEVICE = max(DTYPES) + 1, max(DEVICES) + 1
# [facts/devices.toml data]
ADDRESS_DEVICES = {1, 2, 3, 10, 11, 13, 14}
HANDLE_DEVICES = {4, 7, 8, 9, 15}
HOST_DEVICES = {1, 3, 11, 13}
READABLE = {
    1: "YES",
    2: "NO",
    3: "YES",
    4: "NO",
    7: "NO",
    8: "NO",
    9: "NO",
    10: "NO",
    11: "YES",
    12: "UNDECIDED",
    13: "YES",
    14: "UNDECIDED",
    15: "NO",
    16: "UNDECIDED",
    17: "NO",
    18: "NO",
    19: "UNDECIDED",
    20: "UNDECIDED",
    21: "UNDECIDED",
}
# [/facts]


def dtype_since(code):
    return DTYPES[code][1] if code in DTYPES else NO_RELEASE


def device_since(code):
    return DEVICES[code][1] if code in DEVICES else NO_RELEASE


def flags_since(flags):
    if flags & ~7:
        return NO_RELEASE
    if flags & PADDED:
        return (1, 1)
    return (1, 0) if flags else (0, 2)


def required(tensor, flags):
    return max(
        dtype_since(tensor["dtype"][0]), device_since(tensor["device"][0]), flags_since(flags)
    )


def unknown_rule(tensor):
    """The rule of the first code that no release knows; flags are checked last."""
    if dtype_since(tensor["dtype"][0]) == NO_RELEASE:
        return "DTYPE_UNKNOWN"
    if device_since(tensor["device"][0]) == NO_RELEASE:
        return "DEVICE_UNKNOWN"
    return "FLAGS_UNKNOWN"


def item_bits(dtype, flags):
    bits = dtype[1] * dtype[2]
    return -(-bits // 8) * 8 if flags & PADDED else bits


def compact_strides(shape):
    """Products of max(1, later extents); 0 from the axis on where the product overflows."""
    strides, product = [], 1
    for extent in reversed(shape):
        strides.append(product)
        product *= max(1, extent)
        if product > INT64_MAX:
            product = 0
    return strides[::-1]


class Layout:
    def __init__(self, tensor, flags):
        self.shape = [int(n) for n in tensor["shape"] or []]
        self.given = tensor["strides"] is not None
        self.strides = (
            [int(n) for n in tensor["strides"]] if self.given else compact_strides(self.shape)
        )
        self.bits = item_bits(tensor["dtype"], flags)
        self.empty = 0 in self.shape
        self.count = 1
        for extent in self.shape:
            self.count *= extent
        self.first = self.last = 0
        if not self.empty:
            for extent, stride in zip(self.shape, self.strides):
                reach = (extent - 1) * stride
                self.first += min(reach, 0)
                self.last += max(reach, 0)
        limit = 0 if self.empty else self.last + 1
        self.begin = self.first * self.bits // 8
        self.end = -(-limit * self.bits // 8)
        self.packed = -(-self.count * self.bits // 8)

    def axes(self):
        """Axes with a relevant stride: longer than 1, in a tensor that is not empty."""
        if self.empty:
            return []
        return [(i, n, s) for i, (n, s) in enumerate(zip(self.shape, self.strides)) if n > 1]

    def c_contiguous(self):
        return self.empty or all(
            s == c
            for n, s, c in zip(self.shape, self.strides, compact_strides(self.shape))
            if n != 1
        )

    def f_contiguous(self):
        product = 1
        for _, extent, stride in self.axes():
            if stride != product:
                return False
            product *= extent
        return True

    def overlap(self):
        """Lists all offsets; only for layouts that are small enough."""
        if self.empty or self.c_contiguous():
            return "NO"
        axes = self.axes()
        if any(s == 0 for _, _, s in axes):
            return "YES"
        assert self.count <= 1 << 16, "too large to list: state the answer in the case"
        seen = set()
        for index in itertools.product(*[range(n) for _, n, _ in axes]):
            place = sum(i * s for i, (_, _, s) in zip(index, axes))
            if place in seen:
                return "YES"
            seen.add(place)
        return "NO"


def alignment(tensor):
    address = int(tensor["byte_offset"])
    if tensor["device"][0] not in HANDLE_DEVICES:
        address += int(tensor["data"])
    address %= UINT64
    return address & -address


def natural_alignment(dtype):
    bits = Fraction(dtype[1], 2) if dtype[0] in (5, 18) else Fraction(dtype[1])
    size = bits / 8
    return (
        int(size) if size >= 1 and size.denominator == 1 and size & (size.numerator - 1) == 0 else 1
    )


class Broken(Exception):
    def __init__(self, rule, axis=-1):
        super().__init__(rule)
        self.rule, self.axis = rule, axis


def consumer_version(policy):
    major, minor = policy.get("version", [0, 0])
    if major == 0 and minor == 0:
        return NEWEST
    return min((major, minor), (0, 8) if major == 0 else NEWEST)


def check_dtype(dtype, allowed):
    code, bits, lanes = dtype
    fixed = DTYPES[code][2] if code in DTYPES else None
    if bits == 0:
        raise Broken("DTYPE_BITS_ZERO")
    if fixed and bits != fixed:
        raise Broken("DTYPE_BITS_FIXED")
    if lanes == 0:
        raise Broken("DTYPE_LANES_ZERO")
    if lanes >= 0x8000 and "ALLOW_SCALABLE_LANES" not in allowed:
        raise Broken("DTYPE_LANES_SCALABLE")


def check_unknowns(tensor, flags, policy):
    allowed = policy.get("options", [])
    speaks = consumer_version(policy)
    if "REJECT_UNKNOWN_DTYPE" in allowed and dtype_since(tensor["dtype"][0]) > speaks:
        raise Broken("DTYPE_UNKNOWN")
    if "REJECT_UNKNOWN_DEVICE" in allowed and device_since(tensor["device"][0]) > speaks:
        raise Broken("DEVICE_UNKNOWN")
    if "REJECT_UNKNOWN_FLAGS" in allowed and flags & ~(7 if speaks >= (1, 1) else 3):
        raise Broken("FLAGS_UNKNOWN")


def check_lists(tensor, policy):
    kind, index = tensor["device"]
    devices = policy.get("devices")
    if devices is not None and not any(d[0] == kind and d[1] in (-1, index) for d in devices):
        raise Broken("DEVICE_REJECTED")
    if policy.get("dtypes") is not None and list(tensor["dtype"]) not in policy["dtypes"]:
        raise Broken("DTYPE_REJECTED")


def check_pointers(tensor, version, allowed):
    if tensor["ndim"] == 0:
        if int(tensor["data"]) == 0:
            raise Broken("DATA_NULL")
        return
    if tensor["shape"] is None:
        raise Broken("SHAPE_NULL")
    if tensor["strides"] is None and version >= (1, 2) and "ALLOW_NULL_STRIDES" not in allowed:
        raise Broken("STRIDES_NULL")


def check_ndim(ndim, policy):
    if ndim < 0:
        raise Broken("NDIM_NEGATIVE")
    least, most = ndim_limits(policy)
    if ndim > MAX_NDIM or not least <= ndim <= most:
        raise Broken("NDIM_LIMIT")


def ndim_limits(policy):
    """Smallest and largest ndim accepted: an exact shape gives both."""
    if policy.get("shape") is not None:
        return len(policy["shape"]), len(policy["shape"])
    return policy.get("min_ndim", 0), policy.get("max_ndim", MAX_NDIM)


def check_exact_shape(layout, policy):
    for axis, (extent, wanted) in enumerate(zip(layout.shape, policy.get("shape") or [])):
        if int(wanted) not in (-1, extent):
            raise Broken("SHAPE_MISMATCH", axis)


def check_struct(tensor, flags, version, may_write, policy):
    allowed = policy.get("options", [])
    check_ndim(tensor["ndim"], policy)
    check_dtype(tensor["dtype"], allowed)
    if tensor["device"][1] < 0:
        raise Broken("DEVICE_ID_NEGATIVE")
    check_unknowns(tensor, flags, policy)
    check_lists(tensor, policy)
    if "REQUIRE_WRITABLE" in allowed and not may_write:
        raise Broken("NOT_WRITABLE")
    check_pointers(tensor, version, allowed)


def check_extent(layout):
    for axis, extent in enumerate(layout.shape):
        if extent < 0:
            raise Broken("EXTENT_NEGATIVE", axis)
    if layout.empty:
        return
    if layout.count > INT64_MAX:
        raise Broken("COUNT_OVERFLOW")
    if not layout.c_contiguous() and not (
        layout.first >= -INT64_MAX - 1 and layout.last + 1 <= INT64_MAX
    ):
        raise Broken("OFFSET_OVERFLOW")
    if layout.packed > INT64_MAX:
        raise Broken("SIZE_OVERFLOW")
    if layout.end > INT64_MAX or layout.begin < -INT64_MAX - 1:
        raise Broken("OFFSET_OVERFLOW")


def check_place(tensor, layout):
    if layout.empty:
        return
    data, offset = int(tensor["data"]), int(tensor["byte_offset"])
    if data == 0:
        raise Broken("DATA_NULL")
    address = tensor["device"][0] in ADDRESS_DEVICES
    start = offset + (data if address else 0)
    if start + layout.end >= UINT64 or (address and start + layout.begin < 0):
        raise Broken("ADDRESS_RANGE")
    if tensor["device"][0] in HANDLE_DEVICES and start + layout.begin < 0:
        raise Broken("HANDLE_RANGE")


def check_demands(tensor, layout, policy):
    allowed = policy.get("options", [])
    offset = int(tensor["byte_offset"])
    if "buffer_size" in policy and not layout.empty:
        limit = int(policy["buffer_size"])
        if offset + layout.begin < 0 or offset + layout.end > limit:
            raise Broken("BUFFER_BOUNDS")
    wanted = policy.get("contiguity", "ANY")
    c_order, f_order = layout.c_contiguous(), layout.f_contiguous()
    met = {"ANY": True, "C": c_order, "F": f_order, "C_OR_F": c_order or f_order}[wanted]
    if not met:
        raise Broken("CONTIGUITY")
    demanded = int(policy.get("alignment", 0))
    if demanded and not layout.empty and 0 < alignment(tensor) < demanded:
        raise Broken("ALIGNMENT")
    for axis, _, stride in layout.axes():
        if stride < 0 and "REJECT_NEGATIVE_STRIDES" in allowed:
            raise Broken("NEGATIVE_STRIDE", axis)
        if stride == 0 and "REJECT_ZERO_STRIDES" in allowed:
            raise Broken("ZERO_STRIDE", axis)
    distinct = "REQUIRE_WRITABLE" in allowed and "ALLOW_SELF_OVERLAP" not in allowed
    if distinct and layout.overlap() != "NO":
        raise Broken("SELF_OVERLAP")


def validate(tensor, policy=None, vouched=False):
    """(rule, axis) of the first broken rule, or ("NONE", -1)."""
    policy = policy or {}
    flags = int(tensor.get("flags", 0))
    version = (0, 0)
    vouched = vouched or "VOUCH_WRITABLE" in policy.get("options", [])
    may_write = vouched and not flags & READ_ONLY
    try:
        if tensor["kind"] == "VERSIONED":
            version = tuple(tensor["version"])
            may_write = not flags & READ_ONLY
            if version[0] != 1:
                raise Broken("VERSION_MAJOR")
        check_struct(tensor, flags, version, may_write, policy)
        if policy.get("level", "METADATA") == "METADATA":
            layout = Layout(tensor, flags)
            check_extent(layout)
            check_exact_shape(layout, policy)
            check_place(tensor, layout)
            check_demands(tensor, layout, policy)
    except Broken as broken:
        return broken.rule, broken.axis
    return "NONE", -1


def describe(tensor, overlap=None):
    """The fields of DLBridgeLayout."""
    flags = int(tensor.get("flags", 0))
    layout = Layout(tensor, flags)
    axes = layout.axes() if layout.given else []
    zero = sum(1 << i for i, _, s in axes if s == 0 and i < 64)
    negative = sum(1 << i for i, _, s in axes if s < 0 and i < 64)
    names = {
        "EMPTY": layout.empty,
        "C_CONTIGUOUS": layout.c_contiguous(),
        "F_CONTIGUOUS": layout.empty or layout.f_contiguous(),
        "BROADCAST": any(s == 0 for _, _, s in axes),
        "NEGATIVE_STRIDES": any(s < 0 for _, _, s in axes),
        "PADDED": item_bits(tensor["dtype"], flags) != item_bits(tensor["dtype"], 0),
        "OPAQUE": tensor["device"][0] in HANDLE_DEVICES,
    }
    return {
        "properties": [name for name, holds in names.items() if holds],
        "item_bits": layout.bits,
        "self_overlap": overlap or layout.overlap(),
        "element_count": str(layout.count),
        "packed_bytes": str(layout.packed),
        "begin": str(layout.begin),
        "end": str(layout.end),
        "broadcast_axes": str(zero),
        "negative_axes": str(negative),
        "alignment": str(alignment(tensor)),
    }


def dtype_name(dtype):
    code, bits, lanes = dtype
    name, _, fixed = DTYPES.get(code, (None, None, None))
    if name is None or bits == 0 or lanes == 0 or (fixed and fixed != bits):
        return f"dtype({code},{bits},{lanes})"
    width = str(bits) if fixed is None or code == 4 else ""
    return name + width + (f"x{lanes}" if lanes != 1 else "")


def device_name(device):
    kind, index = device
    name = DEVICES[kind][0] if kind in DEVICES else f"device({kind})"
    return f"{name}:{index}"
