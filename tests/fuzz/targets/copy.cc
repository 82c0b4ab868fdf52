// SPDX-License-Identifier: Apache-2.0
// Copies on the host by dlbridge_copy and by DLBRIDGE_CONVERT_COPY, compared bit by bit with a slow
// model. The source and the target lie between unreadable pages, and no byte around the copy may
// change.
#include <algorithm>
#include <utility>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/support/check.h"
#include "fuzz/support/fenced.h"
#include "fuzz/support/input.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {
namespace {

constexpr uint64_t kPadded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
constexpr uint64_t kReadOnly = DLPACK_FLAG_BITMASK_READ_ONLY;
constexpr uint64_t kCopied = DLPACK_FLAG_BITMASK_IS_COPIED;
constexpr size_t kArena = 32768;  // padding makes elements of kMostBits up to twice as large
constexpr int64_t kMostBits = int64_t{8} * 16384;  // between the lowest and the highest element
constexpr uint8_t kUntouched = 0xA5;

// The memory of all inputs. The source's bytes are random and stay the same.
struct World {
  Fenced source{kArena};
  Fenced target{kArena};
  Fenced shape{4096};
  Fenced strides{4096};
  std::vector<uint8_t> random;
  std::vector<uint8_t> untouched;

  World() : random(kArena), untouched(kArena, kUntouched) {
    uint32_t state = 12345;
    for (uint8_t& byte : random) {
      state = state * 1664525 + 1013904223;
      byte = static_cast<uint8_t>(state >> 24);
    }
    std::memcpy(source.begin(), random.data(), kArena);
    std::memset(target.begin(), kUntouched, kArena);
  }
};

World& TheWorld() {
  static World world;
  return world;
}

// ------------------------------------------------------------------------------------- the model

struct Array {
  DLDataType dtype;
  uint64_t flags;
  bool has_strides;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::vector<int64_t> places;  // of each element in row-major order, in elements from the first
};

int64_t ElementBits(DLDataType dtype) { return int64_t{dtype.bits} * dtype.lanes; }

// Bits from one element to the next.
int64_t StepBits(DLDataType dtype, uint64_t flags) {
  const int64_t bits = ElementBits(dtype);
  return (flags & kPadded) != 0 ? (bits + 7) / 8 * 8 : bits;
}

std::vector<int64_t> CompactStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i) {
    strides[i - 2] = strides[i - 1] * shape[i - 1];
  }
  return strides;
}

std::vector<int64_t> Places(const std::vector<int64_t>& shape,
                            const std::vector<int64_t>& strides) {
  std::vector<int64_t> places = {0};
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<int64_t> next;
    for (const int64_t place : places) {
      for (int64_t i = 0; i < shape[axis]; ++i) {
        next.push_back(place + i * strides[axis]);
      }
    }
    places = std::move(next);
  }
  return places;
}

int64_t FloorBytes(int64_t bits) { return bits >= 0 ? bits / 8 : -((-bits + 7) / 8); }

// The bytes that the elements touch, from the byte where the first element begins.
struct Reach {
  int64_t begin = 0;
  int64_t end = 0;
};

Reach ReachOf(const Array& array) {
  Reach reach;
  if (array.places.empty()) {
    return reach;
  }
  const auto ends = std::minmax_element(array.places.begin(), array.places.end());
  const int64_t step = StepBits(array.dtype, array.flags);
  reach.begin = FloorBytes(*ends.first * step);
  reach.end = FloorBytes(*ends.second * step + step + 7);
  return reach;
}

unsigned Bit(const uint8_t* bytes, int64_t at) {
  const int64_t byte = FloorBytes(at);
  return bytes[byte] >> (at - 8 * byte) & 1U;
}

// Compares `count` bits; whole bytes as such, since most of them are.
void CompareBits(const uint8_t* from, int64_t source, const uint8_t* to, int64_t target,
                 int64_t count) {
  if (source % 8 == 0 && target % 8 == 0 && count % 8 == 0) {
    return Check("the bytes of an element", std::memcmp(from + source / 8, to + target / 8,
                                                        static_cast<size_t>(count / 8)) == 0);
  }
  for (int64_t bit = 0; bit < count; ++bit) {
    CheckEqual("a bit of an element", Bit(from, source + bit), Bit(to, target + bit));
  }
}

