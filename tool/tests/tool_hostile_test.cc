// SPDX-License-Identifier: Apache-2.0
// Files that an adversary made: `check` answers each of them, within 80 columns, without control
// characters, and agrees with the library on descriptors.
#include <cstring>
#include <random>

#include "dlbridge/dlbridge.h"
#include "support.h"
#include "support/scale.h"

namespace dlbridge::tool {
namespace {

const int kRounds = static_cast<int>(dlbridge_test::Scaled(3000));

void ExpectAnswer(const std::string& bytes) {
  CheckOptions brief;
  brief.brief = true;
  for (const CheckOptions& options : {CheckOptions(), brief}) {
    const Answer answer = CheckText(bytes, options, {false, true});
    if (answer.status == kUnreadable) {  // the message follows the name of the file
      EXPECT_NE(answer.page, "");
    } else if (!options.brief) {
      EXPECT_EQ(Flaw(answer.page), "");
    }
    EXPECT_EQ(answer.page.find('\033'), std::string::npos);
    EXPECT_FALSE(answer.status != kUnreadable && Print(answer.json).empty());
  }
}

std::string Mutated(std::string bytes, std::mt19937* random) {
  static constexpr char kPieces[] = "0123456789-+eE.\"[]{},:\\\x00\x1b\xff nulltruefalse";
  const auto below = [&](size_t limit) { return static_cast<size_t>((*random)()) % limit; };
  for (size_t i = 0, count = 1 + below(4); i < count && !bytes.empty(); ++i) {
    const size_t at = below(bytes.size());
    switch (below(5)) {
      case 0:
        bytes[at] = kPieces[below(sizeof kPieces - 1)];
        break;
      case 1:
        bytes.insert(at, 1, kPieces[below(sizeof kPieces - 1)]);
        break;
      case 2:
        bytes.erase(at, 1 + below(8));
        break;
      case 3:
        bytes.insert(at, "99999999999999999999", 1 + below(20));
        break;
      default:
        bytes.resize(at);
        break;
    }
  }
  return bytes;
}

TEST(Hostile, MutatedCases) {
  std::mt19937 random(2);
  const Json cases = Json::parse(CorpusText())["cases"];
  for (int round = 0; round < kRounds; ++round) {
    const Json& one = cases[random() % cases.size()];
    const std::string text = Json{{"name", one["name"]}, {"objects", one["objects"]}}.dump();
    ExpectAnswer(Mutated(text, &random));
  }
}

TEST(Hostile, ValuesAtTheirLimits) {
  std::mt19937 random(3);
  const char* numbers[] = {"0",
                           "1",
                           "-1",
                           "2",
                           "63",
                           "64",
                           "65",
                           "4294967296",
                           "2147483647",
                           "4611686018427387904",
                           "9223372036854775807",
                           "-9223372036854775808"};
  for (int round = 0; round < kRounds; ++round) {
    const size_t ndim = random() % 5 == 0 ? 64 : random() % 5;
    Json shape = Json::array();
    Json strides = Json::array();
    for (size_t i = 0; i < ndim; ++i) {
      shape.push_back(numbers[random() % (random() % 2 == 0 ? 4 : 12)]);
      strides.push_back(numbers[random() % 12]);
    }
    const Json tensor = {{"kind", random() % 2 == 0 ? "LEGACY" : "BORROWED"},
                         {"data", numbers[random() % 11 == 2 ? 0 : random() % 2]},
                         {"device", {static_cast<int>(random() % 20), 0}},
                         {"dtype", {random() % 20, random() % 256, random() % 5}},
                         {"ndim", ndim},
                         {"shape", shape},
                         {"strides", random() % 8 == 0 ? Json(nullptr) : strides},
                         {"byte_offset", "0"}};
    ExpectAnswer(tensor.dump());
  }
}

TEST(Hostile, DeepJson) {
  for (const char* piece : {"[", "{\"a\":", "[{\"objects\":"}) {
    std::string text;
    for (int i = 0; i < 100000; ++i) {
      text += piece;
    }
    EXPECT_EQ(CheckText(text).status, kUnreadable);
    EXPECT_LT(CheckText(text).page.size(), 500U);
  }
}

// Time in proportion to the file: ctest's limit ends a reader that needs more.
TEST(Hostile, ManySmallCases) {
  std::string text = "[{\"objects\": {}}";
  for (size_t i = 0; i < dlbridge_test::Scaled(500000); ++i) {
    text += ",{\"objects\":{}}";
  }
  EXPECT_EQ(CheckText(text + "]").page, "no tensor in it");
}

TEST(Hostile, NamesCannotMoveTheCursor) {
  const std::string name =
      "a\033[2Jb\r\n\xC2\x9B"
      "c\xE2\x80\xAE"
      "d";
  Json tensor = Json::parse(R"({"objects": {"t": {"kind": "LEGACY", "data": "4096",
    "device": [1, 0], "ndim": 0, "dtype": [2, 32, 1], "shape": null, "strides": null,
    "byte_offset": "0"}}})");
  tensor["name"] = name;
  const Answer answer = CheckText(tensor.dump());
  EXPECT_EQ(answer.page.rfind("a\\x1b[2Jb\\x0d\\x0a\\xc2\\x9bc\\xe2\\x80\\xaed t: LEGACY\n", 0), 0U)
      << answer.page;
}

