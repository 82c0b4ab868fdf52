// SPDX-License-Identifier: Apache-2.0
// A module in a linker namespace of its own cannot be kept from here, and nothing else is kept in
// its place: the name that leads to it leads to another module in ours.
#include <gtest/gtest.h>

#include "dlbridge/dlbridge.h"
#include "plugin/host.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

TEST(Namespace, OfItsOwnIsRefused) {
  void* handle = dlmopen(LM_ID_NEWLM, OWN_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  const void* address = dlsym(handle, "plugin_make");
  Error error;
  EXPECT_EQ(dlbridge_module_pin(address, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("linker namespace")) << error.message;
  EXPECT_EQ(dlerror(), nullptr) << "the loader's message is not the caller's";

  Plugin same_name(OWN_PLUGIN);
  EXPECT_EQ(dlbridge_module_pin(address, nullptr), DLBRIDGE_ERROR_UNSUPPORTED);
  dlclose(handle);
}

}  // namespace
}  // namespace dlbridge_test
