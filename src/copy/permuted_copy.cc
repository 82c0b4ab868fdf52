// SPDX-License-Identifier: Apache-2.0
#include "copy/permuted_copy.h"

#include <cstdint>
#include <cstring>

#include "copy/copy_kernels.h"
#include "copy/lattice.h"
#include "copy/plane_copy.h"
#include "copy/wide_tile.h"

namespace dlbridge {

#if DLBRIDGE_SHUFFLES

namespace {

// ------------------------------------------------------------------------------- planning

constexpr int64_t kMost = 256;         // rows or columns of a lattice
constexpr int64_t kEnoughBytes = 256;  // from here on, a partial last vector costs little
constexpr int64_t kVector = 16;

// Several axes that are adjacent on one side. The last of them may be cut into parts; the last part
// then begins earlier.
struct Side {
  Side() { at[0] = 0; }  // the rest is not initialised, which would take longer than a small copy

  int64_t count = 1;
  PlaneAxis cut = {1, 0, 0};
  int64_t part = 1;
  int64_t steps = 0;  // the bits of all distances on the other side
  int64_t at[kMost];  // on the other side
};

// The axes of a copy that become rows or columns.
class Plan {
 public:
  explicit Plan(const Axes& axes) : axes_(axes), first_column_(axes.count()) {}

  // False if rows or columns do not fill a vector, or if planes are faster.
  bool Make() {
    const int next = NextRows();
    if (next < 0 || axes_[first_column_ - 1].from == 0 ||
        (HasWholeLines(next) && HasWholeLines(first_column_ - 1))) {
      return false;
    }
    bool more_rows = true;
    bool more_columns = AddColumns();
    while (more_rows || more_columns) {
      const bool rows = more_rows && (rows_.count <= columns_.count || !more_columns);
      if (rows) {
        more_rows = AddRows();
      } else {
        more_columns = AddColumns();
      }
    }
    return rows_.count * axes_.item() >= kVector && columns_.count * axes_.item() >= kVector;
  }

  const Side& rows() const { return rows_; }
  const Side& columns() const { return columns_; }
  // Offsets of the first element: reversed rows begin at their end.
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }
  bool Takes(int index) const { return index >= first_column_ || (row_axes_ >> index & 1) != 0; }

 private:
  // Each returns false if there are no more.
  bool AddColumns() {
    const int next = first_column_ - 1;
    if (next < 0 || Takes(next) || IsComplete(columns_)) {
      return false;
    }
    first_column_ = next;
    Extend(axes_[next], axes_[next].from, &columns_);
    return true;
  }
  bool AddRows() {
    const int next = IsComplete(rows_) ? -1 : NextRows();
    if (next < 0) {
      return false;
    }
    row_axes_ |= uint64_t{1} << next;
    PlaneAxis axis = axes_[next];
    if (axis.from < 0) {
      from_ += (axis.extent - 1) * axis.from;
      to_ += (axis.extent - 1) * axis.to;
      axis.from = -axis.from;
      axis.to = -axis.to;
    }
    Extend(axis, axis.to, &rows_);
    return true;
  }
  // The axis that continues the rows in the source; -1 if there is none.
  int NextRows() const {
    // The last axis is always a column.
    for (int i = axes_.count() - 2; i >= 0; --i) {
      if (Distance(axes_[i].from) == rows_.count * axes_.item() && !Takes(i)) {
        return i;
      }
    }
    return -1;
  }
  // Tiles of planes are as large as a line, and their stores may bypass the cache.
  bool HasWholeLines(int axis) const {
    const int64_t bytes = axes_[axis].extent * axes_.item();
    return bytes % kLine == 0 && (bytes >= kEnoughBytes || axes_.count() == 2);
  }
  bool IsComplete(const Side& side) const {
    return side.part < side.cut.extent || side.count * axes_.item() >= kEnoughBytes ||
           2 * side.count > kMost;
  }
  static void Extend(const PlaneAxis& axis, int64_t step, Side* side) {
    // Parts of about the same size, so that the last one has few elements of the part before it.
    const int64_t most = kMost / side->count;
    const int64_t parts = (axis.extent - 1) / most + 1;
    const int64_t part = (axis.extent - 1) / parts + 1;
    const int64_t count = side->count * part;
    for (int64_t i = side->count; i < count; ++i) {
      side->at[i] = side->at[i - side->count] + step;
    }
    side->steps |= step;
    side->count = count;
    side->part = part;
    side->cut = axis;
  }

