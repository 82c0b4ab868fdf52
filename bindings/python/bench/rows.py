# SPDX-License-Identifier: Apache-2.0
"""What is measured: each operation beside a peer in the same run, and the share to reach."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import re
from collections.abc import Iterable
from typing import Any

SHAPE = (2, 3, 4, 5)


@dataclasses.dataclass(frozen=True)
class Row:
    """`own` and `peer` are expressions; the cost of `own_base` and `peer_base` is subtracted."""

    title: str
    own: str
    peer: str
    target: float
    own_base: str = "None"
    peer_base: str = "None"

    def expressions(self) -> tuple[str, ...]:
        return (self.own, self.peer, self.own_base, self.peer_base)


# The names are those of `names`.
NUMPY = "np.from_dlpack(array)"
TORCH = "torch.from_dlpack(array)"
TVM = "tvm_ffi.from_dlpack(tensor)"
TO = "dlbridge.to(array, torch.Tensor)"
NANOBIND = {"peer_base": "nanobind.nothing(array)", "own_base": "loops.nothing(array)"}
CALL = {"peer_base": "loops.nothing(tensor)", "own_base": "loops.nothing(tensor)"}
VERSION = "__dlpack__(max_version=version)"
ROWS = (
    Row("C: NumPy, owned", "loops.owned(array)", "nanobind.take(array)", 1.0, **NANOBIND),
    Row("C: NumPy, borrowed", "loops.borrowed(array)", "nanobind.take(array)", 1.0, **NANOBIND),
    Row("C: torch, owned", "loops.owned(tensor)", TVM, 0.5, **CALL),
    Row("C: torch, borrowed", "loops.borrowed(tensor)", TVM, 0.5, **CALL),
    Row("from_dlpack(np)", "dlbridge.from_dlpack(array)", NUMPY, 1.0),
    # One microsecond, where NumPy's own exchange takes 220 ns.
    Row("np.from_dlpack(adapt(np))", "np.from_dlpack(dlbridge.adapt(array))", NUMPY, 4.5),
    Row("to(np, 'torch')", "dlbridge.to(array, 'torch')", TO, 1.2),
    Row("to(np, torch)", "dlbridge.to(array, torch)", TO, 1.2),
    Row("to(np, 'numpy')", "dlbridge.to(array, 'numpy')", TO, 1.2),
    Row("to(torch, 'numpy')", "dlbridge.to(tensor, 'numpy')", TO, 1.2),
    Row("to(np, torch.Tensor)", TO, TORCH, 0.45),
    Row("to_type(np, torch.Tensor)", "core.to_type(array, torch.Tensor)", TORCH, 0.4),
    Row("to_type(Tensor, torch.Tensor)", "core.to_type(own, torch.Tensor)", TORCH, 0.25),
    Row("Tensor.__dlpack__", f"own.{VERSION}", f"array.{VERSION}", 0.8),
    Row("np.from_dlpack(Tensor)", "np.from_dlpack(own)", NUMPY, 0.85),
)
IMPORT_TARGET = 8.0  # milliseconds of CPU time for `import dlbridge`


# Peers that may be missing: the module of each name.
PEERS = {"torch": "torch", "tvm_ffi": "tvm_ffi", "nanobind": "exchange_nanobind"}


def needs(expression: str) -> set[str]:
    """The names of peers that an expression uses."""
    used = set(re.findall(r"\b(?:torch|tvm_ffi|nanobind|tensor)\b(?!')", expression))
    return used | {"torch"} if "tensor" in used or "'torch'" in expression else used


def names(expressions: Iterable[str]) -> dict[str, Any]:
    """What the expressions use. Only their peers are imported; those not installed are missing."""
    import dlbridge
    import exchange_loops
    import numpy
    from dlbridge import _core

    found = {"dlbridge": dlbridge, "core": _core, "loops": exchange_loops, "np": numpy}
    found["array"] = numpy.zeros(SHAPE, "f4")
    found["own"] = dlbridge.from_dlpack(found["array"])
    found["version"] = (1, 3)
    for name in set().union(*map(needs, expressions)) & PEERS.keys():
        with contextlib.suppress(ImportError):
            found[name] = importlib.import_module(PEERS[name])
    if "torch" in found:
        found["tensor"] = found["torch"].zeros(SHAPE)
    return found


def compiled(expression: str, using: dict[str, Any]) -> Any:
    """A function of an iterable that evaluates the expression for each item; None where a peer of
    the expression is missing."""
    if not needs(expression) <= using.keys():
        return None
    scope = dict(using)
    exec(f"def run(each):\n  for _ in each:\n    {expression}\n", scope)
    return scope["run"]
