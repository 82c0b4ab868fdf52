// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]
// The mirrors have the names and the documentation of the C headers.
#![allow(non_upper_case_globals, clippy::doc_markdown, clippy::unreadable_literal)]

mod initial;
#[cfg(all(feature = "runtime", unix))]
mod load;
mod mirrors;
#[cfg(all(feature = "runtime", unix))]
mod table;

#[cfg(all(feature = "runtime", unix))]
pub use load::{Library, LoadError};
pub use mirrors::*;
#[cfg(all(feature = "runtime", unix))]
pub use table::{MissingFunction, Table};
