# SPDX-License-Identifier: Apache-2.0
"""Arguments that only a caller of the C ABI can get wrong, and settings outside their range."""

import functools

from corpus import bad_argument, error, ok, step, tensor, versioned

SPEC = {"shape": ["6"]}
LIMIT_NDIM = 1 << 18
NEW = {"shape": ["2"], "device": [1, 0], "dtype": [2, 32, 1]}

# Every function with its required pointers, and a call that would succeed.
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
    "import": ({"in": "v", "out": "o"}, ["tensor", "out"]),
    "export": ({"in": "l", "out": "o", "target": [1, 3]}, ["tensor", "out", "out_kind"]),
    "share": ({"in": "a", "out": "o"}, ["tensor", "out"]),
    "view": ({"in": "a", "out": "o", "spec": SPEC}, ["tensor", "spec", "out"]),
    "allocate": ({"out": "o", "spec": NEW}, ["spec", "out"]),
}


def nulls(c):
    subjects = {"b": tensor("BORROWED"), "l": tensor(), "v": versioned(), "w": versioned()}
    imported = step("import", ok(), **{"in": "w", "out": "a"})
    for function, (arguments, names) in NEEDS.items():
        for name in names:
            # A NULL buffer is allowed to query the length, and a NULL length with a buffer.
            both = function.endswith("_format") and name == "length"
            null = ["length", "buffer"] if both else [name]
            extra = {"size": 0} if both else {}
            c.add(
                f"null/{function}/{name}",
                subjects,
                imported,
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
        "null/module_pin/address",
        {},
        step("module_pin", bad_argument(), null=["address"]),
        abi=True,
    )
    c.add("null/identify", {}, step("identify", ok(kind="UNKNOWN"), null=["tensor"]), abi=True)
    for kind in ("UNKNOWN", "BORROWED", "AMBIGUOUS", -1, 5):
        c.add(
            f"release/kind-{kind}",
            {"t": tensor()},
            step(
                "release",
                {"status": "ERROR_INVALID_ARGUMENT", "deleters": {"t": 0}},
                **{"in": "t"},
                kind=kind,
            ),
            abi=True,
        )
    for call in ("import", "export"):
        target = {"target": [1, 3]} if call == "export" else {}
        c.add(
            f"null/{call}/kind-unknown",
            {"t": tensor()},
            step(
                call,
                bad_argument(),
                **{"in": "t"},
                out="o",
                kind="UNKNOWN",
                null=["tensor"],
                **target,
            ),
            abi=True,
        )
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


# Every struct that a caller fills: how it is passed, and its first unknown option bit.
STRUCTS = {
    "policy": ("validate", {"in": "b"}, 20),
    "options": ("upgrade", {"in": "l", "out": "o"}, 18),
    "storage": ("upgrade_into", {"in": "l", "out": "o"}, 8),
    "spec": ("view", {"in": "a", "out": "o", "spec": SPEC}, 8),
    "new": ("allocate", {"out": "o", "spec": NEW}, 9),
    "allocator": ("allocate", {"out": "o", "spec": NEW, "allocator": "counts"}, 8),
    "layout": ("layout", {"in": "b"}, 8),
}


def damaged_call(name, function, arguments, expect, **damage):
    return step(function, expect, **arguments, struct={"name": name, **damage})


