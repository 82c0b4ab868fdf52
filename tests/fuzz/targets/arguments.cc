// SPDX-License-Identifier: Apache-2.0
// Calls that are right but for one argument, at most. For each way to spoil a call the target has
// the status that dlbridge.h documents. A failing call writes nothing but its error, calls no
// callback and leaves its input to the caller. No driver is there: a call that needs one is
// UNAVAILABLE.
#ifdef __linux__
#include <unistd.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/model/layout.h"
#include "fuzz/support/check.h"
#include "fuzz/support/hidden_drivers.h"
#include "fuzz/support/input.h"
#include "fuzz/support/memory.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {
namespace {

constexpr DLBridgeStatus kWrong = DLBRIDGE_ERROR_INVALID_ARGUMENT;
constexpr DLBridgeStatus kNewer = DLBRIDGE_ERROR_TOO_NEW;
constexpr DLBridgeStatus kAbsent = DLBRIDGE_ERROR_UNAVAILABLE;
constexpr size_t kElements = 6;

int g_calls = 0;  // of callbacks

GuardedMemory& Blocks() {
  static GuardedMemory memory(16);
  return memory;
}

// The struct in memory that ends at an unreadable page, maybe in its first version, of `first`
// bytes.
template <class T>
T* Old(Input* input, const T& value, size_t first) {
  const size_t size = input->OneIn(4) ? first : sizeof value;
  T* placed = Blocks().Copy(value, size);
  const auto known = static_cast<uint32_t>(size);
  std::memcpy(static_cast<void*>(placed), &known, sizeof known);
  return placed;
}

// --------------------------------------------------------------------------- kinds of wrong values

// One option that the function does not have. The lowest byte is for those that never change.
Statuses AddOption(Input* input, uint32_t known, uint32_t* options) {
  const uint32_t bit = uint32_t{1} << input->Below(32);
  *options |= bit;
  if ((bit & known) != 0) {
    *options &= known & ~bit;
    return {};
  }
  return {bit < 0x100 ? kWrong : kNewer};
}

// A value of an enumeration whose last one is `last`, but for those of `legal`.
Statuses TakeEnum(Input* input, int32_t last, const std::vector<int32_t>& legal, int32_t* out) {
  *out = static_cast<int32_t>(input->Between(-2, last + 3));
  if (std::find(legal.begin(), legal.end(), *out) != legal.end()) {
    return {};
  }
  return {*out > last ? kNewer : kWrong};
}

template <class T>
Statuses SetReserved(T* reserved) {
  *reserved = 1;
  return {kNewer};
}

// ---------------------------------------------------------------------------------------- streams

// A stream that a function takes as a queue, and its status where no driver is there.
Statuses TakeStream(Input* input, DLBridgeStream* stream, bool may_be_unset) {
  *stream = DLBRIDGE_STREAM_INIT;
  stream->kind = DLBRIDGE_STREAM_HOST;
  switch (input->Below(10)) {
    case 0:
      return {};
    case 1:
      stream->kind = 0;
      stream->handle = 1;
      return {kWrong};
    case 2:
      stream->kind = static_cast<int32_t>(input->Between(-100, -1));
      return {kWrong};
    case 3:
      stream->kind = static_cast<int32_t>(5 + input->Below(300));
      return {kNewer};
    case 4:
      return SetReserved(&stream->reserved);
    case 5:
      stream->kind = DLBRIDGE_STREAM_QUEUE;
      stream->handle = 1;
      return TakeEnum(input, DLBRIDGE_BACKEND_OPENCL, {2, 3, 4, 5}, &stream->backend).empty()
                 ? Statuses{kAbsent}
                 : Statuses{kWrong, kNewer};
    case 6:
      stream->kind = DLBRIDGE_STREAM_QUEUE;
      stream->backend = input->Pick<int32_t>({2, 4, 5});
      return {kWrong};  // no handle
    case 7:
      stream->kind = DLBRIDGE_STREAM_IMMEDIATE_LIST;
      stream->handle = 1;
      stream->backend = input->Pick<int32_t>({2, 3, 5});
      return {kWrong};
    case 8:
      *stream = DLBRIDGE_STREAM_INIT;
      stream->backend = DLBRIDGE_BACKEND_CUDA;
      return {kWrong};
    default:
      *stream = DLBRIDGE_STREAM_INIT;
      return may_be_unset ? Statuses() : Statuses{kWrong};
  }
}

// ------------------------------------------------------------------------------------------ a call

// A tensor of floats, and an allocator that has none for anyone.
struct World {
  float data[kElements] = {1, 2, 3, 4, 5, 6};
  float target[2 * kElements] = {};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {1, 2};
  DLTensor source = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  DLBridgeAllocator allocator = DLBRIDGE_ALLOCATOR_INIT;
  uint64_t flags = 0;

  World() {
    allocator.allocate = [](void* /*context*/, DLDevice /*device*/, uint64_t /*bytes*/,
                            uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) -> void* {
      ++g_calls;
      return nullptr;
    };
    allocator.deallocate = [](void* /*context*/, DLDevice /*device*/, void* /*memory*/,
                              uint64_t /*bytes*/, uint64_t /*alignment*/,
                              const DLBridgeStream* /*stream*/) { ++g_calls; };
  }
  static void Release(void* /*context*/, const DLBridgeBuffer* /*buffer*/,
                      const DLBridgeStream* /*stream*/) {
    ++g_calls;
  }

