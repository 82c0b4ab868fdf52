// SPDX-License-Identifier: Apache-2.0
//! Versions, kinds, answers and flags.

use dlbridge_sys as sys;
use std::ffi::{c_char, CStr};
use std::fmt;
use std::ops::BitOr;

/// Static text of the library.
///
/// # Safety
///
/// `text` is NUL-terminated and static.
pub(crate) unsafe fn text_of(text: *const c_char) -> &'static str {
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default()
}

/// Text that is NUL-terminated or fills its array.
pub(crate) fn array_text(text: &[c_char]) -> String {
    let bytes =
        text.iter().take_while(|&&c| c != 0).map(|&c| c.to_ne_bytes()[0]).collect::<Vec<_>>();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A DLPack version. As a consumer's version, [`Version::DEFAULT`] (`0.0`) means DLPack 1.3 in
/// every library of this ABI; a newer version must be given explicitly.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// Each major version has its own struct layout.
    pub major: u32,
    /// A minor version only adds values.
    pub minor: u32,
}

impl Version {
    /// Not set.
    pub const DEFAULT: Self = Self::new(0, 0);

    /// `major.minor`
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    pub(crate) const fn raw(self) -> sys::DLPackVersion {
        sys::DLPackVersion { major: self.major, minor: self.minor }
    }

    pub(crate) const fn of(raw: sys::DLPackVersion) -> Self {
        Self::new(raw.major, raw.minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Version of the library that is linked, as major * 10000 + minor * 100 + patch.
#[must_use]
pub fn version() -> u32 {
    // SAFETY: no preconditions.
    unsafe { sys::dlbridge_version() }
}

/// As [`version`], but as text, such as "0.3.0".
#[must_use]
pub fn version_string() -> &'static str {
    // SAFETY: returns static text.
    unsafe { text_of(sys::dlbridge_version_string()) }
}

/// Newest DLPack release that the library knows.
#[must_use]
pub fn dlpack_version() -> Version {
    // SAFETY: no preconditions.
    Version::of(unsafe { sys::dlbridge_dlpack_version() })
}

/// The library's table of functions, for code that needs a pointer to each; `None` if the linked
/// library has another ABI than this crate.
#[must_use]
pub fn function_table() -> Option<&'static sys::DLBridgeApi> {
    // SAFETY: takes any integers.
    let api = unsafe { sys::dlbridge_get_api(sys::DLBRIDGE_ABI, size_of::<sys::DLBridgeApi>()) };
    // SAFETY: the table is static.
    unsafe { api.as_ref() }.filter(|api| api.struct_size as usize >= size_of::<sys::DLBridgeApi>())
}

/// Which managed struct a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// As an argument: decide by the bytes. As an answer: the bytes can be neither kind.
    Unknown,
    /// `DLManagedTensor`, of DLPack before 1.0.
    Legacy,
    /// `DLManagedTensorVersioned`, since 1.0.
    Versioned,
    /// Only as an answer: the bytes can be both kinds.
    Ambiguous,
}

impl Kind {
    pub(crate) const fn raw(self) -> sys::DLBridgeKind {
        match self {
            Self::Unknown => sys::DLBRIDGE_KIND_UNKNOWN,
            Self::Legacy => sys::DLBRIDGE_KIND_LEGACY,
            Self::Versioned => sys::DLBRIDGE_KIND_VERSIONED,
            Self::Ambiguous => sys::DLBRIDGE_KIND_AMBIGUOUS,
        }
    }

    pub(crate) const fn of(raw: sys::DLBridgeKind) -> Self {
        match raw {
            sys::DLBRIDGE_KIND_LEGACY => Self::Legacy,
            sys::DLBRIDGE_KIND_VERSIONED => Self::Versioned,
            sys::DLBRIDGE_KIND_AMBIGUOUS => Self::Ambiguous,
            _ => Self::Unknown,
        }
    }
}

/// Answer to a question that cannot always be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// No.
    No,
    /// Yes.
    Yes,
    /// It cannot be known, or deciding would take too long.
    Undecided,
}

impl Answer {
    pub(crate) fn of(raw: sys::DLBridgeAnswer) -> Self {
        match raw {
            sys::DLBRIDGE_NO => Self::No,
            sys::DLBRIDGE_YES => Self::Yes,
            _ => Self::Undecided,
        }
    }
}

/// DLPack's flags of a versioned tensor. Bits that no release knows may be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u64);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// The tensor must not be written to.
    pub const READ_ONLY: Self = Self(sys::DLPACK_FLAG_BITMASK_READ_ONLY);
    /// The producer copied the data for this tensor.
    pub const IS_COPIED: Self = Self(sys::DLPACK_FLAG_BITMASK_IS_COPIED);
    /// Elements of less than a byte fill a whole one.
    pub const PADDED: Self = Self(sys::DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

    /// Are all bits of `other` set?
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
