// SPDX-License-Identifier: Apache-2.0
//! Shares one tensor with all plugins, each in its own thread.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;

use dlbridge::sys::DLManagedTensorVersioned;
use dlbridge::Tensor;

/// `Plugin` of plugin.h
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Plugin {
    take: unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut usize, *mut f64) -> i32,
    share: unsafe extern "C" fn(usize, *mut *mut DLManagedTensorVersioned) -> i32,
    drop: unsafe extern "C" fn(usize),
}

/// The number of runs of the producer's deleter.
pub struct Deletes<'a>(&'a AtomicI32);

impl Deletes<'_> {
    /// # Safety
    ///
    /// `count` is live, and only the deleter writes to it.
    pub unsafe fn new(count: *const i32) -> Self {
        // SAFETY: an AtomicI32 is an i32 in memory.
        Self(unsafe { &*count.cast() })
    }

    fn are(&self, expected: i32, when: &str) -> Result<(), String> {
        match self.0.load(Ordering::SeqCst) {
            found if found == expected => Ok(()),
            found => Err(format!("the deleter ran {found} times {when}, not {expected}")),
        }
    }
}

/// An owner in a plugin, and the sum that it read.
struct Held {
    plugin: Plugin,
    holder: usize,
    sum: f64,
}

impl Held {
    fn take(plugin: Plugin, tensor: Tensor) -> Result<Self, String> {
        let mut held = Self { plugin, holder: 0, sum: 0.0 };
        // SAFETY: a live tensor, which the plugin consumes, and places to write to.
        let status = unsafe {
            (plugin.take)(tensor.into_raw().as_ptr(), &raw mut held.holder, &raw mut held.sum)
        };
        if status == 0 {
            Ok(held)
        } else {
            Err(format!("a plugin did not take the tensor: {status}"))
        }
    }

    /// What the plugin shares, taken by `next`.
    fn pass_on(&self, next: Plugin) -> Result<Self, String> {
        let mut shared = std::ptr::null_mut();
        // SAFETY: the holder is live, and so is the place to write to.
        let status = unsafe { (self.plugin.share)(self.holder, &raw mut shared) };
        if status != 0 {
            return Err(format!("a plugin did not share: {status}"));
        }
        let mut held = Self { plugin: next, holder: 0, sum: 0.0 };
        // SAFETY: as in `take`.
        let status = unsafe { (next.take)(shared, &raw mut held.holder, &raw mut held.sum) };
        if status == 0 {
            Ok(held)
        } else {
            Err(format!("a plugin did not take what another shared: {status}"))
        }
    }

    fn let_go(self) {
        // SAFETY: the holder is live, and gone after this.
        unsafe { (self.plugin.drop)(self.holder) }
    }
}

/// Lets one owner after another go, in the order that is asked for.
struct Turns<'a> {
    order: &'a [u32],
    next: Mutex<usize>,
    moved: Condvar,
}

impl<'a> Turns<'a> {
    fn new(order: &'a [u32]) -> Self {
        Self { order, next: Mutex::new(0), moved: Condvar::new() }
    }

    /// Runs `end` when it is `owner`'s turn, and checks the deleter's count before and after.
    fn take(&self, owner: usize, deletes: &Deletes<'_>, end: impl FnOnce()) -> Result<(), String> {
        let mut next = self.next.lock().unwrap();
        while self.order[*next] as usize != owner {
            next = self.moved.wait(next).unwrap();
        }
        let before = deletes.are(0, "while the tensor had an owner");
        end();
        let last = *next + 1 == self.order.len();
        let after = if last {
            deletes.are(1, "after the last release")
        } else {
            deletes.are(0, "before the last release")
        };
        *next += 1;
        self.moved.notify_all();
        before.and(after)
    }
}

/// Each plugin takes a share in its own thread; all are released in `order`, where the number after
/// those of the plugins is that of `tensor`. Returns the sum that all of them read.
pub fn in_order(
    tensor: Tensor,
    plugins: &[Plugin],
    order: &[u32],
    deletes: &Deletes<'_>,
) -> Result<f64, String> {
    // All shares are taken before the first is released.
    let held = thread::scope(|scope| {
        let threads: Vec<_> = plugins
            .iter()
            .map(|plugin| scope.spawn(|| Held::take(*plugin, share(&tensor)?)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Result<Vec<_>, _>>()
    })?;
    let sums: Vec<f64> = held.iter().map(|held| held.sum).collect();
    if sums.iter().any(|sum| sum.to_bits() != sums[0].to_bits()) {
        return Err(format!("the plugins read different sums: {sums:?}"));
    }
    let turns = Turns::new(order);
    thread::scope(|scope| {
        let own = scope.spawn(|| turns.take(plugins.len(), deletes, move || drop(tensor)));
        let mut threads = vec![own];
        for (owner, held) in held.into_iter().enumerate() {
            let turns = &turns;
            threads.push(scope.spawn(move || turns.take(owner, deletes, || held.let_go())));
        }
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    Ok(sums[0])
}

fn share(tensor: &Tensor) -> Result<Tensor, String> {
    tensor.share().map_err(|error| error.to_string())
}

/// `threads` threads share, pass on and release tensors at the same time, `rounds` times each.
pub fn storm(
    tensor: &Tensor,
    plugins: &[Plugin],
    threads: usize,
    rounds: usize,
    sum: f64,
) -> Result<(), String> {
    let round = |number: usize| -> Result<(), String> {
        let first = plugins[number % plugins.len()];
        let second = plugins[(number / plugins.len()) % plugins.len()];
        let held = Held::take(first, share(tensor)?)?;
        let passed = held.pass_on(second)?;
        let wrong = [held.sum, passed.sum].iter().any(|read| read.to_bits() != sum.to_bits());
        let (one, other) = if number.is_multiple_of(2) { (held, passed) } else { (passed, held) };
        one.let_go();
        other.let_go();
        if wrong {
            return Err(format!("a plugin did not read the sum {sum}"));
        }
        Ok(())
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|start| scope.spawn(move || (start..start + rounds).try_for_each(&round)))
            .collect();
        running.into_iter().try_for_each(|thread| thread.join().unwrap())
    })
}
