// SPDX-License-Identifier: Apache-2.0
// Structs that the caller fills, from older, newer and faulty callers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>

#include "dlbridge/dlbridge.h"
#include "support/guard.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// A struct with a tail that a newer header might have added.
template <class T>
struct Grown {
  T known;
  unsigned char tail[40];

  explicit Grown(const T& value) : known(value), tail{} { known.struct_size = sizeof *this; }
};

using Call = std::function<DLBridgeStatus(const void* argument, DLBridgeError* error)>;
using Succeed = std::function<void(const void* argument)>;

void ExpectRejected(const Call& call, const void* value, DLBridgeStatus status,
                    const char* argument) {
  Error error;
  EXPECT_EQ(call(value, &error), status);
  EXPECT_EQ(error.status, status);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_NONE);
  EXPECT_TRUE(error.Says(argument)) << error.message;
}

// Size of the first version of a struct; a struct that has grown since specialises it.
template <class T>
constexpr uint32_t kFirstSize = sizeof(T);
template <>
constexpr uint32_t kFirstSize<DLBridgePointerInfo> = offsetof(DLBridgePointerInfo, peers);

// A struct that is too small, at the end of a page: no byte after it is read.
template <class T>
void ExpectSmallRejected(const char* argument, const T& good, const Call& call) {
  for (const uint32_t size : {0U, 4U, 7U, 8U, 12U, kFirstSize<T> - 8U, kFirstSize<T> - 1U}) {
    T smaller = good;
    smaller.struct_size = size;
    const Guarded guarded(&smaller, std::max(size & ~3U, 4U));
    ExpectRejected(call, guarded.as<void>(), DLBRIDGE_ERROR_INVALID_ARGUMENT, argument);
  }
}

// A size above 4096 is rejected before the tail is scanned.
template <class T>
void ExpectHugeRejected(const char* argument, const T& good, const Call& call) {
  for (const uint32_t size : {4097U, 1U << 20, UINT32_MAX}) {
    T huge = good;
    huge.struct_size = size;
    const Guarded guarded(&huge, sizeof huge);
    ExpectRejected(call, guarded.as<void>(), DLBRIDGE_ERROR_INVALID_ARGUMENT, argument);
  }
}

// Bits 0 to 7 are DLPack's flags; bits from `unknown` on belong to a newer header.
template <class T>
void ExpectOptionsChecked(const char* argument, const T& good, const Call& call, int unknown) {
  for (int bit = 0; bit < 32; ++bit) {
    T other = good;
    other.options |= 1U << bit;
    if (bit < 8) {
      ExpectRejected(call, &other, DLBRIDGE_ERROR_INVALID_ARGUMENT, argument);
    } else if (bit >= unknown) {
      ExpectRejected(call, &other, DLBRIDGE_ERROR_TOO_NEW, argument);
    }
  }
  Error error;
  T flag = good;
  flag.options = DLPACK_FLAG_BITMASK_READ_ONLY;
  call(&flag, &error);
  EXPECT_TRUE(error.Says("READ_ONLY")) << error.message;
}

template <class T>
void ExpectTailChecked(const char* argument, const T& good, const Call& call,
                       const Succeed& succeed) {
  Grown<T> larger(good);
  succeed(&larger.known);
  for (const size_t at : {size_t{0}, size_t{17}, sizeof larger.tail - 1}) {
    larger.tail[at] = 1;
    ExpectRejected(call, &larger.known, DLBRIDGE_ERROR_TOO_NEW, argument);
    larger.tail[at] = 0;
  }
  // The tail is read only to its end.
  larger.known.struct_size = sizeof(T) + 16;
  const Guarded guarded(&larger, sizeof(T) + 16);
  succeed(guarded.as<void>());
}

// `call` uses a struct like `good` and has no effect when it fails. `unknown` is the first option
// bit that this library does not know.
template <class T>
void ExpectGrowth(const char* argument, const T& good, int unknown, const Call& call,
                  const Succeed& succeed) {
  SCOPED_TRACE(argument);
  ExpectSmallRejected(argument, good, call);
  ExpectHugeRejected(argument, good, call);
  ExpectOptionsChecked(argument, good, call, unknown);
  ExpectTailChecked(argument, good, call, succeed);
  const Guarded exact(&good, sizeof good);
  succeed(exact.as<void>());
}

