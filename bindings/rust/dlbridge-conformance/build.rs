// SPDX-License-Identifier: Apache-2.0
//! Builds the kit, as conformance/c/CMakeLists.txt does. `dlbridge-sys` links the library.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("bundled");
    let folder = root.join("src");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed={}", root.join("include").display());
    let mut sources: Vec<_> = std::fs::read_dir(&folder)
        .expect("the bundled sources of the kit are missing")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "cc"))
        .collect();
    sources.sort();
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        // The kit needs no C++ runtime.
        .cpp_link_stdlib(None)
        .cpp_set_stdlib(None)
        .pic(true)
        .opt_level(2)
        .warnings(false)
        .include(root.join("include"))
        .include(env::var_os("DEP_DLBRIDGE_INCLUDE").expect("dlbridge-sys names its headers"))
        .flags(["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"])
        .flags(["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"])
        .files(sources)
        .compile("dlbridge_conformance");
}
