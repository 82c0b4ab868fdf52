// SPDX-License-Identifier: Apache-2.0
// Tensors that wait for streams, on the strict fake of CUDA, which runs work only when something
// waits for it. Release callbacks collect again, wait, hold further tensors and fork; two threads
// collect at once; calls of the driver fail. Each tensor is released once, after the work of all of
// its streams, and never in a child.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <list>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "dlbridge/cuda_api.h"
#include "dlbridge/dlbridge.h"
#include "fake_cuda.h"
#include "fuzz/support/check.h"
#include "fuzz/support/child.h"
#include "fuzz/support/input.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {
namespace {

constexpr size_t kStreams = 3;
constexpr int kMostSteps = 24;
constexpr size_t kMostTensors = 40;

void CheckCuda(CUresult result) { CheckEqual("the driver's result", 0, static_cast<int>(result)); }

// Streams, and for each a word in memory of the device: the number of the last work that has run.
class Device {
 public:
  Device() {
    setenv("DLBRIDGE_LIBCUDA", FAKE_CUDA_FILE, 1);
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    CheckStatus(DLBRIDGE_OK, dlbridge_backend_info(DLBRIDGE_BACKEND_CUDA, &info, nullptr));
    CheckEqual(info.reason, int32_t{DLBRIDGE_STATE_READY}, info.state);
    CheckCuda(cuCtxCreate(&context_, nullptr, 0, 0));
    for (CUstream& stream : streams_) {
      CheckCuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    }
    CheckCuda(cuMemAlloc(&words_, sizeof(uint64_t) * kStreams));
    CUcontext popped = nullptr;
    CheckCuda(cuCtxPopCurrent(&popped));
  }

  DLBridgeStream Stream(size_t i) const { return dlbridge_stream_cuda(streams_[i], 0); }
  uint64_t made(size_t stream) const { return made_[stream]; }
  uint64_t done(size_t stream) const {
    uint64_t word = 0;
    fake_cuda_peek(words_ + stream * sizeof word, &word, sizeof word);
    return word;
  }
  void Enqueue(size_t stream) {
    works_.push_back(++made_[stream]);
    CUcontext popped = nullptr;
    CheckCuda(cuCtxPushCurrent(context_));
    CheckCuda(cuMemcpyHtoDAsync(words_ + stream * sizeof(uint64_t), &works_.back(),
                                sizeof(uint64_t), streams_[stream]));
    CheckCuda(cuCtxPopCurrent(&popped));
  }
  void Begin() {
    fake_cuda_clear_log();
    for (size_t i = 0; i < kStreams; ++i) {
      made_[i] = 0;
      const uint64_t none = 0;
      fake_cuda_poke(words_ + i * sizeof none, &none, sizeof none);
    }
    works_.clear();
  }

 private:
  CUcontext context_ = nullptr;
  CUstream streams_[kStreams];
  CUdeviceptr words_ = 0;
  uint64_t made_[kStreams] = {};
  std::list<uint64_t> works_;  // what the work copies from
};

Device& TheDevice() {
  static auto& device = *new Device;
  return device;
}

// What a release callback does.
enum class Action { kNothing, kCollect, kWait, kHold, kFork };

struct Tensor {
  uint64_t expected[kStreams] = {};  // work that must have run before the release
  Action action = Action::kNothing;
  std::atomic<int> released{0};
};

class Program {
 public:
  explicit Program(Input* input)
      : input_(*input), device_(TheDevice()), may_fork_(MayFork(*input)) {
    g_program_ = this;
  }

  void Run() {
    Trace().clear();
    device_.Begin();
    for (int step = 0; step < kMostSteps && !input_.empty(); ++step) {
      Step();
      EndIfChild();
    }
    nests_ = false;
    while (Unreleased() != 0) {
      CollectAll();
    }
    for (size_t i = 0; i < kStreams; ++i) {  // work that nothing waits for
      const DLBridgeStream stream = device_.Stream(i);
      CheckStatus(DLBRIDGE_OK, dlbridge_stream_synchronize(&stream, nullptr));
    }
    CheckEqual("violations of the driver's rules", std::string(),
               std::string(fake_cuda_violation_texts()));
  }