  DLManagedTensorVersioned* Wrap(uint32_t options = 0) {
    DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
    spec.options = options;
    spec.device = {kDLCPU, 0};
    spec.dtype = source.dtype;
    spec.buffer = dlbridge_buffer_address(data);
    spec.ndim = 2;
    spec.shape = shape;
    spec.strides = strides;
    spec.release = Release;
    DLManagedTensorVersioned* tensor = nullptr;
    CheckStatus(DLBRIDGE_OK, dlbridge_wrap(&spec, &tensor, nullptr));
    return tensor;
  }
};

// Makes a call whose result is `*out`, and checks it. Returns whether it succeeded.
template <class Out, class Function>
bool Make(const Statuses& statuses, Out* out, Function function) {
  const int calls = g_calls;
  const Out before = *out;
  DLBridgeError error = GarbageError();
  const DLBridgeStatus status = function(&error);
  CheckError(status, error);
  if (status != DLBRIDGE_OK) {
    Trace() += std::string(error.message) + "\n";
  }
  if (statuses.empty()) {
    CheckStatus(DLBRIDGE_OK, status);
    return true;
  }
  if (statuses.count(status) == 0) {
    Fail("the status", dlbridge_status_name(*statuses.begin()), dlbridge_status_name(status));
  }
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a pointer is compared as such
  Check("nothing is written", std::memcmp(&before, out, sizeof before) == 0);
  CheckEqual("callbacks of a failing call", calls, g_calls);
  return false;
}

void End(DLManagedTensorVersioned* tensor) { tensor->deleter(tensor); }

// -------------------------------------------------------------------------------------------
// copies

void UseTarget(World* world, DLBridgeCopySpec* spec) {
  spec->target = dlbridge_buffer_address(world->target);
  spec->target_size = sizeof world->target;
}

// The buffer of a copy, with one wrong member.
Statuses SpoilTarget(Input* input, World* world, DLBridgeCopySpec* spec) {
  UseTarget(world, spec);
  switch (input->Below(8)) {
    case 0:
      return TakeEnum(input, DLBRIDGE_BUFFER_HANDLE, {0, 1}, &spec->target.kind);
    case 1:
      return SetReserved(&spec->target.reserved);
    case 2:
      return TakeEnum(input, DLBRIDGE_BACKEND_OPENCL, {0, 1}, &spec->target.backend);
    case 3:
      spec->target_offset = spec->target_size + 1 + input->Byte();
      return {kWrong};
    case 4:
      spec->allocator = &world->allocator;
      return {kWrong};
    case 5:
      spec->target_size = UINT64_MAX - input->Byte();
      return {kWrong};
    case 6:
      spec->target_size = sizeof world->data;
      spec->target_offset = 1 + input->Below(sizeof world->data);
      return {DLBRIDGE_ERROR_BUFFER_TOO_SMALL};
    default:  // a cl_mem has no address, and its offset alone may be too large
      spec->device = {kDLOpenCL, 0};
      spec->target.kind = 0;
      spec->target_size = UINT64_MAX;
      spec->target_offset = UINT64_MAX - input->Below(sizeof world->data);
      return {DLBRIDGE_ERROR_BUFFER_TOO_SMALL};
  }
}

// Members of a target without its handle.
Statuses NameNoTarget(Input* input, DLBridgeCopySpec* spec) {
  switch (input->Below(7)) {
    case 0:
      spec->target.kind = DLBRIDGE_BUFFER_ADDRESS;
      break;
    case 1:
      spec->target.backend = DLBRIDGE_BACKEND_CPU;
      break;
    case 2:
      spec->target.context = 1;
      break;
    case 3:
      spec->target.reserved = 1;
      break;
    case 4:
      spec->target_size = 1;
      break;
    case 5:
      spec->target_offset = 1;
      break;
    default:
      spec->release = World::Release;
  }
  return {kWrong};
}

Statuses SpoilShareable(Input* input, World* world, DLBridgeCopySpec* spec) {
  spec->options = DLBRIDGE_COPY_SHAREABLE;
  switch (input->Below(3)) {
    case 0:
      UseTarget(world, spec);
      break;
    case 1:
      spec->allocator = &world->allocator;
      break;
    default:
      spec->device = {kDLCUDA, 0};
  }
  return {kWrong};
}

Statuses SpoilVersion(Input* input, DLPackVersion* version) {
  *version = input->Pick<DLPackVersion>({{2, 0}, {0, 8}, {UINT32_MAX, 1}});
  return {kWrong, kNewer, DLBRIDGE_ERROR_VERSION};
}

// Elements whose padded copy has more bytes than 63 bits can count.
Statuses SpoilSize(World* world, DLBridgeCopySpec* spec) {
  world->source.dtype = {kDLUInt, 1, 9};
  world->shape[0] = int64_t{1} << 62;
  world->shape[1] = 1;
  world->strides[0] = 0;
  spec->tensor_flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  return {DLBRIDGE_ERROR_INVALID_TENSOR};
}

Statuses SpoilCopy(Input* input, World* world, DLBridgeCopySpec* spec) {
  switch (input->Below(14)) {
    case 0:
      return {};
    case 1:
    case 2:
      return SpoilTarget(input, world, spec);
    case 3:
      return NameNoTarget(input, spec);
    case 4:
      return SpoilShareable(input, world, spec);
    case 5:
      return AddOption(input, DLBRIDGE_COPY_SHAREABLE | DLBRIDGE_COPY_ALLOW_STAGING,
                       &spec->options);
    case 6:
      spec->device = {kDLCUDA, 0};
      return {DLBRIDGE_ERROR_UNSUPPORTED};
    case 7:
      spec->device.device_id = -1 - static_cast<int32_t>(input->Byte());
      spec->device.device_type = kDLCPU;
      return {DLBRIDGE_ERROR_INVALID_TENSOR};
    case 8:
      spec->tensor_flags = uint64_t{8} << input->Below(61);
      return {DLBRIDGE_ERROR_UNKNOWN_CODE};
    case 9:
      return SpoilVersion(input, &spec->version);
    case 10:
      spec->allocator = &world->allocator;
      (input->Flag() ? world->allocator.struct_size : world->allocator.options) = 1;
      return {kWrong};
    case 11:
      return SpoilSize(world, spec);
    case 12: {  // flags or a code that no release has
      const auto choice = input->Below(61);
      if (choice < 40) {
        world->flags = uint64_t{8} << choice;
      } else {
        world->source.dtype.code = static_cast<uint8_t>(2 * choice);
      }
      return {DLBRIDGE_ERROR_UNKNOWN_CODE};
    }
    default:
      spec->struct_size = input->Pick<uint32_t>({0, 8, sizeof *spec - 8, 4097});
      return {kWrong};
  }
}

void Copy(Input* input) {
  World world;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  Statuses statuses;
  if (input->OneIn(4)) {
    statuses = TakeStream(input, &spec.stream, true);
    if (statuses.count(kAbsent) != 0) {
      statuses.clear();  // the copy is on the host: there is nothing to order
      spec.stream = DLBRIDGE_STREAM_INIT;
    }
  } else {
    statuses = SpoilCopy(input, &world, &spec);
  }
  DLManagedTensorVersioned* copy = nullptr;
  if (Make(statuses, &copy, [&](DLBridgeError* error) {
        return dlbridge_copy(&world.source, world.flags, &spec, &copy, error);
      })) {
    const auto* elements = reinterpret_cast<const float*>(
        static_cast<const char*>(copy->dl_tensor.data) + copy->dl_tensor.byte_offset);
    const float expected[] = {1, 3, 5, 2, 4, 6};
    Check("the elements", std::equal(std::begin(expected), std::end(expected), elements));
    End(copy);
  }
}

// A copy that is ordered by a stream: of the host it is complete at once.
void CopyAsync(Input* input) {
  World world;
  DLManagedTensorVersioned* source = world.Wrap();
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.stream.kind = DLBRIDGE_STREAM_HOST;
  Statuses statuses;
  switch (input->Below(5)) {
    case 0:
      spec.options = DLBRIDGE_COPY_ALLOW_STAGING;
      statuses = {kWrong};
      break;
    case 1:
      spec.stream.kind = DLBRIDGE_STREAM_NO_SYNC;
      statuses = {kWrong};
      break;
    case 2:
      statuses = TakeStream(input, &spec.stream, false);
      if (statuses.count(kAbsent) != 0) {
        statuses.insert({kWrong, DLBRIDGE_ERROR_UNSUPPORTED});  // a queue for memory of the host
      }
      break;
    default:
      statuses = SpoilCopy(input, &world, &spec);
      if (world.flags != 0 || world.source.dtype.lanes != 1 ||
          world.source.dtype.code != kDLFloat) {
        statuses.clear();  // the source is the wrapped one
        spec.tensor_flags = 0;
        world.shape[0] = 2;
        world.shape[1] = 3;
        world.strides[0] = 1;
      } else if ((spec.options & DLBRIDGE_COPY_ALLOW_STAGING) != 0) {
        statuses = {kWrong, kNewer};
      }
  }
  DLManagedTensorVersioned* copy = nullptr;
  if (Make(statuses, &copy, [&](DLBridgeError* error) {
        return dlbridge_copy_async(source, &spec, &copy, error);
      })) {
    End(copy);
  }
  const int calls = g_calls;
  End(source);
  CheckEqual("releases of the source", calls + 1, g_calls);
}

// -------------------------------------------------------------------------------------------- wrap

// A cl_mem, which only its driver can check and retain.
Statuses SpoilMem(Input* input, DLBridgeWrapSpec* spec) {
  spec->device = {kDLOpenCL, 0};
  spec->buffer.kind = DLBRIDGE_BUFFER_CL_MEM;
  switch (input->Below(4)) {
    case 0:
      return {};
    case 1:
      spec->options = DLBRIDGE_WRAP_RETAIN;
      return {kAbsent};
    case 2:
      spec->buffer.context = 0x77;
      return {kAbsent};
    default:  // an empty tensor needs no memory, and none is retained
      spec->options = DLBRIDGE_WRAP_RETAIN;
      spec->buffer.handle = 0;
      spec->ndim = 1;
      static const int64_t kNone = 0;
      spec->shape = &kNone;
      spec->strides = nullptr;
      return {};
  }
}

Statuses SpoilWrap(Input* input, DLBridgePolicy* policy, DLBridgeWrapSpec* spec) {
  switch (input->Below(12)) {
    case 0:
      return {};
    case 1:
      spec->options = DLBRIDGE_WRAP_RETAIN;
      return {kWrong};
    case 2:
      return SpoilMem(input, spec);
    case 3:
      spec->buffer_size = 1 + input->Byte();
      return {kWrong};
    case 4:
      spec->options = DLBRIDGE_WRAP_SKIP_VALIDATION;
      spec->policy = policy;
      return {kWrong};
    case 5:
      spec->options = DLBRIDGE_WRAP_PIN_PRODUCER;
      spec->release = input->Flag() ? World::Release : nullptr;
      return {};
    case 6:  // the smaller one of the two limits counts
      spec->options = DLBRIDGE_WRAP_LIMIT_BUFFER;
      spec->buffer_size = input->Below(2 * sizeof(float) * kElements);
      policy->options = DLBRIDGE_POLICY_LIMIT_BUFFER;
      policy->buffer_size = input->Below(2 * sizeof(float) * kElements);
      spec->policy = policy;
      return std::min(spec->buffer_size, policy->buffer_size) < sizeof(float) * kElements
                 ? Statuses{DLBRIDGE_ERROR_POLICY}
                 : Statuses();
    case 7:
      return AddOption(input,
                       DLBRIDGE_WRAP_SKIP_VALIDATION | DLBRIDGE_WRAP_RELEASE_ON_STREAM |
                           DLBRIDGE_WRAP_LIMIT_BUFFER | DLBRIDGE_WRAP_RETAIN |
                           DLBRIDGE_WRAP_PIN_PRODUCER,
                       &spec->options);
    case 8:
      return TakeEnum(input, DLBRIDGE_BUFFER_HANDLE, {0, 1}, &spec->buffer.kind);
    case 9:
      return SetReserved(&spec->buffer.reserved);
    case 10:
      return TakeEnum(input, DLBRIDGE_BACKEND_OPENCL, {0, 1}, &spec->buffer.backend);
    default:
      spec->device = {kDLCPU, -1};
      return {DLBRIDGE_ERROR_INVALID_TENSOR};
  }
}

void Wrap(Input* input) {
  World world;
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.device = {kDLCPU, 0};
  spec.dtype = world.source.dtype;
  spec.buffer = dlbridge_buffer_address(world.data);
  spec.ndim = 2;
  spec.shape = world.shape;
  spec.strides = world.strides;
  spec.release = World::Release;
  const Statuses statuses = SpoilWrap(input, &policy, &spec);
  const int calls = g_calls + (spec.release != nullptr ? 1 : 0);
  if (input->Flag()) {
    DLManagedTensorVersioned* tensor = nullptr;
    if (!Make(statuses, &tensor,
              [&](DLBridgeError* error) { return dlbridge_wrap(&spec, &tensor, error); })) {
      return;
    }
    End(tensor);
  } else {
    DLManagedTensor* tensor = nullptr;
    if (!Make(statuses, &tensor,
              [&](DLBridgeError* error) { return dlbridge_wrap_legacy(&spec, &tensor, error); })) {
      return;
    }
    tensor->deleter(tensor);
  }
  CheckEqual("releases of the memory", calls, g_calls);
}

// ---------------------------------------------------------------------------------------- allocate

void Allocate(Input* input) {
  World world;
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = world.source.dtype;
  spec.ndim = 2;
  spec.shape = world.shape;
  Statuses statuses;
  switch (input->Below(9)) {
    case 0:
      spec.dtype = {0, 0, 0};
      statuses = {kWrong};
      break;
    case 1:
      spec.alignment = 3 + 2 * input->Below(1000);
      statuses = {kWrong};
      break;
    case 2:
      spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
      spec.allocator = &world.allocator;
      statuses = {kWrong};
      break;
    case 3:
      spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
      spec.device = {kDLCUDA, 0};
      statuses = {kWrong};
      break;
    case 4:
      spec.device = {kDLCUDA, 0};
      statuses = {DLBRIDGE_ERROR_UNSUPPORTED};
      break;
    case 5:  // nothing to share
      spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
      world.shape[input->Below(2)] = 0;
      break;
    case 6:
      statuses = SpoilVersion(input, &spec.version);
      break;
    case 7:  // memory of huge pages
      world.shape[0] = (int64_t{1} << 20) + static_cast<int64_t>(input->Below(4));
      break;
    default:
      statuses = AddOption(input, DLBRIDGE_ALLOCATE_SHAREABLE, &spec.options);
  }
  DLManagedTensorVersioned* tensor = nullptr;
  if (Make(statuses, &tensor,
           [&](DLBridgeError* error) { return dlbridge_allocate(&spec, &tensor, error); })) {
    Check("memory only where there are elements",
          (tensor->dl_tensor.data == nullptr) == (world.shape[0] == 0 || world.shape[1] == 0));
    End(tensor);
  }
}

// -------------------------------------------------------------------------------- release_after

void ReleaseAfter(Input* input) {
  World world;
  DLManagedTensorVersioned* tensor =
      world.Wrap(input->Flag() ? DLBRIDGE_WRAP_RELEASE_ON_STREAM : 0);
  DLManagedTensor* legacy = nullptr;
  const bool is_legacy = input->Flag();
  if (is_legacy) {
    CheckStatus(DLBRIDGE_OK, dlbridge_downgrade(tensor, nullptr, &legacy, nullptr));
  }
  void* object = is_legacy ? static_cast<void*>(legacy) : tensor;
  DLBridgeKind kind = is_legacy ? DLBRIDGE_KIND_LEGACY : DLBRIDGE_KIND_VERSIONED;
  DLBridgeStream streams[3];
  for (DLBridgeStream& stream : streams) {
    stream = DLBRIDGE_STREAM_INIT;
    stream.kind = DLBRIDGE_STREAM_HOST;
  }
  size_t count = 1 + input->Below(3);
  Statuses statuses;
  switch (input->Below(6)) {
    case 0:
      count = 0;
      statuses = {kWrong};
      break;
    case 1: {
      const DLBridgeKind right = kind;
      statuses = TakeEnum(input, DLBRIDGE_KIND_AMBIGUOUS, {1, 2}, &kind);
      kind = statuses.empty() ? right : kind;
      break;
    }
    case 2:
      streams[count - 1].kind = DLBRIDGE_STREAM_NO_SYNC;
      statuses = {kWrong};
      break;
    case 3:
    case 4:
      statuses = TakeStream(input, &streams[count - 1], false);
      break;
    default:
      break;
  }
  const int calls = g_calls;
  if (!Make(statuses, &object, [&](DLBridgeError* error) {
        return dlbridge_release_after(object, kind, streams, count, error);
      })) {
    CheckStatus(DLBRIDGE_OK, dlbridge_release(object, is_legacy ? DLBRIDGE_KIND_LEGACY
                                                                : DLBRIDGE_KIND_VERSIONED));
  }
  CheckEqual("releases of the memory", calls + 1, g_calls);
}

void Streams(Input* input) {
  DLBridgeStream first = DLBRIDGE_STREAM_INIT;
  Statuses statuses = TakeStream(input, &first, false);
  DLBridgeStream second = DLBRIDGE_STREAM_INIT;
  second.kind = input->Pick<int32_t>({DLBRIDGE_STREAM_HOST, DLBRIDGE_STREAM_NO_SYNC});
  uint32_t options = input->Flag() ? DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT : 0;
  int unused = 0;
  switch (input->Below(6)) {
    case 0:
      Make(statuses, &unused,
           [&](DLBridgeError* error) { return dlbridge_stream_synchronize(&first, error); });
      break;
    case 1:
      second.kind = DLBRIDGE_STREAM_NO_SYNC;
      Make({kWrong}, &unused,
           [&](DLBridgeError* error) { return dlbridge_stream_synchronize(&second, error); });
      break;
    case 2:  // without a driver no queue has work; NO_SYNC asks for nothing
      if (statuses.count(kAbsent) != 0 && second.kind == DLBRIDGE_STREAM_NO_SYNC) {
        statuses.clear();
      }
      Make(statuses, &unused, [&](DLBridgeError* error) {
        return dlbridge_stream_handoff(&first, &second, options, error);
      });
      break;
    case 3:  // the host has done its work
      if (statuses.count(kAbsent) != 0) {
        statuses.clear();
        first = second;
      }
      Make(statuses, &unused, [&](DLBridgeError* error) {
        return dlbridge_stream_handoff(&second, &first, options, error);
      });
      break;
    case 4:  // queues of two backends
      first.kind = second.kind = DLBRIDGE_STREAM_QUEUE;
      first.handle = second.handle = 1;
      first.reserved = 0;
      first.backend = DLBRIDGE_BACKEND_CUDA;
      second.backend = DLBRIDGE_BACKEND_HIP;
      Make({options != 0 ? kAbsent : static_cast<DLBridgeStatus>(DLBRIDGE_ERROR_UNSUPPORTED)},
           &unused, [&](DLBridgeError* error) {
             return dlbridge_stream_handoff(&first, &second, options, error);
           });
      break;
    default:
      first = second;
      first.kind = DLBRIDGE_STREAM_HOST;
      options = 0;
      statuses = AddOption(input, DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT | DLBRIDGE_HANDOFF_ALLOW_CAPTURE,
                           &options);
      Make(statuses, &unused, [&](DLBridgeError* error) {
        return dlbridge_stream_handoff(&first, &second, options, error);
      });
  }
}

// --------------------------------------------------------------------------------------- pointers

void PointerInfo(Input* input) {
  World world;
  DLBridgeBuffer buffer = dlbridge_buffer_address(world.data);
  DLDevice device = {kDLCPU, 0};
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  Statuses statuses;
  switch (input->Below(9)) {
    case 0:
      statuses = SetReserved(&buffer.reserved);
      break;
    case 1:
      statuses = TakeEnum(input, DLBRIDGE_BUFFER_HANDLE, {0, 1}, &buffer.kind);
      break;
    case 2:
      buffer.kind = DLBRIDGE_BUFFER_DEFAULT;
      device.device_type = input->Pick({kDLVulkan, kDLMetal, kDLWebGPU, kDLVPI});
      statuses = {DLBRIDGE_ERROR_UNSUPPORTED};
      break;
    case 3:
      device.device_type = input->Pick({kDLExtDev, kDLHexagon, kDLMAIA, kDLTrn});
      statuses = {DLBRIDGE_ERROR_UNSUPPORTED};
      break;
    case 4:
      buffer.kind = DLBRIDGE_BUFFER_CL_MEM;
      buffer.handle = input->Flag() ? 0 : buffer.handle;
      device.device_type = buffer.handle == 0 ? kDLOpenCL : kDLCPU;
      statuses = {kWrong};
      break;
    case 5:
      info.options = DLBRIDGE_POINTER_INFO_PEERS;
      info.struct_size = sizeof info - 8;
      statuses = {DLBRIDGE_ERROR_BUFFER_TOO_SMALL, kWrong};
      break;
    case 6:
      statuses = AddOption(input, DLBRIDGE_POINTER_INFO_PEERS, &info.options);
      break;
    case 7:
      statuses = TakeEnum(input, DLBRIDGE_BACKEND_OPENCL, {0, 1}, &buffer.backend);
      if (buffer.backend > 1 && buffer.backend <= DLBRIDGE_BACKEND_OPENCL) {
        statuses = {kAbsent};
      }
      break;
    default:
      device.device_type = input->Pick({kDLCUDA, kDLROCM, kDLOneAPI, kDLCUDAHost});
      statuses = {kAbsent};
  }
  DLBridgePointerInfo* placed = &info;
  if (info.options == 0) {
    placed = Old(input, info, offsetof(DLBridgePointerInfo, peers));
  }
  const uint32_t size = placed->struct_size;
  if (Make(statuses, &info, [&](DLBridgeError* error) {
        return dlbridge_pointer_info(&buffer, device, placed, error);
      })) {
    CheckEqual("bytes filled", size, placed->struct_size);
    CheckEqual("memory that no driver knows", int32_t{DLBRIDGE_MEMORY_HOST}, placed->memory);
  }
}

// -------------------------------------------------------------------------------------------- ipc

#ifdef __linux__
// A call without room for the descriptor or for its file.
void IpcSizes(DLManagedTensorVersioned* tensor, const DLBridgeIpcExportSpec& spec) {
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  CheckStatus(DLBRIDGE_ERROR_BUFFER_TOO_SMALL, dlbridge_ipc_export(tensor, &spec, &sizes, nullptr));
  CheckEqual("bytes that the descriptor needs", uint64_t{104 + 2 * 16}, sizes.buffer_size);
  CheckEqual("files that it needs", uint64_t{1}, sizes.fd_count);
  End(tensor);
}

void IpcExport(Input* input) {
  World world;
  const bool shareable = !input->OneIn(4);
  DLBridgeCopySpec copy = DLBRIDGE_COPY_SPEC_INIT;
  copy.options = shareable ? DLBRIDGE_COPY_SHAREABLE : 0;
  DLManagedTensorVersioned* tensor = nullptr;
  CheckStatus(DLBRIDGE_OK, dlbridge_copy(&world.source, 0, &copy, &tensor, nullptr));
  uint8_t bytes[4096];
  int32_t fd = -1;
  DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  spec.buffer = bytes;
  spec.buffer_size = sizeof bytes;
  spec.fds = &fd;
  spec.fd_capacity = 1;
  Statuses statuses = shareable ? Statuses() : Statuses{DLBRIDGE_ERROR_UNSUPPORTED};
  const auto way = input->Below(9);
  switch (way) {
    case 0:
      spec.buffer = nullptr;
      statuses = {kWrong};
      break;
    case 1:
      spec.fds = nullptr;
      statuses = {kWrong};
      break;
    case 2:
    case 3: {
      const Statuses wrong = TakeStream(input, &stream, false);
      spec.stream = &stream;
      if (wrong.count(kAbsent) != 0) {
        statuses = {kWrong};  // no queue works on memory of the host
      } else if (!wrong.empty()) {
        statuses = wrong;
      }
      break;
    }
    case 4: {
      const Statuses wrong = AddOption(input, DLBRIDGE_IPC_READ_ONLY, &spec.options);
      statuses = wrong.empty() ? statuses : wrong;
      break;
    }
    case 5:  // the owner has moved the data out of the memory
      tensor->dl_tensor.data = static_cast<char*>(tensor->dl_tensor.data) + ptrdiff_t{64} * 1024;
      statuses = {DLBRIDGE_ERROR_UNSUPPORTED};
      break;
    case 6:
      tensor->dl_tensor.dtype.lanes = 0;
      statuses = {DLBRIDGE_ERROR_INVALID_TENSOR};
      break;
    case 7:
      tensor->dl_tensor.device.device_type = input->Pick({kDLVulkan, kDLOpenCL, kDLMetal});
      statuses = {DLBRIDGE_ERROR_UNSUPPORTED};
      break;
    default:  // too little room: the sizes are written all the same
      (input->Flag() ? spec.buffer_size : spec.fd_capacity) = 0;
      if (shareable) {
        return IpcSizes(tensor, spec);
      }
  }
  const DLBridgeIpcExportSpec* placed = &spec;
  if (spec.stream == nullptr) {
    placed = Old(input, spec, offsetof(DLBridgeIpcExportSpec, stream));
  }
  if (Make(statuses, &sizes, [&](DLBridgeError* error) {
        return dlbridge_ipc_export(tensor, placed, &sizes, error);
      })) {
    CheckEqual("file descriptors", uint64_t{1}, sizes.fd_count);
    close(fd);
  }
  End(tensor);
}

// What is wrong beside the descriptor, which is none.
void IpcImport(Input* input) {
  uint8_t bytes[8192] = {};
  int32_t fd = 0;
  DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
  DLBridgeIpcImportSpec spec = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
  spec.buffer = bytes;
  spec.buffer_size = input->Below(200);
  spec.fds = &fd;
  spec.fd_count = 1;
  Statuses statuses = {DLBRIDGE_ERROR_DESCRIPTOR};
  switch (input->Below(5)) {
    case 0:
      spec.buffer = nullptr;
      statuses = {kWrong};
      break;
    case 1:
      spec.fds = nullptr;
      statuses = {kWrong};
      break;
    case 2: {
      const Statuses wrong = TakeStream(input, &stream, false);
      spec.stream = &stream;
      statuses = wrong.empty() || wrong.count(kAbsent) != 0 ? statuses : wrong;
      break;
    }
    case 3:
      spec.buffer_size = 4097 + input->Below(4000);
      break;
    default: {
      const Statuses wrong = AddOption(input, DLBRIDGE_IPC_READ_ONLY, &spec.options);
      statuses = wrong.empty() ? statuses : wrong;
    }
  }
  const DLBridgeIpcImportSpec* placed = &spec;
  if (spec.stream == nullptr) {
    placed = Old(input, spec, offsetof(DLBridgeIpcImportSpec, stream));
  }
  DLManagedTensorVersioned* tensor = nullptr;
  Make(statuses, &tensor,
       [&](DLBridgeError* error) { return dlbridge_ipc_import(placed, &tensor, error); });
}
#endif

// ---------------------------------------------------------------------------------- the other ones

void Diagnose(Input* input) {
  World world;
  DLManagedTensorVersioned* tensor = world.Wrap();
  DLBridgeFinding findings[2];
  DLBridgeFinding* list = findings;
  size_t capacity = 2;
  uint64_t flags = 0;
  DLBridgeKind kind = DLBRIDGE_KIND_VERSIONED;
  Statuses statuses;
  switch (input->Below(4)) {
    case 0:
      list = nullptr;
      statuses = {kWrong};
      break;
    case 1:
      kind = static_cast<DLBridgeKind>(input->Pick({-1, 0, 4, 5}));
      statuses = {kWrong};
      break;
    case 2:
      flags = 1 + input->Byte();
      statuses = {kWrong};
      break;
    default:
      capacity = 0;
      list = nullptr;
  }
  size_t count = 99;
  if (Make(statuses, &count, [&](DLBridgeError* error) {
        return dlbridge_diagnose(tensor, kind, flags, nullptr, list, capacity, &count, error);
      })) {
    CheckEqual("findings", size_t{0}, count);
  }
  End(tensor);
}

// A policy that demands extents; -1 is any.
void PolicyShape(Input* input) {
  World world;
  int64_t shape[2] = {2, 3};
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.options = DLBRIDGE_POLICY_LIMIT_NDIM;
  policy.min_ndim = policy.max_ndim = 2;
  policy.shape = shape;
  Statuses statuses;
  const size_t axis = input->Below(2);
  switch (input->Below(8)) {
    case 0:
      policy.options = 0;
      policy.min_ndim = policy.max_ndim = 0;
      statuses = {kWrong};
      break;
    case 1:
      policy.min_ndim = static_cast<int32_t>(input->Below(2));
      statuses = {kWrong};
      break;
    case 2:
      shape[axis] = -2 - static_cast<int64_t>(input->Byte());
      statuses = {kWrong};
      break;
    case 3:
      policy.level = DLBRIDGE_LEVEL_STRUCT;
      statuses = {kWrong};
      break;
    case 4:
      shape[axis] += 1 + static_cast<int64_t>(input->Byte());
      statuses = {DLBRIDGE_ERROR_POLICY};
      break;
    case 5:
      shape[axis] = -1;
      break;
    case 6:
      policy.min_ndim = policy.max_ndim = 1;
      statuses = {DLBRIDGE_ERROR_POLICY};
      break;
    default:
      policy.min_ndim = policy.max_ndim = 3;
      static const int64_t kThree[] = {2, 3, 1};
      policy.shape = kThree;
      statuses = {DLBRIDGE_ERROR_POLICY};
  }
  int unused = 0;
  Make(statuses, &unused,
       [&](DLBridgeError* error) { return dlbridge_validate(&world.source, 0, &policy, error); });
}

// Entries of the context table that are wrong in one way, by both of its interfaces.
void Register(Input* input) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.device = {kDLCUDA, 900};
  entry.backend = DLBRIDGE_BACKEND_CUDA;
  Statuses statuses = {kWrong};
  switch (input->Below(5)) {
    case 0:
      entry.native_device = uint64_t{1} << (31 + input->Below(33));
      break;
    case 1:
      entry.device.device_type = kDLROCM;
      entry.backend = DLBRIDGE_BACKEND_HIP;
      entry.context = 1 + input->Byte();
      break;
    case 2:
      entry.device.device_type = kDLOneAPI;
      entry.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
      (input->Flag() ? entry.native_device : entry.context) = 1;
      break;
    case 3:  // only Level Zero has immediate lists
      entry.queue = 5;
      entry.queue_kind = DLBRIDGE_STREAM_IMMEDIATE_LIST;
      break;
    default:
      entry.device.device_type = kDLOneAPI;
      entry.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
      entry.native_device = entry.context = 1;
      entry.queue = 5;
      entry.queue_kind = DLBRIDGE_STREAM_IMMEDIATE_LIST;
      statuses.clear();
  }
  uint64_t id = 0;
  const bool made = Make(statuses, &id, [&](DLBridgeError* error) {
    return dlbridge_context_register(&entry, &id, error);
  });
  if (made) {
    CheckStatus(DLBRIDGE_OK, dlbridge_context_unregister(id, nullptr));
  }
}

