// SPDX-License-Identifier: Apache-2.0
// The option COPY, compared with a copy made bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/aligned.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

uint32_t ItemBits(DLDataType dtype, bool padded) {
  const uint32_t bits = static_cast<uint32_t>(dtype.bits) * dtype.lanes;
  return padded ? (bits + 7) / 8 * 8 : bits;
}

// One element, as a list of bits.
using Element = std::vector<bool>;

Element ReadElement(const void* origin, int64_t offset, uint32_t item_bits, uint32_t bits) {
  const auto* bytes = static_cast<const unsigned char*>(origin);
  Element element;
  for (uint32_t i = 0; i < bits; ++i) {
    const int64_t bit = offset * item_bits + i;
    const int64_t byte = bit >= 0 ? bit / 8 : -((7 - bit) / 8);
    element.push_back(((bytes[byte] >> (bit - byte * 8)) & 1) != 0);
  }
  return element;
}

const void* OriginOf(const DLTensor& tensor) {
  return static_cast<const char*>(tensor.data) + tensor.byte_offset;
}

// All elements, the last axis fastest.
std::vector<Element> ElementsOf(const DLTensor& tensor, const Axes& strides, uint64_t flags) {
  const uint32_t item_bits = ItemBits(tensor.dtype, (flags & kPadded) != 0);
  const uint32_t bits = ItemBits(tensor.dtype, false);
  std::vector<Element> elements;
  Axes index(static_cast<size_t>(tensor.ndim), 0);
  const int64_t count = std::accumulate(tensor.shape, tensor.shape + tensor.ndim, int64_t{1},
                                        std::multiplies<int64_t>());
  for (int64_t n = 0; n < count; ++n) {
    const int64_t offset =
        std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0});
    elements.push_back(ReadElement(OriginOf(tensor), offset, item_bits, bits));
    for (size_t i = index.size(); i-- > 0 && ++index[i] == tensor.shape[i];) {
      index[i] = 0;
    }
  }
  return elements;
}

// Layouts of all kinds: compact, permuted, with gaps, reversed, broadcast.
void PickLayout(Random* random, TensorSpec* spec) {
  const auto ndim = static_cast<size_t>(random->Between(0, 5));
  spec->shape.clear();
  for (size_t i = 0; i < ndim; ++i) {
    spec->shape.push_back(random->OneIn(30) ? 0 : random->Between(1, 5));
  }
  spec->strides = CompactStrides(spec->shape);
  if (random->OneIn(2)) {
    std::vector<size_t> order(ndim);
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = ndim; i-- > 1;) {
      std::swap(order[i], order[static_cast<size_t>(random->Between(0, static_cast<int64_t>(i)))]);
    }
    int64_t product = 1;
    for (const size_t axis : order) {
      spec->strides[axis] = product * random->Between(1, 2);
      product = spec->strides[axis] * std::max<int64_t>(spec->shape[axis], 1);
    }
  }
  for (int64_t& stride : spec->strides) {
    stride = random->OneIn(8) ? 0 : random->OneIn(4) ? -stride : stride;
  }
}

// Chooses offsets and a memory size that cover every element of the strides.
void PickMemory(Random* random, uint32_t item_bits, TensorSpec* spec) {
  int64_t lowest = 0;
  int64_t highest = 0;
  for (size_t i = 0; i < spec->shape.size(); ++i) {
    const int64_t reach = std::max<int64_t>(spec->shape[i] - 1, 0) * spec->strides[i];
    (reach < 0 ? lowest : highest) += reach;
  }
  const int64_t below = (-lowest * item_bits + 7) / 8;
  const int64_t above = ((highest + 1) * item_bits + 7) / 8;
  spec->byte_offset = static_cast<uint64_t>(random->Between(0, 3));
  spec->start = below + random->Between(0, 3);
  spec->memory = static_cast<size_t>(below + above + 8);
}

