/* SPDX-License-Identifier: Apache-2.0
 * The owners of a root: share, release, Replace and TakeSource, by concurrent threads.
 *
 * Each thread owns handles of one root and applies operations to them in any order. A statement of the
 * model is at most one access to memory that another thread may access. Lines that start with "src" name
 * the statement of the library that the next lines model; check.py compares them with the source.
 *
 * -DBUG_...: puts a fault in, which the verifier must find.
 */
#ifndef THREADS
#define THREADS 3
#endif
#ifndef NEW
#define NEW 1              /* nodes that a thread may make */
#endif
#define NODES (THREADS + THREADS * NEW)
#define NONE 255

/* A node. Node 0 is the first root; nodes 1 to THREADS - 1 are further handles of it. */
typedef Node {
  byte root;
  byte owners;      /* of a root */
  bool wraps;       /* wraps_source: the root's source may be returned instead of this handle */
  bool freed;
};
Node nodes[NODES];
byte live = THREADS; /* nodes that are not freed */
byte deleted = 0;   /* how often the deleter of the source ran */
byte returned = 0;  /* how often the source was handed back */

#define LIVE(n) assert(!nodes[n].freed)

inline Free(n) {
  atomic { LIVE(n); nodes[n].freed = true; live-- }
}

/* src/tensor/node.h: DLBRIDGE_INLINE Node* AllocateNode(int32_t ndim, size_t tail) { */
inline Make() {
  live++
}

/* src/tensor/node.cc: DLBRIDGE_NOINLINE void DestroyRoot(Node* root) { */
inline DestroyRoot(r) {
  atomic {
    LIVE(r);
    Free(r);
    deleted++;
    assert(deleted + returned == 1)
  }
}

/* src/tensor/node.cc: bool LeaveOwners(Node* root) { return root->owners.fetch_sub(1, std::memory_order_acq_rel) == 1; } */
inline LeaveOwners(r) {
#ifdef BUG_SEPARATE_STEPS
  LIVE(r);
  seen = nodes[r].owners;
  atomic { LIVE(r); nodes[r].owners = seen - 1 }
#else
  atomic {
    LIVE(r);
    seen = nodes[r].owners;
    nodes[r].owners = seen - 1
  }
#endif
}

/* src/tensor/node.cc: DLBRIDGE_INLINE void Release(Node* node) { */
inline Release(n) {
  atomic { LIVE(n); r = nodes[n].root }
  /* src/tensor/node.cc: if (DLBRIDGE_LIKELY(node->root == node && node->owners.load(std::memory_order_acquire) == 1)) { */
  atomic { LIVE(r); seen = nodes[r].owners }
  if
  :: r == n && seen == 1 -> DestroyRoot(r)
  :: else ->
    /* src/tensor/node.cc: return node->root == node ? LeaveRoot(node) : LeaveApart(node); */
    LeaveOwners(r);
#ifdef BUG_FREES_ROOT
    Free(n);
#else
    if
    :: r != n -> Free(n)
    :: else
    fi;
#endif
    if
    :: seen == 1 -> DestroyRoot(r)
    :: else
    fi
  fi;
  n = NONE
}

/* src/tensor/node.h: DLBRIDGE_INLINE void JoinRoot(Node* node, const Node* sibling) { */
inline Share(n, fresh) {
  atomic { LIVE(n); r = nodes[n].root; nodes[fresh].root = r; nodes[fresh].wraps = nodes[n].wraps }
  /* src/tensor/node.h: sibling->root->owners.fetch_add(1, std::memory_order_relaxed); */
  atomic { LIVE(r); nodes[r].owners++ }
}

/* src/tensor/node.cc: void Replace(Node* node, Node* old) { */
inline Replace(fresh, n) {
  atomic { LIVE(n); r = nodes[n].root }
  /* src/tensor/node.cc: const bool moves = root == old && HoldsTensor(*root) && root->owners.load(std::memory_order_acquire) == 1; */
  atomic { LIVE(r); seen = nodes[r].owners }
#ifdef BUG_MOVES_SHARED_ROOT
  seen = 1;
#endif
  if
  :: r == n && seen == 1 ->
    /* src/tensor/node.cc: BecomeRoot(node, root->source_kind, root->source); */
    atomic { LIVE(r); nodes[fresh].root = fresh; nodes[fresh].owners = 1 };
    Free(n)
  :: else ->
    nodes[fresh].root = r;
    if
    :: n != r -> Free(n)
    :: else
    fi
  fi;
  n = fresh
}

/* src/tensor/node.cc: void* TakeSource(Node* node) { */
inline TakeSource(n) {
  atomic { LIVE(n); r = nodes[n].root };
  /* src/tensor/node.cc: !root.in_storage && root.owners.load(std::memory_order_acquire) == 1; */
  atomic { LIVE(r); seen = nodes[r].owners }
#ifdef BUG_TAKES_SHARED_SOURCE
  seen = 1;
#endif
  if
  :: nodes[n].wraps && seen == 1 ->
    atomic {
      if
      :: r != n -> Free(r)
      :: else
      fi;
      Free(n);
      returned++;
      assert(deleted + returned == 1)
    };
    n = NONE
  :: else
  fi
}

proctype Thread(byte first) {
  byte a = first;   /* two handles at most */
  byte b = NONE;
  byte made = 0;
  byte r;
  byte seen;
#define FRESH (THREADS + first * NEW + made)
  do
  :: a != NONE && b == NONE && made < NEW -> Make(); Share(a, FRESH); b = FRESH; made++
  :: a != NONE && made < NEW -> Make(); Replace(FRESH, a); made++
  :: a != NONE -> TakeSource(a)
  :: a != NONE -> Release(a)
  :: b != NONE -> Release(b)
  :: a == NONE && b == NONE -> break
  od
}

init {
  byte i;
  atomic {
    nodes[0].owners = THREADS;
    for (i : 0 .. THREADS - 1) {
      nodes[i].wraps = true;
      run Thread(i)
    }
  }
  /* The verifier reports a thread that does not end, and this is checked when all have ended. */
  (_nr_pr == 1);
  assert(deleted + returned == 1);
  assert(live == 0)
}
