// SPDX-License-Identifier: Apache-2.0
// The first use of a driver in a process: other versions and numbers of devices, files that are
// missing or no driver, and calls that fail. Each input has its own process, since a driver is
// started once in each. libFuzzer does not see what a child reaches: the seeds are named, so that
// they are kept.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "dlbridge/dlbridge.h"
#include "fuzz/support/check.h"
#include "fuzz/support/child.h"
#include "fuzz/support/faults.h"
#include "fuzz/support/input.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {
namespace {

// The files that the library may find as a driver, by backend.
struct Vendor {
  DLBridgeBackend backend;
  const char* variable;
  const char* files[3];
  DLDeviceType device;
};
constexpr Vendor kVendors[] = {
    {DLBRIDGE_BACKEND_CUDA, "DLBRIDGE_LIBCUDA", {FUZZ_CUDA, FUZZ_CUDA_OLD, FUZZ_CUDA}, kDLCUDA},
    {DLBRIDGE_BACKEND_HIP, "DLBRIDGE_LIBHIP", {FUZZ_HIP6, FUZZ_HIP5, FUZZ_HIP0}, kDLROCM},
    {DLBRIDGE_BACKEND_LEVEL_ZERO,
     "DLBRIDGE_LIBZE",
     {"libze_loader.so.1", FUZZ_LEVEL_ZERO_LOADER, "libze_loader.so.1"},
     kDLOneAPI},
    {DLBRIDGE_BACKEND_OPENCL,
     "DLBRIDGE_LIBOPENCL",
     {FUZZ_OPENCL_SHIM, "libOpenCL.so.1", FUZZ_OPENCL_SHIM},
     kDLOpenCL},
};

// What the fakes read from the environment when they start.
void SetWorld(Input* input) {
  static const char* const kSettings[][2] = {
      {"FAKE_CUDA_DEVICES", "0"},     {"FAKE_CUDA_DEVICES", "1"},
      {"FAKE_CUDA_VERSION", "10020"}, {"FAKE_CUDA_VERSION", "13000"},
      {"FAKE_CUDA_INIT", "100"},      {"FAKE_CUDA_INIT", "999"},
      {"FAKE_CUDA_STUB", "1"},        {"FAKE_CUDA_REVERSED", "1"},
      {"FAKE_CUDA_NO_UUID", "1"},     {"FAKE_ZE_DEVICES", "0"},
      {"FAKE_ZE_DRIVERS", "0"},       {"FAKE_ZE_DRIVERS", "3"},
      {"FAKE_ZE_SUBDEVICES", "0"},    {"FAKE_ZE_TABLE", "driver"},
      {"FAKE_ZE_PEERS", "0>1"},       {"FAKE_ZE_LACKS", "zeMemGetIpcHandle"},
      {"FAKE_ZE_LACKS", "zeInit"},    {"FAKE_ZE_INIT", "0x78000001"},
      {"FAKE_ZE_IPC", "process"},     {"FAKE_ZE_IPC", "bytes"},
  };
  setenv("ZE_ENABLE_ALT_DRIVERS", FUZZ_LEVEL_ZERO, 1);
  setenv("OCL_ICD_VENDORS", input->OneIn(8) ? "/nonexistent/" : FUZZ_OPENCL_ICD "/pocl/", 1);
  for (uint64_t count = input->Below(3); count != 0; --count) {
    const auto& setting = kSettings[input->Below(sizeof kSettings / sizeof kSettings[0])];
    setenv(setting[0], setting[1], 1);
  }
}

// Names the file of each driver: its fake in most cases.
void SetFiles(Input* input) {
  for (const Vendor& vendor : kVendors) {
    switch (input->Below(8)) {
      case 0:
        setenv(vendor.variable, "/nonexistent", 1);
        break;
      case 1:
        setenv(vendor.variable, "libc.so.6", 1);  // a library without the driver's functions
        break;
      case 2:
        setenv(vendor.variable, "", 1);
        break;
      case 3:
        unsetenv(vendor.variable);
        break;
      case 4:  // as frameworks load it, before the library looks for it
        dlopen(vendor.files[0], RTLD_NOW | RTLD_GLOBAL);
        unsetenv(vendor.variable);
        break;
      default:
        setenv(vendor.variable, vendor.files[input->Below(3)], 1);
    }
  }
}

void CheckState(const DLBridgeBackendInfo& info) {
  Check("a known state", info.state == DLBRIDGE_STATE_READY ||
                             info.state == DLBRIDGE_STATE_UNUSABLE ||
                             info.state == DLBRIDGE_STATE_ABSENT);
  Check("a reason that ends", std::memchr(info.reason, 0, sizeof info.reason) != nullptr);
  CheckEqual("a reason where it is not ready", info.state != DLBRIDGE_STATE_READY,
             info.reason[0] != '\0');
  Check("devices only where it is ready",
        info.state == DLBRIDGE_STATE_READY || info.device_count == 0);
}

// Makes a call in which another fails, or none.
template <class Call>
DLBridgeStatus Try(Input* input, std::string* failed, Call call) {
  const Fault fault = Fault::Take(input, false);
  DLBridgeError error = GarbageError();
  if (fault.nth != 0) {
    CLibrary::Arm(fault);
  }
  const DLBridgeStatus status = call(&error);
  *failed = fault.nth != 0 ? CLibrary::Disarm() : "";
  CheckError(status, error);
  return status;
}

void AskState(Input* input, DLBridgeBackend backend) {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  std::string failed;
  const DLBridgeStatus status = Try(input, &failed, [&](DLBridgeError* error) {
    return dlbridge_backend_info(backend, &info, error);
  });
  if (status == DLBRIDGE_OK) {
    return CheckState(info);
  }
  Check("the state is known", !failed.empty());
  CheckStatusAfterFault(status, failed);
}

// The other functions that start a driver. Their statuses depend on the machine's drivers.
void Use(Input* input, const Vendor& vendor) {
  std::string failed;
  int value = 0;
  const auto choice = input->Below(6);
  Try(input, &failed, [&](DLBridgeError* error) {
    const DLDevice device = {vendor.device, static_cast<int32_t>(input->Below(3))};
    DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
    stream.backend = vendor.backend;
    stream.kind = DLBRIDGE_STREAM_QUEUE;
    stream.device = device;
    DLBridgeBuffer buffer = dlbridge_buffer_address(&value);
    switch (choice) {
      case 0: {
        DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
        const DLDevice label = input->Flag() ? device : DLDevice{kDLCPU, 0};
        return dlbridge_pointer_info(&buffer, label, &info, error);
      }
      case 1:
        return dlbridge_stream_synchronize(&stream, error);
      case 2: {
        DLBridgeStream host = DLBRIDGE_STREAM_INIT;
        host.kind = DLBRIDGE_STREAM_HOST;
        return dlbridge_stream_handoff(&stream, &host, 0, error);
      }
      case 3: {
        DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
        return dlbridge_context_find(device, 0, &found, error);
      }
      case 4: {
        uint64_t cursor = 0;
        DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
        return dlbridge_context_next(&cursor, &found, error);
      }
      default:
        return dlbridge_collect(0, nullptr, error);
    }
  });
}

// A framework brings its driver after the library has looked for it: the order does not matter.
void LoadLater(const Vendor& vendor) {
  const bool by_name =
      vendor.backend == DLBRIDGE_BACKEND_CUDA || vendor.backend == DLBRIDGE_BACKEND_HIP;
  if (!by_name || std::getenv(vendor.variable) != nullptr) {
    return;  // the shim has another name than a driver; a variable names the one file to use
  }
  Check([] { return std::string("a driver: ") + dlerror(); },
        dlopen(vendor.files[0], RTLD_NOW | RTLD_GLOBAL) != nullptr);
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  CheckStatus(DLBRIDGE_OK, dlbridge_backend_info(vendor.backend, &info, nullptr));
  CheckState(info);
  Check("a driver that is loaded is found", info.state != DLBRIDGE_STATE_ABSENT);
}

void Run(Input* input) {
  SetWorld(input);
  SetFiles(input);
  for (int step = 0; step < 8 && !input->empty(); ++step) {
    const Vendor& vendor = kVendors[input->Below(4)];
    const uint8_t choice = input->Byte();
    if (choice % 16 == 15) {
      LoadLater(vendor);
    } else if (choice % 2 == 1) {
      AskState(input, vendor.backend);
    } else {
      Use(input, vendor);
    }
  }
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::Input input(data, size);
  dlbridge_fuzz::InChild([&] { dlbridge_fuzz::Run(&input); });
  return 0;
}
