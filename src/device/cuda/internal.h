// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of the CUDA backend share.
#ifndef DLBRIDGE_SRC_DEVICE_CUDA_INTERNAL_H_
#define DLBRIDGE_SRC_DEVICE_CUDA_INTERNAL_H_

#include <cstdint>

#include "describe/boundary.h"
#include "device/cuda/driver.h"
#include "native/backend.h"

namespace dlbridge::cuda {

// A device, as found when the backend started.
struct DeviceRecord {
  Device handle;
  Uuid uuid;           // zero if the driver does not report it
  uint64_t max_pitch;  // of rectangles; 0 if the driver does not report it
};

// Filled by Start, constant afterwards.
struct Cuda {
  Driver driver;
  unsigned pointer_attributes;  // how many of the attributes in memory.cc this driver knows
  bool reports_pools;           // the driver can report and export the pool of memory
  int device_count;
  DeviceRecord* devices;
};
extern Cuda g_cuda;

// Has a fault ended the work of a context, or has the context ended? The driver returns a fault
// from every later call.
bool IsFault(int64_t result);

// The driver's name of a result, or NULL.
const char* ResultName(Result result);

// Returns DRIVER, or CAPTURE if the driver failed because a capture is in progress.
DLBRIDGE_COLD DLBridgeStatus RejectCall(DLBridgeError* error, const char* call, Result result);

DLBRIDGE_INLINE DLBridgeStatus Check(Result result, const char* call, DLBridgeError* error) {
  return DLBRIDGE_LIKELY(result == kSuccess) ? DLBRIDGE_OK : RejectCall(error, call, result);
}

// Runs `body` with `context` current on this thread, then restores the previous context.
template <class Body>
DLBRIDGE_INLINE DLBridgeStatus InContext(Context context, DLBridgeError* error, const Body& body) {
  DLBRIDGE_TRY(Check(g_cuda.driver.ctx_push_current(context), "cuCtxPushCurrent", error));
  const DLBridgeStatus status = body();
  Context popped = nullptr;
  const Result result = g_cuda.driver.ctx_pop_current(&popped);
  return status != DLBRIDGE_OK ? status : Check(result, "cuCtxPopCurrent", error);
}

// Runs `body` in the relaxed capture mode: a capture in another stream neither breaks nor forbids
// it. All calls that wait, create, open or destroy need this, and so do queries that are not known
// to be safe. tests/fakes/README.md lists the calls that are.
template <class Body>
DLBridgeStatus WhileCapturing(DLBridgeError* error, const Body& body) {
  uint32_t mode = kCaptureRelaxed;
  DLBRIDGE_TRY(Check(g_cuda.driver.thread_exchange_capture_mode(&mode),
                     "cuThreadExchangeStreamCaptureMode", error));
  const DLBridgeStatus status = body();
  const Result result = g_cuda.driver.thread_exchange_capture_mode(&mode);
  return status != DLBRIDGE_OK ? status : Check(result, "cuThreadExchangeStreamCaptureMode", error);
}

// Distinguishes a context from a later one with the same handle; 0 if the driver is too old. The
// context must be alive: the result for a destroyed one is undefined. Needs the relaxed mode.
DLBridgeStatus IdOf(Context context, uint64_t* out, DLBridgeError* error);

// The context for memory and streams of a device that name none: the current context if it belongs
// to that device, else the device's primary context, which stays retained.
DLBridgeStatus ContextOfDevice(int32_t ordinal, const char* argument, Context* out,
                               DLBridgeError* error);

// As ContextOfDevice, without creating a primary context; NULL if the device has neither. `ordinal`
// exists.
DLBridgeStatus ExistingContextOf(int32_t ordinal, Context* out, DLBridgeError* error);

// Memory of the library in a context. It is freed with the context, so a query of its address shows
// whether the context still exists; a destroyed context itself must not be queried.
struct Witness {
  Address address;  // 0: there is none, and the context is taken to be alive
  uint64_t buffer;  // the driver never uses the number of a buffer again
};
// The context is current, in the relaxed mode.
Witness WitnessOf(Context context);
DLBridgeStatus AskAlive(const Witness& witness, bool* alive, DLBridgeError* error);

inline bool IsSpecial(const DLBridgeStream& stream) { return stream.handle <= kStreamPerThread; }
inline Stream HandleOf(const DLBridgeStream& stream) {
  return reinterpret_cast<Stream>(static_cast<uintptr_t>(stream.handle));
}

// Also rejects a label that names no device.
DLBridgeStatus ContextOfStream(const DLBridgeStream& stream, const char* argument, Context* out,
                               DLBridgeError* error);

// Rejects a label that names no device. The label of pinned or managed memory, and one that is not
// set, name none.
DLBridgeStatus CheckLabel(const DLBridgeStream& stream, const char* argument, DLBridgeError* error);

// Rejects a stream that names another device than that of its context, which is current.
DLBridgeStatus CheckDevice(const DLBridgeStream& stream, const char* argument,
                           DLBridgeError* error);

// As CheckDevice, and rejects a stream that is capturing or whose capture has failed.
DLBridgeStatus CheckStream(const DLBridgeStream& stream, const char* argument,
                           DLBridgeError* error);

// The driver's report about an address. `type` is 0 if the driver does not know it.
struct PointerFacts {
  uint32_t type;
  uint32_t managed;
  int ordinal;
  Context context;  // also NULL for memory of pools and of cuMemMap
  Address base;     // for memory of cuMemMap: the start of the reservation
  uint64_t size;
  uint32_t mapped;  // 0: no memory is mapped there
};
// Is the address in a reservation (cuMemAddressReserve) to which nothing is mapped?
inline bool IsUnmapped(const PointerFacts& facts) {
  return facts.mapped == 0 && facts.size != 0 && facts.context == nullptr && facts.managed == 0 &&
         facts.type != kMemoryHost;
}
DLBridgeStatus AskFacts(Address address, PointerFacts* out, DLBridgeError* error);

// Does the driver report that cuIpcGetMemHandle supports the memory?
bool IsIpcCapable(Address address);

// The operations of the backend, each in the file of its concept: see struct Backend.
DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                           DLBridgeError* error);
DLBridgeStatus Enumerate(int32_t device_type, DLBridgeError* error);
DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error);
DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error);
DLBridgeStatus CopyBegin(CopyJob* job, DLBridgeError* error);
DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error);
DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error);
DLBridgeStatus IpcExport(const DLBridgeBuffer& buffer, DLDevice label, const IpcRequest& request,
                         IpcHandle* out, DLBridgeError* error);
DLBridgeStatus IpcImport(const IpcHandle& handle, DLDevice label, const DLBridgeStream* stream,
                         IpcMapping* out, DLBridgeError* error);
void IpcClose(const IpcMapping& mapping);
DLBridgeStatus Mark(const DLBridgeStream& stream, const char* argument, StreamMark* out,
                    DLBridgeError* error);
DLBridgeStatus MarkQuery(const StreamMark& mark, bool* over, DLBridgeError* error);
DLBridgeStatus MarkWait(const StreamMark& mark, DLBridgeError* error);
void MarkFree(const StreamMark& mark);
DLBridgeStatus CopySubmit(CopyJob* job, StreamMark* out, DLBridgeError* error);
// Sets bit i of `*capable` if device i can access memory of `native_device`, for the first 64.
DLBridgeStatus Peers(int32_t native_device, uint64_t* capable, DLBridgeError* error);

}  // namespace dlbridge::cuda

#endif  // DLBRIDGE_SRC_DEVICE_CUDA_INTERNAL_H_
