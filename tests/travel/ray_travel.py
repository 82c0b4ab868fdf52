# SPDX-License-Identifier: Apache-2.0
"""Ray: an actor puts a tensor into the object store, and others read it there without a copy."""

import os
import secrets
import shutil
import tempfile

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(
    32
)  # otherwise Ray writes one to the home directory

import dlbridge  # noqa: E402
import numpy as np  # noqa: E402
import ray  # noqa: E402
from checks import Checks, expect, place_of  # noqa: E402

STORE = 100 << 20
ROWS, COLUMNS = 1024, 2048  # 8 MiB of float32: Ray does not put small objects into its store


def source_of(layout):
    values = np.arange(ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS)
    return {"C": values, "F": values.T, "reversed": values[::-1]}[layout]


@ray.remote(num_cpus=0)
class Maker:
    def make(self, layout):
        return ray.put(dlbridge.portable(source_of(layout)))

    def make_adapted(self, layout):
        return ray.put(dlbridge.adapt(source_of(layout)))

    def make_bytes(self, dtype):
        source = bytes(range(256)) * 4096
        return ray.put(dlbridge.from_buffer(source, dtype=dtype))

    def process(self):
        return os.getpid()


@ray.remote(num_cpus=0)
class Reader:
    def look(self, references):
        tensor = ray.get(references[0])
        values = np.from_dlpack(tensor)
        again = ray.get(references[0])
        return {
            "process": os.getpid(),
            "type": type(tensor).__name__,
            "readonly": tensor.readonly and not values.flags.writeable,
            "strides": tensor.strides,
            "sum": float(values[1].sum()),
            "place": place_of(tensor.data_ptr),
            "where": tensor.data_ptr,
            "numpy": values.ctypes.data,
            "again": again.data_ptr,
        }

    def bytes_of(self, references):
        tensor = ray.get(references[0])
        raw = dlbridge.to_buffer(tensor)
        return tensor.dtype, tensor.shape, place_of(tensor.data_ptr).file, raw.readonly, bytes(raw)

    def keep(self, references):
        """Keeps only NumPy's array of the received tensor."""
        self.kept = np.from_dlpack(ray.get(references[0]))

    def kept_sum(self):
        return float(self.kept[1].sum())

    def write(self, references):
        try:
            np.from_dlpack(ray.get(references[0]))[0, 0] = 1
        except ValueError as error:
            return str(error)
        return None

    def demand(self, references):
        try:
            dlbridge.from_dlpack(ray.get(references[0]), writable=True)
        except BufferError as error:
            return error.rule
        return None


def read_where_it_lies(maker, readers, layout, make="make"):
    reference = ray.get(getattr(maker, make).remote(layout))
    first, second = ray.get([reader.look.remote([reference]) for reader in readers])
    source = source_of(layout)
    for seen in (first, second):
        expect(seen["type"] == "Tensor" and seen["readonly"], seen)
        expect(seen["strides"] == dlbridge.portable(source).strides, seen)
        expect(seen["sum"] == float(source[1].sum()), seen)
        expect(seen["where"] == seen["numpy"] == seen["again"], seen)
        expect("plasma" in seen["place"].file, seen)
    processes = {first["process"], second["process"], ray.get(maker.process.remote())}
    expect(len(processes) == 3, processes)
    # Both map the same place of the same file, so there is no copy.
    expect(first["place"] == second["place"], first["place"], second["place"])


def other_dtypes(maker, readers):
    for dtype in ("bfloat16", "float8_e4m3fn", "int4"):
        reference = ray.get(maker.make_bytes.remote(dtype))
        found, shape, file, readonly, raw = ray.get(readers[0].bytes_of.remote([reference]))
        expect((found, readonly) == (dtype, True) and "plasma" in file, found, file)
        expect(raw == bytes(range(256)) * 4096 and shape[0] * len(shape) >= 1 << 19, shape)


def never_written(maker, readers):
    reference = ray.get(maker.make.remote("C"))
    expect("read-only" in ray.get(readers[0].write.remote([reference])))
    expect(ray.get(readers[0].demand.remote([reference])) == "NOT_WRITABLE")
    expect(ray.get(readers[1].look.remote([reference]))["sum"] == float(source_of("C")[1].sum()))


def kept_by_the_tensor(maker, readers):
    """The store reuses unreferenced memory; a tensor's owner keeps a reference."""
    reference = ray.get(maker.make.remote("C"))
    ray.get(readers[0].keep.remote([reference]))
    del reference
    for _ in range(2 * STORE // (8 << 20)):
        ray.put(np.zeros((ROWS, COLUMNS), dtype="float32"))
    found = ray.get(readers[0].kept_sum.remote())
    expect(found == float(source_of("C")[1].sum()), found)


def run(check):
    maker, readers = Maker.remote(), [Reader.remote(), Reader.remote()]
    for layout in ("C", "F", "reversed"):
        name = f"two actors read the store's own memory, layout {layout}"
        check(name, read_where_it_lies, maker, readers, layout)
    name = "two actors read an adapted array in the store's own memory"
    check(name, read_where_it_lies, maker, readers, "F", "make_adapted")
    check("bfloat16, float8 and packed elements are read there too", other_dtypes, maker, readers)
    check("no process can write to the store", never_written, maker, readers)
    check("what a tensor is over is not used again", kept_by_the_tensor, maker, readers)


def start(folder):
    ray.init(
        num_cpus=2,
        object_store_memory=STORE,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        _temp_dir=folder,
    )


if __name__ == "__main__":
    check = Checks("ray")
    scratch = tempfile.mkdtemp(prefix="dlb")  # short, since socket paths start with it
    try:
        start(scratch)
        run(check)
    finally:
        ray.shutdown()
        shutil.rmtree(scratch, ignore_errors=True)
    check.leave()
