// SPDX-License-Identifier: Apache-2.0
// E0133: safe code asserts the layout of a source.
use dlbridge::ConvertOptions;

pub fn options() -> ConvertOptions<'static> {
    let options = ConvertOptions::new();
    #[cfg(bad)]
    let options = options.tensor_flags(dlbridge::Flags::PADDED);
    options
}
