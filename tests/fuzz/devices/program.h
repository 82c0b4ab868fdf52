// SPDX-License-Identifier: Apache-2.0
// Programs of copies, hand-offs, releases and waits on a strict fake of a driver, most of which run
// the work of a stream only when something waits for it. A program orders its accesses with
// dlbridge_stream_handoff, so that each byte has one right value, which the model computes at once.
// Work that the library lets run late, early or on released memory shows as another value. Calls of
// the driver and of the C library fail now and then.
#ifndef DLBRIDGE_TESTS_FUZZ_DEVICES_PROGRAM_H_
#define DLBRIDGE_TESTS_FUZZ_DEVICES_PROGRAM_H_

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/devices/driver.h"
#include "fuzz/support/check.h"
#include "fuzz/support/faults.h"
#include "fuzz/support/input.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {

constexpr size_t kSize = 2048;  // bytes of each buffer
constexpr size_t kBuffers = 5;  // two of each device, and one of the host
constexpr int kMostSteps = 24;

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
  Program(Input* input, Driver* driver)
      : input_(*input), driver_(*driver), buffers_(TheBuffers(driver)) {
    for (size_t i = 0; i < kStreams; ++i) {
      streams_[i] = driver->Stream(i);
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  void Run() {
    Trace().clear();
    driver_.Begin();
    for (Buffer& buffer : buffers_) {
      Fill(&buffer, static_cast<uint8_t>(&buffer - buffers_.data()));
    }
    for (int step = 0; step < kMostSteps && !input_.empty(); ++step) {
      Trace() += "step " + std::to_string(step) + ": ";
      Step();
    }
    End();
  }

 protected:
  // Memory; `content` is what it must have when all work is done.
  struct Buffer {
    int device = -1;  // -1: the host
    DLBridgeBuffer memory = {};
    Bytes host = {};
    Bytes content = {};
    std::set<size_t> users = {};  // streams that may have unfinished work on it
    const OddMemory* odd = nullptr;
  };

  // A tensor or copy of the program whose release is counted. The callback overwrites the bytes, so
  // that work that runs later reads or leaves something else.
  struct Loan {
    Driver* driver = nullptr;
    Buffer memory = {};
    const Bytes* expected = nullptr;  // the content when it is released, or NULL
    Bytes content = {};
    int released = 0;

    static void Release(void* context, const DLBridgeBuffer* buffer,
                        const DLBridgeStream* /*stream*/) {
      auto& self = *static_cast<Loan*>(context);
      ++self.released;
      CheckEqual("the released memory", self.memory.memory.handle, buffer->handle);
      if (self.expected != nullptr) {
        Check([&] { return "the work was done before the release" + self.driver->Report(); },
              Peek(self.driver, self.memory) == *self.expected);
      }
      Poke(self.driver, self.memory, Bytes(kSize, 0xDD));
    }
  };

  // Memory of all inputs, until a call fails whose work may still use it.
  static std::vector<Buffer>& TheBuffers(Driver* driver) {
    // Never destroyed: a driver keeps what only these handles refer to.
    static auto& buffers = *new std::vector<Buffer>;
    for (int i = 0; buffers.size() < kBuffers; ++i) {
      buffers.emplace_back();
      buffers.back().device = i == kBuffers - 1 ? -1 : i / 2;
      Allocate(driver, &buffers.back());
    }
    return buffers;
  }
  static void Allocate(Driver* driver, Buffer* buffer) {
    if (buffer->device < 0) {
      buffer->host.resize(kSize);
      buffer->memory = dlbridge_buffer_address(buffer->host.data());
    } else {
      buffer->memory = driver->Allocate(buffer->device, kSize);
    }
  }

  static void Poke(Driver* driver, const Buffer& buffer, const Bytes& bytes) {
    if (buffer.device < 0) {
      std::memcpy(reinterpret_cast<void*>(buffer.memory.handle), bytes.data(), bytes.size());
    } else {
      driver->Poke(buffer.memory, bytes);
    }
  }
  static Bytes Peek(Driver* driver, const Buffer& buffer) {
    return buffer.device < 0 ? buffer.host : driver->Peek(buffer.memory, kSize);
  }

  void Fill(Buffer* buffer, uint8_t seed) {
    buffer->content.resize(kSize);
    uint32_t state = seed + 1U;
    for (uint8_t& byte : buffer->content) {
      state = state * 1664525 + 1013904223;
      byte = static_cast<uint8_t>(state >> 24);
    }
    Poke(&driver_, *buffer, buffer->content);
    buffer->users.clear();
  }

  // -------------------------------------------------------------------------------------- ordering

  void Synchronize(size_t stream) {
    CheckStatus(DLBRIDGE_OK, dlbridge_stream_synchronize(&streams_[stream], nullptr));
    for (Buffer& buffer : buffers_) {
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
        CheckStatus(DLBRIDGE_OK, dlbridge_stream_handoff(&streams_[user], &host, 0, nullptr));
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
                    dlbridge_stream_handoff(&streams_[user], &streams_[stream], 0, nullptr));
      }
    }
    buffer->users = {stream};
  }

  void Verify(Buffer* buffer) {
    Await(buffer);
    const Bytes found = Peek(&driver_, *buffer);
    Check(
        [&] {
          const auto at = std::mismatch(found.begin(), found.end(), buffer->content.begin());
          return "the bytes of buffer " + std::to_string(buffer - buffers_.data()) + " from " +
                 std::to_string(at.first - found.begin()) + " on";
        },
        found == buffer->content);
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

  static int DeviceOf(size_t stream) { return static_cast<int>(stream / 2); }
  DLDevice LabelOf(const Buffer& buffer) const {
    if (buffer.odd != nullptr) {
      return buffer.odd->label;
    }
    return buffer.device < 0 ? DLDevice{kDLCPU, 0} : driver_.Label(buffer.device);
  }

  DLManagedTensorVersioned* Wrap(const Buffer& buffer, const Layout& layout, Loan* loan,
                                 uint32_t options) const {
    DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
    spec.options = options;
    spec.buffer = buffer.memory;
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
    loan->driver = &driver_;
    loan->content = content;
    loan->memory.device = device;
    Allocate(&driver_, &loan->memory);
    Poke(&driver_, loan->memory, content);
    return loan;
  }

  // Are bytes of the copy among those from the first to the last of its source?
  static bool Overlaps(const Layout& layout, int64_t at, size_t bytes) {
    if (bytes == 0) {
      return false;
    }
    const auto ends = std::minmax_element(layout.places.begin(), layout.places.end());
    return at < *ends.second + layout.item && *ends.first < at + static_cast<int64_t>(bytes);
  }

  // ----------------------------------------------------------------------------------------- steps

  Buffer* TakeBuffer() { return &buffers_[input_.Below(kBuffers)]; }
  size_t TakeStream() { return static_cast<size_t>(input_.Below(kStreams)); }

  // After a failure the bytes of the target are unspecified. If a call of the driver failed, work
  // may be left that uses the memory of this program: it goes on with other memory.
  void Recover() {
    for (size_t i = 0; i < kStreams; ++i) {
      Synchronize(i);
    }
    static auto& abandoned = *new std::list<Buffer>;
    for (Buffer& buffer : buffers_) {
      if (lost_ && !driver_.settles_all()) {
        abandoned.push_back(std::move(buffer));
        buffer = Buffer();
        buffer.device = abandoned.back().device;
        buffer.content = abandoned.back().content;
        Allocate(&driver_, &buffer);
      }
      Poke(&driver_, buffer, buffer.content);
    }
  }

  // Makes one call of the library, inside which another call may fail. `failed_` tells whether one
  // did. A query enqueues no work, so that its calls may fail with any code.
  template <class Call>
  DLBridgeStatus Query(Call call) {
    return Try(call, true);
  }
  template <class Call>
  DLBridgeStatus Try(Call call, bool is_query = false) {
    const Fault fault = Fault::Take(&input_, driver_.can_fail());
    // The first two codes tell nothing of the work of a stream.
    driver_.SetCode(fault.of_driver && is_query ? input_.Byte()
                                                : static_cast<size_t>(fault.nth % 2));
    DLBridgeError error = GarbageError();
    failed_ = false;
    if (fault.nth == 0) {
      const DLBridgeStatus status = call(&error);
      CheckError(status, error);
      return status;
    }
    std::string failed;
    DLBridgeStatus status = DLBRIDGE_OK;
    if (fault.of_driver) {
      driver_.FailAny(static_cast<int>(fault.nth), fault.for_good);
      status = call(&error);
      failed = driver_.FailAny(0, false);
    } else {
      CLibrary::Arm(fault);
      status = call(&error);
      failed = CLibrary::Disarm();
      if (status != DLBRIDGE_OK && !failed.empty() && status != DLBRIDGE_ERROR_CAPTURE) {
        CheckStatusAfterFault(status, failed);
      }
    }
    CheckError(status, error);
    failed_ = !failed.empty();
    if (failed_) {
      Trace() += "  failed: " + failed + ": " + dlbridge_status_name(status) + "\n";
    }
    if (failed_ && fault.of_driver) {
      lost_ = true;
      driver_.Settle();
    }
    return status;
  }

  // May a copy be rejected, because the two sides are on two devices or the stream is on a third
  // one?
  bool IsPlain(const Buffer& from, const Buffer& to, size_t stream, const Layout& layout) const {
    const int device = DeviceOf(stream);
    return from.odd == nullptr && to.odd == nullptr && layout.compact &&
           (from.device < 0) != (to.device < 0) && (from.device == device || to.device == device);
  }

  DLBridgeCopySpec TargetSpec(const Buffer& to, size_t at, size_t bytes, size_t stream,
                              Loan* loan) {
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    spec.device = LabelOf(to);
    spec.stream = streams_[stream];
    spec.target = to.memory;
    spec.target_offset = at;
    spec.target_size = at + bytes;
    spec.release = loan != nullptr ? Loan::Release : nullptr;
    spec.release_context = loan;
    return spec;
  }

  // Copies between two buffers, and lets go of both ends before the work has run.
  void CopyAsync() {
    Buffer* from = TakeBuffer();
    CopyBetween(from, TakeBuffer());
  }
  void CopyBetween(Buffer* from, Buffer* to) {
    const size_t stream = TakeStream();
    const Layout layout = TakeLayout();
    const Bytes gathered = Gather(layout, from->content);
    const auto at = static_cast<size_t>(input_.Below(kSize - gathered.size() + 1));
    Order(from, stream);
    Order(to, stream);
    DLManagedTensorVersioned* source = Wrap(*from, layout, nullptr, 0);
    const DLBridgeCopySpec spec = TargetSpec(*to, at, gathered.size(), stream, nullptr);
    DLManagedTensorVersioned* copy = nullptr;
    const DLBridgeStatus status =
        Try([&](DLBridgeError* error) { return dlbridge_copy_async(source, &spec, &copy, error); });
    Check("a plain copy succeeds",
          status == DLBRIDGE_OK || failed_ || !IsPlain(*from, *to, stream, layout));
    if (from == to && Overlaps(layout, static_cast<int64_t>(at), gathered.size()) && !failed_) {
      CheckStatus(DLBRIDGE_ERROR_INVALID_ARGUMENT, status);
    }
    source->deleter(source);
    if (status != DLBRIDGE_OK) {
      Recover();
      return to->odd != nullptr && !lost_ ? Poke(&driver_, *to, to->content) : void();
    }
    copy->deleter(copy);
    std::copy(gathered.begin(), gathered.end(), to->content.begin() + static_cast<int64_t>(at));
  }

  // Copies memory of one step: it is released as soon as the library has no use for it.
  void CopyLoan() {
    Buffer* to = TakeBuffer();
    const size_t stream = TakeStream();
    const int device = to->device >= 0 ? -1 : DeviceOf(stream);
    Loan* loan = Lend(device, buffers_[input_.Below(kBuffers)].content);
    const Layout layout = TakeLayout();
    const Bytes gathered = Gather(layout, loan->content);
    Order(to, stream);
    DLManagedTensorVersioned* source = Wrap(loan->memory, layout, loan, 0);
    const DLBridgeCopySpec spec = TargetSpec(*to, 0, gathered.size(), stream, nullptr);
    DLManagedTensorVersioned* copy = nullptr;
    const DLBridgeStatus status =
        Try([&](DLBridgeError* error) { return dlbridge_copy_async(source, &spec, &copy, error); });
    CheckEqual("releases before the end", 0, loan->released);
    source->deleter(source);
    if (status != DLBRIDGE_OK) {
      CheckEqual("releases after a failure", 1, loan->released);
      return Recover();
    }
    copy->deleter(copy);
    std::copy(gathered.begin(), gathered.end(), to->content.begin());
  }

  // Copies to memory of one step, which has all of the copy when it is released.
  void CopyToLoan() {
    Buffer* from = TakeBuffer();
    const size_t stream = TakeStream();
    const int device = from->device >= 0 ? -1 : DeviceOf(stream);
    Loan* loan = Lend(device, Bytes(kSize, 0x11));
    const Layout layout = TakeLayout();
    const Bytes gathered = Gather(layout, from->content);
    Order(from, stream);
    std::copy(gathered.begin(), gathered.end(), loan->content.begin());
    loan->expected = &loan->content;
    DLManagedTensorVersioned* source = Wrap(*from, layout, nullptr, 0);
    const DLBridgeCopySpec spec = TargetSpec(loan->memory, 0, gathered.size(), stream, loan);
    DLManagedTensorVersioned* copy = nullptr;
    const DLBridgeStatus status =
        Try([&](DLBridgeError* error) { return dlbridge_copy_async(source, &spec, &copy, error); });
    source->deleter(source);
    if (status != DLBRIDGE_OK) {
      CheckEqual("releases of a target that is the caller's", 0, loan->released);
      loan->released = 1;
      return Recover();
    }
    copy->deleter(copy);
  }

  // A copy that waits. Without a stream, the program has waited for the work on the source.
  void CopyNow() { CopyOut(TakeBuffer()); }
  void CopyOut(Buffer* from) {
    const size_t stream = TakeStream();
    const Layout layout = TakeLayout();
    const Bytes gathered = Gather(layout, from->content);
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    if (input_.Flag()) {
      Order(from, stream);
      spec.stream = streams_[stream];
    } else {
      Await(from);
    }
    spec.options = input_.OneIn(2) ? DLBRIDGE_COPY_ALLOW_STAGING : 0;
    DLManagedTensorVersioned* source = Wrap(*from, layout, nullptr, 0);
    DLManagedTensorVersioned* copy = nullptr;
    const DLBridgeStatus status = Try([&](DLBridgeError* error) {
      return dlbridge_copy(&source->dl_tensor, 0, &spec, &copy, error);
    });
    Check("a compact copy succeeds",
          status == DLBRIDGE_OK || failed_ || !layout.compact ||
              (spec.stream.kind != 0 && from->device >= 0 && from->device != DeviceOf(stream)));
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
    Buffer* to = &buffers_[2 * static_cast<size_t>(DeviceOf(stream)) + input_.Below(2)];
    Order(to, stream);
    const Bytes& bytes = TakeWork(static_cast<size_t>(1 + input_.Below(300)));
    const auto at = static_cast<size_t>(input_.Below(kSize - bytes.size()));
    Trace() += "  stream " + std::to_string(stream) + ", buffer " +
               std::to_string(to - buffers_.data()) + ", bytes " + std::to_string(at) + " to " +
               std::to_string(at + bytes.size()) + "\n";
    // The stream may run its work in any order.
    CheckStatus(DLBRIDGE_OK,
                dlbridge_stream_handoff(&streams_[stream], &streams_[stream], 0, nullptr));
    driver_.Enqueue(stream, to->memory, at, bytes);
    std::copy(bytes.begin(), bytes.end(), to->content.begin() + static_cast<int64_t>(at));
  }
  const Bytes& TakeWork(size_t size) {
    kernels_.emplace_back(size, input_.Byte());
    return kernels_.back();
  }

  // Releases memory of one step after work on it, on one or several streams.
  void ReleaseAfter() {
    const size_t stream = TakeStream();
    Loan* loan = Lend(DeviceOf(stream), Bytes(kSize, 0x22));
    const Bytes& bytes = TakeWork(64);
    driver_.Enqueue(stream, loan->memory.memory, 0, bytes);
    std::copy(bytes.begin(), bytes.end(), loan->content.begin());
    const bool on_stream = input_.OneIn(4);
    loan->expected = on_stream ? nullptr : &loan->content;
    DLManagedTensorVersioned* tensor =
        Wrap(loan->memory, Layout(), loan, on_stream ? DLBRIDGE_WRAP_RELEASE_ON_STREAM : 0);
    std::vector<DLBridgeStream> streams = {streams_[stream]};
    for (uint64_t more = input_.Below(3); more != 0; --more) {
      streams.push_back(streams_[TakeStream()]);
    }
    const DLBridgeStatus status = Try([&](DLBridgeError* error) {
      return dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED, streams.data(), streams.size(),
                                    error);
    });
    if (status != DLBRIDGE_OK) {
      CheckEqual("releases after a failure", 0, loan->released);
      Synchronize(stream);
      tensor->deleter(tensor);
      CheckEqual("releases", 1, loan->released);
      Recover();
    }
  }

  // A capturing stream is rejected, and the capture survives.
  void Capture() {
    const size_t stream = TakeStream();
    Synchronize(stream);
    Loan* loan = Lend(DeviceOf(stream), Bytes(kSize, 0x33));
    loan->expected = &loan->content;
    DLManagedTensorVersioned* tensor = Wrap(loan->memory, Layout(), loan, 0);
    if (!driver_.BeginCapture(stream, static_cast<unsigned>(input_.Below(3)))) {
      return tensor->deleter(tensor);
    }
    DLBridgeError error = GarbageError();
    DLBridgeStatus status = DLBRIDGE_OK;
    switch (input_.Below(3)) {
      case 0:
        status =
            dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED, &streams_[stream], 1, &error);
        break;
      case 1:
        status = dlbridge_stream_synchronize(&streams_[stream], &error);
        break;
      default: {
        DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
        spec.stream = streams_[stream];
        DLManagedTensorVersioned* copy = nullptr;
        status = dlbridge_copy_async(tensor, &spec, &copy, &error);
      }
    }
    CheckStatus(DLBRIDGE_ERROR_CAPTURE, status);
    CheckError(status, error);
    driver_.EndCapture(stream);
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
    const DLBridgeStatus status = Try([&](DLBridgeError* error) {
      return dlbridge_stream_handoff(&streams_[producer], &streams_[consumer], 0, error);
    });
    Check("a hand-off succeeds", status == DLBRIDGE_OK || failed_);
    if (status != DLBRIDGE_OK) {
      Recover();
    }
  }

  // --------------------------------------------------------------------------- where memory is

  // A label: the right one in most cases.
  DLDevice TakeLabel(const Buffer& buffer) {
    switch (input_.Below(8)) {
      case 0:
        return {kDLCPU, 0};
      case 1:
        return driver_.Label(static_cast<int>(input_.Below(kDevices)));
      case 2:
        return {static_cast<DLDeviceType>(input_.Below(20)), static_cast<int32_t>(input_.Below(4))};
      default:
        return LabelOf(buffer);
    }
  }
  static bool IsSame(DLDevice a, DLDevice b) {
    return a.device_type == b.device_type && a.device_id == b.device_id;
  }

  void PointerInfo() {
    const Buffer& buffer = *TakeBuffer();
    const DLDevice label = TakeLabel(buffer);
    DLBridgeBuffer asked = buffer.memory;
    const bool known = !input_.OneIn(6);
    if (asked.kind == DLBRIDGE_BUFFER_ADDRESS) {
      asked.handle = known ? asked.handle + input_.Below(kSize) : input_.Below(1 << 16);
    }
    if (input_.OneIn(8)) {
      asked.backend = static_cast<DLBridgeBackend>(input_.Below(7));
    }
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    info.options = input_.Flag() ? DLBRIDGE_POINTER_INFO_PEERS : 0;
    const DLBridgeStatus status = Query(
        [&](DLBridgeError* error) { return dlbridge_pointer_info(&asked, label, &info, error); });
    if (status != DLBRIDGE_OK || !known || buffer.device < 0 || failed_) {
      return AfterQuery();
    }
    Check("the memory is the device's", info.memory != DLBRIDGE_MEMORY_HOST ||
                                            asked.backend != DLBRIDGE_BACKEND_NONE ||
                                            !IsSame(label, LabelOf(buffer)));
    if (info.backend == driver_.backend()) {
      // A driver without numbering of its own keeps an unregistered id of the application.
      const bool kept =
          !driver_.knows_devices() && IsSame(info.device, label) && label.device_id >= kDevices;
      Check("the label", kept || IsSame(info.device, driver_.Label(buffer.device)));
      Check("the range", info.size == 0 || info.base == 0 ||
                             (info.base <= asked.handle && asked.handle < info.base + info.size));
    }
  }
  void AfterQuery() {
    if (failed_ && lost_) {
      Recover();
    }
  }

  // The driver is asked whether the memory is where the label and the layout place it.
  void WrapChecked() {
    const Buffer& buffer = *TakeBuffer();
    DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
    policy.level = DLBRIDGE_LEVEL_DEVICE;
    DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
    spec.policy = &policy;
    spec.buffer = buffer.memory;
    spec.device = TakeLabel(buffer);
    spec.dtype = {kDLUInt, 8, 1};
    spec.ndim = 1;
    const bool fits = !input_.OneIn(4);
    const int64_t shape = fits ? static_cast<int64_t>(input_.Below(kSize + 1)) : int64_t{1} << 40;
    spec.shape = &shape;
    DLManagedTensorVersioned* tensor = nullptr;
    const DLBridgeStatus status =
        Query([&](DLBridgeError* error) { return dlbridge_wrap(&spec, &tensor, error); });
    CheckEqual("a tensor on success only", status == DLBRIDGE_OK, tensor != nullptr);
    if (IsSame(spec.device, LabelOf(buffer))) {
      Check("memory in its place is wrapped", status == DLBRIDGE_OK || failed_ || !fits);
      Check("a tensor past its memory is rejected",
            status != DLBRIDGE_OK || failed_ || fits || buffer.device < 0);
    }
    if (tensor != nullptr) {
      tensor->deleter(tensor);
    }
    AfterQuery();
  }

  void ContextFind() {
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    const DLDevice label = TakeLabel(*TakeBuffer());
    const DLBridgeStatus status =
        Query([&](DLBridgeError* error) { return dlbridge_context_find(label, 0, &found, error); });
    // Other types of devices share the contexts of the driver's own.
    Check("the entry is the device's", status != DLBRIDGE_OK ||
                                           label.device_type != driver_.Label(0).device_type ||
                                           IsSame(found.device, label));
    AfterQuery();
  }

  // ----------------------------------------------------------------------------- odd parameters

  // A stream with a member that contradicts the others. Its handle is one that every driver may be
  // asked about.
  DLBridgeStream TakeOddStream() {
    DLBridgeStream stream = streams_[TakeStream()];
    switch (input_.Below(6)) {
      case 0:
        stream.kind = static_cast<int32_t>(input_.Below(6));
        stream.handle = 0;  // a handle of another kind would be a dangling pointer
        break;
      case 1:
        stream.device = TakeLabel(*TakeBuffer());
        if (!driver_.knows_devices() && stream.device.device_type == driver_.Label(0).device_type) {
          stream = streams_[0];
        }
        break;
      case 2:
        stream.handle = input_.Below(driver_.has_special_streams() ? 3 : 1);
        break;
      case 3:
        stream.backend = static_cast<DLBridgeBackend>(input_.Below(7));
        stream.handle = 0;
        break;
      case 4:
        stream.context = 0;
        break;
      default:
        stream.reserved = input_.Byte();
    }
    return stream;
  }

  void OddStreams() {
    const DLBridgeStream odd = TakeOddStream();
    const DLBridgeStream& plain = streams_[TakeStream()];
    const auto choice = input_.Below(4);
    const uint32_t options = input_.OneIn(8) ? 1U << input_.Below(12) : 0;
    const DLBridgeStatus status = Try([&](DLBridgeError* error) {
      switch (choice) {
        case 0:
          return dlbridge_stream_synchronize(&odd, error);
        case 1:
          return dlbridge_stream_handoff(&odd, &plain, options, error);
        case 2:
          return dlbridge_stream_handoff(&plain, &odd, options, error);
        default: {
          DLBridgeStream out = DLBRIDGE_STREAM_INIT;
          return dlbridge_stream_from_array_api(odd.device, static_cast<int64_t>(odd.handle), &out,
                                                error);
        }
      }
    });
    Check("reserved bits are rejected", status != DLBRIDGE_OK || odd.reserved == 0 || choice == 3);
    AfterQuery();
  }

  // ------------------------------------------------------------------------------ other processes

  // Exports; where the driver allows it, this process imports what it exported.
  void Travel(const Buffer& buffer) {
    const size_t stream = TakeStream();
    const Layout layout = TakeLayout();
    DLManagedTensorVersioned* tensor = Wrap(buffer, layout, nullptr, 0);
    uint8_t bytes[4096];
    int32_t fds[253];
    DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
    spec.buffer = bytes;
    spec.buffer_size = input_.OneIn(8) ? input_.Below(300) : sizeof bytes;
    spec.fds = fds;
    spec.fd_capacity = 253;
    spec.stream = input_.OneIn(3) ? &streams_[stream] : nullptr;
    spec.options = input_.OneIn(4) ? DLBRIDGE_IPC_READ_ONLY : 0;
    DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
    const DLBridgeStatus status = Query(
        [&](DLBridgeError* error) { return dlbridge_ipc_export(tensor, &spec, &sizes, error); });
    if (status == DLBRIDGE_OK) {
      const std::vector<int32_t> files(fds, fds + sizes.fd_count);
      if (driver_.opens_own_memory()) {
        std::vector<uint8_t> message(bytes, bytes + sizes.buffer_size);
        const DLDevice label = LabelOf(buffer);
        if (input_.OneIn(4)) {
          message[input_.Below(sizes.buffer_size)] ^= input_.Byte();
        }
        const bool registered = buffer.odd == nullptr || buffer.odd->is_registered;
        ImportTensor(message, files, registered ? &label : nullptr, nullptr);
      }
      for (const int32_t file : files) {
        CheckEqual("an import leaves the files", 0, close(file));
      }
    }
    tensor->deleter(tensor);
    AfterQuery();
  }

  // Imports what a process has exported: with this label, and with these bytes if it is given.
  void ImportTensor(const std::vector<uint8_t>& message, const std::vector<int32_t>& files,
                    const DLDevice* label, const Bytes* content) {
    DLBridgeStream none = DLBRIDGE_STREAM_INIT;
    none.kind = DLBRIDGE_STREAM_NO_SYNC;
    const size_t stream = TakeStream();
    DLBridgeIpcImportSpec spec = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
    spec.buffer = message.data();
    spec.buffer_size = message.size();
    spec.fds = files.empty() ? nullptr : files.data();
    spec.fd_count = files.size();
    spec.stream = input_.Pick<const DLBridgeStream*>({nullptr, &streams_[stream], &none});
    DLManagedTensorVersioned* copy = nullptr;
    const DLBridgeStatus status =
        Query([&](DLBridgeError* error) { return dlbridge_ipc_import(&spec, &copy, error); });
    CheckEqual("a tensor on success only", status == DLBRIDGE_OK, copy != nullptr);
    Check([&] { return std::string("an import: ") + dlbridge_status_name(status); },
          status == DLBRIDGE_OK || failed_ || content == nullptr || driver_.may_refuse_import());
    if (copy != nullptr) {
      CheckImported(*copy, label, content, stream);
      copy->deleter(copy);
    }
    AfterQuery();
  }
  void CheckImported(const DLManagedTensorVersioned& copy, const DLDevice* label,
                     const Bytes* content, size_t stream) {
    Check("the label of an import", label == nullptr || IsSame(copy.dl_tensor.device, *label));
    if (content != nullptr && !lost_) {
      Synchronize(stream);
      DLBridgeBuffer memory = buffers_[0].memory;
      memory.handle = reinterpret_cast<uintptr_t>(copy.dl_tensor.data) + copy.dl_tensor.byte_offset;
      Check("the bytes of an import", driver_.Peek(memory, content->size()) == *content);
    }
  }

  static void Named(const char* step) { Trace() += std::string(step) + "\n"; }

  void Step() {
    const auto step = static_cast<size_t>(input_.Below(32));
    switch (step) {
      case 0:
      case 1:
      case 2:
        return Named("CopyAsync"), CopyAsync();
      case 3:
      case 4:
        return Named("CopyLoan"), CopyLoan();
      case 5:
      case 6:
        return Named("CopyToLoan"), CopyToLoan();
      case 7:
        return Named("CopyNow"), CopyNow();
      case 8:
        return Named("Work"), Work();
      case 9:
      case 10:
        return Named("ReleaseAfter"), ReleaseAfter();
      case 11:
        return Named("Capture"), Capture();
      case 12:
        return Named("Collect"), Collect(input_.Flag() ? DLBRIDGE_COLLECT_WAIT : 0);
      case 13:
        return Named("Handoff"), Handoff();
      case 14:
        return Named("Synchronize"), Synchronize(TakeStream());
      case 15:
      case 16:
        return Named("PointerInfo"), PointerInfo();
      case 17:
        return Named("WrapChecked"), WrapChecked();
      case 18:
        return Named("ContextFind"), ContextFind();
      case 19:
        return Named("OddStreams"), OddStreams();
      case 20:
        return Named("Travel"), Travel(*TakeBuffer());
      case 21:
        return Named("Verify"), Verify(TakeBuffer());
      default:
        return OtherStep(step - 22);
    }
  }
  // Steps 0 to 9 of a derived class.
  virtual void OtherStep(size_t step) = 0;

  // Everything has its last value, nothing is held, and the driver saw no wrong call.
  void End() {
    for (Buffer& buffer : buffers_) {
      Verify(&buffer);
    }
    Collect(DLBRIDGE_COLLECT_WAIT);
    for (size_t i = 0; i < kStreams; ++i) {
      Synchronize(i);
    }
    for (Loan& loan : loans_) {
      CheckEqual("releases of the memory of a step", 1, loan.released);
      if (loan.memory.device >= 0 && (!lost_ || driver_.settles_all())) {
        driver_.Free(loan.memory.memory);
      }
    }
    driver_.CheckEnd(lost_);
    if (lost_ && !driver_.settles_all()) {
      static auto& abandoned = *new std::list<Loan>;
      static auto& kernels = *new std::list<Bytes>;
      abandoned.splice(abandoned.end(), loans_);
      kernels.splice(kernels.end(), kernels_);
    }
  }

  Input& input_;
  Driver& driver_;
  std::vector<Buffer>& buffers_;
  DLBridgeStream streams_[kStreams];
  bool failed_ = false;  // a call failed inside the last call of the library
  bool lost_ = false;    // a call of the driver has failed in this program
  std::list<Loan> loans_;
  std::list<Bytes> kernels_;
};

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_DEVICES_PROGRAM_H_
