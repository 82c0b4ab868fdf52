// SPDX-License-Identifier: Apache-2.0
// The interface that every driver implements, and the functions that find and start a backend.
//
// A backend is a table of functions. `start` is called first, by one thread at a time, and once for
// each copy of the driver's library until it returns DLBRIDGE_STATE_READY. The others are called
// only after that. The library holds no lock during these calls, except during `start`.
#ifndef DLBRIDGE_SRC_NATIVE_BACKEND_H_
#define DLBRIDGE_SRC_NATIVE_BACKEND_H_

#include <atomic>
#include <cstdint>

#include "describe/known_values.h"
#include "dlbridge/dlbridge.h"
#include "native/fork.h"
#include "support/checked.h"
#include "support/library.h"

namespace dlbridge {

// False in a library that is built without drivers: what only a driver can reach is left out.
#ifdef DLBRIDGE_WITHOUT_DEVICES
constexpr bool kHasDrivers = false;
#else
constexpr bool kHasDrivers = true;
#endif

// The bytes that one driver call copies: planes of rows of contiguous bytes. Pitches are in bytes
// and not smaller than the rows or planes that they step over. The pitch of rows is below 2^31; the
// pitch of planes is at most that many times the pitch of rows; a single row or plane has pitch 0.
// Offsets count from each side's handle and wrap around, as addresses do.
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

// A copy in progress. `state` belongs to the backend.
struct CopyJob {
  CopySide from;
  CopySide to;
  DLBridgeStream stream;  // kind 0: the backend chooses
  bool marked;            // the job ends with copy_submit, unless a call fails
  bool rows_alone;        // set by copy_begin: a rectangle takes one call per row
  bool unfinished;        // set by copy_finish and copy_submit: the driver may still be copying
  uint64_t state[16];
};

// The largest number of file descriptors in one export: as many as Linux sends in one message
// (SCM_MAX_FD).
constexpr uint32_t kMaxIpcFds = 253;

// The largest handle of a backend: CUDA's, of memory with kMaxIpcFds chunks.
constexpr uint32_t kMaxIpcHandle = 2304;

// The part of a tensor's memory that a backend exports.
struct IpcRequest {
  int64_t begin;  // the bytes that the tensor touches, from the address of its first element on
  int64_t end;
  const DLBridgeStream* stream;  // a queue; NULL: the work on the memory is finished
};

// The data by which another process finds memory of a device.
struct IpcHandle {
  uint8_t bytes[kMaxIpcHandle];  // from the driver, with the identity of the device
  uint32_t length;
  uint32_t format;  // of the descriptor: 1 if library 0.3.0 can import it, else 2
  uint64_t offset;  // of the address from the start of the memory that the handle refers to
  uint64_t size;    // bytes of that memory
  int32_t fds[kMaxIpcFds];
  uint32_t fd_count;
};

// Memory of another process, mapped here.
struct IpcMapping {
  DLBridgeBuffer buffer;  // at the start of the mapping
  DLDevice device;
  uint64_t size;
  uint64_t state[3];  // belongs to the backend
};

// The memory that a handle refers to.
struct HandleFacts {
  DLBridgeBuffer memory;  // another handle, of which this one is a part; or an address of the host
  uint64_t offset;        // of the handle's first byte in that memory
  bool read_only;         // kernels must not write to it
};

// A point in the work of a stream: all that was enqueued before it. Its holder frees it once.
struct StreamMark {
  DLBridgeBackend backend;
  uint64_t state[4];  // belongs to the backend
};

// Bits of DLBridgePointerInfo::properties that no caller of the library sees.
enum : uint32_t {
  kPointerPiece = 1U << 30,    // the range is a piece of virtual memory; another may follow it
  kPointerUnmapped = 1U << 31  // reserved virtual memory of the backend: no memory is there
};

struct Backend {
  DLBridgeBackend id;
  const char* name;

  // How to find the driver's library. An empty name: the backend has no library.
  LibraryNames library;

