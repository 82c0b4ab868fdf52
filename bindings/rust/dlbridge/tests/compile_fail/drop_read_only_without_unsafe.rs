// SPDX-License-Identifier: Apache-2.0
// E0133: safe code exports read-only memory to a consumer that may write.
use dlbridge::ConvertOptions;

pub fn options() -> ConvertOptions<'static> {
    let options = ConvertOptions::new();
    #[cfg(bad)]
    let options = options.drop_read_only();
    options
}
