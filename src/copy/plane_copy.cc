// SPDX-License-Identifier: Apache-2.0
#include "copy/plane_copy.h"

#include <cstring>
#include <utility>

#include "copy/copy_kernels.h"
#include "copy/fill.h"
#include "copy/run_copy.h"
#include "copy/short_rows.h"
#include "copy/stream_copy.h"
#include "copy/wide_tile.h"

namespace dlbridge {
namespace {

// The side of a block: the lines that a block touches stay in the first-level cache.
constexpr int64_t kBlockSide = 32;
constexpr int64_t kBlock = kBlockSide * kBlockSide;
// The side in bytes of a block of data that is in no cache of the core: several adjacent lines of a
// page are used soon after each other, and the pages of a block stay in the second-level TLB.
[[maybe_unused]] constexpr int64_t kFarBytes = 1024;

int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

// ------------------------------------------------------------------------------- row by row

#if DLBRIDGE_SHUFFLES

// Reads the elements of a row in reverse order, a vector at a time.
template <class T>
struct Reversed {
  static constexpr int64_t kStep = -1;
  // Number of elements that must follow those of a vector in the source.
  static constexpr int64_t kSpare = 0;
  static DLBRIDGE_INLINE typename VectorOf<T>::Type Read(const char* from) {
    return ReverseLanes<T>(Load<T>(from - (16 - sizeof(T))));
  }
};

// Reads every second element. The elements between them are read as well, and so is the one after
// the last. One more element must follow, so that no byte past the end is read.
template <class T>
struct EverySecond {
  static constexpr int64_t kStep = 2;
  static constexpr int64_t kSpare = 1;
  static DLBRIDGE_INLINE typename VectorOf<T>::Type Read(const char* from) {
    return EvenLanes<T>(Load<T>(from), Load<T>(from + 16), typename VectorOf<T>::Indices());
  }
};

// Copies the elements from `first` up to `end`, one at a time.
template <class T, int64_t kStep>
DLBRIDGE_INLINE void CopySome(const char* from, char* to, int64_t first, int64_t end) {
  constexpr auto kItem = static_cast<int64_t>(sizeof(T));
  for (int64_t i = first; i < end; ++i) {
    std::memcpy(to + i * kItem, from + i * kStep * kItem, sizeof(T));
  }
}

template <class T, class Pattern, class Target, size_t... i>
DLBRIDGE_INLINE void CopyVectors(const char* from, char* to,
                                 std::index_sequence<i...> /*vectors*/) {
  constexpr int64_t kFromStep = Pattern::kStep * 16;
  (Target::Store(to + 16 * i, Pattern::Read(from + static_cast<int64_t>(i) * kFromStep)), ...);
}

// Copies `head` elements one at a time, then four vectors at a time, single vectors, and the rest
// one at a time.
template <class T, class Pattern, class Target>
DLBRIDGE_INLINE void CopyRow(const char* from, char* to, int64_t count, int64_t head) {
  constexpr auto kLanes = static_cast<int64_t>(VectorOf<T>::Lanes());
  constexpr int64_t kStep = Pattern::kStep;
  constexpr auto kItem = static_cast<int64_t>(sizeof(T));
  const int64_t end = count - Pattern::kSpare;
  CopySome<T, kStep>(from, to, 0, head);
  int64_t i = head;
  for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
    CopyVectors<T, Pattern, Target>(from + i * kStep * kItem, to + i * kItem,
                                    std::make_index_sequence<4>());
  }
  for (; i + kLanes <= end; i += kLanes) {
    Target::Store(to + i * kItem, Pattern::Read(from + i * kStep * kItem));
  }
  CopySome<T, kStep>(from, to, i, count);
}

// The number of elements before the first one that is aligned for streaming; -1 if none is aligned,
// or if the row is too short for streaming to be faster.
template <class T>
int64_t StreamHead(const Plane& plane, const char* to) {
  const auto excess = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % 16);
  const int64_t missing = (16 - excess) % 16;
  constexpr auto kItem = static_cast<int64_t>(sizeof(T));
  const bool pays = plane.column.extent * kItem >= kHuge;
  return pays && missing % kItem == 0 ? missing / kItem : -1;
}

