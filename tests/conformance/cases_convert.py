# SPDX-License-Identifier: Apache-2.0
"""Conversions: their results and ownership; every deleter runs exactly once."""

import model
from corpus import bad_argument, becomes, error, ok, rejected, step, tensor, versioned

READ_ONLY, IS_COPIED, PADDED = model.READ_ONLY, model.IS_COPIED, model.PADDED
MAX = model.INT64_MAX


def call(name, source, out, expect, **arguments):
    """A successful call consumes `in`; `out` names the result."""
    return step(name, expect, **{"in": source, "out": out}, **arguments)


def made(source, version=(1, 3), flags=READ_ONLY, same=None, **changes):
    """A versioned result; `is` names the object that it must be: an input, or "new"."""
    return ok(
        **{
            "tensor": {
                "kind": "VERSIONED",
                "version": list(version),
                "flags": str(flags),
                **becomes(source, **changes),
            },
            "is": same or "new",
        }
    )


def made_legacy(source, same=None, **changes):
    return ok(**{"tensor": {"kind": "LEGACY", **becomes(source, **changes)}, "is": same or "new"})


def released(**counts):
    return ok(deleters=counts)


def options(*flags, **more):
    return {"options": {"options": list(flags), **more}}


UPGRADES = ("upgrade", "upgrade_into", "upgrade_many")


def upgrades(c):
    layouts = {
        "compact": {},
        "null-strides": {"strides": None},
        "null-strides-3": {"shape": (4, 3, 2), "strides": None},
        "null-strides-extent-1": {"shape": (1, 5, 1), "strides": None},
        "permuted": {"strides": (1, 2)},
        "negative": {"strides": (3, -1)},
        "broadcast": {"strides": (0, 1)},
        "scalar": {"shape": ()},
        "scalar-null": {"shape": None, "strides": None},
        "empty": {"shape": (3, 0), "strides": (-7, 5)},
        "empty-data-null": {"shape": (0,), "data": 0},
        "empty-null-strides": {"shape": (3, 0, 2), "strides": None},
        "empty-overflowing-null-strides": {"shape": (0, 2**40, 2**40), "strides": None},
        "extent-1-odd-stride": {"shape": (1, 3), "strides": (-MAX - 1, 1)},
        "offset": {"byte_offset": 24},
        "ndim-64": {"shape": [1] * 64, "strides": None},
        "host-id": {"device": [1, 5]},
        "handle": {"device": [4, 0], "byte_offset": 8},
        "no-deleter": {"deleter": False},
        "sub-byte": {"dtype": [0, 4, 1]},
        "lanes": {"dtype": [2, 16, 8]},
    }
    for name, fields in layouts.items():
        source = tensor(**fields)
        count = int(source["deleter"])
        for function in UPGRADES:
            c.add(
                f"{function}/{name}",
                {"t": source},
                call(function, "t", "v", made(source)),
                step("release", released(t=count), **{"in": "v"}),
            )
            if name != "ndim-64":
                c.add(
                    f"{function}/vouched/{name}",
                    {"t": source},
                    call(function, "t", "v", made(source), **options("SKIP_VALIDATION")),
                )
    source = tensor()
    for name, arguments, flags in (
        ("unknown-is-read-only", {}, READ_ONLY),
        ("writable", options("VOUCH_WRITABLE"), 0),
        ("told-read-only", options("VOUCH_WRITABLE", tensor_flags="1"), READ_ONLY),
        ("told-copied", options("VOUCH_WRITABLE", tensor_flags="2"), IS_COPIED),
        ("told-padded", options(tensor_flags="4"), READ_ONLY | PADDED),
    ):
        for function in UPGRADES:
            c.add(
                f"{function}/flags/{name}",
                {"t": source},
                call(function, "t", "v", made(source, flags=flags), **arguments),
            )
    for asked, says in (
        ([0, 0], [1, 3]),
        ([1, 0], [1, 0]),
        ([1, 1], [1, 1]),
        ([1, 2], [1, 2]),
        ([1, 3], [1, 3]),
        ([1, 4], [1, 3]),
        ([1, 2**32 - 1], [1, 3]),
    ):
        c.add(
            f"upgrade/version/{asked[0]}.{asked[1]}",
            {"t": source},
            call("upgrade", "t", "v", made(source, says), **options(version=asked)),
        )
    for asked in ([0, 8], [0, 1], [2, 0]):
        c.add(
            f"upgrade/version/rejected-{asked[0]}.{asked[1]}",
            {"t": source},
            call("upgrade", "t", "v", bad_argument(), **options(version=asked)),
        )


def upgrade_codes(c):
    """Each code with each version: known, too new, or unknown."""

    def upgrade(name, source, version, *flags, tensor_flags=0):
        given = {**source, "flags": str(tensor_flags)}
        needs = model.required(given, tensor_flags)
        if needs <= tuple(version) or "ALLOW_UNKNOWN" in flags:
            expect = made(source, version, flags=READ_ONLY | tensor_flags)
        elif needs != model.NO_RELEASE:
            expect = rejected("REQUIRED_VERSION")
        else:
            expect = rejected(model.unknown_rule(source))
        c.add(
            name,
            {"t": source},
            call(
                "upgrade",
                "t",
                "v",
                expect,
                **options(*flags, version=version, tensor_flags=str(tensor_flags)),
            ),
        )

    for code, (name, since, fixed) in sorted(model.DTYPES.items()):
        source = tensor(dtype=[code, fixed or 32, 1])
        for minor in (0, 1, 3) if since >= (1, 0) else (0,):
            upgrade(f"upgrade/dtype/{name}-to-1.{minor}", source, [1, minor])
        if since > (1, 0):
            upgrade(f"upgrade/dtype/{name}-allowed", source, [1, 0], "ALLOW_UNKNOWN")
    for kind, (name, since) in sorted(model.DEVICES.items()):
        source = tensor(device=[kind, 0])
        for minor in (0, 1, 2, 3) if since >= (1, 0) else (0,):
            upgrade(f"upgrade/device/{name}-to-1.{minor}", source, [1, minor])
        if since > (1, 0):
            upgrade(f"upgrade/device/{name}-allowed", source, [1, 0], "ALLOW_UNKNOWN")
    for flags in (4, 8, 2**63):
        for minor in (0, 1, 3):
            upgrade(
                f"upgrade/source-flags/{flags}-to-1.{minor}",
                tensor(),
                [1, minor],
                tensor_flags=flags,
            )
            upgrade(
                f"upgrade/source-flags/{flags}-to-1.{minor}-allowed",
                tensor(),
                [1, minor],
                "ALLOW_UNKNOWN",
                tensor_flags=flags,
            )


BROKEN = {
    "ndim-negative": ({"ndim": -1}, "NDIM_NEGATIVE"),
    "ndim-65": ({"shape": [1] * 65}, "NDIM_LIMIT"),
    "no-bits": ({"dtype": [2, 0, 1]}, "DTYPE_BITS_ZERO"),
    "width": ({"dtype": [6, 1, 1]}, "DTYPE_BITS_FIXED"),
    "no-lanes": ({"dtype": [2, 32, 0]}, "DTYPE_LANES_ZERO"),
    "scalable": ({"dtype": [2, 32, 65535]}, "DTYPE_LANES_SCALABLE"),
    "id-negative": ({"device": [1, -1]}, "DEVICE_ID_NEGATIVE"),
    "shape-null": ({"shape": None, "strides": None, "ndim": 2}, "SHAPE_NULL"),
    "dim-negative": ({"shape": (2, -1), "strides": (1, 1)}, "EXTENT_NEGATIVE"),
    "count": ({"shape": (2**40, 2**40), "strides": (1, 1)}, "COUNT_OVERFLOW"),
    "count-null-strides": ({"shape": (2**40, 2**40), "strides": None}, "COUNT_OVERFLOW"),
    "size": ({"shape": (2**61,), "strides": (1,)}, "SIZE_OVERFLOW"),
    "extent": ({"shape": (3,), "strides": (MAX,)}, "OFFSET_OVERFLOW"),
    "data-null": ({"data": 0}, "DATA_NULL"),
    "scalar-data-null": ({"data": 0, "shape": ()}, "DATA_NULL"),
    "offset": ({"byte_offset": 2**64 - 1}, "ADDRESS_RANGE"),
    "handle": ({"device": [4, 0], "strides": (3, -1)}, "HANDLE_RANGE"),
}


def broken(make, name):
    """A tensor that breaks one rule. With NULL strides its version is 1.1, which allows them."""
    fields, rule = BROKEN[name]
    if make is versioned and "strides" in fields and fields["strides"] is None:
        fields = {**fields, "version": [1, 1]}
    return make(**fields), rule


CONVERTERS = {
    "upgrade": tensor,
    "upgrade_into": tensor,
    "upgrade_many": tensor,
    "downgrade": versioned,
    "import": versioned,
}


