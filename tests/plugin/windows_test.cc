// SPDX-License-Identifier: Apache-2.0
// Modules on Windows: the library stays loaded when the plugin that loaded it is unloaded, and so
// does a pinned plugin. This program does not link the library.
#include <gtest/gtest.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "dlbridge/dlbridge.h"
#include "plugin/plugin.h"

namespace dlbridge_test {
namespace {

template <class F>
F* Find(HMODULE module, const char* name) {
  return reinterpret_cast<F*>(reinterpret_cast<void*>(GetProcAddress(module, name)));
}

bool IsLoaded(const std::string& path) { return GetModuleHandleA(path.c_str()) != nullptr; }

// A copy of the plugin for this test only, since a pinned module stays loaded for later tests.
class Unloading : public testing::Test {
 protected:
  void Load(const std::string& plugin) {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    path_ = name + ".dll";
    std::filesystem::copy_file(plugin, path_, std::filesystem::copy_options::overwrite_existing);
    module_ = LoadLibraryA(path_.c_str());
    ASSERT_NE(module_, nullptr) << GetLastError();
    auto* make = Find<DLManagedTensorVersioned*(int*)>(module_, "plugin_make");
    ASSERT_NE(make, nullptr);
    tensor_ = make(&deletions_);
    ASSERT_NE(tensor_, nullptr);
  }
  void Unload() { ASSERT_TRUE(FreeLibrary(module_)); }
  void ExpectTheSix() const {
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(static_cast<const float*>(tensor_->dl_tensor.data)[i], static_cast<float>(i));
    }
  }

  std::string path_;
  HMODULE module_ = nullptr;
  DLManagedTensorVersioned* tensor_ = nullptr;
  int deletions_ = 0;
};

TEST_F(Unloading, LeavesTheLibraryOfAPlugin) {
  EXPECT_FALSE(IsLoaded("dlbridge.dll"));
  Load(LINKED_PLUGIN);
  Unload();
  EXPECT_FALSE(IsLoaded(path_));
  EXPECT_TRUE(IsLoaded("dlbridge.dll"));
  ExpectTheSix();
  tensor_->deleter(tensor_);
}

TEST_F(Unloading, TakesAPluginThatIsNotPinned) {
  Load(OWN_PLUGIN);
  tensor_->deleter(tensor_);
  EXPECT_EQ(deletions_, 1);
  Unload();
  EXPECT_FALSE(IsLoaded(path_));
}

TEST_F(Unloading, LeavesAPinnedPlugin) {
  Load(OWN_PLUGIN);
  const HMODULE library = LoadLibraryA("dlbridge.dll");
  auto* pin = Find<decltype(dlbridge_module_pin)>(library, "dlbridge_module_pin");
  ASSERT_NE(pin, nullptr);
  EXPECT_EQ(pin(tensor_->dl_tensor.data, nullptr), DLBRIDGE_OK);
  Unload();
  EXPECT_TRUE(IsLoaded(path_));
  ExpectTheSix();
  tensor_->deleter(tensor_);
  EXPECT_EQ(deletions_, 1);
}

TEST_F(Unloading, LeavesAPluginThatPinsItself) {
  Load(PINNING_PLUGIN);
  Unload();
  EXPECT_TRUE(IsLoaded(path_));
  ExpectTheSix();
  tensor_->deleter(tensor_);
  EXPECT_EQ(deletions_, 1);
}

}  // namespace
}  // namespace dlbridge_test
