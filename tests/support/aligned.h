// SPDX-License-Identifier: Apache-2.0
// Aligned memory for tests, on every system, without bytes beyond the requested size.
#ifndef DLBRIDGE_TESTS_SUPPORT_ALIGNED_H_
#define DLBRIDGE_TESTS_SUPPORT_ALIGNED_H_

#include <cstddef>

#include "../../src/support/memory.h"

namespace dlbridge_test {

using dlbridge::AllocateAligned;
using dlbridge::FreeAligned;

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_ALIGNED_H_
