// SPDX-License-Identifier: Apache-2.0
// E0597: a policy outlives the list of devices that it borrows.
use dlbridge::{Device, Policy};

pub fn policy() {
    let _policy;
    let devices = vec![Device::CPU];
    #[cfg(bad)]
    {
        let inner = devices;
        _policy = Policy::new().devices(&inner);
    }
    #[cfg(not(bad))]
    {
        _policy = Policy::new().devices(&devices);
    }
    let _ = _policy.as_raw();
}
