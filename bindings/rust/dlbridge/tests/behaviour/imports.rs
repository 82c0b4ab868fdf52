// SPDX-License-Identifier: Apache-2.0
//! Tensors of either kind as raw pointers: imported, exported and released.

use crate::producer::{legacy, legacy_with, versioned, Runs};
use dlbridge::{
    export, identify, import, release, sys, ConvertOptions, Exported, Flags, Kind, Policy, Rule,
    Status, Version,
};
use std::ffi::c_void;
use std::ptr::null_mut;

const DEFAULT: &ConvertOptions<'_> = &ConvertOptions::DEFAULT;

#[test]
fn a_pointer_of_any_kind_is_imported() {
    let runs = Runs::default();
    let old: *mut c_void = legacy(&runs).into_raw().as_ptr().cast();
    // SAFETY: live, of that kind, and this test's to give.
    let imported = unsafe { import(old, Kind::Legacy, DEFAULT) }.unwrap();
    assert_eq!(imported.flags(), Flags::READ_ONLY);
    assert_eq!(imported.share().unwrap().as_slice::<f32>().unwrap()[5], 5.0);
    drop(imported);
    let new: *mut c_void = versioned(&runs, |_| {}).into_raw().as_ptr().cast();
    // SAFETY: as above.
    let imported = unsafe { import(new, Kind::Versioned, DEFAULT) }.unwrap();
    assert_eq!(imported.flags(), Flags::NONE);
    // A dlbridge-owned tensor is recognised and returned as it is.
    let own = imported.into_raw().as_ptr();
    // SAFETY: as above.
    let again = unsafe { import(own.cast(), Kind::Unknown, DEFAULT) }.unwrap();
    assert_eq!(again.as_ptr(), own);
    drop(again);
    assert_eq!(runs.get(), 2);
}

#[test]
fn the_caller_still_owns_a_rejected_pointer() {
    let runs = Runs::default();
    // SAFETY: the shape is the producer's.
    let broken = legacy_with(&runs, |raw| unsafe { *raw.dl_tensor.shape = -7 });
    let broken: *mut c_void = broken.into_raw().as_ptr().cast();
    // SAFETY: live, and this test's to give.
    let error = unsafe { import(broken, Kind::Legacy, DEFAULT) }.unwrap_err();
    assert_eq!((error.rule(), error.axis()), (Rule::EXTENT_NEGATIVE, Some(0)));
    assert_eq!(runs.get(), 0);
    // SAFETY: as above; a release needs the kind.
    let error = unsafe { release(broken, Kind::Unknown) }.unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT);
    assert!(error.message().contains("Unknown"), "{error}");
    assert_eq!(runs.get(), 0);
    // SAFETY: as above.
    unsafe { release(broken, Kind::Legacy) }.unwrap();
    assert_eq!(runs.get(), 1);
    // SAFETY: NULL is checked by import and accepted by release.
    unsafe {
        let error = import(null_mut(), Kind::Unknown, DEFAULT).unwrap_err();
        assert_eq!(error.status(), Status::INVALID_ARGUMENT);
        release(null_mut(), Kind::Versioned).unwrap();
    }
}

#[test]
fn options_that_concern_legacy_results_are_rejected() {
    let runs = Runs::default();
    let options = ConvertOptions::new().drop_padded();
    let rejected = versioned(&runs, |_| {}).try_import(&options).unwrap_err();
    assert_eq!(rejected.error.status(), Status::INVALID_ARGUMENT);
    assert_eq!(runs.get(), 0);
    assert!(rejected.value.import(DEFAULT).is_ok());
    assert_eq!(runs.get(), 1);
}

#[test]
fn an_unknown_kind_is_decided_by_exclusion() {
    let runs = Runs::default();
    // SAFETY: the shape is the producer's. An address cannot be a version.
    let broken = legacy_with(&runs, |raw| unsafe { *raw.dl_tensor.shape = -7 });
    let broken: *mut c_void = broken.into_raw().as_ptr().cast();
    // SAFETY: live, and this test's to give.
    unsafe {
        assert_eq!(identify(broken), Kind::Legacy);
        let error = import(broken, Kind::Unknown, DEFAULT).unwrap_err();
        assert_eq!(error.rule(), Rule::EXTENT_NEGATIVE);
        release(broken, Kind::Legacy).unwrap();
        assert_eq!(identify(null_mut()), Kind::Unknown);
    }
    assert_eq!(runs.get(), 1);
}

#[test]
fn an_export_is_readable_by_its_target() {
    let runs = Runs::default();
    // SAFETY: nothing is written to it.
    let options = unsafe { ConvertOptions::new().drop_read_only() };
    let tensor = legacy(&runs).upgrade().unwrap();
    let rejected = tensor.try_export(Version::new(0, 8), DEFAULT).unwrap_err();
    assert_eq!(rejected.error.rule(), Rule::LEGACY_READ_ONLY);
    let (raw, kind) = rejected.value.export(Version::new(0, 8), &options).unwrap().into_raw();
    assert_eq!(kind, Kind::Legacy);
    // SAFETY: live, of that kind, and this test's to give.
    let error = unsafe { export(raw.as_ptr(), kind, Version::DEFAULT, DEFAULT) }.unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT);
    // SAFETY: as above.
    let made = unsafe { export(raw.as_ptr(), kind, Version::new(1, 1), DEFAULT) }.unwrap();
    let Exported::Versioned(tensor) = made else { panic!("expected a versioned tensor") };
    assert!(tensor.validate(&Policy::new().shape(&[2, 3])).is_ok());
    let (raw, kind) = Exported::Versioned(tensor).into_raw();
    assert_eq!((runs.get(), kind.eq(&Kind::Versioned)), (0, true));
    // SAFETY: as above.
    unsafe { sys::dlbridge_release_versioned(raw.as_ptr().cast()) };
    assert_eq!(runs.get(), 1);
}
