// SPDX-License-Identifier: Apache-2.0
// Import, export and the other conversions: on failure the source is untouched and still valid.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "faults/attempt.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

using Managed = DLManagedTensorVersioned;

void ExpectContent(const DLTensor& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.data) + tensor.byte_offset;
  // Body fills its memory with i * 7 + 1, from the start of the allocation.
  EXPECT_EQ(static_cast<unsigned char>(bytes[1] - bytes[0]), 7);
  EXPECT_EQ(tensor.ndim, 2);
  EXPECT_EQ(tensor.shape[0], 2);
  EXPECT_EQ(tensor.shape[1], 3);
}

// The failed call left the source to its owner, who validates and releases it.
template <class Source>
void ExpectStillValid(const Source& source) {
  EXPECT_TRUE(source.Untouched());
  EXPECT_EQ(dlbridge_validate(source.tensor(), 0, nullptr, nullptr), DLBRIDGE_OK);
}

std::function<void(Attempt&)> Upgrade(uint32_t options) {
  return [options](Attempt& attempt) {
    LegacySource source;
    const DLBridgeConvertOptions how = Options(options);
    Managed* out = nullptr;
    if (attempt([&](DLBridgeError* error) {
          return dlbridge_upgrade(source.get(), &how, &out, error);
        })) {
      ExpectContent(out->dl_tensor);
      dlbridge_release_versioned(out);
      return;
    }
    EXPECT_EQ(out, nullptr);
    ExpectStillValid(source);
    source.Release();
  };
}

std::function<void(Attempt&)> Downgrade(uint32_t options) {
  return [options](Attempt& attempt) {
    VersionedSource source;
    const DLBridgeConvertOptions how = Options(options);
    DLManagedTensor* out = nullptr;
    if (attempt([&](DLBridgeError* error) {
          return dlbridge_downgrade(source.get(), &how, &out, error);
        })) {
      ExpectContent(out->dl_tensor);
      dlbridge_release_legacy(out);
      return;
    }
    EXPECT_EQ(out, nullptr);
    ExpectStillValid(source);
    source.Release();
  };
}

template <class Source>
std::function<void(Attempt&)> Import(DLBridgeKind kind, uint32_t options) {
  return [kind, options](Attempt& attempt) {
    Source source;
    const DLBridgeConvertOptions how = Options(options);
    Managed* out = nullptr;
    if (attempt([&](DLBridgeError* error) {
          return dlbridge_import(source.get(), kind, &how, &out, error);
        })) {
      ExpectContent(out->dl_tensor);
      EXPECT_EQ(dlbridge_release(out, DLBRIDGE_KIND_VERSIONED), DLBRIDGE_OK);
      return;
    }
    EXPECT_EQ(out, nullptr);
    ExpectStillValid(source);
    source.Release();
  };
}

template <class Source>
std::function<void(Attempt&)> Export(DLBridgeKind kind, DLPackVersion target) {
  return [kind, target](Attempt& attempt) {
    Source source;
    void* out = nullptr;
    DLBridgeKind out_kind = 77;
    if (attempt([&](DLBridgeError* error) {
          return dlbridge_export(source.get(), kind, target, nullptr, &out, &out_kind, error);
        })) {
      EXPECT_EQ(dlbridge_release(out, out_kind), DLBRIDGE_OK);
      return;
    }
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(out_kind, 77);
    ExpectStillValid(source);
    source.Release();
  };
}

// The source is dlbridge's own: made by a downgrade or an upgrade before.
void UpgradeAgain(Attempt& attempt) {
  VersionedSource source;
  DLManagedTensor* down = MustDowngrade(source.get());
  const DLManagedTensor before = *down;
  const DLBridgeConvertOptions how = Options(DLBRIDGE_CONVERT_CANONICAL);
  Managed* out = nullptr;
  if (attempt([&](DLBridgeError* error) { return dlbridge_upgrade(down, &how, &out, error); })) {
    dlbridge_release_versioned(out);
    return;
  }
  EXPECT_EQ(std::memcmp(&before, down, sizeof before), 0);
  dlbridge_release_legacy(down);
}

void UpgradeInto(Attempt& attempt) {
  LegacySource source;
  alignas(16) static char memory[512];
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.memory = memory;
  storage.size = sizeof memory;
  EXPECT_LE(dlbridge_upgrade_storage_size(2), sizeof memory);
  Managed* out = nullptr;
  EXPECT_TRUE(attempt([&](DLBridgeError* error) {
    return dlbridge_upgrade_into(source.get(), nullptr, &storage, &out, error);
  }));
  EXPECT_EQ(attempt.failed(), 0) << "the function needs nothing";
  dlbridge_release_versioned(out);
}

void UpgradeMany(Attempt& attempt) {
  std::array<LegacySource, 4> sources;
  std::array<DLManagedTensor*, 4> inputs = {};
  std::array<Managed*, 4> outs = {};
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = sources[i].get();
  }
  size_t failed = 99;
  if (attempt([&](DLBridgeError* error) {
        return dlbridge_upgrade_many(inputs.data(), inputs.size(), nullptr, outs.data(), &failed,
                                     error);
      })) {
    for (Managed* out : outs) {
      dlbridge_release_versioned(out);
    }
    return;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(outs[i], nullptr);
    ExpectStillValid(sources[i]);
    sources[i].Release();
  }
}

