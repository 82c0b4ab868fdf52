// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]
// The mirrors bear the names that C gives them, and the words of the C headers.
#![allow(non_upper_case_globals, clippy::doc_markdown, clippy::unreadable_literal)]

mod initial;
#[cfg(feature = "runtime")]
mod load;
mod mirrors;
#[cfg(feature = "runtime")]
mod table;

#[cfg(feature = "runtime")]
pub use load::{Library, LoadError};
pub use mirrors::*;
#[cfg(feature = "runtime")]
pub use table::{MissingFunction, Table};
