// SPDX-License-Identifier: Apache-2.0
//! The reference count of a root: the last owner reads everything that the others wrote.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, Ordering};

pub struct Orders {
    // src/tensor/node.h: sibling->root->owners.fetch_add(1, std::memory_order_relaxed);
    pub join: Ordering,
    // src/tensor/node.cc: bool LeaveOwners(Node* root) { return root->owners.fetch_sub(1, std::memory_order_acq_rel) == 1; }
    pub leave: Ordering,
    // src/tensor/node.cc: if (DLBRIDGE_LIKELY(node->root == node && node->owners.load(std::memory_order_acquire) == 1)) {
    pub sole: Ordering,
}

pub const ORDERS: Orders =
    Orders { join: Ordering::Relaxed, leave: Ordering::AcqRel, sole: Ordering::Acquire };

/// A root and the data that it owns; `data` counts its releases.
pub struct Root {
    owners: AtomicU32,
    data: UnsafeCell<u32>,
}

// The count orders the accesses to `data`; loom reports it where it does not.
unsafe impl Sync for Root {}

impl Root {
    pub fn new(owners: u32) -> Self {
        Root { owners: AtomicU32::new(owners), data: UnsafeCell::new(0) }
    }
    pub fn join(&self, orders: &Orders) {
        self.owners.fetch_add(1, orders.join);
    }
    /// An owner uses the data.
    pub fn read(&self) -> u32 {
        self.data.with(|data| unsafe { *data })
    }
    pub fn release(&self, orders: &Orders, is_root: bool) {
        if is_root && self.owners.load(orders.sole) == 1 {
            return self.destroy();
        }
        if self.owners.fetch_sub(1, orders.leave) == 1 {
            self.destroy();
        }
    }
    // src/tensor/node.cc: DLBRIDGE_NOINLINE void DestroyRoot(Node* root) {
    fn destroy(&self) {
        self.data.with_mut(|data| unsafe { *data += 1 });
    }
    pub fn releases(&self) -> u32 {
        self.read()
    }
}