template <class T, class Pattern>
void CopyRows(const Plane& plane, const char* from, char* to) {
  for (int64_t r = 0; r < plane.row.extent; ++r) {
    const char* source = from + r * plane.row.from;
    char* target = to + r * plane.row.to;
    const int64_t head = StreamHead<T>(plane, target);
    if (head >= 0) {
      CopyRow<T, Pattern, Streamed>(source, target, plane.column.extent, head);
      EndStreaming();
    } else {
      CopyRow<T, Pattern, Cached>(source, target, plane.column.extent, 0);
    }
  }
}

#endif  // DLBRIDGE_SHUFFLES

// ------------------------------------------------------------------------------- square by square

// Part of a plane: its first row and column, and the numbers of rows and columns.
struct Part {
  int64_t row;
  int64_t column;
  int64_t rows;
  int64_t columns;
};

// Cuts `whole` into parts of at most `rows` and `columns` and calls `visit` with each.
template <class Visit>
DLBRIDGE_INLINE void Cut(const Part& whole, int64_t rows, int64_t columns, const Visit& visit) {
  for (int64_t r = 0; r < whole.rows; r += rows) {
    for (int64_t c = 0; c < whole.columns; c += columns) {
      visit(Part{whole.row + r, whole.column + c, Least(rows, whole.rows - r),
                 Least(columns, whole.columns - c)});
    }
  }
}

Part WholeOf(const Plane& plane) { return {0, 0, plane.row.extent, plane.column.extent}; }

const char* SourceAt(const Plane& plane, const char* from, int64_t row, int64_t column) {
  return from + (row * plane.row.from + column * plane.column.from);
}
char* TargetAt(const Plane& plane, char* to, int64_t row, int64_t column) {
  return to + (row * plane.row.to + column * plane.column.to);
}

// Copies element by element; `inner` is the longer axis. It takes four elements at a time: counting
// takes about as long as a load and a store.
template <class Move>
DLBRIDGE_INLINE void CopyPart(const Move& move, const PlaneAxis& outer, const PlaneAxis& inner,
                              const char* from, char* to) {
  const int64_t fours = inner.extent - inner.extent % 4;
  for (int64_t i = 0; i < outer.extent; ++i) {
    const char* source = from + i * outer.from;
    char* target = to + i * outer.to;
    const auto copy = [&](int64_t j) { move(source + j * inner.from, target + j * inner.to); };
    for (int64_t j = 0; j < fours; j += 4) {
      copy(j);
      copy(j + 1);
      copy(j + 2);
      copy(j + 3);
    }
    for (int64_t j = fours; j < inner.extent; ++j) {
      copy(j);
    }
  }
}

// Copies elements of any size at any distance. It works in blocks: if the plane crosses, the source
// lines are still in the cache for the next target row.
template <class Move>
void CopyElements(const Plane& plane, const char* from, char* to) {
  constexpr int64_t kFewColumns = 6;  // a loop over fewer takes longer than its elements
  const Move move(plane.column.to);
  const bool crosses = Crosses(plane);
  const auto copy = [&](const Part& part) {
    const PlaneAxis row = {part.rows, plane.row.from, plane.row.to};
    const PlaneAxis column = {part.columns, plane.column.from, plane.column.to};
    // In a plane that does not cross, columns are adjacent in the target and near in the source.
    const bool is_wide = part.columns >= (crosses ? part.rows : Least(part.rows, kFewColumns));
    CopyPart(move, is_wide ? row : column, is_wide ? column : row,
             SourceAt(plane, from, part.row, part.column),
             TargetAt(plane, to, part.row, part.column));
  };
  const Part whole = WholeOf(plane);
  if (whole.rows <= kBlockSide && whole.columns <= kBlockSide) {
    copy(whole);  // avoids the division, which takes as long as copying several elements
    return;
  }
  const int64_t least_rows = crosses ? Least(whole.rows, kBlockSide) : 1;
  const int64_t columns = Least(whole.columns, kBlock / least_rows);
  Cut(whole, kBlock / columns, columns, copy);
}