 private:
  size_t Unreleased() const {
    return static_cast<size_t>(
        std::count_if(tensors_.begin(), tensors_.end(),
                      [](const Tensor& tensor) { return tensor.released == 0; }));
  }

  static void Release(void* context, const DLBridgeBuffer* /*buffer*/,
                      const DLBridgeStream* stream) {
    auto& tensor = *static_cast<Tensor*>(context);
    Program& self = *g_program_;
    CheckEqual("releases", 1, ++tensor.released);
    Check("no release in a child", !self.is_child_);
    Check("no stream of its own", stream == nullptr);
    for (size_t i = 0; i < kStreams; ++i) {
      Check("the work is done before the release", self.device_.done(i) >= tensor.expected[i]);
    }
    if (self.nests_) {
      self.Act(tensor.action);
    }
  }

  void Act(Action action) {
    ++depth_;
    switch (depth_ > 3 ? Action::kNothing : action) {
      case Action::kCollect:
      case Action::kWait: {
        size_t left = 0;
        CheckStatus(
            DLBRIDGE_OK,
            dlbridge_collect(action == Action::kWait ? DLBRIDGE_COLLECT_WAIT : 0, &left, nullptr));
        break;
      }
      case Action::kHold:
        Hold();
        break;
      case Action::kFork:
        Fork();
        break;
      default:
        break;
    }
    --depth_;
  }

  // To fork takes longer than all else. So one of eight inputs may, and once: the sum of its bytes
  // decides, so that most of what libFuzzer makes from such an input does not fork.
  static bool MayFork(const Input& input) {
    return std::accumulate(input.data(), input.data() + input.size(), 0U) % 8 == 0;
  }

  // The child returns from the callback into the library.
  void Fork() {
    if (!may_fork_) {
      return;
    }
    may_fork_ = false;
    const pid_t child = StartChild();
    if (child == 0) {
      is_child_ = true;
      return;
    }
    Await(child);
  }
  // In a child nothing is held, and the driver cannot be used.
  void EndIfChild() const {
    if (!is_child_) {
      return;
    }
    size_t left = 99;
    CheckStatus(DLBRIDGE_OK, dlbridge_collect(DLBRIDGE_COLLECT_WAIT, &left, nullptr));
    CheckEqual("tensors held in a child", size_t{0}, left);
    const DLBridgeStream stream = device_.Stream(0);
    CheckStatus(DLBRIDGE_ERROR_FORKED, dlbridge_stream_synchronize(&stream, nullptr));
    EndChild();
  }

  DLManagedTensorVersioned* Wrap(Tensor* tensor) {
    static float data = 0;
    DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
    spec.device = {kDLCPU, 0};
    spec.dtype = {kDLFloat, 32, 1};
    spec.buffer = dlbridge_buffer_address(&data);
    spec.release = Release;
    spec.release_context = tensor;
    DLManagedTensorVersioned* made = nullptr;
    CheckStatus(DLBRIDGE_OK, dlbridge_wrap(&spec, &made, nullptr));
    return made;
  }

  void Hold() {
    if (tensors_.size() == kMostTensors) {
      return;
    }
    tensors_.emplace_back();
    Tensor* tensor = &tensors_.back();
    tensor->action = input_.Pick({Action::kNothing, Action::kCollect, Action::kWait, Action::kHold,
                                  Action::kNothing, Action::kFork});
    std::vector<DLBridgeStream> streams;
    for (uint64_t count = 1 + input_.Below(3); count != 0; --count) {
      const size_t stream = input_.Below(kStreams);
      streams.push_back(device_.Stream(stream));
      tensor->expected[stream] = device_.made(stream);
    }
    DLManagedTensorVersioned* object = Wrap(tensor);
    if (is_child_) {  // a callback of the child, which has no driver
      CheckStatus(DLBRIDGE_ERROR_FORKED,
                  dlbridge_release_after(object, DLBRIDGE_KIND_VERSIONED, streams.data(),
                                         streams.size(), nullptr));
      return;
    }
    CheckStatus(DLBRIDGE_OK, dlbridge_release_after(object, DLBRIDGE_KIND_VERSIONED, streams.data(),
                                                    streams.size(), nullptr));
  }

