# SPDX-License-Identifier: Apache-2.0
"""What a check works with: the adapter, arrays and tensors, and the answers of the library."""

from __future__ import annotations

import contextlib
import functools
import gc
import operator
import os
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from . import answers, capsules, reproducers, tensors, values
from .adapters import Adapter, Request, Unsupported
from .forms import FORMS
from .outcomes import Failure, Skip
from .tensors import Source, Tensor

CHECKS: dict[str, Callable[[Kit], None]] = {}
# Writes the reproducer of a tensor, from the lines that define `consume`.
Program = Callable[[str, Tensor], str]


def check(name: str) -> Callable[[Callable[[Kit], None]], Callable[[Kit], None]]:
    """Registers a function as the check of that name."""

    def register(function: Callable[[Kit], None]) -> Callable[[Kit], None]:
        CHECKS[name] = function
        return function

    return register


def message(error: BaseException) -> str:
    """One line of an error."""
    try:
        text = " ".join(str(error).split())
    except BaseException:
        text = "its text cannot be made"
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


# What a check needs of the adapter first.
_MADE = "make(request) of the adapter returns an array"


def place(error: BaseException) -> str:
    """Where an error was raised, in parentheses."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    last = frames[-1]
    return f" (in {last.name}, {'/'.join(last.filename.split(os.sep)[-2:])} line {last.lineno})"


class Kit:
    """One run of one group."""

    def __init__(self, adapter: Adapter, rounds: int = 100_000) -> None:
        self.adapter, self.rounds = adapter, rounds
        # How a child process chooses the same adapter.
        self.chosen: dict[str, Any] | None = None
        # Of such a process: a library may empty that of its own.
        self.environment = dict(os.environ)
        # Receives each new reproducer: a crash leaves no other trace.
        self.announce: Callable[[str], None] = lambda text: None
        # Seconds that a process that a check starts may take.
        self.limit = 100.0
        self._reproducer = ""
        self._is_fixed = False
        # The request of the array that was made last.
        self._asked: Request | None = None

    @property
    def reproducer(self) -> str:
        """A program that shows what the check does now."""
        return self._reproducer

    @reproducer.setter
    def reproducer(self, text: str) -> None:
        if self._is_fixed:
            return
        if text and text != self._reproducer:
            self.announce(text)
        self._reproducer = text

    # -------------------------------------------------------------------------------- producers

    def array(self, form: str = "plain", dtype: str = "float32", read_only: bool = False) -> Any:
        """An array of the library. Skips the check if the library has none."""
        self.adapter.needs(dtype, form)
        request = Request(dtype, FORMS[form], read_only=read_only)
        self.reproducer = ""
        self._asked = request
        try:
            array = self.adapter.make(request)
        except Unsupported as error:
            raise Skip(str(error) or "unsupported") from None
        except Exception as error:
            found = f"{message(error)}{place(error)}"
            if (form, dtype, read_only) == ("plain", "float32", False):
                raise Failure(f"{_MADE} of float32", found) from error
            raise Skip(f"the library makes no such array: {found}") from None
        if array is None:
            found = "None; return NotImplemented for what the library does not have"
            if (form, dtype, read_only) == ("plain", "float32", False):
                raise Failure(_MADE, found)
            raise Skip(f"the adapter makes no such array: make(request) returned {found}")
        return array

    def own(self, form: str) -> Any:
        """An array of the library for its own consumer."""
        array = self.array(form)
        self.reproducer = answers.own(self._code, self._asked)
        return array

    @property
    def _code(self) -> str:
        """The adapter's lines that make the array that was made last."""
        return self.adapter.code if self._asked is None else self.adapter.code_of(self._asked)

    def ask(self, array: Any, **keywords: Any) -> Any:
        """What __dlpack__ returns; its errors pass through."""
        self.reproducer = reproducers.producer(self._code, self._asked, keywords)
        capsule = self.adapter.export(array, **keywords)
        if capsules.is_misnamed(capsule):
            # Its destructor may call what is no deleter. One check reports the name.
            capsules.keep(capsule)
        return capsule

    def export(self, array: Any, **keywords: Any) -> Any:
        """An unconsumed capsule of an array; an error is a failure."""
        try:
            capsule = self.ask(array, **keywords)
        except Exception as error:
            wanted = f"a capsule from __dlpack__({reproducers.arguments(keywords)})"
            raise Failure(wanted, message(error)) from error
        return self.fresh(capsule)

    def fresh(self, capsule: Any) -> Any:
        if capsules.kind(capsule) is None:
            wanted = "a capsule named dltensor or dltensor_versioned"
            raise Failure(wanted, capsules.label(capsule))
        return capsule

    @functools.cached_property
    def knows_versions(self) -> bool:
        """Whether the producer knows max_version."""
        asked = self._asked
        try:
            self.ask(self.array(), max_version=capsules.NEWEST)
        except TypeError:
            return False
        except Exception:
            return True
        finally:
            self._asked = asked
        return True

    @property
    def newest(self) -> dict[str, Any]:
        """The keywords of a consumer of the newest version, by the logic of the standard."""
        return {"max_version": capsules.NEWEST} if self.knows_versions else {}

    def best(self, array: Any, **keywords: Any) -> Any:
        """The capsule that a consumer of the newest version gets."""
        return self.export(array, **{**self.newest, **keywords})

    def shows(self, program: Callable[..., str]) -> None:
        """Makes the reproducer of the array that was made last."""
        self.reproducer = program(self._code, self._asked, self.newest)

    @contextlib.contextmanager
    def showing(
        self, program: Callable[..., str], request: Request | None = None
    ) -> Iterator[None]:
        """As `shows`, for all capsules asked for in the block; `request` may name another array."""
        self._asked = request or self._asked
        self.shows(program)
        with self.fixed():
            yield

    @contextlib.contextmanager
    def fixed(self) -> Iterator[None]:
        """Keeps the reproducer."""
        self._is_fixed = True
        try:
            yield
        finally:
            self._is_fixed = False

    def both(self, array: Any) -> Iterator[Any]:
        """The legacy and the versioned capsule of an array, as far as the producer has them."""
        for keywords in ({}, {"max_version": capsules.NEWEST})[: 1 + self.knows_versions]:
            with contextlib.suppress(BufferError):
                yield self.fresh(self.ask(array, **keywords))

    def optional(self, array: Any, **keywords: Any) -> Any:
        """Like `best`, but an error of the producer skips the check."""
        try:
            capsule = self.ask(array, **{**self.newest, **keywords})
        except Exception as error:
            raise Skip(f"not exported: {message(error)}") from None
        return self.fresh(capsule)

    # -------------------------------------------------------------------------------- consumers

    @functools.cached_property
    def kind(self) -> str:
        """The kind that the consumer asks for."""
        source = self.source(tensors.of_form("plain"), kind=None)
        with contextlib.suppress(Exception):
            self.adapter.consume(source)
        asked = any(keywords.get("max_version") for keywords in source.requests)
        return "versioned" if asked else "legacy"

    @functools.cached_property
    def kinds(self) -> list[str]:
        """The kinds that the consumer imports. One that asks for versioned capsules may get a
        legacy one; that it rejects these is a check itself."""
        if self.kind == "legacy":
            return ["legacy"]
        tensor = tensors.of_form("plain", kind="legacy")
        try:
            self.adapter.consume(Source(tensor))
        except Exception as error:
            forgotten(error)
            return ["versioned"]
        return ["versioned", "legacy"]

    def tensor(self, form: str = "plain", dtype: str = "float32", **changes: Any) -> Tensor:
        """A tensor of the kind that the consumer asks for."""
        kind = changes.pop("kind", None) or self.kind
        return tensors.of_form(form, dtype, kind=kind, **changes)

    def source(
        self, tensor: Tensor, program: Program = reproducers.consumer, **options: Any
    ) -> Source:
        """A source of the tensor; `program` makes the reproducer."""
        kind = options.pop("kind", tensor.kind)
        self.reproducer = program(self.adapter.code, tensor)
        if kind is None:
            return _Adapting(tensor, **options)
        return Source(tensor, **options)

    def consume(self, source: Any, **keywords: Any) -> Any:
        """The imported array; an error is a failure."""
        try:
            return self.taken(source, **keywords)
        except (Skip, Failure):
            raise
        except Exception as error:
            raise Failure("the tensor is imported", message(error)) from error

    def taken(self, source: Any, **keywords: Any) -> Any:
        """The imported array; errors pass through, except those of the adapter."""
        try:
            array = self.adapter.consume(source, **keywords)
        except Unsupported as error:
            raise Skip(str(error)) from None
        if array is None:
            raise Failure("an array", "None")
        return array

    def attempt(
        self, tensor: Tensor, program: Program = reproducers.consumer
    ) -> tuple[Any, Exception | None]:
        """The imported array, or the error of a consumer that rejects the tensor as it should."""
        try:
            return self.taken(self.source(tensor, program=program)), None
        except (Skip, Failure):
            raise
        except Exception as error:
            rejection = forgotten(error)
        self.ends(tensor)
        return None, rejection

    def arrives(self, tensor: Tensor, wanted: bytes, shape: tuple[int, ...], **how: Any) -> Any:
        """Imports a tensor and compares shape and values."""
        array = self.consume(self.source(tensor, program=answers.arrives), **how)
        self.compare(array, wanted, shape)
        return array

    def compare(self, array: Any, wanted: bytes, shape: tuple[int, ...]) -> None:
        found = self.shape(array)
        if found != shape:
            raise Failure(f"an array of shape {shape}", f"shape {found}", "wrong answer")
        bits = self.read(array)
        if bits != wanted:
            raise Failure(*apart(wanted, bits), "wrong answer")

    def shape(self, array: Any) -> tuple[int, ...]:
        """The array's extents as the adapter reads them, in any sequence of integers."""
        given = self.adapter.shape(array)
        try:
            return tuple(map(operator.index, given))
        except TypeError:
            wanted = "a sequence of integers from shape(array) of the adapter"
            raise Failure(wanted, f"{given!r}", "wrong answer") from None

    def read(self, array: Any) -> bytes:
        """The array's elements as the adapter reads them."""
        try:
            bits = self.adapter.read(array)
        except Unsupported as error:
            raise Skip(str(error)) from None
        if not isinstance(bits, (bytes, bytearray, memoryview)):
            raise Failure("read(array) of the adapter returns bytes", f"{type(bits).__name__}")
        return bytes(bits)

    # ---------------------------------------------------------------------------------- streams

    def device(self, function: str) -> Any:
        """The device with streams, for an adapter with this function. Skips without either."""
        if not self.adapter.has(function):
            raise Skip(f"the adapter has no {function}(..., stream)")
        try:
            return self._device
        except Unsupported as error:
            raise Skip(str(error)) from None

    def cuda(self, function: str) -> Any:
        """As `device`, but skips a device that is not CUDA."""
        device = self.device(function)
        if device.device[0] != 2:
            raise Skip("the array API has no numbers for these streams")
        return device

    @functools.cached_property
    def _device(self) -> Any:
        return self.adapter.streams()

    # --------------------------------------------------------------------------------- deleters

    def settle(self, done: Callable[[], bool]) -> bool:
        """Whether `done` becomes true after everything is released."""
        for _ in range(4):
            if done():
                return True
            self.adapter.settle()
            gc.collect()
        return done()

    def ends(self, tensor: Tensor) -> None:
        """Judges a tensor that is no longer in use: one owner, one deleter."""
        if tensor.claimed:
            self.settle(lambda: tensor.deleted >= 1)
            if tensor.deleted != 1:
                severity = "leak" if tensor.deleted == 0 else "corruption"
                raise Failure("the deleter ran once", f"it ran {tensor.deleted} times", severity)
        else:
            self.settle(lambda: False)
            self._named(tensor)
            if tensor.deleted:
                raise Failure(
                    "a capsule that keeps its name still owns its tensor",
                    f"the deleter ran {tensor.deleted} times, and the capsule's destructor would "
                    "run it again",
                    "corruption",
                )
        if not tensor.unmodified():
            raise Failure("the producer's struct is not changed", "it was", "corruption")
        tensor.forget()

    def _named(self, tensor: Tensor) -> None:
        """A capsule that was not consumed has its own name: another consumer, and the destructor,
        read the struct that the name says."""
        for capsule in tensor.handed_out:
            if capsules.name(capsule) not in (tensor.name, b"used_" + tensor.name):
                raise Failure(
                    f"a rejected capsule named {capsules.text(tensor.name)}, as before",
                    capsules.label(capsule),
                    "crash",
                )


