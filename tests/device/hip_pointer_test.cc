// SPDX-License-Identifier: Apache-2.0
// Information on HIP pointers, with the enumeration of each HIP generation.
#include "hip_world.h"

namespace dlbridge_test {
namespace {

DLBridgeStatus Ask(const void* pointer, DLBridgePointerInfo* info, DLBridgeError* error) {
  *info = DLBRIDGE_POINTER_INFO_INIT;
  const DLBridgeBuffer buffer = dlbridge_buffer_hip(const_cast<void*>(pointer));
  return dlbridge_pointer_info(&buffer, dlbridge_device_hip(0), info, error);
}

DLBridgePointerInfo Find(const void* pointer) {
  DLBridgePointerInfo info;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(Ask(pointer, &info, &error), DLBRIDGE_OK) << error.message;
  return info;
}

void ExpectAt(const DLBridgePointerInfo& info, int32_t memory, int32_t type, int32_t id) {
  EXPECT_EQ(info.backend, DLBRIDGE_BACKEND_HIP);
  EXPECT_EQ(info.memory, memory);
  EXPECT_EQ(static_cast<int32_t>(info.device.device_type), type);
  EXPECT_EQ(info.device.device_id, id);
  EXPECT_EQ(info.native_device, 1);
  EXPECT_EQ(info.context, 0U);
}

char* Offset(void* pointer, ptrdiff_t bytes) { return static_cast<char*>(pointer) + bytes; }

// Every kind of memory on device 1, queried while the thread's device is 0.
void ExpectAllKinds(const FakeHip& fake) {
  void* device = fake.allocate(kFakeDevice, 1, 4096);
  void* host = fake.allocate(kFakeHost, 1, 4096);
  void* managed = fake.allocate(kFakeManaged, 1, 4096);
  StartHip(fake);
  const DLBridgePointerInfo info = Find(Offset(device, 4095));
  ExpectAt(info, DLBRIDGE_MEMORY_DEVICE, kDLROCM, 1);
  EXPECT_EQ(info.base, reinterpret_cast<uintptr_t>(device));
  EXPECT_EQ(info.size, 4096U);
  ExpectAt(Find(Offset(host, 8)), DLBRIDGE_MEMORY_PINNED, kDLROCMHost, 0);
  EXPECT_EQ(Find(Offset(host, 8)).base, reinterpret_cast<uintptr_t>(host));
  ExpectAt(Find(managed), DLBRIDGE_MEMORY_MANAGED, kDLROCM, 1);
  EXPECT_EQ(Find(managed).size, 4096U);
}

void ExpectUnknownIsHost(const FakeHip& fake) {
  StartHip(fake);
  int local = 0;
  for (const void* pointer :
       {static_cast<const void*>(&local), static_cast<const void*>(nullptr)}) {
    const DLBridgePointerInfo info = Find(pointer);
    EXPECT_EQ(info.backend, DLBRIDGE_BACKEND_CPU);
    EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_HOST);
    EXPECT_EQ(info.native_device, -1);
  }
}

struct Generation {
  const char* library;
  int version;
};
constexpr Generation kGenerations[] = {{DLBRIDGE_FAKE_HIP0, kHip5},
                                       {DLBRIDGE_FAKE_HIP5, kHip5},
                                       {DLBRIDGE_FAKE_HIP5, kHip571},
                                       {DLBRIDGE_FAKE_HIP6, kHip6},
                                       {DLBRIDGE_FAKE_HIP6, kHip7}};

template <class Body>
void ForEachGeneration(Body body) {
  for (const Generation& generation : kGenerations) {
    EXPECT_TRUE(WithFakeHip(generation.library, [=](const FakeHip& fake) {
      fake.set_version(generation.version);
      body(fake);
    })) << generation.version;
  }
}

TEST(HipPointer, KindsInEachGeneration) { ForEachGeneration(ExpectAllKinds); }

TEST(HipPointer, UnknownMemoryInEachGeneration) { ForEachGeneration(ExpectUnknownIsHost); }

// settle checks that the error of the query is cleared.
TEST(HipPointer, AQueryOfOldRuntimesClearsItsError) {
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP5, [](const FakeHip& fake) {
    StartHip(fake);
    int local = 0;
    Find(&local);
    EXPECT_STREQ(fake.log(), "hipPointerGetAttributes(unknown) hipGetLastError()");
    EXPECT_EQ(fake.last_error(), 0);
  }));
}

// Newer runtimes keep the application's error when no call fails.
HIP_TEST(HipPointer, KeepsTheApplicationsError) {
  fake.set_version(kHip7);
  StartHip(fake);
  fake.set_last_error(700);
  int local = 0;
  Find(&local);
  EXPECT_STREQ(fake.log(), "hipPointerGetAttributes(unknown)");
  EXPECT_EQ(fake.last_error(), 700);
  fake.set_last_error(0);
}

