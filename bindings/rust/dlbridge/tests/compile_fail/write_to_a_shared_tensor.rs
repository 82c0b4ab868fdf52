// SPDX-License-Identifier: Apache-2.0
// E0599: a tensor that may have other owners is written to.
pub fn write(mut tensor: dlbridge::Tensor) {
    let _ = &mut tensor;
    #[cfg(bad)]
    let _ = tensor.as_mut_slice::<f32>();
}
