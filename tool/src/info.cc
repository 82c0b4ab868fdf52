// SPDX-License-Identifier: Apache-2.0
// `dlbridge info`: the library that is loaded, and the drivers that it finds.
#ifndef _WIN32
#include <dlfcn.h>
#endif

#include <set>

#include "commands.h"
#include "dlbridge/dlbridge.h"
#include "facts_table.h"
#include "json.h"

namespace dlbridge::tool {

namespace {

// The file that the library's functions came from: this program if it is linked statically.
std::string LibraryFile() {
#ifndef _WIN32
  Dl_info found = {};
  const auto function = reinterpret_cast<const void*>(&dlbridge_get_api);
  if (dladdr(function, &found) != 0 && found.dli_fname != nullptr) {
    return found.dli_fname;
  }
#endif
  return "";
}

struct Backend {
  Named constant;
  DLBridgeBackendInfo info;
};

std::vector<Backend> Backends() {
  std::vector<Backend> backends;
  for (const Named& constant : kBackends) {
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    const auto backend = static_cast<DLBridgeBackend>(constant.value);
    if (backend != DLBRIDGE_BACKEND_NONE &&
        dlbridge_backend_info(backend, &info, nullptr) == DLBRIDGE_OK) {
      backends.push_back({constant, info});
    }
  }
  return backends;
}

// A library without drivers gives one reason for all of them; else each names its own files.
bool HasDrivers(const std::vector<Backend>& backends) {
  std::set<std::string> reasons;
  size_t drivers = 0;
  for (const Backend& backend : backends) {
    if (backend.info.backend != DLBRIDGE_BACKEND_CPU) {
      reasons.insert(backend.info.reason);
      ++drivers;
    }
  }
  return drivers < 2 || reasons.size() > 1 || reasons.count("") != 0;
}

const char* StateName(int32_t state) {
  for (const Named& one : kStates) {
    if (static_cast<int32_t>(one.value) == state) {
      return one.name;
    }
  }
  return "UNKNOWN";
}

std::string Versions(DLPackVersion newest) {
  return std::string(kOldestLegacy) + " to " + kNewestLegacy + " (legacy), " +
         std::to_string(newest.major) + ".0 to " + std::to_string(newest.major) + "." +
         std::to_string(newest.minor) + " (versioned)";
}

Json ToJson(const Backend& backend) {
  return {{"name", backend.constant.name},
          {"state", StateName(backend.info.state)},
          {"devices", backend.info.device_count},
          {"file", backend.info.file},
          {"driver_version", backend.info.driver_version},
          {"runtime_version", backend.info.runtime_version},
          {"driver_code", backend.info.driver_code},
          {"reason", backend.info.reason}};
}

void Write(const Backend& backend, Page* page) {
  const bool ready = backend.info.state == DLBRIDGE_STATE_READY;
  std::string name = std::string("  ") + backend.constant.name;
  name.resize(16, ' ');
  std::string state = StateName(backend.info.state);
  state.resize(10, ' ');
  const auto devices = static_cast<uint64_t>(backend.info.device_count);
  page->Line(name + page->Paint(ready ? Style::kGood : Style::kFaint, state) +
             (ready ? Count(devices, "device") : ""));
  const auto more = [&](const char* label, const std::string& text) {
    if (!text.empty()) {
      page->Wrapped(26, std::string(16, ' ') + label, Printable(text));
    }
  };
  more("library", backend.info.file);
  more("driver", backend.info.driver_version);
  more("runtime", backend.info.runtime_version);
  more("reason", backend.info.reason);
}

}  // namespace

ExitStatus Info(Page* page, Json* json) {
  const std::vector<Backend> backends = Backends();
  const DLPackVersion newest = dlbridge_dlpack_version();
  const bool drivers = HasDrivers(backends);
  const bool matching = dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi)) != nullptr;
  *json = {{"schema", kJsonSchema},
           {"library",
            {{"version", dlbridge_version_string()},
             {"abi", matching ? DLBRIDGE_ABI : 0},
             {"file", LibraryFile()},
             {"drivers", drivers}}},
           {"tool", {{"version", DLBRIDGE_VERSION_STRING}}},
           {"dlpack",
            {{"legacy", {kOldestLegacy, kNewestLegacy}},
             {"versioned",
              {std::to_string(newest.major) + ".0",
               std::to_string(newest.major) + "." + std::to_string(newest.minor)}}}}};
  (*json)["backends"] = Json::array();

  page->Title(std::string("dlbridge ") + dlbridge_version_string());
  page->Row("file", Printable(LibraryFile()));
  page->Row("ABI", std::to_string(DLBRIDGE_ABI));
  page->Row("DLPack", Versions(newest));
  page->Row("build", drivers ? "with drivers" : "without drivers (DLBRIDGE_DEVICES=OFF)");
  if (std::string_view(DLBRIDGE_VERSION_STRING) != dlbridge_version_string()) {
    page->Row("tool",
              std::string(DLBRIDGE_VERSION_STRING) + ", another version than the library's");
  }
  page->Line();
  page->Title("backends");
  for (const Backend& backend : backends) {
    (*json)["backends"].push_back(ToJson(backend));
    Write(backend, page);
  }
  return kFine;
}

}  // namespace dlbridge::tool
