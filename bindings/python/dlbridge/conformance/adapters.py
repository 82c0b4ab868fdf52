# SPDX-License-Identifier: Apache-2.0
"""How the kit uses a library: an adapter file, two dotted names, or an adapter of the kit."""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import importlib
import importlib.util
import inspect
import pathlib
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from . import capsules, patterns, values
from .forms import FORMS, SHAPE, Form
from .outcomes import Declared


class Unsupported(Exception):
    """The library has no such array, or does not offer such a function."""


@dataclasses.dataclass(frozen=True)
class Request:
    """An array to make. `bits` are the elements of a base array of `base_shape` in C order;
    `view(base)` slices it to the requested `shape` and `strides`, which count elements."""

    dtype: str = "float32"
    form: Form = FORMS["plain"]
    device: tuple[int, int] = capsules.CPU
    read_only: bool = False
    base_shape: tuple[int, int] = SHAPE

    # Rotates the values: memory that is used again then never has the right ones by chance.
    turn: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.form.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self.form.strides

    @property
    def bits(self) -> bytes:
        whole, start = values.bits(self.dtype), self.turn * values.size(self.dtype)
        return whole[start:] + whole[:start]

    @property
    def values(self) -> list[list[Any]]:
        """The base array as nested lists of Python's numbers."""
        numbers = values.numbers(self.dtype)
        if numbers is None:
            raise Unsupported(f"Python has no numbers of {self.dtype}")
        numbers = numbers[self.turn :] + numbers[: self.turn]
        return [numbers[start : start + SHAPE[1]] for start in range(0, len(numbers), SHAPE[1])]

    def view(self, base: Any) -> Any:
        try:
            return self.form.view(base)
        except NotImplementedError as error:
            raise Unsupported(str(error)) from None


class Adapter:
    """A library as the checks see it. Only `make` (of a producer) and `consume` are needed."""

    title = "library"
    has_producer = has_consumer = True
    # Patterns of names of checks and dtypes that the library declares unsupported.
    unsupported: Iterable[str] = ()
    # Whether a child of fork() may use the library. Broken tensors run in one each, else in the
    # process of the group, which is started again after a crash.
    forks = True
    # Lines of Python that make `array` and define `consume`, for reproducers.
    code = ""

    def code_of(self, request: Request) -> str:
        """`code` for arrays that the library makes in another way than those of float32."""
        return self.code

    def make(self, request: Request) -> Any:
        raise Unsupported("the adapter has no make(request)")

    def consume(self, source: Any, **keywords: Any) -> Any:
        raise Unsupported("the adapter has no consume(source)")

    def read(self, array: Any) -> bytes:
        """The elements in C order. By default the buffer protocol, else the array's own export."""
        with contextlib.suppress(TypeError, BufferError, ValueError):
            return memoryview(array).tobytes()
        struct = self._struct(array)  # holds the capsule, and so the memory of a copy
        return capsules.describe(struct).elements()

    def shape(self, array: Any) -> tuple[int, ...]:
        return tuple(int(extent) for extent in array.shape)

    def dtype(self, array: Any) -> str:
        triple = self.describe(array).dtype
        return values.NAMES.get(triple, str(triple))

    def address(self, array: Any) -> int | None:
        """Where element (0, ..., 0) is, or None if that is unknown."""
        return self.describe(array).address

    def writable(self, array: Any) -> bool | None:
        """Whether the library would write to the array; None if that is unknown."""
        with contextlib.suppress(TypeError, BufferError, ValueError):
            return not memoryview(array).readonly
        return None

    def write(self, array: Any, place: tuple[int, ...], number: float) -> None:
        """Sets an element."""
        array[place] = number

    def delayed(self, request: Request) -> Any:
        """An array whose values are still being computed, by work that takes some 0.1 s."""
        raise Unsupported("the adapter has no delayed(request)")

    def streams(self) -> Any:
        """The device of `make_on` and `read_on`. Raises Unsupported without one."""
        from . import cuda

        return cuda.Device()

    def make_on(self, request: Request, stream: Any) -> Any:
        """An array of the device, written by work that is still pending on the stream.

        `stream.handle` is the CUstream as an integer; its primary context is current. Prepare what
        may wait, call `stream.close()`, which holds all later work of the stream back, enqueue the
        work that writes the values, and return."""
        raise Unsupported("the adapter has no make_on(request, stream)")

    def read_on(self, source: Any, stream: Any) -> bytes:
        """Imports a tensor of the device for use on the stream `stream.handle`, and reads its
        elements in C order by work on that stream."""
        raise Unsupported("the adapter has no read_on(source, stream)")

    def use(self, stream: Any) -> contextlib.AbstractContextManager[Any]:
        """A context in which the stream is the one that the library works on."""
        raise Unsupported("the adapter has no use(stream)")

    def settle(self) -> None:
        """Makes a library that defers the release of foreign memory release it."""

    def version(self) -> str:
        return ""

    def has(self, function: str) -> bool:
        """Whether the adapter defines an optional function."""
        return function in vars(self) or getattr(type(self), function) is not getattr(
            Adapter, function
        )

    def export(self, array: Any, **keywords: Any) -> Any:
        """The capsule of an array."""
        return array.__dlpack__(**keywords)

    def describe(self, array: Any) -> capsules.Description:
        """The fields of the struct that the array exports."""
        return capsules.describe(self._struct(array))

    def _struct(self, array: Any) -> Any:
        try:
            capsule = self.export(array)
        except BufferError as error:
            # A legacy capsule has no flag for an array that is only read.
            try:
                capsule = self.export(array, max_version=capsules.NEWEST)
            except Exception:
                raise error from None
        return capsules.look(capsule)

    def needs(self, *names: str) -> None:
        """Skips a check whose name, dtype or layout is declared unsupported."""
        for pattern in self.unsupported:
            if fnmatch.filter(names, pattern):
                raise Declared(pattern)


