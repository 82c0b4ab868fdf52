/* SPDX-License-Identifier: Apache-2.0
 * Reading the context table while it changes: two views, a version, and slots that are reused.
 *
 * The table has one device, whose entry is replaced again and again. A view has two words for it: where
 * its slot is, and a second word that must belong to the first. A reader that returns a result has read
 * one state of the table, and that state was the current one at some time during the call.
 *
 * A statement of the model is at most one access to memory that another thread may access. Lines that
 * start with "src" name the statement of the library that the next lines model; check.py compares them
 * with the source. Memory is sequentially consistent here; orders/src/table.rs is the same in C11's
 * memory model.
 *
 * -DBUG_...: puts a fault in, which the verifier must find.
 */
#define SLOTS 2
#ifndef CHANGES
#define CHANGES 4
#endif
#ifndef READERS
#define READERS 2
#endif

typedef View {
  byte slot;    /* plus 1; 0: the device has no entry */
  byte link
};
View views[2];
byte version = 0;

typedef Slot {
  byte id;      /* two words of the entry */
  byte context
};
Slot slots[SLOTS];

byte current = 0;  /* id of the entry that the table has: changes with the version */

/* src/native/table_index.cc: void Apply(View* view, const Change& change) { */
inline Apply(v) {
  views[v].slot = added;
  views[v].link = added
}

/* src/native/table_index.cc: void Commit(const Change& change) { */
inline Commit() {
#ifdef BUG_CHANGES_THE_CURRENT_VIEW
  Apply(version & 1);
#else
  /* src/native/table_index.cc: Apply(OtherView(), change); */
  Apply(1 - (version & 1));
#endif
  /* src/native/table_index.cc: g_index.version.store(version + 1, std::memory_order_release); */
  atomic { version++; current = new_id };
  Apply(1 - (version & 1))
}

active proctype Writer() {
  byte i;
  byte s = 0;
  byte added;
  byte new_id;
  for (i : 1 .. CHANGES) {
    if
    :: current == 0 ->
      /* A free slot: the one that the last entry had, or the other one. */
      if
      :: s = 0
      :: s = 1
      fi;
      /* src/native/table_slots.cc: slot->words[i].store(words[i], std::memory_order_relaxed); */
      slots[s].id = i;
      slots[s].context = i;
      added = s + 1;
      new_id = i
    :: else ->
      added = 0;
      new_id = 0
#ifdef BUG_RETURNS_THE_SLOT_EARLY
      ;
      /* The slot gets another entry before the change is committed. */
      slots[s].id = 100 + i;
      slots[s].context = 100 + i
#endif
    fi;
    Commit()
  }
}

/* src/native/table.cc: DLBridgeStatus Find(DLDevice device, uint64_t context, DLBridgeContextEntry* out) { */
proctype Reader() {
  byte begun;
  byte slot;
  byte link;
  byte id;
  byte context;
  do
  :: true ->
    /* src/native/table_index.h: version_ = g_index.version.load(std::memory_order_acquire); */
    begun = version;
    /* src/native/table_index.h: const uintptr_t bucket = view.buckets()[(hash + i) & view.mask].load(std::memory_order_acquire); */
    slot = views[begun & 1].slot;
    link = views[begun & 1].link;
    id = 0;
    context = 0;
    if
    :: slot != 0 ->
      /* src/native/table_slots.h: pairs_[i].Load(slot.words + 2 * i); */
      id = slots[slot - 1].id;
      context = slots[slot - 1].context
    :: else
    fi;
#ifdef BUG_NO_SECOND_LOOK
    break
#else
    /* src/native/table_index.h: return DLBRIDGE_LIKELY(g_index.version.load(std::memory_order_relaxed) == version_); */
    atomic {
      if
      :: version == begun -> assert(id == current); break
      :: else
      fi
    }
#endif
  od;
  assert(slot == link);
  assert(id == context)
}

init {
  byte i;
  atomic {
    for (i : 1 .. READERS) {
      run Reader()
    }
  }
}
