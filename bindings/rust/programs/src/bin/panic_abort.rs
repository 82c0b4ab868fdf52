// SPDX-License-Identifier: Apache-2.0
//! A release that panics. With `panic = "unwind"` the program continues and exits with 0; with
//! `panic = "abort"` the process aborts inside the callback, so no panic reaches the library.

use dlbridge::{caught_panics, Buffer, Dtype, WrapSpec};

static DATA: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let spec = WrapSpec::new(Buffer::address(&raw const DATA), Dtype::F32, &[4]);
    // SAFETY: static memory, which nothing writes to.
    let tensor = unsafe { spec.wrap_with(|_| panic!("in a release")) };
    drop(tensor.expect("a valid tensor"));
    assert_eq!(caught_panics(), 1);
}
