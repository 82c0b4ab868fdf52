// SPDX-License-Identifier: Apache-2.0
// A foreign producer: structs in C memory, with deleters that count.
#ifndef DLBRIDGE_GO_CTEST_PRODUCER_H_
#define DLBRIDGE_GO_CTEST_PRODUCER_H_

#include <dlbridge/dlbridge.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct ctest_producer {
  DLTensor borrowed;
  DLManagedTensor legacy;
  DLManagedTensorVersioned versioned;
  int32_t deletes;
} ctest_producer;

typedef struct ctest_spec {
  uintptr_t data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
  DLPackVersion version;
  uint64_t flags;
  int32_t has_deleter;
} ctest_spec;

ctest_producer* ctest_new(ctest_spec spec);
int32_t ctest_deletes(const ctest_producer* producer);
// Releases a tensor on a thread of its own, and waits for it.
int ctest_release_on_thread(uintptr_t tensor, int32_t legacy);
// The DLTensor of a struct of any kind.
const DLTensor* ctest_inside(uintptr_t tensor, DLBridgeKind kind);

// A chain of exchange tables: `missing` has a bit for each function that is NULL.
typedef struct ctest_table {
  DLPackVersion version;
  uint32_t missing;
  uint32_t padding;
} ctest_table;

DLPackExchangeAPI* ctest_chain(const ctest_table* tables, size_t count, int32_t ring);

// The result of a call that the functions in Go cannot make.
typedef struct ctest_answer {
  uintptr_t out;
  DLBridgeError error;
} ctest_answer;

DLBridgeStatus ctest_view(uintptr_t tensor, int32_t ndim, const int64_t* shape,
                          const int64_t* strides, int64_t offset, ctest_answer* answer);
DLBridgeStatus ctest_allocate(int32_t ndim, const int64_t* shape, DLDevice device, DLDataType dtype,
                              ctest_answer* answer);
DLBridgeStatus ctest_wrap(uint64_t address, int32_t ndim, const int64_t* shape, DLDevice device,
                          DLDataType dtype, ctest_answer* answer);

// The work of Go's benchmarks in C: each runs it `count` times in one crossing.
void ctest_repeat_malloc(int64_t count);
void ctest_repeat_validate(uintptr_t legacy, int64_t count);
void ctest_repeat_upgrade(uintptr_t legacy, int64_t count);
void ctest_repeat_share(uintptr_t versioned, int64_t count);
// `size` is at most 64.
// Returns the nanoseconds of the upgrades, without the releases.
int64_t ctest_repeat_upgrade_many(const uintptr_t* legacy, size_t size, int64_t count);
void ctest_nothing(void);

#endif  // DLBRIDGE_GO_CTEST_PRODUCER_H_
