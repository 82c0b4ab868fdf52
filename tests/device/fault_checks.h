// SPDX-License-Identifier: Apache-2.0
// Each driver call and each call of the C library inside the functions for devices fails once, and
// once for good. A test supplies the device and the switch of its fake.
#ifndef DLBRIDGE_TESTS_DEVICE_FAULT_CHECKS_H_
#define DLBRIDGE_TESTS_DEVICE_FAULT_CHECKS_H_

#include <algorithm>
#include <memory>
#include <sstream>

#include "faults/attempt.h"
#include "pending_checks.h"
#include "support/ipc.h"
#include "tensor_checks.h"

namespace dlbridge_test {

class DriverFaults : public Faults {
 public:
  void Arm(int64_t nth, bool for_good) final {
    Switch(0, false);
    Switch(static_cast<int>(nth), for_good);
  }
  int64_t Disarm() final {
    std::istringstream names(Switch(0, false));
    failed_.clear();
    for (std::string name; names >> name;) {
      failed_.push_back(name);
      lost_ += IsNeededForRelease(name) ? 1 : 0;
    }
    return static_cast<int64_t>(failed_.size());
  }
  // The number of objects that the library could not release: a call for that failed, or the wait
  // for the work that uses them.
  int64_t lost() const { return lost_; }
  // A staged copy has two blocks.
  int64_t Kept() const final { return 2 * lost_; }
  std::string Last() final { return failed_.empty() ? "" : failed_.back(); }
  std::string All() final {
    std::string all;
    for (const std::string& name : failed_) {
      all += name + " ";
    }
    return all;
  }
  bool IsProper(DLBridgeStatus status) final { return status == DLBRIDGE_ERROR_DRIVER; }

 protected:
  // The nth call of any function of the driver fails; 0: none. Returns the names of the functions
  // that have failed since the last call of this function.
  virtual std::string Switch(int nth, bool for_good) = 0;

 private:
  static bool IsNeededForRelease(const std::string& name) {
    for (const char* word : {"Destroy", "Release", "Free", "Close", "CtxPushCurrent",
                             "ThreadExchangeStreamCaptureMode", "AppendBarrier", "Synchronize",
                             // Tells whether the context of an event still exists.
                             "cuPointerGetAttributes"}) {
      if (name.find(word) != std::string::npos) {
        return true;
      }
    }
    return false;
  }

  std::vector<std::string> failed_;
  int64_t lost_ = 0;
};

// Memory that outlives all attempts: after a wait that failed, the device may still use it.
class FaultWorld {
 public:
  // `settle` lets the devices do all work that is left.
  FaultWorld(TensorDevice* device, TensorDevice* consumer, std::function<void()> settle)
      : settle_(std::move(settle)),
        device_(*device),
        consumer_(*consumer),
        on_host_(&host_, kRectangle, kFloats),
        on_device_(device, kRectangle, kFloats),
        scattered_(device, kScattered, kFloats),
        host_target_(host_.Allocate(kTarget)),
        device_target_(device->Allocate(kTarget)) {}
  FaultWorld(const FaultWorld&) = delete;
  FaultWorld& operator=(const FaultWorld&) = delete;
  ~FaultWorld() {
    EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
    const DLBridgeStream stream = device_.stream();
    EXPECT_EQ(dlbridge_stream_synchronize(&stream, nullptr), DLBRIDGE_OK);
    settle_();
    host_.Free(host_target_);
    device_.Free(device_target_);
  }

