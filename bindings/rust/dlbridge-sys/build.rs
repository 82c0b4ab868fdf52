// SPDX-License-Identifier: Apache-2.0
//! Links an installed library that pkg-config finds, else builds the bundled source statically.

use std::env;
use std::path::{Path, PathBuf};

/// The oldest library that has all functions that the crate declares: only minor versions add some.
const OLDEST: &str = concat!(
    env!("CARGO_PKG_VERSION_MAJOR"),
    ".",
    env!("CARGO_PKG_VERSION_MINOR"),
    ".0"
);

/// Its name in pkg-config.
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

/// Links the library that pkg-config knows, if it is new enough and of the crate's ABI.
fn link_installed() -> bool {
    let mut config = pkg_config::Config::new();
    config.atleast_version(OLDEST);
    // The first probe prints nothing: the library is linked only if its ABI is the crate's.
    if config.cargo_metadata(false).probe(NAME).is_err() || variable("abi") != abi() {
        return false;
    }
    // The second probe prints the linker's flags and the files to watch.
    if config.cargo_metadata(true).probe(NAME).is_err() {
        return false;
    }
    println!("cargo::metadata=include={}", variable("includedir"));
    true
}

/// A pkg-config variable of the installed library; empty if it has none.
fn variable(name: &str) -> String {
    pkg_config::get_variable(NAME, name).unwrap_or_default()
}

/// The ABI of the header that the mirrors were generated from.
fn abi() -> &'static str {
    let line = include_str!("src/mirrors.rs")
        .lines()
        .find_map(|line| line.strip_prefix("pub const DLBRIDGE_ABI: u32 = "))
        .expect("src/mirrors.rs has DLBRIDGE_ABI");
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
        // The library needs no C++ runtime.
        .cpp_link_stdlib(None)
        .cpp_set_stdlib(None)
        .pic(true)
        .opt_level(2)
        .warnings(false)
        .include(root.join("include"))
        .include(&folder)
        .define("DLBRIDGE_BUILDING", None)
        // Hidden symbols: a program with the library inside exports nothing of it.
        .define("DLBRIDGE_STATIC", None)
        .flags(["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"])
        .flags(["-fvisibility=hidden", "-fvisibility-inlines-hidden"])
        .files(sources(&folder));
    if linux && aarch64 {
        build.flag("-mno-outline-atomics");
    }
    build.compile("dlbridge");
    if linux {
        // dlopen and the locks: libraries of their own before glibc 2.34.
        println!("cargo::rustc-link-lib=dl");
        println!("cargo::rustc-link-lib=pthread");
    }
    println!("cargo::metadata=include={}", root.join("include").display());
}

/// Every C++ source of the library, in a fixed order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    add_sources(folder, &mut found);
    assert!(!found.is_empty(), "the bundled sources of dlbridge are missing");
    found.sort();
    found
}

fn add_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            add_sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "cc") {
            found.push(path);
        }
    }
}
