# SPDX-License-Identifier: Apache-2.0
"""Programs that show an answer beside the expected one, and judge it as those of `verdicts` do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .reproducers import (
    SHOW,
    arguments,
    content,
    is_small,
    literal,
    made,
    offered,
    with_array,
    with_view,
    wrapped,
)

# Writes the program of a producer, from the lines that make `array`.
Program = Callable[[str, Any, dict[str, Any]], str]

# `right` is a condition on `found`, an exception or what __dlpack__ returned, and on `tensor`, the
# struct of a new capsule or None.
_ANSWERS = """
def kind(found):
    is_capsule = type(found).__name__ == "PyCapsule"
    return name(found) if is_capsule else None

def fields(tensor):
    found = {{}}
    for key, *_ in tensor._fields_:
        value = getattr(tensor, key)
        found[key] = value[:] if hasattr(value, "_length_") else value
    return found

wrong = 0
for keywords in {asked}:
    tensor = None
    try:
        found = array.__dlpack__(**keywords)
        if kind(found) in (b"dltensor", b"dltensor_versioned"):
            tensor = tensor_of(found)
    except Exception as error:
        found = error
    print("__dlpack__ with", keywords or "no keywords")
    print("  expected", {expected!r})
    print("  found   ", repr(found))
    if tensor is not None:
        print("  fields  ", fields(tensor))
    right = (
        {right})
    wrong += not right
if wrong:
    sys.exit("FAULT: an answer is not the expected one")
print("fine: each answer is the expected one")
"""
# As the kit reads an array: by the adapter's `read`, the buffer protocol, or the array's export.
_ELEMENTS = """
def elements(array):
    found = show(array)
    if isinstance(found, bytes):
        return found
    import numpy
    return numpy.from_dlpack(array).tobytes()
"""
# Before lines that use the name `shape` for something else.
_SHAPE_OF = """
def own_shape(array):
    found = array.shape
    return found() if callable(found) else found
own_shape = globals().get("shape", own_shape)
def shape_of(array): return tuple(map(int, own_shape(array)))
"""
_DTYPE_OF = """
def own_dtype(array):
    found = getattr(array, "dtype", None)
    return getattr(found, "name", str(found).rpartition(".")[2])
dtype_of = globals().get("dtype", own_dtype)
"""
# {rejected}: what follows the exception of an import.
IMPORTS = """\
try:
    array = consume(Source())
except Exception as error:
    found = f"{{type(error).__name__}}: {{error}}"
    {rejected}
"""
_ARRIVES = (
    """
right = {shape}, (
    {content})
"""
    + IMPORTS
    + """{compared}{more}del array
gc.collect()
print("fine: the array has the values of the tensor")
"""
)
_COMPARED = """\
try:
    found = shape_of({array}), elements({array})
except Exception as error:
    sys.exit(f"FAULT: reading it: {{type(error).__name__}}: {{error}}")
print("expected", right)
print("found   ", found)
if found != right:
    sys.exit("FAULT: the array differs from the {origin}")
"""
_DTYPE = """\
found = dtype_of(array)
print("expected", {dtype!r})
print("found   ", found)
if found not in ({dtype!r}, "None"):
    sys.exit("FAULT: the array has another dtype than the tensor")
"""
_MUST_ARRIVE = 'sys.exit(f"FAULT: the tensor is rejected: {found}")'
# In the handler of an exception. A consumer that has renamed the capsule owns the tensor.
REJECTED = """\
del error
    gc.collect()
    renamed = '"used_' in repr(capsules)
    print("found   ", found)
    print("renamed:", renamed, "and runs of the deleter:", len(runs))
    if len(runs) != renamed:
        sys.exit("FAULT: the deleter runs once if the capsule was renamed")
    names = {repr(one).split()[2] for one in capsules}
    own = repr(Source().__dlpack__()).split()[2]
    if names - {own, '"used_' + own[1:]}:
        sys.exit(f"FAULT: the capsule {own} has another name: {names}")
    print("fine: the tensor is rejected")
    sys.exit()"""
_HAS_TEXT = """\
if found.endswith(": "):
        sys.exit("FAULT: the exception has no message")
    """
_REJECTED_SAYING = REJECTED.replace('print("fine', _HAS_TEXT + 'print("fine')
_HARMLESS = (
    "\n"
    + IMPORTS
    + """print("imported:", type(array))
del array
for _ in range(4):
    gc.collect()
    if "settle" in globals():
        settle()
