# SPDX-License-Identifier: Apache-2.0
"""adapt: wraps an array so that any framework's from_dlpack accepts it."""

import dataclasses
import operator
from typing import Any, Literal

from . import _consumers, _core, _foreign, _producers
from ._constants import NEWEST_DLPACK
from ._memory import is_choice, short

# Device types whose `data` is an address, so that `byte_offset` can be added to it.
_ADDRESSES = frozenset((1, 2, 3, 10, 11, 13, 14))
_HOST = (1, 0)
_READ_ONLY = 1  # of DLPack's flags
_PADDED = 4
_PADDED_SINCE = (1, 1)
_PLAIN_BYTES = 0  # PyBUF_SIMPLE


class Rejection(BufferError):
    """The exchange needs a permission that adapt and to were not given.

    `remedy` maps the names of their arguments to values that grant it: `dlbridge.to(x, target,
    **rejection.remedy)` passes this check. It is empty if no argument helps.
    """

    status = "POLICY"
    rule = None
    axis = None

    def __init__(self, message: str, also: str = "", **remedy: Any) -> None:
        words = " or ".join([*(f"{name}={value!r}" for name, value in remedy.items()), also])
        words = words.removesuffix(" or ")
        super().__init__(f"{message}; {words} allows it" if words else message)
        self.remedy = remedy

    @classmethod
    def with_message(cls, message: str, **remedy: Any) -> "Rejection":
        """A rejection whose message names the remedy itself."""
        rejection = cls(message)
        rejection.remedy = remedy
        return rejection

    def without_traceback(self) -> "Rejection":
        """A copy for a record: the frames of a traceback would keep the array alive."""
        return self.with_message(str(self), **self.remedy)

    def beside(self, options: "Options") -> "Rejection":
        """Completes the remedy for a call with these options: copies need copy=None or no copy."""
        copies = any(_COPYING.get(name) == value for name, value in self.remedy.items())
        if options.copy is False and (copies or "device" in self.remedy):
            self.remedy = {**self.remedy, "copy": None}
            self.args = (f"{self}; a copy needs copy=None instead of copy=False",)
        return self


@dataclasses.dataclass(frozen=True)
class Options:
    """The changes that the caller of adapt permits."""

    consumer: str | None = None
    readonly: str = "reject"
    strides: str = "keep"
    copy: bool | None = None
    grad: str = "reject"
    lazy: str = "reject"
    # Given as text or as a pair, stored as a pair.
    device: Any = None
    dtype: str = "keep"

    _WORDS = {
        "readonly": ("reject", "copy", "keep", "drop"),
        "strides": ("keep", "compact"),
        "grad": ("reject", "detach"),
        "lazy": ("reject", "resolve"),
        "dtype": ("keep", "narrow"),
    }

    @classmethod
    def of(cls, function: str, given: dict[str, Any]) -> "Options":
        """The options of a call; TypeError for names that they do not have."""
        for name in given:
            if name not in _NAMES:
                raise TypeError(
                    f"{function}() got an unexpected keyword argument {name!r}; expected "
                    f"{', '.join(_NAMES)}"
                )
        return cls(**given)

    def for_consumer(self, name: str) -> "Options":
        return dataclasses.replace(self, consumer=name)

    def __post_init__(self) -> None:
        for name, words in self._WORDS.items():
            given = getattr(self, name)
            if not isinstance(given, str) or given not in words:
                expected = ", ".join(map(repr, words))
                raise ValueError(f"expected {name} out of {expected}, found {short(given)}")
        if not is_choice(self.copy):
            raise TypeError(f"expected copy to be None, True or False, found {short(self.copy)}")
        if self.consumer is not None:
            _consumers.by_name(self.consumer)
        if self.device is not None:
            object.__setattr__(self, "device", _read_device(self.device))
        if self.copy is False:
            self._check_no_copies()

    def _check_no_copies(self) -> None:
        for name, word in _COPYING.items():
            if getattr(self, name) == word:
                raise ValueError(f"expected no {name}={word!r} beside copy=False, found both")