// The functions of the table get what no caller of this library passes.
void UseTable(Input* input) {
  const DLBridgeContextTable& table = *dlbridge_context_table_v1();
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  uint64_t word = 0;
  DLBridgeStatus status = DLBRIDGE_OK;
  switch (input->Below(5)) {
    case 0:
      status = table.add(nullptr, &word);
      break;
    case 1:
      status = table.add(&entry, nullptr);
      break;
    case 2:
      status = table.find({kDLCUDA, 0}, 0, nullptr);
      break;
    case 3:
      status = table.next(nullptr, &entry);
      break;
    default:
      status = table.next(&word, nullptr);
  }
  CheckStatus(kWrong, status);
}

// Another copy of the header asks for another table of functions.
void GetApi(Input* input) {
  const uint32_t abi = input->Flag() ? DLBRIDGE_ABI : static_cast<uint32_t>(input->Byte());
  const auto size = static_cast<size_t>(input->Pick<uint64_t>(
      {sizeof(DLBridgeApi), 0, 8, sizeof(DLBridgeApi) + 800, UINT32_MAX, sizeof(DLBridgeApi)}));
  const DLBridgeApi* api = dlbridge_get_api(abi, size);
  Check("functions of this ABI only", api == nullptr || abi == DLBRIDGE_ABI);
  Check("functions of this library's size",
        api != nullptr || abi != DLBRIDGE_ABI || size < sizeof(DLBridgeApi));
  Check("the table of this library",
        api == nullptr || (api->abi == DLBRIDGE_ABI && api->struct_size == sizeof(DLBridgeApi) &&
                           api->version == dlbridge_version));
}

