// SPDX-License-Identifier: Apache-2.0
//! Links an installed library that pkg-config finds, else builds the bundled source statically.

use std::env;
use std::path::{Path, PathBuf};

/// The oldest library that has all functions that the crate declares.
const OLDEST: &str = "0.2.0";

/// What pkg-config calls it.
const NAME: &str = "dlbridge";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_LINK").is_none() || env::var_os("DOCS_RS").is_some() {
        return;
    }
    if env::var_os("CARGO_FEATURE_BUNDLED").is_some() || !link_installed() {
        build_bundled(&PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("bundled"));
    }
}

/// Is there a library that pkg-config knows, new enough and of the crate's ABI? It is linked then.
fn link_installed() -> bool {
    let mut config = pkg_config::Config::new();
    config.atleast_version(OLDEST);
    // Looked at first, and linked only if it is of the ABI.
    if config.cargo_metadata(false).probe(NAME).is_err() || variable("abi") != abi() {
        return false;
    }
    // The crate prints the linker's flags, and what to watch.
    if config.cargo_metadata(true).probe(NAME).is_err() {
        return false;
    }
    println!("cargo::metadata=include={}", variable("includedir"));
    true
}

/// A variable of the installed library's; empty where it has none.
fn variable(name: &str) -> String {
    pkg_config::get_variable(NAME, name).unwrap_or_default()
}

/// The ABI that the mirrors are made of.
fn abi() -> &'static str {
    let line = include_str!("src/mirrors.rs")
        .lines()
        .find_map(|line| line.strip_prefix("pub const DLBRIDGE_ABI: u32 = "))
        .expect("the mirrors say the ABI");
    line.trim_end_matches(';')
}

/// Compiles the sources as src/CMakeLists.txt and cmake/library.cmake do.
fn build_bundled(root: &Path) {
    let folder = root.join("src");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed={}", root.join("include").display());
    let linux = env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux");
    let aarch64 = env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("aarch64");
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        // Nothing of the C++ runtime is needed.
        .cpp_link_stdlib(None)
        .cpp_set_stdlib(None)
        .pic(true)
        .opt_level(2)
        .warnings(false)
        .include(root.join("include"))
        .include(&folder)
        .define("DLBRIDGE_BUILDING", None)
        .flags(["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"])
        .flags(["-fvisibility=hidden", "-fvisibility-inlines-hidden"])
        .files(sources(&folder));
    if linux && aarch64 {
        build.flag("-mno-outline-atomics");
    }
    build.compile("dlbridge");
    if linux {
        // dlopen and the locks: files of their own before glibc 2.34.
        println!("cargo::rustc-link-lib=dl");
        println!("cargo::rustc-link-lib=pthread");
    }
    println!("cargo::metadata=include={}", root.join("include").display());
}

/// The sources as CMake lists them.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let list = std::fs::read_to_string(folder.join("CMakeLists.txt"))
        .expect("the bundled sources of dlbridge are not there");
    list.split(|c: char| c.is_whitespace() || c == '(' || c == ')')
        .map(|word| folder.join(word))
        .filter(|path| path.extension().is_some_and(|end| end == "cc"))
        .collect()
}
