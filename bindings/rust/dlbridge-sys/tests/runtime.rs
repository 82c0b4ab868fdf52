// SPDX-License-Identifier: Apache-2.0
//! Loading at run time: missing files, other libraries, other ABIs, older libraries, and the real
//! one.
#![cfg(all(feature = "runtime", unix))]

use dlbridge_sys::{Library, LoadError, MissingFunction, DLBRIDGE_ABI};
use std::path::PathBuf;
use std::process::Command;

/// A shared library that is compiled from `source`.
fn build(name: &str, source: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (code, library) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.so")));
    std::fs::write(&code, source).expect("a scratch folder");
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status =
        Command::new(cc).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&code).status();
    assert!(status.expect("a C compiler").success());
    library
}

/// A library whose table has `size` bytes and `abi`, and NULL for all functions except `version`.
fn fake(name: &str, size: usize, abi: u32) -> PathBuf {
    let source = format!(
        "#include <stddef.h>\n#include <stdint.h>\n
        static uint32_t version(void) {{ return 7; }}\n
        static struct {{ uint32_t size, abi; void* functions[8]; }} table = {{\n
          {size}, {abi}, {{(void*)version}}}};\n
        const void* dlbridge_get_api(uint32_t abi, size_t size) {{\n
          return abi == {abi} && size > 0 ? &table : NULL; }}\n"
    );
    build(name, &source)
}

fn load(path: PathBuf) -> Result<Library, LoadError> {
    // SAFETY: made by this test, or not a dlbridge library.
    unsafe { Library::open(path) }
}

#[test]
fn a_missing_file_is_named_in_the_error() {
    let error = load("/nonexistent/libdlbridge.so.1".into()).unwrap_err();
    assert!(error.to_string().contains("/nonexistent/libdlbridge.so.1"), "{error}");
    assert_eq!(load("a\0b".into()).unwrap_err(), LoadError::Path);
}

#[test]
fn another_library_has_no_table() {
    let library = build("nothing", "int nothing;\n");
    assert_eq!(load(library).unwrap_err(), LoadError::NoTable);
}

#[test]
fn another_abi_is_rejected() {
    assert_eq!(load(fake("abi", 72, DLBRIDGE_ABI + 1)).unwrap_err(), LoadError::OtherAbi);
    let library = build("null", "const void* dlbridge_get_api(void) { return 0; }\n");
    assert_eq!(load(library).unwrap_err(), LoadError::OtherAbi);
    // A table that is too short for its own first fields.
    assert_eq!(load(fake("short", 4, DLBRIDGE_ABI)).unwrap_err(), LoadError::OtherAbi);
}

#[test]
fn a_function_that_an_older_library_lacks_is_an_error() {
    // Two functions long: the second is NULL, the third is missing.
    let table = load(fake("old", 24, DLBRIDGE_ABI)).unwrap().table();
    assert_eq!(table.size(), 24);
    // SAFETY: a function of the fake.
    assert_eq!(unsafe { table.version().unwrap()() }, 7);
    assert_eq!(table.version_string().unwrap_err(), MissingFunction("version_string"));
    let missing = table.dlpack_version().unwrap_err();
    assert_eq!(missing, MissingFunction("dlpack_version"));
    assert_eq!(
        missing.to_string(),
        "the loaded library is too old to have dlbridge_dlpack_version"
    );
    assert!(table.ipc_import().is_err());
}

/// With `DLBRIDGE_LIBRARY=FILE`, as noxfile.py sets it.
#[test]
fn a_whole_library_is_loaded() {
    let Some(path) = std::env::var_os("DLBRIDGE_LIBRARY") else { return };
    let table = load(path.into()).unwrap().table();
    // SAFETY: no preconditions.
    assert!(unsafe { table.version().unwrap()() } >= 300);
    assert!(table.ipc_import().is_ok());
    // SAFETY: as above.
    assert_eq!(unsafe { table.host_accessible().unwrap()(1, std::ptr::null_mut()) }, 1);
}
