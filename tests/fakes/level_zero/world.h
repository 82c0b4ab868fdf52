// SPDX-License-Identifier: Apache-2.0
// State of the fake driver: its objects, the checks of their rules, and one call.
#ifndef DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_WORLD_H_
#define DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_WORLD_H_

#include <level_zero/ze_api.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

namespace fake_ze {

enum class Kind : uint8_t { kDriver, kDevice, kContext, kQueue, kList, kPool, kEvent };
const char* NameOf(Kind kind);

struct Context;

// The object of a handle. Objects are never freed, so that a handle is never reused.
struct Object {
  explicit Object(Kind the_kind) : kind(the_kind) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  const Kind kind;
  bool alive = true;
  Context* context = nullptr;  // in which it was created
};

struct Device;

struct Driver : Object {
  static constexpr Kind kKind = Kind::kDriver;
  Driver() : Object(kKind) {}
  std::vector<Device*> devices;
  Context* default_context = nullptr;
};

struct Device : Object {
  static constexpr Kind kKind = Kind::kDevice;
  Device() : Object(kKind) {}
  Driver* driver = nullptr;
  Device* root = nullptr;
  size_t index = 0;  // among the root devices of the driver
  uint32_t subdevice = 0;
  uint8_t uuid[ZE_MAX_DEVICE_UUID_SIZE] = {};
  std::vector<Device*> parts;
};

struct Context : Object {
  static constexpr Kind kKind = Kind::kContext;
  Context() : Object(kKind) {}
  Driver* driver = nullptr;
};

struct Pool : Object {
  static constexpr Kind kKind = Kind::kPool;
  Pool() : Object(kKind) {}
  bool host_visible = false;
  std::vector<bool> taken;
};

struct Event : Object {
  static constexpr Kind kKind = Kind::kEvent;
  Event() : Object(kKind) {}
  Pool* pool = nullptr;
  uint32_t index = 0;
  bool flushes_to_host = false;  // the scope of its signal includes the host
  bool signalled = false;
  uint32_t signals = 0;  // enqueued commands that signal it
  uint32_t waits = 0;    // enqueued commands that wait for it
};

struct Run {
  unsigned char* to;
  const unsigned char* from;
  size_t bytes;
};

struct List;

struct Command {
  bool barrier = false;
  Event* signal = nullptr;
  std::vector<Event*> waits;
  std::vector<Run> runs;
  List* of = nullptr;  // a closed list that is being executed
};

// A queue or a list: takes commands and runs them later.
struct Engine : Object {
  explicit Engine(Kind the_kind) : Object(the_kind) {}
  Device* device = nullptr;
  uint32_t ordinal = 0;
  std::deque<Command> pending;
};

struct List : Engine {
  static constexpr Kind kKind = Kind::kList;
  List() : Engine(kKind) {}
  bool immediate = false;
  bool closed = false;
  uint32_t users = 0;    // calls that are using it now
  size_t executing = 0;  // its commands that are pending in queues
  std::vector<Command> recorded;
};

struct Queue : Engine {
  static constexpr Kind kKind = Kind::kQueue;
  Queue() : Engine(kKind) {}
};

struct Allocation {
  size_t size;
  Context* context;
  Device* device;  // nullptr: host memory
  ze_memory_type_t type;
  int fd;         // of the mapped file
  int handle_fd;  // the descriptor in IPC handles; -1: no handle exists
  uint32_t handles;
  bool imported;
};

struct World {
  std::mutex mutex;
  std::condition_variable changed;
  bool initialised = false;
  std::vector<std::string> violations;
  std::string log;
  std::string failing;  // empty: any function
  uint32_t failing_in = 0;
  bool failing_for_good = false;
  std::string failed;
  ze_result_t failing_result = ZE_RESULT_SUCCESS;
  std::string stalling;
  bool stalled = false;
  bool lost = false;
  bool any_context_knows = false;
  std::string ipc = "fd";
  std::vector<std::unique_ptr<Object>> objects;
  std::unordered_set<const void*> known;
  std::vector<Driver*> drivers;
  std::vector<Engine*> engines;
  std::map<uintptr_t, Allocation> memory;
  bool working = false;

  template <class T>
  T* Make(Context* context) {
    objects.push_back(std::make_unique<T>());
    T* made = static_cast<T*>(objects.back().get());
    made->context = context;
    known.insert(static_cast<Object*>(made));
    return made;
  }
};

// Never destroyed: its worker thread runs until the process ends.
World& TheWorld();

// A number from the environment.
uint32_t Setting(const char* name, uint32_t otherwise);
// True if the driver has a function.
bool Has(const char* function);

void BreakRule(const char* function, const std::string& what);
size_t CountLive(Kind kind);

// One call of the driver, under the world's lock.
class Call {
 public:
  explicit Call(const char* name);

  bool failed() const { return failed_; }
  ze_result_t result() const { return result_; }
  // The result of a wait that ended: it ends early if the device is lost.
  static ze_result_t Waited() {
    return TheWorld().lost ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
  }

  // Blocks inside the call if the test asked for it.
  void Stall();
  // Waits for the next change of the world.
  void Wait() { TheWorld().changed.wait(lock_); }

  // Each check records the violation and makes `result` the error to return.
  void Break(const std::string& what, ze_result_t result = ZE_RESULT_ERROR_INVALID_ARGUMENT);
  void Require(bool holds, const std::string& what,
               ze_result_t result = ZE_RESULT_ERROR_INVALID_ARGUMENT) {
    if (!holds) {
      Break(what, result);
    }
  }
  void Pointer(const void* pointer, const char* argument) {
    Require(pointer != nullptr, std::string(argument) + " is NULL",
            ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  }
  // Checks the struct's stype, and that pNext is NULL.
  template <class Struct>
  void Typed(const Struct* value, ze_structure_type_t type, const char* argument) {
    Pointer(value, argument);
    if (value != nullptr) {
      Require(value->stype == type, std::string(argument) + " has another stype");
      Require(value->pNext == nullptr, std::string(argument) + " has a pNext");
    }
  }
  // The object of a handle, or nullptr.
  template <class T, class Handle>
  T* Get(Handle handle, const char* argument) {
    return static_cast<T*>(Find(handle, T::kKind, argument));
  }

 private:
  Object* Find(const void* handle, Kind kind, const char* argument);

  const char* name_;
  std::unique_lock<std::mutex> lock_;
  bool failed_ = false;
  ze_result_t result_ = ZE_RESULT_SUCCESS;
};

// Begins a function of the driver. FAKE_OR_RETURN ends its checks.
#define FAKE_CALL(name) \
  Call call(#name);     \
  FAKE_OR_RETURN
#define FAKE_OR_RETURN    \
  if (call.failed()) {    \
    return call.result(); \
  }                       \
  static_cast<void>(0)

// Marks a list as used by this call; a second user is a violation.
class InList {
 public:
  InList(Call* call, List* list);
  ~InList();
  InList(const InList&) = delete;
  InList& operator=(const InList&) = delete;

 private:
  List* list_;
};

template <class Handle>
Handle ToHandle(Object* object) {
  return reinterpret_cast<Handle>(object);
}

// The allocation that contains an address, or end().
std::map<uintptr_t, Allocation>::iterator FindAllocation(const void* address);

// Checks that a range is host memory or lies inside an allocation of the context.
void CheckRange(Call* call, const void* address, size_t bytes, const Context* context,
                const char* argument);

// Drops all work that has not run.
void DropWork();

// Starts the worker, which runs commands, the last one first.
void Work();

}  // namespace fake_ze

#endif  // DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_WORLD_H_