#if DLBRIDGE_SHUFFLES

// Prefetches lines. It computes with integers: the addresses may be past the end of the memory.
template <int kForWriting>
DLBRIDGE_INLINE void PrefetchLines(const void* from, int64_t ahead, int64_t step, int64_t lines) {
  auto line = reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>(ahead);
  for (int64_t i = 0; i < lines; ++i, line += static_cast<uintptr_t>(step)) {
    __builtin_prefetch(reinterpret_cast<const void*>(line), kForWriting);
  }
}

// Transposes planes whose rows are adjacent in the source. A tile has as many rows as a line of the
// source has elements, so that each line is used completely. It has few columns: columns whose
// distance is a power of two share the same eight ways of the first-level cache.
template <class T, bool kIsFar>
class Transposition {
  // The stride of rows in the source and of columns in the target.
  static constexpr int64_t kItem = sizeof(T);
  static constexpr int64_t kSide = 16 / kItem;  // side of a square in registers
  static constexpr int64_t kFarSide = kFarBytes / kItem;
  static constexpr int64_t kRows = kLine / kItem;
  static constexpr int64_t kColumns = kSide > 8 ? kSide : 8;

 public:
  static void Run(const Plane& plane, const char* from, char* to) {
    if constexpr (kIsFar) {
      Cut(WholeOf(plane), kFarSide, kFarSide,
          [&](const Part& block) { CopyBlock(plane, block, from, to); });
    } else {
      CopyBlock(plane, WholeOf(plane), from, to);
    }
  }

 private:
  static void CopyBlock(const Plane& plane, const Part& block, const char* from, char* to) {
    const int64_t whole = block.columns - block.columns % kColumns;
    const int64_t end = block.row + block.rows;
    int64_t row = block.row;
    for (; row + kRows <= end; row += kRows) {
      CopyStrip(SourceAt(plane, from, row, block.column), plane.column.from,
                TargetAt(plane, to, row, block.column), plane.row.to, whole);
      if (whole < block.columns) {
        CopyEdge(plane, {row, block.column + whole, kRows, block.columns - whole}, from, to);
      }
    }
    CopyEdge(plane, {row, block.column, end - row, block.columns}, from, to);
  }

  static DLBRIDGE_INLINE void CopyStrip(const char* from, int64_t from_step, char* to,
                                        int64_t to_step, int64_t columns) {
    for (int64_t c = 0; c < columns; c += kColumns) {
      const char* source = from + c * from_step;
      char* target = to + c * kItem;
      if constexpr (kIsFar) {
        PrefetchLines<0>(source, kColumns * from_step, from_step, kColumns);
        PrefetchLines<1>(target, kColumns * kItem, to_step, kRows);
      }
      CopyTile(source, from_step, target, to_step);
    }
  }
  // Not inlined, so that it can use all registers.
  static DLBRIDGE_NOINLINE void CopyTile(const char* from, int64_t from_step, char* to,
                                         int64_t to_step) {
    CopyChunks(from, from_step, to, to_step, std::make_index_sequence<kLine / 16>());
  }
  template <size_t... i>
  static DLBRIDGE_INLINE void CopyChunks(const char* from, int64_t from_step, char* to,
                                         int64_t to_step, std::index_sequence<i...> /*chunks*/) {
    (CopySquares(from + i * 16, from_step, to + static_cast<int64_t>(i) * kSide * to_step, to_step,
                 std::make_index_sequence<size_t{kColumns / kSide}>()),
     ...);
  }
  template <size_t... i>
  static DLBRIDGE_INLINE void CopySquares(const char* from, int64_t from_step, char* to,
                                          int64_t to_step, std::index_sequence<i...> /*squares*/) {
    (CopySquare(from + static_cast<int64_t>(i) * kSide * from_step, from_step, to + i * 16,
                to_step),
     ...);
  }

