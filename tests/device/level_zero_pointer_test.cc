// SPDX-License-Identifier: Apache-2.0
// Information on Level Zero pointers, with their context and device id.
#include "device/level_zero_world.h"

namespace {

using dlbridge_test::Axes;
using dlbridge_test::Device;
using dlbridge_test::Error;
using dlbridge_test::InNextWorld;
using dlbridge_test::InWorld;
using dlbridge_test::kDeviceLost;
using dlbridge_test::OneApi;
using dlbridge_test::World;

DLBridgePointerInfo Ask(const DLBridgeBuffer& buffer, DLDevice label) {
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  Error error;
  EXPECT_EQ(dlbridge_pointer_info(&buffer, label, &info, &error), DLBRIDGE_OK) << error.message;
  return info;
}

DLBridgePointerInfo Ask(const void* address, DLDevice label) {
  return Ask(dlbridge_buffer_level_zero(address, nullptr), label);
}

constexpr uint32_t kDefault = DLBRIDGE_CONTEXT_DEFAULT;

void Start() {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_LEVEL_ZERO, &info, nullptr), DLBRIDGE_OK);
  ASSERT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
}

LEVEL_ZERO_TEST(LevelZeroPointer, RegisteredContext) {
  ze_context_handle_t context = world.MakeContext();
  world.Register(0, 0, context);
  const unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  Start();
  world.fake.Log();
  const DLBridgePointerInfo info = Ask(memory + 100, OneApi(0));
  EXPECT_EQ(world.fake.Log(), "zeMemGetAllocProperties,zeMemGetAddressRange");
  EXPECT_EQ(info.backend, DLBRIDGE_BACKEND_LEVEL_ZERO);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_USM_DEVICE);
  EXPECT_EQ(info.device.device_type, kDLOneAPI);
  EXPECT_EQ(info.device.device_id, 0);
  EXPECT_EQ(info.native_device, 0);
  EXPECT_EQ(info.properties, 0U);
  EXPECT_EQ(info.base, reinterpret_cast<uintptr_t>(memory));
  EXPECT_EQ(info.size, 4096U);
  EXPECT_EQ(dlbridge_level_zero_pointer_context(&info), context);
}

LEVEL_ZERO_TEST(LevelZeroPointer, Kinds) {
  ze_context_handle_t context = world.MakeContext();
  world.Register(0, 0, context);
  const DLBridgePointerInfo shared = Ask(world.AllocShared(context, world.devices[0]), OneApi(0));
  EXPECT_EQ(shared.memory, DLBRIDGE_MEMORY_USM_SHARED);
  EXPECT_EQ(shared.native_device, 0);
  const DLBridgePointerInfo host = Ask(world.AllocHost(context), OneApi(0));
  EXPECT_EQ(host.memory, DLBRIDGE_MEMORY_USM_HOST);
  EXPECT_EQ(host.native_device, -1);
  EXPECT_EQ(host.device.device_id, 0);
}

// No context is registered: the enumerated contexts are asked, and do not know the memory.
LEVEL_ZERO_TEST(LevelZeroPointer, Unknown) {
  ze_context_handle_t context = world.MakeContext();
  const unsigned char* foreign = world.AllocDevice(context, world.devices[0]);
  int on_stack = 0;
  const DLBridgePointerInfo stack = Ask(&on_stack, OneApi(0));
  EXPECT_EQ(stack.memory, DLBRIDGE_MEMORY_HOST);
  EXPECT_EQ(stack.backend, DLBRIDGE_BACKEND_CPU);
  EXPECT_EQ(Ask(foreign, OneApi(0)).memory, DLBRIDGE_MEMORY_HOST);
  EXPECT_EQ(Ask(nullptr, OneApi(0)).memory, DLBRIDGE_MEMORY_HOST);
  world.kept.contexts = 2;  // one per driver
}

// The second query creates nothing.
LEVEL_ZERO_TEST(LevelZeroPointer, EnumeratesOnce) {
  int on_stack = 0;
  Start();
  world.fake.Log();
  Ask(&on_stack, OneApi(0));
  EXPECT_EQ(world.fake.Log(),
            "zeContextCreate,zeContextCreate,zeMemGetAllocProperties,zeMemGetAllocProperties");
  Ask(&on_stack, OneApi(0));
  EXPECT_EQ(world.fake.Log(), "zeMemGetAllocProperties,zeMemGetAllocProperties");
  world.kept.contexts = 2;
}

