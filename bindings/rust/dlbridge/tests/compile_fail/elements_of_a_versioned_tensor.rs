// SPDX-License-Identifier: Apache-2.0
// E0599: an element of a tensor that has not been validated is read.
pub fn read(tensor: dlbridge::VersionedTensor) {
    let _ = tensor.version();
    #[cfg(bad)]
    let _ = tensor.as_slice::<f32>();
}
