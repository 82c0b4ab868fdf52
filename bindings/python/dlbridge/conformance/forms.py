# SPDX-License-Identifier: Apache-2.0
"""The layouts of arrays, as views of a base array of 3 by 4 elements."""

from __future__ import annotations

import dataclasses
from typing import Any

SHAPE = (3, 4)
COUNT = 12


@dataclasses.dataclass(frozen=True)
class Form:
    """A view of the base array; `start` and `strides` count elements."""

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int = 0

    def indices(self) -> list[int]:
        """The places of its elements in the base array, in C order."""
        places = [self.start]
        for extent, stride in zip(self.shape, self.strides):
            places = [place + i * stride for place in places for i in range(extent)]
        return places

    def view(self, array: Any) -> Any:
        """This view of a base array that can be sliced like NumPy's. Raises NotImplementedError
        for a view that slices cannot make."""
        if self.name not in _VIEWS:
            raise NotImplementedError(f"slices make no view that is {self.name}")
        return _VIEWS[self.name](array)


_VIEWS = {
    "plain": lambda array: array,
    "transposed": lambda array: array.T,
    "negative": lambda array: array[::-1, ::-1],
    "gaps": lambda array: array[:, ::2],
    "sliced": lambda array: array[1:],
    "empty": lambda array: array[:0],
    "scalar": lambda array: array[1, 1, ...],
    "row": lambda array: array[1],
    "column": lambda array: array[:, 1],
}
FORMS = {
    form.name: form
    for form in (
        Form("plain", (3, 4), (4, 1)),
        Form("transposed", (4, 3), (1, 4)),
        Form("negative", (3, 4), (-4, -1), 11),
        Form("broadcast", (3, 4), (0, 1)),
        Form("gaps", (3, 2), (4, 2)),
        Form("sliced", (2, 4), (4, 1), 4),
        Form("empty", (0, 4), (4, 1)),
        Form("scalar", (), (), 5),
        Form("row", (4,), (1,), 4),
        Form("column", (3,), (4,), 1),
    )
}