  // Initialises the driver of a copy of that library; `library` is NULL if there is none. Fills
  // `info` except struct_size, backend and file, which are set; the rest is zero on entry. Returns
  // the state. If it is not READY, nothing of the copy is kept.
  int32_t (*start)(void* library, DLBridgeBackendInfo* info);

  // Fills `*out` (zeroed, native_device -1) if the driver knows the memory; else leaves
  // `out->memory` 0 and returns DLBRIDGE_OK. A `label` of kDLCPU gives no information.
  DLBridgeStatus (*pointer_info)(const DLBridgeBuffer& buffer, DLDevice label,
                                 DLBridgePointerInfo* out, DLBridgeError* error);

  // Enters the driver's devices of this DLPack type into the table of the process.
  DLBridgeStatus (*enumerate)(int32_t device_type, DLBridgeError* error);

  // Both streams belong to this backend, have kind QUEUE or IMMEDIATE_LIST, and differ.
  DLBridgeStatus (*handoff)(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                            uint32_t options, DLBridgeError* error);
  DLBridgeStatus (*synchronize)(const DLBridgeStream& stream, DLBridgeError* error);

  // The order is begin, any number of boxes, finish. finish is called after each begin that
  // succeeded. It waits for the enqueued work even if a box failed, and returns its own first
  // failure.
  DLBridgeStatus (*copy_begin)(CopyJob* job, DLBridgeError* error);
  DLBridgeStatus (*copy_box)(CopyJob* job, const CopyBox& box, DLBridgeError* error);
  DLBridgeStatus (*copy_finish)(CopyJob* job, DLBridgeError* error);

  // OpenCL only, else NULL. check_handle: is the handle a buffer, of buffer.context if that is set,
  // and on the device of the label? If `writable`, may kernels write to it?
  DLBridgeStatus (*check_handle)(const DLBridgeBuffer& buffer, DLDevice label, bool writable,
                                 DLBridgeError* error);
  DLBridgeStatus (*retain_handle)(const DLBridgeBuffer& buffer, DLBridgeError* error);
  void (*release_handle)(const DLBridgeBuffer& buffer);

  // NULL if the driver shares no memory between processes. The address may lie inside an
  // allocation. The caller owns the file descriptors of an export; an import does not close them.
  // If the handle has an event, the import makes `stream` wait for it; NULL: the host waits; kind
  // NO_SYNC: nothing waits.
  DLBridgeStatus (*ipc_export)(const DLBridgeBuffer& buffer, DLDevice label,
                               const IpcRequest& request, IpcHandle* out, DLBridgeError* error);
  DLBridgeStatus (*ipc_import)(const IpcHandle& handle, DLDevice label,
                               const DLBridgeStream* stream, IpcMapping* out, DLBridgeError* error);
  void (*ipc_close)(const IpcMapping& mapping);

  // Orders later work of the stream after its earlier work. NULL if all streams of the backend are
  // in order.
  DLBridgeStatus (*barrier)(const DLBridgeStream& stream, DLBridgeError* error);

  // Marks the work that is enqueued on the stream now, and submits that work to the device. A
  // stream that is capturing is rejected before anything is recorded. On failure nothing is kept.
  // `argument` names the stream in messages.
  DLBridgeStatus (*mark)(const DLBridgeStream& stream, const char* argument, StreamMark* out,
                         DLBridgeError* error);
  // Is the marked work over? Does not wait. Work that a fault has ended is over, and so is the work
  // of a context that was destroyed or lost.
  DLBridgeStatus (*mark_query)(const StreamMark& mark, bool* over, DLBridgeError* error);
  // Waits until the marked work is over.
  DLBridgeStatus (*mark_wait)(const StreamMark& mark, DLBridgeError* error);
  // Frees a mark, also of work that is not over.
  void (*mark_free)(const StreamMark& mark);

  // Ends a copy like copy_finish, but does not wait: it marks the copy and all earlier work of its
  // stream. Called only for jobs with a stream of the caller's. On failure it has waited, unless
  // that failed too.
  DLBridgeStatus (*copy_submit)(CopyJob* job, StreamMark* out, DLBridgeError* error);

