# SPDX-License-Identifier: Apache-2.0
"""Arguments that only a caller of the C ABI can get wrong, and settings outside their range."""

import functools

from corpus import bad_argument, error, ok, step, tensor, versioned

SPEC = {"shape": ["6"]}
NEW = {"shape": ["2"], "device": [1, 0], "dtype": [2, 32, 1]}

# Every function with the arguments that must not be NULL, and a call that would succeed.
NEEDS = {
    "validate": ({"in": "b"}, ["tensor"]),
    "validate_legacy": ({"in": "l"}, ["tensor"]),
    "validate_versioned": ({"in": "v"}, ["tensor"]),
    "diagnose": ({"in": "b"}, ["tensor", "count", "findings"]),
    "layout": ({"in": "b"}, ["tensor", "out"]),
    "tensor_format": ({"in": "b"}, ["tensor", "buffer", "length"]),
    "dtype_format": ({"dtype": [2, 32, 1]}, ["buffer", "length"]),
    "dtype_parse": ({"text": "float32"}, ["text", "out"]),
    "device_format": ({"device": [1, 0]}, ["buffer", "length"]),
    "device_parse": ({"text": "cpu"}, ["text", "out"]),
    "required_version": ({"in": "b"}, ["tensor", "out"]),
    "negotiate": ({"producer": [1, 3], "consumer": [1, 3]}, ["kind", "version"]),
    "exchange_api_find": ({"chain": [{"version": [1, 3]}], "consumer": [1, 3]}, ["chain", "out"]),
    "upgrade": ({"in": "l", "out": "o"}, ["source", "out"]),
    "upgrade_into": ({"in": "l", "out": "o"}, ["source", "storage", "out"]),
    "upgrade_many": ({"in": ["l"], "out": ["o"]}, ["sources", "source", "outs"]),
    "downgrade": ({"in": "v", "out": "o"}, ["source", "out"]),
    "adopt": ({"in": "v", "out": "o"}, ["source", "out"]),
    "convert": ({"in": "l", "out": "o", "target": [1, 3]}, ["source", "out", "out_kind"]),
    "share": ({"in": "a", "out": "o"}, ["tensor", "out"]),
    "view": ({"in": "a", "out": "o", "spec": SPEC}, ["tensor", "spec", "out"]),
    "allocate": ({"out": "o", "spec": NEW}, ["spec", "out"]),
}


def nulls(c):
    subjects = {"b": tensor("BARE"), "l": tensor(), "v": versioned(), "w": versioned()}
    adopt = step("adopt", ok(), **{"in": "w", "out": "a"})
    for function, (arguments, names) in NEEDS.items():
        for name in names:
            # A buffer may be missing where only the length is asked for, and the reverse.
            both = function.endswith("_format") and name == "length"
            null = ["length", "buffer"] if both else [name]
            extra = {"size": 0} if both else {}
            c.add(
                f"null/{function}/{name}",
                subjects,
                adopt,
                step(function, bad_argument(), null=null, **arguments, **extra),
                abi=True,
            )
    c.add(
        "null/release",
        {},
        step("release", ok(), null=["tensor"], kind="LEGACY"),
        step("release", ok(), null=["tensor"], kind="VERSIONED"),
        abi=True,
    )
    c.add(
        "null/pin_module/address",
        {},
        step("pin_module", bad_argument(), null=["address"]),
        abi=True,
    )
    c.add("null/identify", {}, step("identify", ok(kind="AMBIGUOUS"), null=["tensor"]), abi=True)
    c.add(
        "release/no-deleter", {"t": versioned(deleter=False)}, step("release", ok(), **{"in": "t"})
    )
    c.add(
        "release/no-deleter-legacy",
        {"t": tensor(deleter=False)},
        step("release", ok(), **{"in": "t"}),
    )
    for major in (0, 2, 77):
        c.add(
            f"release/major-{major}",
            {"t": versioned(version=[major, 0], ndim=-1)},
            step("release", ok(deleters={"t": 1}), **{"in": "t"}),
        )


