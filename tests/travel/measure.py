# SPDX-License-Identifier: Apache-2.0
"""The cost of sending a tensor to another process, beside that of the framework's own array.

Both ways start and end with an array of the framework. Medians, with the ways taken in turn. With a
ratio above 1, the way through dlbridge is faster."""

import contextlib
import importlib
import os
import pickle
import secrets
import shutil
import statistics
import sys
import tempfile
import time

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="token")
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)

import dlbridge  # noqa: E402
import numpy as np  # noqa: E402
from dlbridge import _core  # noqa: E402

SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "64 MiB": 64 << 20}
SECONDS = 1.0  # per pair of ways


def import_extra(name):
    """A framework of the environment, or of the folder DLBRIDGE_TRAVEL_EXTRA."""
    with contextlib.suppress(ImportError):
        return importlib.import_module(name)
    extra = os.environ.get("DLBRIDGE_TRAVEL_EXTRA")
    if extra and extra not in sys.path:
        sys.path.append(extra)
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    return None


def out_of_band(value):
    buffers = []
    text = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=buffers)


def in_band(value):
    return pickle.loads(pickle.dumps(value, 5))


def by_dask(value):
    from distributed.protocol import deserialize, serialize

    return deserialize(*serialize(value))


def by_ray(value):
    import ray

    return ray.get(ray.put(value))


def numpy_case(nbytes):
    return np.random.default_rng(0).random((nbytes // 32, 8), dtype="float32"), np.from_dlpack


def transposed_case(nbytes):
    values, back = numpy_case(nbytes)
    return values.T, back


def strided_case(nbytes):
    values, back = numpy_case(2 * nbytes)
    return values[:, ::2], back


def torch_case(nbytes):
    torch = import_extra("torch")
    if torch is None:
        return None

    def back(tensor):
        # Tensors of Ray's store are read-only, which torch does not support.
        return _core.to_type(tensor, torch.Tensor, drop_read_only=True)

    return torch.rand(nbytes // 32, 8), back


def median_pair(one, other):
    """Medians of two ways taken in turn, in microseconds."""
    times = ([], [])
    one(), other()
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times[0]) < 5:
        for way, taken in zip((one, other), times):
            began = time.perf_counter_ns()
            way()
            taken.append(time.perf_counter_ns() - began)
    return [statistics.median(taken) / 1000 for taken in times]


def measure(name, way):
    cases = {
        "numpy": numpy_case,
        "numpy, transposed": transposed_case,
        "numpy, strided": strided_case,
        "torch": torch_case,
    }
    for label, make in cases.items():
        for size, nbytes in SIZES.items():
            case = make(nbytes)
            if case is None:
                continue
            array, back = case
            own, ours = median_pair(
                lambda: way(array),  # noqa: B023 - called at once
                lambda: back(way(dlbridge.portable(array))),  # noqa: B023
            )
            print(
                f"{name:24}{label:20}{size:>8}{own:12.1f}{ours:12.1f}{own / ours:8.2f}", flush=True
            )


def measure_ray():
    import ray

    folder = tempfile.mkdtemp(prefix="dlb")
    try:
        ray.init(
            num_cpus=1,
            object_store_memory=1 << 30,
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            _temp_dir=folder,
        )
        measure("ray put, get", by_ray)
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    print(f"{'way':24}{'array':20}{'size':>8}{'own us':>12}{'ours us':>12}{'ratio':>8}")
    measure("pickle 5, out of band", out_of_band)
    measure("pickle 5, in band", in_band)
    measure("dask serialize", by_dask)
    measure_ray()
