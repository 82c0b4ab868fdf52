// SPDX-License-Identifier: Apache-2.0
// Declarations shared by the files of the fake libamdhip64.
#ifndef DLBRIDGE_TESTS_FAKES_HIP_STATE_H_
#define DLBRIDGE_TESTS_FAKES_HIP_STATE_H_

#include <hip/hip_runtime_api.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake_hip.h"

// The functions that the runtime has: 6: all; 5: those of 5.2; 0: only those that dlbridge
// requires.
#ifndef FAKE_HIP_LEVEL
#define FAKE_HIP_LEVEL 6
#endif

#define FAKE_EXPORT __attribute__((visibility("default")))

namespace fake_hip {

struct Stream;

// Work of a stream, which runs when a wait requires it: a function, or a wait for another stream to
// reach a position.
struct Operation {
  std::function<void()> work;
  Stream* other;
  uint64_t position;
};

struct Stream {
  std::string name;
  int device;
  bool is_default;
  bool of_library;  // created by hipStreamCreateWithFlags
  bool blocking = true;
  bool live = true;
  int capture = hipStreamCaptureStatusNone;
  unsigned long long graph = 0;
  bool origin = false;  // a capture began on this stream, on this thread, in this mode
  std::thread::id thread;
  int mode = hipStreamCaptureModeGlobal;
  std::deque<Operation> pending;
  uint64_t done = 0;

  uint64_t enqueued() const { return done + pending.size(); }
};

struct Event {
  std::string name;
  int device;
  bool live = true;
  Stream* stream = nullptr;  // NULL: never recorded
  uint64_t position = 0;
  bool captured = false;
  unsigned long long graph = 0;
};

struct Allocation {
  FakeHipMemory kind;
  int device;
  size_t size;
  char* bytes;
  bool hidden_range;
  bool mapped;  // from another process
  bool unshareable = false;
};

struct Failure {
  std::string function;
  int code;
  int countdown;
};

struct State {
  std::recursive_mutex mutex;
  int version;
  int device_count = 2;
  bool uuids = true;
  bool reversed = false;
  bool run_after_queries = false;
  bool initialised = false;
  pid_t process = 0;  // the process that called hipInit
  std::vector<Failure> failures;
  struct {
    int code;
    int nth;  // 0: none
    bool for_good;
    std::string failed;
    std::string reported;
  } any = {};
  std::string log;
  std::string violations;
  std::vector<std::unique_ptr<Stream>> streams;  // never freed: a handle is never reused
  std::vector<std::unique_ptr<Event>> events;
  std::map<uintptr_t, Allocation> memory;
  std::map<int, Stream*> defaults;
  std::set<std::pair<int, int>> no_peers;
  int fault = hipSuccess;
};

State& TheState();

// State of one thread. Its own streams, one for each device, end with it.
struct Thread {
  int device = 0;
  int application_device = 0;
  int last_error = 0;
  int mode = hipStreamCaptureModeGlobal;
  int application_mode = hipStreamCaptureModeGlobal;
  std::map<int, Stream*> own_streams;

  Thread() = default;
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
};
Thread& TheThread();

int Major();
void Violation(const std::string& what);

// One call of the runtime: holds the lock, is logged, and may fail as planned.
class Call {
 public:
  Call(const char* name, const std::string& arguments, bool needs_start);
  bool fails() const { return injected_ != hipSuccess; }
  // Returns `code`, which becomes the thread's last error.
  hipError_t Return(int code) const;
  hipError_t Reject(int code, const std::string& why) const;
  hipError_t Fail() const { return Return(injected_); }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  std::string name_;
  int injected_;
};

Stream* DefaultStream(int device);
Stream* OwnStream(int device);  // of the calling thread
Stream* AddStream(int device, bool of_library, bool is_default);
// Returns NULL and records a violation if the handle is not a live stream.
Stream* FindStream(hipStream_t stream, const char* function);
// Was it a stream? The functions that report a stream's device check that.
bool WasDestroyed(hipStream_t stream);
Event* FindEvent(hipEvent_t event, const char* function);
std::string NameOf(hipStream_t stream);
std::string NameOf(hipEvent_t event);
std::string NameOf(const void* pointer);
std::string Join(std::initializer_list<std::string> parts);

// Runs the work that was enqueued before `position`.
void RunUntil(Stream* stream, uint64_t position);
void Enqueue(Stream* stream, std::function<void()> work);
bool IsAnyBlockingCapture();
void DestroyStream(Stream* stream);

// Fails as the runtime's waits do while a graph is captured; `stream` may be NULL. Returns the
// code.
int CheckWait(Stream* stream, const char* function);
// Fails while a stream is captured, as allocations of the runtime do. Used for every call that
// creates, destroys or maps an object.
int CheckUnsafe(const char* function);

// The allocation that holds an address, or NULL.
Allocation* FindAllocation(const void* pointer, uintptr_t* base);
// Memory shared by all processes of a test.
char* SharedBytes(size_t size);
void FreeBytes(char* bytes, size_t size);
size_t SharedOffset(const char* bytes);
char* SharedAt(size_t offset);
void* AddAllocation(FakeHipMemory kind, int device, size_t size, char* bytes, bool mapped);
void RemoveAllocation(uintptr_t base);

// The UUID of a device, 16 bytes, equal in every process.
void Uuid(int device, char* out);

}  // namespace fake_hip

// Begins a function of the runtime.
#define FAKE_CALL(name, ...)                                             \
  const fake_hip::Call call(#name, fake_hip::Join({__VA_ARGS__}), true); \
  if (call.fails()) {                                                    \
    return call.Fail();                                                  \
  }

// Rejects an unsafe call during a capture.
#define FAKE_UNSAFE(name)                                \
  if (const int unsafe = fake_hip::CheckUnsafe(#name)) { \
    return call.Return(unsafe);                          \
  }

#endif  // DLBRIDGE_TESTS_FAKES_HIP_STATE_H_
