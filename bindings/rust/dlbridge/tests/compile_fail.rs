// SPDX-License-Identifier: Apache-2.0
//! Misuse that the types forbid. Each file of `tests/compile_fail` compiles unchanged, and with
//! `--cfg bad` it must fail with exactly the errors that its second line names.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library file of this crate, built in a separate folder; cargo reports its path.
fn library() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail");
    let output = Command::new(cargo)
        .args(["build", "--locked", "--offline", "--message-format", "json", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut files = messages
        .filter(|message| message["target"]["name"] == "dlbridge")
        .filter_map(|message| message["filenames"].as_array().cloned())
        .flatten()
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .filter(|file| file.extension().is_some_and(|end| end == "rlib"));
    let file = files.next().expect("cargo reports the file that it built");
    assert!(files.next().is_none(), "cargo built the crate twice");
    file
}

/// The codes of the errors that rustc reports for `file`.
fn errors(library: &Path, file: &Path, bad: bool) -> Vec<String> {
    let folder = library.parent().expect("the crate is in a folder");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--edition", "2021", "--crate-type", "lib", "--emit", "metadata", "-o"]);
    command.arg(folder.join("compile_fail.rmeta")).args([
        "--error-format",
        "json",
        "-A",
        "warnings",
    ]);
    command.arg("-L").arg(format!("dependency={}", folder.join("deps").display()));
    command.arg("--extern").arg(format!("dlbridge={}", library.display()));
    if bad {
        command.args(["--cfg", "bad"]);
    }
    let output = command.arg(file).output().expect("rustc runs");
    let text = String::from_utf8(output.stderr).expect("rustc writes UTF-8");
    let messages = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}")));
    let errors = messages.filter(|message| message["level"] == "error");
    let code = |message: Value| match message["code"]["code"].as_str() {
        Some(code) => code.to_owned(),
        None => message["message"].as_str().unwrap_or_default().to_owned(),
    };
    // "aborting due to 1 previous error" is not an error of its own.
    let codes = errors.map(code).filter(|code| !code.starts_with("aborting"));
    codes.collect()
}

#[test]
fn misuse_does_not_compile() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");
    let library = library();
    let mut count = 0;
    for file in std::fs::read_dir(folder).expect("the cases") {
        let file = file.expect("a case").path();
        let text = std::fs::read_to_string(&file).expect("a case is text");
        let second = text.lines().nth(1).expect("a second line");
        let codes = second.trim_start_matches("// ").split(':').next().expect("codes");
        let codes = codes.split(' ').collect::<Vec<_>>();
        assert!(codes.iter().all(|code| code.starts_with('E')), "{}: {second}", file.display());
        assert_eq!(errors(&library, &file, false), [""; 0], "{} unchanged", file.display());
        assert_eq!(errors(&library, &file, true), codes, "{} with --cfg bad", file.display());
        count += 1;
    }
    assert!(count >= 31, "{count} cases");
}
