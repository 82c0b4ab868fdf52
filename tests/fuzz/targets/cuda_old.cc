// SPDX-License-Identifier: Apache-2.0
// The program of cuda.cc on an older driver, which lacks ids of contexts and of captures, pools and
// chunks of memory that processes share.
#define FAKE_CUDA_OLD
#include "fuzz/targets/cuda.cc"  // NOLINT(bugprone-suspicious-include): one program on two drivers
