// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>

#include "device/opencl/internal.h"
#include "support/library.h"

namespace dlbridge::opencl {

OpenCl g_opencl;

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
// Packages bundle the loader as libOpenCL-<hash>.so.1.
constexpr LibraryNames kLibrary = {"DLBRIDGE_LIBOPENCL", "libOpenCL", kNames, 1};

// The first failure of the search, reported if no device is found.
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

// Returns the name of the first missing function, or NULL.
const char* Bind(void* library) {
  const char* missing = nullptr;
#define DLBRIDGE_CL_BIND(name, result, parameters) \
  BindOne(library, #name, &g_opencl.call.name, &missing);
  DLBRIDGE_CL_FUNCTIONS(DLBRIDGE_CL_BIND)
#undef DLBRIDGE_CL_BIND
  return missing;
}

template <class Function>
Function* Extension(Platform platform, const char* name) {
  return reinterpret_cast<Function*>(
      g_opencl.call.clGetExtensionFunctionAddressForPlatform(platform, name));
}

void Note(Failure* failure, const char* call, int32_t code) {
  if (failure->call == nullptr) {
    *failure = {call, code};
  }
}

// Returns false if there is no memory. A platform without devices is ignored.
bool AddDevices(PlatformRecord* record, Failure* failure) {
  uint32_t count = 0;
  int32_t code = g_opencl.call.clGetDeviceIDs(record->platform, kDeviceTypeAll, 0, nullptr, &count);
  if (code != kSuccess || count == 0) {
    Note(failure, "clGetDeviceIDs", code != kSuccess ? code : kDeviceNotFound);
    return true;
  }
  const size_t total = static_cast<size_t>(g_opencl.device_count) + count;
  auto* grown = static_cast<Device*>(std::realloc(g_opencl.devices, total * sizeof(Device)));
  if (grown == nullptr) {
    return false;
  }
  g_opencl.devices = grown;
  code = g_opencl.call.clGetDeviceIDs(record->platform, kDeviceTypeAll, count,
                                      grown + g_opencl.device_count, nullptr);
  if (code != kSuccess) {
    Note(failure, "clGetDeviceIDs", code);
    return true;
  }
  record->first_device = g_opencl.device_count;
  record->device_count = count;
  g_opencl.device_count += count;
  return true;
}

bool AddPlatform(Platform platform, Failure* failure) {
  PlatformRecord* record = &g_opencl.platforms[g_opencl.platform_count];
  record->platform = platform;
  if (!AddDevices(record, failure)) {
    return false;
  }
  if (record->device_count != 0) {
    record->get_mem_alloc_info = Extension<GetMemAllocInfo>(platform, "clGetMemAllocInfoINTEL");
    record->enqueue_memcpy = Extension<EnqueueMemcpy>(platform, "clEnqueueMemcpyINTEL");
    ++g_opencl.platform_count;
  }
  return true;
}

bool AddPlatforms(const Platform* platforms, uint32_t count, Failure* failure) {
  g_opencl.platforms = static_cast<PlatformRecord*>(std::calloc(count, sizeof(PlatformRecord)));
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

// Returns false if there is no memory.
bool FindPlatforms(Failure* failure) {
  uint32_t count = 0;
  int32_t code = g_opencl.call.clGetPlatformIDs(0, nullptr, &count);
  if (code != kSuccess || count == 0) {
    Note(failure, "clGetPlatformIDs", code != kSuccess ? code : kPlatformNotFound);
    return true;
  }
  auto* platforms = static_cast<Platform*>(std::calloc(count, sizeof(Platform)));
  if (platforms == nullptr) {
    return false;
  }
  code = g_opencl.call.clGetPlatformIDs(count, platforms, nullptr);
  bool enough = true;
  if (code != kSuccess) {
    Note(failure, "clGetPlatformIDs", code);
  } else {
    enough = AddPlatforms(platforms, count, failure);
  }
  std::free(platforms);
  return enough;
}

// Writes the version string of each platform.
void WriteVersions(DLBridgeBackendInfo* info) {
  TextWriter text(info->driver_version, sizeof info->driver_version);
  for (uint32_t i = 0; i < g_opencl.platform_count; ++i) {
    char version[128] = {0};
    const int32_t code = g_opencl.call.clGetPlatformInfo(
        g_opencl.platforms[i].platform, kPlatformVersion, sizeof version - 1, version, nullptr);
    if (code == kSuccess) {
      text.String(text.length() != 0 ? "; " : "").String(version);
    }
  }
}

// Some loaders report their own version through an extension.
void WriteLoaderVersion(void* library, DLBridgeBackendInfo* info) {
  constexpr uint32_t kLoaderVersion = 2;
  GetExtension* find = nullptr;
  if (!BindSymbol(library, "clGetExtensionFunctionAddress", &find)) {
    return;
  }
  auto* ask = reinterpret_cast<GetLoaderInfo*>(find("clGetICDLoaderInfoOCLICD"));
  char* version = info->runtime_version;
  if (ask != nullptr &&
      ask(kLoaderVersion, sizeof info->runtime_version - 1, version, nullptr) != kSuccess) {
    version[0] = '\0';
  }
}

int32_t Unusable(const Failure& failure, DLBridgeBackendInfo* info, TextWriter* reason) {
  info->driver_code = failure.code;
  const char* call = failure.call != nullptr ? failure.call : "clGetDeviceIDs";  // no device
  reason->String(call).String(" failed with ").Signed(failure.code);
  if (const char* name = ResultName(failure.code)) {
    reason->String(" (").String(name).Character(')');
  }
  if (failure.code == kPlatformNotFound) {
    reason->String(": no OpenCL driver is installed (/etc/OpenCL/vendors names none that loads)");
  }
  return DLBRIDGE_STATE_UNUSABLE;
}

int32_t Ready(void* library, DLBridgeBackendInfo* info) {
  info->device_count = static_cast<int32_t>(g_opencl.device_count);
  WriteVersions(info);
  WriteLoaderVersion(library, info);
  return DLBRIDGE_STATE_READY;
}

// Another copy of the library may be started later.
void Forget() {
  std::free(g_opencl.platforms);
  std::free(g_opencl.devices);
  g_opencl.platforms = nullptr;
  g_opencl.platform_count = 0;
  g_opencl.devices = nullptr;
  g_opencl.device_count = 0;
}

int32_t Start(void* library, DLBridgeBackendInfo* info) {
  TextWriter reason(info->reason, sizeof info->reason);
  if (const char* missing = Bind(library)) {
    reason.String("the library has no function ")
        .String(missing)
        .String(": expected OpenCL 1.2 or later");
    return DLBRIDGE_STATE_UNUSABLE;
  }
  Failure failure = {nullptr, kSuccess};
  const bool enough = FindPlatforms(&failure);
  if (enough && g_opencl.device_count != 0) {
    return Ready(library, info);
  }
  Forget();
  if (!enough) {
    reason.String("no memory for the list of devices");
    return DLBRIDGE_STATE_UNUSABLE;
  }
  return Unusable(failure, info, &reason);
}

}  // namespace
}  // namespace dlbridge::opencl

namespace dlbridge {

// OpenCL shares no memory between processes: there is no ipc.cc, and its slots are NULL.
constexpr Backend kOpenClBackend = {DLBRIDGE_BACKEND_OPENCL,
                                    "OpenCL",
                                    opencl::kLibrary,
                                    opencl::Start,
                                    opencl::PointerInfo,
                                    opencl::Enumerate,
                                    opencl::Handoff,
                                    opencl::Synchronize,
                                    opencl::CopyBegin,
                                    opencl::CopyPart,
                                    opencl::CopyFinish,
                                    opencl::CheckHandle,
                                    opencl::RetainHandle,
                                    opencl::ReleaseHandle,
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    opencl::Barrier,
                                    opencl::Mark,
                                    opencl::MarkQuery,
                                    opencl::MarkWait,
                                    opencl::MarkFree,
                                    opencl::CopySubmit,
                                    nullptr,
                                    opencl::DescribeHandle};

}  // namespace dlbridge
