// SPDX-License-Identifier: Apache-2.0
// What a test says to the fake libamdhip64, through one table: several fakes may be loaded at once.
#ifndef DLBRIDGE_TESTS_FAKES_HIP_FAKE_HIP_H_
#define DLBRIDGE_TESTS_FAKES_HIP_FAKE_HIP_H_

#include <cstddef>
#include <cstdint>

enum FakeHipMemory : uint8_t { kFakeHost, kFakeDevice, kFakeManaged, kFakeRegistered, kFakeArray };

// A handle is what the runtime's functions take. Nothing here is logged, counted or made to fail.
struct FakeHip {
  // Before the start.
  void (*set_version)(int version);
  void (*set_device_count)(int count);
  void (*set_uuids)(bool available);
  void (*reverse_devices)();  // as HIP_VISIBLE_DEVICES may

  // The nth call of `function` from now on returns `code` and does nothing; 0: all that was planned
  // so is forgotten.
  void (*fail)(const char* function, int code, int nth);

  // Calls since the last clear, each as "hipEventRecord(e1,s1)", with a blank between two.
  const char* (*log)();
  void (*clear_log)();

  // What was refused, one per line; settle adds what is left behind: more live events, streams or
  // mappings than that, a thread's device other than the application's, an error of the thread.
  const char* (*violations)();
  void (*clear_violations)();
  void (*settle)(size_t events, size_t streams, size_t mappings);

  // The application.
  void (*set_device)(int device);
  int (*last_error)();
  void (*set_last_error)(int code);
  void* (*stream)(int device);
  void (*destroy_stream)(void* stream);
  void (*capture)(void* stream, int state,
                  unsigned long long graph);  // 0 none, 1 active, 2 invalid
  int (*capture_state)(void* stream);
  void (*enqueue)(void* stream, int device, void (*work)(void*), void* context);

  // Memory: device memory cannot be touched by the CPU; `bytes` is where its contents are.
  void* (*allocate)(FakeHipMemory kind, int device, size_t size);
  void* (*bytes)(void* pointer);
  void (*hide_range)(void* pointer);  // hipMemGetAddressRange gives NULL for it
  void (*free)(void* pointer);
  size_t (*live_events)();
};

// The one symbol of the table.
using FakeHipTable = const FakeHip*();
#define DLBRIDGE_FAKE_HIP_SYMBOL "fake_hip_table"

#endif  // DLBRIDGE_TESTS_FAKES_HIP_FAKE_HIP_H_
