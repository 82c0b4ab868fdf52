// SPDX-License-Identifier: Apache-2.0
// Chains of exchange tables, which may be rings, and the negotiation of versions and streams. A
// table ends at an unreadable page: right after its header if its major is not 1.
#include <algorithm>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/support/check.h"
#include "fuzz/support/input.h"
#include "fuzz/support/memory.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {
namespace {

constexpr size_t kMostTables = 80;
constexpr size_t kMostRead = 64;

// Never called.
int Allocator(DLTensor* /*prototype*/, DLManagedTensorVersioned** /*out*/, void* /*context*/,
              void (* /*set_error*/)(void*, const char*, const char*)) {
  Fail("a call of a table", "none", "one");
}
int FromObject(void* /*object*/, DLManagedTensorVersioned** /*out*/) {
  Fail("a call of a table", "none", "one");
}
int ToObject(DLManagedTensorVersioned* /*tensor*/, void** /*out*/) {
  Fail("a call of a table", "none", "one");
}
int Borrow(void* /*object*/, DLTensor* /*out*/) { Fail("a call of a table", "none", "one"); }
int CurrentStream(DLDeviceType /*type*/, int32_t /*id*/, void** /*out*/) {
  Fail("a call of a table", "none", "one");
}

struct Table {
  DLPackVersion version;
  bool whole;
  DLPackExchangeAPIHeader* header;
};

uint32_t TakeVersionNumber(Input* input) {
  return input->OneIn(8) ? input->Any<uint32_t>() : static_cast<uint32_t>(input->Below(5));
}

Table TakeTable(Input* input, GuardedMemory* memory) {
  DLPackExchangeAPI api = {};
  api.header.version = {input->OneIn(4) ? TakeVersionNumber(input) : 1U, TakeVersionNumber(input)};
  const uint8_t missing = input->OneIn(3) ? input->Byte() : 0;
  api.managed_tensor_allocator = (missing & 1) == 0 ? Allocator : nullptr;
  api.managed_tensor_from_py_object_no_sync = (missing & 2) == 0 ? FromObject : nullptr;
  api.managed_tensor_to_py_object_no_sync = (missing & 4) == 0 ? ToObject : nullptr;
  api.current_work_stream = (missing & 8) == 0 ? CurrentStream : nullptr;
  api.dltensor_from_py_object_no_sync = (missing & 16) == 0 ? Borrow : nullptr;
  const bool readable = api.header.version.major == 1;
  const size_t size = readable ? sizeof api : sizeof api.header;
  auto* header = reinterpret_cast<DLPackExchangeAPIHeader*>(memory->Copy(api, size));
  return {api.header.version, (missing & 15) == 0, header};
}

// Mostly a list in order; sometimes a link goes anywhere.
void LinkTables(Input* input, const std::vector<Table>& tables) {
  for (size_t i = 0; i < tables.size(); ++i) {
    const bool last = i + 1 == tables.size();
    tables[i].header->prev_api = last ? nullptr : tables[i + 1].header;
    if (input->OneIn(16)) {
      tables[i].header->prev_api = tables[input->Below(tables.size())].header;
    }
  }
}

std::vector<Table> TakeTables(Input* input, GuardedMemory* memory) {
  std::vector<Table> tables;
  const size_t count = 1 + static_cast<size_t>(input->Below(input->OneIn(8) ? kMostTables : 6));
  for (size_t i = 0; i < count; ++i) {
    tables.push_back(TakeTable(input, memory));
  }
  LinkTables(input, tables);
  return tables;
}

// A list of about as many tables as a consumer reads, of which only one is whole.
std::vector<Table> TakeLongList(Input* input, GuardedMemory* memory) {
  const size_t whole = kMostRead - 4 + static_cast<size_t>(input->Below(8));
  const uint8_t nothing[] = {0};
  std::vector<Table> tables;
  while (tables.size() < whole + 4) {
    Input zeros(nothing, 0);
    tables.push_back(TakeTable(&zeros, memory));
    if (tables.size() != whole) {
      auto* table = reinterpret_cast<DLPackExchangeAPI*>(tables.back().header);
      table->current_work_stream = nullptr;
      tables.back().whole = false;
    }
  }
  LinkTables(input, tables);
  return tables;
}

// The newest whole table among the first that a consumer meets; the first of equal ones.
const Table* ExpectedTable(const std::vector<Table>& tables) {
  const Table* newest = nullptr;
  const DLPackExchangeAPIHeader* at = tables[0].header;
  for (size_t met = 0; met < kMostRead && at != nullptr; ++met, at = at->prev_api) {
    const auto table = std::find_if(tables.begin(), tables.end(),
                                    [&](const Table& one) { return one.header == at; });
    if (table->version.major == 1 && table->whole &&
        (newest == nullptr || table->version.minor > newest->version.minor)) {
      newest = &*table;
    }
  }
  return newest;
}

void FindTable(Input* input) {
  static GuardedMemory memory(kMostTables);
  const std::vector<Table> tables =
      input->OneIn(8) ? TakeLongList(input, &memory) : TakeTables(input, &memory);
  const DLPackVersion consumer = {input->OneIn(8) ? TakeVersionNumber(input) : 1U,
                                  TakeVersionNumber(input)};
  const Table* expected = ExpectedTable(tables);
  const DLPackExchangeAPI* found = nullptr;
  DLBridgeError error = GarbageError();
  const DLBridgeStatus status =
      dlbridge_exchange_api_find(tables[0].header, consumer, &found, &error);
  CheckError(status, error);
  if (consumer.major != 1) {
    CheckStatus(DLBRIDGE_ERROR_VERSION, status);
  } else {
    CheckStatus(expected != nullptr ? DLBRIDGE_OK : DLBRIDGE_ERROR_NOT_FOUND, status);
  }
  const void* header = status == DLBRIDGE_OK ? expected->header : nullptr;
  CheckEqual("the table", header, static_cast<const void*>(found));
  memory.Reset();
}

// ------------------------------------------------------------------------------------ negotiation

// Versions as one number, which compares like the pair.
uint64_t Number(DLPackVersion version) { return uint64_t{version.major} << 32 | version.minor; }

void Negotiate(Input* input) {
  const DLPackVersion producer = {TakeVersionNumber(input), TakeVersionNumber(input)};
  const DLPackVersion consumer = {TakeVersionNumber(input), TakeVersionNumber(input)};
  DLBridgeKind kind = -1;
  DLPackVersion version = {77, 77};
  DLBridgeError error = GarbageError();
  const DLBridgeStatus status = dlbridge_negotiate(producer, consumer, &kind, &version, &error);
  CheckError(status, error);
  const uint64_t older = std::min(Number(producer), Number(consumer));
  if (producer.major == 0 || consumer.major == 0) {
    CheckStatus(DLBRIDGE_OK, status);
    CheckEqual("the kind", DLBridgeKind{DLBRIDGE_KIND_LEGACY}, kind);
    CheckEqual("the version", std::min<uint64_t>(older, 8), Number(version));
  } else if (producer.major > consumer.major) {
    CheckStatus(DLBRIDGE_ERROR_VERSION, status);
    Check("no output", kind == -1 && version.major == 77 && version.minor == 77);
  } else {
    CheckStatus(DLBRIDGE_OK, status);
    CheckEqual("the kind", DLBridgeKind{DLBRIDGE_KIND_VERSIONED}, kind);
    CheckEqual("the version", older, Number(version));
  }
}

// ---------------------------------------------------------------------------------------- streams

// What an integer of the array API means on a device.
struct Meaning {
  DLBridgeStatus status;
  int32_t kind;
  uint64_t handle;
};

Meaning MeaningOfCuda(int64_t stream) {
  if (stream == DLBRIDGE_ARRAY_API_STREAM_NONE || stream == 1) {
    return {DLBRIDGE_OK, DLBRIDGE_STREAM_QUEUE, 1};
  }
  if (stream == -1) {
    return {DLBRIDGE_OK, DLBRIDGE_STREAM_NO_SYNC, 0};
  }
  return stream >= 2 ? Meaning{DLBRIDGE_OK, DLBRIDGE_STREAM_QUEUE, static_cast<uint64_t>(stream)}
                     : Meaning{DLBRIDGE_ERROR_INVALID_ARGUMENT, 0, 0};
}

Meaning MeaningOfRocm(int64_t stream) {
  if (stream == DLBRIDGE_ARRAY_API_STREAM_NONE || stream == 0) {
    return {DLBRIDGE_OK, DLBRIDGE_STREAM_QUEUE, 0};
  }
  if (stream == -1) {
    return {DLBRIDGE_OK, DLBRIDGE_STREAM_NO_SYNC, 0};
  }
  return stream > 2 ? Meaning{DLBRIDGE_OK, DLBRIDGE_STREAM_QUEUE, static_cast<uint64_t>(stream)}
                    : Meaning{DLBRIDGE_ERROR_INVALID_ARGUMENT, 0, 0};
}

Meaning MeaningOf(int32_t type, int64_t stream) {
  switch (type) {
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLCUDAManaged:
      return MeaningOfCuda(stream);
    case kDLROCM:
    case kDLROCMHost:
      return MeaningOfRocm(stream);
    default:
      break;
  }
  if (stream == DLBRIDGE_ARRAY_API_STREAM_NONE) {
    return {DLBRIDGE_OK, DLBRIDGE_STREAM_HOST, 0};
  }
  if (type == kDLCPU) {
    return {DLBRIDGE_ERROR_INVALID_ARGUMENT, 0, 0};
  }
  return stream == -1 ? Meaning{DLBRIDGE_OK, DLBRIDGE_STREAM_NO_SYNC, 0}
                      : Meaning{DLBRIDGE_ERROR_UNSUPPORTED, 0, 0};
}

void ReadStream(Input* input) {
  const DLDeviceType type = input->Pick({kDLCPU, kDLCUDA, kDLROCM, kDLOneAPI, kDLOpenCL, kDLMetal,
                                         kDLCUDAHost, kDLCUDAManaged, kDLROCMHost, kDLVulkan});
  const DLDevice device = {type, static_cast<int32_t>(input->Below(3))};
  const int64_t number = input->OneIn(4) ? DLBRIDGE_ARRAY_API_STREAM_NONE : input->Number();
  const Meaning meaning = MeaningOf(type, number);
  DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
  DLBridgeError error = GarbageError();
  const DLBridgeStatus status = dlbridge_stream_from_array_api(device, number, &stream, &error);
  CheckError(status, error);
  CheckStatus(meaning.status, status);
  CheckEqual("the kind of the stream", meaning.kind, stream.kind);
  CheckEqual("the handle of the stream", meaning.handle, stream.handle);
  Check("unused fields", stream.reserved == 0 && stream.context == 0);
}

void Run(Input* input) {
  switch (input->Below(4)) {
    case 0:
      return Negotiate(input);
    case 1:
      return ReadStream(input);
    default:
      return FindTable(input);
  }
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::Input input(data, size);
  dlbridge_fuzz::Run(&input);
  return 0;
}
