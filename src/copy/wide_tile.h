// SPDX-License-Identifier: Apache-2.0
// The transposition of tiles of 64 by 64 bytes and of lattices with vectors of 32 and 64 bytes.
#ifndef DLBRIDGE_SRC_COPY_WIDE_TILE_H_
#define DLBRIDGE_SRC_COPY_WIDE_TILE_H_

#include <cstdint>

#include "copy/lattice.h"

namespace dlbridge {

// Transposes a tile: as many lines as a line has elements. The steps are between lines, in bytes.
using WideTile = void (*)(const char* from, int64_t from_step, char* to, int64_t to_step);

struct ChosenTile {
  WideTile copy;         // NULL: there is none
  bool has_whole_lines;  // its vectors have 64 bytes
  bool streams;
};

// The kernel for elements of `item` bytes, if this processor and this size have one.
ChosenTile ChooseWideTile(int64_t item);

// As ChooseWideTile, with stores that bypass the cache, if these are faster for target lines
// `to_step` bytes apart. The lines must be aligned to 64 bytes, and EndStreaming of stream_copy.h
// must be called at the end.
ChosenTile ChooseStreamingTile(int64_t item, int64_t to_step);

struct WideLattice {
  CopyLattice copy;      // NULL: there is none
  bool has_whole_lines;  // its vectors have 64 bytes
};

// The kernel for lattices of `columns` columns with elements of `item` bytes, if this processor and
// this size have one.
WideLattice ChooseWideLattice(int64_t item, int64_t columns);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_WIDE_TILE_H_
