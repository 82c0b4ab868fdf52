// SPDX-License-Identifier: Apache-2.0
//! Reading the context table while it changes: two views and a version. The table has one device; an
//! entry is two words of a slot, which is reused for the next entry.

use loom::sync::atomic::{fence, AtomicU64, Ordering};

pub struct Orders {
    // src/native/table_index.h: version_ = g_index.version.load(std::memory_order_acquire);
    pub begin: Ordering,
    // src/native/table_index.h: const uintptr_t bucket = view.buckets()[(hash + i) & view.mask].load(std::memory_order_acquire);
    pub bucket: Ordering,
    // src/native/table_index.h: std::atomic_thread_fence(std::memory_order_acquire);
    pub fence_before_second_look: bool,
    // src/native/table_index.cc: view->buckets()[place & view->mask].store(bucket, std::memory_order_release);
    pub put: Ordering,
    // src/native/table_index.cc: g_index.version.store(version + 1, std::memory_order_release);
    pub flip: Ordering,
    // src/native/table_slots.h: inline void SeparateFromReaders() { std::atomic_thread_fence(std::memory_order_release); }
    pub separates: bool,
}

pub const ORDERS: Orders = Orders {
    begin: Ordering::Acquire,
    bucket: Ordering::Acquire,
    fence_before_second_look: true,
    put: Ordering::Release,
    flip: Ordering::Release,
    separates: true,
};

#[derive(Default)]
pub struct Slot {
    words: [AtomicU64; 2],
}

/// `views` have the number of a slot plus 1; 0: the device has no entry.
#[derive(Default)]
pub struct Table {
    version: AtomicU64,
    views: [AtomicU64; 2],
    slots: [Slot; 2],
}

impl Table {
    fn separate(orders: &Orders) {
        if orders.separates {
            fence(Ordering::Release);
        }
    }
    // src/native/table_slots.cc: void Fill(const DLBridgeContextEntry& entry, Slot* slot) {
    pub fn fill(&self, orders: &Orders, slot: usize, id: u64) {
        Self::separate(orders);
        for word in &self.slots[slot].words {
            word.store(id, Ordering::Relaxed);
        }
    }
    // src/native/table_index.cc: void Commit(const Change& change) {
    pub fn commit(&self, orders: &Orders, bucket: u64) {
        let version = self.version.load(Ordering::Relaxed);
        Self::separate(orders);
        self.views[(version as usize + 1) & 1].store(bucket, orders.put);
        // src/native/table_index.cc: void Flip() {
        self.version.store(version + 1, orders.flip);
        Self::separate(orders);
        self.views[version as usize & 1].store(bucket, orders.put);
    }
    /// The two words of the entry as one state of the table has them; None: no entry. Gives up with
    /// Err after a change: the library reads again.
    // src/native/table.cc: DLBridgeStatus Find(DLDevice device, uint64_t context, DLBridgeContextEntry* out) {
    pub fn find(&self, orders: &Orders) -> Result<Option<[u64; 2]>, ()> {
        let version = self.version.load(orders.begin);
        let bucket = self.views[version as usize & 1].load(orders.bucket);
        let found = (bucket != 0).then(|| {
            let words = &self.slots[bucket as usize - 1].words;
            // src/native/table_slots.h: words[0] = from[0].load(std::memory_order_relaxed);
            [words[0].load(Ordering::Relaxed), words[1].load(Ordering::Relaxed)]
        });
        if orders.fence_before_second_look {
            fence(Ordering::Acquire);
        }
        // src/native/table_index.h: return DLBRIDGE_LIKELY(g_index.version.load(std::memory_order_relaxed) == version_);
        if self.version.load(Ordering::Relaxed) == version {
            Ok(found)
        } else {
            Err(())
        }
    }
}