  // Sets bit i of `*capable` if the backend's device i can access memory of `native_device`, and
  // the bit of `native_device` itself. Devices from 64 on have no bit. `native_device` is an index
  // as in DLBridgePointerInfo::native_device.
  DLBridgeStatus (*peers)(int32_t native_device, uint64_t* capable, DLBridgeError* error);

  // OpenCL only, else NULL. Two handles that share bytes have the same `memory`, or host addresses.
  DLBridgeStatus (*describe_handle)(const DLBridgeBuffer& buffer, HandleFacts* out,
                                    DLBridgeError* error) = nullptr;
};

// The backends that call a driver, in the order of their ids: X(id, table, name, shares). `name` is
// the table's, `shares`: the driver shares memory between processes. All other lists of backends in
// src/native come from this one.
#define DLBRIDGE_DRIVERS(X)                            \
  X(CUDA, kCudaBackend, "CUDA", true)                  \
  X(HIP, kHipBackend, "HIP", true)                     \
  X(LEVEL_ZERO, kLevelZeroBackend, "Level Zero", true) \
  X(OPENCL, kOpenClBackend, "OpenCL", false)

// Each is a constant expression in the driver's backend.cc, or in without_devices.cc.
extern const Backend kCpuBackend;
#define DLBRIDGE_DECLARE(id, table, name, shares) extern const Backend table;
DLBRIDGE_DRIVERS(DLBRIDGE_DECLARE)
#undef DLBRIDGE_DECLARE

// The backend of an id, or NULL. The ids are 0 (none), 1 (CPU), and those of the drivers up to
// kLastBackend. The first driver has the id after CPU.
const Backend* FindBackend(DLBridgeBackend id);

// The backends that a DLPack device type can belong to, in the order in which they are asked: two
// for kDLOneAPI, none for types without a backend.
struct BackendList {
  const Backend* backends[2];
  uint32_t count;
};
BackendList BackendsOf(int32_t device_type);

// Is the id NONE or one of the device type's backends?
bool IsBackendOf(DLBridgeBackend id, int32_t device_type);

// Rejects a backend that is not one of the device's; the message lists those.
DLBRIDGE_COLD DLBridgeStatus RejectBackend(DLBridgeError* error, const char* argument,
                                           const DLDevice& device, DLBridgeBackend found);

// For each backend that is ready: one more than the fork generation that started it. Set once.
extern std::atomic<uint32_t> g_ready[kLastBackend + 1];

// Is the backend ready, without starting it? False in a forked child whose parent started it: the
// child must not call the driver, not even in a deleter.
inline bool IsStarted(const Backend& backend) {
  return g_ready[backend.id].load(std::memory_order_acquire) == ForkGeneration() + 1;
}

// Starts the backend if necessary. Returns UNAVAILABLE or FORKED if it is not ready. Another copy
// of the driver may come later, so the next call may succeed: call it once for one decision.
DLBRIDGE_COLD DLBridgeStatus StartSlowly(const Backend& backend, DLBridgeError* error);
inline DLBridgeStatus StartBackend(const Backend& backend, DLBridgeError* error) {
  return DLBRIDGE_LIKELY(IsStarted(backend)) ? DLBRIDGE_OK : StartSlowly(backend, error);
}

// As StartBackend, for a driver's backend. In a build without drivers, compilers see that it never
// succeeds, and omit the code after it.
inline DLBridgeStatus StartDriver(const Backend& backend, DLBridgeError* error) {
  const DLBridgeStatus status = StartBackend(backend, error);
  return kHasDrivers || status != DLBRIDGE_OK ? status : DLBRIDGE_ERROR_UNAVAILABLE;
}

// Returns DRIVER; the message has the call, its code and, unless NULL, the driver's name of the
// code.
DLBridgeStatus RejectDriver(DLBridgeError* error, const char* call, int64_t code, const char* name);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_BACKEND_H_
