// SPDX-License-Identifier: Apache-2.0
// Declarations shared by the files of the fake libcuda.so.1. One lock is held during every call.
#ifndef DLBRIDGE_TESTS_FAKES_CUDA_STATE_H_
#define DLBRIDGE_TESTS_FAKES_CUDA_STATE_H_

#include <cuda.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake_cuda.h"

namespace fake_cuda {

extern bool g_fast;

struct Stream;

// A position in a stream that an event recorded; done once the stream has reached it.
struct Marker {
  Stream* stream = nullptr;
  bool done = false;
};

// Work of a stream. It runs only when a wait requires it.
struct Work {
  std::shared_ptr<Marker> wait;
  std::shared_ptr<Marker> reached;
  std::function<void()> run;
};

struct Context;

struct Stream {
  Context* context = nullptr;
  uint64_t id = 0;  // set by the first cuStreamGetId
  bool blocking = true;
  bool legacy = false;
  std::deque<Work> work;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  uint64_t capture_id = 0;
  // Of the stream in which the capture began:
  bool origin = false;
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id capture_thread;
};

struct Context {
  int device = 0;
  bool alive = false;
  uint64_t id = 0;
  Stream legacy;
  std::map<std::thread::id, Stream> per_thread;
};

// The state of an event between processes, in a file that they share.
struct SharedEvent {
  std::atomic<uint64_t> recorded;
  std::atomic<uint64_t> done;
};

struct Event {
  Context* context = nullptr;
  SharedEvent* shared = nullptr;  // of an interprocess event
  int file = -1;                  // of `shared`, in the exporter
  bool exported = false;          // another process may open it
  bool imported = false;
  uint64_t capture_id = 0;  // of the capture that it was recorded in, or 0
  std::shared_ptr<Marker> marker;
};

struct Device {
  int physical = 0;
  Context* primary = nullptr;
  int retained = 0;
};

enum class Kind { kDevice, kPool, kMapped, kPinned, kManaged, kImported };

// A part of a reservation to which memory is mapped.
struct Piece {
  size_t offset;
  size_t size;
};

// A stream-ordered pool. The process and number identify the exporter's pool.
struct Pool {
  int device = 0;
  bool is_default = false;
  bool exportable = false;
  bool exported = false;
  bool imported = false;
  bool accessible = true;  // from its device
  pid_t process = 0;
  int number = 0;
};

// Memory of cuMemCreate. Its file has its size and, in its name, its device and types of handles.
struct Allocation {
  int file = -1;
  size_t size = 0;
  int device = 0;
  unsigned handle_types = 0;
  int handles = 0;
  int mappings = 0;
};

// A range of cuMemAddressReserve. `bytes` is where the fake itself accesses the mapped memory.
struct Reservation {
  CUdeviceptr address = 0;
  size_t size = 0;
  unsigned char* bytes = nullptr;
};

struct Memory {
  Kind kind = Kind::kDevice;
  uint64_t number = 0;        // never used again
  std::vector<Piece> pieces;  // kMapped
  CUdeviceptr address = 0;
  size_t size = 0;
  Context* context = nullptr;
  int device = 0;
  unsigned char* bytes = nullptr;  // where the fake itself accesses it
  bool registered = false;         // the test owns the bytes
  int file = -1;
  int opened = 0;  // kImported
  std::string handle;
  Pool* pool = nullptr;                // kPool
  Reservation* reservation = nullptr;  // kMapped by cuMemMap
  Allocation* allocation = nullptr;
  bool accessible = true;
};

struct Thread {
  std::vector<Context*> contexts;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};

struct State {
  std::recursive_mutex lock;
  pid_t pid = 0;  // the process that called cuInit; 0: none
  int version = 12020;
  bool stub = false;
  bool no_uuid = false;
  std::vector<Device> devices;
  std::list<Context> contexts;
  std::list<Stream> streams;
  std::list<Event> events;
  std::list<Pool> pools;
  std::list<Allocation> allocations;
  std::list<Reservation> reservations;
  // The context that opened memory of another process's device, by both.
  std::map<std::pair<pid_t, int>, std::pair<Context*, uint64_t>> openers;
  std::map<CUdeviceptr, Memory> memory;
  std::map<std::thread::id, Thread> threads;
  uint64_t next_id = 1;
  uint64_t next_number = 1;
  Context* faulted = nullptr;  // a fault ended its work
  CUresult fault = CUDA_SUCCESS;
  bool garbage_ids = false;
  bool hide_unmapped = false;
  int events_created = 0;
  int primary_created = 0;