TensorSpec RandomSpec(Random* random) {
  const DLDataType dtypes[] = {
      Dtype(kDLUInt, 1),          Dtype(kDLInt, 2),       Dtype(kDLInt, 3),
      Dtype(kDLFloat4_e2m1fn, 4), Dtype(kDLInt, 5),       Dtype(kDLFloat6_e2m3fn, 6),
      Dtype(kDLInt, 7),           Dtype(kDLBool, 8),      Dtype(kDLInt, 12),
      Dtype(kDLBfloat, 16),       Dtype(kDLInt, 24),      Dtype(kDLFloat, 32),
      Dtype(kDLComplex, 128),     Dtype(kDLInt, 33),      Dtype(kDLFloat4_e2m1fn, 4, 2),
      Dtype(kDLUInt, 1, 3),       Dtype(kDLFloat, 32, 4), Dtype(kDLInt, 255, 2)};
  TensorSpec spec;
  PickLayout(random, &spec);
  spec.dtype = random->Pick(dtypes);
  spec.flags = (random->OneIn(3) ? kPadded : 0) | (random->OneIn(3) ? kReadOnly : 0);
  PickMemory(random, ItemBits(spec.dtype, (spec.flags & kPadded) != 0), &spec);
  return spec;
}

std::string Show(const TensorSpec& spec) {
  return "shape " + testing::PrintToString(spec.shape) + ", strides " +
         testing::PrintToString(spec.strides) + ", bits " + std::to_string(spec.dtype.bits) +
         ", lanes " + std::to_string(spec.dtype.lanes) + ", flags " + std::to_string(spec.flags);
}

// Holds for every copy, whatever its source.
void ExpectCanonical(const DLTensor& copy, const Axes& shape) {
  EXPECT_EQ(ShapeOf(copy), shape);
  EXPECT_EQ(StridesOf(copy), CompactStrides(shape));
  EXPECT_EQ(copy.byte_offset, 0U);
  EXPECT_EQ(copy.device.device_type, kDLCPU);
  EXPECT_EQ(copy.device.device_id, 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(copy.data) % 256, 0U);
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  EXPECT_EQ(copy.data == nullptr, empty);
}

TEST(Copy, OfVersionedAgreesWithABitwiseCopy) {
  Random random(11);
  for (size_t round = 0; round < Scaled(4000); ++round) {
    const TensorSpec spec = RandomSpec(&random);
    VersionedSource source(spec);
    const std::vector<Element> expected = ElementsOf(*source.tensor(), spec.strides, spec.flags);
    const DLDataType dtype = spec.dtype;
    DLManagedTensorVersioned* copy = MustAdopt(source.get(), DLBRIDGE_CONVERT_COPY);
    ASSERT_NE(copy, nullptr) << Show(spec);
    EXPECT_EQ(source.deletions(), 1);
    ExpectCanonical(copy->dl_tensor, spec.shape);
    EXPECT_EQ(std::memcmp(&copy->dl_tensor.dtype, &dtype, sizeof dtype), 0);
    EXPECT_EQ(copy->flags, (spec.flags & ~kReadOnly) | kCopied);
    EXPECT_EQ(ElementsOf(copy->dl_tensor, StridesOf(copy->dl_tensor), copy->flags), expected);
    dlbridge_release_versioned(copy);
    ASSERT_FALSE(HasFailure()) << Show(spec);
  }
}

TEST(Copy, ToLegacyIsPacked) {
  Random random(12);
  for (size_t round = 0; round < Scaled(4000); ++round) {
    const TensorSpec spec = RandomSpec(&random);
    VersionedSource source(spec);
    const std::vector<Element> expected = ElementsOf(*source.tensor(), spec.strides, spec.flags);
    DLManagedTensor* copy = MustDowngrade(source.get(), DLBRIDGE_CONVERT_COPY);
    ASSERT_NE(copy, nullptr) << Show(spec);
    ExpectCanonical(copy->dl_tensor, spec.shape);
    EXPECT_EQ(ElementsOf(copy->dl_tensor, StridesOf(copy->dl_tensor), 0), expected);
    dlbridge_release_legacy(copy);
    ASSERT_FALSE(HasFailure()) << Show(spec);
  }
}

TEST(Copy, OfLegacyIsMarkedCopiedAndIsWritable) {
  Random random(13);
  for (size_t round = 0; round < Scaled(2000); ++round) {
    TensorSpec spec = RandomSpec(&random);
    spec.null_strides = random.OneIn(3);
    if (spec.null_strides) {
      spec.strides = CompactStrides(spec.shape);
      PickMemory(&random, ItemBits(spec.dtype, true), &spec);
    }
    LegacySource source(spec);
    DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_COPY);
    options.tensor_flags = spec.flags;
    const std::vector<Element> expected = ElementsOf(*source.tensor(), spec.strides, spec.flags);
    DLManagedTensorVersioned* copy = nullptr;
    ASSERT_EQ(dlbridge_upgrade(source.get(), &options, &copy, nullptr), DLBRIDGE_OK) << Show(spec);
    ExpectCanonical(copy->dl_tensor, spec.shape);
    EXPECT_EQ(copy->flags, (spec.flags & kPadded) | kCopied);
    EXPECT_EQ(ElementsOf(copy->dl_tensor, StridesOf(copy->dl_tensor), copy->flags), expected);
    dlbridge_release_versioned(copy);
    ASSERT_FALSE(HasFailure()) << Show(spec);
  }
}

