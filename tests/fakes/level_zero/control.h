// SPDX-License-Identifier: Apache-2.0
// How a test steers the fake Level Zero driver and asks what it saw.
//
// The environment, read by the first zeInit:
//   FAKE_ZE_DRIVERS, FAKE_ZE_DEVICES, FAKE_ZE_SUBDEVICES  how many (2, 2 of each, 2 of each)
//   FAKE_ZE_TABLE=driver   any context of a driver knows its memory, and *phDevice stays unwritten
//                          for memory that is unknown, as in Intel's driver (else: each context its
//                          own, and rubbish is written)
//   FAKE_ZE_IPC            fd: a handle begins with a descriptor; process: and tells the process to
//                          fetch it from; bytes: a handle is but bytes (fd)
//   FAKE_ZE_LACKS          names of functions, with commas, that the driver does not have
//   FAKE_ZE_INIT           what zeInit returns, such as 0x78000001
#ifndef DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_CONTROL_H_
#define DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_CONTROL_H_

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>

#define FAKE_ZE_CONTROLS(X)                                                                    \
  /* The n-th call from now (1: the next) of a function, or of any (NULL), does nothing and    \
     returns `result`. n of 0: none does. */                                                   \
  X(void, fake_ze_fail, (const char* function, uint32_t result, uint32_t n))                   \
  /* Rules that were broken, and the first of them; forgets them. */                           \
  X(size_t, fake_ze_violations, (char* first, size_t size))                                    \
  /* Calls since the last time, with commas; forgets them. */                                  \
  X(size_t, fake_ze_log, (char* names, size_t size))                                           \
  /* Objects that are alive: "context", "queue", "list", "pool", "event", "memory", "ipc". */  \
  X(size_t, fake_ze_live, (const char* kind))                                                  \
  /* The next call of a function stops inside until it is released. */                         \
  X(void, fake_ze_stall, (const char* function))                                               \
  X(void, fake_ze_await_stalled, ())                                                           \
  X(void, fake_ze_release_stalled, ())                                                         \
  /* What newer drivers have and the tables of 1.4 have no room for. */                        \
  X(ze_result_t, fake_ze_list_synchronize, (ze_command_list_handle_t list, uint64_t timeout))  \
  X(ze_result_t, fake_ze_queue_ordinal, (ze_command_queue_handle_t queue, uint32_t * ordinal)) \
  X(ze_result_t, fake_ze_put_ipc, (ze_context_handle_t context, ze_ipc_mem_handle_t handle))   \
  X(ze_context_handle_t, fake_ze_default_context, (ze_driver_handle_t driver))

extern "C" {
#define FAKE_ZE_DECLARE(result, name, parameters) \
  __attribute__((visibility("default"))) result name parameters;
FAKE_ZE_CONTROLS(FAKE_ZE_DECLARE)
#undef FAKE_ZE_DECLARE
}

#endif  // DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_CONTROL_H_