  std::vector<std::string> violations;
  std::string violation_texts;
  std::string log;
  struct Failure {
    std::string function;
    int code;
    int nth;
  };
  std::vector<Failure> failures;
  struct {
    int code;
    int nth;  // 0: none
    bool for_good;
    std::string failed;
    std::string reported;
  } any = {};
};
State& TheState();

// State of the calling thread.
Thread& ThisThread();
Context* Current();

// Records a violation and returns `code`, the result that the driver would return.
CUresult Violation(CUresult code, const std::string& text);

// One call: takes the lock, writes the log, and decides whether the function runs or fails.
class Call {
 public:
  // kHost: calls that a fault does not affect.
  enum Needs { kNothing, kHost, kInit, kContext };
  Call(const char* function, Needs needs);
  bool refused() const { return result_ != CUDA_SUCCESS; }
  CUresult result() const { return result_; }

 private:
  std::lock_guard<std::recursive_mutex> guard_;
  CUresult result_ = CUDA_SUCCESS;
};

#define FAKE_CALL(function, needs)                              \
  const fake_cuda::Call call(function, fake_cuda::Call::needs); \
  if (call.refused()) {                                         \
    return call.result();                                       \
  }

#define FAKE_REQUIRE(condition, code, text)      \
  if (!(condition)) {                            \
    return fake_cuda::Violation((code), (text)); \
  }

// Functions that the older driver (FAKE_CUDA_OLD) does not export.
#ifdef FAKE_CUDA_OLD
#define FAKE_NEWER __attribute__((visibility("hidden")))
#else
#define FAKE_NEWER
#endif

// The stream of a handle; special handles are resolved in the current context. Returns NULL and
// records a violation if there is none.
Stream* FindStream(CUstream handle, const char* function);
Context* FindContext(CUcontext handle, const char* function);
Event* FindEvent(CUevent handle, const char* function);
Context* NewContext(int device);
void EndContext(Context* context);

// Attributes of every device.
constexpr int kMaxPitch = 1 << 20;
// Pitches of cuMemAllocPitch are multiples of this.
constexpr size_t kPitchStep = 512;

// Fails if a capture forbids calls of this thread that are unsafe during a capture, and invalidates
// the captures that forbid it.
CUresult CheckUnsafe(const char* function);
#define FAKE_UNSAFE(function)                             \
  if (fake_cuda::CheckUnsafe(function) != CUDA_SUCCESS) { \
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;         \
  }

void Enqueue(Stream* stream, std::function<void()> run);
void Finish(Stream* stream);

// The allocation that contains an address, or NULL. Pinned memory is found by both its addresses.
Memory* FindMemory(CUdeviceptr address);
unsigned char* BytesAt(CUdeviceptr address);
void FreeMemory(Memory* memory);
Memory* AllocateOnDevice(Kind kind, size_t size, int device, Context* context);

// A page-aligned range of addresses that fault, and the bytes of a file.
void* ReserveAddresses(size_t size);
void* MapFile(int file, size_t size);
// Path of an open file; empty if the descriptor is not open. A foreign descriptor may have any
// value.
std::string NameOfFile(int file);
// The device with this number across processes, or -1.
int DeviceOfPhysical(int physical);

// The pool that cuMemAllocAsync uses on a device.
Pool* DefaultPool(int device);

// The reservation that contains all of the bytes, or NULL.
Reservation* FindReservation(CUdeviceptr address, size_t size);

// The part of the memory's range that starts `offset` bytes after its start and goes on over
// adjacent mappings: are `span` bytes of it mapped and accessible?
bool IsReachable(const Memory& memory, size_t offset, size_t span);

// Interprocess events: the record of one, and the wait for one.
void MakeShared(Event* event);
void RecordShared(Event* event, Stream* stream);
void WaitForShared(SharedEvent* shared, uint64_t record);

// The part of the memory to which something is mapped around an offset, or NULL.
const Piece* FindPiece(const Memory& memory, size_t offset);

}  // namespace fake_cuda

#endif  // DLBRIDGE_TESTS_FAKES_CUDA_STATE_H_
