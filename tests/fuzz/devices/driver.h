// SPDX-License-Identifier: Apache-2.0
// An application of one vendor's driver: what the program of devices/program.h needs of it.
#ifndef DLBRIDGE_TESTS_FUZZ_DEVICES_DRIVER_H_
#define DLBRIDGE_TESTS_FUZZ_DEVICES_DRIVER_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/support/check.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {

using Bytes = std::vector<uint8_t>;

constexpr size_t kStreams = 4;  // two of each device
constexpr int kDevices = 2;

// The application's calls. None of them is logged, counted or made to fail.
class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  virtual DLBridgeBackend backend() const = 0;
  virtual DLDevice Label(int device) const = 0;
  // Stream `i` runs on device i / 2.
  virtual DLBridgeStream Stream(size_t i) const = 0;
  virtual DLBridgeBuffer Allocate(int device, size_t bytes) = 0;
  virtual void Free(const DLBridgeBuffer& buffer) = 0;
  // Access to memory at once, beside all streams.
  virtual void Poke(const DLBridgeBuffer& buffer, const Bytes& bytes) = 0;
  virtual Bytes Peek(const DLBridgeBuffer& buffer, size_t size) = 0;
  // Work on a stream that writes `bytes`, which stay valid until it is done.
  virtual void Enqueue(size_t stream, const DLBridgeBuffer& to, size_t at, const Bytes& bytes) = 0;
  // Can the driver tell the device of a stream?
  virtual bool knows_devices() const { return true; }
  // May a process open a handle of its own memory?
  virtual bool opens_own_memory() const { return false; }
  // The handles 1 and 2 are streams, too.
  virtual bool has_special_streams() const { return false; }
  // False: the driver has no captures.
  virtual bool BeginCapture(size_t /*stream*/, unsigned /*mode*/) { return false; }
  virtual void EndCapture(size_t /*stream*/) {}

  virtual bool can_fail() const { return true; }
  // The nth call by the library fails, with a code that tells nothing of the work of a stream, with
  // `for_good` all later ones too; 0: none. Returns the names of those that failed since the last
  // call of this function, each followed by a space.
  virtual std::string FailAny(int nth, bool for_good) = 0;
  // For a report: the calls of this input, as far as they are known, and which failed.
  virtual std::string Report() { return "; failed: " + FailAny(0, false); }
  // After calls that failed: the devices do all work that is left, and the thread gets back what a
  // failed call could not restore.
  virtual void Settle() {}

  virtual void Begin() = 0;
  // No call broke a rule, and the library holds no more than it may. `lost`: the release of
  // objects has failed, so that their number is unknown.
  virtual void CheckEnd(bool lost) = 0;

 protected:
  // A failed EXPECT of the helpers that targets share with the tests ends the program.
  static void ThrowOnFailures() { testing::FLAGS_gtest_throw_on_failure = true; }
  void Start() const {
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    CheckStatus(DLBRIDGE_OK, dlbridge_backend_info(backend(), &info, nullptr));
    CheckEqual(info.reason, int32_t{DLBRIDGE_STATE_READY}, info.state);
  }
};

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_DEVICES_DRIVER_H_
