// SPDX-License-Identifier: Apache-2.0
//! The DLPack version that two sides share.

use crate::error::{call, Error};
use crate::values::{Kind, Version};
use dlbridge_sys as sys;
use std::marker::PhantomData;
use std::ptr::{null, NonNull};

/// The kind and version that a producer of up to `producer` exports to a consumer of up to
/// `consumer`, as the Python array API standard defines.
///
/// # Errors
///
/// [`Status::VERSION`](crate::Status::VERSION) if the producer has a higher major than a versioned
/// consumer.
pub fn negotiate(producer: Version, consumer: Version) -> Result<(Kind, Version), Error> {
    let mut kind = sys::DLBRIDGE_KIND_UNKNOWN;
    let mut version = Version::DEFAULT.raw();
    // SAFETY: both outputs are writable.
    call(|error| unsafe {
        sys::dlbridge_negotiate(
            producer.raw(),
            consumer.raw(),
            &raw mut kind,
            &raw mut version,
            error,
        )
    })?;
    Ok((Kind::of(kind), Version::of(version)))
}

/// A table of a C exchange API that has its four mandatory functions. It lives as long as the
/// Python type that offers it. Its functions require the interpreter's lock.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeApi<'a> {
    table: NonNull<sys::DLPackExchangeAPI>,
    chain: PhantomData<&'a sys::DLPackExchangeAPI>,
}

impl<'a> ExchangeApi<'a> {
    /// The newest table of a chain that a consumer of `consumer` understands. At most 64 tables are
    /// read.
    ///
    /// # Safety
    ///
    /// The chain is readable for as long as `'a`.
    ///
    /// # Errors
    ///
    /// [`Status::NOT_FOUND`](crate::Status::NOT_FOUND); [`Status::VERSION`](crate::Status::VERSION)
    /// if the consumer's major is not 1.
    pub unsafe fn find(
        chain: NonNull<sys::DLPackExchangeAPIHeader>,
        consumer: Version,
    ) -> Result<Self, Error> {
        let mut out = null();
        // SAFETY: guaranteed by the caller.
        call(|error| unsafe {
            sys::dlbridge_exchange_api_find(chain.as_ptr(), consumer.raw(), &raw mut out, error)
        })?;
        // SAFETY: on success it is not NULL.
        let table = unsafe { NonNull::new_unchecked(out.cast_mut()) };
        Ok(Self { table, chain: PhantomData })
    }

    /// The table.
    #[must_use]
    pub const fn as_raw(&self) -> &'a sys::DLPackExchangeAPI {
        // SAFETY: it lives as long as the chain.
        unsafe { self.table.as_ref() }
    }
}