def rejections(c):
    """Every conversion validates first; a rejected tensor stays the caller's."""
    for function, make in CONVERTERS.items():
        for name in BROKEN:
            source, rule = broken(make, name)
            _, axis = model.validate(source)
            c.add(
                f"{function}/rejected/{name}",
                {"t": source},
                call(function, "t", "out", rejected(rule, axis)),
                step("release", released(t=1), **{"in": "t"}),
            )
        for name in ("ndim-negative", "ndim-65", "shape-null"):
            fields, rule = BROKEN[name]
            c.add(
                f"{function}/rejected/vouched-{name}",
                {"t": make(**fields)},
                call(function, "t", "out", rejected(rule), **options("SKIP_VALIDATION")),
            )
        for name, policy, rule in (
            ("policy-contiguity", {"contiguity": "F"}, "CONTIGUITY"),
            ("policy-ndim", {"max_ndim": 1}, "NDIM_LIMIT"),
            ("policy-device", {"devices": [[2, -1]]}, "DEVICE_REJECTED"),
            ("policy-buffer", {"buffer_size": "8"}, "BUFFER_BOUNDS"),
        ):
            c.add(
                f"{function}/rejected/{name}",
                {"t": make()},
                call(function, "t", "out", rejected(rule), **options(policy=policy)),
            )
        bad = make(shape=(-1, 3), strides=(9, 1))
        c.add(
            f"{function}/struct-level",
            {"t": bad},
            call(
                function,
                "t",
                "out",
                made_legacy(bad)
                if function == "downgrade"
                else made(bad, flags=READ_ONLY if make is tensor else 0),
                **options(policy={"level": "STRUCT"}),
            ),
        )
    for function in ("downgrade", "import"):
        for major in (0, 2):
            c.add(
                f"{function}/rejected/major-{major}",
                {"t": versioned(version=[major, 3], ndim=-1)},
                call(function, "t", "out", rejected("VERSION_MAJOR")),
            )
        c.add(
            f"{function}/rejected/strides-null",
            {"t": versioned(strides=None)},
            call(function, "t", "out", rejected("STRIDES_NULL")),
        )
        old = versioned(strides=None, version=[1, 1])
        c.add(
            f"{function}/strides-null-1.1",
            {"t": old},
            call(
                function,
                "t",
                "out",
                made_legacy(old) if function == "downgrade" else made(old, flags=0),
            ),
        )
    writable = {"policy": {"options": ["REQUIRE_WRITABLE"]}}
    vouched = {"policy": {"options": ["REQUIRE_WRITABLE", "VOUCH_WRITABLE"]}}
    for function in UPGRADES:
        c.add(
            f"{function}/rejected/not-writable",
            {"t": tensor()},
            call(function, "t", "v", rejected("NOT_WRITABLE"), **options(**writable)),
        )
        c.add(
            f"{function}/writable-told",
            {"t": tensor()},
            call(
                function, "t", "v", made(tensor(), flags=0), **options("VOUCH_WRITABLE", **writable)
            ),
        )
        c.add(
            f"{function}/writable-vouched",
            {"t": tensor()},
            call(function, "t", "v", made(tensor()), **options(**vouched)),
        )


def batches(c):
    good, bad = tensor(), tensor(ndim=-1)
    for index in range(3):
        sources = {f"t{i}": (bad if i == index else good) for i in range(3)}
        c.add(
            f"upgrade_many/rejected/at-{index}",
            sources,
            step(
                "upgrade_many",
                {**rejected("NDIM_NEGATIVE"), "failed": index},
                **{"in": list(sources), "out": ["a", "b", "c"]},
            ),
        )
    sources = {f"t{i}": tensor(shape=(i + 1,)) for i in range(4)}
    c.add(
        "upgrade_many/four",
        sources,
        step("upgrade_many", ok(failed=4), **{"in": list(sources), "out": ["a", "b", "c", "d"]}),
        step("release", released(t0=0, t1=0, t2=1, t3=0), **{"in": "c"}),
        step("release", released(t0=1, t1=0, t2=1, t3=0), **{"in": "a"}),
    )
    for name, order in {"at-once": "tt", "later": "tuvt", "last-two": "tuu"}.items():
        first_seen = [i for i, n in enumerate(order) if n in order[:i]]
        subjects = {n: tensor() for n in sorted(set(order))}
        c.add(
            f"upgrade_many/rejected/twice-{name}",
            subjects,
            step(
                "upgrade_many",
                bad_argument(failed=first_seen[0]),
                **{"in": list(order), "out": [f"o{i}" for i in range(len(order))]},
            ),
            step("check", released(**dict.fromkeys(subjects, 0))),
        )
    plain = versioned()
    c.add(
        "upgrade_many/rejected/twice-downgraded",
        {"t": plain},
        call("downgrade", "t", "l", made_legacy(plain)),
        step("upgrade_many", bad_argument(failed=1), **{"in": ["l", "l"], "out": ["a", "b"]}),
        step("release", released(t=1), **{"in": "l"}),
    )
    c.add("upgrade_many/none", {}, step("upgrade_many", ok(failed=0), **{"in": [], "out": []}))
    c.add(
        "upgrade_many/copy",
        {"t": good},
        call("upgrade_many", "t", "v", bad_argument(), **options("COPY")),
    )
    c.add(
        "upgrade_into/copy",
        {"t": good},
        call("upgrade_into", "t", "v", bad_argument(), **options("COPY")),
    )
    c.add(
        "upgrade_into/too-small",
        {"t": good},
        call("upgrade_into", "t", "v", error("ERROR_BUFFER_TOO_SMALL"), storage="short"),
    )
    c.add(
        "upgrade_into/unaligned",
        {"t": good},
        call("upgrade_into", "t", "v", bad_argument(), storage="unaligned"),
        abi=True,
    )
    c.add(
        "upgrade_into/null-storage",
        {"t": good},
        call("upgrade_into", "t", "v", bad_argument(), storage="null"),
        abi=True,
    )
    c.add(
        "upgrade_into/size-1-more",
        {"t": good},
        call("upgrade_into", "t", "v", made(good), storage="exact"),
    )


def downgrades(c):
    for name, fields in {
        "compact": {},
        "permuted": {"strides": (1, 2)},
        "scalar": {"shape": ()},
        "empty": {"shape": (0, 3), "strides": (9, -9)},
        "offset": {"byte_offset": 8},
        "minor-0": {"version": [1, 0]},
        "minor-9": {"version": [1, 9]},
        "copied": {"flags": IS_COPIED},
        "no-deleter": {"deleter": False},
        "host-id": {"device": [1, 3]},
        "padded-byte-sized": {"flags": PADDED},
        "padded-two-lanes": {"flags": PADDED, "dtype": [17, 4, 2]},
    }.items():
        source = versioned(**fields)
        arguments = options("ALLOW_NEWER_CODES") if source["dtype"][0] == 17 else {}
        c.add(
            f"downgrade/{name}",
            {"t": source},
            call("downgrade", "t", "l", made_legacy(source), **arguments),
            step("release", released(t=int(source["deleter"])), **{"in": "l"}),
        )
    losses = {
        "read-only": ({"flags": READ_ONLY}, "LEGACY_READ_ONLY", "DROP_READ_ONLY"),
        "padded-int4": ({"flags": PADDED, "dtype": [0, 4, 1]}, "LEGACY_PADDED", "DROP_PADDED"),
        "padded-uint12": ({"flags": PADDED, "dtype": [1, 12, 1]}, "LEGACY_PADDED", "DROP_PADDED"),
        "maia": ({"device": [17, 0]}, "LEGACY_DEVICE", "ALLOW_NEWER_CODES"),
        "trn": ({"device": [18, 0]}, "LEGACY_DEVICE", "ALLOW_NEWER_CODES"),
        "tpu": ({"device": [19, 0]}, "DEVICE_UNKNOWN", "ALLOW_UNKNOWN"),
        "device-5": ({"device": [5, 0]}, "DEVICE_UNKNOWN", "ALLOW_UNKNOWN"),
        "bcomplex": ({"dtype": [18, 32, 1]}, "DTYPE_UNKNOWN", "ALLOW_UNKNOWN"),
        "dtype-200": ({"dtype": [200, 32, 1]}, "DTYPE_UNKNOWN", "ALLOW_UNKNOWN"),
        "flag-3": ({"flags": 8}, "FLAGS_UNKNOWN", "ALLOW_UNKNOWN"),
        "flag-63": ({"flags": 2**63}, "FLAGS_UNKNOWN", "ALLOW_UNKNOWN"),
    }
    for code in range(7, 18):
        name, _, bits = model.DTYPES[code]
        losses[name] = ({"dtype": [code, bits, 1]}, "LEGACY_DTYPE", "ALLOW_NEWER_CODES")
    permissions = ("DROP_READ_ONLY", "DROP_PADDED", "ALLOW_NEWER_CODES", "ALLOW_UNKNOWN")
    for name, (fields, rule, permission) in losses.items():
        source = versioned(**fields)
        c.add(f"downgrade/loss/{name}", {"t": source}, call("downgrade", "t", "l", rejected(rule)))
        c.add(
            f"downgrade/loss/{name}-allowed",
            {"t": source},
            call("downgrade", "t", "l", made_legacy(source), **options(permission)),
        )
        others = [p for p in permissions if p != permission]
        c.add(
            f"downgrade/loss/{name}-others-allowed",
            {"t": source},
            call("downgrade", "t", "l", rejected(rule), **options(*others)),
        )
    for kind in (7, 11, 14, 16):
        source = versioned(device=[kind, 0])
        c.add(
            f"downgrade/device-{kind}",
            {"t": source},
            call("downgrade", "t", "l", made_legacy(source)),
        )
    downgrade_versions(c)


def downgrade_versions(c):
    """The legacy version that the consumer reads; 0.8 by default."""
    kinds = {
        "float": {},
        "bfloat": {"dtype": [4, 16, 1]},
        "bool": {"dtype": [6, 8, 1]},
        "rocm-host": {"device": [11, 0]},
        "webgpu": {"device": [15, 0]},
    }
    for name, fields in kinds.items():
        source = versioned(**fields)
        for minor in (2, 3, 6, 7, 8, 9, 2**32 - 1):
            legacy_export(c, f"downgrade/{name}-to-0.{minor}", "downgrade", source, minor)
    for version in ([1, 0], [1, 3], [2, 0]):
        c.add(
            f"downgrade/version/rejected-{version[0]}.{version[1]}",
            {"t": versioned()},
            call("downgrade", "t", "l", bad_argument(), **options(version=version)),
        )


