// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "coverage.h"

namespace dlbridge::tool {

namespace {

// A tensor over at most this many slots is drawn element by element.
constexpr int kMaxBoxes = 48;
constexpr size_t kMaxListedElements = 1024;
constexpr size_t kCellsPerRow = 64;
constexpr size_t kMaxRows = 4;
constexpr size_t kLabelWidth = 10;
constexpr int kStepsOfStart = 4;

// The characters of a picture.
struct Pen {
  const char* bar;
  const char* full;
  const char* part;
  const char* shared;
  const char* none;
  const char* step;
  const char* line;
};
constexpr Pen kAscii = {"|", "#", "+", "X", ".", "o", "-"};
constexpr Pen kUnicode = {"│", "█", "▒", "╳", "·", "●", "─"};

struct Drawing {
  Drawing(std::vector<Axis> drawn, const DLBridgeLayout& given, Page* to)
      : layout(given),
        axes(std::move(drawn)),
        slots(SlotsOf(axes)),
        page(to),
        pen(to->unicode() ? kUnicode : kAscii) {}

  // Where a slot starts: "24", or "3.4" for bit 4 of byte 3.
  std::string Position(Wide slot) const {
    const Wide bit = slot * layout.item_bits;
    const Wide byte = FloorDivide(bit, 8);
    const Wide rest = bit - byte * 8;
    return ToString(byte) + (rest != 0 ? "." + ToString(rest) : "");
  }
  // A number of slots in bytes, or in bits.
  std::string Length(Wide count) const {
    const Wide bits = count * layout.item_bits;
    return bits % 8 == 0 ? ToString(bits / 8) + " B" : ToString(bits) + " bit";
  }

  const DLBridgeLayout& layout;
  std::vector<Axis> axes;
  Slots slots;
  Page* page;
  Pen pen;
};

std::string Padded(std::string text, size_t width, bool right = false) {
  text.insert(right ? 0 : text.size(), width > text.size() ? width - text.size() : 0, ' ');
  return text;
}

std::string Repeat(const std::string& piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += piece;
  }
  return text;
}

// ------------------------------------------------------------------------------- element by
// element

struct Box {
  std::string label;
  int elements = 0;
};

// The indices of an element; "*" stands for every index of a broadcast axis.
std::string IndexText(const std::vector<Axis>& axes, const std::vector<Wide>& index) {
  std::vector<std::string> words;
  for (size_t i = 0; i < axes.size(); ++i) {
    words.push_back(axes[i].extent > 1 && axes[i].stride == 0 ? "*" : ToString(index[i]));
  }
  return words.empty() ? "()" : Join(words, ",");
}

std::string FirstElement(const std::vector<Axis>& axes) {
  if (axes.size() > 8) {
    return "0,...,0";
  }
  return IndexText(axes, std::vector<Wide>(axes.size(), 0));
}

// Moves to the next element in the order of C; false after the last one.
bool Next(const std::vector<Axis>& axes, std::vector<Wide>* index) {
  for (size_t i = axes.size(); i-- != 0;) {
    if (axes[i].moves()) {
      if (++(*index)[i] < axes[i].extent) {
        return true;
      }
      (*index)[i] = 0;
    }
  }
  return false;
}

// Empty if there are too many elements.
std::map<Wide, Box> Boxes(const std::vector<Axis>& axes) {
  std::map<Wide, Box> boxes;
  std::vector<Wide> index(axes.size(), 0);
  size_t count = 0;
  do {
    Wide slot = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      slot += index[i] * axes[i].stride;
    }
    Box& box = boxes[slot];
    if (box.elements++ == 0) {
      box.label = IndexText(axes, index);
    }
    if (++count > kMaxListedElements) {
      return {};
    }
  } while (Next(axes, &index));
  return boxes;
}

std::string LabelOf(const Box& box) {
  return box.elements > 1 ? box.label + " x" + std::to_string(box.elements) : box.label;
}

// The boxes of a row: as many as fit, so that rows begin at whole bytes and with index 0 of an axis
// of neighbours, where possible.
size_t BoxesPerRow(const Drawing& drawing, size_t width, size_t margin) {
  size_t count = (kColumns - margin - 1) / (width + 1);
  size_t whole = 1;
  while (drawing.layout.item_bits * whole % 8 != 0) {
    ++whole;
  }
  for (const Axis& axis : drawing.axes) {
    if (axis.moves() && axis.stride == 1 && axis.extent <= Wide{count}) {
      const size_t both = std::lcm(whole, static_cast<size_t>(axis.extent));
      whole = both <= count ? both : whole;
    }
  }
  return count > whole ? count - count % whole : std::max<size_t>(count, 1);
}

