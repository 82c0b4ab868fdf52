// SPDX-License-Identifier: Apache-2.0
// The program of devices/program.h on the strict fake of the CUDA driver.
#include "dlbridge/cuda_api.h"
#include "fake_cuda.h"
#include "fuzz/devices/exporter.h"
#include "fuzz/devices/whole_program.h"

namespace dlbridge_fuzz {
namespace {

void CheckCuda(CUresult result) { CheckEqual("the driver's result", 0, static_cast<int>(result)); }

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

#ifdef FAKE_CUDA_OLD

constexpr bool kIsOld = true;
using Segment = int;
std::vector<Offer> MakeOffers() { return {}; }

#else

constexpr bool kIsOld = false;

CUdeviceptr AllocateFromPool(int device, CUmemoryPool pool, size_t bytes) {
  CUdeviceptr address = 0;
  static_cast<void>(device);
  CheckCuda(cuMemAllocFromPoolAsync(&address, bytes, pool, nullptr));
  return address;
}
CUmemoryPool MakePool(int device, unsigned handle_types) {
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  props.handleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  CUmemoryPool pool = nullptr;
  CheckCuda(cuMemPoolCreate(&pool, &props));
  return pool;
}

constexpr size_t kChunk = size_t{2} << 20;  // the granularity of the fake

// Addresses to which chunks of memory are mapped.
struct Segment {
  CUdeviceptr base = 0;
  size_t size = 0;
  std::vector<CUmemGenericAllocationHandle> handles;
};
Segment MakeSegment(int device, size_t chunks, unsigned handle_types) {
  Segment made;
  made.size = chunks * kChunk;
  CheckCuda(cuMemAddressReserve(&made.base, made.size, 0, 0, 0));
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  for (size_t i = 0; i < chunks; ++i) {
    CUmemGenericAllocationHandle handle = 0;
    CheckCuda(cuMemCreate(&handle, kChunk, &prop, 0));
    CheckCuda(cuMemMap(made.base + i * kChunk, kChunk, 0, handle, 0));
    made.handles.push_back(handle);
  }
  const CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CheckCuda(cuMemSetAccess(made.base, made.size, &access, 1));
  return made;
}
void FreeSegment(const Segment& segment) {
  CheckCuda(cuMemUnmap(segment.base, segment.size));
  for (const CUmemGenericAllocationHandle handle : segment.handles) {
    CheckCuda(cuMemRelease(handle));
  }
  CheckCuda(cuMemAddressFree(segment.base, segment.size));
}

// The memory that another process exports: of each kind that CUDA shares, with work of a stream
// before the export and without.
std::vector<Offer> MakeOffers() {
  static DLBridgeStream streams[kDevices];
  std::vector<Offer> offers;
  for (int device = 0; device < kDevices; ++device) {
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CheckCuda(cuDevicePrimaryCtxRetain(&context, device));
    const Current current(context);
    CheckCuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    streams[device] = dlbridge_stream_cuda(stream, device);
    CUdeviceptr plain = 0;
    CheckCuda(cuMemAlloc(&plain, kSize));
    const CUdeviceptr pool =
        AllocateFromPool(device, MakePool(device, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), kSize);
    const Segment segment = MakeSegment(device, 3, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    const DLBridgeStream* work = &streams[device];
    const std::pair<CUdeviceptr, const DLBridgeStream*> places[] = {
        {plain + 64, nullptr},
        {plain + 500, work},
        {pool + 32, nullptr},
        {pool + 640, work},
        {segment.base + 2 * kChunk - 100, work},
        {segment.base, nullptr}};
    for (const auto& [address, with] : places) {
      Bytes& content = *new Bytes(Pattern(256, offers.size()));
      if (with != nullptr) {
        CheckCuda(cuMemcpyHtoDAsync(address, content.data(), content.size(), stream));
      } else {
        fake_cuda_poke(address, content.data(), content.size());
      }
      offers.push_back(
          {device, dlbridge_buffer_cuda(address), dlbridge_device_cuda(device), 0, with, content});
    }
  }
  return offers;
}

#endif

class Cuda final : public Driver {
 public:
  Cuda()
      : exporter_(
            [] {
              setenv("DLBRIDGE_LIBCUDA", FAKE_CUDA_FILE, 1);
              DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
              CheckStatus(DLBRIDGE_OK,
                          dlbridge_backend_info(DLBRIDGE_BACKEND_CUDA, &info, nullptr));
              return MakeOffers();
            },
            fake_cuda_run) {
    setenv("DLBRIDGE_LIBCUDA", FAKE_CUDA_FILE, 1);
    Start();
    for (int device = 0; device < kDevices; ++device) {
      CUcontext popped = nullptr;
      CheckCuda(cuCtxCreate(&contexts_[device], nullptr, 0, device));
      CheckCuda(cuCtxPopCurrent(&popped));
      CheckCuda(cuDevicePrimaryCtxRetain(&primaries_[device], device));
    }
    for (size_t i = 0; i < kStreams; ++i) {
      const Current current(contexts_[i / 2]);
      const unsigned flags = i % 2 == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
      CheckCuda(cuStreamCreate(&streams_[i], flags));
    }
  }

  DLBridgeBackend backend() const override { return DLBRIDGE_BACKEND_CUDA; }
  DLDevice Label(int device) const override { return dlbridge_device_cuda(device); }
  DLBridgeStream Stream(size_t i) const override {
    return dlbridge_stream_cuda(streams_[i], static_cast<int>(i / 2));
  }
  bool has_special_streams() const override { return true; }

  DLBridgeBuffer Allocate(int device, size_t bytes) override {
    const Current current(contexts_[device]);
    CUdeviceptr address = 0;
    CheckCuda(cuMemAlloc(&address, bytes));
    return dlbridge_buffer_cuda(address);
  }
  void Free(const DLBridgeBuffer& buffer) override {
    const Current current(contexts_[0]);
    CheckCuda(cuMemFree(dlbridge_cuda_address(buffer)));
  }
  void Poke(const DLBridgeBuffer& buffer, const Bytes& bytes) override {
    fake_cuda_poke(dlbridge_cuda_address(buffer), bytes.data(), bytes.size());
  }
  Bytes Peek(const DLBridgeBuffer& buffer, size_t size) override {
    Bytes bytes(size);
    fake_cuda_peek(dlbridge_cuda_address(buffer), bytes.data(), size);
    return bytes;
  }
  void Enqueue(size_t stream, const DLBridgeBuffer& to, size_t at, const Bytes& bytes) override {
    const Current current(contexts_[stream / 2]);
    CheckCuda(cuMemcpyHtoDAsync(dlbridge_cuda_address(to) + at, bytes.data(), bytes.size(),
                                streams_[stream]));
  }
  bool BeginCapture(size_t stream, unsigned mode) override {
    const Current current(contexts_[stream / 2]);
    CheckCuda(cuStreamBeginCapture(streams_[stream], static_cast<CUstreamCaptureMode>(mode)));
    return true;
  }
  void EndCapture(size_t stream) override {
    const Current current(contexts_[stream / 2]);
    CUgraph graph = nullptr;
    CheckCuda(cuStreamEndCapture(streams_[stream], &graph));
  }

  bool knows_captures() const override { return !kIsOld; }
  void InvalidateCapture(size_t stream) override {
    // Memory cannot be allocated during a capture of the default mode.
    const Current current(contexts_[stream / 2]);
    CUevent event = nullptr;
    const CUresult queried = cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    if (queried == CUDA_SUCCESS) {  // the capture is relaxed
      CheckCuda(cuEventDestroy(event));
      static_cast<void>(cuStreamSynchronize(streams_[stream]));
    }
    fake_cuda_forgive();
  }
  void AbandonCapture(size_t stream) override {
    const Current current(contexts_[stream / 2]);
    CUgraph graph = nullptr;
    CheckEqual("the capture has failed", CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
               cuStreamEndCapture(streams_[stream], &graph));
  }
  void LeaveCapture(size_t stream) override {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CheckCuda(cuStreamIsCapturing(streams_[stream], &status));
    if (status != CU_STREAM_CAPTURE_STATUS_NONE) {
      EndCapture(stream);
    }
  }

  // ----------------------------------------------------------------------- other kinds of memory

  enum Kind : size_t {
    kDefaultPool,
    kManaged,
    kPinned,
    kPinnedElsewhere,
    kRegistered,
    kPrimary,
    kHole,  // reserved addresses without memory
    kHiddenHole,
    kSharedPool,  // from here on not of the older driver
    kChunks,
    kUnsharedChunks,
    kKinds
  };
  size_t odd_kinds() const override { return kIsOld ? kSharedPool : kKinds; }

  OddMemory AllocateOdd(size_t kind, int device, size_t bytes) override {
    const Current current(kind == kPrimary ? primaries_[device] : contexts_[device]);
    OddMemory made = DescribeOdd(kind, device, DLBRIDGE_MEMORY_DEVICE);
    CUdeviceptr address = 0;
    switch (kind) {
      case kDefaultPool:
        CheckCuda(cuMemAllocAsync(&address, bytes, CU_STREAM_PER_THREAD));
        break;
#ifndef FAKE_CUDA_OLD
      case kSharedPool:
        pools_.push_back(MakePool(device, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
        address = AllocateFromPool(device, pools_.back(), bytes);
        break;
      case kChunks:
      case kUnsharedChunks:
        segments_.push_back(MakeSegment(
            device, 2, kind == kChunks ? unsigned{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR} : 0U));
        address = segments_.back().base + kChunk - bytes / 2;
        break;
#endif
      case kManaged:
        CheckCuda(cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL));
        made.label = {kDLCUDAManaged, 0};
        made.found = DLBRIDGE_MEMORY_MANAGED;
        break;
      case kPrimary:
        CheckCuda(cuMemAlloc(&address, bytes));
        break;
      case kHole:
      case kHiddenHole:
        fake_cuda_hide_unmapped(kind == kHiddenHole ? 1 : 0);
        address = fake_cuda_map_pieces(device, 8 * bytes, 2 * bytes, bytes, 1) + 4 * bytes;
        made.found = 0;
        made.is_copied = false;
        made.is_rejected = true;
        made.is_wrapped = false;
        break;
      default:
        address = AllocateOnHost(kind, bytes);
        made.label = {kDLCUDAHost, 0};
        made.found = DLBRIDGE_MEMORY_PINNED;
    }
    made.memory = dlbridge_buffer_cuda(address);
    return made;
  }
  void FreeOdd(const OddMemory& memory) override {
    const Current current(memory.kind == kPrimary ? primaries_[memory.device]
                                                  : contexts_[memory.device]);
    const CUdeviceptr address = dlbridge_cuda_address(memory.memory);
    switch (memory.kind) {
#ifndef FAKE_CUDA_OLD
      case kChunks:
      case kUnsharedChunks:
        FreeSegment(segments_.back());
        segments_.pop_back();
        return;
      case kSharedPool:
        CheckCuda(cuMemFree(address));
        CheckCuda(cuMemPoolDestroy(pools_.back()));
        pools_.pop_back();
        return;
#endif
      case kPinned:
      case kPinnedElsewhere:
        return CheckCuda(cuMemFreeHost(reinterpret_cast<void*>(address)));
      case kRegistered:
        return CheckCuda(cuMemHostUnregister(reinterpret_cast<void*>(address)));
      case kHole:
      case kHiddenHole:
        fake_cuda_hide_unmapped(0);
        return CheckCuda(cuMemFree(address - 4 * kSize));
      default:
        CheckCuda(cuMemFree(address));
    }
  }

  // -------------------------------------------------------------------------- contexts that end

  bool MakePassing(int device, unsigned /*variant*/, Passing* out) override {
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUdeviceptr address = 0;
    CheckCuda(cuCtxCreate(&context, nullptr, 0, device));
    CheckCuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CheckCuda(cuMemAlloc(&address, kSize));
    CUcontext popped = nullptr;
    CheckCuda(cuCtxPopCurrent(&popped));
    out->device = device;
    out->stream = dlbridge_stream_cuda(stream, device);
    out->memory = dlbridge_buffer_cuda(address);
    out->label = Label(device);
    out->context = context;
    return true;
  }
  void EndPassing(Passing* passing, bool /*lost*/) override {
    CheckCuda(cuCtxDestroy(static_cast<CUcontext>(passing->context)));
  }

  const std::vector<Exported>& Exports() const override { return exporter_.exports(); }
  // The first context that opens memory of a process is the only one that may.
  bool may_refuse_import() const override { return entered_; }

  bool Enter(int device, bool other_context) override {
    CheckCuda(cuCtxPushCurrent(other_context ? primaries_[device] : contexts_[device]));
    entered_ = true;
    FakeCudaCounts now;
    fake_cuda_counts(&now);
    depth_ = now.context_depth;
    return true;
  }
  void Leave() override {
    FakeCudaCounts now;
    fake_cuda_counts(&now);
    // After a call that failed, Settle has popped it.
    if (now.context_depth != 0) {
      CheckEqual("contexts pushed", depth_, now.context_depth);
      CUcontext popped = nullptr;
      CheckCuda(cuCtxPopCurrent(&popped));
    }
  }

  bool Break(int device, unsigned how) override {
    constexpr int kCodes[] = {700, 719, 214, 702, 710, 911, 220, 226};
    fake_cuda_fault(contexts_[device], kCodes[how % 8]);
    return true;
  }
  void Mend(int /*device*/) override { fake_cuda_fault(nullptr, 0); }

  void SetCode(size_t choice) override {
    constexpr int kCodes[] = {CUDA_ERROR_OUT_OF_MEMORY,
                              CUDA_ERROR_INVALID_VALUE,
                              CUDA_ERROR_NOT_SUPPORTED,
                              CUDA_ERROR_ILLEGAL_ADDRESS,
                              CUDA_ERROR_CONTEXT_IS_DESTROYED,
                              CUDA_ERROR_DEINITIALIZED,
                              CUDA_ERROR_INVALID_CONTEXT,
                              CUDA_ERROR_ALREADY_MAPPED,
                              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                              CUDA_ERROR_UNKNOWN,
                              CUDA_ERROR_NOT_READY,
                              CUDA_ERROR_LAUNCH_FAILED};
    code_ = kCodes[choice % (sizeof kCodes / sizeof kCodes[0])];
  }
  std::string FailAny(int nth, bool for_good) override {
    return fake_cuda_fail_any(code_, nth, for_good ? 1 : 0);
  }
  bool settles_all() const override { return true; }
  void Settle() override {
    fake_cuda_run();
    FakeCudaCounts now;
    for (fake_cuda_counts(&now); now.context_depth > 0; --now.context_depth) {
      CUcontext popped = nullptr;
      CheckCuda(cuCtxPopCurrent(&popped));
    }
    auto mode = static_cast<CUstreamCaptureMode>(before_.capture_mode);
    CheckCuda(cuThreadExchangeStreamCaptureMode(&mode));
  }

  void Begin() override {
    fake_cuda_clear_log();
    fake_cuda_counts(&before_);
  }
  void CheckRules() override {
    CheckEqual("violations of the driver's rules", std::string(),
               std::string(fake_cuda_violation_texts()));
  }
  void Forgive() override { fake_cuda_forgive(); }
  void CheckEnd(bool lost) override {
    CheckRules();
    FakeCudaCounts after;
    fake_cuda_counts(&after);
    CheckEqual("contexts pushed", 0, after.context_depth);
    CheckEqual("the capture mode", before_.capture_mode, after.capture_mode);
    if (lost) {
      // Events that could not be destroyed stay.
      lost_events_ = after.live_events;
      pools_.clear();
      segments_.clear();
      return;
    }
    CheckEqual("streams", before_.live_streams, after.live_streams);
    Check([&] { return "events of the pools: " + std::to_string(after.live_events); },
          after.live_events <= kMostEvents + lost_events_);
    Check("no more memory of other processes than before",
          after.live_mappings <= before_.live_mappings);
    Check("no more pools than before", after.live_pools <= before_.live_pools);
    Check("no more handles of allocations than before",
          after.live_allocations <= before_.live_allocations);
    Check("no more reserved addresses than before",
          after.live_reservations <= before_.live_reservations);
    Check("no more mapped chunks than before", after.live_chunks <= before_.live_chunks);
  }

 private:
  // Of hand-offs and marks, and for exports.
  static constexpr int kMostEvents = 64 + 64;

  CUdeviceptr AllocateOnHost(size_t kind, size_t bytes) {
    void* pointer = nullptr;
    if (kind == kRegistered) {
      pointer = registered_;
      CheckEqual("the size", sizeof registered_, bytes);
      CheckCuda(cuMemHostRegister(pointer, bytes, 0));
    } else {
      CheckCuda(cuMemHostAlloc(&pointer, bytes,
                               kind == kPinned ? 0U : unsigned{CU_MEMHOSTALLOC_WRITECOMBINED}));
    }
    return reinterpret_cast<uintptr_t>(pointer);
  }

  Exporter exporter_;
  CUcontext contexts_[kDevices];
  CUcontext primaries_[kDevices];
  CUstream streams_[kStreams];
  std::vector<CUmemoryPool> pools_;
  std::vector<Segment> segments_;
  uint8_t registered_[kSize];
  int code_ = CUDA_ERROR_OUT_OF_MEMORY;
  bool entered_ = false;  // for ever: a context keeps what it has opened
  int depth_ = 0;
  FakeCudaCounts before_ = {};
  int lost_events_ = 0;
};

}  // namespace
}  // namespace dlbridge_fuzz

DLBRIDGE_FUZZ_DRIVER(Cuda)
