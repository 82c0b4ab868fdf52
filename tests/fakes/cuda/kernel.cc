// SPDX-License-Identifier: Apache-2.0
// The one kernel that the fake knows: the gate of the conformance kit (gates.py), which runs until
// the host sets a flag in pinned memory, or until a limit.
#include <chrono>
#include <cstring>

#include "state.h"

namespace fake_cuda {
namespace {

// What cuModuleLoadData and cuModuleGetFunction return: the fake has no other module.
char g_module;
char g_gate;

void RunGate(volatile uint32_t* flag, uint64_t limit) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit);
  while (flag[0] == 0) {
    if (std::chrono::steady_clock::now() > end) {
      flag[1] = 1;
      return;
    }
  }
}

}  // namespace
}  // namespace fake_cuda

extern "C" {

CUresult CUDAAPI cuModuleLoadData(CUmodule* out, const void* image) {
  FAKE_CALL("cuModuleLoadData", kContext);
  FAKE_REQUIRE(std::strstr(static_cast<const char*>(image), ".entry gate(") != nullptr,
               CUDA_ERROR_INVALID_PTX, "cuModuleLoadData of another text than the gate's");
  *out = reinterpret_cast<CUmodule>(&fake_cuda::g_module);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
  FAKE_CALL("cuModuleGetFunction", kContext);
  FAKE_REQUIRE(
      reinterpret_cast<char*>(module) == &fake_cuda::g_module && std::strcmp(name, "gate") == 0,
      CUDA_ERROR_NOT_FOUND, "cuModuleGetFunction of another function than the gate");
  *out = reinterpret_cast<CUfunction>(&fake_cuda::g_gate);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned,
                                unsigned, unsigned, unsigned, CUstream handle, void** parameters,
                                void**) {
  FAKE_CALL("cuLaunchKernel", kContext);
  fake_cuda::Stream* stream = fake_cuda::FindStream(handle, "cuLaunchKernel");
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  FAKE_REQUIRE(reinterpret_cast<char*>(function) == &fake_cuda::g_gate, CUDA_ERROR_INVALID_HANDLE,
               "cuLaunchKernel of no function");
  uint64_t values[2];
  std::memcpy(&values[0], parameters[0], sizeof values[0]);
  std::memcpy(&values[1], parameters[1], sizeof values[1]);
  auto* flag = reinterpret_cast<volatile uint32_t*>(values[0]);
  const uint64_t limit = values[1];
  fake_cuda::Enqueue(stream, [=] { fake_cuda::RunGate(flag, limit); });
  return CUDA_SUCCESS;
}
}
