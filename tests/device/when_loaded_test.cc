// SPDX-License-Identifier: Apache-2.0
// A driver that comes after the first request. Frameworks bring their own copy of a driver in a
// folder of their own; the result must not depend on whether they are imported before or after the
// first call of this library. Each test runs in its own process, which has no driver.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fake_hip.h"
#include "support/child.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace {

// What the loader would find by its name alone. Nothing else that is named like a driver is
// installed, whatever this machine has.
struct Installed {
  std::string path;
  std::function<void(void*)> when_loaded;
};
std::map<std::string, Installed>& TheInstalled() {
  static std::map<std::string, Installed> installed;
  return installed;
}
std::atomic<int> opens{0};  // calls of dlopen

bool NamesADriver(const char* name) {
  for (const char* prefix : {"libamdhip64", "libcuda.so", "libze_loader", "libOpenCL"}) {
    if (name != nullptr && std::strncmp(name, prefix, std::strlen(prefix)) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

// A sanitizer's own function knows which memory the loader uses.
extern "C" __attribute__((weak)) void* __interceptor_dlopen(const char* name, int flags);

// Takes the place of the C library's function for the whole process.
extern "C" void* dlopen(const char* name, int flags) noexcept {
  using Open = void*(const char*, int);
  static auto* const real = __interceptor_dlopen != nullptr
                                ? __interceptor_dlopen
                                : reinterpret_cast<Open*>(dlsym(RTLD_NEXT, "dlopen"));
  ++opens;
  if ((flags & RTLD_NOLOAD) != 0 || !NamesADriver(name)) {
    return real(name, flags);
  }
  if (void* loaded = real(name, flags | RTLD_NOLOAD)) {
    return loaded;
  }
  const auto found = TheInstalled().find(name);
  if (found == TheInstalled().end()) {
    return real((std::string("/nowhere/") + name).c_str(), flags);
  }
  void* handle = real(found->second.path.c_str(), flags);
  found->second.when_loaded(handle);
  return handle;
}

namespace {

// Stops the fake CUDA inside cuInit, which reads this variable, and lets it fail then.
constexpr char kReadByInit[] = "FAKE_CUDA_INIT";
std::atomic<bool> stop_in_init{false};
std::atomic<bool> fail_after_stop{false};
std::atomic<bool> stopped{false};

bool StopInInit() {
  stopped = stop_in_init.load();
  const bool fails = stopped && fail_after_stop;
  while (stop_in_init) {
    std::this_thread::yield();
  }
  return fails;
}

}  // namespace

// Takes the place of the C library's function for the whole process.
extern "C" char* getenv(const char* name) noexcept {
  static char no_device[] = "100";
  if (std::strcmp(name, kReadByInit) == 0 && StopInInit()) {
    return no_device;
  }
  const size_t length = std::strlen(name);
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, name, length) == 0 && (*variable)[length] == '=') {
      return *variable + length + 1;
    }
  }
  return nullptr;
}

namespace dlbridge_test {
namespace {

// A new folder, removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "dlbridge-when-loaded-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  // A copy of a file: the loader takes it for another library.
  std::string Copy(const std::string& file, const std::string& name) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::copy_file(file, path, std::filesystem::copy_options::overwrite_existing);
    return path.string();
  }
  std::string Write(const std::string& text, const std::string& name) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::ofstream(path) << text;
    return path.string();
  }

 private:
  std::string path_;
};

// What a framework does when it is imported.
void* Import(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  return handle;
}

template <class Function>
Function* Symbol(void* handle, const char* name) {
  auto* found = reinterpret_cast<Function*>(dlsym(handle, name));
  EXPECT_NE(found, nullptr) << name;
  return found;
}

struct Hip {
  static constexpr DLBridgeBackend kBackend = DLBRIDGE_BACKEND_HIP;
  static constexpr int32_t kDevice = kDLROCM;
  static constexpr const char* kFake = DLBRIDGE_FAKE_HIP6;
  static constexpr const char* kSoname = "libamdhip64.so.6";
  static constexpr const char* kBundled = "libamdhip64.so";  // as PyTorch's packages have it
  static constexpr const char* kVariable = "DLBRIDGE_LIBHIP";
  static constexpr const char* kUnrelated = FAKE_CUDA_FILE;

