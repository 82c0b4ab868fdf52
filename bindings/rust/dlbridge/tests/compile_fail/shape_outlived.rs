// SPDX-License-Identifier: Apache-2.0
// E0597: a policy outlives the shape that it borrows.
use dlbridge::Policy;

pub fn policy() {
    let _policy;
    let shape = vec![-1_i64, 3];
    #[cfg(bad)]
    {
        let inner = shape;
        _policy = Policy::new().shape(&inner);
    }
    #[cfg(not(bad))]
    {
        _policy = Policy::new().shape(&shape);
    }
    let _ = _policy.as_raw();
}