// Draws the boxes; false if they do not fit.
bool DrawBoxes(const Drawing& drawing) {
  if (drawing.slots.count() > kMaxBoxes) {
    return false;
  }
  const std::map<Wide, Box> boxes = Boxes(drawing.axes);
  size_t width = 3;
  for (const auto& [slot, box] : boxes) {
    width = std::max(width, LabelOf(box).size() + 2);
  }
  const size_t margin = 4 + std::max(drawing.Position(drawing.slots.first).size(),
                                     drawing.Position(drawing.slots.last).size());
  if (boxes.empty() || width > 24) {
    return false;
  }
  const size_t per_row = BoxesPerRow(drawing, width, margin);
  for (Wide first = drawing.slots.first; first <= drawing.slots.last; first += per_row) {
    std::string line = Padded(drawing.Position(first), margin - 2, true) + "  " + drawing.pen.bar;
    for (Wide slot = first; slot < first + per_row && slot <= drawing.slots.last; ++slot) {
      const auto found = boxes.find(slot);
      const bool shared = found != boxes.end() && found->second.elements > 1;
      line += found == boxes.end()
                  ? drawing.page->Paint(Style::kFaint, Repeat(drawing.pen.none, width))
                  : drawing.page->Paint(shared ? Style::kBad : Style::kPlain,
                                        Padded(" " + LabelOf(found->second), width));
      line += drawing.pen.bar;
    }
    drawing.page->Line(line);
  }
  return true;
}

// -------------------------------------------------------------------------------------------
// scaled

struct Scale {
  size_t cells;
  Wide slots_per_cell;
};

Scale ScaleOf(const Drawing& drawing) {
  const Wide most = Wide{kCellsPerRow} * kMaxRows;
  const Wide count = drawing.slots.count();
  const Wide each = (count + most - 1) / most;
  return {static_cast<size_t>((count + each - 1) / each), each};
}

std::string CellText(const Drawing& drawing, double elements, Wide slots) {
  const auto capacity = static_cast<double>(slots);
  const bool overlap = drawing.layout.self_overlap != DLBRIDGE_NO;
  if (elements > capacity) {
    return drawing.page->Paint(Style::kBad, drawing.pen.shared);
  }
  if (elements == 0) {
    return drawing.page->Paint(Style::kFaint, drawing.pen.none);
  }
  // With elements that overlap, as many elements as slots may still leave gaps.
  return elements == capacity && (!overlap || slots == 1) ? drawing.pen.full : drawing.pen.part;
}

void DrawRows(const Drawing& drawing, const Scale& scale, const std::vector<double>& cells) {
  const size_t longest = std::max(drawing.Position(drawing.slots.first).size(),
                                  drawing.Position(drawing.slots.last).size());
  const bool own_line = longest > kLabelWidth;
  for (size_t first = 0; first < cells.size(); first += kCellsPerRow) {
    std::string line;
    for (size_t i = first; i < std::min(cells.size(), first + kCellsPerRow); ++i) {
      const Wide begin = drawing.slots.first + Wide{i} * scale.slots_per_cell;
      const Wide slots = std::min(scale.slots_per_cell, drawing.slots.last + 1 - begin);
      line += CellText(drawing, cells[i], slots);
    }
    const Wide start = drawing.slots.first + Wide{first} * scale.slots_per_cell;
    if (own_line) {
      drawing.page->Line("    " + drawing.Position(start));
    }
    drawing.page->Line(
        (own_line ? "    " : Padded(drawing.Position(start), longest + 4, true) + "  ") + line);
  }
}

// Draws the whole range; returns whether every part of it is partly used.
bool DrawScaled(const Drawing& drawing) {
  const Scale scale = ScaleOf(drawing);
  const std::vector<double> cells = CountElements(drawing.axes, scale.cells, scale.slots_per_cell);
  if (cells.empty()) {
    drawing.page->Line("    too many overlapping pieces to draw");
    return false;
  }
  DrawRows(drawing, scale, cells);
  const Pen& pen = drawing.pen;
  const bool overlap = drawing.layout.self_overlap != DLBRIDGE_NO;
  std::string key = "one character: " + drawing.Length(scale.slots_per_cell) + "; " + pen.full +
                    " used, " + pen.part + " partly used, " + pen.none + " unused";
  key += overlap ? std::string(", ") + pen.shared + " more elements than memory" : "";
  drawing.page->Wrapped(4, "", key);
  const auto whole = static_cast<double>(scale.slots_per_cell);
  return std::all_of(cells.begin(), cells.end() - 1,
                     [&](double elements) { return elements > 0 && elements < whole; });
}