// Compares the copy, whose elements are `step` bits apart, and expects zeros between them, or what
// the source has there.
void CompareElements(const Array& array, const uint8_t* from, const uint8_t* to, int64_t step) {
  const int64_t bits = ElementBits(array.dtype);
  const int64_t from_step = StepBits(array.dtype, array.flags);
  for (size_t i = 0; i < array.places.size(); ++i) {
    const int64_t source = array.places[i] * from_step;
    const int64_t target = static_cast<int64_t>(i) * step;
    CompareBits(from, source, to, target, bits);
    for (int64_t bit = bits; bit < step; ++bit) {
      const unsigned padding = Bit(to, target + bit);
      Check("the padding is zero, or that of the source",
            padding == 0 || (from_step == step && padding == Bit(from, source + bit)));
    }
  }
}

size_t CopyBytes(const Array& array, uint64_t flags) {
  const int64_t bits = static_cast<int64_t>(array.places.size()) * StepBits(array.dtype, flags);
  return static_cast<size_t>((bits + 7) / 8);
}

// ------------------------------------------------------------------------------------- the input

DLDataType TakeDtype(Input* input) {
  DLDataType dtype = {kDLUInt, 8, 1};
  dtype.bits =
      static_cast<uint8_t>(input->Pick({8,  16, 32, 64, 128, 4,  2,  1,   6,   3,   5,  7,  24,
                                        40, 48, 56, 72, 80,  88, 96, 104, 112, 120, 12, 20, 255}));
  switch (input->Below(8)) {
    case 1:
      dtype = {kDLFloat4_e2m1fn, 4, 1};
      break;
    case 2:
      dtype = {kDLFloat6_e3m2fn, 6, 1};
      break;
    case 3:
      dtype.code = kDLComplex;
      break;
    default:
      break;
  }
  if (input->OneIn(4)) {
    dtype.lanes = static_cast<uint16_t>(input->Between(1, 5));
  }
  return dtype;
}

// Extents of few elements, which the model lists one by one.
std::vector<int64_t> TakeShape(Input* input, int64_t item_bits) {
  const bool many = input->OneIn(32);
  const auto ndim = static_cast<size_t>(input->Below(many ? 65 : 6));
  int64_t left = kMostBits / (input->OneIn(64) ? 1 : 64) / item_bits;
  std::vector<int64_t> shape;
  for (size_t i = 0; i < ndim; ++i) {
    const uint8_t choice = input->Byte();
    int64_t extent = many ? 1 + choice / 250 : choice % 12;
    if (choice >= 240) {
      extent = input->Between(0, 700);
    }
    extent = std::min(extent, left);
    left = extent != 0 ? left / extent : left;
    shape.push_back(extent);
  }
  return shape;
}

// The strides of a compact array whose axes are in another order, some of them with gaps, reversed
// or repeated.
std::vector<int64_t> TakePermuted(Input* input, const std::vector<int64_t>& shape) {
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<size_t>(input->Below(i))]);
  }
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (const size_t axis : order) {
    const uint8_t change = input->Byte();
    stride += change % 8 == 1 ? change / 64 : 0;
    strides[axis] = change % 8 == 2 ? -stride : (change % 8 == 3 ? 0 : stride);
    stride *= std::max<int64_t>(shape[axis], 1);
  }
  return strides;
}

std::vector<int64_t> TakeStrides(Input* input, const std::vector<int64_t>& shape) {
  switch (input->Below(5)) {
    case 0:
      return CompactStrides(shape);
    case 1: {
      std::vector<int64_t> strides;
      for (size_t i = 0; i < shape.size(); ++i) {
        strides.push_back(input->Between(-20, 20));
      }
      return strides;
    }
    default:
      return TakePermuted(input, shape);
  }
}

// Sets strides to 0 until everything between the lowest and the highest element fits the source.
void LimitStrides(int64_t step, Array* array) {
  for (size_t axis = 0; axis < array->shape.size(); ++axis) {
    int64_t span = 0;
    for (size_t i = 0; i < array->shape.size(); ++i) {
      span += std::max<int64_t>(array->shape[i] - 1, 0) * std::abs(array->strides[i]);
    }
    if ((span + 1) * step <= kMostBits) {
      return;
    }
    array->strides[axis] = 0;
  }
}

