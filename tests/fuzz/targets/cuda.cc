// SPDX-License-Identifier: Apache-2.0
// Programs of copies, hand-offs, releases and waits on the strict fake of the CUDA driver, which
// runs the work of a stream only when something waits for it. A program orders its accesses with
// dlbridge_stream_handoff, so that each byte has one right value, which the model computes at once.
// Work that the library lets run late, early or on released memory shows as another value.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <set>
#include <vector>

#include "dlbridge/cuda_api.h"
#include "dlbridge/dlbridge.h"
#include "fake_cuda.h"
#include "fuzz/support/check.h"
#include "fuzz/support/input.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kSize = 2048;  // bytes of each buffer
constexpr size_t kStreams = 4;  // two of each device
constexpr size_t kBuffers = 5;  // two of each device, and one of the host
constexpr int kMostSteps = 24;

void CheckCuda(CUresult result) { CheckEqual("the driver's result", 0, static_cast<int>(result)); }

struct Stream {
  int device;
  CUstream native;
  DLBridgeStream stream;
};

// Memory of all inputs; `content` is what it must have when all work is done.
struct Buffer {
  int device;  // -1: the host
  uint64_t address;
  Bytes host;
  Bytes content;
  std::set<size_t> users;  // streams that may have unfinished work on it
};

// The application: its contexts, streams and memory.
struct World {
  CUcontext contexts[2];
  Stream streams[kStreams];
  Buffer buffers[kBuffers];
  FakeCudaCounts before;
};

