// SPDX-License-Identifier: Apache-2.0
#include "copy/bit_copy.h"

#include <cstring>

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

}  // namespace

void CopyBits(const StridedCopy& copy, const Walk& walk) {
  const auto* from = static_cast<const unsigned char*>(copy.from);
  const bool pads = copy.to_item_bits != copy.element_bits;
  const bool runs = !pads && copy.from_item_bits == copy.element_bits && RunOf(walk) > 1;
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
