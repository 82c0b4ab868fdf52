# SPDX-License-Identifier: Apache-2.0
"""Conversions: what comes out, who owns it, and that every deleter runs exactly once."""

import model
from corpus import bad_argument, becomes, error, ok, refused, step, tensor, versioned

READ_ONLY, IS_COPIED, PADDED = model.READ_ONLY, model.IS_COPIED, model.PADDED
MAX = model.INT64_MAX


def call(name, source, out, expect, **arguments):
    """`in` is taken where the call succeeds; `out` names what comes of it."""
    return step(name, expect, **{"in": source, "out": out}, **arguments)


def made(source, version=(1, 3), flags=READ_ONLY, same=None, **changes):
    """A versioned result; `is` says which object it must be: one of the inputs, or a new one."""
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
    return {"options": {"flags": list(flags), **more}}


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
        ("writable", options("WRITABLE"), 0),
        ("told-read-only", options("WRITABLE", source_flags="1"), READ_ONLY),
        ("told-copied", options("WRITABLE", source_flags="2"), IS_COPIED),
        ("told-padded", options(source_flags="4"), READ_ONLY | PADDED),
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
            f"upgrade/version/refused-{asked[0]}.{asked[1]}",
            {"t": source},
            call("upgrade", "t", "v", bad_argument(), **options(version=asked)),
        )


