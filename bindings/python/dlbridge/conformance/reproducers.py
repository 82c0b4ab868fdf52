# SPDX-License-Identifier: Apache-2.0
"""Writes programs of a few lines that show a failure without dlbridge."""

from __future__ import annotations

from typing import Any

_STRUCT = """\
class Tensor(ctypes.Structure):  # {struct}
    _fields_ = [{head}("data", c_void_p), ("device", c_int32 * 2), ("ndim", c_int32),
        ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", c_void_p),
        ("strides", c_void_p), ("byte_offset", c_uint64){tail}]
"""
_HEAD = """("version", c_uint32 * 2), ("context", c_void_p), ("deleter", c_void_p),
        ("flags", c_uint64), """
_TAIL = """, ("context", c_void_p), ("deleter", c_void_p)"""
_IMPORTS = "import ctypes\nfrom ctypes import *\n"
_CONSUMER = """
memory = (c_uint8 * 64)(*range(64))
shape, strides = {shape}, {strides}
tensor = Tensor(data={data}, device={device}, ndim={ndim}, code={code}, bits={bits}, lanes={lanes},
    shape={shape_address}, strides={strides_address}, byte_offset={byte_offset}{more})
new = pythonapi.PyCapsule_New
new.restype, new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]

class Source:
    def __dlpack__(self, **keywords):
        print("__dlpack__ is called with", keywords)
        return new(addressof(tensor), {name!r}, None)

    def __dlpack_device__(self):
        return {device_tuple}

array = consume(Source())
print("imported:", type(array))
print(array)
"""
_PRODUCER = """
capsule = array.__dlpack__({arguments})
print(capsule)
get = pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = c_void_p, [py_object, c_char_p]
name = pythonapi.PyCapsule_GetName
name.restype, name.argtypes = c_char_p, [py_object]
versioned = name(capsule) == b"dltensor_versioned"
tensor = (Versioned if versioned else Legacy).from_address(get(capsule, name(capsule)))
for field in tensor._fields_:
    value = getattr(tensor, field[0])
    print(field[0], list(value) if isinstance(value, ctypes.Array) else value)
"""
_VIEWS = {
    "transposed": "base.T",
    "negative": "base[::-1, ::-1]",
    "gaps": "base[:, ::2]",
    "sliced": "base[1:]",
    "empty": "base[:0]",
    "scalar": "base[1, 1, ...]",
}


def arguments(keywords: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in keywords.items())


def _struct(versioned: bool, name: str = "Tensor") -> str:
    head, tail = (_HEAD, "") if versioned else ("", _TAIL)
    struct = "DLManagedTensorVersioned" if versioned else "DLManagedTensor"
    text = _STRUCT.format(struct=struct, head=head, tail=tail)
    return text.replace("class Tensor", f"class {name}")


def consumer(code: str, tensor: Any) -> str:
    """A program that imports a tensor of these fields; `code` defines `consume`."""
    fields = tensor.fields
    versioned = fields["kind"] == "versioned"

    def array(name: str) -> tuple[str, str]:
        if fields[name] is None:
            return "None", "None"
        count = len(fields[name])
        content = ", ".join(map(str, fields[name]))
        return f"(c_int64 * {count})({content})", f"addressof({name})"

    shape, strides = array("shape"), array("strides")
    more = ""
    if versioned:
        version = ", ".join(map(str, fields["version"]))
        more = f",\n    version=({version}), flags={fields['flags']}"
    text = _CONSUMER.format(
        shape=shape[0],
        shape_address=shape[1],
        more=more,
        ndim=fields["ndim"],
        strides=strides[0],
        strides_address=strides[1],
        data="addressof(memory)" if fields["data"] == "memory" else "None",
        device="({}, {})".format(*fields["device"]),
        device_tuple=tuple(fields["device"]),
        byte_offset=fields["byte_offset"],
        name=b"dltensor_versioned" if versioned else b"dltensor",
        **dict(zip(("code", "bits", "lanes"), fields["dtype"])),
    )
    return _IMPORTS + code + "\n" + _struct(versioned) + text


def _made(code: str, request: Any) -> str:
    """Lines that make `array` if `code` defines `make` instead."""
    if "array =" in code or request is None:
        return ""
    view = _VIEWS.get(request.form.name, "base")
    return (
        f"request = types.SimpleNamespace(dtype={request.dtype!r}, shape={request.shape}, "
        f"strides={request.strides},\n    base_shape={request.base_shape}, "
        f"read_only={request.read_only}, device={request.device},\n    "
        f"bits={request.bits!r},\n    view=lambda base: {view})\n"
        "array = make(request)\n"
    )


def producer(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """A program that shows what an array exports; `code` makes `array`, or defines `make`."""
    structs = _struct(False, "Legacy") + "\n" + _struct(True, "Versioned")
    program = _PRODUCER.format(arguments=arguments(keywords))
    return _IMPORTS + code + _made(code, request) + "\n" + structs + program


def own(code: str, request: Any) -> str:
    """A program that imports the library's own array, of the layout that it names."""
    lines = f"# the layout is {request.form.name}: {request.shape}, strides {request.strides}\n"
    return lines + code + _made(code, request) + "print(array)\nprint(consume(array))\n"
