// SPDX-License-Identifier: Apache-2.0
// Copies of small groups of bytes at a constant distance, by byte shuffles.
//
// A group is a few adjacent bytes of the target, in any order in the source: the channels of a
// pixel, or one element of a row with a step. A vector of the target has several groups; each of
// its bytes is in one of a few vectors (windows) of the source. The positions are the same for each
// vector of a row, so they are computed once.
#ifndef DLBRIDGE_SRC_COPY_BYTE_SHUFFLE_H_
#define DLBRIDGE_SRC_COPY_BYTE_SHUFFLE_H_

#include <cstdint>

#include "copy/plane_copy.h"
#include "copy/vector_level.h"

namespace dlbridge {

constexpr int kMaxVector = 64;   // bytes of the widest vector
constexpr int kMaxWindows = 16;  // of the source, for one vector of the target
constexpr int kMaxJoined = 4;    // windows that are joined before the shuffle
constexpr int kMaxJoinedWidth = 32;

constexpr int kMaxGroupAxes = 6;  // of extents from 2 on, in less than kMaxVector elements

// A few axes whose elements are adjacent in the target.
struct Group {
  int64_t item;   // bytes of an element
  int64_t bytes;  // of the group
  int axes;
  PlaneAxis axis[kMaxGroupAxes];
};

// A row of groups, which are adjacent in the target.
struct GroupRow {
  int64_t extent;  // number of groups
  int64_t from;    // bytes from one group to the next in the source
};

struct Shuffle {
  int64_t groups;     // of a vector
  int64_t from_step;  // bytes from one vector to the next in the source
  int64_t to_step;    // and in the target, where a vector writes so many bytes
  int64_t reach;      // the end of the highest window, from the first group
  int64_t width;      // bytes of a window: 16, 32 or 64
  int windows;
  int64_t offset[kMaxWindows];  // of the windows, from the first group
  uint8_t length[kMaxWindows];  // bytes of the windows up to the last one that is used
  uint64_t used[kMaxWindows];   // bytes of the target that come from the window
  // For each byte of the target its place in the window; 0x80 if the window does not have it.
  alignas(kMaxVector) uint8_t place[kMaxWindows][kMaxVector];
  // True if no two bytes of the target have the same place, even in different windows: the windows
  // are joined first, and one shuffle puts all bytes in order.
  bool is_joined;
  uint8_t joined_place[kMaxJoinedWidth];
  uint8_t taken[kMaxJoined][kMaxJoinedWidth];  // 0xff where a byte of the window is used, else 0
};

// The bytes of a vector; 0 if the processor has no byte shuffles. `grain` is the bitwise or of the
// size of an element and of all distances in the source: a power of 2 divides it if it divides all.
int64_t ShuffleWidth(int64_t grain);

// Returns false if shuffles are not faster than copying the elements one by one.
bool PlanShuffle(const Group& group, const GroupRow& row, int64_t width, Shuffle* out);

// Copies rows of `count` groups, at least `shuffle.groups`. Reads no byte at or after `source_end`,
// and in each row only from the first to the last byte of its groups.
void RunShuffle(const Shuffle& shuffle, const PlaneAxis& rows, int64_t count, const char* from,
                char* to, const char* source_end);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_BYTE_SHUFFLE_H_