  static const FakeHip& Table(void* copy) {
    return *Symbol<FakeHipTable>(copy, DLBRIDGE_FAKE_HIP_SYMBOL)();
  }
  static void HideDevices(void* copy) { Table(copy).set_device_count(0); }
  static void* Allocate(void* copy, size_t size) {
    return Table(copy).allocate(kFakeDevice, 0, size);
  }
};

struct Cuda {
  static constexpr DLBridgeBackend kBackend = DLBRIDGE_BACKEND_CUDA;
  static constexpr int32_t kDevice = kDLCUDA;
  static constexpr const char* kFake = FAKE_CUDA_FILE;
  static constexpr const char* kSoname = "libcuda.so.1";
  static constexpr const char* kBundled =
      "libcuda.so.535.1";  // as the compatibility package has it
  static constexpr const char* kVariable = "DLBRIDGE_LIBCUDA";
  static constexpr const char* kUnrelated = DLBRIDGE_FAKE_HIP6;

  static void HideDevices(void* copy) {
    // Each copy of the fake has its own record of planned failures.
    Symbol<void(const char*, int, int)>(copy, "fake_cuda_fail")("cuInit", CUDA_ERROR_NO_DEVICE, 1);
  }
  static void* Allocate(void* copy, size_t size) {
    CUcontext context = nullptr;
    CUdeviceptr address = 0;
    using Retain = CUresult(CUcontext*, CUdevice);
    EXPECT_EQ(Symbol<Retain>(copy, "cuDevicePrimaryCtxRetain")(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(Symbol<CUresult(CUcontext)>(copy, "cuCtxPushCurrent_v2")(context), CUDA_SUCCESS);
    using Alloc = CUresult(CUdeviceptr*, size_t);
    EXPECT_EQ(Symbol<Alloc>(copy, "cuMemAlloc_v2")(&address, size), CUDA_SUCCESS);
    return reinterpret_cast<void*>(address);
  }
};

DLBridgeBackendInfo Info(DLBridgeBackend backend) {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  EXPECT_EQ(dlbridge_backend_info(backend, &info, nullptr), DLBRIDGE_OK);
  return info;
}

// The result for a tensor of four floats at `data` under this label at level DEVICE.
DLBridgeStatus Validate(void* data, int32_t type, DLBridgeError* error) {
  int64_t shape[] = {4};
  int64_t strides[] = {1};
  DLManagedTensorVersioned tensor = {};
  tensor.version = {1, 3};
  tensor.dl_tensor = {data, Device(type), 1, Dtype(kDLFloat, 32), shape, strides, 0};
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.level = DLBRIDGE_LEVEL_DEVICE;
  return dlbridge_validate_versioned(&tensor, &policy, error);
}

template <class Driver>
class WhenLoaded : public testing::Test {
 protected:
  const Folder folder_;

  std::string Bring(const std::string& owner) const {
    return folder_.Copy(Driver::kFake, owner + "/lib/" + Driver::kBundled);
  }

  // Installs a copy where the loader finds it by its name. It has no devices if `hidden`.
  std::string Install(bool hidden) const {
    std::string path = folder_.Copy(Driver::kFake, std::string("usr/lib/") + Driver::kSoname);
    TheInstalled()[Driver::kSoname] = {path, [hidden](void* copy) {
                                         if (hidden) {
                                           Driver::HideDevices(copy);
                                         }
                                       }};
    return path;
  }

  static DLBridgeBackendInfo Ask() { return Info(Driver::kBackend); }

  static void ExpectUnavailable() {
    float on_host[4] = {};
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Validate(on_host, Driver::kDevice, &error), DLBRIDGE_ERROR_UNAVAILABLE);
  }

  // The copy is in use: it knows its memory, and the host's is not labelled as its own.
  static void ExpectUses(void* copy, const std::string& path) {
    const DLBridgeBackendInfo info = Ask();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    EXPECT_EQ(info.file, path);
    EXPECT_EQ(info.device_count, 2);
    EXPECT_STREQ(info.reason, "");
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Validate(Driver::Allocate(copy, 16), Driver::kDevice, &error), DLBRIDGE_OK)
        << error.message;
    float on_host[4] = {};
    EXPECT_EQ(Validate(on_host, Driver::kDevice, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL);
  }
};

using Drivers = testing::Types<Hip, Cuda>;

struct DriverNames {
  template <class Driver>
  static std::string GetName(int /*index*/) {
    return Driver::kBackend == DLBRIDGE_BACKEND_HIP ? "Hip" : "Cuda";
  }
};

TYPED_TEST_SUITE(WhenLoaded, Drivers, DriverNames);

TYPED_TEST(WhenLoaded, AfterTheFirstRequest) {
  EXPECT_TRUE(InChild([this] {
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
    this->ExpectUnavailable();
    const std::string path = this->Bring("torch");
    this->ExpectUses(Import(path), path);
  }));
}

TYPED_TEST(WhenLoaded, BeforeTheFirstRequest) {
  EXPECT_TRUE(InChild([this] {
    const std::string path = this->Bring("torch");
    void* copy = Import(path);
    this->ExpectUses(copy, path);
  }));
}

// The first request of a process need not be dlbridge_backend_info.
TYPED_TEST(WhenLoaded, BetweenTwoValidations) {
  EXPECT_TRUE(InChild([this] {
    this->ExpectUnavailable();
    this->ExpectUnavailable();
    void* copy = Import(this->Bring("torch"));
    float on_host[4] = {};
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Validate(on_host, TypeParam::kDevice, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_EQ(Validate(TypeParam::Allocate(copy, 16), TypeParam::kDevice, &error), DLBRIDGE_OK)
        << error.message;
  }));
}

TYPED_TEST(WhenLoaded, BesideACopyWithoutDevices) {
  for (const bool ask_first : {true, false}) {
    EXPECT_TRUE(InChild([this, ask_first] {
      const std::string installed = this->Install(true);
      if (ask_first) {
        const DLBridgeBackendInfo info = this->Ask();
        EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
        EXPECT_EQ(info.driver_code, 100);
        EXPECT_EQ(info.file, installed);
        this->ExpectUnavailable();
      }
      const std::string path = this->Bring("torch");
      this->ExpectUses(Import(path), path);
    })) << ask_first;
  }
}

// The reason is about the framework's copy in both orders.
TYPED_TEST(WhenLoaded, NoCopyHasDevices) {
  for (const bool ask_first : {true, false}) {
    EXPECT_TRUE(InChild([this, ask_first] {
      this->Install(true);
      if (ask_first) {
        EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_UNUSABLE);
      }
      const std::string path = this->Bring("torch");
      TypeParam::HideDevices(Import(path));
      for (int i = 0; i < 3; ++i) {
        const DLBridgeBackendInfo info = this->Ask();
        EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
        EXPECT_EQ(info.file, path);
        EXPECT_EQ(info.driver_code, 100);
        this->ExpectUnavailable();
      }
      // A third one that works is still found.
      const std::string third = this->Bring("jax");
      this->ExpectUses(Import(third), third);
    })) << ask_first;
  }
}

TYPED_TEST(WhenLoaded, OfTwoThatWorkTheFirstIsUsed) {
  for (const bool ask_first : {true, false}) {
    EXPECT_TRUE(InChild([this, ask_first] {
      if (ask_first) {
        EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
      }
      const std::string first = this->Bring("torch");
      const std::string second = this->Bring("jax");
      void* copy = Import(first);
      Import(second);
      this->ExpectUses(copy, first);
      Import(this->Bring("cupy"));
      this->ExpectUses(copy, first);
    })) << ask_first;
  }
}

// The loader knows a library by the name that is written in it, whatever its file is called.
TYPED_TEST(WhenLoaded, UnderAnotherFileName) {
  EXPECT_TRUE(InChild([this] {
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
    const std::string path = this->folder_.Copy(TypeParam::kFake, "driver-1.bin");
    this->ExpectUses(Import(path), path);
  }));
}

TYPED_TEST(WhenLoaded, AskingAgainOpensNothing) {
  for (const bool installed : {false, true}) {
    EXPECT_TRUE(InChild([this, installed] {
      if (installed) {
        this->Install(true);
      }
      const int32_t state = installed ? DLBRIDGE_STATE_UNUSABLE : DLBRIDGE_STATE_ABSENT;
      EXPECT_EQ(this->Ask().state, state);
      EXPECT_EQ(this->Ask().state, state);  // looks at what the first start has loaded
      opens = 0;
      const DLBridgeStream stream = {
          TypeParam::kBackend, DLBRIDGE_STREAM_QUEUE, Device(TypeParam::kDevice), 64, 0, 0};
      for (size_t i = 0; i < Scaled(100000); ++i) {
        ASSERT_EQ(dlbridge_stream_synchronize(&stream, nullptr), DLBRIDGE_ERROR_UNAVAILABLE);
      }
      EXPECT_EQ(opens, 0);
      // Another library is loaded: one look at the loaded ones, and nothing is loaded.
      Import(TypeParam::kUnrelated);
      opens = 0;
      EXPECT_EQ(this->Ask().state, state);
      EXPECT_LE(opens, 6);
      opens = 0;
      EXPECT_EQ(this->Ask().state, state);
      EXPECT_EQ(opens, 0);
    })) << installed;
  }
}

TYPED_TEST(WhenLoaded, AFileThatCannotBeLoadedChangesNothing) {
  EXPECT_TRUE(InChild([this] {
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
    const std::string text = this->folder_.Write("no library", TypeParam::kBundled);
    EXPECT_EQ(dlopen(text.c_str(), RTLD_NOW), nullptr);
    const DLBridgeBackendInfo info = this->Ask();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_ABSENT);
    EXPECT_STREQ(info.file, "");
    const std::string path = this->Bring("torch");
    this->ExpectUses(Import(path), path);
  }));
}