constexpr int kPolicyUnknown = 20;
constexpr int kConvertUnknown = 18;
constexpr int kNoneKnown = 8;

TEST(StructGrowth, SizesAreMultiplesOf8) {
  EXPECT_EQ(sizeof(DLBridgePolicy) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeConvertOptions) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeStorage) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeViewSpec) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeAllocateSpec) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeAllocator) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeWrapSpec) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeCopySpec) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeLayout) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeBackendInfo) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgePointerInfo) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeIpcExportSpec) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeIpcImportSpec) % 8, 0U);
  EXPECT_EQ(sizeof(DLBridgeIpcSizes) % 8, 0U);
}

TEST(StructGrowth, OfPolicy) {
  LegacySource source;
  const DLBridgePolicy good = DLBRIDGE_POLICY_INIT;
  const Call call = [&](const void* policy, DLBridgeError* error) {
    return dlbridge_validate_legacy(source.get(), static_cast<const DLBridgePolicy*>(policy),
                                    error);
  };
  const auto succeed = [&](const void* policy) { EXPECT_EQ(call(policy, nullptr), DLBRIDGE_OK); };
  ExpectGrowth("policy", good, kPolicyUnknown, call, succeed);
  // Every function that takes a policy rejects it.
  size_t count = 0;
  DLBridgePolicy bad = good;
  bad.struct_size = 8;
  EXPECT_EQ(dlbridge_validate(source.tensor(), 0, &bad, nullptr), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(
      dlbridge_diagnose(source.get(), DLBRIDGE_KIND_LEGACY, 0, &bad, nullptr, 0, &count, nullptr),
      DLBRIDGE_ERROR_INVALID_ARGUMENT);
  VersionedSource versioned;
  EXPECT_EQ(dlbridge_validate_versioned(versioned.get(), &bad, nullptr),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  source.Release();
  versioned.Release();
}

// Calls `convert` with a new tensor and `argument`, and releases the result.
template <class Managed, class Convert>
DLBridgeStatus ConvertAndRelease(const void* argument, DLBridgeError* error, Convert convert) {
  Source<Managed> source;
  const DLBridgeStatus status = convert(source.get(), argument, error);
  if (status != DLBRIDGE_OK) {
    EXPECT_TRUE(source.Untouched());
    source.Release();
  }
  EXPECT_EQ(source.deletions(), 1);
  return status;
}

// Checks the growth of a struct that `convert` takes; `convert` releases its result.
template <class Managed, class T, class Convert>
void ExpectGrowthInConversion(const char* argument, const T& good, int unknown, Convert convert) {
  const Call call = [&](const void* value, DLBridgeError* error) {
    return ConvertAndRelease<Managed>(value, error, convert);
  };
  ExpectGrowth(argument, good, unknown, call,
               [&](const void* value) { EXPECT_EQ(call(value, nullptr), DLBRIDGE_OK); });
}

// Calls `call`, releases the tensor that it makes, and returns its status.
template <class Call>
DLBridgeStatus Released(Call call) {
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = call(&out);
  dlbridge_release_versioned(out);
  return status;
}

const DLBridgeConvertOptions* AsOptions(const void* options) {
  return static_cast<const DLBridgeConvertOptions*>(options);
}

DLBridgeStatus Upgrade(DLManagedTensor* source, const void* options, DLBridgeError* error) {
  return Released(
      [&](auto** out) { return dlbridge_upgrade(source, AsOptions(options), out, error); });
}
DLBridgeStatus UpgradeMany(DLManagedTensor* source, const void* options, DLBridgeError* error) {
  return Released([&](auto** out) {
    return dlbridge_upgrade_many(&source, 1, AsOptions(options), out, nullptr, error);
  });
}
DLBridgeStatus Downgrade(DLManagedTensorVersioned* source, const void* options,
                         DLBridgeError* error) {
  DLManagedTensor* out = nullptr;
  const DLBridgeStatus status = dlbridge_downgrade(source, AsOptions(options), &out, error);
  dlbridge_release_legacy(out);
  return status;
}
DLBridgeStatus Import(DLManagedTensorVersioned* source, const void* options, DLBridgeError* error) {
  return Released([&](auto** out) {
    return dlbridge_import(source, DLBRIDGE_KIND_VERSIONED, AsOptions(options), out, error);
  });
}
DLBridgeStatus Export(DLManagedTensorVersioned* source, const void* options, DLBridgeError* error) {
  void* out = nullptr;
  DLBridgeKind kind = 0;
  const DLBridgeStatus status = dlbridge_export(source, DLBRIDGE_KIND_VERSIONED, {1, 3},
                                                AsOptions(options), &out, &kind, error);
  EXPECT_EQ(dlbridge_release(out, status == DLBRIDGE_OK ? kind : DLBRIDGE_KIND_VERSIONED),
            DLBRIDGE_OK);
  return status;
}

TEST(StructGrowth, OfPolicyInsideOptions) {
  const DLBridgePolicy good = DLBRIDGE_POLICY_INIT;
  ExpectGrowthInConversion<DLManagedTensor>(
      "policy", good, kPolicyUnknown,
      [](DLManagedTensor* source, const void* policy, DLBridgeError* error) {
        DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
        options.policy = static_cast<const DLBridgePolicy*>(policy);
        return Upgrade(source, &options, error);
      });
}

TEST(StructGrowth, OfConvertOptions) {
  const DLBridgeConvertOptions good = DLBRIDGE_CONVERT_OPTIONS_INIT;
  ExpectGrowthInConversion<DLManagedTensor>("options", good, kConvertUnknown, Upgrade);
  ExpectGrowthInConversion<DLManagedTensor>("options", good, kConvertUnknown, UpgradeMany);
  ExpectGrowthInConversion<DLManagedTensorVersioned>("options", good, kConvertUnknown, Downgrade);
  ExpectGrowthInConversion<DLManagedTensorVersioned>("options", good, kConvertUnknown, Import);
  ExpectGrowthInConversion<DLManagedTensorVersioned>("options", good, kConvertUnknown, Export);
}

TEST(StructGrowth, OfStorage) {
  alignas(16) static char memory[512];
  DLBridgeStorage good = DLBRIDGE_STORAGE_INIT;
  good.memory = memory;
  good.size = sizeof memory;
  ExpectGrowthInConversion<DLManagedTensor>(
      "storage", good, kNoneKnown,
      [](DLManagedTensor* source, const void* storage, DLBridgeError* error) {
        return Released([&](auto** out) {
          return dlbridge_upgrade_into(source, nullptr,
                                       static_cast<const DLBridgeStorage*>(storage), out, error);
        });
      });
}

TEST(StructGrowth, OfViewSpec) {
  LegacySource source;
  DLManagedTensorVersioned* parent = MustUpgrade(source.get());
  const DLBridgeViewSpec good = DLBRIDGE_VIEW_SPEC_INIT;
  const Call call = [&](const void* spec, DLBridgeError* error) {
    return Released([&](auto** out) {
      return dlbridge_view(parent, static_cast<const DLBridgeViewSpec*>(spec), out, error);
    });
  };
  ExpectGrowth("spec", good, kNoneKnown, call,
               [&](const void* spec) { EXPECT_EQ(call(spec, nullptr), DLBRIDGE_OK); });
  dlbridge_release_versioned(parent);
}

TEST(StructGrowth, OfAllocateSpec) {
  DLBridgeAllocateSpec good = DLBRIDGE_ALLOCATE_SPEC_INIT;
  good.dtype = Dtype(kDLFloat, 32);
  const Call call = [&](const void* spec, DLBridgeError* error) {
    return Released([&](auto** out) {
      return dlbridge_allocate(static_cast<const DLBridgeAllocateSpec*>(spec), out, error);
    });
  };
  ExpectGrowth("spec", good, 9, call,
               [&](const void* spec) { EXPECT_EQ(call(spec, nullptr), DLBRIDGE_OK); });
}

TEST(StructGrowth, OfWrapSpec) {
  static float memory[1];
  DLBridgeWrapSpec good = DLBRIDGE_WRAP_SPEC_INIT;
  good.device = Device(kDLCPU);
  good.dtype = Dtype(kDLFloat, 32);
  good.buffer = dlbridge_buffer_address(memory);
  const Call wrap = [&](const void* spec, DLBridgeError* error) {
    return Released([&](auto** out) {
      return dlbridge_wrap(static_cast<const DLBridgeWrapSpec*>(spec), out, error);
    });
  };
  ExpectGrowth("spec", good, 13, wrap,
               [&](const void* spec) { EXPECT_EQ(wrap(spec, nullptr), DLBRIDGE_OK); });
  const Call legacy = [&](const void* spec, DLBridgeError* error) {
    DLManagedTensor* out = nullptr;
    const DLBridgeStatus status =
        dlbridge_wrap_legacy(static_cast<const DLBridgeWrapSpec*>(spec), &out, error);
    dlbridge_release_legacy(out);
    return status;
  };
  ExpectGrowth("spec", good, 13, legacy,
               [&](const void* spec) { EXPECT_EQ(legacy(spec, nullptr), DLBRIDGE_OK); });
}

TEST(StructGrowth, OfCopySpec) {
  LegacySource source;
  const DLBridgeCopySpec good = DLBRIDGE_COPY_SPEC_INIT;
  const Call call = [&](const void* spec, DLBridgeError* error) {
    return Released([&](auto** out) {
      return dlbridge_copy(source.tensor(), 0, static_cast<const DLBridgeCopySpec*>(spec), out,
                           error);
    });
  };
  ExpectGrowth("spec", good, 10, call,
               [&](const void* spec) { EXPECT_EQ(call(spec, nullptr), DLBRIDGE_OK); });
  source.Release();
}

void* Allocate(void* /*context*/, DLDevice /*device*/, uint64_t /*bytes*/, uint64_t /*alignment*/,
               const DLBridgeStream* /*stream*/) {
  alignas(256) static char memory[256];
  return memory;
}
void Deallocate(void* /*context*/, DLDevice /*device*/, void* /*memory*/, uint64_t /*bytes*/,
                uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {}

TEST(StructGrowth, OfAllocator) {
  DLBridgeAllocator good = DLBRIDGE_ALLOCATOR_INIT;
  good.allocate = &Allocate;
  good.deallocate = &Deallocate;
  const Call allocate = [&](const void* allocator, DLBridgeError* error) {
    DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
    spec.dtype = Dtype(kDLFloat, 32);
    spec.allocator = static_cast<const DLBridgeAllocator*>(allocator);
    return Released([&](auto** out) { return dlbridge_allocate(&spec, out, error); });
  };
  ExpectGrowth("allocator", good, kNoneKnown, allocate, [&](const void* allocator) {
    EXPECT_EQ(allocate(allocator, nullptr), DLBRIDGE_OK);
  });
  // Also checked where no copy is made.
  LegacySource source;
  DLManagedTensorVersioned* out = nullptr;
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  DLBridgeAllocator bad = good;
  bad.struct_size = 4;
  options.allocator = &bad;
  EXPECT_EQ(dlbridge_upgrade(source.get(), &options, &out, nullptr),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  source.Release();
}

// ------------------------------------------------------------------------- structs that are filled

// `fill` writes to a T whose struct_size the caller set.
template <class T, class Fill>
void ExpectFilled(const char* argument, const T& good, Fill fill, int unknown = 8) {
  SCOPED_TRACE(argument);
  Error error;
  for (const uint32_t size : {0U, 4U, kFirstSize<T> - 1U}) {
    T smaller = good;
    smaller.struct_size = size;
    const Guarded guarded(&smaller, std::max(size & ~3U, 4U));
    EXPECT_EQ(fill(guarded.as<T>(), &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(error.Says(argument)) << error.message;
  }
  T huge = good;
  huge.struct_size = 4097;
  EXPECT_EQ(fill(&huge, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  T flag = good;
  flag.options = 1;
  EXPECT_EQ(fill(&flag, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  flag.options = 1U << unknown;
  EXPECT_EQ(fill(&flag, &error), DLBRIDGE_ERROR_TOO_NEW);
  // A caller of the first version gets what it knows.
  T first = good;
  first.struct_size = kFirstSize<T>;
  const Guarded older(&first, kFirstSize<T>);
  EXPECT_EQ(fill(older.as<T>(), &error), DLBRIDGE_OK);
  // Bytes past the known part stay unchanged, and struct_size becomes the size that was filled.
  Grown<T> larger(good);
  EXPECT_EQ(fill(&larger.known, &error), DLBRIDGE_OK);
  EXPECT_EQ(larger.known.struct_size, sizeof(T));
  for (const unsigned char byte : larger.tail) {
    EXPECT_EQ(byte, 0);
  }
  const Guarded exact(&good, sizeof good);
  EXPECT_EQ(fill(exact.as<T>(), &error), DLBRIDGE_OK);
  EXPECT_EQ(exact.as<T>()->struct_size, sizeof(T));
}

TEST(StructGrowth, OfOutputStructs) {
  LegacySource source;
  const DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  ExpectFilled("out", layout, [&](DLBridgeLayout* out, DLBridgeError* error) {
    return dlbridge_layout(source.tensor(), 0, out, error);
  });
  const DLBridgeBackendInfo backend = DLBRIDGE_BACKEND_INFO_INIT;
  ExpectFilled("out", backend, [&](DLBridgeBackendInfo* out, DLBridgeError* error) {
    return dlbridge_backend_info(DLBRIDGE_BACKEND_CPU, out, error);
  });
  const DLBridgePointerInfo pointer = DLBRIDGE_POINTER_INFO_INIT;
  const auto ask = [&](DLBridgePointerInfo* out, DLBridgeError* error) {
    const DLBridgeBuffer buffer = dlbridge_buffer_address(source.tensor()->data);
    return dlbridge_pointer_info(&buffer, Device(kDLCPU), out, error);
  };
  ExpectFilled("out", pointer, ask, 9);
  source.Release();
}

// The host's memory has no peers, and the option stays set for the next call.
TEST(StructGrowth, PeersNeedTheFieldThatReceivesThem) {
  float memory = 0;
  const DLBridgeBuffer buffer = dlbridge_buffer_address(&memory);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  info.options = DLBRIDGE_POINTER_INFO_PEERS;
  Error error;
  ASSERT_EQ(dlbridge_pointer_info(&buffer, Device(kDLCPU), &info, &error), DLBRIDGE_OK);
  EXPECT_EQ(info.options, static_cast<uint32_t>(DLBRIDGE_POINTER_INFO_PEERS));
  EXPECT_EQ(info.properties & DLBRIDGE_POINTER_PEERS_KNOWN, 0U);
  info.struct_size = offsetof(DLBridgePointerInfo, peers);
  EXPECT_EQ(dlbridge_pointer_info(&buffer, Device(kDLCPU), &info, &error),
            DLBRIDGE_ERROR_BUFFER_TOO_SMALL);
  EXPECT_TRUE(error.Says("out.struct_size")) << error.message;
}

// ---------------------------------------------------------------------------- zero is the default

template <class T>
T OnlySize() {
  T value;
  std::memset(&value, 0, sizeof value);
  value.struct_size = sizeof value;
  return value;
}

// Compares a struct of zeros with the result of its initialisers.
template <class T>
void ExpectZeroIsDefault(const T& initialised, const T& from_function) {
  const T zero = OnlySize<T>();
  EXPECT_EQ(std::memcmp(&zero, &initialised, sizeof zero), 0);
  EXPECT_EQ(std::memcmp(&zero, &from_function, sizeof zero), 0);
}

TEST(ZeroIsDefault, InEveryInitialiser) {
  ExpectZeroIsDefault<DLBridgePolicy>(DLBRIDGE_POLICY_INIT, dlbridge_policy_init());
  ExpectZeroIsDefault<DLBridgeConvertOptions>(DLBRIDGE_CONVERT_OPTIONS_INIT,
                                              dlbridge_convert_options_init());
  ExpectZeroIsDefault<DLBridgeStorage>(DLBRIDGE_STORAGE_INIT, dlbridge_storage_init());
  ExpectZeroIsDefault<DLBridgeViewSpec>(DLBRIDGE_VIEW_SPEC_INIT, dlbridge_view_spec_init());
  ExpectZeroIsDefault<DLBridgeAllocator>(DLBRIDGE_ALLOCATOR_INIT, dlbridge_allocator_init());
  ExpectZeroIsDefault<DLBridgeAllocateSpec>(DLBRIDGE_ALLOCATE_SPEC_INIT,
                                            dlbridge_allocate_spec_init());
  ExpectZeroIsDefault<DLBridgeWrapSpec>(DLBRIDGE_WRAP_SPEC_INIT, dlbridge_wrap_spec_init());
  ExpectZeroIsDefault<DLBridgeCopySpec>(DLBRIDGE_COPY_SPEC_INIT, dlbridge_copy_spec_init());
  ExpectZeroIsDefault<DLBridgeLayout>(DLBRIDGE_LAYOUT_INIT, dlbridge_layout_init());
  ExpectZeroIsDefault<DLBridgeBackendInfo>(DLBRIDGE_BACKEND_INFO_INIT,
                                           dlbridge_backend_info_init());
  ExpectZeroIsDefault<DLBridgePointerInfo>(DLBRIDGE_POINTER_INFO_INIT,
                                           dlbridge_pointer_info_init());
  ExpectZeroIsDefault<DLBridgeContextEntry>(DLBRIDGE_CONTEXT_ENTRY_INIT,
                                            dlbridge_context_entry_init());
  ExpectZeroIsDefault<DLBridgeIpcExportSpec>(DLBRIDGE_IPC_EXPORT_SPEC_INIT,
                                             dlbridge_ipc_export_spec_init());
  ExpectZeroIsDefault<DLBridgeIpcSizes>(DLBRIDGE_IPC_SIZES_INIT, dlbridge_ipc_sizes_init());
  ExpectZeroIsDefault<DLBridgeIpcImportSpec>(DLBRIDGE_IPC_IMPORT_SPEC_INIT,
                                             dlbridge_ipc_import_spec_init());
}

// No policy, a zeroed policy and zeroed options accept and reject the same tensors.
TEST(ZeroIsDefault, OfPolicyAndOptionsMeansNull) {
  const DLBridgePolicy policy = OnlySize<DLBridgePolicy>();
  DLBridgeConvertOptions options = OnlySize<DLBridgeConvertOptions>();
  options.policy = &policy;
  for (const TensorSpec& spec :
       {TensorSpec(), TensorSpec({4, -1}, {1, 1}), TensorSpec(Axes(64, 1)), TensorSpec(Axes(65, 1)),
        TensorSpec(Axes()), TensorSpec({0, 3}, {9, 9})}) {
    VersionedSource source(spec);
    Error by_null;
    Error by_zero;
    const DLBridgeStatus null = dlbridge_validate_versioned(source.get(), nullptr, &by_null);
    const DLBridgeStatus zero = dlbridge_validate_versioned(source.get(), &policy, &by_zero);
    EXPECT_EQ(null, zero);
    if (null != DLBRIDGE_OK) {
      EXPECT_STREQ(by_null.message, by_zero.message);
    }
    DLManagedTensorVersioned* out = nullptr;
    EXPECT_EQ(dlbridge_import(source.get(), DLBRIDGE_KIND_VERSIONED, &options, &out, nullptr),
              null);
    if (out != nullptr) {
      dlbridge_release_versioned(out);
    } else {
      source.Release();
    }
  }
}

TEST(ZeroIsDefault, OfSpecsIsADefaultOrNotSet) {
  Error error;
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeAllocateSpec allocate = OnlySize<DLBridgeAllocateSpec>();
  EXPECT_EQ(dlbridge_allocate(&allocate, &out, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("dtype is not set")) << error.message;
  const DLBridgeWrapSpec wrap = OnlySize<DLBridgeWrapSpec>();
  EXPECT_EQ(dlbridge_wrap(&wrap, &out, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("is not set")) << error.message;
  const DLBridgeIpcImportSpec import = OnlySize<DLBridgeIpcImportSpec>();
  EXPECT_EQ(dlbridge_ipc_import(&import, &out, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  LegacySource source;
  const DLBridgeStorage storage = OnlySize<DLBridgeStorage>();
  EXPECT_EQ(dlbridge_upgrade_into(source.get(), nullptr, &storage, &out, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("memory")) << error.message;
  const DLBridgeCopySpec copy = OnlySize<DLBridgeCopySpec>();
  ASSERT_EQ(dlbridge_copy(source.tensor(), 0, &copy, &out, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(out->dl_tensor.device.device_type, kDLCPU);
  const DLBridgeViewSpec view = OnlySize<DLBridgeViewSpec>();
  DLManagedTensorVersioned* scalar = nullptr;
  ASSERT_EQ(dlbridge_view(out, &view, &scalar, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(scalar->dl_tensor.ndim, 0);
  dlbridge_release_versioned(scalar);
  dlbridge_release_versioned(out);
  source.Release();
}

}  // namespace
}  // namespace dlbridge_test
