// SPDX-License-Identifier: Apache-2.0
// The steps of a program that need more of a driver than streams and its plain memory: other kinds
// of memory, captures of two streams, tensors of another process, contexts that end, and devices
// that fail.
#ifndef DLBRIDGE_TESTS_FUZZ_DEVICES_WHOLE_PROGRAM_H_
#define DLBRIDGE_TESTS_FUZZ_DEVICES_WHOLE_PROGRAM_H_

#include "fuzz/devices/program.h"
#include "fuzz/support/handlers.h"

namespace dlbridge_fuzz {

class WholeProgram final : public Program {
 public:
  using Program::Program;

 private:
  void OtherStep(size_t step) override {
    switch (step) {
      case 0:
        return Named("Odd"), Odd();
      case 1:
        return Named("OddRelease"), OddRelease();
      case 2:
        return Named("CaptureTwo"), CaptureTwo();
      case 3:
      case 4:
        return Named("ImportExported"), ImportExported();
      case 5:
      case 6:
        return Named("Pass"), Pass();
      case 7:
        return Named("Break"), Break();
      case 8:
        return Named("WithContext"), WithContext();
      default:
        return Named("CopyInto"), CopyInto();
    }
  }

  // ------------------------------------------------------------------------ other kinds of memory

  void Odd() {
    if (driver_.odd_kinds() == 0) {
      return;
    }
    const auto kind = static_cast<size_t>(input_.Below(driver_.odd_kinds()));
    const OddMemory odd =
        driver_.AllocateOdd(kind, static_cast<int>(input_.Below(kDevices)), kSize);
    Trace() += "  kind " + std::to_string(kind) + "\n";
    Buffer buffer;
    buffer.device = odd.device;
    buffer.memory = odd.memory;
    buffer.odd = &odd;
    if (odd.is_copied) {
      Fill(&buffer, 99);
    }
    for (uint64_t count = 1 + input_.Below(3); count != 0 && !lost_; --count) {
      OddAction(&buffer, odd);
    }
    if (lost_) {
      // Unfinished work may use it.
      static auto& abandoned = *new std::list<OddMemory>;
      abandoned.push_back(odd);
      return;
    }
    if (odd.is_copied) {
      Verify(&buffer);
    }
    driver_.FreeOdd(odd);
  }

  void OddAction(Buffer* buffer, const OddMemory& odd) {
    const auto action = input_.Below(6);
    if (action == 0) {
      return AskOdd(*buffer, odd);
    }
    if (action == 1) {
      return WrapOdd(*buffer, odd);
    }
    if (action == 5 && odd.is_wrapped) {
      return Travel(*buffer);
    }
    if (action == 4 && odd.twin_size != 0) {
      return CopyToTwin(buffer, odd);
    }
    if (!odd.is_copied) {
      return odd.is_rejected ? RejectCopy(*buffer) : AskOdd(*buffer, odd);
    }
    if (action == 2) {
      return CopyOut(buffer);
    }
    return action == 3 || !odd.is_writable ? CopyBetween(buffer, TakeBuffer())
                                           : CopyBetween(TakeBuffer(), buffer);
  }

  // Copies from a buffer to another one that shares its bytes.
  void CopyToTwin(Buffer* buffer, const OddMemory& odd) {
    const size_t stream = TakeStream();
    const Layout layout = TakeLayout();
    const Bytes gathered = Gather(layout, buffer->content);
    const auto at = static_cast<int64_t>(input_.Below(odd.twin_size - gathered.size() + 1));
    Order(buffer, stream);
    DLManagedTensorVersioned* source = Wrap(*buffer, layout, nullptr, 0);
    DLBridgeCopySpec spec =
        TargetSpec(*buffer, static_cast<size_t>(at), gathered.size(), stream, nullptr);
    spec.target = odd.twin;
    DLManagedTensorVersioned* copy = nullptr;
    const DLBridgeStatus status =
        Try([&](DLBridgeError* error) { return dlbridge_copy_async(source, &spec, &copy, error); });
    source->deleter(source);
    const int64_t begin = at - odd.twin_begin;  // in the buffer
    if (Overlaps(layout, begin, gathered.size()) && !failed_) {
      CheckStatus(DLBRIDGE_ERROR_INVALID_ARGUMENT, status);
    }
    if (status != DLBRIDGE_OK) {
      Recover();
      return lost_ ? void() : Poke(&driver_, *buffer, buffer->content);
    }
    copy->deleter(copy);
    for (int64_t i = 0; i < static_cast<int64_t>(gathered.size()); ++i) {
      if (begin + i >= 0 && begin + i < static_cast<int64_t>(kSize)) {
        buffer->content[static_cast<size_t>(begin + i)] = gathered[static_cast<size_t>(i)];
      }
    }
  }

