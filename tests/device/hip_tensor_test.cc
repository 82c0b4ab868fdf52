// SPDX-License-Identifier: Apache-2.0
// Tensors on memory of HIP's: wrapped, and shared with another process.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "hip_world.h"

namespace dlbridge_test {
namespace {

void Count(void* context, DLBridgeBuffer /*buffer*/) { ++*static_cast<int*>(context); }

// 100 bytes from byte 28 of a buffer on device 1.
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

HIP_TEST(HipTensor, ALieIsNotWrapped) {
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

// What goes from one process to the other, beside the descriptor two pipes as barriers.
struct Letter {
  uint8_t bytes[DLBRIDGE_IPC_MAX_SIZE];
  size_t length;
};

void ExportAndWait(const FakeHip& fake, Letter* letter, int ready, int done) {
  void* memory = fake.allocate(kFakeDevice, 1, 128);
  std::memset(fake.bytes(memory), 42, 128);
  int released = 0;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* tensor = Wrap(memory, &released, &error);
  ASSERT_NE(tensor, nullptr) << error.message;
  size_t fds = 0;
  EXPECT_EQ(dlbridge_ipc_export(tensor, 0, letter->bytes, sizeof letter->bytes, &letter->length,
                                nullptr, 0, &fds, &error),
            DLBRIDGE_OK)
      << error.message;
  EXPECT_EQ(fds, 0U);
  char byte = 0;
  EXPECT_EQ(write(ready, &byte, 1), 1);
  EXPECT_EQ(read(done, &byte, 1), 0);
  tensor->deleter(tensor);
  EXPECT_EQ(released, 1);
}

void ImportAndRead(const FakeHip& fake, const Letter* letter) {
  fake.reverse_devices();
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(
      dlbridge_ipc_import(letter->bytes, letter->length, nullptr, 0, 0, nullptr, &tensor, &error),
      DLBRIDGE_OK)
      << error.message;
  const DLTensor& view = tensor->dl_tensor;
  EXPECT_EQ(static_cast<int32_t>(view.device.device_type), kDLROCM);
  EXPECT_EQ(view.device.device_id, 0);
  EXPECT_EQ(view.shape[0], 100);
  auto* first = static_cast<char*>(view.data) + view.byte_offset;
  EXPECT_EQ(static_cast<char*>(fake.bytes(first))[99], 42);
  tensor->deleter(tensor);
  EXPECT_TRUE(Contains(fake.log(), "hipIpcCloseMemHandle(base)")) << fake.log();
}

TEST(HipTensor, BetweenProcesses) {
  auto* letter = static_cast<Letter*>(
      mmap(nullptr, sizeof(Letter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready) | pipe(done), 0);
  LoadFakeHip(DLBRIDGE_FAKE_HIP6);  // its shared memory, before the processes part
  std::fflush(nullptr);
  const pid_t exporter = fork();
  if (exporter == 0) {
    close(done[1]);
    const bool good = static_cast<bool>(WithFakeHip(DLBRIDGE_FAKE_HIP6, [=](const FakeHip& fake) {
      ExportAndWait(fake, letter, ready[1], done[0]);
    }));
    _exit(good ? 0 : 1);
  }
  close(ready[1]);  // an exporter that fails is heard of
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(
      WithFakeHip(DLBRIDGE_FAKE_HIP6, [=](const FakeHip& fake) { ImportAndRead(fake, letter); }));
  close(done[1]);
  int status = 0;
  waitpid(exporter, &status, 0);
  EXPECT_EQ(status, 0);
  munmap(letter, sizeof(Letter));
}

}  // namespace
}  // namespace dlbridge_test
