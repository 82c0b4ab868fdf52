// SPDX-License-Identifier: Apache-2.0
// Copies of any layout and width between the host, two devices of CUDA and one of HIP, on their
// strict fakes: through the host where that is allowed, else by one driver or not at all. A model
// lists the bits of all elements. No byte around the copy may change, also if the call fails
// without a failing driver, and what the source's memory has stays.
#include <algorithm>
#include <cstring>
#include <list>
#include <string>
#include <vector>

#include "device/hip_world.h"
#include "dlbridge/cuda_api.h"
#include "dlbridge/dlbridge.h"
#include "fake_cuda.h"
#include "fuzz/model/elements.h"
#include "fuzz/support/check.h"
#include "fuzz/support/faults.h"
#include "fuzz/support/input.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {
namespace {

using Bytes = std::vector<uint8_t>;
using Layout = ElementLayout;

constexpr size_t kArena = 32768;
constexpr int64_t kMostBytes = 12288;  // padding and gaps need more than the elements
constexpr uint64_t kReadOnly = DLPACK_FLAG_BITMASK_READ_ONLY;
constexpr uint64_t kPadded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;

void CheckCuda(CUresult result) { CheckEqual("the driver's result", 0, static_cast<int>(result)); }

// ----------------------------------------------------------------------------------------- memory

// Where memory is. Each place has an area for sources and one for targets.
struct Place {
  DLBridgeBackend backend;
  DLDevice label;
  DLBridgeBuffer source;
  DLBridgeBuffer target;
};

class World {
 public:
  static constexpr size_t kPlaces = 4;

  World() : hip_(*LoadHip()) {
    setenv("DLBRIDGE_LIBCUDA", FAKE_CUDA_FILE, 1);
    Start(DLBRIDGE_BACKEND_CUDA);
    Start(DLBRIDGE_BACKEND_HIP);
    for (int device = 0; device < 2; ++device) {
      CheckCuda(cuCtxCreate(&contexts_[device], nullptr, 0, device));
      CheckCuda(cuStreamCreate(&streams_[device], CU_STREAM_NON_BLOCKING));
      CUcontext popped = nullptr;
      CheckCuda(cuCtxPopCurrent(&popped));
    }
    hip_stream_ = hip_.non_blocking_stream(0);
    for (Bytes& area : host_) {
      area.resize(kArena);
    }
    for (size_t i = 0; i < kPlaces; ++i) {
      Allocate(i);
    }
    uint32_t state = 12345;
    random_.resize(kArena);
    for (uint8_t& byte : random_) {
      state = state * 1664525 + 1013904223;
      byte = static_cast<uint8_t>(state >> 24);
    }
    fake_cuda_counts(&before_);
  }

  Place& place(size_t i) { return places_[i]; }
  const Bytes& random() const { return random_; }

  // What a call that failed in a driver may still write to is not used again.
  void Allocate(size_t i) {
    Place* place = &places_[i];
    switch (i) {
      case 0:
        *place = {DLBRIDGE_BACKEND_NONE,
                  {kDLCPU, 0},
                  dlbridge_buffer_address(host_[0].data()),
                  dlbridge_buffer_address(host_[1].data())};
        break;
      case 1:
      case 2: {
        CUcontext popped = nullptr;
        const int device = static_cast<int>(i) - 1;
        CheckCuda(cuCtxPushCurrent(contexts_[device]));
        *place = {DLBRIDGE_BACKEND_CUDA, dlbridge_device_cuda(device), New(), New()};
        CheckCuda(cuCtxPopCurrent(&popped));
        break;
      }
      default:
        *place = {DLBRIDGE_BACKEND_HIP, dlbridge_device_hip(0),
                  dlbridge_buffer_hip(hip_.allocate(kFakeDevice, 0, kArena)),
                  dlbridge_buffer_hip(hip_.allocate(kFakeDevice, 0, kArena))};
    }
  }

