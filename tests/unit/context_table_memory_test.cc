// SPDX-License-Identifier: Apache-2.0
// Memory of the context table: it grows with the number of live entries, and unregistering an entry
// needs no allocation.
#include <gtest/gtest.h>

#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/allocations.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

#define DLBRIDGE_SKIP_UNLESS(possible) \
  if (!(possible)) GTEST_SKIP() << "allocations are not counted or cannot fail here"

DLBridgeContextEntry OpenCl(int32_t device, uint64_t context) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_OPENCL;
  entry.device = Device(kDLOpenCL, device);
  entry.platform = 1;
  entry.native_device = 1;
  entry.context = context;
  return entry;
}

uint64_t MustRegister(const DLBridgeContextEntry& entry) {
  uint64_t id = 0;
  EXPECT_EQ(dlbridge_context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  return id;
}

// Registers `count` entries, one per device id.
class Entries {
 public:
  Entries(int32_t first, int32_t count) {
    ids_.reserve(static_cast<size_t>(count));
    for (int32_t i = 0; i < count; ++i) {
      ids_.push_back(MustRegister(OpenCl(first + i, 1)));
    }
  }
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;
  ~Entries() {
    for (const uint64_t id : ids_) {
      EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
    }
  }

 private:
  std::vector<uint64_t> ids_;
};

TEST(ContextTableMemory, IsNotNeededToUnregister) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  const uint64_t id = MustRegister(OpenCl(0, 77));
  DLBridgeStatus status = DLBRIDGE_OK;
  int64_t asked = 0;
  {
    const Allocations allocations(1);
    status = dlbridge_context_unregister(id, nullptr);
    asked = allocations.asked();
  }
  EXPECT_EQ(status, DLBRIDGE_OK);
  EXPECT_EQ(asked, 0);
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  EXPECT_EQ(dlbridge_context_table_v1()->find(Device(kDLOpenCL, 0), 77, &found),
            DLBRIDGE_ERROR_NOT_FOUND);
}

TEST(ContextTableMemory, IsReused) {
  DLBRIDGE_SKIP_UNLESS(Allocations::Counts());
  const Entries others(1, 64);
  MustRegister(OpenCl(100, 1));
  int64_t made = 0;
  {
    const Allocations allocations;
    uint64_t id = MustRegister(OpenCl(101, 1));
    for (size_t i = 0; i < Scaled(100000); ++i) {
      EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
      id = MustRegister(OpenCl(101, 1));
    }
    EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
    made = allocations.made();
  }
  EXPECT_EQ(made, 0);
}

// Growth doubles the memory, so that 10,000 entries take few allocations. The second round reuses
// the memory and takes none.
TEST(ContextTableMemory, GrowsByDoubling) {
  DLBRIDGE_SKIP_UNLESS(Allocations::Counts());
  for (const int64_t most : {int64_t{30}, int64_t{1}}) {  // 1: the test's own vector
    int64_t made = 0;
    {
      const Allocations allocations;
      const Entries entries(1000, 10000);
      made = allocations.made();
    }
    EXPECT_LE(made, most);
  }
}

TEST(ContextTableMemory, FailedAllocationFailsOnlyTheRegistration) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  const Entries warm_up(19999, 1);  // the first call pins the table's library, if it can
  std::vector<uint64_t> ids;
  ids.reserve(40000);
  // Registers entries until the table has to grow beyond the memory that other tests left.
  DLBridgeContextEntry entry = OpenCl(20000, 1);
  int64_t failures = 0;
  while (failures < 2) {
    uint64_t id = 7;
    DLBridgeStatus status = DLBRIDGE_OK;
    bool failed = false;
    int64_t live = 0;
    {
      const Allocations allocations(failures + 1);
      status = dlbridge_context_register(&entry, &id, nullptr);
      failed = allocations.failed();
      live = allocations.live();
    }
    if (failed) {
      ++failures;
      EXPECT_EQ(live, 0) << "leaked where allocation " << failures << " failed";
      EXPECT_EQ(status, DLBRIDGE_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(id, 7U);
      DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
      EXPECT_EQ(dlbridge_context_table_v1()->find(entry.device, 1, &found),
                DLBRIDGE_ERROR_NOT_FOUND);
      continue;
    }
    ASSERT_EQ(status, DLBRIDGE_OK);
    ids.push_back(id);
    ++entry.device.device_id;
    ASSERT_LT(ids.size(), 40000U) << "the table never grew";
  }
  ids.push_back(MustRegister(entry));
  uint64_t cursor = 0;
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  size_t met = 0;
  while (dlbridge_context_next(&cursor, &found, nullptr) == DLBRIDGE_OK) {
    met += found.device.device_id >= 20000 ? 1 : 0;
  }
  EXPECT_EQ(met, ids.size());
  for (const uint64_t id : ids) {
    EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
  }
}

}  // namespace
}  // namespace dlbridge_test