_NAMES = tuple(field.name for field in dataclasses.fields(Options))
# The options that permit copies.
_COPYING = {"readonly": "copy", "strides": "compact", "lazy": "resolve", "dtype": "narrow"}


# The guards that an argument of adapt satisfies.
_PERMISSIONS: dict[Literal["requires_grad", "tangent", "conjugated", "negated"], dict[str, str]] = {
    "requires_grad": {"grad": "detach"},
    "tangent": {"grad": "detach"},
    "conjugated": {"lazy": "resolve"},
    "negated": {"lazy": "resolve"},
}


def _explain(error: BufferError) -> None:
    """Raises a Rejection with the remedy for the rejection of a guard."""
    for name, remedy in _PERMISSIONS.items():
        if str(error) == _core.guard_text(name):
            raise Rejection.with_message(str(error), **remedy) from None


def _imported(array: Any) -> _core.Tensor:
    """import_array; a Rejection if an argument of adapt avoids the rejection."""
    try:
        return _producers.import_array(array)
    except BufferError as error:
        _explain(error)
        raise


def _detached(array: Any) -> Any:
    try:
        return _producers.detached(array)
    except (RuntimeError, ValueError):
        _imported(array)  # its error is one line, such as that of an uninitialized parameter
        raise


def _check_values(array: Any) -> None:
    """Rejects arrays that only look like a tensor of torch, whose import has no guard."""
    torch = _producers.imported_framework("torch")
    if torch is not None and isinstance(array, getattr(torch, "Tensor", ())):
        return
    marks = ["requires_grad"] if _producers.takes_part_in_gradients(array) else []
    for name, remedy in _PERMISSIONS.items():
        if name in [*marks, *_producers.lazy_marks(array)]:
            raise Rejection.with_message(_core.guard_text(name), **remedy)


class _Answer:
    """The state of one export: the tensor so far, and the changes made to it."""

    def __init__(
        self, array: Any, tensor: _core.Tensor, framework: _consumers.Consumer, may_copy: bool
    ) -> None:
        self.array = array
        self.tensor = tensor
        self.framework = framework
        self.may_copy = may_copy
        self.copied = False
        self.report: list[str] = []
        self.drop_read_only = False
        # A copy that the consumer will make.
        self.narrowing = ""

    def copy(self, why: str) -> None:
        if not self.may_copy:
            raise Rejection(f"expected copies to be allowed, found copy=False: {why}")
        self.make_copy()
        self.note_copy(why)

    def make_copy(self) -> None:
        if self.tensor.__dlpack_device__()[0] == _consumers.CPU:
            self.tensor = self.tensor.copy()
        else:
            # The producer copies memory of its devices.
            self.tensor = _producers.import_array(self.array, copy=True)
            if self.tensor.readonly:
                # dpnp's copies keep READ_ONLY of their source; this copy has one owner.
                self.tensor = _writable_alias(self.tensor)

    def pack(self) -> None:
        self.tensor = _core.packed(self.tensor)

    def note_copy(self, why: str) -> None:
        self.copied = True
        self.report.append(f"copied: {why}")


class _Consideration(_Answer):
    """An answer that is judged and discarded: a copy is assumed, not made."""

    def make_copy(self) -> None:
        self.tensor = _writable_alias(self.tensor)

    def pack(self) -> None:
        flags = self.tensor.flags & ~_PADDED
        self.tensor = _producers.relabelled(self.tensor, self.tensor.dtype_triple, flags)


