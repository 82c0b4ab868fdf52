// SPDX-License-Identifier: Apache-2.0
//! Elements with any strides.

use crate::element::Element;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

/// The positions of elements: a start, and borrowed shape and strides.
#[derive(Clone, Copy, Debug)]
struct Place<'a, T> {
    start: NonNull<T>,
    shape: &'a [i64],
    strides: Option<&'a [i64]>,
}

impl<T> Place<'_, T> {
    /// The address of the element at `index`; `None` outside the shape.
    fn at(&self, index: &[usize]) -> Option<NonNull<T>> {
        let inside = |(&step, &extent)| i64::try_from(step).is_ok_and(|step: i64| step < extent);
        if index.len() != self.shape.len() || !index.iter().zip(self.shape).all(inside) {
            return None;
        }
        let mut offset = 0;
        let mut compact = 1;
        // From the last axis on, which also yields compact strides. No extent is 0, and validation
        // limits the total to 63 bits, so nothing overflows.
        for axis in (0..index.len()).rev() {
            let stride = self.strides.map_or(compact, |strides| strides[axis]);
            offset += isize::try_from(index[axis]).ok()? * isize::try_from(stride).ok()?;
            compact *= self.shape[axis];
        }
        // SAFETY: inside the extent, which validation limits to 63 bits of bytes.
        Some(unsafe { self.start.offset(offset) })
    }

    /// Number of elements. The extents of an empty tensor may have any product.
    fn count(&self) -> usize {
        if self.shape.contains(&0) {
            return 0;
        }
        self.shape.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).product()
    }

    /// The index of element number `n`, last axis fastest.
    fn index_of(&self, mut n: usize, index: &mut [usize]) {
        for (slot, &extent) in index.iter_mut().zip(self.shape).rev() {
            let extent = usize::try_from(extent).unwrap_or(1);
            *slot = n % extent;
            n /= extent;
        }
    }
}

/// Elements of a tensor with any strides, for reading.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a, T> {
    place: Place<'a, T>,
    elements: PhantomData<&'a [T]>,
}

// SAFETY: as a slice of plain values.
unsafe impl<T: Sync> Send for Strided<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Strided<'_, T> {}

impl<'a, T: Element> Strided<'a, T> {
    /// # Safety
    ///
    /// All elements that shape and strides reach from `start` are readable as `T` for as long as
    /// `'a`, and nothing writes to them. Strides are as many as extents.
    pub(crate) unsafe fn new(
        start: NonNull<T>,
        shape: &'a [i64],
        strides: Option<&'a [i64]>,
    ) -> Self {
        Self { place: Place { start, shape, strides }, elements: PhantomData }
    }

    /// The extents.
    #[must_use]
    pub fn shape(&self) -> &'a [i64] {
        self.place.shape
    }

    /// The address of element (0,...,0).
    #[cfg(feature = "ndarray")]
    pub(crate) const fn start(&self) -> NonNull<T> {
        self.place.start
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.place.count()
    }

    /// Are there no elements?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`; `None` outside the shape, or for another number of axes.
    #[must_use]
    pub fn get(&self, index: &[usize]) -> Option<&'a T> {
        // SAFETY: inside the shape.
        self.place.at(index).map(|element| unsafe { element.as_ref() })
    }

    /// All elements, last axis fastest.
    pub fn iter(&self) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let view = *self;
        let mut index = vec![0; view.place.shape.len()];
        (0..view.len()).filter_map(move |n| {
            view.place.index_of(n, &mut index);
            view.get(&index)
        })
    }
}

impl<T: Element> Index<&[usize]> for Strided<'_, T> {
    type Output = T;
    /// # Panics
    ///
    /// If the index is outside the shape.
    fn index(&self, index: &[usize]) -> &T {
        self.get(index).expect("the index is outside the shape")
    }
}

/// Elements of a tensor with any strides, for reading and writing. No two share memory.
#[derive(Debug)]
pub struct StridedMut<'a, T> {
    place: Place<'a, T>,
    elements: PhantomData<&'a mut [T]>,
}

// SAFETY: as an exclusive slice of plain values.
unsafe impl<T: Send> Send for StridedMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for StridedMut<'_, T> {}

impl<'a, T: Element> StridedMut<'a, T> {
    /// # Safety
    ///
    /// As for [`Strided::new`], and no other code reads or writes them; no two share memory.
    pub(crate) unsafe fn new(
        start: NonNull<T>,
        shape: &'a [i64],
        strides: Option<&'a [i64]>,
    ) -> Self {
        Self { place: Place { start, shape, strides }, elements: PhantomData }
    }

    /// The extents.
    #[must_use]
    pub fn shape(&self) -> &'a [i64] {
        self.place.shape
    }

    /// A read-only view of the elements.
    #[must_use]
    pub fn as_strided(&self) -> Strided<'_, T> {
        Strided { place: self.place, elements: PhantomData }
    }

    /// The element at `index`; `None` outside the shape, or for another number of axes.
    #[must_use]
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T> {
        // SAFETY: inside the shape, and this borrow is the only one.
        self.place.at(index).map(|mut element| unsafe { element.as_mut() })
    }

    /// Writes `value(index)` to each element, last axis fastest.
    pub fn fill_with(&mut self, mut value: impl FnMut(&[usize]) -> T) {
        let mut index = vec![0; self.place.shape.len()];
        for n in 0..self.place.count() {
            self.place.index_of(n, &mut index);
            if let Some(element) = self.get_mut(&index) {
                *element = value(&index);
            }
        }
    }
}

impl<T: Element> Index<&[usize]> for StridedMut<'_, T> {
    type Output = T;
    /// # Panics
    ///
    /// If the index is outside the shape.
    fn index(&self, index: &[usize]) -> &T {
        let element = self.place.at(index).expect("the index is outside the shape");
        // SAFETY: inside the shape, and borrowed as long as this view.
        unsafe { element.as_ref() }
    }
}

impl<T: Element> IndexMut<&[usize]> for StridedMut<'_, T> {
    /// # Panics
    ///
    /// If the index is outside the shape.
    fn index_mut(&mut self, index: &[usize]) -> &mut T {
        self.get_mut(index).expect("the index is outside the shape")
    }
}
