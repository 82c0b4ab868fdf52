// SPDX-License-Identifier: Apache-2.0
// Another thread changes every field of a struct, its shape and its strides during every call. Each
// function uses the values that it loaded once: results are whole, nothing is accessed out of
// bounds, and every call ends. Under ThreadSanitizer no function loads a field of a foreign struct
// other than atomically.
//
// DLBRIDGE_RACE_SECONDS is the time for each function; `./run races` sets it to a minute.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "dlbridge/dlbridge.h"
#include "support/ipc.h"
#include "support/racing_producer.h"
#include "support/tensors.h"

#ifndef _WIN32
#include <unistd.h>

#include <csignal>
#endif

// The owner of a dlbridge-owned struct may set READ_ONLY at any time. dlbridge_share copies the
// struct with memcpy, since sixteen bytes at a time are faster, and uses only the copy
// (src/tensor/share.cc): that the owner writes meanwhile is the owner's race. ThreadSanitizer calls
// this function.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:^dlbridge_share$\n"; }

namespace dlbridge_test {
namespace {

// Wide enough for every product of an extent, a stride and a size.
__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using)

// What a function of the library did in one run.
struct Outcome {
  uint64_t accepted = 0;  // calls that returned DLBRIDGE_OK
  uint64_t consumed = 0;  // foreign tensors that they consumed
};

struct World {
  RacingProducer* producer = nullptr;
  Random random{3};
  Outcome outcome;
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;  // all elements lie in the producer's blocks

  void Count(DLBridgeStatus status, uint64_t consumed = 0) {
    outcome.accepted += status == DLBRIDGE_OK ? 1 : 0;
    outcome.consumed += status == DLBRIDGE_OK ? consumed : 0;
  }
};

// ----------------------------------------------------------------------------------- the oracle

// The bytes from the first to the last element, relative to element (0,...,0).
struct Reach {
  Wide first = 0;
  Wide last = 0;
  bool empty = false;
};

Reach ReachOf(const DLTensor& tensor) {
  const Wide bits = Wide{tensor.dtype.bits} * tensor.dtype.lanes;
  Wide low = 0;
  Wide high = 0;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] == 0) {
      return {0, 0, true};  // the other extents and the strides may be anything
    }
  }
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    const Wide way = (Wide{tensor.shape[axis]} - 1) * tensor.strides[axis];
    (way < 0 ? low : high) += way;
  }
  // Packed elements share bytes; the padded flag only widens them to whole bytes.
  const Wide unit = bits % 8 == 0 ? bits : 8;
  return {low * (bits % 8 == 0 ? bits : 1) / 8, (high * (bits % 8 == 0 ? bits : 1) + unit) / 8,
          false};
}

// A result has axes and arrays of its own, and values that a validation accepts.
void ExpectWhole(const DLTensor& tensor) {
  ASSERT_GE(tensor.ndim, 0);
  ASSERT_LE(tensor.ndim, DLBRIDGE_MAX_NDIM);
  Wide count = 1;
  bool empty = false;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    ASSERT_GE(tensor.shape[axis], 0);
    empty = empty || tensor.shape[axis] == 0;
    count = count <= INT64_MAX ? count * tensor.shape[axis] : count;
  }
  ASSERT_TRUE(empty || count <= INT64_MAX);
  ASSERT_NE(tensor.dtype.bits, 0);
  ASSERT_NE(tensor.dtype.lanes, 0);
  ASSERT_GE(tensor.device.device_id, 0);
  ASSERT_TRUE(tensor.data != nullptr || empty);
  ASSERT_EQ(dlbridge_validate(&tensor, 0, nullptr, nullptr), DLBRIDGE_OK);
}

// All bytes of the result lie in the block that its `data` points to.
void ExpectInside(const World& world, const DLTensor& tensor) {
  ExpectWhole(tensor);
  const Reach reach = ReachOf(tensor);
  if (reach.empty || testing::Test::HasFailure()) {
    return;
  }
  const Wide start = Wide{reinterpret_cast<uintptr_t>(tensor.data)} + tensor.byte_offset;
  ASSERT_TRUE(world.producer->HasBytes(static_cast<uintptr_t>(start + reach.first),
                                       static_cast<uint64_t>(reach.last - reach.first)));
}