destructor = pythonapi.PyCapsule_GetDestructor
destructor.restype, destructor.argtypes = c_void_p, [py_object]
taken = any(
    '"used_' in repr(one) or not destructor(one) for one in capsules)
print("capsules", capsules, "and runs of the deleter:", len(runs))
if len(runs) != taken:
    sys.exit("FAULT: the deleter runs once if the capsule was renamed")
print("fine: the tensor is imported without harm")
"""
)
_ASKS = """
class Asking(Source):
    def __dlpack__(self, **keywords):
        asked.append(keywords.get("stream"))
        return super().__dlpack__(**keywords)

asked = []
try:
    consume(Asking())
except Exception as error:
    print(f"{{type(error).__name__}}: {{error}}")
print("expected stream is {expected}")
print("found   ", asked)
for stream in asked:
    if not ({right}):
        sys.exit(f"FAULT: stream={{stream!r}}")
print("fine: each request has such a stream")
"""
_SHOWN = """\
try:
    print(show(array))
except Exception as error:
    print(f"reading it: {type(error).__name__}: {error}")
"""
_REJECTS = (
    """
print("expected an exception")
"""
    + IMPORTS
    + """print("found   ", type(array))
{shown}sys.exit("FAULT: the tensor is imported")
"""
)
_RENAMED = """
destructor = pythonapi.PyCapsule_GetDestructor
destructor.restype, destructor.argtypes = c_void_p, [py_object]
array = consume(Source())
print("expected a capsule named", {used!r})
print("found   ", capsules)
print("with destructors:", [bool(destructor(one)) for one in capsules])
if not any({quoted!r} in repr(one) for one in capsules):
    sys.exit("FAULT: no capsule was renamed by its import")
print("fine: a capsule was renamed")
"""
_WRITABLE = """
array = consume(Source())
is_writable = globals().get(
    "writable", lambda array: not memoryview(array).readonly)
found = is_writable(array)
print("expected a writable array, found writable:", found)
if found is False:
    sys.exit("FAULT: the array of a writable tensor is read-only")
print("fine: the array is not read-only")
"""
_SHARES = """
array = consume(Source())
before = show(array)
memset(addressof(memory), 7, 64)
found = show(array)
print("before a write to the memory of the tensor", before)
print("after it", found)
if found == before:
    sys.exit("FAULT: the array is a copy")
print("fine: the array has the written bytes")
"""
_NOT_A_CAPSULE = """
import sys

class Source:
    def __dlpack__(self, **keywords):
        return thing

    def __dlpack_device__(self):
        return 1, 0

for thing in None, 7, "dltensor", object():
    try:
        found = type(consume(Source()))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        continue
    sys.exit(f"FAULT: expected an exception for {thing!r}, found {found}")
print("fine: what is no capsule is rejected")
"""
_NO_PROTOCOL = """
import sys
try:
    found = type(consume(object()))
except AttributeError as error:
    print(f"fine: AttributeError: {error}")
    sys.exit()
except Exception as error:
    found = f"{type(error).__name__}: {error}"
sys.exit(f"FAULT: expected AttributeError for object(), found {found}")
"""
_WITHOUT_KEYWORDS = """
class Old(Source):
    def __dlpack__(self, stream=None):
        return super().__dlpack__()

try:
    array = consume(Old())
except Exception as error:
    found = f"{type(error).__name__}: {error}"
    sys.exit(f"FAULT: expected a second call without max_version: {found}")
print("fine: imported:", type(array))
"""
_OWN = """
right = shape_of(array), elements(array)
try:
    again = consume(array)
except Exception as error:
    print(f"fine: it is rejected: {{type(error).__name__}}: {{error}}")
    sys.exit()
{compared}print("fine: the import has the values of the array")
"""


# ------------------------------------------------------------------------------------- producers


class _Text:
    """An argument that the program computes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def answers(expected: str, right: str, *asked: dict[str, Any]) -> Program:
    """Calls __dlpack__ with keywords, without any those of a consumer of the newest version."""

    def program(code: str, request: Any, keywords: dict[str, Any]) -> str:
        calls = (wrapped(f"dict({arguments(one)})", 8) for one in asked or (keywords,))
        listed = "[\n" + ",\n".join(calls) + "]"
        text = _ANSWERS.format(asked=listed, expected=expected, right=right)
        return made(code, request) + text

    return program