class FileAdapter(Adapter):
    """The functions of a Python file with the names of the methods above; missing ones have
    the defaults. `title`, `version`, `unsupported`, `forks`, `code` are values."""

    _FUNCTIONS = (
        *("make", "consume", "read", "shape", "dtype", "address", "writable", "write"),
        *("delayed", "streams", "make_on", "read_on", "use", "settle"),
    )
    _VALUES = ("title", "unsupported", "forks", "code")

    def __init__(self, path: str) -> None:
        file = pathlib.Path(path).absolute()
        self._module = _loaded(file)
        self.title = file.stem
        self.code = _CODE_OF_FILE.format(folder=str(file.parent), module=file.stem)
        found = vars(self._module)
        for name in self._FUNCTIONS:
            if name in found:
                if not callable(found[name]):
                    raise SystemExit(f"{path}: {name} is a function, not {found[name]!r}")
                setattr(self, name, _replaced(found[name]))
        for name in self._VALUES:
            if name in found:
                setattr(self, name, found[name])
        self.title = str(self.title)
        if not _is_names(self.unsupported):
            raise SystemExit(f"{path}: unsupported is a list of names, not {self.unsupported!r}")
        for pattern in self.unsupported:
            patterns.check_unsupported(path, pattern)
        self.has_producer, self.has_consumer = "make" in found, "consume" in found
        if self.has_consumer:
            self.consume = _consuming(self.consume, found["consume"])  # type: ignore[method-assign]
        if not self.has_producer and not self.has_consumer:
            raise SystemExit(f"{path} has neither make(request) nor consume(source)")

    def version(self) -> str:
        return str(getattr(self._module, "version", ""))


def _loaded(file: pathlib.Path) -> types.ModuleType:
    """The module of an adapter file. The modules beside it can be imported."""
    if file.suffix != ".py":
        raise SystemExit(f"{file}: expected a file of Python, whose name ends with .py")
    if file.stem in sys.stdlib_module_names or _is_installed(file.stem):
        raise SystemExit(f"{file}: its name hides the module {file.stem}; rename the file")
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _is_installed(name: str) -> bool:
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(name)
        return spec is not None and "site-packages" in str(spec.origin)
    return False


def _is_names(value: Any) -> bool:
    return isinstance(value, (list, tuple, set)) and all(isinstance(one, str) for one in value)