  void AskOdd(const Buffer& buffer, const OddMemory& odd) {
    DLBridgeBuffer asked = buffer.memory;
    if (asked.kind == DLBRIDGE_BUFFER_ADDRESS) {
      asked.handle += input_.Below(kSize);
    }
    const DLDevice label = TakeLabel(buffer);
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    info.options = input_.Flag() ? DLBRIDGE_POINTER_INFO_PEERS : 0;
    const DLBridgeStatus status = Query(
        [&](DLBridgeError* error) { return dlbridge_pointer_info(&asked, label, &info, error); });
    if (status == DLBRIDGE_OK && !failed_ && odd.found != 0 && IsSame(label, odd.label)) {
      CheckEqual("the kind of memory", odd.found, info.memory);
      Check("the label", IsSame(info.device, odd.label));
    }
    Check("memory of the driver is known",
          status == DLBRIDGE_OK || failed_ || odd.found == 0 || !IsSame(label, odd.label));
    AfterQuery();
  }

  void WrapOdd(const Buffer& buffer, const OddMemory& odd) {
    DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
    policy.level = DLBRIDGE_LEVEL_DEVICE;
    DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
    spec.policy = &policy;
    spec.buffer = buffer.memory;
    spec.device = TakeLabel(buffer);
    spec.dtype = {kDLUInt, 8, 1};
    spec.ndim = 1;
    const int64_t shape = static_cast<int64_t>(input_.Below(kSize + 1));
    spec.shape = &shape;
    const bool read_only = input_.Flag();
    spec.tensor_flags = read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    DLManagedTensorVersioned* tensor = nullptr;
    const DLBridgeStatus status =
        Query([&](DLBridgeError* error) { return dlbridge_wrap(&spec, &tensor, error); });
    CheckEqual("a tensor on success only", status == DLBRIDGE_OK, tensor != nullptr);
    Check("memory in its place is wrapped", status == DLBRIDGE_OK || failed_ || odd.found == 0 ||
                                                !IsSame(spec.device, odd.label) ||
                                                (!read_only && !odd.is_writable));
    // If the label names another device type, the memory is not this driver's. An empty tensor
    // touches no memory.
    Check("memory that kernels only read is READ_ONLY",
          status != DLBRIDGE_OK || odd.is_writable || read_only || failed_ || shape == 0 ||
              spec.device.device_type != odd.label.device_type);
    if (tensor != nullptr) {
      tensor->deleter(tensor);
    }
    AfterQuery();
  }

  // Memory is released once, also after work on a special stream or on one that is rejected.
  void OddRelease() {
    const DLBridgeStream stream = TakeOddStream();
    Loan* loan = Lend(static_cast<int>(input_.Below(kDevices)), Bytes(kSize, 0x77));
    DLManagedTensorVersioned* tensor = Wrap(loan->memory, Layout(), loan, 0);
    const DLBridgeStatus status = Try([&](DLBridgeError* error) {
      return dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED, &stream, 1, error);
    });
    if (status != DLBRIDGE_OK) {
      CheckEqual("releases after a failure", 0, loan->released);
      tensor->deleter(tensor);
      CheckEqual("releases", 1, loan->released);
      AfterQuery();
    }
  }

