// SPDX-License-Identifier: Apache-2.0
#include "copy/short_rows.h"

#include <cstring>
#include <utility>

#include "copy/copy_kernels.h"

namespace dlbridge {
namespace {

template <class T, size_t... i>
DLBRIDGE_INLINE void CopyRow(const char* from, int64_t step, char* to,
                             std::index_sequence<i...> /*elements*/) {
  (std::memcpy(to + i * sizeof(T), from + static_cast<int64_t>(i) * step, sizeof(T)), ...);
}

template <class T, size_t kElements>
void CopyShortRows(const Plane& plane, const char* from, char* to) {
  for (int64_t r = 0; r < plane.row.extent; ++r) {
    CopyRow<T>(from + r * plane.row.from, plane.column.from, to + r * plane.row.to,
               std::make_index_sequence<kElements>());
  }
}

template <class T>
CopyPlane ShortRowsOf(int64_t elements) {
  switch (elements) {
    case 2:
      return CopyShortRows<T, 2>;
    case 3:
      return CopyShortRows<T, 3>;
    case 4:
      return CopyShortRows<T, 4>;
    case 5:
      return CopyShortRows<T, 5>;
    case 6:
      return CopyShortRows<T, 6>;
    case 7:
      return CopyShortRows<T, 7>;
    case 8:
      return CopyShortRows<T, 8>;
    default:
      return nullptr;
  }
}

}  // namespace

CopyPlane ChooseShortRows(const Plane& plane) {
  const int64_t elements = plane.column.extent;
  switch (plane.column.to) {
    case 1:
      return ShortRowsOf<uint8_t>(elements);
    case 2:
      return ShortRowsOf<uint16_t>(elements);
    case 4:
      return ShortRowsOf<uint32_t>(elements);
    case 8:
      return ShortRowsOf<uint64_t>(elements);
    case 16:
      return ShortRowsOf<Bytes16>(elements);
    default:
      return nullptr;
  }
}

}  // namespace dlbridge
