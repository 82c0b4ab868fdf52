# SPDX-License-Identifier: Apache-2.0
"""The cost of sending a tensor to another rank and back, beside that of a NumPy array: medians,
with the ways taken in turn."""

import statistics
import time

import dlbridge
import numpy as np
from mpi4py import MPI
from mpi4py.util import pkl5

COMM = MPI.COMM_WORLD
SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "16 MiB": 16 << 20}
ROUNDS = 100


def send_and_return(communicator, value, back):
    """Rank 0 sends and receives; rank 1 converts to an array and sends that back."""
    if COMM.Get_rank() == 0:
        communicator.send(value(), 1)
        return back(communicator.recv(source=1))
    array = back(communicator.recv(source=0))
    return communicator.send(value(array), 0)


def by_buffer(value, target):
    if COMM.Get_rank() == 0:
        COMM.Send(value(), 1)
        COMM.Recv(target(), 1)
    else:
        COMM.Recv(target(), 0)
        COMM.Send(value(), 0)


def ways(array):
    """Yields the name, NumPy's way, and the way through dlbridge."""
    target = np.empty_like(array)
    wrapped = dlbridge.portable

    def own(given=array):
        return given

    def ours(given=array):
        return wrapped(given)

    oob = pkl5.Intracomm(COMM)
    return [
        (
            "mpi Send, Recv",
            lambda: by_buffer(own, lambda: target),
            lambda: by_buffer(ours, lambda: wrapped(target)),
        ),
        (
            "mpi send, recv",
            lambda: send_and_return(COMM, own, own),
            lambda: send_and_return(COMM, ours, np.from_dlpack),
        ),
        (
            "mpi pkl5 send, recv",
            lambda: send_and_return(oob, own, own),
            lambda: send_and_return(oob, ours, np.from_dlpack),
        ),
    ]


def median_pair(*pair):
    times = ([], [])
    for _ in range(ROUNDS):
        for way, taken in zip(pair, times):
            began = time.perf_counter_ns()
            way()
            taken.append(time.perf_counter_ns() - began)
    return [statistics.median(taken) / 1000 for taken in times]


if __name__ == "__main__":
    for size, nbytes in SIZES.items():
        array = np.random.default_rng(0).random((nbytes // 32, 8), dtype="float32")
        for name, *pair in ways(array):
            own, ours = median_pair(*pair)
            if COMM.Get_rank() == 0:
                line = f"{name:24}{'numpy':20}{size:>8}{own:12.1f}{ours:12.1f}{own / ours:8.2f}"
                print(line, flush=True)