void HostAccessible(Input* input) {
  const auto type = static_cast<int32_t>(input->Between(-1, 20));
  DLBridgeAnswer answer = 77;
  const int32_t plain = dlbridge_host_accessible(type, nullptr);
  CheckEqual("the same answer", plain, dlbridge_host_accessible(type, &answer));
  CheckEqual("1 exactly for YES", answer == DLBRIDGE_YES, plain == 1);
  CheckEqual("memory of the host", IsHostLike(type), answer == DLBRIDGE_YES);
  CheckEqual("no tensor", DLBRIDGE_KIND_UNKNOWN, dlbridge_identify(nullptr));
}

// The buffer-and-length convention.
void Format(Input* input) {
  char text[64];
  std::memset(text, 'x', sizeof text);
  size_t length = 99;
  const DLDataType dtype = {kDLFloat, 32, static_cast<uint16_t>(1 + input->Below(1000))};
  const bool has_buffer = input->Flag();
  const bool has_length = input->Flag();
  const size_t size = input->Below(16);
  Statuses statuses;
  if (!has_buffer && (size != 0 || !has_length)) {
    statuses = {kWrong};
  }
  const std::string whole = "float32" + (dtype.lanes == 1 ? "" : "x" + std::to_string(dtype.lanes));
  if (has_buffer && size != 0 && size <= whole.size()) {
    statuses = {DLBRIDGE_ERROR_BUFFER_TOO_SMALL};
  }
  int unused = 0;
  Make(statuses, &unused, [&](DLBridgeError* error) {
    return dlbridge_dtype_format(dtype, has_buffer ? text : nullptr, size,
                                 has_length ? &length : nullptr, error);
  });
  if (statuses.count(kWrong) == 0 && has_length) {
    CheckEqual("the length", whole.size(), length);
  }
  if (statuses.empty() && has_buffer && size != 0) {
    CheckEqual("the text", whole, std::string(text));
  }
  Check("bytes after the buffer", text[size] == 'x');
}