_CODE_OF_FILE = """import sys, types
sys.path.insert(0, {folder!r})
from {module} import *
"""


def _replaced(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an adapter file; NotImplemented means unsupported."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        if result is NotImplemented:
            raise Unsupported(f"{function.__name__} returned NotImplemented")
        return result

    return call


def _consuming(call: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """A consume(source) without keywords has no keyword copy to check."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return call
    accepts = any(one.kind is one.VAR_KEYWORD or one.name == "copy" for one in parameters)

    def consume(source: Any, **keywords: Any) -> Any:
        if keywords and not accepts:
            raise Unsupported("consume(source) of the adapter takes no keywords")
        return call(source, **keywords)

    return consume


# Numbers that every dtype has.
_MADE = """\
base = {producer}(
    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]],
    {dtype})
array = base
"""


class NamedAdapter(Adapter):
    """A producer that takes nested lists as `asarray` of the array API does, and a consumer."""

    def __init__(self, producer: str | None, consumer: str | None) -> None:
        self._made_by, self._producer = producer, _resolve(producer) if producer else None
        self._consumer = _resolve(consumer) if consumer else None
        self.has_producer, self.has_consumer = producer is not None, consumer is not None
        names = [name for name in (producer, consumer) if name]
        self._module = sys.modules[_module_of(names[0])]
        self.title = names[0].partition(".")[0]
        imports = "".join(f"import {_module_of(name)}\n" for name in dict.fromkeys(names))
        self.code = imports + (f"consume = {consumer}\n" if consumer else "")

    def code_of(self, request: Request) -> str:
        if self._producer is None:
            return self.code
        dtype = f"dtype={self._module.__name__}.{request.dtype}"
        return self.code + _MADE.format(producer=self._made_by, dtype=dtype)

    def make(self, request: Request) -> Any:
        if self._producer is None:
            raise Unsupported("no --dlpack-producer is given")
        if request.read_only or request.device != capsules.CPU:
            raise Unsupported("an adapter file is needed for such arrays")
        named = getattr(self._module, request.dtype, None)
        if named is None:
            raise Unsupported(f"{self._module.__name__} has no {request.dtype}")
        return request.view(self._producer(request.values, dtype=named))

    def consume(self, source: Any, **keywords: Any) -> Any:
        if self._consumer is None:
            raise Unsupported("no --dlpack-consumer is given")
        return self._consumer(source, **keywords)

    def version(self) -> str:
        top = sys.modules[self._module.__name__.partition(".")[0]]
        return str(getattr(top, "__version__", ""))


def _module_of(name: str) -> str:
    """The longest prefix of a dotted name that is a module."""
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:end])
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(module)
            return module
    raise SystemExit(f"{name} is not the dotted name of a function: no module {parts[0]}")


def _resolve(name: str) -> Callable[..., Any]:
    module = _module_of(name)
    found: Any = sys.modules[module]
    for part in name[len(module) + 1 :].split("."):
        if not hasattr(found, part):
            raise SystemExit(f"{name}: {found} has no {part}")
        found = getattr(found, part)
    if not callable(found):
        raise SystemExit(f"{name} is not a function")
    return found


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Which adapter to load. Its fields travel to the child processes."""

    file: str | None = None
    producer: str | None = None
    consumer: str | None = None
    framework: str | None = None

    def check(self) -> None:
        """Exits with a message for a file that does not exist."""
        if self.file and pathlib.Path(self.file).is_dir():
            raise SystemExit(f"{self.file} is a folder: name a file of Python")
        if self.file and not pathlib.Path(self.file).is_file():
            raise SystemExit(f"no such adapter: {self.file}")

    def load(self) -> Adapter:
        self.check()
        if self.file:
            return FileAdapter(self.file)
        if self.framework:
            from .bundled import load

            return load(self.framework)
        return NamedAdapter(self.producer, self.consumer)

    def environment(self) -> dict[str, str]:
        """Variables that must be set before the child imports the library."""
        if self.framework:
            from .frameworks import ENVIRONMENT

            return ENVIRONMENT
        return {}

    @property
    def label(self) -> str:
        names = (self.file, self.framework, self.producer, self.consumer)
        return next(name for name in names if name)
