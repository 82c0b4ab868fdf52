// SPDX-License-Identifier: Apache-2.0
//! The parts of the library whose correctness depends on memory orders, as loom models. loom runs every
//! interleaving of the threads, and for each load every value that C11 allows it to return. Each order is
//! a field, so that a test can weaken it and show that the model fails then.
//!
//! Lines with "src" name the statement of the library that the next line models; check.py compares them
//! with the source.

pub mod index;
pub mod owners;
pub mod slots;