LEVEL_ZERO_TEST(LevelZeroPointer, NamedContext) {
  ze_context_handle_t context = world.MakeContext();
  ze_context_handle_t other = world.MakeContext();
  const unsigned char* memory = world.AllocDevice(context, world.devices[1]);
  Start();
  world.fake.Log();
  const DLBridgePointerInfo info = Ask(dlbridge_buffer_level_zero(memory, context), OneApi(1));
  EXPECT_EQ(world.fake.Log(), "zeMemGetAllocProperties,zeMemGetAddressRange");
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_USM_DEVICE);
  EXPECT_EQ(info.native_device, 1);
  EXPECT_EQ(info.properties, 0U);
  EXPECT_EQ(Ask(dlbridge_buffer_level_zero(memory, other), OneApi(1)).memory, DLBRIDGE_MEMORY_HOST);
}

// A context of an unknown backend is not passed to a driver, which would dereference it.
LEVEL_ZERO_TEST(LevelZeroPointer, ContextWithoutABackend) {
  Start();
  int on_stack = 0;
  DLBridgeBuffer buffer = dlbridge_buffer_address(&on_stack);
  buffer.context = 0xdead;
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  Error error;
  EXPECT_EQ(dlbridge_pointer_info(&buffer, OneApi(0), &info, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("LEVEL_ZERO (4) or OPENCL (5)")) << error.message;
  EXPECT_EQ(Ask(buffer, Device(kDLCPU)).memory, DLBRIDGE_MEMORY_HOST);
}

LEVEL_ZERO_TEST(LevelZeroPointer, ContextInTable) {
  ze_context_handle_t context = world.MakeContext();
  const unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  world.Register(0, 0, context);
  DLBridgeBuffer buffer = dlbridge_buffer_address(memory);
  buffer.context = reinterpret_cast<uintptr_t>(context);
  EXPECT_EQ(Ask(buffer, OneApi(0)).memory, DLBRIDGE_MEMORY_USM_DEVICE);
}

// First the contexts of the device id, then those of other devices, then the enumerated ones.
LEVEL_ZERO_TEST(LevelZeroPointer, OrderOfContexts) {
  ze_context_handle_t first = world.MakeContext();
  ze_context_handle_t second = world.MakeContext();
  ze_context_handle_t other = world.MakeContext(1);
  world.Register(0, 0, first);
  world.Register(0, 0, second);
  world.Register(2, 2, other);
  const unsigned char* in_second = world.AllocDevice(second, world.devices[0]);
  const unsigned char* in_other = world.AllocDevice(other, world.devices[2]);
  Start();
  world.fake.Log();
  const DLBridgePointerInfo by_label = Ask(in_second, OneApi(0));
  EXPECT_EQ(dlbridge_level_zero_pointer_context(&by_label), second);
  EXPECT_EQ(world.fake.Log(),
            "zeMemGetAllocProperties,zeMemGetAllocProperties,zeMemGetAddressRange");
  const DLBridgePointerInfo info = Ask(in_other, OneApi(0));
  EXPECT_EQ(dlbridge_level_zero_pointer_context(&info), other);
  EXPECT_EQ(info.properties, 0U);
  EXPECT_EQ(info.native_device, 2);
  // Id 0 is registered for another device, so the device is reported with its own id.
  EXPECT_EQ(info.device.device_id, 2);
}

TEST(LevelZeroPointer, IntelTable) {
  EXPECT_TRUE(InWorld({{"FAKE_ZE_TABLE", "driver"}}, [](World& world) {
    ze_context_handle_t context = world.MakeContext();
    const unsigned char* memory = world.AllocDevice(context, world.devices[1]);
    const DLBridgePointerInfo info = Ask(memory, OneApi(1));
    EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_USM_DEVICE);
    EXPECT_EQ(info.native_device, 1);
    EXPECT_EQ(info.properties, uint32_t{DLBRIDGE_POINTER_CONTEXT_ASSUMED});
    int on_stack = 0;
    EXPECT_EQ(Ask(&on_stack, OneApi(0)).native_device, -1);
    world.kept.contexts = 2;
  }));
}

