/*
 * SPDX-License-Identifier: Apache-2.0
 * The context table of another library, written from docs/context-table.md only: it includes no
 * header of dlbridge. It holds at most 256 entries and never frees them.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { OK = 0, INVALID = 1, TOO_NEW = 2, NO_MEMORY = 3, NOT_FOUND = 13, FORKED = 15, EXISTS = 18 };
enum { CUDA = 2, HIP = 3, LEVEL_ZERO = 4, OPENCL = 5 };
enum { DEFAULT = 1, REPLACE = 2, ENUMERATED = 4, KNOWN_FLAGS = 15, CAPACITY = 256 };

typedef struct Device {
  int32_t type;
  int32_t id;
} Device;

typedef struct Entry {
  uint32_t struct_size;
  int32_t backend;
  Device device;
  uint64_t id;
  uint64_t platform;
  uint64_t native_device;
  uint64_t context;
  uint64_t queue;
  int32_t queue_kind;
  uint32_t flags;
  uint8_t uuid[16];
  void (*release)(void* user, const struct Entry* entry);
  void* user;
  uint64_t reserved[4];
} Entry;
_Static_assert(sizeof(Entry) == 128 && offsetof(Entry, release) == 80, "as specified");

typedef struct Table {
  uint32_t struct_size;
  uint32_t version;
  int32_t (*add)(const Entry* entry, uint64_t* id);
  int32_t (*find)(Device device, uint64_t context, Entry* out);
  int32_t (*next)(uint64_t* cursor, Entry* out);
  int32_t (*retain)(uint64_t id);
  int32_t (*release)(uint64_t id);
  int32_t (*remove)(uint64_t id);
} Table;
_Static_assert(sizeof(Table) == 56, "as specified");

typedef struct Slot {
  Entry entry;
  int rank; /* among equal entries the smallest rank comes first */
  unsigned generation;
  atomic_ulong owners; /* 2 for each retain, plus 1 while it is registered */
} Slot;

static Slot slots[CAPACITY]; /* the id is the index of the slot plus 1 */
static atomic_uint count;
static atomic_uint generation;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void in_child(void) {
  pthread_mutex_init(&lock, NULL);
  atomic_fetch_add(&generation, 1);
}
static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

static int is_live(Slot* slot) { return (atomic_load(&slot->owners) & 1) != 0; }
static int is_stale(const Slot* slot) { return slot->generation != atomic_load(&generation); }
static int same_device(Device a, Device b) { return a.type == b.type && a.id == b.id; }
static int same_native(const Entry* a, const Entry* b) {
  return a->backend == b->backend && a->native_device == b->native_device;
}

static int fits(int32_t type, int32_t backend) {
  return (type == 2 && backend == CUDA) || (type == 10 && backend == HIP) ||
         (type == 4 && backend == OPENCL) ||
         (type == 14 && (backend == LEVEL_ZERO || backend == OPENCL));
}

static int is_too_new(const Entry* e) {
  return e->struct_size == 128 && e->id == 0 &&
         ((e->flags & ~(uint32_t)KNOWN_FLAGS) != 0 ||
          (e->reserved[0] | e->reserved[1] | e->reserved[2] | e->reserved[3]) != 0);
}

static int is_valid(const Entry* e) {
  const int handles = e->backend == LEVEL_ZERO || e->backend == OPENCL;
  if (e->struct_size != 128 || e->id != 0 || !fits(e->device.type, e->backend) ||
      e->device.id < 0 || ((e->flags & ENUMERATED) != 0 && (e->flags & REPLACE) != 0)) {
    return 0;
  }
  if (handles ? e->context == 0 || e->native_device == 0
              : e->platform != 0 || e->native_device > INT32_MAX ||
                    (e->backend == HIP && e->context != 0)) {
    return 0;
  }
  return e->queue == 0 ? e->queue_kind == 0
                       : e->queue_kind == 3 || (e->queue_kind == 4 && e->backend == LEVEL_ZERO);
}

static int gives_way(const Entry* old, const Entry* added) {
  const int other = !same_native(old, added);
  if ((added->flags & ENUMERATED) != 0) {
    return 0;
  }
  return (old->flags & ENUMERATED) != 0 ? other || old->context == added->context
                                        : other && (added->flags & REPLACE) != 0;
}

static void drop(Slot* slot, unsigned long owners) {
  if (atomic_fetch_sub(&slot->owners, owners) == owners && slot->entry.release != NULL) {
    slot->entry.release(slot->entry.user, &slot->entry);
  }
}

/* Called with the lock held. `gone` gets the indices of the entries that the new one replaces. */
static int32_t insert(const Entry* entry, uint64_t* id, unsigned* gone, unsigned* gone_count) {
  const unsigned used = atomic_load(&count);
  int rank = (int)used;
  for (unsigned i = 0; i < used; ++i) {
    Slot* slot = &slots[i];
    if (!is_live(slot) || is_stale(slot) || !same_device(slot->entry.device, entry->device)) {
      continue;
    }
    if (gives_way(&slot->entry, entry)) {
      gone[(*gone_count)++] = i;
    } else if (!same_native(&slot->entry, entry) || slot->entry.context == entry->context) {
      return EXISTS;
    }
  }
  if (used == CAPACITY) {
    return NO_MEMORY;
  }
  if ((entry->flags & DEFAULT) != 0) {
    rank = -rank - 1;
  }
  slots[used].entry = *entry;
  slots[used].entry.id = used + 1;
  slots[used].entry.flags &= ~(uint32_t)(DEFAULT | REPLACE);
  slots[used].rank = rank;
  slots[used].generation = atomic_load(&generation);
  atomic_store(&slots[used].owners, 1);
  *id = used + 1;
  atomic_store(&count, used + 1);
  return OK;
}

