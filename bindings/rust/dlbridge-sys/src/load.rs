// SPDX-License-Identifier: Apache-2.0
//! Loading the library at run time: one `dlopen`, one `dlsym`.

use crate::mirrors::{DLBridgeApi, DLBRIDGE_ABI};
use crate::table::Table;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

#[cfg_attr(target_os = "linux", link(name = "dl"))]
unsafe extern "C" {
    fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// `dlbridge_get_api`
type GetApi = unsafe extern "C" fn(u32, usize) -> *const DLBridgeApi;

/// Resolves all symbols, so that a library with missing dependencies fails here, not in a later
/// call.
const RTLD_NOW: c_int = 2;

/// Why a library could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The path has a NUL inside.
    Path,
    /// The system's loader failed, with its reason.
    Loader(String),
    /// The file is not dlbridge: it lacks `dlbridge_get_api`.
    NoTable,
    /// A dlbridge library with another ABI than [`DLBRIDGE_ABI`].
    OtherAbi,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => f.write_str("the path has a NUL inside"),
            Self::Loader(reason) => f.write_str(reason),
            Self::NoTable => f.write_str("the file is not dlbridge: it lacks dlbridge_get_api"),
            Self::OtherAbi => write!(f, "the library's ABI is not {DLBRIDGE_ABI}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// A loaded library. It stays loaded until the process ends, since tensors may outlive any handle;
/// this value is only its table.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    table: Table,
}

impl Library {
    /// Loads the library by its name for this ABI (its SONAME), by the search path of the system's
    /// loader.
    ///
    /// # Safety
    ///
    /// As for [`Library::open`].
    ///
    /// # Errors
    ///
    /// See [`LoadError`].
    pub unsafe fn open_default() -> Result<Self, LoadError> {
        let name = if cfg!(target_os = "macos") {
            format!("libdlbridge.{DLBRIDGE_ABI}.dylib")
        } else {
            format!("libdlbridge.so.{DLBRIDGE_ABI}")
        };
        // SAFETY: guaranteed by the caller.
        unsafe { Self::open(name) }
    }

    /// Loads the library at `path`.
    ///
    /// # Safety
    ///
    /// Loading a file runs its code. If the file has `dlbridge_get_api`, it is a dlbridge library.
    ///
    /// # Errors
    ///
    /// See [`LoadError`].
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let path = CString::new(path.as_ref().as_os_str().as_bytes());
        let path = path.map_err(|_| LoadError::Path)?;
        // SAFETY: the path is NUL-terminated, and the caller guarantees the file.
        let library = unsafe { dlopen(path.as_ptr(), RTLD_NOW) };
        let library = NonNull::new(library).ok_or_else(loader_error)?;
        // SAFETY: the library was loaded and is never closed; the name is NUL-terminated.
        let entry = unsafe { dlsym(library.as_ptr(), c"dlbridge_get_api".as_ptr()) };
        let entry = NonNull::new(entry).ok_or(LoadError::NoTable)?;
        // SAFETY: a function of this name has this type, in every ABI.
        let get_api = unsafe { std::mem::transmute::<*mut c_void, GetApi>(entry.as_ptr()) };
        // SAFETY: it takes any integers.
        let api = unsafe { get_api(DLBRIDGE_ABI, size_of::<DLBridgeApi>()) };
        let api = NonNull::new(api.cast_mut()).ok_or(LoadError::OtherAbi)?;
        // SAFETY: the table is of a library that is never closed.
        let table = unsafe { Table::new(api) }.ok_or(LoadError::OtherAbi)?;
        Ok(Self { table })
    }

    /// The library's functions.
    #[must_use]
    pub fn table(self) -> Table {
        self.table
    }
}

/// The last error of the loader on this thread.
fn loader_error() -> LoadError {
    // SAFETY: it returns NULL or a text that lives until this thread's next call of the loader.
    let text = unsafe { dlerror() };
    if text.is_null() {
        return LoadError::Loader("the loader gave no reason".to_owned());
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text) };
    LoadError::Loader(text.to_string_lossy().into_owned())
}
