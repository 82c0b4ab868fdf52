// SPDX-License-Identifier: Apache-2.0
// A process that must not make memory files, as in some containers: shareable memory is rejected
// with the system's reason, and everything else works.
#include <gtest/gtest.h>

#ifdef __linux__

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "support/child.h"
#include "support/every_function.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// From now on memfd_create fails with `code` in this process. False where the system has no
// filters.
bool ForbidMemoryFiles(int code) {
  sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(code)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof instructions / sizeof *instructions, instructions};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// Does the system have filters? qemu-user has none.
bool CanForbid() {
  const pid_t child = fork();
  if (child == 0) {
    _exit(ForbidMemoryFiles(ENOSYS) ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void ExpectRejected(DLBridgeStatus status, const Error& error, int code) {
  EXPECT_EQ(status, DLBRIDGE_ERROR_UNSUPPORTED) << error.message;
  EXPECT_TRUE(error.Says("memfd_create")) << error.message;
  EXPECT_TRUE(error.Says(std::strerror(code)) || error.Says(std::to_string(code).c_str()))
      << error.message;
}

class WithoutMemoryFiles : public testing::TestWithParam<int> {};

TEST_P(WithoutMemoryFiles, OnlyShareableMemoryIsRejected) {
  if (!CanForbid()) {
    GTEST_SKIP() << "this system has no filters of system calls";
  }
  const int code = GetParam();
  EXPECT_TRUE(InChild([code] {
    ASSERT_TRUE(ForbidMemoryFiles(code));
    static constexpr int64_t kShape[] = {2, 2};
    DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
    spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
    spec.dtype = {kDLFloat, 32, 1};
    spec.ndim = 2;
    spec.shape = kShape;
    DLManagedTensorVersioned* out = nullptr;
    Error error;
    ExpectRejected(dlbridge_allocate(&spec, &out, &error), error, code);
    DLManagedTensorVersioned* tensor = NewOwned();
    DLBridgeCopySpec copy = DLBRIDGE_COPY_SPEC_INIT;
    copy.options = DLBRIDGE_COPY_SHAREABLE;
    Error copied;
    ExpectRejected(dlbridge_copy(&tensor->dl_tensor, 0, &copy, &out, &copied), copied, code);
    EXPECT_EQ(out, nullptr);
    dlbridge_release_versioned(tensor);
    const Caller plainly = [](const Calling& call) { call(); };
    for (const FunctionRow& row : EveryFunction()) {
      if (std::strstr(row.name, "ipc_") == nullptr) {
        row.run(plainly);
      }
    }
    EXPECT_EQ(g_foreign_tensors, 0);
  }));
}

// A kernel without the call, and a filter that denies it.
INSTANTIATE_TEST_SUITE_P(Reasons, WithoutMemoryFiles, testing::Values(ENOSYS, EPERM));

}  // namespace
}  // namespace dlbridge_test

#endif
