// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>

#include "device/opencl_driver.h"
#include "support/library.h"

namespace dlbridge {

ClDriver g_opencl;

namespace {

constexpr const char* kNames[] = {
#ifdef _WIN32
    "OpenCL.dll"
#elif defined(__APPLE__)
    "/System/Library/Frameworks/OpenCL.framework/OpenCL"
#else
    "libOpenCL.so.1"
#endif
};

// The first failure of a search: why nothing was found.
struct Failure {
  const char* call;
  int32_t code;
};

template <class Function>
void BindOne(void* library, const char* name, Function** out, const char** missing) {
  if (!BindSymbol(library, name, out) && *missing == nullptr) {
    *missing = name;
  }
}

// The name of the first function that is missing, or NULL.
const char* Bind(void* library) {
  const char* missing = nullptr;
#define DLBRIDGE_CL_BIND(name, result, parameters) \
  BindOne(library, #name, &g_opencl.call.name, &missing);
  DLBRIDGE_CL_FUNCTIONS(DLBRIDGE_CL_BIND)
#undef DLBRIDGE_CL_BIND
  return missing;
}

template <class Function>
Function* Extension(ClPlatform platform, const char* name) {
  return reinterpret_cast<Function*>(
      g_opencl.call.clGetExtensionFunctionAddressForPlatform(platform, name));
}

void Note(Failure* failure, const char* call, int32_t code) {
  if (failure->call == nullptr) {
    *failure = {call, code};
  }
}

// False where there is no memory. A platform without devices is none of ours.
bool AddDevices(ClPlatformRecord* record, Failure* failure) {
  uint32_t count = 0;
  int32_t code =
      g_opencl.call.clGetDeviceIDs(record->platform, kClDeviceTypeAll, 0, nullptr, &count);
  if (code != kClSuccess || count == 0) {
    Note(failure, "clGetDeviceIDs", code != kClSuccess ? code : kClDeviceNotFound);
    return true;
  }
  const size_t total = static_cast<size_t>(g_opencl.device_count) + count;
  auto* grown = static_cast<ClDevice*>(std::realloc(g_opencl.devices, total * sizeof(ClDevice)));
  if (grown == nullptr) {
    return false;
  }
  g_opencl.devices = grown;
  code = g_opencl.call.clGetDeviceIDs(record->platform, kClDeviceTypeAll, count,
                                      grown + g_opencl.device_count, nullptr);
  if (code != kClSuccess) {
    Note(failure, "clGetDeviceIDs", code);
    return true;
  }
  record->first_device = g_opencl.device_count;
  record->device_count = count;
  g_opencl.device_count += count;
  return true;
}

bool AddPlatform(ClPlatform platform, Failure* failure) {
  ClPlatformRecord* record = &g_opencl.platforms[g_opencl.platform_count];
  record->platform = platform;
  if (!AddDevices(record, failure)) {
    return false;
  }
  if (record->device_count != 0) {
    record->get_mem_alloc_info = Extension<ClGetMemAllocInfo>(platform, "clGetMemAllocInfoINTEL");
    record->enqueue_memcpy = Extension<ClEnqueueMemcpy>(platform, "clEnqueueMemcpyINTEL");
    ++g_opencl.platform_count;
  }
  return true;
}

bool AddPlatforms(const ClPlatform* platforms, uint32_t count, Failure* failure) {
  g_opencl.platforms = static_cast<ClPlatformRecord*>(std::calloc(count, sizeof(ClPlatformRecord)));
  if (g_opencl.platforms == nullptr) {
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (!AddPlatform(platforms[i], failure)) {
      return false;
    }
  }
  return true;
}

// False where there is no memory.
bool FindPlatforms(Failure* failure) {
  uint32_t count = 0;
  int32_t code = g_opencl.call.clGetPlatformIDs(0, nullptr, &count);
  if (code != kClSuccess || count == 0) {
    Note(failure, "clGetPlatformIDs", code != kClSuccess ? code : kClPlatformNotFound);
    return true;
  }
  auto* platforms = static_cast<ClPlatform*>(std::calloc(count, sizeof(ClPlatform)));
  if (platforms == nullptr) {
    return false;
  }
  code = g_opencl.call.clGetPlatformIDs(count, platforms, nullptr);
  bool enough = true;
  if (code != kClSuccess) {
    Note(failure, "clGetPlatformIDs", code);
  } else {
    enough = AddPlatforms(platforms, count, failure);
  }
  std::free(platforms);
  return enough;
}

// What each platform says of its version.
void WriteVersions(DLBridgeBackendInfo* info) {
  TextWriter text(info->driver_version, sizeof info->driver_version);
  for (uint32_t i = 0; i < g_opencl.platform_count; ++i) {
    char version[128] = {0};
    const int32_t code = g_opencl.call.clGetPlatformInfo(
        g_opencl.platforms[i].platform, kClPlatformVersion, sizeof version - 1, version, nullptr);
    if (code == kClSuccess) {
      text.String(text.length() != 0 ? "; " : "").String(version);
    }
  }
}

// Loaders that have an extension for it say their own version.
void WriteLoaderVersion(void* library, DLBridgeBackendInfo* info) {
  constexpr uint32_t kLoaderVersion = 2;
  ClGetExtension* find = nullptr;
  if (!BindSymbol(library, "clGetExtensionFunctionAddress", &find)) {
    return;
  }
  auto* ask = reinterpret_cast<ClGetLoaderInfo*>(find("clGetICDLoaderInfoOCLICD"));
  char* version = info->runtime_version;
  if (ask != nullptr &&
      ask(kLoaderVersion, sizeof info->runtime_version - 1, version, nullptr) != kClSuccess) {
    version[0] = '\0';
  }
}

int32_t Unusable(const Failure& failure, DLBridgeBackendInfo* info, TextWriter* reason) {
  info->driver_code = failure.code;
  reason->String(failure.call).String(" failed with ").Signed(failure.code);
  if (const char* name = ClErrorName(failure.code)) {
    reason->String(" (").String(name).Character(')');
  }
  if (failure.code == kClPlatformNotFound) {
    reason->String(": no OpenCL driver is installed (/etc/OpenCL/vendors names none that loads)");
  }
  return DLBRIDGE_STATE_UNUSABLE;
}

int32_t Ready(void* library, DLBridgeBackendInfo* info) {
  info->device_count = static_cast<int32_t>(g_opencl.device_count);
  info->reason[0] = '\0';
  WriteVersions(info);
  WriteLoaderVersion(library, info);
  return DLBRIDGE_STATE_READY;
}

}  // namespace

int32_t StartOpenCl(DLBridgeBackendInfo* info) {
  TextWriter file(info->file, sizeof info->file);
  TextWriter reason(info->reason, sizeof info->reason);
  void* library = OpenLibrary({"DLBRIDGE_LIBOPENCL", nullptr, kNames, 1}, &file, &reason);
  if (library == nullptr) {
    return DLBRIDGE_STATE_ABSENT;
  }
  if (const char* missing = Bind(library)) {
    reason.String("has no function ").String(missing).String(": expected OpenCL 1.2 or later");
    return DLBRIDGE_STATE_UNUSABLE;
  }
  Failure failure = {nullptr, kClSuccess};
  if (!FindPlatforms(&failure)) {
    reason.String("there was no memory for its list of devices");
    return DLBRIDGE_STATE_UNUSABLE;
  }
  return g_opencl.device_count == 0 ? Unusable(failure, info, &reason) : Ready(library, info);
}

constexpr Backend kOpenClBackend = {DLBRIDGE_BACKEND_OPENCL,
                                    "OpenCL",
                                    StartOpenCl,
                                    OpenClPointerInfo,
                                    EnumerateOpenCl,
                                    OpenClHandoff,
                                    OpenClSynchronize,
                                    OpenClCopyBegin,
                                    OpenClCopyBox,
                                    OpenClCopyFinish,
                                    CheckClMem,
                                    RetainClMem,
                                    ReleaseClMem,
                                    nullptr,
                                    nullptr,
                                    nullptr};

}  // namespace dlbridge