# Every struct that a caller fills: where it goes in, and its reserved fields.
STRUCTS = {
    "policy": ("validate", {"in": "b"}, ["reserved0", "reserved_0", "reserved_1"]),
    "options": ("upgrade", {"in": "l", "out": "o"}, ["reserved_0", "reserved_1"]),
    "storage": ("upgrade_into", {"in": "l", "out": "o"}, ["reserved0"]),
    "spec": ("view", {"in": "a", "out": "o", "spec": SPEC}, ["reserved_0", "reserved_1"]),
    "new": ("allocate", {"out": "o", "spec": NEW}, ["reserved0", "reserved_0", "reserved_1"]),
    "allocator": ("allocate", {"out": "o", "spec": NEW, "allocator": "counts"}, ["reserved0"]),
    "layout": ("layout", {"in": "b"}, []),
}


def damaged_call(name, function, arguments, expect, **damage):
    return step(function, expect, **arguments, struct={"name": name, **damage})


def sizes(c):
    subjects = {"b": tensor("BARE"), "l": tensor(), "w": versioned()}
    adopt = step("adopt", ok(), **{"in": "w", "out": "a"})
    for name, (function, arguments, reserved) in STRUCTS.items():
        call = functools.partial(damaged_call, name, function, arguments)

        c.add(
            f"struct/{name}/smaller",
            subjects,
            adopt,
            call(bad_argument(), size="smaller"),
            abi=True,
        )
        c.add(f"struct/{name}/zero", subjects, adopt, call(bad_argument(), size="zero"), abi=True)
        c.add(f"struct/{name}/larger", subjects, adopt, call(ok(), size="larger"), abi=True)
        if name != "layout":
            c.add(
                f"struct/{name}/larger-and-set",
                subjects,
                adopt,
                call(error("ERROR_STRUCT_TOO_NEW"), size="larger", tail=1),
                abi=True,
            )
        for field in reserved:
            c.add(
                f"struct/{name}/{field}", subjects, adopt, call(bad_argument(), set=field), abi=True
            )
    c.add(
        "struct/error/other-size",
        {"b": tensor("BARE", ndim=-1)},
        step(
            "validate",
            {"status": "ERROR_INVALID_TENSOR"},
            **{"in": "b"},
            struct={"name": "error", "size": "smaller"},
        ),
        about="an error of another size is not wanted, and not written",
        abi=True,
    )
    for function in ("allocate", "deallocate"):
        c.add(
            f"struct/allocator/no-{function}",
            {},
            step(
                "allocate",
                bad_argument(),
                out="o",
                spec=NEW,
                allocator="counts",
                struct={"name": "allocator", "set": f"no_{function}"},
            ),
            abi=True,
        )


