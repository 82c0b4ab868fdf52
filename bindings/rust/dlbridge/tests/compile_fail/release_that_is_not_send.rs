// SPDX-License-Identifier: Apache-2.0
// E0277: a release callback owns a value that must stay on its thread.
use dlbridge::{Error, Tensor, WrapSpec};
use std::rc::Rc;
use std::sync::Arc;

pub fn wrap(spec: &WrapSpec<'_>) -> Result<Tensor, Error> {
    let kept = Arc::new(1);
    #[cfg(bad)]
    let kept = (kept, Rc::new(1));
    let _unused: Option<Rc<u8>> = None;
    // SAFETY: never run.
    unsafe { spec.wrap_with(move |_| drop(kept)) }
}
