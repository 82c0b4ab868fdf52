// SPDX-License-Identifier: Apache-2.0
// E0599: the library would hold a tensor in the caller's storage.
pub fn released(tensor: dlbridge::StoredTensor<'_>, stream: dlbridge::Stream) {
    let _ = stream.synchronize();
    #[cfg(bad)]
    let _ = tensor.release_after(&[stream]);
    drop(tensor);
}
