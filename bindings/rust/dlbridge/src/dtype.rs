// SPDX-License-Identifier: Apache-2.0
//! Types of elements.

use crate::error::Error;
use crate::text;
use dlbridge_sys as sys;
use std::fmt;
use std::str::FromStr;

/// Type of one element: `lanes` values of `bits` bits each. Foreign code may pass any values. Its
/// text form is `float32` or `bfloat16x4`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dtype {
    /// One of DLPack's codes, such as [`dlbridge_sys::kDLFloat`].
    pub code: u8,
    /// Width of one lane.
    pub bits: u8,
    /// Lanes of an element, 1 for plain types.
    pub lanes: u16,
}

macro_rules! dtypes {
    ($($name:ident = $code:ident $bits:literal,)*) => {
        $(#[doc = concat!("`", stringify!($code), "`, ", stringify!($bits), " bits")]
        pub const $name: Self = Self::new(sys::$code, $bits, 1);)*
    };
}

impl Dtype {
    dtypes! {
        BOOL = kDLBool 8,
        I8 = kDLInt 8,
        I16 = kDLInt 16,
        I32 = kDLInt 32,
        I64 = kDLInt 64,
        U8 = kDLUInt 8,
        U16 = kDLUInt 16,
        U32 = kDLUInt 32,
        U64 = kDLUInt 64,
        F16 = kDLFloat 16,
        BF16 = kDLBfloat 16,
        F32 = kDLFloat 32,
        F64 = kDLFloat 64,
        COMPLEX64 = kDLComplex 64,
        COMPLEX128 = kDLComplex 128,
        FLOAT8_E4M3FN = kDLFloat8_e4m3fn 8,
        FLOAT8_E5M2 = kDLFloat8_e5m2 8,
        FLOAT4_E2M1FN = kDLFloat4_e2m1fn 4,
    }

    /// Any code, width and lanes.
    #[must_use]
    pub const fn new(code: u8, bits: u8, lanes: u16) -> Self {
        Self { code, bits, lanes }
    }

    pub(crate) const fn raw(self) -> sys::DLDataType {
        sys::DLDataType { code: self.code, bits: self.bits, lanes: self.lanes }
    }

    pub(crate) const fn of(raw: sys::DLDataType) -> Self {
        Self::new(raw.code, raw.bits, raw.lanes)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::dtype(self.raw()).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Dtype {
    type Err = Error;
    /// Errors: [`Status::PARSE`](crate::Status::PARSE).
    fn from_str(name: &str) -> Result<Self, Error> {
        text::parse_dtype(name).map(Self::of)
    }
}

// Slices of dtypes are lent to the library.
const _: () = assert!(size_of::<Dtype>() == size_of::<sys::DLDataType>());
const _: () = assert!(align_of::<Dtype>() == align_of::<sys::DLDataType>());
