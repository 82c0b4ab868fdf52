// SPDX-License-Identifier: Apache-2.0
// E0597: a tensor outlives its storage.
use dlbridge::{ConvertOptions, LegacyTensor, Storage};

pub fn upgrade(tensor: LegacyTensor) {
    let mut outer = Storage::<512>::new();
    let _upgraded;
    #[cfg(bad)]
    {
        let mut inner = Storage::<512>::new();
        _upgraded = tensor.upgrade_into(inner.as_bytes(), &ConvertOptions::DEFAULT);
    }
    #[cfg(not(bad))]
    {
        _upgraded = tensor.upgrade_into(outer.as_bytes(), &ConvertOptions::DEFAULT);
    }
    let _ = &_upgraded;
}
