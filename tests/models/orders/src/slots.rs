// SPDX-License-Identifier: Apache-2.0
//! A slot of the context table: a thread that retains an entry sees it whole, and the release
//! callback runs after everything that the others did with it.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering};

pub struct Orders {
    // src/native/table_slots.cc: slot->owners.store(uint64_t{SerialOf(entry.id)} << 32 | 1, std::memory_order_release);
    pub fill: Ordering,
    // src/native/table.cc: } while (!slot->owners.compare_exchange_weak(owners, owners + 2, std::memory_order_acquire));
    pub retain: Ordering,
    // src/native/table.cc: } while (!slot->owners.compare_exchange_weak(owners, owners - 2, std::memory_order_acq_rel,
    pub release: Ordering,
    // src/native/table.cc: return CountOf(slot->owners.fetch_sub(1, std::memory_order_acq_rel)) == 1;
    pub end: Ordering,
}

pub const ORDERS: Orders = Orders {
    fill: Ordering::Release,
    retain: Ordering::Acquire,
    release: Ordering::AcqRel,
    end: Ordering::AcqRel,
};

pub const COUNT: u64 = u32::MAX as u64;

pub struct Slot {
    id: AtomicU64,
    owners: AtomicU64,
    /// What the entry's context stands for: owners read it, the release callback writes it.
    context: UnsafeCell<u64>,
}

// The owners order the accesses to `context`; loom reports it where they do not.
unsafe impl Sync for Slot {}

impl Slot {
    /// A slot that had the entry `id` before, which ended.
    pub fn new(id: u64) -> Self {
        Slot {
            id: AtomicU64::new(id),
            owners: AtomicU64::new(id << 32),
            context: UnsafeCell::new(id),
        }
    }
    pub fn fill(&self, orders: &Orders, id: u64) {
        self.context.with_mut(|context| unsafe { *context = id });
        // src/native/table_slots.cc: slot->words[i].store(words[i], std::memory_order_relaxed);
        self.id.store(id, Ordering::Relaxed);
        self.owners.store(id << 32 | 1, orders.fill);
    }
    /// The context's value, if the entry is registered.
    pub fn retain(&self, orders: &Orders, id: u64) -> Option<u64> {
        // src/native/table.cc: uint64_t owners = slot->owners.load(std::memory_order_acquire);
        let mut owners = self.owners.load(orders.retain);
        loop {
            // src/native/table.cc: if (IdOf(*slot) != id || (owners & 1) == 0) {
            if self.id.load(Ordering::Relaxed) != id || owners & 1 == 0 {
                return None;
            }
            match self.owners.compare_exchange(owners, owners + 2, orders.retain, Ordering::Relaxed)
            {
                Ok(_) => return Some(self.context.with(|context| unsafe { *context })),
                Err(found) => owners = found,
            }
        }
    }
    pub fn release(&self, orders: &Orders) {
        let mut owners = self.owners.load(Ordering::Acquire);
        while let Err(found) =
            self.owners.compare_exchange(owners, owners - 2, orders.release, Ordering::Acquire)
        {
            owners = found;
        }
        if owners & COUNT == 2 {
            self.finish();
        }
    }
    pub fn end(&self, orders: &Orders) {
        if self.owners.fetch_sub(1, orders.end) & COUNT == 1 {
            self.finish();
        }
    }
    // src/native/table.cc: entry.release(entry.release_context, &entry);
    fn finish(&self) {
        self.context.with_mut(|context| unsafe { *context = 0 });
    }
    pub fn context(&self) -> u64 {
        self.context.with(|context| unsafe { *context })
    }
}
