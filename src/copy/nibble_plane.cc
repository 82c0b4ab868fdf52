// SPDX-License-Identifier: Apache-2.0
// Two lines of the source give two lines of bytes: one has the lower halves of both, the other the
// upper halves. Each is a column of whole bytes in the target, so that the rest is the
// transposition of bytes.
#include "copy/nibble_plane.h"

#include <cstring>

#include "copy/vector_level.h"
#include "support/checked.h"

#if DLBRIDGE_SHUFFLES

namespace dlbridge {
namespace {

constexpr int64_t kPairs = 64;  // pairs of lines of a tile
constexpr uint64_t kLower = 0x0f0f0f0f0f0f0f0f;

// The halves of a tile: a line of bytes for each pair of lines of the source.
struct Halves {
  alignas(kLine) char lower[kPairs * kLine];
  alignas(kLine) char upper[kPairs * kLine];
};

int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

// Works for both byte orders, because no bit leaves its byte.
DLBRIDGE_INLINE void Pair(uint64_t even, uint64_t odd, char* lower, char* upper) {
  const uint64_t low = (even & kLower) | (odd & kLower) << 4;
  const uint64_t high = (even >> 4 & kLower) | (odd & ~kLower);
  std::memcpy(lower, &low, sizeof low);
  std::memcpy(upper, &high, sizeof high);
}

void PairLine(const unsigned char* even, const unsigned char* odd, int64_t bytes, char* lower,
              char* upper) {
  constexpr int64_t kWord = sizeof(uint64_t);
  for (int64_t i = 0; i < bytes; i += kWord) {
    const auto count = static_cast<size_t>(Least(kWord, bytes - i));
    uint64_t words[2] = {};
    if (count == sizeof(uint64_t)) {
      std::memcpy(&words[0], even + i, sizeof(uint64_t));
      std::memcpy(&words[1], odd + i, sizeof(uint64_t));
    } else {
      std::memcpy(&words[0], even + i, count);
      std::memcpy(&words[1], odd + i, count);
    }
    Pair(words[0], words[1], lower + i, upper + i);
  }
}

// Writes every second row of the target, `rows` in all, from a half of a tile.
void PlaceHalf(const char* half, int64_t rows, int64_t pairs, int64_t to_step, unsigned char* to) {
  if (rows > 0) {
    const Plane plane = {{rows, 1, to_step}, {pairs, kLine, 1}, kPairs * kLine};
    ChooseCopy(plane)(plane, half, reinterpret_cast<char*>(to));
  }
}

}  // namespace

void CopyNibblePlane(const unsigned char* from, const PlaneAxis& row, const PlaneAxis& column,
                     unsigned char* to) {
  const int64_t from_step = column.from / 2;  // between lines, in bytes
  const int64_t to_step = row.to / 2;
  Halves halves;
  for (int64_t r = 0; r < row.extent; r += 2 * kLine) {
    const int64_t rows = Least(2 * kLine, row.extent - r);
    const int64_t bytes = (rows + 1) / 2;
    for (int64_t c = 0; c < column.extent; c += 2 * kPairs) {
      const int64_t pairs = Least(2 * kPairs, column.extent - c) / 2;
      for (int64_t i = 0; i < pairs; ++i) {
        const unsigned char* even = from + ((c + 2 * i) * from_step + r / 2);
        PairLine(even, even + from_step, bytes, &halves.lower[i * kLine], &halves.upper[i * kLine]);
      }
      unsigned char* target = to + (r * to_step + c / 2);
      PlaceHalf(halves.lower, bytes, pairs, 2 * to_step, target);
      PlaceHalf(halves.upper, rows / 2, pairs, 2 * to_step, target + to_step);
    }
  }
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SHUFFLES
