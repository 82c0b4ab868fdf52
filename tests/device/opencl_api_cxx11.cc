// SPDX-License-Identifier: Apache-2.0
// The typed veneer in C++11: the same program.
// NOLINTNEXTLINE(bugprone-suspicious-include)
#include "opencl_api_c99.c"
