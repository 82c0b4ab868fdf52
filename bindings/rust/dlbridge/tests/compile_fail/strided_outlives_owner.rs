// SPDX-License-Identifier: Apache-2.0
// E0597: a strided view outlives the tensor.
use dlbridge::{Strided, Tensor};

pub fn keep(tensor: &Tensor) -> Strided<'_, f32> {
    tensor.as_strided().unwrap()
}

pub fn read(tensor: Tensor) -> f32 {
    let _kept;
    #[cfg(bad)]
    {
        let inner = tensor;
        _kept = keep(&inner);
    }
    #[cfg(not(bad))]
    {
        _kept = keep(&tensor);
    }
    _kept[&[0]]
}
