// SPDX-License-Identifier: Apache-2.0
// CUDA: how its driver is found and started.
#include "device/cuda/internal.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "support/library.h"

namespace dlbridge::cuda {

Cuda g_cuda;

namespace {

#ifdef _WIN32
constexpr const char* kNames[] = {"nvcuda.dll"};
#else
// Never libcuda.so: that is the name of the toolkit's stub.
constexpr const char* kNames[] = {"libcuda.so.1"};
#endif
constexpr LibraryNames kLibrary = {"DLBRIDGE_LIBCUDA", "libcuda.so.", kNames, 1};

// The pointer attributes that report the range and the mapping exist since this release.
constexpr int kRangeVersion = 10020;
// The attribute that reports the pool of a pointer, and the functions that share pools, exist since
// this release.
constexpr int kPoolVersion = 11030;

// An explanation in addition to the driver's name of a code.
struct Hint {
  Result code;
  const char* text;
};
constexpr Hint kHints[] = {
    {kStubLibrary, "the toolkit's stub was loaded in place of the driver"},
    {kNoDevice, "the machine has no NVIDIA device, or CUDA_VISIBLE_DEVICES hides all"},
    {kSystemNotReady, "the system's services, such as the fabric manager, are not running"},
    {kDriverMismatch,
     "the kernel module and the driver library have different versions: restart the machine"},
    {kCompatNotSupported, "the compatibility package does not support this device"},
};

int32_t Unusable(const char* call, Result result, DLBridgeBackendInfo* info) {
  TextWriter text(info->reason, sizeof info->reason);
  text.String(call).String(" failed with ").Signed(result);
  const char* name = ResultName(result);
  if (name != nullptr) {
    text.String(" (").String(name).Character(')');
  }
  for (const Hint& hint : kHints) {
    if (hint.code == result) {
      text.String(": ").String(hint.text);
    }
  }
  info->device_count = 0;  // a call after the search for devices may fail, too
  return DLBRIDGE_STATE_UNUSABLE;
}

// A function of the driver and its place in the table.
struct Row {
  const char* name;
  size_t offset;
  bool required;
};
constexpr Row kRows[] = {
#define DLBRIDGE_ROW(member, name, version, parameters) {#name, offsetof(Driver, member), true},
    DLBRIDGE_CUDA_REQUIRED(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
#define DLBRIDGE_ROW(member, name, version, parameters) {#name, offsetof(Driver, member), false},
        DLBRIDGE_CUDA_OPTIONAL(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
};
static_assert(sizeof(Driver) == sizeof kRows / sizeof kRows[0] * sizeof(void*),
              "a table of pointers");

// Returns the first required function that the library lacks, or NULL.
const char* Bind(void* library) {
  for (const Row& row : kRows) {
    void* symbol = FindSymbol(library, row.name);
    if (symbol == nullptr && row.required) {
      return row.name;
    }
    std::memcpy(reinterpret_cast<char*>(&g_cuda.driver) + row.offset, &symbol, sizeof symbol);
  }
  return nullptr;
}

void WriteVersion(int version, DLBridgeBackendInfo* info) {
  TextWriter(info->driver_version, sizeof info->driver_version)
      .Signed(version / 1000)
      .Character('.')
      .Signed(version % 1000 / 10);
}

// Fills the list of devices. Returns the result of the first failing call, or kSuccess.
Result FindDevices() {
  for (int i = 0; i < g_cuda.device_count; ++i) {
    DeviceRecord* record = &g_cuda.devices[i];
    const Result result = g_cuda.driver.device_get(&record->handle, i);
    if (result != kSuccess) {
      return result;
    }
    if (g_cuda.driver.device_get_uuid != nullptr &&
        g_cuda.driver.device_get_uuid(&record->uuid, record->handle) != kSuccess) {
      record->uuid = {};
    }
    int pitch = 0;
    const Result asked = g_cuda.driver.device_get_attribute(&pitch, kMaxPitch, record->handle);
    record->max_pitch = asked == kSuccess && pitch > 0 ? static_cast<uint64_t>(pitch) : 0;
  }
  return kSuccess;
}

int32_t StartDevices(DLBridgeBackendInfo* info) {
  int count = 0;
  const Result result = g_cuda.driver.device_get_count(&count);
  if (result != kSuccess) {
    return Unusable("cuDeviceGetCount", result, info);
  }
  if (count <= 0) {
    return Unusable("cuDeviceGetCount", kNoDevice, info);
  }
  g_cuda.devices =
      static_cast<DeviceRecord*>(std::calloc(static_cast<size_t>(count), sizeof(DeviceRecord)));
  if (g_cuda.devices == nullptr) {
    TextWriter(info->reason, sizeof info->reason).String("no memory for the list of devices");
    return DLBRIDGE_STATE_UNUSABLE;
  }
  g_cuda.device_count = count;
  const Result missing = FindDevices();
  if (missing != kSuccess) {
    return Unusable("cuDeviceGet", missing, info);
  }
  info->device_count = count;
  return DLBRIDGE_STATE_READY;
}

// The program may be capturing a graph already.
int32_t StartRelaxed(DLBridgeBackendInfo* info) {
  constexpr char kExchange[] = "cuThreadExchangeStreamCaptureMode";
  uint32_t mode = kCaptureRelaxed;
  const Result relaxed = g_cuda.driver.thread_exchange_capture_mode(&mode);
  if (relaxed != kSuccess) {
    return Unusable(kExchange, relaxed, info);
  }
  const int32_t state = StartDevices(info);
  const Result restored = g_cuda.driver.thread_exchange_capture_mode(&mode);
  return restored == kSuccess ? state : Unusable(kExchange, restored, info);
}

int32_t StartDriver(DLBridgeBackendInfo* info) {
  int version = 0;
  const Result asked = g_cuda.driver.driver_get_version(&version);
  if (asked != kSuccess) {
    return Unusable("cuDriverGetVersion", asked, info);
  }
  WriteVersion(version, info);
  g_cuda.pointer_attributes = version >= kRangeVersion ? 7 : 4;
  g_cuda.reports_pools = version >= kPoolVersion;
  const Result result = g_cuda.driver.init(0);
  info->driver_code = result;
  return result == kSuccess ? StartRelaxed(info) : Unusable("cuInit", result, info);
}

int32_t Start(void* library, DLBridgeBackendInfo* info) {
  const char* lacking = Bind(library);
  if (lacking != nullptr) {
    TextWriter(info->reason, sizeof info->reason)
        .String("the driver is too old: it lacks ")
        .String(lacking);
    return DLBRIDGE_STATE_UNUSABLE;
  }
  const int32_t state = StartDriver(info);
  if (state != DLBRIDGE_STATE_READY) {
    std::free(g_cuda.devices);  // another copy of the driver may be started later
    g_cuda.devices = nullptr;
    g_cuda.device_count = 0;
  }
  return state;
}

}  // namespace
}  // namespace dlbridge::cuda

namespace dlbridge {

constexpr Backend kCudaBackend = {
    DLBRIDGE_BACKEND_CUDA, "CUDA",         cuda::kLibrary,    cuda::Start,     cuda::PointerInfo,
    cuda::Enumerate,       cuda::Handoff,  cuda::Synchronize, cuda::CopyBegin, cuda::CopyPart,
    cuda::CopyFinish,      nullptr,        nullptr,           nullptr,         cuda::IpcExport,
    cuda::IpcImport,       cuda::IpcClose, nullptr,           cuda::Mark,      cuda::MarkQuery,
    cuda::MarkWait,        cuda::MarkFree, cuda::CopySubmit,  cuda::Peers};

}  // namespace dlbridge
