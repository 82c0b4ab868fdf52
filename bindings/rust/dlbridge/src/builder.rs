// SPDX-License-Identifier: Apache-2.0
//! The methods of types that are built by chained calls.

/// A set of the option bits of one function. `new;` carries the documentation of the empty set.
macro_rules! bit_set {
    (
        $(#[$type_doc:meta])*
        pub struct $name:ident;
        $(#[$new_doc:meta])*
        new;
        $($(#[$doc:meta])* $method:ident = $bit:ident;)*
    ) => {
        $(#[$type_doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            bits: u32,
        }

        impl $name {
            $(#[$new_doc])*
            #[must_use]
            pub const fn new() -> Self {
                Self { bits: 0 }
            }

            /// The options of the C ABI; bits that the library does not know are rejected.
            #[must_use]
            pub const fn from_bits(bits: u32) -> Self {
                Self { bits }
            }

            $($(#[$doc])*
            #[must_use]
            pub const fn $method(self) -> Self {
                Self { bits: self.bits | sys::$bit }
            })*
        }
    };
}

/// Methods that each set one bit of the field `$field` of the C struct `raw`.
macro_rules! set_bits {
    ($field:ident: $($(#[$doc:meta])* $method:ident = $bit:ident;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub const fn $method(mut self) -> Self {
            self.raw.$field |= sys::$bit;
            self
        })*
    };
}

/// Methods that each set the field of their name of the C struct `raw`.
macro_rules! set_fields {
    ($($(#[$doc:meta])* $field:ident($argument:ident: $type:ty) = $value:expr;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub const fn $field(mut self, $argument: $type) -> Self {
            self.raw.$field = $value;
            self
        })*
    };
}

pub(crate) use {bit_set, set_bits, set_fields};
