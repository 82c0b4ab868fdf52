// SPDX-License-Identifier: Apache-2.0
// E0133: read-only memory is given away as any other in safe code.
use dlbridge::ConvertOptions;

pub fn options() -> ConvertOptions<'static> {
    let options = ConvertOptions::new();
    #[cfg(bad)]
    let options = options.drop_read_only();
    options
}
