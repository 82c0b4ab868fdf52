// SPDX-License-Identifier: Apache-2.0
//! Each deleter runs once, however its owner ends.

use crate::producer::{legacy, legacy_with, versioned, Runs};
use dlbridge::{
    ConvertOptions, Error, Exported, Flags, LegacyTensor, Policy, Rule, Status, Storage, Tensor,
    Version, ViewSpec,
};
use std::panic::{catch_unwind, AssertUnwindSafe};

#[test]
fn a_dropped_owner_runs_the_deleter_once() {
    let runs = Runs::default();
    drop(legacy(&runs));
    drop(versioned(&runs, |_| {}));
    drop(legacy(&runs).upgrade().unwrap());
    assert_eq!(runs.get(), 3);
}

#[test]
fn the_last_of_several_owners_runs_it() {
    let runs = Runs::default();
    let tensor = legacy(&runs).upgrade().unwrap();
    let shared = tensor.share().unwrap();
    let view = shared.view(&ViewSpec::new(&[3]).offset(3)).unwrap();
    drop(tensor);
    drop(shared);
    assert_eq!(runs.get(), 0);
    assert_eq!(view.as_slice::<f32>().unwrap(), [3.0, 4.0, 5.0]);
    drop(view);
    assert_eq!(runs.get(), 1);
}

#[test]
fn a_rejected_owner_is_returned() {
    let runs = Runs::default();
    let policy = Policy::new().max_ndim(1);
    let rejected = legacy(&runs).try_upgrade(&ConvertOptions::new().policy(&policy)).unwrap_err();
    assert_eq!(rejected.error.status(), Status::POLICY);
    assert_eq!(rejected.error.rule(), Rule::NDIM_LIMIT);
    assert_eq!(runs.get(), 0);
    // A tensor that one consumer rejects may satisfy the next.
    drop(rejected.value.upgrade().unwrap());
    assert_eq!(runs.get(), 1);
}

#[test]
fn a_question_mark_releases_the_rejected_tensor() {
    fn import(tensor: LegacyTensor) -> Result<Tensor, Error> {
        Ok(tensor.try_upgrade(&ConvertOptions::DEFAULT)?)
    }
    let runs = Runs::default();
    let broken = legacy_with(&runs, |raw| raw.dl_tensor.ndim = -1);
    let error = import(broken).unwrap_err();
    assert_eq!((error.rule(), error.axis()), (Rule::NDIM_NEGATIVE, None));
    assert!(error.message().contains("-1"), "{error}");
    assert_eq!(runs.get(), 1);
}

#[test]
fn errors_carry_rule_axis_and_message() {
    let runs = Runs::default();
    // SAFETY: the shape is the producer's.
    let broken = legacy_with(&runs, |raw| unsafe { *raw.dl_tensor.shape.add(1) = -7 });
    let rejected = broken.try_upgrade(&ConvertOptions::DEFAULT).unwrap_err();
    let error = &rejected.error;
    assert_eq!(error.status(), Status::INVALID_TENSOR);
    assert_eq!((error.rule(), error.axis()), (Rule::EXTENT_NEGATIVE, Some(1)));
    assert!(error.message().contains("-7"), "{error}");
    assert_eq!(format!("{rejected}"), error.message());
    assert!(format!("{error:?}").contains("EXTENT_NEGATIVE"));
    let findings = rejected.value.diagnose(&Policy::DEFAULT).unwrap();
    assert_eq!(findings[0].rule, Rule::EXTENT_NEGATIVE);
    assert_eq!(findings[0].found, "-7");
}

#[test]
fn a_null_deleter_is_legal() {
    let runs = Runs::default();
    let mut raw = None;
    drop(versioned(&runs, |tensor| raw = tensor.deleter.take().map(|_| tensor.manager_ctx)));
    let tensor = legacy_with(&runs, |tensor| {
        let _ = tensor.deleter.take();
    });
    drop(tensor.upgrade().unwrap());
    assert_eq!(runs.get(), 0);
}

#[test]
fn another_major_is_released_and_nothing_else_is_read() {
    let runs = Runs::default();
    let tensor = versioned(&runs, |raw| {
        raw.version.major = 2;
        raw.dl_tensor.ndim = -5;
    });
    assert_eq!(tensor.version(), Version::new(2, 0));
    assert!(tensor.as_borrowed().is_none());
    assert_eq!(format!("{tensor:?}"), "VersionedTensor(2.0)");
    let error = tensor.validate(&Policy::DEFAULT).unwrap_err();
    assert_eq!((error.status(), error.rule()), (Status::VERSION, Rule::VERSION_MAJOR));
    drop(tensor);
    assert_eq!(runs.get(), 1);
}

