// SPDX-License-Identifier: Apache-2.0
//! Makes the calls that the input chooses on tensors of the library's own memory, and compares the
//! elements of every tensor with a model of the memory that they share.

use dlbridge::{
    AllocateSpec, CollectOptions, ConvertOptions, CopySpec, Dtype, Exported, Policy, Status,
    Stream, Tensor, UniqueTensor, Version, ViewSpec,
};
use std::os::fd::AsFd;
use std::rc::Rc;

/// The most calls for one input.
const CALLS: usize = 60;

/// Reads small numbers from the input; zeros past its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn below(&mut self, count: u8) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first % count
    }

    fn between(&mut self, least: i64, most: u8) -> i64 {
        least + i64::from(self.below(most))
    }
}

/// A tensor, and the positions of its elements in the memory, last axis fastest.
struct Owned {
    tensor: Tensor,
    memory: Rc<Vec<u8>>,
    shareable: bool,
    imported: bool,
    first: i64,
    places: Vec<i64>,
}

impl Owned {
    /// A tensor of new memory.
    fn compact(tensor: UniqueTensor, memory: Vec<u8>, shareable: bool) -> Self {
        let places = (0..).take(memory.len()).collect();
        let (tensor, memory) = (tensor.into_shared(), Rc::new(memory));
        Self { tensor, memory, shareable, imported: false, first: 0, places }
    }

    /// Another owner of the same memory.
    fn beside(&self, tensor: Tensor) -> Self {
        let (memory, places) = (Rc::clone(&self.memory), self.places.clone());
        Self { tensor, memory, places, ..*self }
    }

    fn elements(&self) -> Vec<u8> {
        let at = |&place| self.memory[usize::try_from(place).expect("inside the memory")];
        self.places.iter().map(at).collect()
    }

    fn check(&self) {
        let found = self.tensor.as_strided::<u8>().expect("elements of u8");
        assert_eq!(found.iter().copied().collect::<Vec<_>>(), self.elements());
    }
}

fn allocate(input: &mut Input<'_>) -> Owned {
    let axes = input.below(4);
    let shape = (0..axes).map(|_| input.between(0, 5)).collect::<Vec<_>>();
    let count = u8::try_from(shape.iter().product::<i64>()).expect("at most 64 elements");
    let elements = (0..count).map(|i| i.wrapping_mul(37).wrapping_add(axes)).collect::<Vec<_>>();
    let spec = AllocateSpec::new(Dtype::U8, &shape);
    let shareable = input.below(2) == 1;
    let spec = if shareable { spec.shareable() } else { spec };
    let tensor = spec.allocate().and_then(|new| new.copied_from(&elements)).expect("a tensor");
    Owned::compact(tensor, elements, shareable)
}

/// A copy, of which one element is changed: the source keeps its own.
fn copy(owned: &Owned, input: &mut Input<'_>) -> Owned {
    let shareable = input.below(2) == 1;
    let spec = if shareable { CopySpec::new().shareable() } else { CopySpec::new() };
    let mut copy = if input.below(2) == 1 {
        let pending = owned.tensor.copy_async(&spec.stream(Stream::HOST)).expect("a copy");
        pending.synchronize().expect("a complete copy")
    } else {
        owned.tensor.as_view().copy(&spec).expect("a copy")
    };
    let mut elements = owned.elements();
    if let Some(last) = elements.last_mut() {
        *last = last.wrapping_add(1);
        *copy.as_mut_slice::<u8>().expect("a writable copy").last_mut().expect("an element") =
            *last;
    }
    Owned::compact(copy, elements, shareable)
}

