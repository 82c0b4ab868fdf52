/* SPDX-License-Identifier: Apache-2.0
 * The owners of an entry of the context table: add, retain, release and remove, with slots that are
 * reused, by concurrent threads.
 *
 * A statement of the model is at most one access to memory that another thread may access. Lines that
 * start with "src" name the statement of the library that the next lines model; check.py compares them
 * with the source.
 *
 * -DBUG_...: puts a fault in, which the verifier must find.
 */
#define SLOTS 2
#ifndef ENTRIES
#define ENTRIES 3          /* registrations; their serial numbers are the ids */
#endif
#ifndef USERS
#define USERS 2            /* threads that retain and release */
#endif

/* src/native/table_slots.h: struct alignas(16) Slot { */
typedef Slot {
  byte id;         /* one of the words of the entry */
  byte serial;     /* the high half of `owners` */
  byte count;      /* the low half: 1 while registered, plus 2 for each retain */
  bool free
};
Slot slots[SLOTS];
byte slot_of[ENTRIES + 1];      /* the low bits of an id lead to its slot */
byte issued = 0;                /* ids that exist */
bool lock = false;

/* What users may rely on. */
byte retained[ENTRIES + 1];     /* retains that succeeded and were not released */
byte released[ENTRIES + 1];     /* calls of the release callback */
bool removed[ENTRIES + 1];

inline Acquire() { atomic { !lock -> lock = true } }
inline Unlock() { lock = false }

/* src/native/table.cc: void Finish(Slot* slot) { */
inline Finish(s) {
#ifdef BUG_READS_A_RETURNED_SLOT
  Acquire();
  slots[s].free = true;
  Unlock();
  finished = slots[s].id;
#else
  /* src/native/table.cc: const DLBridgeContextEntry entry = ReadEntry(*slot); */
  finished = slots[s].id;
  Acquire();
  /* src/native/table.cc: ReturnSlot(SlotNumberOf(entry.id)); */
  slots[s].free = true;
  Unlock();
#endif
  /* src/native/table.cc: entry.release(entry.release_context, &entry); */
  atomic {
    released[finished]++;
    assert(released[finished] == 1);
    assert(retained[finished] == 0);
    assert(removed[finished])
  }
}

/* src/native/table.cc: DLBridgeStatus Insert(const DLBridgeContextEntry& added, uint64_t* id, Slot** finished) { */
inline Add() {
  Acquire();
  /* src/native/table_slots.cc: uint32_t TakeSlot() { */
  if
  :: slots[0].free -> s = 0
  :: !slots[0].free && slots[1].free -> s = 1
  :: else -> s = SLOTS
  fi;
  if
  :: s < SLOTS ->
    slots[s].free = false;
    id = issued + 1;
    /* src/native/table_slots.cc: slot->words[i].store(words[i], std::memory_order_relaxed); */
    slots[s].id = id;
    /* src/native/table_slots.cc: slot->owners.store(uint64_t{SerialOf(entry.id)} << 32 | 1, std::memory_order_release); */
    atomic { slots[s].serial = id; slots[s].count = 1; slot_of[id] = s; issued = id }
  :: else -> id = 0
  fi;
  Unlock()
}

/* src/native/table.cc: DLBridgeStatus Remove(uint64_t id) { */
inline Remove() {
  s = slot_of[id];
  Acquire();
  /* src/native/table.cc: if (IdOf(*slot) != id || (slot->owners.load(std::memory_order_relaxed) & 1) == 0) { */
  if
  :: slots[s].id == id && (slots[s].count & 1) == 1 ->
    removed[id] = true;
    /* src/native/table.cc: return CountOf(slot->owners.fetch_sub(1, std::memory_order_acq_rel)) == 1; */
    atomic { last = (slots[s].count == 1); slots[s].count = slots[s].count - 1 }
  :: else -> last = false
  fi;
  Unlock();
  if
  :: last -> Finish(s)
  :: else
  fi
}

/* src/native/table.cc: DLBridgeStatus Retain(uint64_t id) { */
inline Retain() {
  s = slot_of[id];
  ok = false;
  /* src/native/table.cc: uint64_t owners = slot->owners.load(std::memory_order_acquire); */
  atomic { serial = slots[s].serial; count = slots[s].count }
  do
  :: true ->
    /* src/native/table.cc: if (IdOf(*slot) != id || (owners & 1) == 0) { */
    if
    :: slots[s].id != id -> break
    :: else
    fi;
#ifndef BUG_RETAINS_REMOVED
    if
    :: (count & 1) == 0 -> break
    :: else
    fi;
#endif
    /* src/native/table.cc: } while (!slot->owners.compare_exchange_weak(owners, owners + 2, std::memory_order_acquire)); */
    atomic {
      if
#ifdef BUG_NO_SERIAL
      :: slots[s].count == count ->
#else
      :: slots[s].count == count && slots[s].serial == serial ->
#endif
        slots[s].count = count + 2;
        ok = true;
        retained[id]++;
        assert(released[id] == 0);
        break
      :: else -> serial = slots[s].serial; count = slots[s].count
      fi
    }
  od
}

/* src/native/table.cc: DLBridgeStatus Release(uint64_t id) { */
inline Release() {
  s = slot_of[id];
  atomic { serial = slots[s].serial; count = slots[s].count }
  do
  :: true ->
    /* src/native/table.cc: if (IdOf(*slot) != id || CountOf(owners) < 2) { */
    assert(slots[s].id == id && count >= 2);
    /* src/native/table.cc: } while (!slot->owners.compare_exchange_weak(owners, owners - 2, std::memory_order_acq_rel, */
    atomic {
      if
      :: slots[s].count == count && slots[s].serial == serial ->
        slots[s].count = count - 2;
        retained[id]--;
        break
      :: else -> serial = slots[s].serial; count = slots[s].count
      fi
    }
  od;
  /* src/native/table.cc: if (CountOf(owners) == 2) { */
  if
  :: count == 2 -> Finish(s)
  :: else
  fi
}

/* Registers entries and removes each of them. */
proctype Owner() {
  byte s;
  byte id;
  byte finished;
  bool last;
  byte added = 0;
  do
  :: added < ENTRIES ->
    Add();
    if
    :: id != 0 -> added++; Remove()
    :: else /* both slots are retained: try again */
    fi
  :: else -> break
  od
}

/* Retains any id that was ever issued, also one that is no longer registered. */
proctype User() {
  byte s;
  byte id;
  byte serial;
  byte count;
  byte finished;
  bool ok;
  byte rounds = 0;
  do
  :: rounds < 2 ->
    rounds++;
    id = 1;
    do
    :: id < issued -> id++
    :: break
    od;
    if
    :: id <= issued ->
      Retain();
      if
      :: ok -> Release()
      :: else
      fi
    :: else
    fi
  :: break
  od
}

init {
  byte i;
  atomic {
    for (i : 0 .. SLOTS - 1) {
      slots[i].free = true
    }
    run Owner();
    for (i : 1 .. USERS) {
      run User()
    }
  }
  /* The verifier reports a thread that does not end; here all have ended. */
  (_nr_pr == 1);
  for (i : 1 .. ENTRIES) {
    assert(released[i] == 1 && retained[i] == 0)
  }
}
