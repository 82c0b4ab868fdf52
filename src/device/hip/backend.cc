// SPDX-License-Identifier: Apache-2.0
// HIP, AMD's runtime: how it is found and started.
#include "device/hip/internal.h"

#include <cstddef>
#include <cstring>

#include "native/backend.h"
#include "support/library.h"

namespace dlbridge::hip {

Hip g_hip;

namespace {

#ifdef _WIN32
constexpr const char* kPrefix = "amdhip64";
constexpr const char* kNames[] = {"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"};
#else
constexpr const char* kPrefix = "libamdhip64";
constexpr const char* kNames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                  "libamdhip64.so"};
#endif
constexpr LibraryNames kLibrary = {"DLBRIDGE_LIBHIP", kPrefix, kNames,
                                   sizeof(kNames) / sizeof(kNames[0])};

struct Symbol {
  const char* name;
  bool needed;
  size_t member;  // the offset in Driver
};
constexpr Symbol kSymbols[] = {
#define DLBRIDGE_HIP_SYMBOL(name, needed, result, parameters) \
  {#name, needed, offsetof(Driver, name)},
    DLBRIDGE_HIP_FUNCTIONS(DLBRIDGE_HIP_SYMBOL)
#undef DLBRIDGE_HIP_SYMBOL
};

bool Bind(void* library, Driver* driver, TextWriter* reason) {
  for (const Symbol& symbol : kSymbols) {
    void* function = FindSymbol(library, symbol.name);
    if (function == nullptr && symbol.needed) {
      reason->String("the library has no function ").String(symbol.name);
      return false;
    }
    std::memcpy(reinterpret_cast<char*>(driver) + symbol.member, &function, sizeof function);
  }
  return true;
}

// Writes 50221153 as 5.2.21153.
void WriteVersion(int32_t version, TextWriter* text) {
  text->Signed(version / 10000000)
      .Character('.')
      .Signed(version / 100000 % 100)
      .Character('.')
      .Signed(version % 100000);
}

// Returns true for success, else writes the reason.
bool Succeeded(const char* call, Result code, DLBridgeBackendInfo* info, TextWriter* reason) {
  info->driver_code = code;
  if (code == kSuccess) {
    return true;
  }
  reason->String(call).String(" returned ").Signed(code);
  const char* name = ResultName(code);
  if (name != nullptr) {
    reason->String(" (").String(name).Character(')');
  }
  if (code == kNoDevice || code == kInvalidDevice) {
    reason->String(": there is no AMD GPU that this process may use");
  }
  g_hip.driver.hipGetLastError();
  return false;
}

bool AskVersions(DLBridgeBackendInfo* info, TextWriter* reason) {
  const Driver& driver = g_hip.driver;
  int32_t version = 0;
  if (!Succeeded("hipRuntimeGetVersion", driver.hipRuntimeGetVersion(&version), info, reason)) {
    return false;
  }
  g_hip.version = version;
  g_hip.major = version / 10000000;
  TextWriter runtime_text(info->runtime_version, sizeof info->runtime_version);
  WriteVersion(version, &runtime_text);
  if (driver.hipDriverGetVersion != nullptr && driver.hipDriverGetVersion(&version) == kSuccess) {
    TextWriter driver_text(info->driver_version, sizeof info->driver_version);
    WriteVersion(version, &driver_text);
  }
  return true;
}

bool Initialise(DLBridgeBackendInfo* info, TextWriter* reason) {
  const Driver& driver = g_hip.driver;
  int32_t count = 0;
  if (!Succeeded("hipInit", driver.hipInit(0), info, reason) ||
      !Succeeded("hipGetDeviceCount", driver.hipGetDeviceCount(&count), info, reason)) {
    return false;
  }
  if (count <= 0) {
    reason->String("hipGetDeviceCount found no device");
    return false;
  }
  g_hip.device_count = count;
  info->device_count = count;
  return true;
}

int32_t Start(void* library, DLBridgeBackendInfo* info) {
  TextWriter reason(info->reason, sizeof info->reason);
  const bool ready = Bind(library, &g_hip.driver, &reason) && AskVersions(info, &reason) &&
                     Initialise(info, &reason);
  return ready ? DLBRIDGE_STATE_READY : DLBRIDGE_STATE_UNUSABLE;
}

}  // namespace
}  // namespace dlbridge::hip

namespace dlbridge {

constexpr Backend kHipBackend = {
    DLBRIDGE_BACKEND_HIP, "HIP",         hip::kLibrary,    hip::Start,     hip::PointerInfo,
    hip::Enumerate,       hip::Handoff,  hip::Synchronize, hip::CopyBegin, hip::CopyPart,
    hip::CopyFinish,      nullptr,       nullptr,          nullptr,        hip::IpcExport,
    hip::IpcImport,       hip::IpcClose, nullptr,          hip::Mark,      hip::MarkQuery,
    hip::MarkWait,        hip::MarkFree, hip::CopySubmit,  hip::Peers};

}  // namespace dlbridge
