// SPDX-License-Identifier: Apache-2.0
//! Misuse that the types forbid. Each file of `tests/compile_fail` compiles as it stands, and
//! with `--cfg bad` it must fail with the error that its second line names, and with no other.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo puts what it builds: the folder of this program.
fn artefacts() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    program.parent().expect("it lies in a folder").to_owned()
}

/// The crate as this test was built with it: the newest of its kind.
fn library(folder: &Path) -> PathBuf {
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libdlbridge-") && path.extension().is_some_and(|end| end == "rlib")
    };
    let files = std::fs::read_dir(folder).expect("the folder of artefacts");
    let files = files.filter_map(Result::ok).map(|entry| entry.path()).filter(is_ours);
    let age = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    files.max_by_key(age).expect("the crate was built")
}

/// The codes of the errors that rustc tells of `file`.
fn errors(file: &Path, bad: bool) -> Vec<String> {
    let folder = artefacts();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--edition", "2021", "--crate-type", "lib", "--emit", "metadata", "-o"]);
    command.arg(folder.join("compile_fail.rmeta")).args([
        "--error-format",
        "json",
        "-A",
        "warnings",
    ]);
    command.arg("-L").arg(format!("dependency={}", folder.display()));
    command.arg("--extern").arg(format!("dlbridge={}", library(&folder).display()));
    if bad {
        command.args(["--cfg", "bad"]);
    }
    let output = command.arg(file).output().expect("rustc runs");
    let text = String::from_utf8(output.stderr).expect("rustc tells UTF-8");
    let messages = text.lines().map(|line| {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|_| panic!("{line}"))
    });
    let errors = messages.filter(|message| message["level"] == "error");
    let code = |message: serde_json::Value| match message["code"]["code"].as_str() {
        Some(code) => code.to_owned(),
        None => message["message"].as_str().unwrap_or_default().to_owned(),
    };
    // "aborting due to 1 previous error" has no code and says nothing.
    let codes = errors.map(code).filter(|code| !code.starts_with("aborting"));
    let mut codes = codes.collect::<Vec<_>>();
    codes.dedup();
    codes
}

#[test]
fn misuse_does_not_compile() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");
    let mut count = 0;
    for file in std::fs::read_dir(folder).expect("the cases") {
        let file = file.expect("a case").path();
        let text = std::fs::read_to_string(&file).expect("a case is text");
        let second = text.lines().nth(1).expect("a second line");
        let code = second.trim_start_matches("// ").split(':').next().expect("a code");
        assert!(code.starts_with('E'), "{}: {second}", file.display());
        assert_eq!(errors(&file, false), [""; 0], "{} as it stands", file.display());
        assert_eq!(errors(&file, true), [code], "{} with --cfg bad", file.display());
        count += 1;
    }
    assert!(count >= 20, "{count} cases");
}
