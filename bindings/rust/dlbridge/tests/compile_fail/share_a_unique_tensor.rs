// SPDX-License-Identifier: Apache-2.0
// E0599: a tensor that may be written to gets a second owner.
pub fn share(tensor: dlbridge::UniqueTensor) {
    #[cfg(bad)]
    let _ = tensor.share();
    let _ = tensor.into_shared().share();
}
