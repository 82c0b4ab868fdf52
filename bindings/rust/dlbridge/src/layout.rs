// SPDX-License-Identifier: Apache-2.0
//! The layout of a tensor in memory, and findings.

use crate::error::{Rule, Status};
use crate::values::{array_text, Answer};
use dlbridge_sys as sys;

/// The layout of a tensor in memory. The strides of axes of extent 1 are ignored.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    raw: sys::DLBridgeLayout,
}

macro_rules! layout_properties {
    ($($(#[$doc:meta])* $name:ident = $bit:ident,)*) => {
        $($(#[$doc])*
        #[must_use]
        pub const fn $name(&self) -> bool {
            self.raw.properties & sys::$bit != 0
        })*
    };
}

impl Layout {
    pub(crate) const fn of(raw: sys::DLBridgeLayout) -> Self {
        Self { raw }
    }

    layout_properties! {
        /// Is an extent 0?
        is_empty = DLBRIDGE_LAYOUT_EMPTY,
        /// Compact, last axis fastest? True if empty.
        is_c_contiguous = DLBRIDGE_LAYOUT_C_CONTIGUOUS,
        /// Compact, first axis fastest? True if empty.
        is_f_contiguous = DLBRIDGE_LAYOUT_F_CONTIGUOUS,
        /// Has some axis longer than 1 stride 0?
        is_broadcast = DLBRIDGE_LAYOUT_BROADCAST,
        /// Has some axis longer than 1 a negative stride?
        has_negative_strides = DLBRIDGE_LAYOUT_NEGATIVE_STRIDES,
        /// Do elements of less than a byte fill a whole one?
        is_padded = DLBRIDGE_LAYOUT_PADDED,
        /// Is the data a handle, not an address?
        is_opaque = DLBRIDGE_LAYOUT_OPAQUE,
    }

    /// Bits from one element to the next.
    #[must_use]
    pub const fn item_bits(&self) -> u32 {
        self.raw.item_bits
    }

    /// Do two elements share memory?
    #[must_use]
    pub fn self_overlap(&self) -> Answer {
        Answer::of(self.raw.self_overlap)
    }

    /// Product of the extents.
    #[must_use]
    pub const fn element_count(&self) -> i64 {
        self.raw.element_count
    }

    /// Bytes of the elements laid out compactly.
    #[must_use]
    pub const fn packed_bytes(&self) -> i64 {
        self.raw.packed_bytes
    }

    /// First byte touched, and the one after the last, relative to `data + byte_offset`.
    #[must_use]
    pub const fn extent(&self) -> std::ops::Range<i64> {
        self.raw.begin..self.raw.end
    }

    /// Largest power of two that divides the address of element (0,...,0).
    #[must_use]
    pub const fn alignment(&self) -> u64 {
        self.raw.alignment
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgeLayout {
        &self.raw
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// A validation would reject the tensor for it.
    Broken,
    /// For information only.
    Note,
}

/// One thing found about a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The axis concerned.
    pub axis: Option<usize>,
    /// The severity.
    pub severity: Severity,
    /// What a validation would return for it; [`Status::OK`] for a note.
    pub status: Status,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl Finding {
    pub(crate) fn of(raw: &sys::DLBridgeFinding) -> Self {
        Self {
            rule: Rule(raw.rule),
            axis: usize::try_from(raw.axis).ok(),
            severity: match raw.severity {
                sys::DLBRIDGE_SEVERITY_NOTE => Severity::Note,
                _ => Severity::Broken,
            },
            status: Status(raw.status),
            expected: array_text(&raw.expected),
            found: array_text(&raw.found),
        }
    }
}
