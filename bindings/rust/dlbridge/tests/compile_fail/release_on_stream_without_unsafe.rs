// SPDX-License-Identifier: Apache-2.0
// E0133: nothing guarantees that the release orders the end of the memory after the stream's work.
pub fn spec<'a>(spec: dlbridge::WrapSpec<'a>) -> dlbridge::WrapSpec<'a> {
    #[cfg(bad)]
    let spec = spec.release_on_stream();
    spec
}
