// SPDX-License-Identifier: Apache-2.0
#include "native/transfer.h"

#include <atomic>
#include <cstdlib>

#include "describe/boundary.h"
#include "describe/device.h"
#include "native/copy_plan.h"
#include "native/pointer.h"
#include "native/stream.h"

namespace dlbridge {
namespace {

bool IsHostMemory(const DLDevice& device) {
  return DeviceTypeOf(TypeOf(device)).readable == DLBRIDGE_YES;
}

// Finds the backend of the memory. Only kDLOneAPI has two: the one that knows the memory is used.
DLBridgeStatus FindOwner(const Side& side, const char* argument, const Backend** out,
                         DLBridgeError* error) {
  const BackendList list = BackendsOf(TypeOf(side.side.device));
  if (list.count == 0) {
    return RejectDevice(error, DLBRIDGE_ERROR_UNSUPPORTED, argument,
                        "must be on a device whose driver this build can call: CPU, CUDA, ROCm, "
                        "oneAPI or OpenCL",
                        side.side.device);
  }
  *out = list.backends[0];
  if (side.side.buffer.backend != DLBRIDGE_BACKEND_NONE) {
    *out = FindBackend(side.side.buffer.backend);
  } else if (list.count > 1) {
    DLBridgePointerInfo info;
    DLBRIDGE_TRY(AskPointer(side.side.buffer, side.side.device, &info, error));
    if (info.backend == DLBRIDGE_BACKEND_CPU) {
      return RejectStatus(error, DLBRIDGE_ERROR_NOT_FOUND, argument,
                          "is known to no driver in any registered context: register its context "
                          "with dlbridge_context_register");
    }
    *out = FindBackend(info.backend);
  }
  return StartDriver(**out, error);
}

DLBridgeStatus ResolveSide(const char* argument, Side* side, DLBridgeError* error) {
  side->side.on_host = IsHostMemory(side->side.device);
  side->backend = nullptr;
  if (side->side.on_host) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(FindOwner(*side, argument, &side->backend, error));
  side->side.buffer.backend = side->backend->id;
  return DLBRIDGE_OK;
}

// ------------------------------------------------------------------------------- with one driver

// The caller's stream if it belongs to the driver, except for a staged copy. Otherwise the library
// has already waited for the stream.
DLBridgeStream StreamFor(const Transfer& transfer, const Backend& backend) {
  const DLBridgeStream& stream = transfer.spec->stream;
  const bool taken = !transfer.staged && stream.backend == backend.id && IsQueue(stream);
  return taken ? stream : DLBridgeStream{backend.id, 0, {kDLCPU, 0}, 0, 0, 0};
}

// Does a plan take too many calls if each row is one?
bool TooManyRows(const CopyPlan& plan) {
  const uint64_t rows = plan.first.rows * plan.first.planes;
  return rows > static_cast<uint64_t>(kMaxBoxes) ||
         rows * static_cast<uint64_t>(plan.boxes) > static_cast<uint64_t>(kMaxBoxes);
}

DLBridgeStatus RunBoxes(const CopyPlan& plan, const Backend& backend, CopyJob* job,
                        uint64_t from_offset, uint64_t to_offset, DLBridgeError* error) {
  Boxes boxes(plan, from_offset, to_offset);
  do {
    DLBRIDGE_TRY(backend.copy_box(job, boxes.box(), error));
  } while (boxes.Next());
  return DLBRIDGE_OK;
}

// Report the error only if the fallback also fails.
DLBridgeStatus ReportKept(DLBridgeStatus status, const DLBridgeError& kept, DLBridgeError* error) {
  if (status != DLBRIDGE_OK && error != nullptr) {
    *error = kept;
  }
  return status;
}

DLBridgeStatus RejectStaging(const Transfer& transfer, DLBridgeError* error) {
  return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "source",
                      transfer.mark == nullptr
                          ? "layout needs more than 4096 copies of one driver, or two drivers; set "
                            "DLBRIDGE_COPY_ALLOW_STAGING to copy through host memory"
                          : "layout needs more than 4096 copies of one driver, or two drivers, "
                            "which no stream can order: call dlbridge_copy with "
                            "DLBRIDGE_COPY_ALLOW_STAGING");
}

// Waits for the work that was started, also after a failure, unless the work is to be marked.
// Reports the first failure.
DLBridgeStatus EndJob(const Transfer& transfer, const Backend& backend, CopyJob* job,
                      DLBridgeStatus status, DLBridgeError* error) {
  const bool succeeded = status == DLBRIDGE_OK;
  const DLBridgeStatus ended = succeeded && transfer.mark != nullptr
                                   ? backend.copy_submit(job, transfer.mark, error)
                                   : backend.copy_finish(job, succeeded ? error : nullptr);
  *transfer.unfinished = *transfer.unfinished || job->unfinished;
  return succeeded ? ended : status;
}

// Carries out a plan.
DLBridgeStatus RunPlan(const Transfer& transfer, const CopyPlan& plan, const Side& from,
                       const Side& to, DLBridgeError* error) {
  const Backend& backend = from.backend != nullptr ? *from.backend : *to.backend;
  CopyJob job = {from.side, to.side, StreamFor(transfer, backend), transfer.mark != nullptr, false,
                 false,     {}};
  DLBRIDGE_TRY(backend.copy_begin(&job, error));
  const DLBridgeStatus status = job.rows_alone && TooManyRows(plan)
                                    ? RejectStaging(transfer, error)
                                    : RunBoxes(plan, backend, &job, from.offset, to.offset, error);
  return EndJob(transfer, backend, &job, status, error);
}

DLBridgeStatus RunBytes(const Transfer& transfer, uint64_t bytes, const Side& from, const Side& to,
                        DLBridgeError* error) {
  CopyPlan plan;
  plan.first = {bytes, 1, 1, 0, 0, 0, 0, 0, 0};
  plan.outer.axes = 0;
  plan.boxes = 1;
  return RunPlan(transfer, plan, from, to, error);
}

// Plans the whole copy if no bits must be rearranged. Elements that are not whole bytes can only be
// copied as one run.
bool PlanTransfer(const Transfer& transfer, CopyPlan* out) {
  if (transfer.widths.from != transfer.widths.to) {
    return false;
  }
  const Walk walk =
      MakeWalk(transfer.layout->ndim(), transfer.layout->shape(), transfer.layout->strides());
  const uint32_t bits = transfer.widths.from;
  if (bits % 8 == 0) {
    return PlanCopy(walk, bits / 8, out);
  }
  if (walk.axes > 1 || (walk.axes == 1 && walk.last_stride() != 1)) {
    return false;
  }
  // On a device, the unused bits of the last byte are unspecified.
  const Walk bytes = {{static_cast<int64_t>(transfer.packed)}, {1}, 1};
  return PlanCopy(bytes, 1, out);
}

// --------------------------------------------------------------------------- through the host

// The header of host memory that a staged copy uses. If waiting for a driver failed, the driver may
// still use the memory: it is leaked into this list.
struct alignas(16) SetAside {
  SetAside* next;
};
std::atomic<SetAside*> g_set_aside;

void Keep(SetAside* memory) {
  memory->next = g_set_aside.load(std::memory_order_relaxed);
  while (!g_set_aside.compare_exchange_weak(memory->next, memory, std::memory_order_release,
                                            std::memory_order_relaxed)) {
  }
}

// Host memory for a staged copy; freed or leaked by the destructor.
class Bounce {
 public:
  Bounce(uint64_t bytes, const bool* unfinished)
      : block_(static_cast<SetAside*>(std::malloc(sizeof(SetAside) + bytes))),
        unfinished_(unfinished) {}
  ~Bounce() {
    if (block_ != nullptr && *unfinished_) {
      Keep(block_);
    } else {
      std::free(block_);
    }
  }
  Bounce(const Bounce&) = delete;
  Bounce& operator=(const Bounce&) = delete;
  void* memory() const { return block_ != nullptr ? block_ + 1 : nullptr; }
  Side side() const {
    return {{true, MakeDevice(kDLCPU, 0), dlbridge_buffer_address(memory())}, 0, nullptr};
  }