// A library that only has the name.
TYPED_TEST(WhenLoaded, ALibraryThatIsNoDriverDoesNotEndTheSearch) {
  EXPECT_TRUE(InChild([this] {
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
    const std::string other =
        this->folder_.Copy(TypeParam::kUnrelated, std::string("tools/") + TypeParam::kBundled);
    Import(other);
    const DLBridgeBackendInfo info = this->Ask();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
    EXPECT_EQ(info.file, other);
    const std::string path = this->Bring("torch");
    this->ExpectUses(Import(path), path);
  }));
}

// There is room for eight copies that do not work.
TYPED_TEST(WhenLoaded, TheNinthCopyIsNotTried) {
  EXPECT_TRUE(InChild([this] {
    for (int i = 0; i < 8; ++i) {
      TypeParam::HideDevices(Import(this->Bring("framework" + std::to_string(i))));
      EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_UNUSABLE);
    }
    Import(this->Bring("torch"));
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_UNUSABLE);
  }));
}

// The variable names the file that is used instead of all others. It is read once.
TYPED_TEST(WhenLoaded, TheVariableDecides) {
  EXPECT_TRUE(InChild([this] {
    setenv(TypeParam::kVariable, "/nowhere/driver.so", 1);
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
    Import(this->Bring("torch"));
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
    unsetenv(TypeParam::kVariable);
    Import(this->Bring("jax"));
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
  }));
  EXPECT_TRUE(InChild([this] {
    const std::string path = this->Bring("torch");
    const std::string aside = path + ".aside";
    std::filesystem::rename(path, aside);
    setenv(TypeParam::kVariable, path.c_str(), 1);
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
    std::filesystem::rename(aside, path);
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
    this->ExpectUses(Import(path), path);
  }));
}