static int32_t add(const Entry* entry, uint64_t* id) {
  unsigned gone[CAPACITY];
  unsigned gone_count = 0;
  int32_t status = INVALID;
  if (entry != NULL && id != NULL && is_too_new(entry)) {
    return TOO_NEW;
  }
  if (entry == NULL || id == NULL || !is_valid(entry)) {
    return INVALID;
  }
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&lock);
  status = insert(entry, id, gone, &gone_count);
  pthread_mutex_unlock(&lock);
  for (unsigned i = 0; status == OK && i < gone_count; ++i) {
    drop(&slots[gone[i]], 1);
  }
  return status;
}

static int goes_before(const Slot* a, const Slot* b) {
  const uint32_t kind_a = a->entry.flags & ENUMERATED;
  const uint32_t kind_b = b->entry.flags & ENUMERATED;
  return kind_a != kind_b ? kind_a < kind_b : a->rank < b->rank;
}

static Slot* first_of(Device device, int* stale) {
  Slot* first = NULL;
  const unsigned used = atomic_load(&count);
  for (unsigned i = 0; i < used; ++i) {
    Slot* slot = &slots[i];
    if (is_live(slot) && same_device(slot->entry.device, device)) {
      *stale |= is_stale(slot);
      if (!is_stale(slot) && (first == NULL || goes_before(slot, first))) {
        first = slot;
      }
    }
  }
  return first;
}

static void copy_out(const Slot* slot, Entry* out) {
  int stale = 0;
  *out = slot->entry;
  out->flags |= first_of(slot->entry.device, &stale) == slot ? DEFAULT : 0;
}

static int32_t find(Device device, uint64_t context, Entry* out) {
  int stale = 0;
  const unsigned used = atomic_load(&count);
  if (out == NULL) {
    return INVALID;
  }
  device.type = device.type == 3 || device.type == 13 ? 2 : device.type == 11 ? 10 : device.type;
  Slot* found = first_of(device, &stale);
  for (unsigned i = 0; found != NULL && context != 0 && found->entry.context != context; ++i) {
    if (i == used) {
      return NOT_FOUND;
    }
    if (is_live(&slots[i]) && !is_stale(&slots[i]) && same_device(slots[i].entry.device, device) &&
        slots[i].entry.context == context) {
      found = &slots[i];
    }
  }
  if (found == NULL) {
    return stale ? FORKED : NOT_FOUND;
  }
  copy_out(found, out);
  return OK;
}

static int32_t next(uint64_t* cursor, Entry* out) {
  if (cursor == NULL || out == NULL) {
    return INVALID;
  }
  for (uint64_t i = *cursor; i < atomic_load(&count); ++i) {
    if (is_live(&slots[i]) && !is_stale(&slots[i])) {
      copy_out(&slots[i], out);
      *cursor = i + 1;
      return OK;
    }
  }
  return NOT_FOUND;
}

static int32_t identify(uint64_t id, Slot** slot) {
  if (id == 0 || id > atomic_load(&count)) {
    return NOT_FOUND;
  }
  *slot = &slots[id - 1];
  return is_stale(*slot) ? FORKED : OK;
}

static int32_t retain(uint64_t id) {
  Slot* slot = NULL;
  const int32_t status = identify(id, &slot);
  unsigned long owners = status == OK ? atomic_load(&slot->owners) : 0;
  while ((owners & 1) != 0) {
    if (atomic_compare_exchange_weak(&slot->owners, &owners, owners + 2)) {
      return OK;
    }
  }
  return status == OK ? NOT_FOUND : status;
}

static int32_t release(uint64_t id) {
  Slot* slot = NULL;
  const int32_t status = identify(id, &slot);
  unsigned long owners = status == OK ? atomic_load(&slot->owners) : 0;
  while (owners >= 2) {
    if (atomic_compare_exchange_weak(&slot->owners, &owners, owners - 2)) {
      if (owners == 2 && slot->entry.release != NULL) {
        slot->entry.release(slot->entry.user, &slot->entry);
      }
      return OK;
    }
  }
  return status == OK ? NOT_FOUND : status;
}

static int32_t take_out(uint64_t id) {
  Slot* slot = NULL;
  const int32_t status = identify(id, &slot);
  unsigned long owners = status == OK ? atomic_load(&slot->owners) : 0;
  while ((owners & 1) != 0) {
    if (atomic_compare_exchange_weak(&slot->owners, &owners, owners - 1)) {
      if (owners == 1 && slot->entry.release != NULL) {
        slot->entry.release(slot->entry.user, &slot->entry);
      }
      return OK;
    }
  }
  return status == OK ? NOT_FOUND : status;
}

#ifdef FOREIGN_TABLE_VERSION
/* A table of another version, which every library must ignore. */
static const Table table = {sizeof(Table), FOREIGN_TABLE_VERSION, add, find, next, retain, release,
                            take_out};
#else
static const Table table = {sizeof(Table), 1, add, find, next, retain, release, take_out};
#endif

__attribute__((visibility("default"))) const Table* dlbridge_context_table_v1(void);
const Table* dlbridge_context_table_v1(void) { return &table; }
