// SPDX-License-Identifier: Apache-2.0
//! Replays the fuzz target's corpus.

#[path = "../../fuzz/src/import.rs"]
mod import;

#[test]
fn the_corpus_is_replayed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/import");
    let mut count = 0;
    for file in std::fs::read_dir(folder).expect("the corpus") {
        import::import(&std::fs::read(file.expect("a file").path()).expect("a file's bytes"));
        count += 1;
    }
    assert!(count > 20, "{count} inputs");
    import::import(&[]);
}
