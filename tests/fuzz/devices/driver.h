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

// Is the driver of this process another version? fuzz.py sets the variable for the seeds of a
// variant, as ctest does.
inline bool IsVariant(const char* name) {
  const char* chosen = std::getenv("DLBRIDGE_FUZZ_DRIVER");
  return chosen != nullptr && std::string(chosen) == name;
}

// Memory of another kind than the plain one of a device.
struct OddMemory {
  size_t kind = 0;
  int device = 0;
  DLBridgeBuffer memory = {};
  DLDevice label = {};
  int32_t found = 0;         // DLBRIDGE_MEMORY_* that the library must report; 0: an error or any
  bool is_copied = true;     // a compact copy from it to the host must succeed
  bool is_rejected = false;  // the library must reject it where a copy needs a buffer
  bool is_writable = true;
  bool is_wrapped = true;  // it can be a tensor
  // Another buffer with the same bytes, in which this memory begins at `twin_begin`.
  DLBridgeBuffer twin = {};
  int64_t twin_begin = 0;
  size_t twin_size = 0;       // 0: there is none
  bool is_registered = true;  // the table has the label, so that an import keeps it
};

// A stream and memory of kSize bytes that end, with their context, before the driver does.
struct Passing {
  int device = 0;
  DLBridgeStream stream = {};
  DLBridgeBuffer memory = {};
  DLDevice label = {};
  void* context = nullptr;
  bool is_found = true;     // without a stream, the library finds the context of the memory
  uint64_t entry = 0;       // of the table, which has the context; 0: none
  bool needs_wait = false;  // the application must wait for its stream before the end
};

// A tensor of another process: its descriptor, its files, and the bytes of its elements.
struct Exported {
  int device = 0;
  std::vector<uint8_t> descriptor;
  std::vector<int32_t> fds;
  std::vector<uint8_t> content;
};

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
  // The application breaks a rule of the capture, which fails.
  virtual void InvalidateCapture(size_t /*stream*/) {}
  // Can the driver tell whether two streams capture one graph?
  virtual bool knows_captures() const { return true; }
  // Ends a capture that has failed or that other streams have joined.
  virtual void AbandonCapture(size_t /*stream*/) {}
  // A stream that may have joined or begun a capture has none after this.
  virtual void LeaveCapture(size_t /*stream*/) {}

  virtual size_t odd_kinds() const { return 0; }
  virtual OddMemory AllocateOdd(size_t /*kind*/, int /*device*/, size_t /*bytes*/) { return {}; }
  virtual void FreeOdd(const OddMemory& /*memory*/) {}

  // False: the driver has no such streams.
  virtual bool MakePassing(int /*device*/, unsigned /*variant*/, Passing* /*out*/) { return false; }
  // `lost`: work may be left that uses the memory.
  virtual void EndPassing(Passing* /*passing*/, bool /*lost*/) {}

  // What another process has exported.
  virtual const std::vector<Exported>& Exports() const {
    static const auto& none = *new std::vector<Exported>;
    return none;
  }
  // May the import of any memory fail, because of what the process has open?
  virtual bool may_refuse_import() const { return false; }

  // Makes a device current, in its usual or another context, until Leave. False: nothing is done.
  virtual bool Enter(int /*device*/, bool /*other_context*/) { return false; }
  virtual void Leave() {}

  // Lets a device fail: all later work of it does. Mend ends that.
  virtual bool Break(int /*device*/, unsigned /*how*/) { return false; }
  virtual void Mend(int /*device*/) {}
  // Work that was not done before the failure never is: what waits for it must be asked before
  // Mend.
  virtual bool loses_work() const { return false; }

  virtual bool can_fail() const { return true; }
  // The nth call by the library fails, with `for_good` all later ones too; 0: none. SetCode chooses
  // the code. Returns the names of those
  // that failed since the last call of this function, each followed by a space.
  virtual std::string FailAny(int nth, bool for_good) = 0;
  // The code of later failures: 0 and 1 tell nothing of the work of a stream.
  virtual void SetCode(size_t /*choice*/) {}
  // For a report: the calls of this input, as far as they are known, and which failed.
  virtual std::string Report() { return "; failed: " + FailAny(0, false); }
  // After calls that failed: the devices do all work that is left, and the thread gets back what a
  // failed call could not restore.
  virtual void Settle() {}
  // Does Settle do the work of the library's own streams, too? Then memory can be freed after it.
  virtual bool settles_all() const { return false; }

  // No call broke a rule of the driver since Begin or Forgive.
  virtual void CheckRules() {}
  // Forgets what a hostile peer made the library do.
  virtual void Forgive() {}

  virtual void Begin() = 0;
  // No call broke a rule, and the library holds no more than it may. `lost`: the release of
  // objects has failed, so that their number is unknown.
  virtual void CheckEnd(bool lost) = 0;

 protected:
  // A failed EXPECT of the helpers that targets share with the tests ends the program.
  static void ThrowOnFailures() { testing::FLAGS_gtest_throw_on_failure = true; }
  // Odd memory, described before the driver allocates it. A query finds it with the label of its
  // device.
  OddMemory DescribeOdd(size_t kind, int device, int32_t found) const {
    OddMemory described;
    described.kind = kind;
    described.device = device;
    described.label = Label(device);
    described.found = found;
    return described;
  }
  void Start() const {
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    CheckStatus(DLBRIDGE_OK, dlbridge_backend_info(backend(), &info, nullptr));
    CheckEqual(info.reason, int32_t{DLBRIDGE_STATE_READY}, info.state);
  }
};

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_DEVICES_DRIVER_H_
