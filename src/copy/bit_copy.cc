// SPDX-License-Identifier: Apache-2.0
#include "copy/bit_copy.h"

#include <cstring>

#include "copy/nibble_plane.h"
#include "copy/plane_copy.h"
#include "copy/vector_level.h"
#include "support/checked.h"

namespace dlbridge {
namespace {

// The number of bits that are moved at once. With up to 7 bits of an incomplete byte they fit 64
// bits, both in ReadBits and in BitWriter.
constexpr int64_t kPiece = 56;

// Reads `count` bits, at most kPiece, from bit `at`, which counts from the lowest bit of the byte
// `from` and may be negative. Only bytes with such bits are read.
uint64_t ReadBits(const unsigned char* from, Wide at, int64_t count) {
  const auto first = static_cast<int64_t>(at >> 3);
  const auto shift = static_cast<int>(at & 7);
  const auto bytes = (shift + count + 7) / 8;
  uint64_t value = 0;
  for (int64_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(from[first + i]) << (8 * i);
  }
  return (value >> shift) & ((uint64_t{1} << count) - 1);
}

// Writes bits one after the other.
class BitWriter {
 public:
  explicit BitWriter(unsigned char* to) : to_(to) {}

  bool AtByte() const { return kept_ == 0; }

  void Put(uint64_t bits, int64_t count) {
    value_ |= bits << kept_;
    kept_ += count;
    for (; kept_ >= 8; kept_ -= 8) {
      *to_++ = static_cast<unsigned char>(value_);
      value_ >>= 8;
    }
  }
  void PutBytes(const unsigned char* from, int64_t count) {
    std::memcpy(to_, from, static_cast<size_t>(count));
    to_ += count;
  }
  // Fills the current byte with zeros.
  void EndByte() {
    if (!AtByte()) {
      Put(0, 8 - kept_);
    }
  }

 private:
  unsigned char* to_;
  uint64_t value_ = 0;
  int64_t kept_ = 0;  // number of bits in `value_`, which are not yet a whole byte
};

// Copies `count` contiguous bits.
void CopyRun(const unsigned char* from, Wide at, Wide count, BitWriter* writer) {
  if ((at & 7) == 0 && writer->AtByte()) {
    const auto bytes = static_cast<int64_t>(count >> 3);
    writer->PutBytes(from + static_cast<int64_t>(at >> 3), bytes);
    at += static_cast<Wide>(bytes) * 8;
    count &= 7;
  }
  for (; count > 0; at += kPiece, count -= kPiece) {
    const auto piece = static_cast<int64_t>(count < kPiece ? count : kPiece);
    writer->Put(ReadBits(from, at, piece), piece);
  }
}

#if DLBRIDGE_SHUFFLES

// ------------------------------------------------------------------------------- parts of a byte

// The rest handles elements of 1, 2 or 4 bits, none of which crosses a byte boundary, eight at
// once.

// The lowest `bits` bits of each `lane` bits.
constexpr uint64_t EachLane(int bits, int lane) {
  uint64_t mask = (uint64_t{1} << bits) - 1;
  for (int width = lane; width < 64; width *= 2) {
    mask |= mask << width;
  }
  return mask;
}

// Moves eight packed elements to the lowest bits of eight bytes.
template <int kBits>
uint64_t Spread(uint64_t packed) {
  constexpr int kGap = 8 - kBits;
  uint64_t value = packed;
  value = (value | value << (4 * kGap)) & EachLane(4 * kBits, 32);
  value = (value | value << (2 * kGap)) & EachLane(2 * kBits, 16);
  return (value | value << kGap) & EachLane(kBits, 8);
}

// The inverse of Spread. The upper bits of the bytes are ignored.
template <int kBits>
uint64_t Pack(uint64_t spread) {
  constexpr int kGap = 8 - kBits;
  uint64_t value = spread & EachLane(kBits, 8);
  value = (value | value >> kGap) & EachLane(2 * kBits, 16);
  value = (value | value >> (2 * kGap)) & EachLane(4 * kBits, 32);
  return (value | value >> (4 * kGap)) & EachLane(8 * kBits, 64);
}

constexpr int64_t kTile = 64;  // side of a tile in elements

// One byte for each element of a tile.
struct Tile {
  alignas(64) unsigned char bytes[kTile * kTile];
};

// Transposes planes of packed elements: the fastest axis of the target crosses an axis whose
// elements are adjacent in the source. A tile is spread to whole bytes, transposed, and packed
// again.
template <int kBits>
class BitPlane {
 public:
  // `from` is the first element of the plane. The target of each row starts at a byte.
  static void Copy(const unsigned char* from, Wide at, const PlaneAxis& row,
                   const PlaneAxis& column, unsigned char* to) {
    for (int64_t r = 0; r < row.extent; r += kTile) {
      for (int64_t c = 0; c < column.extent; c += kTile) {
        const int64_t rows = Least(kTile, row.extent - r);
        const int64_t columns = Least(kTile, column.extent - c);
        Tile tile;
        Tile transposed;
        for (int64_t i = 0; i < columns; ++i) {
          const Wide first = at + (static_cast<Wide>(c + i) * column.from + r) * kBits;
          SpreadRow(from, first, rows, &tile.bytes[i * kTile]);
        }
        const Plane plane = {{rows, 1, kTile}, {columns, kTile, 1}, kTile * kTile};
        ChooseCopy(plane)(plane, reinterpret_cast<const char*>(tile.bytes),
                          reinterpret_cast<char*>(transposed.bytes));
        for (int64_t i = 0; i < rows; ++i) {
          PackRow(&transposed.bytes[i * kTile], columns, to + ((r + i) * row.to + c) * kBits / 8);
        }
      }
    }
  }

