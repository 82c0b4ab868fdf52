# SPDX-License-Identifier: Apache-2.0
"""inspect(x): what a producer exports. It consumes no capsule and reads no data: a capsule that the
producer made for a question is dropped unused."""

import dataclasses
import textwrap
from html import escape
from typing import Any

from . import _consumers, _core, _picture, _producers, abi
from ._constants import NEWEST_DLPACK as NEWEST
from .abi import Kind, LayoutProperty, Severity, TensorFlag

CAPSULES = {"dltensor": Kind.LEGACY, "dltensor_versioned": Kind.VERSIONED}
OTHER_WAYS = ("__array_interface__", "__cuda_array_interface__")


@dataclasses.dataclass(frozen=True)
class Ask:
    """One question to the producer and its answer."""

    asked: str
    answer: str  # in words, errors too
    kind: Kind | None = None
    capsule: Any = None

    def as_dict(self):
        return {
            "asked": self.asked,
            "answer": self.answer,
            "kind": self.kind.name.lower() if self.kind else None,
        }


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of the type's exchange API."""

    version: tuple[int, int]
    missing: list[str] | None

    def __str__(self):
        text = f"exchange table {_dotted(self.version)}"
        if self.missing is None:
            return text + ", of another major: not read"
        return text + (f", without {', '.join(self.missing)}" if self.missing else "")


def _dotted(version):
    return ".".join(map(str, version))


def _attempt(function, *arguments):
    """Returns (result, None), or (None, text of the exception)."""
    try:
        return function(*arguments), None
    except Exception as error:
        return None, _in_words(error)


def _in_words(error):
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # its own text raises
        return type(error).__name__


def _has(x, name):
    """Whether `x` has the attribute. Like consumers, this looks at the object, not at its type."""
    found, _ = _attempt(getattr, x, name, None)
    return found is not None


def _is_capsule(x):
    return _attempt(abi.capsule, x)[1] is None


# ------------------------------------------------------------------------------ asking the producer


def _said(capsule):
    """The kind of a returned capsule, None if it is not a DLPack capsule, and its description."""
    found, error = _attempt(abi.capsule, capsule)
    if error is not None:
        return None, f"no capsule but an instance of {type(capsule).__name__}"
    name, address = found
    kind = CAPSULES.get(name)
    if kind is None:
        used = isinstance(name, str) and name.startswith("used_")
        return None, f"a capsule {name!r}, " + ("used already" if used else "of no DLPack name")
    if kind == Kind.LEGACY:
        return kind, "legacy"
    return kind, f"versioned {_dotted(abi.tensor_at(address, kind).version)}"


def _ask(x, asked, keywords):
    """Asks `x` for a capsule."""
    error = None
    if _producers.producer_of(x) == "tensorflow":
        # It ends the process when it exports a tensor of strings.
        _, error = _attempt(_core.check_guards, x)
    if error is None:
        capsule, error = _attempt(lambda: x.__dlpack__(**keywords))
    if error is not None:
        return Ask(asked, error)
    kind, words = _said(capsule)
    return Ask(asked, words, kind, capsule if kind else None)


def _questions(x):
    if _is_capsule(x):
        kind, words = _said(x)
        return [Ask("the capsule itself", words, kind, x if kind else None)]
    if not _has(x, "__dlpack__"):
        return []
    return [
        _ask(x, f"__dlpack__(max_version={NEWEST})", {"max_version": NEWEST}),
        _ask(x, "__dlpack__()", {}),
    ]


def _tables(x):
    """Returns (tables of the type's exchange API, error)."""
    chain, error = _attempt(getattr, type(x), "__dlpack_c_exchange_api__", None)
    if error is not None or chain is None:
        return [], error
    found, error = _attempt(abi.capsule, chain)
    if error is not None:
        return [], error
    name, address = found
    if name != "dlpack_exchange_api":
        return [], f"its capsule is named {name!r}, not 'dlpack_exchange_api'"
    return [Table(one.version, one.missing) for one in abi.exchange_tables(address)], None


