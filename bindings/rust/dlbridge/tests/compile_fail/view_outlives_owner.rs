// SPDX-License-Identifier: Apache-2.0
// E0505: elements are read after their owner was dropped.
pub fn read(tensor: dlbridge::Tensor) -> f32 {
    let first = {
        let elements = tensor.as_slice::<f32>().unwrap();
        #[cfg(bad)]
        drop(tensor);
        elements[0]
    };
    first
}
