// SPDX-License-Identifier: Apache-2.0
// E0277 E0277: a table that requires the interpreter's lock is sent to another thread.
pub fn send(table: dlbridge::ExchangeApi<'static>) {
    let _ = table.as_raw();
    #[cfg(bad)]
    std::thread::spawn(move || {
        let _moved = table;
    });
}
