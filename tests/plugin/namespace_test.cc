// SPDX-License-Identifier: Apache-2.0
// A module in another linker namespace cannot be kept loaded from here, and no other module is kept
// in its place: in this namespace its file name leads to a different module.
#include <gtest/gtest.h>

#include "dlbridge/dlbridge.h"
#include "plugin/host.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

TEST(Namespace, AnotherOneIsRejected) {
  void* handle = dlmopen(LM_ID_NEWLM, OWN_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  const void* address = dlsym(handle, "plugin_make");
  Error error;
  EXPECT_EQ(dlbridge_module_pin(address, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("linker namespace")) << error.message;
  EXPECT_EQ(dlerror(), nullptr) << "dlerror() must not return a message of the library's calls";

  Plugin same_name(OWN_PLUGIN);
  EXPECT_EQ(dlbridge_module_pin(address, nullptr), DLBRIDGE_ERROR_UNSUPPORTED);
  dlclose(handle);
}

}  // namespace
}  // namespace dlbridge_test