def ranges(c):
    subjects = {"t": tensor()}

    def policy(name, **fields):
        c.add(
            f"policy/refused/{name}",
            subjects,
            step("validate", bad_argument(), **{"in": "t"}, policy=fields),
            abi=True,
        )

    policy("level-0", level=0)
    policy("level-4", level=4)
    policy("version-2.0", version=[2, 0])
    policy("max-ndim-negative", max_ndim=-1)
    policy("contiguity-4", contiguity=4)
    policy("contiguity-negative", contiguity=-1)
    policy("alignment-3", alignment="3")
    policy("flags-10", flags_raw=1 << 10)
    policy("flags-31", flags_raw=1 << 31)
    policy("devices-null", devices="null-with-count")
    policy("dtypes-null", dtypes="null-with-count")
    for name, fields in {
        "negative": {"flags": ["REFUSE_NEGATIVE_STRIDES"]},
        "zero": {"flags": ["REFUSE_ZERO_STRIDES"]},
        "overlap": {"flags": ["REQUIRE_WRITABLE"]},
        "buffer": {"buffer_size": "64"},
        "alignment": {"alignment": "8"},
        "contiguity": {"contiguity": "C"},
    }.items():
        policy(f"struct-level-{name}", level="STRUCT", **fields)

    def options(name, **fields):
        c.add(
            f"options/refused/{name}",
            subjects,
            step("upgrade", bad_argument(), **{"in": "t", "out": "v"}, options=fields),
            abi=True,
        )

    options("flags-10", flags_raw=1 << 10)
    options("flags-31", flags_raw=1 << 31)
    options("policy-and-vouched", flags=["SKIP_VALIDATION"], policy={})
    options("policy-inside", flags=[], policy={"max_ndim": -1})
    for kind in (-1, 0, 4):
        c.add(
            f"diagnose/kind-{kind}",
            subjects,
            step("diagnose", bad_argument(), **{"in": "t"}, kind=kind),
            abi=True,
        )
    for kind in (-1, 0, 3):
        c.add(
            f"convert/kind-{kind}",
            subjects,
            step("convert", bad_argument(), **{"in": "t", "out": "o"}, kind=kind, target=[1, 3]),
            abi=True,
        )
    c.add(
        "diagnose/flags-of-legacy",
        subjects,
        step("diagnose", bad_argument(), **{"in": "t"}, flags="1"),
        abi=True,
    )
    c.add(
        "diagnose/capacity-1",
        {"t": tensor(shape=(-1, -2), strides=(1, 1))},
        step("diagnose", ok(count=2), **{"in": "t"}, capacity=1),
        abi=True,
    )
    c.add(
        "diagnose/capacity-0",
        {"t": tensor(shape=(-1, -2), strides=(1, 1))},
        step("diagnose", ok(count=2), **{"in": "t"}, capacity=0),
        abi=True,
    )


def memory(c):
    """Each allocation of each call fails once."""
    subjects = {
        "l": tensor(),
        "v": versioned(),
        "w": versioned(),
        "m": tensor(dtype=[1, 8, 1], bytes="000102030405", data=0),
    }
    adopt = step("adopt", ok(), **{"in": "w", "out": "a"})
    out_of_memory = error("ERROR_OUT_OF_MEMORY")
    copy = {"options": {"flags": ["COPY"]}}
    slow = {"options": {"flags": ["CANONICAL"]}}
    for name, function, arguments, count in (
        ("upgrade", "upgrade", {"in": "l"}, 1),
        ("upgrade-options", "upgrade", {"in": "l", **slow}, 1),
        ("upgrade-vouched", "upgrade", {"in": "l", "options": {"flags": ["SKIP_VALIDATION"]}}, 1),
        ("upgrade-copy", "upgrade", {"in": "m", **copy}, 1),
        ("downgrade", "downgrade", {"in": "v"}, 1),
        ("downgrade-options", "downgrade", {"in": "v", **slow}, 1),
        ("downgrade-ours", "downgrade", {"in": "a"}, 1),
        ("adopt", "adopt", {"in": "v"}, 1),
        ("share", "share", {"in": "a"}, 1),
        ("view", "view", {"in": "a", "spec": SPEC}, 1),
        ("allocate", "allocate", {"spec": NEW}, 1),
        ("allocate-apart", "allocate", {"spec": {**NEW, "shape": ["1024"]}}, 2),
    ):
        for fail in range(1, count + 1):
            c.add(
                f"memory/{name}/allocation-{fail}",
                subjects,
                adopt,
                step(function, out_of_memory, out="o", fail=fail, **arguments),
                abi=True,
            )
    for fail in (1, 2):
        c.add(
            f"memory/upgrade_many/allocation-{fail}",
            subjects,
            step("upgrade_many", out_of_memory, **{"in": ["l", "m"], "out": ["o", "p"]}, fail=fail),
            abi=True,
        )
    for count in (2**60, 2**64 - 1):
        c.add(
            f"memory/upgrade_many/count-{count}",
            subjects,
            step("upgrade_many", out_of_memory, **{"in": ["l"], "out": ["o"]}, count=str(count)),
            abi=True,
        )


def add(corpus):
    for part in (nulls, sizes, ranges, memory):
        part(corpus)
