# SPDX-License-Identifier: Apache-2.0
"""Writes programs of a few lines that show a failure without dlbridge. Their lines fit into 80
columns, with the indentation of the report."""

from __future__ import annotations

import math
import re
import textwrap
from typing import Any

from . import capsules, values

_STRUCT = """\
class Tensor(ctypes.Structure):  # {struct}
    _fields_ = [{head}("data", c_void_p), ("device", c_int32 * 2),
        ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8),
        ("lanes", c_uint16), ("shape", c_void_p), ("strides", c_void_p),
        ("byte_offset", c_uint64){tail}]
"""
_HEAD = """("version", c_uint32 * 2), ("context", c_void_p),
        ("deleter", c_void_p), ("flags", c_uint64),
        """
_TAIL = """,
        ("context", c_void_p), ("deleter", c_void_p)"""
_IMPORTS = "import ctypes, gc, sys\nfrom ctypes import *\n"
_SOURCE = """
room = (c_uint8 * {room})()
memory = (c_uint8 * {size}).from_buffer(room, -addressof(room) % 64)
{filled}{shape}{strides}tensor = Tensor(data={data}, device={device},
    ndim={ndim}, code={code}, bits={bits}, lanes={lanes},
    shape={shape_address}, strides={strides_address},
    byte_offset={byte_offset}{more})
runs, capsules = [], []
deleter = CFUNCTYPE(None, c_void_p)(runs.append)
{owner}new = pythonapi.PyCapsule_New
new.restype, new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
nothing = cast(pythonapi.Py_IsInitialized, c_void_p)  # a destructor

class Source:
    def __dlpack__(self, **keywords):
        place = addressof(tensor)
        capsules.append(new(place, {name!r}, nothing))
        return capsules[-1]

    def __dlpack_device__(self):
        return {device_tuple}
"""
_IMPORTED = """
try:
    array = consume(Source())
    print("imported:", type(array))
    print({shown})
    del array
except Exception as error:
    print(f"{{type(error).__name__}}: {{error}}")
gc.collect()
print("the deleter ran", len(runs), "times; the capsules:", capsules)
"""
_POINTER = """
get = pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = c_void_p, [py_object, c_char_p]
name = pythonapi.PyCapsule_GetName
name.restype, name.argtypes = c_char_p, [py_object]

def tensor_of(capsule):
    versioned = name(capsule) == b"dltensor_versioned"
    kind = Versioned if versioned else Legacy
    return kind.from_address(get(capsule, name(capsule)))
"""
# What `read` of an adapter, the buffer protocol or __repr__ say of an array.
SHOW = """
def show(array):
    if "read" in globals():
        return read(array)
    try:
        return memoryview(array).tobytes()
    except TypeError:
        return repr(array)
"""
# The elements of a struct whose data is on the host.
ELEMENTS = """
def elements(tensor, shape, strides):
    size = tensor.bits * tensor.lanes // 8
    places = [tensor.data + tensor.byte_offset]
    for extent, stride in zip(shape, strides):
        places = [
            at + i * stride * size for at in places for i in range(extent)]
    return b"".join(string_at(place, size) for place in places)
"""
_EXPORTED = (
    ELEMENTS
    + """
def display(capsule):
    print(capsule)
    tensor, found = tensor_of(capsule), {{}}
    for field, *_ in tensor._fields_:
        value = getattr(tensor, field)
        if value and field in ("shape", "strides"):
            value = (c_int64 * tensor.ndim).from_address(value)
        is_array = isinstance(value, ctypes.Array)
        found[field] = list(value) if is_array else value
        print(field, found[field])
    shape, strides = found["shape"], found["strides"]
    if tensor.data and tensor.device[0] == 1 and strides:
        print("elements", elements(tensor, shape, strides))

print("array", show(array))
asked = {keywords}
capsules = [array.__dlpack__(**keywords) for keywords in asked]
del array
gc.collect()
for capsule in capsules:
    display(capsule)
"""
)
_VIEWS = {
    "transposed": "base.T",
    "negative": "base[::-1, ::-1]",
    "gaps": "base[:, ::2]",
    "sliced": "base[1:]",
    "empty": "base[:0]",
    "scalar": "base[1, 1, ...]",
    "row": "base[1]",
    "column": "base[:, 1]",
}
# Elements of an array that a program shows whole.
_WHOLE = 1000
# Bytes of a literal in one line of a program, and columns of a line.
_LITERAL, _COLUMNS = 12, 76