// A copy is compact memory of its own; each byte is one of the producer's.
void ExpectCopied(const DLTensor& tensor) {
  ExpectWhole(tensor);
  const Reach reach = ReachOf(tensor);
  if (reach.empty || testing::Test::HasFailure() || tensor.dtype.bits % 8 != 0) {
    return;
  }
  const auto* bytes = static_cast<const unsigned char*>(tensor.data) + tensor.byte_offset;
  for (Wide i = 0; i < reach.last; ++i) {
    ASSERT_EQ(bytes[static_cast<size_t>(i)], 0x5a);
  }
}

void ExpectMessage(DLBridgeStatus status, const DLBridgeError& error) {
  if (status != DLBRIDGE_OK) {
    ASSERT_EQ(error.status, status);
    ASSERT_NE(std::memchr(error.message, '\0', sizeof error.message), nullptr);
  }
}

// ---------------------------------------------------------------------------- reading functions

void Identify(World* world) {
  const bool versioned = world->random.OneIn(2);
  const DLBridgeKind kind =
      dlbridge_identify(versioned ? static_cast<const void*>(world->producer->versioned())
                                  : world->producer->legacy());
  ASSERT_GE(kind, DLBRIDGE_KIND_UNKNOWN);
  ASSERT_LE(kind, DLBRIDGE_KIND_AMBIGUOUS);
  ASSERT_NE(kind, DLBRIDGE_KIND_BORROWED);
  world->Count(DLBRIDGE_OK);
}

void Layout(World* world) {
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  const uint64_t flags = world->random.Bits() & kPadded;
  const DLBridgeStatus status =
      dlbridge_layout(&world->producer->legacy()->dl_tensor, flags, &layout, nullptr);
  if (status == DLBRIDGE_OK) {
    ASSERT_GE(layout.ndim, 0);
    ASSERT_LE(layout.ndim, DLBRIDGE_MAX_NDIM);
    ASSERT_GE(layout.element_count, 0);
    ASSERT_GE(layout.end, layout.begin);
  }
  world->Count(status);
}

void Format(World* world) {
  char text[4096];
  size_t length = 0;
  const auto size = static_cast<size_t>(world->random.Between(1, sizeof text));
  const DLBridgeStatus status = dlbridge_tensor_format(
      &world->producer->legacy()->dl_tensor, world->random.Bits(), text, size, &length, nullptr);
  if (status == DLBRIDGE_OK) {
    ASSERT_LT(length, size);
    ASSERT_EQ(text[length], '\0');
  }
  world->Count(status);
}

// A policy with demands, or none.
const DLBridgePolicy* PickPolicy(World* world, DLBridgePolicy* policy) {
  static constexpr DLDevice kDevices[] = {{kDLCPU, -1}};
  static constexpr DLDataType kDtypes[] = {{kDLFloat, 32, 1}, {kDLUInt, 8, 1}, {kDLInt, 4, 1}};
  static constexpr int32_t kLevels[] = {DLBRIDGE_LEVEL_STRUCT, DLBRIDGE_LEVEL_METADATA,
                                        DLBRIDGE_LEVEL_DEVICE};
  *policy = DLBRIDGE_POLICY_INIT;
  policy->level = world->random.Pick(kLevels);
  policy->devices = kDevices;
  policy->device_count = 1;
  policy->dtypes = kDtypes;
  policy->dtype_count = 3;
  if (policy->level != DLBRIDGE_LEVEL_STRUCT) {
    policy->options = DLBRIDGE_POLICY_LIMIT_BUFFER | DLBRIDGE_POLICY_REQUIRE_WRITABLE |
                      DLBRIDGE_POLICY_VOUCH_WRITABLE;
    policy->buffer_size = world->producer->block_size();
    policy->contiguity = static_cast<int32_t>(world->random.Between(0, 3));
  }
  return world->random.OneIn(3) ? nullptr : policy;
}

void Validate(World* world) {
  DLBridgePolicy policy;
  Error error;
  const DLBridgeStatus status =
      dlbridge_validate(&world->producer->legacy()->dl_tensor, world->random.Bits() & 15U,
                        PickPolicy(world, &policy), &error);
  ExpectMessage(status, error);
  world->Count(status);
}

void ValidateLegacy(World* world) {
  DLBridgePolicy policy;
  Error error;
  const DLBridgeStatus status =
      dlbridge_validate_legacy(world->producer->legacy(), PickPolicy(world, &policy), &error);
  ExpectMessage(status, error);
  world->Count(status);
}

