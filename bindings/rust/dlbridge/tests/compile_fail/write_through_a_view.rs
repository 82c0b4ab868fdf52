// SPDX-License-Identifier: Apache-2.0
// E0594: an element is written through a shared borrow.
pub fn write(tensor: &dlbridge::UniqueTensor) {
    let elements = tensor.as_slice::<f32>().unwrap();
    let _ = elements[0];
    #[cfg(bad)]
    {
        elements[0] = 1.0;
    }
}