  std::vector<Scenario> Scenarios() {
    const auto one = [this](void (FaultWorld::*run)(Attempt&)) {
      return [this, run](Attempt& attempt) { (this->*run)(attempt); };
    };
    const auto copy = [this](const TensorSource* source, bool to_host, uint32_t options,
                             bool on_stream) {
      return [=](Attempt& attempt) { Copy(*source, to_host, options, on_stream, attempt); };
    };
    return {
        {"pointer_info", one(&FaultWorld::PointerInfo)},
        {"wrap", one(&FaultWorld::Wrap)},
        {"context_find", one(&FaultWorld::ContextFind)},
        {"stream_handoff", one(&FaultWorld::Handoff)},
        {"stream_synchronize", one(&FaultWorld::Synchronize)},
        {"copy to the device", copy(&on_host_, false, 0, false)},
        {"copy to the host", copy(&on_device_, true, 0, false)},
        {"copy in the device", copy(&on_device_, false, 0, false)},
        {"copy on a stream", copy(&on_device_, false, 0, true)},
        {"copy through the host", copy(&scattered_, false, DLBRIDGE_COPY_ALLOW_STAGING, false)},
        {"copy_async", one(&FaultWorld::CopyAsync)},
        {"release_after", one(&FaultWorld::ReleaseOne)},
        {"collect", one(&FaultWorld::Collect)},
    };
  }

  Scenario IpcExportOf(bool with_stream) {
    return {with_stream ? "ipc_export with a stream" : "ipc_export",
            [this, with_stream](Attempt& attempt) { Export(with_stream, attempt); }};
  }

 private:
  static constexpr size_t kTarget = size_t{4} * 5000;
  inline static const TensorLayout kRectangle = {"three rectangles", {3, 2, 4}, {100, 20, 1}, 0};
  inline static const TensorLayout kScattered = {"5000 backwards", {5000}, {-1}, 4999};

  void PointerInfo(Attempt& attempt) {
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    if (attempt([&](DLBridgeError* error) {
          return dlbridge_pointer_info(&device_target_, device_.label(), &info, error);
        })) {
      EXPECT_EQ(info.device.device_id, device_.label().device_id);
    }
  }

  DLBridgeWrapSpec WrapSpec(const TensorSource& source, Releases* releases) const {
    DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
    const DLTensor& tensor = source.tensor();
    spec.buffer = BufferOf(tensor);
    spec.device = tensor.device;
    spec.dtype = tensor.dtype;
    spec.ndim = tensor.ndim;
    spec.shape = tensor.shape;
    spec.strides = tensor.strides;
    spec.byte_offset = tensor.byte_offset;
    spec.release = Releases::Count;
    spec.release_context = releases;
    return spec;
  }

  void Wrap(Attempt& attempt) {
    Releases releases;
    DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
    policy.level = DLBRIDGE_LEVEL_DEVICE;
    DLBridgeWrapSpec spec = WrapSpec(on_device_, &releases);
    spec.policy = &policy;
    DLManagedTensorVersioned* out = nullptr;
    const bool wrapped =
        attempt([&](DLBridgeError* error) { return dlbridge_wrap(&spec, &out, error); });
    EXPECT_EQ(wrapped, out != nullptr);
    EXPECT_EQ(releases.count, 0);
    dlbridge_release_versioned(out);
    EXPECT_EQ(releases.count, wrapped ? 1 : 0);
  }

  void ContextFind(Attempt& attempt) {
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    attempt([&](DLBridgeError* error) {
      return dlbridge_context_find(device_.label(), 0, &found, error);
    });
  }

  void Handoff(Attempt& attempt) {
    const DLBridgeStream producer = device_.stream();
    const DLBridgeStream consumer = consumer_.stream();
    attempt([&](DLBridgeError* error) {
      return dlbridge_stream_handoff(&producer, &consumer, 0, error);
    });
  }

  void Synchronize(Attempt& attempt) {
    const DLBridgeStream stream = device_.stream();
    attempt([&](DLBridgeError* error) { return dlbridge_stream_synchronize(&stream, error); });
  }

  DLBridgeCopySpec CopySpec(bool to_host, Releases* releases) {
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    spec.device = to_host ? host_.label() : device_.label();
    spec.target = to_host ? host_target_ : device_target_;
    spec.target_size = kTarget;
    spec.release = Releases::Count;
    spec.release_context = releases;
    return spec;
  }