void ValidateVersioned(World* world) {
  DLBridgePolicy policy;
  Error error;
  const DLBridgeStatus status =
      dlbridge_validate_versioned(world->producer->versioned(), PickPolicy(world, &policy), &error);
  ExpectMessage(status, error);
  world->Count(status);
}

void Diagnose(World* world) {
  DLBridgePolicy policy;
  DLBridgeFinding findings[8];
  size_t count = 0;
  const auto kind = static_cast<DLBridgeKind>(world->random.Between(1, 3));
  const RacingProducer& producer = *world->producer;
  const void* tensor = kind == DLBRIDGE_KIND_LEGACY      ? producer.legacy()
                       : kind == DLBRIDGE_KIND_VERSIONED ? static_cast<void*>(producer.versioned())
                                                         : &producer.legacy()->dl_tensor;
  const DLBridgeStatus status =
      dlbridge_diagnose(tensor, kind, 0, PickPolicy(world, &policy), findings, 8, &count, nullptr);
  ASSERT_EQ(status, DLBRIDGE_OK);
  for (size_t i = 0; i < count && i < 8; ++i) {
    ASSERT_LT(findings[i].axis, DLBRIDGE_MAX_NDIM);
    ASSERT_NE(findings[i].rule, DLBRIDGE_RULE_NONE);
  }
  world->Count(status);
}

void RequiredVersion(World* world) {
  DLPackVersion version = {9, 9};
  const DLBridgeStatus status = dlbridge_required_version(
      &world->producer->legacy()->dl_tensor, world->random.Bits() & 7U, &version, nullptr);
  ASSERT_TRUE(status != DLBRIDGE_OK || version.major <= 1);
  world->Count(status);
}

// ---------------------------------------------------------------------------------- conversions

struct Choice {
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  const DLBridgeConvertOptions* given = nullptr;

  bool Has(uint32_t option) const { return given != nullptr && (given->options & option) != 0; }
};

// No options, plain ones, or ones with a policy that keeps a copy inside the producer's blocks.
void Choose(World* world, uint32_t more, bool may_copy, Choice* choice) {
  static constexpr uint32_t kReshaping[] = {
      0, DLBRIDGE_CONVERT_CANONICAL, DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET,
      DLBRIDGE_CONVERT_PIN_PRODUCER, DLBRIDGE_CONVERT_ALLOW_UNKNOWN};
  choice->given = world->random.OneIn(3) ? nullptr : &choice->options;
  const bool limited = world->random.OneIn(2);
  choice->options.policy = limited ? &world->policy : nullptr;
  choice->options.options =
      more | world->random.Pick(kReshaping) |
      (limited && may_copy && world->random.OneIn(2) ? uint32_t{DLBRIDGE_CONVERT_COPY} : 0);
  if (!limited && world->random.OneIn(4)) {
    choice->options.options = more | DLBRIDGE_CONVERT_SKIP_VALIDATION;
  }
}

void ExpectResult(const World& world, const Choice& choice, const DLTensor& tensor) {
  if (choice.Has(DLBRIDGE_CONVERT_COPY)) {
    ExpectCopied(tensor);
  } else if (choice.Has(DLBRIDGE_CONVERT_SKIP_VALIDATION)) {
    ASSERT_LE(static_cast<uint32_t>(tensor.ndim), uint32_t{DLBRIDGE_MAX_NDIM});
  } else if (choice.given != nullptr && choice.given->policy != nullptr &&
             !choice.Has(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET | DLBRIDGE_CONVERT_CANONICAL)) {
    ExpectInside(world, tensor);
  } else if (!choice.Has(DLBRIDGE_CONVERT_ALLOW_UNKNOWN)) {
    ExpectWhole(tensor);
  }
}

template <class Managed>
void ExpectConverted(World* world, const Choice& choice, DLBridgeStatus status,
                     const DLBridgeError& error, Managed* out) {
  ExpectMessage(status, error);
  if (status == DLBRIDGE_OK) {
    ExpectResult(*world, choice, out->dl_tensor);
    out->deleter(out);
  }
  world->Count(status, 1);
}

void Upgrade(World* world) {
  Choice choice;
  Choose(world, world->random.OneIn(2) ? DLBRIDGE_CONVERT_VOUCH_WRITABLE : 0, true, &choice);
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  const DLBridgeStatus status =
      dlbridge_upgrade(world->producer->legacy(), choice.given, &out, &error);
  ExpectConverted(world, choice, status, error, out);
}

