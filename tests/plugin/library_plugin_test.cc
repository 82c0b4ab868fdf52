// SPDX-License-Identifier: Apache-2.0
// A host without dlbridge, and plugins that use it. Their tensors outlive the plugins, since memory
// and deleter are the library's. This program does not link the library.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "plugin/host.h"

namespace dlbridge_test {
namespace {

class LibraryPlugin : public testing::TestWithParam<const char*> {
 protected:
  // The tensor of a plugin that is already closed.
  static DLManagedTensorVersioned* MakeAndClose() {
    Plugin plugin(GetParam());
    DLManagedTensorVersioned* tensor = plugin.Make();
    plugin.Close();
    EXPECT_EQ(plugin.IsLoaded(), PLUGINS_STAY);
    return tensor;
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, LibraryPlugin, testing::Values(LIBRARY_PLUGINS),
                         [](const auto& info) {
                           const std::string path = info.param;
                           return path.substr(path.rfind('/') + 1,
                                              path.rfind("_plugin") - path.rfind('/') - 1);
                         });

TEST_P(LibraryPlugin, TensorOutlivesIt) {
  DLManagedTensorVersioned* tensor = MakeAndClose();
  ASSERT_NE(tensor, nullptr);
  EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
  tensor->deleter(tensor);
}

TEST_P(LibraryPlugin, MayBeLoadedAndClosedAgain) {
  std::vector<DLManagedTensorVersioned*> tensors;
  for (int i = 0; i < 20; ++i) {
    tensors.push_back(MakeAndClose());
    ASSERT_NE(tensors.back(), nullptr);
  }
  for (DLManagedTensorVersioned* tensor : tensors) {
    EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
    tensor->deleter(tensor);
  }
}

TEST_P(LibraryPlugin, DeleterRunsOnAThreadThatIsNotTheProducers) {
  DLManagedTensorVersioned* tensor = nullptr;
  std::thread([&] { tensor = MakeAndClose(); }).join();
  ASSERT_NE(tensor, nullptr);
  std::thread([&] {
    EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
    tensor->deleter(tensor);
  }).join();
}

TEST_P(LibraryPlugin, DeleterRunsInAForkedChildAndInItsParent) {
  DLManagedTensorVersioned* tensor = MakeAndClose();
  ASSERT_NE(tensor, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const bool right = HoldsTheSix(tensor->dl_tensor);
    tensor->deleter(tensor);
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
  tensor->deleter(tensor);
}

DLManagedTensorVersioned* released_at_exit = nullptr;

void ReleaseAtExit() {
  if (!HoldsTheSix(released_at_exit->dl_tensor)) {
    _exit(1);
  }
  released_at_exit->deleter(released_at_exit);
  std::fputs("released at exit\n", stderr);
}

// The handler that is registered first runs last.
TEST_P(LibraryPlugin, DeleterRunsAtExit) {
  const auto exits = [] {
    std::atexit(ReleaseAtExit);
    released_at_exit = MakeAndClose();
    std::exit(released_at_exit == nullptr ? 1 : 0);
  };
  EXPECT_EXIT(exits(), testing::ExitedWithCode(0), "released at exit");
}

// Runs after every handler of the program, when the loader finishes modules.
struct ReleasedByDestructor {
  ~ReleasedByDestructor() {
    if (tensor != nullptr) {
      tensor->deleter(tensor);
      std::fputs("released by a destructor\n", stderr);
    }
  }
  DLManagedTensorVersioned* tensor = nullptr;
};

TEST_P(LibraryPlugin, DeleterRunsInAStaticDestructor) {
  const auto exits = [] {
    static ReleasedByDestructor released;
    released.tensor = MakeAndClose();
    std::exit(released.tensor == nullptr ? 1 : 0);
  };
  EXPECT_EXIT(exits(), testing::ExitedWithCode(0), "released by a destructor");
}

// A host that never releases its tensor leaks it, without another effect.
TEST_P(LibraryPlugin, ProcessMayEndWithALiveTensor) {
  const auto exits = [] {
    static DLManagedTensorVersioned* kept = MakeAndClose();
    std::exit(kept == nullptr ? 1 : 0);
  };
  EXPECT_EXIT(exits(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace dlbridge_test
