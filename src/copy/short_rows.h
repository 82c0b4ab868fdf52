// SPDX-License-Identifier: Apache-2.0
// The copy of planes whose rows have few elements: counting them takes longer than moving them.
#ifndef DLBRIDGE_SRC_COPY_SHORT_ROWS_H_
#define DLBRIDGE_SRC_COPY_SHORT_ROWS_H_

#include "copy/plane_copy.h"

namespace dlbridge {

// For planes that do not cross. NULL for long rows, and for elements of another size than 8 bytes.
CopyPlane ChooseShortRows(const Plane& plane);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_SHORT_ROWS_H_
