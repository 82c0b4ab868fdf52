// SPDX-License-Identifier: Apache-2.0
// State of the fake: the log, the planned failures, and the violations.
#include "state.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>

namespace fake_hip {
namespace {

constexpr size_t kArenaSize = size_t{8} << 30;  // of addresses

// Shared with the child processes of a test; the first word is the number of bytes in use.
struct Arena {
  std::atomic<size_t> taken;
};

Arena* MapArena() {
  void* memory = mmap(nullptr, kArenaSize, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Arena{{4096}};
}

Arena* const g_arena = MapArena();

// The result of hipGetStreamDeviceId is no code: -1 states that there is no such stream.
int InjectedForAny(const char* function) {
  auto& any = TheState().any;
  if (any.nth == 0 || std::strcmp(function, "hipGetStreamDeviceId") == 0 || --any.nth != 0) {
    return hipSuccess;
  }
  any.nth = any.for_good ? 1 : 0;
  any.failed.append(function).append(" ");
  return any.code;
}

// Returns the planned failure of this call, if its countdown ends here.
int Injected(const char* function) {
  if (const int code = InjectedForAny(function)) {
    return code;
  }
  for (Failure& failure : TheState().failures) {
    if (failure.function == function && failure.countdown > 0 && --failure.countdown == 0) {
      return failure.code;
    }
  }
  return hipSuccess;
}

}  // namespace

State& TheState() {
  static State* const state = [] {
    auto* made = new State;
    made->version = FAKE_HIP_LEVEL == 6 ? 60443484 : 50221153;
    return made;
  }();
  return *state;
}

Thread::~Thread() {
  const std::lock_guard<std::recursive_mutex> guard(TheState().mutex);
  for (const auto& stream : own_streams) {
    DestroyStream(stream.second);
  }
}

Thread& TheThread() {
  static thread_local Thread thread;
  return thread;
}

int Major() { return TheState().version / 10000000; }

void Violation(const std::string& what) { TheState().violations += what + "\n"; }

std::string Join(std::initializer_list<std::string> parts) {
  std::string joined;
  for (const std::string& part : parts) {
    joined += (joined.empty() ? "" : ",") + part;
  }
  return joined;
}

Call::Call(const char* name, const std::string& arguments, bool needs_start)
    : lock_(TheState().mutex), name_(name), injected_(Injected(name)) {
  State& state = TheState();
  state.log += (state.log.empty() ? "" : " ") + name_ + "(" + arguments + ")";
  if (needs_start && !state.initialised) {
    Violation(name_ + ": before hipInit");
  }
  if (state.initialised && state.process != getpid()) {
    Violation(name_ + ": in a forked child");
  }
  if (state.fault != hipSuccess && needs_start) {
    injected_ = state.fault;
  }
}

// Up to version 6 the last call sets the error; from 7 on only a call that failed does, and work
// that is not over is no failure.
hipError_t Call::Return(int code) const {
  if ((code != hipSuccess && code != hipErrorNotReady) || Major() < 7) {
    TheThread().last_error = code;
  }
  return static_cast<hipError_t>(code);
}

hipError_t Call::Reject(int code, const std::string& why) const {
  Violation(name_ + ": " + why);
  return Return(code);
}

namespace {

size_t WholePages(size_t size) { return (size + 4095) / 4096 * 4096; }

// Bytes that were freed, by their size. The oldest are used again, so that late work on freed
// memory is not seen as that of its next user.
constexpr size_t kQuarantine = 64;
auto& FreedBytes() {
  static auto& freed = *new std::map<size_t, std::deque<char*>>;
  return freed;
}

}  // namespace

void FreeBytes(char* bytes, size_t size) { FreedBytes()[WholePages(size)].push_back(bytes); }

char* SharedBytes(size_t size) {
  const size_t whole = WholePages(size);
  std::deque<char*>& freed = FreedBytes()[whole];
  if (freed.size() > kQuarantine) {
    char* bytes = freed.front();
    freed.pop_front();
    return bytes;
  }
  const size_t offset = g_arena->taken.fetch_add(whole);
  if (offset + whole > kArenaSize) {
    abort();  // the test needs too much memory
  }
  return reinterpret_cast<char*>(g_arena) + offset;
}

size_t SharedOffset(const char* bytes) {
  return static_cast<size_t>(bytes - reinterpret_cast<char*>(g_arena));
}

char* SharedAt(size_t offset) { return reinterpret_cast<char*>(g_arena) + offset; }

}  // namespace fake_hip