// With a parent that another owner keeps.
void Share(Attempt& attempt) {
  LegacySource source;
  Managed* parent = MustUpgrade(source.get());
  const Managed before = *parent;
  Managed* out = nullptr;
  if (attempt([&](DLBridgeError* error) { return dlbridge_share(parent, &out, error); })) {
    dlbridge_release_versioned(out);
  } else {
    EXPECT_EQ(out, nullptr);
  }
  EXPECT_EQ(std::memcmp(&before, parent, sizeof before), 0);
  EXPECT_EQ(source.deletions(), 0);
  dlbridge_release_versioned(parent);
}

void ShareForeign(Attempt& attempt) {
  VersionedSource source;
  Managed* out = nullptr;
  Managed* parent = MustAdopt(source.get());
  if (attempt([&](DLBridgeError* error) { return dlbridge_share(parent, &out, error); })) {
    dlbridge_release_versioned(parent);
    EXPECT_EQ(source.deletions(), 0);
    dlbridge_release_versioned(out);
    return;
  }
  dlbridge_release_versioned(parent);
}

void View(Attempt& attempt) {
  LegacySource source;
  Managed* parent = MustUpgrade(source.get());
  const int64_t shape[] = {6};
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  spec.ndim = 1;
  spec.shape = shape;
  Managed* out = nullptr;
  if (attempt([&](DLBridgeError* error) { return dlbridge_view(parent, &spec, &out, error); })) {
    EXPECT_EQ(out->dl_tensor.shape[0], 6);
    dlbridge_release_versioned(out);
  } else {
    EXPECT_EQ(out, nullptr);
  }
  EXPECT_EQ(source.deletions(), 0);
  dlbridge_release_versioned(parent);
}

// Releasing needs nothing that can fail.
void Release(Attempt& attempt) {
  LegacySource first;
  VersionedSource second;
  VersionedSource third;
  Managed* up = MustUpgrade(first.get());
  DLManagedTensor* down = MustDowngrade(second.get());
  Managed* share = MustShare(up);
  EXPECT_TRUE(attempt([&](DLBridgeError* /*error*/) {
    dlbridge_release_versioned(up);
    dlbridge_release_legacy(down);
    EXPECT_EQ(dlbridge_release(third.get(), DLBRIDGE_KIND_VERSIONED), DLBRIDGE_OK);
    return dlbridge_release(share, DLBRIDGE_KIND_VERSIONED);
  }));
  EXPECT_EQ(attempt.failed(), 0);
  EXPECT_EQ(first.deletions(), 1);
}

void PinProducer(Attempt& attempt) {
  LegacySource source;
  const DLBridgeConvertOptions how = Options(DLBRIDGE_CONVERT_PIN_PRODUCER);
  Managed* out = nullptr;
  if (attempt([&](DLBridgeError* error) {
        return dlbridge_upgrade(source.get(), &how, &out, error);
      })) {
    dlbridge_release_versioned(out);
    return;
  }
  EXPECT_EQ(out, nullptr);
  ExpectStillValid(source);
  source.Release();
}

void ModulePin(Attempt& attempt) {
  attempt([&](DLBridgeError* error) {
    return dlbridge_module_pin(reinterpret_cast<const void*>(&std::atoi), error);
  });
}

const std::vector<Scenario> kScenarios = {
    {"Upgrade", Upgrade(0)},
    {"UpgradeCanonical", Upgrade(DLBRIDGE_CONVERT_CANONICAL)},
    {"UpgradeUnchecked", Upgrade(DLBRIDGE_CONVERT_SKIP_VALIDATION)},
    {"UpgradeByCopy", Upgrade(DLBRIDGE_CONVERT_COPY)},
    {"UpgradeAgain", UpgradeAgain},
    {"UpgradeInto", UpgradeInto},
    {"UpgradeMany", UpgradeMany},
    {"Downgrade", Downgrade(0)},
    {"DowngradeCanonical", Downgrade(DLBRIDGE_CONVERT_CANONICAL)},
    {"DowngradeByCopy", Downgrade(DLBRIDGE_CONVERT_COPY)},
    {"ImportLegacy", Import<LegacySource>(DLBRIDGE_KIND_LEGACY, 0)},
    {"ImportVersioned", Import<VersionedSource>(DLBRIDGE_KIND_VERSIONED, 0)},
    {"ImportUnknown", Import<VersionedSource>(DLBRIDGE_KIND_UNKNOWN, 0)},
    {"ImportByCopy", Import<VersionedSource>(DLBRIDGE_KIND_VERSIONED, DLBRIDGE_CONVERT_COPY)},
    {"ExportToLegacy", Export<VersionedSource>(DLBRIDGE_KIND_VERSIONED, {0, 8})},
    {"ExportToVersioned", Export<LegacySource>(DLBRIDGE_KIND_LEGACY, {1, 3})},
    {"ExportRelabelled", Export<VersionedSource>(DLBRIDGE_KIND_VERSIONED, {1, 0})},
    {"Share", Share},
    {"ShareOfAnImport", ShareForeign},
    {"View", View},
    {"Release", Release},
    {"PinProducer", PinProducer},
    {"ModulePin", ModulePin},
};

DLBRIDGE_FAIL_EACH_CALL(Convert, kScenarios);

}  // namespace
}  // namespace dlbridge_test
