// SPDX-License-Identifier: Apache-2.0
// The program of devices/program.h on the strict fake of the HIP runtime.
#include "device/hip_world.h"
#include "fuzz/devices/program.h"

namespace dlbridge_fuzz {
namespace {

void* At(const DLBridgeBuffer& buffer) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(buffer.handle));
}

class Hip final : public Driver {
 public:
  Hip() : fake_(*Load()) {
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
    fake_.capture_in_mode(streams_[stream], static_cast<int>(mode), 7);
    return true;
  }
  void EndCapture(size_t stream) override {
    CheckEqual("the capture goes on", 1, fake_.capture_state(streams_[stream]));
    fake_.capture(streams_[stream], 0, 0);
  }

  std::string FailAny(int nth, bool for_good) override {
    return fake_.fail_any(hipErrorOutOfMemory, nth, for_good);
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
    CheckEqual("violations of the runtime's rules", std::string(), std::string(fake_.violations()));
  }

 private:
  struct CopyWork {
    uint8_t* to;
    const Bytes* bytes;
  };

  static const FakeHip* Load() {
    setenv("DLBRIDGE_LIBHIP", DLBRIDGE_FAKE_HIP6, 1);
    return dlbridge_test::LoadFakeHip(DLBRIDGE_FAKE_HIP6);
  }

  const FakeHip& fake_;
  void* streams_[kStreams];
  std::list<CopyWork> works_;
  bool lost_ = false;  // objects that could not be destroyed stay
};

}  // namespace
}  // namespace dlbridge_fuzz

DLBRIDGE_FUZZ_DRIVER(Hip)