struct Function {
  const char* name;
  void (*call)(Input*);
};
constexpr Function kFunctions[] = {
    {"dlbridge_copy", Copy},
    {"dlbridge_copy_async", CopyAsync},
    {"dlbridge_wrap", Wrap},
    {"dlbridge_allocate", Allocate},
    {"dlbridge_release_after", ReleaseAfter},
    {"dlbridge_stream_*", Streams},
    {"dlbridge_diagnose", Diagnose},
    {"a policy's shape", PolicyShape},
    {"dlbridge_context_register", Register},
    {"the context table", UseTable},
    {"dlbridge_get_api", GetApi},
    {"dlbridge_host_accessible", HostAccessible},
    {"dlbridge_pointer_info", PointerInfo},
    {"dlbridge_dtype_format", Format},
#ifdef __linux__
    {"dlbridge_ipc_export", IpcExport},
    {"dlbridge_ipc_import", IpcImport},
#endif
};

void Run(Input* input) {
  Trace().clear();
  for (int call = 0; call < 8 && !input->empty(); ++call) {
    const size_t choice = input->Byte() % 16;
    const Function& function = kFunctions[choice % (sizeof kFunctions / sizeof kFunctions[0])];
    Trace() += std::string(function.name) + "\n";
    function.call(input);
    Blocks().Reset();
  }
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return dlbridge_fuzz::RunWithoutDrivers(data, size, dlbridge_fuzz::Run);
}
