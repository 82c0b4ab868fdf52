# SPDX-License-Identifier: Apache-2.0
"""Tensors over multiprocessing.shared_memory: two processes use the same memory."""

import multiprocessing
import pickle
from multiprocessing import shared_memory

import dlbridge
import numpy as np
from checks import Checks, expect, place_of

SPAWN = multiprocessing.get_context("spawn")  # the child inherits no memory


def seen_by_another(work, *arguments):
    """The result of `work` in another process."""
    here, there = SPAWN.Pipe(duplex=False)
    process = SPAWN.Process(target=answer, args=(there, work, *arguments))
    process.start()
    there.close()
    try:
        return here.recv()
    finally:
        process.join()
        expect(process.exitcode == 0, process.exitcode)


def answer(pipe, work, *arguments):
    pipe.send(work(*arguments))


def numbers(shape):
    return (np.arange(np.prod(shape)) % 1009).reshape(shape)


def write_numbers(name, dtype, shape):
    block = shared_memory.SharedMemory(name)
    tensor = dlbridge.from_buffer(block.buf, dtype=dtype, shape=shape)
    place = place_of(tensor.data_ptr)
    values = np.from_dlpack(tensor)
    values[...] = numbers(shape)
    del values, tensor  # the block cannot be closed while a tensor uses it
    block.close()
    return place


def same_memory():
    block = shared_memory.SharedMemory(create=True, size=1 << 20)
    try:
        shape = (64, 128)
        tensor = dlbridge.from_buffer(block.buf, dtype="float32", shape=shape)
        expect(not tensor.readonly and tensor.nbytes < block.size)
        place = seen_by_another(write_numbers, block.name, "float32", shape)
        expect(place == place_of(tensor.data_ptr), place, place_of(tensor.data_ptr))
        expect(place.file == f"/dev/shm/{block.name.lstrip('/')}", place)
        found = np.from_dlpack(tensor)
        expect(np.array_equal(found, numbers(shape)))
        del found, tensor
        block.close()
    finally:
        block.unlink()


def kept_open():
    block = shared_memory.SharedMemory(create=True, size=4096)
    tensor = dlbridge.from_buffer(block.buf, dtype="bfloat16", shape=(8, 16))
    view = np.asarray(dlbridge.to_buffer(tensor))
    del tensor
    try:
        block.close()
    except BufferError:
        view[...] = 1  # the memory is still mapped
    else:
        raise AssertionError("the block was closed under its tensor")
    finally:
        del view
        block.close()
        block.unlink()


def load_from_block(name, text, length):
    block = shared_memory.SharedMemory(name)
    tensor = pickle.loads(text, buffers=[block.buf[:length]])
    place = place_of(tensor.data_ptr)
    values = np.from_dlpack(tensor)
    result = place, tensor.strides, values.tolist()
    values[0, 0, 0] = -1
    del values, tensor
    block.close()
    return result


def pickled_into_a_block():
    """The out-of-band buffer is copied to the block once; the other process loads from there."""
    source = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
    buffers = []
    text = pickle.dumps(dlbridge.portable(source), 5, buffer_callback=buffers.append)
    raw = buffers[0].raw()
    block = shared_memory.SharedMemory(create=True, size=raw.nbytes)
    try:
        block.buf[: raw.nbytes] = raw
        there = seen_by_another(load_from_block, block.name, text, raw.nbytes)
        here = dlbridge.from_buffer(block.buf, dtype="float64", shape=(24,))
        place, strides, values = there
        expect(place == place_of(here.data_ptr), place)
        expect(strides == (1, 12, 4) and values == source.tolist(), strides)
        expect(np.from_dlpack(here)[0] == -1)
        del here
        block.close()
    finally:
        block.unlink()


def hand_back(tensor):
    return tensor, tensor.shape


def through_a_pipe():
    for source in (np.arange(1000.0), np.arange(24).reshape(4, 6).T, np.zeros((0, 3))):
        arrived, shape = seen_by_another(hand_back, dlbridge.portable(source))
        expect(isinstance(arrived, dlbridge.Tensor) and shape == source.shape, shape)
        expect(np.array_equal(np.from_dlpack(arrived), source))


if __name__ == "__main__":
    check = Checks("shared memory")
    check("two processes see one tensor at one place", same_memory)
    check("a block stays open while a tensor is over it", kept_open)
    check("a pickle is loaded over the block that holds its buffer", pickled_into_a_block)
    check("tensors pass through a pipe", through_a_pipe)
    check.leave()