def _device_said(x):
    """The result of `__dlpack_device__` as (type, id) and as text; None if there is none."""
    if not _has(x, "__dlpack_device__"):
        return None, None
    said, error = _attempt(lambda: x.__dlpack_device__())
    if error is not None:
        return None, error
    try:
        device = (int(said[0]), int(said[1]))
        return device, abi.device_format(device)
    except Exception:
        words, unprintable = _attempt(repr, said)
        return None, f"{unprintable or words}, which is not a (type, id) of integers"


# ------------------------------------------------------------------------------- reading the tensor


def _memory(fields):
    """The memory that started drivers report for a host pointer."""
    if fields.device is None or fields.device[0] != abi.DeviceType.CPU or not fields.data:
        return None
    buffer = abi.Buffer(abi.Backend.NONE, abi.BufferKind.ADDRESS, fields.data)
    found, error = _attempt(abi.pointer_info, buffer, fields.device)
    if error is not None:
        return {"error": error}
    return {
        "backend": abi.name_of(abi.Backend, found["backend"]),
        "device": abi.device_format(found["device"]),
        "memory": abi.name_of(abi.Memory, found["memory"]),
        "base": found["base"],
        "size": found["size"],
    }


def _axes(mask):
    return [axis for axis in range(64) if mask >> axis & 1]


def _layout(fields, flags):
    """Returns (the layout as plain values, None) or (None, error)."""
    if not fields.tensor:
        return None, "nothing past the version may be read"
    if fields.shape is None:  # the library would read as many axes as the struct states
        return None, f"there is no readable shape of 0 to {abi.MAX_AXES} axes"
    found, error = _attempt(abi.layout, fields.tensor, flags)
    if error is not None:
        return None, error
    bits = found["properties"]
    return {
        "elements": found["element_count"],
        "item_bits": found["item_bits"],
        "packed_bytes": found["packed_bytes"],
        "begin": found["begin"],
        "end": found["end"],
        "empty": bool(bits & LayoutProperty.EMPTY),
        "c_contiguous": bool(bits & LayoutProperty.C_CONTIGUOUS),
        "f_contiguous": bool(bits & LayoutProperty.F_CONTIGUOUS),
        "padded": bool(bits & LayoutProperty.PADDED),
        "handle": bool(bits & LayoutProperty.OPAQUE),
        "broadcast_axes": _axes(found["broadcast_axes"]),
        "negative_axes": _axes(found["negative_axes"]),
        "overlap": abi.Answer(found["self_overlap"]).name.lower(),
        "alignment": found["alignment"],
    }, None


def _finding(found):
    return {
        "rule": found["rule"],
        "axis": found["axis"],
        "broken": found["severity"] == Severity.BROKEN,
        "text": found["text"],
        "expected": found["expected"],
        "found": found["found"],
    }


def _strides(fields):
    """The effective strides: compact ones if the struct has NULL."""
    if fields.strides is not None or fields.shape is None:
        return fields.strides
    strides = [1] * len(fields.shape)
    for axis in reversed(range(len(strides) - 1)):
        strides[axis] = strides[axis + 1] * max(1, fields.shape[axis + 1])
    return strides


# --------------------------------------------------------------------------------------- the report


