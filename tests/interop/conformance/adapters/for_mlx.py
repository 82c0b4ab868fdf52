# SPDX-License-Identifier: Apache-2.0
"""MLX with the package mlx-cpu."""

from importlib import metadata

import mlx.core as mlx
import numpy
from dlbridge.conformance import Unsupported

title, version = "MLX", metadata.version("mlx")
unsupported = ["float8*", "complex128"]
# Its threads do not live on in a child.
forks = False
code = "import mlx.core as mlx\narray = mlx.arange(12.0).reshape(3, 4)\nconsume = mlx.from_dlpack\n"
mlx.set_default_device(mlx.cpu)
SIZE = 1000


def make(request):
    if request.read_only:
        raise Unsupported("MLX has no read-only arrays")
    dtype = getattr(mlx, {"bool": "bool_"}.get(request.dtype, request.dtype), None)
    if dtype is None:
        raise Unsupported(f"MLX has no {request.dtype}")
    size = len(request.bits) // 12
    values = numpy.frombuffer(request.bits, f"uint{8 * min(size, 8)}")
    array = mlx.array(values).view(dtype).reshape(request.base_shape)
    if request.form.name == "broadcast":
        array = mlx.broadcast_to(array[:1], request.shape)
    else:
        array = request.view(array)
    mlx.eval(array)
    return array


def delayed(request):
    """Arrays are computed when they are needed."""
    large = mlx.ones((SIZE, SIZE)) / SIZE
    for _ in range(4):
        large = large @ large
    # A sum would lose the sign of zero.
    return mlx.where(large[0, 0] * 0 == 0, make(request), large[0, 0])


def consume(source, **keywords):
    return mlx.from_dlpack(source, **keywords)


def write(array, place, number):
    raise Unsupported("an update makes another array")