  // A copy of what is no buffer, or cannot be read, fails and leaves nothing.
  void RejectCopy(const Buffer& buffer) {
    DLManagedTensorVersioned* source = Wrap(buffer, Layout(), nullptr, 0);
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    spec.stream = streams_[TakeStream()];
    DLManagedTensorVersioned* copy = nullptr;
    const DLBridgeStatus status = Try([&](DLBridgeError* error) {
      return dlbridge_copy(&source->dl_tensor, 0, &spec, &copy, error);
    });
    Check("a copy of what is no buffer is rejected", status != DLBRIDGE_OK && copy == nullptr);
    source->deleter(source);
    AfterQuery();
  }

  // Copies from or to a device and waits, with both ends of any kind.
  void CopyInto() {
    Buffer* from = TakeBuffer();
    Buffer* to = TakeBuffer();
    const size_t stream = TakeStream();
    const Layout layout = TakeLayout();
    const Bytes gathered = Gather(layout, from->content);
    if (from == to) {
      return;
    }
    const bool with_stream = input_.Flag();
    if (with_stream) {
      Order(from, stream);
      Order(to, stream);
    } else {
      Await(from);
      Await(to);
    }
    DLManagedTensorVersioned* source = Wrap(*from, layout, nullptr, 0);
    DLBridgeCopySpec spec = TargetSpec(*to, 0, gathered.size(), stream, nullptr);
    spec.stream = with_stream ? spec.stream : DLBridgeStream DLBRIDGE_STREAM_INIT;
    spec.options = input_.Flag() ? DLBRIDGE_COPY_ALLOW_STAGING : 0;
    if (to->device >= 0 && input_.OneIn(4)) {
      spec.device = driver_.Label(static_cast<int>(input_.Below(kDevices)));
    }
    const bool labelled = IsSame(spec.device, LabelOf(*to));
    DLManagedTensorVersioned* copy = nullptr;
    const DLBridgeStatus status = Try([&](DLBridgeError* error) {
      return dlbridge_copy(&source->dl_tensor, 0, &spec, &copy, error);
    });
    Check("a plain copy succeeds",
          status == DLBRIDGE_OK || failed_ || !labelled || !IsPlain(*from, *to, stream, layout));
    source->deleter(source);
    if (status != DLBRIDGE_OK) {
      return Recover();
    }
    copy->deleter(copy);
    std::copy(gathered.begin(), gathered.end(), to->content.begin());
    if (!with_stream) {
      Check("a copy that waits is whole when it returns", Peek(&driver_, *to) == to->content);
    }
  }

  // ------------------------------------------------------------------------------------- captures

  // Hand-offs between two streams, one or both of which capture a graph.
  void CaptureTwo() {
    const size_t a = TakeStream();
    const size_t b = (a + 1 + input_.Below(kStreams - 1)) % kStreams;
    Synchronize(a);
    Synchronize(b);
    const auto mode = static_cast<unsigned>(input_.Below(3));
    const uint32_t options = input_.Flag() ? DLBRIDGE_HANDOFF_ALLOW_CAPTURE : 0;
    const auto choice = input_.Below(5);
    if (!driver_.BeginCapture(a, mode)) {
      return;
    }
    if (choice == 1) {
      driver_.BeginCapture(b, mode);
    }
    if (choice == 2) {
      driver_.InvalidateCapture(a);
    }
    const DLBridgeStatus status = HandOver(a, b, options);
    if (choice == 0 || choice > 2) {
      CheckStatus(options != 0 ? DLBRIDGE_OK : DLBRIDGE_ERROR_CAPTURE, status);
    } else {
      CheckStatus(DLBRIDGE_ERROR_CAPTURE, status);
    }
    // Back again: within one graph both streams are ordered, and a capture waits for nothing else.
    CheckStatus(driver_.knows_captures() ? status : DLBRIDGE_ERROR_CAPTURE,
                HandOver(b, a, options));
    if (choice == 3) {
      WhileCapturing(b);
    }
    if (choice == 2) {
      driver_.AbandonCapture(a);
    } else {
      driver_.EndCapture(a);
    }
    if (choice == 1 || (choice != 2 && options != 0)) {
      driver_.LeaveCapture(b);
    }
  }
  DLBridgeStatus HandOver(size_t producer, size_t consumer, uint32_t options) {
    DLBridgeError error = GarbageError();
    const DLBridgeStatus status =
        dlbridge_stream_handoff(&streams_[producer], &streams_[consumer], options, &error);
    CheckError(status, error);
    return status;
  }
  // Calls that have nothing to do with a capture leave it whole.
  void WhileCapturing(size_t other) {
    Collect(0);
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    const Buffer& buffer = *TakeBuffer();
    const DLBridgeStatus status =
        dlbridge_pointer_info(&buffer.memory, LabelOf(buffer), &info, nullptr);
    CheckStatus(DLBRIDGE_OK, status);
    static_cast<void>(other);
  }