// ------------------------------------------------------------------------------------- descriptors

class Descriptors : public ::testing::Test {
 protected:
  void SetUp() override {
    const int64_t shape[2] = {3, 5};
    DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
    spec.shape = shape;
    spec.ndim = 2;
    spec.dtype = {kDLFloat, 32, 1};
    spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
    if (dlbridge_allocate(&spec, &tensor_, nullptr) != DLBRIDGE_OK) {
      GTEST_SKIP() << "this system has no memory files";
    }
    DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
    DLBridgeIpcExportSpec to = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
    bytes_.resize(4096);
    to.buffer = bytes_.data();
    to.buffer_size = bytes_.size();
    to.fds = &fd_;
    to.fd_capacity = 1;
    DLBridgeError error;
    ASSERT_EQ(dlbridge_ipc_export(tensor_, &to, &sizes, &error), DLBRIDGE_OK) << error.message;
    bytes_.resize(sizes.buffer_size);
  }
  void TearDown() override { dlbridge_release_versioned(tensor_); }

  // Writes the checksum that docs/ipc.md defines, as an adversary would.
  static void Sign(std::string* bytes) {
    uint64_t sum = 0xcbf29ce484222325U;
    std::memset(bytes->data() + 16, 0, sizeof sum);
    for (const char byte : *bytes) {
      sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    }
    std::memcpy(bytes->data() + 16, &sum, sizeof sum);
  }
  bool LibraryAccepts(const std::string& bytes) const {
    DLBridgeIpcImportSpec from = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
    from.buffer = bytes.data();
    from.buffer_size = bytes.size();
    from.fds = &fd_;
    from.fd_count = 1;
    DLManagedTensorVersioned* imported = nullptr;
    const bool accepted = dlbridge_ipc_import(&from, &imported, nullptr) == DLBRIDGE_OK;
    dlbridge_release_versioned(imported);
    return accepted;
  }

  DLManagedTensorVersioned* tensor_ = nullptr;
  std::string bytes_;
  int32_t fd_ = -1;
};

TEST_F(Descriptors, OfAnExport) {
  const Answer answer = CheckText(bytes_);
  EXPECT_EQ(answer.status, kFine) << answer.page;
  EXPECT_EQ(Flaw(answer.page), "");
  const Json& tensor = answer.json["tensors"][0];
  EXPECT_EQ(tensor["shape"], Json({"3", "5"}));
  EXPECT_EQ(tensor["dtype"], "float32");
  EXPECT_EQ(tensor["descriptor"]["file_descriptors"], 1);
  EXPECT_TRUE(LibraryAccepts(bytes_));
}

TEST_F(Descriptors, TooShortOrTooLong) {
  for (size_t length = 8; length < bytes_.size(); ++length) {
    EXPECT_EQ(CheckText(bytes_.substr(0, length)).status, kBroken) << length;
  }
  EXPECT_EQ(CheckText(bytes_ + std::string(1, '\0')).status, kBroken);
  EXPECT_EQ(CheckText(bytes_ + std::string(1000000, '\0')).status, kBroken);
}

TEST_F(Descriptors, OutsideTheMemory) {
  const uint64_t size = 4;
  std::memcpy(bytes_.data() + 64, &size, sizeof size);
  Sign(&bytes_);
  const Answer answer = CheckText(bytes_);
  EXPECT_EQ(answer.status, kBroken);
  EXPECT_NE(answer.page.find("bytes 0 to 60"), std::string::npos) << answer.page;
}

TEST_F(Descriptors, WhatTheLibraryAcceptsIsFine) {
  std::mt19937 random(4);
  int accepted = 0;
  int fine = 0;
  for (int round = 0; round < 6 * kRounds; ++round) {
    std::string bytes = bytes_;
    const size_t at = 24 + random() % (bytes.size() - 24);
    bytes[at] = static_cast<char>(random() % 3 == 0 ? random() : bytes[at] ^ (1 << random() % 8));
    if (random() % 8 != 0) {
      Sign(&bytes);
    }
    const Answer answer = CheckText(bytes);
    EXPECT_EQ(Flaw(answer.page), "");
    if (LibraryAccepts(bytes)) {
      EXPECT_EQ(answer.status, kFine) << answer.page;
      ++accepted;
    }
    fine += answer.status == kFine ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(fine, 3 * kRounds);
}

}  // namespace
}  // namespace dlbridge::tool