  void Poke(const Place& place, const DLBridgeBuffer& buffer, const Bytes& bytes) const {
    if (place.backend == DLBRIDGE_BACKEND_CUDA) {
      fake_cuda_poke(dlbridge_cuda_address(buffer), bytes.data(), bytes.size());
    } else {
      std::memcpy(HostOf(place, buffer), bytes.data(), bytes.size());
    }
  }
  Bytes Peek(const Place& place, const DLBridgeBuffer& buffer) const {
    Bytes bytes(kArena);
    if (place.backend == DLBRIDGE_BACKEND_CUDA) {
      fake_cuda_peek(dlbridge_cuda_address(buffer), bytes.data(), bytes.size());
    } else {
      std::memcpy(bytes.data(), HostOf(place, buffer), bytes.size());
    }
    return bytes;
  }

  // Queues of both devices of CUDA and of HIP, and kinds that are none.
  DLBridgeStream Stream(size_t i) const {
    DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
    switch (i) {
      case 0:
      case 1:
        return dlbridge_stream_cuda(streams_[i], static_cast<int>(i));
      case 2:
        return dlbridge_stream_hip(static_cast<hipStream_t>(hip_stream_), 0);
      case 3:
        stream.kind = DLBRIDGE_STREAM_HOST;
        break;
      default:
        break;
    }
    return stream;
  }

  void CheckEnd() const {
    CheckEqual("violations of CUDA's rules", std::string(),
               std::string(fake_cuda_violation_texts()));
    CheckEqual("violations of HIP's rules", std::string(), std::string(hip_.violations()));
    FakeCudaCounts after;
    fake_cuda_counts(&after);
    CheckEqual("contexts pushed", 0, after.context_depth);
  }

  // After a driver has failed: its devices do all work, and the thread gets back what a failed call
  // could not restore.
  void Settle() {
    fake_cuda_run();
    FakeCudaCounts now;
    for (fake_cuda_counts(&now); now.context_depth > 0; --now.context_depth) {
      CUcontext popped = nullptr;
      CheckCuda(cuCtxPopCurrent(&popped));
    }
    auto mode = static_cast<CUstreamCaptureMode>(before_.capture_mode);
    CheckCuda(cuThreadExchangeStreamCaptureMode(&mode));
    hip_.run(hip_stream_, 0);
    hip_.set_thread_mode(0);
    hip_.set_last_error(0);
    hip_.set_device(0);
  }
  std::string Fail(bool of_hip, int nth, bool for_good) const {
    return of_hip ? hip_.fail_any(hipErrorOutOfMemory, nth, for_good)
                  : fake_cuda_fail_any(CUDA_ERROR_OUT_OF_MEMORY, nth, for_good ? 1 : 0);
  }

 private:
  static void Start(DLBridgeBackend backend) {
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    CheckStatus(DLBRIDGE_OK, dlbridge_backend_info(backend, &info, nullptr));
    CheckEqual(info.reason, int32_t{DLBRIDGE_STATE_READY}, info.state);
  }
  static const FakeHip* LoadHip() {
    setenv("DLBRIDGE_LIBHIP", DLBRIDGE_FAKE_HIP6, 1);
    return dlbridge_test::LoadFakeHip(DLBRIDGE_FAKE_HIP6);
  }
  static DLBridgeBuffer New() {
    CUdeviceptr address = 0;
    CheckCuda(cuMemAlloc(&address, kArena));
    return dlbridge_buffer_cuda(address);
  }
  void* HostOf(const Place& place, const DLBridgeBuffer& buffer) const {
    auto* address = reinterpret_cast<void*>(static_cast<uintptr_t>(buffer.handle));
    return place.backend == DLBRIDGE_BACKEND_HIP ? hip_.bytes(address) : address;
  }

