// SPDX-License-Identifier: Apache-2.0
//! The fuzz target: calls in any order on tensors of the library's own memory.
#![no_main]

#[path = "../src/program.rs"]
mod program;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| program::program(bytes));