  // ------------------------------------------------------------------------------ other processes

  void ImportExported() {
    const std::vector<Exported>& exports = driver_.Exports();
    if (exports.empty()) {
      return;
    }
    const Exported& from = exports[input_.Below(exports.size())];
    std::vector<uint8_t> bytes = from.descriptor;
    std::vector<int32_t> fds = from.fds;
    const bool altered = input_.OneIn(3);
    const DLDevice label = driver_.Label(from.device);
    if (!altered) {
      return ImportTensor(bytes, fds, &label, &from.content);
    }
    driver_.CheckRules();
    Alter(&bytes, &fds);
    ImportTensor(bytes, fds, nullptr, nullptr);
    driver_.Forgive();
  }

  // What a hostile peer sends: a correct checksum over other fields. Offsets: docs/ipc.md.
  void Alter(std::vector<uint8_t>* bytes, std::vector<int32_t>* fds) {
    constexpr size_t kHandleLength = 88;
    constexpr size_t kFdCount = 92;
    uint32_t handle_length = 0;
    std::memcpy(&handle_length, bytes->data() + kHandleLength, 4);
    for (uint64_t count = 1 + input_.Below(3); count != 0; --count) {
      const size_t handle = bytes->size() - std::min<size_t>(handle_length, bytes->size());
      switch (input_.Below(7)) {
        case 0:
          (*bytes)[input_.Below(bytes->size())] ^= static_cast<uint8_t>(1 + input_.Below(255));
          break;
        case 1:
        case 2: {  // a small number in the driver's part
          const size_t at = handle + input_.Below(std::max<size_t>(bytes->size() - handle, 1));
          if (at < bytes->size()) {
            (*bytes)[at] = static_cast<uint8_t>(input_.Pick<int>({0, 1, 2, 3, 255, 16, 64}));
          }
          break;
        }
        case 3:
          bytes->push_back(0);
          ++handle_length;
          break;
        case 4:
          bytes->pop_back();
          handle_length -= handle_length == 0 ? 0 : 1;
          break;
        case 5: {
          const auto& other = driver_.Exports()[input_.Below(driver_.Exports().size())].fds;
          fds->push_back(other.empty() || input_.Flag() ? -1 : other[0]);
          break;
        }
        default:
          if (!fds->empty()) {
            if (input_.Flag()) {
              fds->pop_back();
            } else {
              (*fds)[0] = -1;
            }
          }
      }
    }
    const auto length = static_cast<uint32_t>(bytes->size());
    const auto files = static_cast<uint32_t>(fds->size());
    if (!input_.OneIn(8)) {
      std::memcpy(bytes->data() + 12, &length, 4);
      std::memcpy(bytes->data() + kHandleLength, &handle_length, 4);
      std::memcpy(bytes->data() + kFdCount, &files, 4);
    }
    Sum(bytes);
  }
  static void Sum(std::vector<uint8_t>* bytes) {
    std::fill_n(bytes->begin() + 16, 8, uint8_t{0});
    uint64_t sum = 0xcbf29ce484222325U;
    for (const uint8_t byte : *bytes) {
      sum = (sum ^ byte) * 0x100000001b3U;
    }
    std::memcpy(bytes->data() + 16, &sum, sizeof sum);
  }

  // ---------------------------------------------------------------------------- contexts that end

