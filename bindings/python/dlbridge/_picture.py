# SPDX-License-Identifier: Apache-2.0
"""An SVG of a tensor's layout: a grid of its elements, coloured by address, above the memory.
It shows metadata only; the data is never read.

Every cell of the grid carries `data-index` and `data-offset`, every slot of the memory
`data-offset` and `data-count`; offsets count elements from element (0, ..., 0)."""

import colorsys
import dataclasses
import itertools
from html import escape

CELL = 30  # width and height of a cell and of a slot
GAP = 14  # between the slices, and between grid and memory
MARGIN = 10
LINE = 16  # height of a line of text
MAX_ROWS = 6
MAX_COLUMNS = 8
MAX_SLICES = 3
SLOTS_A_LINE = 24
MAX_HOLE = 3  # longer runs of untouched memory are drawn as one box


@dataclasses.dataclass(frozen=True)
class Cell:
    """An element: its index, its offset from (0, ..., 0), its position in the grid."""

    at: tuple[int, ...]
    offset: int
    slice: int
    row: int
    column: int


@dataclasses.dataclass(frozen=True)
class Slot:
    """A place in memory and the number of elements there; a hole spans `width` places."""

    offset: int
    elements: int
    width: int = 1


def cells(shape: list[int], strides: list[int]) -> list[Cell]:
    """The elements to draw: the last two axes form a grid, the axes before them its slices."""
    *outer, rows, columns = [1] * (2 - len(shape)) + list(shape)
    slices = itertools.islice(
        itertools.product(*(range(min(n, MAX_SLICES)) for n in outer)), MAX_SLICES
    )
    drawn = []
    for place, lead in enumerate(slices):
        for row, column in itertools.product(
            range(min(rows, MAX_ROWS)), range(min(columns, MAX_COLUMNS))
        ):
            index = (*lead, row, column)[-len(shape) :] if shape else ()
            offset = sum(i * stride for i, stride in zip(index, strides, strict=True))
            drawn.append(Cell(index, offset, place, row, column))
    return drawn


def slots(drawn: list[Cell], data: int | None) -> list[Slot]:
    """The memory that the drawn elements touch, in ascending order; a long hole is one slot. `data`
    is the offset of the tensor's pointer in elements, or None if it is not a whole number."""
    counts: dict[int, int] = {}
    for cell in drawn:
        counts[cell.offset] = counts.get(cell.offset, 0) + 1
    if data is not None:
        counts.setdefault(data, 0)
    strip: list[Slot] = []
    for offset in sorted(counts):
        end = strip[-1].offset + strip[-1].width if strip else offset
        hole = offset - end
        if hole > MAX_HOLE:
            strip.append(Slot(end, 0, hole))
        else:
            strip.extend(Slot(end + i, 0) for i in range(hole))
        strip.append(Slot(offset, counts[offset]))
    return strip


def colours(drawn: list[Cell]) -> dict[int, str]:
    """A colour for each offset, from blue at the lowest address to red at the highest."""
    offsets = sorted({cell.offset for cell in drawn})
    found = {}
    for rank, offset in enumerate(offsets):
        hue = 0.62 * (1 - rank / max(1, len(offsets) - 1))
        parts = colorsys.hls_to_rgb(hue, 0.74, 0.75)
        found[offset] = "#" + "".join(f"{round(part * 255):02x}" for part in parts)
    return found


def _size(text):
    """The font size at which a text fits a cell."""
    return min(10, round(46 / max(1, len(text)), 1))


class _Canvas:
    def __init__(self):
        self.parts = []
        self.width = self.height = 0

    def box(self, x, y, width, fill, text="", title="", edge="#888888", **data):
        named = "".join(f' data-{key}="{escape(str(value))}"' for key, value in data.items())
        self.parts.append(
            f'<g><rect x="{x}" y="{y}" width="{width}" height="{CELL}" fill="{fill}" '
            f'stroke="{edge}" stroke-width="{1 if edge == "#888888" else 2}"{named}/>'
            f"<title>{escape(title)}</title>"
            f'<text x="{x + width / 2:g}" y="{y + CELL / 2 + 4:g}" font-size="{_size(text):g}" '
            f'text-anchor="middle">{escape(text)}</text></g>'
        )
        self._reach(x + width, y + CELL)

    def text(self, x, y, text):
        self.parts.append(f'<text x="{x}" y="{y}" font-size="12">{escape(text)}</text>')
        self._reach(x + 7 * len(text), y)

    def _reach(self, x, y):
        self.width, self.height = max(self.width, x), max(self.height, y)

    def svg(self, title):
        width, height = self.width + MARGIN, self.height + MARGIN
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" '
            f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif">'
            f"<title>{escape(title)}</title>"
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>'
            + "".join(self.parts)
            + "</svg>"
        )


