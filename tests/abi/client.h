/*
 * SPDX-License-Identifier: Apache-2.0
 * The start of every client that recipes.py describes; clients.py copies it to the start of a
 * version's client.c, which is recorded. Every object that a client passes by pointer ends at the
 * end of a page; the page after it is inaccessible, and the bytes before the object must not
 * change. So the library may not read or write outside what the version's header declares. C99 and
 * C++11.
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dlbridge/dlbridge.h"

#define CANARY 0x5a
#define NEW(type) ((type*)guarded(sizeof(type)))
/* A struct with its default. */
#define MAKE(type, name, init)             \
  static const type name##_default = init; \
  type* const name = NEW(type);            \
  memcpy(name, &name##_default, sizeof *name)
#define CHECK(condition)                                         \
  do {                                                           \
    if (!(condition)) {                                          \
      printf("line %d: %s: %s\n", __LINE__, #condition, said()); \
      return 1;                                                  \
    }                                                            \
  } while (0)
/* A call that must succeed, and one that must fail with a status. */
#define OK(call) CHECK((call) == DLBRIDGE_OK)
#define FAILS(status, call) CHECK((call) == DLBRIDGE_ERROR_##status)

enum { BLOCKS = 64 };
typedef struct {
  unsigned char* start; /* of the page or pages */
  unsigned char* object;
  size_t mapped;
} Block;

static Block g_blocks[BLOCKS];
static int g_count;
static DLBridgeError* g_error;

/* The message of the last failure. */
static const char* said(void) { return g_error == NULL ? "" : g_error->message; }

/* Memory whose last byte is the last of a page; its bytes are canaries. */
static void* guarded(size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t pages = (size + page) / page * page;
  void* const start =
      mmap(NULL, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Block* const block = &g_blocks[g_count++ % BLOCKS];
  memset(start, CANARY, pages);
  mprotect((unsigned char*)start + pages, page, PROT_NONE);
  block->start = (unsigned char*)start;
  block->object = block->start + (pages - size);
  block->mapped = pages + page;
  return block->object;
}

/* Whether the bytes before every object are unchanged; also unmaps the memory. */
static int untouched(void) {
  int good = g_count <= BLOCKS;
  int i;
  for (i = 0; i < g_count && i < BLOCKS; ++i) {
    const unsigned char* byte = g_blocks[i].start;
    while (byte < g_blocks[i].object && *byte == CANARY) ++byte;
    good = good && byte == g_blocks[i].object;
    munmap(g_blocks[i].start, g_blocks[i].mapped);
  }
  g_count = 0;
  return good;
}

/* A tensor of float32 and shape {2, 3} whose deleter counts its calls. */
static float g_data[6];
static int64_t g_shape[2] = {2, 3};
static int g_deleted;
static void delete_legacy(DLManagedTensor* tensor) {
  (void)tensor;
  ++g_deleted;
}
static void delete_versioned(DLManagedTensorVersioned* tensor) {
  (void)tensor;
  ++g_deleted;
}

static DLTensor* bare(void) {
  DLTensor* const tensor = NEW(DLTensor);
  memset(tensor, 0, sizeof *tensor);
  tensor->data = g_data;
  tensor->device.device_type = kDLCPU;
  tensor->ndim = 2;
  tensor->dtype.code = kDLFloat;
  tensor->dtype.bits = 32;
  tensor->dtype.lanes = 1;
  tensor->shape = (int64_t*)guarded(sizeof g_shape);
  memcpy(tensor->shape, g_shape, sizeof g_shape);
  return tensor;
}

static DLManagedTensor* legacy(void) {
  DLManagedTensor* const tensor = NEW(DLManagedTensor);
  tensor->dl_tensor = *bare();
  tensor->manager_ctx = NULL;
  tensor->deleter = delete_legacy;
  return tensor;
}

static DLManagedTensorVersioned* versioned(void) {
  DLManagedTensorVersioned* const tensor = NEW(DLManagedTensorVersioned);
  tensor->version.major = 1;
  tensor->version.minor = 0;
  tensor->manager_ctx = NULL;
  tensor->deleter = delete_versioned;
  tensor->flags = 0;
  tensor->dl_tensor = *bare();
  return tensor;
}

/* A location for a result, initialised to NULL. */
#define SLOT(type, name)                              \
  type** const name = (type**)guarded(sizeof(type*)); \
  *name = NULL

/* Checks that a member of the function table is the exported function of that name. */
static int is_symbol(const char* name, const void* function) {
  void* const symbol = dlsym(RTLD_DEFAULT, name);
  void* member = NULL;
  memcpy(&member, function, sizeof member);
  if (symbol != NULL && symbol == member) return 1;
  printf("the table's entry is not %s\n", name);
  return 0;
}