  // Work on a stream whose context ends before the library has looked at it.
  void Pass() {
    Passing passing;
    if (!driver_.MakePassing(static_cast<int>(input_.Below(kDevices)),
                             static_cast<unsigned>(input_.Below(4)), &passing)) {
      return;
    }
    OddMemory odd;
    odd.device = passing.device;
    odd.memory = passing.memory;
    odd.label = passing.label;
    Buffer buffer;
    buffer.device = passing.device;
    buffer.memory = passing.memory;
    buffer.odd = &odd;
    Fill(&buffer, 77);
    for (uint64_t count = 1 + input_.Below(4); count != 0 && !lost_; --count) {
      PassingAction(passing, &buffer);
    }
    if (passing.needs_wait) {
      CheckStatus(DLBRIDGE_OK, dlbridge_stream_synchronize(&passing.stream, nullptr));
    }
    if (input_.Flag()) {
      Collect(DLBRIDGE_COLLECT_WAIT);
    }
    driver_.EndPassing(&passing, lost_);
    Collect(input_.Flag() ? DLBRIDGE_COLLECT_WAIT : 0);
    if (lost_) {
      Recover();
    }
  }

  void PassingAction(const Passing& passing, Buffer* buffer) {
    switch (input_.Below(6)) {
      case 0:
        return CopyFromPassing(passing, buffer);
      case 1:
        return ReleaseAfterPassing(passing);
      case 2: {
        const size_t other = TakeStream();
        const bool from = input_.Flag();
        const uint32_t options = input_.Flag() ? DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT : 0;
        Try([&](DLBridgeError* error) {
          return dlbridge_stream_handoff(from ? &passing.stream : &streams_[other],
                                         from ? &streams_[other] : &passing.stream, options, error);
        });
        return;
      }
      case 3: {
        const DLBridgeStatus status = Try([&](DLBridgeError* error) {
          return dlbridge_stream_synchronize(&passing.stream, error);
        });
        Check("a wait succeeds", status == DLBRIDGE_OK || failed_);
        return;
      }
      case 4:
        AskOdd(*buffer, *buffer->odd);
        return;
      default:
        return Travel(*buffer);
    }
  }

  // Its bytes, by a copy on its own stream or on one of the library's choice.
  void CopyFromPassing(const Passing& passing, Buffer* buffer) {
    const Layout layout = TakeLayout();
    const Bytes gathered = Gather(layout, buffer->content);
    DLManagedTensorVersioned* source = Wrap(*buffer, layout, nullptr, 0);
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    if (!input_.OneIn(3) || !passing.is_found) {
      spec.stream = passing.stream;
    }
    DLManagedTensorVersioned* copy = nullptr;
    const DLBridgeStatus status = Try([&](DLBridgeError* error) {
      return dlbridge_copy(&source->dl_tensor, 0, &spec, &copy, error);
    });
    Check("a compact copy succeeds", status == DLBRIDGE_OK || failed_ || !layout.compact);
    if (status == DLBRIDGE_OK) {
      Check("the bytes of a copy",
            gathered.empty() ||
                std::memcmp(copy->dl_tensor.data, gathered.data(), gathered.size()) == 0);
      copy->deleter(copy);
    }
    source->deleter(source);
  }

