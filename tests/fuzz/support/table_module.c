/*
 * SPDX-License-Identifier: Apache-2.0
 * A library of someone else that exports a context table, for the target `processes`. The variable
 * FUZZ_TABLE decides when it is loaded what is wrong with the table; its functions count their
 * calls and return what the program has set.
 */
#include <dlbridge/dlbridge.h>
#include <stdlib.h>
#include <string.h>

static int calls;
static DLBridgeStatus status;

static DLBridgeStatus answer(void) {
  ++calls;
  return status;
}
static DLBridgeStatus add(const DLBridgeContextEntry* entry, uint64_t* id) {
  (void)entry;
  *id = 7;
  return answer();
}
static DLBridgeStatus find(DLDevice device, uint64_t context, DLBridgeContextEntry* out) {
  (void)device;
  (void)context;
  memset(out, 0, sizeof *out);
  return answer();
}
static DLBridgeStatus next(uint64_t* cursor, DLBridgeContextEntry* out) {
  (void)cursor;
  memset(out, 0, sizeof *out);
  return answer();
}
static DLBridgeStatus of_id(uint64_t id) {
  (void)id;
  return answer();
}

static DLBridgeContextTable table = {
    sizeof(DLBridgeContextTable), 1, add, find, next, of_id, of_id, of_id};
static const DLBridgeContextTable* exported = &table;

__attribute__((constructor)) static void spoil(void) {
  const char* what = getenv("FUZZ_TABLE");
  switch (what != NULL ? *what : 'g') {
    case 's':
      table.struct_size -= 8;
      break;
    case 'v':
      table.version = 2;
      break;
    case 'n':
      exported = NULL;
      break;
    case '0':
      table.add = NULL;
      break;
    case '1':
      table.find = NULL;
      break;
    case '2':
      table.next = NULL;
      break;
    case '3':
      table.retain = NULL;
      break;
    case '4':
      table.release = NULL;
      break;
    case '5':
      table.remove = NULL;
      break;
    default:
      break;
  }
}

#define EXPORT __attribute__((visibility("default")))
#if defined(TABLE_IS_DATA)
/* Data of that name is no function that returns a table. */
EXPORT extern const DLBridgeContextTable* const dlbridge_context_table_v1_data __asm__(
    "dlbridge_context_table_v1");
EXPORT const DLBridgeContextTable* const dlbridge_context_table_v1_data = &table;
#elif defined(TABLE_IS_USED)
/* The module calls the function of another one. */
EXPORT const void* fuzz_table_other(void);
const void* fuzz_table_other(void) { return (const void*)dlbridge_context_table_v1(); }
#else
EXPORT const DLBridgeContextTable* dlbridge_context_table_v1(void);
const DLBridgeContextTable* dlbridge_context_table_v1(void) { return exported; }
#endif

/* Returns the calls so far. */
EXPORT int fuzz_table_answer(DLBridgeStatus next_status);
int fuzz_table_answer(DLBridgeStatus next_status) {
  status = next_status;
  return calls;
}
