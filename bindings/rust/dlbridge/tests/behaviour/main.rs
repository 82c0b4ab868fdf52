// SPDX-License-Identifier: Apache-2.0
//! What the crate promises: ownership, imports and errors, elements, threads, and panics.

// Elements come back as they were given.
#![allow(clippy::float_cmp)]

mod contexts;
mod elements;
mod errors;
mod exports;
mod imports;
mod owners;
mod panics;
mod processes;
mod producer;
mod threads;
