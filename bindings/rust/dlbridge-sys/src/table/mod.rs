// SPDX-License-Identifier: Apache-2.0
//! The table of functions of a library that was loaded, which may be older or newer than the crate.

use crate::mirrors::{DLBridgeApi, DLBRIDGE_ABI};
use std::fmt;
use std::ptr::NonNull;

/// A function of the table, if the table has it: `DLBRIDGE_API_HAS`.
macro_rules! member {
    ($table:expr, $name:ident) => {{
        let end = std::mem::offset_of!(DLBridgeApi, $name) + size_of::<usize>();
        if $table.size() < end {
            Err(MissingFunction(stringify!($name)))
        } else {
            // SAFETY: the table is that long, and static.
            unsafe { (*$table.api.as_ptr()).$name }.ok_or(MissingFunction(stringify!($name)))
        }
    }};
}

mod members;

/// A function that the library is too old to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingFunction(pub &'static str);

impl fmt::Display for MissingFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the loaded library is too old to have dlbridge_{}", self.0)
    }
}

impl std::error::Error for MissingFunction {}

/// A library's table of functions. Each method returns one of them, or that the library lacks it.
///
/// It is a pointer to static data, so it may be copied and used from any thread.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    api: NonNull<DLBridgeApi>,
}

// SAFETY: what it points to is never written to.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// The table at `api`; `None` if its ABI is another.
    ///
    /// # Safety
    ///
    /// `api` is what `dlbridge_get_api` of a library that stays loaded returned.
    #[must_use]
    pub unsafe fn new(api: NonNull<DLBridgeApi>) -> Option<Self> {
        let table = Self { api };
        // SAFETY: each table has its first two fields.
        let abi = unsafe { (*api.as_ptr()).abi };
        (abi == DLBRIDGE_ABI && table.size() >= std::mem::offset_of!(DLBridgeApi, version))
            .then_some(table)
    }

    /// Bytes of the library's table.
    #[must_use]
    pub fn size(self) -> usize {
        // SAFETY: each table has its first field.
        unsafe { (*self.api.as_ptr()).struct_size as usize }
    }

    /// The table itself. Nothing after its first [`Table::size`] bytes may be read.
    #[must_use]
    pub fn as_ptr(self) -> *const DLBridgeApi {
        self.api.as_ptr()
    }
}