 private:
  SetAside* block_;
  const bool* unfinished_;
};

void* AddressOf(const Side& side) {
  return reinterpret_cast<void*>(side.side.buffer.handle + side.offset);
}

void CopyOnHost(const Transfer& transfer, const void* from, void* to) {
  CopyElements(from, *transfer.layout, transfer.widths, to);
}

// Copies all bytes between the lowest and the highest element to the host, and arranges them there.
DLBridgeStatus FetchExtent(const Transfer& transfer, void* to, DLBridgeError* error) {
  const ByteExtent& reach = transfer.reach;
  const auto bytes = static_cast<uint64_t>(reach.end - reach.begin);
  const Bounce extent(bytes, transfer.unfinished);
  if (extent.memory() == nullptr) {
    return RejectMemory(error);
  }
  Side lowest = transfer.from;
  lowest.offset += static_cast<uint64_t>(reach.begin);
  DLBRIDGE_TRY(RunBytes(transfer, bytes, lowest, extent.side(), error));
  CopyOnHost(transfer, static_cast<char*>(extent.memory()) - reach.begin, to);
  return DLBRIDGE_OK;
}

// Makes the compact copy in host memory.
DLBridgeStatus Fetch(const Transfer& transfer, const Side& to, DLBridgeError* error) {
  if (transfer.from.backend == nullptr) {
    CopyOnHost(transfer, AddressOf(transfer.from), AddressOf(to));
    return DLBRIDGE_OK;
  }
  CopyPlan plan;
  if (PlanTransfer(transfer, &plan) && !TooManyRows(plan)) {
    return RunPlan(transfer, plan, transfer.from, to, error);
  }
  return FetchExtent(transfer, AddressOf(to), error);
}

DLBridgeStatus Stage(const Transfer& transfer, DLBridgeError* error) {
  if (transfer.to.backend == nullptr) {
    return Fetch(transfer, transfer.to, error);
  }
  const Bounce compact(transfer.packed, transfer.unfinished);
  if (compact.memory() == nullptr) {
    return RejectMemory(error);
  }
  DLBRIDGE_TRY(Fetch(transfer, compact.side(), error));
  return RunBytes(transfer, transfer.packed, compact.side(), transfer.to, error);
}

// ------------------------------------------------------------------------------------ the choice

bool OneDriver(const Transfer& transfer) {
  return transfer.from.backend == nullptr || transfer.to.backend == nullptr ||
         transfer.from.backend == transfer.to.backend;
}

// Copies with the driver alone. UNSUPPORTED if the driver cannot; then nothing was started.
DLBridgeStatus CarryDirectly(const Transfer& transfer, DLBridgeError* error) {
  CopyPlan plan;
  if (!OneDriver(transfer) || !PlanTransfer(transfer, &plan)) {
    return RejectStaging(transfer, error);
  }
  return RunPlan(transfer, plan, transfer.from, transfer.to, error);
}

DLBridgeStatus Carry(Transfer* transfer, DLBridgeError* error) {
  if (!kHasDrivers || (transfer->from.backend == nullptr && transfer->to.backend == nullptr)) {
    CopyOnHost(*transfer, AddressOf(transfer->from), AddressOf(transfer->to));
    return DLBRIDGE_OK;
  }
  if ((transfer->spec->options & DLBRIDGE_COPY_ALLOW_STAGING) == 0) {
    return CarryDirectly(*transfer, error);
  }
  DLBridgeError kept;
  const DLBridgeStatus status = CarryDirectly(*transfer, &kept);
  if (status != DLBRIDGE_ERROR_UNSUPPORTED) {
    return ReportKept(status, kept, error);
  }
  // Work on the caller's stream must finish first, whether it uses the source or the target.
  transfer->staged = true;
  if (IsQueue(transfer->spec->stream)) {
    DLBRIDGE_TRY(dlbridge_stream_synchronize(&transfer->spec->stream, error));
  }
  return Stage(*transfer, error);
}

// A stream of a backend that takes no part in the transfer still orders it: wait for its work.
DLBridgeStatus AwaitStream(const Transfer& transfer, DLBridgeError* error) {
  const DLBridgeStream& stream = transfer.spec->stream;
  const Backend* first =
      transfer.from.backend != nullptr ? transfer.from.backend : transfer.to.backend;
  if (!IsQueue(stream) ||
      (first != nullptr && first->id == stream.backend && OneDriver(transfer))) {
    return DLBRIDGE_OK;
  }
  return dlbridge_stream_synchronize(&stream, error);
}

// Where a side begins: in memory of one driver, or of the host (NULL).
struct Place {
  const Backend* backend;
  uint64_t object;  // a handle; 0: addresses
  uint64_t begin;
  bool read_only;  // kernels must not write there
};

DLBridgeStatus Locate(const Side& side, uint64_t offset, Place* out, DLBridgeError* error) {
  const DLBridgeBuffer& buffer = side.side.buffer;
  // The host's memory is always an address.
  if (!kHasDrivers || buffer.kind == DLBRIDGE_BUFFER_ADDRESS || side.backend == nullptr) {
    *out = {side.backend, 0, buffer.handle + offset, false};
    return DLBRIDGE_OK;
  }
  HandleFacts facts = {buffer, 0, false};
  DLBRIDGE_TRY(side.backend->describe_handle(buffer, &facts, error));
  const uint64_t handle = facts.memory.handle;
  const uint64_t begin = facts.offset + offset;
  if (facts.memory.kind == DLBRIDGE_BUFFER_ADDRESS) {
    *out = {nullptr, 0, handle + begin, facts.read_only};
  } else {
    *out = {side.backend, handle, begin, facts.read_only};
  }
  return DLBRIDGE_OK;
}

// Rejects two sides that share bytes.
DLBridgeStatus CheckPlaces(const Transfer& transfer, DLBridgeError* error) {
  Place from;
  Place to;
  const auto first = static_cast<uint64_t>(transfer.reach.begin);
  DLBRIDGE_TRY(Locate(transfer.from, transfer.from.offset + first, &from, error));
  DLBRIDGE_TRY(Locate(transfer.to, transfer.to.offset, &to, error));
  *transfer.read_only = to.read_only;
  const auto bytes = static_cast<uint64_t>(transfer.reach.end - transfer.reach.begin);
  const bool same = from.backend == to.backend && from.object == to.object;
  return same && from.begin < to.begin + transfer.packed && to.begin < from.begin + bytes
             ? RejectArgument(
                   error, "spec.target",
                   "shares bytes with the source, or lies between two of them: use other memory")
             : DLBRIDGE_OK;
}

// Only a queue of the one driver that copies can order the copy.
DLBridgeStatus CheckOrdered(const Transfer& transfer, DLBridgeError* error) {
  const Backend* backend =
      transfer.from.backend != nullptr ? transfer.from.backend : transfer.to.backend;
  if (backend == nullptr) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the copy",
                        "is between two memories of the host, which no queue can order: call "
                        "dlbridge_copy, which waits for the stream");
  }
  if (backend->id != transfer.spec->stream.backend) {
    return RejectBackend(
        error, "spec.stream.backend",
        transfer.from.backend != nullptr ? transfer.from.side.device : transfer.to.side.device,
        transfer.spec->stream.backend);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus Enqueue(const Transfer& transfer, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckOrdered(transfer, error));
  return kHasDrivers ? CarryDirectly(transfer, error) : RejectStaging(transfer, error);
}

}  // namespace

DLBridgeStatus Move(Transfer* transfer, DLBridgeError* error) {
  DLBRIDGE_TRY(ResolveSide("source", &transfer->from, error));
  DLBRIDGE_TRY(ResolveSide("spec.target", &transfer->to, error));
  DLBRIDGE_TRY(CheckPlaces(*transfer, error));
  if (transfer->mark != nullptr) {
    return Enqueue(*transfer, error);
  }
  DLBRIDGE_TRY(AwaitStream(*transfer, error));
  return Carry(transfer, error);
}

}  // namespace dlbridge