  void ReleaseAfterPassing(const Passing& passing) {
    Loan* loan = Lend(passing.device, Bytes(kSize, 0x44));
    DLManagedTensorVersioned* tensor = Wrap(loan->memory, Layout(), loan, 0);
    std::vector<DLBridgeStream> streams = {passing.stream};
    if (input_.Flag()) {
      streams.push_back(streams_[TakeStream()]);
    }
    const DLBridgeStatus status = Try([&](DLBridgeError* error) {
      return dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED, streams.data(), streams.size(),
                                    error);
    });
    Check("a release succeeds", status == DLBRIDGE_OK || failed_);
    if (status != DLBRIDGE_OK) {
      CheckEqual("releases after a failure", 0, loan->released);
      tensor->deleter(tensor);
      CheckEqual("releases", 1, loan->released);
    }
  }

  // ----------------------------------------------------------------------------- devices that fail

  // A fault ends the work of a device. What the library held for the work is released once.
  void Break() {
    const auto device = static_cast<int>(input_.Below(kDevices));
    const auto stream = 2 * static_cast<size_t>(device) + input_.Below(2);
    for (Buffer& buffer : buffers_) {
      Await(&buffer);
    }
    for (Loan& loan : loans_) {
      loan.expected = nullptr;
    }
    Loan* loan = Lend(device, Bytes(kSize, 0x55));
    Loan* other = Lend(device, Bytes(kSize, 0x66));
    ReleaseAfterOn(stream, loan);
    if (!driver_.Break(device, static_cast<unsigned>(input_.Below(8)))) {
      other->released = 1;  // there is no tensor of it
      return;
    }
    lost_ = true;
    ReleaseAfterOn(stream, other);
    for (uint64_t count = 1 + input_.Below(4); count != 0; --count) {
      BrokenAction(stream);
    }
    if (driver_.loses_work() || input_.Flag()) {
      dlbridge_collect(DLBRIDGE_COLLECT_WAIT, nullptr, nullptr);
    }
    Check("at most one release", loan->released <= 1 && other->released <= 1);
    driver_.Mend(device);
    driver_.Settle();
    Recover();
  }
  void ReleaseAfterOn(size_t stream, Loan* loan) {
    DLManagedTensorVersioned* tensor = Wrap(loan->memory, Layout(), loan, 0);
    DLBridgeError error = GarbageError();
    const DLBridgeStatus status =
        dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED, &streams_[stream], 1, &error);
    CheckError(status, error);
    if (status != DLBRIDGE_OK) {
      CheckEqual("releases after a failure", 0, loan->released);
      tensor->deleter(tensor);
      CheckEqual("releases", 1, loan->released);
    }
  }
  void BrokenAction(size_t stream) {
    DLBridgeError error = GarbageError();
    DLBridgeStatus status = DLBRIDGE_OK;
    const size_t other = TakeStream();
    switch (input_.Below(6)) {
      case 0:
        status = dlbridge_stream_handoff(&streams_[other], &streams_[stream], 0, &error);
        break;
      case 1:
        status = dlbridge_stream_synchronize(&streams_[stream], &error);
        break;
      case 2:
        status = dlbridge_stream_handoff(&streams_[stream], &streams_[other], 0, &error);
        break;
      case 3: {
        size_t left = 0;
        status = dlbridge_collect(input_.Flag() ? DLBRIDGE_COLLECT_WAIT : 0, &left, &error);
        break;
      }
      case 4: {
        DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
        const Buffer& buffer = buffers_[stream];
        status = dlbridge_pointer_info(&buffer.memory, LabelOf(buffer), &info, &error);
        break;
      }
      default: {
        DLManagedTensorVersioned* source = Wrap(buffers_[stream], Layout(), nullptr, 0);
        DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
        spec.stream = streams_[stream];
        DLManagedTensorVersioned* copy = nullptr;
        status = dlbridge_copy_async(source, &spec, &copy, &error);
        source->deleter(source);
        if (copy != nullptr) {
          copy->deleter(copy);
        }
      }
    }
    CheckError(status, error);
  }

  // ---------------------------------------------------------------------------- the current device

  void WithContext() {
    if (!driver_.Enter(static_cast<int>(input_.Below(kDevices)), input_.Flag())) {
      return;
    }
    switch (input_.Below(8)) {
      case 0:
        PointerInfo();
        break;
      case 1:
        Handoff();
        break;
      case 2:
        CopyAsync();
        break;
      case 3:
        ReleaseAfter();
        break;
      case 4:
        Travel(*TakeBuffer());
        break;
      case 5:
        ImportExported();
        break;
      case 6:
        Odd();
        break;
      default:
        OddStreams();
    }
    driver_.Leave();
  }
};

}  // namespace dlbridge_fuzz

// A target: the program on one driver, which lives as long as the process.
#define DLBRIDGE_FUZZ_DRIVER(type)                                          \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    static const dlbridge_fuzz::Handlers handlers;                          \
    static auto& driver = *new dlbridge_fuzz::type;                         \
    handlers.Restore();                                                     \
    dlbridge_fuzz::Input input(data, size);                                 \
    dlbridge_fuzz::WholeProgram(&input, &driver).Run();                     \
    return 0;                                                               \
  }

#endif  // DLBRIDGE_TESTS_FUZZ_DEVICES_WHOLE_PROGRAM_H_
