// SPDX-License-Identifier: Apache-2.0
//! Links an installed library that pkg-config finds and the program's loader will find, else builds
//! the bundled source statically.

use std::env;
use std::path::{Path, PathBuf};

/// The oldest library that has all functions that the crate declares: only minor versions add some.
const OLDEST: &str =
    concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"), ".0");

/// Its name in pkg-config.
const NAME: &str = "dlbridge";

/// Set: link an installed library wherever it is.
const REQUEST: &str = "DLBRIDGE_LINK_SHARED";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_LINK").is_none() || env::var_os("DOCS_RS").is_some() {
        return;
    }
    if env::var_os("CARGO_FEATURE_BUNDLED").is_some() || !link_installed() {
        build_bundled(&PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("bundled"));
    }
}

/// Links the library found by pkg-config if it is new enough, has the crate's ABI, and the loader
/// finds it at run time.
fn link_installed() -> bool {
    let mut config = pkg_config::Config::new();
    config.atleast_version(OLDEST);
    // The first probe prints nothing: the library is linked only if its ABI is the crate's.
    if config.cargo_metadata(false).probe(NAME).is_err() || variable("abi") != abi() {
        return false;
    }
    if !is_static() && !is_found_at_start(&variable("libdir")) {
        return false;
    }
    // The second probe prints the linker's flags and the files to watch.
    if config.cargo_metadata(true).probe(NAME).is_err() {
        return false;
    }
    println!("cargo::metadata=include={}", variable("includedir"));
    println!("cargo::metadata=libdir={}", variable("libdir"));
    true
}

/// Does pkg-config link the static library? The same variables as in the crate `pkg-config`.
fn is_static() -> bool {
    env::var_os("DLBRIDGE_STATIC").is_some() || env::var_os("PKG_CONFIG_ALL_STATIC").is_some()
}

/// Does the dynamic loader search the folder? A build script cannot give programs of other crates an
/// rpath, so a library elsewhere is used only on request, by programs that set one.
fn is_found_at_start(folder: &str) -> bool {
    println!("cargo::rerun-if-env-changed=LD_LIBRARY_PATH");
    println!("cargo::rerun-if-env-changed={REQUEST}");
    let linux = env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux");
    let native = env::var("HOST") == env::var("TARGET");
    if !(linux && native) || env::var_os(REQUEST).is_some() {
        return true;
    }
    let Ok(folder) = std::fs::canonicalize(folder) else { return false };
    let same = |other: &Path| std::fs::canonicalize(other).is_ok_and(|other| other == folder);
    let listed = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let found = env::split_paths(&listed).any(|other| same(&other)) || cached().any(|f| same(&f));
    if !found {
        println!(
            "cargo::warning=the dynamic loader does not search {}: the bundled source of dlbridge \
             is linked instead; {REQUEST}=1 links that library, for a program with an rpath",
            folder.display()
        );
    }
    found
}

/// The folders of the loader's cache, and those that it always searches.
fn cached() -> impl Iterator<Item = PathBuf> {
    let run = |program| std::process::Command::new(program).arg("-p").output().ok();
    let listed = run("ldconfig").or_else(|| run("/sbin/ldconfig"));
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let folder = |line: &str| Some(Path::new(line.split(" => ").nth(1)?).parent()?.to_path_buf());
    let cached = listed.unwrap_or_default().lines().filter_map(folder).collect::<Vec<_>>();
    cached.into_iter().chain(["/lib", "/usr/lib", "/lib64", "/usr/lib64"].map(PathBuf::from))
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
