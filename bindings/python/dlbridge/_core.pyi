# SPDX-License-Identifier: Apache-2.0
"""Types of the extension."""

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, Literal, final

from typing_extensions import CapsuleType, disjoint_base

__version__: str

# A number as in the array API, or an abi.Stream.
_Stream = int | tuple[int, int, tuple[int, int], int, int] | None

@final
class Tensor:
    """A tensor that was validated and is kept alive."""

    __dlpack_c_exchange_api__: Any
    __dlbridge_c_exchange_api__: Any
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def dtype_triple(self) -> tuple[int, int, int]: ...
    @property
    def device(self) -> str: ...
    @property
    def data_ptr(self) -> int: ...
    @property
    def byte_offset(self) -> int: ...
    @property
    def flags(self) -> int: ...
    @property
    def version(self) -> tuple[int, int]: ...
    @property
    def readonly(self) -> bool: ...
    @property
    def copied(self) -> bool: ...
    @property
    def managed_ptr(self) -> int: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def __reduce_ex__(self, protocol: Any, /) -> Any: ...
    def copy(self, *, device: str | tuple[int, int] | None = None) -> Tensor: ...
    def release_after(self, stream: _Stream, /, *more: _Stream) -> None: ...
    def view(
        self, shape: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0
    ) -> Tensor: ...

@disjoint_base
class Exporter:
    """The base class of Adapted."""

    _array: Any
    _options: Any
    _resolved: Any
    _tensor: Any
    copied: Any
    report: Any
    rejection: Any

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...

def from_dlpack(
    x: Any,
    /,
    *,
    device: str | tuple[int, int] | None = None,
    copy: bool | None = None,
    writable: bool | None = None,
    validate: Literal["none", "struct", "metadata", "device"] = "metadata",
    ndim: int | tuple[int | None, int | None] | None = None,
    shape: Sequence[int | None] | None = None,
    stream: int | None | EllipsisType = ...,
) -> Tensor: ...
def wrap(
    owner: object,
    pointer: int,
    shape: Sequence[int],
    dtype: str | tuple[int, int, int],
    /,
    *,
    strides: Sequence[int] | None = None,
    device: str | tuple[int, int] = (1, 0),
    byte_offset: int = 0,
    readonly: bool = False,
    nbytes: int | None = None,
    tensor_flags: int = 0,
    stream: int | None = None,
) -> Tensor: ...
def export(
    tensor: Tensor,
    /,
    max_version: tuple[int, int] | None = None,
    *,
    drop_read_only: bool = False,
    allow_newer_codes: bool = False,
) -> CapsuleType: ...
def to_type(x: Any, type: type, /, *, drop_read_only: bool = False) -> Any: ...
def current_stream(type: type, device: tuple[int, int], /) -> int | None: ...
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
) -> Any: ...
def to(x: Any, target: Any, /, **options: Any) -> Any: ...
def share_adapted(type: type[Exporter], options: Any, /) -> None: ...
def share_immutable(function: Callable[[type], bool] | None, /) -> None: ...
def shortcuts(level: int = ..., /) -> int: ...
def collect(*, wait: bool = False) -> int: ...
def exchange_versions(type: type, /) -> list[tuple[int, int]]: ...
def capsule_kind(capsule: CapsuleType, /) -> Literal["legacy", "versioned", "used", "unknown"]: ...
def guard_text(name: Literal["requires_grad", "tangent", "conjugated", "negated"], /) -> str: ...
def packed(tensor: Tensor, /) -> Tensor: ...
def check_guards(x: Any, /) -> None: ...
def buffer_address(buffer: Any, /) -> int: ...
