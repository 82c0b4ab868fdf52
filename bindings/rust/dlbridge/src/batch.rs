// SPDX-License-Identifier: Apache-2.0
//! Upgrades of many tensors at once.

use crate::error::{call, Error};
use crate::foreign::LegacyTensor;
use crate::options::ConvertOptions;
use crate::tensor::Tensor;
use dlbridge_sys as sys;
use std::fmt;

/// A batch that was rejected: nothing was upgraded, and it contains all tensors. The operator `?`
/// converts it to its [`Error`], and the tensors are released.
#[derive(Debug)]
pub struct RejectedBatch {
    /// Why.
    pub error: Error,
    /// Index of the tensor that was rejected; `None` if no tensor caused the error.
    pub failed: Option<usize>,
    /// The tensors, in their order.
    pub tensors: Vec<LegacyTensor>,
}

impl fmt::Display for RejectedBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.failed {
            Some(index) => write!(f, "tensor {index}: {}", self.error),
            None => self.error.fmt(f),
        }
    }
}

impl From<RejectedBatch> for Error {
    fn from(rejected: RejectedBatch) -> Self {
        rejected.error
    }
}

impl From<RejectedBatch> for Box<dyn std::error::Error> {
    fn from(rejected: RejectedBatch) -> Self {
        rejected.error.into()
    }
}

impl From<RejectedBatch> for Box<dyn std::error::Error + Send + Sync> {
    fn from(rejected: RejectedBatch) -> Self {
        rejected.error.into()
    }
}

/// Upgrades all `tensors`, or none.
///
/// # Errors
///
/// As for [`LegacyTensor::upgrade_with`]; a copy is an invalid argument. All tensors are released.
pub fn upgrade_many(
    tensors: Vec<LegacyTensor>,
    options: &ConvertOptions<'_>,
) -> Result<Vec<Tensor>, Error> {
    Ok(try_upgrade_many(tensors, options)?)
}

/// As [`upgrade_many`], but on failure returns the tensors in [`RejectedBatch`].
///
/// # Errors
///
/// As for [`upgrade_many`].
pub fn try_upgrade_many(
    tensors: Vec<LegacyTensor>,
    options: &ConvertOptions<'_>,
) -> Result<Vec<Tensor>, RejectedBatch> {
    const { assert!(size_of::<LegacyTensor>() == size_of::<*mut sys::DLManagedTensor>()) };
    const { assert!(size_of::<Tensor>() == size_of::<*mut sys::DLManagedTensorVersioned>()) };
    let mut outs = Vec::<Tensor>::with_capacity(tensors.len());
    let count = tensors.len();
    let mut tensors = tensors;
    let mut failed = count;
    // SAFETY: both owners are one pointer each and never NULL; the lists are as long as stated.
    let result = call(|error| unsafe {
        let sources = tensors.as_ptr().cast();
        let outs = outs.as_mut_ptr().cast();
        sys::dlbridge_upgrade_many(sources, count, options.as_raw(), outs, &raw mut failed, error)
    });
    match result {
        Ok(()) => {
            // SAFETY: all sources have passed to the library, and all results are written.
            unsafe {
                tensors.set_len(0);
                outs.set_len(count);
            }
            Ok(outs)
        }
        Err(error) => {
            Err(RejectedBatch { error, failed: (failed < count).then_some(failed), tensors })
        }
    }
}
