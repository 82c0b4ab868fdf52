// SPDX-License-Identifier: Apache-2.0
// Checks of the table of the C exchange API.
#include "offered.h"
#include "trial.h"

namespace dlbridge_conformance {
namespace {

constexpr int kLongestChain = 64;

const DLPackExchangeAPIHeader* Newest(Trial* trial) {
  const DLPackExchangeAPIHeader* table = trial->project.exchange_api(trial->project.user);
  if (table == nullptr) {
    trial->Skip(Say("the project's exchange_api returns NULL"));
  }
  return table;
}

// The table of major 1, or NULL with the trial decided.
const DLPackExchangeAPI* Table(Trial* trial) {
  const DLPackExchangeAPIHeader* newest = Newest(trial);
  const DLPackExchangeAPI* table = nullptr;
  DLBridgeError error;
  if (newest != nullptr &&
      dlbridge_exchange_api_find(newest, {1, 3}, &table, &error) != DLBRIDGE_OK) {
    trial->Fail(0, Say("a table of major 1 with its functions"), Say("%s", error.message));
  }
  return table;
}

bool IsOlder(DLPackVersion a, DLPackVersion b) {
  return a.major < b.major || (a.major == b.major && a.minor < b.minor);
}

void TableHeader(Trial* trial) {
  const DLPackExchangeAPIHeader* table = Newest(trial);
  bool found = false;
  for (int length = 0; table != nullptr; table = table->prev_api, ++length) {
    found = found || table->version.major == 1;
    if (length == kLongestChain) {
      trial->Fail(DLBRIDGE_CONFORMANCE_CRASH, Say("a chain of at most %d tables", kLongestChain),
                  Say("a longer one, or a ring"));
      return;
    }
    const DLPackExchangeAPIHeader* older = table->prev_api;
    if (older != nullptr && !IsOlder(older->version, table->version)) {
      trial->Fail(DLBRIDGE_CONFORMANCE_DEVIATION,
                  Say("prev_api to lead to a version before %u.%u", table->version.major,
                      table->version.minor),
                  Say("%u.%u", older->version.major, older->version.minor));
      return;
    }
  }
  if (!found && trial->outcome == DLBRIDGE_CONFORMANCE_PASSED) {
    trial->Fail(0, Say("a table of version 1.x"), Say("none"));
  }
}

void TableMembers(Trial* trial) {
  const DLPackExchangeAPIHeader* header = Newest(trial);
  for (int length = 0; header != nullptr && length < kLongestChain; ++length) {
    const auto* table = reinterpret_cast<const DLPackExchangeAPI*>(header);
    const char* missing = header->version.major != 1                   ? nullptr
                          : table->managed_tensor_allocator == nullptr ? "managed_tensor_allocator"
                          : table->managed_tensor_from_py_object_no_sync == nullptr
                              ? "managed_tensor_from_py_object_no_sync"
                          : table->managed_tensor_to_py_object_no_sync == nullptr
                              ? "managed_tensor_to_py_object_no_sync"
                          : table->current_work_stream == nullptr ? "current_work_stream"
                                                                  : nullptr;
    if (missing != nullptr) {
      trial->Fail(0, Say("%s", missing), Say("NULL"));
      return;
    }
    header = header->prev_api;
  }
}

// ------------------------------------------------------------------------------------- allocation

struct Reported {
  int calls;
  bool complete;
};

void SetError(void* context, const char* kind, const char* message) {
  auto* reported = static_cast<Reported*>(context);
  ++reported->calls;
  reported->complete = kind != nullptr && message != nullptr && kind[0] != 0 && message[0] != 0;
}

DLTensor Prototype(const Trial& trial, int64_t* shape) {
  DLTensor prototype;
  memset(&prototype, 0, sizeof prototype);
  prototype.device = trial.project.device;
  prototype.ndim = 2;
  prototype.dtype = Float32().dtype;
  prototype.shape = shape;
  return prototype;
}

bool CheckAllocated(Trial* trial, const Made& made) {
  DLBridgeError error;
  const auto* tensor = static_cast<const DLManagedTensorVersioned*>(made.out.tensor);
  if (dlbridge_validate_versioned(tensor, nullptr, &error) != DLBRIDGE_OK) {
    return trial->Fail(0, Say("a valid tensor"), Say("%s", error.message));
  }
  if ((tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) {
    return trial->Fail(0, Say("a writable tensor"), Say("the flag READ_ONLY"));
  }
  return CheckShape(trial, Wanted(), made);
}

Made MadeOf(DLManagedTensorVersioned* tensor) {
  Made made;
  memset(&made, 0, sizeof made);
  made.out.tensor = tensor;
  made.out.kind = DLBRIDGE_KIND_VERSIONED;
  made.tensor = &tensor->dl_tensor;
  made.flags = tensor->flags;
  made.version = tensor->version;
  return made;
}

void TableAllocates(Trial* trial) {
  const DLPackExchangeAPI* table = Table(trial);
  if (table == nullptr) {
    return;
  }
  int64_t shape[] = {2, 3};
  DLTensor prototype = Prototype(*trial, shape);
  DLManagedTensorVersioned* tensor = nullptr;
  Reported reported = {0, false};
  const int result = table->managed_tensor_allocator(&prototype, &tensor, &reported, SetError);
  if (result != 0 || tensor == nullptr) {
    trial->Fail(0, Say("0 and a tensor"),
                Say("%d and %s", result, tensor == nullptr ? "NULL" : "one"));
    return;
  }
  const Made made = MadeOf(tensor);
  if (CheckAllocated(trial, made)) {
    // The memory is really there, and its end too.
    memset(static_cast<unsigned char*>(made.tensor->data) + made.tensor->byte_offset, 1, 24);
    CallDeleter(made);
  }
}

void TableAllocatesError(Trial* trial) {
  const DLPackExchangeAPI* table = Table(trial);
  if (table == nullptr) {
    return;
  }
  int64_t shape[] = {2, -3};
  for (int fault = 0; fault < 2; ++fault) {
    DLTensor prototype = Prototype(*trial, shape);
    if (fault == 1) {
      shape[1] = 3;
      prototype.dtype.bits = 0;
    }
    DLManagedTensorVersioned* tensor = nullptr;
    Reported reported = {0, false};
    const int result = table->managed_tensor_allocator(&prototype, &tensor, &reported, SetError);
    if (result == 0 || reported.calls != 1 || !reported.complete) {
      trial->Fail(0,
                  Say("an error and one call of SetError for %s",
                      fault == 0 ? "an extent of -3" : "a dtype of 0 bits"),
                  Say("%d and %d calls%s", result, reported.calls,
                      reported.calls > 0 && !reported.complete ? " without kind or message" : ""));
      return;
    }
  }
}

void TableStream(Trial* trial) {
  const DLPackExchangeAPI* table = Table(trial);
  if (table == nullptr) {
    return;
  }
  int sentinel = 0;
  void* stream = &sentinel;
  const int result = table->current_work_stream(kDLCPU, 0, &stream);
  if (result != 0 || stream != nullptr) {
    trial->Fail(0, Say("0 and NULL"),
                Say("%d and %s", result, stream == &sentinel ? "no stream at all" : "a stream"));
  }
}

// ---------------------------------------------------------------------------------------- objects

bool HasArrays(Trial* trial) {
  const DLBridgeConformanceProject& project = trial->project;
  return (project.make != nullptr && project.read != nullptr && project.release != nullptr) ||
         trial->Skip(Say("the project has no make, read or release callback"));
}

void TableExport(Trial* trial) {
  const DLPackExchangeAPI* table = Table(trial);
  Made source;
  if (table == nullptr || !HasArrays(trial) || !Make(trial, Wanted(), &source)) {
    return;
  }
  DLManagedTensorVersioned* tensor = nullptr;
  const int result = table->managed_tensor_from_py_object_no_sync(source.out.array, &tensor);
  if (result != 0 || tensor == nullptr) {
    trial->Fail(0, Say("0 and a tensor"),
                Say("%d and %s", result, tensor == nullptr ? "NULL" : "one"));
    return;
  }
  const Made made = MadeOf(tensor);
  Drop(trial, source);
  if (CheckValues(trial, Wanted(), made)) {
    CallDeleter(made);
  }
}

void TableBorrow(Trial* trial) {
  const DLPackExchangeAPI* table = Table(trial);
  Made source;
  if (table == nullptr || !HasArrays(trial)) {
    return;
  }
  if (table->dltensor_from_py_object_no_sync == nullptr) {
    trial->Skip(Say("dltensor_from_py_object_no_sync is NULL"));
    return;
  }
  if (!Make(trial, Wanted(), &source)) {
    return;
  }
  DLTensor borrowed;
  memset(&borrowed, 0, sizeof borrowed);
  const int result = table->dltensor_from_py_object_no_sync(source.out.array, &borrowed);
  Made made = source;
  made.tensor = &borrowed;
  if (result != 0) {
    trial->Fail(0, Say("0"), Say("%d", result));
  } else if (CheckValues(trial, Wanted(), made)) {
    Drop(trial, source);
  }
}

Plan ExchangePlan(const Trial& trial) {
  Plan plan = PlanOf(Float32());
  plan.device = trial.project.device;
  return plan;
}

bool Offer(Trial* trial, const Plan& plan, Offered* offered) {
  Reproduce(plan, &trial->reproducer);
  trial->Announce();
  return MakeOffered(plan, trial->isolated, offered) ||
         trial->Fail(DLBRIDGE_CONFORMANCE_CRASH, Say("memory for the check"), Say("none"));
}

void TableImport(Trial* trial) {
  const DLPackExchangeAPI* table = Table(trial);
  Offered offered;
  if (table == nullptr || !HasArrays(trial) || !Offer(trial, ExchangePlan(*trial), &offered)) {
    return;
  }
  void* array = nullptr;
  const int result = table->managed_tensor_to_py_object_no_sync(
      static_cast<DLManagedTensorVersioned*>(offered.tensor), &array);
  if (result != 0 || array == nullptr) {
    trial->Fail(0, Say("0 and an object"),
                Say("%d and %s", result, array == nullptr ? "NULL" : "one"));
  } else if (CheckArray(trial, array, Float32().values, Float32().bytes)) {
    Finish(trial, &offered, array);
  }
}

void TableRejects(Trial* trial) {
  const int64_t shape[] = {2, -1};
  const DLPackExchangeAPI* table = Table(trial);
  Plan plan = ExchangePlan(*trial);
  plan.shape = shape;
  Offered offered;
  if (table == nullptr || !Offer(trial, plan, &offered)) {
    return;
  }
  void* array = nullptr;
  const int result = table->managed_tensor_to_py_object_no_sync(
      static_cast<DLManagedTensorVersioned*>(offered.tensor), &array);
  if (result == 0) {
    trial->Fail(DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Say("an error for an extent of -1"), Say("0"));
  } else if (offered.deletes.load() != 0) {
    trial->Fail(DLBRIDGE_CONFORMANCE_CORRUPTION, Say("a rejected tensor that stays the caller's"),
                Say("%d calls of its deleter", offered.deletes.load()));
  } else {
    FreeOffered(&offered);
  }
}

constexpr uint32_t kObjects = DLBRIDGE_CONFORMANCE_EXCHANGE_OBJECTS;

const Entry kEntries[] = {
    {"table-header", 0, TableHeader},          {"table-members", 0, TableMembers},
    {"table-allocates", 0, TableAllocates},    {"table-allocates-error", 0, TableAllocatesError},
    {"table-stream", 0, TableStream},          {"table-export", kObjects, TableExport},
    {"table-borrow", kObjects, TableBorrow},   {"table-import", kObjects, TableImport},
    {"table-rejects", kObjects, TableRejects},
};

}  // namespace

bool RunExchangeCheck(Trial* trial) {
  return RunEntry(trial, kEntries, sizeof kEntries / sizeof *kEntries);
}

}  // namespace dlbridge_conformance