 private:
  static int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

  static void SpreadRow(const unsigned char* from, Wide at, int64_t count, unsigned char* to) {
    if ((at & 7) == 0) {
      const unsigned char* source = from + static_cast<int64_t>(at >> 3);
      for (; count >= 8; count -= 8, source += kBits, to += 8, at += Wide{8} * kBits) {
        const uint64_t bytes = Spread<kBits>(LoadEight(source));
        std::memcpy(to, &bytes, 8);
      }
    }
    for (; count > 0; count -= 8, to += 8, at += Wide{8} * kBits) {
      const uint64_t bytes = Spread<kBits>(ReadBits(from, at, Least(count, 8) * kBits));
      std::memcpy(to, &bytes, 8);
    }
  }
  // Loads eight packed elements. Reads no byte after them.
  static uint64_t LoadEight(const unsigned char* from) {
    uint64_t value = 0;
    for (int i = 0; i < kBits; ++i) {
      value |= static_cast<uint64_t>(from[i]) << (8 * i);
    }
    return value;
  }
  // Packs `count` elements, which fill whole bytes.
  static void PackRow(const unsigned char* from, int64_t count, unsigned char* to) {
    for (; count > 0; count -= 8, from += 8) {
      uint64_t bytes = 0;
      std::memcpy(&bytes, from, 8);
      uint64_t packed = Pack<kBits>(bytes);
      for (int64_t end = Least(count, 8) * kBits; end > 0; end -= 8, packed >>= 8) {
        *to++ = static_cast<unsigned char>(packed);
      }
    }
  }
};

// The plane's bits are moved by 64-bit words whose lowest byte comes first in memory.
constexpr bool kLittleEndian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

// The axis of the source whose elements are adjacent, if transposing its plane is faster than
// copying bit by bit; -1 if not.
int TransposedAxis(const StridedCopy& copy, const Walk& walk) {
  const auto bits = static_cast<int64_t>(copy.element_bits);
  const bool packed = copy.from_item_bits == bits && copy.to_item_bits == bits;
  const bool fits_bytes = bits == 1 || bits == 2 || bits == 4;
  if (!kLittleEndian || !packed || !fits_bytes || walk.axes < 2 || walk.last_extent() % 8 != 0 ||
      walk.last_stride() == 1) {
    return -1;
  }
  for (int i = walk.axes - 2; i >= 0; --i) {
    if (walk.stride[i] == 1 && walk.extent[i] >= 8) {
      return i;
    }
  }
  return -1;
}

template <int kBits>
void CopyOnePlane(const unsigned char* from, Wide at, const PlaneAxis& row, const PlaneAxis& column,
                  unsigned char* to) {
  if (kBits == 4 && (at & 7) == 0 && column.from % 2 == 0) {
    CopyNibblePlane(from + static_cast<int64_t>(at >> 3), row, column, to);
  } else {
    BitPlane<kBits>::Copy(from, at, row, column, to);
  }
}

template <int kBits>
void CopyPlanes(const StridedCopy& copy, const Walk& walk, int row_axis) {
  const auto* from = static_cast<const unsigned char*>(copy.from);
  auto* to = static_cast<unsigned char*>(copy.to);
  const PlaneAxis column = {walk.last_extent(), walk.last_stride(), 1};
  PlaneAxis row = {walk.extent[row_axis], 1, 1};
  Walk outer;
  outer.axes = 0;
  int64_t to_stride[kMaxWalkAxes];
  for (int i = 0; i + 1 < walk.axes; ++i) {
    int64_t step = 1;
    for (int inner = i + 1; inner < walk.axes; ++inner) {
      step *= walk.extent[inner];
    }
    if (i == row_axis) {
      row.to = step;
      continue;
    }
    outer.extent[outer.axes] = walk.extent[i];
    outer.stride[outer.axes] = walk.stride[i];
    to_stride[outer.axes++] = step;
  }
  Walk target = outer;
  for (int i = 0; i < outer.axes; ++i) {
    target.stride[i] = to_stride[i];
  }
  Steps steps(outer, outer.axes);
  Steps target_steps(target, outer.axes);
  do {
    CopyOnePlane<kBits>(from, static_cast<Wide>(steps.offset()) * kBits, row, column,
                        to + target_steps.offset() * kBits / 8);
    target_steps.Next();
  } while (steps.Next());
}

bool CopyTransposed(const StridedCopy& copy, const Walk& walk) {
  const int row_axis = TransposedAxis(copy, walk);
  if (row_axis < 0) {
    return false;
  }
  switch (copy.element_bits) {
    case 1:
      CopyPlanes<1>(copy, walk, row_axis);
      return true;
    case 2:
      CopyPlanes<2>(copy, walk, row_axis);
      return true;
    default:
      CopyPlanes<4>(copy, walk, row_axis);
      return true;
  }
}

// Copies a row of elements none of which crosses a byte boundary of the source.
void CopySmallRow(const unsigned char* from, Wide at, int64_t step, int64_t count, uint32_t bits,
                  uint32_t to_bits, BitWriter* writer) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  from += static_cast<int64_t>(at >> 3);
  auto bit = static_cast<int64_t>(at & 7);
  while (count > 0) {
    const int64_t part = count < 7 ? count : 7;  // at most 56 bits
    uint64_t word = 0;
    for (int64_t i = 0; i < part; ++i, bit += step) {
      word |= (from[bit >> 3] >> (bit & 7) & mask) << (i * to_bits);
    }
    writer->Put(word, part * to_bits);
    count -= part;
  }
}

// Returns false if an element may cross a byte boundary of the source, or if elements form runs.
bool CopySmall(const StridedCopy& copy, const Walk& walk) {
  if (8 % copy.from_item_bits != 0 || copy.to_item_bits > 8 || walk.axes == 0) {
    return false;
  }
  const auto* from = static_cast<const unsigned char*>(copy.from);
  const int64_t step = walk.last_stride() * copy.from_item_bits;
  BitWriter writer(static_cast<unsigned char*>(copy.to));
  Steps steps(walk, walk.axes - 1);
  do {
    CopySmallRow(from, static_cast<Wide>(steps.offset()) * copy.from_item_bits, step,
                 walk.last_extent(), copy.element_bits, copy.to_item_bits, &writer);
  } while (steps.Next());
  writer.EndByte();
  return true;
}

#endif  // DLBRIDGE_SHUFFLES

}  // namespace

void CopyBits(const StridedCopy& copy, const Walk& walk) {
  const auto* from = static_cast<const unsigned char*>(copy.from);
  const bool pads = copy.to_item_bits != copy.element_bits;
  const bool runs = !pads && copy.from_item_bits == copy.element_bits && RunOf(walk) > 1;
#if DLBRIDGE_SHUFFLES
  if (CopyTransposed(copy, walk) || (!runs && CopySmall(copy, walk))) {
    return;
  }
#endif
  const Wide length = static_cast<Wide>(runs ? RunOf(walk) : 1) * copy.element_bits;
  BitWriter writer(static_cast<unsigned char*>(copy.to));
  Steps steps(walk, runs ? walk.axes - 1 : walk.axes);
  do {
    CopyRun(from, static_cast<Wide>(steps.offset()) * copy.from_item_bits, length, &writer);
    if (pads) {
      writer.EndByte();
    }
  } while (steps.Next());
  writer.EndByte();
}

}  // namespace dlbridge