def legacy_loss(source, minor):
    """The rule that rejects the codes of `source` for a consumer of 0.`minor`, or None."""
    reads = (0, min(minor, 8))
    if reads < model.dtype_since(source["dtype"][0]):
        return "LEGACY_DTYPE"
    return "LEGACY_DEVICE" if reads < model.device_since(source["device"][0]) else None


def legacy_export(c, name, function, source, minor, same=None):
    """A conversion to 0.`minor` by either function, with ALLOW_NEWER_CODES and without."""
    version = [0, minor]
    way = {"target": version} if function == "export" else {}
    own = {} if function == "export" else {"version": version}
    good = made_legacy(source, same=same)
    good = {**good, "kind": "LEGACY"} if function == "export" else good
    loss = legacy_loss(source, minor)
    expect = rejected(loss) if loss else good
    c.add(name, {"t": source}, call(function, "t", "o", expect, **options(**own), **way))
    if loss:
        allow = options("ALLOW_NEWER_CODES", **own)
        c.add(f"{name}-allowed", {"t": source}, call(function, "t", "o", good, **allow, **way))


def round_trips(c):
    legacy, plain, read_only = tensor(), versioned(), versioned(flags=READ_ONLY)
    drop = options("DROP_READ_ONLY")
    c.add(
        "round-trip/versioned",
        {"t": plain},
        call("downgrade", "t", "l", made_legacy(plain)),
        call("upgrade", "l", "v", made(plain, flags=0, same="t")),
    )
    c.add(
        "round-trip/read-only-comes-back",
        {"t": read_only},
        call("downgrade", "t", "l", made_legacy(read_only), **drop),
        call("upgrade", "l", "v", made(read_only, same="t"), **options("VOUCH_WRITABLE")),
        about="a READ_ONLY that was dropped with consent is said again",
    )
    every = versioned(flags=IS_COPIED | PADDED | READ_ONLY, version=[1, 1])
    c.add(
        "round-trip/all-flags",
        {"t": every},
        call("downgrade", "t", "l", made_legacy(every), **drop),
        call("upgrade", "l", "v", made(every, [1, 1], flags=7, same="t")),
    )
    c.add(
        "round-trip/no-deleter",
        {"t": versioned(deleter=False)},
        call("downgrade", "t", "l", made_legacy(plain)),
        call("upgrade", "l", "v", made(plain, flags=0, same="t")),
    )
    c.add(
        "round-trip/legacy",
        {"t": legacy},
        call("upgrade", "t", "v", made(legacy, flags=0), **options("VOUCH_WRITABLE")),
        call("downgrade", "v", "l", made_legacy(legacy)),
        call("upgrade", "l", "w", made(legacy, flags=0)),
        about="that it may be written to is known again afterwards",
    )
    c.add(
        "round-trip/legacy-unknown-rejected",
        {"t": legacy},
        call("upgrade", "t", "v", made(legacy)),
        call("downgrade", "v", "l", rejected("LEGACY_READ_ONLY")),
        call("downgrade", "v", "l", made_legacy(legacy), **drop),
        call("upgrade", "l", "w", made(legacy), **options("VOUCH_WRITABLE")),
        about="READ_ONLY binds also where it stands for unknown, and is known again afterwards",
    )
    null = tensor(strides=None)
    c.add(
        "round-trip/legacy-null-strides",
        {"t": null},
        call("upgrade", "t", "v", made(null, flags=0), **options("VOUCH_WRITABLE")),
        call("downgrade", "v", "l", made_legacy(null)),
    )
    c.add(
        "round-trip/three-times",
        {"t": plain},
        *[
            s
            for i in range(3)
            for s in (
                call("downgrade", "t" if i == 0 else f"v{i - 1}", f"l{i}", made_legacy(plain)),
                call("upgrade", f"l{i}", f"v{i}", made(plain, flags=0, same="t")),
            )
        ],
    )
    c.add(
        "round-trip/older-consumer",
        {"t": plain},
        call("downgrade", "t", "l", made_legacy(plain)),
        call("upgrade", "l", "v", made(plain, [1, 1], flags=0), **options(version=[1, 1])),
        about="the original says 1.3, which this consumer does not speak",
    )
    c.add(
        "round-trip/rejected-original",
        {"t": versioned(strides=None, version=[1, 1])},
        call("downgrade", "t", "l", made_legacy(plain)),
        call(
            "upgrade",
            "l",
            "v",
            ok(
                **{
                    "tensor": {
                        "kind": "VERSIONED",
                        "version": [1, 1],
                        "flags": "0",
                        **becomes(plain),
                        "strides": None,
                    },
                    "is": "t",
                }
            ),
        ),
    )
    c.add(
        "round-trip/policy-refuses",
        {"t": plain},
        call("downgrade", "t", "l", made_legacy(plain)),
        call("upgrade", "l", "v", rejected("CONTIGUITY"), **options(policy={"contiguity": "F"})),
        step("release", released(t=1), **{"in": "l"}),
    )
    offset = versioned(byte_offset=32)
    c.add(
        "round-trip/folded",
        {"t": offset},
        call("downgrade", "t", "l", made_legacy(offset)),
        call(
            "upgrade",
            "l",
            "v",
            made(offset, flags=0, data=4128, byte_offset=0),
            **options("FOLD_BYTE_OFFSET"),
        ),
    )
    c.add(
        "round-trip/shared",
        {"t": legacy},
        call("upgrade", "t", "v", made(legacy, flags=0), **options("VOUCH_WRITABLE")),
        call("share", "v", "s", made(legacy, flags=0)),
        call("downgrade", "v", "l", made_legacy(legacy)),
        step("release", released(t=0), **{"in": "l"}),
        call("downgrade", "s", "m", made_legacy(legacy)),
        step("release", released(t=1), **{"in": "m"}),
    )
    c.add(
        "round-trip/shared-keeps-read-only",
        {"t": legacy},
        call("upgrade", "t", "v", made(legacy)),
        call("share", "v", "s", made(legacy)),
        call("downgrade", "v", "l", made_legacy(legacy), **drop),
        call("upgrade", "l", "w", made(legacy), **options("VOUCH_WRITABLE")),
    )
    c.add(
        "round-trip/caller-knows-more",
        {"t": plain},
        call("downgrade", "t", "l", made_legacy(plain)),
        call("upgrade", "l", "v", made(plain, flags=READ_ONLY), **options(tensor_flags="1")),
        about="the original does not say what the caller knows",
    )
    unknown = versioned(flags=8, version=[1, 7])
    allow = options("ALLOW_UNKNOWN")
    c.add(
        "round-trip/unknown-flag",
        {"t": unknown},
        call("downgrade", "t", "l", made_legacy(unknown), **allow),
        call("upgrade", "l", "v", rejected("FLAGS_UNKNOWN")),
        call("upgrade", "l", "v", made(unknown, [1, 7], flags=8, same="t"), **allow),
    )
    c.add(
        "round-trip/unknown-flag-new-node",
        {"t": unknown},
        call("downgrade", "t", "l", made_legacy(unknown), **allow),
        call(
            "upgrade",
            "l",
            "v",
            made(unknown, [1, 7], flags=8),
            **options("ALLOW_UNKNOWN", "CANONICAL"),
        ),
        about="a new node keeps the version that the unknown bit belongs to",
    )
    c.add(
        "round-trip/into-storage",
        {"t": read_only},
        call("downgrade", "t", "l", made_legacy(read_only), **drop),
        call("upgrade_into", "l", "v", made(read_only), **options("VOUCH_WRITABLE")),
        step("release", released(t=1), **{"in": "v"}),
    )
    c.add(
        "round-trip/into-storage-unknown-flag",
        {"t": unknown},
        call("downgrade", "t", "l", made_legacy(unknown), **allow),
        call("upgrade_into", "l", "v", rejected("FLAGS_UNKNOWN")),
        call("upgrade_into", "l", "v", made(unknown, [1, 7], flags=8), **allow),
    )
    c.add(
        "round-trip/out-of-storage",
        {"t": legacy},
        call("upgrade_into", "t", "v", made(legacy, flags=0), **options("VOUCH_WRITABLE")),
        call("downgrade", "v", "l", made_legacy(legacy)),
        step("release", released(t=1), **{"in": "l"}),
        about="the storage is released after the source, so the source is not handed back",
    )
    c.add(
        "round-trip/storage-then-new-node",
        {"t": legacy},
        call("upgrade_into", "t", "v", made(legacy, flags=0), **options("VOUCH_WRITABLE")),
        call("downgrade", "v", "l", made_legacy(legacy), **options("CANONICAL")),
        step("release", released(t=1), **{"in": "l"}),
    )