// Makes a context current for calls of the application.
class Current {
 public:
  explicit Current(CUcontext context) { CheckCuda(cuCtxPushCurrent(context)); }
  ~Current() {
    CUcontext popped = nullptr;
    CheckCuda(cuCtxPopCurrent(&popped));
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

void StartDriver() {
  setenv("DLBRIDGE_LIBCUDA", FAKE_CUDA_FILE, 1);
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  CheckStatus(DLBRIDGE_OK, dlbridge_backend_info(DLBRIDGE_BACKEND_CUDA, &info, nullptr));
  CheckEqual(info.reason, int32_t{DLBRIDGE_STATE_READY}, info.state);
}

World* MakeWorld() {
  StartDriver();
  auto* world = new World();
  for (int device = 0; device < 2; ++device) {
    CUcontext popped = nullptr;
    CheckCuda(cuCtxCreate(&world->contexts[device], nullptr, 0, device));
    CheckCuda(cuCtxPopCurrent(&popped));
  }
  for (size_t i = 0; i < kStreams; ++i) {
    Stream& one = world->streams[i];
    one.device = static_cast<int>(i / 2);
    const Current current(world->contexts[one.device]);
    CheckCuda(cuStreamCreate(&one.native, i % 2 == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    one.stream = dlbridge_stream_cuda(one.native, one.device);
  }
  for (size_t i = 0; i < kBuffers; ++i) {
    Buffer& one = world->buffers[i];
    one.device = i == kBuffers - 1 ? -1 : static_cast<int>(i / 2);
    one.host.resize(one.device < 0 ? kSize : 0);
    one.address = reinterpret_cast<uintptr_t>(one.host.data());
    if (one.device >= 0) {
      const Current current(world->contexts[one.device]);
      CUdeviceptr address = 0;
      CheckCuda(cuMemAlloc(&address, kSize));
      one.address = address;
    }
  }
  return world;
}

World& TheWorld() {
  static World* world = MakeWorld();
  return *world;
}

void Poke(const Buffer& buffer, size_t at, const uint8_t* bytes, size_t size) {
  if (buffer.device < 0) {
    std::memcpy(reinterpret_cast<uint8_t*>(buffer.address) + at, bytes, size);
  } else {
    fake_cuda_poke(buffer.address + at, bytes, size);
  }
}
Bytes Peek(const Buffer& buffer) {
  Bytes bytes(kSize);
  if (buffer.device < 0) {
    std::memcpy(bytes.data(), reinterpret_cast<uint8_t*>(buffer.address), kSize);
  } else {
    fake_cuda_peek(buffer.address, bytes.data(), kSize);
  }
  return bytes;
}

// Elements of a source, in bytes from the start of its buffer.
struct Layout {
  uint8_t item = 1;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t first = 0;
  std::vector<int64_t> places;
  bool compact = false;
};

class Program {
 public:
  explicit Program(Input* input) : input_(*input), world_(TheWorld()) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Run() {
    Begin();
    for (int step = 0; step < kMostSteps && !input_.empty(); ++step) {
      Step();
    }
    End();
  }

 private:
  // A tensor or copy of the program whose release is counted. The callback overwrites the bytes, so
  // that work that runs later reads or leaves something else.
  struct Loan {
    Program* program = nullptr;
    Buffer memory = {};
    const Bytes* expected = nullptr;  // the content when it is released, or NULL
    Bytes content;
    int released = 0;

    static void Release(void* context, const DLBridgeBuffer* buffer,
                        const DLBridgeStream* /*stream*/) {
      auto& self = *static_cast<Loan*>(context);
      ++self.released;
      CheckEqual("the released memory", self.memory.address, buffer->handle);
      if (self.expected != nullptr) {
        Check("the work was done before the release", Peek(self.memory) == *self.expected);
      }
      const Bytes poison(kSize, 0xDD);
      Poke(self.memory, 0, poison.data(), kSize);
    }
  };

  void Begin() {
    fake_cuda_clear_log();
    fake_cuda_counts(&world_.before);
    for (Buffer& buffer : world_.buffers) {
      Fill(&buffer, static_cast<uint8_t>(&buffer - world_.buffers));
    }
  }

  static void Fill(Buffer* buffer, uint8_t seed) {
    buffer->content.resize(kSize);
    uint32_t state = seed + 1U;
    for (uint8_t& byte : buffer->content) {
      state = state * 1664525 + 1013904223;
      byte = static_cast<uint8_t>(state >> 24);
    }
    Poke(*buffer, 0, buffer->content.data(), kSize);
    buffer->users.clear();
  }

  // -------------------------------------------------------------------------------------- ordering

  void Synchronize(size_t stream) {
    CheckStatus(DLBRIDGE_OK, dlbridge_stream_synchronize(&world_.streams[stream].stream, nullptr));
    for (Buffer& buffer : world_.buffers) {
      buffer.users.erase(stream);
    }
  }

  // Makes the host wait for all work on a buffer, by one of two functions.
  void Await(Buffer* buffer) {
    DLBridgeStream host = DLBRIDGE_STREAM_INIT;
    host.kind = DLBRIDGE_STREAM_HOST;
    const std::set<size_t> users = buffer->users;
    for (const size_t user : users) {
      if (input_.Flag()) {
        CheckStatus(DLBRIDGE_OK,
                    dlbridge_stream_handoff(&world_.streams[user].stream, &host, 0, nullptr));
      } else {
        Synchronize(user);
      }
    }
    buffer->users.clear();
  }

  // Orders the work on a buffer before what `stream` does with it next.
  void Order(Buffer* buffer, size_t stream) {
    for (const size_t user : buffer->users) {
      if (user != stream) {
        CheckStatus(DLBRIDGE_OK,
                    dlbridge_stream_handoff(&world_.streams[user].stream,
                                            &world_.streams[stream].stream, 0, nullptr));
      }
    }
    buffer->users = {stream};
  }

  void Verify(Buffer* buffer) {
    Await(buffer);
    Check("the bytes of a buffer", Peek(*buffer) == buffer->content);
  }

  // --------------------------------------------------------------------------------------- layouts

  Layout TakeLayout() {
    Layout layout;
    layout.item = input_.Pick<uint8_t>({1, 4, 2, 8});
    const auto ndim = static_cast<size_t>(input_.Below(4));
    int64_t stride = 1;
    for (size_t i = 0; i < ndim; ++i) {
      layout.shape.push_back(static_cast<int64_t>(input_.Below(7)));
    }
    layout.strides.resize(ndim);
    for (size_t i = ndim; i > 0; --i) {
      layout.strides[i - 1] = stride;
      stride *= std::max<int64_t>(layout.shape[i - 1], 1);
    }
    layout.compact = !input_.OneIn(2);
    for (size_t i = 0; i < ndim && !layout.compact; ++i) {
      layout.strides[i] = input_.OneIn(2) ? input_.Between(-12, 12) : layout.strides[i] + 3;
    }
    Place(&layout);
    return layout;
  }

  // Lists the places of the elements and moves the first so that all are inside a buffer.
  static void Place(Layout* layout) {
    std::vector<int64_t> places = {0};
    for (size_t axis = 0; axis < layout->shape.size(); ++axis) {
      std::vector<int64_t> next;
      for (const int64_t place : places) {
        for (int64_t i = 0; i < layout->shape[axis]; ++i) {
          next.push_back(place + i * layout->strides[axis] * layout->item);
        }
      }
      places = std::move(next);
    }
    if (!places.empty()) {
      const auto ends = std::minmax_element(places.begin(), places.end());
      layout->first = -*ends.first;
      if (*ends.second - *ends.first + layout->item > static_cast<int64_t>(kSize)) {
        *layout = Layout();
        layout->compact = true;
        places = {0};
      }
    }
    for (int64_t& place : places) {
      place += layout->first;
    }
    layout->places = std::move(places);
  }

  static Bytes Gather(const Layout& layout, const Bytes& content) {
    Bytes gathered;
    for (const int64_t place : layout.places) {
      gathered.insert(gathered.end(), content.begin() + place,
                      content.begin() + place + layout.item);
    }
    return gathered;
  }

  // --------------------------------------------------------------------------------------- tensors

  static DLDevice LabelOf(const Buffer& buffer) {
    return buffer.device < 0 ? DLDevice{kDLCPU, 0} : dlbridge_device_cuda(buffer.device);
  }
  static DLBridgeBuffer HandleOf(const Buffer& buffer) {
    return buffer.device < 0 ? dlbridge_buffer_address(reinterpret_cast<void*>(buffer.address))
                             : dlbridge_buffer_cuda(buffer.address);
  }

  static DLManagedTensorVersioned* Wrap(const Buffer& buffer, const Layout& layout, Loan* loan,
                                        uint32_t options) {
    DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
    spec.options = options;
    spec.buffer = HandleOf(buffer);
    spec.byte_offset = static_cast<uint64_t>(layout.first);
    spec.device = LabelOf(buffer);
    spec.dtype = {kDLUInt, static_cast<uint8_t>(8 * layout.item), 1};
    spec.ndim = static_cast<int32_t>(layout.shape.size());
    spec.shape = layout.shape.data();
    spec.strides = layout.strides.data();
    spec.release = loan != nullptr ? Loan::Release : nullptr;
    spec.release_context = loan;
    DLManagedTensorVersioned* tensor = nullptr;
    CheckStatus(DLBRIDGE_OK, dlbridge_wrap(&spec, &tensor, nullptr));
    return tensor;
  }

  // New memory for one step, with the content of a buffer.
  Loan* Lend(int device, const Bytes& content) {
    loans_.emplace_back();
    Loan* loan = &loans_.back();
    loan->program = this;
    loan->content = content;
    loan->memory.device = device;
    if (device < 0) {
      loan->memory.host.resize(kSize);
      loan->memory.address = reinterpret_cast<uintptr_t>(loan->memory.host.data());
    } else {
      const Current current(world_.contexts[device]);
      CUdeviceptr address = 0;
      CheckCuda(cuMemAlloc(&address, kSize));
      loan->memory.address = address;
    }
    Poke(loan->memory, 0, content.data(), kSize);
    return loan;
  }

  // ----------------------------------------------------------------------------------------- steps

  Buffer* TakeBuffer() { return &world_.buffers[input_.Below(kBuffers)]; }
  size_t TakeStream() { return static_cast<size_t>(input_.Below(kStreams)); }

  // After a failure all work was waited for, but the target's bytes are unspecified.
  void Recover(Buffer* target) {
    for (size_t i = 0; i < kStreams; ++i) {
      Synchronize(i);
    }
    Poke(*target, 0, target->content.data(), kSize);
  }

  // A call of the driver fails during the next step, or none.
  bool PlanFailure() {
    static const char* const kCalls[] = {
        "cuEventRecord",          "cuStreamGetCtx",      "cuStreamIsCapturing",
        "cuMemcpyHtoDAsync_v2",   "cuStreamWaitEvent",   "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2",   "cuEventCreate",       "cuCtxPushCurrent_v2",
        "cuPointerGetAttributes", "cuStreamSynchronize", "cuStreamCreate"};
    if (!input_.OneIn(12)) {
      return false;
    }
    fake_cuda_fail(kCalls[input_.Below(sizeof kCalls / sizeof kCalls[0])], CUDA_ERROR_OUT_OF_MEMORY,
                   static_cast<int>(1 + input_.Below(3)));
    return true;
  }

  // May a copy be rejected, because the two sides are on two devices or the stream is on a third
  // one?
  bool IsPlain(const Buffer& from, const Buffer& to, size_t stream, const Layout& layout) const {
    const int device = world_.streams[stream].device;
    return layout.compact && (from.device < 0) != (to.device < 0) &&
           (from.device == device || to.device == device);
  }

  DLBridgeCopySpec TargetSpec(const Buffer& to, size_t at, size_t bytes, size_t stream,
                              Loan* loan) {
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    spec.device = LabelOf(to);
    spec.stream = world_.streams[stream].stream;
    spec.target = HandleOf(to);
    spec.target_offset = at;
    spec.target_size = at + bytes;
    spec.release = loan != nullptr ? Loan::Release : nullptr;
    spec.release_context = loan;
    return spec;
  }

  // Copies between two buffers, and lets go of both ends before the work has run.
  void CopyAsync() {
    Buffer* from = TakeBuffer();
    Buffer* to = TakeBuffer();
    const size_t stream = TakeStream();
    const Layout layout = TakeLayout();
    const Bytes gathered = Gather(layout, from->content);
    const auto at = static_cast<size_t>(input_.Below(kSize - gathered.size() + 1));
    if (from == to) {
      return;
    }
    Order(from, stream);
    Order(to, stream);
    DLManagedTensorVersioned* source = Wrap(*from, layout, nullptr, 0);
    const DLBridgeCopySpec spec = TargetSpec(*to, at, gathered.size(), stream, nullptr);
    DLManagedTensorVersioned* copy = nullptr;
    const bool fails = PlanFailure();
    DLBridgeError error = GarbageError();
    const DLBridgeStatus status = dlbridge_copy_async(source, &spec, &copy, &error);
    fake_cuda_forget_failures();
    CheckError(status, error);
    Check("a plain copy succeeds",
          status == DLBRIDGE_OK || fails || !IsPlain(*from, *to, stream, layout));
    source->deleter(source);
    if (status != DLBRIDGE_OK) {
      return Recover(to);
    }
    copy->deleter(copy);
    std::copy(gathered.begin(), gathered.end(), to->content.begin() + static_cast<int64_t>(at));
  }

  // Copies memory of one step: it is released as soon as the library has no use for it.
  void CopyLoan() {
    Buffer* to = TakeBuffer();
    const size_t stream = TakeStream();
    const int device = to->device >= 0 ? -1 : world_.streams[stream].device;
    Loan* loan = Lend(device, world_.buffers[input_.Below(kBuffers)].content);
    const Layout layout = TakeLayout();
    const Bytes gathered = Gather(layout, loan->content);
    Order(to, stream);
    DLManagedTensorVersioned* source = Wrap(loan->memory, layout, loan, 0);
    const DLBridgeCopySpec spec = TargetSpec(*to, 0, gathered.size(), stream, nullptr);
    DLManagedTensorVersioned* copy = nullptr;
    PlanFailure();
    const DLBridgeStatus status = dlbridge_copy_async(source, &spec, &copy, nullptr);
    fake_cuda_forget_failures();
    CheckEqual("releases before the end", 0, loan->released);
    source->deleter(source);
    if (status != DLBRIDGE_OK) {
      CheckEqual("releases after a failure", 1, loan->released);
      return Recover(to);
    }
    copy->deleter(copy);
    std::copy(gathered.begin(), gathered.end(), to->content.begin());
  }

  // Copies to memory of one step, which has all of the copy when it is released.
  void CopyToLoan() {
    Buffer* from = TakeBuffer();
    const size_t stream = TakeStream();
    const int device = from->device >= 0 ? -1 : world_.streams[stream].device;
    Loan* loan = Lend(device, Bytes(kSize, 0x11));
    const Layout layout = TakeLayout();
    const Bytes gathered = Gather(layout, from->content);
    Order(from, stream);
    std::copy(gathered.begin(), gathered.end(), loan->content.begin());
    loan->expected = &loan->content;
    DLManagedTensorVersioned* source = Wrap(*from, layout, nullptr, 0);
    const DLBridgeCopySpec spec = TargetSpec(loan->memory, 0, gathered.size(), stream, loan);
    DLManagedTensorVersioned* copy = nullptr;
    const DLBridgeStatus status = dlbridge_copy_async(source, &spec, &copy, nullptr);
    source->deleter(source);
    if (status != DLBRIDGE_OK) {
      loan->released += loan->released == 0 ? 1 : 0;  // it never belonged to the library
      return;
    }
    copy->deleter(copy);
  }

  // A copy that waits. Without a stream, the program has waited for the work on the source.
  void CopyNow() {
    Buffer* from = TakeBuffer();
    const size_t stream = TakeStream();
    const Layout layout = TakeLayout();
    const Bytes gathered = Gather(layout, from->content);
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    if (input_.Flag()) {
      Order(from, stream);
      spec.stream = world_.streams[stream].stream;
    } else {
      Await(from);
    }
    spec.options = input_.OneIn(2) ? DLBRIDGE_COPY_ALLOW_STAGING : 0;
    DLManagedTensorVersioned* source = Wrap(*from, layout, nullptr, 0);
    DLManagedTensorVersioned* copy = nullptr;
    const bool fails = PlanFailure();
    const DLBridgeStatus status = dlbridge_copy(&source->dl_tensor, 0, &spec, &copy, nullptr);
    fake_cuda_forget_failures();
    Check("a compact copy succeeds", status == DLBRIDGE_OK || fails || !layout.compact);
    if (status == DLBRIDGE_OK) {
      Check("the bytes of a copy",
            gathered.empty() ||
                std::memcmp(copy->dl_tensor.data, gathered.data(), gathered.size()) == 0);
      copy->deleter(copy);
    }
    source->deleter(source);
  }

  // Work of the application itself, such as a kernel.
  void Work() {
    const size_t stream = TakeStream();
    const Stream& one = world_.streams[stream];
    Buffer* to = &world_.buffers[2 * static_cast<size_t>(one.device) + input_.Below(2)];
    Order(to, stream);
    kernels_.emplace_back(1 + input_.Below(300), input_.Byte());
    const Bytes& bytes = kernels_.back();
    const auto at = static_cast<size_t>(input_.Below(kSize - bytes.size()));
    const Current current(world_.contexts[one.device]);
    CheckCuda(cuMemcpyHtoDAsync(to->address + at, bytes.data(), bytes.size(), one.native));
    std::copy(bytes.begin(), bytes.end(), to->content.begin() + static_cast<int64_t>(at));
  }

  // Releases memory of one step after work on it, on one or several streams.
  void ReleaseAfter() {
    const size_t stream = TakeStream();
    const Stream& one = world_.streams[stream];
    Loan* loan = Lend(one.device, Bytes(kSize, 0x22));
    kernels_.emplace_back(64, input_.Byte());
    const Bytes& bytes = kernels_.back();
    {
      const Current current(world_.contexts[one.device]);
      CheckCuda(cuMemcpyHtoDAsync(loan->memory.address, bytes.data(), bytes.size(), one.native));
    }
    std::copy(bytes.begin(), bytes.end(), loan->content.begin());
    const bool on_stream = input_.OneIn(4);
    loan->expected = on_stream ? nullptr : &loan->content;
    DLManagedTensorVersioned* tensor =
        Wrap(loan->memory, Layout(), loan, on_stream ? DLBRIDGE_WRAP_RELEASE_ON_STREAM : 0);
    std::vector<DLBridgeStream> streams = {one.stream};
    for (uint64_t more = input_.Below(3); more != 0; --more) {
      streams.push_back(world_.streams[TakeStream()].stream);
    }
    PlanFailure();
    const DLBridgeStatus status = dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED,
                                                         streams.data(), streams.size(), nullptr);
    fake_cuda_forget_failures();
    if (status != DLBRIDGE_OK) {
      CheckEqual("releases after a failure", 0, loan->released);
      Synchronize(stream);
      tensor->deleter(tensor);
      CheckEqual("releases", 1, loan->released);
    }
  }

  // A capturing stream is rejected, and the capture survives.
  void Capture() {
    const size_t stream = TakeStream();
    const Stream& one = world_.streams[stream];
    Synchronize(stream);
    Loan* loan = Lend(one.device, Bytes(kSize, 0x33));
    loan->expected = &loan->content;
    DLManagedTensorVersioned* tensor = Wrap(loan->memory, Layout(), loan, 0);
    const auto mode = static_cast<CUstreamCaptureMode>(input_.Below(3));
    {
      const Current current(world_.contexts[one.device]);
      CheckCuda(cuStreamBeginCapture(one.native, mode));
    }
    DLBridgeError error = GarbageError();
    DLBridgeStatus status = DLBRIDGE_OK;
    switch (input_.Below(3)) {
      case 0:
        status = dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED, &one.stream, 1, &error);
        break;
      case 1:
        status = dlbridge_stream_synchronize(&one.stream, &error);
        break;
      default: {
        DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
        spec.stream = one.stream;
        DLManagedTensorVersioned* copy = nullptr;
        status = dlbridge_copy_async(tensor, &spec, &copy, &error);
      }
    }
    CheckStatus(DLBRIDGE_ERROR_CAPTURE, status);
    CheckError(status, error);
    CUgraph graph = nullptr;
    const Current current(world_.contexts[one.device]);
    CheckCuda(cuStreamEndCapture(one.native, &graph));
    CheckEqual("releases", 0, loan->released);
    tensor->deleter(tensor);
  }

  void Collect(uint32_t options) {
    size_t left = SIZE_MAX;
    CheckStatus(DLBRIDGE_OK, dlbridge_collect(options, &left, nullptr));
    Check("a wait leaves nothing", options == 0 || left == 0);
  }

  void Handoff() {
    const size_t producer = TakeStream();
    const size_t consumer = TakeStream();
    const bool fails = PlanFailure();
    const DLBridgeStatus status = dlbridge_stream_handoff(
        &world_.streams[producer].stream, &world_.streams[consumer].stream, 0, nullptr);
    fake_cuda_forget_failures();
    Check("a hand-off succeeds", status == DLBRIDGE_OK || fails);
  }

  void Step() {
    switch (input_.Below(16)) {
      case 0:
      case 1:
      case 2:
        return CopyAsync();
      case 3:
      case 4:
        return CopyLoan();
      case 5:
      case 6:
        return CopyToLoan();
      case 7:
        return CopyNow();
      case 8:
        return Work();
      case 9:
      case 10:
        return ReleaseAfter();
      case 11:
        return Capture();
      case 12:
        return Collect(input_.Flag() ? DLBRIDGE_COLLECT_WAIT : 0);
      case 13:
        return Handoff();
      case 14:
        return Synchronize(TakeStream());
      default:
        return Verify(TakeBuffer());
    }
  }

  // Everything has its last value, nothing is held, and the driver saw no wrong call.
  void End() {
    for (Buffer& buffer : world_.buffers) {
      Verify(&buffer);
    }
    Collect(DLBRIDGE_COLLECT_WAIT);
    for (size_t i = 0; i < kStreams; ++i) {
      Synchronize(i);
    }
    for (Loan& loan : loans_) {
      CheckEqual("releases of the memory of a step", 1, loan.released);
      if (loan.memory.device >= 0) {
        const Current current(world_.contexts[loan.memory.device]);
        CheckCuda(cuMemFree(loan.memory.address));
      }
    }
    CheckEqual("violations of the driver's rules", std::string(),
               std::string(fake_cuda_violation_texts()));
    FakeCudaCounts after;
    fake_cuda_counts(&after);
    CheckEqual("contexts pushed", 0, after.context_depth);
    CheckEqual("the capture mode", world_.before.capture_mode, after.capture_mode);
    CheckEqual("streams", world_.before.live_streams, after.live_streams);
    Check("events of the pool", after.live_events <= 64);
  }

  Input& input_;
  World& world_;
  std::list<Loan> loans_;
  std::list<Bytes> kernels_;
};

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::Input input(data, size);
  dlbridge_fuzz::Program(&input).Run();
  return 0;
}
