// SPDX-License-Identifier: Apache-2.0
// Level Zero as a backend: how it is found and started.
#include "device/level_zero/internal.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "support/library.h"

namespace dlbridge::level_zero {

Functions g_ze;

namespace {

#ifdef _WIN32
constexpr const char* kNames[] = {"ze_loader.dll"};
#else
constexpr const char* kNames[] = {"libze_loader.so.1"};
#endif
constexpr LibraryNames kLibrary = {"DLBRIDGE_LIBZE", "libze_loader.so", kNames, 1};

struct Symbol {
  const char* name;
  size_t offset;  // of its pointer in the table
};
#define DLBRIDGE_ZE_SYMBOL(name, parameters) {#name, offsetof(Functions, name)},
constexpr Symbol kRequired[] = {DLBRIDGE_ZE_REQUIRED(DLBRIDGE_ZE_SYMBOL)};
constexpr Symbol kOptional[] = {DLBRIDGE_ZE_OPTIONAL(DLBRIDGE_ZE_SYMBOL)};
#undef DLBRIDGE_ZE_SYMBOL

bool BindOne(void* library, const Symbol& symbol) {
  void* found = FindSymbol(library, symbol.name);
  std::memcpy(reinterpret_cast<char*>(&g_ze) + symbol.offset, &found, sizeof found);
  return found != nullptr;
}

// Returns the first symbol that every loader has and this one lacks, or NULL.
const char* Bind(void* library) {
  for (const Symbol& symbol : kRequired) {
    if (!BindOne(library, symbol)) {
      return symbol.name;
    }
  }
  for (const Symbol& symbol : kOptional) {
    BindOne(library, symbol);
  }
  BindSymbol(library, "zeDriverGetDefaultContext", &g_ze.zeDriverGetDefaultContext);
  return nullptr;
}

void WriteFailure(const char* call, Result result, TextWriter* reason) {
  const char* name = ResultName(result);
  reason->String(call).String(" failed with ");
  if (name != nullptr) {
    reason->String(name);
  } else {
    reason->Hex(result);
  }
}

Result DriversByType(uint32_t* count, Driver* drivers) {
  InitDriverTypeDescT desc = {kInitDriverTypeDesc, nullptr, kGpuAndNpu};
  return g_ze.zeInitDrivers(count, drivers, &desc);
}

// The first zeInit of the process decides which drivers start. A newer loader may start further
// drivers, selected by type.
Result Initialise(GetDrivers** drivers) {
  *drivers = g_ze.zeDriverGet;
  const Result result = g_ze.zeInit(0);
  uint32_t count = 0;
  if (result == kSuccess || g_ze.zeInitDrivers == nullptr ||
      DriversByType(&count, nullptr) != kSuccess) {
    return result;
  }
  *drivers = DriversByType;
  return kSuccess;
}

void WriteLoaderVersion(DLBridgeBackendInfo* info) {
  size_t count = 0;
  if (g_ze.zelLoaderGetVersions == nullptr ||
      g_ze.zelLoaderGetVersions(&count, nullptr) != kSuccess || count == 0) {
    return;
  }
  auto* versions = static_cast<ComponentVersionT*>(std::calloc(count, sizeof(ComponentVersionT)));
  if (versions != nullptr && g_ze.zelLoaderGetVersions(&count, versions) == kSuccess) {
    for (size_t i = 0; i < count; ++i) {
      if (std::strncmp(versions[i].name, "loader", kComponentName) == 0) {
        TextWriter(info->runtime_version, sizeof info->runtime_version)
            .Signed(versions[i].major)
            .Character('.')
            .Signed(versions[i].minor)
            .Character('.')
            .Signed(versions[i].patch);
      }
    }
  }
  std::free(versions);
}

// Writes the API version and the version number of the first device's driver. A driver that reports
// neither is still usable.
void WriteDriverVersion(DLBridgeBackendInfo* info) {
  Driver driver = g_devices.records[0].driver;
  TextWriter text(info->driver_version, sizeof info->driver_version);
  uint32_t version = 0;
  if (g_ze.zeDriverGetApiVersion(driver, &version) == kSuccess) {
    text.Unsigned(version >> 16).Character('.').Unsigned(version & 0xffffU);
  }
  DriverPropertiesT properties = {};
  properties.stype = kDriverProperties;
  if (g_ze.zeDriverGetProperties(driver, &properties) == kSuccess) {
    text.String(text.length() != 0 ? " (" : "(").Hex(properties.version).Character(')');
  }
}

// zeInit is called once per copy of the loader: its result is final there.
int32_t Start(void* library, DLBridgeBackendInfo* info) {
  TextWriter reason(info->reason, sizeof info->reason);
  const char* missing = Bind(library);
  if (missing != nullptr) {
    reason.String("the loader has no ").String(missing);
    return DLBRIDGE_STATE_UNUSABLE;
  }
  GetDrivers* drivers = nullptr;
  const char* call = "zeInit";
  Result result = Initialise(&drivers);
  info->driver_code = static_cast<int32_t>(result);
  WriteLoaderVersion(info);  // the loader does not know it before zeInit
  if (result == kSuccess) {
    result = FindDevices(drivers, &call);
  }
  if (result != kSuccess) {
    WriteFailure(call, result, &reason);
    return DLBRIDGE_STATE_UNUSABLE;
  }
  if (g_devices.count == 0) {
    reason.String("no driver has a device");
    return DLBRIDGE_STATE_UNUSABLE;
  }
  info->device_count = g_devices.roots;
  WriteDriverVersion(info);
  return DLBRIDGE_STATE_READY;
}

}  // namespace
}  // namespace dlbridge::level_zero

namespace dlbridge {

constexpr Backend kLevelZeroBackend = {DLBRIDGE_BACKEND_LEVEL_ZERO,
                                       "Level Zero",
                                       level_zero::kLibrary,
                                       level_zero::Start,
                                       level_zero::PointerInfo,
                                       level_zero::Enumerate,
                                       level_zero::Handoff,
                                       level_zero::Synchronize,
                                       level_zero::CopyBegin,
                                       level_zero::CopyPart,
                                       level_zero::CopyFinish,
                                       nullptr,
                                       nullptr,
                                       nullptr,
                                       level_zero::IpcExport,
                                       level_zero::IpcImport,
                                       level_zero::IpcClose,
                                       level_zero::Barrier,
                                       level_zero::Mark,
                                       level_zero::MarkQuery,
                                       level_zero::MarkWait,
                                       level_zero::MarkFree,
                                       level_zero::CopySubmit,
                                       level_zero::Peers};

}  // namespace dlbridge