def forms(c):
    odd = tensor(shape=(1, 3, 1), strides=(-9, 1, 77), device=[1, 4], byte_offset=16)
    canonical = made(odd, strides=["3", "1", "1"], device=[1, 0])
    folded = made(odd, data=4112, byte_offset=0)
    for function in UPGRADES:
        c.add(
            f"{function}/canonical",
            {"t": odd},
            call(function, "t", "v", canonical, **options("CANONICAL")),
        )
        c.add(
            f"{function}/fold",
            {"t": odd},
            call(function, "t", "v", folded, **options("FOLD_BYTE_OFFSET")),
        )
    empty = tensor(shape=(2, 0, 3), strides=(5, 6, 7), byte_offset=8)
    c.add(
        "upgrade/canonical-empty",
        {"t": empty},
        call(
            "upgrade",
            "t",
            "v",
            made(empty, data=0, byte_offset=0, strides=["3", "3", "1"]),
            **options("CANONICAL"),
        ),
    )
    huge = tensor(shape=(0, 2**40, 2**40), strides=(1, 1, 1))
    c.add(
        "upgrade/canonical-empty-overflow",
        {"t": huge},
        call(
            "upgrade",
            "t",
            "v",
            made(huge, data=0, strides=["0", str(2**40), "1"]),
            **options("CANONICAL"),
        ),
    )
    c.add(
        "upgrade/canonical-cuda-id",
        {"t": tensor(device=[2, 3])},
        call("upgrade", "t", "v", made(tensor(device=[2, 3])), **options("CANONICAL")),
    )
    permuted = tensor(strides=(1, 2))
    c.add(
        "upgrade/canonical-keeps-strides",
        {"t": permuted},
        call("upgrade", "t", "v", made(permuted), **options("CANONICAL")),
    )
    null = tensor(shape=(0,), data=0, byte_offset=8)
    c.add(
        "upgrade/fold-null",
        {"t": null},
        call("upgrade", "t", "v", made(null, byte_offset=0), **options("FOLD_BYTE_OFFSET")),
    )
    for kind, (name, _) in sorted(model.DEVICES.items()):
        source = versioned(device=[kind, 0], byte_offset=8)
        may = options("FOLD_BYTE_OFFSET", "ALLOW_UNKNOWN", "ALLOW_NEWER_CODES")
        address = kind in model.ADDRESS_DEVICES
        fields = {"data": 4104, "byte_offset": 0}
        c.add(
            f"downgrade/fold/{name}",
            {"t": source},
            call(
                "downgrade",
                "t",
                "l",
                made_legacy(source, **fields) if address else rejected("OFFSET_FOLD"),
                **may,
            ),
        )
        if model.device_since(kind) <= (0, 8):
            may = options("FOLD_BYTE_OFFSET", "ALLOW_UNKNOWN")
            plain = tensor(device=[kind, 0], byte_offset=8)
            c.add(
                f"upgrade/fold/{name}",
                {"t": plain},
                call(
                    "upgrade",
                    "t",
                    "v",
                    made(plain, **fields) if address else rejected("OFFSET_FOLD"),
                    **may,
                ),
            )
    source = versioned(byte_offset=16, shape=(1, 3), strides=(0, 1), device=[1, 2])
    for name, flag, expect in (
        ("canonical", "CANONICAL", {"strides": ["3", "1"], "device": [1, 0]}),
        ("fold", "FOLD_BYTE_OFFSET", {"data": 4112, "byte_offset": 0}),
    ):
        c.add(
            f"downgrade/{name}",
            {"t": source},
            call("downgrade", "t", "l", made_legacy(source, **expect), **options(flag)),
        )
        c.add(
            f"import/{name}",
            {"t": source},
            call("import", "t", "v", made(source, flags=0, **expect), **options(flag)),
        )
    c.add(
        "import/fold-handle",
        {"t": versioned(device=[4, 0])},
        call("import", "t", "v", rejected("OFFSET_FOLD"), **options("FOLD_BYTE_OFFSET")),
    )


def imports(c):
    for name, fields in {
        "plain": {},
        "read-only": {"flags": 1},
        "all-flags": {"flags": 7},
        "minor-0": {"version": [1, 0]},
        "minor-9": {"version": [1, 9]},
        "permuted": {"strides": (1, 2)},
        "no-deleter": {"deleter": False},
        "empty": {"shape": (0,), "strides": (5,)},
    }.items():
        source = versioned(**fields)
        c.add(
            f"import/{name}",
            {"t": source},
            call("import", "t", "v", made(source, flags=source["flags"])),
            step("release", released(t=int(source["deleter"])), **{"in": "v"}),
        )
    plain = versioned()
    c.add(
        "import/ours",
        {"t": plain},
        call("import", "t", "v", made(plain, flags=0)),
        call("import", "v", "w", made(plain, flags=0, same="v")),
    )
    c.add(
        "import/ours-older",
        {"t": plain},
        call("import", "t", "v", made(plain, flags=0)),
        call("import", "v", "w", made(plain, [1, 1], flags=0), **options(version=[1, 1])),
    )
    c.add(
        "import/ours-rejected",
        {"t": plain},
        call("import", "t", "v", made(plain, flags=0)),
        call("import", "v", "w", rejected("CONTIGUITY"), **options(policy={"contiguity": "F"})),
    )
    legacy = tensor()
    for name, fields in {
        "plain": {},
        "null-strides": {"strides": None},
        "scalar": {"shape": None, "strides": None},
        "no-deleter": {"deleter": False},
    }.items():
        source = tensor(**fields)
        c.add(
            f"import/legacy-{name}",
            {"t": source},
            call("import", "t", "v", made(source)),
            call("share", "v", "s", made(source)),
            step("release", released(t=0), **{"in": "s"}),
            step("release", released(t=int(source["deleter"])), **{"in": "v"}),
        )
    c.add(
        "import/legacy-vouched",
        {"t": legacy},
        call("import", "t", "v", made(legacy, flags=0), **options("VOUCH_WRITABLE")),
    )
    c.add(
        "import/legacy-flags-known",
        {"t": legacy},
        call("import", "t", "v", made(legacy, flags=7), **options(tensor_flags="6")),
    )
    imports_of_downgraded(c)
    for function in (*UPGRADES, "import"):
        for option in ("DROP_READ_ONLY", "DROP_PADDED", "ALLOW_NEWER_CODES"):
            c.add(
                f"{function}/options/{option.lower()}",
                {"t": legacy},
                call(function, "t", "v", bad_argument(), **options(option)),
                step("release", released(t=1), **{"in": "t"}),
                about="the option concerns legacy results only",
            )
    c.add(
        "import/out-of-storage",
        {"t": legacy},
        call("upgrade_into", "t", "v", made(legacy)),
        call("share", "v", "s", rejected("IN_STORAGE")),
        call("import", "v", "w", made(legacy)),
        call("share", "w", "s", made(legacy)),
    )
    for name, fields, rule in (
        ("dtype", {"dtype": [19, 8, 1]}, "DTYPE_UNKNOWN"),
        ("device", {"device": [22, 0]}, "DEVICE_UNKNOWN"),
        ("flag", {"flags": 16}, "FLAGS_UNKNOWN"),
    ):
        source = versioned(version=[1, 5], **fields)
        c.add(f"import/unknown/{name}", {"t": source}, call("import", "t", "v", rejected(rule)))
        c.add(
            f"import/unknown/{name}-allowed",
            {"t": source},
            call(
                "import",
                "t",
                "v",
                made(source, [1, 5], flags=source["flags"]),
                **options("ALLOW_UNKNOWN"),
            ),
        )
        c.add(
            f"import/unknown/{name}-not-by-copy",
            {"t": source},
            call("import", "t", "v", rejected(rule), **options("COPY")),
        )
    newer = versioned(dtype=[7, 8, 1])
    c.add(
        "import/consumer-too-old",
        {"t": newer},
        call("import", "t", "v", rejected("REQUIRED_VERSION"), **options(version=[1, 0])),
    )


def imports_of_downgraded(c):
    """Import returns a dlbridge-owned tensor, even if downgrade was given a foreign one."""
    drop = options("DROP_READ_ONLY", "DROP_PADDED")
    for flags in range(8):
        source = versioned(flags=flags, dtype=[0, 4, 1])
        arguments = {"t": source}
        c.add(
            f"import/of-downgraded-{flags}",
            arguments,
            call("downgrade", "t", "l", made_legacy(source), **drop),
            call("import", "l", "v", made(source, flags=flags)),
            call("share", "v", "s", made(source, flags=flags)),
        )
        c.add(
            f"round-trip/import-first-{flags}",
            arguments,
            call("import", "t", "v", made(source, flags=flags)),
            call("downgrade", "v", "l", made_legacy(source), **drop),
            call("upgrade", "l", "w", made(source, flags=flags), **options("VOUCH_WRITABLE")),
            call("share", "w", "s", made(source, flags=flags)),
            about="what comes back is what import made, never the foreign tensor below it",
        )
        c.add(
            f"round-trip/shared-import-{flags}",
            arguments,
            call("import", "t", "v", made(source, flags=flags)),
            call("share", "v", "s", made(source, flags=flags)),
            call("downgrade", "v", "l", made_legacy(source), **drop),
            call("upgrade", "l", "w", made(source, flags=flags), **options("VOUCH_WRITABLE")),
            about="the flags are the same whether or not another owner exists",
        )
    legacy = tensor(dtype=[0, 4, 1])
    for name, known, flags in (("none", 0, READ_ONLY), ("padded", PADDED, READ_ONLY | PADDED)):
        for shared in (False, True):
            hold = [call("share", "v", "s", made(legacy, flags=flags))] if shared else []
            c.add(
                f"round-trip/remembers-{name}-{'shared' if shared else 'alone'}",
                {"t": legacy},
                call(
                    "upgrade",
                    "t",
                    "v",
                    made(legacy, flags=flags),
                    **options(tensor_flags=str(known)),
                ),
                *hold,
                call("downgrade", "v", "l", made_legacy(legacy), **drop),
                call("upgrade", "l", "w", made(legacy, flags=flags), **options("VOUCH_WRITABLE")),
            )


