// SPDX-License-Identifier: Apache-2.0
// Random cycles of import, upgrade, downgrade, share, view, export and release against a small
// model: flags and bytes stay those of the source, whether or not another owner exists.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "dlbridge/dlbridge.h"
#include "support/scale.h"
#include "support/tensors.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DLBRIDGE_TEST_SLOW_CHECKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DLBRIDGE_TEST_SLOW_CHECKS 1
#endif
#endif

namespace dlbridge_test {
namespace {

constexpr int64_t kRows = 2;
constexpr int64_t kColumns = 3;
constexpr size_t kCount = kRows * kColumns;
using Values = std::array<uint8_t, kCount>;

// A producer's tensor of 4-bit numbers, packed or one per byte, in either struct.
class Producer {
 public:
  explicit Producer(uint64_t flags) {
    for (size_t i = 0; i < kCount; ++i) {
      const auto value = static_cast<unsigned char>(i + 3);
      if ((flags & kPadded) != 0) {
        bytes_[i] = value;
      } else {
        bytes_[i / 2] = static_cast<unsigned char>(bytes_[i / 2] | value << i % 2 * 4);
      }
    }
    const DLTensor tensor = {bytes_, Device(kDLCPU), 2, Dtype(kDLUInt, 4), shape_, strides_, 0};
    legacy_ = {tensor, this, [](DLManagedTensor* self) { Count(self->manager_ctx); }};
    versioned_ = {{1, 1},
                  this,
                  [](DLManagedTensorVersioned* self) { Count(self->manager_ctx); },
                  flags,
                  tensor};
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  DLManagedTensor* legacy() { return &legacy_; }
  DLManagedTensorVersioned* versioned() { return &versioned_; }
  int deletions() const { return deletions_; }

 private:
  static void Count(void* self) { ++static_cast<Producer*>(self)->deletions_; }

  unsigned char bytes_[kCount] = {};
  int64_t shape_[2] = {kRows, kColumns};
  int64_t strides_[2] = {kColumns, 1};
  DLManagedTensor legacy_;
  DLManagedTensorVersioned versioned_;
  int deletions_ = 0;
};

// One owner, and the model's record of it.
struct Owner {
  void* tensor;
  DLBridgeKind kind;
  uint64_t flags;  // all flags of the tensor, also those that a legacy struct cannot hold
  bool foreign;

  DLManagedTensorVersioned* versioned() const {
    return static_cast<DLManagedTensorVersioned*>(tensor);
  }
  DLManagedTensor* legacy() const { return static_cast<DLManagedTensor*>(tensor); }
  bool is_legacy() const { return kind == DLBRIDGE_KIND_LEGACY; }
  const DLTensor& fields() const {
    return is_legacy() ? legacy()->dl_tensor : versioned()->dl_tensor;
  }
};

// The elements at the strides of the struct, read by the model's flags.
Values Read(const Owner& owner) {
  const DLTensor& tensor = owner.fields();
  const auto* bytes = static_cast<const unsigned char*>(tensor.data) + tensor.byte_offset;
  const bool padded = (owner.flags & kPadded) != 0;
  Values values = {};
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      const int64_t at = row * tensor.strides[0] + column * tensor.strides[1];
      const unsigned char byte = bytes[padded ? at : at / 2];
      values[static_cast<size_t>(row * kColumns + column)] =
          static_cast<uint8_t>(padded ? byte : byte >> at % 2 * 4 & 15);
    }
  }
  return values;
}

constexpr uint32_t kDrop = DLBRIDGE_CONVERT_DROP_READ_ONLY | DLBRIDGE_CONVERT_DROP_PADDED;

class Cycle {
 public:
  explicit Cycle(Random* random) : random_(*random) {}

  void Run() {
    const auto flags = static_cast<uint64_t>(random_.Between(0, 7));
    Producer producer(flags);
    const bool legacy = random_.OneIn(2);
    owner_ = legacy ? Owner{producer.legacy(), DLBRIDGE_KIND_LEGACY, flags, true}
                    : Owner{producer.versioned(), DLBRIDGE_KIND_VERSIONED, flags, true};
    Enter();
    const Values before = Read(owner_);
    if (random_.OneIn(2)) {
      further_ = MustShare(owner_.versioned());
    }
    for (int64_t step = random_.Between(1, 8); step > 0; --step) {
      Step();
      Check(before);
    }
    End();
    ASSERT_EQ(producer.deletions(), 1);
  }

