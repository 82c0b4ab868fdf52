// SPDX-License-Identifier: Apache-2.0
// What Go calls. Arrays are handles, which cross as integers.
#ifndef DLBRIDGE_GO_CONFORMANCE_BRIDGE_H_
#define DLBRIDGE_GO_CONFORMANCE_BRIDGE_H_

#include <dlbridge/conformance.h>
#include <stdint.h>

// Settings and features without pointers to Go memory; the texts are C memory.
typedef struct godlc_run {
  const char* name;
  const char* only;
  const char* tap_path;
  const char* junit_path;
  const char* quirks_path;
  const char* const* command;
  const DLDataType* dtypes;
  size_t dtype_count;
  uintptr_t user;
  uint32_t rounds;
  uint32_t time_limit_ms;
  uint32_t unsupported;
  uint32_t isolation;
  DLDevice queue_device;
  int32_t writes;
  int32_t counts;
  int32_t collects;
  int32_t exchanges;
} godlc_run;

// Runs the checks; results go to godlcReport. The message is empty on success.
DLBridgeStatus godlc_start(const godlc_run* run, DLBridgeConformanceSummary* out, char* message);

// Appends work that calls godlcWork with the handle.
int32_t godlc_submit(DLBridgeConformanceQueue* queue, uintptr_t work);

static inline void* godlc_object(uintptr_t handle) { return (void*)handle; }

#endif  // DLBRIDGE_GO_CONFORMANCE_BRIDGE_H_
