// SPDX-License-Identifier: Apache-2.0
// E0382: a tensor is read after the library has it.
pub fn released(tensor: dlbridge::Tensor, stream: dlbridge::Stream) {
    let _ = tensor.release_after(&[stream]);
    #[cfg(bad)]
    let _ = tensor.as_slice::<f32>();
}
