// SPDX-License-Identifier: Apache-2.0
// Tests with the real Level Zero loader and a fake driver. Each runs in its own child, in which the
// driver starts anew. At its end no violation may be recorded and no object left.
#ifndef DLBRIDGE_TESTS_DEVICE_LEVEL_ZERO_WORLD_H_
#define DLBRIDGE_TESTS_DEVICE_LEVEL_ZERO_WORLD_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "control.h"
#include "dlbridge/dlbridge.h"
#include "dlbridge/level_zero_api.h"
#include "functions.h"
#include "support/child.h"
#include "support/tensors.h"

// Defined only with AddressSanitizer. A child ends with _exit, which runs no leak check.
extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));

namespace dlbridge_test {

constexpr uint32_t kDeviceLost = 0x70000001;

inline void* MustLoad(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  return library;
}

// The loader's functions, for calls that an application makes.
struct Loader {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator
#define LOADER_MEMBER(member, name) decltype(&::name) name;
  FAKE_ZE_FUNCTIONS(LOADER_MEMBER)
#undef LOADER_MEMBER
  explicit Loader(const char* file) {
    void* library = MustLoad(file);
#define LOADER_BIND(member, name) name = reinterpret_cast<decltype(name)>(dlsym(library, #name));
    FAKE_ZE_FUNCTIONS(LOADER_BIND)
#undef LOADER_BIND
  }
};

// The controls of a fake driver.
struct Fake {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator
#define FAKE_MEMBER(result, name, parameters) decltype(&::name) name;
  FAKE_ZE_CONTROLS(FAKE_MEMBER)
#undef FAKE_MEMBER
  explicit Fake(const char* file) {
    void* library = MustLoad(file);
#define FAKE_BIND(result, name, parameters) \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #name));
    FAKE_ZE_CONTROLS(FAKE_BIND)
#undef FAKE_BIND
  }
  std::string Log() const {
    std::vector<char> text(1 << 16);
    fake_ze_log(text.data(), text.size());
    return text.data();
  }
  // The text of the first violation, or an empty string; clears all violations.
  std::string Violation() const {
    char text[256];
    fake_ze_violations(text, sizeof text);
    return text;
  }
};

// The objects that the library may keep when a test ends.
struct Kept {
  size_t contexts = 0;  // created by the library
  size_t pools = 0;
  size_t lists = 0;
  size_t handles = 0;  // for IPC
};

// The drivers, and the objects that a test creates.
class World {
 public:
  explicit World(const char* loader = "libze_loader.so.1") : ze(loader), fake(FAKE_LEVEL_ZERO) {
    EXPECT_EQ(ze.zeInit(0), ZE_RESULT_SUCCESS);
    uint32_t count = 0;
    ze.zeDriverGet(&count, nullptr);
    drivers.resize(count);
    ze.zeDriverGet(&count, drivers.data());
    for (ze_driver_handle_t driver : drivers) {
      AddDevices(driver);
    }
    fake.Log();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  ~World() {
    for (const auto& [context, address] : memory_) {
      EXPECT_EQ(ze.zeMemFree(context, address), ZE_RESULT_SUCCESS);
    }
    for (ze_command_list_handle_t list : lists_) {
      EXPECT_EQ(ze.zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    }
    for (ze_command_queue_handle_t queue : queues_) {
      EXPECT_EQ(ze.zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    }
    for (const auto& [event, pool] : events_) {
      EXPECT_EQ(ze.zeEventDestroy(event), ZE_RESULT_SUCCESS);
      EXPECT_EQ(ze.zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
    }
    EXPECT_EQ(fake.Violation(), "");
    if (__lsan_do_recoverable_leak_check != nullptr) {
      EXPECT_EQ(__lsan_do_recoverable_leak_check(), 0);
    }
    EXPECT_EQ(fake.fake_ze_live("context"), contexts_ + kept.contexts);
    EXPECT_EQ(fake.fake_ze_live("pool"), kept.pools);
    EXPECT_EQ(fake.fake_ze_live("event"), kept.pools * 32);
    EXPECT_EQ(fake.fake_ze_live("list"), kept.lists);
    EXPECT_EQ(fake.fake_ze_live("queue"), 0U);
    EXPECT_EQ(fake.fake_ze_live("memory"), 0U);
    EXPECT_EQ(fake.fake_ze_live("ipc"), kept.handles);
  }

  ze_context_handle_t MakeContext(size_t driver = 0) {
    const ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    ze_context_handle_t made = nullptr;
    EXPECT_EQ(ze.zeContextCreate(drivers[driver], &desc, &made), ZE_RESULT_SUCCESS);
    ++contexts_;
    return made;
  }

  unsigned char* AllocDevice(ze_context_handle_t context, ze_device_handle_t device,
                             size_t size = 4096) {
    const ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0,
                                             0};
    void* made = nullptr;
    EXPECT_EQ(ze.zeMemAllocDevice(context, &desc, size, 64, device, &made), ZE_RESULT_SUCCESS);
    return Own(context, made);
  }
  unsigned char* AllocShared(ze_context_handle_t context, ze_device_handle_t device) {
    const ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0,
                                             0};
    const ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    void* made = nullptr;
    EXPECT_EQ(ze.zeMemAllocShared(context, &desc, &host, 4096, 64, device, &made),
              ZE_RESULT_SUCCESS);
    return Own(context, made);
  }
  unsigned char* AllocHost(ze_context_handle_t context) {
    const ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    void* made = nullptr;
    EXPECT_EQ(ze.zeMemAllocHost(context, &desc, 4096, 64, &made), ZE_RESULT_SUCCESS);
    return Own(context, made);
  }

  ze_command_list_handle_t MakeImmediate(ze_context_handle_t context, ze_device_handle_t device) {
    const ze_command_queue_desc_t desc = QueueDesc(0);
    ze_command_list_handle_t made = nullptr;
    EXPECT_EQ(ze.zeCommandListCreateImmediate(context, device, &desc, &made), ZE_RESULT_SUCCESS);
    lists_.push_back(made);
    return made;
  }
  ze_command_queue_handle_t MakeQueue(ze_context_handle_t context, ze_device_handle_t device,
                                      uint32_t ordinal = 0) {
    const ze_command_queue_desc_t desc = QueueDesc(ordinal);
    ze_command_queue_handle_t made = nullptr;
    EXPECT_EQ(ze.zeCommandQueueCreate(context, device, &desc, &made), ZE_RESULT_SUCCESS);
    queues_.push_back(made);
    return made;
  }
  // An event in its own pool.
  ze_event_handle_t MakeEvent(ze_context_handle_t context) {
    const ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr,
                                            ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    const ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0,
                                  ZE_EVENT_SCOPE_FLAG_HOST, ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_pool_handle_t pool = nullptr;
    ze_event_handle_t made = nullptr;
    EXPECT_EQ(ze.zeEventPoolCreate(context, &pool_desc, 0, nullptr, &pool), ZE_RESULT_SUCCESS);
    EXPECT_EQ(ze.zeEventCreate(pool, &desc, &made), ZE_RESULT_SUCCESS);
    events_.emplace_back(made, pool);
    return made;
  }

  uint64_t Register(int32_t id, size_t device, ze_context_handle_t context, uint32_t flags = 0) {
    DLBridgeContextEntry entry =
        dlbridge_context_entry_level_zero(id, driver_of[device], devices[device], context);
    entry.properties = flags;
    uint64_t made = 0;
    Error error;
    EXPECT_EQ(dlbridge_context_register(&entry, &made, &error), DLBRIDGE_OK) << error.message;
    return made;
  }

  static ze_command_queue_desc_t QueueDesc(uint32_t ordinal) {
    return {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
            nullptr,
            ordinal,
            0,
            0,
            ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
            ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
  }

  Loader ze;
  Fake fake;
  Kept kept;
  std::vector<ze_driver_handle_t> drivers;
  std::vector<ze_device_handle_t> devices;  // of all drivers, in their order
  std::vector<ze_driver_handle_t> driver_of;
  std::vector<std::vector<ze_device_handle_t>> parts;

 private:
  void AddDevices(ze_driver_handle_t driver) {
    uint32_t count = 0;
    ze.zeDeviceGet(driver, &count, nullptr);
    std::vector<ze_device_handle_t> found(count);
    ze.zeDeviceGet(driver, &count, found.data());
    for (ze_device_handle_t device : found) {
      devices.push_back(device);
      driver_of.push_back(driver);
      uint32_t part_count = 0;
      ze.zeDeviceGetSubDevices(device, &part_count, nullptr);
      parts.emplace_back(part_count);
      if (part_count != 0) {
        ze.zeDeviceGetSubDevices(device, &part_count, parts.back().data());
      }
    }
  }
  unsigned char* Own(ze_context_handle_t context, void* memory) {
    memory_.emplace_back(context, memory);
    return static_cast<unsigned char*>(memory);
  }

  size_t contexts_ = 0;
  std::vector<std::pair<ze_context_handle_t, void*>> memory_;
  std::vector<ze_command_list_handle_t> lists_;
  std::vector<ze_command_queue_handle_t> queues_;
  std::vector<std::pair<ze_event_handle_t, ze_event_pool_handle_t>> events_;
};

using Environment = std::vector<std::pair<const char*, const char*>>;

inline void SetEnvironment(const Environment& environment) {
  setenv("ZE_ENABLE_ALT_DRIVERS", FAKE_LEVEL_ZERO, 1);
  for (const auto& [name, value] : environment) {
    setenv(name, value, 1);
  }
}

// Runs `body` in a child with the real loader and the fake driver.
template <class Body>
testing::AssertionResult InWorld(const Environment& environment, Body body) {
  return InChild([&] {
    SetEnvironment(environment);
    World world;
    body(world);
  });
}

// As InWorld, with a newer loader.
template <class Body>
testing::AssertionResult InNextWorld(Environment environment, Body body) {
  environment.emplace_back("DLBRIDGE_LIBZE", FAKE_LEVEL_ZERO_LOADER);
  return InChild([&] {
    SetEnvironment(environment);
    World world;
    body(world);
  });
}

#define LEVEL_ZERO_TEST(suite, name)                                                          \
  static void suite##name([[maybe_unused]] dlbridge_test::World& world);                      \
  TEST(suite, name) {                                                                         \
    EXPECT_TRUE(                                                                              \
        dlbridge_test::InWorld({}, [](dlbridge_test::World& world) { suite##name(world); })); \
  }                                                                                           \
  static void suite##name([[maybe_unused]] dlbridge_test::World& world)

inline DLDevice OneApi(int32_t id) { return Device(kDLOneAPI, id); }

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_LEVEL_ZERO_WORLD_H_