def view_of(form: str) -> Program:
    """Exports a view of the array."""

    def program(code: str, request: Any, keywords: dict[str, Any]) -> str:
        return read_only(with_view(code, request, form), None, keywords)

    return program


def of_dtype(triple: tuple[int, int, int]) -> Program:
    """Compares the exported dtype."""
    condition = f"{_NEW} and (\n        tensor.code, tensor.bits, tensor.lanes) == {triple}"
    return answers(f"code, bits and lanes {triple}", condition)


def _versions(*versions: tuple[int, int]) -> list[dict[str, Any]]:
    return [{"max_version": version} for version in versions]


# A producer without the keyword is another check's.
_LACKS = "isinstance(found, TypeError)"
_NEW, _LEGACY = "tensor is not None", 'kind(found) == b"dltensor"'
_REJECTED_BY = "isinstance(found, BufferError)"
legacy = answers(
    "a capsule named dltensor, or BufferError",
    f"{_LEGACY} or {_REJECTED_BY}",
    {},
)
old = answers(
    "a capsule named dltensor, or BufferError",
    f"{_LEGACY} or {_REJECTED_BY}\n        or {_LACKS}",
    *_versions((0, 8)),
)
versioned = answers("a capsule", f"{_NEW} or {_LACKS}", *_versions((1, 0), (1, 1), (1, 3)))
future = answers(
    "a capsule, of version 1 if it is versioned",
    f"{_LACKS} or {_LEGACY}\n        or {_NEW}\n"
    "        and tensor.version[0] == 1 and tensor.version[1] <= 90",
    *_versions((1, 99), (2, 0)),
)
exported = answers("a capsule", _NEW)
exported_or_rejected = answers("a capsule, or BufferError", f"{_NEW} or {_REJECTED_BY}")
FLAGGED = "READ_ONLY (1) or IS_COPIED (2), or an exception"
IS_FLAGGED = (
    "isinstance(found, Exception)\n        or isinstance(tensor, Versioned) and tensor.flags & 3"
)
read_only = answers(FLAGGED, IS_FLAGGED)
writable = answers(
    "a capsule without the flag READ_ONLY (1)",
    f"{_NEW} and not (\n        isinstance(tensor, Versioned) and tensor.flags & 1)",
)
device_id = answers(
    "device id 0 of memory that the host can read",
    f"{_NEW} and (\n        tensor.device[0] not in (1, 3, 11, 13) or tensor.device[1] == 0)",
)
empty = answers(
    "a capsule of shape (0, 4)",
    f"{_NEW} and tensor.ndim == 2\n"
    "        and (c_int64 * 2).from_address(tensor.shape)[:] == [0, 4]",
)
strides = answers(
    "strides, if the version is 1.2 or later",
    f"{_NEW} and (not isinstance(tensor, Versioned)\n"
    "        or tuple(tensor.version) < (1, 2) or not tensor.ndim\n"
    "        or tensor.strides is not None)",
)
scalar = answers("a capsule of ndim 0", f"{_NEW} and tensor.ndim == 0")
aligned = answers(
    "an address that is a multiple of 4",
    f"{_NEW} and (tensor.data + tensor.byte_offset) % 4 == 0",
)
# A DLManagedTensorVersioned that is read as a DLManagedTensor has its version in `data`.
named = answers(
    "the struct of its name, with version 1 or none",
    f"isinstance(found, Exception) or {_NEW} and (\n"
    "        tensor.version[0] == 1 if isinstance(tensor, Versioned)\n"
    "        else (tensor.data or 0) % 2**32 != 1)",
    {},
    {"max_version": (1, 3)},
)
_OWN_DEVICE = "[*map(int, array.__dlpack_device__())]"
own_device = answers(
    "a capsule of the array's own device",
    f"{_LACKS} or {_NEW}\n        and tensor.device[:] == {_OWN_DEVICE}",
    {"max_version": (1, 3), "dl_device": _Text("array.__dlpack_device__()")},
)
unknown_device = answers("BufferError", f"{_REJECTED_BY} or {_LACKS}", {"dl_device": (5, 0)})
# Only None is accepted.
STREAMS = (1, 2, 3, 0, -1)
stream = answers(
    "an exception", "isinstance(found, Exception)", *({"stream": one} for one in STREAMS)
)
# Of CUDA and ROCm. Ids of the host other than 0 are no devices: no text says what they get.
OTHER_DEVICES = ((2, 0), (10, 0))
other_device = answers(
    "a capsule of that device, or an exception",
    "isinstance(found, Exception) or tensor is not None\n"
    "        and tensor.device[:] == list(keywords['dl_device'])",
    *({"max_version": (1, 3), "dl_device": one} for one in OTHER_DEVICES),
)
_KEYWORDS = ("stream", "max_version", "dl_device", "copy")
keywords = answers("no TypeError", f"not {_LACKS}", *({name: None} for name in _KEYWORDS))
none = answers(
    "a capsule, or BufferError",
    f"{_NEW} or {_REJECTED_BY}",
    dict.fromkeys(_KEYWORDS),
)


