# SPDX-License-Identifier: Apache-2.0
"""Versions, layouts and dtypes that a consumer gets."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from . import answers, capsules, tensors, values, verdicts
from .forms import FORMS
from .kit import Kit, apart, check, expected, message
from .outcomes import Failure, Skip
from .tensors import Memory, Tensor

# ------------------------------------------------------------------------------------- versions


@check("version-major-2")
def version_major_2(kit: Kit) -> None:
    # Whatever follows the flags is unreadable memory, or a count that reads far too much.
    tensor = Tensor(
        version=(2, 0), flags=2**64 - 1, data=None, ndim=2**30, shape=None, strides=None
    )
    _rejects(kit, tensor, "an exception for version 2.0")


@check("version-major-0")
def version_major_0(kit: Kit) -> None:
    tensor = tensors.of_form("plain", kind="versioned", version=(0, 9))
    _rejects(kit, tensor, "an exception for a versioned struct of version 0.9")


def _rejects(kit: Kit, tensor: Tensor, expects: str) -> None:
    array, error = kit.attempt(tensor, answers.rejects)
    if error is None:
        raise Failure(expects, type(array).__name__)


@check("version-minor")
def version_minor(kit: Kit) -> None:
    _needs_versioned(kit)
    tensor = kit.tensor(version=(1, 99))
    kit.arrives(tensor, expected("plain"), (3, 4))


def _needs_versioned(kit: Kit) -> None:
    if kit.kind != "versioned":
        raise Skip("the consumer asks for legacy capsules")


@check("version-any-answer")
def version_any_answer(kit: Kit) -> None:
    other = "legacy" if kit.kind == "versioned" else "versioned"
    tensor = tensors.of_form("plain", kind=other)
    must = other == "legacy"
    program = answers.arrives if must else answers.arrives_or_is_rejected
    array, error = kit.attempt(tensor, program)
    if error is None:
        kit.compare(array, expected("plain"), (3, 4))
    elif must:
        raise Failure("a legacy capsule is imported", message(error), "deviation")


@check("flags-unknown")
def flags_unknown(kit: Kit) -> None:
    _needs_versioned(kit)
    for bit in (3, 31, 32, 63):
        tensor = kit.tensor(flags=1 << bit)
        array, error = kit.attempt(tensor, answers.arrives_or_is_rejected)
        if error is None:
            kit.compare(array, expected("plain"), (3, 4))


@check("flags-read-only")
def flags_read_only(kit: Kit) -> None:
    _needs_versioned(kit)
    kit.arrives(kit.tensor(flags=capsules.READ_ONLY), expected("plain"), (3, 4))


@check("flags-writable")
def flags_writable(kit: Kit) -> None:
    _needs_versioned(kit)
    if kit.adapter.writable(kit.array()) is not True:
        raise Skip("the library's own arrays are not known to be writable")
    tensor = kit.tensor()
    array = kit.arrives(tensor, expected("plain"), (3, 4))
    kit.source(tensor, program=answers.is_writable)
    if kit.adapter.writable(array) is False:
        raise Failure("a writable array", "a read-only array")


# -------------------------------------------------------------------------------------- layouts


def _arrives_or_is_rejected(kit: Kit, tensor: Tensor, wanted: bytes, shape: Any) -> None:
    array, error = kit.attempt(tensor, answers.arrives_or_is_rejected)
    if error is not None:
        raise Skip(f"rejected: {message(error)}")
    kit.compare(array, wanted, shape)


def _layout(form: str, must: bool = False) -> Any:
    def run(kit: Kit) -> None:
        kit.adapter.needs(form)
        judge = kit.arrives if must else lambda *given: _arrives_or_is_rejected(kit, *given)
        judge(kit.tensor(form), expected(form), FORMS[form].shape)

    return run


check("layout-plain")(_layout("plain", must=True))
check("layout-transposed")(_layout("transposed"))
check("layout-negative")(_layout("negative"))
check("layout-broadcast")(_layout("broadcast"))
check("layout-gaps")(_layout("gaps"))
check("layout-empty")(_layout("empty", must=True))
check("layout-scalar")(_layout("scalar", must=True))
check("layout-row")(_layout("row", must=True))
check("layout-column")(_layout("column"))


@check("layout-byte-offset")
def layout_byte_offset(kit: Kit) -> None:
    judged, rejection = 0, None
    for kind in kit.kinds:
        for form in ("sliced", "row", "scalar"):
            layout = FORMS[form]
            memory = Memory(values.bits("float32"))
            tensor = kit.tensor(
                form,
                kind=kind,
                data=memory.address,
                memory=memory,
                byte_offset=layout.start * values.size("float32"),
            )
            array, error = kit.attempt(tensor, answers.arrives_or_is_rejected)
            if error is None:
                kit.compare(array, expected(form), layout.shape)
                judged += 1
            else:
                rejection = error
    if not judged and rejection is not None:
        raise Skip(f"rejected: {message(rejection)}")


@check("layout-null-strides")
def layout_null_strides(kit: Kit) -> None:
    kit.arrives(kit.tensor(strides=None, version=(1, 1)), expected("plain"), (3, 4))


@check("layout-empty-null")
def layout_empty_null(kit: Kit) -> None:
    kit.arrives(kit.tensor("empty", data=None), b"", (0, 4))


@check("layout-scalar-null")
def layout_scalar_null(kit: Kit) -> None:
    kit.arrives(kit.tensor("scalar", shape=None, strides=None), expected("scalar"), ())


@check("layout-size-one")
def layout_size_one(kit: Kit) -> None:
    tensor = kit.tensor("plain", shape=(1, 4), strides=(2**40, 1))
    wanted = expected("plain")[:16]
    _arrives_or_is_rejected(kit, tensor, wanted, (1, 4))


@check("layout-unaligned")
def layout_unaligned(kit: Kit) -> None:
    memory = Memory(b"\0" + values.bits("float32"))
    tensor = kit.tensor(data=memory.address + 1, memory=memory)
    _arrives_or_is_rejected(kit, tensor, expected("plain"), (3, 4))


@check("struct-unchanged")
def struct_unchanged(kit: Kit) -> None:
    both: tuple[dict[str, Any], ...] = ({}, {"strides": None, "version": (1, 1)})
    for changes in both:
        tensor = kit.tensor(**changes)
        try:
            array = kit.taken(kit.source(tensor, program=verdicts.deleters))
        except (Skip, Failure):
            raise
        except Exception:
            continue
        changed = not tensor.unmodified()
        del array
        kit.settle(lambda: False)
        if changed or tensor.changed:
            raise Failure("the struct and its arrays as they were", "changed bytes")


@check("own-layouts")
def own_layouts(kit: Kit) -> None:
    judged = 0
    for form, layout in FORMS.items():
        with contextlib.suppress(Skip):
            array = kit.own(form)
            try:
                again = kit.taken(array)
            except (Skip, Failure):
                raise
            except Exception:
                continue  # a layout may be rejected
            kit.compare(again, expected(form), layout.shape)
            judged += 1
    if not judged:
        raise Skip("the library does not import arrays of its own")


# --------------------------------------------------------------------------------------- dtypes

# What the standard has. A library may have more, and fewer.
STANDARD = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
STANDARD += ("float32", "float64", "complex64", "complex128")


def _standard(kit: Kit, rejects: Callable[[str, Any], Exception | None]) -> None:
    """Fails if the library has a dtype of the standard, and rejects it."""
    found, program = {}, ""
    for dtype in STANDARD:
        with contextlib.suppress(Skip):
            found[dtype] = rejects(dtype, kit.array(dtype=dtype))
            if found[dtype] is not None:
                program = program or kit.reproducer
    if not found:
        raise Skip("the library makes no arrays")
    wrong = {dtype: error for dtype, error in found.items() if error is not None}
    if wrong:
        kit.reproducer = program
        error = next(iter(wrong.values()))
        raise Failure(f"arrays of {', '.join(found)}", f"no {', '.join(wrong)}: {message(error)}")


@check("export-standard")
def export_standard(kit: Kit) -> None:
    def rejects(dtype: str, array: Any) -> Exception | None:
        try:
            with kit.showing(answers.exported):
                kit.fresh(kit.ask(array, **kit.newest))
        except Failure:
            raise
        except Exception as error:
            return error
        return None

    _standard(kit, rejects)


@check("import-standard")
def import_standard(kit: Kit) -> None:
    def rejects(dtype: str, array: Any) -> Exception | None:
        return kit.attempt(kit.tensor("plain", dtype), answers.arrives)[1]

    _standard(kit, rejects)


def _export(dtype: str) -> Any:
    def run(kit: Kit) -> None:
        capsule = kit.optional(kit.array(dtype=dtype))
        kit.shows(verdicts.values)
        struct = capsules.take(capsule)
        found = capsules.describe(struct)
        bits = found.elements()
        capsules.delete(struct)
        if found.dtype != values.DTYPES[dtype]:
            kit.shows(answers.of_dtype(values.DTYPES[dtype]))
            raise Failure(f"dtype {values.DTYPES[dtype]}", f"dtype {found.dtype}")
        if bits != values.bits(dtype):
            raise Failure(*apart(values.bits(dtype), bits))

    return run


def _import(dtype: str) -> Any:
    def run(kit: Kit) -> None:
        kit.adapter.needs(dtype)
        program = functools.partial(answers.arrives_or_is_rejected, dtype=dtype)
        array, error = kit.attempt(kit.tensor("plain", dtype), program)
        if error is not None:
            raise Skip(f"rejected: {message(error)}")
        found = kit.adapter.dtype(array)
        if found != dtype:
            raise Failure(dtype, found)
        kit.compare(array, values.bits(dtype), (3, 4))

    return run


for _dtype in values.DTYPES:
    check(f"export-{_dtype.replace('_', '-')}")(_export(_dtype))
    check(f"import-{_dtype.replace('_', '-')}")(_import(_dtype))
