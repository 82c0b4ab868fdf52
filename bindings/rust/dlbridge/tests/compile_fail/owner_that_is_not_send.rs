// SPDX-License-Identifier: Apache-2.0
// E0277 E0277: a tensor gets an owner that must stay on its thread.
use dlbridge::Tensor;
use std::rc::Rc;

pub fn export() {
    let owner: Box<[f32]> = vec![1.0].into();
    #[cfg(bad)]
    let owner: Rc<[f32]> = owner.into();
    let _unused: Option<Rc<u8>> = None;
    let _ = Tensor::from_owner::<f32, _>(owner, &[1]);
}
