// SPDX-License-Identifier: Apache-2.0
// E0133: safe code skips the validation.
use dlbridge::ConvertOptions;

pub fn options() -> ConvertOptions<'static> {
    let options = ConvertOptions::new();
    #[cfg(bad)]
    let options = options.skip_validation();
    options
}
