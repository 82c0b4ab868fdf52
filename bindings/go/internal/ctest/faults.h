// SPDX-License-Identifier: Apache-2.0
// The functions of tests/faults/hooks.h, in a library that the tests load.
#ifndef DLBRIDGE_GO_CTEST_FAULTS_H_
#define DLBRIDGE_GO_CTEST_FAULTS_H_

#include <stdint.h>

// Hooks the calls of the library at `path`. Returns how many functions are hooked; 0: it cannot be
// loaded.
int ctest_faults_load(const char* path);
void ctest_faults_arm(int64_t nth, int forever);
int64_t ctest_faults_disarm(void);
// Blocks and mappings that the library holds.
void ctest_faults_live(int64_t out[2]);

#endif  // DLBRIDGE_GO_CTEST_FAULTS_H_