void UpgradeInto(World* world) {
  static Fenced memory(dlbridge_upgrade_storage_size(DLBRIDGE_MAX_NDIM));
  Choice choice;
  Choose(world, 0, false, &choice);
  const auto axes = static_cast<int32_t>(world->random.OneIn(2) ? 64 : 3);
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.size = dlbridge_upgrade_storage_size(axes);
  // Aligned to 16 bytes, and so at most 8 bytes before the unreadable page.
  const auto end = reinterpret_cast<uintptr_t>(memory.all()) + memory.all_size();
  storage.memory = reinterpret_cast<void*>((end - storage.size) & ~uintptr_t{15});
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  const DLBridgeStatus status =
      dlbridge_upgrade_into(world->producer->legacy(), choice.given, &storage, &out, &error);
  if (status == DLBRIDGE_OK) {
    ASSERT_LE(out->dl_tensor.ndim, axes);
  }
  ExpectConverted(world, choice, status, error, out);
}

void UpgradeMany(World* world) {
  Choice choice;
  Choose(world, 0, false, &choice);
  DLManagedTensor* sources[kLegacyStructs];
  DLManagedTensorVersioned* outs[kLegacyStructs] = {};
  for (size_t i = 0; i < kLegacyStructs; ++i) {
    sources[i] = world->producer->legacy(i);
  }
  size_t failed = 0;
  Error error;
  const DLBridgeStatus status =
      dlbridge_upgrade_many(sources, kLegacyStructs, choice.given, outs, &failed, &error);
  ExpectMessage(status, error);
  for (size_t i = 0; i < kLegacyStructs && status == DLBRIDGE_OK; ++i) {
    ExpectResult(*world, choice, outs[i]->dl_tensor);
    dlbridge_release_versioned(outs[i]);
  }
  world->Count(status, kLegacyStructs);
}

void Downgrade(World* world) {
  Choice choice;
  Choose(world,
         DLBRIDGE_CONVERT_DROP_READ_ONLY | DLBRIDGE_CONVERT_DROP_PADDED |
             DLBRIDGE_CONVERT_ALLOW_NEWER_CODES,
         true, &choice);
  choice.options.options &= ~uint32_t{DLBRIDGE_CONVERT_ALLOW_UNKNOWN};
  DLManagedTensor* out = nullptr;
  Error error;
  const DLBridgeStatus status =
      dlbridge_downgrade(world->producer->versioned(), choice.given, &out, &error);
  ExpectConverted(world, choice, status, error, out);
}

void Import(World* world) {
  Choice choice;
  Choose(world, 0, true, &choice);
  const bool versioned = world->random.OneIn(2);
  const DLBridgeKind kind = world->random.OneIn(2) ? DLBRIDGE_KIND_UNKNOWN
                            : versioned            ? DLBRIDGE_KIND_VERSIONED
                                                   : DLBRIDGE_KIND_LEGACY;
  void* tensor =
      versioned ? static_cast<void*>(world->producer->versioned()) : world->producer->legacy();
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  const DLBridgeStatus status = dlbridge_import(tensor, kind, choice.given, &out, &error);
  ExpectConverted(world, choice, status, error, out);
}

// The result may be the source itself, whose fields go on changing.
void Export(World* world) {
  static constexpr DLPackVersion kTargets[] = {{0, 8}, {1, 0}, {1, 1}, {1, 3}};
  Choice choice;
  Choose(world, 0, true, &choice);
  const bool versioned = world->random.OneIn(2);
  void* tensor =
      versioned ? static_cast<void*>(world->producer->versioned()) : world->producer->legacy();
  void* out = nullptr;
  DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
  Error error;
  const DLBridgeStatus status =
      dlbridge_export(tensor, versioned ? DLBRIDGE_KIND_VERSIONED : DLBRIDGE_KIND_LEGACY,
                      world->random.Pick(kTargets), choice.given, &out, &kind, &error);
  ExpectMessage(status, error);
  if (status == DLBRIDGE_OK) {
    ASSERT_TRUE(kind == DLBRIDGE_KIND_LEGACY || kind == DLBRIDGE_KIND_VERSIONED);
    if (out != tensor) {
      ExpectResult(*world, choice,
                   kind == DLBRIDGE_KIND_LEGACY
                       ? static_cast<DLManagedTensor*>(out)->dl_tensor
                       : static_cast<DLManagedTensorVersioned*>(out)->dl_tensor);
    }
    ASSERT_EQ(dlbridge_release(out, kind), DLBRIDGE_OK);
  }
  world->Count(status, 1);
}