  void ExpectCopied(const TensorSource& source, bool to_host) {
    const TensorBytes expected = source.Compact(kFloats.step);
    TensorDevice& to = to_host ? static_cast<TensorDevice&>(host_) : device_;
    EXPECT_TRUE(to.Read(to_host ? host_target_ : device_target_, expected.size()) == expected);
  }

  void Copy(const TensorSource& source, bool to_host, uint32_t options, bool on_stream,
            Attempt& attempt) {
    Releases releases;
    DLBridgeCopySpec spec = CopySpec(to_host, &releases);
    spec.options = options;
    if (on_stream) {
      spec.stream = device_.stream();
    }
    DLManagedTensorVersioned* out = nullptr;
    const bool copied = attempt([&](DLBridgeError* error) {
      return dlbridge_copy(&source.tensor(), source.flags(), &spec, &out, error);
    });
    if (copied) {
      ExpectCopied(source, to_host);
    }
    EXPECT_EQ(copied, out != nullptr);
    EXPECT_EQ(releases.count, 0);
    dlbridge_release_versioned(out);
    EXPECT_EQ(releases.count, copied ? 1 : 0);
  }

  // On failure the source is the caller's, and the library holds nothing.
  void CopyAsync(Attempt& attempt) {
    Releases of_source;
    Releases of_target;
    const DLBridgeWrapSpec wrap = WrapSpec(on_device_, &of_source);
    DLManagedTensorVersioned* source = nullptr;
    ASSERT_EQ(dlbridge_wrap(&wrap, &source, nullptr), DLBRIDGE_OK);
    DLBridgeCopySpec spec = CopySpec(false, &of_target);
    spec.stream = device_.stream();
    DLManagedTensorVersioned* out = nullptr;
    const bool copied = attempt(
        [&](DLBridgeError* error) { return dlbridge_copy_async(source, &spec, &out, error); });
    EXPECT_EQ(copied, out != nullptr);
    EXPECT_EQ(of_source.count + of_target.count, 0);
    dlbridge_release_versioned(source);
    dlbridge_release_versioned(out);
    EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
    EXPECT_EQ(of_source.count, 1);
    EXPECT_EQ(of_target.count, copied ? 1 : 0);
    if (copied) {
      ExpectCopied(on_device_, false);
    }
  }

  void ReleaseOne(Attempt& attempt) {
    auto fate = std::make_shared<Fate>();
    DLManagedTensorVersioned* tensor = Produce<DLManagedTensorVersioned>(fate);
    const DLBridgeStream stream = device_.stream();
    if (!attempt([&](DLBridgeError* error) {
          return dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED, &stream, 1, error);
        })) {
      EXPECT_EQ(fate->deletions, 0);
      tensor->deleter(tensor);
    }
    EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
    EXPECT_EQ(fate->deletions, 1);
  }

