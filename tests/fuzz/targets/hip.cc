// SPDX-License-Identifier: Apache-2.0
// The program of devices/program.h on the strict fake of the HIP runtime.
#include "device/hip_world.h"
#include "fuzz/devices/exporter.h"
#include "fuzz/devices/whole_program.h"

namespace dlbridge_fuzz {
namespace {

void* At(const DLBridgeBuffer& buffer) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(buffer.handle));
}

// The variant `old` is the oldest runtime with handles of memory.
const FakeHip* Load() {
  const char* file = IsVariant("old") ? DLBRIDGE_FAKE_HIP5 : DLBRIDGE_FAKE_HIP6;
  setenv("DLBRIDGE_LIBHIP", file, 1);
  return dlbridge_test::LoadFakeHip(file);
}

// The memory that another process exports.
std::vector<Offer> MakeOffers(const FakeHip& fake) {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  CheckStatus(DLBRIDGE_OK, dlbridge_backend_info(DLBRIDGE_BACKEND_HIP, &info, nullptr));
  std::vector<Offer> offers;
  for (int device = 0; device < kDevices; ++device) {
    for (const size_t offset : {0, 100}) {
      void* memory = fake.allocate(kFakeDevice, device, kSize);
      const Bytes content = Pattern(256, offers.size());
      std::memcpy(static_cast<uint8_t*>(fake.bytes(memory)) + offset, content.data(),
                  content.size());
      offers.push_back({device, dlbridge_buffer_hip(memory), dlbridge_device_hip(device), offset,
                        nullptr, content});
    }
  }
  return offers;
}

class Hip final : public Driver {
 public:
  // The fake maps the memory of both processes when it is loaded.
  Hip() : fake_(*Load()), exporter_([this] { return MakeOffers(fake_); }, [] {}) {
    Start();
    for (size_t i = 0; i < kStreams; ++i) {
      const int device = static_cast<int>(i / 2);
      streams_[i] = i % 2 == 0 ? fake_.non_blocking_stream(device) : fake_.stream(device);
    }
  }

  DLBridgeBackend backend() const override { return DLBRIDGE_BACKEND_HIP; }
  DLDevice Label(int device) const override { return dlbridge_device_hip(device); }
  DLBridgeStream Stream(size_t i) const override {
    return dlbridge_stream_hip(static_cast<hipStream_t>(streams_[i]), static_cast<int>(i / 2));
  }
  bool has_special_streams() const override { return true; }

  DLBridgeBuffer Allocate(int device, size_t bytes) override {
    return dlbridge_buffer_hip(fake_.allocate(kFakeDevice, device, bytes));
  }
  void Free(const DLBridgeBuffer& buffer) override { fake_.free(At(buffer)); }
  void Poke(const DLBridgeBuffer& buffer, const Bytes& bytes) override {
    std::memcpy(fake_.bytes(At(buffer)), bytes.data(), bytes.size());
  }
  Bytes Peek(const DLBridgeBuffer& buffer, size_t size) override {
    const auto* begin = static_cast<const uint8_t*>(fake_.bytes(At(buffer)));
    return {begin, begin + size};
  }
  void Enqueue(size_t stream, const DLBridgeBuffer& to, size_t at, const Bytes& bytes) override {
    works_.push_back({static_cast<uint8_t*>(fake_.bytes(At(to))) + at, &bytes});
    fake_.enqueue(
        streams_[stream], static_cast<int>(stream / 2),
        [](void* context) {
          const auto& work = *static_cast<const CopyWork*>(context);
          std::memcpy(work.to, work.bytes->data(), work.bytes->size());
        },
        &works_.back());
  }
  bool BeginCapture(size_t stream, unsigned mode) override {
    fake_.capture_in_mode(streams_[stream], static_cast<int>(mode), 7 + stream);
    return true;
  }
  void InvalidateCapture(size_t stream) override { fake_.capture(streams_[stream], 2, 0); }
  void AbandonCapture(size_t stream) override {
    CheckEqual("the capture has failed", 2, fake_.capture_state(streams_[stream]));
    fake_.capture(streams_[stream], 0, 0);
  }
  void LeaveCapture(size_t stream) override { fake_.capture(streams_[stream], 0, 0); }
  void EndCapture(size_t stream) override {
    CheckEqual("the capture goes on", 1, fake_.capture_state(streams_[stream]));
    fake_.capture(streams_[stream], 0, 0);
  }

  // ----------------------------------------------------------------------- other kinds of memory