class Report:
    """The result of inspect. `str` describes it, a notebook shows a picture, `as_dict` is data.

    `kind` is "legacy", "versioned", or None if there is no tensor. Unknown values are None.
    `immutable`: the framework's arrays must not be written to, whatever the export states.
    `consumers` maps each framework to None if it accepts the tensor as it is, or to the reason.
    `bridged` maps each framework to None if dlbridge.to converts the array without a permission, or
    to its error, which names the permission."""

    def __init__(self, x: Any):
        self.type = f"{type(x).__module__}.{type(x).__qualname__}"
        producer = None if _is_capsule(x) else _producers.of_array(x)
        package = "" if _is_capsule(x) else str(type(x).__module__).split(".")[0]
        self.framework = producer.name if producer is not None else package
        self.immutable = producer is not None and producer.immutable
        self.asks = _questions(x)
        self.tables, self.tables_error = _tables(x)
        self.other_ways = [name for name in OTHER_WAYS if _has(x, name)]
        self.device_said, self.device_said_name = _device_said(x)
        self.keywords = bool(self.asks) and self.asks[0].capsule is not None
        self.legacy = any(ask.kind == Kind.LEGACY for ask in self.asks)
        self.versioned = any(ask.kind == Kind.VERSIONED for ask in self.asks)
        self._nothing()
        self._look_at_best()
        # Drops the source.
        self.asks = [dataclasses.replace(ask, capsule=None) for ask in self.asks]
        whole = self.layout and not self.broken
        self.consumers = _accepting(self) if whole else {}
        silent = self.kind is None and not _is_capsule(x)
        self.bridged = _bridged(x, self) if whole or silent else {}

    def _nothing(self):
        self.kind = self.version = self.flags = self.readonly = self.data = None
        self.device = self.device_name = self.ndim = self.dtype = self.dtype_triple = None
        self.shape = self.strides = self.byte_offset = self.required_version = None
        self.memory = self.layout = self.layout_error = None
        self.strides_null = False
        self.findings: list[dict[str, Any]] = []

    def _look_at_best(self):
        for ask in self.asks:
            if ask.capsule is not None:
                self._look(abi.capsule(ask.capsule)[1], ask.kind)
                return

    def _look(self, address, kind):
        fields = abi.tensor_at(address, kind)
        flags = fields.flags or 0
        self.kind = kind.name.lower()
        self.version, self.flags = fields.version, fields.flags
        self.readonly = bool(flags & TensorFlag.READ_ONLY) if fields.flags is not None else None
        self.findings = [_finding(found) for found in abi.diagnose(address, kind)]
        self.layout, self.layout_error = _layout(fields, flags)
        self.data, self.device, self.ndim = fields.data, fields.device, fields.ndim
        self.dtype_triple, self.byte_offset = fields.dtype, fields.byte_offset
        self.shape, self.strides = fields.shape, _strides(fields)
        self.strides_null = bool(fields.shape) and fields.strides is None
        if fields.tensor:
            self.dtype = abi.dtype_format(fields.dtype)
            self.device_name = abi.device_format(fields.device)
            self.required_version, _ = _attempt(abi.required_version, fields.tensor, flags)
        self.memory = None if self.broken else _memory(fields)

    # -------------------------------------------------------------------------------- short answers

    @property
    def broken(self) -> list[dict[str, Any]]:
        """The rules that are broken; the other findings are notes."""
        return [finding for finding in self.findings if finding["broken"]]

    @property
    def flag_names(self) -> list[str] | None:
        return None if self.flags is None else abi.names_of(TensorFlag, self.flags)

    @property
    def empty(self) -> bool | None:
        return self.layout and self.layout["empty"]

    @property
    def broadcast(self) -> bool | None:
        return self.layout and bool(self.layout["broadcast_axes"])

    @property
    def negative(self) -> bool | None:
        return self.layout and bool(self.layout["negative_axes"])

    @property
    def alignment(self) -> int | None:
        return self.layout and self.layout["alignment"]

    @property
    def contiguous(self) -> dict[str, bool] | None:
        if self.layout is None:
            return None
        return {"c": self.layout["c_contiguous"], "f": self.layout["f_contiguous"]}

    # -------------------------------------------------------------------------------------- as data

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values that `json` can write."""
        return {
            "type": self.type,
            "speaks": {
                "asks": [ask.as_dict() for ask in self.asks],
                "exchange_tables": [
                    {"version": list(one.version), "missing": one.missing} for one in self.tables
                ],
                "exchange_error": self.tables_error,
                "device": self.device_said_name,
                "other": self.other_ways,
            },
            "kind": self.kind,
            "version": _listed(self.version),
            "required_version": _listed(self.required_version),
            "flags": self.flag_names,
            "readonly": self.readonly,
            "immutable": self.immutable,
            "device": self.device_name,
            "device_id": _listed(self.device),
            "memory": self.memory,
            "dtype": self.dtype,
            "dtype_triple": _listed(self.dtype_triple),
            "ndim": self.ndim,
            "shape": self.shape,
            "strides": self.strides,
            "strides_null": self.strides_null,
            "data": self.data,
            "byte_offset": self.byte_offset,
            "layout": self.layout,
            "layout_error": self.layout_error,
            "findings": self.findings,
            "consumers": self.consumers,
            "bridged": self.bridged,
        }

    # ------------------------------------------------------------------------------------- in words

    def __repr__(self) -> str:
        return f"<dlbridge.inspect: {self._headline()}>"

    def __str__(self) -> str:
        return "\n".join([self._headline(), *(f"  {a:<10} {b}" for a, b in self._lines())])

    def _headline(self):
        if self.kind is None:
            return f"{self.type}: no tensor to look at"
        if self.shape is None:
            return f"{self.type}: a tensor without a readable shape"
        return f"{self.type}: {self.dtype} {self.shape} on {self.device_name}"

    def _lines(self):
        for ask in self.asks:
            yield "speaks", f"{ask.asked}: {textwrap.shorten(ask.answer, 200)}"
        yield from (("", str(table)) for table in self.tables)
        if self.tables_error:
            yield "", f"__dlpack_c_exchange_api__: {self.tables_error}"
        if self.device_said_name:
            yield "", f"__dlpack_device__(): {self.device_said_name}"
        yield from (("", name) for name in self.other_ways)
        if not self.asks:
            yield "speaks", "no __dlpack__"
        if self.kind is not None:
            yield from self._tensor_lines()
        yield from _consumer_lines("to() gives", "to() not", self.bridged)

    def _tensor_lines(self):
        yield "kind", self._kind_words()
        if self.device_name is not None:
            yield "device", self._device_words()
        if self.shape is not None:
            strides = f"{self.strides}" + (" (NULL)" if self.strides_null else "")
            yield "strides", f"{strides}, byte offset {self.byte_offset}, data {self.data:#x}"
        yield from (("layout", words) for words in self._layout_words())
        for finding in self.findings:
            yield "broken" if finding["broken"] else "note", _finding_words(finding)
        if self.immutable and not self.readonly:
            yield (
                "caution",
                f"{self.framework} expects no writes, but the export does not record that",
            )
        if not self.findings:
            yield "findings", "none: it keeps every rule"
        yield from _consumer_lines("taken by", "not by", self.consumers)

    def _kind_words(self):
        words = self.kind + (f" {_dotted(self.version)}" if self.version else "")
        if self.required_version:
            words += f", needs {_dotted(self.required_version)}"
        if self.flags is None:
            return words + ", no flags: nothing says whether it may be written to"
        return words + f", flags {' '.join(self.flag_names) or 'none'}"

    def _device_words(self):
        words = self.device_name
        if self.device_said is not None and self.device_said != self.device:
            words += f", but __dlpack_device__ says {self.device_said_name}"
        if self.memory and "memory" in self.memory:
            words += f"; backend {self.memory['backend']}: {self.memory['memory']} memory"
        elif self.memory:
            words += f"; not asked: {self.memory['error']}"
        return words

    def _layout_words(self):
        if self.layout is None:
            yield f"none: {self.layout_error}"
            return
        found = self.layout
        yield (
            f"{found['elements']} elements of {found['item_bits']} bits, packed "
            f"{found['packed_bytes']} bytes, touches bytes {found['begin']} to {found['end']}"
        )
        words = [order.upper() for order in "cf" if found[f"{order}_contiguous"]]
        words = ["contiguous " + " and ".join(words) if words else "not contiguous"]
        words += ["empty"] * found["empty"] + ["sub-byte elements padded"] * found["padded"]
        words += ["data is a handle"] * found["handle"]
        for what in ("broadcast", "negative"):
            axes = found[f"{what}_axes"]
            words += [f"{what} strides on axes {', '.join(map(str, axes))}"] if axes else []
        if found["overlap"] != "no":
            words.append("elements share memory" + ("" if found["overlap"] == "yes" else "?"))
        words += [f"aligned to {found['alignment']} bytes"] if found["alignment"] else []
        yield ", ".join(words)

    # -------------------------------------------------------------------------------- in a notebook

    def picture(self) -> str | None:
        """An SVG of shape and strides in memory; None if the layout is not valid."""
        if self.layout is None or self.shape is None or self.strides is None:
            return None
        title = f"{self.dtype} {self.shape}, strides {self.strides}"
        bits = self.layout["item_bits"]
        return _picture.draw(self.shape, self.strides, bits, self.byte_offset or 0, title)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(words)}</td></tr>"
            for name, words in self._lines()
        )
        return (
            f"<div><p><b>{escape(self._headline())}</b></p><table>{rows}</table>"
            f"{self.picture() or ''}</div>"
        )


def _listed(values):
    return None if values is None else list(values)


def _finding_words(finding):
    where = "" if finding["axis"] is None else f"axis {finding['axis']}: "
    return (
        f"{finding['rule']}: {where}{finding['text']}: expected {finding['expected']}, "
        f"found {finding['found']}"
    )


def _consumer_lines(taken, rejected, reasons):
    """The frameworks that are installed, then the others."""
    here = [name for name in reasons if _consumers.is_installed(name)]
    absent = [name for name in reasons if name not in here]
    for names, note in ((here, ""), (absent, "not installed: ")):
        accepting = [name for name in names if reasons[name] is None]
        if accepting:
            yield taken, note + ", ".join(accepting)
    if None not in reasons.values() and len(set(reasons.values())) == 1:
        yield rejected, f"any framework: {next(iter(reasons.values()))}"
        return
    for names, note in ((here, ""), (absent, " (not installed)")):
        for name in names:
            if reasons[name] is not None:
                yield rejected, f"{name}{note}: {reasons[name]}"


def _accepting(report):
    """Framework -> why it rejects the tensor as it is, or None."""
    return {name: consumer.takes(report) for name, consumer in _consumers.CONSUMERS.items()}


def _borrowed(capsule, report):
    """A tensor over the memory of a capsule, which keeps owning it."""
    legacy = report.kind == "legacy"  # does not record writability
    return _core.wrap(
        capsule,
        report.data or 0,
        report.shape,
        report.dtype_triple,
        strides=report.strides,
        device=report.device,
        byte_offset=report.byte_offset,
        tensor_flags=int(TensorFlag.READ_ONLY) if legacy else report.flags,
    )


def _bridged(x, report):
    """Framework -> why dlbridge.to rejects the array without options, or None. Copies nothing."""
    from ._adapt import Considered, Options
    from ._to import rejection_by

    consumers = _consumers.CONSUMERS
    try:
        source = _borrowed(x, report) if _is_capsule(x) else x
        adapted = Considered(source, Options())
    except Exception as error:
        return dict.fromkeys(consumers, _attempt(str, error)[0] or type(error).__name__)
    return {name: rejection_by(consumer, adapted) for name, consumer in consumers.items()}


def inspect(x: Any) -> Report:
    """Reports what `x` exports: `x` is any object that speaks DLPack, or a capsule.

    Nothing is consumed and no data is read. A broken tensor is described, and an exception of the
    producer is part of the report."""
    return Report(x)
