// SPDX-License-Identifier: Apache-2.0
// Controls of the OpenCL shim: a library loaded in place of libOpenCL.so.1 that logs every call,
// forwards it to the real library, and can make any call fail.
#ifndef DLBRIDGE_TESTS_FAKES_OPENCL_SHIM_H_
#define DLBRIDGE_TESTS_FAKES_OPENCL_SHIM_H_

#ifdef __cplusplus
extern "C" {
#endif

// Objects that calls through the shim have created or retained and not released.
struct ShimLive {
  int events;
  int queues;
  int contexts;
  int mems;
};

// The n-th call of `function` from now on returns `code`. Only a release is still forwarded.
void shim_fail(const char* function, int code, int nth);

// The n-th call of any function but a release or clSetUserEventStatus from now on returns `code`,
// and with `for_good` all later ones; 0 ends that. Writes the names of those that failed since the
// last call of this function, each followed by a space, in `size` bytes.
void shim_fail_any(int code, int nth, int for_good, char* failed, unsigned long size);

// The next event callback gets this status instead of the true one.
void shim_fail_event(int status);

// The last status that a user event was set to.
int shim_user_event_status(void);

// Clears the log and the planned failures, not the counts of live objects.
void shim_reset(void);

// True if the planned failure has happened.
int shim_failed(void);

// The calls since the last reset, separated by spaces, in `size` bytes.
void shim_calls(char* out, unsigned long size);

void shim_live(struct ShimLive* out);

#ifdef __cplusplus
}
#endif

#endif  // DLBRIDGE_TESTS_FAKES_OPENCL_SHIM_H_
