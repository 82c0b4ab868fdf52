// SPDX-License-Identifier: Apache-2.0
// The places that repeat the list of backends agree with it: each backend is reached by its id and
// by a device type, and the messages and documents name it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "native/backend.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

struct Row {
  DLBridgeBackend id;
  const char* constant;
  const char* name;
  bool shares;
};
constexpr Row kRows[] = {
#define DLBRIDGE_ROW(id, table, name, shares) {DLBRIDGE_BACKEND_##id, #id, name, shares},
    DLBRIDGE_DRIVERS(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
};

std::string Labelled(const Row& row) {
  return std::string(row.constant) + " (" + std::to_string(row.id) + ")";
}

std::string ReadSource(const char* path) {
  const auto tests = std::filesystem::path(DLBRIDGE_CASES).parent_path().parent_path();
  std::ifstream file(tests.parent_path() / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// False in a library that was built without drivers.
bool HasDriver(const Row& row) {
  return dlbridge::FindBackend(row.id)->library.variable != nullptr;
}

TEST(Backends, HaveTheNameAndTheIpcOfTheirRow) {
  for (const Row& row : kRows) {
    const dlbridge::Backend* backend = dlbridge::FindBackend(row.id);
    ASSERT_NE(backend, nullptr) << row.constant;
    EXPECT_EQ(backend->id, row.id);
    EXPECT_STREQ(backend->name, row.name);
    EXPECT_EQ(backend->ipc_export != nullptr, row.shares) << row.constant;
    EXPECT_EQ(backend->ipc_import != nullptr, row.shares) << row.constant;
  }
  EXPECT_EQ(dlbridge::FindBackend(dlbridge::kLastBackend + 1), nullptr);
}

TEST(Backends, HaveADeviceType) {
  for (const Row& row : kRows) {
    bool found = false;
    for (int32_t type = 0; type < 256; ++type) {
      found = found || dlbridge::IsBackendOf(row.id, type);
    }
    EXPECT_TRUE(found) << "BackendsOf in src/native/backend.cc lacks " << row.constant;
  }
}

// The device type whose first backend this is: its devices can be registered.
TEST(Backends, HaveContextsInTheTable) {
  for (const Row& row : kRows) {
    bool registered = false;
    for (int32_t type = 0; type < 256; ++type) {
      DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
      entry.backend = row.id;
      entry.device = Device(type, 7);
      entry.native_device = 7;
      entry.context = 7;
      if (dlbridge::IsBackendOf(row.id, type)) {
        Error error;
        uint64_t id = 0;
        const DLBridgeStatus status = dlbridge_context_register(&entry, &id, &error);
        registered = registered || status == DLBRIDGE_OK || !error.Says("entry.device must be");
        if (status == DLBRIDGE_OK) {
          EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
        }
      }
    }
    EXPECT_TRUE(registered) << "src/native/table_entry.cc does not accept devices of "
                            << row.constant;
  }
}

// A message with a range names its end, the others name each backend.
TEST(Backends, AreNamedByTheMessages) {
  Error error;
  const std::string range = "CPU (1) to " + Labelled(*(std::end(kRows) - 1));
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  EXPECT_EQ(dlbridge_backend_info(99, &info, &error), DLBRIDGE_ERROR_TOO_NEW);
  EXPECT_TRUE(error.Says(range.c_str())) << error.message;
  DLBridgeBuffer buffer = dlbridge_buffer_address(&info);
  buffer.backend = 99;
  DLBridgePointerInfo pointer = DLBRIDGE_POINTER_INFO_INIT;
  EXPECT_EQ(dlbridge_pointer_info(&buffer, Device(kDLCPU), &pointer, &error),
            DLBRIDGE_ERROR_TOO_NEW);
  EXPECT_TRUE(error.Says(range.c_str())) << error.message;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = 99;
  entry.device = Device(kDLCUDA);
  uint64_t id = 0;
  EXPECT_EQ(dlbridge_context_register(&entry, &id, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  for (const Row& row : kRows) {
    EXPECT_TRUE(error.Says(Labelled(row).c_str())) << error.message;
  }
  const DLBridgeStream stream = {99, DLBRIDGE_STREAM_QUEUE, Device(kDLCUDA), 1, 0, 0};
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, &error), DLBRIDGE_ERROR_TOO_NEW);
  for (const Row& row : kRows) {
    EXPECT_TRUE(error.Says(Labelled(row).c_str())) << error.message;
  }
}

// The documents have a driver's hand-offs, its fake, and the variable that names its file.
TEST(Backends, AreDocumented) {
  const std::string streams = ReadSource("docs/streams.md");
  const std::string fakes = ReadSource("tests/fakes/README.md");
  const std::string platforms = ReadSource("docs/platforms.md");
  const std::string security = ReadSource("SECURITY.md");
  const std::string functions = ReadSource("docs/functions.md");
  ASSERT_FALSE(streams.empty());
  for (const Row& row : kRows) {
    EXPECT_NE(streams.find("\n## " + std::string(row.name) + "\n"), std::string::npos)
        << "docs/streams.md has no section " << row.name;
    EXPECT_NE(fakes.find("\n## " + std::string(row.name) + ": "), std::string::npos)
        << "tests/fakes/README.md has no section " << row.name;
    if (HasDriver(row)) {
      const std::string variable = dlbridge::FindBackend(row.id)->library.variable;
      EXPECT_NE(platforms.find("`" + variable + "`"), std::string::npos) << variable;
      EXPECT_NE(functions.find("`" + variable + "`"), std::string::npos) << variable;
      EXPECT_NE(security.find(variable.substr(variable.rfind('_'))), std::string::npos) << variable;
    }
  }
}

// These tests cannot use the list: the library does not export it.
TEST(Backends, AreInTheOtherTests) {
  const std::string absent = ReadSource("tests/unit/backend_test.cc");
  const std::string without = ReadSource("tests/unit/without_devices_test.cc");
  for (const Row& row : kRows) {
    const std::string id = "DLBRIDGE_BACKEND_" + std::string(row.constant);
    EXPECT_NE(absent.find(id), std::string::npos) << "backend_test.cc lacks " << id;
    EXPECT_NE(without.find(id), std::string::npos) << "without_devices_test.cc lacks " << id;
    if (HasDriver(row)) {
      const std::string variable = dlbridge::FindBackend(row.id)->library.variable;
      EXPECT_NE(absent.find(variable), std::string::npos) << "backend_test.cc lacks " << variable;
    }
  }
}

}  // namespace
}  // namespace dlbridge_test