// Each thread gets UNAVAILABLE until the copy is there, and its devices from then on.
TYPED_TEST(WhenLoaded, WhileThreadsAsk) {
  EXPECT_TRUE(InChild([this] {
    std::atomic<bool> loaded{false};
    std::atomic<int> asked{0};
    std::vector<std::thread> threads;
    const std::string path = this->Bring("torch");
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        bool ready = false;
        for (int after = 0; after < 50 && !this->HasFailure();) {
          const bool must_be_ready = ready || loaded;
          const DLBridgeBackendInfo info = Info(TypeParam::kBackend);
          ready = info.state == DLBRIDGE_STATE_READY;
          EXPECT_TRUE(ready || (!must_be_ready && info.state == DLBRIDGE_STATE_ABSENT));
          EXPECT_EQ(info.file, ready ? path : "");
          EXPECT_EQ(info.reason[0] == '\0', ready);
          EXPECT_EQ(info.device_count, ready ? 2 : 0);
          after += ready ? 1 : 0;
          ++asked;
        }
      });
    }
    while (asked < 50 && !this->HasFailure()) {
      std::this_thread::yield();
    }
    void* copy = Import(path);
    loaded = true;
    for (std::thread& thread : threads) {
      thread.join();
    }
    this->ExpectUses(copy, path);
  }));
}

