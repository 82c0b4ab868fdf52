# SPDX-License-Identifier: Apache-2.0
"""Negotiation of versions, and the contents of exported structs, judged by dlbridge's rules."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from . import answers, capsules, programs_struct, reproducers, values, verdicts
from .forms import FORMS
from .kit import Kit, apart, check, consumed, expected, message, triple
from .outcomes import Failure, Skip

# ------------------------------------------------------------------------------------- versions


@check("version-legacy")
def version_legacy(kit: Kit) -> None:
    array = kit.array()
    try:
        with kit.showing(answers.legacy):
            capsule = kit.fresh(kit.ask(array))
    except BufferError:
        return
    except (Skip, Failure):
        raise
    except Exception as error:
        raise Failure("a legacy capsule or BufferError", message(error)) from None
    if capsules.kind(capsule) != capsules.LEGACY:
        raise Failure("a capsule named dltensor", capsules.label(capsule), "crash")


def _asked(kit: Kit, array: Any, version: tuple[int, int]) -> Any:
    try:
        return kit.fresh(kit.ask(array, max_version=version))
    except TypeError as error:
        raise Skip(f"the producer lacks max_version: {message(error)}") from None


@check("version-versioned")
def version_versioned(kit: Kit) -> None:
    array = kit.array()
    for version in ((1, 0), (1, 1), capsules.NEWEST):
        try:
            with kit.showing(answers.versioned):
                _asked(kit, array, version)
        except (Skip, Failure):
            raise
        except Exception as error:
            raise Failure(f"a capsule for max_version={version}", message(error)) from None


@check("version-old")
def version_old(kit: Kit) -> None:
    array = kit.array()
    try:
        with kit.showing(answers.old):
            capsule = _asked(kit, array, (0, 8))
    except BufferError:
        return
    if capsules.kind(capsule) == capsules.VERSIONED:
        raise Failure("a legacy capsule or BufferError", "a capsule named dltensor_versioned")


@check("version-future")
def version_future(kit: Kit) -> None:
    array = kit.array()
    for version in ((1, 99), (2, 0)):
        try:
            with kit.showing(answers.future):
                capsule = _asked(kit, array, version)
        except (Skip, Failure):
            raise
        except Exception as error:
            wanted = f"a capsule of the producer's version for max_version={version}"
            raise Failure(wanted, message(error)) from None
        found = capsules.describe(capsules.look(capsule)).version
        if found is not None and (found[0] != 1 or found[1] > 90):
            raise Failure("the producer's own version", f"version {found}", "crash")


# --------------------------------------------------------------------------------------- struct

# Rule of dlbridge that is broken -> severity, where it is not that of the check.
_SEVERITY = {"STRIDES_NULL": "deviation", "DEVICE_ID_NEGATIVE": "deviation"}


@check("struct-valid")
def struct_valid(kit: Kit) -> None:
    from dlbridge import abi

    judged = 0
    for form in FORMS:
        for dtype in ("float32",) if form != "plain" else values.DTYPES:
            try:
                capsule = kit.optional(kit.array(form, dtype))
            except Skip:
                continue
            judged += 1
            kit.shows(programs_struct.valid)
            struct = capsules.look(capsule)
            found = capsules.describe(struct)
            kind = abi.Kind.LEGACY if found.version is None else abi.Kind.VERSIONED
            for finding in abi.diagnose(ctypes.addressof(struct), kind):
                if finding["severity"] == abi.Severity.BROKEN or _is_false_flag(finding, found):
                    raise _broken(finding, form, dtype)
            _padding_is_needed(found, form, dtype)
    if not judged:
        raise Skip("the library exports no array")


def _is_false_flag(finding: dict[str, Any], found: capsules.Description) -> bool:
    """Whether the struct has a flag that its own version does not define. A consumer must accept
    one of a later version, so it is no error of a struct as such."""
    known = found.version is not None and found.version <= capsules.NEWEST
    return finding["rule"] == "FLAGS_UNKNOWN" and known


def _padding_is_needed(found: capsules.Description, form: str, dtype: str) -> None:
    """The flag says where the bits of an element below a byte are, and is of no other element."""
    if found.is_padded and found.dtype[1] >= 8:
        raise Failure(
            "no flag IS_SUBBYTE_TYPE_PADDED for elements of whole bytes",
            f"flags {found.flags:#x}, {found.dtype[1]} bits ({form} {dtype})",
        )


def _broken(finding: dict[str, Any], form: str, dtype: str) -> Failure:
    rule = str(finding["rule"])
    found = f"{finding['text']}: {finding['found']} (rule {rule}, {form} {dtype})"
    return Failure(str(finding["expected"]), found, _SEVERITY.get(rule, ""))


def _all_exported(kit: Kit, forms: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The capsules of the layouts that the library exports. Skips the check if it exports none: a
    check that has seen no array proves nothing."""
    reason = Skip("the library exports no array")
    exported = 0
    for form in forms:
        try:
            capsule = kit.optional(kit.array(form))
        except Skip as skip:
            reason = skip
            continue
        exported += 1
        yield form, capsule
    if not exported:
        raise reason