HIP_TEST(HipPointer, MakesTwoCallsWithoutChangingTheDevice) {
  void* memory = fake.allocate(kFakeDevice, 1, 64);
  StartHip(fake);
  Find(Offset(memory, 8));
  EXPECT_STREQ(fake.log(), "hipPointerGetAttributes(base+8) hipMemGetAddressRange(base+8)");
}

// Some runtimes report no range for registered memory.
HIP_TEST(HipPointer, AnUnreportedRangeIsUnknown) {
  void* memory = fake.allocate(kFakeRegistered, 1, 64);
  fake.hide_range(memory);
  StartHip(fake);
  DLBridgePointerInfo info = Find(memory);
  ExpectAt(info, DLBRIDGE_MEMORY_PINNED, kDLROCMHost, 0);
  EXPECT_EQ(info.base, 0U);
  EXPECT_EQ(info.size, 0U);
  for (const int code : {1, 17, 500, 801}) {
    fake.fail("hipMemGetAddressRange", code, 1);
    info = Find(memory);
    EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_PINNED);
    EXPECT_EQ(info.size, 0U);
    EXPECT_EQ(fake.last_error(), 0);
  }
}

HIP_TEST(HipPointer, CallsThatFail) {
  void* memory = fake.allocate(kFakeDevice, 1, 64);
  StartHip(fake);
  DLBridgePointerInfo info;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  for (const char* function : {"hipPointerGetAttributes", "hipMemGetAddressRange"}) {
    fake.fail(function, 2, 1);
    EXPECT_EQ(Ask(memory, &info, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, function)) << error.message;
    EXPECT_TRUE(Contains(error.message, "failed with 2 (hipErrorUnknown)")) << error.message;
    EXPECT_EQ(info.memory, 0);
  }
  // From 6.0 on unknown memory is not an error, so this code is.
  fake.fail("hipPointerGetAttributes", 1, 1);
  EXPECT_EQ(Ask(memory, &info, &error), DLBRIDGE_ERROR_DRIVER);
}

TEST(HipPointer, ArraysAreUnsupported) {
  ForEachGeneration([](const FakeHip& fake) {
    void* array = fake.allocate(kFakeArray, 1, 64);
    StartHip(fake);
    DLBridgePointerInfo info;
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Ask(array, &info, &error), DLBRIDGE_ERROR_UNSUPPORTED);
    EXPECT_TRUE(Contains(error.message, "hipMemoryType")) << error.message;
  });
}

// A query with a CPU device asks only backends that already run, and starts none.
HIP_TEST(HipPointer, AHostPointerStartsNoDriver) {
  void* memory = fake.allocate(kFakeHost, 1, 64);
  const DLBridgeBuffer buffer = dlbridge_buffer_address(memory);
  const DLDevice cpu = {kDLCPU, 0};
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  EXPECT_EQ(dlbridge_pointer_info(&buffer, cpu, &info, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_HOST);
  EXPECT_STREQ(fake.log(), "");
  StartHip(fake);
  EXPECT_EQ(dlbridge_pointer_info(&buffer, cpu, &info, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_PINNED);
}

// DLBRIDGE_LEVEL_DEVICE: devices and extents compared with HIP's information.
struct Labelled {
  int64_t shape[1];
  DLTensor tensor;
};

Labelled Label(void* data, DLDeviceType type, int32_t id, int64_t bytes) {
  Labelled labelled = {{bytes}, {}};
  labelled.tensor.data = data;
  labelled.tensor.device.device_type = type;
  labelled.tensor.device.device_id = id;
  labelled.tensor.ndim = 1;
  labelled.tensor.dtype = {kDLUInt, 8, 1};
  return labelled;
}

DLBridgeStatus Validate(Labelled labelled, DLBridgeError* error) {
  labelled.tensor.shape = labelled.shape;
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.level = DLBRIDGE_LEVEL_DEVICE;
  return dlbridge_validate(&labelled.tensor, 0, &policy, error);
}

HIP_TEST(HipPointer, DevicesAreComparedWithTheDriver) {
  void* memory = fake.allocate(kFakeDevice, 1, 256);
  void* pinned = fake.allocate(kFakeHost, 1, 256);
  void* managed = fake.allocate(kFakeManaged, 1, 256);
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(Validate(Label(memory, kDLROCM, 1, 256), &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(Label(managed, kDLROCM, 1, 256), &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(Label(pinned, kDLROCMHost, 0, 256), &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(Label(pinned, kDLCPU, 0, 256), &error), DLBRIDGE_OK) << error.message;
  for (const Labelled& lie : {Label(memory, kDLROCM, 0, 256), Label(memory, kDLROCMHost, 0, 256),
                              Label(memory, kDLCPU, 0, 256), Label(pinned, kDLROCM, 1, 256)}) {
    EXPECT_NE(Validate(lie, &error), DLBRIDGE_OK);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL) << error.message;
  }
  EXPECT_NE(Validate(Label(Offset(memory, 1), kDLROCM, 1, 256), &error), DLBRIDGE_OK);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_ALLOCATION_BOUNDS) << error.message;
}

}  // namespace
}  // namespace dlbridge_test