// Two copies come while threads ask; the first has no devices.
TYPED_TEST(WhenLoaded, WhileThreadsAskAndAnotherCopyFails) {
  EXPECT_TRUE(InChild([this] {
    this->Install(true);
    std::atomic<bool> loaded{false};
    std::vector<std::thread> threads;
    const std::string path = this->Bring("jax");
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (bool ready = false; !ready && !this->HasFailure();) {
          const bool must_be_ready = loaded;
          const DLBridgeBackendInfo info = Info(TypeParam::kBackend);
          ready = info.state == DLBRIDGE_STATE_READY;
          EXPECT_TRUE(ready || (!must_be_ready && info.state == DLBRIDGE_STATE_UNUSABLE));
          EXPECT_TRUE(!ready || info.file == path) << info.file;
        }
      });
    }
    Import(this->folder_.Copy(TypeParam::kUnrelated, std::string("tools/") + TypeParam::kBundled));
    void* copy = Import(path);
    loaded = true;
    for (std::thread& thread : threads) {
      thread.join();
    }
    this->ExpectUses(copy, path);
  }));
}

TYPED_TEST(WhenLoaded, InAForkedChild) {
  EXPECT_TRUE(InChild([this] {
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
    const std::string path = this->Bring("torch");
    EXPECT_TRUE(InChild([this, &path] {
      EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);
      this->ExpectUses(Import(path), path);
    }));
    EXPECT_EQ(this->Ask().state, DLBRIDGE_STATE_ABSENT);  // the child's driver is the child's
    this->ExpectUses(Import(path), path);
    EXPECT_TRUE(InChild([] {
      DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
      EXPECT_EQ(dlbridge_backend_info(TypeParam::kBackend, &info, nullptr), DLBRIDGE_ERROR_FORKED);
    }));
  }));
}

// The installed runtime is loaded although the framework's is: its devices would have been found
// without the framework.
using WhenHipIsLoaded = WhenLoaded<Hip>;
TEST_F(WhenHipIsLoaded, WithoutDevicesTheInstalledOneIsUsed) {
  for (const bool ask_first : {true, false}) {
    EXPECT_TRUE(InChild([this, ask_first] {
      const std::string installed = Install(false);
      if (ask_first) {
        EXPECT_EQ(Ask().state, DLBRIDGE_STATE_READY);
      }
      // Of another version: a library of the same SONAME would take the installed one's place.
      Hip::HideDevices(Import(folder_.Copy(DLBRIDGE_FAKE_HIP5, "torch/lib/libamdhip64.so")));
      EXPECT_EQ(Ask().state, DLBRIDGE_STATE_READY);
      ExpectUses(Import(installed), installed);
    })) << ask_first;
  }
}

