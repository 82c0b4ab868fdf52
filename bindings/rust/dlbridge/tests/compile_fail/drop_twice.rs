// SPDX-License-Identifier: Apache-2.0
// E0382: a tensor is released twice.
pub fn twice(tensor: dlbridge::Tensor) {
    drop(tensor);
    #[cfg(bad)]
    drop(tensor);
}
