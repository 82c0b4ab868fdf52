// SPDX-License-Identifier: Apache-2.0
// E0382: a tensor is read after its ownership was transferred.
pub fn given(tensor: dlbridge::Tensor) {
    let _raw = tensor.into_raw();
    #[cfg(bad)]
    let _ = tensor.as_slice::<f32>();
}