def unknown_kinds(c):
    """Tensors passed as void*: bytes that fit only one kind are treated as that kind."""
    heap = 0x7F32A8C01040
    shares = call("share", "v", "s", ok())
    for name, source, flags in (
        ("legacy", tensor(data=heap), READ_ONLY),
        ("legacy-null-strides", tensor(data=heap, strides=None), READ_ONLY),
        ("legacy-empty", tensor(data=0, shape=(0,)), READ_ONLY),
        ("versioned", versioned(data=heap), 0),
        ("versioned-read-only", versioned(data=heap, flags=READ_ONLY), READ_ONLY),
        ("versioned-1.0", versioned(data=heap, version=[1, 0]), 0),
    ):
        c.add(
            f"import/kind-unknown/{name}",
            {"t": source},
            call("import", "t", "v", made(source, flags=flags), kind="UNKNOWN"),
            shares,
            step("release", released(t=0), **{"in": "v"}),
            step("release", released(t=1), **{"in": "s"}),
        )
        kind = source["kind"]
        c.add(
            f"export/kind-unknown/{name}",
            {"t": source},
            call(
                "export",
                "t",
                "o",
                made(
                    source,
                    source.get("version", [1, 3]),
                    flags,
                    "t" if kind == "VERSIONED" else None,
                ),
                kind="UNKNOWN",
                target=[1, 3],
            ),
        )
    for name, (fields, rule) in BROKEN_BYTES.items():
        source = tensor(**{"data": heap, **fields})
        axis = model.validate(source)[1]
        for function, more in (("import", {}), ("export", {"target": [1, 3]})):
            c.add(
                f"{function}/kind-unknown/broken-legacy-{name}",
                {"t": source},
                call(function, "t", "v", rejected(rule, axis), kind="UNKNOWN", **more),
                step("release", released(t=1), **{"in": "t"}),
                about="the first word cannot be a version: legacy, and its rule is reported",
            )
    for name, source in BROKEN_VERSIONED.items():
        for function, more in (("import", {}), ("export", {"target": [1, 3]})):
            c.add(
                f"{function}/kind-unknown/broken-versioned-{name}",
                {"t": source},
                call(function, "t", "v", error("ERROR_AMBIGUOUS"), kind="UNKNOWN", **more),
                step("release", released(t=1), **{"in": "t"}),
            )
    later = versioned(version=[2, 0], data=heap)
    c.add(
        "import/kind-unknown/major-2",
        {"t": later},
        call("import", "t", "v", rejected("VERSION_MAJOR"), kind="UNKNOWN"),
    )


# Invalid tensors, passed to a host as void*.
BROKEN_BYTES = {
    "no-lanes": ({"dtype": [2, 32, 0]}, "DTYPE_LANES_ZERO"),
    "no-bits": ({"dtype": [2, 0, 1]}, "DTYPE_BITS_ZERO"),
    "ndim-negative": ({"ndim": -1}, "NDIM_NEGATIVE"),
    "shape-null": ({"shape": None, "strides": None, "ndim": 2}, "SHAPE_NULL"),
    "id-negative": ({"device": [1, -1]}, "DEVICE_ID_NEGATIVE"),
    "data-null": ({"data": 0}, "DATA_NULL"),
    "extent": ({"shape": (-4, 3), "strides": (3, 1)}, "EXTENT_NEGATIVE"),
    "type-0": ({"device": [0, 0]}, "DEVICE_UNKNOWN"),
}
BROKEN_VERSIONED = {
    "no-lanes": versioned(dtype=[2, 32, 0]),
    "no-bits": versioned(dtype=[2, 0, 1]),
    "ndim-negative": versioned(ndim=-1),
    "shape-null": versioned(shape=None, strides=None, ndim=2),
    "id-negative": versioned(device=[1, -1]),
}


def exports(c):
    def export(name, source, target, expect, kind, **arguments):
        if expect["status"] == "OK":
            expect = {**expect, "kind": kind}
        c.add(
            f"export/{name}",
            {"t": source},
            call("export", "t", "o", expect, target=target, **arguments),
        )

    legacy, plain = tensor(), versioned()
    export("legacy-to-1.3", legacy, [1, 3], made(legacy), "VERSIONED")
    export("legacy-to-1.0", legacy, [1, 0], made(legacy, [1, 0]), "VERSIONED")
    export("legacy-to-legacy", legacy, [0, 8], made_legacy(legacy, same="t"), "LEGACY")
    export("versioned-to-legacy", plain, [0, 6], made_legacy(plain), "LEGACY")
    export("versioned-to-1.3", plain, [1, 3], made(plain, flags=0, same="t"), "VERSIONED")
    export("versioned-to-1.9", plain, [1, 9], made(plain, flags=0, same="t"), "VERSIONED")
    export("versioned-to-1.1", plain, [1, 1], made(plain, [1, 1], flags=0), "VERSIONED")
    old = versioned(version=[1, 0])
    export("older-stays", old, [1, 3], made(old, [1, 0], flags=0, same="t"), "VERSIONED")
    newest = versioned(version=[1, 9])
    export("newer-minor-comes-down", newest, [1, 3], made(newest, flags=0), "VERSIONED")
    export(
        "read-only-to-legacy", versioned(flags=1), [0, 8], rejected("LEGACY_READ_ONLY"), "LEGACY"
    )
    export(
        "read-only-to-legacy-allowed",
        versioned(flags=1),
        [0, 8],
        made_legacy(versioned(flags=1)),
        "LEGACY",
        **options("DROP_READ_ONLY"),
    )
    export("major-2", versioned(version=[2, 0]), [1, 3], rejected("VERSION_MAJOR"), "VERSIONED")
    export(
        "major-2-to-legacy", versioned(version=[2, 0]), [0, 8], rejected("VERSION_MAJOR"), "LEGACY"
    )
    export("target-major-2", plain, [2, 0], bad_argument(), "VERSIONED")
    export("version-option", plain, [1, 3], bad_argument(), "VERSIONED", **options(version=[1, 0]))
    export("broken", versioned(ndim=-1), [1, 3], rejected("NDIM_NEGATIVE"), "VERSIONED")
    export("broken-legacy", tensor(ndim=-1), [0, 8], rejected("NDIM_NEGATIVE"), "LEGACY")
    export("broken-layout", versioned(data=0), [1, 3], rejected("DATA_NULL"), "VERSIONED")
    export("broken-legacy-layout", tensor(data=0), [0, 8], rejected("DATA_NULL"), "LEGACY")
    export(
        "broken-vouched",
        versioned(data=0),
        [1, 3],
        made(versioned(data=0), flags=0, same="t"),
        "VERSIONED",
        **options("SKIP_VALIDATION"),
    )
    export(
        "legacy-vouched",
        tensor(data=0),
        [0, 8],
        made_legacy(tensor(data=0), same="t"),
        "LEGACY",
        **options("SKIP_VALIDATION"),
    )
    export("unknown-flag", versioned(flags=8), [1, 3], rejected("FLAGS_UNKNOWN"), "VERSIONED")
    export(
        "unknown-flag-allowed",
        versioned(flags=8, version=[1, 8]),
        [1, 3],
        made(plain, [1, 8], flags=8, same="t"),
        "VERSIONED",
        **options("ALLOW_UNKNOWN"),
    )
    newer = versioned(dtype=[7, 8, 1])
    export("needs-1.1", newer, [1, 0], rejected("REQUIRED_VERSION"), "VERSIONED")
    export("needs-1.1-to-legacy", newer, [0, 8], rejected("LEGACY_DTYPE"), "LEGACY")
    fp8 = tensor(dtype=[7, 8, 1])
    export("legacy-with-newer-dtype", fp8, [0, 8], rejected("LEGACY_DTYPE"), "LEGACY")
    export(
        "legacy-with-newer-dtype-allowed",
        fp8,
        [0, 8],
        made_legacy(fp8, same="t"),
        "LEGACY",
        **options("ALLOW_NEWER_CODES"),
    )
    export(
        "legacy-with-unknown-device",
        tensor(device=[19, 0]),
        [0, 8],
        rejected("DEVICE_UNKNOWN"),
        "LEGACY",
    )
    export(
        "legacy-to-legacy-policy",
        legacy,
        [0, 8],
        rejected("NOT_WRITABLE"),
        "LEGACY",
        **options(policy={"options": ["REQUIRE_WRITABLE"]}),
    )
    export(
        "legacy-to-legacy-policy-told",
        legacy,
        [0, 8],
        made_legacy(legacy, same="t"),
        "LEGACY",
        **options("VOUCH_WRITABLE", policy={"options": ["REQUIRE_WRITABLE"]}),
    )
    export(
        "legacy-to-legacy-policy-vouched",
        legacy,
        [0, 8],
        made_legacy(legacy, same="t"),
        "LEGACY",
        **options(policy={"options": ["REQUIRE_WRITABLE", "VOUCH_WRITABLE"]}),
    )
    null = versioned(strides=None)
    export("null-strides", null, [1, 3], rejected("STRIDES_NULL"), "VERSIONED")
    export(
        "null-strides-filled",
        null,
        [1, 1],
        made(null, [1, 1], flags=0),
        "VERSIONED",
        **options(policy={"options": ["ALLOW_NULL_STRIDES"]}),
    )