/// A view of one axis, which may not leave the range of its parent's elements.
fn view(owned: &Owned, input: &mut Input<'_>) -> Option<Owned> {
    let (count, stride, offset) =
        (input.between(0, 6), input.between(-4, 9), input.between(-3, 12));
    let (shape, strides) = ([count], [stride]);
    let view = owned.tensor.view(&ViewSpec::new(&shape).strides(&strides).offset(offset));
    let first = owned.first + offset;
    let places = (0..count).map(|i| first + i * stride).collect::<Vec<_>>();
    let range = owned.places.iter().min().zip(owned.places.iter().max());
    let inside = places.iter().all(|at| range.is_some_and(|(low, high)| low <= at && at <= high));
    match view {
        Ok(tensor) => {
            assert!(inside, "a view outside its parent");
            Some(Owned { first, places, ..owned.beside(tensor) })
        }
        Err(error) => {
            assert!(!inside && error.status() == Status::BOUNDS, "{error}");
            None
        }
    }
}

/// Exports and imports. A descriptor with one altered bit is found.
fn export_import(owned: &Owned, input: &mut Input<'_>) -> Option<Owned> {
    let allowed = owned.places.is_empty() || owned.shareable && !owned.imported;
    let exported = match owned.tensor.ipc_export() {
        Ok(exported) => exported,
        Err(error) => {
            assert!(!allowed && error.status() == Status::UNSUPPORTED, "{error}");
            return None;
        }
    };
    assert!(allowed, "memory that cannot be shared");
    let fds = exported.fds.iter().map(AsFd::as_fd).collect::<Vec<_>>();
    let mut altered = exported.bytes.clone();
    let at = usize::from(input.below(u8::MAX)) % altered.len();
    altered[at] ^= 1 << input.below(8);
    // SAFETY: nothing writes to the memory, of which this function has the only exporter.
    let (wrong, right) = unsafe {
        (
            Tensor::ipc_import(&altered, &fds, &Policy::DEFAULT),
            Tensor::ipc_import(&exported.bytes, &fds, &Policy::DEFAULT),
        )
    };
    assert_eq!(wrong.expect_err("an altered descriptor").status(), Status::DESCRIPTOR);
    let tensor = right.expect("an own export");
    Some(Owned { imported: true, ..owned.beside(tensor) })
}

/// Downgrades a tensor and upgrades the result, which is the same tensor.
fn round_trip(owned: Owned) -> Owned {
    let (memory, places) = (Rc::clone(&owned.memory), owned.places.clone());
    let (shareable, imported, first) = (owned.shareable, owned.imported, owned.first);
    let tensor = match owned.tensor.try_export(Version::new(0, 8), &ConvertOptions::DEFAULT) {
        Ok(Exported::Legacy(legacy)) => legacy.upgrade().expect("an own tensor"),
        Ok(Exported::Versioned(_)) => panic!("a legacy target got a versioned tensor"),
        Err(rejected) => {
            // Only an import is read-only, which a legacy tensor cannot record.
            assert!(imported && rejected.error.status() == Status::UNREPRESENTABLE);
            rejected.value
        }
    };
    Owned { tensor, memory, shareable, imported, first, places }
}

/// Runs one input; panics, or is stopped by a sanitizer, on an error.
pub fn program(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut tensors: Vec<Owned> = Vec::new();
    for _ in 0..CALLS {
        if input.0.is_empty() {
            break;
        }
        let call = input.below(10);
        if call < 2 || tensors.is_empty() {
            tensors.push(allocate(&mut input));
            continue;
        }
        let at = usize::from(input.below(u8::MAX)) % tensors.len();
        match call {
            2 => tensors.push(tensors[at].beside(tensors[at].tensor.share().expect("a share"))),
            3 | 4 => tensors.extend(view(&tensors[at], &mut input)),
            5 => tensors.push(copy(&tensors[at], &mut input)),
            6 => tensors.extend(export_import(&tensors[at], &mut input)),
            7 => {
                let owned = tensors.swap_remove(at);
                tensors.push(round_trip(owned));
            }
            8 => {
                let owned = tensors.swap_remove(at);
                owned.tensor.release_after(&[Stream::HOST]).expect("a release");
                assert_eq!(dlbridge::collect(CollectOptions::default()).expect("a count"), 0);
            }
            _ => drop(tensors.swap_remove(at)),
        }
        tensors.iter().for_each(Owned::check);
    }
}
