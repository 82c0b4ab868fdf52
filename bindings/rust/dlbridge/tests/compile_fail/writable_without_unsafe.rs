// SPDX-License-Identifier: Apache-2.0
// E0133: a legacy source is declared writable in safe code.
use dlbridge::ConvertOptions;

pub fn options() -> ConvertOptions<'static> {
    let options = ConvertOptions::new();
    #[cfg(bad)]
    let options = options.vouch_writable();
    options
}