  const FakeHip& hip_;
  CUcontext contexts_[2];
  CUstream streams_[2];
  void* hip_stream_;
  Bytes host_[2];
  Bytes random_;
  Place places_[kPlaces];
  FakeCudaCounts before_ = {};
};

World& TheWorld() {
  // Never destroyed: a driver keeps what only its handles refer to.
  static auto& world = *new World;
  return world;
}

// ------------------------------------------------------------------------------------------ a copy

struct Copy {
  Layout layout;
  DLDataType dtype;
  size_t from;  // places
  size_t to;
  bool to_given;           // to memory of the caller, else to new memory of the host
  bool in_source;          // the target is in the area of sources
  uint64_t source_at = 0;  // of the first element
  uint64_t target_at = 0;
  size_t bytes = 0;  // of the copy
  size_t stream = 0;
  bool asynchronous = false;
  uint32_t options = 0;
};

Copy TakeCopy(Input* input) {
  Copy copy;
  Layout* layout = &copy.layout;
  TakeItem(input, layout);
  const int64_t most = input->OneIn(8) ? kMostBytes : 512;
  TakeShape(input, most * 8 / std::max(layout->to_item, layout->bits), layout);
  TakeStrides(input, layout);
  LimitReach(most, layout);
  const bool wide = layout->bits % 64 == 0;
  copy.dtype = {kDLUInt, static_cast<uint8_t>(wide ? 64 : layout->bits),
                static_cast<uint16_t>(wide ? layout->bits / 64 : 1)};
  copy.from = input->Below(World::kPlaces);
  copy.to = input->Below(World::kPlaces);
  copy.to_given = copy.to != 0 || input->Flag();
  copy.in_source = copy.to_given && input->OneIn(8);
  copy.bytes = static_cast<size_t>((layout->count * layout->to_item + 7) / 8);
  const auto below = static_cast<size_t>(-FloorBytes(-layout->low * layout->from_item));
  copy.source_at = below + input->Below(300);
  copy.target_at = copy.in_source ? input->Below(1000) : input->Below(300);
  copy.stream = input->Below(6);
  copy.asynchronous = input->OneIn(3);
  copy.options = !copy.asynchronous && input->Flag() ? DLBRIDGE_COPY_ALLOW_STAGING : 0;
  return copy;
}

bool IsPaddedItem(int64_t bits, int64_t item) { return item != bits; }

DLManagedTensorVersioned* Wrap(const Copy& copy) {
  const Place& place = TheWorld().place(copy.from);
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.buffer = place.source;
  spec.byte_offset = copy.source_at;
  spec.device = place.label;
  spec.dtype = copy.dtype;
  spec.tensor_flags =
      IsPaddedItem(copy.layout.bits, copy.layout.from_item) ? kPadded | kReadOnly : kReadOnly;
  spec.ndim = static_cast<int32_t>(copy.layout.shape.size());
  spec.shape = copy.layout.shape.data();
  spec.strides = copy.layout.strides.data();
  DLManagedTensorVersioned* tensor = nullptr;
  CheckStatus(DLBRIDGE_OK, dlbridge_wrap(&spec, &tensor, nullptr));
  return tensor;
}

DLBridgeCopySpec SpecOf(const Copy& copy) {
  const Place& place = TheWorld().place(copy.to);
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.options = copy.options;
  spec.device = place.label;
  spec.stream = TheWorld().Stream(copy.stream);
  spec.tensor_flags = IsPaddedItem(copy.layout.bits, copy.layout.to_item) ? kPadded : 0;
  if (copy.to_given) {
    spec.target = copy.in_source ? place.source : place.target;
    spec.target_offset = copy.target_at;
    spec.target_size = copy.target_at + copy.bytes;
  }
  return spec;
}

// ---------------------------------------------------------------------------------------- the
// model

// Do the bytes between the lowest and the highest element share any with the target?
bool Shares(const Copy& copy) {
  const Layout& layout = copy.layout;
  const auto first = static_cast<int64_t>(copy.source_at);
  const int64_t begin = first + FloorBytes(-layout.low * layout.from_item);
  const int64_t end = first + FloorBytes((layout.high + 1) * layout.from_item + 7);
  const auto target = static_cast<int64_t>(copy.target_at);
  return copy.in_source && copy.from == copy.to && copy.bytes != 0 && target < end &&
         begin < target + static_cast<int64_t>(copy.bytes);
}

// One run of whole bytes at most, which every driver copies at once.
bool IsRun(const Layout& layout) {
  int64_t stride = 1;
  for (size_t i = layout.shape.size(); i-- > 0;) {
    if (layout.shape[i] != 1 && layout.strides[i] != stride) {
      return false;
    }
    stride *= layout.shape[i];
  }
  return layout.from_item == layout.to_item && layout.to_item % 8 == 0;
}

// The errors that a call may return where nothing fails. `*must` is whether it has to.
std::vector<DLBridgeStatus> Expect(const Copy& copy, bool* must) {
  const Place& from = TheWorld().place(copy.from);
  const Place& to = TheWorld().place(copy.to);
  const bool on_host = from.backend == to.backend && from.backend == DLBRIDGE_BACKEND_NONE;
  const DLBridgeBackend owner = from.backend != 0 ? from.backend : to.backend;
  const bool one_driver = from.backend == 0 || to.backend == 0 || from.backend == to.backend;
  const bool is_queue = copy.stream < 3;
  const DLBridgeBackend queue = copy.stream < 2 ? DLBRIDGE_BACKEND_CUDA : DLBRIDGE_BACKEND_HIP;
  const auto kWrong = static_cast<DLBridgeStatus>(DLBRIDGE_ERROR_INVALID_ARGUMENT);
  const auto kUnsupported = static_cast<DLBridgeStatus>(DLBRIDGE_ERROR_UNSUPPORTED);
  *must = true;
  if (copy.asynchronous && copy.stream >= 4) {
    return {kWrong};  // it names no queue
  }
  if (copy.bytes == 0) {
    return {};
  }
  if (Shares(copy)) {
    return {kWrong};
  }
  if (copy.asynchronous && is_queue && on_host) {
    return {kUnsupported};
  }
  if (copy.asynchronous && is_queue && owner != queue) {
    return {kWrong};
  }
  if ((copy.options & DLBRIDGE_COPY_ALLOW_STAGING) != 0 || on_host) {
    return {};
  }
  if (!one_driver) {
    return {kUnsupported};
  }
  if (copy.layout.from_item != copy.layout.to_item) {
    return {kUnsupported};
  }
  *must = false;
  return IsRun(copy.layout) ? std::vector<DLBridgeStatus>()
                            : std::vector<DLBridgeStatus>{kUnsupported};
}

// The bits of one element, and of its padding.
void CheckBits(const Layout& layout, const uint8_t* from, int64_t source, const uint8_t* to,
               int64_t target) {
  for (int64_t bit = 0; bit < layout.to_item; ++bit) {
    const unsigned found = Bit(to, target + bit);
    if (bit < layout.bits) {
      CheckEqual("a bit of an element", Bit(from, source + bit), found);
    } else {
      Check("the padding is zero, or that of the source",
            found == 0 || (layout.from_item == layout.to_item && found == Bit(from, source + bit)));
    }
  }
}

void CheckElements(const Copy& copy, const uint8_t* to) {
  const Layout& layout = copy.layout;
  const uint8_t* from = TheWorld().random().data() + copy.source_at;
  const bool whole =
      layout.from_item == layout.to_item && layout.bits == layout.to_item && layout.bits % 8 == 0;
  ForEachElement(layout, [&](int64_t n, int64_t place) {
    if (whole) {
      const int64_t item = layout.bits / 8;
      return Check("the bytes of an element",
                   std::memcmp(from + place * item, to + n * item, static_cast<size_t>(item)) == 0);
    }
    CheckBits(layout, from, place * layout.from_item, to, n * layout.to_item);
  });
}

// Whole areas are compared: nothing but the copy is written.
void CheckAreas(const Copy& copy, const Bytes& target_before, bool copied) {
  World& world = TheWorld();
  const Place& from = world.place(copy.from);
  const Place& to = world.place(copy.to);
  if (copied && copy.to_given && copy.bytes != 0) {
    const Bytes found = world.Peek(to, copy.in_source ? to.source : to.target);
    CheckElements(copy, found.data() + copy.target_at);
  }
  for (const bool is_source : {true, false}) {
    const Place& place = is_source ? from : to;
    const DLBridgeBuffer& buffer = is_source || copy.in_source ? place.source : place.target;
    Bytes found = world.Peek(place, buffer);
    const Bytes& before = is_source || copy.in_source ? world.random() : target_before;
    const bool is_target =
        copied && copy.to_given && (!is_source || (copy.in_source && copy.from == copy.to));
    if (is_target) {
      std::copy_n(before.begin() + static_cast<int64_t>(copy.target_at), copy.bytes,
                  found.begin() + static_cast<int64_t>(copy.target_at));
    }
    Check(is_source ? "the source's memory is unchanged" : "no byte around the copy is changed",
          found == before);
  }
}

// ----------------------------------------------------------------------------------------- the
// call

struct Result {
  DLBridgeStatus status;
  DLManagedTensorVersioned* copy = nullptr;
  std::string failed;  // calls inside that failed
  bool of_driver = false;
};

DLBridgeStatus Call(const Copy& copy, DLManagedTensorVersioned* source,
                    DLManagedTensorVersioned** out, DLBridgeError* error) {
  const DLBridgeCopySpec spec = SpecOf(copy);
  return copy.asynchronous ? dlbridge_copy_async(source, &spec, out, error)
                           : dlbridge_copy(&source->dl_tensor, source->flags, &spec, out, error);
}

Result Try(Input* input, const Copy& copy, DLManagedTensorVersioned* source) {
  const Fault fault = Fault::Take(input, true);
  const bool of_hip = fault.nth != 0 && input->Flag();
  Result result;
  DLBridgeError error = GarbageError();
  if (fault.of_driver) {
    TheWorld().Fail(of_hip, static_cast<int>(fault.nth), fault.for_good);
  } else if (fault.nth != 0) {
    CLibrary::Arm(fault);
  }
  result.status = Call(copy, source, &result.copy, &error);
  result.of_driver = fault.of_driver;
  if (fault.of_driver) {
    result.failed = TheWorld().Fail(of_hip, 0, false);
  } else if (fault.nth != 0) {
    result.failed = CLibrary::Disarm();
  }
  CheckError(result.status, error);
  Check("either a copy or an error", (result.status == DLBRIDGE_OK) == (result.copy != nullptr));
  return result;
}

void CheckResult(const Copy& copy, const Result& result) {
  bool must = false;
  const std::vector<DLBridgeStatus> expected = Expect(copy, &must);
  if (result.status == DLBRIDGE_OK) {
    return Check("a copy that is not possible", expected.empty() || !must || copy.bytes == 0);
  }
  const bool known = std::find(expected.begin(), expected.end(), result.status) != expected.end();
  if (!known && result.failed.empty()) {
    Fail("the status", "OK", dlbridge_status_name(result.status));
  }
}

void Run(Input* input) {
  Trace().clear();
  World& world = TheWorld();
  const Copy copy = TakeCopy(input);
  const Bytes before(kArena, 0xA5);
  world.Poke(world.place(copy.from), world.place(copy.from).source, world.random());
  world.Poke(world.place(copy.to), world.place(copy.to).source, world.random());
  world.Poke(world.place(copy.to), world.place(copy.to).target, before);
  DLManagedTensorVersioned* source = Wrap(copy);
  const Result result = Try(input, copy, source);
  source->deleter(source);
  CheckResult(copy, result);
  if (result.of_driver && !result.failed.empty()) {
    // The content is not specified; what may still be written to is left alone.
    world.Settle();
    if (result.copy != nullptr) {
      result.copy->deleter(result.copy);
    }
    dlbridge_collect(DLBRIDGE_COLLECT_WAIT, nullptr, nullptr);
    for (const size_t place : {copy.from, copy.to}) {
      if (place != 0) {
        world.Allocate(place);
      }
    }
    return world.CheckEnd();
  }
  if (copy.asynchronous && copy.stream < 3) {
    const DLBridgeStream stream = world.Stream(copy.stream);
    CheckStatus(DLBRIDGE_OK, dlbridge_stream_synchronize(&stream, nullptr));
  }
  if (result.status == DLBRIDGE_OK && !copy.to_given && copy.bytes != 0) {
    CheckElements(copy, static_cast<const uint8_t*>(result.copy->dl_tensor.data));
  }
  CheckAreas(copy, before, result.status == DLBRIDGE_OK);
  if (result.copy != nullptr) {
    result.copy->deleter(result.copy);
  }
  CheckStatus(DLBRIDGE_OK, dlbridge_collect(DLBRIDGE_COLLECT_WAIT, nullptr, nullptr));
  world.CheckEnd();
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::Input input(data, size);
  dlbridge_fuzz::Run(&input);
  return 0;
}
