// SPDX-License-Identifier: Apache-2.0
// Plugins whose deleter, shape and data lie in the plugin itself. dlclose unloads them, unless the
// host, a conversion or the plugin pins the module.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "dlbridge/dlbridge.h"
#include "plugin/host.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

constexpr uint32_t kPin = DLBRIDGE_CONVERT_PIN_PRODUCER;

// A copy of the plugin for this test only, since a pinned module stays loaded for later tests.
class OwnPlugin : public testing::Test {
 protected:
  static std::string Copy(const char* plugin) {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::filesystem::path copy = std::filesystem::path(plugin).replace_filename(
        name + "_" + std::filesystem::path(plugin).filename().string());
    std::filesystem::remove(copy);
    std::filesystem::copy_file(plugin, copy);
    return copy;
  }

  void TearDown() override { EXPECT_EQ(deletions_, expected_deletions_); }

  Plugin plugin_{Copy(OWN_PLUGIN)};
  int deletions_ = 0;
  int expected_deletions_ = 1;
};

// A sanitizer reports the fault and exits; without one the fault ends the process. A process that
// survives exits with kLivesOn.
constexpr int kLivesOn = 42;
bool DiedOfAFault(int status) {
  const bool reported = WIFEXITED(status) && WEXITSTATUS(status) != kLivesOn;
  return (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) || reported;
}

[[noreturn]] void ReadAndLiveOn(const DLTensor& tensor) {
  const volatile int64_t extent = tensor.shape[0];
  const volatile float value = *static_cast<const float*>(tensor.data);
  static_cast<void>(extent);
  static_cast<void>(value);
  std::_Exit(kLivesOn);
}

TEST_F(OwnPlugin, UnpinnedIsUnloaded) {
  DLManagedTensorVersioned* tensor = plugin_.Make(&deletions_);
  plugin_.Close();
  EXPECT_FALSE(plugin_.IsLoaded());
  EXPECT_EXIT(tensor->deleter(tensor); std::_Exit(kLivesOn), DiedOfAFault, "");
  EXPECT_EXIT(ReadAndLiveOn(tensor->dl_tensor), DiedOfAFault, "");
  std::free(tensor);  // in place of the deleter
  expected_deletions_ = 0;
}

// An upgrade without a pin copies shape and strides, but cannot keep data and deleter.
TEST_F(OwnPlugin, UnpinnedUpgradeIsUnloaded) {
  DLManagedTensor* source = plugin_.MakeLegacy(&deletions_);
  DLManagedTensorVersioned* tensor = MustUpgrade(source);
  plugin_.Close();
  EXPECT_FALSE(plugin_.IsLoaded());
  EXPECT_EQ(ShapeOf(tensor->dl_tensor), (Axes{2, 3}));
  EXPECT_EXIT(dlbridge_release_versioned(tensor); std::_Exit(kLivesOn), DiedOfAFault, "");
  // The library cannot drop the source without its deleter, so the test sets another one.
  source->deleter = [](DLManagedTensor* self) { std::free(self); };
  dlbridge_release_versioned(tensor);
  expected_deletions_ = 0;
}

TEST_F(OwnPlugin, PinnedByTheHostStays) {
  DLManagedTensorVersioned* tensor = plugin_.Make(&deletions_);
  Error error;
  ASSERT_EQ(dlbridge_module_pin(reinterpret_cast<const void*>(tensor->deleter), &error),
            DLBRIDGE_OK)
      << error.message;
  plugin_.Close();
  EXPECT_TRUE(plugin_.IsLoaded());
  EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
  tensor->deleter(tensor);
}

TEST_F(OwnPlugin, PinnedByItsDataStays) {
  DLManagedTensorVersioned* tensor = plugin_.Make(&deletions_);
  ASSERT_EQ(dlbridge_module_pin(tensor->dl_tensor.data, nullptr), DLBRIDGE_OK);
  plugin_.Close();
  EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
  tensor->deleter(tensor);
}

TEST_F(OwnPlugin, PinnedByAnUpgradeStays) {
  DLManagedTensorVersioned* tensor = MustUpgrade(plugin_.MakeLegacy(&deletions_), kPin);
  plugin_.Close();
  EXPECT_TRUE(plugin_.IsLoaded());
  EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
  dlbridge_release_versioned(tensor);
}

TEST_F(OwnPlugin, PinnedByAnUpgradeIntoStorageStays) {
  const DLBridgeConvertOptions options = Options(kPin);
  alignas(16) unsigned char memory[512];
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.memory = memory;
  storage.size = sizeof memory;
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(
      dlbridge_upgrade_into(plugin_.MakeLegacy(&deletions_), &options, &storage, &tensor, nullptr),
      DLBRIDGE_OK);
  plugin_.Close();
  EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
  dlbridge_release_versioned(tensor);
}

TEST_F(OwnPlugin, PinnedByABatchStays) {
  DLManagedTensor* sources[] = {plugin_.MakeLegacy(&deletions_), plugin_.MakeLegacy(&deletions_)};
  const DLBridgeConvertOptions options = Options(kPin);
  DLManagedTensorVersioned* tensors[2] = {};
  ASSERT_EQ(dlbridge_upgrade_many(sources, 2, &options, tensors, nullptr, nullptr), DLBRIDGE_OK);
  plugin_.Close();
  for (DLManagedTensorVersioned* tensor : tensors) {
    EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
    dlbridge_release_versioned(tensor);
  }
  expected_deletions_ = 2;
}

