// SPDX-License-Identifier: Apache-2.0
// The functions with which a test controls and inspects the fake Level Zero driver.
//
// Environment, read by the first zeInit:
//   FAKE_ZE_DRIVERS, FAKE_ZE_DEVICES, FAKE_ZE_SUBDEVICES  numbers (2, 2 per driver, 2 per device)
//   FAKE_ZE_TABLE=driver   as in Intel's driver: any context of a driver knows all its memory, and
//                          *phDevice is not written for unknown memory (else: a context knows only
//                          its own memory, and garbage is written)
//   FAKE_ZE_IPC            fd (default): a handle begins with a descriptor; process: it also names
//                          the process that holds the descriptor; bytes: it is opaque
//   FAKE_ZE_PEERS          comma-separated pairs like 0>1: the first root device of each driver can
//                          access memory of the second one (else: no device can access another's)
//   FAKE_ZE_LACKS          comma-separated names of functions that the driver lacks
//   FAKE_ZE_INIT           result of zeInit, such as 0x78000001
#ifndef DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_CONTROL_H_
#define DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_CONTROL_H_

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>

#define FAKE_ZE_CONTROLS(X)                                                                    \
  /* The n-th call from now (1: the next) of a function (NULL: any) does nothing and returns   \
     `result`. n of 0 cancels it. */                                                           \
  X(void, fake_ze_fail, (const char* function, uint32_t result, uint32_t n))                   \
  /* The n-th call of any function and all later ones fail; 0 ends that. */                    \
  X(void, fake_ze_fail_all, (uint32_t result, uint32_t n))                                     \
  /* Names of the functions whose planned failure has happened since the last query, each      \
     followed by a space; clears them. */                                                      \
  X(size_t, fake_ze_failed, (char* names, size_t size))                                        \
  /* The device hangs and is reset: work that has not run never runs, and every call but       \
     zeContextDestroy returns ZE_RESULT_ERROR_DEVICE_LOST. 0 ends that. */                     \
  X(void, fake_ze_lose, (uint32_t lost))                                                       \
  /* The number of violations and the text of the first; clears them. */                       \
  X(size_t, fake_ze_violations, (char* first, size_t size))                                    \
  /* Calls since the last query, comma-separated; clears them. */                              \
  X(size_t, fake_ze_log, (char* names, size_t size))                                           \
  /* Number of live objects of a kind: "context", "queue", "list", "pool", "event", "memory",  \
   * "ipc". */                                                                                 \
  X(size_t, fake_ze_live, (const char* kind))                                                  \
  /* The next call of a function stops inside until it is released. */                         \
  X(void, fake_ze_stall, (const char* function))                                               \
  X(void, fake_ze_await_stalled, ())                                                           \
  X(void, fake_ze_release_stalled, ())                                                         \
  /* Functions of newer drivers, which the tables of 1.4 lack. */                              \
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
