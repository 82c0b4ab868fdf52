// SPDX-License-Identifier: Apache-2.0
// The table with which a test controls the fake libamdhip64: several fakes may be loaded at once.
#ifndef DLBRIDGE_TESTS_FAKES_HIP_FAKE_HIP_H_
#define DLBRIDGE_TESTS_FAKES_HIP_FAKE_HIP_H_

#include <cstddef>
#include <cstdint>

enum FakeHipMemory : uint8_t { kFakeHost, kFakeDevice, kFakeManaged, kFakeRegistered, kFakeArray };

// Handles are those of the runtime's functions. Calls through the table are not logged, counted or
// made to fail.
struct FakeHip {
  // Call before hipInit.
  void (*set_version)(int version);
  void (*set_device_count)(int count);
  void (*set_uuids)(bool available);
  void (*reverse_devices)();  // as HIP_VISIBLE_DEVICES can
  void (*set_peer)(int device, int peer, bool accessible);

  // The nth call of `function` from now on returns `code` and does nothing; nth 0 clears all
  // planned failures.
  void (*fail)(const char* function, int code, int nth);

  // Calls since the last clear, such as "hipEventRecord(e1,s1)", separated by spaces.
  const char* (*log)();
  void (*clear_log)();

  // Violations so far, one per line. settle adds leftovers: more live events, streams or mappings
  // than given, a device of the thread other than the application's, an error of the thread.
  const char* (*violations)();
  void (*clear_violations)();
  void (*settle)(size_t events, size_t streams, size_t mappings);

  // Actions of the application.
  void (*set_device)(int device);
  int (*last_error)();
  void (*set_last_error)(int code);
  void* (*stream)(int device);
  void* (*non_blocking_stream)(int device);  // the default stream does not wait for it
  void (*destroy_stream)(void* stream);      // after its work, as the runtime does

  // Sets the state of a capture: 0 none, 1 active, 2 invalid. It is one of the calling thread, in
  // the global mode or the given one.
  void (*capture)(void* stream, int state, unsigned long long graph);
  void (*capture_in_mode)(void* stream, int mode, unsigned long long graph);
  int (*capture_state)(void* stream);
  int (*thread_mode)();
  void (*set_thread_mode)(int mode);

  // A device fault: each later call returns this code. 0 ends that.
  void (*fault)(int code);
  void (*enqueue)(void* stream, int device, void (*work)(void*), void* context);
  void (*run)(void* stream, int device);  // the device does the work of a stream
  void (*run_after_queries)();            // ... of an event, after each query

  // The CPU cannot touch device memory; `bytes` returns the address of its contents.
  void* (*allocate)(FakeHipMemory kind, int device, size_t size);
  void* (*bytes)(void* pointer);
  void (*hide_range)(void* pointer);   // hipMemGetAddressRange gives NULL for it
  void (*unshareable)(void* pointer);  // as memory of hipMemMap is
  void (*free)(void* pointer);
  size_t (*live_events)();

  // The nth call of any function from now on fails with `code`, with `for_good` all later ones too;
  // 0 ends that. Returns the names of those that failed since the last call of this function, each
  // followed by a space.
  const char* (*fail_any)(int code, int nth, bool for_good);
};

// The exported symbol that returns the table.
using FakeHipTable = const FakeHip*();
#define DLBRIDGE_FAKE_HIP_SYMBOL "fake_hip_table"

#endif  // DLBRIDGE_TESTS_FAKES_HIP_FAKE_HIP_H_
