// SPDX-License-Identifier: Apache-2.0
//! The structs of `ffi` have the layout that `conformance/c/tests/layout.c` states.

use core::mem::offset_of;
use dlbridge_conformance::ffi::{Export, Offer, Project, Request, Result, Settings, Summary};

#[test]
fn structs_have_the_layout_of_c() {
    assert_eq!((size_of::<Request>(), offset_of!(Request, features)), (96, 36));
    assert_eq!((offset_of!(Request, values), offset_of!(Request, consumer)), (64, 88));
    assert_eq!((size_of::<Export>(), offset_of!(Export, kind)), (32, 24));
    assert_eq!((size_of::<Offer>(), offset_of!(Offer, queue)), (32, 24));
    assert_eq!((size_of::<Project>(), offset_of!(Project, make)), (136, 24));
    assert_eq!((offset_of!(Project, dtypes), offset_of!(Project, unsupported)), (88, 120));
    assert_eq!((size_of::<Result>(), offset_of!(Result, check)), (80, 16));
    assert_eq!((size_of::<Settings>(), offset_of!(Settings, command)), (88, 64));
    assert_eq!((offset_of!(Settings, quirks), offset_of!(Settings, report)), (24, 72));
    assert_eq!((size_of::<Summary>(), offset_of!(Summary, isolation)), (32, 28));
}
