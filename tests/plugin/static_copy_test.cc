// SPDX-License-Identifier: Apache-2.0
// A plugin that links the static library, in a program that links the shared one. The copy inside
// the plugin exports nothing, and the plugin calls its own copy.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "dlbridge/dlbridge.h"
#include "plugin/host.h"

namespace dlbridge_test {
namespace {

class StaticCopy : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    handle_ = dlopen(HIDDEN_COPY, RTLD_NOW | GetParam());
    ASSERT_NE(handle_, nullptr) << dlerror();
  }
  void TearDown() override {
    EXPECT_EQ(dlclose(handle_), 0);
    EXPECT_FALSE(IsLoaded(HIDDEN_COPY));
  }

  template <class Function>
  Function* Get(const char* name) const {
    auto* function = reinterpret_cast<Function*>(dlsym(handle_, name));
    EXPECT_NE(function, nullptr) << name;
    return function;
  }

  void* handle_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Loaded, StaticCopy, testing::Values(RTLD_LOCAL, RTLD_GLOBAL),
                         [](const auto& info) {
                           return info.param == RTLD_LOCAL ? "local" : "global";
                         });

TEST_P(StaticCopy, ExportsNothing) {
  for (const char* name : {"dlbridge_version", "dlbridge_get_api", "dlbridge_allocate",
                           "dlbridge_share", "dlbridge_context_table_v1"}) {
    EXPECT_EQ(dlsym(handle_, name), nullptr) << name;
  }
}

TEST_P(StaticCopy, CallsItsOwnFunctions) {
  const DLBridgeApi* own = dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
  const DLBridgeApi* inside = Get<const DLBridgeApi*()>("hidden_api")();
  ASSERT_NE(inside, nullptr);
  EXPECT_NE(inside, own);
  EXPECT_NE(inside->share, own->share);
  EXPECT_EQ(Get<DLBridgeStatus()>("hidden_share")(), DLBRIDGE_OK);
}

}  // namespace
}  // namespace dlbridge_test