Array TakeArray(Input* input) {
  Array array;
  array.dtype = TakeDtype(input);
  array.flags = input->Flag() ? kPadded : 0;
  const int64_t step = StepBits(array.dtype, array.flags);
  array.shape = TakeShape(input, std::max<int64_t>(step, 8));
  array.has_strides = !input->OneIn(8);
  array.strides = array.has_strides ? TakeStrides(input, array.shape) : CompactStrides(array.shape);
  LimitStrides(array.has_strides ? step : 1, &array);
  array.places = Places(array.shape, array.strides);
  return array;
}

DLDevice TakeHost(Input* input) {
  const DLDeviceType type = input->Pick({kDLCPU, kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged});
  return {type, 0};
}

// The source in guarded memory; `*first` is where its first element begins.
DLTensor PlaceSource(Input* input, const Array& array, uint8_t** first) {
  World& world = TheWorld();
  const Reach reach = ReachOf(array);
  const auto bytes = static_cast<size_t>(reach.end - reach.begin);
  *first = world.source.begin() + world.source.TakePlace(input, bytes) - reach.begin;
  DLTensor tensor = {};
  tensor.byte_offset = input->Below(301);
  tensor.data = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(*first) - tensor.byte_offset);
  tensor.device = TakeHost(input);
  tensor.ndim = static_cast<int32_t>(array.shape.size());
  tensor.dtype = array.dtype;
  tensor.shape = world.shape.Last(array.shape.data(), array.shape.size());
  tensor.strides =
      array.has_strides ? world.strides.Last(array.strides.data(), array.strides.size()) : nullptr;
  return tensor;
}

// ---------------------------------------------------------------------------------------- checks

// The copy has the same elements, is compact and carries the flags.
void CompareCopy(const Array& array, const uint8_t* first, const DLManagedTensorVersioned& copy,
                 uint64_t flags) {
  const DLTensor& tensor = copy.dl_tensor;
  const std::vector<int64_t> strides = CompactStrides(array.shape);
  CheckEqual("the flags of the copy", flags, copy.flags);
  CheckEqual("ndim of the copy", array.shape.size(), static_cast<size_t>(tensor.ndim));
  Check("the extents of the copy",
        std::equal(array.shape.begin(), array.shape.end(), tensor.shape));
  Check("the dtype of the copy", std::memcmp(&tensor.dtype, &array.dtype, sizeof array.dtype) == 0);
  if (array.places.empty()) {
    Check("an empty copy has no data", tensor.data == nullptr);
    return;
  }
  Check("the strides of the copy", std::equal(strides.begin(), strides.end(), tensor.strides));
  CompareElements(array, first, static_cast<uint8_t*>(tensor.data) + tensor.byte_offset,
                  StepBits(array.dtype, flags));
}

// No byte has changed but `bytes` from `place` on. Makes these as they were.
void CheckSurroundings(uint8_t* place, size_t bytes) {
  World& world = TheWorld();
  if (place != nullptr) {
    const bool in_source = place >= world.source.begin() && place <= world.source.end();
    const Fenced& arena = in_source ? world.source : world.target;
    const std::vector<uint8_t>& before = in_source ? world.random : world.untouched;
    std::memcpy(place, before.data() + (place - arena.begin()), bytes);
  }
  Check("the source is unchanged",
        std::memcmp(world.source.begin(), world.random.data(), kArena) == 0);
  Check("no byte around the copy is changed",
        std::memcmp(world.target.begin(), world.untouched.data(), kArena) == 0);
}

// Memory that a copy is given by an allocator or as its target.
struct Memory {
  uint8_t* place = nullptr;
  size_t bytes = 0;
  bool fails = false;
  int allocated = 0;
  int released = 0;

  static void* Allocate(void* context, DLDevice /*device*/, uint64_t bytes, uint64_t alignment,
                        const DLBridgeStream* stream) {
    auto& self = *static_cast<Memory*>(context);
    CheckEqual("bytes to allocate", uint64_t{self.bytes}, bytes);
    Check("alignment and stream of the allocation", alignment == 256 && stream == nullptr);
    self.allocated += self.fails ? 0 : 1;
    return self.fails ? nullptr : self.place;
  }
  static void Deallocate(void* context, DLDevice /*device*/, void* memory, uint64_t bytes,
                         uint64_t alignment, const DLBridgeStream* stream) {
    auto& self = *static_cast<Memory*>(context);
    CheckEqual("bytes to deallocate", uint64_t{self.bytes}, bytes);
    Check("the values of the allocation",
          memory == self.place && alignment == 256 && stream == nullptr);
    ++self.released;
  }
  static void Release(void* context, const DLBridgeBuffer* /*target*/,
                      const DLBridgeStream* stream) {
    Check("no stream", stream == nullptr);
    ++static_cast<Memory*>(context)->released;
  }
};