// Returns the innermost axes up to the first with a gap, of which it keeps at most 4 indices: the
// part that is too small in the scaled picture. Returns all axes if none has a gap.
std::vector<Axis> StartOf(const std::vector<Axis>& axes) {
  std::vector<size_t> order;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].moves()) {
      order.push_back(i);
    }
  }
  const auto step = [&](size_t i) { return axes[i].stride < 0 ? -axes[i].stride : axes[i].stride; };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return step(a) < step(b); });
  std::vector<Axis> start(axes.size(), {1, 1});
  Wide span = 1;
  for (const size_t i : order) {
    const bool gap = step(i) > span;
    start[i] = {gap ? std::min<Wide>(axes[i].extent, kStepsOfStart) : axes[i].extent,
                axes[i].stride};
    if (gap) {
      return start;
    }
    span += (axes[i].extent - 1) * step(i);
  }
  return axes;
}

void DrawStart(const Drawing& drawing) {
  const Drawing start(StartOf(drawing.axes), drawing.layout, drawing.page);
  if (start.slots.count() < drawing.slots.count()) {
    drawing.page->Line();
    drawing.page->Line("  " + drawing.page->Paint(Style::kFaint, "enlarged: near element " +
                                                                     FirstElement(drawing.axes)));
    DrawScaled(start);
  }
}

// ---------------------------------------------------------------------------------------------
// axes

struct AxisRow {
  std::string number;
  std::string extent;
  std::string step;
};

std::string StepText(const Drawing& drawing, const Axis& axis) {
  return (axis.stride > 0 ? "+" : "") + drawing.Length(axis.stride);
}

// The steps of one axis from element (0,...,0), on the scale of the whole range.
std::string StepsText(const Drawing& drawing, const Axis& axis, size_t width) {
  if (axis.extent <= 1) {
    return "one index";
  }
  if (axis.stride == 0) {
    return "all " + ToString(axis.extent) + " indices at the same bytes";
  }
  const Wide count = drawing.slots.count();
  const auto column = [&](Wide slot) {
    return static_cast<size_t>((slot - drawing.slots.first) * Wide{width} / count);
  };
  const size_t start = column(0);
  const size_t end = column((axis.extent - 1) * axis.stride);
  std::vector<bool> marks(width, false);
  const size_t most = 4 * width;
  for (size_t i = 0; i <= most; ++i) {  // at most as many steps as can be told apart
    const Wide index = axis.extent - 1 <= Wide{most} ? Wide{i} : (axis.extent - 1) * Wide{i} / most;
    if (index < axis.extent) {
      marks[column(index * axis.stride)] = true;
    }
  }
  std::string text(std::min(start, end), ' ');
  for (size_t i = std::min(start, end); i <= std::max(start, end); ++i) {
    text += marks[i] ? drawing.pen.step : drawing.pen.line;
  }
  return text;
}

void DrawAxes(const Drawing& drawing) {
  std::vector<AxisRow> rows = {{"axis", "extent", "step"}};
  for (size_t i = 0; i < drawing.axes.size(); ++i) {
    const Axis& axis = drawing.axes[i];
    rows.push_back({std::to_string(i), ToString(axis.extent), StepText(drawing, axis)});
  }
  size_t extent = 0;
  size_t step = 0;
  for (const AxisRow& row : rows) {
    extent = std::max(extent, row.extent.size());
    step = std::max(step, row.step.size());
  }
  const size_t used = 2 + 4 + 2 + extent + 2 + step + 3;
  const size_t width = std::min<size_t>(kColumns - used, 48);
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string head = "  " + Padded(rows[i].number, 4, true) + "  " +
                             Padded(rows[i].extent, extent, true) + "  " +
                             Padded(rows[i].step, step, true) + "   ";
    if (i == 0) {
      drawing.page->Line(
          drawing.page->Paint(Style::kFaint, head + "from element " + FirstElement(drawing.axes)));
    } else {
      drawing.page->Line(head + StepsText(drawing, drawing.axes[i - 1], width));
    }
  }
}

}  // namespace

void DrawLayout(const Tensor& tensor, const DLBridgeLayout& layout, Page* page) {
  const Drawing drawing(AxesOf(tensor), layout, page);
  page->Line();
  page->Line("  " +
             page->Paint(Style::kFaint, "bytes from data + byte_offset, in the order of memory"));
  if (!DrawBoxes(drawing) && DrawScaled(drawing)) {
    DrawStart(drawing);
  }
  if (!drawing.axes.empty()) {
    page->Line();
    DrawAxes(drawing);
  }
}

}  // namespace dlbridge::tool
