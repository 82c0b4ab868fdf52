// SPDX-License-Identifier: Apache-2.0
// Times the first call of a process that needs a driver, and the next one, in microseconds. Each
// backend has a process, since a process looks for a driver once.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "dlbridge/dlbridge.h"

namespace {

constexpr const char* kNames[] = {"", "CPU", "CUDA", "HIP", "Level Zero", "OpenCL"};
constexpr const char* kStates[] = {"", "ready", "absent", "unusable"};

double MicrosecondsOf(DLBridgeBackend backend, DLBridgeBackendInfo* info) {
  const auto start = std::chrono::steady_clock::now();
  dlbridge_backend_info(backend, info, nullptr);
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
  return taken.count();
}

void Report(DLBridgeBackend backend) {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  const double first = MicrosecondsOf(backend, &info);
  const double second = MicrosecondsOf(backend, &info);
  std::printf("%-11s %-9s first %10.1f   again %6.2f\n", kNames[backend], kStates[info.state],
              first, second);
}

}  // namespace

int main() {
  for (DLBridgeBackend backend = DLBRIDGE_BACKEND_CUDA; backend <= DLBRIDGE_BACKEND_OPENCL;
       ++backend) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      Report(backend);
      std::fflush(nullptr);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      std::fprintf(stderr, "%s: its process failed\n", kNames[backend]);
      return 1;
    }
  }
  return 0;
}
