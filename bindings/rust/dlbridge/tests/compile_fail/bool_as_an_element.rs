// SPDX-License-Identifier: Apache-2.0
// E0277: foreign bytes are read as Rust's bool, for which most bytes are invalid.
use dlbridge::{Bool, Tensor};

pub fn read(tensor: &Tensor) {
    let _ = tensor.as_slice::<Bool>();
    #[cfg(bad)]
    let _ = tensor.as_slice::<bool>();
}