def literal(bits: bytes) -> list[str]:
    """Lines of a literal of bytes."""
    starts = range(0, max(len(bits), 1), _LITERAL)
    return [repr(bits[start : start + _LITERAL]) for start in starts]


def arguments(keywords: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in keywords.items())


def _struct(versioned: bool, name: str = "Tensor") -> str:
    head, tail = (_HEAD, "") if versioned else ("", _TAIL)
    struct = "DLManagedTensorVersioned" if versioned else "DLManagedTensor"
    text = _STRUCT.format(struct=struct, head=head, tail=tail)
    return text.replace("class Tensor", f"class {name}")


def _extents(fields: dict[str, Any], name: str) -> tuple[str, str]:
    """A line that makes the array of a field, and its address."""
    if fields[name] is None:
        return f"{name} = None\n", "None"
    content = ", ".join(map(str, fields[name]))
    line = f"{name} = (c_int64 * {len(fields[name])})({content})"
    return wrapped(line) + "\n", f"addressof({name})"


def wrapped(line: str, indent: int = 0) -> str:
    """A line of Python with brackets, in lines that fit."""
    first = " " * indent
    return textwrap.fill(
        line,
        _COLUMNS,
        initial_indent=first,
        subsequent_indent=first + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _size(tensor: Any) -> int:
    """Bytes of the memory of a program's tensor."""
    length = tensor.memory.length if tensor.memory else 0
    return max(-(-length // 64) * 64, 64)


def _start(tensor: Any) -> int:
    """The byte of this memory that `data` is."""
    data = tensor.struct.dl_tensor.data
    return data - tensor.memory.address if data and tensor.memory else 0


def _filled(tensor: Any) -> str:
    """Lines that write what the tensor's memory has. The rest of the program's memory is zero."""
    content = tensor.memory.content() if tensor.memory else b""
    if not content:
        return ""
    lines = "\n    ".join(literal(content))
    return f"memory[:{len(content)}] = (\n    {lines})\n"


def content(tensor: Any) -> bytes:
    """The elements that a program's tensor has, in C order."""
    fields = tensor.fields
    memory = (tensor.memory.content() if tensor.memory else b"").ljust(_size(tensor), b"\0")
    _, bits, lanes = fields["dtype"]
    width, shape = bits * lanes // 8, fields["shape"] or ()
    strides = capsules.compact(shape) if fields["strides"] is None else fields["strides"]
    places = [_start(tensor) + fields["byte_offset"]]
    for extent, stride in zip(shape, strides):
        places = [place + i * stride * width for place in places for i in range(extent)]
    return b"".join(memory[place : place + width] for place in places)


def is_small(tensor: Any) -> bool:
    """Whether a program may show the whole array."""
    shape = tensor.fields["shape"] or ()
    return all(0 <= extent <= _WHOLE for extent in shape) and math.prod(shape) <= _WHOLE


def offered(code: str, tensor: Any, name: bytes = b"") -> str:
    """Lines that make a `Source` of a tensor of these fields, and count the runs of its deleter.
    `name` is another name for its capsules."""
    fields = tensor.fields
    versioned = fields["kind"] == "versioned"
    shape, strides = (_extents(fields, name) for name in ("shape", "strides"))
    more = owner = ""
    if versioned:
        version = ", ".join(map(str, fields["version"]))
        more = f",\n    version=({version}), flags={fields['flags']}"
    if fields["context"]:
        owner += "tensor.context = addressof(tensor)\n"
    if fields["deleter"]:
        owner += "tensor.deleter = cast(deleter, c_void_p)\n"
    text = _SOURCE.format(
        shape=shape[0],
        shape_address=shape[1],
        more=more,
        owner=owner,
        ndim=fields["ndim"],
        strides=strides[0],
        strides_address=strides[1],
        data=_address(tensor) if fields["data"] == "memory" else "None",
        size=_size(tensor),
        room=_size(tensor) + 64,
        filled=_filled(tensor),
        device="({}, {})".format(*fields["device"]),
        device_tuple=tuple(fields["device"]),
        byte_offset=fields["byte_offset"],
        name=name or (b"dltensor_versioned" if versioned else b"dltensor"),
        **dict(zip(("code", "bits", "lanes"), fields["dtype"])),
    )
    return _IMPORTS + code + "\n" + _struct(versioned) + text


def _address(tensor: Any) -> str:
    start = _start(tensor)
    return f"addressof(memory) + {start}" if start else "addressof(memory)"


def consumer(code: str, tensor: Any) -> str:
    """A program that imports a tensor of these fields; `code` defines `consume`."""
    shown = _IMPORTED.format(shown="show(array)" if is_small(tensor) else "array")
    return offered(code, tensor) + SHOW + shown


def with_array(code: str, request: Any) -> str:
    """`code`, with lines that make `array` if it defines `make` instead. A `base` of float32 in it
    gets the dtype and the layout of the request."""
    if request is None:
        return code
    view = _VIEWS.get(request.form.name, "base")
    if "array =" in code:
        head, line, rest = code.partition("array = ")
        first, newline, rest = rest.partition("\n")
        made = re.sub(r"\bbase\b", view, first)
        return head.replace("float32", request.dtype) + line + made + newline + rest
    return code + requested(request) + "array = make(request)\n"


_REQUEST = """\
import struct
request = types.SimpleNamespace(
    dtype={dtype!r}, shape={shape}, strides={strides},
    base_shape={base_shape}, read_only={read_only}, device={device},
    form=types.SimpleNamespace(
        name={form.name!r}, shape={form.shape},
        strides={form.strides}, start={form.start}),
    bits={bits},
    view=lambda base: {view})
{values}"""
# Of the array's rows, as README.md documents it.
_VALUES = """\
request.values = [
    list(row) for row in struct.iter_unpack('<4{letter}', request.bits)]
"""
_COMPLEX = """\
request.values = [
    [complex(*row[i:i + 2]) for i in range(0, 8, 2)]
    for row in struct.iter_unpack('<8{letter}', request.bits)]
"""


def requested(request: Any) -> str:
    """Lines that make a request with all that an adapter may use of it."""
    names = ("dtype", "shape", "strides", "base_shape", "read_only", "device", "form")
    dtype, numbers = request.dtype, ""
    if dtype in values.FORMATS:
        numbers = _VALUES.format(letter=values.FORMATS[dtype])
    elif dtype.startswith("complex"):
        numbers = _COMPLEX.format(letter="f" if dtype == "complex64" else "d")
    return _REQUEST.format(
        bits="\n        ".join(literal(request.bits)),
        view=_VIEWS.get(request.form.name, "base"),
        values=numbers,
        **{name: getattr(request, name) for name in names},
    )


def with_view(code: str, request: Any, form: str) -> str:
    """Lines that make an array, and then `array` a view of it."""
    view = _VIEWS.get(form, "base").replace("base", "array")
    return f"{with_array(code, request)}array = {view}\n"


def made(code: str, request: Any) -> str:
    """Lines that make `array`, and `tensor_of(capsule)`."""
    return _IMPORTS + with_array(code, request) + "\n" + both_structs()


def both_structs() -> str:
    """Lines that define both structs, and `tensor_of(capsule)`."""
    return _struct(False, "Legacy") + "\n" + _struct(True, "Versioned") + _POINTER


def producer(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """A program that shows what an array exports; `code` makes `array`, or defines `make`."""
    shown = f"[dict({arguments(keywords)})]"
    return made(code, request) + SHOW + _EXPORTED.format(keywords=shown)


def both(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """As `producer`, for both kinds of capsules."""
    shown = f"[dict(), dict({arguments(keywords)})]"
    return made(code, request) + SHOW + _EXPORTED.format(keywords=shown)
