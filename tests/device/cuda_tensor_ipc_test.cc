// SPDX-License-Identifier: Apache-2.0
// CUDA tensors between processes. Each child starts its own driver; this process never does.
#include "cuda_tensor_device.h"
#include "ipc_checks.h"

namespace dlbridge_test {
namespace {

int Mappings() { return Counts().live_mappings; }

struct Process {
  template <class Part>
  void operator()(Part part) const {
    UseFakeCuda();
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    ASSERT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_CUDA, &info, nullptr), DLBRIDGE_OK);
    ASSERT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    {
      CudaDevice device(1);
      part(&device);
    }
    EXPECT_EQ(fake_cuda_violations(), 0) << fake_cuda_violation_texts();
    EXPECT_EQ(Counts().live_mappings, 0);
    EXPECT_EQ(Counts().context_depth, 0);
  }
};

TEST(CudaTensorIpc, BetweenProcesses) {
  BetweenProcesses(Process(), [](TensorDevice* device, const IpcLetter& letter) {
    EXPECT_EQ(letter.fd_count, 0U);
    CheckImport(device, letter, Mappings);
    CheckImport(device, letter, Mappings);
  });
}

TEST(CudaTensorIpc, InvalidImportsAreRejected) {
  BetweenProcesses(Process(), [](TensorDevice*, const IpcLetter& letter) {
    CheckGreed(letter, Mappings);
    CheckUnknownDevice(letter, Mappings);
    CheckAltered(letter, Mappings);
  });
}

TEST(CudaTensorIpc, AnEndedExporter) {
  AfterTheExporter(Process(), [](TensorDevice*, const IpcLetter& letter) {
    ExpectNoImport(letter, DLBRIDGE_ERROR_DRIVER, "cuIpcOpenMemHandle", Mappings);
  });
}

}  // namespace
}  // namespace dlbridge_test