void Copy(World* world) {
  static Fenced memory(4096);
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.policy = &world->policy;
  if (world->random.OneIn(2)) {
    spec.device = {kDLCPU, 0};
    spec.target = dlbridge_buffer_address(memory.all());
    spec.target_size = memory.all_size();
  }
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  const DLBridgeStatus status =
      dlbridge_copy(&world->producer->legacy()->dl_tensor, 0, &spec, &out, &error);
  ExpectMessage(status, error);
  if (status == DLBRIDGE_OK) {
    ExpectCopied(out->dl_tensor);
    dlbridge_release_versioned(out);
  }
  world->Count(status);
}

// ------------------------------------------------------------------------------------- releases

void Release(World* world) {
  const bool versioned = world->random.OneIn(2);
  void* tensor =
      versioned ? static_cast<void*>(world->producer->versioned()) : world->producer->legacy();
  world->Count(
      dlbridge_release(tensor, versioned ? DLBRIDGE_KIND_VERSIONED : DLBRIDGE_KIND_LEGACY));
}

void ReleaseLegacy(World* world) {
  dlbridge_release_legacy(world->producer->legacy());
  world->Count(DLBRIDGE_OK);
}

void ReleaseVersioned(World* world) {
  dlbridge_release_versioned(world->producer->versioned());
  world->Count(DLBRIDGE_OK);
}

void ReleaseAfter(World* world) {
  DLBridgeStream host = DLBRIDGE_STREAM_INIT;
  host.kind = DLBRIDGE_STREAM_HOST;
  world->Count(
      dlbridge_release_after(world->producer->legacy(), DLBRIDGE_KIND_LEGACY, &host, 1, nullptr));
  world->Count(dlbridge_release_after(world->producer->versioned(), DLBRIDGE_KIND_VERSIONED, &host,
                                      1, nullptr));
}

// ------------------------------------------------------- arrays of the caller that are borrowed

void Wrap(World* world) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.options = DLBRIDGE_WRAP_LIMIT_BUFFER;
  spec.buffer = dlbridge_buffer_address(world->producer->block());
  spec.buffer_size = world->producer->block_size();
  spec.device = {kDLCPU, 0};
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = static_cast<int32_t>(world->random.Between(0, DLBRIDGE_MAX_NDIM));
  spec.shape = world->producer->shape();
  spec.strides = world->random.OneIn(3) ? nullptr : world->producer->strides();
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_wrap(&spec, &out, nullptr);
  if (status == DLBRIDGE_OK) {
    ExpectInside(*world, out->dl_tensor);
    dlbridge_release_versioned(out);
  }
  world->Count(status);
}

void WrapLegacy(World* world) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.options = DLBRIDGE_WRAP_LIMIT_BUFFER;
  spec.buffer = dlbridge_buffer_address(world->producer->block());
  spec.buffer_size = world->producer->block_size();
  spec.device = {kDLCPU, 0};
  spec.dtype = {kDLUInt, 8, 1};
  spec.ndim = static_cast<int32_t>(world->random.Between(0, 4));
  spec.shape = world->producer->shape();
  spec.strides = world->producer->strides();
  DLManagedTensor* out = nullptr;
  const DLBridgeStatus status = dlbridge_wrap_legacy(&spec, &out, nullptr);
  if (status == DLBRIDGE_OK) {
    ExpectInside(*world, out->dl_tensor);
    dlbridge_release_legacy(out);
  }
  world->Count(status);
}

void Allocate(World* world) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = {kDLUInt, 8, 1};
  spec.ndim = static_cast<int32_t>(world->random.Between(0, 4));
  spec.shape = world->producer->shape();
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_allocate(&spec, &out, nullptr);
  if (status == DLBRIDGE_OK) {
    ExpectWhole(out->dl_tensor);
    const Reach reach = ReachOf(out->dl_tensor);
    if (!reach.empty && !testing::Test::HasFailure()) {
      std::memset(out->dl_tensor.data, 1, static_cast<size_t>(reach.last));
    }
    dlbridge_release_versioned(out);
  }
  world->Count(status);
}