LEVEL_ZERO_TEST(LevelZeroPointer, SubDevice) {
  ze_context_handle_t context = world.MakeContext(1);
  world.Register(7, 3, context);
  const unsigned char* memory = world.AllocDevice(context, world.parts[3][1]);
  const DLBridgePointerInfo info = Ask(memory, OneApi(7));
  EXPECT_EQ(info.native_device, 3);
  EXPECT_EQ(info.device.device_id, 7);
}

// SYCL numbers devices in its own order.
LEVEL_ZERO_TEST(LevelZeroPointer, Ids) {
  ze_context_handle_t context = world.MakeContext();
  world.Register(0, 1, context);
  world.Register(5, 0, context);
  const unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  EXPECT_EQ(Ask(memory, OneApi(0)).device.device_id, 5);
  EXPECT_EQ(Ask(memory, OneApi(5)).device.device_id, 5);
  // An unregistered id is accepted unchanged.
  EXPECT_EQ(Ask(memory, OneApi(3)).device.device_id, 3);
  // The id of a CPU device is ignored.
  EXPECT_EQ(Ask(memory, Device(kDLCPU)).device.device_id, 5);
}

// The device is registered under no id, and the given id belongs to another device.
LEVEL_ZERO_TEST(LevelZeroPointer, NoId) {
  ze_context_handle_t context = world.MakeContext();
  world.Register(0, 1, context);
  const unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  EXPECT_EQ(Ask(memory, OneApi(0)).device.device_id, -1);
}

LEVEL_ZERO_TEST(LevelZeroPointer, HostPointerStartsNoDriver) {
  int on_stack = 0;
  const DLBridgeBuffer buffer = dlbridge_buffer_address(&on_stack);
  EXPECT_EQ(Ask(buffer, Device(kDLCPU)).memory, DLBRIDGE_MEMORY_HOST);
  EXPECT_EQ(world.fake.Log(), "");
}

LEVEL_ZERO_TEST(LevelZeroPointer, EntryWithRelease) {
  ze_context_handle_t context = world.MakeContext();
  int released = 0;
  DLBridgeContextEntry entry =
      dlbridge_context_entry_level_zero(0, world.drivers[0], world.devices[0], context);
  entry.release = [](void* user, const DLBridgeContextEntry* /*entry*/) {
    ++*static_cast<int*>(user);
  };
  entry.release_context = &released;
  uint64_t id = 0;
  ASSERT_EQ(dlbridge_context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  const unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  EXPECT_EQ(Ask(memory, OneApi(0)).memory, DLBRIDGE_MEMORY_USM_DEVICE);
  EXPECT_EQ(released, 0);
  EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(released, 1);
}

LEVEL_ZERO_TEST(LevelZeroPointer, EachCallFails) {
  ze_context_handle_t context = world.MakeContext();
  world.Register(0, 0, context);
  const unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  const DLBridgeBuffer buffer = dlbridge_buffer_level_zero(memory, nullptr);
  Start();
  for (const char* call : {"zeMemGetAllocProperties", "zeMemGetAddressRange"}) {
    world.fake.fake_ze_fail(call, kDeviceLost, 1);
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    Error error;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, OneApi(0), &info, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says(call)) << error.message;
    EXPECT_TRUE(error.Says("ZE_RESULT_ERROR_DEVICE_LOST, 0x70000001")) << error.message;
    EXPECT_EQ(info.memory, 0);
  }
}

LEVEL_ZERO_TEST(LevelZeroPointer, EnumerationFails) {
  int on_stack = 0;
  const DLBridgeBuffer buffer = dlbridge_buffer_level_zero(&on_stack, nullptr);
  for (uint32_t n = 1; n <= 2; ++n) {
    world.fake.fake_ze_fail("zeContextCreate", kDeviceLost, n);
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    Error error;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, OneApi(0), &info, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says("zeContextCreate")) << error.message;
    world.fake.fake_ze_fail(nullptr, 0, 0);
  }
  world.kept.contexts = 1;  // the first driver's, after the second one's failed
}

DLBridgeContextEntry LookUp(int32_t id) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  Error error;
  EXPECT_EQ(dlbridge_context_find(OneApi(id), 0, &entry, &error), DLBRIDGE_OK) << error.message;
  return entry;
}

