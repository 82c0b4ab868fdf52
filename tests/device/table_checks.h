// SPDX-License-Identifier: Apache-2.0
// Checks of the context table on any device: the entries that a backend enumerates, and the entries
// of an application, which tensors retain.
#ifndef DLBRIDGE_TESTS_DEVICE_TABLE_CHECKS_H_
#define DLBRIDGE_TESTS_DEVICE_TABLE_CHECKS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "dlbridge/dlbridge.h"

namespace dlbridge_test {

inline DLDevice LabelOfType(int32_t type, int32_t id) {
  return {static_cast<DLDeviceType>(type), id};
}

inline DLBridgeStatus LookUp(DLDevice device, uint64_t context, DLBridgeContextEntry* out) {
  *out = DLBRIDGE_CONTEXT_ENTRY_INIT;
  return dlbridge_context_find(device, context, out, nullptr);
}

// The ids of all entries, in order.
inline std::vector<uint64_t> AllEntries() {
  std::vector<uint64_t> ids;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  for (uint64_t cursor = 0; dlbridge_context_next(&cursor, &entry, nullptr) == DLBRIDGE_OK;) {
    ids.push_back(entry.id);
    entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  }
  return ids;
}

// Exactly `count` devices of a type; the types in `sharing` find the same entries.
inline void CheckEnumeration(DLBridgeBackend backend, int32_t type, int32_t count,
                             const std::vector<int32_t>& sharing) {
  for (int32_t id = 0; id < count; ++id) {
    DLBridgeContextEntry entry;
    ASSERT_EQ(LookUp(LabelOfType(type, id), 0, &entry), DLBRIDGE_OK) << id;
    EXPECT_EQ(entry.backend, backend);
    EXPECT_EQ(static_cast<int32_t>(entry.device.device_type), type);
    EXPECT_EQ(entry.device.device_id, id);
    EXPECT_NE(entry.properties & DLBRIDGE_CONTEXT_ENUMERATED, 0U);
    for (const int32_t other : sharing) {
      DLBridgeContextEntry same;
      ASSERT_EQ(LookUp(LabelOfType(other, id), 0, &same), DLBRIDGE_OK);
      EXPECT_EQ(same.id, entry.id);
    }
    const std::vector<uint64_t> all = AllEntries();
    EXPECT_EQ(std::count(all.begin(), all.end(), entry.id), 1);
    DLBridgeContextEntry found;
    EXPECT_EQ(LookUp(LabelOfType(type, id), entry.context, &found), DLBRIDGE_OK);
    EXPECT_EQ(found.id, entry.id);
  }
  DLBridgeContextEntry none;
  EXPECT_EQ(LookUp(LabelOfType(type, count), 0, &none), DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_EQ(LookUp(LabelOfType(type, INT32_MAX), 0, &none), DLBRIDGE_ERROR_NOT_FOUND);
}

inline void CountEnd(void* user, const DLBridgeContextEntry* /*entry*/) {
  ++*static_cast<int*>(user);
}
inline void CountBufferEnd(void* user, const DLBridgeBuffer* /*buffer*/,
                           const DLBridgeStream* /*stream*/) {
  ++*static_cast<int*>(user);
}

// Wraps sixteen floats at `memory`, with its context.
inline DLBridgeStatus WrapWithContext(DLDevice device, const DLBridgeBuffer& memory, int* released,
                                      DLManagedTensorVersioned** out, DLBridgeError* error) {
  const int64_t shape[] = {16};
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = 1;
  spec.shape = shape;
  spec.device = device;
  spec.buffer = memory;
  spec.release = CountBufferEnd;
  spec.release_context = released;
  return dlbridge_wrap(&spec, out, error);
}

// `mine` is an application's entry, `memory` belongs to its context. The entry lives while a tensor
// or the application retains it, and is not found after it was unregistered.
inline void CheckContextIsKept(DLBridgeContextEntry mine, DLBridgeBuffer memory) {
  int ended = 0;
  int released = 0;
  mine.release = CountEnd;
  mine.release_context = &ended;
  memory.context = mine.context;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  uint64_t id = 0;
  ASSERT_EQ(dlbridge_context_register(&mine, &id, &error), DLBRIDGE_OK) << error.message;
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(WrapWithContext(mine.device, memory, &released, &tensor, &error), DLBRIDGE_OK)
      << error.message;
  ASSERT_EQ(dlbridge_context_retain(id, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(dlbridge_context_unregister(id, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_EQ(dlbridge_context_retain(id, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
  DLBridgeContextEntry gone;
  EXPECT_EQ(LookUp(mine.device, mine.context, &gone), DLBRIDGE_ERROR_NOT_FOUND);
  DLManagedTensorVersioned* late = nullptr;
  // A cl_mem needs no entry: its driver confirms the context.
  const bool certain = memory.kind == DLBRIDGE_BUFFER_CL_MEM;
  EXPECT_EQ(WrapWithContext(mine.device, memory, &released, &late, nullptr),
            certain ? DLBRIDGE_OK : DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_EQ(late != nullptr, certain);
  if (late != nullptr) {
    late->deleter(late);
    EXPECT_EQ(released, 1);
    released = 0;
  }

  EXPECT_EQ(dlbridge_context_release(id, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(ended, 0) << "the tensor retains it";
  EXPECT_EQ(released, 0);
  tensor->deleter(tensor);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(dlbridge_context_release(id, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
}

// `memory` belongs to the context that a backend enumerated for the device.
inline void CheckEnumeratedContext(DLDevice device, const DLBridgeBuffer& memory) {
  int released = 0;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(WrapWithContext(device, memory, &released, &tensor, &error), DLBRIDGE_OK)
      << error.message;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLManagedTensorVersioned* copy = nullptr;
  EXPECT_EQ(dlbridge_copy(&tensor->dl_tensor, 0, &spec, &copy, &error), DLBRIDGE_OK)
      << error.message;
  if (copy != nullptr) {
    copy->deleter(copy);
  }
  tensor->deleter(tensor);
  EXPECT_EQ(released, 1);
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_TABLE_CHECKS_H_
