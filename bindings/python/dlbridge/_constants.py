# Generated from facts/ by tools/facts.py; do not edit.
# SPDX-License-Identifier: Apache-2.0
"""The enumerations of dlbridge.h and dlpack.h. Values that are not listed here are possible: they
stay plain integers."""

from enum import IntEnum, IntFlag

# Newest DLPack release that this package knows.
NEWEST_DLPACK = (1, 3)


class Status(IntEnum):
    """Outcome of a call (DLBridgeStatus)."""

    OK = 0
    INVALID_ARGUMENT = 1
    TOO_NEW = 2
    OUT_OF_MEMORY = 3
    INVALID_TENSOR = 4
    VERSION = 5
    POLICY = 6
    UNREPRESENTABLE = 7
    UNKNOWN_CODE = 8
    FOREIGN_TENSOR = 9
    UNSUPPORTED = 10
    BUFFER_TOO_SMALL = 11
    PARSE = 12
    NOT_FOUND = 13
    BOUNDS = 14
    FORKED = 15
    UNAVAILABLE = 16
    DRIVER = 17
    EXISTS = 18
    CAPTURE = 19
    DESCRIPTOR = 20
    AMBIGUOUS = 21


class Rule(IntEnum):
    """Which rule a tensor broke (DLBridgeRule)."""

    NONE = 0
    VERSION_MAJOR = 1
    NDIM_NEGATIVE = 2
    NDIM_LIMIT = 3
    SHAPE_NULL = 4
    STRIDES_NULL = 5
    DTYPE_BITS_ZERO = 6
    DTYPE_LANES_ZERO = 7
    DTYPE_LANES_SCALABLE = 8
    DTYPE_BITS_FIXED = 9
    DTYPE_UNKNOWN = 10
    DEVICE_UNKNOWN = 11
    FLAGS_UNKNOWN = 12
    DEVICE_ID_NEGATIVE = 13
    DEVICE_ID_HOST = 14
    EXTENT_NEGATIVE = 15
    COUNT_OVERFLOW = 16
    SIZE_OVERFLOW = 17
    OFFSET_OVERFLOW = 18
    DATA_NULL = 19
    ADDRESS_RANGE = 20
    HANDLE_RANGE = 21
    BUFFER_BOUNDS = 22
    CONTIGUITY = 23
    ALIGNMENT = 24
    DEVICE_REJECTED = 25
    DTYPE_REJECTED = 26
    NOT_WRITABLE = 27
    NEGATIVE_STRIDE = 28
    ZERO_STRIDE = 29
    SELF_OVERLAP = 30
    DATA_UNALIGNED = 31
    VERSION_LABEL = 32
    REQUIRED_VERSION = 33
    LEGACY_READ_ONLY = 34
    LEGACY_PADDED = 35
    LEGACY_DTYPE = 36
    LEGACY_DEVICE = 37
    OFFSET_FOLD = 38
    VIEW_BOUNDS = 39
    VIEW_OFFSET = 40
    IN_STORAGE = 41
    COPY_DEVICE = 42
    DEVICE_LABEL = 43
    ALLOCATION_BOUNDS = 44
    SHAPE_MISMATCH = 45


class Kind(IntEnum):
    """The struct at an address (DLBridgeKind)."""

    UNKNOWN = 0
    LEGACY = 1
    VERSIONED = 2
    BORROWED = 3
    AMBIGUOUS = 4


class Answer(IntEnum):
    """Answer to a question that cannot always be answered (DLBridgeAnswer)."""

    NO = 0
    YES = 1
    UNDECIDED = 2


class LayoutProperty(IntFlag):
    """Bits of the properties of a layout."""

    EMPTY = 1 << 0
    C_CONTIGUOUS = 1 << 1
    F_CONTIGUOUS = 1 << 2
    BROADCAST = 1 << 3
    NEGATIVE_STRIDES = 1 << 4
    PADDED = 1 << 5
    OPAQUE = 1 << 6


class Level(IntEnum):
    """How much memory a validation reads."""

    DEFAULT = 0
    STRUCT = 1
    METADATA = 2
    DEVICE = 3


class PolicyOption(IntFlag):
    """Bits of Policy(options=)."""

    REJECT_UNKNOWN_DTYPE = 1 << 8
    REJECT_UNKNOWN_DEVICE = 1 << 9
    REJECT_UNKNOWN_FLAGS = 1 << 10
    REJECT_NEGATIVE_STRIDES = 1 << 11
    REJECT_ZERO_STRIDES = 1 << 12
    ALLOW_NULL_STRIDES = 1 << 13
    ALLOW_SCALABLE_LANES = 1 << 14
    REQUIRE_WRITABLE = 1 << 15
    VOUCH_WRITABLE = 1 << 16
    ALLOW_SELF_OVERLAP = 1 << 17
    LIMIT_NDIM = 1 << 18
    LIMIT_BUFFER = 1 << 19


class Contiguity(IntEnum):
    """Values of Policy(contiguity=)."""

    ANY = 0
    C = 1
    F = 2
    C_OR_F = 3


class Severity(IntEnum):
    """The severity of a finding."""

    BROKEN = 1
    NOTE = 2


