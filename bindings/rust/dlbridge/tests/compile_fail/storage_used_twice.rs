// SPDX-License-Identifier: Apache-2.0
// E0499: storage is used while it contains a tensor.
use dlbridge::{ConvertOptions, LegacyTensor, Storage};

pub fn upgrade(tensor: LegacyTensor) {
    let mut storage = Storage::<512>::new();
    let upgraded = tensor.upgrade_into(storage.as_bytes(), &ConvertOptions::DEFAULT);
    #[cfg(bad)]
    storage.as_bytes();
    drop(upgraded);
}
