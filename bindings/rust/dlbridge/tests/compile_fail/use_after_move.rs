// SPDX-License-Identifier: Apache-2.0
// E0382: a tensor that was upgraded is used again.
use dlbridge::{Error, LegacyTensor};

pub fn twice(tensor: LegacyTensor) -> Result<(), Error> {
    let _upgraded = tensor.upgrade()?;
    #[cfg(bad)]
    let _again = tensor.upgrade()?;
    Ok(())
}
