/* SPDX-License-Identifier: Apache-2.0
 * Tensors that are held for streams: concurrent calls that collect, and a deleter that adds a tensor and
 * collects again.
 *
 * A statement of the model is at most one access to memory that another thread may access; what the
 * source does under a lock is one statement, since nothing else reads the list without that lock. The
 * order of a list is not modelled: Take chooses any entry that fits. Lines that start with "src" name the
 * statement of the library that the next lines model; check.py compares them with the source.
 *
 * -DBUG_...: puts a fault in, which the verifier must find.
 */
#define ENTRIES 3      /* the last one is added by the deleter of entry 0 */
#ifndef COLLECTORS
#define COLLECTORS 2
#endif
#define NONE 255

/* src/native/pending.h: struct Pending { */
typedef Pending {
  bool listed;
  bool taken;
  bool ready;      /* in the list of entries without marks */
  bool marked;     /* has a mark */
  byte number;
  byte releases
};
Pending entries[ENTRIES];
bool used[ENTRIES];    /* a stream uses the tensor */
bool over[ENTRIES];    /* the stream has done the work */
byte newest = 0;
byte releasing = 0;
bool waiting = false;  /* the lock */

/* src/native/pending.cc: void AddPending(Pending* pending) { */
inline AddPending(n) {
  atomic {
    newest++;
    entries[n].number = newest;
    entries[n].listed = true;
    entries[n].taken = false;
    entries[n].ready = !entries[n].marked
  }
}

/* src/native/pending.cc: Pending* Take(uint64_t limit, bool marked, bool* others) { */
inline Take(bound, only_marked, e) {
  atomic {
    others = false;
    e = NONE;
    for (i : 0 .. ENTRIES - 1) {
      if
      :: entries[i].listed && entries[i].number <= bound && !(only_marked && entries[i].ready) ->
        if
        :: entries[i].taken -> others = true
        :: !entries[i].taken -> e = i
        :: !entries[i].taken && e != NONE /* or keep the one before */
        fi
      :: else
      fi
    }
    if
    :: e != NONE ->
#ifndef BUG_NOT_TAKEN
      /* src/native/pending.cc: one->taken = 1; */
      entries[e].taken = true
#endif
    :: else
    fi
  }
}

/* src/native/pending.cc: void PutBack(Pending* pending, bool failed) { */
inline PutBack(e) {
  atomic { entries[e].ready = !entries[e].marked; entries[e].taken = false }
}

/* The first half of Finish, before the deleters run. */
inline Finish(e) {
  /* src/native/pending.cc: ++g_queue.releasing; */
  atomic { entries[e].listed = false; releasing++ }
  atomic { entries[e].releases++; assert(entries[e].releases == 1); assert(!used[e] || over[e]) }
}

/* src/native/pending.cc: bool WaitForOne(uint64_t limit, bool release, DLBridgeStatus* first, DLBridgeError* error) { */
inline TakeAndWait(bound, nested, e) {
  atomic { !waiting -> waiting = true };
  Take(bound, nested, e);
  if
  :: e != NONE ->
#ifndef BUG_DOES_NOT_WAIT
    /* src/native/pending.cc: DLBRIDGE_TRY(wait ? backend.mark_wait(mark, error) : backend.mark_query(mark, &done, error)); */
    !entries[e].marked || over[e];
#endif
    /* src/native/pending.cc: DropMark(pending); */
    entries[e].marked = false
  :: else
  fi;
  waiting = false
}

/* What a deleter does that calls dlbridge_collect with WAIT. */
inline NestedCollect() {
  bound = newest;
  do
  :: true ->
    TakeAndWait(bound, true, inner);
    if
    :: inner != NONE -> PutBack(inner)
    :: inner == NONE && others
    :: inner == NONE && !others -> break
    fi
  od;
#ifndef BUG_FORGETS_THE_OUTER_CALL
  /* src/native/pending.cc: void LeaveToOuter() const { outer_->again = true; } */
  again = true;
#endif
  if
  :: owed < bound -> owed = bound
  :: else
  fi
}

inline RunDeleter(e) {
  if
  :: e == 0 -> AddPending(ENTRIES - 1); NestedCollect()
  :: else
  fi;
  /* src/native/pending.cc: --g_queue.releasing; */
  releasing--
}

/* src/native/pending.cc: DLBridgeStatus CollectPending(bool wait, size_t* left, DLBridgeError* error) { */
proctype Waits() {
  byte e;
  byte inner;
  byte i;
  byte bound;
  byte limit;
  byte owed;   /* on return no entry up to this number may be held */
  bool others;
  bool again = false;
  /* src/native/pending.cc: uint64_t limit = Newest(); */
  limit = newest;
  owed = limit;
  do
  :: true ->
    TakeAndWait(limit, false, e);
    if
    :: e != NONE ->
      Finish(e);
      RunDeleter(e);
      /* src/native/pending.cc: limit = collecting.TakeAgain() ? Newest() : limit; */
      if
      :: again -> again = false; limit = newest
      :: else
      fi
    :: e == NONE && others
    :: e == NONE && !others -> break
    fi
  od;
  atomic {
    for (i : 0 .. ENTRIES - 1) {
      assert(!(entries[i].listed && entries[i].number <= owed))
    }
  }
}

/* src/native/pending.cc: DLBridgeStatus CollectOver(DLBridgeError* error) { */
proctype Polls() {
  byte e;
  byte inner;
  byte i;
  byte bound;
  byte owed;
  bool others;
  bool again = false;
  byte rounds = 0;
  do
  :: rounds < ENTRIES ->
    rounds++;
    Take(255, false, e);
    if
    :: e == NONE -> break
    :: else ->
      if
      :: !entries[e].marked || over[e] -> entries[e].marked = false; Finish(e); RunDeleter(e)
      :: entries[e].marked -> PutBack(e)
      fi
    fi
  :: else -> break
  od
}

/* The streams do their work at any time. */
proctype Stream(byte e) { over[e] = true }

init {
  byte e;
  byte inner;
  byte i;
  byte bound;
  byte owed;
  bool others;
  bool again;
  atomic {
    used[1] = true;
    used[ENTRIES - 1] = true;
    entries[1].marked = true;
    entries[ENTRIES - 1].marked = true;
    AddPending(0);
    AddPending(1);
    run Stream(1);
    run Stream(ENTRIES - 1);
    for (i : 1 .. COLLECTORS - 1) {
      run Waits()
    }
    run Polls()
  }
  /* The verifier reports a thread that does not end; here all have ended. A last call collects. */
  (_nr_pr == 1);
  run Waits();
  (_nr_pr == 1);
  for (i : 0 .. ENTRIES - 1) {
    assert(entries[i].releases == 1 && !entries[i].listed)
  }
  assert(releasing == 0)
}