  // If a wait fails, the tensor stays held, or its work is over: it is never released twice.
  void Collect(Attempt& attempt) {
    auto fate = std::make_shared<Fate>();
    DLManagedTensorVersioned* tensor = Produce<DLManagedTensorVersioned>(fate);
    const DLBridgeStream stream = device_.stream();
    ASSERT_EQ(dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED, &stream, 1, nullptr),
              DLBRIDGE_OK);
    size_t left = 99;
    attempt([&](DLBridgeError* error) {
      return dlbridge_collect(DLBRIDGE_COLLECT_WAIT, &left, error);
    });
    EXPECT_LE(fate->deletions, 1);
    EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
    EXPECT_EQ(fate->deletions, 1);
  }

  void Export(bool with_stream, Attempt& attempt) {
    Releases releases;
    const DLBridgeWrapSpec wrap = WrapSpec(on_device_, &releases);
    DLManagedTensorVersioned* tensor = nullptr;
    ASSERT_EQ(dlbridge_wrap(&wrap, &tensor, nullptr), DLBRIDGE_OK);
    const DLBridgeStream stream = device_.stream();
    uint8_t bytes[kIpcBytes];
    int32_t fds[kIpcFds];
    size_t length = 0;
    size_t count = 0;
    if (attempt([&](DLBridgeError* error) {
          const IpcRoom room = {bytes, sizeof bytes, fds, kIpcFds, with_stream ? &stream : nullptr};
          return IpcExport(tensor, 0, room, &length, &count, error);
        })) {
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(close(fds[i]), 0);
      }
    }
    dlbridge_release_versioned(tensor);
    EXPECT_EQ(releases.count, 1);
  }

  std::function<void()> settle_;
  TensorDevice& device_;
  TensorDevice& consumer_;
  HostMemory host_;
  TensorSource on_host_;
  TensorSource on_device_;
  TensorSource scattered_;
  DLBridgeBuffer host_target_;
  DLBridgeBuffer device_target_;
};

// `live` counts the driver's objects that the library holds. After the attempts there are no more
// of them, except for those whose release failed.
inline void CheckEachCallFails(Faults* faults, const std::vector<Scenario>& scenarios,
                               const std::function<int64_t()>& live) {
  const auto* driver = dynamic_cast<const DriverFaults*>(faults);
  for (const Scenario& scenario : scenarios) {
    SCOPED_TRACE(scenario.name);
    RunWithout(faults, scenario);
    int64_t before = live();
    int64_t lost = driver != nullptr ? driver->lost() : 0;
    FailEachCallWarm(faults, scenario, [&] {
      const int64_t now = live();
      const int64_t lost_now = driver != nullptr ? driver->lost() : 0;
      EXPECT_LE(now, before + lost_now - lost) << "objects of the driver";
      before = now;
      lost = lost_now;
    });
  }
}

// A start that fails is final: its reason is the state of the backend, which later calls repeat.
// Without memory for the search, the call fails and a later one starts.
inline void ExpectState(const DLBridgeBackendInfo& info) {
  EXPECT_TRUE(info.state == DLBRIDGE_STATE_READY || info.state == DLBRIDGE_STATE_UNUSABLE ||
              info.state == DLBRIDGE_STATE_ABSENT);
  EXPECT_EQ(info.state == DLBRIDGE_STATE_READY, info.reason[0] == '\0') << info.reason;
  EXPECT_EQ(info.state == DLBRIDGE_STATE_READY, info.device_count != 0);
}

inline void CheckStart(Faults* faults, DLBridgeBackend backend) {
  const auto start = [backend](Attempt& attempt, DLBridgeBackendInfo* info) {
    if (attempt(
            [&](DLBridgeError* error) { return dlbridge_backend_info(backend, info, error); })) {
      ExpectState(*info);
    }
  };
  for (const bool for_good : {false, true}) {
    const SharedReport report;
    report->failed = 1;
    for (int64_t nth = 1; report->failed != 0 && nth < kMostCalls; ++nth) {
      SCOPED_TRACE("call " + std::to_string(nth) + (for_good ? " and all later ones" : ""));
      EXPECT_TRUE(InChild([&] {
        DLBridgeBackendInfo first = DLBRIDGE_BACKEND_INFO_INIT;
        DLBridgeBackendInfo second = DLBRIDGE_BACKEND_INFO_INIT;
        Attempt attempt(faults, nth, for_good);
        start(attempt, &first);
        report->failed = attempt.failed();
        Attempt later(faults, 0, false);
        start(later, &second);
        EXPECT_TRUE(attempt.status() != DLBRIDGE_OK || first.state == second.state ||
                    second.state == DLBRIDGE_STATE_READY);
      }));
    }
    EXPECT_EQ(report->failed, 0);
  }
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_FAULT_CHECKS_H_
