# SPDX-License-Identifier: Apache-2.0
"""Two ranks of MPI: tensors as message buffers, and as pickles with out-of-band buffers."""

import traceback

import dlbridge
import numpy as np
from checks import expect
from mpi4py import MPI
from mpi4py.util import pkl5

COMM = MPI.COMM_WORLD
RANK = COMM.Get_rank()
OTHER = 1 - RANK
ROWS, COLUMNS = 256, 1024


def values():
    return np.arange(ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS)


def message():
    """Both ranks send and receive at once; MPI's type comes from the buffer."""
    source = values() + RANK
    target = np.zeros((ROWS, COLUMNS), dtype="float32")
    sent, received = dlbridge.portable(source), dlbridge.portable(target)
    status = MPI.Status()
    COMM.Sendrecv(sent, OTHER, recvbuf=received, source=OTHER, status=status)
    expect(status.Get_count(MPI.FLOAT) == ROWS * COLUMNS, status.Get_count(MPI.FLOAT))
    expect(np.array_equal(target, values() + OTHER))


def reduction():
    source = np.full(1000, RANK + 1, dtype="int64")
    total = np.zeros(1000, dtype="int64")
    COMM.Allreduce(dlbridge.portable(source), dlbridge.portable(total), MPI.SUM)
    expect((total == 3).all(), total[:3])


def bytes_of_other_dtypes():
    for dtype in ("bfloat16", "float8_e4m3fn", "int4"):
        source = dlbridge.from_buffer(bytes([RANK]) * 4096, dtype=dtype)
        target = bytearray(4096)
        received = dlbridge.from_buffer(target, dtype=dtype)
        COMM.Sendrecv(
            [dlbridge.to_buffer(source), MPI.BYTE],
            OTHER,
            recvbuf=[dlbridge.to_buffer(received), MPI.BYTE],
            source=OTHER,
        )
        expect(target == bytes([OTHER]) * 4096, dtype)


def read_only_target():
    """The tensor is rejected before anything is sent, so no rank waits."""
    target = values()
    target.flags.writeable = False
    try:
        COMM.Recv(dlbridge.portable(target), OTHER)
    except BufferError:
        expect(np.array_equal(target, values()))
    else:
        raise AssertionError("a read-only tensor was received into")


def strided_message():
    """MPI needs contiguous buffers: other tensors are rejected, and their copies are sent."""
    tensor = dlbridge.portable(values()[:, ::2])
    try:
        COMM.Send(tensor, OTHER)
    except BufferError:
        pass
    else:
        raise AssertionError("strides were ignored")
    target = np.zeros((ROWS, COLUMNS // 2), dtype="float32")
    COMM.Sendrecv(tensor.copy(), OTHER, recvbuf=dlbridge.portable(target), source=OTHER)
    expect(np.array_equal(target, values()[:, ::2]))


def pickles():
    source = (values() + RANK).T
    for communicator in (COMM, pkl5.Intracomm(COMM)):
        arrived = communicator.sendrecv(dlbridge.portable(source), OTHER, source=OTHER)
        expect(isinstance(arrived, dlbridge.Tensor), type(arrived))
        expect(arrived.strides == (1, COLUMNS) and not arrived.readonly, arrived.strides)
        expect(np.array_equal(np.from_dlpack(arrived), (values() + OTHER).T))


def out_of_band():
    """The out-of-band buffer that mpi4py sends is the tensor's memory."""
    source = values()
    text, buffers = MPI.pickle.dumps_oob(dlbridge.portable(source))
    expect(len(buffers) == 1 and len(text) < 400, len(buffers), len(text))
    expect(buffers[0].address == source.ctypes.data and buffers[0].nbytes == source.nbytes)
    arrived = MPI.pickle.loads_oob(text, buffers)
    expect(arrived.data_ptr == source.ctypes.data)


CHECKS = {
    "tensors are message buffers": message,
    "tensors are reduced": reduction,
    "bfloat16, float8 and packed elements go as bytes": bytes_of_other_dtypes,
    "nothing is received into a read-only tensor": read_only_target,
    "strides are rejected, and their copy is sent": strided_message,
    "pickled tensors arrive, in band and out of band": pickles,
    "the buffer out of band is the tensor's memory": out_of_band,
}


def run(name, check):
    """Runs a check on both ranks. A failing rank aborts the other, which may be waiting for it."""
    try:
        check()
    except Exception:  # noqa: BLE001 - every error is shown
        print(f"\nFAILED travel: mpi: {name}, rank {RANK}\n{traceback.format_exc()}", flush=True)
        COMM.Abort(1)
    COMM.Barrier()
    if RANK == 0:
        print(f"passed travel: mpi: {name}", flush=True)


if __name__ == "__main__":
    if COMM.Get_size() != 2:
        raise SystemExit(f"expected two ranks, found {COMM.Get_size()}: mpirun -n 2")
    for name, check in CHECKS.items():
        run(name, check)
