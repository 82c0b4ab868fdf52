# SPDX-License-Identifier: Apache-2.0
"""The tensors of one case of the corpus: its objects, and the results of its calls."""

import contextlib
import ctypes
from typing import NamedTuple

from dlbridge import abi

MEMORY = 100  # not a kind of the library: memory without a tensor


def number(value):
    """64-bit numbers are strings in the corpus."""
    return int(value)


def numbers(values):
    return None if values is None else [int(value) for value in values]


def texts(values):
    return None if values is None else [str(value) for value in values]


def bits(names, kind):
    """The sum of the named bits, or the number given instead of names."""
    return names if isinstance(names, int) else sum(kind[name] for name in names or [])


class Aligned:
    """Memory of a given alignment, alive as long as this object."""

    def __init__(self, size, alignment):
        self._room = ctypes.create_string_buffer(size + alignment)
        start = ctypes.addressof(self._room)
        self.address = start + -start % alignment


class Producer:
    """A tensor or memory of the case, with a counting deleter."""

    def __init__(self, spec):
        self.deletes = 0
        self.has_deleter = spec.get("deleter", False)
        self.kind = MEMORY if spec["kind"] == "MEMORY" else abi.Kind[spec["kind"]]
        self.flags = number(spec.get("flags", 0))
        self._bytes = ctypes.create_string_buffer(bytes.fromhex(spec.get("bytes", "")))
        self.data = number(spec["data"])
        if spec.get("bytes"):
            self.data += ctypes.addressof(self._bytes)
        if self.kind != MEMORY:
            self._make(spec)

    def _make(self, spec):
        self._shape, self._strides = self._array(spec["shape"]), self._array(spec["strides"])
        bare = abi.DLTensor(
            data=self.data,
            device=abi.DLDevice(*spec["device"]),
            ndim=spec["ndim"],
            dtype=abi.DLDataType(*spec["dtype"]),
            byte_offset=number(spec["byte_offset"]),
        )
        if self._shape is not None:
            bare.shape = ctypes.cast(self._shape, type(bare.shape))
        if self._strides is not None:
            bare.strides = ctypes.cast(self._strides, type(bare.strides))
        if self.kind == abi.Kind.BORROWED:
            self.struct = bare
        elif self.kind == abi.Kind.LEGACY:
            self.struct = abi.DLManagedTensor(dl_tensor=bare)
        else:
            version = abi.DLPackVersion(*spec.get("version", (0, 0)))
            self.struct = abi.DLManagedTensorVersioned(
                version=version, flags=self.flags, dl_tensor=bare
            )
        if self.has_deleter:
            self.struct.deleter = abi.DLManagedTensor.Deleter(self._delete)
        self.address = ctypes.addressof(self.struct)

    @staticmethod
    def _array(values):
        return None if values is None else (ctypes.c_int64 * (len(values) + 1))(*numbers(values))

    def _delete(self, address):
        self.deletes += 1 if address == self.address else 100

    @property
    def release(self):
        """The release callback of a MEMORY for wrap and copy."""
        return self._released if self.has_deleter else None

    def _released(self, buffer, _stream):
        self.deletes += 1 if buffer[2] == self.data else 100

    def entry_released(self, entry):
        self.deletes += 1 if entry["id"] else 100


class Handle(NamedTuple):
    """A tensor that currently has a name."""

    address: int
    kind: int
    flags: int

    @property
    def tensor(self):
        """The address of the DLTensor, also in a versioned struct of another major."""
        offset = abi.DLManagedTensorVersioned.dl_tensor.offset
        return self.address + (offset if self.kind == abi.Kind.VERSIONED else 0)

    @property
    def fields(self):
        return abi.DLTensor.from_address(self.tensor)


class World:
    def __init__(self, objects):
        self.producers = {name: Producer(spec) for name, spec in objects.items()}
        self.live = {
            name: Handle(one.address, one.kind, one.flags)
            for name, one in self.producers.items()
            if one.kind != MEMORY
        }
        self.memories = {n for n, one in self.producers.items() if one.kind == MEMORY}
        self.entries = {}
        self.ended = set()
        self.storages_in_use = 0
        self._blocks = {}
        self._storages = []

    def put(self, name, address, kind):
        versioned = kind == abi.Kind.VERSIONED
        flags = abi.DLManagedTensorVersioned.from_address(address).flags if versioned else 0
        self.live[name] = Handle(address, kind, flags)

    def take(self, name):
        """A call has consumed the tensor, so its name is free."""
        self.live.pop(name, None)
        self.memories.discard(name)

    def release(self, name):
        if name in self.memories:
            producer = self.producers[name]
            producer.deletes += producer.has_deleter
        elif name in self.live:
            handle = self.live[name]
            if handle.kind != abi.Kind.BORROWED:
                abi.release(handle.address, handle.kind)
        self.take(name)

    def name_of(self, address):
        """The name of the tensor if it is an object or a live result of the case, or "new"."""
        for name, producer in sorted(self.producers.items()):
            if producer.kind != MEMORY and producer.address == address:
                return name
        for name, handle in sorted(self.live.items()):
            if handle.address == address:
                return name
        return "new"

    def deletes(self):
        return {name: producer.deletes for name, producer in self.producers.items()}

    def entry_id(self, name):
        return self.entries.get(name, 2**64 - 1)

    def entry_name(self, known):
        return next((name for name, one in self.entries.items() if one == known), "other")

    def storage(self, size):
        """Memory for upgrade_into, aligned to 16 bytes."""
        self._storages.append(Aligned(size, 16))
        return self._storages[-1].address

    def storage_released(self, _memory):
        self.storages_in_use -= 1

    def allocator(self, how):
        """Counts allocations and deallocations, or always fails."""

        def allocate(_device, size, alignment, _stream):
            if how == "fails":
                return None
            block = Aligned(size, alignment)
            self._blocks[block.address] = block
            return block.address

        return abi.Allocator(allocate, lambda _device, address, *_: self._blocks.pop(address))

    def finish(self):
        """Releases the remaining tensors; returns the problems found then."""
        for name in sorted({*self.live, *self.memories}):
            self.release(name)
        for name, known in self.entries.items():
            if name not in self.ended:
                with contextlib.suppress(ValueError):  # another registration replaced it
                    abi.context_unregister(known)
        wrong = [
            f"deleter of {name} ran {one.deletes} times"
            for name, one in self.producers.items()
            if one.deletes != int(one.has_deleter)
        ]
        if self.storages_in_use:
            wrong.append(f"storage in use: {self.storages_in_use}")
        if self._blocks:
            wrong.append(f"blocks of the allocator: {len(self._blocks)}")
        return wrong