TEST(Copy, OfABroadcastAxisRepeatsTheElements) {
  TensorSpec spec({1 << 16, 3}, {0, 1});
  spec.dtype = Dtype(kDLUInt, 8);
  LegacySource source(spec);
  const auto* from = static_cast<const unsigned char*>(source.tensor()->data);
  const unsigned char row[] = {from[0], from[1], from[2]};
  DLManagedTensorVersioned* copy = MustUpgrade(source.get(), DLBRIDGE_CONVERT_COPY);
  const auto* to = static_cast<const unsigned char*>(copy->dl_tensor.data);
  for (size_t i = 0; i < (1 << 16); ++i) {
    ASSERT_EQ(std::memcmp(to + 3 * i, row, 3), 0) << i;
  }
  dlbridge_release_versioned(copy);
}

TEST(Copy, WorksWithTheMaximumOfAxes) {
  // Five of the axes are longer than 1. The strides of the others are never used.
  Axes shape(DLBRIDGE_MAX_NDIM, 1);
  Axes strides(DLBRIDGE_MAX_NDIM, INT64_MIN);
  for (size_t i = 0; i < 5; ++i) {
    shape[i * 15] = 2;
    strides[i * 15] = int64_t{1} << i;
  }
  TensorSpec spec(shape, strides);
  spec.dtype = Dtype(kDLUInt, 8);
  const DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_COPY);
  LegacySource source(spec);
  const unsigned char second = static_cast<unsigned char*>(source.tensor()->data)[16];
  DLManagedTensorVersioned* copy = nullptr;
  ASSERT_EQ(dlbridge_upgrade(source.get(), &options, &copy, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(static_cast<unsigned char*>(copy->dl_tensor.data)[1], second);
  dlbridge_release_versioned(copy);
}

TEST(Copy, IsRejectedWhereTheCpuCannotRead) {
  for (int32_t type = -1; type < 24; ++type) {
    const bool readable = dlbridge_host_accessible(type, nullptr) == DLBRIDGE_YES;
    EXPECT_EQ(readable, type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost ||
                            type == kDLCUDAManaged);
    TensorSpec spec;
    spec.device = Device(type);
    LegacySource source(spec);
    const DLBridgeConvertOptions options =
        Options(DLBRIDGE_CONVERT_COPY | DLBRIDGE_CONVERT_ALLOW_UNKNOWN);
    DLManagedTensorVersioned* copy = nullptr;
    Error error;
    if (dlbridge_upgrade(source.get(), &options, &copy, &error) == DLBRIDGE_OK) {
      EXPECT_TRUE(readable) << type;
      EXPECT_EQ(copy->dl_tensor.device.device_type, kDLCPU);
      dlbridge_release_versioned(copy);
      continue;
    }
    EXPECT_FALSE(readable) << type;
    EXPECT_EQ(error.status, DLBRIDGE_ERROR_UNSUPPORTED);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_COPY_DEVICE);
    source.Release();
  }
}

TEST(Copy, OfASharedTensorKeepsTheOtherOwners) {
  LegacySource source;
  DLManagedTensorVersioned* first = MustUpgrade(source.get());
  DLManagedTensorVersioned* second = MustShare(first);
  DLManagedTensorVersioned* copy = MustAdopt(second, DLBRIDGE_CONVERT_COPY);
  EXPECT_EQ(source.deletions(), 0);
  EXPECT_NE(copy->dl_tensor.data, first->dl_tensor.data);
  dlbridge_release_versioned(copy);
  dlbridge_release_versioned(first);
}

TEST(Copy, CopiedTensorConvertsWithoutAnotherCopy) {
  LegacySource source;
  DLManagedTensorVersioned* copy = MustUpgrade(source.get(), DLBRIDGE_CONVERT_COPY);
  void* data = copy->dl_tensor.data;
  DLManagedTensor* down = MustDowngrade(copy);
  EXPECT_EQ(down->dl_tensor.data, data);
  DLManagedTensorVersioned* up = MustUpgrade(down);
  EXPECT_EQ(up->dl_tensor.data, data);
  EXPECT_EQ(up->flags, kCopied) << "as it was before the downgrade";
  dlbridge_release_versioned(up);
}