 public:
  // A square that would exceed the plane begins earlier: some elements are copied twice.
  static DLBRIDGE_NOINLINE void CopyEdge(const Plane& plane, const Part& part, const char* from,
                                         char* to) {
    Cut(part, kSide, kSide, [&](const Part& square) {
      const int64_t row = Least(square.row, plane.row.extent - kSide);
      const int64_t column = Least(square.column, plane.column.extent - kSide);
      CopySquare(SourceAt(plane, from, row, column), plane.column.from,
                 TargetAt(plane, to, row, column), plane.row.to);
    });
  }

 private:
  static DLBRIDGE_INLINE void CopySquare(const char* from, int64_t from_step, char* to,
                                         int64_t to_step) {
    Square<T> square;
    square.Load(from, from_step);
    square.Transpose();
    square.Store(to, to_step);
  }
};

// As Transposition, with the square tiles of wide_tile.h.
template <class T>
class WideTransposition {
  static constexpr int64_t kItem = sizeof(T);
  static constexpr int64_t kSide = kLine / kItem;
  static constexpr int64_t kFarSide = kFarBytes / kItem;

 public:
  static bool Suits(const Plane& plane) {
    return plane.row.extent >= kSide && plane.column.extent >= kSide &&
           ChooseWideTile(kItem).copy != nullptr;
  }
  static void Run(const Plane& plane, const char* from, char* to) {
    const ChosenTile tile = Choose(plane, to);
    const Blocks blocks = BlocksOf(plane, tile);
    Cut(WholeOf(plane), blocks.rows, blocks.columns,
        [&](const Part& block) { CopyBlock(plane, block, tile.copy, blocks, from, to); });
    if (tile.streams) {
      EndStreaming();
    }
  }

 private:
  // The size of blocks, and which lines of the next tile are prefetched.
  struct Blocks {
    int64_t rows;
    int64_t columns;
    bool prefetches_source;
    bool prefetches_target;
  };

  static ChosenTile Choose(const Plane& plane, const char* to) {
    if (plane.bytes >= kHuge && reinterpret_cast<uintptr_t>(to) % kLine == 0) {
      const ChosenTile streaming = ChooseStreamingTile(kItem, plane.row.to);
      if (streaming.copy != nullptr) {
        return streaming;
      }
    }
    return ChooseWideTile(kItem);
  }
  // Measured on processors with AVX2 and with AVX-512, the latter for tiles of whole lines. Where
  // these bypass the cache, it is faster to read a page of each line of the source at once, which
  // the processor prefetches.
  static Blocks BlocksOf(const Plane& plane, const ChosenTile& tile) {
    if (plane.bytes < kFar) {
      return {plane.row.extent, plane.column.extent, false, false};
    }
    if (!tile.has_whole_lines) {
      return {kFarSide, kFarSide, true, false};
    }
    if (tile.streams) {
      return {kPage / kItem, kSide, false, false};
    }
    return {kFarSide, kFarSide / 4, true, true};
  }
  static void CopyBlock(const Plane& plane, const Part& block, WideTile tile, const Blocks& blocks,
                        const char* from, char* to) {
    const int64_t rows = block.rows - block.rows % kSide;
    const int64_t columns = block.columns - block.columns % kSide;
    for (int64_t r = block.row; r < block.row + rows; r += kSide) {
      for (int64_t c = block.column; c < block.column + columns; c += kSide) {
        const char* source = SourceAt(plane, from, r, c);
        char* target = TargetAt(plane, to, r, c);
        if (blocks.prefetches_source) {
          PrefetchLines<0>(source, kSide * plane.column.from, plane.column.from, kSide);
        }
        if (blocks.prefetches_target) {
          PrefetchLines<1>(target, kLine, plane.row.to, kSide);
        }
        tile(source, plane.column.from, target, plane.row.to);
      }
    }
    const Part right = {block.row, block.column + columns, rows, block.columns - columns};
    const Part below = {block.row + rows, block.column, block.rows - rows, block.columns};
    Transposition<T, false>::CopyEdge(plane, right, from, to);
    Transposition<T, false>::CopyEdge(plane, below, from, to);
  }
};