def forgotten(error: Exception) -> Exception:
    """The error without the frames of its call, which keep capsules and arrays alive."""
    chain: BaseException | None = error
    while chain is not None:
        chain.__traceback__ = None
        chain = chain.__cause__ or chain.__context__
    return error


class _Adapting(Source):
    """Answers with the kind that is asked for."""

    def __dlpack__(self, **keywords: Any) -> Any:
        if not keywords.get("max_version") and self.tensor.kind == "versioned":
            self.tensor = tensors.of_form("plain", kind="legacy")
        return super().__dlpack__(**keywords)


# Bytes that a text shows.
_SHOWN = 16


def apart(wanted: bytes, found: bytes) -> tuple[str, str]:
    """The texts of expected and found elements, from the first difference on."""
    pairs = zip(wanted, found)
    shorter = min(len(wanted), len(found))
    first = next((place for place, (one, other) in enumerate(pairs) if one != other), shorter)
    start = first // _SHOWN * _SHOWN
    where = f" from byte {start} on" if start else ""
    texts = (f"the bytes {shown(wanted, start) or 'that end there'}{where}", shown(found, start))
    if len(wanted) == len(found):
        return texts[0], texts[1]
    lengths = (f"; {len(wanted)} bytes in all", f"; {len(found)} bytes in all")
    return texts[0] + lengths[0], (texts[1] or "none there") + lengths[1]


def shown(bits: bytes, start: int = 0) -> str:
    end = start + _SHOWN
    return bits[start:end].hex(" ") + (" ..." if len(bits) > end else "")


@contextlib.contextmanager
def consumed(capsule: Any) -> Iterator[Any]:
    """Takes a capsule's struct and deletes it at the end."""
    struct = capsules.take(capsule)
    try:
        yield struct
    finally:
        capsules.delete(struct)


def expected(form: str, dtype: str = "float32") -> bytes:
    return tensors.expected(form, dtype)


def triple(dtype: str) -> tuple[int, int, int]:
    return values.DTYPES[dtype]
