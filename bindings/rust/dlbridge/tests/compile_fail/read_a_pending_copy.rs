// SPDX-License-Identifier: Apache-2.0
// E0599: an element is read while a stream may still write it.
pub fn read(copy: dlbridge::PendingCopy) -> Result<(), dlbridge::Error> {
    #[cfg(bad)]
    let _ = copy.as_slice::<f32>();
    let _ = copy.synchronize()?.as_slice::<f32>();
    Ok(())
}