class Adapted(_core.Exporter):
    """An array in the form that each consumer accepts. Made by adapt; speaks DLPack."""

    # The base class has the attributes, and makes objects of this class for plain arrays.
    __slots__ = ()
    _answers: type[_Answer] = _Answer

    def __init__(self, array: Any, options: Options) -> None:
        if not isinstance(options, Options):
            raise TypeError(
                f"expected Adapted to be made by dlbridge.adapt(x), found options {short(options)}"
            )
        self.copied = False
        self.report: tuple[str, ...] = ()
        self.rejection: Rejection | None = None
        self._options = options
        self._tensor: _core.Tensor | None = None
        self._resolved: list[str] = []
        if isinstance(array, type):
            _foreign.check_no_class(array)
        self._array = self._prepared(array)
        try:
            _check_values(self._array)
            self._tensor = _imported(self._array)
        except Rejection as rejection:
            rejection.beside(options)
            raise

    def _prepared(self, array: Any) -> Any:
        """The array, detached and with its lazy operations applied where that is permitted."""
        if self._options.grad == "detach" and _producers.takes_part_in_gradients(array):
            array = _detached(array)
        marks = _producers.lazy_marks(array) if self._options.lazy == "resolve" else []
        if marks:
            array = _producers.resolved(array)
            self._resolved = [f"the array is lazily {' and '.join(marks)}"]
        return array

    @property
    def shape(self) -> tuple[int, ...]:
        return self._current().shape

    @property
    def dtype(self) -> str:
        """DLPack's name of the dtype. ONNX Runtime needs it to distinguish bool from uint8."""
        return self._current().dtype

    @property
    def device_pair(self) -> tuple[int, int]:
        """The device on which an export is, (type, id)."""
        return self._options.device or self._current().__dlpack_device__()

    @property
    def bits(self) -> int:
        """Bits of one element."""
        _, bits, lanes = self._current().dtype_triple
        return bits * lanes

    @property
    def device(self) -> str:
        return self._current().device

    @property
    def address(self) -> int:
        """The address of element (0, ..., 0), before an export copies."""
        tensor = self._current()
        return tensor.data_ptr + tensor.byte_offset

    def _current(self) -> _core.Tensor:
        assert self._tensor is not None
        return self._tensor

    def __repr__(self) -> str:
        tensor = self._current()
        return (
            f"dlbridge.Adapted(shape={tensor.shape}, dtype={tensor.dtype}, device={tensor.device})"
        )

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickles the tensor: the memory, without the framework and the options."""
        from ._pickle import reduce

        return reduce(self._current(), protocol)

    def __dlpack_device__(self) -> tuple[int, int]:
        if self._options.device is not None:
            return self._options.device
        own = self._current().__dlpack_device__()
        framework = self._framework(1, None)
        # Some consumers call this first. Their own rejection would not name the remedy.
        try:
            _check_device(framework, own, self._current().device)
        except Rejection as rejection:
            rejection.beside(self._options)
            raise
        return own

    def _export(
        self,
        recognised: str | None,
        /,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Called by __dlpack__ of the base class, which may have recognised the consumer."""
        if not is_choice(copy):
            raise TypeError(f"expected copy to be None, True or False, found {short(copy)}")
        asked = _read_version(max_version)
        framework, certain = self._caller(1, asked, recognised)
        return self._exported(framework, certain, stream, asked, dl_device, copy)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """For numpy.asarray and numpy.array. Shares memory unless `dtype` or `copy` need a copy."""
        from ._arrays import as_array

        return as_array(self, dtype, copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """For libraries that read NumPy's interface. The memory lives as long as this object."""
        from ._arrays import interface_of

        if self._options.copy:
            raise AttributeError("__array_interface__ cannot own the copies of copy=True")
        return interface_of(self)

    def __buffer__(self, flags: int, /) -> memoryview:
        """For memoryview, from CPython 3.12 on."""
        tensor = self.tensor_for(_consumers.by_name("numpy"))[0]
        if flags == _PLAIN_BYTES and tensor.readonly:
            # Whether the consumer ignored an exception before, as torch does, is not seen here.
            raise BufferError(
                "expected a request for a buffer that may be read-only, found one for plain bytes: "
                "pass memoryview(x)"
            )
        return memoryview(tensor)

    def export_for(self, framework: Any, stream: Any, asked: Any, dl_device: Any, copy: Any) -> Any:
        """The capsule for this consumer, whose request is `asked` and the rest."""
        return self._exported(framework, True, stream, asked, dl_device, copy)

    def _exported(self, framework: Any, certain: bool, stream: Any, asked: Any, *rest: Any) -> Any:
        answer = self._recorded(framework, certain, stream, asked, *rest)
        return _core.export(
            answer.tensor,
            _version_for(framework, asked),
            drop_read_only=answer.drop_read_only,
            # Frameworks in the table support newer codes, even in legacy capsules.
            allow_newer_codes=bool(framework.name),
        )

    def tensor_for(
        self, framework: _consumers.Consumer, table: type | None = None
    ) -> tuple[_core.Tensor, bool]:
        """The tensor for this consumer, and whether READ_ONLY must be dropped. Its work is ordered
        before the stream that the exchange table of the type `table` names."""
        own = self._current().__dlpack_device__()
        stream = _core.current_stream(table, own) if table is not None else None
        newest = framework.newest or NEWEST_DLPACK
        answer = self._recorded(framework, True, stream, newest, None, None)
        return answer.tensor, answer.drop_read_only

    def _recorded(self, framework: Any, *ask: Any) -> "_Answer":
        """Makes the answer and records for the caller how it was made."""
        self.copied, self.report, self.rejection = False, (), None
        try:
            answer = self._made(framework, *ask)
        except Rejection as rejection:
            self.rejection = rejection.beside(self._options).without_traceback()
            raise
        self.copied, self.report = answer.copied, tuple(answer.report)
        return answer

    def _caller(
        self, depth: int, asked: Any, recognised: str | None
    ) -> tuple[_consumers.Consumer, bool]:
        """The consumer, and whether it is certain.

        The caller's option and the consumer's tuple of keyword names are certain. A Python frame
        may be that of a function that forwards the request, so it only helps to choose a layout
        and to write messages.
        """
        if self._options.consumer is None and recognised is not None:
            return _consumers.by_title(recognised) or _consumers.keeping_stranger(asked), True
        return self._framework(depth + 1, asked), self._options.consumer is not None

    def _framework(self, depth: int, asked: Any) -> Any:
        if self._options.consumer is not None:
            return _consumers.by_name(self._options.consumer)
        return _consumers.by_asking(depth + 1, asked)

    def _made(
        self,
        framework: _consumers.Consumer,
        certain: bool,
        stream: Any,
        asked: Any,
        dl_device: Any,
        copy: Any,
    ) -> _Answer:
        """The tensor for this consumer. The order of the steps makes one copy serve all of them."""
        tensor = self._ordered(stream)
        may_copy = self._options.copy is not False and copy is not False
        answer = self._answers(self._array, tensor, framework, may_copy)
        if self._resolved:
            _check_resolved(answer, self._resolved[0])
        _place(answer, self._options, dl_device)
        _check_dtype(answer, self._options)
        if self._options.copy or copy:
            answer.copy("the caller asked for a copy" if self._options.copy else "as asked")
        _lay_out(answer, self._options)
        _align(answer)
        _protect(answer, self._options, asked, certain)
        _pack(answer, asked)
        _fold(answer)
        _check_alignment(answer)
        if answer.narrowing:
            answer.note_copy(answer.narrowing)
        return answer

    def _ordered(self, stream: Any) -> _core.Tensor:
        """The tensor, with its pending work ordered before the consumer's stream."""
        tensor = self._current()
        if tensor.__dlpack_device__()[0] == _HOST[0]:
            if stream is not None:
                raise ValueError(f"expected stream=None for memory of the host, found {stream!r}")
            return tensor
        # The import has consumed a capsule. Other arrays may have got more work since then.
        source = tensor if type(self._array).__name__ == "PyCapsule" else self._array
        # The option is given, also if it is None: a dlbridge.Tensor is then imported again, since
        # it may be ordered before another stream.
        return _producers.import_array(source, stream=stream)


class Considered(Adapted):
    """An array whose exports are judged and dropped; nothing is copied for them."""

    __slots__ = ()
    _answers = _Consideration


def _check_resolved(answer: _Answer, why: str) -> None:
    if not answer.may_copy:
        raise Rejection(f"expected copies to be allowed, found copy=False: {why}")
    answer.note_copy(why)


def _check_device(framework: _consumers.Consumer, own: tuple[int, int], name: str) -> None:
    if not _consumers.takes_device(framework, own[0]):
        wanted = _consumers.a_device_of(framework)
        raise Rejection(
            f"expected memory that {framework.title} can use, found a tensor on {name}, which "
            "takes a copy",
            **({"device": wanted} if wanted else {}),
        )


def _place(answer: _Answer, options: Options, dl_device: Any) -> None:
    """Moves the tensor to the device that the consumer or the caller requests."""
    own = answer.tensor.__dlpack_device__()
    wanted = own
    if dl_device is not None:
        wanted = _read_device(dl_device)
    elif options.device is not None:
        wanted = options.device
    if wanted != own:
        _move(answer, options, own, wanted)
    else:
        _check_device(answer.framework, own, answer.tensor.device)


def _move(answer: _Answer, options: Options, own: tuple[int, int], wanted: tuple[int, int]) -> None:
    if not answer.may_copy:
        remedy: dict[str, Any] = {"copy": None} if options.copy is False else {}
        raise Rejection(
            f"expected device {wanted}, found {own} and copy=False, which forbids to move",
            **remedy,
        )
    try:
        answer.tensor = _producers.import_array(answer.array, device=wanted)
    except (RuntimeError, ValueError, TypeError) as error:
        # A consumer that can fall back does so only for BufferError.
        raise BufferError(f"expected device {wanted}, found {own}: {error}") from error
    if answer.tensor.__dlpack_device__() != wanted:
        raise BufferError(f"expected device {wanted}, found {answer.tensor.device}")
    answer.note_copy(f"from device {own} to {wanted}")


def _check_dtype(answer: _Answer, options: Options) -> None:
    framework, tensor = answer.framework, answer.tensor
    if not _consumers.takes_dtype(framework, tensor.dtype):
        raise Rejection(f"expected a dtype that {framework.title} has, found {tensor.dtype}")
    if framework.narrows:
        _check_narrowing(answer, options)
    if _consumers.relabels(framework, tensor.dtype):
        answer.tensor = _producers.relabelled(tensor, "uint8")
        answer.report.append(f"bool as uint8, as {framework.title} counts it")


def check_values_for(name: str, tensor: _core.Tensor) -> None:
    """Rejects the request of a Tensor's __dlpack__ by a framework that would change the dtype."""
    framework = _consumers.by_name(name)
    narrower = _consumers.narrowed(framework, tensor.dtype)
    if narrower is not None:
        words = _consumers.narrowing_words(framework, tensor.dtype, narrower)
        raise Rejection.with_message(
            f"expected a dtype that the consumer keeps: {words}; dtype='narrow' of dlbridge.to and "
            "dlbridge.adapt allows it",
            dtype="narrow",
        )


def _check_narrowing(answer: _Answer, options: Options) -> None:
    """Values must not change, unless the caller permits it."""
    framework, dtype = answer.framework, answer.tensor.dtype
    narrower = _consumers.narrowed(framework, dtype)
    if narrower is None:
        return
    words = _consumers.narrowing_words(framework, dtype, narrower)
    if options.dtype != "narrow":
        raise Rejection(f"expected a dtype that the consumer keeps: {words}", dtype="narrow")
    if not answer.may_copy:
        raise Rejection(f"expected copies to be allowed, found copy=False: {words}")
    answer.narrowing = f"{framework.title} changes {dtype} to {narrower}"


def _lay_out(answer: _Answer, options: Options) -> None:
    """Makes strides that the consumer accepts."""
    framework = answer.framework
    if framework.reads_unused_strides:
        answer.tensor = _producers.with_usual_strides(answer.tensor)
    tensor = answer.tensor
    own = tensor.__dlpack_device__()[0]
    if _consumers.takes_strides(framework, own, tensor.shape, tensor.strides):
        return
    why = (
        f"{framework.title} accepts only strides that are {_consumers.strides_of(framework, own)}; "
        f"the array has {tensor.strides} for shape {tensor.shape}"
    )
    if options.strides != "compact" and not answer.copied:
        raise Rejection(f"expected a layout for the consumer: {why}", strides="compact")
    answer.copy(why)


def _is_aligned(tensor: _core.Tensor, alignment: int) -> bool:
    return not tensor.size or (tensor.data_ptr + tensor.byte_offset) % alignment == 0


def _align(answer: _Answer) -> None:
    """Copies memory with which the consumer cannot compute; arrays are aligned by chance."""
    framework = answer.framework
    if _is_aligned(answer.tensor, framework.needs_alignment):
        return
    why = _consumers.alignment_words(framework)
    if not answer.may_copy:
        raise Rejection(f"expected copies to be allowed, found copy=False: {why}", copy=None)
    answer.copy(why)


def _pack(answer: _Answer, asked: Any) -> None:
    """A consumer that misses the flag of padded elements would read them as packed ones."""
    tensor = answer.tensor
    _, bits, lanes = tensor.dtype_triple
    if not tensor.flags & _PADDED or bits * lanes % 8 == 0:
        return
    version = _version_for(answer.framework, asked)
    if version is not None and version >= _PADDED_SINCE:
        return
    found = f"padded {tensor.dtype}, which a capsule before DLPack 1.1 cannot record"
    on_host = tensor.__dlpack_device__()[0] == _consumers.CPU
    if not answer.copied or not on_host:
        remedy: dict[str, Any] = {"copy": True} if on_host else {}
        raise Rejection(f"expected packed elements for the request, found {found}", **remedy)
    answer.pack()
    answer.report.append(f"packed: {found}")


def _fold(answer: _Answer) -> None:
    """Adds `byte_offset` to `data`: several consumers reject or ignore it.

    A consumer that moves data to its own device finds its memory by `data`, which stays as it is.
    """
    device = answer.tensor.__dlpack_device__()[0]
    if device in _ADDRESSES and device != answer.framework.moves_to:
        answer.tensor = _producers.folded(answer.tensor)


def _check_alignment(answer: _Answer) -> None:
    """A consumer must not copy silently where copies are forbidden."""
    framework = answer.framework
    if not answer.may_copy and not _is_aligned(answer.tensor, framework.alignment):
        raise Rejection(
            f"expected copies to be allowed, found copy=False: {framework.title} copies memory "
            f"whose address is not a multiple of {framework.alignment}",
            copy=None,
        )


def _protect(answer: _Answer, options: Options, asked: Any, certain: bool) -> None:
    """A read-only array must not become writable, unless the caller permits it."""
    framework = answer.framework
    if not answer.tensor.readonly:
        return
    legacy = _version_for(framework, asked) is None
    if certain and framework.honours_read_only and not legacy:
        return
    if certain and _never_writes(answer):
        answer.drop_read_only = True
        answer.report.append(f"READ_ONLY left out: {framework.title} never writes to it")
    elif options.readonly == "keep" and not legacy:
        answer.report.append("READ_ONLY kept: the caller states that the consumer keeps it")
    else:
        _lose_read_only(answer, options, legacy, certain)


def _never_writes(answer: _Answer) -> bool:
    framework, own = answer.framework, answer.tensor.__dlpack_device__()[0]
    return framework.immutable or (framework.moves_to or own) != own


def _unknown_consumer(title: str, legacy: bool) -> Rejection:
    """The rejection that a Tensor's own __dlpack__ gives too."""
    request = " with a request for a legacy capsule, which cannot record it" if legacy else ""
    return Rejection.with_message(
        f"expected a consumer that is known to keep READ_ONLY for a read-only tensor, found {title}"
        f"{request}: use copy=True of its from_dlpack, or dlbridge.to or dlbridge.adapt with "
        "readonly='copy'; readonly='keep' passes this memory on with the flag, readonly='drop' "
        "without it",
        readonly="copy",
    )


def _lose_read_only(answer: _Answer, options: Options, legacy: bool, certain: bool) -> None:
    title = answer.framework.title if answer.framework.name else "an unknown consumer"
    if options.readonly == "keep" and not certain:
        raise Rejection(
            "expected a request for a versioned capsule beside readonly='keep', since a legacy "
            f"capsule cannot record READ_ONLY, found {title} with a request for a legacy one: "
            "request it with max_version=(1, 0)",
            "readonly='drop'",
            readonly="copy",
        )
    how = "requests a legacy capsule, which cannot record it" if legacy else "ignores the flag"
    why = f"the array is read-only, and {title} {how}"
    if options.readonly not in ("copy", "drop"):
        if not certain:
            raise _unknown_consumer(title, legacy)
        raise Rejection(
            f"expected an array that may be written to: {why}", "readonly='drop'", readonly="copy"
        )
    if options.readonly == "copy":
        answer.copy(why)
        return
    answer.report.append(f"READ_ONLY dropped: {why}")
    # Not drop_read_only: dlbridge remembers the flag of its legacy capsules when it imports them.
    answer.tensor = _writable_alias(answer.tensor)


def _writable_alias(tensor: _core.Tensor) -> _core.Tensor:
    return _producers.relabelled(tensor, tensor.dtype_triple, tensor.flags & ~_READ_ONLY)


def _version_for(framework: Any, asked: tuple[int, int] | None) -> tuple[int, int] | None:
    """The version of the capsule: of the requested kind, as new as the consumer supports."""
    if asked is None or asked[0] < 1:
        return None
    return max(asked, framework.newest) if framework.newest is not None else asked


def _read_version(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    try:
        major, minor = (operator.index(part) for part in value)
    except (TypeError, ValueError):
        raise TypeError(f"expected max_version of two integers, found {short(value)}") from None
    if major < 0 or minor < 0:
        raise ValueError(f"expected max_version of at least (0, 0), found {value!r}")
    return (major, minor)


def _read_device(value: Any) -> tuple[int, int]:
    """A device as a pair: "cpu", "cuda:1", or a pair whose id may be None."""
    if isinstance(value, str):
        return _core.wrap(None, 0, (0,), "uint8", device=value).__dlpack_device__()
    try:
        kind, number = value
        pair = operator.index(kind), 0 if number is None else operator.index(number)
    except (TypeError, ValueError):
        raise TypeError(f"expected a device as text or (type, id), found {short(value)}") from None
    return _HOST if pair[0] == _HOST[0] else pair  # the host is one device, whatever the ordinal


def adapt(
    x: Any,
    /,
    *,
    consumer: str | None = None,
    readonly: Literal["reject", "copy", "keep", "drop"] = "reject",
    strides: Literal["keep", "compact"] = "keep",
    copy: bool | None = None,
    grad: Literal["reject", "detach"] = "reject",
    lazy: Literal["reject", "resolve"] = "reject",
    device: str | tuple[int, int] | None = None,
    dtype: Literal["keep", "narrow"] = "keep",
) -> Adapted:
    """dlbridge.adapt, whose documentation is in _core, for arrays and options of every kind."""
    options = Options(consumer, readonly, strides, copy, grad, lazy, device, dtype)
    return Adapted(x, options)


def array_of(tensor: _core.Tensor, given: tuple[Any, ...], named: dict[str, Any] | None) -> Any:
    """The result of Tensor.__array__ with these arguments."""
    return adapt(tensor).__array__(*given, **(named or {}))


_core.share_adapted(Adapted, Options())
