// SPDX-License-Identifier: Apache-2.0
// Chains of exchange API tables: long chains, cycles, incomplete tables and other major versions.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/guard.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

int Allocate(DLTensor*, DLManagedTensorVersioned**, void*,
             void (*)(void*, const char*, const char*)) {
  return 0;
}
int FromPython(void*, DLManagedTensorVersioned**) { return 0; }
int ToPython(DLManagedTensorVersioned*, void**) { return 0; }
int Borrow(void*, DLTensor*) { return 0; }
int Stream(DLDeviceType, int32_t, void**) { return 0; }

DLPackExchangeAPI Whole(uint32_t major, uint32_t minor) {
  DLPackExchangeAPI table = {};
  table.header.version = {major, minor};
  table.managed_tensor_allocator = &Allocate;
  table.managed_tensor_from_py_object_no_sync = &FromPython;
  table.managed_tensor_to_py_object_no_sync = &ToPython;
  table.dltensor_from_py_object_no_sync = &Borrow;
  table.current_work_stream = &Stream;
  return table;
}

// Links each table to the next.
void Link(std::vector<DLPackExchangeAPI>* tables) {
  for (size_t i = 0; i + 1 < tables->size(); ++i) {
    (*tables)[i].header.prev_api = &(*tables)[i + 1].header;
  }
}

const DLPackExchangeAPI* Find(const std::vector<DLPackExchangeAPI>& tables,
                              DLPackVersion consumer = {1, 3}) {
  const DLPackExchangeAPI* out = nullptr;
  Error error;
  const DLBridgeStatus status =
      dlbridge_exchange_api_find(&tables[0].header, consumer, &out, &error);
  if (status != DLBRIDGE_OK) {
    EXPECT_EQ(status, DLBRIDGE_ERROR_NOT_FOUND);
    EXPECT_EQ(out, nullptr);
    EXPECT_NE(error.message[0], '\0');
  }
  return out;
}

TEST(ExchangeApi, FindsTheOnlyTable) {
  const std::vector<DLPackExchangeAPI> tables = {Whole(1, 2)};
  EXPECT_EQ(Find(tables), &tables[0]);
}

TEST(ExchangeApi, AcceptsAnyMinorOfTheMajor) {
  for (const uint32_t minor : {0U, 2U, 3U, 9U, 0xffffffffU}) {
    const std::vector<DLPackExchangeAPI> tables = {Whole(1, minor)};
    EXPECT_EQ(Find(tables, {1, 0}), &tables[0]);
  }
}

TEST(ExchangeApi, FindsTheNewestAnywhereInTheChain) {
  std::vector<DLPackExchangeAPI> tables = {Whole(1, 2), Whole(1, 5), Whole(1, 3)};
  Link(&tables);
  EXPECT_EQ(Find(tables), &tables[1]);
}

TEST(ExchangeApi, SkipsOtherMajors) {
  std::vector<DLPackExchangeAPI> tables = {Whole(3, 0), Whole(2, 9), Whole(1, 2), Whole(0, 8)};
  Link(&tables);
  EXPECT_EQ(Find(tables), &tables[2]);
}

TEST(ExchangeApi, ReadsOnlyTheHeaderOfOtherMajors) {
  DLPackExchangeAPI whole = Whole(1, 2);
  DLPackExchangeAPIHeader header = {{2, 0}, &whole.header};
  const Guarded memory(&header, sizeof header);
  const DLPackExchangeAPI* out = nullptr;
  ASSERT_EQ(dlbridge_exchange_api_find(memory.as<DLPackExchangeAPIHeader>(), {1, 3}, &out, nullptr),
            DLBRIDGE_OK);
  EXPECT_EQ(out, &whole);
}

TEST(ExchangeApi, SkipsTablesThatLackAFunction) {
  for (int hole = 0; hole < 4; ++hole) {
    std::vector<DLPackExchangeAPI> tables = {Whole(1, 9), Whole(1, 2)};
    Link(&tables);
    switch (hole) {
      case 0:
        tables[0].managed_tensor_allocator = nullptr;
        break;
      case 1:
        tables[0].managed_tensor_from_py_object_no_sync = nullptr;
        break;
      case 2:
        tables[0].managed_tensor_to_py_object_no_sync = nullptr;
        break;
      default:
        tables[0].current_work_stream = nullptr;
        break;
    }
    EXPECT_EQ(Find(tables), &tables[1]) << "hole " << hole;
  }
}

TEST(ExchangeApi, AcceptsATableWithoutTheOptionalFunction) {
  std::vector<DLPackExchangeAPI> tables = {Whole(1, 3)};
  tables[0].dltensor_from_py_object_no_sync = nullptr;
  EXPECT_EQ(Find(tables), &tables[0]);
}

TEST(ExchangeApi, EndsInACycle) {
  std::vector<DLPackExchangeAPI> tables = {Whole(2, 0), Whole(3, 0)};
  Link(&tables);
  tables[1].header.prev_api = &tables[0].header;
  EXPECT_EQ(Find(tables), nullptr);
  tables[0].header.prev_api = &tables[0].header;
  EXPECT_EQ(Find(tables), nullptr);
  std::vector<DLPackExchangeAPI> good = {Whole(2, 0), Whole(1, 3)};
  Link(&good);
  good[1].header.prev_api = &good[0].header;
  EXPECT_EQ(Find(good), &good[1]);
}

TEST(ExchangeApi, ReadsAtMost64Tables) {
  std::vector<DLPackExchangeAPI> tables(65, Whole(2, 0));
  Link(&tables);
  tables[63].header.version = {1, 2};
  EXPECT_EQ(Find(tables), &tables[63]);
  tables[63].header.version = {2, 0};
  tables[64].header.version = {1, 2};
  EXPECT_EQ(Find(tables), nullptr);
}

TEST(ExchangeApi, SupportsMajor1Only) {
  const std::vector<DLPackExchangeAPI> tables = {Whole(1, 3)};
  for (const uint32_t major : {0U, 2U, 0xffffffffU}) {
    const DLPackExchangeAPI* out = nullptr;
    Error error;
    EXPECT_EQ(dlbridge_exchange_api_find(&tables[0].header, {major, 0}, &out, &error),
              DLBRIDGE_ERROR_VERSION);
    EXPECT_EQ(out, nullptr);
    EXPECT_TRUE(error.Says("major"));
  }
}

TEST(ExchangeApi, RejectsNull) {
  const std::vector<DLPackExchangeAPI> tables = {Whole(1, 3)};
  const DLPackExchangeAPI* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_exchange_api_find(nullptr, {1, 3}, &out, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("chain"));
  EXPECT_EQ(dlbridge_exchange_api_find(&tables[0].header, {1, 3}, nullptr, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("out"));
}

}  // namespace
}  // namespace dlbridge_test