def export_cells(c):
    """Every cell of the header's table: source kind, target, option."""
    legacy, plain = tensor(byte_offset=16), versioned(byte_offset=16)
    odd = {"shape": (1, 3), "strides": (-9, 1), "byte_offset": 16}
    sources = {"legacy": tensor, "versioned": versioned}
    for name, make in sources.items():
        own = 0 if name == "versioned" else READ_ONLY
        for minor in (2, 7, 8, 9):
            same = "t" if name == "legacy" else None
            for code, fields in {
                "float": {},
                "bool": {"dtype": [6, 8, 1]},
                "float8": {"dtype": [10, 8, 1]},
                "webgpu": {"device": [15, 0]},
                "maia": {"device": [17, 0]},
            }.items():
                legacy_export(
                    c, f"export/{name}-{code}-to-0.{minor}", "export", make(**fields), minor, same
                )
        for minor in (0, 1, 2, 3, 9):
            cell_versioned(c, name, make(), minor, own)
        source = make(**odd)
        for form, changes in {
            "CANONICAL": {"strides": ["3", "1"]},
            "FOLD_BYTE_OFFSET": {"data": 4112, "byte_offset": 0},
        }.items():
            for target in ([0, 8], [1, 3], [1, 0]):
                made_new = (
                    {**made_legacy(source, **changes), "kind": "LEGACY"}
                    if target[0] == 0
                    else {**made(source, target, flags=own, **changes), "kind": "VERSIONED"}
                )
                c.add(
                    f"export/{name}-{form.lower()}-to-{target[0]}.{target[1]}",
                    {"t": source},
                    call("export", "t", "o", made_new, target=target, **options(form)),
                    step("release", released(t=1), **{"in": "o"}),
                )
    export_copies(c)
    for name, source in {"legacy": legacy, "versioned": plain}.items():
        for target in ([0, 0], [2, 0], [77, 3]):
            c.add(
                f"export/{name}-target-{target[0]}.{target[1]}",
                {"t": source},
                call("export", "t", "o", bad_argument(), target=target),
                step("release", released(t=1), **{"in": "t"}),
            )


def cell_versioned(c, name, source, minor, flags):
    """To 1.`minor`: a tensor of this or an older version is returned, any other gets a new node."""
    handed_back = name == "versioned" and minor >= 3
    version = [1, min(minor, 3)]
    expect = made(source, version, flags=flags, same="t" if handed_back else None)
    c.add(
        f"export/{name}-to-1.{minor}-cell",
        {"t": source},
        call("export", "t", "o", {**expect, "kind": "VERSIONED"}, target=[1, minor]),
        step("release", released(t=1), **{"in": "o"}),
    )


def export_copies(c):
    """COPY makes a new tensor from every source for every target, and releases the source."""
    memory = {"dtype": [1, 8, 1], "bytes": "000102030405", "data": 0, "shape": (2, 3)}
    fresh = {"data": "any", "byte_offset": 0}
    for name, make, flags in (
        ("legacy", tensor, {}),
        ("versioned", versioned, {}),
        ("read-only", versioned, {"flags": READ_ONLY}),
    ):
        source = make(**memory, **flags)
        for target in ([0, 8], [1, 3], [1, 0]):
            expect = (
                {**made_legacy(source, **fresh), "kind": "LEGACY"}
                if target[0] == 0
                else {**made(source, target, flags=IS_COPIED, **fresh), "kind": "VERSIONED"}
            )
            c.add(
                f"export/{name}-copy-to-{target[0]}.{target[1]}",
                {"t": source},
                call(
                    "export",
                    "t",
                    "o",
                    {**expect, "bytes": "000102030405"},
                    target=target,
                    **options("COPY"),
                ),
                step("check", released(t=1)),
            )


def pins(c):
    """PIN_PRODUCER does not change the fields of a tensor. Deleters of other languages may be code
    outside every module; C's never are."""
    for deleter in (False, True):
        name, count = ("with-deleter", 1) if deleter else ("no-deleter", 0)
        legacy, new = tensor(deleter=deleter), versioned(deleter=deleter)

        def pin(function, source, expect, out="v", count=count, name=name, **arguments):
            c.add(
                f"pin/{function}/{name}",
                {"t": source},
                call(function, "t", out, expect, **options("PIN_PRODUCER"), **arguments),
                step("release", released(t=count), **{"in": out}),
                abi=count == 1,
            )

        for function in UPGRADES:
            pin(function, legacy, made(legacy))
        pin("import", new, made(new, flags=0))
        pin("downgrade", new, made_legacy(new), out="l")
        pin("export", new, made(new, flags=0, same="t"), out="o", target=[1, 3])
    c.add("pin/the-library-itself", {}, step("module_pin", ok()), step("module_pin", ok()))
    for name, fields in {
        "allocated": {"bytes": "00" * 24, "data": 0},
        "unmapped": {"data": 4096},
        "last": {"data": 2**64 - 1},
    }.items():
        c.add(
            f"pin/no-module/{name}",
            {"t": tensor(**fields)},
            step("module_pin", error("ERROR_NOT_FOUND"), **{"in": "t"}),
        )
    c.add(
        "pin/rejected",
        {"t": tensor(dtype=[2, 0, 1])},
        call("upgrade", "t", "v", rejected("DTYPE_BITS_ZERO"), **options("PIN_PRODUCER")),
    )


def owners(c):
    legacy = tensor()
    up = call("upgrade", "t", "v", made(legacy, flags=0), **options("VOUCH_WRITABLE"))
    share = call("share", "v", "s", made(legacy, flags=0))
    c.add(
        "share/original-first",
        {"t": legacy},
        up,
        share,
        step("release", released(t=0), **{"in": "v"}),
        step("release", released(t=1), **{"in": "s"}),
    )
    c.add(
        "share/share-first",
        {"t": legacy},
        up,
        share,
        step("release", released(t=0), **{"in": "s"}),
        step("release", released(t=1), **{"in": "v"}),
    )
    c.add(
        "share/of-share",
        {"t": legacy},
        up,
        share,
        step("release", released(t=0), **{"in": "v"}),
        call("share", "s", "u", made(legacy, flags=0)),
        step("release", released(t=0), **{"in": "s"}),
        step("release", released(t=1), **{"in": "u"}),
    )
    for flags in range(8):
        source = versioned(flags=flags)
        c.add(
            f"share/flags-{flags}",
            {"t": source},
            call("import", "t", "v", made(source, flags=flags)),
            call("share", "v", "s", made(source, flags=flags)),
        )
    for function, arguments in (("share", {}), ("view", {"spec": {"shape": ["1"]}})):
        c.add(
            f"{function}/foreign",
            {"t": versioned()},
            call(function, "t", "s", error("ERROR_FOREIGN_TENSOR"), **arguments),
        )
        c.add(
            f"{function}/in-storage",
            {"t": legacy},
            call("upgrade_into", "t", "v", made(legacy)),
            call(function, "v", "s", rejected("IN_STORAGE"), **arguments),
        )
        for field in ("manager_ctx", "deleter"):
            c.add(
                f"{function}/altered-{field}",
                {"t": legacy},
                call("upgrade", "t", "v", made(legacy)),
                call(function, "v", "s", error("ERROR_FOREIGN_TENSOR"), altered=field, **arguments),
                abi=True,
            )
    altered(c)
    tightened(c)


ALTERATIONS = ("ndim", "shape", "strides", "version", "flags-cleared", "flags-added")


def altered(c):
    """A dlbridge-owned struct with a changed field: every function rejects it."""
    source = tensor()
    for function, arguments in {
        "share": {},
        "view": {"spec": {"shape": ["1"]}},
        "import": {},
        "export": {"target": [1, 3]},
        "downgrade": options("DROP_READ_ONLY"),
        "validate_versioned": {},
    }.items():
        for field in ALTERATIONS:
            out = {} if function == "validate_versioned" else {"out": "s"}
            c.add(
                f"{function}/altered-{field}",
                {"t": source},
                call("upgrade", "t", "v", made(source)),
                step(function, bad_argument(), **{"in": "v"}, **out, altered=field, **arguments),
                step("release", released(t=1), **{"in": "v"}),
                abi=True,
            )
    plain = versioned()
    for function in ("upgrade", "upgrade_into", "upgrade_many", "import"):
        for field in ("ndim", "shape", "strides"):
            c.add(
                f"{function}/altered-legacy-{field}",
                {"t": plain},
                call("import", "t", "v", made(plain, flags=0)),
                call("downgrade", "v", "l", made_legacy(plain)),
                call(function, "l", "o", bad_argument(), altered=field),
                step("release", released(t=1), **{"in": "l"}),
                abi=True,
            )


def tightened(c):
    """READ_ONLY is the only flag that an owner may set, and it is binding."""
    plain = versioned()
    imported = call("import", "t", "v", made(plain, flags=0))
    for function, arguments in (("share", {}), ("view", {"spec": {"shape": ["2", "3"]}})):
        c.add(
            f"{function}/read-only-set",
            {"t": plain},
            imported,
            call(function, "v", "s", made(plain), altered="read-only", **arguments),
            abi=True,
        )
    c.add(
        "downgrade/read-only-set",
        {"t": plain},
        imported,
        call("downgrade", "v", "l", rejected("LEGACY_READ_ONLY"), altered="read-only"),
        abi=True,
    )


