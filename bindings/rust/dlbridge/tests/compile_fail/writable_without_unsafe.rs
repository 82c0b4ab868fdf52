// SPDX-License-Identifier: Apache-2.0
// E0133: safe code declares a legacy source writable.
use dlbridge::ConvertOptions;

pub fn options() -> ConvertOptions<'static> {
    let options = ConvertOptions::new();
    #[cfg(bad)]
    let options = options.vouch_writable();
    options
}