def sizes(c):
    subjects = {"b": tensor("BORROWED"), "l": tensor(), "w": versioned()}
    imported = step("import", ok(), **{"in": "w", "out": "a"})
    for name, (function, arguments, unknown) in STRUCTS.items():
        call = functools.partial(damaged_call, name, function, arguments)

        c.add(
            f"struct/{name}/smaller",
            subjects,
            imported,
            call(bad_argument(), size="smaller"),
            abi=True,
        )
        c.add(
            f"struct/{name}/zero", subjects, imported, call(bad_argument(), size="zero"), abi=True
        )
        c.add(f"struct/{name}/larger", subjects, imported, call(ok(), size="larger"), abi=True)
        if name != "layout":
            c.add(
                f"struct/{name}/larger-and-set",
                subjects,
                imported,
                call(error("ERROR_TOO_NEW"), size="larger", tail=1),
                abi=True,
            )
        c.add(
            f"struct/{name}/huge", subjects, imported, call(bad_argument(), size="huge"), abi=True
        )
        for bit in range(32):
            if bit < 8 or bit >= unknown:
                expect = bad_argument() if bit < 8 else error("ERROR_TOO_NEW")
                c.add(
                    f"struct/{name}/option-{bit}",
                    subjects,
                    imported,
                    call(expect, options=1 << bit),
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

    def policy(name, expect=None, **fields):
        c.add(
            f"policy/rejected/{name}",
            subjects,
            step("validate", expect or bad_argument(), **{"in": "t"}, policy=fields),
            abi=True,
        )

    policy("level-4", error("ERROR_TOO_NEW"), level=4)
    policy("level-negative", level=-1)
    policy("version-2.0", version=[2, 0])
    policy("max-ndim-negative", max_ndim=-1)
    policy("max-ndim-65", max_ndim=65)
    policy("min-ndim-negative", min_ndim=-1)
    policy("min-ndim-65", min_ndim=65)
    policy("min-ndim-above-max", min_ndim=3, max_ndim=2)
    policy("max-ndim-without-limit", options_raw=0, max_ndim=2)
    policy("min-ndim-without-limit", options_raw=0, min_ndim=1)
    policy("buffer-without-limit", options_raw=0, buffer_size="64")
    policy("shape-without-limit", options_raw=0, shape=["2", "3"])
    policy("shape-of-a-range", options_raw=LIMIT_NDIM, min_ndim=1, max_ndim=2, shape=["2", "3"])
    policy("shape-extent-below-any", shape=["2", "-2"])
    policy("shape-65", shape=["1"] * 65)
    policy("devices-empty", devices=[])
    policy("dtypes-empty", dtypes=[])
    policy("contiguity-4", error("ERROR_TOO_NEW"), contiguity=4)
    policy("contiguity-negative", contiguity=-1)
    policy("alignment-3", alignment="3")
    for bit in range(8):
        policy(f"flag-bit-{bit}", options_raw=1 << bit)
    for bit in (20, 30, 31):
        policy(f"option-{bit}", error("ERROR_TOO_NEW"), options_raw=1 << bit)
    policy("devices-null", devices="null-with-count")
    policy("dtypes-null", dtypes="null-with-count")
    for name, fields in {
        "negative": {"options": ["REJECT_NEGATIVE_STRIDES"]},
        "zero": {"options": ["REJECT_ZERO_STRIDES"]},
        "overlap": {"options": ["REQUIRE_WRITABLE"]},
        "buffer": {"buffer_size": "64"},
        "alignment": {"alignment": "8"},
        "contiguity": {"contiguity": "C"},
        "shape": {"shape": ["-1", "-1"]},
    }.items():
        policy(f"struct-level-{name}", level="STRUCT", **fields)

    def options(name, expect=None, **fields):
        c.add(
            f"options/rejected/{name}",
            subjects,
            step("upgrade", expect or bad_argument(), **{"in": "t", "out": "v"}, options=fields),
            abi=True,
        )

    for bit in range(8):
        options(f"flag-bit-{bit}", options_raw=1 << bit)
    for bit in (18, 30, 31):
        options(f"option-{bit}", error("ERROR_TOO_NEW"), options_raw=1 << bit)
    options("policy-and-vouched", options=["SKIP_VALIDATION"], policy={})
    options("policy-inside", options=[], policy={"max_ndim": -1})
    for kind in (-1, 0, 4, 5):
        c.add(
            f"diagnose/kind-{kind}",
            subjects,
            step("diagnose", bad_argument(), **{"in": "t"}, kind=kind),
            abi=True,
        )
    for kind in (-1, 3, 4, 5):
        for call, more in (("export", {"target": [1, 3]}), ("import", {})):
            c.add(
                f"{call}/kind-{kind}",
                subjects,
                step(call, bad_argument(), **{"in": "t", "out": "o"}, kind=kind, **more),
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
    imported = step("import", ok(), **{"in": "w", "out": "a"})
    out_of_memory = error("ERROR_OUT_OF_MEMORY")
    copy = {"options": {"options": ["COPY"]}}
    slow = {"options": {"options": ["CANONICAL"]}}
    for name, function, arguments, count in (
        ("upgrade", "upgrade", {"in": "l"}, 1),
        ("upgrade-options", "upgrade", {"in": "l", **slow}, 1),
        ("upgrade-vouched", "upgrade", {"in": "l", "options": {"options": ["SKIP_VALIDATION"]}}, 1),
        ("upgrade-copy", "upgrade", {"in": "m", **copy}, 1),
        ("downgrade", "downgrade", {"in": "v"}, 1),
        ("downgrade-options", "downgrade", {"in": "v", **slow}, 1),
        ("downgrade-ours", "downgrade", {"in": "a"}, 1),
        ("import", "import", {"in": "v"}, 1),
        ("import-legacy", "import", {"in": "l"}, 1),
        ("import-copy", "import", {"in": "m", **copy}, 1),
        ("export-up", "export", {"in": "l", "target": [1, 3]}, 1),
        ("export-down", "export", {"in": "v", "target": [0, 8]}, 1),
        ("export-older", "export", {"in": "v", "target": [1, 0]}, 1),
        ("export-canonical-legacy", "export", {"in": "l", "target": [0, 8], **slow}, 1),
        ("share", "share", {"in": "a"}, 1),
        ("view", "view", {"in": "a", "spec": SPEC}, 1),
        ("allocate", "allocate", {"spec": NEW}, 1),
        ("allocate-apart", "allocate", {"spec": {**NEW, "shape": ["1024"]}}, 2),
    ):
        for fail in range(1, count + 1):
            c.add(
                f"memory/{name}/allocation-{fail}",
                subjects,
                imported,
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
