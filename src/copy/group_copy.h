// SPDX-License-Identifier: Apache-2.0
// Copies layouts whose fastest axes are short or have a step: channels of pixels, every n-th
// element, reversed rows.
#ifndef DLBRIDGE_SRC_COPY_GROUP_COPY_H_
#define DLBRIDGE_SRC_COPY_GROUP_COPY_H_

#include "copy/axes.h"

namespace dlbridge {

// Returns false, without a change, if byte shuffles do not suit the layout. At least one axis must
// be left in `axes`.
bool CopyGroups(Axes* axes, const char* from, char* to);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_GROUP_COPY_H_
