# SPDX-License-Identifier: Apache-2.0
"""register_consumer and register_producer: facts about frameworks that dlbridge does not know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _consumers, _core, _producers

_STRIDES = {
    "any": _consumers.ANY,
    "not negative": _consumers.NOT_NEGATIVE,
    "permuted": _consumers.PERMUTED,
    "compact": _consumers.COMPACT,
}


def register_consumer(
    name: str,
    /,
    *,
    title: str | None = None,
    importer: str = "from_dlpack",
    takes_capsules: bool = False,
    max_version: tuple[int, int] | None = None,
    keeps_read_only: bool = False,
    never_writes: bool = False,
    strides: str = "any",
    dtypes: Iterable[str] | None = None,
    devices: Iterable[str] | None = ("cpu",),
    alignment: int = 1,
    needs_alignment: int = 1,
    narrows: Mapping[str, str] | None = None,
    narrows_now: Callable[[], bool] | None = None,
    keeps_by: str = "",
    exchange_type: str = "",
    packages: Iterable[str] = (),
    replace: bool = False,
) -> None:
    """Describes a framework that imports tensors, for `to`, `adapt`, `inspect` and the doctor.

    Without facts, the consumer is taken to request legacy capsules, to write to read-only memory
    and to use the CPU only, but to accept every layout and dtype.

    name: the framework's module. title: its name in messages.
    importer: the path of its import function below the module. takes_capsules: that function
    accepts capsules only. exchange_type: the path of a type with an exchange table, used instead.
    max_version: the version that it requests; None: it requests legacy capsules.
    keeps_read_only: it keeps READ_ONLY. never_writes: its arrays are immutable.
    strides: "any", "not negative", "permuted" (compact with the axes in any order) or "compact".
    dtypes: names such as "float32"; None: any. devices: types such as "cpu", "cuda"; None: any.
    alignment: it copies data whose address is not a multiple of this. needs_alignment: it imports
    such data, but cannot compute with it, so `to` and `adapt` copy it.
    narrows: dtypes that it changes silently, such as {"int64": "int32"}; narrows_now: whether it
    does so at the time of a call; keeps_by: the statement that prevents it.
    packages: other packages whose modules call __dlpack__ for it.
    replace: replaces the facts about a name that is known; otherwise that is a ValueError.
    """
    facts = _consumers.Consumer(
        _name("name", name),
        name if title is None else _text("title", title),
        _path("importer", importer),
        capsules=_truth("takes_capsules", takes_capsules),
        newest=None if max_version is None else _version(max_version),
        honours_read_only=_truth("keeps_read_only", keeps_read_only),
        immutable=_truth("never_writes", never_writes),
        strides=_strides(strides),
        dtypes=None if dtypes is None else _dtypes("dtypes", dtypes),
        narrows=_pairs(narrows),
        narrows_now=_call("narrows_now", narrows_now),
        keeps_by=_text("keeps_by", keeps_by),
        devices=None if devices is None else _devices(devices),
        alignment=_alignment("alignment", alignment),
        needs_alignment=_alignment("needs_alignment", needs_alignment),
        exchange_type=_path("exchange_type", exchange_type) if exchange_type else "",
        packages=_names("packages", packages),
        registered=True,
    )
    _consumers.add(facts, _truth("replace", replace))


def register_producer(
    name: str,
    /,
    *,
    title: str | None = None,
    immutable: bool = False,
    writable: bool = False,
    versioned: bool = True,
    device: str = "cpu",
    packages: Iterable[str] = (),
    replace: bool = False,
) -> None:
    """Describes a framework whose arrays are exported, for `to`, `adapt`, `inspect` and the doctor.

    name: the framework's module. title: its name in messages.
    immutable: its arrays never change, which its exports do not record; they arrive read-only, also
    by `from_dlpack` and in extensions that use the C or C++ headers.
    writable: its arrays are writable, which its legacy capsules do not record.
    versioned: it exports versioned capsules when asked. device: the type of its arrays' device.
    packages: other packages whose modules define its arrays.
    replace: replaces the facts about a name that is known; otherwise that is a ValueError.
    """
    if _truth("immutable", immutable) and _truth("writable", writable):
        raise ValueError("expected immutable=True or writable=True, found both")
    facts = _producers.Producer(
        _name("name", name),
        name if title is None else _text("title", title),
        _names("packages", packages),
        immutable=immutable,
        writable=_truth("writable", writable),
        versioned=_truth("versioned", versioned),
        device=_device("device", device),
        registered=True,
    )
    _producers.add(facts, _truth("replace", replace))


# ----------------------------------------------------------------------------- checks of arguments


def _expected(what: str, wanted: str, found: Any) -> str:
    return f"expected {what} to be {wanted}, found {found!r}"


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(_expected(what, "text", value))
    return value


def _truth(what: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(_expected(what, "True or False", value))
    return value


def _path(what: str, value: Any) -> str:
    if not all(part.isidentifier() for part in _text(what, value).split(".")):
        raise ValueError(_expected(what, "names joined by dots", value))
    return str(value)


def _name(what: str, value: Any) -> str:
    if not _text(what, value).isidentifier():
        raise ValueError(_expected(what, "the name of a top-level module", value))
    return str(value)


def _listed(what: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str):
        raise TypeError(_expected(what, "a collection of names", values))
    try:
        return tuple(values)
    except TypeError:
        raise TypeError(_expected(what, "a collection of names", values)) from None


def _names(what: str, values: Any) -> tuple[str, ...]:
    return tuple(_name(what, value) for value in _listed(what, values))


def _dtype(what: str, value: Any) -> str:
    """The name in the spelling of Tensor.dtype; ValueError if it names no dtype."""
    return _core.wrap(None, 0, (0,), _text(what, value)).dtype


def _dtypes(what: str, values: Any) -> frozenset[str]:
    return frozenset(_dtype(what, value) for value in _listed(what, values))


def _device(what: str, value: Any) -> int:
    return _core.wrap(None, 0, (0,), "uint8", device=_text(what, value)).__dlpack_device__()[0]


def _devices(values: Any) -> frozenset[int]:
    return frozenset(_device("devices", value) for value in _listed("devices", values))


def _version(value: Any) -> tuple[int, int]:
    try:
        major, minor = value
    except (TypeError, ValueError):
        raise TypeError(_expected("max_version", "two integers", value)) from None
    if not all(isinstance(part, int) and not isinstance(part, bool) for part in (major, minor)):
        raise TypeError(_expected("max_version", "two integers", value))
    if major < 1 or minor < 0:
        raise ValueError(_expected("max_version", "at least (1, 0)", value))
    return major, minor


def _strides(value: Any) -> str:
    if not isinstance(value, str) or value not in _STRIDES:
        known = " or ".join(map(repr, _STRIDES))
        raise ValueError(_expected("strides", known, value))
    return _STRIDES[value]


def _alignment(what: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(_expected(what, "an integer", value))
    if value < 1 or value & (value - 1):
        raise ValueError(_expected(what, "a power of 2", value))
    return value


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise TypeError(_expected("narrows", "a mapping of dtypes to dtypes", value))
    return tuple((_dtype("narrows", old), _dtype("narrows", new)) for old, new in value.items())


def _call(what: str, value: Any) -> Callable[[], bool] | None:
    if value is not None and not callable(value):
        raise TypeError(_expected(what, "a function", value))
    return value
