// SPDX-License-Identifier: Apache-2.0
// The layout of a tensor as a picture in the terminal.
#ifndef DLBRIDGE_TOOL_SRC_PICTURE_H_
#define DLBRIDGE_TOOL_SRC_PICTURE_H_

#include "page.h"
#include "tensor.h"

namespace dlbridge::tool {

void DrawLayout(const Tensor& tensor, const DLBridgeLayout& layout, Page* page);

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_PICTURE_H_