  void Collect(uint32_t options) {
    size_t left = 99;
    CheckStatus(DLBRIDGE_OK, dlbridge_collect(options, &left, nullptr));
    if (!is_child_) {
      CheckEqual("tensors held", Unreleased(), left);
      Check("a wait leaves only what callbacks have held", options == 0 || nests_ || left == 0);
    }
  }
  void CollectAll() {
    CheckStatus(DLBRIDGE_OK, dlbridge_collect(DLBRIDGE_COLLECT_WAIT, nullptr, nullptr));
  }

  // A call of the driver fails: what waits for it is held until a later call.
  void CollectWithFault() {
    const bool nests = nests_;
    nests_ = false;
    const bool waits = input_.Flag();
    size_t left = 99;
    DLBridgeError error = GarbageError();
    fake_cuda_fail_any(CUDA_ERROR_OUT_OF_MEMORY, static_cast<int>(1 + input_.Below(12)),
                       input_.Flag() ? 1 : 0);
    const DLBridgeStatus status =
        dlbridge_collect(waits ? DLBRIDGE_COLLECT_WAIT : 0, &left, &error);
    const std::string failed = fake_cuda_fail_any(CUDA_ERROR_OUT_OF_MEMORY, 0, 0);
    CheckError(status, error);
    Check("a failure needs a failing call", status == DLBRIDGE_OK || !failed.empty());
    CheckEqual("tensors held", Unreleased(), left);
    nests_ = nests;
  }

  // Two threads look at the same tensors.
  void CollectTwice() {
    const bool nests = nests_;
    nests_ = false;
    const uint32_t options = input_.Flag() ? DLBRIDGE_COLLECT_WAIT : 0;
    std::thread other([&] {
      for (int i = 0; i < 3; ++i) {
        CheckStatus(DLBRIDGE_OK, dlbridge_collect(DLBRIDGE_COLLECT_WAIT, nullptr, nullptr));
      }
    });
    for (int i = 0; i < 3; ++i) {
      CheckStatus(DLBRIDGE_OK, dlbridge_collect(options, nullptr, nullptr));
    }
    other.join();
    nests_ = nests;
    CheckEqual("tensors held", size_t{0}, Unreleased());
  }

  void Step() {
    const auto choice = input_.Below(12);
    Trace() += "step " + std::to_string(choice) + "\n";
    switch (choice) {
      case 0:
      case 1:
        return device_.Enqueue(input_.Below(kStreams));
      case 2:
      case 3:
      case 4:
      case 5:
        return Hold();
      case 6:
        return Collect(0);
      case 7:
        return Collect(DLBRIDGE_COLLECT_WAIT);
      case 8: {
        const DLBridgeStream stream = device_.Stream(input_.Below(kStreams));
        return CheckStatus(DLBRIDGE_OK, dlbridge_stream_synchronize(&stream, nullptr));
      }
      case 9:
        return CollectWithFault();
      case 10:
        return CollectTwice();
      default:
        nests_ = !nests_;
    }
  }

  static Program* g_program_;
  Input& input_;
  Device& device_;
  std::list<Tensor> tensors_;
  bool nests_ = true;
  bool is_child_ = false;
  bool may_fork_;
  int depth_ = 0;
};
Program* Program::g_program_ = nullptr;

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::Input input(data, size);
  dlbridge_fuzz::Program(&input).Run();
  return 0;
}