// The child does not know how far the driver is: it does not start it again, nor wait for it.
using WhenCudaIsLoaded = WhenLoaded<Cuda>;
TEST_F(WhenCudaIsLoaded, ForkedDuringTheStart) {
  for (const bool later : {false, true}) {
    EXPECT_TRUE(InChild([this, later] {
      if (later) {
        EXPECT_EQ(Ask().state, DLBRIDGE_STATE_ABSENT);
      }
      const std::string path = Bring("torch");
      void* copy = Import(path);
      stop_in_init = true;
      std::thread starting([] { EXPECT_EQ(Ask().state, DLBRIDGE_STATE_READY); });
      while (!stopped && !HasFailure()) {
        std::this_thread::yield();
      }
      EXPECT_TRUE(InChild([] {
        alarm(20);
        DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
        EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_CUDA, &info, nullptr),
                  DLBRIDGE_ERROR_FORKED);
      }));
      stop_in_init = false;
      starting.join();
      ExpectUses(copy, path);
    })) << later;
  }
}

// Two threads ask while the first start is in progress in one of them, and a copy comes meanwhile.
TEST_F(WhenCudaIsLoaded, DuringTheFirstStart) {
  EXPECT_TRUE(InChild([this] {
    Install(false);
    fail_after_stop = true;
    stop_in_init = true;
    std::thread first([] { EXPECT_EQ(Ask().state, DLBRIDGE_STATE_READY); });
    while (!stopped && !HasFailure()) {
      std::this_thread::yield();
    }
    const std::string path = Bring("torch");
    void* copy = Import(path);
    std::thread second([] { EXPECT_EQ(Ask().state, DLBRIDGE_STATE_READY); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the second waits for the first
    stop_in_init = false;
    first.join();
    second.join();
    ExpectUses(copy, path);
  }));
}

// Loaders of Level Zero and OpenCL. Each copy finds its drivers once, when it is first asked: a
// copy that found none keeps that result, and the next copy is asked anew.
void ExpectLoaders(const std::string& loader, const char* name, DLBridgeBackend backend,
                   const char* variable, const char* without, const char* with) {
  const Folder folder;
  EXPECT_TRUE(InChild([&] {
    EXPECT_EQ(Info(backend).state, DLBRIDGE_STATE_ABSENT);
    setenv(variable, without, 1);
    const std::string first = folder.Copy(loader, std::string("first/") + name);
    Import(first);
    for (int i = 0; i < 2; ++i) {
      const DLBridgeBackendInfo info = Info(backend);
      EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
      EXPECT_EQ(info.file, first);
      setenv(variable, with, 1);
    }
    const std::string second = folder.Copy(loader, std::string("second/") + name);
    Import(second);
    const DLBridgeBackendInfo info = Info(backend);
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    EXPECT_EQ(info.file, second);
    EXPECT_GT(info.device_count, 0);
    EXPECT_STREQ(info.reason, "");
  }));
}

TEST(WhenLevelZeroIsLoaded, AfterACopyWithoutDrivers) {
#ifdef FAKE_LEVEL_ZERO
  ExpectLoaders(LEVEL_ZERO_LOADER, "libze_loader.so.1", DLBRIDGE_BACKEND_LEVEL_ZERO,
                "ZE_ENABLE_ALT_DRIVERS", "/nowhere/libze.so", FAKE_LEVEL_ZERO);
#else
  GTEST_SKIP() << "Level Zero's headers or loader were not found";
#endif
}

TEST(WhenOpenClIsLoaded, AfterACopyWithoutDrivers) {
#ifdef OPENCL_LOADER
  ExpectLoaders(OPENCL_LOADER, "libOpenCL-0a1b2c3d.so.1.0.0", DLBRIDGE_BACKEND_OPENCL,
                "OCL_ICD_VENDORS", OPENCL_ICD "/none/", OPENCL_ICD "/pocl/");
#else
  GTEST_SKIP() << "OpenCL's loader or PoCL was not found";
#endif
}

}  // namespace
}  // namespace dlbridge_test
