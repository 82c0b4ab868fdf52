// SPDX-License-Identifier: Apache-2.0
// Tensors in HIP memory: wrapped, and shared with another process.
#include "hip_tensor_device.h"
#include "ipc_checks.h"
#include "table_checks.h"

namespace dlbridge_test {
namespace {

void Count(void* context, const DLBridgeBuffer* /*buffer*/, const DLBridgeStream* /*stream*/) {
  ++*static_cast<int*>(context);
}

// Wraps 100 bytes from byte 28 of a buffer on device 1.
DLManagedTensorVersioned* Wrap(void* memory, int* released, DLBridgeError* error) {
  const int64_t shape[] = {100};
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.level = DLBRIDGE_LEVEL_DEVICE;
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.ndim = 1;
  spec.shape = shape;
  spec.buffer = dlbridge_buffer_hip(memory);
  spec.byte_offset = 28;
  spec.device = dlbridge_device_hip(1);
  spec.dtype = {kDLUInt, 8, 1};
  spec.policy = &policy;
  spec.release = Count;
  spec.release_context = released;
  DLManagedTensorVersioned* tensor = nullptr;
  const DLBridgeStatus status = dlbridge_wrap(&spec, &tensor, error);
  EXPECT_EQ(status == DLBRIDGE_OK, tensor != nullptr);
  return tensor;
}

HIP_TEST(HipTensor, WrappedAndReleasedOnce) {
  void* memory = fake.allocate(kFakeDevice, 1, 128);
  int released = 0;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* tensor = Wrap(memory, &released, &error);
  ASSERT_NE(tensor, nullptr) << error.message;
  EXPECT_EQ(tensor->dl_tensor.data, memory);
  EXPECT_EQ(tensor->dl_tensor.byte_offset, 28U);
  tensor->deleter(tensor);
  EXPECT_EQ(released, 1);
}

HIP_TEST(HipTensor, AWrongDeviceOrSizeIsRejected) {
  void* memory = fake.allocate(kFakeDevice, 0, 128);
  int released = 0;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(Wrap(memory, &released, &error), nullptr);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL) << error.message;
  void* small = fake.allocate(kFakeDevice, 1, 127);
  EXPECT_EQ(Wrap(small, &released, &error), nullptr);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_ALLOCATION_BOUNDS) << error.message;
  EXPECT_EQ(released, 0);
}

const FakeHip& SharedFake() { return *LoadFakeHip(DLBRIDGE_FAKE_HIP6); }

int Mappings() {
  const std::string log = SharedFake().log();
  return CountIn(log, "hipIpcOpenMemHandle(") - CountIn(log, "hipIpcCloseMemHandle(");
}

// Sets up the device of a process. The shared memory of the fake is mapped before the fork.
struct Process {
  Process() : fake(SharedFake()) {}

  template <class Part>
  void operator()(Part part) const {
    setenv("DLBRIDGE_LIBHIP", DLBRIDGE_FAKE_HIP6, 1);
    {
      HipDevice device(fake, 1);
      part(&device);
    }
    fake.settle(kPooled, kPooled, 0);
    EXPECT_STREQ(fake.violations(), "");
  }

  const FakeHip& fake;
};

// The importer sees the devices in reverse order.
TEST(HipTensor, BetweenProcesses) {
  BetweenProcesses(Process(), [](TensorDevice*, const IpcLetter& letter) {
    SharedFake().reverse_devices();
    HipDevice device(SharedFake(), 0);
    EXPECT_EQ(letter.fd_count, 0U);
    CheckImport(&device, letter, Mappings);
    CheckImport(&device, letter, Mappings);
  });
}

TEST(HipTensor, InvalidImportsAreRejected) {
  BetweenProcesses(Process(), [](TensorDevice*, const IpcLetter& letter) {
    CheckGreed(letter, Mappings);
    CheckUnknownDevice(letter, Mappings);
    CheckAltered(letter, Mappings);
  });
}

TEST(HipTensor, AnEndedExporter) {
  AfterTheExporter(Process(), [](TensorDevice*, const IpcLetter& letter) {
    // The failing call opens nothing.
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    DLManagedTensorVersioned* tensor = nullptr;
    EXPECT_EQ(ImportLetter(letter, &tensor, &error), DLBRIDGE_ERROR_DRIVER) << error.message;
    EXPECT_TRUE(Contains(error.message, "hipIpcOpenMemHandle")) << error.message;
    EXPECT_EQ(tensor, nullptr);
  });
}

HIP_TEST(HipTensor, DevicesInTheTable) {
  (void)fake;
  CheckEnumeration(DLBRIDGE_BACKEND_HIP, kDLROCM, 2, {kDLROCMHost});
}

}  // namespace
}  // namespace dlbridge_test
