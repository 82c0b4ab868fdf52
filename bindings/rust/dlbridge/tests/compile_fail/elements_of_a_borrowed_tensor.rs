// SPDX-License-Identifier: Apache-2.0
// E0599: an element of a tensor that has not been validated is read.
pub fn read(tensor: dlbridge::BorrowedTensor<'_>) {
    let _ = tensor.layout();
    #[cfg(bad)]
    let _ = tensor.as_strided::<f32>();
}
