// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "control.h"

namespace fake_ze {
namespace {

size_t Tell(const std::string& text, char* out, size_t size) {
  if (size != 0) {
    const size_t length = std::min(text.size(), size - 1);
    std::memcpy(out, text.data(), length);
    out[length] = '\0';
  }
  return text.size();
}

constexpr const char* kKinds[] = {"driver", "device", "context", "queue", "list", "pool", "event"};

}  // namespace

const char* NameOf(Kind kind) { return kKinds[static_cast<size_t>(kind)]; }

World& TheWorld() {
  static auto* world = new World;
  return *world;
}

uint32_t Setting(const char* name, uint32_t otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? static_cast<uint32_t>(std::strtoul(value, nullptr, 0)) : otherwise;
}

bool Has(const char* function) {
  const char* value = std::getenv("FAKE_ZE_LACKS");
  const std::string lacks = "," + std::string(value != nullptr ? value : "") + ",";
  return lacks.find("," + std::string(function) + ",") == std::string::npos;
}

void BreakRule(const char* function, const std::string& what) {
  TheWorld().violations.push_back(std::string(function) + ": " + what);
}

size_t CountLive(Kind kind) {
  size_t count = 0;
  for (const auto& object : TheWorld().objects) {
    count += object->kind == kind && object->alive ? 1 : 0;
  }
  return count;
}

Call::Call(const char* name) : name_(name), lock_(TheWorld().mutex) {
  World& world = TheWorld();
  world.log += (world.log.empty() ? "" : ",") + std::string(name);
  if (world.failing_in != 0 && (world.failing.empty() || world.failing == name) &&
      --world.failing_in == 0) {
    world.failing_in = world.failing_for_good ? 1 : 0;
    world.failed += std::string(name) + " ";
    failed_ = true;
    result_ = world.failing_result;
    return;
  }
  if (world.lost && std::strcmp(name, "zeContextDestroy") != 0) {
    failed_ = true;
    result_ = ZE_RESULT_ERROR_DEVICE_LOST;
    return;
  }
  Require(world.initialised || std::strcmp(name, "zeInit") == 0, "was called before zeInit",
          ZE_RESULT_ERROR_UNINITIALIZED);
}

void Call::Stall() {
  World& world = TheWorld();
  if (world.stalling != name_) {
    return;
  }
  world.stalling.clear();
  world.stalled = true;
  world.changed.notify_all();
  while (world.stalled) {
    world.changed.wait(lock_);
  }
}

void Call::Break(const std::string& what, ze_result_t result) {
  BreakRule(name_, what);
  failed_ = true;
  result_ = result;
}

Object* Call::Find(const void* handle, Kind kind, const char* argument) {
  const std::string begin = std::string(argument) + " is ";
  if (handle == nullptr || TheWorld().known.count(handle) == 0) {
    Break(begin + (handle == nullptr ? "NULL" : "no handle of this driver"),
          ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    return nullptr;
  }
  auto* object = const_cast<Object*>(static_cast<const Object*>(handle));
  if (object->kind != kind) {
    Break(begin + "a " + NameOf(object->kind) + ", not a " + NameOf(kind));
    return nullptr;
  }
  if (!object->alive) {
    Break(begin + "a " + NameOf(kind) + " that was destroyed");
    return nullptr;
  }
  return object;
}

InList::InList(Call* call, List* list) : list_(list) {
  if (list_ != nullptr) {
    call->Require(list_->users == 0, "hCommandList is in use by another thread");
    ++list_->users;
    call->Stall();
  }
}

InList::~InList() {
  if (list_ != nullptr) {
    --list_->users;
  }
}

}  // namespace fake_ze

using fake_ze::TheWorld;
using Guard = std::lock_guard<std::mutex>;

void fake_ze_fail(const char* function, uint32_t result, uint32_t n) {
  const Guard guard(TheWorld().mutex);
  TheWorld().failing = function != nullptr ? function : "";
  TheWorld().failing_result = static_cast<ze_result_t>(result);
  TheWorld().failing_in = n;
  TheWorld().failing_for_good = false;
}

void fake_ze_fail_all(uint32_t result, uint32_t n) {
  fake_ze_fail(nullptr, result, n);
  const Guard guard(TheWorld().mutex);
  TheWorld().failing_for_good = true;
}

size_t fake_ze_failed(char* names, size_t size) {
  const Guard guard(TheWorld().mutex);
  const size_t length = fake_ze::Tell(TheWorld().failed, names, size);
  TheWorld().failed.clear();
  return length;
}

void fake_ze_lose(uint32_t lost) {
  const Guard guard(TheWorld().mutex);
  TheWorld().lost = lost != 0;
  if (lost != 0) {
    fake_ze::DropWork();
  }
  TheWorld().changed.notify_all();
}

size_t fake_ze_violations(char* first, size_t size) {
  const Guard guard(TheWorld().mutex);
  std::vector<std::string>& violations = TheWorld().violations;
  const size_t count = violations.size();
  fake_ze::Tell(count != 0 ? violations.front() : "", first, size);
  violations.clear();
  return count;
}

size_t fake_ze_log(char* names, size_t size) {
  const Guard guard(TheWorld().mutex);
  const size_t length = fake_ze::Tell(TheWorld().log, names, size);
  TheWorld().log.clear();
  return length;
}

size_t fake_ze_live(const char* kind) {
  const Guard guard(TheWorld().mutex);
  size_t memory = 0;
  size_t handles = 0;
  for (const auto& [base, allocation] : TheWorld().memory) {
    ++memory;
    handles += allocation.handles;
  }
  if (std::strcmp(kind, "memory") == 0) {
    return memory;
  }
  if (std::strcmp(kind, "ipc") == 0) {
    return handles;
  }
  for (size_t i = 0; i < std::size(fake_ze::kKinds); ++i) {
    if (std::strcmp(kind, fake_ze::kKinds[i]) == 0) {
      return fake_ze::CountLive(static_cast<fake_ze::Kind>(i));
    }
  }
  std::abort();
}

void fake_ze_stall(const char* function) {
  const Guard guard(TheWorld().mutex);
  TheWorld().stalling = function;
}

void fake_ze_await_stalled() {
  std::unique_lock<std::mutex> lock(TheWorld().mutex);
  TheWorld().changed.wait(lock, [] { return TheWorld().stalled; });
}

void fake_ze_release_stalled() {
  const Guard guard(TheWorld().mutex);
  TheWorld().stalled = false;
  TheWorld().changed.notify_all();
}