// ------------------------------------------------------------------- structs that dlbridge owns

DLManagedTensorVersioned* Owned() {
  static constexpr int64_t kShape[] = {16, 8, 8};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
#ifdef __linux__
  spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
#endif
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = 3;
  spec.shape = kShape;
  DLManagedTensorVersioned* out = nullptr;
  EXPECT_EQ(dlbridge_allocate(&spec, &out, nullptr), DLBRIDGE_OK);
  std::memset(out->dl_tensor.data, 0x5a, 4096);
  return out;
}

// The struct that the producer of these tests changes.
DLManagedTensorVersioned* g_owned = nullptr;

// The arrays belong to the owner, who may have changed them: only their number is sure.
void ExpectSibling(DLBridgeStatus status, DLManagedTensorVersioned* out, int32_t ndim) {
  if (status == DLBRIDGE_OK) {
    ASSERT_EQ(out->dl_tensor.ndim, ndim);
    ASSERT_EQ(out->version.major, 1U);
    dlbridge_release_versioned(out);
  }
}

void Share(World* world) {
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_share(g_owned, &out, nullptr);
  ExpectSibling(status, out, 3);
  world->Count(status);
}

void View(World* world) {
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  spec.ndim = static_cast<int32_t>(world->random.Between(0, 4));
  spec.shape = world->producer->shape();
  spec.strides = world->random.OneIn(2) ? nullptr : world->producer->strides();
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_view(g_owned, &spec, &out, nullptr);
  ExpectSibling(status, out, spec.ndim);
  world->Count(status);
}

void CopyAsync(World* world) {
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.policy = &world->policy;
  spec.stream.kind = DLBRIDGE_STREAM_HOST;
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_copy_async(g_owned, &spec, &out, nullptr);
  if (status == DLBRIDGE_OK) {
    ExpectCopied(out->dl_tensor);
    dlbridge_release_versioned(out);
  }
  world->Count(status);
}

#ifdef __linux__
void IpcExports(World* world) {
  unsigned char bytes[kIpcBytes];
  int32_t fds[kIpcFds];
  size_t length = 0;
  size_t count = 0;
  const DLBridgeStatus status =
      IpcExport(g_owned, 0, {bytes, sizeof bytes, fds, kIpcFds}, &length, &count, nullptr);
  if (status == DLBRIDGE_OK) {
    ASSERT_LE(length, sizeof bytes);
    // The import checks every number of the descriptor against the file.
    DLManagedTensorVersioned* out = nullptr;
    const DLBridgeStatus imported = IpcImport(bytes, length, fds, count, 0, nullptr, &out, nullptr);
    if (imported == DLBRIDGE_OK) {
      ExpectWhole(out->dl_tensor);
      dlbridge_release_versioned(out);
    }
    for (size_t i = 0; i < count; ++i) {
      close(fds[i]);
    }
  }
  world->Count(status);
}

#endif

// ------------------------------------------------------------------------------------- the runs

struct Row {
  const char* function;
  void (*call)(World* world);
  bool null_deleters = false;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.function; }

class Race : public testing::TestWithParam<Row> {
 protected:
  void Run() {
    RacingProducer producer(g_owned);
    if (GetParam().null_deleters) {
      producer.AllowNullDeleters();
    }
    World world;
    world.producer = &producer;
    LimitBuffer(&world.policy, producer.block_size());
    world.policy.options |= DLBRIDGE_POLICY_ALLOW_NULL_STRIDES;
    const uint64_t before = RacingProducer::Deletions();
    const uint64_t calls =
        WhileFieldsChange(&producer, world.outcome.accepted, [&] { GetParam().call(&world); });
    std::printf("%s: %llu calls, %llu accepted\n", GetParam().function,
                static_cast<unsigned long long>(calls),
                static_cast<unsigned long long>(world.outcome.accepted));
    EXPECT_GT(world.outcome.accepted, 0U);
    if (!GetParam().null_deleters) {
      EXPECT_EQ(RacingProducer::Deletions() - before, world.outcome.consumed)
          << "each deleter runs exactly once";
    }
  }
};

TEST_P(Race, LoadsEachFieldOnce) { Run(); }

