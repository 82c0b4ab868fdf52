# SPDX-License-Identifier: Apache-2.0
# Types of the extension `_describe`; dlbridge.abi documents the functions.

from collections.abc import Callable, Sequence
from typing import Any

class Policy:
    def __init__(
        self,
        *,
        options: int = 0,
        version: tuple[int, int] = (0, 0),
        level: int = 0,
        contiguity: int = 0,
        min_ndim: int = 0,
        max_ndim: int = 0,
        alignment: int = 0,
        buffer_size: int = 0,
        devices: Sequence[tuple[int, int]] | None = None,
        dtypes: Sequence[tuple[int, int, int]] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None: ...

class Allocator:
    def __init__(self, allocate: Callable[..., Any], deallocate: Callable[..., Any]) -> None: ...

class ConvertOptions:
    def __init__(
        self,
        *,
        options: int = 0,
        version: tuple[int, int] = (0, 0),
        tensor_flags: int = 0,
        policy: Policy | None = None,
        allocator: Allocator | None = None,
    ) -> None: ...

def version() -> int: ...
def version_string() -> str: ...
def dlpack_version() -> tuple[int, int]: ...
def status_name(status: int) -> str: ...
def status_text(status: int) -> str: ...
def rule_name(rule: int) -> str: ...
def rule_text(rule: int) -> str: ...
def dtype_format(dtype: tuple[int, int, int], buffer: Any = None) -> Any: ...
def device_format(device: tuple[int, int], buffer: Any = None) -> Any: ...
def tensor_format(tensor: int, tensor_flags: int = 0, buffer: Any = None) -> Any: ...
def dtype_parse(text: str) -> tuple[int, int, int]: ...
def device_parse(text: str) -> tuple[int, int]: ...
def host_accessible(device_type: int) -> bool: ...
def host_accessible_answer(device_type: int) -> int: ...
def layout(tensor: int, tensor_flags: int = 0) -> dict[str, Any]: ...
def validate(tensor: int, tensor_flags: int = 0, policy: Policy | None = None) -> None: ...
def validate_legacy(tensor: int, policy: Policy | None = None) -> None: ...
def validate_versioned(tensor: int, policy: Policy | None = None) -> None: ...
def diagnose(
    tensor: int, kind: int, tensor_flags: int = 0, policy: Policy | None = None
) -> list[dict[str, Any]]: ...
def required_version(tensor: int, tensor_flags: int = 0) -> tuple[int, int]: ...
def negotiate(
    producer: tuple[int, int], consumer: tuple[int, int]
) -> tuple[int, tuple[int, int]]: ...
def exchange_api_find(chain: int, consumer: tuple[int, int]) -> int: ...
def identify(tensor: int) -> int: ...
def import_tensor(tensor: int, kind: int, options: ConvertOptions | None = None) -> int: ...
def export_tensor(
    tensor: int, kind: int, target: tuple[int, int], options: ConvertOptions | None = None
) -> tuple[int, int]: ...
def release(tensor: int, kind: int) -> None: ...
def upgrade(source: int, options: ConvertOptions | None = None) -> int: ...
def upgrade_storage_size(ndim: int) -> int: ...
def upgrade_into(
    source: int,
    memory: int,
    size: int,
    release: Callable[..., Any] | None = None,
    options: ConvertOptions | None = None,
) -> int: ...
def upgrade_many(sources: Sequence[int], options: ConvertOptions | None = None) -> list[int]: ...
def downgrade(source: int, options: ConvertOptions | None = None) -> int: ...
def share(tensor: int) -> int: ...
def view(
    tensor: int,
    shape: Sequence[int] | None,
    strides: Sequence[int] | None = None,
    offset: int = 0,
    *,
    dtype: tuple[int, int, int] = (0, 0, 0),
    ndim: int | None = None,
) -> int: ...
def allocate(
    shape: Sequence[int] | None,
    dtype: tuple[int, int, int],
    device: tuple[int, int] = (1, 0),
    *,
    alignment: int = 0,
    tensor_flags: int = 0,
    version: tuple[int, int] = (0, 0),
    allocator: Allocator | None = None,
    options: int = 0,
    ndim: int | None = None,
) -> int: ...
def wrap(
    buffer: tuple[int, int, int, int],
    shape: Sequence[int] | None,
    dtype: tuple[int, int, int],
    *,
    strides: Sequence[int] | None = None,
    device: tuple[int, int] = (1, 0),
    byte_offset: int = 0,
    buffer_size: int = 0,
    options: int = 0,
    tensor_flags: int = 0,
    version: tuple[int, int] = (0, 0),
    release: Callable[..., Any] | None = None,
    policy: Policy | None = None,
    ndim: int | None = None,
) -> int: ...
def wrap_legacy(
    buffer: tuple[int, int, int, int],
    shape: Sequence[int] | None,
    dtype: tuple[int, int, int],
    *,
    strides: Sequence[int] | None = None,
    device: tuple[int, int] = (1, 0),
    byte_offset: int = 0,
    buffer_size: int = 0,
    options: int = 0,
    tensor_flags: int = 0,
    version: tuple[int, int] = (0, 0),
    release: Callable[..., Any] | None = None,
    policy: Policy | None = None,
    ndim: int | None = None,
) -> int: ...
def copy(
    source: int,
    source_tensor_flags: int = 0,
    device: tuple[int, int] = (1, 0),
    *,
    options: int = 0,
    stream: tuple[int, int, tuple[int, int], int, int] | None = None,
    target: tuple[int, int, int, int] | None = None,
    target_offset: int = 0,
    target_size: int = 0,
    release: Callable[..., Any] | None = None,
    allocator: Allocator | None = None,
    tensor_flags: int = 0,
    version: tuple[int, int] = (0, 0),
    policy: Policy | None = None,
) -> int: ...
def copy_async(
    source: int,
    device: tuple[int, int] = (1, 0),
    *,
    options: int = 0,
    stream: tuple[int, int, tuple[int, int], int, int] | None = None,
    target: tuple[int, int, int, int] | None = None,
    target_offset: int = 0,
    target_size: int = 0,
    release: Callable[..., Any] | None = None,
    allocator: Allocator | None = None,
    tensor_flags: int = 0,
    version: tuple[int, int] = (0, 0),
    policy: Policy | None = None,
) -> int: ...
def release_after(
    tensor: int,
    kind: int,
    streams: Sequence[tuple[int, int, tuple[int, int], int, int]],
) -> None: ...
def collect(options: int = 0) -> int: ...
def release_legacy(tensor: int) -> None: ...
def release_versioned(tensor: int) -> None: ...
def backend_info(backend: int) -> dict[str, Any]: ...
def pointer_info(
    buffer: tuple[int, int, int, int], device: tuple[int, int] = (1, 0), options: int = 0
) -> dict[str, Any]: ...
def stream_from_array_api(
    device: tuple[int, int], stream: int | None
) -> tuple[int, int, tuple[int, int], int, int]: ...
def stream_handoff(
    producer: tuple[int, int, tuple[int, int], int, int],
    consumer: tuple[int, int, tuple[int, int], int, int],
    options: int = 0,
) -> None: ...
def stream_synchronize(stream: tuple[int, int, tuple[int, int], int, int]) -> None: ...
def context_register(
    backend: int,
    device: tuple[int, int],
    *,
    platform: int = 0,
    native_device: int = 0,
    context: int = 0,
    queue: int = 0,
    queue_kind: int = 0,
    properties: int = 0,
    uuid: bytes = ...,
    release: Callable[..., Any] | None = None,
) -> int: ...
def context_find(device: tuple[int, int], context: int = 0) -> dict[str, Any]: ...
def context_next(cursor: int) -> tuple[int, dict[str, Any]]: ...
def context_retain(id: int) -> None: ...
def context_release(id: int) -> None: ...
def context_unregister(id: int) -> None: ...
def context_table_v1() -> int: ...
def ipc_export(
    tensor: int,
    options: int = 0,
    stream: tuple[int, int, tuple[int, int], int, int] | None = None,
) -> tuple[bytes, list[int]]: ...
def ipc_import(
    descriptor: bytes,
    fds: Sequence[int],
    options: int = 0,
    policy: Policy | None = None,
    stream: tuple[int, int, tuple[int, int], int, int] | None = None,
) -> int: ...
def capsule(capsule: Any) -> tuple[str | None, int]: ...
def library_file() -> str | None: ...
def module_pin(address: int) -> None: ...
def get_api(abi: int = 1) -> int: ...

ABI: int = 1

# From the declarations in dlbridge.h, of functions that have no line above.
# [facts/functions.toml]
# [/facts]