def own(code: str, request: Any) -> str:
    """Imports the library's own array, of the layout that it names."""
    lines = f"# the layout is {request.form.name}: {request.shape}, strides {request.strides}\n"
    lines += "import sys\n" + with_array(code, request) + _SHAPE_OF + SHOW + _ELEMENTS
    return lines + _OWN.format(compared=_COMPARED.format(array="again", origin="first one"))


# ------------------------------------------------------------------------------------- consumers


def arrives(code: str, tensor: Any, dtype: str = "") -> str:
    """Compares an imported tensor with its values, and with its dtype."""
    return _arriving(code, tensor, _MUST_ARRIVE, dtype)


def arrives_or_is_rejected(code: str, tensor: Any, dtype: str = "") -> str:
    """As `arrives`, but the consumer may reject the tensor."""
    return _arriving(code, tensor, REJECTED, dtype)


def _arriving(code: str, tensor: Any, rejected: str, dtype: str) -> str:
    text = _ARRIVES.format(
        shape=tuple(tensor.fields["shape"] or ()),
        content="\n    ".join(literal(content(tensor))),
        rejected=rejected,
        compared=_COMPARED.format(array="array", origin="tensor"),
        more=_DTYPE.format(dtype=dtype) if dtype else "",
    )
    before = _SHAPE_OF + (_DTYPE_OF if dtype else "")
    return offered(code + before, tensor) + SHOW + _ELEMENTS + text


def rejects(code: str, tensor: Any, name: bytes = b"") -> str:
    """Imports a tensor that no consumer can use, or one in a capsule of this name."""
    shown = _SHOWN if is_small(tensor) else ""
    text = _REJECTS.format(rejected=REJECTED, shown=shown)
    return offered(code, tensor, name) + SHOW + text


def rejects_saying(code: str, tensor: Any) -> str:
    """As `rejects`, and the exception must have a message."""
    shown = _SHOWN if is_small(tensor) else ""
    text = _REJECTS.format(rejected=_REJECTED_SAYING, shown=shown)
    return offered(code, tensor) + SHOW + text


def harmless(code: str, tensor: Any) -> str:
    """Imports a tensor that a consumer may reject, or take as it is."""
    return offered(code, tensor) + _HARMLESS.format(rejected=_REJECTED_SAYING)


def _asks(expected: str, right: str) -> Callable[[str, Any], str]:
    def asking(code: str, tensor: Any) -> str:
        return offered(code, tensor) + _ASKS.format(expected=expected, right=right)

    return asking


stream_none = _asks("None, since the memory is of the CPU", "stream is None")
stream_legal = _asks("None, -1 or at least 1", "stream is None or stream >= 1 or stream == -1")


def foreign(code: str, tensor: Any) -> str:
    """Imports a capsule that is not DLPack's."""
    return rejects(code, tensor, b"dltensor_unknown")


def renamed(code: str, tensor: Any) -> str:
    """Looks at the name of an imported capsule."""
    used = f"used_{tensor.name.decode()}"
    return offered(code, tensor) + _RENAMED.format(used=used, quoted=f'"{used}"')


def is_writable(code: str, tensor: Any) -> str:
    """Asks whether the import of a writable tensor is writable."""
    return offered(code, tensor) + _WRITABLE


def shares(code: str, tensor: Any) -> str:
    """Writes to the memory of an imported tensor."""
    return offered(code, tensor) + SHOW + _SHARES


def not_a_capsule(code: str) -> str:
    """Imports from producers that return other objects."""
    return code + _NOT_A_CAPSULE


def no_protocol(code: str) -> str:
    """Imports an object that is no array."""
    return code + _NO_PROTOCOL


def without_keywords(code: str, tensor: Any) -> str:
    """Imports from a producer that knows `stream` only."""
    return offered(code, tensor) + _WITHOUT_KEYWORDS
