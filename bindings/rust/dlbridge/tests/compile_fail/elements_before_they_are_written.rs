// SPDX-License-Identifier: Apache-2.0
// E0599: an element is read before it was written.
pub fn read(tensor: dlbridge::UninitTensor) {
    let _ = tensor.shape();
    #[cfg(bad)]
    let _ = tensor.as_slice::<f32>();
}