// Memory of the system or of an allocator, which may have none.
class NewMemory {
 public:
  NewMemory(Input* input, size_t bytes) : given_(input->Flag()) {
    const Fenced& arena = TheWorld().target;
    memory_.bytes = bytes;
    memory_.fails = input->OneIn(8);
    memory_.place = arena.begin() + arena.TakePlace(input, bytes);
    memory_.place -= reinterpret_cast<uintptr_t>(memory_.place) % 256;
    allocator_.context = &memory_;
    allocator_.allocate = Memory::Allocate;
    allocator_.deallocate = Memory::Deallocate;
  }
  const DLBridgeAllocator* allocator() const { return given_ ? &allocator_ : nullptr; }

  // Checks the result of a copy and releases it.
  void Finish(const Array& array, const uint8_t* first, uint64_t flags, DLBridgeStatus status,
              DLManagedTensorVersioned* copy) {
    const bool fails = given_ && memory_.fails && memory_.bytes != 0;
    CheckStatus(fails ? DLBRIDGE_ERROR_OUT_OF_MEMORY : DLBRIDGE_OK, status);
    Check("either a copy or an error", (status == DLBRIDGE_OK) == (copy != nullptr));
    if (copy != nullptr) {
      CheckPlace(*copy);
      CompareCopy(array, first, *copy, flags);
      CheckEqual("releases before the end of the copy", 0, memory_.released);
      copy->deleter(copy);
    }
    CheckEqual("releases", memory_.allocated, memory_.released);
    CheckSurroundings(given_ ? memory_.place : nullptr, memory_.bytes);
  }

 private:
  void CheckPlace(const DLManagedTensorVersioned& copy) const {
    const bool used = given_ && memory_.bytes != 0;
    CheckEqual("allocations", used ? 1 : 0, memory_.allocated);
    Check("the memory of the allocator", !used || copy.dl_tensor.data == memory_.place);
    Check("aligned memory", reinterpret_cast<uintptr_t>(copy.dl_tensor.data) % 256 == 0);
  }

  bool given_;
  Memory memory_;
  DLBridgeAllocator allocator_ = DLBRIDGE_ALLOCATOR_INIT;
};

// A producer whose deleter is counted.
template <class Managed>
struct Producer {
  Managed managed = {};
  int deleted = 0;
  explicit Producer(const DLTensor& tensor) {
    managed.dl_tensor = tensor;
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
  }
};

// ------------------------------------------------------------------------------------- the calls

// Where a copy to memory of the caller's goes: to guarded memory, or to that of the source.
uint8_t* TakeTarget(Input* input, size_t bytes, size_t* room) {
  const World& world = TheWorld();
  const bool in_source = input->OneIn(4);
  const Fenced& arena = in_source ? world.source : world.target;
  const size_t at = in_source ? static_cast<size_t>(input->Below(kArena - bytes + 1))
                              : arena.TakePlace(input, bytes);
  *room = kArena - bytes - at;
  return arena.begin() + at;
}

DLBridgeCopySpec TakeTargetSpec(Input* input, size_t room, size_t missing, Memory* memory) {
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.device = TakeHost(input);
  spec.target_offset = input->Below(65);
  spec.target = dlbridge_buffer_address(memory->place);
  spec.target.handle -= spec.target_offset;
  spec.target_size = spec.target_offset + memory->bytes - missing;
  spec.target_size += missing == 0 ? input->Below(std::min<size_t>(room, 9) + 1) : 0;
  spec.release = Memory::Release;
  spec.release_context = memory;
  return spec;
}

