# SPDX-License-Identifier: Apache-2.0
"""Programs that judge the order between streams of CUDA, for adapters with `make_on` or `read_on`.

A callback that sleeps keeps a stream busy: the work after it is late. Without an order between the
streams the old values are seen, here zeros.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .reproducers import arguments, both_structs, requested

_DRIVER = """
cuda = CDLL({driver!r})

def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        sys.exit(f"no verdict: {{name}} returned {{code}}")

context = c_void_p()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", byref(context), 0)
call("cuCtxPushCurrent_v2", context)
sleep = cast(CDLL(None).usleep, c_void_p)

class Stream:
    def __init__(self):
        place = c_void_p()
        call("cuStreamCreate", byref(place), 1)
        self.handle = place.value

    def close(self):  # what follows waits half a second
        call("cuLaunchHostFunc", c_void_p(self.handle), sleep, c_void_p(500000))

def wait(stream):
    call("cuStreamSynchronize", c_void_p(stream))

def mark(stream):  # an event after the work of a stream
    event = c_void_p()
    call("cuEventCreate", byref(event), 2)
    call("cuEventRecord", event, c_void_p(stream))
    return event

def judge(found):
    right = request.bits
    print("expected", right)
    print("found   ", found)
    if found != right:
        sys.exit("FAULT: the work of the producer's stream is not waited for")
    print("fine: the streams are ordered")

"""
_MADE = """
first = Stream()  # what is needed once is no part of the delay
make_on(request, first)
wait(first.handle)
producer = Stream()
array = make_on(request, producer)
"""
_READ = """
stream = {reader}
capsule = array.__dlpack__({keywords})
tensor = tensor_of(capsule)
found = create_string_buffer({size})
place = c_uint64(tensor.data + tensor.byte_offset)
call("cuMemcpyDtoHAsync_v2", found, place, c_size_t({size}), c_void_p(stream))
wait(stream)
judge(found.raw)
"""
_TO_HOST = """
capsule = array.__dlpack__({keywords})
tensor = tensor_of(capsule)
if tensor.device[0] != 1:
    sys.exit(f"FAULT: expected memory of the CPU, found {{tensor.device[:]}}")
judge(string_at(tensor.data + tensor.byte_offset, {size}))
"""
_UNORDERED = """
pending = mark(producer.handle)
capsule = array.__dlpack__({keywords})
NOT_READY = 600
if cuda.cuEventQuery(pending) != NOT_READY:
    sys.exit("FAULT: stream=-1 asks for no order, but the export waited")
print("fine: the export does not wait")
"""
_REJECTED = """
try:
    capsule = array.__dlpack__({keywords})
except Exception as error:
    print(f"{{type(error).__name__}}: {{error}}")
    print("fine: stream=0 is rejected")
    sys.exit()
sys.exit(f"FAULT: expected an exception for stream=0, found {{capsule}}")
"""
_IN_USE = """
table = getattr(type(array), "__dlpack_c_exchange_api__")
if type(table).__name__ == "PyCapsule":
    table = get(table, name(table))
place = c_void_p.from_address(table + 48)  # current_work_stream
function = PYFUNCTYPE(c_int, c_int32, c_int32, c_void_p)(place.value)
for stream in (Stream(), Stream()):
    found = c_void_p()
    with use(stream):
        result = function(2, 0, addressof(found))
    print("in use", stream.handle, "found", found.value, "result", result)
    if result or found.value != stream.handle:
        sys.exit("FAULT: expected the stream in use")
print("fine: the table has the stream in use")
"""
_IMPORT = """
def memory():
    place = c_uint64()
    call("cuMemAlloc_v2", byref(place), c_size_t({size}))
    return place

producer, reader, other = Stream(), Stream(), Stream()
source, target = memory(), memory()
for place, content in ((source, request.bits), (target, bytes({size}))):
    content = create_string_buffer(content, {size})
    size, stream = c_size_t({size}), c_void_p(other.handle)
    call("cuMemcpyHtoDAsync_v2", place, content, size, stream)
    wait(other.handle)
producer.close()
stream = c_void_p(producer.handle)
call("cuMemcpyDtoDAsync_v2", target, source, c_size_t({size}), stream)

shape, strides = (c_int64 * 2)(3, 4), (c_int64 * 2)(4, 1)
deleter = CFUNCTYPE(None, c_void_p)(lambda place: None)
new = pythonapi.PyCapsule_New
new.restype, new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
fields = dict(data=target.value, device=(2, 0), ndim=2, code=2, bits=32,
    lanes=1, shape=addressof(shape), strides=addressof(strides),
    deleter=cast(deleter, c_void_p).value)
legacy, versioned = Legacy(**fields), Versioned(version=(1, 3), **fields)

class Source:
    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None, max_version=None, **keywords):
        print("the consumer asks for stream", stream)
        if stream != -1:
            event = mark(producer.handle)
            call("cuStreamWaitEvent", c_void_p(stream or 1), event, 0)
        if max_version is None:
            return new(addressof(legacy), b"dltensor", None)
        return new(addressof(versioned), b"dltensor_versioned", None)

try:
    found = bytes(read_on(Source(), reader))
except Exception as error:
    sys.exit(f"FAULT: {{type(error).__name__}}: {{error}}")
judge(found)
"""


def _program(body: str, asked: str = "", reader: str = "", **more: Any) -> Callable[..., str]:
    """`asked` are arguments of __dlpack__ that are no literals, and `more` those that are."""

    def program(code: str, request: Any, keywords: dict[str, Any]) -> str:
        driver = os.environ.get("DLBRIDGE_LIBCUDA") or "libcuda.so.1"
        head = f"import ctypes, sys, types\nfrom ctypes import *\n{code}"
        given = ", ".join(filter(None, (arguments({**keywords, **more}), asked)))
        text = body.format(keywords=given, size=len(request.bits), reader=reader)
        # The names of the program come after those of an adapter that imports all of its file.
        own = _DRIVER.format(driver=driver) + requested(request) + "\n" + both_structs()
        return head + own + text

    return program


def exports(reader: int | None, keywords: dict[str, Any]) -> Callable[..., str]:
    """The work of the stream `reader`, or of a new one, sees the producer's."""
    if reader is None:
        return _program(_MADE + _READ, asked="stream=stream", reader="Stream().handle")
    return _program(_MADE + _READ, reader=str(reader), **keywords)


to_host = _program(_MADE + _TO_HOST, dl_device=(1, 0))
unordered = _program(_MADE + _UNORDERED, stream=-1)
rejected = _program(_MADE + _REJECTED, stream=0)
in_use = _program(_MADE + _IN_USE)
imports = _program(_IMPORT)