def _all_described(kit: Kit, forms: Iterable[str]) -> Iterator[tuple[str, capsules.Description]]:
    for form, capsule in _all_exported(kit, forms):
        yield form, capsules.describe(capsules.look(capsule))


@check("strides-present")
def strides_present(kit: Kit) -> None:
    recent = 0
    for form, found in _all_described(kit, FORMS):
        if found.version is None or found.version < (1, 2):
            continue
        recent += 1
        if found.shape and found.strides is None:
            kit.shows(answers.strides)
            raise Failure(f"strides ({form}, version {found.version})", "NULL")
    if not recent:
        raise Skip("the producer exports no version from 1.2 on")


@check("shape-and-strides")
def shape_and_strides(kit: Kit) -> None:
    for form, capsule in _all_exported(kit, FORMS):
        found, layout = capsules.describe(capsules.look(capsule)), FORMS[form]
        kit.shows(verdicts.values)
        if found.shape != layout.shape:
            raise Failure(f"shape {layout.shape} ({form})", f"shape {found.shape}")
        right = _right_strides(found, form)
        if right is not None:
            shown = "NULL, which are compact" if found.strides is None else f"{found.strides}"
            raise Failure(f"strides {right}, in elements ({form})", f"strides {shown}")


def _right_strides(found: capsules.Description, form: str) -> tuple[int, ...] | None:
    """Other strides that lead to the values of the array, if those of the struct do not. A library
    may lay a copy out as it likes, so only the values decide."""
    if found.dtype != triple("float32") or found.elements() == expected(form):
        return None
    shape = found.shape
    strides = capsules.compact(shape) if found.strides is None else found.strides
    in_elements = tuple(stride // values.size("float32") for stride in strides)
    fortran = tuple(reversed(capsules.compact(tuple(reversed(shape)))))
    for other in (FORMS[form].strides, in_elements, capsules.compact(shape), fortran):
        if dataclasses.replace(found, strides=other).elements() == expected(form):
            return other
    return None


@check("values")
def values_arrive(kit: Kit) -> None:
    wrong: dict[str, tuple[bytes, str]] = {}
    for form, capsule in _all_exported(kit, FORMS):
        kit.shows(verdicts.values)
        with consumed(capsule) as struct:
            found = capsules.describe(struct)
            if found.dtype != triple("float32"):
                raise Failure("dtype (2, 32, 1)", f"dtype {found.dtype}")
            if found.shape != FORMS[form].shape:
                raise Failure(f"shape {FORMS[form].shape} ({form})", f"shape {found.shape}")
            bits = found.elements()
        if bits != expected(form):
            wrong[form] = bits, kit.reproducer
    for form, (bits, program) in wrong.items():
        kit.reproducer = program
        wanted, shown = apart(expected(form), bits)
        raise Failure(f"{wanted} ({form})", f"{shown} (wrong: {', '.join(wrong)})")


def _exported(kit: Kit, form: str, what: str, program: answers.Program) -> capsules.Description:
    array = kit.array(form)
    try:
        with kit.showing(program):
            return capsules.describe(capsules.look(kit.best(array)))
    except Failure as failure:
        raise Failure(f"{what} is exported", failure.found) from None


@check("empty")
def empty(kit: Kit) -> None:
    found = _exported(kit, "empty", "an empty array", answers.empty)
    if found.shape != (0, 4):
        raise Failure("shape (0, 4)", f"shape {found.shape}", "wrong answer")


@check("scalar")
def scalar(kit: Kit) -> None:
    found = _exported(kit, "scalar", "an array of no axes", answers.scalar)
    if found.shape != ():
        raise Failure("ndim 0", f"shape {found.shape}", "wrong answer")


@check("device-id")
def device_id(kit: Kit) -> None:
    device = _exported(kit, "plain", "an array", answers.device_id).device
    if device[0] in (1, 3, 11, 13) and device[1] != 0:
        raise Failure("device id 0", f"device {device}")


@check("alignment")
def alignment(kit: Kit) -> None:
    for form, found in _all_described(kit, ("plain", "sliced", "gaps")):
        if found.address % 4:
            kit.shows(answers.aligned)
            raise Failure("an address that is a multiple of 4", f"{found.address:#x} ({form})")


@check("read-only-flag")
def read_only_flag(kit: Kit) -> None:
    array = kit.array(read_only=True)
    _is_flagged(kit, array, answers.read_only)
    shared = {**kit.newest, "copy": False}
    with contextlib.suppress(Skip):
        _is_flagged(kit, array, _flagged(shared), copy=False)
    for form in FORMS:
        with contextlib.suppress(Skip):
            struct = _is_flagged(kit, kit.array(form, read_only=True), answers.read_only)
            found = capsules.describe(struct)
            if found.dtype == triple("float32") and found.elements() != expected(form):
                kit.shows(verdicts.values)
                wanted, shown = apart(expected(form), found.elements())
                raise Failure(f"{wanted} ({form}, immutable)", shown, "wrong answer")
    _views_are_flagged(kit)


def _flagged(keywords: dict[str, Any]) -> answers.Program:
    return answers.answers(answers.FLAGGED, answers.IS_FLAGGED, keywords)


def _views_are_flagged(kit: Kit) -> None:
    """A view of immutable memory is immutable too, unless it is a copy."""
    array = kit.array(read_only=True)
    whole = capsules.look(kit.optional(array))
    memory = set(capsules.describe(whole).places())
    for name, form in FORMS.items():
        try:
            view = form.view(array)
            struct = capsules.look(kit.optional(view))
        except Exception:
            continue
        found = capsules.describe(struct)
        if memory.isdisjoint(found.places()) or not found.count:
            continue
        kit.shows(answers.view_of(name))
        if found.version and not found.flags & (capsules.READ_ONLY | capsules.IS_COPIED):
            wanted = f"flag READ_ONLY of a view of an immutable array ({name})"
            raise Failure(wanted, capsules.flags_text(found.flags))


def _is_flagged(kit: Kit, array: Any, program: answers.Program, **keywords: Any) -> Any:
    """The exported struct."""
    with kit.showing(program):
        struct = capsules.look(kit.optional(array, **keywords))
    found = capsules.describe(struct)
    if found.version is None:
        raise Failure(
            "a capsule with READ_ONLY, or BufferError",
            "a legacy capsule, which cannot record that the array is immutable",
        )
    if not found.flags & (capsules.READ_ONLY | capsules.IS_COPIED):
        asked = f" with {reproducers.arguments(keywords)}" if keywords else ""
        raise Failure(f"flag READ_ONLY{asked}", capsules.flags_text(found.flags))
    return struct


@check("writable-flag")
def writable_flag(kit: Kit) -> None:
    array = kit.array()
    if kit.adapter.writable(array) is not True:
        raise Skip("the library's arrays are not known to be writable")
    with kit.showing(answers.writable):
        found = capsules.describe(capsules.look(kit.best(array)))
    if found.version and found.flags & capsules.READ_ONLY:
        raise Failure("no flag READ_ONLY", capsules.flags_text(found.flags))


@check("not-copied")
def not_copied(kit: Kit) -> None:
    array = kit.array()
    with kit.showing(programs_struct.not_copied):
        first, second = (capsules.describe(capsules.look(kit.best(array))) for _ in range(2))
    if first.version is None:
        raise Skip("legacy capsules have no flags")
    if first.flags & capsules.IS_COPIED and first.address == second.address:
        raise Failure("no flag IS_COPIED for shared memory", capsules.flags_text(first.flags))


@check("legacy-same")
def legacy_same(kit: Kit) -> None:
    _exports_both(kit)
    compared = 0
    for form in FORMS:
        try:
            array = kit.array(form)
            versioned = _description_of(kit, array, max_version=capsules.NEWEST)
            legacy = _description_of(kit, array)
        except Skip:
            continue
        if versioned.version is None or legacy.version is not None:
            continue
        compared += 1
        kit.shows(programs_struct.legacy_same)
        for name in ("address", "dtype", "device", "shape"):
            one, other = getattr(versioned, name), getattr(legacy, name)
            if one != other and not (name == "address" and not versioned.count):
                if name == "address":
                    one, other = f"{one:#x}", f"{other:#x}"
                raise Failure(f"{name} {one} in both structs ({form})", f"{name} {other}")
        if versioned.places() != legacy.places():
            found = f"strides {legacy.strides} in the legacy one"
            raise Failure(f"strides {versioned.strides} in both structs ({form})", found)
    if not compared:
        raise Skip("the producer does not export both structs of an array")


def _exports_both(kit: Kit) -> None:
    """Skips the check of a library with one kind of capsules: there is nothing to compare, and the
    fields of its struct are those of the checks before."""
    array = kit.array()
    if not kit.knows_versions:
        raise Skip("__dlpack__ has no max_version: the producer exports legacy capsules only")
    if _description_of(kit, array, max_version=capsules.NEWEST).version is None:
        raise Skip("the producer exports legacy capsules only, also for max_version=(1, 3)")
    with contextlib.suppress(Skip):
        if _description_of(kit, array).version is None:
            return
    raise Skip("the producer exports versioned capsules only, also without max_version")


def _description_of(kit: Kit, array: Any, **keywords: Any) -> capsules.Description:
    try:
        return capsules.describe(capsules.look(kit.ask(array, **keywords)))
    except Exception as error:
        raise Skip(message(error)) from None