def views(c):
    def view(name, source, spec, expect, flags=0):
        last = 0 if expect["status"] == "OK" else 1  # is the parent the last owner?
        c.add(
            f"view/{name}",
            {"t": source},
            call("import", "t", "v", made(source, flags=flags)),
            call("view", "v", "w", expect, spec=spec),
            step("release", released(t=last), **{"in": "v"}),
        )

    def seen(source, shape, strides, offset=0, flags=0, **changes):
        bits = model.item_bits(source["dtype"], flags)
        base = int(source["byte_offset"]) + offset * bits // 8
        fields = {
            "shape": list(map(str, shape)),
            "strides": list(map(str, strides)),
            "ndim": len(shape),
            "byte_offset": base,
            **changes,
        }
        return made(source, flags=flags, **fields)

    base = versioned(shape=(4, 6))
    view("row", base, {"shape": ["6"], "offset": "6"}, seen(base, [6], [1], 6))
    view("column", base, {"shape": ["4"], "strides": ["6"], "offset": "5"}, seen(base, [4], [6], 5))
    view("flat", base, {"shape": ["24"]}, seen(base, [24], [1]))
    view("element", base, {"shape": [], "offset": "23"}, seen(base, [], [], 23))
    view(
        "reversed",
        base,
        {"shape": ["24"], "strides": ["-1"], "offset": "23"},
        seen(base, [24], [-1], 23),
    )
    view(
        "broadcast", base, {"shape": ["3", "6"], "strides": ["0", "1"]}, seen(base, [3, 6], [0, 1])
    )
    view(
        "windows", base, {"shape": ["5", "20"], "strides": ["1", "1"]}, seen(base, [5, 20], [1, 1])
    )
    view("empty", base, {"shape": ["0", "9"], "offset": "999"}, seen(base, [0, 9], [9, 1]))
    view("one-too-many", base, {"shape": ["25"]}, rejected("VIEW_BOUNDS"))
    view("one-too-far", base, {"shape": [], "offset": "24"}, rejected("VIEW_BOUNDS"))
    view("before", base, {"shape": [], "offset": "-1"}, rejected("VIEW_BOUNDS"))
    view("stride-before", base, {"shape": ["2"], "strides": ["-1"]}, rejected("VIEW_BOUNDS"))
    view("offset-maximum", base, {"shape": ["2"], "offset": str(MAX)}, rejected("VIEW_BOUNDS"))
    view("offset-minimum", base, {"shape": ["2"], "offset": str(-MAX - 1)}, rejected("VIEW_BOUNDS"))
    view("dim-negative", base, {"shape": ["2", "-1"]}, rejected("EXTENT_NEGATIVE", 1))
    view(
        "count-overflow",
        base,
        {"shape": [str(2**40), str(2**40)], "strides": ["0", "0"]},
        rejected("COUNT_OVERFLOW"),
    )
    view("ndim-negative", base, {"shape": [], "ndim": -1}, rejected("NDIM_NEGATIVE"))
    view("ndim-65", base, {"shape": ["1"] * 65}, rejected("NDIM_LIMIT"))
    view("ndim-maximum", base, {"shape": None, "ndim": 2**31 - 1}, rejected("NDIM_LIMIT"))
    view("ndim-64", base, {"shape": ["1"] * 64}, seen(base, [1] * 64, [1] * 64))
    ints = {**base, "dtype": [0, 32, 1]}
    view("dtype", base, {"shape": ["24"], "dtype": [0, 32, 1]}, seen(ints, [24], [1]))
    view("dtype-same", base, {"shape": ["24"], "dtype": [2, 32, 1]}, seen(base, [24], [1]))
    halves = {**base, "dtype": [2, 16, 2]}
    view("dtype-lanes", base, {"shape": ["24"], "dtype": [2, 16, 2]}, seen(halves, [24], [1]))
    view("dtype-wider", base, {"shape": ["2"], "dtype": [2, 64, 1]}, bad_argument())
    view("dtype-narrower", base, {"shape": ["2"], "dtype": [0, 8, 1]}, bad_argument())
    view(
        "dtype-no-lanes", base, {"shape": ["2"], "dtype": [0, 32, 0]}, rejected("DTYPE_LANES_ZERO")
    )
    view("shape-null", base, {"shape": None, "ndim": 2}, rejected("SHAPE_NULL"))
    view(
        "extent-overflow",
        base,
        {"shape": ["3"], "strides": [str(MAX)]},
        rejected("OFFSET_OVERFLOW"),
    )
    empty = versioned(shape=(0, 3))
    view("of-empty", empty, {"shape": ["3", "0"]}, seen(empty, [3, 0], [1, 1]))
    view("of-empty-not-empty", empty, {"shape": []}, rejected("VIEW_BOUNDS"))
    down = versioned(shape=(4,), strides=(-1,), data=8192)
    view(
        "of-reversed",
        down,
        {"shape": ["4"], "offset": "-3"},
        seen(down, [4], [1], 0, data=8192 - 12),
    )
    lifted = versioned(shape=(4,), strides=(-1,), byte_offset=12)
    view(
        "of-reversed-with-offset",
        lifted,
        {"shape": ["4"], "offset": "-3"},
        seen(lifted, [4], [1], -3),
    )
    view("of-reversed-too-far", down, {"shape": ["4"], "offset": "-2"}, rejected("VIEW_BOUNDS"))
    for kind in (12, 16, 17):  # it is unspecified whether data is an address
        unsaid = versioned(shape=(4,), strides=(-1,), device=[kind, 0])
        view(
            f"of-reversed-device-{kind}",
            unsaid,
            {"shape": ["4"], "offset": "-3"},
            rejected("HANDLE_RANGE"),
        )
    handle = versioned(device=[4, 0], byte_offset=8)
    view("of-handle", handle, {"shape": ["2"], "offset": "4"}, seen(handle, [2], [1], 4))
    nibbles = versioned(shape=(6,), dtype=[0, 4, 1])
    view("packed-even", nibbles, {"shape": ["2"], "offset": "2"}, seen(nibbles, [2], [1], 2))
    view("packed-odd", nibbles, {"shape": ["2"], "offset": "1"}, rejected("VIEW_OFFSET"))
    padded = versioned(shape=(6,), dtype=[0, 4, 1], flags=PADDED)
    view(
        "padded-odd",
        padded,
        {"shape": ["2"], "offset": "1"},
        seen(padded, [2], [1], 1, PADDED),
        PADDED,
    )
    locked = versioned(flags=READ_ONLY)
    view(
        "read-only-stays", locked, {"shape": ["6"]}, seen(locked, [6], [1], 0, READ_ONLY), READ_ONLY
    )
    c.add(
        "view/downgrade-is-not-original",
        {"t": tensor(shape=(4,))},
        call("upgrade", "t", "v", made(tensor(shape=(4,)), flags=0), **options("VOUCH_WRITABLE")),
        call(
            "view",
            "v",
            "w",
            seen(tensor(shape=(4,)), [2], [1], 1),
            spec={"shape": ["2"], "offset": "1"},
        ),
        step("release", released(t=0), **{"in": "v"}),
        call("downgrade", "w", "l", made_legacy(tensor(shape=(2,)), byte_offset=4)),
        call("upgrade", "l", "x", made(tensor(shape=(2,)), flags=0, byte_offset=4)),
        step("release", released(t=1), **{"in": "x"}),
    )


