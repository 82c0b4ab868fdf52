// SPDX-License-Identifier: Apache-2.0
#include "copy/short_rows.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "copy/copy_kernels.h"

namespace dlbridge {
namespace {

// Only elements of 8 bytes: byte shuffles copy short rows of smaller ones, and for 16 bytes a move
// takes longer than the counting of a loop, so that unrolling gains nothing.
constexpr size_t kItem = 8;

template <size_t... i>
DLBRIDGE_INLINE void CopyRow(const char* from, int64_t step, char* to,
                             std::index_sequence<i...> /*elements*/) {
  (std::memcpy(to + i * kItem, from + static_cast<int64_t>(i) * step, kItem), ...);
}

template <size_t kElements>
void CopyShortRows(const Plane& plane, const char* from, char* to) {
  for (int64_t r = 0; r < plane.row.extent; ++r) {
    CopyRow(from + r * plane.row.from, plane.column.from, to + r * plane.row.to,
            std::make_index_sequence<kElements>());
  }
}

}  // namespace

CopyPlane ChooseShortRows(const Plane& plane) {
  switch (plane.column.to == static_cast<int64_t>(kItem) ? plane.column.extent : 0) {
    case 2:
      return CopyShortRows<2>;
    case 3:
      return CopyShortRows<3>;
    case 4:
      return CopyShortRows<4>;
    case 5:
      return CopyShortRows<5>;
    case 6:
      return CopyShortRows<6>;
    case 7:
      return CopyShortRows<7>;
    case 8:
      return CopyShortRows<8>;
    default:
      return nullptr;
  }
}

}  // namespace dlbridge