  enum Kind : size_t { kHost, kManaged, kRegistered, kArray, kHidden, kUnshareable, kKinds };
  size_t odd_kinds() const override { return kKinds; }

  OddMemory AllocateOdd(size_t kind, int device, size_t bytes) override {
    OddMemory made = DescribeOdd(kind, device, DLBRIDGE_MEMORY_DEVICE);
    FakeHipMemory type = kFakeDevice;
    switch (kind) {
      case kHost:
      case kRegistered:
        type = kind == kHost ? kFakeHost : kFakeRegistered;
        made.label = {kDLROCMHost, 0};
        made.found = DLBRIDGE_MEMORY_PINNED;
        break;
      case kManaged:
        type = kFakeManaged;
        made.found = DLBRIDGE_MEMORY_MANAGED;
        break;
      case kArray:
        type = kFakeArray;
        made.found = 0;
        made.is_copied = false;
        break;
      default:
        break;
    }
    void* pointer = fake_.allocate(type, device, bytes);
    if (kind == kHidden) {
      fake_.hide_range(pointer);
    } else if (kind == kUnshareable) {
      fake_.unshareable(pointer);
    }
    made.memory = dlbridge_buffer_hip(pointer);
    return made;
  }
  void FreeOdd(const OddMemory& memory) override { fake_.free(At(memory.memory)); }

  // --------------------------------------------------------------------------- streams that end

  bool MakePassing(int device, unsigned variant, Passing* out) override {
    void* stream = variant % 2 == 0 ? fake_.non_blocking_stream(device) : fake_.stream(device);
    out->device = device;
    out->stream = dlbridge_stream_hip(static_cast<hipStream_t>(stream), device);
    out->memory = Allocate(device, kSize);
    out->label = Label(device);
    out->context = stream;
    return true;
  }
  void EndPassing(Passing* passing, bool lost) override {
    fake_.destroy_stream(passing->context);
    if (!lost) {
      Free(passing->memory);
    }
  }

  const std::vector<Exported>& Exports() const override { return exporter_.exports(); }

  bool Enter(int device, bool /*other_context*/) override {
    fake_.set_device(device);
    return true;
  }
  void Leave() override { fake_.set_device(0); }

  bool Break(int /*device*/, unsigned how) override {
    constexpr int kCodes[] = {700, 719, 214, 702, 710, 911, 220, 226};
    fake_.fault(kCodes[how % 8]);
    return true;
  }
  void Mend(int /*device*/) override {
    fake_.fault(0);
    fake_.set_last_error(0);
  }

  void SetCode(size_t choice) override {
    constexpr int kCodes[] = {hipErrorOutOfMemory,
                              hipErrorInvalidValue,
                              hipErrorNotSupported,
                              hipErrorIllegalAddress,
                              hipErrorContextIsDestroyed,
                              hipErrorInvalidDevicePointer,
                              hipErrorNotFound,
                              hipErrorStreamCaptureUnsupported,
                              hipErrorUnknown};
    code_ = kCodes[choice % (sizeof kCodes / sizeof kCodes[0])];
  }
  std::string FailAny(int nth, bool for_good) override {
    return fake_.fail_any(code_, nth, for_good);
  }
  std::string Report() override {
    return Driver::Report() + "; calls: " + std::string(fake_.log());
  }
  void Settle() override {
    for (size_t i = 0; i < kStreams; ++i) {
      fake_.run(streams_[i], static_cast<int>(i / 2));
    }
    fake_.set_thread_mode(0);
    fake_.set_last_error(0);
    fake_.set_device(0);
  }

  void Begin() override {
    fake_.clear_log();
    works_.clear();
  }
  void CheckEnd(bool lost) override {
    lost_ = lost_ || lost;
    const size_t most = lost_ ? SIZE_MAX / 2 : dlbridge_test::kPooled;
    fake_.settle(most, most, lost_ ? SIZE_MAX / 2 : 0);
    CheckRules();
  }
  void CheckRules() override {
    CheckEqual("violations of the runtime's rules", std::string(), std::string(fake_.violations()));
  }
  void Forgive() override { fake_.clear_violations(); }

 private:
  struct CopyWork {
    uint8_t* to;
    const Bytes* bytes;
  };

  const FakeHip& fake_;
  Exporter exporter_;
  int code_ = hipErrorOutOfMemory;
  void* streams_[kStreams];
  std::list<CopyWork> works_;
  bool lost_ = false;  // objects that could not be destroyed stay
};

}  // namespace
}  // namespace dlbridge_fuzz

DLBRIDGE_FUZZ_DRIVER(Hip)
