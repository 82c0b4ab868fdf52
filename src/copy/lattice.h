// SPDX-License-Identifier: Apache-2.0
// A permuted rectangle: rows that are adjacent in the source, and columns that are adjacent in the
// target. A row or a column may combine several axes, so tables have the offset of each row in the
// target and of each column in the source.
#ifndef DLBRIDGE_SRC_COPY_LATTICE_H_
#define DLBRIDGE_SRC_COPY_LATTICE_H_

#include <cstdint>

#include "support/checked.h"

namespace dlbridge {

struct Lattice {
  int64_t rows;
  int64_t columns;
  const int64_t* row_to;       // where each row is in the target, in bytes
  const int64_t* column_from;  // where each column is in the source, in bytes
  bool is_read_across;         // all columns are read side by side
  bool is_far;                 // the whole copy is so large that lines are worth prefetching
};

using CopyLattice = void (*)(const Lattice& lattice, const char* from, char* to);

// Covers a lattice, which must not be smaller, with rectangles of `kRows` by `kColumns`. Those that
// would exceed the lattice begin earlier: some elements are copied twice. `kByColumns`: all rows of
// some columns come first, so that the source is read in long runs, which the processor prefetches.
// Else all columns of some rows come first, so that the target is written in long runs.
template <int kRows, int kColumns, bool kByColumns = true>
class Cover {
 public:
  explicit Cover(const Lattice& lattice)
      : last_row_(lattice.rows - kRows), last_column_(lattice.columns - kColumns) {}

  int64_t row() const { return Least(row_, last_row_); }
  int64_t column() const { return Least(column_, last_column_); }

  // False after the last rectangle.
  DLBRIDGE_INLINE bool Next() {
    return kByColumns ? Advance<kRows, kColumns>(&row_, last_row_, &column_, last_column_)
                      : Advance<kColumns, kRows>(&column_, last_column_, &row_, last_row_);
  }

 private:
  template <int kFast, int kSlow>
  DLBRIDGE_INLINE static bool Advance(int64_t* fast, int64_t last_fast, int64_t* slow,
                                      int64_t last_slow) {
    *fast += kFast;
    if (*fast < last_fast + kFast) {
      return true;
    }
    *fast = 0;
    *slow += kSlow;
    return *slow < last_slow + kSlow;
  }
  static int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

  int64_t last_row_;
  int64_t last_column_;
  int64_t row_ = 0;
  int64_t column_ = 0;
};

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_LATTICE_H_