// NULL if the plane is smaller than one square.
template <class T>
CopyPlane TransposeOf(const Plane& plane) {
  constexpr int64_t kSide = 16 / sizeof(T);
  if (WideTransposition<T>::Suits(plane)) {
    return WideTransposition<T>::Run;
  }
  if (plane.row.extent < kSide || plane.column.extent < kSide) {
    return nullptr;
  }
  return plane.bytes >= kFar ? Transposition<T, true>::Run : Transposition<T, false>::Run;
}

#endif  // DLBRIDGE_SHUFFLES

// ------------------------------------------------------------------------------- choosing

CopyPlane ElementsOf(int64_t item) {
  if (item > 16) {
    return CopyElements<MoveEnds<Bytes16>>;
  }
  if (item > 8) {
    return item == 16 ? CopyElements<MoveWhole<Bytes16>> : CopyElements<MoveEnds<uint64_t>>;
  }
  if (item > 4) {
    return item == 8 ? CopyElements<MoveWhole<uint64_t>> : CopyElements<MoveEnds<uint32_t>>;
  }
  switch (item) {
    case 4:
      return CopyElements<MoveWhole<uint32_t>>;
    case 3:
      return CopyElements<MoveEnds<uint16_t>>;
    case 2:
      return CopyElements<MoveWhole<uint16_t>>;
    default:
      return CopyElements<MoveWhole<uint8_t>>;
  }
}

#if DLBRIDGE_SHUFFLES

template <class T>
CopyPlane VectorisedFor(const Plane& plane, bool crosses) {
  constexpr auto kItem = static_cast<int64_t>(sizeof(T));
  if (crosses) {
    return Distance(plane.row.from) == kItem ? TransposeOf<T>(plane) : nullptr;
  }
  if (plane.column.from == -kItem) {
    return CopyRows<T, Reversed<T>>;
  }
  if constexpr (sizeof(T) <= 8) {
    if (plane.column.from == 2 * kItem) {
      return CopyRows<T, EverySecond<T>>;
    }
  }
  return nullptr;
}

// NULL if vectors do not help.
CopyPlane VectorisedOf(const Plane& plane, bool crosses) {
  switch (plane.column.to) {
    case 1:
      return VectorisedFor<uint8_t>(plane, crosses);
    case 2:
      return VectorisedFor<uint16_t>(plane, crosses);
    case 4:
      return VectorisedFor<uint32_t>(plane, crosses);
    case 8:
      return VectorisedFor<uint64_t>(plane, crosses);
    case 16:
      return VectorisedFor<Bytes16>(plane, crosses);
    default:
      return nullptr;
  }
}

#else

CopyPlane VectorisedOf(const Plane& /*plane*/, bool /*crosses*/) { return nullptr; }

#endif  // DLBRIDGE_SHUFFLES

}  // namespace

CopyPlane ChooseCopy(const Plane& plane) {
  if (plane.column.to >= kLeastRun) {
    return ChooseRuns(plane);
  }
  if (plane.column.from == 0) {
    return ChooseFill(plane.column.to);
  }
  const bool crosses = Crosses(plane);
  CopyPlane found = crosses ? nullptr : ChooseShortRows(plane);
  found = found != nullptr ? found : VectorisedOf(plane, crosses);
  return found != nullptr ? found : ElementsOf(plane.column.to);
}

}  // namespace dlbridge
