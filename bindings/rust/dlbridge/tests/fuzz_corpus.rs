// SPDX-License-Identifier: Apache-2.0
//! Replays the corpus of each fuzz target.

#[path = "../../fuzz/src/import.rs"]
mod import;
#[cfg(target_os = "linux")]
#[path = "../../fuzz/src/program.rs"]
mod program;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/{}"), target);
    let mut count = 0;
    for file in std::fs::read_dir(folder).expect("the corpus") {
        run(&std::fs::read(file.expect("a file").path()).expect("a file's bytes"));
        count += 1;
    }
    assert!(count > 20, "{count} inputs");
    run(&[]);
}

#[test]
fn foreign_tensors() {
    replay("import", import::import);
}

#[cfg(target_os = "linux")]
#[test]
fn programs() {
    replay("program", program::program);
}
