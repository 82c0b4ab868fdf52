// SPDX-License-Identifier: Apache-2.0
//! What the crate promises: who owns what, who may do what on which thread, and what becomes of
//! panics.

// Elements come back as they were given.
#![allow(clippy::float_cmp)]

mod contexts;
mod elements;
mod exports;
mod owners;
mod panics;
mod processes;
mod producer;
mod threads;