class ConvertOption(IntFlag):
    """Bits of ConvertOptions(options=)."""

    SKIP_VALIDATION = 1 << 8
    VOUCH_WRITABLE = 1 << 9
    ALLOW_UNKNOWN = 1 << 10
    CANONICAL = 1 << 11
    FOLD_BYTE_OFFSET = 1 << 12
    COPY = 1 << 13
    DROP_READ_ONLY = 1 << 14
    DROP_PADDED = 1 << 15
    ALLOW_NEWER_CODES = 1 << 16
    PIN_PRODUCER = 1 << 17


class AllocateOption(IntFlag):
    """Bits of allocate(options=)."""

    SHAREABLE = 1 << 8


class Backend(IntEnum):
    """The driver of a device (DLBridgeBackend)."""

    NONE = 0
    CPU = 1
    CUDA = 2
    HIP = 3
    LEVEL_ZERO = 4
    OPENCL = 5


class State(IntEnum):
    """The outcome of starting a backend."""

    READY = 1
    ABSENT = 2
    UNUSABLE = 3


class BufferKind(IntEnum):
    """Values of Buffer.kind."""

    DEFAULT = 0
    ADDRESS = 1
    CL_MEM = 2
    HANDLE = 3


class Memory(IntEnum):
    """Kind of memory, as pointer_info reports it."""

    HOST = 1
    DEVICE = 2
    PINNED = 3
    MANAGED = 4
    USM_HOST = 5
    USM_DEVICE = 6
    USM_SHARED = 7
    SVM = 8
    CL_MEM = 9


class PointerProperty(IntFlag):
    """Bits of the properties of pointer_info."""

    CONTEXT_ASSUMED = 1 << 0
    PEERS_KNOWN = 1 << 1


class PointerOption(IntFlag):
    """Bits of pointer_info(options=)."""

    PEERS = 1 << 8


class WrapOption(IntFlag):
    """Bits of wrap(options=)."""

    SKIP_VALIDATION = 1 << 8
    PIN_PRODUCER = 1 << 9
    RETAIN = 1 << 10
    LIMIT_BUFFER = 1 << 11
    RELEASE_ON_STREAM = 1 << 12


class StreamKind(IntEnum):
    """Values of Stream.kind."""

    HOST = 1
    NO_SYNC = 2
    QUEUE = 3
    IMMEDIATE_LIST = 4


class HandoffOption(IntFlag):
    """Bits of stream_handoff(options=)."""

    ALLOW_HOST_WAIT = 1 << 8
    ALLOW_CAPTURE = 1 << 9


class ContextProperty(IntFlag):
    """Bits of context_register(properties=)."""

    DEFAULT = 1 << 0
    REPLACE = 1 << 1
    ENUMERATED = 1 << 2
    PRIVATE = 1 << 3


class CopyOption(IntFlag):
    """Bits of copy(options=)."""

    ALLOW_STAGING = 1 << 8
    SHAREABLE = 1 << 9


class CollectOption(IntFlag):
    """Bits of collect(options=)."""

    WAIT = 1 << 8


class IpcOption(IntFlag):
    """Bits of the options of ipc_export and ipc_import."""

    READ_ONLY = 1 << 8


class TensorFlag(IntFlag):
    """DLPack's flags of a versioned tensor (DLPACK_FLAG_BITMASK_*)."""

    READ_ONLY = 1 << 0
    IS_COPIED = 1 << 1
    IS_SUBBYTE_TYPE_PADDED = 1 << 2


class DeviceType(IntEnum):
    """DLPack's device types (DLDeviceType)."""

    CPU = 1
    CUDA = 2
    CUDAHost = 3
    OpenCL = 4
    Vulkan = 7
    Metal = 8
    VPI = 9
    ROCM = 10
    ROCMHost = 11
    ExtDev = 12
    CUDAManaged = 13
    OneAPI = 14
    WebGPU = 15
    Hexagon = 16
    MAIA = 17
    Trn = 18
    TPU = 19
    TPUHost = 20
    Ascend = 21


class DtypeCode(IntEnum):
    """DLPack's dtype codes (DLDataTypeCode)."""

    Int = 0
    UInt = 1
    Float = 2
    OpaqueHandle = 3
    Bfloat = 4
    Complex = 5
    Bool = 6
    Float8_e3m4 = 7
    Float8_e4m3 = 8
    Float8_e4m3b11fnuz = 9
    Float8_e4m3fn = 10
    Float8_e4m3fnuz = 11
    Float8_e5m2 = 12
    Float8_e5m2fnuz = 13
    Float8_e8m0fnu = 14
    Float6_e2m3fn = 15
    Float6_e3m2fn = 16
    Float4_e2m1fn = 17
    Bcomplex = 18


def name_of(kind: type[IntEnum], value: int) -> str:
    """The name of a value, or the number if it has no name."""
    try:
        return kind(value).name
    except ValueError:
        return str(value)


def names_of(kind: type[IntFlag], bits: int) -> list[str]:
    """The names of the bits that are set, lowest first; for a bit without a name, its value."""
    known = {flag.value: str(flag.name) for flag in kind.__members__.values()}
    return [known.get(1 << i, str(1 << i)) for i in range(bits.bit_length()) if bits >> i & 1]
