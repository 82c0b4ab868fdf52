// SPDX-License-Identifier: Apache-2.0
// Legacy or versioned, from 64 bytes: never wrong, and decided for nearly all tensors of producers.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/pages.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

template <class T>
T* Pointer(uint64_t address) {
  return reinterpret_cast<T*>(static_cast<uintptr_t>(address));
}

// Typical addresses: those of this process, and of the ranges that drivers use.
class Addresses {
 public:
  explicit Addresses(Random* random) : random_(random), heap_(4096) {
    mapped_ = MapPages(1 << 20, Access::kNone);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  ~Addresses() { UnmapPages(mapped_, 1 << 20); }

  uint64_t Heap(uint64_t alignment) { return At(heap_.data(), heap_.size(), alignment); }
  uint64_t Stack(uint64_t alignment) {
    std::array<char, 256> local;
    return At(local.data(), local.size(), alignment);
  }
  uint64_t Mapped(uint64_t alignment) { return At(mapped_, 1 << 20, alignment); }
  uint64_t HostArray() { return random_->OneIn(3) ? Stack(8) : Heap(8); }
  uint64_t Code() {
    // Addresses in this program, in a library, and without address randomisation.
    const uint64_t functions[] = {reinterpret_cast<uintptr_t>(&std::printf),
                                  reinterpret_cast<uintptr_t>(&std::strtod),
                                  reinterpret_cast<uintptr_t>(&dlbridge_identify), 0x401000};
    return random_->Pick(functions) + static_cast<uint64_t>(random_->Between(0, 255)) * 16;
  }
  uint64_t Cuda() {
    return (random_->OneIn(2) ? 0x7f0000000000U : 0x302000000U) +
           static_cast<uint64_t>(random_->Between(0, 1 << 20)) * 512;
  }
  uint64_t Data(bool handle) {
    if (handle && random_->OneIn(20)) {
      return static_cast<uint64_t>(random_->Between(1, 1000));  // a small number, as on WebGPU
    }
    switch (random_->Between(0, 5)) {
      case 0:
        return 0;
      case 1:
        return Mapped(4096);
      case 2:
        return Cuda();
      default:
        return Heap(static_cast<uint64_t>(1) << random_->Between(0, 6));
    }
  }

 private:
  uint64_t At(const void* base, size_t size, uint64_t alignment) {
    const auto address = reinterpret_cast<uintptr_t>(base);
    return (address + static_cast<uint64_t>(random_->Between(0, static_cast<int64_t>(size) - 1))) /
           alignment * alignment;
  }

  Random* random_;
  std::vector<char> heap_;
  void* mapped_;
};

const DLDataType kDtypes[] = {
    {kDLFloat, 32, 1},   {kDLFloat, 64, 1},        {kDLFloat, 16, 1},     {kDLInt, 64, 1},
    {kDLInt, 32, 1},     {kDLInt, 8, 1},           {kDLUInt, 8, 1},       {kDLUInt, 1, 1},
    {kDLBool, 8, 1},     {kDLBfloat, 16, 1},       {kDLComplex, 64, 1},   {kDLComplex, 128, 1},
    {kDLFloat, 32, 4},   {kDLFloat8_e4m3fn, 8, 1}, {kDLInt, 4, 2},        {kDLFloat4_e2m1fn, 4, 2},
    {kDLInt, 8, 0x7fff}, {kDLOpaqueHandle, 64, 1}, {kDLFloat, 32, 0xffff}};

bool IsHandle(int32_t type) {
  return type == kDLOpenCL || type == kDLVulkan || type == kDLMetal || type == kDLVPI ||
         type == kDLWebGPU;
}

int32_t PickDevice(Random* random) {
  if (random->OneIn(3)) {
    const int32_t types[] = {1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
    return random->Pick(types);
  }
  return random->OneIn(3) ? kDLCUDA : kDLCPU;
}

DLTensor MakeTensor(Random* random, Addresses* addresses) {
  DLTensor tensor = {};
  const int32_t type = PickDevice(random);
  tensor.device = Device(type, random->OneIn(4) ? static_cast<int32_t>(random->Between(0, 15)) : 0);
  tensor.data = Pointer<void>(addresses->Data(IsHandle(type)));
  tensor.ndim =
      static_cast<int32_t>(random->OneIn(10) ? random->Between(0, 64) : random->Between(0, 5));
  tensor.dtype = random->Pick(kDtypes);
  tensor.shape =
      Pointer<int64_t>(tensor.ndim == 0 && random->OneIn(2) ? 0 : addresses->HostArray());
  tensor.strides = Pointer<int64_t>(random->OneIn(3) ? 0 : addresses->HostArray());
  tensor.byte_offset = random->OneIn(5) ? static_cast<uint64_t>(random->Between(1, 1 << 16)) : 0;
  return tensor;
}

uint64_t PickContext(Random* random, Addresses* addresses) {
  switch (random->Between(0, 7)) {
    case 0:
      return 0;
    case 1:
      return static_cast<uint64_t>(random->Between(1, 1 << 20));  // an index, not a pointer
    default:
      return random->OneIn(4) ? addresses->Mapped(16) : addresses->Heap(8);
  }
}

DLManagedTensor MakeLegacy(Random* random, Addresses* addresses) {
  DLManagedTensor managed = {};
  managed.dl_tensor = MakeTensor(random, addresses);
  managed.manager_ctx = Pointer<void>(PickContext(random, addresses));
  managed.deleter = reinterpret_cast<void (*)(DLManagedTensor*)>(
      static_cast<uintptr_t>(random->OneIn(10) ? 0 : addresses->Code()));
  return managed;
}

DLManagedTensorVersioned MakeVersioned(Random* random, Addresses* addresses) {
  DLManagedTensorVersioned managed = {};
  managed.version = {1, static_cast<uint32_t>(random->Between(0, 4))};
  managed.manager_ctx = Pointer<void>(PickContext(random, addresses));
  managed.deleter = reinterpret_cast<void (*)(DLManagedTensorVersioned*)>(
      static_cast<uintptr_t>(random->OneIn(10) ? 0 : addresses->Code()));
  managed.flags = static_cast<uint64_t>(random->Between(0, 7));
  managed.dl_tensor = MakeTensor(random, addresses);
  return managed;
}

// Counts the answers for many tensors of one kind.
struct Tally {
  size_t asked = 0;
  size_t wrong = 0;
  size_t undecided = 0;

  void Add(DLBridgeKind said, DLBridgeKind is) {
    ++asked;
    const bool named = said == DLBRIDGE_KIND_LEGACY || said == DLBRIDGE_KIND_VERSIONED;
    undecided += named ? 0 : 1;
    wrong += named && said != is ? 1 : 0;
  }
  double SureRate() const {
    return 1.0 - static_cast<double>(undecided) / static_cast<double>(asked);
  }
};

TEST(Identify, IsNeverWrongAndDecidesNearlyAll) {
  Random random(31);
  Addresses addresses(&random);
  Tally tally;
  const size_t rounds = Scaled(200000);
  for (size_t round = 0; round < rounds; ++round) {
    const DLManagedTensor legacy = MakeLegacy(&random, &addresses);
    tally.Add(dlbridge_identify(&legacy), DLBRIDGE_KIND_LEGACY);
    const DLManagedTensorVersioned versioned = MakeVersioned(&random, &addresses);
    tally.Add(dlbridge_identify(&versioned), DLBRIDGE_KIND_VERSIONED);
  }
  std::printf("identify: %zu tensors, %zu wrong, %zu undecided, %.4f %% sure\n", tally.asked,
              tally.wrong, tally.undecided, 100 * tally.SureRate());
  EXPECT_EQ(tally.wrong, 0U);
  EXPECT_GE(tally.SureRate(), 0.999);
}

// Gives one field an invalid value, as a faulty producer could.
void Break(Random* random, DLTensor* tensor) {
  switch (random->Between(0, 7)) {
    case 0:
      tensor->ndim = -static_cast<int32_t>(random->Between(1, 1000));
      break;
    case 1:
      tensor->dtype.bits = 0;
      break;
    case 2:
      tensor->dtype.lanes = 0;
      break;
    case 3:
      tensor->device.device_id = -1;
      break;
    case 4:
      tensor->device = Device(static_cast<int32_t>(random->Between(-5, 40)));
      break;
    case 5:
      tensor->shape = nullptr;
      break;
    case 6:
      tensor->shape = Pointer<int64_t>(reinterpret_cast<uintptr_t>(tensor->shape) + 1);
      break;
    default:
      tensor->strides = Pointer<int64_t>(reinterpret_cast<uintptr_t>(tensor->strides) + 1);
      break;
  }
}

TEST(Identify, IsNeverWrongForInvalidTensors) {
  Random random(32);
  Addresses addresses(&random);
  Tally tally;
  for (size_t round = 0; round < Scaled(100000); ++round) {
    DLManagedTensor legacy = MakeLegacy(&random, &addresses);
    Break(&random, &legacy.dl_tensor);
    const DLBridgeKind said = dlbridge_identify(&legacy);
    tally.Add(said, DLBRIDGE_KIND_LEGACY);
    ASSERT_NE(said, DLBRIDGE_KIND_VERSIONED)
        << "data " << legacy.dl_tensor.data << ", device type "
        << static_cast<int32_t>(legacy.dl_tensor.device.device_type) << ", ndim "
        << legacy.dl_tensor.ndim << ", bits " << int{legacy.dl_tensor.dtype.bits} << ", lanes "
        << legacy.dl_tensor.dtype.lanes << ", shape " << legacy.dl_tensor.shape << ", strides "
        << legacy.dl_tensor.strides;
    DLManagedTensorVersioned versioned = MakeVersioned(&random, &addresses);
    Break(&random, &versioned.dl_tensor);
    tally.Add(dlbridge_identify(&versioned), DLBRIDGE_KIND_VERSIONED);
  }
  std::printf("identify, broken: %zu tensors, %zu wrong, %zu undecided\n", tally.asked, tally.wrong,
              tally.undecided);
  EXPECT_EQ(tally.wrong, 0U);
}

TEST(Identify, RecognisesAVersionedTensorOfAnotherMajor) {
  Random random(33);
  Addresses addresses(&random);
  Tally tally;
  for (size_t round = 0; round < Scaled(20000); ++round) {
    DLManagedTensorVersioned foreign = MakeVersioned(&random, &addresses);
    foreign.version = {static_cast<uint32_t>(random.Between(2, 5)),
                       static_cast<uint32_t>(random.Between(0, 9))};
    // The layout after `flags` is unknown for another major.
    for (size_t at = offsetof(DLManagedTensorVersioned, dl_tensor); at < sizeof foreign; ++at) {
      reinterpret_cast<unsigned char*>(&foreign)[at] =
          static_cast<unsigned char>(random.Between(0, 255));
    }
    tally.Add(dlbridge_identify(&foreign), DLBRIDGE_KIND_VERSIONED);
  }
  EXPECT_EQ(tally.wrong, 0U);
  EXPECT_GE(tally.SureRate(), 0.999);
}

TEST(Identify, RecognisesDlbridgeTensorsWhateverTheirFields) {
  TensorSpec spec;
  spec.device = Device(kDLWebGPU);
  LegacySource legacy(spec);
  DLManagedTensorVersioned* up = MustUpgrade(legacy.get(), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  up->dl_tensor.data = Pointer<void>(2);
  up->dl_tensor.ndim = -7;
  EXPECT_EQ(dlbridge_identify(up), DLBRIDGE_KIND_VERSIONED);
  up->version = {0, 0};
  EXPECT_EQ(dlbridge_identify(up), DLBRIDGE_KIND_VERSIONED);
  dlbridge_release_versioned(up);

  VersionedSource versioned(spec);
  DLManagedTensor* down = MustDowngrade(versioned.get());
  down->dl_tensor.data = Pointer<void>(2);
  EXPECT_EQ(dlbridge_identify(down), DLBRIDGE_KIND_LEGACY);
  down->dl_tensor.ndim = -7;
  EXPECT_EQ(dlbridge_identify(down), DLBRIDGE_KIND_LEGACY);
  dlbridge_release_legacy(down);
}

TEST(Identify, IsUnknownForNullAndForImpossibleBytes) {
  EXPECT_EQ(dlbridge_identify(nullptr), DLBRIDGE_KIND_UNKNOWN);
  // Bytes that cannot be a version are legacy, so that the broken rule is reported.
  alignas(8) const unsigned char zeros[64] = {};
  EXPECT_EQ(dlbridge_identify(zeros), DLBRIDGE_KIND_LEGACY);
  alignas(8) unsigned char ones[64];
  std::memset(ones, 0xff, sizeof ones);
  EXPECT_EQ(dlbridge_identify(ones), DLBRIDGE_KIND_LEGACY);
  // A valid version, followed by bytes that neither kind can have.
  const DLPackVersion version = {1, 3};
  std::memcpy(ones, &version, sizeof version);
  EXPECT_EQ(dlbridge_identify(ones), DLBRIDGE_KIND_UNKNOWN);
}

// These bytes are valid for both kinds: the handle of a scalar reads as version 1.3, its offset as
// a device, and its context as the ndim and dtype of another scalar.
TEST(Identify, IsAmbiguousWhereTheBytesFitBoth) {
  DLManagedTensor legacy = {};
  legacy.dl_tensor.data = Pointer<void>((uint64_t{3} << 32) | 1);
  legacy.dl_tensor.device = Device(kDLWebGPU);
  legacy.dl_tensor.dtype = Dtype(kDLFloat, 32);
  legacy.dl_tensor.byte_offset = kDLCPU;
  legacy.manager_ctx = Pointer<void>(uint64_t{0x00012002} << 32);
  EXPECT_EQ(dlbridge_validate_legacy(&legacy, nullptr, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_identify(&legacy), DLBRIDGE_KIND_AMBIGUOUS);
  DLManagedTensorVersioned* out = nullptr;
  EXPECT_EQ(dlbridge_import(&legacy, DLBRIDGE_KIND_UNKNOWN, nullptr, &out, nullptr),
            DLBRIDGE_ERROR_AMBIGUOUS);
  EXPECT_EQ(out, nullptr);
  // Without a valid device for the versioned kind it is legacy.
  legacy.dl_tensor.byte_offset = 0;
  EXPECT_EQ(dlbridge_identify(&legacy), DLBRIDGE_KIND_LEGACY);
}

// A small handle, as on WebGPU, reads as the version of a later major. The dtype of a legacy tensor
// is at the position of the versioned deleter, and its value is not a code address.
TEST(Identify, DistinguishesASmallHandleFromALaterMajor) {
  int64_t shape[2] = {2, 3};
  DLManagedTensor legacy = {};
  legacy.dl_tensor.device = Device(kDLWebGPU);
  legacy.dl_tensor.ndim = 2;
  legacy.dl_tensor.dtype = Dtype(kDLFloat, 32);
  legacy.dl_tensor.shape = shape;
  for (uint64_t handle = 1; handle < 300; ++handle) {
    legacy.dl_tensor.data = Pointer<void>(handle);
    EXPECT_EQ(dlbridge_identify(&legacy), DLBRIDGE_KIND_LEGACY) << handle;
  }
}

TEST(Identify, ReadsBytesAtAnyAlignment) {
  Random random(34);
  Addresses addresses(&random);
  const DLManagedTensor legacy = MakeLegacy(&random, &addresses);
  std::array<unsigned char, 80> bytes = {};
  std::memcpy(bytes.data() + 3, &legacy, sizeof legacy);
  EXPECT_EQ(dlbridge_identify(bytes.data() + 3), dlbridge_identify(&legacy));
}

}  // namespace
}  // namespace dlbridge_test