def copies(c):
    """Cases with real memory: `bytes` is the memory, `data` an offset in it."""
    memory = "000102030405060708090a0b0c0d0e0f"
    legacy = tensor(shape=(2, 3), dtype=[1, 8, 1], bytes=memory, data=0)
    fresh = {"data": "any", "byte_offset": 0}

    def copied(
        name, function, source, packed, *flags, dtype=None, kind="VERSIONED", result_flags=IS_COPIED
    ):
        shape = [int(n) for n in source["shape"]]
        strides = [str(n) for n in model.compact_strides(shape)]
        fields = {**fresh, "strides": strides, "device": [1, 0]}
        expect = (
            made(source, flags=result_flags, **fields)
            if kind == "VERSIONED"
            else made_legacy(source, **fields)
        )
        expect["bytes"] = packed
        c.add(
            f"copy/{name}",
            {"t": source},
            call(function, "t", "o", expect, **options("COPY", *flags)),
            step("release", released(t=1), **{"in": "o"}),
        )

    copied("upgrade", "upgrade", legacy, "000102030405")
    copied("upgrade-pin", "upgrade", legacy, "000102030405", "PIN_PRODUCER")
    for name, fields, packed in (
        ("transposed", {"shape": (3, 2), "strides": (1, 3)}, "000301040205"),
        ("reversed", {"shape": (6,), "strides": (-1,), "data": 5}, "050403020100"),
        ("every-second", {"shape": (6,), "strides": (2,)}, "00020406080a"),
        ("broadcast", {"strides": (0, 1)}, "000102000102"),
        ("offset", {"byte_offset": 4}, "040506070809"),
        ("null-strides", {"strides": None}, "000102030405"),
        ("scalar", {"shape": ()}, "00"),
        ("three-axes", {"shape": (2, 2, 2), "strides": (1, 8, 4)}, "0004080c0105090d"),
        ("uint16", {"dtype": [1, 16, 1], "strides": (1, 2)}, "000104050809020306070a0b"),
        ("lanes", {"dtype": [1, 8, 2], "shape": (2,), "strides": (3,)}, "00010607"),
    ):
        source = tensor(
            **{"shape": (2, 3), "dtype": [1, 8, 1], "bytes": memory, "data": 0, **fields}
        )
        copied(f"upgrade-{name}", "upgrade", source, packed)
    empty = tensor(shape=(0, 3), strides=(1, 1), data=0)
    c.add(
        "copy/empty",
        {"t": empty},
        call(
            "upgrade",
            "t",
            "o",
            {**made(empty, flags=IS_COPIED, strides=["3", "1"]), "bytes": ""},
            **options("COPY"),
        ),
    )
    copied(
        "import", "import", versioned(shape=(4,), dtype=[1, 8, 1], bytes=memory, data=2), "02030405"
    )
    copied(
        "adopt-read-only",
        "import",
        versioned(shape=(4,), dtype=[1, 8, 1], bytes=memory, data=2, flags=READ_ONLY),
        "02030405",
    )
    for name, flags in (
        ("downgrade", 0),
        ("downgrade-read-only", READ_ONLY),
        ("downgrade-padded-byte-sized", PADDED),
    ):
        copied(
            name,
            "downgrade",
            versioned(shape=(4,), dtype=[1, 8, 1], bytes=memory, data=2, flags=flags),
            "02030405",
            kind="LEGACY",
        )
    copied(
        "downgrade-newer-dtype",
        "downgrade",
        versioned(shape=(4,), dtype=[7, 8, 1], bytes=memory, data=0),
        "00010203",
        kind="LEGACY",
    )
    nibbles = "21436587a9cbed0f"  # little-endian by bits: 1, 2, 3, ... 13, 14, 15, 0
    packed4 = {"dtype": [1, 4, 1], "bytes": nibbles, "data": 0}
    copied("packed", "import", versioned(shape=(5,), **packed4), "214305")
    copied(
        "packed-reversed",
        "import",
        versioned(shape=(4,), strides=(-1,), byte_offset=2, **packed4),
        "4523",
    )
    copied("packed-every-third", "import", versioned(shape=(3,), strides=(3,), **packed4), "4107")
    copied(
        "padded",
        "import",
        versioned(shape=(3,), dtype=[1, 4, 1], flags=PADDED, bytes="010203ff", data=0),
        "010203",
        result_flags=IS_COPIED | PADDED,
    )
    copied(
        "padded-to-legacy",
        "downgrade",
        versioned(shape=(4,), dtype=[1, 4, 1], flags=PADDED, bytes="01f20304", data=0),
        "2143",
        kind="LEGACY",
    )
    copied(
        "packed-12-bits",
        "import",
        versioned(shape=(2,), strides=(2,), dtype=[1, 12, 1], bytes="bcafde43210f", data=0),
        first_and_third_of_12_bits("bcafde43210f"),
    )
    copied(
        "pinned",
        "import",
        versioned(shape=(2,), dtype=[1, 8, 1], bytes=memory, data=0, device=[3, 1]),
        "0001",
    )
    c.add(
        "copy/round-trip",
        {"t": legacy},
        call(
            "upgrade",
            "t",
            "v",
            {**made(legacy, flags=IS_COPIED, **fresh), "bytes": "000102030405"},
            **options("COPY"),
        ),
        step("check", released(t=1)),
        call("downgrade", "v", "l", made_legacy(legacy, **fresh)),
        call("upgrade", "l", "w", made(legacy, flags=IS_COPIED, **fresh)),
        about="IS_COPIED is forgotten by legacy and known again after it",
    )
    for kind in (2, 4, 8, 10, 14, 12, 17):
        source = versioned(device=[kind, 0])
        c.add(
            f"copy/rejected/device-{kind}",
            {"t": source},
            call("import", "t", "v", rejected("COPY_DEVICE"), **options("COPY")),
        )
    for name in BROKEN:
        for function in ("upgrade", "downgrade", "import"):
            source, rule = broken(CONVERTERS[function], name)
            _, axis = model.validate(source)
            # Memory of a handle is rejected before its strides are read.
            want = rejected("COPY_DEVICE") if name == "handle" else rejected(rule, axis)
            for flags in (["COPY"], ["COPY", "SKIP_VALIDATION"]):
                suffix = "-vouched" if len(flags) > 1 else ""
                c.add(
                    f"copy/rejected/{function}-{name}{suffix}",
                    {"t": source},
                    call(function, "t", "o", want, **options(*flags)),
                )
    for name, source, more, rule in (
        ("dtype", tensor(dtype=[19, 8, 1]), {}, "DTYPE_UNKNOWN"),
        ("device", tensor(device=[22, 0]), {}, "DEVICE_UNKNOWN"),
        ("flag", tensor(), {"tensor_flags": "8"}, "FLAGS_UNKNOWN"),
        ("version", tensor(dtype=[7, 8, 1]), {"version": [1, 0]}, "REQUIRED_VERSION"),
    ):
        c.add(
            f"copy/rejected/upgrade-unknown-{name}",
            {"t": source},
            call("upgrade", "t", "o", rejected(rule), **options("COPY", **more)),
            about="a copy does not stand in for the permission",
        )
    for fails in (False, True):
        expect = (
            error("ERROR_OUT_OF_MEMORY")
            if fails
            else {**made(legacy, flags=IS_COPIED, **fresh), "bytes": "000102030405"}
        )
        c.add(
            f"copy/allocator{'-fails' if fails else ''}",
            {"t": legacy},
            call(
                "upgrade",
                "t",
                "v",
                expect,
                allocator="fails" if fails else "counts",
                **options("COPY"),
            ),
        )


def first_and_third_of_12_bits(memory):
    number = int.from_bytes(bytes.fromhex(memory), "little")
    both = (number & 0xFFF) | ((number >> 24) & 0xFFF) << 12
    return both.to_bytes(3, "little").hex()


def allocations(c):
    def spec(**fields):
        return {"shape": ["2", "3"], "device": [1, 0], "dtype": [2, 32, 1], **fields}

    def like(given, version=(1, 3), flags=0, empty=False):
        shape = [int(n) for n in given["shape"]]
        return ok(
            tensor={
                "kind": "VERSIONED",
                "version": list(version),
                "flags": str(flags),
                "data": "0" if empty else "any",
                "device": given["device"],
                "ndim": len(shape),
                "dtype": given["dtype"],
                "shape": given["shape"],
                "strides": [str(n) for n in model.compact_strides(shape)],
                "byte_offset": "0",
            }
        )

    def allocate(name, given, expect, **arguments):
        c.add(f"allocate/{name}", {}, step("allocate", expect, out="v", spec=given, **arguments))

    allocate("plain", spec(), like(spec()))
    allocate("device-not-set", spec(device=[0, 0]), like(spec()))
    allocate("dtype-not-set", spec(dtype=[0, 0, 0]), bad_argument())
    allocate("scalar", spec(shape=[]), like(spec(shape=[])))
    allocate("empty", spec(shape=["3", "0"]), like(spec(shape=["3", "0"]), empty=True))
    for alignment in (1, 8, 64, 256, 4096, 65536):
        allocate(f"alignment-{alignment}", spec(alignment=str(alignment)), like(spec()))
    for alignment in (3, 65537, 2**64 - 1):
        allocate(f"alignment-{alignment}", spec(alignment=str(alignment)), bad_argument())
    allocate("packed", spec(dtype=[0, 4, 1]), like(spec(dtype=[0, 4, 1])))
    allocate(
        "padded", spec(dtype=[0, 4, 1], tensor_flags="4"), like(spec(dtype=[0, 4, 1]), flags=4)
    )
    allocate(
        "padded-too-new",
        spec(dtype=[0, 4, 1], tensor_flags="4", version=[1, 0]),
        rejected("REQUIRED_VERSION"),
    )
    allocate("version-1.0", spec(version=[1, 0]), like(spec(), [1, 0]))
    allocate("version-1.9", spec(version=[1, 9]), like(spec()))
    allocate("version-2.0", spec(version=[2, 0]), bad_argument())
    allocate("version-0.8", spec(version=[0, 8]), bad_argument())
    allocate("unknown-dtype", spec(dtype=[19, 8, 1]), rejected("DTYPE_UNKNOWN"))
    allocate("unknown-flag", spec(tensor_flags="8"), rejected("FLAGS_UNKNOWN"))
    allocate("cuda", spec(device=[2, 0]), error("ERROR_UNSUPPORTED"))
    allocate(
        "cuda-by-allocator", spec(device=[2, 1]), like(spec(device=[2, 1])), allocator="counts"
    )
    allocate("allocator", spec(), like(spec()), allocator="counts")
    allocate("allocator-fails", spec(), error("ERROR_OUT_OF_MEMORY"), allocator="fails")
    allocate(
        "allocator-empty", spec(shape=["0"]), like(spec(shape=["0"]), empty=True), allocator="fails"
    )
    allocate("id-negative", spec(device=[1, -1]), rejected("DEVICE_ID_NEGATIVE"))
    allocate("ndim-negative", spec(ndim=-1), rejected("NDIM_NEGATIVE"))
    allocate("ndim-65", spec(shape=["1"] * 65), rejected("NDIM_LIMIT"))
    allocate("shape-null", spec(shape=None, ndim=2), rejected("SHAPE_NULL"))
    allocate("dim-negative", spec(shape=["2", "-3"]), rejected("EXTENT_NEGATIVE", 1))
    allocate("no-bits", spec(dtype=[2, 0, 1]), rejected("DTYPE_BITS_ZERO"))
    allocate("count", spec(shape=[str(2**40), str(2**40)]), rejected("COUNT_OVERFLOW"))
    allocate("size", spec(shape=[str(2**61)]), rejected("SIZE_OVERFLOW"))
    allocate("no-memory", spec(shape=[str(2**60)]), error("ERROR_OUT_OF_MEMORY"))


def add(corpus):
    for part in (
        upgrades,
        upgrade_codes,
        rejections,
        batches,
        downgrades,
        round_trips,
        forms,
        imports,
        exports,
        export_cells,
        unknown_kinds,
        pins,
        owners,
        views,
        copies,
        allocations,
    ):
        part(corpus)
