// SPDX-License-Identifier: Apache-2.0
//! The fuzz target: everything that is done to a foreign tensor, of any bytes.
#![no_main]

#[path = "../src/import.rs"]
mod import;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| import::import(bytes));
