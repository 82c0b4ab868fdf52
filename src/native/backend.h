// SPDX-License-Identifier: Apache-2.0
// The one interface of all drivers, and what finds and starts them.
//
// A backend is a table of functions. Nothing of it is called before `start` was, once and alone,
// and had returned DLBRIDGE_STATE_READY. No lock of the library's is held meanwhile, but for
// `start`.
#ifndef DLBRIDGE_SRC_NATIVE_BACKEND_H_
#define DLBRIDGE_SRC_NATIVE_BACKEND_H_

#include <atomic>
#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "native/fork.h"
#include "support/checked.h"

namespace dlbridge {

// Bytes that a driver copies at once: planes of rows of contiguous bytes. Pitches are in bytes and
// not smaller than what they step over; that of rows is below 2^31, that of planes so many times
// that of rows at most, and those of a single row or plane are 0. Offsets count from the handle of
// each side and wrap around, as addresses do.
struct CopyBox {
  uint64_t bytes;  // of a row
  uint64_t rows;
  uint64_t planes;
  uint64_t from_offset;
  uint64_t from_row_pitch;
  uint64_t from_plane_pitch;
  uint64_t to_offset;
  uint64_t to_row_pitch;
  uint64_t to_plane_pitch;
};

// One side of a copy.
struct CopySide {
  bool on_host;  // an address that the CPU may use; else memory of the job's backend
  DLDevice device;
  DLBridgeBuffer buffer;
};

// A copy in progress. `state` is the backend's own.
struct CopyJob {
  CopySide from;
  CopySide to;
  DLBridgeStream stream;  // kind 0: the backend chooses
  bool rows_alone;        // set by copy_begin: a rectangle takes a call for each of its rows
  uint64_t state[6];
};

// File descriptors that go with one export at most.
constexpr uint32_t kMaxIpcFds = 4;

// What another process needs to find memory of a device.
struct IpcHandle {
  uint8_t bytes[256];  // of the driver, the identity of the device among them
  uint32_t length;
  uint64_t offset;  // of the address from the start of what the handle stands for
  uint64_t size;    // bytes of that
  int32_t fds[kMaxIpcFds];
  uint32_t fd_count;
};

// Memory of another process, mapped here.
struct IpcMapping {
  DLBridgeBuffer buffer;  // at its start
  DLDevice device;
  uint64_t size;
  uint64_t state[2];
};

struct Backend {
  DLBridgeBackend id;
  const char* name;

  // Loads the driver and initialises it. Fills all of `info` but struct_size and backend (which are
  // set, the rest is zero) and returns the state.
  int32_t (*start)(DLBridgeBackendInfo* info);

  // Fills `*out` (zeroed, native_device -1) for memory that the driver knows; else leaves
  // `out->memory` 0 and returns DLBRIDGE_OK. `label` says nothing where it is kDLCPU.
  DLBridgeStatus (*pointer_info)(const DLBridgeBuffer& buffer, DLDevice label,
                                 DLBridgePointerInfo* out, DLBridgeError* error);

  // Enters the driver's devices of this DLPack type into the table of the process.
  DLBridgeStatus (*enumerate)(int32_t device_type, DLBridgeError* error);

  // Both streams are of this backend, of kind QUEUE or IMMEDIATE_LIST, and differ.
  DLBridgeStatus (*handoff)(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                            uint32_t options, DLBridgeError* error);
  DLBridgeStatus (*synchronize)(const DLBridgeStream& stream, DLBridgeError* error);

  // begin, any number of boxes, finish. finish follows each begin that succeeded, waits for what
  // was enqueued even where a box failed, and returns the first failure of its own.
  DLBridgeStatus (*copy_begin)(CopyJob* job, DLBridgeError* error);
  DLBridgeStatus (*copy_box)(CopyJob* job, const CopyBox& box, DLBridgeError* error);
  DLBridgeStatus (*copy_finish)(CopyJob* job, DLBridgeError* error);

  // OpenCL only, else NULL. check: is the handle a buffer, of buffer.context where that is given?
  DLBridgeStatus (*check_handle)(const DLBridgeBuffer& buffer, DLBridgeError* error);
  DLBridgeStatus (*retain_handle)(const DLBridgeBuffer& buffer, DLBridgeError* error);
  void (*release_handle)(const DLBridgeBuffer& buffer);

  // NULL where the driver shares no memory between processes. `address` may lie inside an
  // allocation. The file descriptors of an export are the caller's; an import leaves them with it.
  DLBridgeStatus (*ipc_export)(const DLBridgeBuffer& buffer, DLDevice label, IpcHandle* out,
                               DLBridgeError* error);
  DLBridgeStatus (*ipc_import)(const IpcHandle& handle, DLDevice label, IpcMapping* out,
                               DLBridgeError* error);
  void (*ipc_close)(const IpcMapping& mapping);
};

// Each is a constant expression in its own file.
extern const Backend kCpuBackend;
extern const Backend kCudaBackend;
extern const Backend kHipBackend;
extern const Backend kLevelZeroBackend;
extern const Backend kOpenClBackend;

// The backend of an id, or NULL.
const Backend* FindBackend(DLBridgeBackend id);

// The backends that a DLPack device type can belong to, in the order in which they are asked: two
// for kDLOneAPI, none for types that nobody here knows.
struct BackendList {
  const Backend* backends[2];
  uint32_t count;
};
BackendList BackendsOf(int32_t device_type);

// NONE, or one of those.
bool IsBackendOf(DLBridgeBackend id, int32_t device_type);

// Rejects a backend that is none of the device's, and lists those.
DLBRIDGE_COLD DLBridgeStatus RefuseBackend(DLBridgeError* error, const char* argument,
                                           const DLDevice& device, DLBridgeBackend found);

// Of each backend, when it is ready: one more than the fork generation that started it. Set once.
extern std::atomic<uint32_t> g_ready[6];

// Is it ready now, without starting it? False in the child of a process that had started it, where
// a driver must not be called, by a deleter least of all.
inline bool IsStarted(const Backend& backend) {
  return g_ready[backend.id].load(std::memory_order_acquire) == ForkGeneration() + 1;
}

// Starts the backend unless that was done, and refuses where it is not ready: UNAVAILABLE, FORKED.
DLBRIDGE_COLD DLBridgeStatus StartSlowly(const Backend& backend, DLBridgeError* error);
inline DLBridgeStatus StartBackend(const Backend& backend, DLBridgeError* error) {
  return DLBRIDGE_LIKELY(IsStarted(backend)) ? DLBRIDGE_OK : StartSlowly(backend, error);
}

// DRIVER, with the call, its code and, unless NULL, the driver's name of it.
DLBridgeStatus RefuseDriver(DLBridgeError* error, const char* call, int64_t code, const char* name);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_BACKEND_H_