// A target that shares bytes with the source is rejected, and so is one that is too small.
void CopyToTarget(Input* input, const Array& array, const DLTensor& source, const uint8_t* first,
                  uint64_t flags) {
  Memory memory;
  memory.bytes = CopyBytes(array, flags);
  size_t room = 0;
  memory.place = TakeTarget(input, memory.bytes, &room);
  const size_t missing = memory.bytes != 0 && input->OneIn(16) ? 1 : 0;
  DLBridgeCopySpec spec = TakeTargetSpec(input, room, missing, &memory);
  spec.tensor_flags = flags;
  const Reach reach = ReachOf(array);
  const bool shares = memory.bytes != 0 && memory.place < first + reach.end &&
                      first + reach.begin < memory.place + memory.bytes;
  DLManagedTensorVersioned* copy = nullptr;
  const DLBridgeStatus status = dlbridge_copy(&source, array.flags, &spec, &copy, nullptr);
  CheckStatus(missing != 0 ? DLBRIDGE_ERROR_BUFFER_TOO_SMALL
                           : (shares ? DLBRIDGE_ERROR_INVALID_ARGUMENT : DLBRIDGE_OK),
              status);
  CheckEqual("releases before the end", 0, memory.released);
  if (status != DLBRIDGE_OK) {
    Check("no copy", copy == nullptr);
    return CheckSurroundings(nullptr, 0);
  }
  Check("the copy is in the target",
        memory.bytes == 0 ||
            static_cast<uint8_t*>(copy->dl_tensor.data) + copy->dl_tensor.byte_offset ==
                memory.place);
  CompareCopy(array, first, *copy, flags | kCopied);
  copy->deleter(copy);
  CheckEqual("releases", 1, memory.released);
  CheckSurroundings(memory.place, memory.bytes);
}

void CopyToNew(Input* input, const Array& array, const DLTensor& source, const uint8_t* first,
               uint64_t flags) {
  NewMemory memory(input, CopyBytes(array, flags));
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.tensor_flags = flags;
  spec.allocator = memory.allocator();
  DLManagedTensorVersioned* copy = nullptr;
  const DLBridgeStatus status = dlbridge_copy(&source, array.flags, &spec, &copy, nullptr);
  memory.Finish(array, first, flags | kCopied, status, copy);
}

// The conversions keep the padding of elements.
void CopyByImport(Input* input, const Array& array, const DLTensor& source, const uint8_t* first) {
  NewMemory memory(input, CopyBytes(array, array.flags));
  const bool legacy = input->Flag();
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  options.options = DLBRIDGE_CONVERT_COPY;
  options.allocator = memory.allocator();
  options.tensor_flags = legacy ? array.flags : 0;
  Producer<DLManagedTensor> old(source);
  Producer<DLManagedTensorVersioned> versioned(source);
  versioned.managed.version = {1, array.has_strides ? 3U : 1U};
  versioned.managed.flags = array.flags | kReadOnly;
  void* given = legacy ? static_cast<void*>(&old.managed) : &versioned.managed;
  DLManagedTensorVersioned* copy = nullptr;
  const DLBridgeStatus status = dlbridge_import(
      given, legacy ? DLBRIDGE_KIND_LEGACY : DLBRIDGE_KIND_VERSIONED, &options, &copy, nullptr);
  CheckEqual("deleters of the source", status == DLBRIDGE_OK ? 1 : 0,
             old.deleted + versioned.deleted);
  memory.Finish(array, first, array.flags | kCopied, status, copy);
}

// An element of no bits or lanes cannot be copied.
void RejectDtype(Input* input, DLTensor source) {
  (input->Flag() ? source.dtype.bits : source.dtype.code) = 0;
  source.dtype.lanes = source.dtype.bits == 0 ? source.dtype.lanes : 0;
  const DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLManagedTensorVersioned* copy = nullptr;
  CheckStatus(DLBRIDGE_ERROR_INVALID_TENSOR, dlbridge_copy(&source, 0, &spec, &copy, nullptr));
  Check("no copy", copy == nullptr);
}

void Run(Input* input) {
  const uint8_t way = input->Byte();
  const uint64_t flags = (input->Flag() ? kPadded : 0) | (input->Flag() ? kReadOnly : 0);
  const Array array = TakeArray(input);
  uint8_t* first = nullptr;
  const DLTensor source = PlaceSource(input, array, &first);
  if (way == 255) {
    RejectDtype(input, source);
  } else if (way % 4 == 0) {
    CopyToNew(input, array, source, first, flags);
  } else if (way % 4 == 1) {
    CopyByImport(input, array, source, first);
  } else {
    CopyToTarget(input, array, source, first, flags);
  }
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::Input input(data, size);
  dlbridge_fuzz::Run(&input);
  return 0;
}
