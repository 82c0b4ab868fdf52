// SPDX-License-Identifier: Apache-2.0
// States that other tests reach only by chance: a read during a change, a fork during a change.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "native/table.h"
#include "native/table_index.h"
#include "native/table_slots.h"

#ifndef _WIN32
#include "support/child.h"
#endif

namespace dlbridge {
namespace {

DLBridgeContextEntry Entry(int32_t device, uint64_t context) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_CUDA;
  entry.device = {kDLCUDA, device};
  entry.native_device = static_cast<uint64_t>(device);
  entry.context = context;
  return entry;
}

uint64_t MustAdd(int32_t device, uint64_t context) {
  const DLBridgeContextEntry entry = Entry(device, context);
  uint64_t id = 0;
  EXPECT_EQ(kOwnTable.add(&entry, &id), DLBRIDGE_OK);
  return id;
}

bool Has(int32_t device, uint64_t context) {
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  return kOwnTable.find({kDLCUDA, device}, context, &found) == DLBRIDGE_OK &&
         found.context == context;
}

TEST(ContextTableReading, IsWholeUntilAnythingChanges) {
  const uint64_t first = MustAdd(1, 1);
  Reading reading;
  reading.Begin();
  EXPECT_TRUE(reading.IsWhole());
  EXPECT_TRUE(Has(1, 1));
  EXPECT_EQ(kOwnTable.retain(first), DLBRIDGE_OK);
  EXPECT_EQ(kOwnTable.release(first), DLBRIDGE_OK);
  EXPECT_TRUE(reading.IsWhole());

  const uint64_t second = MustAdd(2, 1);
  EXPECT_FALSE(reading.IsWhole()) << "added";
  reading.Begin();
  EXPECT_EQ(kOwnTable.remove(second), DLBRIDGE_OK);
  EXPECT_FALSE(reading.IsWhole()) << "removed";
  reading.Begin();
  ASSERT_TRUE(Grow());
  EXPECT_FALSE(reading.IsWhole()) << "grown";
  EXPECT_EQ(kOwnTable.remove(first), DLBRIDGE_OK);
}

// A slow reader may use a replaced view: its memory stays readable and every search in it ends.
TEST(ContextTableReading, MayContinueInAReplacedView) {
  const uint64_t id = MustAdd(3, 7);
  Reading reading;
  const View* view = reading.Begin();
  const Slot* slot = FindFirst(*view, KeyOf(DLDevice{kDLCUDA, 3}));
  ASSERT_NE(slot, nullptr);
  std::vector<uint64_t> ids;
  ids.reserve(200);
  for (int32_t i = 0; i < 200; ++i) {
    ids.push_back(MustAdd(100 + i, 1));
  }
  EXPECT_EQ(kOwnTable.remove(id), DLBRIDGE_OK);
  EXPECT_EQ(ContextOf(*slot), 7U);
  FindFirst(*view, KeyOf(DLDevice{kDLCUDA, 3}));
  FindOther(*view, KeyOf(DLDevice{kDLCUDA, 3}), 7);
  FindFollowing(*view, 0);
  EXPECT_FALSE(reading.IsWhole());
  for (const uint64_t added : ids) {
    EXPECT_EQ(kOwnTable.remove(added), DLBRIDGE_OK);
  }
}

#ifndef _WIN32

View* OtherView() { return g_index.views[~g_index.version.load() & 1].load(); }

// Registers entries in a child process whose table is in the state that `interrupt` leaves. That
// stands for another thread that was changing the table when the process forked.
void ExpectWorksInChild(void (*interrupt)(const std::vector<uint64_t>& ids)) {
  std::vector<uint64_t> ids;
  ids.reserve(20);
  for (int32_t i = 0; i < 20; ++i) {
    ids.push_back(MustAdd(400 + i / 2, static_cast<uint64_t>(i) + 1));
  }
  uint32_t highest = 0;
  for (const uint64_t id : ids) {
    highest = std::max(highest, SlotNumberOf(id));
  }
  EXPECT_TRUE(dlbridge_test::InChild([&] {
    interrupt(ids);
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    EXPECT_EQ(kOwnTable.find({kDLCUDA, 400}, 0, &found), DLBRIDGE_ERROR_FORKED);
    std::vector<uint64_t> own;
    for (int32_t i = 0; i < 20; ++i) {
      own.push_back(MustAdd(395 + i / 2, static_cast<uint64_t>(i) + 1));
      EXPECT_LE(SlotNumberOf(own.back()), highest + 20) << "slots were lost";
    }
    for (int32_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(Has(395 + i / 2, static_cast<uint64_t>(i) + 1));
    }
    EXPECT_EQ(kOwnTable.find({kDLCUDA, 409}, 0, &found), DLBRIDGE_ERROR_FORKED);
    for (const uint64_t id : own) {
      EXPECT_EQ(kOwnTable.remove(id), DLBRIDGE_OK);
    }
  }));
  for (const uint64_t id : ids) {
    EXPECT_EQ(kOwnTable.remove(id), DLBRIDGE_OK);
  }
}

TEST(ContextTableFork, RestoresAViewThatWasBeingChanged) {
  ExpectWorksInChild([](const std::vector<uint64_t>& /*ids*/) {
    View* view = OtherView();
    for (uint32_t i = 0; i <= view->mask; i += 3) {
      view->buckets()[i].store(0);
    }
    view->first.store(0);
    view->links(3).next.store(5);
  });
}

TEST(ContextTableFork, RestoresAViewThatWasBeingReplaced) {
  ExpectWorksInChild([](const std::vector<uint64_t>& /*ids*/) {
    g_index.views[~g_index.version.load() & 1].store(nullptr);
  });
}

TEST(ContextTableFork, RecoversSlotsThatWereBeingTaken) {
  ExpectWorksInChild([](const std::vector<uint64_t>& /*ids*/) {
    for (int i = 0; i < 1000; ++i) {
      TakeSlot();
    }
  });
}

TEST(ContextTableFork, FreesSlotsThatWereBeingReturnedOnce) {
  ExpectWorksInChild([](const std::vector<uint64_t>& ids) {
    for (const uint64_t id : ids) {
      ReturnSlot(SlotNumberOf(id));
    }
  });
}

#endif

}  // namespace
}  // namespace dlbridge