INSTANTIATE_TEST_SUITE_P(
    Functions, Race,
    testing::Values(Row{"identify", Identify}, Row{"layout", Layout}, Row{"tensor_format", Format},
                    Row{"validate", Validate}, Row{"validate_legacy", ValidateLegacy},
                    Row{"validate_versioned", ValidateVersioned}, Row{"diagnose", Diagnose},
                    Row{"required_version", RequiredVersion}, Row{"upgrade", Upgrade},
                    Row{"upgrade_into", UpgradeInto}, Row{"upgrade_many", UpgradeMany},
                    Row{"downgrade", Downgrade}, Row{"import", Import}, Row{"export", Export},
                    Row{"copy", Copy}, Row{"release", Release, true},
                    Row{"release_legacy", ReleaseLegacy, true},
                    Row{"release_versioned", ReleaseVersioned, true},
                    Row{"release_after", ReleaseAfter, true}, Row{"wrap", Wrap},
                    Row{"wrap_legacy", WrapLegacy}, Row{"allocate", Allocate}),
    [](const testing::TestParamInfo<Row>& info) { return std::string(info.param.function); });

class RaceOfOwner : public Race {
 protected:
  void SetUp() override { g_owned = Owned(); }
  void TearDown() override {
    dlbridge_release_versioned(g_owned);
    g_owned = nullptr;
  }
};

TEST_P(RaceOfOwner, LoadsEachFieldOnce) { Run(); }

INSTANTIATE_TEST_SUITE_P(Functions, RaceOfOwner,
                         testing::Values(Row{"share", Share}, Row{"view", View},
                                         Row{"copy_async", CopyAsync}
#ifdef __linux__
                                         ,
                                         Row{"ipc_export", IpcExports}
#endif
                                         ),
                         [](const testing::TestParamInfo<Row>& info) {
                           return std::string(info.param.function);
                         });

// ------------------------------------------------------------------------- the chain of tables

// Three tables; the links and versions of all of them change, and one may link to itself.
TEST(RaceOfTables, ExchangeApiFindLoadsEachFieldOnce) {
  static DLPackExchangeAPI tables[3];
  for (DLPackExchangeAPI& table : tables) {
    std::memset(static_cast<void*>(&table), 0, sizeof table);
    table.header.version = {1, 3};
    for (void* place : {static_cast<void*>(&table.managed_tensor_allocator),
                        static_cast<void*>(&table.managed_tensor_from_py_object_no_sync),
                        static_cast<void*>(&table.managed_tensor_to_py_object_no_sync),
                        static_cast<void*>(&table.current_work_stream)}) {
      *static_cast<uintptr_t*>(place) = 4096;
    }
  }
  const auto is_one_of_them = [](const DLPackExchangeAPI* found) {
    return found == nullptr || (found >= tables && found <= tables + 2);
  };
  const auto change = [](Random* random) {
    auto& table = tables[random->Between(0, 2)];
    auto& next = tables[random->Between(0, 2)];
    StoreRelaxed(&table.header.prev_api, random->OneIn(3) ? nullptr : &next.header);
    StoreRelaxed(&table.header.version.major, static_cast<uint32_t>(random->Between(0, 2)));
    StoreRelaxed(&table.header.version.minor, static_cast<uint32_t>(random->Between(0, 4)));
    StoreRelaxed(reinterpret_cast<uintptr_t*>(&table.managed_tensor_allocator),
                 random->OneIn(3) ? uintptr_t{0} : uintptr_t{4096});
  };
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    Random random(5);
    while (!stop.load(std::memory_order_relaxed)) {
      change(&random);
    }
  });
  uint64_t found = 0;
  const auto end = std::chrono::steady_clock::now() + RaceTime();
  while ((std::chrono::steady_clock::now() < end || found == 0) && !HasFailure()) {
    const DLPackExchangeAPI* out = nullptr;
    found += dlbridge_exchange_api_find(&tables[0].header, {1, 3}, &out, nullptr) == DLBRIDGE_OK;
    EXPECT_TRUE(is_one_of_them(out));
  }
  stop = true;
  writer.join();
}

// ------------------------------------------------------------ a change at one point of a call

#ifndef _WIN32