def upgrade_codes(c):
    """Each code against each version: known, too new, or nobody's."""

    def upgrade(name, source, version, *flags, source_flags=0):
        given = {**source, "flags": str(source_flags)}
        needs = model.required(given, source_flags)
        if needs <= tuple(version) or "ALLOW_UNKNOWN" in flags:
            expect = made(source, version, flags=READ_ONLY | source_flags)
        elif needs != model.NO_RELEASE:
            expect = refused("REQUIRED_VERSION")
        else:
            expect = refused(model.unknown_rule(source))
        c.add(
            name,
            {"t": source},
            call(
                "upgrade",
                "t",
                "v",
                expect,
                **options(*flags, version=version, source_flags=str(source_flags)),
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
                source_flags=flags,
            )
            upgrade(
                f"upgrade/source-flags/{flags}-to-1.{minor}-allowed",
                tensor(),
                [1, minor],
                "ALLOW_UNKNOWN",
                source_flags=flags,
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
    "dim-negative": ({"shape": (2, -1), "strides": (1, 1)}, "DIM_NEGATIVE"),
    "count": ({"shape": (2**40, 2**40), "strides": (1, 1)}, "COUNT_OVERFLOW"),
    "count-null-strides": ({"shape": (2**40, 2**40), "strides": None}, "COUNT_OVERFLOW"),
    "size": ({"shape": (2**61,), "strides": (1,)}, "SIZE_OVERFLOW"),
    "extent": ({"shape": (3,), "strides": (MAX,)}, "EXTENT_OVERFLOW"),
    "data-null": ({"data": 0}, "DATA_NULL"),
    "scalar-data-null": ({"data": 0, "shape": ()}, "DATA_NULL"),
    "offset": ({"byte_offset": 2**64 - 1}, "ADDRESS_RANGE"),
    "handle": ({"device": [4, 0], "strides": (3, -1)}, "HANDLE_RANGE"),
}


def broken(make, name):
    """A tensor that breaks one rule. Where strides are NULL it says 1.1, which allows that."""
    fields, rule = BROKEN[name]
    if make is versioned and "strides" in fields and fields["strides"] is None:
        fields = {**fields, "version": [1, 1]}
    return make(**fields), rule


CONVERTERS = {
    "upgrade": tensor,
    "upgrade_into": tensor,
    "upgrade_many": tensor,
    "downgrade": versioned,
    "adopt": versioned,
}


def refusals(c):
    """Every converter validates first, and what it refuses stays the caller's."""
    for function, make in CONVERTERS.items():
        for name in BROKEN:
            source, rule = broken(make, name)
            _, axis = model.validate(source)
            c.add(
                f"{function}/refused/{name}",
                {"t": source},
                call(function, "t", "out", refused(rule, axis)),
                step("release", released(t=1), **{"in": "t"}),
            )
        for name in ("ndim-negative", "shape-null"):
            fields, rule = BROKEN[name]
            c.add(
                f"{function}/refused/vouched-{name}",
                {"t": make(**fields)},
                call(function, "t", "out", refused(rule), **options("SKIP_VALIDATION")),
            )
        for name, policy, rule in (
            ("policy-contiguity", {"contiguity": "F"}, "CONTIGUITY"),
            ("policy-ndim", {"max_ndim": 1}, "NDIM_LIMIT"),
            ("policy-device", {"devices": [[2, -1]]}, "DEVICE_REFUSED"),
            ("policy-buffer", {"buffer_size": "8"}, "BUFFER_BOUNDS"),
        ):
            c.add(
                f"{function}/refused/{name}",
                {"t": make()},
                call(function, "t", "out", refused(rule), **options(policy=policy)),
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
    for function in ("downgrade", "adopt"):
        for major in (0, 2):
            c.add(
                f"{function}/refused/major-{major}",
                {"t": versioned(version=[major, 3], ndim=-1)},
                call(function, "t", "out", refused("VERSION_MAJOR")),
            )
        c.add(
            f"{function}/refused/strides-null",
            {"t": versioned(strides=None)},
            call(function, "t", "out", refused("STRIDES_NULL")),
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
    writable = {"policy": {"flags": ["REQUIRE_WRITABLE"]}}
    vouched = {"policy": {"flags": ["REQUIRE_WRITABLE", "VOUCH_WRITABLE"]}}
    for function in UPGRADES:
        c.add(
            f"{function}/refused/not-writable",
            {"t": tensor()},
            call(function, "t", "v", refused("NOT_WRITABLE"), **options(**writable)),
        )
        c.add(
            f"{function}/writable-told",
            {"t": tensor()},
            call(function, "t", "v", made(tensor(), flags=0), **options("WRITABLE", **writable)),
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
            f"upgrade_many/refused/at-{index}",
            sources,
            step(
                "upgrade_many",
                {**refused("NDIM_NEGATIVE"), "failed": index},
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
    plain = versioned()
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
        arguments = options("NEWER_CODES") if source["dtype"][0] == 17 else {}
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
        "maia": ({"device": [17, 0]}, "LEGACY_DEVICE", "NEWER_CODES"),
        "trn": ({"device": [18, 0]}, "LEGACY_DEVICE", "NEWER_CODES"),
        "tpu": ({"device": [19, 0]}, "DEVICE_UNKNOWN", "ALLOW_UNKNOWN"),
        "device-5": ({"device": [5, 0]}, "DEVICE_UNKNOWN", "ALLOW_UNKNOWN"),
        "bcomplex": ({"dtype": [18, 32, 1]}, "DTYPE_UNKNOWN", "ALLOW_UNKNOWN"),
        "dtype-200": ({"dtype": [200, 32, 1]}, "DTYPE_UNKNOWN", "ALLOW_UNKNOWN"),
        "flag-3": ({"flags": 8}, "FLAGS_UNKNOWN", "ALLOW_UNKNOWN"),
        "flag-63": ({"flags": 2**63}, "FLAGS_UNKNOWN", "ALLOW_UNKNOWN"),
    }
    for code in range(7, 18):
        name, _, bits = model.DTYPES[code]
        losses[name] = ({"dtype": [code, bits, 1]}, "LEGACY_DTYPE", "NEWER_CODES")
    permissions = ("DROP_READ_ONLY", "DROP_PADDED", "NEWER_CODES", "ALLOW_UNKNOWN")
    for name, (fields, rule, permission) in losses.items():
        source = versioned(**fields)
        c.add(f"downgrade/loss/{name}", {"t": source}, call("downgrade", "t", "l", refused(rule)))
        c.add(
            f"downgrade/loss/{name}-allowed",
            {"t": source},
            call("downgrade", "t", "l", made_legacy(source), **options(permission)),
        )
        others = [p for p in permissions if p != permission]
        c.add(
            f"downgrade/loss/{name}-others-allowed",
            {"t": source},
            call("downgrade", "t", "l", refused(rule), **options(*others)),
        )
    for kind in (7, 11, 14, 16):
        source = versioned(device=[kind, 0])
        c.add(
            f"downgrade/device-{kind}",
            {"t": source},
            call("downgrade", "t", "l", made_legacy(source)),
        )
    c.add(
        "downgrade/version-ignored",
        {"t": plain},
        call("downgrade", "t", "l", made_legacy(plain), **options(version=[1, 0])),
    )


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
        call("upgrade", "l", "v", made(read_only, same="t"), **options("WRITABLE")),
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
        call("upgrade", "t", "v", made(legacy, flags=0), **options("WRITABLE")),
        call("downgrade", "v", "l", made_legacy(legacy, same="t")),
    )
    c.add(
        "round-trip/legacy-unknown-refused",
        {"t": legacy},
        call("upgrade", "t", "v", made(legacy)),
        call("downgrade", "v", "l", refused("LEGACY_READ_ONLY")),
        call("downgrade", "v", "l", made_legacy(legacy, same="t"), **drop),
        about="READ_ONLY binds also where it stands for unknown",
    )
    null = tensor(strides=None)
    c.add(
        "round-trip/legacy-null-strides",
        {"t": null},
        call("upgrade", "t", "v", made(null, flags=0), **options("WRITABLE")),
        call(
            "downgrade",
            "v",
            "l",
            ok(**{"tensor": {"kind": "LEGACY", **becomes(null), "strides": None}, "is": "t"}),
        ),
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
        "round-trip/refused-original",
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
        call("upgrade", "l", "v", refused("CONTIGUITY"), **options(policy={"contiguity": "F"})),
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
        call("upgrade", "t", "v", made(legacy, flags=0), **options("WRITABLE")),
        call("share", "v", "s", made(legacy, flags=0)),
        call("downgrade", "v", "l", made_legacy(legacy)),
        step("release", released(t=0), **{"in": "l"}),
        call("downgrade", "s", "m", made_legacy(legacy, same="t")),
        step("release", released(t=1), **{"in": "m"}),
    )
    c.add(
        "round-trip/shared-keeps-read-only",
        {"t": legacy},
        call("upgrade", "t", "v", made(legacy)),
        call("share", "v", "s", made(legacy)),
        call("downgrade", "v", "l", made_legacy(legacy), **drop),
        call("upgrade", "l", "w", made(legacy), **options("WRITABLE")),
    )
    c.add(
        "round-trip/caller-knows-more",
        {"t": plain},
        call("downgrade", "t", "l", made_legacy(plain)),
        call("upgrade", "l", "v", made(plain, flags=READ_ONLY), **options(source_flags="1")),
        about="the original does not say what the caller knows",
    )
    unknown = versioned(flags=8, version=[1, 7])
    allow = options("ALLOW_UNKNOWN")
    c.add(
        "round-trip/unknown-flag",
        {"t": unknown},
        call("downgrade", "t", "l", made_legacy(unknown), **allow),
        call("upgrade", "l", "v", refused("FLAGS_UNKNOWN")),
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
        call("upgrade_into", "l", "v", made(read_only), **options("WRITABLE")),
        step("release", released(t=1), **{"in": "v"}),
    )
    c.add(
        "round-trip/into-storage-unknown-flag",
        {"t": unknown},
        call("downgrade", "t", "l", made_legacy(unknown), **allow),
        call("upgrade_into", "l", "v", refused("FLAGS_UNKNOWN")),
        call("upgrade_into", "l", "v", made(unknown, [1, 7], flags=8), **allow),
    )
    c.add(
        "round-trip/out-of-storage",
        {"t": legacy},
        call("upgrade_into", "t", "v", made(legacy, flags=0), **options("WRITABLE")),
        call("downgrade", "v", "l", made_legacy(legacy, same="t")),
        step("release", released(t=1), **{"in": "l"}),
    )
    c.add(
        "round-trip/storage-then-new-node",
        {"t": legacy},
        call("upgrade_into", "t", "v", made(legacy, flags=0), **options("WRITABLE")),
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
        may = options("FOLD_BYTE_OFFSET", "ALLOW_UNKNOWN", "NEWER_CODES")
        address = kind in model.ADDRESS_DEVICES
        fields = {"data": 4104, "byte_offset": 0}
        c.add(
            f"downgrade/fold/{name}",
            {"t": source},
            call(
                "downgrade",
                "t",
                "l",
                made_legacy(source, **fields) if address else refused("OFFSET_FOLD"),
                **may,
            ),
        )
        if model.device_since(kind) <= (0, 8):
            plain = tensor(device=[kind, 0], byte_offset=8)
            c.add(
                f"upgrade/fold/{name}",
                {"t": plain},
                call(
                    "upgrade",
                    "t",
                    "v",
                    made(plain, **fields) if address else refused("OFFSET_FOLD"),
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
            f"adopt/{name}",
            {"t": source},
            call("adopt", "t", "v", made(source, flags=0, **expect), **options(flag)),
        )
    c.add(
        "adopt/fold-handle",
        {"t": versioned(device=[4, 0])},
        call("adopt", "t", "v", refused("OFFSET_FOLD"), **options("FOLD_BYTE_OFFSET")),
    )


def adopts(c):
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
            f"adopt/{name}",
            {"t": source},
            call("adopt", "t", "v", made(source, flags=source["flags"])),
            step("release", released(t=int(source["deleter"])), **{"in": "v"}),
        )
    plain = versioned()
    c.add(
        "adopt/ours",
        {"t": plain},
        call("adopt", "t", "v", made(plain, flags=0)),
        call("adopt", "v", "w", made(plain, flags=0, same="v")),
    )
    c.add(
        "adopt/ours-older",
        {"t": plain},
        call("adopt", "t", "v", made(plain, flags=0)),
        call("adopt", "v", "w", made(plain, [1, 1], flags=0), **options(version=[1, 1])),
    )
    c.add(
        "adopt/ours-refused",
        {"t": plain},
        call("adopt", "t", "v", made(plain, flags=0)),
        call("adopt", "v", "w", refused("CONTIGUITY"), **options(policy={"contiguity": "F"})),
    )
    legacy = tensor()
    c.add(
        "adopt/out-of-storage",
        {"t": legacy},
        call("upgrade_into", "t", "v", made(legacy)),
        call("share", "v", "s", refused("IN_STORAGE")),
        call("adopt", "v", "w", made(legacy)),
        call("share", "w", "s", made(legacy)),
    )
    for name, fields, rule in (
        ("dtype", {"dtype": [19, 8, 1]}, "DTYPE_UNKNOWN"),
        ("device", {"device": [22, 0]}, "DEVICE_UNKNOWN"),
        ("flag", {"flags": 16}, "FLAGS_UNKNOWN"),
    ):
        source = versioned(version=[1, 5], **fields)
        c.add(f"adopt/unknown/{name}", {"t": source}, call("adopt", "t", "v", refused(rule)))
        c.add(
            f"adopt/unknown/{name}-allowed",
            {"t": source},
            call(
                "adopt",
                "t",
                "v",
                made(source, [1, 5], flags=source["flags"]),
                **options("ALLOW_UNKNOWN"),
            ),
        )
        c.add(
            f"adopt/unknown/{name}-not-by-copy",
            {"t": source},
            call("adopt", "t", "v", refused(rule), **options("COPY")),
        )
    newer = versioned(dtype=[7, 8, 1])
    c.add(
        "adopt/consumer-too-old",
        {"t": newer},
        call("adopt", "t", "v", refused("REQUIRED_VERSION"), **options(version=[1, 0])),
    )


def converts(c):
    def convert(name, source, target, expect, kind, **arguments):
        if expect["status"] == "OK":
            expect = {**expect, "kind": kind}
        c.add(
            f"convert/{name}",
            {"t": source},
            call("convert", "t", "o", expect, target=target, **arguments),
        )

    legacy, plain = tensor(), versioned()
    convert("legacy-to-1.3", legacy, [1, 3], made(legacy), "VERSIONED")
    convert("legacy-to-1.0", legacy, [1, 0], made(legacy, [1, 0]), "VERSIONED")
    convert("legacy-to-legacy", legacy, [0, 8], made_legacy(legacy, same="t"), "LEGACY")
    convert("versioned-to-legacy", plain, [0, 6], made_legacy(plain), "LEGACY")
    convert("versioned-to-1.3", plain, [1, 3], made(plain, flags=0, same="t"), "VERSIONED")
    convert("versioned-to-1.9", plain, [1, 9], made(plain, flags=0, same="t"), "VERSIONED")
    convert("versioned-to-1.1", plain, [1, 1], made(plain, [1, 1], flags=0), "VERSIONED")
    old = versioned(version=[1, 0])
    convert("older-stays", old, [1, 3], made(old, [1, 0], flags=0, same="t"), "VERSIONED")
    newest = versioned(version=[1, 9])
    convert("newer-minor-comes-down", newest, [1, 3], made(newest, flags=0), "VERSIONED")
    convert(
        "read-only-to-legacy", versioned(flags=1), [0, 8], refused("LEGACY_READ_ONLY"), "LEGACY"
    )
    convert(
        "read-only-to-legacy-allowed",
        versioned(flags=1),
        [0, 8],
        made_legacy(versioned(flags=1)),
        "LEGACY",
        **options("DROP_READ_ONLY"),
    )
    convert("major-2", versioned(version=[2, 0]), [1, 3], refused("VERSION_MAJOR"), "VERSIONED")
    convert(
        "major-2-to-legacy", versioned(version=[2, 0]), [0, 8], refused("VERSION_MAJOR"), "LEGACY"
    )
    convert("target-major-2", plain, [2, 0], bad_argument(), "VERSIONED")
    convert("version-option", plain, [1, 3], bad_argument(), "VERSIONED", **options(version=[1, 0]))
    convert("broken", versioned(ndim=-1), [1, 3], refused("NDIM_NEGATIVE"), "VERSIONED")
    convert("broken-legacy", tensor(ndim=-1), [0, 8], refused("NDIM_NEGATIVE"), "LEGACY")
    convert("broken-layout", versioned(data=0), [1, 3], refused("DATA_NULL"), "VERSIONED")
    convert("broken-legacy-layout", tensor(data=0), [0, 8], refused("DATA_NULL"), "LEGACY")
    convert(
        "broken-vouched",
        versioned(data=0),
        [1, 3],
        made(versioned(data=0), flags=0, same="t"),
        "VERSIONED",
        **options("SKIP_VALIDATION"),
    )
    convert(
        "legacy-vouched",
        tensor(data=0),
        [0, 8],
        made_legacy(tensor(data=0), same="t"),
        "LEGACY",
        **options("SKIP_VALIDATION"),
    )
    convert("unknown-flag", versioned(flags=8), [1, 3], refused("FLAGS_UNKNOWN"), "VERSIONED")
    convert(
        "unknown-flag-allowed",
        versioned(flags=8, version=[1, 8]),
        [1, 3],
        made(plain, [1, 8], flags=8, same="t"),
        "VERSIONED",
        **options("ALLOW_UNKNOWN"),
    )
    newer = versioned(dtype=[7, 8, 1])
    convert("needs-1.1", newer, [1, 0], refused("REQUIRED_VERSION"), "VERSIONED")
    convert("needs-1.1-to-legacy", newer, [0, 8], refused("LEGACY_DTYPE"), "LEGACY")
    fp8 = tensor(dtype=[7, 8, 1])
    convert("legacy-with-newer-dtype", fp8, [0, 8], refused("LEGACY_DTYPE"), "LEGACY")
    convert(
        "legacy-with-newer-dtype-allowed",
        fp8,
        [0, 8],
        made_legacy(fp8, same="t"),
        "LEGACY",
        **options("NEWER_CODES"),
    )
    convert(
        "legacy-with-unknown-device",
        tensor(device=[19, 0]),
        [0, 8],
        refused("DEVICE_UNKNOWN"),
        "LEGACY",
    )
    convert(
        "legacy-to-legacy-form", legacy, [0, 8], bad_argument(), "LEGACY", **options("CANONICAL")
    )
    convert(
        "legacy-to-legacy-policy",
        legacy,
        [0, 8],
        refused("NOT_WRITABLE"),
        "LEGACY",
        **options(policy={"flags": ["REQUIRE_WRITABLE"]}),
    )
    convert(
        "legacy-to-legacy-policy-told",
        legacy,
        [0, 8],
        made_legacy(legacy, same="t"),
        "LEGACY",
        **options("WRITABLE", policy={"flags": ["REQUIRE_WRITABLE"]}),
    )
    convert(
        "legacy-to-legacy-policy-vouched",
        legacy,
        [0, 8],
        made_legacy(legacy, same="t"),
        "LEGACY",
        **options(policy={"flags": ["REQUIRE_WRITABLE", "VOUCH_WRITABLE"]}),
    )
    null = versioned(strides=None)
    convert("null-strides", null, [1, 3], refused("STRIDES_NULL"), "VERSIONED")
    convert(
        "null-strides-filled",
        null,
        [1, 1],
        made(null, [1, 1], flags=0),
        "VERSIONED",
        **options(policy={"flags": ["ALLOW_NULL_STRIDES"]}),
    )


def pins(c):
    """PIN_PRODUCER changes nothing that a tensor says. Deleters of a test may be code that lies in
    no module, which only C's own never do."""
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
        pin("adopt", new, made(new, flags=0))
        pin("downgrade", new, made_legacy(new), out="l")
        pin("convert", new, made(new, flags=0, same="t"), out="o", target=[1, 3])
    c.add("pin/the-library-itself", {}, step("pin_module", ok()), step("pin_module", ok()))
    for name, fields in {
        "allocated": {"bytes": "00" * 24, "data": 0},
        "unmapped": {"data": 4096},
        "last": {"data": 2**64 - 1},
    }.items():
        c.add(
            f"pin/no-module/{name}",
            {"t": tensor(**fields)},
            step("pin_module", error("ERROR_NOT_FOUND"), **{"in": "t"}),
        )
    c.add(
        "pin/refused",
        {"t": tensor(dtype=[2, 0, 1])},
        call("upgrade", "t", "v", refused("DTYPE_BITS_ZERO"), **options("PIN_PRODUCER")),
    )


def owners(c):
    legacy = tensor()
    up = call("upgrade", "t", "v", made(legacy, flags=0), **options("WRITABLE"))
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
            call("adopt", "t", "v", made(source, flags=flags)),
            call("share", "v", "s", made(source, flags=flags)),
        )
    for function, arguments in (("share", {}), ("view", {"spec": {"shape": ["1"]}})):
        c.add(
            f"{function}/foreign",
            {"t": versioned()},
            call(function, "t", "s", error("ERROR_NOT_OURS"), **arguments),
        )
        c.add(
            f"{function}/in-storage",
            {"t": legacy},
            call("upgrade_into", "t", "v", made(legacy)),
            call(function, "v", "s", refused("IN_STORAGE"), **arguments),
        )
        for field in ("ndim", "shape", "strides", "manager_ctx", "deleter"):
            status = (
                error("ERROR_NOT_OURS") if field in ("manager_ctx", "deleter") else bad_argument()
            )
            c.add(
                f"{function}/altered-{field}",
                {"t": legacy},
                call("upgrade", "t", "v", made(legacy)),
                call(function, "v", "s", status, altered=field, **arguments),
                abi=True,
            )


def views(c):
    def view(name, source, spec, expect, flags=0):
        last = 0 if expect["status"] == "OK" else 1  # is the parent the last owner?
        c.add(
            f"view/{name}",
            {"t": source},
            call("adopt", "t", "v", made(source, flags=flags)),
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
    view("one-too-many", base, {"shape": ["25"]}, refused("VIEW_BOUNDS"))
    view("one-too-far", base, {"shape": [], "offset": "24"}, refused("VIEW_BOUNDS"))
    view("before", base, {"shape": [], "offset": "-1"}, refused("VIEW_BOUNDS"))
    view("stride-before", base, {"shape": ["2"], "strides": ["-1"]}, refused("VIEW_BOUNDS"))
    view("offset-maximum", base, {"shape": ["2"], "offset": str(MAX)}, refused("VIEW_BOUNDS"))
    view("offset-minimum", base, {"shape": ["2"], "offset": str(-MAX - 1)}, refused("VIEW_BOUNDS"))
    view("dim-negative", base, {"shape": ["2", "-1"]}, refused("DIM_NEGATIVE", 1))
    view(
        "count-overflow",
        base,
        {"shape": [str(2**40), str(2**40)], "strides": ["0", "0"]},
        refused("COUNT_OVERFLOW"),
    )
    view("ndim-negative", base, {"shape": [], "ndim": -1}, refused("NDIM_NEGATIVE"))
    view("shape-null", base, {"shape": None, "ndim": 2}, refused("SHAPE_NULL"))
    view(
        "extent-overflow", base, {"shape": ["3"], "strides": [str(MAX)]}, refused("EXTENT_OVERFLOW")
    )
    empty = versioned(shape=(0, 3))
    view("of-empty", empty, {"shape": ["3", "0"]}, seen(empty, [3, 0], [1, 1]))
    view("of-empty-not-empty", empty, {"shape": []}, refused("VIEW_BOUNDS"))
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
    view("of-reversed-too-far", down, {"shape": ["4"], "offset": "-2"}, refused("VIEW_BOUNDS"))
    for kind in (12, 16, 17):  # nobody says whether data is an address
        unsaid = versioned(shape=(4,), strides=(-1,), device=[kind, 0])
        view(
            f"of-reversed-device-{kind}",
            unsaid,
            {"shape": ["4"], "offset": "-3"},
            refused("HANDLE_RANGE"),
        )
    handle = versioned(device=[4, 0], byte_offset=8)
    view("of-handle", handle, {"shape": ["2"], "offset": "4"}, seen(handle, [2], [1], 4))
    nibbles = versioned(shape=(6,), dtype=[0, 4, 1])
    view("packed-even", nibbles, {"shape": ["2"], "offset": "2"}, seen(nibbles, [2], [1], 2))
    view("packed-odd", nibbles, {"shape": ["2"], "offset": "1"}, refused("VIEW_OFFSET"))
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
        call("upgrade", "t", "v", made(tensor(shape=(4,)), flags=0), **options("WRITABLE")),
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
    """Real bytes: `bytes` is memory, `data` the offset in it."""
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
        "adopt", "adopt", versioned(shape=(4,), dtype=[1, 8, 1], bytes=memory, data=2), "02030405"
    )
    copied(
        "adopt-read-only",
        "adopt",
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
    copied("packed", "adopt", versioned(shape=(5,), **packed4), "214305")
    copied(
        "packed-reversed",
        "adopt",
        versioned(shape=(4,), strides=(-1,), byte_offset=2, **packed4),
        "4523",
    )
    copied("packed-every-third", "adopt", versioned(shape=(3,), strides=(3,), **packed4), "4107")
    copied(
        "padded",
        "adopt",
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
        "adopt",
        versioned(shape=(2,), strides=(2,), dtype=[1, 12, 1], bytes="bcafde43210f", data=0),
        first_and_third_of_12_bits("bcafde43210f"),
    )
    copied(
        "pinned",
        "adopt",
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
            f"copy/refused/device-{kind}",
            {"t": source},
            call("adopt", "t", "v", refused("COPY_DEVICE"), **options("COPY")),
        )
    for name in BROKEN:
        for function in ("upgrade", "downgrade", "adopt"):
            source, rule = broken(CONVERTERS[function], name)
            _, axis = model.validate(source)
            # Memory of a handle is refused before its strides are looked at.
            want = refused("COPY_DEVICE") if name == "handle" else refused(rule, axis)
            for flags in (["COPY"], ["COPY", "SKIP_VALIDATION"]):
                suffix = "-vouched" if len(flags) > 1 else ""
                c.add(
                    f"copy/refused/{function}-{name}{suffix}",
                    {"t": source},
                    call(function, "t", "o", want, **options(*flags)),
                )
    for name, source, more, rule in (
        ("dtype", tensor(dtype=[19, 8, 1]), {}, "DTYPE_UNKNOWN"),
        ("device", tensor(device=[22, 0]), {}, "DEVICE_UNKNOWN"),
        ("flag", tensor(), {"source_flags": "8"}, "FLAGS_UNKNOWN"),
        ("version", tensor(dtype=[7, 8, 1]), {"version": [1, 0]}, "REQUIRED_VERSION"),
    ):
        c.add(
            f"copy/refused/upgrade-unknown-{name}",
            {"t": source},
            call("upgrade", "t", "o", refused(rule), **options("COPY", **more)),
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
    allocate("scalar", spec(shape=[]), like(spec(shape=[])))
    allocate("empty", spec(shape=["3", "0"]), like(spec(shape=["3", "0"]), empty=True))
    for alignment in (1, 8, 64, 256, 4096, 65536):
        allocate(f"alignment-{alignment}", spec(alignment=str(alignment)), like(spec()))
    for alignment in (3, 65537, 2**64 - 1):
        allocate(f"alignment-{alignment}", spec(alignment=str(alignment)), bad_argument())
    allocate("packed", spec(dtype=[0, 4, 1]), like(spec(dtype=[0, 4, 1])))
    allocate("padded", spec(dtype=[0, 4, 1], flags="4"), like(spec(dtype=[0, 4, 1]), flags=4))
    allocate(
        "padded-too-new",
        spec(dtype=[0, 4, 1], flags="4", version=[1, 0]),
        refused("REQUIRED_VERSION"),
    )
    allocate("version-1.0", spec(version=[1, 0]), like(spec(), [1, 0]))
    allocate("version-1.9", spec(version=[1, 9]), like(spec()))
    allocate("version-2.0", spec(version=[2, 0]), bad_argument())
    allocate("version-0.8", spec(version=[0, 8]), bad_argument())
    allocate("unknown-dtype", spec(dtype=[19, 8, 1]), refused("DTYPE_UNKNOWN"))
    allocate("unknown-flag", spec(flags="8"), refused("FLAGS_UNKNOWN"))
    allocate("cuda", spec(device=[2, 0]), error("ERROR_UNSUPPORTED"))
    allocate(
        "cuda-by-allocator", spec(device=[2, 1]), like(spec(device=[2, 1])), allocator="counts"
    )
    allocate("allocator", spec(), like(spec()), allocator="counts")
    allocate("allocator-fails", spec(), error("ERROR_OUT_OF_MEMORY"), allocator="fails")
    allocate(
        "allocator-empty", spec(shape=["0"]), like(spec(shape=["0"]), empty=True), allocator="fails"
    )
    allocate("id-negative", spec(device=[1, -1]), refused("DEVICE_ID_NEGATIVE"))
    allocate("ndim-negative", spec(ndim=-1), refused("NDIM_NEGATIVE"))
    allocate("ndim-65", spec(shape=["1"] * 65), refused("NDIM_LIMIT"))
    allocate("shape-null", spec(shape=None, ndim=2), refused("SHAPE_NULL"))
    allocate("dim-negative", spec(shape=["2", "-3"]), refused("DIM_NEGATIVE", 1))
    allocate("no-bits", spec(dtype=[2, 0, 1]), refused("DTYPE_BITS_ZERO"))
    allocate("count", spec(shape=[str(2**40), str(2**40)]), refused("COUNT_OVERFLOW"))
    allocate("size", spec(shape=[str(2**61)]), refused("SIZE_OVERFLOW"))
    allocate("no-memory", spec(shape=[str(2**60)]), error("ERROR_OUT_OF_MEMORY"))


def add(corpus):
    for part in (
        upgrades,
        upgrade_codes,
        refusals,
        batches,
        downgrades,
        round_trips,
        forms,
        adopts,
        converts,
        pins,
        owners,
        views,
        copies,
        allocations,
    ):
        part(corpus)