// ------------------------------------------------------------------------------- allocator

struct Request {
  int32_t device;
  int32_t id;
  uint64_t bytes;
  uint64_t alignment;
  void* memory;
};

struct Recorder {
  std::vector<Request> allocated;
  std::vector<Request> freed;

  static void* Allocate(void* context, DLDevice device, uint64_t bytes, uint64_t alignment,
                        const DLBridgeStream* /*stream*/) {
    void* memory = AllocateAligned(alignment, bytes);
    if (memory == nullptr) {
      return nullptr;
    }
    static_cast<Recorder*>(context)->allocated.push_back(
        {device.device_type, device.device_id, bytes, alignment, memory});
    return memory;
  }
  static void Deallocate(void* context, DLDevice device, void* memory, uint64_t bytes,
                         uint64_t alignment, const DLBridgeStream* /*stream*/) {
    static_cast<Recorder*>(context)->freed.push_back(
        {device.device_type, device.device_id, bytes, alignment, memory});
    FreeAligned(memory);
  }
  DLBridgeAllocator Hook() {
    DLBridgeAllocator hook = DLBRIDGE_ALLOCATOR_INIT;
    hook.context = this;
    hook.allocate = &Recorder::Allocate;
    hook.deallocate = &Recorder::Deallocate;
    return hook;
  }
};

void ExpectSame(const Request& a, const Request& b) {
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.alignment, b.alignment);
  EXPECT_EQ(a.memory, b.memory);
}

TEST(CopyAllocator, FreesOnceWithTheValuesOfTheAllocation) {
  Recorder recorder;
  TensorSpec spec({3, 5}, {10, 2});
  spec.dtype = Dtype(kDLFloat4_e2m1fn, 4);
  spec.device = Device(kDLCUDAHost, 2);
  LegacySource source(spec);
  DLManagedTensorVersioned* copy = nullptr;
  {
    // The library copies the functions, so the struct need not outlive the call.
    const DLBridgeAllocator hook = recorder.Hook();
    DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_COPY);
    options.allocator = &hook;
    ASSERT_EQ(dlbridge_upgrade(source.get(), &options, &copy, nullptr), DLBRIDGE_OK);
  }
  ASSERT_EQ(recorder.allocated.size(), 1U);
  const Request& request = recorder.allocated[0];
  EXPECT_EQ(request.device, kDLCPU);
  EXPECT_EQ(request.id, 0);
  EXPECT_EQ(request.bytes, 8U) << "15 elements of four bits";
  EXPECT_EQ(request.alignment & (request.alignment - 1), 0U);
  EXPECT_EQ(copy->dl_tensor.data, request.memory);
  DLManagedTensorVersioned* shared = MustShare(copy);
  dlbridge_release_versioned(copy);
  EXPECT_TRUE(recorder.freed.empty());
  dlbridge_release_versioned(shared);
  ASSERT_EQ(recorder.freed.size(), 1U);
  ExpectSame(recorder.freed[0], request);
}

TEST(CopyAllocator, IsNotCalledForAnEmptyTensor) {
  Recorder recorder;
  const DLBridgeAllocator hook = recorder.Hook();
  DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_COPY);
  options.allocator = &hook;
  LegacySource source(TensorSpec(Axes({0, 4})));
  DLManagedTensorVersioned* copy = nullptr;
  ASSERT_EQ(dlbridge_upgrade(source.get(), &options, &copy, nullptr), DLBRIDGE_OK);
  dlbridge_release_versioned(copy);
  EXPECT_TRUE(recorder.allocated.empty());
  EXPECT_TRUE(recorder.freed.empty());
}

TEST(CopyAllocator, IsUsedByDowngrade) {
  Recorder recorder;
  const DLBridgeAllocator hook = recorder.Hook();
  DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_COPY);
  options.allocator = &hook;
  VersionedSource source;
  DLManagedTensor* copy = nullptr;
  ASSERT_EQ(dlbridge_downgrade(source.get(), &options, &copy, nullptr), DLBRIDGE_OK);
  ASSERT_EQ(recorder.allocated.size(), 1U);
  EXPECT_EQ(recorder.allocated[0].bytes, 24U);
  copy->deleter(copy);
  ASSERT_EQ(recorder.freed.size(), 1U);
  ExpectSame(recorder.freed[0], recorder.allocated[0]);
}

}  // namespace
}  // namespace dlbridge_test