// Two axes whose entries are in two pages. The first access to one of them runs `change`, so that a
// call meets the change between its accesses to the other entry and to this one.
class ChangedInTheMiddle {
 public:
  // `late`: the axis whose first access runs the change.
  ChangedInTheMiddle(int64_t first, int64_t second, int late, void (*change)(int64_t* shape))
      : page_(PageSize()) {
    pages_ = static_cast<char*>(MapPages(2 * page_, Access::kWrite));
    shape_ = reinterpret_cast<int64_t*>(pages_ + page_) - 1;
    shape_[0] = first;
    shape_[1] = second;
    self_ = this;
    change_ = change;
    hidden_ = pages_ + static_cast<size_t>(late) * page_;
    struct sigaction action = {};
    action.sa_handler = [](int) { self_->Show(); };
    sigaction(SIGSEGV, &action, &before_[0]);
    sigaction(SIGBUS, &action, &before_[1]);
    EXPECT_TRUE(ProtectPages(hidden_, page_, Access::kNone));
  }
  ChangedInTheMiddle(const ChangedInTheMiddle&) = delete;
  ChangedInTheMiddle& operator=(const ChangedInTheMiddle&) = delete;
  ~ChangedInTheMiddle() {
    sigaction(SIGSEGV, &before_[0], nullptr);
    sigaction(SIGBUS, &before_[1], nullptr);
    UnmapPages(pages_, 2 * page_);
  }

  int64_t* shape() const { return shape_; }
  bool changed() const { return hidden_ == nullptr; }

 private:
  void Show() {
    if (hidden_ == nullptr) {
      _exit(3);  // another fault
    }
    ProtectPages(hidden_, page_, Access::kWrite);
    hidden_ = nullptr;
    change_(shape_);
  }

  static inline ChangedInTheMiddle* self_ = nullptr;
  size_t page_;
  char* pages_;
  int64_t* shape_;
  char* hidden_;
  void (*change_)(int64_t* shape);
  struct sigaction before_[2];
};

// valgrind reports the access to the hidden page.
#define DLBRIDGE_NEEDS_FAULTS()                        \
  if (Scale() < 1) {                                   \
    GTEST_SKIP() << "needs accesses to a hidden page"; \
  }

// The product overflows when the call loads the first extent; in the second pass it does not.
TEST(RaceInTheMiddle, AnOverflowThatVanishesIsNoEmptyTensor) {
  DLBRIDGE_NEEDS_FAULTS();
  constexpr int64_t kHuge = int64_t{1} << 62;
  const auto shrink = [](int64_t* shape) { shape[1] = 1; };
  int64_t strides[] = {int64_t{1} << 40, 1};
  unsigned char byte = 0;
  // With a demand there is no fast path, which would meet the change.
  DLBridgePolicy policy = Policy();
  LimitBuffer(&policy, 1);
  {
    const ChangedInTheMiddle axes(kHuge, 4, 0, shrink);
    const DLTensor tensor = {&byte, {kDLCPU, 0}, 2, {kDLUInt, 8, 1}, axes.shape(), strides, 0};
    EXPECT_EQ(dlbridge_validate(&tensor, 0, &policy, nullptr), DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_TRUE(axes.changed());
  }
  const ChangedInTheMiddle axes(kHuge, 4, 0, shrink);
  DLManagedTensor source = {
      {&byte, {kDLCPU, 0}, 2, {kDLUInt, 8, 1}, axes.shape(), strides, 0}, nullptr, nullptr};
  DLBridgeConvertOptions options = Options();
  options.policy = &policy;
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_upgrade(&source, &options, &out, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_COUNT_OVERFLOW);
  EXPECT_TRUE(axes.changed());
}

// The size of the memory is computed from the extents that the result gets.
TEST(RaceInTheMiddle, AnAllocationHasTheSizeOfItsShape) {
  DLBRIDGE_NEEDS_FAULTS();
  const ChangedInTheMiddle axes(2, 3, 1, [](int64_t* shape) { shape[0] = int64_t{1} << 40; });
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = {kDLUInt, 8, 1};
  spec.ndim = 2;
  spec.shape = axes.shape();
  DLManagedTensorVersioned* out = nullptr;
  ASSERT_EQ(dlbridge_allocate(&spec, &out, nullptr), DLBRIDGE_OK);
  EXPECT_TRUE(axes.changed());
  EXPECT_EQ(out->dl_tensor.shape[0], 2);
  EXPECT_EQ(out->dl_tensor.shape[1], 3);
  dlbridge_release_versioned(out);
}

#endif

}  // namespace
}  // namespace dlbridge_test