  const Axes& axes_;
  int first_column_;
  uint64_t row_axes_ = 0;
  int64_t from_ = 0;
  int64_t to_ = 0;
  Side rows_;
  Side columns_;
};

// ------------------------------------------------------------------------------- copying

template <class T>
void CopySquares(const Lattice& lattice, const char* from, char* to) {
  constexpr int kItem = sizeof(T);
  constexpr int kSide = kVector / kItem;
  Cover<kSide, kSide> cover(lattice);
  do {
    Square<T> square;
    square.Gather(from + cover.row() * kItem, lattice.column_from + cover.column());
    square.Transpose();
    square.Scatter(to + cover.column() * kItem, lattice.row_to + cover.row());
  } while (cover.Next());
}

// Elements as large as a vector need no transposition.
void CopyByRows(const Lattice& lattice, const char* from, char* to) {
  for (int64_t r = 0; r < lattice.rows; ++r) {
    const char* source = from + r * kVector;
    char* target = to + lattice.row_to[r];
    for (int64_t c = 0; c < lattice.columns; ++c) {
      std::memcpy(target + c * kVector, source + lattice.column_from[c], kVector);
    }
  }
}

// As CopyByRows, in the order of the source, so that each of its lines is loaded once.
void CopyByColumns(const Lattice& lattice, const char* from, char* to) {
  for (int64_t c = 0; c < lattice.columns; ++c) {
    const char* source = from + lattice.column_from[c];
    char* target = to + c * kVector;
    for (int64_t r = 0; r < lattice.rows; ++r) {
      std::memcpy(target + lattice.row_to[r], source + r * kVector, kVector);
    }
  }
}

CopyLattice ChooseSquares(const Axes& axes) {
  switch (axes.item()) {
    case 1:
      return CopySquares<uint8_t>;
    case 2:
      return CopySquares<uint16_t>;
    case 4:
      return CopySquares<uint32_t>;
    case 8:
      return CopySquares<uint64_t>;
    case 16:
      return axes.bytes() >= kFar ? CopyByColumns : CopyByRows;
    default:
      return nullptr;
  }
}

int64_t PitchOf(const Side& side) { return side.count > 1 ? Distance(side.at[1]) : 0; }

// True if the lines on the other side do not fit the first-level cache: those that are pages apart
// compete for the same place.
bool Compete(const Side& side) {
  constexpr int64_t kWays = 8;
  const int64_t pitch = PitchOf(side) | kPage;
  const int64_t grain = pitch & -pitch;  // the highest power of 2 that divides both
  return side.count > kWays * (kPage / (grain > kLine ? grain : kLine));
}

// True if reading all columns side by side is faster than one after the other. It is if their lines
// stay in the first-level cache until they are used completely, or if lines of the target compete
// for the places of the second-level cache. Measured on a processor with AVX2.
bool IsReadAcross(const Axes& axes, const Side& rows, const Side& columns) {
  constexpr int64_t kMostColumns = 64;
  constexpr int64_t kSecondLevelWay = 64 << 10;
  return axes.bytes() >= kFar && columns.count <= kMostColumns &&
         (!Compete(columns) || PitchOf(rows) % kSecondLevelWay == 0);
}

// As IsReadAcross, for vectors of a whole line that store parts of two target lines. Measured on a
// processor with AVX-512: if columns are read one after the other, both lines leave the first-level
// cache before the next vector completes them.
bool IsReadAcrossInLines(const Axes& axes, const Side& rows, const Side& columns) {
  return !Compete(columns) && (axes.item() != kVector || rows.count * kVector >= kEnoughBytes);
}

bool IsInLines(const Side& rows, const char* to) {
  return (reinterpret_cast<uintptr_t>(to) | static_cast<uintptr_t>(rows.steps)) % kLine == 0;
}

// Calls `visit` with the offsets of each part.
template <class Visit>
void ForEachPart(const Side& side, const Visit& visit) {
  for (int64_t i = 0; i < side.cut.extent; i += side.part) {
    const int64_t first = i < side.cut.extent - side.part ? i : side.cut.extent - side.part;
    visit(first * side.cut.from, first * side.cut.to);
  }
}

}  // namespace

bool CopyPermuted(Axes* axes, const char* from, char* to) {
  CopyLattice copy = ChooseSquares(*axes);
  if (copy == nullptr) {
    return false;
  }
  Plan plan(*axes);
  if (!plan.Make()) {
    return false;
  }
  const WideLattice wide = ChooseWideLattice(axes->item(), plan.columns().count);
  copy = wide.copy != nullptr ? wide.copy : copy;
  const bool has_lines = wide.has_whole_lines;
  const bool is_read_across =
      (has_lines ? IsReadAcrossInLines : IsReadAcross)(*axes, plan.rows(), plan.columns());
  for (int i = axes->count() - 1; i >= 0; --i) {
    if (plan.Takes(i)) {
      axes->Take(i);
    }
  }
  Lattice lattice = {plan.rows().count, plan.columns().count, plan.rows().at,
                     plan.columns().at, is_read_across,       axes->bytes() >= kFar};
  axes->ForEach(from + plan.from(), to + plan.to(), [&](const char* source, char* target) {
    ForEachPart(plan.rows(), [&](int64_t row_from, int64_t row_to) {
      ForEachPart(plan.columns(), [&](int64_t column_from, int64_t column_to) {
        char* const part = target + row_to + column_to;
        lattice.is_read_across = is_read_across && !(has_lines && IsInLines(plan.rows(), part));
        copy(lattice, source + row_from + column_from, part);
      });
    });
  });
  return true;
}

#else

bool CopyPermuted(Axes* /*axes*/, const char* /*from*/, char* /*to*/) { return false; }

#endif  // DLBRIDGE_SHUFFLES

}  // namespace dlbridge
