// SPDX-License-Identifier: Apache-2.0
// Controls of the OpenCL shim: a library that stands before the real libOpenCL.so.1, passes every
// call on, writes it down, and can have any of them fail.
#ifndef DLBRIDGE_TESTS_FAKES_OPENCL_SHIM_H_
#define DLBRIDGE_TESTS_FAKES_OPENCL_SHIM_H_

#ifdef __cplusplus
extern "C" {
#endif

// Objects that the calls through the shim have made or retained and not released.
struct ShimLive {
  int events;
  int queues;
  int contexts;
  int mems;  // retained, not made
};

// The n-th call from now on of `function` returns `code`, and is not passed on unless it releases.
void shim_fail(const char* function, int code, int nth);

// The next callback of an event is told this status instead of the true one.
void shim_fail_event(int status);

// What a user event was last set to.
int shim_user_event_status(void);

// Forgets the calls and the planned failures, not what is live.
void shim_reset(void);

// Was the planned failure met?
int shim_failed(void);

// The calls since the last reset, separated by spaces, in `size` bytes.
void shim_calls(char* out, unsigned long size);

void shim_live(struct ShimLive* out);

#ifdef __cplusplus
}
#endif

#endif  // DLBRIDGE_TESTS_FAKES_OPENCL_SHIM_H_
