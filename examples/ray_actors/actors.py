# SPDX-License-Identifier: Apache-2.0
"""An actor of Ray puts a tensor into the object store; two others read it there, without a copy."""

import os
import secrets

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="token")
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)  # else Ray writes one to the home directory

import dlbridge  # noqa: E402 Ray reads the variables above
import numpy as np  # noqa: E402
import ray  # noqa: E402


def file_at(address):
    """The file that is mapped at an address of this process."""
    with open("/proc/self/maps") as maps:
        areas = [line.split(maxsplit=5) for line in maps]
    for area in areas:
        first, end = (int(number, 16) for number in area[0].split("-"))
        if first <= address < end:
            return area[-1]
    return ""


@ray.remote(num_cpus=0)
class Maker:
    def make(self):
        rows = np.arange(1 << 21, dtype="float32").reshape(1024, 2048)
        return ray.put(dlbridge.portable(rows.T))  # any framework's array, in any layout


@ray.remote(num_cpus=0)
class Reader:
    def look(self, references):
        tensor = ray.get(references[0])
        return tensor.shape, tensor.strides, tensor.readonly, "plasma" in file_at(tensor.data_ptr)

    def write(self, references):
        try:
            dlbridge.from_dlpack(ray.get(references[0]), writable=True)
        except BufferError as error:
            return error.rule


if __name__ == "__main__":
    ray.init(
        num_cpus=2, object_store_memory=100 << 20, include_dashboard=False, log_to_driver=False
    )
    maker = Maker.remote()  # owns the tensor: it must live as long as others read it
    reference = ray.get(maker.make.remote())
    readers = [Reader.remote(), Reader.remote()]
    for shape, strides, readonly, shared in ray.get([r.look.remote([reference]) for r in readers]):
        print(shape, strides, "read-only" if readonly else "writable", "in the store:", shared)
    print(ray.get(readers[0].write.remote([reference])))
    ray.shutdown()