def _left_out(shape):
    """Texts for the parts that the limits leave out."""
    *outer, rows, columns = [1] * (2 - len(shape)) + list(shape)
    total = 1
    for extent in outer:
        total *= extent
    limits = ((total, MAX_SLICES, "slices"), (rows, MAX_ROWS, "rows"))
    limits = (*limits, (columns, MAX_COLUMNS, "columns"))
    return [f"{most} of {have} {what}" for have, most, what in limits if have > most]


def _draw_grid(canvas, drawn, colour, top):
    """The slices side by side."""
    columns = 1 + max(cell.column for cell in drawn)
    for cell in drawn:
        x = MARGIN + cell.slice * (columns * CELL + GAP) + cell.column * CELL
        y = top + cell.row * CELL
        canvas.box(
            x,
            y,
            CELL,
            colour[cell.offset],
            str(cell.offset),
            f"element {cell.at} at offset {cell.offset}",
            "#000000" if not any(cell.at) else "#888888",
            index=",".join(map(str, cell.at)),
            offset=cell.offset,
        )


def _draw_slot(canvas, slot, colour, data, x, y):
    if slot.width > 1:
        text, title = f"…{slot.width}", f"{slot.width} places that no drawn element touches"
    elif slot.elements > 1:
        text, title = f"×{slot.elements}", f"offset {slot.offset}: {slot.elements} elements"
    else:
        text, title = str(slot.offset), f"offset {slot.offset}: {slot.elements} element"
    if slot.offset == data:
        text, title = "data" if not slot.elements else text, title + "; data points here"
    edge = "#000000" if slot.offset == 0 and slot.width == 1 else "#888888"
    fill = colour[slot.offset] if slot.elements else "#eeeeee"
    canvas.box(x, y, CELL, fill, text, title, edge, offset=slot.offset, count=slot.elements)


def _place_of_data(byte_offset, item_bits):
    """The offset of `data` in elements from (0, ..., 0); None if it is not a whole number."""
    bits = byte_offset * 8
    return -(bits // item_bits) if item_bits and bits % item_bits == 0 else None


def draw(
    shape: list[int], strides: list[int], item_bits: int, byte_offset: int = 0, title: str = ""
) -> str:
    """Draws a tensor with a valid layout; returns the text of an SVG."""
    canvas = _Canvas()
    canvas.text(MARGIN, MARGIN + 12, title or f"shape {shape}, strides {strides}")
    top = MARGIN + LINE + 6
    if 0 in shape:
        canvas.text(MARGIN, top + 12, "empty: no element touches memory")
        return canvas.svg(title or "an empty tensor")
    drawn = cells(shape, strides)
    colour = colours(drawn)
    _draw_grid(canvas, drawn, colour, top)
    left_out = _left_out(shape)
    data = _place_of_data(byte_offset, item_bits)
    top = canvas.height + GAP + LINE
    where = f"memory, {item_bits} bits a place; element {tuple([0] * len(shape))} is framed"
    canvas.text(MARGIN, top - 6, where + (f", at data + {byte_offset}" if byte_offset else ""))
    for i, slot in enumerate(slots(drawn, data)):
        line, place = divmod(i, SLOTS_A_LINE)
        _draw_slot(canvas, slot, colour, data, MARGIN + place * CELL, top + line * (CELL + 4))
    if left_out:
        canvas.text(MARGIN, canvas.height + LINE, "drawn: " + ", ".join(left_out))
    return canvas.svg(title or f"shape {shape}, strides {strides}")