TEST_F(OwnPlugin, PinnedByADowngradeStays) {
  DLManagedTensor* tensor = MustDowngrade(plugin_.Make(&deletions_), kPin);
  plugin_.Close();
  EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
  dlbridge_release_legacy(tensor);
}

TEST_F(OwnPlugin, PinnedByAnImportStays) {
  DLManagedTensorVersioned* tensor = MustAdopt(plugin_.Make(&deletions_), kPin);
  DLManagedTensorVersioned* share = MustShare(tensor);
  plugin_.Close();
  dlbridge_release_versioned(tensor);
  EXPECT_TRUE(HoldsTheSix(share->dl_tensor));
  dlbridge_release_versioned(share);
}

// A dlbridge-owned tensor, made without pinning.
TEST_F(OwnPlugin, PinnedBelowADlbridgeOwnedTensorStays) {
  DLManagedTensorVersioned* tensor = MustUpgrade(plugin_.MakeLegacy(&deletions_));
  tensor = MustAdopt(tensor, kPin);
  plugin_.Close();
  EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
  dlbridge_release_versioned(tensor);
}

// Returned unchanged, with the plugin's deleter.
TEST_F(OwnPlugin, PinnedTensorThatIsReturnedStays) {
  DLManagedTensorVersioned* source = plugin_.Make(&deletions_);
  const DLBridgeConvertOptions options = Options(kPin);
  void* out = nullptr;
  DLBridgeKind kind = DLBRIDGE_KIND_AMBIGUOUS;
  ASSERT_EQ(
      dlbridge_export(source, DLBRIDGE_KIND_VERSIONED, {1, 3}, &options, &out, &kind, nullptr),
      DLBRIDGE_OK);
  EXPECT_EQ(out, source);
  plugin_.Close();
  EXPECT_TRUE(HoldsTheSix(source->dl_tensor));
  dlbridge_release_versioned(source);
}

TEST_F(OwnPlugin, PinnedIsReleasedOnAnotherThread) {
  DLManagedTensorVersioned* tensor = nullptr;
  std::thread([&] {
    tensor = MustUpgrade(plugin_.MakeLegacy(&deletions_), kPin);
    plugin_.Close();
  }).join();
  std::thread([&] {
    EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
    dlbridge_release_versioned(tensor);
  }).join();
}

TEST_F(OwnPlugin, PinnedIsReleasedInAForkedChildAndInItsParent) {
  DLManagedTensorVersioned* tensor = MustUpgrade(plugin_.MakeLegacy(&deletions_), kPin);
  plugin_.Close();
  const auto release = [&] {
    const bool right = HoldsTheSix(tensor->dl_tensor);
    dlbridge_release_versioned(tensor);
    return right && deletions_ == 1;
  };
  EXPECT_EXIT(std::_Exit(release() ? 0 : 1), testing::ExitedWithCode(0), "");
  EXPECT_TRUE(release());
}

// Runs after every handler of the program, when the loader finishes modules.
struct ReleasedByDestructor {
  ~ReleasedByDestructor() {
    if (tensor != nullptr) {
      dlbridge_release_versioned(tensor);
      std::fprintf(stderr, "deleters run: %d\n", *deletions);
    }
  }
  DLManagedTensorVersioned* tensor = nullptr;
  const int* deletions = nullptr;
};

TEST_F(OwnPlugin, PinnedIsReleasedAtTheEndOfTheProcess) {
  const auto exits = [&] {
    static ReleasedByDestructor released;
    static int deletions = 0;  // outlives the test
    released.deletions = &deletions;
    released.tensor = MustUpgrade(plugin_.MakeLegacy(&deletions), kPin);
    plugin_.Close();
    std::exit(0);
  };
  EXPECT_EXIT(exits(), testing::ExitedWithCode(0), "deleters run: 1");
  expected_deletions_ = 0;
}

TEST_F(OwnPlugin, RejectedIsNotPinned) {
  DLManagedTensor* source = plugin_.MakeLegacy(&deletions_);
  source->dl_tensor.shape = nullptr;
  const DLBridgeConvertOptions options = Options(kPin);
  DLManagedTensorVersioned* out = nullptr;
  EXPECT_EQ(dlbridge_upgrade(source, &options, &out, nullptr), DLBRIDGE_ERROR_INVALID_TENSOR);
  source->deleter(source);
  plugin_.Close();
  EXPECT_FALSE(plugin_.IsLoaded());
}

// A copy has released its source before the plugin is unloaded.
TEST_F(OwnPlugin, CopiedIsNotPinned) {
  DLManagedTensorVersioned* tensor =
      MustUpgrade(plugin_.MakeLegacy(&deletions_), kPin | DLBRIDGE_CONVERT_COPY);
  EXPECT_EQ(deletions_, 1);
  plugin_.Close();
  EXPECT_FALSE(plugin_.IsLoaded());
  EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
  dlbridge_release_versioned(tensor);
}

TEST_F(OwnPlugin, ThatPinsItselfStays) {
  Plugin pinning(Copy(PINNING_PLUGIN));
  DLManagedTensorVersioned* tensor = pinning.Make(&deletions_);
  pinning.Close();
  EXPECT_TRUE(pinning.IsLoaded());
  EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
  tensor->deleter(tensor);
}

}  // namespace
}  // namespace dlbridge_test
