// SPDX-License-Identifier: Apache-2.0
// A producer changes ndim while a call runs. Each function uses the value that it loaded once and
// writes no further than that value allows. Sanitizers detect errors that do not crash.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "dlbridge/dlbridge.h"
#include "support/ipc.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

constexpr int32_t kMostAxes = 2000;

// Both kinds over the same arrays of ones, with room for every ndim that the other thread writes.
struct Flickering {
  int64_t ones[kMostAxes];
  alignas(64) float data[4] = {};
  DLManagedTensor legacy;
  DLManagedTensorVersioned versioned;

  Flickering() {
    for (int64_t& one : ones) {
      one = 1;
    }
    const DLTensor tensor = {data, Device(kDLCPU), 1, Dtype(kDLFloat, 32), ones, ones, 0};
    legacy = {tensor, nullptr, [](DLManagedTensor*) {}};
    versioned = {{1, 1}, nullptr, [](DLManagedTensorVersioned*) {}, 0, tensor};
  }
};

// Calls `call` repeatedly while another thread writes 1 and `many` to ndim in turn.
void WhileNdimFlickers(Flickering* tensors, int32_t many, const std::function<void()>& call) {
  std::atomic<bool> stop{false};
  std::thread producer([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      for (const int32_t ndim : {1, many}) {
        __atomic_store_n(&tensors->legacy.dl_tensor.ndim, ndim, __ATOMIC_RELAXED);
        __atomic_store_n(&tensors->versioned.dl_tensor.ndim, ndim, __ATOMIC_RELAXED);
      }
    }
  });
  for (size_t round = 0; round < Scaled(50000); ++round) {
    call();
  }
  stop = true;
  producer.join();
}

// The result is consistent with one of the two values of ndim.
void ExpectWhole(const DLTensor& tensor, int32_t many) {
  ASSERT_TRUE(tensor.ndim == 1 || tensor.ndim == many) << tensor.ndim;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    ASSERT_EQ(tensor.shape[axis], 1);
    ASSERT_TRUE(tensor.strides == nullptr || tensor.strides[axis] == 1);
  }
}

TEST(Race, OfNdimWithUpgradeImportAndDowngrade) {
  Flickering tensors;
  constexpr int32_t kMany = 60;
  WhileNdimFlickers(&tensors, kMany, [&] {
    DLManagedTensorVersioned* up = nullptr;
    if (dlbridge_upgrade(&tensors.legacy, nullptr, &up, nullptr) == DLBRIDGE_OK) {
      ExpectWhole(up->dl_tensor, kMany);
      dlbridge_release_versioned(up);
    }
    DLManagedTensorVersioned* in = nullptr;
    if (dlbridge_import(&tensors.versioned, DLBRIDGE_KIND_VERSIONED, nullptr, &in, nullptr) ==
        DLBRIDGE_OK) {
      ExpectWhole(in->dl_tensor, kMany);
      dlbridge_release_versioned(in);
    }
    DLManagedTensor* down = nullptr;
    if (dlbridge_downgrade(&tensors.versioned, nullptr, &down, nullptr) == DLBRIDGE_OK) {
      ExpectWhole(down->dl_tensor, kMany);
      dlbridge_release_legacy(down);
    }
  });
}

TEST(Race, OfNdimWithCopies) {
  Flickering tensors;
  constexpr int32_t kMany = 60;
  WhileNdimFlickers(&tensors, kMany, [&] {
    const DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    DLManagedTensorVersioned* copy = nullptr;
    if (dlbridge_copy(&tensors.legacy.dl_tensor, 0, &spec, &copy, nullptr) == DLBRIDGE_OK) {
      ExpectWhole(copy->dl_tensor, kMany);
      dlbridge_release_versioned(copy);
    }
    const DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_COPY);
    DLManagedTensorVersioned* up = nullptr;
    if (dlbridge_upgrade(&tensors.legacy, &options, &up, nullptr) == DLBRIDGE_OK) {
      ExpectWhole(up->dl_tensor, kMany);
      dlbridge_release_versioned(up);
    }
  });
}

// Half of the time ndim is above every limit.
TEST(Race, OfAHugeNdimWithReadingFunctions) {
  Flickering tensors;
  WhileNdimFlickers(&tensors, kMostAxes, [&] {
    unsigned char bytes[kIpcBytes];
    int32_t fds[kIpcFds];
    size_t length = 0;
    size_t count = 0;
    EXPECT_NE(IpcExport(&tensors.versioned, 0, {bytes, sizeof bytes, fds, kIpcFds}, &length, &count,
                        nullptr),
              DLBRIDGE_OK);
    DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
    if (dlbridge_layout(&tensors.legacy.dl_tensor, 0, &layout, nullptr) == DLBRIDGE_OK) {
      ASSERT_EQ(layout.ndim, 1);
    }
    char text[256];
    dlbridge_tensor_format(&tensors.legacy.dl_tensor, 0, text, sizeof text, nullptr, nullptr);
    DLBridgeFinding findings[8];
    size_t found = 0;
    EXPECT_EQ(dlbridge_diagnose(&tensors.versioned, DLBRIDGE_KIND_VERSIONED, 0, nullptr, findings,
                                8, &found, nullptr),
              DLBRIDGE_OK);
    dlbridge_validate_versioned(&tensors.versioned, nullptr, nullptr);
  });
}

TEST(Race, OfNdimWithStorageStaysInside) {
  Flickering tensors;
  alignas(16) static unsigned char storage[8192];
  DLBridgeStorage room = DLBRIDGE_STORAGE_INIT;
  room.memory = storage;
  room.size = dlbridge_upgrade_storage_size(1);
  WhileNdimFlickers(&tensors, 60, [&] {
    DLManagedTensorVersioned* out = nullptr;
    if (dlbridge_upgrade_into(&tensors.legacy, nullptr, &room, &out, nullptr) == DLBRIDGE_OK) {
      ASSERT_EQ(out->dl_tensor.ndim, 1);
      dlbridge_release_versioned(out);
    }
    static const unsigned char zeros[sizeof storage] = {};
    ASSERT_EQ(std::memcmp(storage + room.size, zeros, sizeof storage - room.size), 0);
  });
}

}  // namespace
}  // namespace dlbridge_test
