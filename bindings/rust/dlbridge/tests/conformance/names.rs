// Generated from facts/enums.toml by tools/facts.py; do not edit.
// SPDX-License-Identifier: Apache-2.0
//! The names by which cases state values and bits. A field that is not set has the name "" if its
//! enumeration has no 0.

/// Names and the values or bits that they stand for.
pub type Names = [(&'static str, u32)];

#[rustfmt::skip] // a row for each name
pub const BACKEND: &Names = &[
    ("NONE", 0),
    ("CPU", 1),
    ("CUDA", 2),
    ("HIP", 3),
    ("LEVEL_ZERO", 4),
    ("OPENCL", 5),
];

#[rustfmt::skip] // a row for each name
pub const BUFFER: &Names = &[
    ("DEFAULT", 0),
    ("ADDRESS", 1),
    ("CL_MEM", 2),
    ("HANDLE", 3),
];

#[rustfmt::skip] // a row for each name
pub const MEMORY: &Names = &[
    ("", 0),
    ("HOST", 1),
    ("DEVICE", 2),
    ("PINNED", 3),
    ("MANAGED", 4),
    ("USM_HOST", 5),
    ("USM_DEVICE", 6),
    ("USM_SHARED", 7),
    ("SVM", 8),
    ("CL_MEM", 9),
];

#[rustfmt::skip] // a row for each name
pub const WRAP: &Names = &[
    ("SKIP_VALIDATION", 1 << 8),
    ("PIN_PRODUCER", 1 << 9),
    ("RETAIN", 1 << 10),
    ("LIMIT_BUFFER", 1 << 11),
    ("RELEASE_ON_STREAM", 1 << 12),
];

#[rustfmt::skip] // a row for each name
pub const STREAM: &Names = &[
    ("", 0),
    ("HOST", 1),
    ("NO_SYNC", 2),
    ("QUEUE", 3),
    ("IMMEDIATE_LIST", 4),
];

#[rustfmt::skip] // a row for each name
pub const HANDOFF: &Names = &[
    ("ALLOW_HOST_WAIT", 1 << 8),
    ("ALLOW_CAPTURE", 1 << 9),
];

#[rustfmt::skip] // a row for each name
pub const CONTEXT: &Names = &[
    ("DEFAULT", 1 << 0),
    ("REPLACE", 1 << 1),
    ("ENUMERATED", 1 << 2),
    ("PRIVATE", 1 << 3),
];

#[rustfmt::skip] // a row for each name
pub const COPY: &Names = &[
    ("ALLOW_STAGING", 1 << 8),
    ("SHAREABLE", 1 << 9),
];

#[rustfmt::skip] // a row for each name
pub const COLLECT: &Names = &[
    ("WAIT", 1 << 8),
];
