// SPDX-License-Identifier: Apache-2.0
// E0502: elements are written while others are read.
pub fn both(tensor: &mut dlbridge::UniqueTensor) -> f32 {
    let read = tensor.as_slice::<f32>().unwrap();
    #[cfg(bad)]
    {
        tensor.as_mut_slice::<f32>().unwrap()[0] = 1.0;
    }
    read[0]
}
