# SPDX-License-Identifier: Apache-2.0
"""The functions of libdlbridge that the demo calls, over ctypes."""

import ctypes

from capsules import (
    IS_COPIED,
    READ_ONLY,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLPackVersion,
    consume,
    look,
    wrap,
)

WRITABLE = 1 << 1
COPY = 1 << 5
DROP_READ_ONLY = 1 << 6


class Error(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("status", ctypes.c_int32),
        ("rule", ctypes.c_int32),
        ("axis", ctypes.c_int32),
        ("message", ctypes.c_char * 240),
    ]


class ConvertOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("version", DLPackVersion),
        ("source_flags", ctypes.c_uint64),
        ("policy", ctypes.c_void_p),
        ("allocator", ctypes.c_void_p),
        ("reserved", ctypes.c_uint64 * 2),
    ]


class Refused(Exception):
    """The library said no; the tensor is still the caller's."""

    def __init__(self, status, rule, message):
        super().__init__(message)
        self.status = status.removeprefix("DLBRIDGE_ERROR_")
        self.rule = rule


class Library:
    """libdlbridge, loaded with the GIL kept: its calls may run deleters that are Python's."""

    def __init__(self, path):
        self._lib = ctypes.PyDLL(path)
        self._converters = {
            "upgrade": self._converter("dlbridge_upgrade", DLManagedTensorVersioned),
            "adopt": self._converter("dlbridge_adopt", DLManagedTensorVersioned),
            "downgrade": self._converter("dlbridge_downgrade", DLManagedTensor),
        }
        self._lib.dlbridge_dlpack_version.restype = DLPackVersion
        for name in ("dlbridge_version_string", "dlbridge_status_name", "dlbridge_rule_name"):
            getattr(self._lib, name).restype = ctypes.c_char_p

    def _converter(self, name, result):
        function = getattr(self._lib, name)
        function.restype = ctypes.c_int32
        function.argtypes = [
            ctypes.c_void_p,
            ctypes.POINTER(ConvertOptions),
            ctypes.POINTER(ctypes.POINTER(result)),
            ctypes.POINTER(Error),
        ]
        return function, result

    def _convert(self, name, struct, flags):
        function, result = self._converters[name]
        options = ConvertOptions(struct_size=ctypes.sizeof(ConvertOptions), flags=flags)
        error = Error(struct_size=ctypes.sizeof(Error), axis=-1)
        out = ctypes.POINTER(result)()
        status = function(ctypes.addressof(struct), options, out, error)
        if status != 0:
            raise Refused(
                self._name("status", status), self._name("rule", error.rule), error.message.decode()
            )
        return result.from_address(ctypes.addressof(out.contents))

    def _name(self, what, number):
        return getattr(self._lib, f"dlbridge_{what}_name")(number).decode()

    def version(self):
        dlpack = self._lib.dlbridge_dlpack_version()
        return self._lib.dlbridge_version_string().decode(), f"{dlpack.major}.{dlpack.minor}"

    def upgrade(self, struct, flags=0):
        """Legacy to versioned. `struct` is the library's afterwards, unless it refused."""
        return self._convert("upgrade", struct, flags)

    def adopt(self, struct, flags=0):
        """Anybody's versioned tensor to one of the library's."""
        return self._convert("adopt", struct, flags)

    def downgrade(self, struct, flags=0):
        """Versioned to legacy."""
        return self._convert("downgrade", struct, flags)

    def take(self, capsule, flags=0):
        """The tensor in anybody's capsule, of either name, as one of the library's."""
        struct = look(capsule)
        convert = self.upgrade if isinstance(struct, DLManagedTensor) else self.adopt
        tensor = convert(struct, flags)
        consume(capsule)  # only now: a refused tensor stays the capsule's
        return tensor


class Handover:
    """An object around a CPU tensor's capsule, for consumers that take no bare one."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **asked):
        del asked
        return self.capsule


class Export(Handover):
    """Hands a versioned tensor to one consumer, in the struct that it asks for.

    `loss` says what a downgrade may cost, for consumers that ask for a legacy tensor.
    """

    def __init__(self, library, tensor, loss=0):
        super().__init__(wrap(tensor))
        self._library = library
        self.loss = loss
        self.passed_as = "versioned"

    def __dlpack__(self, *, max_version=None, **asked):
        del asked
        return self.capsule if max_version and max_version[0] >= 1 else self.legacy()

    def legacy(self):
        legacy = self._library.downgrade(look(self.capsule), self.loss)
        consume(self.capsule)  # only now: a refused tensor stays the capsule's
        self.passed_as = "legacy"
        return wrap(legacy)


def describe(struct):
    """Version and flags of a versioned tensor as it says them."""
    names = {READ_ONLY: "READ_ONLY", IS_COPIED: "IS_COPIED"}
    flags = [name for bit, name in names.items() if struct.flags & bit]
    return f"{struct.version.major}.{struct.version.minor} {'|'.join(flags) or 'no flags'}"
