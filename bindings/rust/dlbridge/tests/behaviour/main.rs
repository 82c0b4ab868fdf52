// SPDX-License-Identifier: Apache-2.0
//! The behaviour of the crate: ownership, imports and errors, elements, threads, and panics.

// Tests compare elements with the same values.
#![allow(clippy::float_cmp)]

mod contexts;
mod elements;
mod errors;
mod exports;
mod hostile;
mod imports;
mod owners;
mod panics;
mod processes;
mod producer;
mod streams;
mod threads;