#[test]
fn a_round_trip_keeps_the_flags() {
    let runs = Runs::default();
    let tensor = versioned(&runs, |raw| raw.flags = Flags::READ_ONLY.0);
    let rejected = tensor.try_downgrade(&ConvertOptions::DEFAULT).unwrap_err();
    assert_eq!(rejected.error.rule(), Rule::LEGACY_READ_ONLY);
    // SAFETY: nothing writes to it.
    let (loss, writable) =
        unsafe { (ConvertOptions::new().drop_read_only(), ConvertOptions::new().vouch_writable()) };
    let legacy = rejected.value.downgrade(&loss).unwrap();
    let back = legacy.upgrade_with(&writable).unwrap();
    assert_eq!(back.flags(), Flags::READ_ONLY);
    // The result is the producer's own tensor, which cannot be shared until it is imported.
    assert_eq!(back.share().unwrap_err().status(), Status::FOREIGN_TENSOR);
    let imported = back.into_versioned().import(&ConvertOptions::DEFAULT).unwrap();
    drop(imported.share().unwrap());
    drop(imported);
    assert_eq!(runs.get(), 1);
}

#[test]
fn flags_that_a_legacy_source_cannot_record() {
    let runs = Runs::default();
    // SAFETY: the producer's memory may be written to.
    let writable = unsafe { ConvertOptions::new().vouch_writable() };
    let upgraded =
        |options: &ConvertOptions<'_>| legacy(&runs).upgrade_with(options).unwrap().flags();
    assert_eq!(upgraded(&writable), Flags::NONE);
    assert_eq!(upgraded(&writable.read_only()), Flags::READ_ONLY);
    assert_eq!(upgraded(&writable.copied()), Flags::IS_COPIED);
    let both = Flags::READ_ONLY | Flags::IS_COPIED;
    assert_eq!(upgraded(&writable.copied().read_only()), both);
    // SAFETY: six elements that fill a byte each: there are 24 bytes.
    let padded = unsafe { writable.tensor_flags(Flags::PADDED) };
    let tensor = legacy_with(&runs, |raw| {
        raw.dl_tensor.dtype = dlbridge::sys::DLDataType { code: 0, bits: 4, lanes: 1 };
    });
    let tensor = tensor.upgrade_with(&padded).unwrap();
    assert_eq!(tensor.as_view().layout().unwrap().packed_bytes(), 6);
}

#[test]
fn an_export_has_the_kind_of_its_target() {
    let runs = Runs::default();
    let options = ConvertOptions::DEFAULT;
    let made = legacy(&runs).export(Version::new(1, 1), &options).unwrap();
    let Exported::Versioned(tensor) = made else { panic!("expected a versioned tensor") };
    assert_eq!(tensor.version(), Version::new(1, 1));
    // SAFETY: nothing writes to it.
    let options = unsafe { ConvertOptions::new().drop_read_only() };
    let made = tensor.into_versioned().export(Version::new(0, 8), &options).unwrap();
    assert!(matches!(made, Exported::Legacy(_)));
    drop(made);
    assert_eq!(runs.get(), 1);
}

#[test]
fn a_batch_is_upgraded_as_a_whole_or_rejected() {
    let runs = Runs::default();
    let good = || legacy(&runs);
    let broken = legacy_with(&runs, |raw| raw.dl_tensor.dtype.bits = 0);
    let tensors = vec![good(), good(), broken, good()];
    let rejected = dlbridge::try_upgrade_many(tensors, &ConvertOptions::DEFAULT).unwrap_err();
    assert_eq!((rejected.failed, rejected.tensors.len()), (Some(2), 4));
    assert_eq!(rejected.error.rule(), Rule::DTYPE_BITS_ZERO);
    let mut tensors = rejected.tensors;
    drop(tensors.remove(2));
    assert_eq!(runs.get(), 1);
    let upgraded = dlbridge::upgrade_many(tensors, &ConvertOptions::DEFAULT).unwrap();
    assert_eq!(upgraded.len(), 3);
    drop(upgraded);
    assert_eq!(runs.get(), 4);
    assert!(dlbridge::upgrade_many(vec![], &ConvertOptions::DEFAULT).unwrap().is_empty());
}

#[test]
fn storage_can_be_used_again_after_its_tensor() {
    let runs = Runs::default();
    let mut storage = Storage::<512>::new();
    for _ in 0..3 {
        let bytes = storage.as_bytes();
        let tensor = legacy(&runs).upgrade_into(bytes, &ConvertOptions::DEFAULT).unwrap();
        assert_eq!(tensor.as_slice::<f32>().unwrap()[5], 5.0);
    }
    assert_eq!(runs.get(), 3);
    let short = &mut storage.as_bytes()[..16];
    let rejected = legacy(&runs).try_upgrade_into(short, &ConvertOptions::DEFAULT).unwrap_err();
    assert_eq!(rejected.error.status(), Status::BUFFER_TOO_SMALL);
    let unaligned = &mut storage.as_bytes()[8..];
    let error = rejected.value.upgrade_into(unaligned, &ConvertOptions::DEFAULT).unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT);
    assert_eq!(runs.get(), 4);
}

#[test]
fn an_owner_is_released_while_unwinding() {
    let runs = Runs::default();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _tensor = legacy(&runs).upgrade().unwrap();
        let _other = versioned(&runs, |_| {});
        std::panic::resume_unwind(Box::new("on the way out"));
    }));
    assert!(caught.is_err());
    assert_eq!(runs.get(), 2);
}
