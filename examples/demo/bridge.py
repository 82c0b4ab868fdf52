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
from structs import DLBridgeConvertOptions, DLBridgeError, sized

KIND_LEGACY, KIND_VERSIONED = 1, 2

VOUCH_WRITABLE = 1 << 9
COPY = 1 << 13
DROP_READ_ONLY = 1 << 14


class Rejected(Exception):
    """The library rejected a tensor, which the caller still owns."""

    def __init__(self, status, rule, message):
        super().__init__(message)
        self.status = status.removeprefix("DLBRIDGE_ERROR_")
        self.rule = rule


class Library:
    """libdlbridge. PyDLL keeps the GIL, since calls may run deleters in Python."""

    def __init__(self, path):
        self._lib = ctypes.PyDLL(path)
        self._converters = {
            "import": self._converter("dlbridge_import", DLManagedTensorVersioned, ctypes.c_int32),
            "upgrade": self._converter("dlbridge_upgrade", DLManagedTensorVersioned),
            "downgrade": self._converter("dlbridge_downgrade", DLManagedTensor),
        }
        self._lib.dlbridge_dlpack_version.restype = DLPackVersion
        for name in ("dlbridge_version_string", "dlbridge_status_name", "dlbridge_rule_name"):
            getattr(self._lib, name).restype = ctypes.c_char_p

    def _converter(self, name, result, *more):
        function = getattr(self._lib, name)
        function.restype = ctypes.c_int32
        function.argtypes = [
            ctypes.c_void_p,
            *more,
            ctypes.POINTER(DLBridgeConvertOptions),
            ctypes.POINTER(ctypes.POINTER(result)),
            ctypes.POINTER(DLBridgeError),
        ]
        return function, result

    def _convert(self, name, struct, bits, *more):
        function, result = self._converters[name]
        options = sized(DLBridgeConvertOptions, options=bits)
        error = DLBridgeError()
        out = ctypes.POINTER(result)()
        status = function(ctypes.addressof(struct), *more, options, out, error)
        if status != 0:
            raise Rejected(
                self._name("status", status), self._name("rule", error.rule), error.message.decode()
            )
        return result.from_address(ctypes.addressof(out.contents))

    def _name(self, what, number):
        return getattr(self._lib, f"dlbridge_{what}_name")(number).decode()

    def version(self):
        dlpack = self._lib.dlbridge_dlpack_version()
        return self._lib.dlbridge_version_string().decode(), f"{dlpack.major}.{dlpack.minor}"

    def import_tensor(self, struct, options=0):
        """A dlbridge-owned tensor of a foreign managed tensor. Unless the library rejects `struct`,
        it owns it afterwards."""
        kind = KIND_LEGACY if isinstance(struct, DLManagedTensor) else KIND_VERSIONED
        return self._convert("import", struct, options, kind)

    def upgrade(self, struct, options=0):
        """Converts a legacy tensor to a versioned one."""
        return self._convert("upgrade", struct, options)

    def downgrade(self, struct, options=0):
        """Converts a versioned tensor to a legacy one."""
        return self._convert("downgrade", struct, options)

    def take(self, capsule, options=0):
        """A dlbridge-owned tensor of the tensor in a capsule of either kind."""
        tensor = self.import_tensor(look(capsule), options)
        consume(capsule)  # only now: the capsule keeps a rejected tensor
        return tensor


class Handover:
    """An object around a CPU tensor's capsule, for consumers that do not accept capsules."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **asked):
        del asked
        return self.capsule


class Export(Handover):
    """Exports a versioned tensor to one consumer, in the struct that it requests.

    `loss` is the option of a downgrade, for consumers that request a legacy tensor.
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
        consume(self.capsule)  # only now: the capsule keeps a rejected tensor
        self.passed_as = "legacy"
        return wrap(legacy)


def describe(struct):
    """The version and the flags of a versioned tensor, as text."""
    names = {READ_ONLY: "READ_ONLY", IS_COPIED: "IS_COPIED"}
    flags = [name for bit, name in names.items() if struct.flags & bit]
    return f"{struct.version.major}.{struct.version.minor} {'|'.join(flags) or 'no flags'}"