LEVEL_ZERO_TEST(LevelZeroTable, Enumerates) {
  for (size_t i = 0; i < 4; ++i) {
    const DLBridgeContextEntry entry = LookUp(static_cast<int32_t>(i));
    EXPECT_EQ(entry.backend, DLBRIDGE_BACKEND_LEVEL_ZERO);
    EXPECT_EQ(dlbridge_level_zero_driver(&entry), world.driver_of[i]);
    EXPECT_EQ(dlbridge_level_zero_device(&entry), world.devices[i]);
    EXPECT_EQ(entry.properties & ~kDefault,
              uint32_t{DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_PRIVATE});
    EXPECT_EQ(dlbridge_level_zero_list(&entry), nullptr);
    EXPECT_EQ(entry.uuid[0], 0xd1);
    EXPECT_EQ(entry.uuid[2], i / 2);
    EXPECT_EQ(entry.uuid[3], i % 2);
  }
  EXPECT_EQ(LookUp(0).context, LookUp(1).context);
  EXPECT_NE(LookUp(0).context, LookUp(2).context);
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  EXPECT_EQ(dlbridge_context_find(OneApi(4), 0, &entry, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
  world.kept.contexts = 2;
}

TEST(LevelZeroTable, DefaultContext) {
  EXPECT_TRUE(InNextWorld({}, [](World& world) {
    world.kept.contexts = 2;
    const DLBridgeContextEntry entry = LookUp(0);
    EXPECT_EQ(entry.properties & ~kDefault, uint32_t{DLBRIDGE_CONTEXT_ENUMERATED});
    EXPECT_EQ(dlbridge_level_zero_context(&entry),
              world.fake.fake_ze_default_context(world.drivers[0]));
    world.kept.contexts = 2;
  }));
  EXPECT_TRUE(
      InNextWorld({{"FAKE_ZE_LOADER_LACKS", "zeDriverGetDefaultContext"}}, [](World& world) {
        EXPECT_NE(LookUp(0).properties & DLBRIDGE_CONTEXT_PRIVATE, 0U);
        world.kept.contexts = 2;
      }));
}

// The application's entry stays the default; the driver's own context is another entry.
LEVEL_ZERO_TEST(LevelZeroTable, RegisteredFirst) {
  ze_context_handle_t context = world.MakeContext();
  world.Register(1, 1, context);
  LookUp(0);
  const DLBridgeContextEntry entry = LookUp(1);
  EXPECT_EQ(dlbridge_level_zero_context(&entry), context);
  world.kept.contexts = 2;
}

// DLBRIDGE_LEVEL_DEVICE, through the validator.
struct Tensor {
  int64_t shape[1];
  int64_t strides[1] = {1};
  DLTensor tensor;

  Tensor(void* data, DLDevice device, int64_t count)
      : shape{count}, tensor{data, device, 1, {kDLFloat, 32, 1}, shape, strides, 0} {}
};

DLBridgeStatus Validate(const Tensor& tensor, Error* error) {
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.level = DLBRIDGE_LEVEL_DEVICE;
  return dlbridge_validate(&tensor.tensor, 0, &policy, error);
}

LEVEL_ZERO_TEST(LevelZeroValidate, Labels) {
  ze_context_handle_t context = world.MakeContext();
  world.Register(0, 0, context);
  world.Register(1, 1, context);
  unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  unsigned char* shared = world.AllocShared(context, world.devices[0]);
  Error error;
  EXPECT_EQ(Validate(Tensor(memory, OneApi(0), 1024), &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(Tensor(memory + 96, OneApi(0), 1000), &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(Tensor(memory, OneApi(0), 1025), &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_ALLOCATION_BOUNDS) << error.message;
  EXPECT_EQ(Validate(Tensor(memory, OneApi(1), 4), &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL) << error.message;
  EXPECT_TRUE(error.Says("oneapi:1")) << error.message;
  EXPECT_TRUE(error.Says("oneapi:0")) << error.message;
  EXPECT_EQ(Validate(Tensor(memory, Device(kDLCPU), 4), &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL) << error.message;
  EXPECT_EQ(Validate(Tensor(shared, Device(kDLCPU), 4), &error), DLBRIDGE_OK) << error.message;
  float on_stack[4];
  EXPECT_EQ(Validate(Tensor(on_stack, OneApi(0), 4), &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL) << error.message;
  world.kept.contexts = 2;
}

}  // namespace