 private:
  // The first step: the tensor becomes dlbridge-owned, with all flags of the model.
  void Enter() {
    DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_VOUCH_WRITABLE);
    options.tensor_flags = owner_.is_legacy() ? owner_.flags : 0;
    Import(options);
  }
  void Import(const DLBridgeConvertOptions& options) {
    DLManagedTensorVersioned* out = nullptr;
    Error error;
    ASSERT_EQ(dlbridge_import(owner_.tensor, owner_.kind, &options, &out, &error), DLBRIDGE_OK)
        << error.message;
    owner_ = {out, DLBRIDGE_KIND_VERSIONED, owner_.flags, false};
  }
  void Upgrade() {
    if (owner_.is_legacy()) {
      DLManagedTensorVersioned* out = MustUpgrade(owner_.legacy(), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
      owner_ = {out, DLBRIDGE_KIND_VERSIONED, owner_.flags, owner_.foreign};
    }
  }
  void Downgrade() {
    if (!owner_.is_legacy()) {
      DLManagedTensor* out = MustDowngrade(owner_.versioned(), kDrop);
      owner_ = {out, DLBRIDGE_KIND_LEGACY, owner_.flags, false};
    }
  }
  // Replaces this owner by another one.
  void Replace(DLManagedTensorVersioned* other) {
    EXPECT_EQ(dlbridge_release(owner_.tensor, owner_.kind), DLBRIDGE_OK);
    owner_.tensor = other;
  }
  void Share() {
    if (!owner_.is_legacy()) {
      Replace(MustShare(owner_.versioned()));
    }
  }
  void View() {
    if (!owner_.is_legacy()) {
      Replace(MustView(owner_.versioned(), {kRows, kColumns}));
    }
  }
  void Export() {
    const bool down = random_.OneIn(2);
    const DLPackVersion target = down ? DLPackVersion{0, 8} : DLPackVersion{1, 1};
    const DLBridgeConvertOptions options =
        Options(down ? kDrop : uint32_t{DLBRIDGE_CONVERT_VOUCH_WRITABLE});
    void* out = nullptr;
    DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
    Error error;
    ASSERT_EQ(dlbridge_export(owner_.tensor, owner_.kind, target, &options, &out, &kind, &error),
              DLBRIDGE_OK)
        << error.message;
    ASSERT_EQ(kind, down ? DLBRIDGE_KIND_LEGACY : DLBRIDGE_KIND_VERSIONED);
    owner_ = {out, kind, owner_.flags, owner_.foreign};
  }
  // Sets READ_ONLY, the only change that an owner may make.
  void Tighten() {
    if (!owner_.is_legacy()) {
      owner_.versioned()->flags |= kReadOnly;
      owner_.flags |= kReadOnly;
    }
  }
  void Step() {
    switch (random_.Between(0, 6)) {
      case 0:
        return Import(Options(DLBRIDGE_CONVERT_VOUCH_WRITABLE));
      case 1:
        return Upgrade();
      case 2:
        return Downgrade();
      case 3:
        return Share();
      case 4:
        return View();
      case 5:
        return Export();
      default:
        return Tighten();
    }
  }
  void Check(const Values& before) {
    if (!owner_.is_legacy()) {
      ASSERT_EQ(owner_.versioned()->flags, owner_.flags);
      DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
      ASSERT_EQ(dlbridge_layout(&owner_.fields(), owner_.versioned()->flags, &layout, nullptr),
                DLBRIDGE_OK);
      ASSERT_EQ(layout.packed_bytes, (owner_.flags & kPadded) != 0 ? 6 : 3);
    }
    ASSERT_EQ(Read(owner_), before);
  }
  void End() {
    EXPECT_EQ(dlbridge_release(owner_.tensor, owner_.kind), DLBRIDGE_OK);
    dlbridge_release_versioned(further_);
  }

  Random& random_;
  Owner owner_ = {};
  DLManagedTensorVersioned* further_ = nullptr;
};

TEST(Cycle, KeepsFlagsAndBytesWithAndWithoutAnotherShare) {
#ifdef DLBRIDGE_TEST_SLOW_CHECKS
  const size_t rounds = Scaled(20000);
#else
  const size_t rounds = Scaled(1000000);
#endif
  Random random(13);
  for (size_t round = 0; round < rounds; ++round) {
    Cycle(&random).Run();
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
  }
}

}  // namespace
}  // namespace dlbridge_test
