// SPDX-License-Identifier: Apache-2.0
//! Each model holds with the library's orders, and fails with each order weakened that it needs.

use loom::sync::atomic::Ordering;
use loom::sync::Arc;
use loom::thread;
use orders::{index, owners, slots};
use std::panic;

/// Does some execution of the model fail?
fn fails<F: Fn() + Sync + Send + 'static>(model: F) -> bool {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let failed = panic::catch_unwind(panic::AssertUnwindSafe(|| loom::model(model))).is_err();
    panic::set_hook(hook);
    failed
}

// Two handles of one root; one of them is shared once more, and each thread uses what it owns.
fn release_by_three(orders: &'static owners::Orders) {
    let root = Arc::new(owners::Root::new(2));
    let other = {
        let root = root.clone();
        thread::spawn(move || {
            root.join(orders);
            root.read();
            root.release(orders, false);
            root.release(orders, false);
        })
    };
    root.read();
    root.release(orders, true);
    other.join().unwrap();
    assert_eq!(root.releases(), 1);
}

#[test]
fn the_last_owner_releases_once_after_all_others() {
    loom::model(|| release_by_three(&owners::ORDERS));
}

#[test]
fn a_count_needs_its_orders() {
    static LEAVE: owners::Orders = owners::Orders { leave: Ordering::Relaxed, ..owners::ORDERS };
    static LEAVE_ACQUIRE: owners::Orders =
        owners::Orders { leave: Ordering::Acquire, ..owners::ORDERS };
    static LEAVE_RELEASE: owners::Orders =
        owners::Orders { leave: Ordering::Release, ..owners::ORDERS };
    static SOLE: owners::Orders = owners::Orders { sole: Ordering::Relaxed, ..owners::ORDERS };
    for orders in [&LEAVE, &LEAVE_ACQUIRE, &LEAVE_RELEASE, &SOLE] {
        assert!(fails(move || release_by_three(orders)));
    }
}

// One thread registers an entry and ends it, the other one retains and releases it.
fn retain_while_ending(orders: &'static slots::Orders) {
    let slot = Arc::new(slots::Slot::new(1));
    let other = {
        let slot = slot.clone();
        thread::spawn(move || {
            if let Some(context) = slot.retain(orders, 2) {
                assert_eq!(context, 2);
                slot.release(orders);
            }
        })
    };
    slot.fill(orders, 2);
    slot.end(orders);
    other.join().unwrap();
    assert_eq!(slot.context(), 0);
}

#[test]
fn an_entry_is_whole_while_it_is_retained() {
    loom::model(|| retain_while_ending(&slots::ORDERS));
}

#[test]
fn a_slot_needs_its_orders() {
    static FILL: slots::Orders = slots::Orders { fill: Ordering::Relaxed, ..slots::ORDERS };
    static RETAIN: slots::Orders = slots::Orders { retain: Ordering::Relaxed, ..slots::ORDERS };
    static RELEASE: slots::Orders = slots::Orders { release: Ordering::Relaxed, ..slots::ORDERS };
    static END: slots::Orders = slots::Orders { end: Ordering::Relaxed, ..slots::ORDERS };
    for orders in [&FILL, &RETAIN, &RELEASE, &END] {
        assert!(fails(move || retain_while_ending(orders)));
    }
}

// An entry ends and its slot gets another one, while a reader looks.
fn find_while_changing(orders: &'static index::Orders) {
    let table = Arc::new(index::Table::default());
    table.fill(orders, 0, 1);
    table.commit(orders, 1);
    let writer = {
        let table = table.clone();
        thread::spawn(move || {
            table.commit(orders, 0);
            table.fill(orders, 0, 2);
            table.commit(orders, 1);
        })
    };
    if let Ok(Some(words)) = table.find(orders) {
        assert_eq!(words[0], words[1], "words of two entries");
    }
    writer.join().unwrap();
}

// The first entry is registered while a reader looks.
fn find_while_adding(orders: &'static index::Orders) {
    let table = Arc::new(index::Table::default());
    let writer = {
        let table = table.clone();
        thread::spawn(move || {
            table.fill(orders, 0, 1);
            table.commit(orders, 1);
        })
    };
    if let Ok(Some(words)) = table.find(orders) {
        assert_eq!(words, [1, 1], "an entry that was not filled yet");
    }
    writer.join().unwrap();
}

#[test]
fn a_reader_sees_one_state() {
    loom::model(|| find_while_changing(&index::ORDERS));
    loom::model(|| find_while_adding(&index::ORDERS));
}

#[test]
fn an_index_needs_its_orders() {
    static FENCE: index::Orders =
        index::Orders { fence_before_second_look: false, ..index::ORDERS };
    static SEPARATES: index::Orders = index::Orders { separates: false, ..index::ORDERS };
    // The order of the bucket, that of the version and the fences publish a slot: each of them suffices.
    static PUBLISHES: index::Orders = index::Orders {
        put: Ordering::Relaxed,
        flip: Ordering::Relaxed,
        separates: false,
        ..index::ORDERS
    };
    assert!(fails(|| find_while_changing(&FENCE)));
    assert!(fails(|| find_while_changing(&SEPARATES)));
    assert!(fails(|| find_while_adding(&PUBLISHES)));
}
