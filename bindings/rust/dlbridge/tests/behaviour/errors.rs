// SPDX-License-Identifier: Apache-2.0
//! The operator `?` converts errors to other types: a downcast finds the rule, and the rejected
//! tensor is released.

use crate::producer::{legacy_with, Runs};
use dlbridge::{ConvertOptions, LegacyTensor, Rule, Status, UniqueTensor};
use std::error::Error;

fn broken(runs: &Runs) -> LegacyTensor {
    // SAFETY: the shape is the producer's.
    legacy_with(runs, |raw| unsafe { *raw.dl_tensor.shape.add(1) = -7 })
}

/// One function for each call that fails, each with its own conversion by `?`.
macro_rules! ways {
    ($module:ident, $error:ty, [$($name:ident: $call:expr,)*]) => {
        mod $module {
            use super::*;
            $(pub fn $name(runs: &Runs) -> Result<(), $error> {
                $call(runs)?;
                Ok(())
            })*
            pub const ALL: &[fn(&Runs) -> Result<(), $error>] = &[$($name),*];
        }
    };
}

ways!(boxed, Box<dyn Error>, [
    upgrade: |runs| broken(runs).upgrade(),
    try_upgrade: |runs| broken(runs).try_upgrade(&ConvertOptions::DEFAULT),
    many: |runs| dlbridge::upgrade_many(vec![broken(runs)], &ConvertOptions::DEFAULT),
    try_many: |runs| dlbridge::try_upgrade_many(vec![broken(runs)], &ConvertOptions::DEFAULT),
]);

ways!(boxed_for_threads, Box<dyn Error + Send + Sync>, [
    upgrade: |runs| broken(runs).upgrade(),
    try_upgrade: |runs| broken(runs).try_upgrade(&ConvertOptions::DEFAULT),
    try_many: |runs| dlbridge::try_upgrade_many(vec![broken(runs)], &ConvertOptions::DEFAULT),
]);

ways!(anyhow_error, anyhow::Error, [
    upgrade: |runs| broken(runs).upgrade(),
    many: |runs| dlbridge::upgrade_many(vec![broken(runs)], &ConvertOptions::DEFAULT),
    try_upgrade: |runs| broken(runs)
        .try_upgrade(&ConvertOptions::DEFAULT)
        .map_err(dlbridge::Error::from),
]);

fn check(error: &dlbridge::Error) {
    assert_eq!(error.status(), Status::INVALID_TENSOR);
    assert_eq!((error.rule(), error.axis()), (Rule::EXTENT_NEGATIVE, Some(1)));
    assert_eq!(error.native_code(), 0);
    assert!(error.message().contains("-7"), "{error}");
}

#[test]
fn the_rule_is_found_in_a_boxed_error() {
    let runs = Runs::default();
    for way in boxed::ALL {
        let error = way(&runs).unwrap_err();
        check(error.downcast_ref().expect("a dlbridge::Error"));
    }
    assert_eq!(runs.get(), boxed::ALL.len());
    for way in boxed_for_threads::ALL {
        let error = way(&runs).unwrap_err();
        check(error.downcast_ref().expect("a dlbridge::Error"));
    }
    assert_eq!(runs.get(), boxed::ALL.len() + boxed_for_threads::ALL.len());
}

#[test]
fn the_rule_is_found_in_an_anyhow_error() {
    let runs = Runs::default();
    for way in anyhow_error::ALL {
        let error = way(&runs).unwrap_err().context("while the plugin's tensor was read");
        check(error.downcast_ref().expect("a dlbridge::Error"));
    }
    assert_eq!(runs.get(), anyhow_error::ALL.len());
}

#[test]
fn errors_of_rust_memory_are_converted_too() {
    fn lend(vec: Vec<u8>) -> Result<UniqueTensor, Box<dyn Error>> {
        Ok(UniqueTensor::try_from_vec(vec, &[3])?)
    }
    fn lend_in_anyhow(vec: Vec<u8>) -> anyhow::Result<UniqueTensor> {
        Ok(UniqueTensor::from_vec(vec, &[3])?)
    }
    let error = lend(vec![1]).unwrap_err();
    assert_eq!(error.downcast::<dlbridge::Error>().unwrap().rule(), Rule::BUFFER_BOUNDS);
    let error = lend_in_anyhow(vec![1]).unwrap_err();
    assert_eq!(error.downcast::<dlbridge::Error>().unwrap().rule(), Rule::BUFFER_BOUNDS);
}
